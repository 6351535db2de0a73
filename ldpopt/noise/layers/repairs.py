"""Ways to make weights by layers private on any graph: a smaller budget, column weights, a window."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt import solvers
from ldpopt.errors import NoSolutionError, NotRepresentableError, PrivacyViolationError
from ldpopt.foundation.checks import Float, is_whole
from ldpopt.foundation.rows import Int
from ldpopt.solvers.program import LinearProgram, Span
from ldpopt.statement.problem import Problem

Value = Mapping[Any, Hashable] | Callable[[Any], Hashable]

GRID = 64
"""Budgets tried between epsilon / 2 and epsilon before the bisection: the loss need not grow with the budget."""

MOST_CELLS = 20_000
"""Points of the group that the noise of a window lives on."""

MOST_ENTRIES = 2_000_000
"""Entries of the program of ball columns before some sets are left out."""

DEPTH = 40.0
"""Layers times epsilon after which what is left of the noise no longer matters for the utility."""


@dataclass(frozen=True)
class Spread:
    """What decides the loss of normalized weights: the most a layer number falls along each directed edge.

    Attributes
    ----------
    levels : int array, shape (n, m)
        Layer numbers.
    first, second : int arrays, shape (directed edges,)
        Ends of the edges, both ways.
    fall : int array, shape (directed edges,)
        ``max_r levels[second, r] - levels[first, r]``, at most 1 by Lemma 1.
    """

    levels: Int
    first: Int
    second: Int
    fall: Int

    @classmethod
    def of(cls, levels: Int, pairs: tuple[Int, Int]) -> Spread:
        """Look at every edge once, so that each budget then costs O(n m + edges)."""
        first, second = pairs
        fall = np.array([(levels[v] - levels[u]).max() for u, v in zip(first, second, strict=True)], dtype=np.int64)
        return cls(levels, first, second, fall)

    def log_sums(self, budget: float) -> Float:
        """Logarithm of the normalizers, shape (n,)."""
        return np.asarray(np.log(np.exp(-budget * self.levels).sum(axis=1)))

    def loss(self, budget: float) -> float:
        """Greatest log ratio along an edge of the normalized weights at a budget."""
        sums = self.log_sums(budget)
        return float((budget * self.fall + sums[self.second] - sums[self.first]).max(initial=0.0))


@dataclass(frozen=True)
class Case:
    """One statement with its layers; each repair makes a channel in floats of it, which the caller rounds exactly."""

    problem: Problem
    levels: Int
    spread: Spread
    value: Value | None

    @property
    def budget(self) -> float:
        """Nats along an edge."""
        return float(self.problem.privacy.epsilon)

    @property
    def prior(self) -> Float:
        """Weights of the nodes."""
        assert self.problem.prior is not None
        return self.problem.prior


def normalized(levels: Int, budget: float) -> Float:
    """``exp(-budget L)``, rows divided by their sums."""
    weights = np.exp(-budget * levels)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def plain(case: Case) -> Float:
    """Normalize, where that keeps epsilon.

    Raises
    ------
    PrivacyViolationError
        If the normalizers differ too much.
    """
    found = case.spread.loss(case.budget)
    if found > case.budget * (1 + 1e-12):
        raise PrivacyViolationError(
            f"the normalizers differ: the normalized weights need epsilon = {found:.6g}, not {case.budget:.6g}",
            do='let repair="best" choose',
        )
    return normalized(case.levels, case.budget)


def calibrated(case: Case) -> Float:
    """Normalize at the largest budget found whose loss is within epsilon: topmost of a grid, then bisection."""
    target, loss = case.budget, case.spread.loss
    grid = np.linspace(target / 2, target, GRID + 1)
    good = max((k for k in range(GRID + 1) if loss(grid[k]) <= target), default=0)
    low, high = float(grid[good]), float(grid[min(good + 1, GRID)])
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= target else (low, middle)
    return normalized(case.levels, low)


def column_weights(case: Case) -> Float:
    r"""Solve ``max sum_r w_r sum_x prior[x] gain[x, r] K[x, r]`` over ``w >= 0``, ``K w = 1``, ``K = exp(-epsilon L)``.

    Raises
    ------
    NoSolutionError
        If no weights make all rows sum to one.
    """
    return _weighted(case, np.exp(-case.budget * case.levels), np.arange(case.levels.shape[1]))


def balls(case: Case) -> Float:
    r"""Weigh more columns than one for each value: all that fall away from a set of good inputs, or from its outside.

    .. math:: e^{-\epsilon d(x, S)}, \qquad S = \{ x : u(x, r) \ge c \}, \qquad e^{-\epsilon \max(k - L(x, r), 0)}

    Each is private by itself, as a distance to a set moves by at most one along an edge, and so is their sum; each
    announces the value that it serves best. The largest set is everything: its constant column makes the program
    feasible on every graph. The sets are the widened first layers of the paper's problem (9), here chosen by a program.
    """
    radii = range(1, int(case.levels.max()) + 1)
    falls = [case.levels, *(np.maximum(k - case.levels, 0) for k in radii), *_widened(case)]
    columns = np.exp(-case.budget * np.unique(np.hstack(falls), axis=1))
    worth = (case.prior[:, None] * columns).T @ case.problem.utility.gain
    return _weighted(case, columns, worth.argmax(axis=1))


def _widened(case: Case) -> list[Int]:
    """Hop distances to the sets of inputs that a value serves best: for each value an int array, shape (n, sets)."""
    hops, gain = _hops(case), case.problem.utility.gain
    n, m = case.levels.shape
    room = max(3, MOST_ENTRIES // (n * m))
    found = []
    for r in range(m):
        order = np.argsort(-gain[:, r], kind="stable")
        ends = np.append(np.flatnonzero(np.diff(gain[order, r])), n - 1)
        if len(ends) > room:
            ends = ends[np.unique(np.linspace(0, len(ends) - 1, room).astype(int))]
        found.append(np.minimum.accumulate(hops[:, order], axis=1)[:, ends])
    return found


def _hops(case: Case) -> Int:
    if case.value is None:
        return case.levels
    import networkx as nx

    place = {node: k for k, node in enumerate(case.problem.inputs)}
    hops = np.zeros((len(place), len(place)), dtype=np.int64)
    for node, reached in nx.all_pairs_shortest_path_length(case.problem.privacy.graph):
        hops[place[node], [place[other] for other in reached]] = list(reached.values())
    return hops


def _weighted(case: Case, columns: Float, reports: Int) -> Float:
    """Best sum of weighted columns with rows that sum to one; ``reports[j]`` is what column j announces."""
    n, count = columns.shape
    program = LinearProgram(
        objective=case.prior @ (case.problem.utility.gain[:, reports] * columns),
        maximize=True,
        start=np.arange(n + 1, dtype=np.int64) * count,
        index=np.tile(np.arange(count, dtype=np.int64), n),
        value=columns.ravel(),
        row_lower=np.ones(n),
        row_upper=np.ones(n),
        column_lower=np.zeros(count),
        column_upper=np.full(count, np.inf),
        rows=(Span("sum", 0, n),),
        columns=(Span("weight", 0, count),),
    )
    outcome = solvers.find("highs").solve(program)
    if outcome.status is not solvers.Status.OPTIMAL or outcome.point is None:
        raise NoSolutionError(f"no column weights w >= 0 make all rows sum to one ({outcome.raw_status})")
    channel = np.zeros(case.levels.shape)
    np.add.at(channel.T, reports, (columns * np.maximum(outcome.point, 0.0)).T)
    return channel


def window(case: Case) -> Float:
    """Add noise on a torus that holds all values, then announce the best report for each of its points.

    Noise on a group has one law for all inputs, so no normalizer differs; the Bayes remap is post-processing. The
    torus stands for the full group: it is a group itself, so that its noise is exactly private at any size.

    Raises
    ------
    NotRepresentableError
        If the values are no integers nor tuples of them, or too far spread.
    """
    where = _places(case.problem.inputs, case.value)
    shape, noise = _noise(where, case)
    cells = np.indices(shape).reshape(len(shape), -1).T
    spread = np.array([noise[tuple(((cells - place) % shape).T)] for place in where])
    best = ((case.prior[:, None] * spread).T @ case.problem.utility.gain).argmax(axis=1)
    channel = np.zeros(case.levels.shape)
    np.add.at(channel.T, best, spread.T)
    return channel


REPAIRS: dict[str, Callable[[Case], Float]] = {
    "none": plain,
    "budget": calibrated,
    "columns": column_weights,
    "balls": balls,
    "window": window,
}
"""In the order of preference between equals."""


def _places(inputs: tuple[Hashable, ...], value: Value | None) -> Int:
    """Query values as integer vectors, shape (n, d), counted from the least."""
    found: list[Any] = [node if value is None else value(node) if callable(value) else value[node] for node in inputs]
    rows = [entry if isinstance(entry, tuple) else (entry,) for entry in found]
    whole = all(is_whole(part) for row in rows for part in row)
    if not whole or len({len(row) for row in rows}) > 1 or not rows[0]:
        raise NotRepresentableError("the values are no integers, nor tuples of them: there is no group to add noise in")
    if max(abs(int(part)) for row in rows for part in row) > 2**52:
        raise NotRepresentableError("the values lie beyond 2**52: the window would be too large")
    places = np.array(rows, dtype=np.int64)
    return np.asarray(places - places.min(axis=0))


def _noise(where: Int, case: Case) -> tuple[tuple[int, ...], Float]:
    """Probabilities of noise on a torus, by the word metric of the steps that the edges make."""
    steps = np.unique(where[case.spread.first] - where[case.spread.second], axis=0)
    d, extent = where.shape[1], np.ptp(where, axis=0) + 1
    reach = int(np.ceil(DEPTH / case.budget)) if case.budget > 1e-9 else MOST_CELLS
    wanted = extent + 2 * min(reach, MOST_CELLS) * np.abs(steps).max(axis=0, initial=0)
    # Where the budget asks for more than there is room for, a smaller torus is as private and a little less useful.
    shape = tuple(np.minimum(wanted, np.maximum(2 * extent, int(MOST_CELLS ** (1 / d)))).tolist())
    if float(np.prod(np.array(shape, dtype=float))) * len(where) > 1000 * MOST_CELLS:
        raise NotRepresentableError(f"a window of {' x '.join(map(str, shape))} points is too large")
    level = np.full(shape, -1, dtype=np.int64)
    level[(0,) * d] = number = 0
    front = np.zeros((1, d), dtype=np.int64)
    while len(front):
        number += 1
        fresh = [front[:0]]
        for step in steps:
            reached = (front + step) % shape
            reached = reached[level[tuple(reached.T)] < 0]
            level[tuple(reached.T)] = number
            fresh.append(reached)
        front = np.concatenate(fresh)
    weights = np.where(level < 0, 0.0, np.exp(-case.budget * level))
    return shape, np.asarray(weights / weights.sum())
