r"""Interior point for event-wise delta, all pairs of inputs at once, without listing a single event.

.. math:: \sum_y s_{iky} \le b\delta, \quad s_{iky} \ge b P(i, y) - P(k, y), \quad s \ge 0, \qquad b = e^{-\epsilon}

says that no event of the pair ``(i, k)`` is in excess. A Newton step eliminates the ``n (n-1) m`` numbers ``s`` one by
one and then the pairs, which leaves a system in the ``n m`` entries of the channel. Theory: docs, "Event-wise delta".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ldpopt.foundation.checks import Float

GAP = 1e-11
MOST_STEPS = 150
IDLE = 3
SHORT = 0.995
CORRECTIONS = 2


@dataclass(frozen=True)
class Point:
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

    @property
    def slacks(self) -> tuple[Float, ...]:
        """What may not become negative on the primal side."""
        return self.p, self.s, self.t, self.f, self.e

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """Their partners, in the same order."""
        return self.z, self.shares, self.ties, self.pairs, self.prior

    def moved(self, step: Point, ahead: float, behind: float) -> Point:
        """Go ``ahead`` along the primal, ``behind`` along the dual part of a step."""
        primal = {"p", "s", "t", "f", "e", "worst"}
        return Point(
            *(
                getattr(self, one.name) + (ahead if one.name in primal else behind) * getattr(step, one.name)
                for one in fields(self)
            )
        )

    def plus(self, step: Point) -> Point:
        """Add all parts."""
        return self.moved(step, 1.0, 1.0)


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

    def over(self, p: Float) -> Float:
        """``b P(i, y) - P(k, y)``, shape (m, pairs)."""
        first, second = self.pairs()
        return self.b * p[:, first] - p[:, second]

    def pull(self, ties: Float) -> Float:
        """Transpose of `over`, shape (m, n)."""
        table = self.spread(ties)
        return np.asarray(self.b * table.sum(axis=2) - table.sum(axis=1))

    def priced(self, prior: Float) -> Float:
        """Costs of the entries under a prior over the inputs (or their own)."""
        return self.cost if self.gain is None else self.gain * prior

    def distance(self, at: Point) -> tuple[float, float]:
        """How far the value of a point is from the bound of its multipliers, also as a share."""
        p = np.maximum(at.p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.priced(at.prior / at.prior.sum()) if self.gain is not None else self.cost
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost - self.pull(at.ties)).max(axis=0).sum()) + self.slack * float(at.ties.max(axis=0).sum())
        size = max(abs(bound), float((cost.max(axis=0) - cost.min(axis=0)).sum()) / 100, 1e-300)
        sound = math.isfinite(bound - value) and float(np.abs(1 - at.p.sum(axis=0)).max()) < 1e-6
        apart = max(bound - value, 0.0) if sound else math.inf
        return apart, apart / size

    def start(self) -> Point:
        """Uniform reports, half of every slack unspent."""
        m, n = self.shape
        p, f = np.full((m, n), 1 / m), np.full(n * (n - 1), self.slack / 2)
        s = np.full((m, len(f)), self.slack / (2 * m))
        t = s - self.over(p)
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
        return Point(p, s, t, f, e, middle / p, shares, ties, pairs, prior, self.priced(prior).max(axis=0), worst)


@dataclass(frozen=True)
class Found:
    """The best point, how far its value is from its bound (as a share), and whether time ran out."""

    point: Point
    gap: float
    late: bool


def interior(events: Events, deadline: float = math.inf) -> Found:
    """Follow the central path until bound and value agree, or numbers give out."""
    at = events.start()
    best, (apart, gap), stale = at, events.distance(at), 0
    for _ in range(MOST_STEPS):
        if gap <= GAP or stale >= IDLE:
            break
        if time.perf_counter() > deadline:
            return Found(best, gap, True)
        moved = _Newton(events, at).step()
        if moved is None:
            break
        at = moved
        now = events.distance(at)
        best, (apart, gap), stale = (at, now, 0) if now[0] < apart else (best, (apart, gap), stale + 1)
    return Found(best, gap, False)


class _Newton:
    """The linear system of one iteration, factored, and the steps found with it."""

    def __init__(self, events: Events, at: Point) -> None:
        self.events, self.at = events, at
        self.left_sum = 1 - at.p.sum(axis=0)
        self.left_tie = at.s - events.over(at.p) - at.t
        self.left_pair = events.slack - at.s.sum(axis=0) - at.f
        self.left_share = at.pairs - at.ties - at.shares
        self.left_dual = events.priced(at.prior) - at.sums - events.pull(at.ties) + at.z
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
        self.factor = _cholesky(square)
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

    def direction(self, aims: tuple[Float, ...], refinements: int = 3) -> Point:
        """Newton step that brings slack times multiplier to given changes."""
        events, at, n = self.events, self.at, self.events.shape[1]
        aim_p, aim_s, aim_t, aim_f, aim_e = aims
        known = aim_t / at.t - self.weight * self.left_tie
        either = known + aim_s / at.s - self.left_share
        pair = aim_f / at.pairs - self.left_pair + (either / self.both).sum(axis=0)
        right = (
            self.left_dual + aim_p / at.p - events.pull(known - self.part * either + self.part * (pair / self.stiff))
        )
        below, left_worst, left = self.left_sum, np.zeros(0), 1 - float(at.prior.sum())
        if events.gain is not None:
            left_worst = (events.gain * at.p).sum(axis=0) - at.worst - at.e
            below = np.append(below, left_worst - aim_e / at.prior)
        p, edge = self._bordered(right, below, left)

        def complete(p: Float, edge: Float) -> Point:
            over = events.over(p)
            pairs = (pair + (self.part * over).sum(axis=0)) / self.stiff
            s = (self.weight * over - pairs + either) / self.both
            t = s - over + self.left_tie
            f = self.left_pair - s.sum(axis=0)
            e = prior = np.zeros(0)
            if events.gain is not None:
                e = (events.gain * p).sum(axis=0) - edge[-1] + left_worst
                prior = edge[n:-1]
            return Point(
                p,
                s,
                t,
                f,
                e,
                (aim_p - at.z * p) / at.p,
                (aim_s - at.shares * s) / at.s,
                (aim_t - at.ties * t) / at.t,
                pairs,
                prior,
                edge[:n],
                edge[-1:] if events.gain is not None else np.zeros(1),
            )

        step = complete(p, edge)
        for _ in range(refinements):
            drift = self.left_dual - step.sums - events.pull(step.ties) + step.z
            lack = self.left_sum - p.sum(axis=0)
            if events.gain is not None:
                drift = drift + events.gain * step.prior
                lack = np.append(lack, at.e / at.prior * step.prior + step.e - aim_e / at.prior)
            more, shift = self._bordered(drift, lack, left - float(step.prior.sum()))
            p, edge = p + more, edge + shift
            step = complete(p, edge)
        return step

    def step(self) -> Point | None:
        """Predict, correct, and move; None where the numbers have given out."""
        at = self.at
        count = sum(part.size for part in at.slacks)
        middle = sum(float((x * u).sum()) for x, u in _partners(at)) / count
        first = self.direction(tuple(-x * u for x, u in _partners(at)), refinements=0)
        tried = at.moved(first, *_lengths(at, first))
        reached = sum(float((x * u).sum()) for x, u in _partners(tried)) / count
        aim = middle * (max(reached, 0.0) / middle) ** 3
        twisted = zip(_partners(at), _partners(first), strict=True)
        aims = tuple(aim - x * u - dx * du for (x, u), (dx, du) in twisted)
        best = self.direction(aims)
        ahead, behind = _lengths(at, best)
        for _ in range(CORRECTIONS):
            wide = at.moved(best, min(1.0, 1.1 * ahead + 0.1), min(1.0, 1.1 * behind + 0.1))
            products = (x * u for x, u in _partners(wide))
            aims = tuple(
                a + np.maximum(np.clip(v, 0.1 * aim, 10 * aim) - v, -10 * aim)
                for a, v in zip(aims, products, strict=True)
            )
            trial = self.direction(aims)
            lengths = _lengths(at, trial)
            if sum(lengths) < 1.01 * (ahead + behind):
                break
            best, (ahead, behind) = trial, lengths
        if not all(np.isfinite(part).all() for part in (*best.slacks, *best.multipliers, best.sums)):
            return None
        return at.moved(best, min(1.0, SHORT * ahead), min(1.0, SHORT * behind))


def _partners(at: Point) -> list[tuple[Float, Float]]:
    return list(zip(at.slacks, at.multipliers, strict=True))


def _lengths(at: Point, step: Point) -> tuple[float, float]:
    """Longest primal and dual steps, at most 1, that keep everything positive."""
    return _longest(at.slacks, step.slacks), _longest(at.multipliers, step.multipliers)


def _longest(arrays: tuple[Float, ...], steps: tuple[Float, ...]) -> float:
    longest = 1.0
    for array, step in zip(arrays, steps, strict=True):
        down = step < 0
        if down.any():
            longest = min(longest, float((array[down] / -step[down]).min()))
    return longest


def _cholesky(matrix: Float) -> Float:
    """Lower factor of a symmetric matrix with unit diagonal; roundoff is met by a slightly larger diagonal."""
    ridge = 1e-15
    while True:
        lifted = matrix.T.copy(order="F")
        lifted[np.diag_indices(len(lifted))] += ridge
        factor, failed = dpotrf(lifted, lower=1, overwrite_a=1)
        if not failed or ridge > 1:
            return np.asarray(factor)
        ridge *= 100
