r"""Compiled pivots of a network simplex with gains: every output's tree until its ray is the best for given costs.

A pivot scales a subtree whose cost has the wrong sign until a tie to another node becomes tight, and hangs it there.
Costs change inside of the subtree by a factor, and along the paths from both its parents to the root.
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.tree_loops import (
    TOLERANCE,
    Int,
    Lengths,
    Rough,
    Tree,
    attach,
    below,
    count_tie,
    detach,
    grow,
    is_wrong,
    loaded,
    new_room,
    sum_up,
)

ROUGHLY = 1e-6
"""More than the relative error of a sum in single precision."""

BLOCK = 64
"""Entries of a row that are compared at once, where one of the row is near enough."""


@compiled
def _is_drawn(draw: Int, equal: int) -> bool:
    """Whether the last of some equal things is the one that is drawn from them."""
    draw[0] = (draw[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return bool((draw[0] >> 8) % equal == 0)


@compiled
def _has_near(losses: Rough, v: int, height: Rough, begin: int, end: int, most: np.float32) -> bool:
    """Whether the sum of an entry of a row and a height is small between two places."""
    hits = np.uint32(0)
    for z in range(begin, end):  # without a branch, and counted in as many bits, so that several are compared at once
        hits = np.uint32(hits + np.uint32(losses[v, z] + height[z] <= most))
    return bool(hits)


@compiled
def _border(sign: int, count: int, tree: Tree) -> tuple[int, int]:
    """Choose which nodes of a subtree's border to compare with which; returns how many, and the way of the others.

    In a metric few nodes count. Let ``u`` be higher than ``v`` by their whole tie, and both move up: a node that stops
    ``v`` stops ``u`` at least as soon. If both stay and others move up: what ``u`` stops ``v`` stops at least as soon.
    So only nodes count that are lower, or higher, at no tie of the tree. Those of one side are listed in ``few``, the
    heights of the other side's are written to ``rough``, times the way: ``sign``, or less it where the moving ones are
    the others.
    """
    inside, log, few, rough = tree.inside, tree.log, tree.few, tree.rough
    mine, theirs = tree.lower, tree.higher
    if sign < 0:
        mine, theirs = theirs, mine
    inner = outer = 0
    for at in range(count):
        few[inner] = tree.order[at]
        inner += mine[few[inner]] == 0
    for x in range(len(log)):
        outer += (theirs[x] == 0) & (not inside[x])
    if inner <= outer:
        for x in range(len(log)):
            rough[x] = np.inf if inside[x] | (theirs[x] != 0) else sign * log[x]
        return inner, sign
    outer = 0
    for x in range(len(log)):
        few[min(outer, len(few) - 1)] = x
        outer += (theirs[x] == 0) & (not inside[x])
        rough[x] = -sign * log[x] if inside[x] & (mine[x] == 0) else np.inf
    return outer, -sign


@compiled
def _at_most(best: float, own: float, extent: float) -> np.float32:
    """A sum in single precision above which a room is surely larger than the best one."""
    return np.float32(best + own + ROUGHLY * (abs(best + own) + extent))


@compiled
def _stop_in_table(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them: with a table of losses.

    Rows are compared in single precision first, which only leaves out what is surely farther.
    """
    size, way = _border(sign, count, tree)
    log, few, height, draw = tree.log, tree.few, tree.rough, tree.draw
    table, rough, place = lengths.table, lengths.rough, lengths.place
    best, found, other, equal, extent, n = np.inf, -1, -1, 0, tree.extent[0], len(tree.log)
    for at in range(size):
        v = few[at]
        own, row = way * log[v], place[v]
        most = _at_most(best, own, extent)
        if not _has_near(rough, v, height, 0, n, most):
            continue
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            if not _has_near(rough, v, height, begin, end, most):
                continue
            for z in range(begin, end):
                if rough[v, z] + height[z] > most or height[z] == np.inf:
                    continue
                room = max(table[row, place[z]] + way * log[z] - own, 0.0)
                if room < best:
                    best, found, other, equal = room, v, z, 1
                elif room == best:
                    equal += 1
                    if _is_drawn(draw, equal):
                        found, other = v, z
            most = _at_most(best, own, extent)
    return (best, found, other) if way == sign else (best, other, found)


@compiled
def _stop(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them; of several ones, a random one."""
    if len(lengths.table):
        return _stop_in_table(sign, count, tree, lengths)
    order, inside, log, draw = tree.order, tree.inside, tree.log, tree.draw
    start, neighbor, loss = lengths.start, lengths.neighbor, lengths.loss
    best, node, outside, equal = np.inf, -1, -1, 0
    for at in range(count):
        v = order[at]
        for k in range(start[v], start[v + 1]):
            z = neighbor[k]
            if inside[z]:
                continue
            room = max(loss[k] - sign * (log[v] - log[z]), 0.0)
            if room < best:
                best, node, outside, equal = room, v, z, 1
            elif room == best:
                equal += 1
                if _is_drawn(draw, equal):
                    node, outside = v, z
    return best, node, outside


@compiled
def _turn(top: int, node: int, outside: int, sign: int, tree: Tree) -> None:
    """Hang the subtree of ``top`` at ``outside`` by ``node``: ties on the path between them change direction."""
    parent, side, first, after, before = tree.parent, tree.side, tree.first, tree.after, tree.before
    x, above, way = node, outside, sign
    while True:
        old_above, old_way = parent[x], side[x]
        detach(x, old_above, first, after, before)
        attach(x, above, first, after, before)
        parent[x], side[x] = above, way
        if x == top:
            break
        x, above, way = old_above, x, -old_way


@compiled
def _move(count: int, change: float, tree: Tree) -> None:
    """Change the logarithms of the first nodes of ``order``, and all numbers that go with them."""
    order, inside, log, entries, cost, size = tree.order, tree.inside, tree.log, tree.entries, tree.cost, tree.size
    factor, extent = np.exp(change), tree.extent[0]
    for at in range(count):
        x = order[at]
        inside[x] = False
        log[x] += change
        entries[x] *= factor
        cost[x] *= factor
        size[x] *= factor
        extent = max(extent, abs(log[x]))
    tree.extent[0] = extent


@compiled
def _pivot(top: int, tree: Tree, lengths: Lengths) -> None:
    """Scale a subtree until a tie to another node becomes tight, and hang it there."""
    sign, left = -tree.side[top], tree.parent[top]
    order, inside = tree.order, tree.inside
    count = below(top, tree.first, tree.after, order)
    for at in range(count):
        inside[order[at]] = True
    if lengths.is_metric:
        count_tie(top, left, -sign, -1, tree.lower, tree.higher)
    step, node, outside = _stop(sign, count, tree, lengths)
    if lengths.is_metric:
        count_tie(node, outside, sign, 1, tree.lower, tree.higher)
    _move(count, sign * step, tree)
    _turn(top, node, outside, sign, tree)
    sum_up(top, outside, tree)
    sum_up(left, tree.root, tree)
    sum_up(outside, tree.root, tree)


@compiled
def _wrong(tree: Tree, found: Int, gain: Float) -> int:
    """Write the nodes whose subtrees have a wrong cost, and these costs; returns their number."""
    cost, side, size = tree.cost, tree.side, tree.size
    count = 0
    for x in range(len(cost)):
        if x != tree.root and cost[x] * side[x] > TOLERANCE * size[x]:
            found[count], gain[count] = x, abs(cost[x])
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

    Shapes: ``roots`` (m,), ``costs``, ``sums`` (m, n), ``parents``, ``sides`` (m, n), ``is_best`` (m,).
    """
    n = len(sums)
    room = new_room(n)
    found, gain = np.empty(n, np.int32), np.empty(n)
    total = 0
    for y in outputs:
        tree = loaded(roots[y], parents[y], sides[y], room)
        grow(tree, lengths)
        for x in range(n):
            tree.own[x] = costs[y, x] - sums[x]
        tree.draw[0] = 1 + y
        pivots, is_best[y] = best_tree(tree, lengths, most, found, gain)
        for x in range(n):
            parents[y, x], sides[y, x] = tree.parent[x], tree.side[x]
        total += pivots
    return total
