r"""The linear program of the least influence in columns whose values are at their limits.

A column with values within the limits is a mixture of columns with values at them, so that

.. math:: \max s \quad \text{subject to} \quad \sum w \, v = 1, \quad
          \sum w \, \sigma_j b_j v = s W_j, \quad w \ge 0,

over pairs of a column and signs, is the program of `least` with a row for each equation only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.solvers.program import silent_highs

EXACT = 1e-10  # tolerance of both programs
AT_LIMIT = 1e-7  # share of a limit within which a value is at it


@dataclass(frozen=True, eq=False)
class Vertex:
    """The best weights of the columns that are there."""

    factor: float
    vectors: Float  # columns of positive weight, each once
    weights: Float
    slope: Float  # K, with multipliers of sum 1
    line: Float


class SignedColumns:
    """The program of the columns that were added; it begins each time where it ended."""

    def __init__(self, rows: Float, limits: Float) -> None:
        self.limits = limits
        self.shape = rows.shape
        self.vectors: list[Float] = []
        self._known: set[bytes] = set()
        k, n = rows.shape
        self._highs: Any = silent_highs()()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, EXACT)
        none = np.zeros(0)
        for place in range((k + 1) * n):
            right = 1.0 if place < n else 0.0
            self._highs.addRow(right, right, 0, none.astype(np.int32), none)
        self._add_column(-1.0, np.concatenate([np.zeros(n), -rows.ravel()]))

    def _add_column(self, cost: float, entries: Float) -> None:
        """Add a column of positive weight."""
        import highspy

        places = np.flatnonzero(entries).astype(np.int32)
        self._highs.addCol(cost, 0.0, highspy.kHighsInf, len(places), places, entries[places])

    def add(self, vectors: Float, signs: Float) -> int:
        """Add columns with signs, shape (m, k); how many were new."""
        before = len(self.vectors)
        for vector, sign in zip(vectors, signs, strict=True):
            key = vector.tobytes() + sign.tobytes()
            if key in self._known:
                continue
            self._known.add(key)
            self.vectors.append(vector)
            values = np.outer(sign * self.limits, vector).ravel()
            self._add_column(0.0, np.concatenate([vector, values]))
        return len(self.vectors) - before

    def add_mixed(self, vectors: Float, parts: Float) -> None:
        """Add the columns of which columns with values inside are mixtures; values are given as
        parts of their limits, shape (m, k).
        """
        for vector, part in zip(vectors, parts, strict=True):
            inside = part[np.abs(part) < 1 - AT_LIMIT]
            cuts = np.unique(np.append(inside, 0.0)) if len(inside) == 0 else np.unique(inside)
            corners = [np.where(part > cut, 1.0, -1.0) for cut in cuts]
            corners.append(np.where(part >= cuts[0], 1.0, -1.0))
            self.add(np.repeat(vector[None], len(corners), axis=0), np.array(corners))

    def solve(self) -> Vertex | None:
        """The best weights; None if there are none."""
        import highspy

        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        weights = np.array(solution.col_value)
        k, n = self.shape
        prices = -np.array(solution.row_dual)
        total = prices[:n].sum()
        if not (weights[0] > 0 and total > 0):
            return None
        used = np.flatnonzero(weights[1:] > 0)
        vectors, place = np.unique(np.array(self.vectors)[used], axis=0, return_inverse=True)
        slope = -prices[n:].reshape(k, n) / total
        each = np.zeros(len(vectors))
        np.add.at(each, place.ravel(), weights[1:][used])
        return Vertex(1 / weights[0], vectors, each, slope, prices[:n] / total)
