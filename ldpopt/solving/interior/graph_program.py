"""GraphProgram: the costs and ties of a graph or metric, in the order of its levels.

Arrays of ties have the shape (m, pairs), arrays of entries (m, n). Tie ``e`` has the slack
``p[second[e]] - ratio[e] p[first[e]]``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import over_rows
from ldpopt.native import add_adjoint
from ldpopt.privacy import Ties
from ldpopt.solving.interior.levels import Levels

ENOUGH_RESIDUAL = 1e-6  # largest error of a row sum at a point with a finite gap
OPERATIONS = 8.0  # operations of a loop per tie and output


@dataclass(frozen=True, eq=False)
class OutputProgram:
    """Maximize the sum of ``cost * p`` or, for a worst case, the smallest sum of ``gain * p`` of an input."""

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
        size, mean = float(np.abs(self.gain).max()) / n, self.gain.mean(axis=0)
        worst = np.array([mean.min() - max(size, float(np.ptp(mean)))])
        return size, mean - worst, np.full(n, 1 / n), worst

    def gap(self, p: Float, prior: Float, adjoint: Float, slack: float = 0.0) -> tuple[float, float]:
        """Gap between the value of the entries and the bound of multipliers, absolute and relative."""
        # The multipliers raise the costs by adjoint, and the bound by slack.
        residual = float(np.abs(1 - p.sum(axis=0)).max())
        p = np.maximum(p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.cost if self.gain is None else self.gain * (prior / prior.sum())
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost + adjoint).max(axis=0).sum()) + slack
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        is_useful = residual < ENOUGH_RESIDUAL and math.isfinite(bound - value)
        distance = max(bound - value, 0.0) if is_useful else math.inf
        return distance, distance / max(abs(bound), spread / 100, 1e-300)


@dataclass(frozen=True, eq=False)
class GraphProgram(OutputProgram):
    """The program of a graph or metric; inputs are in the order of the levels."""

    first: Int  # (pairs,)
    second: Int  # (pairs,)
    ratio: Float  # (pairs,)
    levels: Levels
    unit: float  # the number by which costs and gains were divided

    @classmethod
    def of(cls, ties: Ties, cost: Float, gain: Float | None) -> "GraphProgram | None":
        """Scale ``cost`` or ``gain``, shape (n, m), to a largest entry of 1; None if it is zero or not finite."""
        n = ties.n
        unit = float(np.abs(cost if gain is None else gain / n).max())
        if not unit > 0 or not math.isfinite(unit):
            return None
        first, second = ties.pairs()
        levels = Levels.of(n, first, second)
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
        found = np.zeros(self.shape)
        self.over_ties(add_adjoint, self.pairs, ties, found)
        return found

    def over_ties(self, loop: Callable[..., object], fixed: tuple[Any, ...], *arrays: Float) -> None:
        """Call a loop in C over the ties of every output, on all cores."""
        over_rows(loop, fixed, arrays, OPERATIONS * len(self.first))
