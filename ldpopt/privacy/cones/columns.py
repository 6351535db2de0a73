"""Columns of a cone in floats, and what every list of extreme rays offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float, Int


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns ``base + spread * shape`` of a cone; shapes are from 0 to 1, those of staircases are
    0 or 1.
    """

    shapes: Float
    base: float
    spread: float

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def vectors(self) -> Float:
        """The columns, one in each row."""
        return self.base + self.spread * self.shapes

    def mass(self, r: Float) -> Float:
        """Mass ``r.v`` of each column ``v``."""
        return np.asarray(self.base + self.spread * (self.shapes @ r))

    def scores(self, r: Float) -> Float:
        """Score vectors ``v / (r.v) - 1``, without cancellation."""
        return np.asarray(
            (self.shapes - (self.shapes @ r)[:, None]) * (self.spread / self.mass(r))[:, None]
        )

    def take(self, positions: Int) -> Columns:
        """The columns at some positions."""
        return Columns(self.shapes[positions], self.base, self.spread)

    def with_more(self, shapes: Float) -> Columns:
        """These columns and columns of other shapes."""
        return Columns(np.vstack([self.shapes, shapes]), self.base, self.spread)


class RayList(ABC):
    """All extreme rays of a cone of columns, exactly, and in floats for a search."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The rays in floats, the largest entry of each 1."""

    @property
    @abstractmethod
    def support(self) -> NDArray[np.bool_]:
        """Which entries are positive, shape (k, n)."""

    @property
    @abstractmethod
    def depth(self) -> float:
        """Nats between the largest and the smallest positive entry of a ray."""

    @property
    @abstractmethod
    def response(self) -> Float:
        """Shapes of a randomized response whose columns are in the cone, shape (n, n)."""

    @abstractmethod
    def is_symmetric(self, order: Int) -> bool:
        """Whether a permutation of the answers turns rays into rays."""

    def __len__(self) -> int:
        return len(self.support)
