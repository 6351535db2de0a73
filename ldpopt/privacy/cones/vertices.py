"""All extreme rays of a cone of mutual ties, in logarithms: the vertices of an alcoved polytope.

A ray is known by the numbers ``below[x] = max(u) - u_x``, integers from 0 on with at least one 0:
its column is ``exp(-epsilon unit below)``. A vertex is a point whose tight ties connect all
answers. The list is found by walking from vertex to vertex along edges until no new one appears,
which reaches all of them because the graph of a bounded polytope is connected; ties without a cycle
need no walk. Everything is compared in integers, so that no ray is missed by rounding.

With ``c = exp(u)`` the ties are ``u_x - u_z <= length(x, z)``. Every edge from a vertex raises a
set ``S`` of answers; tight ties connect ``S``, connect its complement, and none leads out of ``S``.
Lengths are integers over one unit, never shorter than the distances of the notion: more columns are
allowed, so a bound for them holds for the notion too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Int
from ldpopt.privacy.ties import Ties

BITS = 52  # bits of the longest length
SAME = 38  # lengths are equal if they agree in so many leading bits
FAR = np.int64(2**61)  # length between answers that no chain of ties connects
MAX_RAYS = 100_000  # largest number of extreme rays that are listed
MAX_ANSWERS = 16  # largest number of answers of which all sets are listed at each vertex
CELLS = 2**21  # number of array entries that are computed at once


def vertices(ties: TieLengths, *, most: int = MAX_RAYS, deadline: Deadline = NO_LIMIT) -> Int:
    """List the extreme rays of a connected cone, shape (k, n).

    The result has one row for each ray, sorted, each once: the numbers ``below``. More than
    ``most`` rays, more answers than `MAX_ANSWERS` (unless ties have no cycle) and a deadline that
    is over are errors: a part of the list would prove a bound for a smaller cone.
    """
    n = len(ties.paths)
    if len(ties.first) == 2 * (n - 1):
        return _of_tree(ties, most)
    if n > MAX_ANSWERS:
        raise _too_many(n, most)
    # The first vertex: the ties along the shortest chains from the first answer are tight.
    frontier = _lowered(ties.paths[None, :, 0])
    known = {frontier[0].tobytes()}
    while len(frontier):
        fresh: set[bytes] = set()
        size = max(1, CELLS >> n)
        for part in range(0, len(frontier), size):
            if deadline.is_over:
                problem = (
                    f"the extreme rays of the cone of {n} answers were not listed within "
                    "the time limit"
                )
                raise NotRepresentableError(problem, do="give a longer time_limit")
            moved = np.ascontiguousarray(_neighbors(ties, frontier[part : part + size]))
            fresh.update(set(moved.view(f"V{8 * n}").ravel().tolist()) - known)
            if len(known) + len(fresh) > most:
                raise _too_many(n, most)
        known |= fresh
        frontier = _read(fresh, n)
    return np.unique(_read(known, n), axis=0)


def _read(rows: set[bytes], n: int) -> Int:
    """Rows of integers from their bytes, which a set holds and compares fast."""
    return np.frombuffer(b"".join(rows), np.int64).reshape(-1, n)


def _too_many(n: int, most: int) -> NotRepresentableError:
    """Error for a cone with more extreme rays than are listed."""
    return NotRepresentableError(
        f"the cone of columns of {n} answers has more than {most} extreme rays",
        do="merge answers into at most 10, leave out ties or make distances equal, or use PureLDP",
    )


def _lowered(rows: Int) -> Int:
    """Differences to the largest entry of each row."""
    return np.asarray(rows.max(axis=1, keepdims=True) - rows)


def _of_tree(ties: TieLengths, most: int) -> Int:
    """Vertices of ties without a cycle: each tie is tight in one of its two directions.

    Each new tie doubles the vertices: its farther end lies above or below the nearer one, by the
    length of the tie.
    """
    n = len(ties.paths)
    if 2 ** (n - 1) > most:
        raise _too_many(n, most)
    rows = np.zeros((1, n), np.int64)
    done = {0}
    while len(done) < n:
        for x, z, size in zip(ties.first, ties.second, ties.length, strict=True):
            if x in done and z not in done:
                up = rows.copy()
                down = rows.copy()
                up[:, z] += size + rows[:, x]
                down[:, z] += rows[:, x] - size
                rows = np.vstack([up, down])
                done.add(int(z))
    return np.unique(_lowered(rows), axis=0)


def _neighbors(ties: TieLengths, below: Int) -> Int:
    """The other ends of all edges from some vertices.

    At a vertex whose tight ties are a tree, each of them belongs to one edge; at any other, more
    ties than that are tight, and all sets of answers are tried. Raising a set by the smallest spare
    length of the ties that lead out of it ends at the next vertex.
    """
    n = below.shape[1]
    spare = ties.length - (below[:, ties.second] - below[:, ties.first])
    tight = spare == 0
    is_tree = tight.sum(axis=1) == n - 1
    trees = np.flatnonzero(is_tree)
    others = np.flatnonzero(~is_tree)
    at, sets = _edges_of_trees(ties, tight[trees], n)
    further, more = _edges(ties, tight[others], n)
    at, sets = np.concatenate([trees[at], others[further]]), np.concatenate([sets, more])
    inside = ((sets[:, None] >> np.arange(n)) & 1).astype(bool)
    # A set is raised until the first tie that leads out of it is tight.
    length = np.where(
        inside[:, ties.first] & ~inside[:, ties.second], spare[at], np.iinfo(np.int64).max
    ).min(axis=1)
    moved = below[at] - inside * length[:, None]
    return np.asarray(moved - moved.min(axis=1, keepdims=True))


def _edges_of_trees(ties: TieLengths, tight: NDArray[np.bool_], n: int) -> tuple[Int, Int]:
    """Edges from vertices whose tight ties are a tree: for each tie, the subtree at its lower end
    is raised.

    The subtree grows from its lower end over tight ties, never through the upper end; ``n`` rounds
    reach every answer.
    """
    bits = np.int64(1) << np.arange(n)
    touching = _touching(ties, tight, n, bits)
    at, tie = np.nonzero(tight)
    above = bits[ties.first[tie]]
    sets = bits[ties.second[tie]]
    for _ in range(n):
        grown = sets.copy()
        for x in range(n):
            grown |= np.where(sets & bits[x], touching[at, x], 0)
        sets = grown & ~above
    return at, sets


def _touching(ties: TieLengths, tight: NDArray[np.bool_], n: int, bits: Int) -> Int:
    """Answers with a tight tie to each answer, as bit sets."""
    touching = np.zeros((len(tight), n), bits.dtype)
    for k, (x, z) in enumerate(zip(ties.first, ties.second, strict=True)):
        touching[:, x] |= np.where(tight[:, k], bits[z], 0)
        touching[:, z] |= np.where(tight[:, k], bits[x], 0)
    return touching


def _edges(ties: TieLengths, tight: NDArray[np.bool_], n: int) -> tuple[Int, Int]:
    """Vertices, and sets that may be raised: tight ties connect the set and its complement.

    Three conditions on a set, as the docstring of this file has them: no tight tie leads out of it,
    tight ties connect it, and they connect its complement. Without the last two the direction would
    be a sum of two others, and no edge.
    """
    bits = np.int64(1) << np.arange(n)
    lower = np.zeros((len(tight), n), np.int64)
    for k, (x, z) in enumerate(zip(ties.first, ties.second, strict=True)):
        lower[:, x] |= np.where(tight[:, k], bits[z], 0)
    numbers = np.arange(2**n)
    held = _joined(lower)
    reach = _joined(_touching(ties, tight, n, bits))
    at, sets = np.nonzero((held & ~numbers) == 0)
    proper = (sets > 0) & (sets < 2**n - 1)
    at, sets = at[proper], sets[proper]
    for side in (0, 2**n - 1):
        both = _is_connected(reach, at, sets ^ side)
        at, sets = at[both], sets[both]
    return at, sets


def _joined(masks: Int) -> Int:
    """Union of the masks of the answers in each set, by the number of the set.

    Set number ``s`` has the answers of the bits of ``s``; one mask after another doubles the table,
    so that all ``2**n`` unions take as many operations.
    """
    joined = np.zeros((len(masks), 1), np.int64)
    for mask in masks.T:
        joined = np.concatenate([joined, joined | mask[:, None]], axis=1)
    return joined


def _is_connected(reach: Int, at: Int, sets: Int) -> NDArray[np.bool_]:
    """Whether the lowest answer of each set reaches all of the set inside it."""
    seen = sets & -sets
    while True:
        more = seen | (reach[at, seen] & sets)
        if np.array_equal(more, seen):
            return np.asarray(seen == sets)
        seen = more


@dataclass(frozen=True, eq=False)
class TieLengths:
    """Mutual ties that no chain of other ties implies.

    ``first`` and ``second`` have every tie in both directions. A length is an integer number of
    units and never shorter than the distance; of two answers without a chain of ties between them
    the path has the length `FAR`. Answers of different parts have separate cones, whose rays are 0
    in the other parts.
    """

    # first, second: pairs of answers, in both orders, shape (t,)
    first: Int
    second: Int
    length: Int  # length of each, positive, shape (t,)
    unit: Fraction  # distance of length 1
    # lengths of the shortest chains; ``FAR`` between answers of different parts; shape (n, n)
    paths: Int

    @property
    def parts(self) -> list[Int]:
        """Answers that are connected by ties, part by part."""
        _, part = np.unique(self.paths < FAR, axis=0, return_inverse=True)
        return [np.flatnonzero(part.ravel() == k) for k in range(part.max() + 1)]

    def within(self, part: Int) -> TieLengths:
        """The ties of one part, whose answers are renumbered."""
        place = np.full(len(self.paths), -1)
        place[part] = np.arange(len(part))
        kept = place[self.first] >= 0  # then the second answer is in the part, too
        return TieLengths(
            place[self.first[kept]],
            place[self.second[kept]],
            self.length[kept],
            self.unit,
            self.paths[np.ix_(part, part)],
        )


def lengths_of(ties: Ties) -> TieLengths:
    """Lengths of mutual ties.

    Ties that others imply are left out, and a common factor of all lengths goes into the unit.
    """
    first, second = ties.pairs()
    distance = np.ones(len(first)) if ties.distance is None else ties.distance
    once = first < second
    first, second = first[once].astype(np.int64), second[once].astype(np.int64)
    length, unit = _whole(distance[once])
    kept, paths = _needed(ties.n, first, second, length)
    first, second, length = first[kept], second[kept], length[kept]
    step = int(np.gcd.reduce(length)) if len(length) else 1
    return TieLengths(
        np.concatenate([first, second]),
        np.concatenate([second, first]),
        np.tile(length // step, 2),
        unit * step,
        np.where(paths < FAR, paths // step, FAR),
    )


def _whole(distance: NDArray[np.float64]) -> tuple[Int, Fraction]:
    """Distances rounded up to integers, nearly equal ones to the largest of them, and the unit.

    Both allow more columns, so that a bound stays a bound. Distances are nearly equal if they agree
    in 38 of their 52 bits.
    """
    if not len(distance):
        return np.empty(0, np.int64), Fraction(1)
    exponent = int(np.frexp(distance.max())[1]) - BITS
    units = np.maximum(np.ceil(np.ldexp(distance, -exponent)), 1.0).astype(np.int64)
    sizes = np.unique(units)
    group = np.zeros(len(sizes), np.int64)
    start = 0
    for k in range(1, len(sizes)):
        if sizes[k] - sizes[start] > sizes[start] >> SAME:
            start = k
        group[k] = start
    return np.array([sizes[group == g].max() for g in group])[
        np.searchsorted(sizes, units)
    ], Fraction(2) ** exponent


def _needed(n: int, first: Int, second: Int, length: Int) -> tuple[Int, Int]:
    """Positions of the ties that no chain of shorter ones implies, and the shortest chains.

    Ties are taken from the shortest on, so that a chain that implies one consists of ties already
    taken; nearly equal lengths count as implied.
    """
    paths = np.full((n, n), FAR)
    np.fill_diagonal(paths, 0)
    kept = []
    for k in np.argsort(length, kind="stable"):
        x = first[k]
        z = second[k]
        size = length[k]
        if paths[x, z] > size + (size >> SAME):
            kept.append(k)
            through = np.minimum(
                paths[:, x, None] + size + paths[None, z], paths[:, z, None] + size + paths[None, x]
            )
            paths = np.minimum(paths, np.minimum(through, FAR))
    return np.array(kept, np.int64), paths
