"""Lengths of the ties of a notion as integers over one unit, never shorter than the distances of the notion.

Longer or fewer ties allow more columns, so a bound for them holds for the notion too. So distances may be rounded up:
those that differ only by the rounding of floats become equal, or sums of others. Otherwise a grid would have many more
rays.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.privacy.ties import Ties

Int = NDArray[np.int64]

BITS = 52  # bits of the longest length
SAME = 38  # lengths are equal if they agree in so many leading bits
FAR = np.int64(2**61)  # length between answers that no chain of ties connects


@dataclass(frozen=True, eq=False)
class Lengths:
    """Mutual ties that no chain of other ties implies."""

    # first, second: pairs of answers, in both orders, shape (t,)
    first: Int
    second: Int
    length: Int  # length of each, positive, shape (t,)
    unit: Fraction  # distance of length 1
    paths: Int  # lengths of the shortest chains; ``FAR`` between answers of different parts; shape (n, n)

    @property
    def parts(self) -> list[Int]:
        """Answers that are connected by ties, part by part."""
        _, part = np.unique(self.paths < FAR, axis=0, return_inverse=True)
        return [np.flatnonzero(part.ravel() == k) for k in range(part.max() + 1)]

    def within(self, part: Int) -> Lengths:
        """The ties of one part, whose answers are renumbered."""
        place = np.full(len(self.paths), -1)
        place[part] = np.arange(len(part))
        kept = place[self.first] >= 0
        return Lengths(
            place[self.first[kept]],
            place[self.second[kept]],
            self.length[kept],
            self.unit,
            self.paths[np.ix_(part, part)],
        )


def lengths_of(ties: Ties) -> Lengths:
    """Lengths of mutual ties.

    Examples
    --------
    >>> lengths_of(Ties(1.0, 3, [0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0], [1.0, 1.0, 1.0, 1.0, 2.0, 2.0])).length.tolist()
    [1, 1, 1, 1]
    """
    first, second = ties.pairs()
    given = np.ones(len(first)) if ties.distance is None else ties.distance
    once = first < second
    first, second = first[once].astype(np.int64), second[once].astype(np.int64)
    length, unit = _whole(given[once])
    kept, paths = _needed(ties.n, first, second, length)
    first, second, length = first[kept], second[kept], length[kept]
    step = int(np.gcd.reduce(length)) if len(length) else 1
    return Lengths(
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        np.tile(length // step, 2),
        unit * step,
        np.where(paths < FAR, paths // step, FAR),
    )


def _whole(distance: NDArray[np.float64]) -> tuple[Int, Fraction]:
    """Distances rounded up to integers, nearly equal ones to the largest of them, and the unit."""
    if not len(distance):
        return np.empty(0, np.int64), Fraction(1)
    exponent = int(np.frexp(distance.max())[1]) - BITS
    whole = np.maximum(np.ceil(np.ldexp(distance, -exponent)), 1.0).astype(np.int64)
    sizes = np.unique(whole)
    group = np.zeros(len(sizes), np.int64)
    start = 0
    for k in range(1, len(sizes)):
        if sizes[k] - sizes[start] > sizes[start] >> SAME:
            start = k
        group[k] = start
    largest = np.array([sizes[group == g].max() for g in group])
    return largest[np.searchsorted(sizes, whole)], Fraction(2) ** exponent


def _needed(n: int, first: Int, second: Int, length: Int) -> tuple[Int, Int]:
    """Positions of the ties that no chain of shorter ones implies, and the shortest chains."""
    paths = np.full((n, n), FAR)
    np.fill_diagonal(paths, 0)
    kept = []
    for k in np.argsort(length, kind="stable"):
        x, z, size = first[k], second[k], length[k]
        if paths[x, z] > size + (size >> SAME):
            kept.append(k)
            through = np.minimum(paths[:, x, None] + size + paths[None, z], paths[:, z, None] + size + paths[None, x])
            paths = np.minimum(paths, np.minimum(through, FAR))
    return np.array(kept, np.int64), paths
