"""The interior point for an event-wise delta and all pairs, without a list of events (docs, "Event-wise delta")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrs

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.graphs import OutputProgram
from ldpopt.solving.interior.path_following import NewtonSystem, PathResult, Point, cholesky, follow_path

GAP = 1e-11  # relative gap between value and bound at which to stop
MAX_STEPS = 150  # largest number of iterations; 10 to 60 are usual
STALLED_STEPS = 3  # iterations without a smaller gap before stopping
REFINEMENTS = 3  # number of steps of iterative refinement for each solution of the linear system


@dataclass(frozen=True)
class EventPoint(Point):
    """A point of the iteration, or a step; ``e``, ``prior`` and ``worst`` are used for a worst case only."""

    p: Float  # (m, n): entries
    s: Float  # (m, pairs): shares of the slack
    t: Float  # (m, pairs): s less the excess b P(i, y) - P(k, y)
    f: Float  # (pairs,): slack that is not used
    e: Float  # (n,): slacks of the inputs' expectations
    z: Float  # multipliers of p
    shares: Float  # multipliers of s
    ties: Float  # multipliers of t
    pairs: Float  # multipliers of f
    prior: Float  # multipliers of e
    sums: Float  # (n,): multipliers of the row sums, free
    worst: Float  # (1,): value of the worst case, free

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"p", "s", "t", "f", "e", "worst"})
    SLACKS: ClassVar[tuple[str, ...]] = ("p", "s", "t", "f", "e")
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("z", "shares", "ties", "pairs", "prior")


@dataclass(frozen=True, eq=False)
class EventProgram(OutputProgram):
    """The program of an event-wise delta; ``slack`` is ``b delta``."""

    b: float
    slack: float

    def pairs(self) -> tuple[Any, Any]:
        """Ordered pairs of inputs."""
        first, second = np.nonzero(~np.eye(self.shape[1], dtype=bool))
        return first, second

    def as_tables(self, values: Float) -> Float:
        """Values of the pairs, shape (m, pairs), as tables, shape (m, n, n)."""
        n = self.shape[1]
        table = np.zeros((len(values), n * n))
        table[:, ~np.eye(n, dtype=bool).reshape(-1)] = values
        return table.reshape(-1, n, n)

    def apply(self, p: Float) -> Float:
        """``b P(i, y) - P(k, y)``, shape (m, pairs)."""
        first, second = self.pairs()
        return self.b * p[:, first] - p[:, second]

    def adjoint(self, ties: Float) -> Float:
        """Transpose of `apply`, shape (m, n)."""
        table = self.as_tables(ties)
        return np.asarray(self.b * table.sum(axis=2) - table.sum(axis=1))

    def distance(self, at: EventPoint) -> tuple[float, float]:
        """Gap between the value of a point and the bound of its multipliers, absolute and relative."""
        return self.gap(at.p, at.prior, -self.adjoint(at.ties), self.slack * float(at.ties.max(axis=0).sum()))

    def start_point(self) -> EventPoint:
        """Start with uniform reports and half of every slack."""
        m, n = self.shape
        p, f = np.full((m, n), 1 / m), np.full(n * (n - 1), self.slack / 2)
        s = np.full((m, len(f)), self.slack / (2 * m))
        t = s - self.apply(p)
        size, e, prior, worst = self.start()
        product = size / (20 * m)
        ties, share_multiplier = product / t, product / s
        pairs = (ties + share_multiplier).max(axis=0)
        shares = np.maximum(pairs - ties, share_multiplier)
        return EventPoint(p, s, t, f, e, product / p, shares, ties, pairs, prior, self.priced(prior).max(axis=0), worst)


def interior(events: EventProgram, deadline: Deadline = NO_LIMIT) -> PathResult[EventPoint]:
    """Follow the central path until bound and value agree, and return the best point."""
    return follow_path(
        events.start_point(),
        events.distance,
        lambda at: _EventSystem(events, at),
        gap=GAP,
        steps=MAX_STEPS,
        stalled_steps=STALLED_STEPS,
        deadline=deadline,
    )


class _EventSystem(NewtonSystem[EventPoint]):
    """The linear system of one iteration, factored at a point."""

    def __init__(self, events: EventProgram, at: EventPoint) -> None:
        self.events, self.at = events, at
        self.sum_residual = 1 - at.p.sum(axis=0)
        self.tie_residual = at.s - events.apply(at.p) - at.t
        self.pair_residual = events.slack - at.s.sum(axis=0) - at.f
        self.share_residual = at.pairs - at.ties - at.shares
        self.dual_residual = events.priced(at.prior) - at.sums - events.adjoint(at.ties) + at.z
        if events.gain is not None:
            self.worst_residual = (events.gain * at.p).sum(axis=0) - at.worst - at.e
        self.tie_weight = at.ties / at.t
        self.total_weight = self.tie_weight + at.shares / at.s
        self.tie_fraction = self.tie_weight / self.total_weight
        self.pair_pivot = at.f / at.pairs + (1 / self.total_weight).sum(axis=0)
        self._factor()

    def _factor(self) -> None:
        """Factor the system of the entries, and the Schur complement of the row sums and expectations."""
        (m, n), events, at = self.events.shape, self.events, self.at
        b, own = events.b, np.arange(self.events.shape[1])
        root = events.as_tables(self.tie_fraction / np.sqrt(self.pair_pivot))
        single = events.as_tables(self.tie_fraction * at.shares / at.s)
        system = np.empty((m, n, m, n))
        for j in range(m):
            cross_products = root[j] * root
            system[j] = (-b * (cross_products + cross_products.transpose(0, 2, 1))).transpose(1, 0, 2)
        by_row, by_column = root.transpose(1, 0, 2), root.transpose(2, 0, 1)
        system[:, own, :, own] = b * b * by_row @ by_row.transpose(0, 2, 1) + by_column @ by_column.transpose(0, 2, 1)
        for j in range(m):
            system[j, :, j, :] -= b * (single[j] + single[j].T)
            system[j, own, j, own] += b * b * single[j].sum(axis=1) + single[j].sum(axis=0) + at.z[j] / at.p[j]
        square = system.reshape(m * n, m * n)
        self.scale = 1 / np.sqrt(np.diag(square))
        square *= self.scale
        square *= self.scale[:, None]
        self.factor = cholesky(square.T, ridge=1e-15)
        border = np.tile(np.eye(n), (m, 1))
        if events.gain is not None:
            weighed = np.zeros((m, n, n))
            weighed[:, own, own] = -events.gain
            border = np.column_stack([border, weighed.reshape(m * n, n)])
        self.border, self.solved_border = border, self._solve_entries(border)
        self.border_schur = border.T @ self.solved_border
        if events.gain is not None:
            self.border_schur[own + n, own + n] += at.e / at.prior

    def _solve_entries(self, right: Float) -> Float:
        """Solve the system of the entries for one or several right-hand sides."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return np.asarray(scale * dpotrs(self.factor, scale * right, lower=1)[0])

    def _solve_bordered(self, right: Float, below: Float, prior: float) -> tuple[Float, Float]:
        """Solve for the entries and the border: row sums and, in a worst case, prior and worst value."""
        unbordered, n = self._solve_entries(right.reshape(-1)), self.events.shape[1]
        edge: Float = np.linalg.solve(self.border_schur, self.border.T @ unbordered - below).astype(float)
        if self.events.gain is not None:
            unit_response = np.linalg.solve(self.border_schur, np.repeat([0.0, 1.0], n))
            worst = (prior - edge[n:].sum()) / unit_response[n:].sum()
            edge = edge + worst * unit_response
            return (unbordered - self.solved_border @ edge).reshape(right.shape), np.append(edge, worst)
        return (unbordered - self.solved_border @ edge).reshape(right.shape), edge

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> EventPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined."""
        events, at = self.events, self.at
        right, *eliminated = self._right_sides(aims)
        below, left = self.sum_residual, 1 - float(at.prior.sum())
        if events.gain is not None:
            below = np.append(below, self.worst_residual - aims[4] / at.prior)
        p, edge = self._solve_bordered(right, below, left)
        step = self._complete_step(p, edge, aims, *eliminated)
        for _ in range(REFINEMENTS if refine else 0):
            entry_residual = self.dual_residual - step.sums - events.adjoint(step.ties) + step.z
            border_residual = self.sum_residual - p.sum(axis=0)
            if events.gain is not None:
                entry_residual = entry_residual + events.gain * step.prior
                border_residual = np.append(border_residual, at.e / at.prior * step.prior + step.e - aims[4] / at.prior)
            more, shift = self._solve_bordered(entry_residual, border_residual, left - float(step.prior.sum()))
            p, edge = p + more, edge + shift
            step = self._complete_step(p, edge, aims, *eliminated)
        return step

    def _right_sides(self, aims: tuple[Float, ...]) -> tuple[Float, Float, Float]:
        """Right-hand side of the entries after shares, excesses and pairs are eliminated, and of shares and pairs."""
        at, (aim_p, aim_s, aim_t, aim_f, _) = self.at, aims
        tie = aim_t / at.t - self.tie_weight * self.tie_residual
        share_side = tie + aim_s / at.s - self.share_residual
        pair = aim_f / at.pairs - self.pair_residual + (share_side / self.total_weight).sum(axis=0)
        pairs = self.tie_fraction * (pair / self.pair_pivot)
        eliminated = self.events.adjoint(tie - self.tie_fraction * share_side + pairs)
        return self.dual_residual + aim_p / at.p - eliminated, share_side, pair

    def _complete_step(
        self, p: Float, edge: Float, aims: tuple[Float, ...], share_side: Float, pair: Float
    ) -> EventPoint:
        """Compute the other parts of the step from its entries."""
        events, at, n = self.events, self.at, self.events.shape[1]
        aim_p, aim_s, aim_t, _, _ = aims
        excess = events.apply(p)
        pairs = (pair + (self.tie_fraction * excess).sum(axis=0)) / self.pair_pivot
        s = (self.tie_weight * excess - pairs + share_side) / self.total_weight
        t, f = s - excess + self.tie_residual, self.pair_residual - s.sum(axis=0)
        z, shares, ties = (aim_p - at.z * p) / at.p, (aim_s - at.shares * s) / at.s, (aim_t - at.ties * t) / at.t
        e, prior, worst = np.zeros(0), np.zeros(0), np.zeros(1)
        if events.gain is not None:
            e = (events.gain * p).sum(axis=0) - edge[-1] + self.worst_residual
            prior, worst = edge[n:-1], edge[-1:]
        return EventPoint(p, s, t, f, e, z, shares, ties, pairs, prior, edge[:n], worst)
