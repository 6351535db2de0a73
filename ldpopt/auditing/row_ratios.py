r"""Screening of many pairs of inputs at once, by the largest ratio of every two rows of a channel.

.. math:: R_{x x'} = \max_y P(y \mid x) / P(y \mid x')

is computed in floats by a max-product. Pairs that certainly satisfy the claim, or are not the
worst, are left out.

A float here is wrong by a few units in the last place at most, and every comparison leaves a margin
above that: a pair is left out only if it satisfies the claim, or is beaten by another pair, with
exact numbers too. What is kept is decided elsewhere, in integers. So no verdict depends on a float.
"""

from collections.abc import Iterator

import numpy as np

from ldpopt.auditing.audits import AnyPairs, Pairs
from ldpopt.auditing.exact_matrices import ULPS, ExactChannel
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import max_product

SMALLEST = 2.0**-1000  # smallest entries that keep all bits as floats and have an inverse
MIN_ENTRIES = 1e5  # number of entries, in all pairs, from which the product takes less time
# share of all pairs from which the product of all rows takes less time than the given pairs alone
MIN_SHARE = 0.02
# Largest exponent that is used: smaller floats lose bits, and a smaller exponent leaves out fewer
# entries
LARGEST_EXPONENT = 700.0
# relative error of a ratio: an inverse and a product are rounded to within 2**-53 each
PRODUCT_ERROR = ULPS


def row_ratios(matrix: ExactChannel, pairs: AnyPairs) -> Float | None:
    """Largest ratio of every two rows, shape (n, n); None if there are few pairs or entries, or an
    entry is tiny.
    """
    # It is infinite if only the first row has mass at some output; 0 / 0 does not count.
    n, m = matrix.shape
    if pairs.number < MIN_SHARE * n * n or pairs.number * m < MIN_ENTRIES:
        return None
    is_tiny = (matrix.floats < SMALLEST) & (matrix.numerators != 0)
    if is_tiny.any():
        return None
    with np.errstate(divide="ignore"):
        inverse = np.divide(1.0, matrix.floats.T, order="C")
    return max_product(np.ascontiguousarray(matrix.floats), inverse)


def factors_above(budget: Budget, distance: Float) -> Float:
    """``exp(-epsilon d)``, slightly larger: pairs of entries with a larger ratio satisfy the claim
    for certain.
    """
    # The margin covers the roundings of entries, ratios, products and of the exponent.
    exponent = np.minimum(float(budget) * distance, LARGEST_EXPONENT)
    return np.exp(-exponent) * (1 + (4 + exponent) * ULPS)


def pairs_near_bound(ratios: Float, budget: Budget, pairs: AnyPairs) -> Pairs:
    """Pairs whose largest ratio is near or above ``exp(epsilon d)``; all others satisfy the
    claim.
    """
    parts = []
    for x, others, distance in pairs.by_first(1):
        # R exp(-epsilon d) < 1, by more than all roundings: the pair satisfies the claim
        near = ratios[x, others] * factors_above(budget, distance) >= 1
        parts.append((x, others[near], distance[near]))
    return _joined(parts)


def pairs_near_worst(
    ratios: Float, pairs: AnyPairs, rounding: float, most: float
) -> tuple[Pairs, float]:
    """At most ``most`` pairs whose loss per unit of distance may be the largest, and an upper bound
    of that loss.
    """
    # The bound is 0 if all such pairs are returned, which then decide.
    lower = upper = 0.0
    for _, _, _, at_least, at_most in _losses(ratios, pairs, rounding):
        lower = max(lower, float(at_least.max()))
        upper = max(upper, float(at_most.max()))
    parts = []
    left = int(most)
    for x, others, distance, _, at_most in _losses(ratios, pairs, rounding):
        # below the largest lower bound, a pair cannot be the worst
        near = np.flatnonzero(at_most >= lower)
        kept = near[:left]
        parts.append((x, others[kept], distance[kept]))
        if len(near) > left:
            return _joined(parts), upper
        left -= len(near)
    return _joined(parts), 0.0


def _losses(
    ratios: Float, pairs: AnyPairs, rounding: float
) -> Iterator[tuple[int, Int, Float, Float, Float]]:
    """Pairs in parts: an input, other inputs, their distances, and bounds of the loss per unit of
    distance.
    """
    error = rounding + PRODUCT_ERROR
    for x, others, distance in pairs.by_first(1):
        loss = np.log(np.maximum(ratios[x, others], 1.0))
        least = (loss * (1 - 4 * ULPS) - error) / distance
        most = (loss * (1 + 4 * ULPS) + error) / distance
        yield x, others, distance, least, most


def _joined(parts: list[tuple[int, Int, Float]]) -> Pairs:
    """Pairs from parts ``(x, others, distance)``."""
    parts = [(0, np.zeros(0, np.int64), np.zeros(0)), *parts]
    first = np.concatenate([np.full(len(others), x) for x, others, _ in parts])
    second = np.concatenate([part[1] for part in parts])
    distance = np.concatenate([part[2] for part in parts])
    return Pairs(first, second, distance)
