"""Columns of a cone, all with the same base, so that their differences have no cancellation."""

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
        """How many."""
        return len(self.shapes)

    @property
    def vectors(self) -> Float:
        """The columns themselves, one a row."""
        return self.base + self.spread * self.shapes

    def mass(self, r: Float) -> Float:
        """``r.v`` of each."""
        return np.asarray(self.base + self.spread * (self.shapes @ r))

    def scores(self, r: Float) -> Float:
        """Score vectors ``v / (r.v) - 1``, without cancellation."""
        centered = self.shapes - (self.shapes @ r)[:, None]
        return np.asarray(centered * (self.spread / self.mass(r))[:, None])

    def take(self, places: NDArray[np.int64]) -> Columns:
        """Some of them."""
        return Columns(self.shapes[places], self.base, self.spread)

    def with_more(self, shapes: Float) -> Columns:
        """These and others."""
        return Columns(np.vstack([self.shapes, shapes]), self.base, self.spread)
