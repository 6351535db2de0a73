r"""The cone of one output's columns: ``p[x] >= exp(-loss) p[x']`` for every tied pair, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads
from ldpopt.privacy import Ties

if TYPE_CHECKING:
    from ldpopt.solving.methods.rays.tree_loops import Lengths

TABLE_SHARE = 0.1
"""Share of all pairs that are tied from which losses are kept in a table: rows of it are read faster than lists."""

MAX_IMPLIED = 1e-3
"""Share of all pairs up to which pairs that are not tied are added with their shortest chains."""

BLOCK = 1 << 16
"""Entries of kernel columns that are computed between two looks at the clock."""

CHECKED = 100
"""Number of inputs for which a table of losses is checked to fulfil the triangle inequality."""


@dataclass(frozen=True, eq=False)
class Cone:
    """Tied pairs with their privacy loss.

    Attributes
    ----------
    n : int
        Number of inputs.
    first, second : int arrays
        Ordered pairs, sorted; each stands with its reverse.
    loss : float array
        ``epsilon d`` of each pair, in nats.
    is_of_metric : bool
        Whether the definition ties all pairs, so that those left out are implied; a graph has no further ties.
    """

    n: int
    first: Int
    second: Int
    loss: Float
    is_of_metric: bool = False

    @classmethod
    def of(cls, ties: Ties) -> Cone:
        """Read the pairs of ties that are mutual."""
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        loss, is_graph = float(ties.budget) * distance, bool((distance == 1).all())
        keys = first * ties.n + second
        if (keys[1:] >= keys[:-1]).all():
            return cls(ties.n, first, second, loss, not is_graph)
        order = np.argsort(keys, kind="stable")
        return cls(ties.n, first[order], second[order], loss[order], not is_graph)

    @cached_property
    def lengths(self) -> Lengths:
        """The losses as compiled loops read them."""
        from ldpopt.solving.methods.rays.tree_loops import Lengths

        table = self._table
        start, neighbor, loss = self._start, self.second.astype(np.int32), self.loss
        if len(table):
            start, neighbor, loss = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
        return Lengths(start, neighbor, loss, table, table.astype(np.float32), np.arange(self.n), self.is_metric)

    @cached_property
    def _table(self) -> Float:
        """Losses of all pairs, infinite where there is no tie; without rows where few pairs are tied."""
        if len(self.first) < TABLE_SHARE * self.n**2:
            return np.empty((0, 0))
        table = np.full((self.n, self.n), np.inf)
        table[self.first, self.second] = self.loss
        missing = np.argwhere(np.isinf(table) & ~np.eye(self.n, dtype=bool))
        if self.is_of_metric and len(missing) <= MAX_IMPLIED * self.n**2:
            for x, k in missing:  # implied by chains, so that certificates may use them too
                table[x, k] = (table[x] + table[k]).min()
        return table

    @cached_property
    def _start(self) -> Int:
        """Where the pairs of each first input start, and where the last ones end."""
        return np.searchsorted(self.first, np.arange(self.n + 1))

    def losses(self, first: Int, second: Int) -> Float:
        """Losses of some of the pairs; with a table, of any that it has."""
        if len(self._table):
            return np.asarray(self._table[first, second])
        at = np.searchsorted(self.first * self.n + self.second, first * self.n + second)
        return np.asarray(self.loss[at])

    def kernels(self, roots: Int, deadline: Deadline = NO_LIMIT) -> tuple[float, NDArray[Any]]:
        """Trees of tight pairs of the kernel columns ``exp(-loss from the root)``.

        Shapes: ``roots`` (m,).
        """
        if self.has_shortest_ties:
            return self._from_table(roots, deadline)
        graph = csr_array((self.loss, (self.first, self.second)), shape=(self.n, self.n))
        parents = self.no_parents(len(roots))
        depth, size = 0.0, max(1, BLOCK // self.n)
        for begin in range(0, len(roots), size):
            deadline.check("looking for shortest chains of ties")
            part = slice(begin, begin + size)
            distance, parent = dijkstra(graph, indices=roots[part], return_predecessors=True)
            depth = max(depth, float(distance.max()))
            parents[part] = np.where(parent < 0, np.arange(self.n), parent)
        return depth, parents

    def no_parents(self, count: int) -> NDArray[Any]:
        """Room for the parents of some trees, in as few bytes as the inputs' numbers need."""
        return np.empty((count, self.n), np.int16 if self.n < 1 << 15 else np.int32)

    @cached_property
    def has_shortest_ties(self) -> bool:
        """Whether there is a table whose ties are shortest chains, as in a metric: checked for `CHECKED` inputs.

        Where it is wrong about other inputs, their kernels lie outside of the cone, which repair mends at a cost.
        """
        from ldpopt.solving.methods.rays.kernel_loops import is_shortest, kernel_tree

        table = self._table
        if not len(table):
            return False

        def work(root: int) -> bool:
            parent, reached = self.no_parents(1)[0], np.empty(self.n)
            kernel_tree(root, table, parent, reached)
            return bool(is_shortest(reached, table))

        return all(in_threads(work, np.random.default_rng(0).permutation(self.n)[:CHECKED].tolist()))

    @cached_property
    def is_metric(self) -> bool:
        """Whether all pairs are tied, and each tie is a shortest chain."""
        table = self._table
        return len(table) > 0 and int(np.isinf(table).sum()) == self.n and self.has_shortest_ties

    def _from_table(self, roots: Int, deadline: Deadline) -> tuple[float, NDArray[Any]]:
        """Kernel trees where the ties of a root are shortest chains."""
        from ldpopt.solving.methods.rays.kernel_loops import kernel_tree

        parents, reached = self.no_parents(len(roots)), np.empty(self.n)
        depth = 0.0
        for root, parent in zip(roots.tolist(), parents, strict=True):
            deadline.check("looking for shortest chains of ties")
            depth = max(depth, kernel_tree(root, self._table, parent, reached))
        return depth, parents
