r"""Trees of tight pairs, one for each output: the best ray of each output's cone for given costs, by pivots.

A ray is described by a spanning tree of tight pairs, rooted at an input whose entry is 1. It is optimal if the cost of
every subtree has the sign that its tie to the parent permits: not negative where the tie holds it from below, not
positive where it holds it from above. Then these costs are the pairs' multipliers. Theory: docs, "Rays".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.cone import Cone

SLICE = 2000
"""Largest number of pivots of an output between two looks at the clock."""

CHUNK = 1 << 14
"""Entries of the outputs that a thread takes at once; it looks at the clock in between."""


@dataclass(frozen=True, eq=False)
class TreeMultipliers:
    """Multipliers of the tight pairs ``ratio p[first] - p[second] <= 0`` of all outputs, positive.

    Attributes
    ----------
    first, second, y : int arrays
        Inputs and output.
    loss : float array
        Logarithm of ``1 / ratio``.
    value : float array
        The multipliers.
    """

    first: Int
    second: Int
    y: Int
    loss: Float
    value: Float


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of all outputs by their trees.

    Attributes
    ----------
    share : float array, shape (n,)
        The least cost that any output leaves at each input, or 0: added to the priced multipliers, it makes them
        feasible.
    least : float array, shape (m,)
        Price of each output that its multipliers prove; where the tree is the best one, that of its ray.
    total : float array, shape (m,)
        Sum of the entries of each ray.
    """

    share: Float
    least: Float
    total: Float


class Trees:
    """A tree for each output; it starts with the kernel's, and is kept from costs to costs.

    Parameters
    ----------
    cone : Cone
        The ties.
    roots : int array, shape (m,)
        The input of each output whose entry is 1.

    Attributes
    ----------
    parent : int array, shape (m, n)
        Parent of each node; roots are their own.
    side : int array, shape (m, n)
        Whether the tie to the parent holds the node at its least (-1) or largest (1) value; 0 at roots.
    pivots : int
        Number of pivots so far.
    """

    def __init__(self, cone: Cone, roots: Int, deadline: Deadline = NO_LIMIT) -> None:
        self.cone, self.roots = cone, roots
        self.depth, self.parent = cone.kernels(roots, deadline)
        self.side: NDArray[np.int8] = np.full(self.parent.shape, -1, np.int8)
        self.side[np.arange(len(roots)), roots] = 0
        self.pivots = 0

    def copy(self) -> Trees:
        """Return the same trees, to be changed separately."""
        other = object.__new__(Trees)
        other.__dict__ |= self.__dict__
        other.parent, other.side = self.parent.copy(), self.side.copy()
        return other

    def adopt(self, costs: Float, parents: Int, sides: Int) -> None:
        """Give every output the tree, of its own and some others, whose ray costs it least, hung from its root.

        Shapes: ``costs`` (m, n), ``parents``, ``sides`` (t, n).
        """
        from ldpopt.solving.methods.rays.tree_loops import hang, read

        if not len(parents):
            return
        m, n = self.parent.shape
        tops = (parents == np.arange(n)).argmax(axis=1)
        parents, sides = parents.astype(self.parent.dtype), sides.astype(np.int8)  # loops are compiled for one type
        rays = np.empty((len(parents), n))
        read(np.arange(len(parents)), tops, parents, sides, self.cone.lengths, rays)
        own = np.array([cost @ ray for cost, ray in zip(costs, self.rays(np.arange(m)), strict=True)])
        others = (costs @ rays.T) / rays[:, self.roots].T
        best = others.argmin(axis=1)
        for y in np.flatnonzero(others[np.arange(m), best] < own):
            self.parent[y], self.side[y] = parents[best[y]], sides[best[y]]
            hang(self.roots[y], self.parent[y], self.side[y])

    def rays(self, outputs: Int) -> Float:
        """Entries of the rays of some outputs, shape (len(outputs), n)."""
        from ldpopt.solving.methods.rays.tree_loops import read

        rays, lengths = np.empty((len(outputs), self.cone.n)), self.cone.lengths

        def work(part: Int) -> None:
            read(outputs[part], self.roots, self.parent, self.side, lengths, rays[part[0] : part[-1] + 1])

        if len(outputs):
            in_threads(work, self.parts(np.arange(len(outputs))))
        return rays

    def hang_from_roots(self, costs: Float, sums: Float) -> None:
        """Hang all inputs from the roots, at their least where ``costs - sums`` is positive, else at their largest.

        These trees prove something at once, where all pairs are tied.
        """
        self.parent[:] = self.roots[:, None]
        self.side[:] = np.where(costs < sums, 1, -1)
        self.side[np.arange(len(self.roots)), self.roots] = 0

    def improve(self, costs: Float, sums: Float, *, most: int | None = None, deadline: Deadline = NO_LIMIT) -> Mask:
        """Pivot until every ray is the best for its output's costs.

        Shapes: ``costs``, ``sums`` (m, n); result (m,).
        """
        from ldpopt.solving.methods.rays.pivot_loops import improve

        is_best = np.zeros(len(self.roots), bool)
        limit = np.iinfo(np.int64).max if most is None else most

        def work(outputs: Int) -> int:
            done, budget = 0, limit
            while len(outputs) and budget > 0 and not deadline.is_over:
                done += step(outputs, min(budget, SLICE))
                outputs, budget = outputs[~is_best[outputs]], budget - SLICE
            return done

        def step(outputs: Int, at_most: int) -> int:
            return improve(
                outputs, self.roots, costs, sums, self.parent, self.side, self.cone.lengths, at_most, is_best
            )

        self.pivots += sum(in_threads(work, self.chunks))
        return is_best

    def prices(self, costs: Float, priced: Float, outputs: Int | None = None) -> Prices:
        """Price outputs, whether their trees are the best or not.

        Shapes: ``costs`` (m, n), ``priced`` (n,).
        """
        from ldpopt.solving.methods.rays.tree_loops import price

        found = np.zeros((2, len(self.roots)))

        def work(outputs: Int) -> Float:
            share = np.zeros(self.cone.n)
            price(outputs, self.roots, costs, priced, self.parent, self.side, self.cone.lengths, share, found)
            return share

        share = np.min(in_threads(work, self.chunks if outputs is None else self.parts(outputs)), axis=0)
        return Prices(share, *found)

    def multipliers(self, costs: Float, sums: Float, spare: float = 0.0) -> TreeMultipliers:
        """Multipliers of the trees' pairs that prove each output's price, less ``spare`` (default: 0), or 0."""
        from ldpopt.solving.methods.rays.tree_loops import multipliers

        node, value = np.empty(self.cone.n, np.int64), np.empty(self.cone.n)
        parts = []
        for y, root in enumerate(self.roots):
            parent, side = self.parent[y], self.side[y]
            count = multipliers(root, costs[y] - sums, parent, side, self.cone.lengths, spare, node, value)
            chosen = node[:count].copy()
            above, is_held_below = parent[chosen].astype(np.int64), side[chosen] < 0
            first, second = np.where(is_held_below, above, chosen), np.where(is_held_below, chosen, above)
            parts.append((first, second, np.full(count, y), value[:count].copy()))
        first, second, outputs, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return TreeMultipliers(first, second, outputs, self.cone.losses(first, second), values)

    @property
    def chunks(self) -> list[Int]:
        """All outputs in parts that are computed one after the other."""
        return self.parts(np.arange(len(self.roots)))

    def parts(self, outputs: Int) -> list[Int]:
        """Some outputs in such parts."""
        count = len(outputs)
        return np.array_split(outputs, max(1, min(count, count * self.cone.n // CHUNK)))
