"""The master program: the best channel whose columns are sums of the rays found so far, by a dense
interior point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.blas import dsyrk

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.solving.interior.path_following import Factor, Iterate, NewtonSystem, follow_path

STEPS = 100  # largest number of iterations; 4 to 12 are usual
STALLED_STEPS, STALLED_START_STEPS = 8, 40  # iterations without a smaller gap before stopping
MAX_RESIDUAL = 1e-9  # largest error of a row sum at a feasible point
# a master with more than `FULL` rays per input keeps the best `KEPT` rays per input
FULL, KEPT = 6, 4
LARGE = 3000  # number of rows from which a master keeps fewer rays: `FEW_FULL` and `FEW_KEPT`
FEW_FULL, FEW_KEPT = 3.5, 2.5  # `FULL` and `KEPT` of large masters
CONSTANTS = 200  # number of constant columns in the first master
RAY_BLOCK = 1000  # number of rays whose costs for all outputs are computed at once
# smallest slack at the start, relative to the mean one, and in absolute terms
MIN_SLACK, LEAST_SLACK = 1e-3, 1e-12
# seconds of an iteration per ray and pair of rows; no iteration is started with less time left
STEP_SECONDS = 5e-11
MAX_SHARE = 0.99  # largest weight of feasible multipliers in the start of the next master


@dataclass(frozen=True)
class MasterPoint(Iterate):
    """Weights of the rays, multipliers of the row sums, and reduced costs of the rays."""

    weights: Float
    sums: Float
    reduced: Float

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"weights"})
    SLACKS: ClassVar[tuple[str, ...]] = ("weights",)
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("reduced",)


class MasterSystem(NewtonSystem[MasterPoint]):
    """The normal equations of one iteration, factored."""

    def __init__(self, rays: Float, cost: Float, at: MasterPoint) -> None:
        self.rays, self.at = rays, at
        self.scale = at.weights / at.reduced
        self.primal = 1 - rays @ at.weights
        self.dual = cost - at.sums @ rays - at.reduced
        self.factor = Factor(dsyrk(1.0, (rays * np.sqrt(self.scale)).T, trans=1, lower=1))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> MasterPoint:
        """Newton step towards products changed by ``aims``."""
        part = self.scale * self.dual - aims[0] / self.at.reduced
        sums = self.factor.solve(self.primal + self.rays @ part)
        weights = self.scale * (sums @ self.rays) - part
        if refine:
            more = self.factor.solve(self.primal - self.rays @ weights)
            sums, weights = sums + more, weights + self.scale * (more @ self.rays)
        return MasterPoint(weights, sums, (aims[0] - self.at.reduced * weights) / self.at.weights)


@dataclass(frozen=True, eq=False)
class RayMaster:
    """The rays found so far, and a point at which the next solve starts."""

    rays: Float  # (n, k): columns of the cone
    cost: Float  # (k,)
    output: Int  # (k,): the output of each ray
    at: MasterPoint

    @classmethod
    def start(cls, rays: Float, cost: Float, output: Int) -> RayMaster:
        """A master at a point with multipliers below all costs."""
        price = cost / rays.sum(axis=0)
        sums = np.full(len(rays), price.min() - (float(np.abs(price).mean()) or 1.0))
        weights = np.full(len(cost), 1 / float(rays.sum(axis=1).mean()))
        return cls(rays, cost, output, MasterPoint(weights, sums, cost - sums @ rays))

    @classmethod
    def of_rays(cls, rays: Float, costs: Float) -> RayMaster:
        """A master of rays (k, n), each for the output with the smallest cost, and of the best
        constant columns.
        """
        output, cost = cheapest(costs, rays)
        total = costs.sum(axis=1)
        constant = np.argsort(total, kind="stable")[:CONSTANTS]
        rays = np.concatenate([rays, np.ones((len(constant), rays.shape[1]))])
        cost, output = np.concatenate([cost, total[constant]]), np.concatenate([output, constant])
        return cls.start(rays.T.copy(), cost, output)

    @classmethod
    def of_columns(cls, columns: Float, costs: Float) -> RayMaster:
        """A master at a channel (n, k), each column for the output with the smallest cost, with
        multipliers of 0.
        """
        weights = columns.max(axis=0)
        columns, weights = columns[:, weights > 0], weights[weights > 0]
        rays = columns / weights
        output, cost = cheapest(costs, np.ascontiguousarray(rays.T))
        return cls(rays, cost, output, MasterPoint(weights, np.zeros(len(rays)), cost))

    def restarted(self, sums: Float) -> RayMaster:
        """The same rays and weights, with other multipliers."""
        reduced = np.maximum(self.cost - sums @ self.rays, LEAST_SLACK)
        return replace(self, at=MasterPoint(self.at.weights, sums, reduced))

    @property
    def value(self) -> float:
        """Cost of the weights."""
        return float(self.cost @ self.at.weights)

    @property
    def is_feasible(self) -> bool:
        """Whether the rows sum to 1, up to rounding."""
        return float(np.abs(1 - self.rays @ self.at.weights).max()) <= MAX_RESIDUAL

    def solved(self, gap: float, floor: float, deadline: Deadline) -> RayMaster:
        """Improve the point to a relative gap, relative to at least ``floor``."""

        def measure(at: MasterPoint) -> tuple[float, float]:
            error = np.abs(1 - self.rays @ at.weights)
            value = float(self.cost @ at.weights)
            bound = float(at.sums.sum())
            wrong = float(
                np.maximum(at.sums @ self.rays - self.cost, 0.0) @ at.weights
                + error @ np.abs(at.sums)
            )
            distance = abs(value - bound) + wrong + float(error.sum())
            if not math.isfinite(distance):
                return math.inf, math.inf
            return distance, distance / max(
                abs(value), floor
            ) if error.max() <= MAX_RESIDUAL else math.inf

        result = follow_path(
            self.at,
            measure,
            lambda at: MasterSystem(self.rays, self.cost, at),
            gap=gap,
            steps=STEPS,
            stalled_steps=STALLED_STEPS if self.is_feasible else STALLED_START_STEPS,
            deadline=deadline.before(STEP_SECONDS * self.rays.size * len(self.rays)),
        )
        return replace(self, at=result.point)

    def channel(self, m: int) -> Float:
        """The channel of the weights, shape (n, m)."""
        channel = np.zeros((m, len(self.rays)))
        np.add.at(channel, self.output, (self.rays * self.at.weights).T)
        return np.ascontiguousarray(channel.T)

    def extended(self, rays: Float, cost: Float, output: Int, inner: Float) -> RayMaster:
        """Add rays, (n, k), and move the multipliers towards feasible ones ``inner``, (n,), until
        they are feasible.
        """
        mean = self.at.products / len(self.cost)
        wider = self._pruned()
        rays = np.concatenate([wider.rays, rays], axis=1)
        cost = np.concatenate([wider.cost, cost])
        reduced = cost - wider.at.sums @ rays
        feasible = cost - inner @ rays
        least = max(MIN_SLACK * float(np.abs(reduced).mean()), LEAST_SLACK)
        low = np.flatnonzero(reduced < least)
        lack = least - reduced[low]
        room = feasible[low] - reduced[low]
        share = (
            MAX_SHARE if (lack >= MAX_SHARE * room).any() else float((lack / room).max(initial=0.0))
        )
        sums = (1 - share) * wider.at.sums + share * inner
        reduced = np.maximum(cost - sums @ rays, 0.01 * least)
        weights = np.append(wider.at.weights, np.zeros(len(cost) - len(wider.cost)))
        weights = np.maximum(
            weights, np.minimum(mean / reduced, 0.01 / float(rays.sum(axis=0).mean()))
        )
        point = MasterPoint(weights, sums, reduced)
        return RayMaster(rays, cost, np.append(wider.output, output), point)

    def _pruned(self) -> RayMaster:
        """Drop the rays that are least likely to be used, if there are too many."""
        n, k = self.rays.shape
        full, kept = (FULL, KEPT) if n < LARGE else (FEW_FULL, FEW_KEPT)
        if k <= full * n:
            return self
        return self.restricted(
            np.sort(np.argsort(self.at.reduced / self.at.weights)[: int(kept * n)])
        )

    def largest(self, share: float) -> RayMaster:
        """The master of the largest columns, whose entries sum to a share of all entries."""
        total = self.at.weights * self.rays.sum(axis=0)
        order = np.argsort(-total)
        return self.restricted(
            order[: 1 + np.searchsorted(np.cumsum(total[order]), share * total.sum())]
        )

    def restricted(self, keep: Any) -> RayMaster:
        """The master of some rays, with positions or a mask."""
        at = MasterPoint(self.at.weights[keep], self.at.sums, self.at.reduced[keep])
        return RayMaster(
            np.ascontiguousarray(self.rays[:, keep]), self.cost[keep], self.output[keep], at
        )


def cheapest(costs: Float, rays: Float) -> tuple[Int, Float]:
    """The output with the smallest cost of each ray, and that cost."""
    output = np.empty(len(rays), np.int64)
    cost = np.empty(len(rays))
    for begin in range(0, len(rays), RAY_BLOCK):
        part = slice(begin, begin + RAY_BLOCK)
        total = rays[part] @ costs.T
        output[part] = total.argmin(axis=1)
        cost[part] = total.min(axis=1)
    return output, cost
