r"""The interior point for an event-wise delta and all pairs of inputs, without a list of events.

.. math:: \sum_y s_{iky} \le b\delta, \quad s_{iky} \ge b P(i, y) - P(k, y), \quad s \ge 0,
          \qquad b = e^{-\epsilon}

means that no event violates the budget of the pair ``(i, k)``. A Newton step eliminates the ``n
(n-1) m`` variables ``s`` one by one and then the pairs, which leaves a system in the ``n m``
entries of the channel. Theory: docs, "Event-wise delta".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.graphs import OutputProgram, OutputSystem
from ldpopt.solving.interior.path_following import Factor, Iterate, PathResult, follow_path

GAP = 1e-11  # relative gap between value and bound at which to stop
MAX_STEPS = 150  # largest number of iterations; 10 to 60 are usual
STALLED_STEPS = 3  # iterations without a smaller gap before stopping
REFINEMENTS = 3  # number of steps of iterative refinement for each solution of the linear system


@dataclass(frozen=True)
class EventPoint(Iterate):
    """A point of the iteration, or a step; ``e``, ``prior`` and ``worst`` are used for a worst case
    only.
    """

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

    def gaps(self, at: EventPoint) -> tuple[float, float]:
        """Gap between the value of a point and the bound of its multipliers, absolute and
        relative.
        """
        return self.gap(
            at.p, at.prior, -self.adjoint(at.ties), self.slack * float(at.ties.max(axis=0).sum())
        )

    def start_point(self) -> EventPoint:
        """Start with uniform reports and half of every slack."""
        m, n = self.shape
        p = np.full((m, n), 1 / m)
        f = np.full(n * (n - 1), self.slack / 2)
        s = np.full((m, len(f)), self.slack / (2 * m))
        t = s - self.apply(p)
        size, e, prior, worst = self.start()
        product = size / (20 * m)
        ties = product / t
        share_multiplier = product / s
        pairs = (ties + share_multiplier).max(axis=0)
        shares = np.maximum(pairs - ties, share_multiplier)
        return EventPoint(
            p,
            s,
            t,
            f,
            e,
            product / p,
            shares,
            ties,
            pairs,
            prior,
            self.priced(prior).max(axis=0),
            worst,
        )


def interior(events: EventProgram, deadline: Deadline = NO_LIMIT) -> PathResult[EventPoint]:
    """Follow the central path until bound and value agree, and return the best point."""
    return follow_path(
        events.start_point(),
        events.gaps,
        lambda at: _EventSystem(events, at),
        gap=GAP,
        steps=MAX_STEPS,
        stalled_steps=STALLED_STEPS,
        deadline=deadline,
    )


class _EventSystem(OutputSystem[EventPoint]):
    """The linear system of one iteration, factored at a point."""

    program: EventProgram

    def __init__(self, events: EventProgram, at: EventPoint) -> None:
        self.program, self.at = events, at
        self.sum_residual = 1 - at.p.sum(axis=0)
        self.tie_residual = at.s - events.apply(at.p) - at.t
        self.pair_residual = events.slack - at.s.sum(axis=0) - at.f
        self.share_residual = at.pairs - at.ties - at.shares
        self.dual_residual = events.priced(at.prior) - at.sums - events.adjoint(at.ties) + at.z
        self.worst_residual = events.expected(at.p) - at.worst - at.e
        self.tie_weight = at.ties / at.t
        self.total_weight = self.tie_weight + at.shares / at.s
        self.tie_fraction = self.tie_weight / self.total_weight
        self.pair_pivot = at.f / at.pairs + (1 / self.total_weight).sum(axis=0)
        self._factor()

    def _factor(self) -> None:
        """Factor the system of the entries, and the Schur complement of the row sums and
        expectations.
        """
        (m, n), events, at = self.program.shape, self.program, self.at
        b = events.b
        diagonal = np.arange(n)
        root = events.as_tables(self.tie_fraction / np.sqrt(self.pair_pivot))
        single = events.as_tables(self.tie_fraction * at.shares / at.s)
        system = np.empty((m, n, m, n))
        for j in range(m):
            cross_products = root[j] * root
            system[j] = (-b * (cross_products + cross_products.transpose(0, 2, 1))).transpose(
                1, 0, 2
            )
        by_row = root.transpose(1, 0, 2)
        by_column = root.transpose(2, 0, 1)
        system[:, diagonal, :, diagonal] = b * b * by_row @ by_row.transpose(
            0, 2, 1
        ) + by_column @ by_column.transpose(0, 2, 1)
        for j in range(m):
            system[j, :, j, :] -= b * (single[j] + single[j].T)
            system[j, diagonal, j, diagonal] += (
                b * b * single[j].sum(axis=1) + single[j].sum(axis=0) + at.z[j] / at.p[j]
            )
        self.factor = Factor(system.reshape(m * n, m * n).T, ridge=1e-15)
        border = np.tile(np.eye(n), (m, 1))
        if events.gain is not None:
            weighed = np.zeros((m, n, n))
            weighed[:, diagonal, diagonal] = -events.gain
            border = np.column_stack([border, weighed.reshape(m * n, n)])
        schur = border.T @ self.factor.solve(border)
        if events.gain is not None:
            schur[diagonal + n, diagonal + n] += at.e / at.prior
        self.coupling = Factor(schur)

    def _solve_outputs(self, right: Float) -> Float:
        """Solve the system of all entries."""
        return self.factor.solve(right.reshape(-1)).reshape(right.shape)

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> EventPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts: those
        of ``p``, ``s``, ``t``, ``f`` and ``e``, in this order.

        Each refinement solves once more for what is left of the linear equations.
        """
        events, at = self.program, self.at
        right, *eliminated = self._right_sides(aims)
        expected = aims[4] / at.prior - self.worst_residual
        left = 1 - float(at.prior.sum())
        parts = self._solve_coupled(right, self.sum_residual, expected, left)
        step = self._complete_step(parts, aims, *eliminated)
        for _ in range(REFINEMENTS if refine else 0):
            residual = self.dual_residual - step.sums - events.adjoint(step.ties) + step.z
            if events.gain is not None:
                residual = residual + events.gain * step.prior
            sums = self.sum_residual - step.p.sum(axis=0)
            worst = aims[4] / at.prior - at.e / at.prior * step.prior - step.e
            more = self._solve_coupled(residual, sums, worst, left - float(step.prior.sum()))
            parts = tuple(part + change for part, change in zip(parts, more, strict=True))
            step = self._complete_step(parts, aims, *eliminated)
        return step

    def _right_sides(self, aims: tuple[Float, ...]) -> tuple[Float, Float, Float]:
        """Right-hand side of the entries after shares, excesses and pairs are eliminated, and of
        shares and pairs.
        """
        at, (aim_p, aim_s, aim_t, aim_f, _) = self.at, aims
        tie = aim_t / at.t - self.tie_weight * self.tie_residual
        share_side = tie + aim_s / at.s - self.share_residual
        pair = aim_f / at.pairs - self.pair_residual + (share_side / self.total_weight).sum(axis=0)
        pairs = self.tie_fraction * (pair / self.pair_pivot)
        eliminated = self.program.adjoint(tie - self.tie_fraction * share_side + pairs)
        return self.dual_residual + aim_p / at.p - eliminated, share_side, pair

    def _complete_step(
        self, parts: tuple[Float, ...], aims: tuple[Float, ...], share_side: Float, pair: Float
    ) -> EventPoint:
        """Compute the other parts of the step from those of `_solve_coupled`."""
        events, at, (p, sums, prior, worst), (aim_p, aim_s, aim_t, _, _) = (
            self.program,
            self.at,
            parts,
            aims,
        )
        excess = events.apply(p)
        pairs = (pair + (self.tie_fraction * excess).sum(axis=0)) / self.pair_pivot
        s = (self.tie_weight * excess - pairs + share_side) / self.total_weight
        t = s - excess + self.tie_residual
        f = self.pair_residual - s.sum(axis=0)
        z = (aim_p - at.z * p) / at.p
        shares = (aim_s - at.shares * s) / at.s
        ties = (aim_t - at.ties * t) / at.t
        e = events.expected(p) - worst + self.worst_residual
        return EventPoint(p, s, t, f, e, z, shares, ties, pairs, prior, sums, worst)
