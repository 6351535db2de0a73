r"""Interior point for event-wise delta, all pairs of inputs at once, without listing a single event.

.. math:: \sum_y s_{iky} \le b\delta, \quad s_{iky} \ge b P(i, y) - P(k, y), \quad s \ge 0, \qquad b = e^{-\epsilon}

says that no event of the pair ``(i, k)`` is in excess. A Newton step eliminates the ``n (n-1) m`` numbers ``s`` one by
one and then the pairs, which leaves a system in the ``n m`` entries of the channel. Theory: docs, "Event-wise delta".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrs

from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.solving.interior.steps import Followed, NewtonSystem, Point, cholesky, follow

GAP = 1e-11
"""Distance of value and bound, as a share, at which to stop."""

MOST_STEPS = 150
"""Iterations; 10 to 60 are usual."""

STALLED_STEPS = 3
"""Iterations without a smaller distance before stopping."""

REFINEMENTS = 3
"""Refinements of a solution of the linear system."""


@dataclass(frozen=True)
class EventPoint(Point):
    """A point of the iteration, or a step; entries have shape (m, n), shares (m, pairs), pairs (pairs,), inputs (n,).

    Slacks ``p, s, t, f, e`` of entries, shares, excesses, pairs and expectations meet the multipliers ``z, shares,
    ties, pairs, prior``; ``sums`` and ``worst`` are free.
    """

    p: Float
    s: Float
    t: Float
    f: Float
    e: Float
    z: Float
    shares: Float
    ties: Float
    pairs: Float
    prior: Float
    sums: Float
    worst: Float

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"p", "s", "t", "f", "e", "worst"})

    @property
    def slacks(self) -> tuple[Float, ...]:
        """What may not become negative on the primal side."""
        return self.p, self.s, self.t, self.f, self.e

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """Their partners, in the same order."""
        return self.z, self.shares, self.ties, self.pairs, self.prior


@dataclass(frozen=True)
class Events:
    """The program: ``cost`` of shape (m, n) to be maximized, or ``gain`` whose worst input counts; ``b`` and slack."""

    cost: Float
    gain: Float | None
    b: float
    slack: float

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and inputs."""
        return self.cost.shape[0], self.cost.shape[1]

    def pairs(self) -> tuple[Any, Any]:
        """Ordered pairs of inputs."""
        first, second = np.nonzero(~np.eye(self.shape[1], dtype=bool))
        return first, second

    def spread(self, values: Float) -> Float:
        """Write values of the pairs, shape (m, pairs), as tables, shape (m, n, n)."""
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
        table = self.spread(ties)
        return np.asarray(self.b * table.sum(axis=2) - table.sum(axis=1))

    def priced(self, prior: Float) -> Float:
        """Costs of the entries under a prior over the inputs (or their own)."""
        return self.cost if self.gain is None else self.gain * prior

    def distance(self, at: EventPoint) -> tuple[float, float]:
        """How far the value of a point is from the bound of its multipliers, also as a share."""
        p = np.maximum(at.p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.priced(at.prior / at.prior.sum()) if self.gain is not None else self.cost
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost - self.adjoint(at.ties)).max(axis=0).sum()) + self.slack * float(at.ties.max(axis=0).sum())
        size = max(abs(bound), float((cost.max(axis=0) - cost.min(axis=0)).sum()) / 100, 1e-300)
        sound = math.isfinite(bound - value) and float(np.abs(1 - at.p.sum(axis=0)).max()) < 1e-6
        apart = max(bound - value, 0.0) if sound else math.inf
        return apart, apart / size

    def start(self) -> EventPoint:
        """Uniform reports, half of every slack unspent."""
        m, n = self.shape
        p, f = np.full((m, n), 1 / m), np.full(n * (n - 1), self.slack / 2)
        s = np.full((m, len(f)), self.slack / (2 * m))
        t = s - self.apply(p)
        if self.gain is None:
            size, e, prior, worst = float(np.abs(self.cost).max()), np.zeros(0), np.zeros(0), np.zeros(1)
        else:
            mean = self.gain.mean(axis=0)
            size, prior = float(np.abs(self.gain).max()) / n, np.full(n, 1 / n)
            worst = np.array([mean.min() - max(size, float(np.ptp(mean)))])
            e = mean - worst
        middle = size / (20 * m)
        ties, least = middle / t, middle / s
        pairs = (ties + least).max(axis=0)
        shares = np.maximum(pairs - ties, least)
        return EventPoint(p, s, t, f, e, middle / p, shares, ties, pairs, prior, self.priced(prior).max(axis=0), worst)


def interior(events: Events, deadline: Deadline = NO_LIMIT) -> Followed[EventPoint]:
    """Follow the central path until bound and value agree, or numerical failure."""
    return follow(
        events.start(),
        events.distance,
        lambda at: _EventSystem(events, at),
        gap=GAP,
        steps=MOST_STEPS,
        stalled_steps=STALLED_STEPS,
        deadline=deadline,
    )


class _EventSystem(NewtonSystem[EventPoint]):
    """The linear system of one iteration, factored, and the steps found with it."""

    def __init__(self, events: Events, at: EventPoint) -> None:
        self.events, self.at = events, at
        self.left_sum = 1 - at.p.sum(axis=0)
        self.left_tie = at.s - events.apply(at.p) - at.t
        self.left_pair = events.slack - at.s.sum(axis=0) - at.f
        self.left_share = at.pairs - at.ties - at.shares
        self.left_dual = events.priced(at.prior) - at.sums - events.adjoint(at.ties) + at.z
        if events.gain is not None:
            self.left_worst = (events.gain * at.p).sum(axis=0) - at.worst - at.e
        self.weight = at.ties / at.t
        self.both = self.weight + at.shares / at.s
        self.part = self.weight / self.both
        self.stiff = at.f / at.pairs + (1 / self.both).sum(axis=0)
        self._factor()

    def _factor(self) -> None:
        """Assemble and factor the system in the entries, and eliminate the row sums."""
        (m, n), events, at = self.events.shape, self.events, self.at
        b, own = events.b, np.arange(self.events.shape[1])
        root = events.spread(self.part / np.sqrt(self.stiff))
        single = events.spread(self.part * at.shares / at.s)
        system = np.empty((m, n, m, n))
        for j in range(m):
            crossed = root[j] * root
            system[j] = (-b * (crossed + crossed.transpose(0, 2, 1))).transpose(1, 0, 2)
        by_row, by_column = root.transpose(1, 0, 2), root.transpose(2, 0, 1)
        diagonal = b * b * by_row @ by_row.transpose(0, 2, 1) + by_column @ by_column.transpose(0, 2, 1)
        system[:, own, :, own] = diagonal
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
        self.border, self.behind = border, self._entries(border)
        self.corner = border.T @ self.behind
        if events.gain is not None:
            self.corner[own + n, own + n] += at.e / at.prior

    def _entries(self, right: Float) -> Float:
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return np.asarray(scale * dpotrs(self.factor, scale * right, lower=1)[0])

    def _bordered(self, right: Float, below: Float, prior: float) -> tuple[Float, Float]:
        """Solve for the entries and what joins them: row sums, and in the worst case prior and worst value."""
        free, n = self._entries(right.reshape(-1)), self.events.shape[1]
        edge: Float = np.linalg.solve(self.corner, self.border.T @ free - below).astype(float)
        if self.events.gain is not None:
            along = np.linalg.solve(self.corner, np.repeat([0.0, 1.0], n))
            worst = (prior - edge[n:].sum()) / along[n:].sum()
            edge = edge + worst * along
            return (free - self.behind @ edge).reshape(right.shape), np.append(edge, worst)
        return (free - self.behind @ edge).reshape(right.shape), edge

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> EventPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts, refined."""
        events, at = self.events, self.at
        known = self._known(aims)
        below, left = self.left_sum, 1 - float(at.prior.sum())
        if events.gain is not None:
            below = np.append(below, self.left_worst - aims[4] / at.prior)
        p, edge = self._bordered(known.right, below, left)
        step = self._completed(p, edge, known)
        for _ in range(REFINEMENTS if refine else 0):
            drift = self.left_dual - step.sums - events.adjoint(step.ties) + step.z
            lack = self.left_sum - p.sum(axis=0)
            if events.gain is not None:
                drift = drift + events.gain * step.prior
                lack = np.append(lack, at.e / at.prior * step.prior + step.e - aims[4] / at.prior)
            more, shift = self._bordered(drift, lack, left - float(step.prior.sum()))
            p, edge = p + more, edge + shift
            step = self._completed(p, edge, known)
        return step

    def _known(self, aims: tuple[Float, ...]) -> _Known:
        """Right-hand sides, once shares, excesses and pairs are eliminated."""
        at, (aim_p, aim_s, aim_t, aim_f, _) = self.at, aims
        tie = aim_t / at.t - self.weight * self.left_tie
        either = tie + aim_s / at.s - self.left_share
        pair = aim_f / at.pairs - self.left_pair + (either / self.both).sum(axis=0)
        pulled = self.events.adjoint(tie - self.part * either + self.part * (pair / self.stiff))
        return _Known(aims, either, pair, self.left_dual + aim_p / at.p - pulled)

    def _completed(self, p: Float, edge: Float, known: _Known) -> EventPoint:
        """Everything else of the step that has these entries."""
        events, at, n = self.events, self.at, self.events.shape[1]
        aim_p, aim_s, aim_t, _, _ = known.aims
        over = events.apply(p)
        pairs = (known.pair + (self.part * over).sum(axis=0)) / self.stiff
        s = (self.weight * over - pairs + known.either) / self.both
        t = s - over + self.left_tie
        f = self.left_pair - s.sum(axis=0)
        z, shares, ties = (aim_p - at.z * p) / at.p, (aim_s - at.shares * s) / at.s, (aim_t - at.ties * t) / at.t
        e, prior, worst = np.zeros(0), np.zeros(0), np.zeros(1)
        if events.gain is not None:
            e = (events.gain * p).sum(axis=0) - edge[-1] + self.left_worst
            prior, worst = edge[n:-1], edge[-1:]
        return EventPoint(p, s, t, f, e, z, shares, ties, pairs, prior, edge[:n], worst)


@dataclass(frozen=True)
class _Known:
    """What a Newton step is known to need: aims, and right-hand sides of shares, pairs and entries."""

    aims: tuple[Float, ...]
    either: Float
    pair: Float
    right: Float
