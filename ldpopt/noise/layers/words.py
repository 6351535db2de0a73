"""The word metric of integer steps: how many additions and subtractions of columns lead from a ball
to a point.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.numbers import Int, any_array, real_number, short_repr, whole_number

# A point ``(a, b, ...)`` is stored as ``a * base + b`` and so on; codes add like points while
# entries are small
BASES = {1: 1 << 62, 2: 1 << 31, 3: 1 << 20}
MAX_POINTS = 2_000_000  # largest number of lattice points to list
STEADY_LAYERS = 12  # number of consecutive layers that must follow the polynomial of the tail


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
        True in one dimension (by translation). In more the growth was observed `STEADY_LAYERS`
        times.
    """

    start: int
    sizes: tuple[int, ...]
    moments: tuple[int, ...] | None
    is_proved: bool


class WordMetric:
    r"""Layers of :math:`\mathbb Z^n`, ``n`` = 1, 2 or 3, by the least number of steps from a ball
    around 0.

    .. math:: L(r) = \min \{ t : r = u \pm v_1 \pm \dots \pm v_t, \ \|u\|_p \le w \}

    Parameters
    ----------
    columns : sequence of int, or of pairs or triples of int
        As in `LatticeNoise`; not all zero, below 2**20 in size.
    widening, norm
        Radius ``w`` and norm ``p`` of the ball, as in `LatticeNoise`; ``0`` is the point 0.
        Default: ``0`` and ``2``.

    Raises
    ------
    StatementError
        If the columns are not integers below 2**20 in size or all zero, the radius is negative, or
        the norm is not 1, 2 or infinite.

    Notes
    -----
    ``L(r)`` and ``L(r + v)`` differ by at most one for every column ``v``, which implies privacy.
    Layers are listed on request, ``O(columns x points)``.

    References
    ----------
    Wu, Xia and He, section 4 (Lemma 1) on the group of all answers; section 5, problem (9), for the
    ball.

    Examples
    --------
    >>> WordMetric([2, 3]).layer(2)
    array([[-6], [-5], [-4], [-1], [ 1], [ 4], [ 5], [ 6]])
    """

    def __init__(self, columns: ArrayLike, widening: float | Fraction = 0, norm: float = 2) -> None:
        self.columns, self.dimension = _read_columns(columns)
        self.widening, self.norm = widening, norm
        steps = self._code(self.columns)
        self._steps = np.unique(np.concatenate([steps, -steps]))
        self._layers: list[Int] = [np.unique(self._code(_ball(widening, norm, self.dimension)))]
        self._points = len(self._layers[0])

    def __repr__(self) -> str:
        ball = f", widening={float(self.widening):g}, norm={self.norm:g}" if self.widening else ""
        size = f"{len(self.columns)} columns in dimension {self.dimension}"
        return f"WordMetric({size}{ball}, {len(self._layers)} layers)"

    def layer(self, number: int) -> Int:
        """Return the points of a layer, shape ``(k, n)``, in lexicographic order."""
        codes = self._codes(number)
        base = BASES[self.dimension]
        entries = []
        for _ in range(self.dimension - 1):
            last = (codes + base // 2) % base - base // 2
            entries.append(last)
            codes = (codes - last) // base
        return np.stack([codes, *entries[::-1]], axis=1)

    def size(self, number: int) -> int:
        """Return the number of points of a layer."""
        return len(self._codes(number))

    def moment(self, number: int) -> int:
        """Return the sum of the l1 norms over a layer."""
        return int(np.abs(self.layer(number)).sum())

    def level(self, points: ArrayLike) -> Int:
        """Return the number of the layer of each point, shape (N,): the least number of steps.

        Parameters
        ----------
        points : array_like of int, shape (N, n)
            Sums of columns; in one dimension also shape (N,).

        Raises
        ------
        StatementError
            If a point is not of integers, or of another dimension.
        """
        wanted = self._code(_read_points(points, self.dimension))
        levels = np.full(len(wanted), -1, dtype=np.int64)
        number = 0
        while (levels < 0).any():
            levels[np.isin(wanted, self._codes(number)) & (levels < 0)] = number
            number += 1
        return levels

    def tail(self) -> Tail:
        """Find the layer from which layers grow as a polynomial of degree ``n - 1``, within
        `MAX_POINTS` points.
        """
        number = 1
        while True:
            number += 1
            if self.dimension == 1 and self._is_shifted(number):
                start = number - 2
                reach = int(self._steps[-1])
                size = self.size(start)
                return Tail(start, (size,), (self.moment(start), reach * size), True)
            if self.dimension > 1 and number > STEADY_LAYERS + self.dimension:
                steady = self._steady(number)
                if steady is not None:
                    return steady

    def _is_shifted(self, number: int) -> bool:
        """Whether the positive halves of the layers ``number - 2`` to ``number`` are translates of
        each other by the largest step, and too far from 0 to meet the negative halves: then all
        later layers are translates, too.
        """
        reach = self._steps[-1]
        old, last, new = (half[half > 0] for half in (self._codes(number - k) for k in (2, 1, 0)))
        return bool(
            np.array_equal(old + reach, last)
            and np.array_equal(last + reach, new)
            and old.min() > reach
        )

    def _steady(self, number: int) -> Tail | None:
        n = self.dimension
        start = number - STEADY_LAYERS - n
        sizes = [self.size(k) for k in range(start, number + 1)]
        if (np.diff(sizes, n - 1) != self.growth).any():
            return None
        sums = np.array([self.moment(k) for k in range(start, number + 1)], dtype=object)
        moments = (
            tuple(int(np.diff(sums, k)[0]) for k in range(n + 1))
            if not np.diff(sums, n + 1).any()
            else None
        )
        return Tail(start, tuple(int(np.diff(sizes, k)[0]) for k in range(n)), moments, False)

    @cached_property
    def growth(self) -> int:
        """Last difference of the layer sizes: ``n!`` times the hull's volume in lattice cells,
        times its cosets.
        """
        basis = _lattice_basis(self.columns)
        if len(basis) < self.dimension:
            if self.dimension > 2:
                raise NotRepresentableError(
                    "the columns lie in a plane: no tail is known",
                    code="plane",
                    do="use two numbers",
                )
            return 0
        cells = prod(abs(row[k]) for k, row in enumerate(basis))
        hull = ConvexHull(np.concatenate([self.columns, -self.columns]))
        corners = self.layer(0)
        for k, row in enumerate(basis):
            corners = corners - np.outer(corners[:, k] // row[k], row)
        return (
            round(hull.volume * factorial(self.dimension))
            * len(np.unique(corners, axis=0))
            // cells
        )

    def _codes(self, number: int) -> Int:
        number = whole_number(number, "the number of a layer")
        while len(self._layers) <= number:
            last = self._layers[-1]
            before = self._layers[-2] if len(self._layers) > 1 else last
            reach = float(self.widening) + (number + 1) * int(np.abs(self.columns).max())
            if self._points > MAX_POINTS or reach >= BASES[self.dimension] // 2:
                problem = (
                    f"{self._points} points in {len(self._layers)} layers: no polynomial tail found"
                )
                do = "divide the columns by their common factor, or use fewer"
                raise NotRepresentableError(
                    problem,
                    code="tail",
                    do=f"{do}; a point that is not a sum of columns is in no layer",
                )
            fresh = np.unique(last[:, None] + self._steps)
            fresh = fresh[~np.isin(fresh, last) & ~np.isin(fresh, before)]
            self._layers.append(fresh)
            self._points += len(fresh)
        return self._layers[number]

    def _code(self, points: Int) -> Int:
        base = BASES[self.dimension]
        return np.asarray(
            points @ np.array([base**k for k in range(self.dimension)][::-1], dtype=np.int64)
        )


def _read_columns(columns: Any) -> tuple[Int, int]:
    """Return the columns as an int array of shape (k, n), without zeros."""
    array = any_array(columns, "columns")
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or not array.size:
        raise StatementError(
            f"the columns are not integers: {short_repr(columns)}",
            code="integers",
            do="pass integers, or tuples of them",
        )
    array = array.astype(np.int64).reshape(len(array), -1)
    if array.shape[1] > max(BASES):
        raise StatementError(
            f"answers of {array.shape[1]} numbers are not supported",
            code="dimension",
            do="use up to three numbers",
        )
    if np.abs(array).max() >= 1 << 20:
        raise StatementError(
            "a column is 2**20 or larger: too many layers",
            code="large-column",
            do="use a coarser unit",
        )
    array = np.unique(array[array.any(axis=1)], axis=0)
    if not len(array):
        problem = "all columns are zero: no record changes the answer"
        raise StatementError(
            problem, code="zero-columns", do="give at least one column that is not zero"
        )
    return array, array.shape[1]


def _read_points(points: Any, dimension: int) -> Int:
    """Read points of the lattice, shape (N, n); in one dimension also (N,)."""
    array = any_array(points, "points")
    fits = array.shape[1:] == (dimension,) or (dimension == 1 and array.ndim == 1)
    if not fits or (array.size and array.dtype.kind not in "iu"):
        raise StatementError(
            f"points of shape {array.shape} are not integers of shape (N, {dimension})",
            code="points",
            do="give one row of integers for each point",
        )
    return array.astype(np.int64).reshape(-1, dimension)


def _ball(widening: Any, norm: Any, n: int) -> Int:
    """Return the integer points of a ball around 0, shape (k, n), exactly."""
    number = real_number(
        widening, "widening", 0, MAX_POINTS, do="state a radius >= 0, in units of the grid"
    )
    if not isinstance(norm, (int, float)) or norm not in (1, 2, np.inf):
        raise StatementError(
            f"norm = {short_repr(norm)} is unknown", code="norm", do="give 1, 2 or inf"
        )
    radius = Fraction(widening if isinstance(widening, (int, Fraction)) else number)
    last = int(radius)
    if (2 * last + 1) ** n > MAX_POINTS:
        raise StatementError(
            f"a ball of radius {number:g} has too many points",
            code="radius",
            do="use a coarser unit",
        )
    cube = np.stack(np.meshgrid(*[np.arange(-last, last + 1)] * n, indexing="ij"), axis=-1).reshape(
        -1, n
    )
    sizes = (
        np.abs(cube).sum(axis=1)
        if norm == 1
        else (cube**2).sum(axis=1)
        if norm == 2
        else np.abs(cube).max(axis=1)
    )
    return np.asarray(cube[sizes <= int(radius**2 if norm == 2 else radius)])


def _lattice_basis(columns: Int) -> list[list[int]]:
    """Return a basis of the lattice of the columns in echelon form, by Euclid's algorithm."""
    rows: list[list[int]] = columns.tolist()
    basis = []
    for k in range(columns.shape[1]):
        while sum(row[k] != 0 for row in rows) > 1:
            pivot = min((row for row in rows if row[k]), key=lambda row: abs(row[k]))
            others = [(row, row[k] // pivot[k]) for row in rows if row is not pivot]
            rows = [
                pivot,
                *([a - t * b for a, b in zip(row, pivot, strict=True)] for row, t in others),
            ]
        basis += [row for row in rows if row[k]]
        rows = [row for row in rows if not row[k] and any(row)]
    return basis
