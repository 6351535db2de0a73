r"""Minimal balanced collections: the combinatorics behind the extreme points of pure local privacy.

A collection of proper non-empty subsets of ``{0, .., n-1}`` is balanced if positive weights give every point the same
total. It is minimal if no proper subcollection is balanced. Then the indicators of the subsets are linearly
independent, and the weights are unique up to scale (Bondareva 1963, Shapley 1967). Subsets are bit masks here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError

MAX_POINTS = 8
"""Largest ground set; orbits are found by all permutations of its points."""

MAX_FAMILIES = 50_000_000
"""Largest number of families of sets to try: some minutes."""

_CHUNK = 200_000


@dataclass(frozen=True)
class Collection:
    """A minimal balanced collection, with the weights that balance it.

    Attributes
    ----------
    points : int
        Size of the ground set.
    sets : tuple of int
        Bit masks, ascending.
    weights : tuple of int
        Positive integers without a common divisor.
    total : int
        Sum of the weights of the sets that contain a point; the same for every point.
    """

    points: int
    sets: tuple[int, ...]
    weights: tuple[int, ...]
    total: int


@lru_cache(maxsize=8)
def collection_orbits(points: int, most: int | None = None) -> tuple[Collection, ...]:
    """List the minimal balanced collections of proper subsets, one for each orbit under permutations of the points.

    Notes
    -----
    Up to a permutation the smallest set is ``{0, .., s-1}``, and the other sets are at least as large. All such
    families of at most ``points`` sets are solved in floats, in batches. Those that seem balanced are checked in
    rationals. Six points have about 10 million families.

    Examples
    --------
    >>> [len(collection_orbits(n)) for n in (2, 3, 4)]
    [1, 3, 9]
    """
    most = points if most is None else min(most, points)
    _require_few_families(points, most)
    images = _images(points)
    found: dict[tuple[int, ...], Collection | None] = {}
    for size in range(2, most + 1):
        for sets in _candidates(points, size):
            representative = canonical(sets, images)
            if found.get(representative) is None:
                found[representative] = balance(points, representative)
    return tuple(collection for collection in found.values() if collection is not None)


def _require_few_families(points: int, most: int) -> None:
    """Refuse an enumeration that would take more than some minutes."""
    families = math.inf
    if points <= MAX_POINTS:
        families = sum(math.comb(count - 1, size - 1) for size in range(2, most + 1) for count in _counts(points))
    if families > MAX_FAMILIES:
        number = "" if families == math.inf else f"{families:.3g} "
        raise StatementError(
            f"the {number}families of up to {most} sets of {points} points are too many to enumerate",
            do="take at most 6 inputs, or 8 with at most 3 outputs",
        )


def balance(points: int, sets: tuple[int, ...]) -> Collection | None:
    """Solve for the weights in rationals; None if the sets are dependent or not balanced."""
    rows = [[Fraction(s >> point & 1) for s in sets] + [Fraction(1)] for point in range(points)]
    rank = 0
    for column in range(len(sets)):
        pivot = next((r for r in range(rank, points) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [value / rows[rank][column] for value in rows[rank]]
        for r in range(points):
            if r != rank and rows[r][column]:
                rows[r] = [a - rows[r][column] * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    weights = [rows[r][-1] for r in range(rank)]
    if any(row[-1] for row in rows[rank:]) or min(weights) <= 0:
        return None
    total = math.lcm(*(weight.denominator for weight in weights))
    return Collection(points, sets, tuple(int(weight * total) for weight in weights), total)


def canonical(sets: tuple[int, ...], images: NDArray[np.int64]) -> tuple[int, ...]:
    """Least sorted image of a family of masks under all permutations of the points."""
    moved = np.sort(images[:, list(sets)], axis=1)
    return tuple(int(s) for s in moved[np.lexsort(moved.T[::-1])[0]])


@lru_cache(maxsize=8)
def _images(points: int) -> NDArray[np.int64]:
    """Table of every permutation's image of every mask, shape (points!, 2**points)."""
    orders = np.array(list(permutations(range(points))))
    masks = np.arange(1 << points)
    table = np.zeros((len(orders), 1 << points), np.int64)
    for point in range(points):
        table |= (masks >> point & 1)[None, :] << orders[:, point][:, None]
    return table


def _counts(points: int) -> list[int]:
    """Number of proper subsets with at least ``s`` points, for each ``s``."""
    return [sum(math.comb(points, size) for size in range(small, points)) for small in range(1, points)]


def _candidates(points: int, size: int) -> Iterator[tuple[int, ...]]:
    """Families of ``size`` sets, the smallest ``{0, .., s-1}``, that are balanced up to rounding."""
    masks = sorted(range(1, (1 << points) - 1), key=lambda mask: (mask.bit_count(), mask))
    bits = np.array([[mask >> point & 1 for mask in masks] for point in range(points)], float)
    for small in range(1, points):
        first = masks.index((1 << small) - 1)
        later = [position for position in range(len(masks)) if masks[position].bit_count() >= small]
        later = [position for position in later if position != first]
        rest = combinations(later, size - 1)
        while True:
            flat = np.fromiter((p for _, combo in zip(range(_CHUNK), rest, strict=False) for p in combo), np.int64)
            if not len(flat):
                break
            chosen = np.insert(flat.reshape(-1, size - 1), 0, first, axis=1)
            for row in _balanced(bits, chosen):
                yield tuple(masks[position] for position in row)


def _balanced(bits: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep the families with positive least-squares weights that balance them, up to rounding."""
    chosen = chosen[(bits[:, chosen].sum(axis=2) > 0).all(axis=0)]
    system = np.moveaxis(bits[:, chosen], 1, 0)
    gram = np.einsum("bpi,bpj->bij", system, system)
    regular = np.abs(np.linalg.det(gram)) > 0.5  # an integer
    chosen, system, gram = chosen[regular], system[regular], gram[regular]
    if not len(chosen):
        return chosen
    weights = np.linalg.solve(gram, system.sum(axis=1)[:, :, None])[:, :, 0]
    error = np.abs(np.einsum("bpi,bi->bp", system, weights) - 1).max(axis=1)
    kept: NDArray[np.int64] = chosen[(weights > 1e-6).all(axis=1) & (error < 1e-6)]
    return kept
