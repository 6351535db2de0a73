"""Search for the widening, and the superset, with the least expected absolute noise."""

import math
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.noise.interval_layers import MAX_LAYERS
from ldpopt.noise.intervals import read_intervals
from ldpopt.noise.noise import read_noise_budget, read_positive
from ldpopt.noise.partition import NeighborPartition
from ldpopt.noise.two_blocks import TwoBlocks

Blocks = tuple[tuple[Fraction, Fraction], ...]
GRID_POINTS = 41  # widenings tried before the local searches
STEPS = 4  # parts of half a gap by which a superset may narrow it from either side
COARSE_POINTS = 9  # widenings tried for each superset
# The search ignores layers with density below ``exp(-45)`` of the peak; the result includes them
DENSITY_CUTOFF_NATS = 45.0
# widenings that need more layers are skipped in the search; a wider one is always tried
MAX_SEARCH_LAYERS = 5000


def optimal_widening(
    intervals: Iterable[Any], epsilon: float | str, *, supersets: bool = False
) -> NeighborPartition:
    r"""Find the widening, and on request the superset, with the least expected absolute noise.

    .. math:: \min_{d > 0, \; V' \supseteq V} E |r|

    Parameters
    ----------
    intervals : iterable of (low, high)
        As in `NeighborPartition`; intervals only.
    epsilon : float or str
        Nats, positive, or ``"log(3)"``.
    supersets : bool
        Whether to search supersets ``[0, a'] u [b', c]`` and ``[0, c]`` too; default: ``False``.
        Privacy for more neighbors implies privacy for these. The result is then never worse than
        the staircase.

    Returns
    -------
    NeighborPartition
        The best partition found; ``.noise(epsilon)`` is its noise.

    Raises
    ------
    StatementError
        If the set is one of whole numbers, or epsilon is not positive.

    Notes
    -----
    The objective has several local minima and a kink at ``(b - a) / 2``. Tried are a geometric
    grid, bounded searches around its three best points, and analytic candidates. The minimum is not
    proved to be global; the result is at least as good as every candidate.

    References
    ----------
    Wu, Xia and He, problem (9).

    Examples
    --------
    >>> best = optimal_widening([(0, 1), (100, 101)], 1.0)
    >>> round(best.noise(1.0).rate, 4)
    0.9549
    """
    budget = read_noise_budget(epsilon)
    blocks, is_discrete = read_intervals(intervals)
    read_positive(blocks[-1][1], "sensitivity")
    if is_discrete:
        problem = "a set of whole numbers has whole-number widenings only, which are not searched"
        raise StatementError(
            problem, do="compare NeighborPartition(numbers, widening=d) for d = 0, 1, 2, ..."
        )
    sets: list[Blocks] = [tuple(blocks)]
    if supersets:
        sets += _supersets(tuple(blocks), float(budget))
    results = []
    for candidate in dict.fromkeys(sets):
        try:
            results.append(_search(candidate, budget))
        except StatementError:
            # A set whose layers never converge has no noise; a superset may have one.
            if not supersets:
                raise
    return min(results, key=lambda pair: pair[0])[1]


def _search(blocks: Blocks, budget: Budget) -> tuple[float, NeighborPartition]:
    """Return the least expected absolute noise for one set, and its partition."""
    eps = float(budget)
    analytic = _analytic_widenings(blocks, eps)
    candidates = _searched_widenings(blocks, eps, analytic)
    best: tuple[float, NeighborPartition] | None = None
    for _, d in sorted(candidates)[:1] + [(math.inf, d) for d in analytic]:
        with suppress(StatementError):
            part = NeighborPartition(blocks, d)
            value = part.noise(budget).expected_abs
            best = (value, part) if best is None or value < best[0] else best
    if best is None:
        NeighborPartition(blocks, min(analytic))  # raises an error with the reason
        raise StatementError(
            f"no widening gives finite noise at epsilon = {budget!r}",
            code="infinite-noise",
            do="choose a larger epsilon",
        )
    return best


def _analytic_widenings(blocks: Blocks, eps: float) -> list[float]:
    """Return the widenings that close a gap, that of the staircase, and that of large budgets."""
    c = float(blocks[-1][1])
    gaps = [float(high[0] - low[1]) for low, high in pairwise(blocks)]
    staircase = c * math.exp(-eps / 2) / (1 + math.exp(-eps / 2))
    # For large budgets only layer 1, the set itself, matters: 2 E|r| is about d + exp(-eps) q / d,
    # q its first moment.
    limit = math.exp(-eps / 2) * math.sqrt(sum(float(high**2 - low**2) for low, high in blocks))
    return [d for d in (*(gap / 2 for gap in gaps), staircase, limit) if d > 0]


def _searched_widenings(
    blocks: Blocks, eps: float, analytic: list[float]
) -> list[tuple[float, float]]:
    """Return pairs of expected absolute noise and widening: of a grid, and of searches around its
    best.
    """
    c = float(blocks[-1][1])
    # Very narrow innermost layers are never best: start below the narrowest block, scaled by the
    # budget.
    narrow = (
        min([float(high - low) for low, high in blocks if high > low] + [c])
        * min(1.0, math.exp(-eps / 2))
        / 50
    )
    least = max(narrow, c * 1e-4 * math.exp(-eps / 2), c * 1e-150)
    grid = np.unique(np.concatenate((np.geomspace(least, c, GRID_POINTS), analytic)))
    values = np.array([_objective(blocks, d, eps) for d in grid])
    candidates = [(values[i], grid[i]) for i in range(len(grid))]
    inner = [i for i in range(len(grid)) if values[i] == values[max(i - 1, 0) : i + 2].min()]
    for i in sorted(inner, key=lambda i: values[i])[:3]:
        # each side separately: the point may be the kink
        for ends in pairwise(grid[max(i - 1, 0) : i + 2]):
            result: Any = minimize_scalar(
                lambda d: _objective(blocks, d, eps),
                bounds=ends,
                method="bounded",
                options={"xatol": 1e-7 * c},
            )
            candidates.append((float(result.fun), float(result.x)))
    return candidates


def _objective(blocks: Blocks, d: float, eps: float) -> float:
    """Return the expected absolute noise without layers of negligible density; infinite if layers
    never converge.
    """
    if len(blocks) > 2:
        try:
            return NeighborPartition(blocks, d).noise(eps).expected_abs
        except StatementError:
            return math.inf
    a = blocks[0][1]
    c = blocks[-1][1]
    closed = TwoBlocks(a, blocks[1][0] if len(blocks) == 2 else c, c, Fraction(d))
    if closed.gaps_closed_at is None:
        return math.inf
    n = closed.steps
    last = min(n, math.ceil(DENSITY_CUTOFF_NATS / eps))
    if n > MAX_LAYERS or last > MAX_SEARCH_LAYERS:
        return math.inf
    return _mean_over_layers(closed, last, n, eps)


def _mean_over_layers(closed: TwoBlocks, last: int, n: int, eps: float) -> float:
    """Return the expected absolute noise over layers ``0 .. last``; layer ``n`` stands for all
    later ones, which are its translates by multiples of ``c``.
    """
    decay = math.exp(-eps)
    complement = -math.expm1(-eps)  # 1 - decay
    step = float(closed.c)
    mass = 0.0  # integral of the density, and of the density times |r|
    first = 0.0
    for t, (left, length) in enumerate(closed.layers(last)):
        measure = 2 * float(length.sum())  # of the layer, and the integral of |r| over it
        moment = 2 * float(length @ (left + length / 2))
        weight = math.exp(-eps * t)
        if t == n:
            # sum_k decay**k = 1 / complement, and sum_k k decay**k = decay / complement**2
            weight /= complement
            moment += step * measure * decay / complement
        mass += weight * measure
        first += weight * moment
    return first / mass


def _supersets(blocks: Blocks, eps: float) -> list[Blocks]:
    """Return ``[0, c]``, and for each gap the set with this gap only and the two best sets with a
    narrower gap.
    """
    c = blocks[-1][1]
    sets: list[Blocks] = [((Fraction(0), c),)]
    for low, high in pairwise(blocks):
        a = low[1]
        b = high[0]
        sets.append(((Fraction(0), a), (b, c)))
        tried = []
        step = (b - a) / (2 * STEPS)
        for left in range(STEPS + 1):
            for right in range(STEPS + 1 - left):  # at least half of the gap is left
                pair: Blocks = ((Fraction(0), a + left * step), (b - right * step, c))
                widenings = np.geomspace(float(c) * 1e-3, float(c) / 2, COARSE_POINTS)
                tried.append((min(_objective(pair, float(d), eps) for d in widenings), pair))
        sets += [pair for _, pair in sorted(tried)[:2]]
    return sets
