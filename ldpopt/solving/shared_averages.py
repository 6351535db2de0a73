"""Averages that many comparisons have in common: columns of a program, in place of repeated rows.

A comparison with the average over a prior has a coefficient for every input. As a column ``A[g,
y]`` of its own, an average is written once for each output, and each comparison has two
coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpopt.foundation.budget import round_down
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy import Comparisons
from ldpopt.privacy.comparisons import Average

Matrix = tuple[Int, Int, Float]
"""Starts, columns and coefficients of compressed rows."""


@dataclass(frozen=True)
class SharedAverages:
    """The distinct averages of several entries in a list of comparisons."""

    comparisons: Comparisons
    averages: tuple[Average, ...]
    over: Int  # place of each comparison's first average, or -1 if it is one entry
    under: Int

    @classmethod
    def of(cls, comparisons: Comparisons) -> SharedAverages:
        """Number the averages of at least two entries."""
        places: dict[tuple[tuple[int, Fraction], ...], int] = {}
        kept: dict[int, int] = {}  # by identity: a notion repeats the same mapping many times
        numbers = []
        for side in (comparisons.over, comparisons.under):
            row = np.full(len(comparisons), -1)
            for r, average in enumerate(side):
                if len(average) < 2:
                    continue
                if id(average) not in kept:
                    key = tuple(sorted(average.items()))
                    kept[id(average)] = places.setdefault(key, len(places))
                row[r] = kept[id(average)]
            numbers.append(row)
        return cls(comparisons, tuple(dict(key) for key in places), numbers[0], numbers[1])

    def size(self, m: int) -> tuple[float, float]:
        """Numbers of rows and non-zeros for m outputs."""
        tied = float(np.count_nonzero(self.comparisons.tied_outputs(m)))
        entries = sum(len(average) + 1 for average in self.averages) + 2 * len(self.comparisons)
        return (len(self.averages) + len(self.comparisons)) * tied, entries * tied

    def definitions(self, tied: Int, m: int, first: int) -> Matrix:
        """Rows ``sum_x w[x] P[x, y] - A[g, y]`` of every average and compared output.

        The entry ``P[x, y]`` is column ``x m + y``, ``A[g, y]`` is column ``first + g k + j`` for
        the ``j``-th of ``k`` compared outputs.
        """
        k = len(tied)
        start = [0]
        index = []
        value = []
        for g, average in enumerate(self.averages):
            x = np.array(sorted(average))
            weights = np.array([float(average[position]) for position in x.tolist()])
            block = np.empty((k, len(x) + 1), np.int64)
            block[:, :-1] = x[None, :] * m + tied[:, None]
            block[:, -1] = first + g * k + np.arange(k)
            index.append(block.reshape(-1))
            value.append(np.tile(np.append(weights, -1.0), k))
            start += [start[-1] + (len(x) + 1) * (j + 1) for j in range(k)]
        return np.array(start), np.concatenate(index), np.concatenate(value)

    def comparison_rows(self, tied: Int, m: int, first: int) -> Matrix:
        """A row of two coefficients for each comparison and compared output, with its scale.

        The ratio is rounded down, as in `Comparisons.rows`.
        """
        comparisons = self.comparisons
        k = len(tied)
        entries = np.arange(comparisons.n)[:, None] * m + tied
        ends = []
        for place, side in ((self.over, comparisons.over), (self.under, comparisons.under)):
            single = entries[[min(average) for average in side]]
            shared = first + place[:, None] * k + np.arange(k)
            ends.append(np.where(place[:, None] < 0, single, shared))
        ratio = np.array([round_down(1 / high) for _, high in comparisons.enclosures])
        value = np.stack([comparisons.scales * ratio, -comparisons.scales], axis=1)
        return (
            np.arange(len(comparisons) * k + 1) * 2,
            np.stack(ends, axis=2).reshape(-1),
            np.repeat(value, k, axis=0).reshape(-1),
        )
