r"""Parts of a round of pivots, for the trees of many outputs at once; trees are flat arrays, one block of n for each.

A subtree hangs from its ``top`` by the tie to the top's parent. Multiplying its entries by a common factor keeps the
ties inside it tight; the factor goes up to where the first tie to an input outside becomes tight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.cone import Cone

BLOCK = 1 << 21
"""Largest number of ties whose slack is computed at once; bounds the memory."""


def flows(parent: Int, log: Float, costs: Float) -> Float:
    r"""Cost of every subtree in units of its top.

    .. math:: F_x = \sum_{z \text{ below } x} g_z p_z / p_x

    Each pass doubles the length of the path over which costs are handed to ancestors.
    """
    size = len(parent)
    total, above = costs.copy(), parent.copy()
    is_below = parent != np.arange(size)
    node = np.flatnonzero(is_below)
    ratio = np.exp(log - log[parent])
    while len(node):
        target, share = above[node], ratio[node]
        total += np.bincount(target, total[node] * share, size)
        goes_on = is_below[target]
        is_below[node[~goes_on]] = False
        node, target = node[goes_on], target[goes_on]
        new_above, new_ratio = above[target], share[goes_on] * ratio[target]
        above[node], ratio[node] = new_above, new_ratio
    return total


def topmost(is_marked: Mask, parent: Int) -> Int:
    """Mark nearest to the root among a node and its ancestors; -1 where there is none."""
    top, above = np.where(is_marked, np.arange(len(parent)), -1), parent
    while True:
        higher = top[above]
        top = np.where(higher >= 0, higher, top)
        further = above[above]
        if np.array_equal(further, above):
            return top
        above = further


@dataclass(frozen=True, eq=False)
class Moves:
    """Subtrees that are scaled together: their tops, the ties that become tight, and the change of the logarithms.

    Attributes
    ----------
    top : int array
        Top of each subtree.
    node, outside : int arrays
        Ends of the tie that becomes tight, inside and outside of the subtree.
    step : float array
        Change of the subtree's logarithms, without its sign.
    """

    top: Int
    node: Int
    outside: Int
    step: Float

    def chosen(self, keep: Mask) -> Moves:
        """Some of the moves."""
        return Moves(self.top[keep], self.node[keep], self.outside[keep], self.step[keep])


def longest_moves(cone: Cone, log: Float, top: Int, sign: Float, rank: Float) -> Moves:
    """How far each marked subtree can move by itself, and the tie that stops it.

    Parameters
    ----------
    cone : Cone
        The ties.
    log : float array
        Logarithms of the entries.
    top : int array
        Top of every node's moving subtree, or -1.
    sign : float array
        Of each output's moves: 1 to raise, -1 to lower.
    rank : float array
        Of the nodes: of several ties that stop a subtree, the one at the node of highest rank is taken.
    """
    node = np.flatnonzero(top >= 0)
    slack, outside = np.empty(len(node)), np.empty(len(node), np.int64)
    size = max(1, BLOCK // cone.neighbor.shape[1])
    for begin in range(0, len(node), size):
        part = slice(begin, begin + size)
        output, x = np.divmod(node[part], cone.n)
        others = cone.neighbor[x] + (output * cone.n)[:, None]
        room = cone.loss_to[x] - sign[output][:, None] * (log[node[part]][:, None] - log[others])
        room[top[others] == top[node[part]][:, None]] = np.inf
        nearest = room.argmin(axis=1)
        own = np.arange(len(x))
        slack[part], outside[part] = np.maximum(room[own, nearest], 0.0), others[own, nearest]
    least = np.full(len(top), np.inf)
    np.minimum.at(least, top[node], slack)
    stopped = np.flatnonzero(slack == least[top[node]])
    stopped = stopped[np.argsort(rank[node[stopped]], kind="stable")]
    at = np.full(len(top), -1)
    at[top[node[stopped]]] = stopped
    tops = np.flatnonzero(at >= 0)
    chosen = at[tops]
    return Moves(tops, node[chosen], outside[chosen], slack[chosen])


def compatible(moves: Moves, top: Int, gain: Float, n: int) -> Moves:
    """Moves that stay tight if made together: those stopped by an input that does not move.

    All moves of an output have one sign, so none makes another one infeasible. Where all of them are stopped by each
    other, the one that gains most is made alone; ``gain`` is the logarithm of each subtree's wrong cost.
    """
    is_free = top[moves.outside] < 0
    output = moves.top // n
    has_free = np.zeros(int(output.max(initial=-1)) + 1, bool)
    has_free[output[is_free]] = True
    blocked = np.flatnonzero(~has_free[output])
    if len(blocked):
        with np.errstate(divide="ignore"):
            worth = gain[moves.top[blocked]] + np.log(np.expm1(np.minimum(moves.step[blocked], 50.0)))
        order = np.lexsort((worth, output[blocked]))
        is_last = np.append(np.diff(output[blocked][order]) != 0, True)
        is_free[blocked[order][is_last]] = True
    return moves.chosen(is_free)


def hang(parent: Int, side: Int, moves: Moves, new_side: Int) -> None:
    """Hang each subtree, in place, by the tie that has become tight: ties on the path up to its top change direction.

    ``side`` says of each node whether its tie to the parent holds it at its least (-1) or largest (1) value.
    """
    node, above, end, way = moves.node, moves.outside, moves.top, new_side
    while len(node):
        old_above, old_way = parent[node], side[node]
        parent[node], side[node] = above, way
        goes_on = node != end
        above, way = node[goes_on], -old_way[goes_on]
        node, end = old_above[goes_on], end[goes_on]
