r"""Trees of tight pairs, one for each output: the best ray of each output's cone for given costs, by pivots.

A ray is described by a spanning tree of tight pairs, rooted at an input whose entry is 1. It is optimal if the cost of
every subtree has the sign that its tie to the parent permits: not negative where the tie holds it from below, not
positive where it holds it from above. Then these costs are the pairs' multipliers. Theory: docs, "Rays".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.foundation.rows import Int
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.pivots import compatible, flows, hang, longest_moves, topmost

TOLERANCE = 1e-13
"""Share of a subtree's costs, all made positive, that counts as zero."""


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


class Trees:
    """A tree for each output; it starts with the kernel's, and is kept from costs to costs.

    Parameters
    ----------
    cone : Cone
        The ties.
    roots : int array, shape (m,)
        The input of each output whose entry is 1.
    """

    def __init__(self, cone: Cone, roots: Int) -> None:
        self.cone, self.roots = cone, roots
        self.log, self.parent = cone.kernels(roots)
        self.side = np.full(self.log.shape, -1)
        self.side[np.arange(len(roots)), roots] = 0
        self.pivots = 0
        self._rng = np.random.default_rng(0)

    def copy(self) -> Trees:
        """Return the same trees, to be changed separately."""
        other = object.__new__(Trees)
        other.__dict__ |= self.__dict__
        other.log, other.parent, other.side = self.log.copy(), self.parent.copy(), self.side.copy()
        return other

    def rays(self) -> Float:
        """Entries of the rays, shape (m, n)."""
        return np.asarray(np.exp(self.log))

    def improve(self, costs: Float, *, rounds: int | None = None, deadline: Deadline = NO_LIMIT) -> Mask:
        """Pivot until every ray is the best for its output's costs.

        Parameters
        ----------
        costs : float array, shape (m, n)
            To be minimized.
        rounds : int, optional
            Largest number of rounds of pivots; default: no limit.
        deadline : Deadline, optional
            When to stop; default: ``NO_LIMIT``.

        Returns
        -------
        bool array, shape (m,)
            Which rays are the best.
        """
        unfinished, done = np.arange(len(self.roots)), 0
        while len(unfinished) and done != rounds and not deadline.is_over:
            unfinished = self._pivot(unfinished, costs)
            done += 1
        is_best = np.ones(len(self.roots), bool)
        is_best[unfinished] = False
        return is_best

    def multipliers(self, costs: Float) -> TreeMultipliers:
        """Multipliers of the trees' pairs; where the trees are the best ones, they leave the price at the root only."""
        n = self.cone.n
        parent, side, log = self._flat(slice(None))
        total = flows(parent, log, costs.reshape(-1))
        node = np.flatnonzero(total * side < 0)
        above, is_held_below = parent[node], side[node] < 0
        value = np.abs(total[node]) * np.where(is_held_below, 1.0, np.exp(log[node] - log[above]))
        first, second = np.where(is_held_below, above, node) % n, np.where(is_held_below, node, above) % n
        return TreeMultipliers(first, second, node // n, np.abs(log[node] - log[above]), value)

    def _flat(self, outputs: Int | slice) -> tuple[Int, Int, Float]:
        """Parent, side and logarithm of the nodes of some trees, numbered one tree after the other."""
        parent = self.parent[outputs]
        offset = np.arange(len(parent))[:, None] * self.cone.n
        return (parent + offset).reshape(-1), self.side[outputs].reshape(-1), self.log[outputs].reshape(-1)

    def _wrong(self, outputs: Int, costs: Float, excess: Float) -> Mask:
        """Which subtrees have a cost of the wrong sign, beyond rounding.

        A subtree's costs, all made positive, are at most those of the whole tree. Only where this tells of no wrong
        subtree are they summed for each subtree.
        """
        entries = np.exp(self.log[outputs])
        size = (np.abs(costs[outputs]) * entries).sum(axis=1, keepdims=True)
        is_wrong = np.asarray(excess * entries > TOLERANCE * size)
        doubtful = np.flatnonzero(~is_wrong.any(axis=1) & (excess > 0).any(axis=1))
        if len(doubtful):
            parent, _, log = self._flat(outputs[doubtful])
            gross = flows(parent, log, np.abs(costs[outputs[doubtful]]).reshape(-1))
            is_wrong[doubtful] = excess[doubtful] > TOLERANCE * gross.reshape(-1, self.cone.n)
        return is_wrong

    def _pivot(self, outputs: Int, costs: Float) -> Int:
        """One round of pivots for these outputs; returns those that were not yet the best."""
        n = self.cone.n
        parent, side, log = self._flat(outputs)
        excess = flows(parent, log, costs[outputs].reshape(-1)) * side
        is_wrong = self._wrong(outputs, costs, excess.reshape(-1, n))
        open_ = is_wrong.any(axis=1)
        if not open_.all():
            outputs, keep = outputs[open_], np.repeat(open_, n)
            if not len(outputs):
                return outputs
            parent, side, log = self._flat(outputs)
            excess, is_wrong = excess[keep], is_wrong[open_]
        with np.errstate(divide="ignore", invalid="ignore"):  # entries may underflow, their logarithms do not
            gain = np.where(is_wrong.reshape(-1), np.log(excess) + log, -np.inf)
        worst = gain.reshape(-1, n).argmax(axis=1) + np.arange(len(outputs)) * n
        sign = -side[worst]
        top = topmost(is_wrong.reshape(-1) & (side == -np.repeat(sign, n)), parent)
        moves = longest_moves(self.cone, log, top, sign.astype(float), self._rng.random(len(log)))
        moves = compatible(moves, top, gain, n)
        self.pivots += len(moves.top)
        step = np.zeros(len(log) + 1)
        step[moves.top] = moves.step
        log = log + np.repeat(sign, n) * step[top]
        hang(parent, side, moves, sign[moves.top // n])
        offset = np.arange(len(outputs))[:, None] * n
        self.log[outputs], self.side[outputs] = log.reshape(-1, n), side.reshape(-1, n)
        self.parent[outputs] = parent.reshape(-1, n) - offset
        return outputs
