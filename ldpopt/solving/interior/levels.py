"""Levels of a graph, an order of its vertices in which every output's matrix is block tridiagonal;
and its factors.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import in_threads, over_rows, parts_of
from ldpopt.native import factor, matrix_product, solve_levels

SWEEPS = 8  # largest number of searches for a vertex far from all others


@dataclass(frozen=True, eq=False)
class VertexLevels:
    """Vertices in levels: an edge joins vertices of the same level or of two consecutive levels.

    Edges are sorted by the level of their higher end; edges inside level ``i`` are ``inner[i]`` to
    ``cross[i]``, those from level ``i - 1`` to ``i`` are ``cross[i]`` to ``inner[i + 1]``.
    """

    order: Int  # (n,): vertices, level by level
    start: Int  # (levels + 1,): where each level begins in this order
    pair_edge: Int  # (pairs,): the undirected edge of each ordered pair
    low: Int  # (edges,): ends of the edges, as positions in the order, low < high
    high: Int
    inner: Int  # (levels + 1,)
    cross: Int  # (levels + 1,)

    @classmethod
    def of(cls, n: int, first: Int, second: Int) -> "VertexLevels":
        """Breadth-first levels, in each component from a vertex far from all others (George and Liu
        1979).
        """
        level = _levels(csr_array((np.ones(len(first)), (first, second)), shape=(n, n)))
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
    def shape(self) -> tuple[Int, ...]:
        """The arrays that loops in C need."""
        return (self.start, self.low, self.high, self.inner, self.cross)

    @cached_property
    def sizes(self) -> Int:
        """Number of vertices of each level."""
        return np.diff(self.start)

    @cached_property
    def numbers(self) -> int:
        """Number of floats of one output's pivot blocks."""
        return int((self.sizes**2).sum())

    @cached_property
    def sum_numbers(self) -> int:
        """Number of floats of a sum of inverses: the lower half of a matrix, level by level."""
        return int(((len(self.order) - self.start[:-1]) * self.sizes).sum())

    def unpacked(self, lower: Float, upper: Float) -> Float:
        """A matrix in the order of the levels, from its lower part and the transpose of its upper
        part.
        """
        # Both are stored level by level: the columns of the level, whose rows begin with that
        # level.
        n = len(self.order)
        matrix = np.zeros((n, n))
        begin = 0
        for left, right in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True):
            end = begin + (n - left) * (right - left)
            matrix[left:right, left:] = upper[begin:end].reshape(n - left, right - left).T
            matrix[left:, left:right] = lower[begin:end].reshape(n - left, right - left)
            begin = end
        return matrix


@dataclass(frozen=True, eq=False)
class LevelFactors:
    """Block tridiagonal factors of one matrix per output, and the sum of their inverses, which
    couples the outputs.
    """

    levels: VertexLevels
    off: Float  # (m, edges): minus the entries off the diagonals
    blocks: Float  # (m, numbers): eliminated pivot blocks
    # (n, n): the sum of the inverses G; with weights w also the sums of G w and w G w
    sums: tuple[Float, ...]

    @classmethod
    def of(
        cls,
        levels: VertexLevels,
        scale: Float,
        excess: Float,
        off: Float,
        weights: Float | None,
        workspace: Float,
    ) -> "LevelFactors":
        """Factor the matrices with these entries off the diagonal whose products with ``scale`` are
        ``excess / scale``.

        ``scale``, ``excess`` and ``weights`` have the shape (m, n), ``off`` (m, edges);
        ``workspace``, (m, numbers), is memory for the factors. With ``s`` the size of a level this
        takes ``n s**2`` operations per output, and ``n**2 s`` for its inverse.
        """
        m, n = scale.shape
        parts = parts_of(m, float(n) ** 2 * float(levels.sizes.max()))
        totals = np.zeros((len(parts), 1 if weights is None else 4, levels.sum_numbers))
        gain = scale if weights is None else weights  # read for four sums only

        def work(part: slice, total: Float) -> None:
            arrays = scale[part], excess[part], off[part], workspace[part], gain[part]
            factor(matrix_product(), *levels.shape, *arrays, total)

        in_threads(lambda one: work(*one), list(zip(parts, totals, strict=True)))
        total = totals.sum(axis=0)  # in the order of the parts, so the same on any number of cores
        plain = levels.unpacked(total[0], total[0])
        rest = (
            (levels.unpacked(total[1], total[2]), levels.unpacked(total[3], total[3]))
            if len(total) > 1
            else ()
        )
        return cls(levels, off, workspace, (plain, *rest))

    def solve(self, right: Float) -> Float:
        """Solve every output's system; right-hand sides and solutions have the shape (m, n)."""
        solution = np.empty(right.shape)
        arrays = self.off, self.blocks, np.array(right, order="C"), solution
        over_rows(solve_levels, self.levels.shape, arrays, 2.0 * self.levels.numbers)
        return solution


def _levels(graph: csr_array) -> Int:
    """Level of every vertex; the levels of one component follow those of another."""
    n = graph.shape[0]
    count, component = connected_components(graph, directed=False)
    degree = np.diff(graph.indptr)
    level = np.zeros(n, np.int64)
    first_level = 0
    for part in range(count):
        members = np.flatnonzero(component == part)
        layers = _search(graph, int(members[degree[members].argmin()]), members)
        for _ in range(SWEEPS):
            last = members[layers == layers.max()]
            tried = _search(graph, int(last[degree[last].argmin()]), members)
            if _width(tried) >= _width(layers):
                break
            layers = tried
        level[members] = first_level + layers
        first_level += int(layers.max()) + 1
    return level


def _search(graph: csr_array, root: int, members: Int) -> Int:
    """Distance of a component's vertices from a root, in edges."""
    return np.asarray(
        dijkstra(graph, directed=False, indices=[root], unweighted=True)[0, members], np.int64
    )


def _width(level: Int) -> float:
    """Work of a step with these levels, up to a factor: the sum of the squares of their sizes."""
    return float((np.bincount(level).astype(float) ** 2).sum())
