"""Ordered pairs of tied inputs: a list, or a table of distances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 17
"""Number of entries that are compared at once; a megabyte of floats stays near the processor."""


class Pairs(NamedTuple):
    """Ordered pairs of tied inputs, and their distance: the factor of epsilon."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]

    @property
    def number(self) -> int:
        """How many pairs there are."""
        return len(self.first)

    def by_first(self, m: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """Yield an input, some inputs that it is tied to, and their distances; for channels of m outputs."""
        order = np.argsort(self.first, kind="stable")
        first, second, distance = self.first[order], self.second[order], self.distance[order]
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        size = max(1, BLOCK // m)
        for start, stop in pairwise([*starts.tolist(), len(first)]):
            for low in range(start, stop, size):
                part = slice(low, min(low + size, stop))
                yield int(first[start]), second[part], distance[part]


class PairsOfTable(NamedTuple):
    """All ordered pairs at a positive distance; a table of 5000 inputs takes 200 megabytes, its pairs 600."""

    table: NDArray[np.float64]

    @property
    def number(self) -> int:
        """How many pairs there are."""
        return int(np.count_nonzero(self.table > 0))

    def by_first(self, m: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """Yield the same as `Pairs`."""
        size = max(1, BLOCK // m)
        for x, row in enumerate(self.table):
            tied = np.flatnonzero(row > 0)
            for low in range(0, len(tied), size):
                others = tied[low : low + size]
                yield x, others, row[others]


AnyPairs = Pairs | PairsOfTable
