"""Vertices of a bounded rational polytope by the double description method, exact in integers.

A polytope is a slice of a cone, whose extreme rays are kept row by row. Every pair of adjacent rays
on both sides of a new row gives one ray on the row; the rays on its negative side are removed.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline, OutOfTimeError
from ldpopt.foundation.incidence import common_ones
from ldpopt.foundation.numbers import Int

Integers = NDArray[Any]
"""Integer matrix: int64 while products cannot overflow, else Python integers (dtype object)."""

Incidence = NDArray[np.bool_]

Point = tuple[Fraction, ...]
Channel = tuple[tuple[Fraction, ...], ...]

MAX_RAYS = 100_000  # default limit of the number of current rays
# Largest number of comparisons of rays for one row, for each ray of the limit: about a minute for
# 12 000 rays
WORK_PER_RAY = 400_000
INT64_LIMIT = 2**62
CHUNK_CELLS = 2**22


def enumerate_vertices(
    coefficients: Sequence[Sequence[Fraction | int]],
    bounds: Sequence[Fraction | int],
    *,
    most: int = MAX_RAYS,
    deadline: Deadline = NO_LIMIT,
) -> tuple[list[Point], bool]:
    r"""Find all vertices of a bounded polytope :math:`\{x : A x \le b\}` exactly, sorted, and
    whether these are all.

    After the deadline some are missing; more than ``most`` rays at a time are refused (Fukuda and
    Prodon 1996).
    """
    rows = [
        primitive_integers([b, *(-a for a in row)])
        for row, b in zip(coefficients, bounds, strict=True)
    ]
    if not rows:
        raise _unbounded()
    if len(rows[0]) == 1:
        return [()], True
    at_infinity = [1] + [0] * (len(rows[0]) - 1)
    rays, is_complete = known_rays([*rows, at_infinity], most, deadline)
    if (rays[:, 0] == 0).any():
        raise _unbounded()
    return sorted(tuple(Fraction(v, ray[0]) for v in ray[1:]) for ray in rays.tolist()), is_complete


def extreme_rays(rows: Sequence[Sequence[int]]) -> Integers:
    r"""Find the extreme rays of the pointed cone :math:`\{z : R z \ge 0\}` as rows of primitive
    integers.
    """
    return known_rays(rows, MAX_RAYS, NO_LIMIT)[0]


def known_rays(
    rows: Sequence[Sequence[int]], most: int, deadline: Deadline
) -> tuple[Integers, bool]:
    """Find the extreme rays of a cone until a deadline, and whether these are all.

    Rows are read in lexicographic order, which keeps intermediate cones small. Extreme rays of an
    intermediate cone that satisfy the other rows too are those of the final cone; these remain when
    the time is over.
    """
    order = sorted({tuple(row) for row in rows})
    basis = _independent(order)
    if not order or len(basis) < len(order[0]):
        raise _unbounded()
    rays, zero = _simplicial([order[i] for i in basis])
    others = [row for i, row in enumerate(order) if i not in basis]
    for count, row in enumerate(others, len(basis)):
        try:
            if len(rays) > most:
                raise OutOfTimeError("extreme rays")
            rays, zero = _add_row(rays, zero, row, WORK_PER_RAY * most, deadline)
        except OutOfTimeError:
            if deadline.left is None:
                raise _too_many_rays(count, len(order), len(rays)) from None
            for other in others[count - len(basis) :]:
                rays = _without_overflow(rays, other)
                rays = rays[(rays @ np.array(other, dtype=rays.dtype) >= 0).astype(bool)]
            return rays, False
    return rays, True


def _add_row(
    rays: Integers, zero: Incidence, row: Sequence[int], most_work: int, deadline: Deadline
) -> tuple[Integers, Incidence]:
    """Intersect the cone with ``row . z >= 0``; a row that removes no ray gets no column in the
    incidence.
    """
    rays = _without_overflow(rays, row)
    value = rays @ np.array(row, dtype=rays.dtype)
    minus = np.flatnonzero(value < 0)
    if not len(minus):
        return rays, zero
    plus = np.flatnonzero(value > 0)
    kept = np.flatnonzero(value >= 0)
    first, second = _adjacent(zero, plus, minus, rays.shape[1] - 2, most_work, deadline)
    rays = _without_overflow(rays, value)
    value = value.astype(rays.dtype)
    fresh = value[first, None] * rays[second] - value[second, None] * rays[first]
    if len(fresh):
        fresh = fresh // np.gcd.reduce(fresh, axis=1)[:, None]
    on = np.concatenate([value[kept] == 0, np.ones(len(fresh), bool)])
    zeros = np.concatenate([zero[kept], zero[first] & zero[second]])
    return np.concatenate([rays[kept], fresh]), np.column_stack([zeros, on.astype(bool)])


def _adjacent(
    zero: Incidence, plus: Int, minus: Int, rows: int, most_work: int, deadline: Deadline
) -> tuple[Int, Int]:
    """Return the pairs of adjacent rays: they share ``rows`` tight rows or more, and no third ray
    lies on all of these.

    Such a third ray shares at least as many rows with each of the two. So only the companions of
    the ray on the smaller side are searched.
    """
    swapped = len(minus) < len(plus)
    few, many = (minus, plus) if swapped else (plus, minus)
    counts = zero.astype(np.float32)
    opposite = np.zeros(len(zero), bool)
    opposite[many] = True
    pairs = []
    height = max(1, CHUNK_CELLS // len(zero))
    for start in range(0, len(few), height):
        block = few[start : start + height]
        is_near = common_ones(counts[block], counts) >= rows
        for p, near in zip(block, is_near, strict=True):
            companions = np.flatnonzero(near)
            partners = companions[opposite[companions]]
            most_work -= len(partners) * len(companions)
            if most_work < 0 or deadline.is_over:
                raise OutOfTimeError("extreme rays")
            if len(partners):
                on = np.flatnonzero(zero[p])
                shared = counts[np.ix_(partners, on)]
                common = common_ones(shared, counts[np.ix_(companions, on)])
                holds_all = common == shared.sum(axis=1)[:, None]
                adjacent = partners[holds_all.sum(axis=1) == 2]
                pairs.append(np.column_stack([np.full(len(adjacent), p), adjacent]))
    first, second = np.concatenate(pairs).T if pairs else np.zeros((2, 0), np.int64)
    return (second, first) if swapped else (first, second)


def _without_overflow(rays: Integers, factors: Sequence[int] | Integers) -> Integers:
    """Convert to Python integers if a sum of products with ``factors`` could overflow."""
    if rays.dtype == object:
        return rays
    largest = int(np.abs(np.asarray(factors)).max(initial=0))
    room = 2 * rays.shape[1] * largest * int(np.abs(rays).max(initial=0))
    return rays if room < INT64_LIMIT else rays.astype(object)


def _simplicial(rows: Sequence[Sequence[int]]) -> tuple[Integers, Incidence]:
    """Return the rays of a cone with as many rows as coordinates, and the rows on which they lie:
    all but one each.
    """
    d = len(rows)
    inverse = solve_rows(rows, np.eye(d, dtype=int).tolist())
    assert inverse is not None
    rays = [primitive_integers(column) for column in zip(*inverse, strict=True)]
    large = max(abs(v) for ray in rays for v in ray) >= INT64_LIMIT
    return np.array(rays, dtype=object if large else np.int64), ~np.eye(d, dtype=bool)


def _independent(rows: Sequence[Sequence[int]]) -> list[int]:
    """Return the indices of the rows that are independent of the previous ones."""
    echelon: list[tuple[int, list[int]]] = []
    chosen = []
    for position, row in enumerate(rows):
        reduced = list(row)
        for pivot, head in echelon:
            if reduced[pivot]:
                reduced = primitive_integers(
                    [
                        head[pivot] * a - reduced[pivot] * b
                        for a, b in zip(reduced, head, strict=True)
                    ]
                )
        lead = next((i for i, v in enumerate(reduced) if v), None)
        if lead is not None:
            echelon.append((lead, reduced))
            chosen.append(position)
            if len(chosen) == len(reduced):
                break
    return chosen


def solve_rows(
    rows: Sequence[Sequence[Fraction | int]], sides: Sequence[Sequence[Fraction | int]]
) -> list[list[Fraction]] | None:
    """Solve ``rows @ X = sides`` in rationals; None if there is no solution, or not only one."""
    unknowns = len(rows[0])
    table = [[Fraction(v) for v in (*row, *side)] for row, side in zip(rows, sides, strict=True)]
    for column in range(unknowns):
        pivot = next((k for k in range(column, len(table)) if table[k][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        head = table[column] = [value / table[column][column] for value in table[column]]
        for k, row in enumerate(table):
            if k != column and row[column]:
                table[k] = [a - row[column] * b if b else a for a, b in zip(row, head, strict=True)]
    return None if any(map(any, table[unknowns:])) else [row[unknowns:] for row in table[:unknowns]]


def rank(rows: Sequence[Sequence[Fraction | int]]) -> int:
    """Return the rank of a rational matrix, exactly."""
    return len(_independent([primitive_integers(row) for row in rows]))


def primitive_integers(row: Sequence[Fraction | int]) -> list[int]:
    """Multiply a row by the positive rational that makes its entries integers without a common
    divisor.
    """
    common = math.lcm(*(Fraction(v).denominator for v in row))
    integers = [int(v * common) for v in row]
    divisor = math.gcd(*integers) or 1
    return [v // divisor for v in integers]


def _unbounded() -> StatementError:
    return StatementError(
        "the polytope is unbounded",
        code="unboundedness",
        do="add rows that bound every coordinate",
    )


def _too_many_rays(read: int, rows: int, rays: int) -> NotRepresentableError:
    """Return the error of a long enumeration; the rays grow about geometrically with the rows."""
    final = math.log(rays) * rows / max(read, 1)
    return NotRepresentableError(
        f"{rays} rays after {read} of {rows} rows; at this rate about 1e{final / math.log(10):.0f} "
        "rays at the end",
        code="rays",
        where="enumeration of extreme points",
        do="take fewer inputs or outputs, or a time limit, within which some of the points "
        "are listed",
    )
