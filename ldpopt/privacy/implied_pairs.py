"""Pairs of inputs of a metric that a chain through a third input implies."""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads
from ldpopt.privacy.ties import Mask

COMPILED_INPUTS = 300
"""Number of inputs from which compiled loops pay for the half second in which they are loaded."""

BLOCK = 16
"""Number of inputs whose pairs are tried together, so that each row of distances is read once for all of them."""

STRIDE = 128
"""Number of third inputs that are tried before it is tested whether one of them implies the pair."""

SAMPLED_INPUTS, SAMPLE, MAX_IMPLIED_SHARE = 1000, 50, 1e-3
"""Number of inputs from which a sample is tried first, its size, and the share of implied pairs that may be kept."""


def unimplied_pairs(distance: Float, deadline: Deadline = NO_LIMIT) -> tuple[Int, Int]:
    """Ordered pairs at a positive distance, shape (n, n), that no chain through a third input implies.

    A pair ``(x, k)`` is implied if ``d(x, z) + d(z, k) <= d(x, k)`` for some other ``z``, as exact numbers; both parts
    are shorter, so all implied pairs may be dropped at once. From `SAMPLED_INPUTS` inputs on all pairs are kept if
    hardly any pair of a sample is implied.

    Notes
    -----
    At most ``n**3 / 2`` additions, or `SAMPLE` times ``n**2`` if all pairs are kept; compiled and in threads from
    `COMPILED_INPUTS` inputs on, and ``n**2`` extra floats.
    """
    n = len(distance)
    through = distance.copy()
    np.fill_diagonal(through, np.inf)  # a third input differs from both
    is_implied = np.eye(n, dtype=bool)

    def mark_block(begin: int) -> None:
        deadline.check("dropping the metric's implied pairs")
        mark_implied(through, begin, min(begin + BLOCK, n), is_implied)

    if n >= SAMPLED_INPUTS and _seldom_implied(through, deadline):
        pass  # all pairs are kept
    elif n >= COMPILED_INPUTS:
        in_threads(mark_block, range(0, n, BLOCK))
    else:
        for x in range(n):
            deadline.check("dropping the metric's implied pairs")
            is_implied[x] |= _implies(through[x], through, distance[x][:, None]).any(axis=1)
    first, second = np.nonzero(~is_implied)
    return first, second


def _seldom_implied(through: Float, deadline: Deadline) -> bool:
    """Whether hardly any pair of a sample of inputs is implied; the diagonal is infinite."""

    def count(x: int) -> int:
        deadline.check("looking for the metric's implied pairs")
        return count_implied(through, x)

    sample = np.random.default_rng(0).permutation(len(through))[:SAMPLE]
    return sum(in_threads(count, sample.tolist())) <= MAX_IMPLIED_SHARE * SAMPLE * len(through)


def _implies(to_third: Float, onwards: Float, direct: Float) -> Mask:
    """Whether ``to_third + onwards <= direct`` as exact numbers, element by element.

    If the rounded sum is less than a float, so is the exact sum. If they are equal, the error of the sum decides, which
    is a float too (Knuth's TwoSum).
    """
    rounded = to_third + onwards
    with np.errstate(invalid="ignore"):  # infinite where the third input is one of the two
        part = rounded - to_third
        error = (to_third - (rounded - part)) + (onwards - part)
    return np.asarray((rounded < direct) | ((rounded == direct) & (error <= 0)))


@compiled
def _is_at_most(to_third: Float, onwards: Float, direct: float) -> bool:
    """Whether a sum that rounds to the distance is at most the distance (Knuth's TwoSum)."""
    for z in range(len(to_third)):
        total = to_third[z] + onwards[z]
        if total == direct:
            part = total - to_third[z]
            if (to_third[z] - (total - part)) + (onwards[z] - part) <= 0:
                return True
    return False


@compiled
def _is_implied(to_third: Float, onwards: Float, direct: float) -> bool:
    """Whether a third input implies a pair; sums that round to the distance are decided exactly."""
    for start in range(0, len(to_third), STRIDE):
        below = equal = 0
        for z in range(start, min(start + STRIDE, len(to_third))):
            total = to_third[z] + onwards[z]
            below += total < direct
            equal += total == direct
        if below or (equal and _is_at_most(to_third[start : start + STRIDE], onwards[start : start + STRIDE], direct)):
            return True
    return False


@compiled
def count_implied(distance: Float, x: int) -> int:
    """Number of implied pairs of one input; the diagonal of ``distance``, shape (n, n), is infinite."""
    count = 0
    for k in range(len(distance)):
        count += k != x and _is_implied(distance[x], distance[k], distance[x, k])
    return count


@compiled
def mark_implied(distance: Float, begin: int, stop: int, is_implied: Mask) -> None:
    """Mark the implied pairs, both ways, of inputs ``begin`` to ``stop`` with all later ones; arrays (n, n)."""
    for k in range(begin + 1, len(distance)):
        for x in range(begin, min(stop, k)):
            if _is_implied(distance[x], distance[k], distance[x, k]):
                is_implied[x, k] = is_implied[k, x] = True
