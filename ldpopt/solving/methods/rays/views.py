"""Views: each output sees few inputs; the others hand their costs over to those (docs, "Views")."""

from typing import Any

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import in_threads
from ldpopt.native import improve_views, write_extended_rays
from ldpopt.solving.methods.rays.cluster import BLOCKS, Cluster, Handover, OutputShare, SharedData
from ldpopt.solving.methods.rays.trees import Trees

# A seen input represents inputs up to ``WIDTH exp(GROWTH d)`` nats from it, at a loss ``d`` from
# the root
WIDTH, GROWTH = 0.25, 0.5
# Share of the gap up to which the prices together need not be proved; the share if a covering
# corrects them
UNPROVED_SHARE, UNPROVED_SHARE_COVERED = 0.1, 0.03
# power of an input's mean cost by which its distance is multiplied, when inputs are ordered
COST_POWER = 0.25


class Views:
    """The inputs that each output sees, of trees of kernel columns in a metric; ``weight`` (n,) is
    their importance.
    """

    def __init__(self, trees: Trees, weight: Float) -> None:
        self.trees, self.table = trees, trees.cone.lengths.table
        self.cluster: Cluster | None = None
        self.order, above, radius = farthest_first(self.table, weight**COST_POWER)
        self.handover = Handover(self.order, above, np.exp(-radius))
        self.seen = np.zeros(trees.parent.shape, bool)  # (m, n): the inputs that each output sees
        # (m,): as shares of the gap
        self.unproved = np.full(len(trees.roots), UNPROVED_SHARE / len(weight))
        with np.errstate(divide="ignore"):
            reach = np.log(radius / WIDTH) / GROWTH
        for y, root in enumerate(trees.roots):
            self.seen[y] = self.table[root] < reach
            self.seen[y, root] = True

    def expect_covering(self, weight: Float) -> None:
        """Leave more of each price unproved, in proportion to its kernel's weight, because a
        covering follows.
        """
        for y, root in enumerate(self.trees.roots):
            kernel = np.exp(-self.table[root])
            kernel[root] = 1.0  # the table has no loss of an input to itself
            self.unproved[y] = UNPROVED_SHARE_COVERED * float(kernel @ weight / weight.sum())

    def improve(
        self,
        costs: Float,
        sums: Float,
        gap: float,
        deadline: Deadline = NO_LIMIT,
        outputs: Int | None = None,
    ) -> Float:
        """Pivot, and see more, until each price is proved or its ray is good enough; return the
        rays' prices, (m,).
        """
        trees = self.trees
        price = np.zeros(len(trees.roots))
        enough = -gap * self.unproved
        if self.cluster is not None:
            return self._improve_on_cluster(self.cluster, sums, enough, deadline, outputs)
        chunks = trees.chunks if outputs is None else trees.parts(outputs)

        def work(part: Int) -> int:
            if deadline.is_over:
                return 0
            lengths = trees.cone.lengths
            arrays = costs, sums, self.table, lengths.rough, lengths.unit, *self.handover
            return improve_views(part, *trees.forest, *arrays, self.seen, enough, price)

        trees.pivots += sum(in_threads(work, chunks))
        return price

    def send_to(self, client: Any, costs: Float) -> None:
        """Use the workers of a Dask client from now on, for these costs."""
        self.cluster = Cluster(
            client, SharedData(self.trees.roots, costs, self.table, self.handover)
        )

    def _improve_on_cluster(
        self, cluster: Cluster, sums: Float, enough: Float, deadline: Deadline, outputs: Int | None
    ) -> Float:
        """The same on a cluster, in blocks of outputs."""
        trees = self.trees
        price = np.zeros(len(enough))
        outputs = np.arange(len(enough)) if outputs is None else outputs
        parts = np.array_split(outputs, min(len(outputs), BLOCKS * cluster.threads))
        blocks = [
            OutputShare(part, trees.parent[part], trees.side[part], self.seen[part], price[part])
            for part in parts
        ]
        for block in cluster.improve(blocks, sums, enough, deadline):
            trees.parent[block.outputs], trees.side[block.outputs] = block.parent, block.side
            self.seen[block.outputs], price[block.outputs] = block.seen, block.price
            trees.pivots += block.pivots
        return price

    def rays(self) -> Float:
        """Rays of all outputs, shape (m, n)."""
        trees = self.trees
        count = len(self.trees.roots)
        rays = np.empty((count, trees.cone.n))

        def work(part: Int) -> None:
            write_extended_rays(
                part, *trees.forest, self.table, self.seen, rays[part[0] : part[-1] + 1]
            )

        in_threads(work, np.array_split(np.arange(count), 1 + count // 20))
        return rays


def farthest_first(table: Float, factor: Float) -> tuple[Int, Int, Float]:
    """Inputs, each the farthest (times ``factor``) from earlier ones; the nearest earlier one, and
    the loss to it.
    """
    n = len(table)
    order = np.empty(n, np.int64)
    above = np.zeros(n, np.int64)
    near = np.full(n, np.inf)
    nearest = np.zeros(n, np.int64)
    waits = factor.copy()
    radius = np.empty(n)
    following = int(factor.argmax())
    for k in range(n):
        order[k], above[following], radius[following] = (
            following,
            nearest[following],
            near[following],
        )
        waits[following] = -1.0
        row = table[following].copy()
        row[following] = 0.0
        is_closer = row < near
        near[is_closer], nearest[is_closer] = row[is_closer], following
        following = int(np.where(waits < 0, -1.0, near * factor).argmax())
    return order, above, radius
