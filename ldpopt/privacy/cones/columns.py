"""Columns of a cone with a common base, so that their differences have no cancellation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns ``base + spread * shape`` of a cone, with entries of the shapes from 0 to 1.

    For staircase columns the shapes are indicators of sets, ``base`` is ``e**-epsilon`` and ``spread`` is
    ``1 - e**-epsilon``.
    """

    shapes: Float
    base: float
    spread: float

    def __len__(self) -> int:
        """Number of columns."""
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
        centered = self.shapes - (self.shapes @ r)[:, None]
        return np.asarray(centered * (self.spread / self.mass(r))[:, None])

    def take(self, positions: NDArray[np.int64]) -> Columns:
        """The columns at some positions."""
        return Columns(self.shapes[positions], self.base, self.spread)

    def with_more(self, shapes: Float) -> Columns:
        """These columns and columns of other shapes."""
        return Columns(np.vstack([self.shapes, shapes]), self.base, self.spread)
