"""The Newton system of the interior point for graphs and metrics: one sparse block for each output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrs

from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.factors import LevelFactors
from ldpopt.solving.interior.graph_program import GraphProgram
from ldpopt.solving.interior.steps import NewtonSystem, Point, cholesky

ENOUGH, ENOUGH_TO_PREDICT = 1e-11, 1e-6
"""Largest error of a step's equations that is not corrected, costs being 1 at most; and of the predictor's."""

LEAST_ENTRY = 1e-150
"""Smallest entry by which a matrix is scaled: rounding may leave entries that are not positive."""


@dataclass(frozen=True)
class GraphPoint(Point):
    """A point of the iteration, or a step: entries, slacks of ties and expectations; their multipliers.

    Entries and row sums' multipliers ``sums`` are free, and so is the worst case's value ``worst``.
    """

    p: Float
    t: Float
    e: Float
    worst: Float
    ties: Float
    prior: Float
    sums: Float

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"p", "t", "e", "worst"})

    @classmethod
    def start(cls, data: GraphProgram) -> GraphPoint:
        """Start with uniform reports, strictly private, and equal products of slacks and multipliers."""
        m, n = data.shape
        t = np.repeat(((1 - data.ratio) / m)[None], m, axis=0)
        if data.gain is None:
            size = float(np.abs(data.cost).max())
            e, prior, worst = np.zeros(0), np.zeros(0), np.zeros(1)
        else:
            size = float(np.abs(data.gain).max()) / n
            mean = data.gain.mean(axis=0)
            worst = np.array([mean.min() - max(size, float(np.ptp(mean)))])
            e, prior = mean - worst, np.full(n, 1 / n)
        sums = data.priced(prior).max(axis=0)
        return cls(np.full((m, n), 1 / m), t, e, worst, size * float(t.mean()) / t, prior, sums)

    @property
    def slacks(self) -> tuple[Float, ...]:
        """Of ties and expectations."""
        return self.t, self.e

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """Of ties, and the prior of the worst case."""
        return self.ties, self.prior


class GraphSystem(NewtonSystem[GraphPoint]):
    """The factored linear system of one iteration.

    Parameters
    ----------
    data : GraphProgram
        The program.
    at : GraphPoint
        Where it is factored.
    room : float array, shape (m, numbers)
        For the factors; overwritten.
    """

    corrections, reach = 4, 0.3  # more than elsewhere: factors cost ten times as much as a correction

    def __init__(self, data: GraphProgram, at: GraphPoint, room: Float) -> None:
        self.data, self.at = data, at
        self.sum_residual = 1 - at.p.sum(axis=0)
        self.dual_residual = data.priced(at.prior) - at.sums + data.adjoint(at.ties)
        self.prior_residual = 0.0 if data.gain is None else 1 - float(at.prior.sum())
        if data.gain is not None:
            self.worst_residual = (data.gain * at.p).sum(axis=0) - at.worst - at.e
        self._factor(room)

    def _factor(self, room: Float) -> None:
        """Factor each output's matrix, and the Schur complement that couples the outputs."""
        from ldpopt.solving.interior import tie_loops

        data, at = self.data, self.at
        (m, n), levels = data.shape, data.levels
        off = np.zeros((m, len(levels.low)))
        data.over_ties(tie_loops.weigh, (data.ratio, levels.pair_edge), at.t, at.ties, off)
        scale = np.maximum(at.p, LEAST_ENTRY)
        excess = scale * data.adjoint(at.ties)
        largest = np.abs(excess).argmax(axis=1)
        excess[np.arange(m), largest] += (at.t * at.ties).sum(axis=1) - excess.sum(axis=1)
        self.factors = LevelFactors.of(levels, scale, excess, off, data.gain, room)
        schur = self.factors.sums[0]
        if data.gain is not None:
            _, one, both = self.factors.sums
            both[np.diag_indices(n)] += at.e / at.prior
            schur = np.block([[schur, -one], [-one.T, both]])
        self.schur_scale = 1 / np.sqrt(np.diag(schur))
        self.schur_factor = cholesky(np.asfortranarray(schur * self.schur_scale * self.schur_scale[:, None]))

    def _solve_schur(self, right: Float) -> Float:
        return np.asarray(self.schur_scale * dpotrs(self.schur_factor, self.schur_scale * right, lower=1)[0])

    def _solve_coupled(
        self, right: Float, sums: Float, worst: Float | None, prior: float
    ) -> tuple[Float, Float, Float, Float]:
        """Solve all outputs together with the row sums and, in the worst case, the expectations."""
        data = self.data
        uncoupled = self.factors.solve(right)
        if data.gain is None or worst is None:
            y = self._solve_schur(uncoupled.sum(axis=0) - sums)
            return uncoupled - self.factors.solve(np.broadcast_to(y, right.shape)), y, np.zeros(0), np.zeros(1)
        n = data.shape[1]
        base = self._solve_schur(
            np.concatenate([uncoupled.sum(axis=0) - sums, -(data.gain * uncoupled).sum(axis=0) + worst])
        )
        unit_response = self._solve_schur(np.concatenate([np.zeros(n), np.ones(n)]))
        shift = (prior - base[n:].sum()) / unit_response[n:].sum()
        combined = base + shift * unit_response
        y, pi = combined[:n], combined[n:]
        return uncoupled - self.factors.solve(y - data.gain * pi), y, pi, np.array([shift])

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> GraphPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined where needed."""
        from ldpopt.solving.interior import tie_loops

        data, at, (aim_tie, aim_worst) = self.data, self.at, aims
        fixed = at.p, at.t, at.ties, aim_tie
        right = self.dual_residual.copy()
        data.over_ties(tie_loops.pull, data.pairs, *fixed, np.zeros(data.shape), right)
        worst = None if data.gain is None else aim_worst / at.prior - self.worst_residual
        p, y, prior, w = self._solve_coupled(right, self.sum_residual, worst, self.prior_residual)
        entry_residual = self.dual_residual - y
        data.over_ties(tie_loops.pull, data.pairs, *fixed, p, entry_residual)
        expectation_residual = None
        if data.gain is not None and worst is not None:
            entry_residual += data.gain * prior
            expectation_residual = worst - (data.gain * p).sum(axis=0) + w - at.e / at.prior * prior
        sum_residual = self.sum_residual - p.sum(axis=0)
        error = max(float(np.abs(entry_residual).max()), float(np.abs(sum_residual).max()))
        if expectation_residual is not None or not error <= (ENOUGH if refine else ENOUGH_TO_PREDICT):
            change = self._solve_coupled(
                entry_residual, sum_residual, expectation_residual, self.prior_residual - float(prior.sum())
            )
            p, y, prior, w = p + change[0], y + change[1], prior + change[2], w + change[3]
        t, ties, e = np.empty(at.t.shape), np.empty(at.t.shape), np.zeros(0)
        data.over_ties(tie_loops.steps, data.pairs, *fixed, p, t, ties)
        if data.gain is not None:
            e = (data.gain * p).sum(axis=0) - w + self.worst_residual
        return GraphPoint(p, t, e, w, ties, prior, y)
