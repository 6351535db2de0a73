r"""Views: each output sees few inputs, which stand for those near to them, and more where that is too rough.

An input that is not seen hands its cost on to one nearby, through a tie: at the least that the tie permits if the cost
is positive, else at the most. This is a tree of ties as any other, so that it proves a price. The ray of what is seen
extends to all inputs by its least values, as in `coarse`, and costs as much more as these ties have slack: inputs with
most of it are seen next, until the price is proved or the ray is good enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads
from ldpopt.solving.methods.loops import Loops
from ldpopt.solving.methods.rays.cluster import BLOCKS, Block, Cluster, Places
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.trees import Trees

WIDTH, GROWTH = 0.25, 0.5
"""Inputs stand for those up to `WIDTH` nats from them, times ``exp(GROWTH d)`` at a loss of ``d`` from the output."""

ENOUGH, COVERED = 0.1, 0.03
"""Share of the gap that all prices together need not prove; the same where a covering lifts them."""

LIKELY = 0.25
"""Power of an input's mean cost by which its distance counts, when inputs are ordered."""


class Views:
    """What each output sees.

    Parameters
    ----------
    trees : Trees
        Still those of kernels. There is a table of all pairs' losses, which are shortest chains.
    weight : float array, shape (n,)
        How much each input matters.

    Attributes
    ----------
    order : int array, shape (n,)
        The inputs, each the farthest from those before it.
    seen : bool array, shape (m, n)
        Which inputs each output sees.
    spared : float array, shape (m,)
        Price of each output that need not be proved, as a share of the gap.
    """

    def __init__(self, trees: Trees, weight: Float) -> None:
        from ldpopt.solving.methods.rays.view_loops import Handover

        self.trees, self.table = trees, trees.cone.lengths.table
        self.cluster: Cluster | None = None
        self.order, above, radius = farthest_first(self.table, weight**LIKELY)
        self.handover = Handover(self.order, above, np.exp(-radius))
        self.seen = np.zeros(trees.parent.shape, bool)
        self.spared = np.full(len(trees.roots), ENOUGH / len(weight))
        with np.errstate(divide="ignore"):
            rank = np.log(radius / WIDTH) / GROWTH
        for y, root in enumerate(trees.roots):
            self.seen[y] = self.table[root] < rank
            self.seen[y, root] = True

    def spare_covered(self, weight: Float) -> None:
        """Spare what a covering of negative prices makes up for: in proportion to what outputs' kernels cover."""
        for y, root in enumerate(self.trees.roots):
            kernel = np.exp(-self.table[root])
            kernel[root] = 1.0  # the table has no loss of an input to itself
            self.spared[y] = COVERED * float(kernel @ weight / weight.sum())

    def improve(
        self, costs: Float, sums: Float, gap: float, deadline: Deadline = NO_LIMIT, outputs: Int | None = None
    ) -> Float:
        """Pivot, and see more, until each price is proved or its ray is good enough; returns the prices of rays.

        Shapes: ``costs``, ``sums`` (m, n).
        """
        from ldpopt.solving.methods.rays.view_loops import look

        trees = self.trees
        price, enough = np.zeros(len(trees.roots)), -gap * self.spared
        if self.cluster is not None:
            return self._sent(self.cluster, sums, enough, deadline, outputs)
        chunks = trees.chunks if outputs is None else trees.parts(outputs)

        def work(part: Int) -> int:
            if deadline.is_over:
                return 0
            return look(
                part,
                trees.roots,
                costs,
                sums,
                trees.parent,
                trees.side,
                self.table,
                trees.cone.lengths.rough,
                self.handover,
                self.seen,
                enough,
                price,
            )

        trees.pivots += sum(in_threads(work, chunks))
        return price

    def send_to(self, client: Any, costs: Float) -> None:
        """Let the workers of a Dask client price from now on, for these costs."""
        handover = self.handover
        places = Places(self.trees.roots, costs, self.table, handover.order, handover.above, handover.fall)
        self.cluster = Cluster(client, places)

    def _sent(self, cluster: Cluster, sums: Float, enough: Float, deadline: Deadline, outputs: Int | None) -> Float:
        """Price by a cluster, block by block."""
        trees, price = self.trees, np.zeros(len(enough))
        outputs = np.arange(len(enough)) if outputs is None else outputs
        parts = np.array_split(outputs, min(len(outputs), BLOCKS * cluster.threads))
        blocks = [Block.of(part, trees.parent[part], trees.side[part], self.seen[part]) for part in parts]
        for block in cluster.price(blocks, sums, enough, deadline):
            trees.parent[block.outputs], trees.side[block.outputs] = block.parent, block.side
            self.seen[block.outputs], price[block.outputs] = block.seen, block.price
            trees.pivots += block.pivots
        return price

    def rays(self, outputs: Int) -> Float:
        """Rays of some outputs, shape (len(outputs), n)."""
        from ldpopt.solving.methods.rays.view_loops import read_extended

        trees = self.trees
        rays = np.empty((len(outputs), trees.cone.n))

        def work(part: Int) -> None:
            found = rays[part[0] : part[-1] + 1]
            read_extended(outputs[part], trees.roots, trees.parent, trees.side, self.table, self.seen, found)

        if len(outputs):
            in_threads(work, np.array_split(np.arange(len(outputs)), 1 + len(outputs) // 20))
        return rays


def _example() -> None:
    """Price four places by views."""
    points = np.array([0.0, 1.0, 1.0j, 3.0 + 1.5j])
    loss = np.abs(points[:, None] - points)
    first, second = np.nonzero(loss)
    views = Views(Trees(Cone(4, first, second, loss[first, second], True), np.arange(4)), np.ones(4))
    views.improve(loss - 2.0, np.zeros(4), 0.0)
    views.rays(np.arange(4))


LOOPS = Loops("views", _example)
"""The compiled loops of views."""


def farthest_first(table: Float, likely: Float) -> tuple[Int, Int, Float]:
    """Order inputs, each the farthest from those before it.

    Shapes: ``table`` (n, n), ``likely`` (n,).
    """
    n = len(table)
    order, above = np.empty(n, np.int64), np.zeros(n, np.int64)
    near, nearest, waits = np.full(n, np.inf), np.zeros(n, np.int64), likely.copy()
    radius = np.empty(n)
    following = int(likely.argmax())
    for k in range(n):
        order[k], above[following], radius[following] = following, nearest[following], near[following]
        waits[following] = -1.0
        row = table[following].copy()
        row[following] = 0.0
        is_closer = row < near
        near[is_closer], nearest[is_closer] = row[is_closer], following
        following = int(np.where(waits < 0, -1.0, near * likely).argmax())
    return order, above, radius
