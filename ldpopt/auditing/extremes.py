r"""The largest and the smallest entry of each column: pure privacy of all pairs depends on them.

Their ratios in floats screen the columns. A float here is wrong by less than ``2**-52``, and every
comparison leaves a margin above that: a column is left out only if it is certainly below, and what
is kept is decided in integers. So no verdict depends on a float.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.exact_matrices import ULPS, ExactChannel
from ldpopt.auditing.row_ratios import SMALLEST
from ldpopt.foundation.numbers import Float, Int


@dataclass(frozen=True, eq=False)
class Extremes:
    """Rows of the largest and the smallest entry of each column, and their ratio in floats."""

    entries: NDArray[Any]  # numerators; not the channel, which keeps its extremes
    top: Int
    bottom: Int
    ratio: Float  # infinite if the smallest entry is 0, or so small that its float has lost bits

    @classmethod
    def of(cls, matrix: ExactChannel, rows: Int | None = None) -> "Extremes":
        """Extremes over all rows, computed once; or with the largest entry over some rows."""
        if rows is None and (known := vars(matrix).get("_extremes")) is not None:
            return known  # type: ignore[no-any-return]
        entries = matrix.numerators
        columns = np.arange(entries.shape[1])
        bottom = entries.argmin(axis=0)
        top = entries.argmax(axis=0) if rows is None else rows[entries[rows].argmax(axis=0)]
        least = matrix.floats[bottom, columns]
        ratio = np.full(len(columns), np.inf)
        np.divide(matrix.floats[top, columns], least, out=ratio, where=least >= SMALLEST)
        extremes = cls(entries, top, bottom, ratio)
        if rows is None:
            vars(matrix)["_extremes"] = extremes
        return extremes

    def at_least(self, bound: float) -> list[int]:
        """Columns whose exact ratio may be at least this: two entries and a quotient are rounded,
        each by less than ``2**-53`` of it, and so may be the bound.
        """
        near: list[int] = (self.ratio >= bound * (1 - ULPS)).nonzero()[0].tolist()
        return near

    def near_largest(self) -> list[int]:
        """Columns whose exact ratio may be the largest one, if that is above 1."""
        known = self.ratio[self.ratio < np.inf]
        return self.at_least(float(known.max(initial=1.0)))

    def pair(self, y: int) -> tuple[int, int]:
        """Numerators of the largest and the smallest entry of a column."""
        return int(self.entries[self.top[y], y]), int(self.entries[self.bottom[y], y])
