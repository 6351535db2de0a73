"""Staircase patterns: the structure of the extreme points of pure local privacy (docs, "Extreme
points").

A collection of proper non-empty subsets of ``{0, .., n-1}``, here bit masks, is balanced if
positive weights give every point the same total, and minimal if no proper subcollection is balanced
(Bondareva 1963, Shapley 1967).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Int
from ldpopt.privacy.cones.double_description import solve_rows

LOW, HIGH, FREE = 0, 1, 2
Pattern = tuple[tuple[int, ...], ...]
"""Columns of levels, sorted: an extreme point up to the order of its columns."""

Exact = NDArray[np.object_]
MAX_POINTS = 8  # largest ground set; orbits are found by all permutations of its points
MAX_FAMILIES = 50_000_000  # largest number of families of sets to try: some minutes
_CHUNK = 200_000


@dataclass(frozen=True)
class Collection:
    """A minimal balanced collection, with the weights that balance it."""

    points: int  # size of the ground set
    sets: tuple[int, ...]  # bit masks
    weights: tuple[int, ...]  # positive integers without a common divisor
    total: int  # sum of the weights of the sets that contain a point; the same for every point


@lru_cache(maxsize=8)
def collection_orbits(points: int, most: int | None = None) -> tuple[Collection, ...]:
    """List the minimal balanced collections of at most ``most`` proper subsets, one for each orbit
    of permutations.

    Up to a permutation the smallest set is ``{0, .., s-1}``. All such families are solved in
    floats, in batches; those that seem balanced are checked in rationals. Six points have about 10
    million families.
    """
    most = points if most is None else min(most, points)
    _require_few_families(points, most)
    images = images_of(points)
    orbits: dict[tuple[int, ...], Collection | None] = {}
    for size in range(2, most + 1):
        for sets in _candidates(points, size):
            representative = canonical(sets, images)
            if orbits.get(representative) is None:
                orbits[representative] = balance(points, representative)
    return tuple(collection for collection in orbits.values() if collection is not None)


def _require_few_families(points: int, most: int) -> None:
    """Check that the enumeration ends within some minutes."""
    families = math.inf
    if points <= MAX_POINTS:
        # For each size s of the smallest set, the number of proper subsets with at least s points.
        counts = [
            sum(math.comb(points, size) for size in range(small, points))
            for small in range(1, points)
        ]
        families = sum(
            math.comb(count - 1, size - 1) for size in range(2, most + 1) for count in counts
        )
    if families > MAX_FAMILIES:
        number = "" if families == math.inf else f"{families:.3g} "
        problem = (
            f"the {number}families of up to {most} sets of {points} points are too many "
            "to enumerate"
        )
        raise StatementError(
            problem, code="families", do="take at most 6 inputs, or 8 with at most 3 outputs"
        )


@lru_cache(maxsize=4096)
def balance(points: int, sets: tuple[int, ...]) -> Collection | None:
    """Solve for the weights in rationals; None if the sets are dependent or not balanced."""
    solution = solve_rows(
        [[s >> point & 1 for s in sets] for point in range(points)], [[1]] * points
    )
    if solution is None or min(solution)[0] <= 0:
        return None
    weights = [weight for (weight,) in solution]
    total = math.lcm(*(weight.denominator for weight in weights))
    return Collection(points, sets, tuple(int(weight * total) for weight in weights), total)


def canonical(sets: tuple[int, ...], images: Int) -> tuple[int, ...]:
    """Return the least sorted image of a family of masks under all permutations of the points."""
    moved = np.sort(images[:, list(sets)], axis=1)
    return tuple(int(s) for s in moved[np.lexsort(moved.T[::-1])[0]])


@lru_cache(maxsize=8)
def images_of(points: int) -> Int:
    """Return the image of every mask under every permutation, shape (points!, 2**points)."""
    images = orders(points)
    masks = np.arange(1 << points)
    table = np.zeros((len(images), 1 << points), np.int64)
    for point in range(points):
        table |= (masks >> point & 1)[None, :] << images[:, point][:, None]
    return table


def _candidates(points: int, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the families of ``size`` sets, the smallest ``{0, .., s-1}``, that are balanced up to
    rounding.
    """
    masks = sorted(range(1, (1 << points) - 1), key=lambda mask: (mask.bit_count(), mask))
    bits = np.array([[mask >> point & 1 for mask in masks] for point in range(points)], float)
    for small in range(1, points):
        first = masks.index((1 << small) - 1)
        later = [position for position in range(len(masks)) if masks[position].bit_count() >= small]
        later = [position for position in later if position != first]
        families = combinations(later, size - 1)
        while True:
            flat = np.fromiter(
                (p for _, combo in zip(range(_CHUNK), families, strict=False) for p in combo),
                np.int64,
            )
            if not len(flat):
                break
            chosen = np.insert(flat.reshape(-1, size - 1), 0, first, axis=1)
            for row in _balanced(bits, chosen):
                yield tuple(masks[position] for position in row)


def _balanced(bits: NDArray[np.float64], chosen: Int) -> Int:
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
    kept: Int = chosen[(weights > 1e-6).all(axis=1) & (error < 1e-6)]
    return kept


@lru_cache(maxsize=32)
def patterns(n: int, m: int) -> tuple[tuple[Pattern, int], ...]:
    """Return one pattern of at most ``m`` columns for each orbit, and the number of its distinct
    row orders.
    """
    counts: dict[Pattern, int] = {((LOW,) * n,): 1}
    for free in range(n - 1):
        for collection in collection_orbits(n - free, min(m, n - free)):
            choices = _free_rows(collection) if free else []
            if free and not choices:
                continue
            for rows in combinations_with_replacement(choices, free):
                pattern = _canonical(_pattern(collection, rows), n)
                if pattern not in counts:
                    counts[pattern] = len(row_orders(pattern, n))
    return tuple(sorted(counts.items(), key=lambda item: (len(item[0]), item[0])))


def _free_rows(collection: Collection) -> list[tuple[int, ...]]:
    r"""Return the rows of levels whose one free entry ``j`` is strictly between a low and a high
    one: :math:`0 < c - \theta(B) < \theta_j`.

    Here :math:`\theta` are the weights, ``c`` is their total, and ``B`` the set of high entries.
    """
    u = len(collection.sets)
    rows = []
    for j in range(u):
        for levels in product((LOW, HIGH), repeat=u - 1):
            row = (*levels[:j], FREE, *levels[j:])
            high = sum(w for w, level in zip(collection.weights, row, strict=True) if level == HIGH)
            if collection.total - collection.weights[j] < high < collection.total:
                rows.append(row)
    return rows


def _pattern(collection: Collection, rows: Sequence[tuple[int, ...]]) -> Pattern:
    """Return the columns of levels: the collection's points first, the free rows after them."""
    points = range(collection.points)
    columns = enumerate(collection.sets)
    return tuple(
        (*(mask >> point & 1 for point in points), *(row[j] for row in rows)) for j, mask in columns
    )


@lru_cache(maxsize=16)
def orders(size: int) -> Int:
    """Return all permutations of ``0 .. size-1``, shape (size!, size)."""
    return np.array(list(permutations(range(size))))


def _images_of(pattern: Pattern, n: int) -> Int:
    """Return the columns as base-3 numbers, sorted, under every order of the rows; shape (n!,
    u).
    """
    codes = np.array(pattern)[:, orders(n)] @ 3 ** np.arange(n)[::-1]
    return np.sort(codes.T, axis=1)


def _canonical(pattern: Pattern, n: int) -> Pattern:
    codes = _images_of(pattern, n)
    return _decoded(codes[np.lexsort(codes.T[::-1])[0]], n)


@lru_cache(maxsize=64)
def row_orders(pattern: Pattern, n: int) -> tuple[Pattern, ...]:
    """Return the distinct patterns under permutations of the rows."""
    return tuple(_decoded(codes, n) for codes in np.unique(_images_of(pattern, n), axis=0))


def _decoded(codes: Int, n: int) -> Pattern:
    return tuple(
        tuple(int(code) // 3**digit % 3 for digit in range(n - 1, -1, -1)) for code in codes
    )


def entries_of(pattern: Pattern, alpha: Fraction) -> Exact:
    r"""Return the exact entries of a pattern's columns, shape (n, u).

    .. math:: p_{xj} = \frac{\theta_j + (\alpha - 1) h_{xj}}{\sum_i \theta_i + (\alpha - 1) c}

    with ``h`` from 0 (low) to :math:`\theta_j` (high); a free entry has what the high ones of its
    row leave of ``c``, so that every row of ``h`` has this sum.
    """
    levels = np.array(pattern).T
    n, u = levels.shape
    if u == 1:
        return np.full((n, 1), Fraction(1), dtype=object)
    # rows without a free entry are the points of the collection, which the columns' high levels are
    bound = [x for x in range(n) if FREE not in levels[x]]
    sets = tuple(
        sum(1 << point for point, x in enumerate(bound) if levels[x, j] == HIGH) for j in range(u)
    )
    collection = balance(len(bound), sets)
    assert collection is not None
    weights = collection.weights
    growth = alpha - 1
    unit = 1 / (sum(weights) + growth * collection.total)
    entries = np.empty((n, u), dtype=object)
    for x in range(n):
        high = sum(w for w, level in zip(weights, levels[x], strict=True) if level == HIGH)
        for j in range(u):
            raised = {LOW: 0, HIGH: weights[j], FREE: collection.total - high}[int(levels[x, j])]
            entries[x, j] = (weights[j] + growth * raised) * unit
    return entries
