"""All extreme rays of a cone of mutual ties, in logarithms: the vertices of an alcoved polytope.

With ``c = exp(u)`` the ties are ``u_x - u_z <= length(x, z)``. A column is an extreme ray where its tight ties connect
all answers. From such a vertex every edge of the polytope raises a set ``S`` of answers by the same amount, where
``S`` and the other answers stay connected by tight ties and no tight tie holds ``S`` back. Edges connect all vertices,
so that walking along them finds each: in integers, with whatever degeneracy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.privacy.cones.lengths import Int, Lengths

MOST = 100_000
"""Most extreme rays that are listed."""

SUBSETS = 16
"""Most answers whose sets are listed at each vertex."""

CELLS = 2**21
"""Numbers at a time."""


def vertices(ties: Lengths, *, most: int = MOST, deadline: Deadline = NO_LIMIT) -> Int:
    """List the extreme rays of a connected cone.

    Result: (k, n).

    Examples
    --------
    >>> from ldpopt.privacy.cones.lengths import lengths_of
    >>> from ldpopt.privacy.ties import Ties
    >>> vertices(lengths_of(Ties(1.0, 2))).tolist()
    [[0, 1], [1, 0]]
    """
    n = len(ties.paths)
    if len(ties.first) == 2 * (n - 1):
        return _of_tree(ties, most)
    if n > SUBSETS:
        raise _too_many(n, most)
    # As near to the first answer as its ties ask for: tight along the shortest chains.
    frontier = _lowered(ties.paths[None, :, 0])
    found = {frontier[0].tobytes()}
    while len(frontier):
        fresh: set[bytes] = set()
        size = max(1, CELLS >> n)
        for part in range(0, len(frontier), size):
            if deadline.is_over:
                what = f"the extreme rays of the cone of {n} answers were not listed within the time limit"
                raise NotRepresentableError(what, do="give a longer time_limit")
            moved = np.ascontiguousarray(_neighbors(ties, frontier[part : part + size]))
            fresh.update(set(moved.view(f"V{8 * n}").ravel().tolist()) - found)
            if len(found) + len(fresh) > most:
                raise _too_many(n, most)
        found |= fresh
        frontier = _read(fresh, n)
    return np.unique(_read(found, n), axis=0)


def _read(rows: set[bytes], n: int) -> Int:
    return np.frombuffer(b"".join(rows), np.int64).reshape(-1, n)


def _too_many(n: int, most: int) -> NotRepresentableError:
    return NotRepresentableError(
        f"the cone of columns of {n} answers has more than {most} extreme rays",
        do="join answers into at most 10, leave out ties or make distances equal, or use PureLDP",
    )


def _lowered(rows: Int) -> Int:
    """Below the largest entry of each row."""
    return np.asarray(rows.max(axis=1, keepdims=True) - rows)


def _of_tree(ties: Lengths, most: int) -> Int:
    """Ties without a cycle are all tight, each one way or the other."""
    n = len(ties.paths)
    if 2 ** (n - 1) > most:
        raise _too_many(n, most)
    rows = np.zeros((1, n), np.int64)
    done = {0}
    while len(done) < n:
        for x, z, size in zip(ties.first, ties.second, ties.length, strict=True):
            if x in done and z not in done:
                up, down = rows.copy(), rows.copy()
                up[:, z] += size + rows[:, x]
                down[:, z] += rows[:, x] - size
                rows = np.vstack([up, down])
                done.add(int(z))
    return np.unique(_lowered(rows), axis=0)


def _neighbors(ties: Lengths, below: Int) -> Int:
    """Vertices at the other ends of all edges from some vertices."""
    n = below.shape[1]
    spare = ties.length - (below[:, ties.second] - below[:, ties.first])
    tight = spare == 0
    simple = tight.sum(axis=1) == n - 1
    places, others = np.flatnonzero(simple), np.flatnonzero(~simple)
    at, sets = _edges_of_trees(ties, tight[places], n)
    further, more = _edges(ties, tight[others], n)
    at, sets = np.concatenate([places[at], others[further]]), np.concatenate([sets, more])
    inside = ((sets[:, None] >> np.arange(n)) & 1).astype(bool)
    # Raising a set stops at the first tie that leads out of it.
    leads_out = inside[:, ties.first] & ~inside[:, ties.second]
    length = np.where(leads_out, spare[at], np.iinfo(np.int64).max).min(axis=1)
    moved = below[at] - inside * length[:, None]
    return np.asarray(moved - moved.min(axis=1, keepdims=True))


def _edges_of_trees(ties: Lengths, tight: NDArray[np.bool_], n: int) -> tuple[Int, Int]:
    """Where the tight ties are a tree, each leads away along one edge: what hangs on its lower end is raised."""
    bits = np.int64(1) << np.arange(n)
    touching = _touching(ties, tight, n, bits)
    at, tie = np.nonzero(tight)
    above, sets = bits[ties.first[tie]], bits[ties.second[tie]]
    for _ in range(n):
        grown = sets.copy()
        for x in range(n):
            grown |= np.where(sets & bits[x], touching[at, x], 0)
        sets = grown & ~above
    return at, sets


def _touching(ties: Lengths, tight: NDArray[np.bool_], n: int, bits: Int) -> Int:
    """Answers tied tightly to each answer, as sets."""
    touching = np.zeros((len(tight), n), bits.dtype)
    for k, (x, z) in enumerate(zip(ties.first, ties.second, strict=True)):
        touching[:, x] |= np.where(tight[:, k], bits[z], 0)
        touching[:, z] |= np.where(tight[:, k], bits[x], 0)
    return touching


def _edges(ties: Lengths, tight: NDArray[np.bool_], n: int) -> tuple[Int, Int]:
    """Vertices and sets that may be raised, of which both sides are connected."""
    bits = np.int64(1) << np.arange(n)
    lower = np.zeros((len(tight), n), np.int64)
    for k, (x, z) in enumerate(zip(ties.first, ties.second, strict=True)):
        lower[:, x] |= np.where(tight[:, k], bits[z], 0)
    numbers = np.arange(2**n)
    held, reach = _joined(lower), _joined(_touching(ties, tight, n, bits))
    at, sets = np.nonzero((held & ~numbers) == 0)
    proper = (sets > 0) & (sets < 2**n - 1)
    at, sets = at[proper], sets[proper]
    for side in (0, 2**n - 1):
        both = _is_connected(reach, at, sets ^ side)
        at, sets = at[both], sets[both]
    return at, sets


def _joined(masks: Int) -> Int:
    """Union of the masks of every set of answers, by its number."""
    joined = np.zeros((len(masks), 1), np.int64)
    for mask in masks.T:
        joined = np.concatenate([joined, joined | mask[:, None]], axis=1)
    return joined


def _is_connected(reach: Int, at: Int, sets: Int) -> NDArray[np.bool_]:
    """Whether a set hangs together: what its lowest answer reaches inside it is all of it."""
    seen = sets & -sets
    while True:
        more = seen | (reach[at, seen] & sets)
        if np.array_equal(more, seen):
            return np.asarray(seen == sets)
        seen = more
