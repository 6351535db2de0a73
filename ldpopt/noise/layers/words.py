"""The word metric of integer steps: how many additions and subtractions of columns lead from 0 to a lattice point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.rows import Int

PAIR_BASE = 1 << 31
"""A pair ``(a, b)`` is stored as ``a * 2**31 + b``; sums of codes are codes of sums while ``|b| < 2**30``."""

MAX_POINTS = 2_000_000
"""Largest number of lattice points to list."""

STEADY_LAYERS = 12
"""Number of consecutive layers that must follow the polynomial of the tail."""


@dataclass(frozen=True)
class Tail:
    """From layer ``start`` on, sizes and l1 moments are polynomials of the layer's number.

    Attributes
    ----------
    start : int
        First layer of the tail.
    sizes, moments : tuple of int
        Forward differences at ``start``: the value, the first difference, ...
    is_proved : bool
        True in one dimension (by translation). In two the growth was observed `STEADY_LAYERS` times.
    """

    start: int
    sizes: tuple[int, ...]
    moments: tuple[int, ...] | None
    is_proved: bool


class WordMetric:
    r"""Layers of :math:`\mathbb Z^n`, ``n`` = 1 or 2, by the least number of steps from 0.

    .. math:: L(r) = \min \{ t : r = \pm v_1 \pm \dots \pm v_t \}

    Parameters
    ----------
    columns : sequence of int, or of pairs of int
        The change of the answer by one record: the columns of ``A`` in ``f(x) = A x``; not all zero, below 2**20 in
        size.

    Raises
    ------
    StatementError
        If all columns are zero, or they are neither integers nor pairs.

    Notes
    -----
    ``L(r)`` and ``L(r + v)`` differ by at most one for every column ``v``, which implies privacy. Layers are listed on
    request, ``O(columns x points)``.

    References
    ----------
    Wu, Xia and He, section 4 (Lemma 1) on the group of all answers.

    Examples
    --------
    >>> WordMetric([2, 3]).layer(2)
    array([[-6], [-5], [-4], [-1], [ 1], [ 4], [ 5], [ 6]])
    """

    def __init__(self, columns: Sequence[Any] | ArrayLike) -> None:
        self.columns, self.dimension = _read_columns(columns)
        steps = self._code(self.columns)
        self._steps = np.unique(np.concatenate([steps, -steps]))
        self._layers: list[Int] = [np.zeros(1, dtype=np.int64)]
        self._points = 1

    def __repr__(self) -> str:
        """Number of columns and of layers listed so far."""
        return f"WordMetric({len(self.columns)} columns in dimension {self.dimension}, {len(self._layers)} layers)"

    def layer(self, number: int) -> Int:
        """Return the points of a layer, shape ``(k, n)``, in lexicographic order."""
        codes = self._codes(number)
        if self.dimension == 1:
            return codes[:, None]
        first = (codes + PAIR_BASE // 2) // PAIR_BASE
        return np.stack([first, codes - first * PAIR_BASE], axis=1)

    def size(self, number: int) -> int:
        """Return the number of points of a layer."""
        return len(self._codes(number))

    def moment(self, number: int) -> int:
        """Return the sum of the l1 norms over a layer."""
        return int(np.abs(self.layer(number)).sum())

    def level(self, points: ArrayLike) -> Int:
        """Return the number of the layer of each point.

        Parameters
        ----------
        points : array_like of int, shape (N, n)
            Lattice points; in one dimension also shape (N,).

        Returns
        -------
        int array, shape (N,)
            Least number of steps.

        Raises
        ------
        NotRepresentableError
            If a point is not a sum of columns, or too far away.
        """
        wanted = self._code(np.asarray(points, dtype=np.int64).reshape(-1, self.dimension))
        found = np.full(len(wanted), -1, dtype=np.int64)
        number = 0
        while (found < 0).any():
            found[np.isin(wanted, self._codes(number)) & (found < 0)] = number
            number += 1
        return found

    def tail(self) -> Tail:
        """Find the layer from which layers grow as a polynomial of degree ``n - 1``.

        Returns
        -------
        Tail
            Its start and its forward differences.

        Raises
        ------
        NotRepresentableError
            If none is found within `MAX_POINTS` points.
        """
        number = 1
        while True:
            number += 1
            if self.dimension == 1 and self._is_shifted(number):
                start = number - 2
                reach, size = int(self._steps[-1]), self.size(start)
                return Tail(start, (size,), (self.moment(start), reach * size), True)
            if self.dimension == 2 and number > STEADY_LAYERS + 3:
                found = self._steady(number)
                if found is not None:
                    return found

    def _is_shifted(self, number: int) -> bool:
        """Whether the positive halves of the last three layers are translates, too far from 0 to meet the others."""
        reach = self._steps[-1]
        old, last, new = (half[half > 0] for half in (self._codes(number - k) for k in (2, 1, 0)))
        return bool(np.array_equal(old + reach, last) and np.array_equal(last + reach, new) and old.min() > reach)

    def _steady(self, number: int) -> Tail | None:
        start = number - STEADY_LAYERS - 2
        sizes = [self.size(k) for k in range(start, number + 1)]
        slope = _layer_growth(self.columns)
        if any(b - a != slope for a, b in pairwise(sizes)):
            return None
        third = np.array([self.moment(k) for k in range(start, number + 1)], dtype=object)
        moments = tuple(int(np.diff(third, k)[0]) for k in range(3)) if not np.diff(third, 3).any() else None
        return Tail(start, (sizes[0], slope), moments, False)

    def _codes(self, number: int) -> Int:
        while len(self._layers) <= number:
            last = self._layers[-1]
            before = self._layers[-2] if len(self._layers) > 1 else last
            if self._points > MAX_POINTS or abs(int(last[-1])) > 2**61:
                raise NotRepresentableError(
                    f"{self._points} points in {len(self._layers)} layers: no polynomial tail found",
                    do="divide the columns by their common factor, or use fewer; a point that is not a sum of columns "
                    "is in no layer",
                )
            fresh = np.unique(last[:, None] + self._steps)
            fresh = fresh[~np.isin(fresh, last) & ~np.isin(fresh, before)]
            self._layers.append(fresh)
            self._points += len(fresh)
        return self._layers[number]

    def _code(self, points: Int) -> Int:
        if self.dimension == 1:
            return points[:, 0]
        return np.asarray(points[:, 0] * PAIR_BASE + points[:, 1])


def _read_columns(columns: Any) -> tuple[Int, int]:
    """Return the columns as an int array of shape (k, n), without zeros."""
    array: NDArray[Any] = np.asarray(columns)
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or not array.size:
        raise StatementError(f"the columns are not integers: {columns!r}", do="pass integers, or pairs of them")
    array = array.astype(np.int64).reshape(len(array), -1)
    if array.shape[1] > 2:
        raise StatementError(f"answers of {array.shape[1]} numbers are not supported", do="use one or two numbers")
    if np.abs(array).max() >= 1 << 20:
        raise StatementError("a column is 2**20 or larger: too many layers", do="use a coarser unit")
    array = np.unique(array[array.any(axis=1)], axis=0)
    if not len(array):
        raise StatementError("all columns are zero: no record changes the answer")
    return array, array.shape[1]


def _layer_growth(columns: Int) -> int:
    """Return the growth of the layer sizes in the tail: twice the hull's area over the lattice's determinant."""
    points = sorted({(s * int(a), s * int(b)) for a, b in columns for s in (1, -1)})
    index = 0
    for (a, b), (c, d) in combinations(points, 2):
        index = gcd(index, a * d - b * c)
    if not index:
        return 0
    hull = _half_hull(points) + _half_hull(points[::-1])
    twice = sum(a * d - b * c for (a, b), (c, d) in zip(hull, hull[1:] + hull[:1], strict=True))
    return abs(twice) // index


def _half_hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return one half of the convex hull of sorted points, without its last point."""
    kept: list[tuple[int, int]] = []
    for a, b in points:
        while len(kept) > 1:
            (p, q), (r, s) = kept[-2], kept[-1]
            if (r - p) * (b - q) - (s - q) * (a - p) > 0:
                break
            kept.pop()
        kept.append((a, b))
    return kept[:-1]
