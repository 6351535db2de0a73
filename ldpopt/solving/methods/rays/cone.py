r"""The cone of one output's columns: ``p[x] >= exp(-loss) p[x']`` for every tied pair, in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.privacy import Ties


@dataclass(frozen=True, eq=False)
class Cone:
    """Tied pairs with their privacy loss, also as a table of neighbors.

    Attributes
    ----------
    n : int
        Number of inputs.
    first, second : int arrays
        Ordered pairs; each stands with its reverse.
    loss : float array
        ``epsilon d`` of each pair, in nats.
    neighbor : int array, shape (n, degree)
        Tied inputs of each input; shorter rows are filled with the input itself.
    loss_to : float array, shape (n, degree)
        Loss along each of these ties; infinite where filled.
    """

    n: int
    first: Int
    second: Int
    loss: Float
    neighbor: Int
    loss_to: Float

    @classmethod
    def of(cls, ties: Ties) -> Cone:
        """Read the pairs of ties that are mutual."""
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        order = np.argsort(first, kind="stable")
        first, second, loss = first[order], second[order], float(ties.budget) * distance[order]
        degree = np.bincount(first, minlength=ties.n)
        slot = np.arange(len(first)) - np.repeat(np.cumsum(degree) - degree, degree)
        neighbor = np.repeat(np.arange(ties.n)[:, None], int(degree.max(initial=0)), axis=1)
        loss_to = np.full(neighbor.shape, np.inf)
        neighbor[first, slot], loss_to[first, slot] = second, loss
        return cls(ties.n, first, second, loss, neighbor, loss_to)

    def kernels(self, roots: Int) -> tuple[Float, Int]:
        """Logarithms of the kernel columns ``exp(-loss from the root)``, and trees of tight pairs.

        Parameters
        ----------
        roots : int array, shape (m,)
            One input for each output.

        Returns
        -------
        tuple
            Logarithms, shape (m, n), minus infinity for an input that no chain ties to the root, and every input's
            parent on a shortest path; roots are their own parents.
        """
        graph = csr_array((self.loss, (self.first, self.second)), shape=(self.n, self.n))
        distance, parent = dijkstra(graph, indices=roots, return_predecessors=True)
        return -distance, np.where(parent < 0, np.arange(self.n), parent).astype(np.int64)
