"""Rows over the entries of a channel: how privacy notions and side constraints are written down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float

Int = NDArray[np.int64]


@dataclass(frozen=True)
class RowBlock:
    r"""Named rows ``lower <= sum coefficient * P[x, y] <= upper`` over the entries of a channel.

    Attributes
    ----------
    name : str
        Where the rows come from: ``"privacy"``, ``"unbiased"``, ...
    row, x, y : int arrays, shape (nnz,)
        Which row, input and output a coefficient belongs to; ``row`` does not decrease.
    coefficient : float array, shape (nnz,)
        The non-zeros.
    lower, upper : float arrays, shape (rows,)
        Two-sided bounds, infinite where there is none.
    """

    name: str
    row: Int
    x: Int
    y: Int
    coefficient: Float
    lower: Float
    upper: Float

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.lower)

    def activity(self, channel: Float) -> Float:
        """Evaluate the left-hand sides at a channel, shape (rows,)."""
        total: Float = np.bincount(self.row, self.coefficient * channel[self.x, self.y], len(self)).astype(float)
        return total

    def violation(self, channel: Float) -> Float:
        """How far each row is out of its bounds at a channel, shape (rows,), 0 where it holds."""
        value = self.activity(channel)
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0)
