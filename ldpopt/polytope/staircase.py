"""Patterns of levels: the structure of an extreme point of pure privacy, column by column.

Entries are low, high or free; rows without a free entry form a minimal balanced collection (docs, "Extreme points").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
from numpy.typing import NDArray

from ldpopt.polytope.balanced import Collection, balance, collection_orbits

LOW, HIGH, FREE = 0, 1, 2
Pattern = tuple[tuple[int, ...], ...]
"""Columns of levels, sorted: an extreme point up to the order of its columns."""

Exact = NDArray[np.object_]


@lru_cache(maxsize=32)
def patterns(n: int, m: int) -> tuple[tuple[Pattern, int], ...]:
    """Representatives of all patterns with at most ``m`` columns, and the number of distinct row orders of each."""
    found: dict[Pattern, int] = {((LOW,) * n,): 1}
    for free in range(n - 1):
        for collection in collection_orbits(n - free, min(m, n - free)):
            choices = _free_rows(collection) if free else []
            if free and not choices:
                continue
            for rows in combinations_with_replacement(choices, free):
                pattern = _canonical(_pattern(collection, rows), n)
                if pattern not in found:
                    found[pattern] = sum(1 for _ in row_images(pattern, n))
    return tuple(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def _free_rows(collection: Collection) -> list[tuple[int, ...]]:
    r"""Rows of levels with one free entry that fits strictly: :math:`c - \theta_j < \theta(B) < c`."""
    u, rows = len(collection.sets), []
    for j in range(u):
        for levels in product((LOW, HIGH), repeat=u - 1):
            row = (*levels[:j], FREE, *levels[j:])
            high = sum(w for w, level in zip(collection.weights, row, strict=True) if level == HIGH)
            if collection.total - collection.weights[j] < high < collection.total:
                rows.append(row)
    return rows


def _pattern(collection: Collection, rows: Sequence[tuple[int, ...]]) -> Pattern:
    """Columns of levels: the collection's points first, the free rows after them."""
    columns = []
    for j, mask in enumerate(collection.sets):
        bound = tuple(mask >> point & 1 for point in range(collection.points))
        columns.append(bound + tuple(row[j] for row in rows))
    return tuple(columns)


@lru_cache(maxsize=16)
def orders(size: int) -> NDArray[np.int64]:
    """All permutations of ``0 .. size-1``, shape (size!, size)."""
    return np.array(list(permutations(range(size))))


def _images_of(pattern: Pattern, n: int) -> NDArray[np.int64]:
    """Columns as base-3 numbers, sorted, under every order of the rows; shape (n!, u)."""
    powers = 3 ** np.arange(n)[::-1]
    codes = np.array(pattern)[:, orders(n)] @ powers
    return np.sort(codes.T, axis=1)


def _canonical(pattern: Pattern, n: int) -> Pattern:
    codes = _images_of(pattern, n)
    return _decoded(codes[np.lexsort(codes.T[::-1])[0]], n)


def row_images(pattern: Pattern, n: int) -> Iterator[Pattern]:
    """Distinct patterns under permutations of the rows."""
    for codes in np.unique(_images_of(pattern, n), axis=0):
        yield _decoded(codes, n)


def _decoded(codes: NDArray[np.int64], n: int) -> Pattern:
    return tuple(tuple(int(code) // 3**place % 3 for place in range(n - 1, -1, -1)) for code in codes)


@lru_cache(maxsize=4096)
def _balanced_collection(sets: tuple[int, ...], points: int) -> Collection:
    order = sorted(range(len(sets)), key=lambda j: sets[j])
    collection = balance(points, tuple(sets[j] for j in order))
    assert collection is not None
    weights = [0] * len(sets)
    for rank, j in enumerate(order):
        weights[j] = collection.weights[rank]
    return Collection(points, sets, tuple(weights), collection.total)


def entries_of(pattern: Pattern, alpha: Fraction) -> Exact:
    """Exact entries of a pattern's columns, shape (n, u)."""
    levels = np.array(pattern).T
    n, u = levels.shape
    if u == 1:
        return np.full((n, 1), Fraction(1), dtype=object)
    bound = [x for x in range(n) if FREE not in levels[x]]
    sets = tuple(sum(1 << point for point, x in enumerate(bound) if levels[x, j] == HIGH) for j in range(u))
    collection = _balanced_collection(sets, len(bound))
    weights, growth = collection.weights, alpha - 1
    unit = 1 / (sum(weights) + growth * collection.total)
    entries = np.empty((n, u), dtype=object)
    for x in range(n):
        high = sum(w for w, level in zip(weights, levels[x], strict=True) if level == HIGH)
        for j in range(u):
            raised = {LOW: 0, HIGH: weights[j], FREE: collection.total - high}[int(levels[x, j])]
            entries[x, j] = (weights[j] + growth * raised) * unit
    return entries
