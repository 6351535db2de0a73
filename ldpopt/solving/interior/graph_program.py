"""The program of a graph or metric as the interior point by outputs reads it: costs, ties, levels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import over_rows
from ldpopt.privacy import Ties
from ldpopt.solving.interior.levels import Levels

ENOUGH_RESIDUAL = 1e-6
"""Largest error of a row sum at a point that counts."""

OPERATIONS = 8.0
"""Operations of a loop for each tie and output."""


@dataclass(frozen=True, eq=False)
class GraphProgram:
    """Maximize ``cost * p`` or, in the worst case, the least ``gain * p`` of an input; inputs in the levels' order.

    Attributes
    ----------
    cost : float array, shape (m, n)
        Of every entry by output; with a worst case of no use.
    gain : float array, shape (m, n), or None
        Of every entry, for a worst case.
    first, second, ratio : arrays, shape (pairs,)
        Ordered pairs: the slack of a tie is ``p[second] - ratio p[first]``.
    levels : Levels
        Of the ties.
    unit : float
        What costs and gains were divided by, so that the largest is 1.
    """

    cost: Float
    gain: Float | None
    first: Int
    second: Int
    ratio: Float
    levels: Levels
    unit: float

    @classmethod
    def of(cls, ties: Ties, cost: Float, gain: Float | None) -> GraphProgram | None:
        """Scale the objective to a largest weight of 1; None if it is zero or not finite.

        Shapes: ``cost``, ``gain`` (n, m).
        """
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
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and inputs."""
        return self.cost.shape[0], self.cost.shape[1]

    @property
    def pairs(self) -> tuple[Int, Int, Float]:
        """Ends and ratio of every pair, as the loops take them."""
        return self.first, self.second, self.ratio

    def adjoint(self, ties: Float) -> Float:
        """Transpose of the slacks at multipliers, shape (m, n)."""
        from ldpopt.solving.interior import tie_loops

        found = np.zeros(self.shape)
        self.over_ties(tie_loops.adjoint, self.pairs, ties, found)
        return found

    def over_ties(self, loop: Callable[..., None], fixed: tuple[Any, ...], *arrays: Float) -> None:
        """Call a compiled loop over the ties of every output, on all cores."""
        over_rows(loop, fixed, arrays, OPERATIONS * len(self.first))

    def priced(self, prior: Float) -> Float:
        """Costs of the entries, under a prior in the worst case."""
        return self.cost if self.gain is None else self.gain * prior

    def gap(self, p: Float, ties: Float, prior: Float) -> tuple[float, float]:
        """Gap between the value of entries and the bound of multipliers, absolute and relative."""
        residual = float(np.abs(1 - p.sum(axis=0)).max())
        p = np.maximum(p, 0.0)
        p = p / p.sum(axis=0)
        cost = self.cost if self.gain is None else self.gain * (prior / prior.sum())
        value = float((cost * p).sum()) if self.gain is None else float((self.gain * p).sum(axis=0).min())
        bound = float((cost + self.adjoint(ties)).max(axis=0).sum())
        spread = float((cost.max(axis=0) - cost.min(axis=0)).sum())
        is_useful = residual < ENOUGH_RESIDUAL and math.isfinite(bound - value)
        distance = max(bound - value, 0.0) if is_useful else math.inf
        return distance, distance / max(abs(bound), spread / 100, 1e-300)
