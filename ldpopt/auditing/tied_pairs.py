r"""Pure privacy of a channel for given pairs of inputs: floats select entries, integers decide.

.. math:: P(y \mid x) \le e^{\epsilon d(x, x')} P(y \mid x')
          \quad\Leftrightarrow\quad
          \frac{1}{d(x, x')} \ln \frac{P(y \mid x)}{P(y \mid x')} \le \epsilon

The left side of the second inequality is the loss of an entry for a unit of distance. In floats it
is known between two bounds, ``loss (1 - 4 ULPS)`` and ``loss (1 + 4 ULPS)``. Entries whose upper
bound is below the largest lower bound of all are not the worst; the few others are compared as
rationals, and their logarithms are enclosed by rationals, too.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import AnyPairs, Verdict, Worst
from ldpopt.auditing.exact_matrices import ULPS, ExactChannel
from ldpopt.auditing.row_ratios import (
    MIN_ENTRIES,
    SMALLEST,
    factors_above,
    pairs_near_bound,
    pairs_near_worst,
)
from ldpopt.foundation.budget import Budget, epsilon_above, log_enclosure
from ldpopt.foundation.numbers import Float

# Largest number of entries near the worst that are compared in rationals; with more, epsilon is
# rounded up more
MAX_CANDIDATES = 64


class _Candidate(NamedTuple):
    """An entry whose privacy loss per unit of distance may be the worst; it is at most
    ``upper``.
    """

    upper: float
    x: int
    k: int
    y: int
    distance: float


def least_epsilon_pairs(
    matrix: ExactChannel, pairs: AnyPairs, ratios: Float | None = None
) -> Worst:
    """Smallest epsilon over weighted pairs, rounded up, and its witness: floats select candidates,
    rationals decide.
    """
    # The relative error of a loss in floats is at most 4 ULPS, plus ULPS nats if the entries were
    # rounded. If there are too many candidates, the result is their largest upper bound. Known
    # ratios of the rows exclude most pairs.
    if _lost_bits(matrix).any():
        return _least_epsilon_of_rationals(matrix, pairs)
    rounding = ULPS if matrix.is_rounded else 0.0
    at_most = 0.0
    if ratios is not None and (matrix.numerators != matrix.numerators[0]).any():
        pairs, at_most = pairs_near_worst(ratios, pairs, rounding, MIN_ENTRIES / matrix.shape[1])
    epsilon, witness = _least_epsilon_of_floats(matrix, pairs, rounding)
    return max(epsilon, at_most), witness


def _least_epsilon_of_floats(matrix: ExactChannel, pairs: AnyPairs, rounding: float) -> Worst:
    """`least_epsilon_pairs` without known ratios: the pairs are compared entry by entry."""
    lower = upper = left_out = 0.0
    near: list[_Candidate] = []
    for x, others, distance in pairs.by_first(matrix.shape[1]):
        loss = _largest_losses(matrix.floats[x], matrix.floats[others])
        at_least = (loss * (1 - 4 * ULPS) - rounding) / distance
        at_most = (loss * (1 + 4 * ULPS) + rounding) / distance
        lower = max(lower, float(at_least.max()))
        upper = max(upper, float(at_most.max()))
        near = [candidate for candidate in near if candidate.upper >= lower]
        if len(near) >= MAX_CANDIDATES:
            left_out = max(left_out, float(at_most.max()))
            continue
        for row in np.flatnonzero((at_most >= lower) & (at_most > 0)):
            other = int(others[row])
            entries = list(_candidates(matrix, x, other, float(distance[row]), lower, rounding))
            near += entries[:MAX_CANDIDATES]
            if len(entries) > MAX_CANDIDATES:
                left_out = upper
    if not near:
        return 0.0, None
    first = near[0]
    witness = (matrix.inputs[first.x], matrix.inputs[first.k], matrix.outputs[first.y])
    # the upper bound is right in any case: with too many candidates it is larger than necessary
    if math.isinf(lower) or len(near) >= MAX_CANDIDATES or left_out >= lower:
        return upper, witness
    ratios = set()
    for _, x, k, y, d in near:
        ratio = Fraction(int(matrix.numerators[x, y]), int(matrix.numerators[k, y]))
        ratios.add((ratio, d))
    epsilons = [epsilon_above(log_enclosure(ratio)[1] / Fraction(d)) for ratio, d in ratios]
    return max(epsilons), witness


def _lost_bits(matrix: ExactChannel) -> NDArray[np.bool_]:
    """Entries whose floats may be wrong by more than a few ulps, since they are too small."""
    is_tiny = (matrix.floats < SMALLEST) & (matrix.numerators != 0)
    return np.asarray(matrix.is_rounded & is_tiny, dtype=bool)


def _least_epsilon_of_rationals(matrix: ExactChannel, pairs: AnyPairs) -> Worst:
    """`least_epsilon_pairs` without floats: the largest ratio of every pair, and its logarithm."""
    best, where = 0.0, None
    for x, others, distance in pairs.by_first(matrix.shape[1]):
        for k, d in zip(others.tolist(), distance.tolist(), strict=True):
            worst = Fraction(1)
            over = matrix.numerators[x].tolist()
            under = matrix.numerators[k].tolist()
            for y, (u, v) in enumerate(zip(over, under, strict=True)):
                # u / v <= worst, without a division: v may be 0
                if u * worst.denominator <= worst.numerator * v:
                    continue
                witness = (matrix.inputs[x], matrix.inputs[k], matrix.outputs[y])
                if not v:
                    return math.inf, witness
                worst = Fraction(u, v)
                epsilon = epsilon_above(log_enclosure(worst)[1] / Fraction(d))
                best, where = (epsilon, witness) if epsilon > best else (best, where)
    return best, where


def _candidates(
    matrix: ExactChannel, x: int, k: int, distance: float, lower: float, rounding: float
) -> Iterator[_Candidate]:
    """Entries of a pair of inputs whose loss per unit of distance may be at least ``lower``, and is
    positive.
    """
    loss = losses(matrix.floats[x], matrix.floats[k])
    at_most = (loss * (1 + 4 * ULPS) + rounding) / distance
    for y in np.flatnonzero((at_most >= lower) & (matrix.numerators[x] > matrix.numerators[k])):
        yield _Candidate(float(at_most[y]), x, k, int(y), distance)


def _largest_losses(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest loss of one row over each of some others; at least 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = np.fmax.reduce((over - under) / under, axis=1, initial=0.0)  # 0 / 0 does not count
    loss = np.log1p(excess)
    for row in np.flatnonzero(np.isinf(loss)):  # a ratio may overflow, its logarithm does not
        loss[row] = losses(over, under[row]).max()
    return np.asarray(loss)


def losses(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    """Loss of each entry of one row over that of another; minus infinity for an entry 0 of the
    first row.
    """
    # log1p of the difference: the logarithm of a ratio near 1 would lose most of its digits
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (over - under) / under
        loss = np.where(np.isinf(excess), np.log(over) - np.log(under), np.log1p(excess))
    return np.where(over == 0, -np.inf, loss)


def decide_pairs(
    matrix: ExactChannel, budget: Budget, pairs: AnyPairs, ratios: Float | None = None
) -> Verdict:
    """Decide a claim for pairs: screened in floats, then the entries near the bound in integers.

    An entry is left out if ``P(y | x') > exp(-epsilon d) P(y | x)`` in floats with a margin above
    all roundings, so that it satisfies the claim with exact numbers too. The claim is violated if
    one entry violates it, and undecided only if an entry lies inside of the enclosure of
    ``e**(epsilon d)``.
    """
    verdict: Verdict = "certified"
    used = np.asarray(matrix.numerators != 0)
    is_screened = not _lost_bits(matrix).any()
    if ratios is not None:
        pairs = pairs_near_bound(ratios, budget, pairs)
    for x, others, distance in pairs.by_first(matrix.shape[1]):
        factor = factors_above(budget, distance)
        bound = factor[:, None] * matrix.floats[x]
        near = used[x] & ((matrix.floats[others] <= bound) | (not is_screened))
        for row in np.flatnonzero(near.any(axis=1)):
            u = matrix.numerators[x, near[row]].tolist()
            v = matrix.numerators[others[row], near[row]].tolist()
            decided = _decide_entries(u, v, budget, float(distance[row]))
            if decided == "violated":
                return decided
            verdict = "undecided" if decided == "undecided" else verdict
    return verdict


def _decide_entries(over: list[int], under: list[int], budget: Budget, distance: float) -> Verdict:
    """Decide pairs of entries by ``u <= exp(epsilon d) v``.

    With rationals ``low <= exp(epsilon d) <= high``: certified if ``u <= low v``, violated if ``u >
    high v``, and undecided between.
    """
    verdict: Verdict = "certified"
    exponent = float(budget) * distance
    for u, v in zip(over, under, strict=True):
        if not v:
            return "violated"
        # exp(epsilon d) is computed exactly only if it has no more digits than the two numbers:
        # u / v < 2**(difference + 1), and ln 2 < 0.7, so that u <= exp(epsilon d) v holds here.
        if 0.7 * (u.bit_length() - v.bit_length() + 2) <= exponent:
            continue
        low, high = budget.enclosure(Fraction(distance))
        if u * low.denominator <= low.numerator * v:
            continue
        if u * high.denominator > high.numerator * v:
            return "violated"
        verdict = "undecided"
    return verdict
