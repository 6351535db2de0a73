r"""The cone of private columns: ``p[x] >= exp(-loss) p[x']`` for every tied pair in both
directions; its kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import in_threads
from ldpopt.native import Lengths, in_units, is_shortest, kernel_tree
from ldpopt.privacy import Ties

# Share of all pairs that are tied from which losses are stored in a table, which is faster to read
# than lists
TABLE_SHARE = 0.1
BLOCK = 1 << 16  # entries of kernel columns that are computed between two checks of the deadline
CHECKED = 100  # number of inputs for which the triangle inequality of a table is checked


@dataclass(frozen=True, eq=False)
class Cone:
    """Tied pairs with their privacy losses."""

    n: int  # number of inputs
    first: Int  # ordered pairs, sorted; each with its reverse; none if there is a table
    second: Int
    loss: Float  # epsilon d of each pair, in nats
    # losses of all pairs, infinite without a tie
    table: Float = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def of(cls, ties: Ties, definition: Callable[[], Ties | None] | None = None) -> "Cone":
        """Read the pairs of mutual ties; those of the definition if a table is used, where implied
        pairs help.
        """
        if definition is not None and TABLE_SHARE * ties.n**2 <= ties.number < ties.n * (
            ties.n - 1
        ):
            return cls.of(definition() or ties)
        if ties.number >= TABLE_SHARE * ties.n**2:
            table = float(ties.budget) * ties.table
            table[table == 0] = np.inf
            return cls.of_table(table)
        first, second = ties.pairs()
        loss = float(ties.budget) * (
            np.ones(len(first)) if ties.distance is None else ties.distance
        )
        order = np.argsort(first * ties.n + second, kind="stable")
        return cls(ties.n, first[order], second[order], loss[order])

    @classmethod
    def of_table(cls, table: Float) -> "Cone":
        """The cone of a table of losses, (n, n), infinite without a tie."""
        none = np.zeros(0, np.int64)
        return cls(len(table), none, none, np.zeros(0), table)

    @property
    def pairs(self) -> int:
        """Number of ordered pairs that are tied."""
        return int(np.isfinite(self.table).sum()) if len(self.table) else len(self.first)

    @cached_property
    def lengths(self) -> Lengths:
        """The losses in the form that loops in C use."""
        rough, unit = in_units(self.table)
        neighbor = self.second.astype(np.int32)
        start = np.zeros(1, np.int64)
        if not len(self.table):
            # where the pairs of each first input start
            start = np.searchsorted(self.first, np.arange(self.n + 1))
        return Lengths(start, neighbor, self.loss, self.table, rough, unit, self.is_metric)

    def losses(self, first: Int, second: Int) -> Float:
        """Losses of some pairs, which are tied or in the table."""
        if len(self.table):
            return np.asarray(self.table[first, second])
        wanted = first.astype(np.int64) * self.n + second
        return np.asarray(self.loss[np.searchsorted(self.first * self.n + self.second, wanted)])

    def kernels(self, roots: Int, deadline: Deadline = NO_LIMIT) -> tuple[float, NDArray[Any]]:
        """The largest loss from a root, and for each root the parents in a tree of its shortest
        chains of ties.
        """
        # These chains are the tight ties of the root's kernel column exp(-loss from the root).
        if self.has_shortest_ties:
            return self._kernels_from_table(roots, deadline)
        if len(self.table):
            graph = csr_array(np.where(np.isinf(self.table), 0.0, self.table))
        else:
            graph = csr_array((self.loss, (self.first, self.second)), shape=(self.n, self.n))
        parents = self.no_parents(len(roots))
        depth = 0.0
        size = max(1, BLOCK // self.n)
        for begin in range(0, len(roots), size):
            deadline.check("looking for shortest chains of ties")
            part = slice(begin, begin + size)
            distance, parent = dijkstra(graph, indices=roots[part], return_predecessors=True)
            depth = max(depth, float(distance.max()))
            parents[part] = np.where(parent < 0, np.arange(self.n), parent)
        return depth, parents

    def no_parents(self, count: int) -> NDArray[Any]:
        """An empty array for the parents of some trees, of as few bytes as the inputs' numbers
        need.
        """
        return np.empty((count, self.n), np.int16 if self.n < 1 << 15 else np.int32)

    @cached_property
    def has_shortest_ties(self) -> bool:
        """Whether there is a table whose ties are shortest chains, as in a metric; checked for
        `CHECKED` inputs.
        """
        # If this is wrong for other inputs, their kernels are not in the cone; the repair corrects
        # that at a cost.
        if not len(table := self.table):
            return False

        def work(root: int) -> bool:
            parent = self.no_parents(1)[0]
            reached = np.empty(self.n)
            kernel_tree(root, table, parent, reached)
            return bool(is_shortest(reached, table))

        return all(
            in_threads(work, np.random.default_rng(0).permutation(self.n)[:CHECKED].tolist())
        )

    @cached_property
    def is_metric(self) -> bool:
        """Whether all pairs are tied, and each tie is a shortest chain."""
        table = self.table
        return len(table) > 0 and int(np.isinf(table).sum()) == self.n and self.has_shortest_ties

    def _kernels_from_table(self, roots: Int, deadline: Deadline) -> tuple[float, NDArray[Any]]:
        """The result of `kernels` if the ties of a root are shortest chains."""
        parents = self.no_parents(len(roots))
        reached = np.empty(self.n)
        depth = 0.0
        for root, parent in zip(roots.tolist(), parents, strict=True):
            deadline.check("looking for shortest chains of ties")
            kernel_tree(root, self.table, parent, reached)
            depth = max(depth, float(reached.max()))
        return depth, parents
