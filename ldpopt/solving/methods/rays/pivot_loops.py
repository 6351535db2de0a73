r"""Compiled pivots of a network simplex with gains: every output's tree until its ray is the best for given costs.

A pivot scales a subtree whose cost has the wrong sign until a tie to another node becomes tight, and hangs it there.
Costs change inside of the subtree by a factor, and along the paths from both its parents to the root.
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.foundation.compiled import compiled
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.tree_loops import (
    Int,
    Lengths,
    Rough,
    Tree,
    attach,
    below,
    detach,
    grow,
    is_wrong,
    new_room,
    new_tree,
    sum_up,
)

ROUGHLY = 1e-6
"""More than the relative error of a sum in single precision."""


@compiled
def _is_drawn(draw: Int, equal: int) -> bool:
    """Whether the last of some equal things is the one that is drawn from them."""
    draw[0] = (draw[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return bool((draw[0] >> 8) % equal == 0)


@compiled
def _has_near(row: Rough, height: Rough, most: np.float32) -> bool:
    """Whether the sum of an entry and a height is small somewhere."""
    hits = np.uint32(0)
    for z in range(len(row)):  # without a branch, and counted in as many bits, so that several are compared at once
        hits = np.uint32(hits + np.uint32(row[z] + height[z] <= most))
    return bool(hits)


@compiled
def _mark_held(sign: int, count: int, tree: Tree) -> None:
    """Mark the nodes of ``order`` that a metric lets others stop first: neighbors in the tree that are higher by a tie.

    If ``u`` is higher than ``v`` by their whole tie, then a node that stops ``v`` stops ``u`` at least as soon.
    """
    for at in range(count):
        tree.held[tree.order[at]] = False
    for at in range(1, count):
        v = tree.order[at]
        tree.held[v if sign * tree.side[v] < 0 else tree.parent[v]] = True


@compiled
def _stop_in_table(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them: with a table of losses.

    A row is compared in single precision first, which only leaves out what is surely farther.
    """
    best, node, outside, equal = np.inf, -1, -1, 0
    height, rough, largest = tree.height, tree.rough, 0.0
    for x in range(len(height)):
        height[x] = np.inf if tree.inside[x] else sign * tree.log[x]
        rough[x] = height[x]
        largest = max(largest, abs(tree.log[x]))
    if lengths.is_metric:
        _mark_held(sign, count, tree)
    for at in range(count):
        v = tree.order[at]
        if lengths.is_metric and tree.held[v]:
            continue
        row, own = lengths.table[v], sign * tree.log[v]
        most = best + own + ROUGHLY * (abs(best + own) + largest)
        if not _has_near(lengths.rough[v], rough, np.float32(most)):
            continue
        for z in range(len(row)):
            room = max(row[z] + height[z] - own, 0.0)
            if room < best:
                best, node, outside, equal = room, v, z, 1
            elif room == best:
                equal += 1
                if _is_drawn(tree.draw, equal):
                    node, outside = v, z
    return best, node, outside


@compiled
def _stop(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them; of several ones, a random one."""
    if len(lengths.table):
        return _stop_in_table(sign, count, tree, lengths)
    best, node, outside, equal = np.inf, -1, -1, 0
    for at in range(count):
        v = tree.order[at]
        for k in range(lengths.start[v], lengths.start[v + 1]):
            z = lengths.neighbor[k]
            if tree.inside[z]:
                continue
            room = max(lengths.loss[k] - sign * (tree.log[v] - tree.log[z]), 0.0)
            if room < best:
                best, node, outside, equal = room, v, z, 1
            elif room == best:
                equal += 1
                if _is_drawn(tree.draw, equal):
                    node, outside = v, z
    return best, node, outside


@compiled
def _turn(top: int, node: int, outside: int, sign: int, tree: Tree) -> None:
    """Hang the subtree of ``top`` at ``outside`` by ``node``: ties on the path between them change direction."""
    x, above, way = node, outside, sign
    while True:
        old_above, old_way = tree.parent[x], tree.side[x]
        detach(x, old_above, tree)
        attach(x, above, tree)
        tree.parent[x], tree.side[x] = above, way
        if x == top:
            break
        x, above, way = old_above, x, -old_way


@compiled
def _pivot(top: int, tree: Tree, lengths: Lengths) -> None:
    """Scale a subtree until a tie to another node becomes tight, and hang it there."""
    sign, left = -tree.side[top], tree.parent[top]
    count = below(top, tree)
    for at in range(count):
        tree.inside[tree.order[at]] = True
    step, node, outside = _stop(sign, count, tree, lengths)
    factor = np.exp(sign * step)
    for at in range(count):
        x = tree.order[at]
        tree.inside[x] = False
        tree.log[x] += sign * step
        tree.entries[x] *= factor
        tree.cost[x] *= factor
        tree.size[x] *= factor
    _turn(top, node, outside, sign, tree)
    sum_up(top, outside, tree)
    sum_up(left, tree.root, tree)
    sum_up(outside, tree.root, tree)


@compiled
def _wrong(tree: Tree, found: Int, gain: Float) -> int:
    """Write the nodes whose subtrees have a wrong cost, and these costs; returns their number."""
    count = 0
    for x in range(len(tree.parent)):
        if x != tree.root and is_wrong(x, tree):
            found[count], gain[count] = x, abs(tree.cost[x])
            count += 1
    return count


@compiled
def best_tree(tree: Tree, lengths: Lengths, most: int, found: Int, gain: Float) -> tuple[int, bool]:
    """Pivot one grown tree until its ray is the best for its own costs; the number of pivots, and whether it is.

    Wrong subtrees are taken in the order of their costs, the largest first; those that pivots make wrong follow
    in the next pass. There is room for an entry of each node in ``found`` and ``gain``.
    """
    for at in range(len(tree.parent) - 1, 0, -1):
        sum_up(tree.order[at], tree.parent[tree.order[at]], tree)
    pivots, count = 0, _wrong(tree, found, gain)
    while count and pivots < most:
        for at in np.argsort(-gain[:count]):
            if is_wrong(found[at], tree):
                _pivot(found[at], tree, lengths)
                pivots += 1
        count = _wrong(tree, found, gain)
    return pivots, count == 0


@compiled
def improve(
    outputs: Int,
    roots: Int,
    costs: Float,
    sums: Float,
    parents: Int,
    sides: Int,
    lengths: Lengths,
    most: int,
    is_best: Mask,
) -> int:
    """Pivot the trees of some outputs until their rays are the best; returns the number of pivots.

    Parameters
    ----------
    outputs : int array
        Whose trees to change.
    roots : int array, shape (m,)
        Input of each output whose entry is 1.
    costs, sums : float arrays, shapes (m, n) and (n,)
        ``costs - sums`` is to be minimized.
    parents, sides : int arrays, shape (m, n)
        The trees, as in `trees.Trees`; changed in place.
    lengths : Lengths
        The ties.
    most : int
        Pivots of an output after which it is left as it is.
    is_best : bool array, shape (m,)
        Written for these outputs: whether the ray is the best.
    """
    n = len(sums)
    room = new_room(parents[0], sides[0])
    found, gain = np.empty(n, np.int32), np.empty(n)
    total = 0
    for y in outputs:
        tree = new_tree(roots[y], parents[y], sides[y], room)
        grow(tree, lengths)
        tree.own[:] = costs[y] - sums
        tree.draw[0] = 1 + y
        pivots, is_best[y] = best_tree(tree, lengths, most, found, gain)
        total += pivots
    return total
