"""Levels of a graph: an order of its vertices in which every output's matrix is block tridiagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int

SWEEPS = 8
"""Largest number of searches for a vertex at the end of a component."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Vertices in levels: ties join vertices of one level, or of two that follow each other.

    Attributes
    ----------
    order : int array, shape (n,)
        Vertices, level by level.
    start : int array, shape (levels + 1,)
        Where each level begins in this order.
    pair_edge : int array, shape (pairs,)
        The undirected edge of each ordered pair.
    low, high : int arrays, shape (edges,)
        Ends of the undirected edges as positions in the order, ``low < high``; sorted by `high`'s level, edges inside
        of a level before those from the level before.
    inner, cross : int arrays, shape (levels + 1,)
        The edges inside of level ``i`` are those from ``inner[i]`` to ``cross[i]``; those from the level before it
        follow, up to ``inner[i + 1]``.
    """

    order: Int
    start: Int
    pair_edge: Int
    low: Int
    high: Int
    inner: Int
    cross: Int

    @classmethod
    def of(cls, n: int, first: Int, second: Int) -> Levels:
        """Search breadth first, in every component from a vertex at its end.

        Notes
        -----
        The vertex at the end is found by repeated searches, each from the last level's vertex with the fewest ties
        (George and Liu 1979). Complexity: as many operations as pairs, times ``log``.

        Examples
        --------
        >>> star = Levels.of(4, np.array([0, 1, 0, 2, 0, 3]), np.array([1, 0, 2, 0, 3, 0]))
        >>> star.order.tolist(), star.sizes.tolist()
        ([1, 0, 2, 3], [1, 1, 2])
        """
        graph = csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
        level = _levels(graph)
        order = np.lexsort((np.arange(n), level))
        position = np.argsort(order)
        start = np.searchsorted(level[order], np.arange(int(level.max()) + 2))
        ends = np.sort(np.stack([position[first], position[second]]), axis=0)
        edge, pair_edge = np.unique(ends[0] * n + ends[1], return_inverse=True)
        low, high = np.divmod(edge, n)
        above = level[order][high]
        kind = 2 * above + (level[order][low] < above)
        sorted_edges = np.lexsort((low, high, kind))
        place = np.searchsorted(kind[sorted_edges], np.arange(2 * (len(start) - 1) + 1))
        return cls(
            order,
            start,
            np.argsort(sorted_edges)[pair_edge],
            low[sorted_edges],
            high[sorted_edges],
            place[::2].copy(),
            np.append(place[1::2], place[-1]),
        )

    @property
    def sizes(self) -> Int:
        """Vertices of each level."""
        return np.diff(self.start)

    @property
    def numbers(self) -> int:
        """Floats of one output's pivot blocks."""
        return int((self.sizes**2).sum())

    @property
    def sum_numbers(self) -> int:
        """Floats of a sum of inverses: the lower half of a matrix, level by level."""
        return int(((len(self.order) - self.start[:-1]) * self.sizes).sum())

    def unpacked(self, lower: Float, upper: Float) -> Float:
        """Matrix in the levels' order, from its lower part and the transpose of its upper one.

        Both are stored level by level: an array of the level's columns, whose rows begin with that level.
        """
        n = len(self.order)
        whole, begin = np.zeros((n, n)), 0
        for left, right in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True):
            end = begin + (n - left) * (right - left)
            whole[left:right, left:] = upper[begin:end].reshape(n - left, right - left).T
            whole[left:, left:right] = lower[begin:end].reshape(n - left, right - left)
            begin = end
        return whole


def _levels(graph: csr_array) -> Int:
    """Level of every vertex; the components follow each other."""
    n = graph.shape[0]
    count, component = connected_components(graph, directed=False)
    degree = np.diff(graph.indptr)
    level, first_level = np.zeros(n, np.int64), 0
    for one in range(count):
        members = np.flatnonzero(component == one)
        found = _search(graph, int(members[degree[members].argmin()]), members)
        for _ in range(SWEEPS):
            last = members[found == found.max()]
            tried = _search(graph, int(last[degree[last].argmin()]), members)
            if _width(tried) >= _width(found):
                break
            found = tried
        level[members] = first_level + found
        first_level += int(found.max()) + 1
    return level


def _search(graph: csr_array, root: int, members: Int) -> Int:
    """Distance in ties of a component's vertices from its root."""
    order, parent = breadth_first_order(graph, root, directed=False)
    depth = np.zeros(graph.shape[0], np.int64)
    for vertex in order[1:].tolist():
        depth[vertex] = depth[parent[vertex]] + 1
    return np.asarray(depth[members])


def _width(level: Int) -> float:
    """Work of a step with these levels, apart from a factor: squares of their sizes, and few levels are worse."""
    return float((np.bincount(level).astype(float) ** 2).sum())
