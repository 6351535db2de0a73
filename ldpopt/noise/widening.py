"""The widening, and the superset, of least expected absolute noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.noise.interval_layers import MOST_STEPS
from ldpopt.noise.intervals import read_intervals
from ldpopt.noise.noise import LEAST, positive
from ldpopt.noise.partition import NeighborPartition
from ldpopt.noise.two_blocks import TwoBlocks

Blocks = tuple[tuple[Fraction, Fraction], ...]

GRID = 41
"""Widenings tried before the local searches."""

DEPTH = 45.0
"""Nats after which layers are left out of the search (not of the result): ``exp(-45)`` of the peak."""


MOST_LAYERS = 5000
"""Widenings that need more layers than this are passed over: a wider one is among those tried."""


def optimal_widening(intervals: Iterable[Any], epsilon: float | str, *, supersets: bool = False) -> NeighborPartition:
    r"""Find the widening, and perhaps the larger set, whose noise is smallest on average.

    .. math:: \min_{d > 0, \; V' \supseteq V} E |r|

    Parameters
    ----------
    intervals : iterable of (low, high)
        As in `NeighborPartition`; intervals only.
    epsilon : float or str
        Nats, positive, or ``"log(3)"``.
    supersets : bool
        Whether sets ``[0, a'] u [b', c]`` that contain this one, and ``[0, c]``, are searched too: privacy for more
        neighbors is privacy for these, and the result is never worse than the staircase.

    Returns
    -------
    NeighborPartition
        The best found, with ``.noise(epsilon)`` at its best.

    Raises
    ------
    StatementError
        If the set is one of whole numbers, or epsilon is not positive.

    Notes
    -----
    The objective has several local minima and a kink at ``(b - a) / 2``: a geometric grid, then bounded searches
    around its three best points, then the analytic candidates: ``(b - a) / 2``, ``c / (1 + exp(epsilon/2))``, and the
    limit of large budgets, ``exp(-epsilon/2)`` times the root of the first moment of ``+-V``.
    No proof that the minimum is global, except that nothing worse than the candidates is returned.

    References
    ----------
    Wu, Xia and He, problem (9).

    Examples
    --------
    >>> best = optimal_widening([(0, 1), (100, 101)], 1.0)
    >>> round(best.noise(1.0).rate, 4)
    0.9549
    """
    budget = Budget(epsilon)
    if not budget >= LEAST:
        raise StatementError(f"epsilon = {budget!r} asks for boundless noise", do="state a larger epsilon")
    blocks, is_discrete = read_intervals(intervals)
    positive(blocks[-1][1], "sensitivity")
    if is_discrete:
        raise StatementError("widenings of a set of whole numbers are whole numbers", do="compare them one by one")
    sets: list[Blocks] = [tuple(blocks)]
    if supersets:
        sets += _supersets(tuple(blocks), float(budget))
    found = []
    for candidate in dict.fromkeys(sets):
        try:
            found.append(_search(candidate, budget))
        except StatementError:
            # A set whose layers never converge has no noise; a superset may have.
            if not supersets:
                raise
    return min(found, key=lambda pair: pair[0])[1]


def _search(blocks: Blocks, budget: Budget) -> tuple[float, NeighborPartition]:
    """Least expected absolute noise for one set."""
    eps, c = float(budget), float(blocks[-1][1])
    gaps = [float(high[0] - low[1]) for low, high in pairwise(blocks)]
    staircase = c * math.exp(-eps / 2) / (1 + math.exp(-eps / 2))
    # For large budgets only layer 1, the set itself, matters: 2 E|r| is near d + exp(-eps) q / d, q its first moment.
    limit = math.exp(-eps / 2) * math.sqrt(sum(float(high**2 - low**2) for low, high in blocks))
    analytic = [d for d in (*(gap / 2 for gap in gaps), staircase, limit) if d > 0]
    # An infinitely narrow innermost layer is never best: start where the block widths or the budget end to matter.
    narrow = min([float(high - low) for low, high in blocks if high > low] + [c]) * min(1.0, math.exp(-eps / 2)) / 50
    grid = np.unique(
        np.concatenate((np.geomspace(max(narrow, c * 1e-4 * math.exp(-eps / 2), c * 1e-150), c, GRID), analytic))
    )
    values = np.array([_objective(blocks, d, eps) for d in grid])
    candidates = [(values[i], grid[i]) for i in range(len(grid))]
    inner = [i for i in range(len(grid)) if values[i] == values[max(i - 1, 0) : i + 2].min()]
    for i in sorted(inner, key=lambda i: values[i])[:3]:
        for low, high in pairwise(grid[max(i - 1, 0) : i + 2]):  # each side of a point, which may be the kink
            result = minimize_scalar(
                lambda d: _objective(blocks, d, eps), bounds=(low, high), method="bounded", options={"xatol": 1e-7 * c}
            )
            candidates.append((float(result.fun), float(result.x)))
    best = None
    for _, d in sorted(candidates)[:1] + [(math.inf, d) for d in analytic]:
        try:
            part = NeighborPartition(blocks, d)
            pair = part.noise(budget).expected_abs, part
        except StatementError:
            continue
        if best is None or pair[0] < best[0]:
            best = pair
    if best is None:
        NeighborPartition(blocks, min(analytic))  # says why there is none
        raise StatementError("no widening gives a finite noise")
    return best


def _objective(blocks: Blocks, d: float, eps: float) -> float:
    """Expected absolute noise, layers below ``exp(-45)`` left out; infinite where the layers never converge."""
    a, c = blocks[0][1], blocks[-1][1]
    if len(blocks) > 2:
        try:
            return NeighborPartition(blocks, d).noise(eps).expected_abs
        except StatementError:
            return math.inf
    closed = TwoBlocks(a, blocks[1][0] if len(blocks) == 2 else c, c, Fraction(d))
    if closed.settled is None:
        return math.inf
    n = closed.settled + 1
    last = min(n, math.ceil(DEPTH / eps))
    if n > MOST_STEPS or last > MOST_LAYERS:
        return math.inf
    x, y, size = math.exp(-eps), -math.expm1(-eps), float(c)
    mass, first = 0.0, 0.0
    for t, (left, length) in enumerate(closed.layers(last)):
        m, q, weight = 2 * float(length.sum()), 2 * float(length @ (left + length / 2)), math.exp(-eps * t)
        if t == n:
            weight /= y
            q += size * m * x / y
        mass, first = mass + weight * m, first + weight * q
    return first / mass


def _supersets(blocks: Blocks, eps: float) -> list[Blocks]:
    """``[0, c]``, each single gap kept open, and the most promising ``[0, a'] u [b', c]`` of a coarse grid."""
    c = blocks[-1][1]
    whole: Blocks = ((Fraction(0), c),)
    found: list[Blocks] = [whole]
    for low, high in pairwise(blocks):
        a, b = low[1], high[0]
        found.append(((Fraction(0), a), (b, c)))
        tried = []
        for left in range(5):
            for right in range(5 - left):
                near, far = a + (b - a) * left / 4 * Fraction(1, 2), b - (b - a) * right / 4 * Fraction(1, 2)
                pair: Blocks = ((Fraction(0), near), (far, c))
                widenings = np.geomspace(float(c) * 1e-3, float(c) / 2, 9)
                tried.append((min(_objective(pair, float(d), eps) for d in widenings), pair))
        found += [pair for _, pair in sorted(tried)[:2]]
    return found
