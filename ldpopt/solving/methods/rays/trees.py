"""Trees of tight ties, one per output: the best ray of each for given costs, found by pivots (docs,
"Rays").
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import in_threads
from ldpopt.native import hang_from_root, improve_trees, price_trees, write_multipliers, write_rays
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.cone import Cone

SLICE = 2000  # largest number of pivots of an output between two checks of the deadline
CHUNK = 1 << 14  # entries of the outputs that a thread computes between two checks of the deadline


@dataclass(frozen=True, eq=False)
class TreeMultipliers:
    """Positive multipliers of the tight ties ``ratio p[first] - p[second] <= 0`` of all outputs."""

    cone: Cone
    first: Int
    second: Int
    output: Int
    value: Float  # the multipliers

    @property
    def loss(self) -> Float:
        """Logarithms of 1 / ratio."""
        return self.cone.losses(self.first, self.second)


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of all outputs, proved by their trees."""

    # (n,): smallest cost that remains at each input, or 0; makes multipliers feasible if added to
    # them
    share: Float
    least: Float  # (m,): proved price of each output; if its tree is optimal, the price of its ray
    total: Float  # (m,): sum of the entries of each ray


class Trees:
    """A tree for each output, with an input for each root; they are those of the kernel columns at
    first.
    """

    def __init__(self, cone: Cone, roots: Int, deadline: Deadline = NO_LIMIT) -> None:
        self.cone, self.roots = cone, roots
        # parent, (m, n): of each node; roots are their own
        self.depth, self.parent = cone.kernels(roots, deadline)
        # as in `Tree`; 0 at roots
        self.side: NDArray[np.int8] = np.full(self.parent.shape, -1, np.int8)
        self.side[np.arange(len(roots)), roots] = 0
        self.pivots = 0  # number of pivots so far

    @property
    def forest(self) -> tuple[Int, NDArray[Any], NDArray[np.int8]]:
        """The arrays that loops in C need."""
        return self.roots, self.parent, self.side

    def copy(self) -> "Trees":
        """A copy, with the same cone."""
        other = object.__new__(Trees)
        other.__dict__ |= self.__dict__
        other.parent = self.parent.copy()
        other.side = self.side.copy()
        return other

    def rays(self, outputs: Int) -> Float:
        """Entries of the rays of some outputs, shape (len(outputs), n)."""
        rays = np.empty((len(outputs), self.cone.n))
        lengths = self.cone.lengths

        def work(part: Int) -> None:
            write_rays(outputs[part], *self.forest, lengths, rays[part[0] : part[-1] + 1])

        if len(outputs):
            in_threads(work, self.parts(np.arange(len(outputs))))
        return rays

    def reset_to_stars(self, costs: Float, sums: Float) -> None:
        """Make all inputs children of the roots, at their smallest values if ``costs - sums`` is
        positive.
        """
        # If all pairs are tied, these trees prove a bound without pivots.
        self.parent[:] = self.roots[:, None]
        self.side[:] = np.where(costs < sums, 1, -1)
        self.side[np.arange(len(self.roots)), self.roots] = 0

    def hang_from_roots(self, costs: Float, sums: Float, outputs: Int) -> None:
        """Raise the proved prices of some outputs in a metric, whose trees are the best for higher
        multipliers.
        """
        # What a subtree cannot pass to its parent any more passes to the root, so that fewer trees
        # need pivots.
        in_threads(
            lambda some: hang_from_root(some, *self.forest, costs, sums, self.cone.lengths),
            self.parts(outputs),
        )

    def improve(self, costs: Float, sums: Float, deadline: Deadline = NO_LIMIT) -> Mask:
        """Pivot until every ray is the best for its output's ``costs - sums``; return which rays
        are, shape (m,).
        """
        is_best = np.zeros(len(self.roots), bool)

        def work(outputs: Int) -> int:
            done = 0
            while len(outputs) and not deadline.is_over:
                done += improve_trees(
                    outputs, *self.forest, costs, sums, self.cone.lengths, SLICE, is_best
                )
                outputs = outputs[~is_best[outputs]]
            return done

        self.pivots += sum(in_threads(work, self.chunks))
        return is_best

    def prices(self, costs: Float, priced: Float) -> Prices:
        """Prices of all outputs at the multipliers ``priced``; their trees need not be optimal."""
        sums = np.zeros((2, len(self.roots)))

        def work(outputs: Int) -> Float:
            share = np.zeros(self.cone.n)
            price_trees(outputs, *self.forest, costs, priced, self.cone.lengths, share, sums)
            return share

        share = np.min(in_threads(work, self.chunks), axis=0)
        return Prices(share, *sums)

    def multipliers(self, costs: Float, sums: Float, spare: float = 0.0) -> TreeMultipliers:
        """Multipliers of the trees' ties that prove each output's price less ``spare``, or a price
        of 0.
        """
        n = self.cone.n
        begin = 0
        node = np.empty(self.cone.n, np.int64)
        # In small integers, as there may be a multiplier for nearly every entry; memory that is not
        # used takes no room.
        ends: Any = np.empty((3, self.parent.size), np.int32)
        first, second, output = ends
        value = np.empty(self.parent.size)
        for y, root in enumerate(self.roots):
            parent = self.parent[y]
            side = self.side[y]
            left = costs[y] - sums
            # a tree has at most one multiplier for each input, that of the tie to its parent
            room = value[begin : begin + n]
            count = write_multipliers(
                root, parent, side, left, self.cone.lengths, spare, node, room
            )
            part = slice(begin, begin + count)
            chosen = node[:count]
            is_held_below = side[chosen] < 0
            first[part] = np.where(is_held_below, parent[chosen], chosen)
            second[part] = np.where(is_held_below, chosen, parent[chosen])
            output[part] = y
            begin += count
        return TreeMultipliers(
            self.cone, first[:begin], second[:begin], output[:begin], value[:begin]
        )

    @property
    def chunks(self) -> list[Int]:
        """All outputs, in parts."""
        return self.parts(np.arange(len(self.roots)))

    def parts(self, outputs: Int) -> list[Int]:
        """Some outputs, in parts that a thread computes without a check of the deadline."""
        count = len(outputs)
        return np.array_split(outputs, max(1, min(count, count * self.cone.n // CHUNK)))
