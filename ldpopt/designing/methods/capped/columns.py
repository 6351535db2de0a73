"""Which columns a capped design chooses from: all of few, else those that pricing finds.

Pricing is exact up to the rounding of floats: all sets of at most 20 answers, all listed rays, and
for a single number the few sets of a value within the cap. A column is costly if the multipliers
allow less than it costs; the largest cost over the sum of a column is by how much the multipliers
have to be raised to hold for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpopt.certificate.design_bound import subset_sums
from ldpopt.certificate.design_bound_capped import LISTED, unlisted
from ldpopt.designing.methods.capped.program import CappedDual, costs_of
from ldpopt.designing.private_columns import (
    Cone,
    ListedRays,
    Staircases,
    all_sets,
    indicators,
    local_maxima,
)
from ldpopt.foundation.numbers import Float

ALL_SETS = 10  # answers up to which all sets are in the program
ALL_RAYS = 2000  # listed rays up to which all are in the program


@dataclass(frozen=True, eq=False)
class CappedColumns:
    """The extreme columns of a cone, for a workload of so many rows that are not constant."""

    cone: Cone
    n_rows: int

    def __post_init__(self) -> None:
        if isinstance(self.cone, Staircases) and self.cone.n > LISTED and self.n_rows > 1:
            raise unlisted(self.cone.n)

    @property
    def is_complete(self) -> bool:
        """Whether all columns are in the program from the start."""
        if isinstance(self.cone, ListedRays):
            return len(self.cone.all) <= ALL_RAYS
        return self.cone.n <= ALL_SETS

    def initial(self, gram: Float) -> Float:
        """All columns if they are few, else some of them, shape (m, n)."""
        if not self.is_complete:
            return np.asarray(self.cone.initial(gram).vectors)
        if isinstance(self.cone, ListedRays):
            return self.cone.all.vectors
        return self.cone.columns(all_sets(self.cone.n)[1:-1]).vectors

    @cached_property
    def anchors(self) -> Float:
        """Columns of which a constant is a sum: with them the weights of a program can sum to 1."""
        if isinstance(self.cone, ListedRays):
            from scipy.optimize import nnls

            vectors = self.cone.all.vectors
            return vectors[nnls(vectors.T, np.ones(vectors.shape[1]))[0] > 0]
        return self.cone.columns(np.eye(self.cone.n)).vectors

    def priced(self, multipliers: CappedDual, limits: Float, most: int) -> tuple[float, Float]:
        """The largest cost over the sum of the column, and the costliest columns, shape (m, n)."""
        if isinstance(self.cone, ListedRays):
            vectors = self.cone.all.vectors
            costs = costs_of(multipliers, vectors, limits)
            sums = vectors.sum(axis=1)
            order = np.argsort(-costs)[:most]
            return float((costs / sums).max()), vectors[order[costs[order] > 0]]
        if self.cone.n > LISTED:
            return self._by_roots(multipliers, limits)
        return self._of_all_sets(multipliers, limits, most)

    def _of_all_sets(self, x: CappedDual, limits: Float, most: int) -> tuple[float, Float]:
        """Price every set."""
        assert isinstance(self.cone, Staircases)
        base, spread = self.cone.base, self.cone.spread
        mass = base * x.weights.sum() + spread * subset_sums(x.weights)
        costs = -(base * x.line.sum() + spread * subset_sums(x.line))
        for slope, limit in zip(x.slope, limits, strict=True):
            z = base * slope.sum() + spread * subset_sums(slope)
            value = np.clip(z / mass, -limit, limit)
            costs += value * (2 * z - mass * value)
        n = self.cone.n
        sums = base * n + spread * subset_sums(np.ones(n))
        places = local_maxima(costs, n, 0.0)
        places = places[np.argsort(-costs[places])][:most]
        return float((costs / sums).max()), self.cone.columns(indicators(places, n)).vectors

    def _by_roots(self, x: CappedDual, limits: Float) -> tuple[float, Float]:
        """Price the sets ``{x : 2 V K_x - V^2 r_x > y_x}`` of a single number, for ``V`` within the
        limit.
        """
        assert isinstance(self.cone, Staircases)
        slope = x.slope[0]
        square = slope**2 - x.weights * x.line
        on = (square > 0) & (x.weights > 0)
        root = np.sqrt(square[on])
        roots = np.concatenate(
            [(slope[on] - root) / x.weights[on], (slope[on] + root) / x.weights[on]]
        )
        end = min(float(limits[0]), 2 * float(np.abs(np.append(roots, 1.0)).max()))
        cuts = np.unique(np.concatenate([[-end, end], np.clip(roots, -end, end)]))
        middle = (cuts[1:] + cuts[:-1])[:, None] / 2
        sets = np.unique(2 * middle * slope - middle**2 * x.weights > x.line, axis=0)
        vectors = self.cone.columns(sets.astype(np.float64)).vectors
        costs = costs_of(x, vectors, limits)
        return float((costs / vectors.sum(axis=1)).max()), vectors[costs > 0]
