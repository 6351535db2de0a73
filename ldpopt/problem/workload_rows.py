"""Matrices and symmetries of the usual workloads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float

Permutation = NDArray[np.int64]

MOST_PARITIES = 2000
"""Sets that a design for marginals begins with, at most."""


def prefix_rows(n: int) -> Float:
    """Rows of the distribution function."""
    return np.tril(np.ones((n, n)))


def prefix_gram(n: int) -> Float:
    """Their Gram matrix: how many prefixes have both answers."""
    place = np.arange(n)
    return n - np.maximum.outer(place, place).astype(np.float64)


def range_gram(n: int) -> Float:
    """Gram matrix of all ranges: how many have both answers."""
    place = np.arange(n)
    return np.asarray((np.minimum.outer(place, place) + 1.0) * (n - np.maximum.outer(place, place)))


def range_rows(n: int) -> Float:
    """Rows of all ranges, by their first answer and then by their last."""
    low, high = np.triu_indices(n)
    place = np.arange(n)
    return ((place >= low[:, None]) & (place <= high[:, None])).astype(np.float64)


def marginal_rows(sizes: Sequence[int], cells: Sequence[dict[int, int]]) -> Float:
    """Rows of cells, given by the values of some attributes."""
    digits = np.indices(sizes).reshape(len(sizes), -1)
    return np.array(
        [np.all([digits[place] == value for place, value in cell.items()], axis=0) for cell in cells], np.float64
    )


def reversal(n: int) -> Permutation:
    """Answers in the opposite order."""
    return np.arange(n, dtype=np.int64)[::-1]


def parities(sizes: Sequence[int], k: int) -> Float:
    """Sets of combinations with an even number of values from chosen parts, of up to k attributes."""
    digits = np.indices(sizes).reshape(len(sizes), -1)
    found: list[NDArray[np.bool_]] = []
    for ways in range(1, k + 1):
        for chosen in itertools.combinations(range(len(sizes)), ways):
            halves = [itertools.combinations(range(sizes[place]), max(1, sizes[place] // 2)) for place in chosen]
            for parts in itertools.product(*halves):
                if len(found) == MOST_PARITIES:
                    return np.array(found, np.float64)
                inside = [np.isin(digits[place], part) for place, part in zip(chosen, parts, strict=True)]
                found.append(np.logical_xor.reduce(inside))
    return np.array(found, np.float64)


def product_symmetries(sizes: Sequence[int]) -> list[Permutation]:
    """Generators: swap two values of an attribute, swap two attributes of the same size."""
    cube = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    found = []
    for axis, size in enumerate(sizes):
        for low in range(size - 1):
            order = np.arange(size)
            order[[low, low + 1]] = low + 1, low
            found.append(np.take(cube, order, axis=axis).ravel())
        if axis + 1 < len(sizes) and sizes[axis + 1] == size:
            found.append(np.swapaxes(cube, axis, axis + 1).ravel())
    return found
