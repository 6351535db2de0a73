"""Pure privacy of a channel for given pairs of inputs: floats find the entries that decide, integers decide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import Verdict
from ldpopt.auditing.exact_matrices import ULPS, Exact
from ldpopt.foundation.budget import Budget, log_enclosure, round_up

MAX_CANDIDATES = 64
"""Largest number of entries near the worst that are compared in rationals; with more, epsilon is rounded up more."""

BLOCK = 1 << 17
"""Number of entries that are compared at once; a megabyte of floats stays near the processor."""


class Pairs(NamedTuple):
    """Ordered pairs of tied inputs, and their distance: the factor of epsilon."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]

    def by_first(self, m: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """Yield an input, some inputs that it is tied to, and their distances; for channels of m outputs."""
        order = np.argsort(self.first, kind="stable")
        first, second, distance = self.first[order], self.second[order], self.distance[order]
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        size = max(1, BLOCK // m)
        for start, stop in pairwise([*starts.tolist(), len(first)]):
            for low in range(start, stop, size):
                part = slice(low, min(low + size, stop))
                yield int(first[start]), second[part], distance[part]


def least_epsilon_pairs(matrix: Exact, pairs: Pairs) -> tuple[float, tuple[Any, Any, Any] | None]:
    """Smallest epsilon over weighted pairs: floats find candidates, rationals and enclosures the bound."""
    worst = 0.0
    near: list[tuple[float, int, int, int, float]] = []
    for x, others, distance in pairs.by_first(matrix.shape[1]):
        over, under = matrix.floats[x], matrix.floats[others]
        loss = _largest_losses(over, under) / distance
        if (found := float(loss.max())) > worst:
            worst = found
            near = [candidate for candidate in near if candidate[0] >= worst * (1 - 8 * ULPS)]
        if len(near) >= MAX_CANDIDATES:
            continue
        for row in np.flatnonzero(loss >= max(worst * (1 - 8 * ULPS), 5e-324)):
            losses = _losses(over, under[row]) / distance[row]
            for y in np.flatnonzero(losses >= worst * (1 - 8 * ULPS))[:MAX_CANDIDATES]:
                near.append((float(losses[y]), x, int(others[row]), int(y), float(distance[row])))
    if not near:
        return 0.0, None
    _, x, k, y, _ = near[0]
    witness = (matrix.inputs[x], matrix.inputs[k], matrix.outputs[y])
    if math.isinf(worst) or len(near) >= MAX_CANDIDATES:
        return worst * (1 + 8 * ULPS), witness
    ratios = {(Fraction(int(matrix.whole[x, y]), int(matrix.whole[k, y])), d) for _, x, k, y, d in near}
    return max(round_up(log_enclosure(ratio)[1] / Fraction(d)) for ratio, d in ratios), witness


def _largest_losses(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest loss of one row over each of some others; at least 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = np.fmax.reduce((over - under) / under, axis=1, initial=0.0)  # 0 / 0 does not count
    loss = np.log1p(excess)
    for row in np.flatnonzero(np.isinf(loss)):  # a ratio may overflow, its logarithm does not
        loss[row] = _losses(over, under[row]).max()
    return np.asarray(loss)


def _losses(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    """Loss of each entry of one row over that of another; minus infinity where there is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (over - under) / under
        loss = np.where(np.isinf(excess), np.log(over) - np.log(under), np.log1p(excess))
    return np.where(over == 0, -np.inf, loss)


def decide_pairs(matrix: Exact, budget: Budget, pairs: Pairs) -> Verdict:
    """Screen in floats, then decide entries near the bound in integers."""
    verdict: Verdict = "certified"
    used = np.asarray(matrix.whole != 0)
    for x, others, distance in pairs.by_first(matrix.shape[1]):
        exponent = float(budget) * distance
        factor = np.exp(-exponent) * (1 + (4 + exponent) * ULPS)
        near = matrix.floats[others] <= factor[:, None] * matrix.floats[x]
        near &= used[x]
        for row in np.flatnonzero(near.any(axis=1)):
            u, v = matrix.whole[x, near[row]].tolist(), matrix.whole[others[row], near[row]].tolist()
            found = _decide_entries(u, v, budget, float(distance[row]))
            if found == "violated":
                return found
            verdict = "undecided" if found == "undecided" else verdict
    return verdict


def _decide_entries(over: list[int], under: list[int], budget: Budget, distance: float) -> Verdict:
    """Decide pairs of entries by ``u <= exp(epsilon d) v``."""
    verdict: Verdict = "certified"
    exponent = float(budget) * distance
    for u, v in zip(over, under, strict=True):
        if not v:
            return "violated"
        # exp(epsilon d) is computed exactly only if it has no more digits than the two numbers.
        if 0.7 * (u.bit_length() - v.bit_length() + 2) <= exponent:
            continue
        low, high = budget.enclosure(Fraction(distance))
        if u * low.denominator <= low.numerator * v:
            continue
        if u * high.denominator > high.numerator * v:
            return "violated"
        verdict = "undecided"
    return verdict
