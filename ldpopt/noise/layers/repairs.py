"""Repairs: ways to make weights that fall with the layers private on any graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ldpopt.closed_forms.kernel import hop_distances
from ldpopt.errors import NoSolutionError, NotRepresentableError, PrivacyViolationError
from ldpopt.foundation.numbers import Float, Int, is_whole
from ldpopt.privacy import GraphDP
from ldpopt.privacy.graph_layers import Value, value_of
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solving.solve import solve

# Budgets tried between epsilon / 2 and epsilon before the bisection; the privacy loss need not be
# monotone
BUDGETS_TRIED = 64
# largest number of points of the group on which the noise of a window is defined
MAX_WINDOW_POINTS = 20_000
# entries of the program of ball columns above which some sets are left out
MAX_BALL_ENTRIES = 2_000_000
# largest number of probabilities in the program of `layer_program`: one to a few seconds
MAX_LAYER_ENTRIES = 3000
# layers times epsilon beyond which the remaining noise does not matter for the utility
WINDOW_NATS = 40.0


@dataclass(frozen=True)
class EdgeLoss:
    """Privacy loss of normalized weights along the edges of the graph, at any budget."""

    levels: Int  # layer numbers, shape (n, m)
    first: Int  # ends of the edges, both ways, shape (directed edges,)
    second: Int
    # ``max_r levels[second, r] - levels[first, r]``, at most 1 by Lemma 1, shape (directed edges,)
    increase: Int

    @classmethod
    def of(cls, levels: Int, pairs: tuple[Int, Int]) -> EdgeLoss:
        """Compute the increases of all edges once; each budget then costs O(n m + edges)."""
        first, second = pairs
        increase = np.array(
            [(levels[v] - levels[u]).max() for u, v in zip(first, second, strict=True)],
            dtype=np.int64,
        )
        return cls(levels, first, second, increase)

    def log_sums(self, budget: float) -> Float:
        """Logarithm of the normalizers, shape (n,)."""
        return np.asarray(np.log(np.exp(-budget * self.levels).sum(axis=1)))

    def loss(self, budget: float) -> float:
        """Largest log ratio of the normalized weights along an edge, at a budget."""
        sums = self.log_sums(budget)
        return float(
            (budget * self.increase + sums[self.second] - sums[self.first]).max(initial=0.0)
        )


@dataclass(frozen=True)
class RepairInput:
    """A problem with its layers: repairs compute a float channel from it, which the caller rounds
    exactly.
    """

    problem: Problem
    levels: Int
    edges: EdgeLoss
    value: Value | None

    @property
    def budget(self) -> float:
        """Epsilon of an edge, in nats."""
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


def normalize(case: RepairInput) -> Float:
    """Normalize the weights; if that exceeds epsilon, it raises."""
    loss = case.edges.loss(case.budget)
    if loss > case.budget * (1 + 1e-12):
        problem = (
            f"the normalizers differ: the normalized weights need epsilon = {loss:.6g}, not "
            f"{case.budget:.6g}"
        )
        raise PrivacyViolationError(problem, code="normalizers", do='use repair="best"')
    return normalized(case.levels, case.budget)


def reduce_budget(case: RepairInput) -> Float:
    """Normalize at the largest budget whose privacy loss is found to be at most epsilon, by a grid
    and bisection.
    """
    target, loss = case.budget, case.edges.loss
    grid = np.linspace(target / 2, target, BUDGETS_TRIED + 1)
    last = max((k for k in range(BUDGETS_TRIED + 1) if loss(grid[k]) <= target), default=0)
    low = float(grid[last])
    high = float(grid[min(last + 1, BUDGETS_TRIED)])
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) <= target else (low, middle)
    return normalized(case.levels, low)


def column_weights(case: RepairInput) -> Float:
    r"""Solve ``max sum_r w_r sum_x prior[x] gain[x, r] K[x, r]`` over ``w >= 0, K w = 1``; ``K =
    exp(-epsilon L)``.
    """
    return _best_column_weights(
        case, np.exp(-case.budget * case.levels), np.arange(case.levels.shape[1])
    )


def balls(case: RepairInput) -> Float:
    r"""Solve for weights of several columns per value, which fall with the distance to a set or to
    its complement.

    .. math:: e^{-\epsilon d(x, S)}, \qquad S = \{ x : u(x, r) \ge c \},
              \qquad e^{-\epsilon \max(k - L(x, r), 0)}

    Each column is private by itself, since a distance to a set changes by at most one along an
    edge; so is their sum. Each column reports the value with the best utility for it. The largest
    set contains all inputs: its constant column makes the program feasible on every graph. The sets
    are the widened first layers of problem (9) of the paper.
    """
    radii = range(1, int(case.levels.max()) + 1)
    falls = [case.levels, *(np.maximum(k - case.levels, 0) for k in radii), *_set_distances(case)]
    columns = np.exp(-case.budget * np.unique(np.hstack(falls), axis=1))
    gain = (case.prior[:, None] * columns).T @ case.problem.utility.gain
    return _best_column_weights(case, columns, gain.argmax(axis=1))


def _set_distances(case: RepairInput) -> list[Int]:
    """Return for each value the hop distances of all inputs to growing sets of the best inputs for
    it, (n, sets).
    """
    problem, gain, hops = case.problem, case.problem.utility.gain, case.levels
    if case.value is not None:
        hops = hop_distances(problem.privacy.graph, problem.inputs).astype(np.int64)
    n, m = case.levels.shape
    max_sets = max(3, MAX_BALL_ENTRIES // (n * m))
    distances = []
    for r in range(m):
        order = np.argsort(-gain[:, r], kind="stable")
        ends = np.append(np.flatnonzero(np.diff(gain[order, r])), n - 1)
        if len(ends) > max_sets:
            ends = ends[np.unique(np.linspace(0, len(ends) - 1, max_sets).astype(int))]
        distances.append(np.minimum.accumulate(hops[:, order], axis=1)[:, ends])
    return distances


def _best_column_weights(case: RepairInput, columns: Float, reports: Int) -> Float:
    """Return the channel of the best column weights; rows sum to one, and column j reports value
    ``reports[j]``.
    """
    gains = case.prior @ (case.problem.utility.gain[:, reports] * columns)
    result = linprog(-gains, A_eq=columns, b_eq=np.ones(len(columns)), method="highs")
    if result.x is None:
        raise NoSolutionError(
            f"no column weights w >= 0 make all rows sum to one ({result.message})", code="weights"
        )
    channel = np.zeros(case.levels.shape)
    np.add.at(channel.T, reports, (columns * np.maximum(result.x, 0.0)).T)
    return channel


def window(case: RepairInput) -> Float:
    """Add noise on a torus that contains all values, then replace each of its points by the best
    report.

    Noise on a group has the same distribution for all inputs, so all normalizers are equal. The
    Bayes remap is post-processing. The torus replaces the full group; it is a group itself, so its
    noise is private at any size.
    """
    values = _integer_values(case.problem.inputs, case.value)
    shape, noise = _torus_noise(values, case)
    cells = np.indices(shape).reshape(len(shape), -1).T
    noisy = np.array([noise[tuple(((cells - value) % shape).T)] for value in values])
    best = ((case.prior[:, None] * noisy).T @ case.problem.utility.gain).argmax(axis=1)
    channel = np.zeros(case.levels.shape)
    np.add.at(channel.T, best, noisy.T)
    return channel


def layer_program(case: RepairInput) -> Float:
    """Solve for the best mechanism that depends on an input through ``min(L(x, r), depth)`` only,
    for a large depth.
    """
    import networkx as nx

    problem, (n, m) = case.problem, case.levels.shape
    classes: Int = np.zeros(0, dtype=np.int64)
    for depth in range(1, int(case.levels.max(initial=0)) + 1):
        finer = np.unique(np.minimum(case.levels, depth), axis=0, return_inverse=True)[1].ravel()
        if (finer.max() + 1) * m > MAX_LAYER_ENTRIES:
            break
        classes = finer
    count = int(classes.max(initial=-1)) + 1
    if m == n:
        fault = "each input has its own value: the best mechanism by layers is the optimum itself"
        raise NotRepresentableError(
            fault, code="distinct-values", do="solve the problem, or choose another repair"
        )
    if not count:
        fault = f"the query has {m} values: too many for the linear program of layers"
        raise NotRepresentableError(
            fault, code="many-values", do="choose another repair, or group the values"
        )
    weights = np.bincount(classes, case.prior)
    gain = np.zeros((count, m))
    np.add.at(gain, classes, case.prior[:, None] * problem.utility.gain)
    gain[weights > 0] /= weights[weights > 0, None]
    graph = nx.empty_graph(count)
    graph.add_edges_from(
        zip(classes[case.edges.first].tolist(), classes[case.edges.second].tolist(), strict=True)
    )
    privacy = GraphDP(problem.privacy.epsilon, graph)
    merged = Problem(weights, Utility(gain), privacy, inputs=range(count), outputs=problem.outputs)
    return solve(merged).mechanism.channel[classes]


REPAIRS: dict[str, Callable[[RepairInput], Float]] = {
    "none": normalize,
    "budget": reduce_budget,
    "columns": column_weights,
    "balls": balls,
    "window": window,
    "layers": layer_program,
}
"""In order of preference; among equal values the first wins."""


def _integer_values(inputs: tuple[Hashable, ...], value: Value | None) -> Int:
    """Return the query values as integer vectors, shape (n, d), minus the least."""
    entries: list[Any] = [value_of(node, value) for node in inputs]
    rows = [entry if isinstance(entry, tuple) else (entry,) for entry in entries]
    are_integers = all(is_whole(part) for row in rows for part in row)
    if not are_integers or len({len(row) for row in rows}) > 1 or not rows[0]:
        problem = (
            "the values are neither integers nor tuples of integers: noise on a group is "
            "not defined"
        )
        raise NotRepresentableError(
            problem, code="integers", do="choose another repair, or give each value an integer"
        )
    if max(abs(int(part)) for row in rows for part in row) > 2**52:
        problem = "the values lie beyond 2**52: the window would be too large"
        raise NotRepresentableError(problem, do="choose another repair, or smaller numbers")
    values = np.array(rows, dtype=np.int64)
    return np.asarray(values - values.min(axis=0))


def _torus_noise(values: Int, case: RepairInput) -> tuple[tuple[int, ...], Float]:
    """Return the shape of a torus, and noise on it by the word metric of the value changes along
    the edges.
    """
    steps = np.unique(values[case.edges.first] - values[case.edges.second], axis=0)
    d = values.shape[1]
    extent = np.ptp(values, axis=0) + 1
    reach = int(np.ceil(WINDOW_NATS / case.budget)) if case.budget > 1e-9 else MAX_WINDOW_POINTS
    wanted = extent + 2 * min(reach, MAX_WINDOW_POINTS) * np.abs(steps).max(axis=0, initial=0)
    # If the budget needs more points than allowed, a smaller torus is as private and slightly less
    # useful.
    shape = tuple(
        np.minimum(wanted, np.maximum(2 * extent, int(MAX_WINDOW_POINTS ** (1 / d)))).tolist()
    )
    if float(np.prod(np.array(shape, dtype=float))) * len(values) > 1000 * MAX_WINDOW_POINTS:
        problem = f"a window of {' x '.join(map(str, shape))} points is too large"
        raise NotRepresentableError(problem, do="choose another repair, or a larger epsilon")
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
