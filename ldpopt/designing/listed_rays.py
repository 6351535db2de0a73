"""A cone whose extreme rays are listed: columns to begin with, and the price of every ray."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.pricing import Price, Priced
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns
from ldpopt.privacy.cones.rays import Rays

FEW = 400
"""Rays that are all taken to begin with."""


@dataclass(frozen=True, eq=False)
class ListedRays:
    """The columns of `Rays`; pricing lists them all."""

    rays: Rays

    @property
    def all(self) -> Columns:
        """Every ray."""
        return self.rays.columns

    @property
    def response(self) -> Columns:
        """Randomized response that is private here; its columns are no rays."""
        return Columns(self.rays.response, self.all.base, self.all.spread)

    def first(self, gram: Float) -> Columns:
        """All of few rays; else rays that sum to a constant, those highest and lowest at each answer, and some more."""
        if len(self.all) <= FEW:
            return self.all
        from scipy.optimize import nnls

        values = self.all.vectors
        constant = np.flatnonzero(nnls(values.T, np.ones(values.shape[1]))[0] > 0)
        over = values - values.mean(axis=1, keepdims=True)
        some = np.linspace(0, len(values) - 1, FEW // 2).astype(np.int64)
        chosen = np.unique(np.concatenate([constant, over.argmax(axis=0), over.argmin(axis=0), some]))
        return self.all.take(chosen)

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """Cost of every ray."""
        cost = price.of(self.all)
        dear = np.flatnonzero(cost > at_least)
        dear = dear[np.argsort(-cost[dear], kind="stable")][:most]
        return Priced(float(cost.max()), True, self.all.shapes[dear])

    def keeps(self, order: NDArray[np.int64]) -> bool:
        """Whether a permutation of the answers turns rays into rays."""
        return np.array_equal(np.unique(self.rays.below[:, order], axis=0), self._sorted)

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return np.unique(self.rays.below, axis=0)
