r"""The interior point for graphs and metrics, with one sparse block per output.

Each privacy row ``P[k, y] - r P[i, y] >= 0`` concerns a single output; only the row sums (and, for
a worst case, the inputs' expectations) couple the outputs. So a Newton step factors one matrix of
order ``n`` per output, a weighted graph Laplacian, and one of order ``n`` (or ``2 n``) that couples
them. With levels of ``s`` inputs this takes ``O(m n^2 s)`` operations. Theory: docs, "Graphs and
metrics: an interior point by outputs".
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import few_threads, over_rows
from ldpopt.native import add_adjoint, add_multiplier_steps, add_weights, write_steps
from ldpopt.privacy import Ties
from ldpopt.solving.interior.levels import LevelFactors, VertexLevels
from ldpopt.solving.interior.path_following import Factor, Iterate, NewtonSystem, P, follow_path

ENOUGH_RESIDUAL = 1e-6  # largest error of a row sum at a point with a finite gap
OPERATIONS = 8.0  # operations of a loop per tie and output
# Relative gap at which to stop; relative to the bound, or to a hundredth of the range of costs if
# that is larger
GAP = 1e-11
MAX_STEPS = 120  # largest number of iterations; 10 to 45 are usual
STALLED_STEPS = 5  # iterations without a smaller gap before stopping
NEGLIGIBLE = 1e-3  # share of the gap by which leaving out small multipliers may raise the bound
# Largest error of a step's equations that is not corrected, relative to the largest cost; the
# predictor's error
MAX_ERROR, MAX_PREDICTOR_ERROR = 1e-11, 1e-6
# smallest entry by which a matrix is scaled, because entries may not be positive after rounding
LEAST_ENTRY = 1e-150


@dataclass(frozen=True, eq=False)
class OutputProgram:
    """Maximize the sum of ``cost * p`` or, for a worst case, the smallest sum of ``gain * p`` of an
    input.
    """

    cost: Float  # (m, n); not used for a worst case
    gain: Float | None  # (m, n), for a worst case

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and inputs."""
        return self.cost.shape[0], self.cost.shape[1]

    def priced(self, prior: Float) -> Float:
        """Costs of the entries; in a worst case under this prior."""
        return self.cost if self.gain is None else self.gain * prior

    def start(self) -> tuple[float, Float, Float, Float]:
        """Size of the costs, and slacks, prior and value of the worst case at uniform reports."""
        n = self.shape[1]
        if self.gain is None:
            return float(np.abs(self.cost).max()), np.zeros(0), np.zeros(0), np.zeros(1)
        size = float(np.abs(self.gain).max()) / n
        mean = self.gain.mean(axis=0)
        worst = np.array([mean.min() - max(size, float(np.ptp(mean)))])
        return size, mean - worst, np.full(n, 1 / n), worst

    def expected(self, p: Float) -> Float:
        """Expected gains of the inputs, shape (n,); empty without a worst case."""
        return np.zeros(0) if self.gain is None else (self.gain * p).sum(axis=0)

    def gap(
        self, p: Float, prior: Float, adjoint: Float, slack: float = 0.0
    ) -> tuple[float, float]:
        """Gap between the value of the entries and the bound of multipliers, absolute and
        relative.
        """
        # The multipliers raise the costs by adjoint, and the bound by slack.
        residual = float(np.abs(1 - p.sum(axis=0)).max())
        p = np.maximum(p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.cost if self.gain is None else self.gain * (prior / prior.sum())
        value = (
            float((cost * p).sum())
            if self.gain is None
            else float((self.gain * p).sum(axis=0).min())
        )
        bound = float((cost + adjoint).max(axis=0).sum()) + slack
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        is_useful = residual < ENOUGH_RESIDUAL and math.isfinite(bound - value)
        distance = max(bound - value, 0.0) if is_useful else math.inf
        return distance, distance / max(abs(bound), spread / 100, 1e-300)


class OutputSystem(NewtonSystem[P]):
    """The linear system of an `OutputProgram`: outputs are coupled by row sums and, in a worst
    case, expectations.
    """

    program: OutputProgram
    coupling: Factor  # of the Schur complement of the row sums and expectations, of order n or 2 n

    @abstractmethod
    def _solve_outputs(self, right: Float) -> Float:
        """Solve for the entries without the rows that couple the outputs; both have the shape (m,
        n).
        """

    def _solve_coupled(
        self, right: Float, sums: Float, expected: Float, prior: float
    ) -> tuple[Float, ...]:
        """Steps of the entries, of the multipliers of row sums and expectations, and of the worst
        value.
        """
        # The right-hand sides are those of the entries, row sums, expectations (if any), and of the
        # prior's sum.
        gain = self.program.gain
        apart = self._solve_outputs(right)  # as if nothing coupled the outputs
        if gain is None:
            y = self.coupling.solve(apart.sum(axis=0) - sums)
            return (
                apart - self._solve_outputs(np.broadcast_to(y, right.shape)),
                y,
                np.zeros(0),
                np.zeros(1),
            )
        n = right.shape[1]
        # the worst value shifts all expectations alike, by as much as the prior's sum asks for
        base = self.coupling.solve(
            np.concatenate([apart.sum(axis=0) - sums, expected - (gain * apart).sum(axis=0)])
        )
        unit_response = self.coupling.solve(np.repeat([0.0, 1.0], n))
        shift = (prior - base[n:].sum()) / unit_response[n:].sum()
        y, pi = np.split(base + shift * unit_response, 2)
        return apart - self._solve_outputs(y - gain * pi), y, pi, np.array([shift])


@dataclass(frozen=True, eq=False)
class GraphProgram(OutputProgram):
    """The program of a graph or metric; inputs are in the order of the levels."""

    first: Int  # (pairs,)
    second: Int  # (pairs,)
    ratio: Float  # (pairs,)
    levels: VertexLevels
    unit: float  # the number by which costs and gains were divided

    @classmethod
    def of(cls, ties: Ties, cost: Float, gain: Float | None) -> "GraphProgram | None":
        """Scale ``cost`` or ``gain``, shape (n, m), to a largest entry of 1; None if it is zero or
        not finite.
        """
        n = ties.n
        if not (
            unit := float(np.abs(cost if gain is None else gain / n).max())
        ) > 0 or not math.isfinite(unit):
            return None
        first, second = ties.pairs()
        levels = VertexLevels.of(n, first, second)
        position = np.argsort(levels.order)
        ratio = np.array(np.broadcast_to(ties.ratio(up=False), first.shape), dtype=float)

        def by_output(table: Float) -> Float:
            return np.ascontiguousarray(table[levels.order].T) / unit

        return cls(
            by_output(cost),
            None if gain is None else by_output(gain),
            position[first],
            position[second],
            ratio,
            levels,
            unit,
        )

    @property
    def pairs(self) -> tuple[Int, Int, Float]:
        """Ends and ratio of every pair: the first arguments of the loops."""
        return self.first, self.second, self.ratio

    def adjoint(self, ties: Float) -> Float:
        """The transposed slacks, applied to multipliers (m, pairs): shape (m, n)."""
        total = np.zeros(self.shape)
        self.over_ties(add_adjoint, self.pairs, ties, total)
        return total

    def over_ties(
        self, loop: Callable[..., object], fixed: tuple[Any, ...], *arrays: Float
    ) -> None:
        """Call a loop in C over the ties of every output, on all cores."""
        over_rows(loop, fixed, arrays, OPERATIONS * len(self.first))


@dataclass(frozen=True, eq=False)
class GraphResult:
    """The best channel found, and the multipliers that prove its gap, for an objective to be
    maximized.
    """

    channel: Float  # (n, m), not repaired
    rows: tuple[Int, Int, Int, Float]  # privacy rows with multipliers, as `pair_answer` takes them
    # of the row sums, of these rows, and in the worst case of the inputs, with sum 1
    multipliers: Float
    gap: float  # relative, in floats
    steps: int
    timed_out: bool


def solve_graph(
    data: GraphProgram, *, gap: float = GAP, steps: int = MAX_STEPS, deadline: Deadline = NO_LIMIT
) -> GraphResult:
    """Follow the central path, and return the best point in any case."""
    m, n = data.shape
    workspace = np.empty((m, data.levels.numbers))
    # Near the end of the accuracy numbers may overflow; such a step is not used.
    with few_threads(n), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        result = follow_path(
            GraphPoint.start(data),
            lambda at: data.gap(at.p, at.prior, data.adjoint(at.ties)),
            lambda at: GraphSystem(data, at, workspace),
            gap=gap,
            steps=steps,
            stalled_steps=STALLED_STEPS,
            deadline=deadline,
        )
    at, order = result.point, data.levels.order
    place = np.argsort(order)
    ties = _one_way(data, at.ties)
    distance, share = data.gap(at.p, at.prior, data.adjoint(ties))
    degree = np.bincount(data.first, minlength=n).max()
    output, pair = np.nonzero(
        ties > (NEGLIGIBLE * distance / (n * degree) if np.isfinite(distance) else 0.0)
    )
    prior = np.zeros(0) if data.gain is None else (at.prior / at.prior.sum())[place]
    multipliers = np.concatenate(
        [data.unit * at.sums[place], data.unit * ties[output, pair], prior]
    )
    rows = order[data.first[pair]], order[data.second[pair]], output, data.ratio[pair]
    return GraphResult(
        np.maximum(at.p.T[place], 0.0), rows, multipliers, share, result.steps, result.timed_out
    )


def _one_way(data: GraphProgram, ties: Float) -> Float:
    """Equivalent multipliers with a lower bound: of each tie and its reverse, only one is
    positive.
    """
    n = data.shape[1]
    forward = np.argsort(data.first * n + data.second)
    reverse = np.argsort(data.second * n + data.first)
    back = np.empty(len(forward), np.int64)
    back[reverse] = forward
    return np.maximum(ties - data.ratio[back] * ties[:, back], 0.0) * (ties >= ties[:, back])


@dataclass(frozen=True)
class GraphPoint(Iterate):
    """A point of the iteration, or a step; ``e``, ``worst`` and ``prior`` are used for a worst case
    only.
    """

    p: Float  # (m, n): entries, free
    t: Float  # (m, pairs): slacks of the ties
    e: Float  # (n,): slacks of the inputs' expectations
    worst: Float  # (1,): value of the worst case, free
    ties: Float  # multipliers of t
    prior: Float  # multipliers of e
    sums: Float  # (n,): multipliers of the row sums, free

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"p", "t", "e", "worst"})
    SLACKS: ClassVar[tuple[str, ...]] = ("t", "e")
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("ties", "prior")

    @classmethod
    def start(cls, data: GraphProgram) -> "GraphPoint":
        """Start with uniform reports, strictly private, and equal products of slacks and
        multipliers.
        """
        m, n = data.shape
        t = np.repeat(((1 - data.ratio) / m)[None], m, axis=0)
        size, e, prior, worst = data.start()
        sums = data.priced(prior).max(axis=0)
        return cls(np.full((m, n), 1 / m), t, e, worst, size * float(t.mean()) / t, prior, sums)


class GraphSystem(OutputSystem[GraphPoint]):
    """The linear system of one iteration, factored at a point; ``workspace`` (m, numbers) is memory
    for the factors.
    """

    program: GraphProgram

    def __init__(self, program: GraphProgram, at: GraphPoint, workspace: Float) -> None:
        self.program, self.at = program, at
        self.sum_residual = 1 - at.p.sum(axis=0)
        self.dual_residual = program.priced(at.prior) - at.sums + program.adjoint(at.ties)
        self.prior_residual = 0.0 if program.gain is None else 1 - float(at.prior.sum())
        self.worst_residual = program.expected(at.p) - at.worst - at.e
        self._factor(workspace)

    def _factor(self, workspace: Float) -> None:
        """Factor each output's matrix, and the Schur complement of the rows that couple the
        outputs.
        """
        program, at = self.program, self.at
        (m, n), levels = program.shape, program.levels
        off = np.zeros((m, len(levels.low)))
        program.over_ties(add_weights, (program.ratio, levels.pair_edge), at.t, at.ties, off)
        scale = np.maximum(at.p, LEAST_ENTRY)
        excess = scale * program.adjoint(at.ties)
        # its sum is that of the products of slacks and multipliers, which are positive, so that no
        # digits cancel: the largest entry takes the difference
        excess[np.arange(m), np.abs(excess).argmax(axis=1)] += (at.t * at.ties).sum(
            axis=1
        ) - excess.sum(axis=1)
        self.factors = LevelFactors.of(levels, scale, excess, off, program.gain, workspace)
        schur = self.factors.sums[0]
        if program.gain is not None:
            _, one, both = self.factors.sums
            both[np.diag_indices(n)] += at.e / at.prior
            schur = np.block([[schur, -one], [-one.T, both]])
        self.coupling = Factor(schur)

    def _solve_outputs(self, right: Float) -> Float:
        """Solve by the factors of each output."""
        return self.factors.solve(right)

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> GraphPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined
        if inaccurate.
        """
        program, at, (aim_tie, aim_worst) = self.program, self.at, aims
        fixed = at.p, at.t, at.ties, aim_tie
        right = self.dual_residual.copy()
        program.over_ties(
            add_multiplier_steps, program.pairs, *fixed, np.zeros(program.shape), right
        )
        expected = aim_worst / at.prior - self.worst_residual
        p, y, prior, worst = self._solve_coupled(
            right, self.sum_residual, expected, self.prior_residual
        )
        entry_residual = self.dual_residual - y
        sum_residual = self.sum_residual - p.sum(axis=0)
        program.over_ties(add_multiplier_steps, program.pairs, *fixed, p, entry_residual)
        if program.gain is not None:
            entry_residual += program.gain * prior
        error = max(float(np.abs(entry_residual).max()), float(np.abs(sum_residual).max()))
        if program.gain is not None or not error <= (MAX_ERROR if refine else MAX_PREDICTOR_ERROR):
            expected = expected - program.expected(p) + worst - at.e / at.prior * prior
            left = self.prior_residual - float(prior.sum())
            change = self._solve_coupled(entry_residual, sum_residual, expected, left)
            p, y, prior, worst = p + change[0], y + change[1], prior + change[2], worst + change[3]
        t = np.empty(at.t.shape)
        ties = np.empty(at.t.shape)
        program.over_ties(write_steps, program.pairs, *fixed, p, t, ties)
        return GraphPoint(
            p, t, program.expected(p) - worst + self.worst_residual, worst, ties, prior, y
        )
