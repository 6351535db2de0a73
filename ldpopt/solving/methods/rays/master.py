r"""The master program: the best channel whose columns are sums of the rays found so far, by a dense interior point.

.. math:: \min c^T w, \qquad A w = 1, \qquad w \ge 0

has a row for each input and a column for each ray. It is solved only as far as the gap of the rays needs, which leaves
its multipliers ``y`` in the middle of the good ones; and it starts from the weights of the last round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrs

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.solving.interior.path_following import NewtonSystem, Point, cholesky, follow_path
from ldpopt.solving.methods.rays.groups import Groups

STEPS = 100
"""Largest number of iterations; 4 to 12 are usual."""

STALLED_STEPS, STALLED_START_STEPS = 8, 40
"""Iterations without a smaller gap before stopping."""

MAX_RESIDUAL = 1e-9
"""Largest error of a row sum at a point that counts."""

FULL, KEPT = 6, 4
"""A master with more than `FULL` rays for each input keeps the best `KEPT` of them for each."""

LARGE = 900
"""Number of inputs from which a master keeps fewer rays: `FEW_FULL` and `FEW_KEPT`."""

FEW_FULL, FEW_KEPT = 3.5, 2.5
"""The same for large masters."""

CONSTANTS = 200
"""Number of constant columns in the first master."""

RAY_BLOCK = 1000
"""Rays whose costs to all outputs are computed at once."""

MIN_SLACK, LEAST_SLACK = 1e-3, 1e-12
"""Smallest start of a slack, as a share of the mean one, and at all."""

STEP_SECONDS = 5e-11
"""Seconds of an iteration, for each ray and pair of inputs; it is not begun where less time is left."""

MAX_SHARE = 0.99
"""Largest share of feasible multipliers in the next start."""


@dataclass(frozen=True)
class MasterPoint(Point):
    """Weights of the rays, multipliers of the row sums, and slacks of the rays' costs."""

    weights: Float
    sums: Float
    reduced: Float

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"weights"})

    @property
    def slacks(self) -> tuple[Float, ...]:
        """The weights."""
        return (self.weights,)

    @property
    def multipliers(self) -> tuple[Float, ...]:
        """The reduced costs."""
        return (self.reduced,)


class MasterSystem(NewtonSystem[MasterPoint]):
    """The normal equations of one iteration, factored."""

    def __init__(self, rows: Float, cost: Float, at: MasterPoint) -> None:
        self.rows, self.at = rows, at
        self.scale = at.weights / at.reduced
        self.primal = 1 - rows @ at.weights
        self.dual = cost - at.sums @ rows - at.reduced
        scaled = rows * np.sqrt(self.scale)
        normal = dsyrk(1.0, scaled.T, trans=1, lower=1)
        self.unit = 1 / np.sqrt(np.diag(normal))
        self.factor = cholesky(np.asfortranarray(normal * self.unit * self.unit[:, None]))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> MasterPoint:
        """Newton step towards products changed by ``aims``."""
        part = self.scale * self.dual - aims[0] / self.at.reduced
        sums = self._solve(self.primal + self.rows @ part)
        weights = self.scale * (sums @ self.rows) - part
        if refine:
            more = self._solve(self.primal - self.rows @ weights)
            sums, weights = sums + more, weights + self.scale * (more @ self.rows)
        return MasterPoint(weights, sums, (aims[0] - self.at.reduced * weights) / self.at.weights)

    def _solve(self, right: Float) -> Float:
        return np.asarray(self.unit * dpotrs(self.factor, self.unit * right, lower=1)[0])


@dataclass(frozen=True, eq=False)
class Master:
    """The rays found so far.

    Attributes
    ----------
    rays : float array, shape (n, k)
        Columns of the cone.
    cost : float array, shape (k,)
        Their costs.
    output : int array, shape (k,)
        The output that each belongs to.
    at : MasterPoint
        Where the next solve starts.
    groups : Groups, optional
        Inputs whose row sums are 1 on average only; default: every input has a row.
    rows : float array, shape (g, k)
        The rays, or their averages over the groups.
    """

    rays: Float
    cost: Float
    output: Int
    at: MasterPoint
    groups: Groups | None
    rows: Float

    @classmethod
    def start(cls, rays: Float, cost: Float, output: Int, groups: Groups | None = None) -> Master:
        """First rays, with multipliers below all costs."""
        rows = rays if groups is None else groups.averages(rays)
        price = cost / rows.sum(axis=0)
        sums = np.full(len(rows), price.min() - max(float(np.abs(price).mean()), 1e-300))
        weights = np.full(len(cost), 1 / float(rows.sum(axis=1).mean()))
        return cls(rays, cost, output, MasterPoint(weights, sums, cost - sums @ rows), groups, rows)

    @classmethod
    def of_rays(cls, rays: Float, costs: Float, groups: Groups | None) -> Master:
        """Rays, which are rows, each for the output to which it costs least; and the best constant columns."""
        output, cost = cheapest(costs, rays)
        total = costs.sum(axis=1)
        constant = np.argsort(total, kind="stable")[:CONSTANTS]
        rays = np.concatenate([rays, np.ones((len(constant), rays.shape[1]))])
        cost, output = np.concatenate([cost, total[constant]]), np.concatenate([output, constant])
        return cls.start(rays.T.copy(), cost, output, groups)

    @classmethod
    def of_columns(cls, columns: Float, costs: Float) -> Master:
        """Columns of a channel, each for the output to which it costs least, with multipliers of 0.

        Shapes: ``columns`` (n, k), ``costs`` (m, n).
        """
        weights = columns.max(axis=0)
        columns, weights = columns[:, weights > 0], weights[weights > 0]
        rays = columns / weights
        output, cost = cheapest(costs, np.ascontiguousarray(rays.T))
        return cls(rays, cost, output, MasterPoint(weights, np.zeros(len(rays)), cost), None, rays)

    def started(self, sums: Float, groups: Groups | None) -> Master:
        """The same rays and weights with other multipliers of all inputs, and with rows of groups if there are some."""
        rows = self.rays if groups is None else groups.averages(self.rays)
        sums = sums if groups is None else groups.summed(sums)
        reduced = np.maximum(self.cost - sums @ rows, LEAST_SLACK)
        return Master(self.rays, self.cost, self.output, MasterPoint(self.at.weights, sums, reduced), groups, rows)

    @staticmethod
    def seconds(rows: int, steps: int) -> float:
        """How long some steps with so many rows and the usual number of rays take, about."""
        return steps * STEP_SECONDS * FEW_KEPT * rows**3

    def columns(self, share: float) -> Float:
        """The largest columns, shape (n, k), that together have a share of all entries."""
        total = self.at.weights * self.rays.sum(axis=0)
        order = np.argsort(-total)
        used = order[: 1 + np.searchsorted(np.cumsum(total[order]), share * total.sum())]
        return np.asarray(self.rays[:, used] * self.at.weights[used])

    @property
    def sums(self) -> Float:
        """Multipliers of all inputs."""
        return self.at.sums if self.groups is None else self.groups.shared(self.at.sums)

    @property
    def value(self) -> float:
        """Cost of the weights."""
        return float(self.cost @ self.at.weights)

    @property
    def is_feasible(self) -> bool:
        """Whether the rows sum to 1, up to rounding."""
        return float(np.abs(1 - self.rows @ self.at.weights).max()) <= MAX_RESIDUAL

    def solved(self, gap: float, floor: float, deadline: Deadline) -> Master:
        """Improve the point to a relative gap; ``floor`` is the least number that gaps are relative to."""

        def measure(at: MasterPoint) -> tuple[float, float]:
            error = np.abs(1 - self.rows @ at.weights)
            value, bound = float(self.cost @ at.weights), float(at.sums.sum())
            wrong = float(np.maximum(at.sums @ self.rows - self.cost, 0.0) @ at.weights + error @ np.abs(at.sums))
            distance = abs(value - bound) + wrong + float(error.sum())
            if not math.isfinite(distance):
                return math.inf, math.inf
            return distance, distance / max(abs(value), floor) if error.max() <= MAX_RESIDUAL else math.inf

        found = follow_path(
            self.at,
            measure,
            lambda at: MasterSystem(self.rows, self.cost, at),
            gap=gap,
            steps=STEPS,
            stalled_steps=STALLED_STEPS if self.is_feasible or self.groups is not None else STALLED_START_STEPS,
            deadline=deadline.before(STEP_SECONDS * self.rows.size * len(self.rows)),
        )
        return replace(self, at=found.point)

    def channel(self, m: int) -> Float:
        """The channel of the weights, shape (n, m)."""
        channel = np.zeros((m, len(self.rays)))
        np.add.at(channel, self.output, (self.rays * self.at.weights).T)
        return np.ascontiguousarray(channel.T)

    def extended(self, rays: Float, cost: Float, output: Int, inner: Float) -> Master:
        """Add rays, and make the multipliers feasible by a move towards others that are.

        Shapes: ``inner`` (n,).
        """
        mean = self.at.products / len(self.cost)
        wider, added = self._pruned(), rays
        if self.groups is not None:
            added, inner = self.groups.averages(rays), self.groups.summed(inner)
        whole = np.concatenate([wider.rays, rays], axis=1)
        rows = whole if self.groups is None else np.concatenate([wider.rows, added], axis=1)
        cost = np.concatenate([wider.cost, cost])
        reduced, feasible = cost - wider.at.sums @ rows, cost - inner @ rows
        least = max(MIN_SLACK * float(np.abs(reduced).mean()), LEAST_SLACK)
        low = np.flatnonzero(reduced < least)
        lack, room = least - reduced[low], feasible[low] - reduced[low]
        share = MAX_SHARE if (lack >= MAX_SHARE * room).any() else float((lack / room).max(initial=0.0))
        sums = (1 - share) * wider.at.sums + share * inner
        reduced = np.maximum(cost - sums @ rows, 0.01 * least)
        weights = np.append(wider.at.weights, np.zeros(len(cost) - len(wider.cost)))
        usual = 0.01 / float(rows.sum(axis=0).mean())
        weights = np.maximum(weights, np.minimum(mean / reduced, usual))
        point = MasterPoint(weights, sums, reduced)
        return Master(whole, cost, np.append(wider.output, output), point, self.groups, rows)

    def _pruned(self) -> Master:
        """Drop the rays that are least likely to be used, if there are too many."""
        n, k = self.rows.shape
        full, kept = (FULL, KEPT) if n < LARGE else (FEW_FULL, FEW_KEPT)
        if k <= full * n:
            return self
        keep = np.sort(np.argsort(self.at.reduced / self.at.weights)[: int(kept * n)])
        at = MasterPoint(self.at.weights[keep], self.at.sums, self.at.reduced[keep])
        rays = np.ascontiguousarray(self.rays[:, keep])
        rows = rays if self.groups is None else np.ascontiguousarray(self.rows[:, keep])
        return Master(rays, self.cost[keep], self.output[keep], at, self.groups, rows)


def cheapest(costs: Float, rays: Float) -> tuple[Int, Float]:
    """The output to which each ray costs least, and that cost; in blocks of outputs' rays."""
    output, cost = np.empty(len(rays), np.int64), np.empty(len(rays))
    for begin in range(0, len(rays), RAY_BLOCK):
        part = slice(begin, begin + RAY_BLOCK)
        total = rays[part] @ costs.T
        output[part], cost[part] = total.argmin(axis=1), total.min(axis=1)
    return output, cost
