r"""Pivots in plain Python of a network simplex method with gains, which make an output's ray the best for given costs.

A pivot scales a subtree whose cost has the wrong sign until a tie to another node becomes tight, and attaches it there.
The costs in the subtree change by a factor; those on the paths from its old and its new parent to the root change, too.
"""

from __future__ import annotations

from math import exp

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask
from plain.trees import (
    TOLERANCE,
    Int,
    Lengths,
    Rough,
    Tree,
    attach,
    build,
    count_tie,
    detach,
    is_wrong,
    list_subtree,
    load_tree,
    new_workspace,
    sum_costs,
)

SINGLE_ERROR = 1e-6  # upper bound of the relative error of a sum in single precision
BLOCK = 64  # entries of a row that are compared at once, if the row has an entry that is small enough


def _is_drawn(draw: Int, equal: int) -> bool:
    """Whether the last one of ``equal`` candidates is chosen, if one of them is drawn at random."""
    draw[0] = (draw[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return bool((draw[0] >> 8) % equal == 0)


def _has_near(losses: Rough, v: int, height: Rough, begin: int, end: int, most: np.float32) -> bool:
    """Whether ``losses[v] + height`` has an entry of at most ``most`` between two positions."""
    hits = np.uint32(0)
    for z in range(begin, end):  # without a branch, and with a counter of 32 bits, so that the loop is vectorized
        hits = np.uint32(hits + np.uint32(losses[v, z] + height[z] <= most))
    return bool(hits)


def _border(sign: int, count: int, tree: Tree) -> tuple[int, int]:
    """Choose the nodes inside and outside of a moving subtree whose ties may stop it, for a metric.

    Let ``u`` exceed ``v`` by their whole tie. If both move up, a node that stops ``v`` stops ``u`` at least as soon. If
    both stay and others move up, ``v`` stops each node at least as soon as ``u`` does. So only nodes matter that are
    the lower one (for the second case: the higher one) at no tie of the tree. The smaller one of the two sets is
    listed in ``few``; the logarithms of the other one, times the returned direction, are written to ``rough``. Returns
    the size of ``few``, and the direction: ``sign`` if ``few`` moves, ``-sign`` if it stays.
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


def _at_most(best: float, own: float, extent: float) -> np.float32:
    """A sum in single precision above which the slack of a tie is larger than the best one for certain."""
    return np.float32(best + own + SINGLE_ERROR * (abs(best + own) + extent))


def _stop_in_table(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them, with a table of losses."""
    # Rows are compared in single precision first, to leave out ties with larger slacks.
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
                slack = max(table[row, place[z]] + way * log[z] - own, 0.0)
                if slack < best:
                    best, found, other, equal = slack, v, z, 1
                elif slack == best:
                    equal += 1
                    if _is_drawn(draw, equal):
                        found, other = v, z
            most = _at_most(best, own, extent)
    return (best, found, other) if way == sign else (best, other, found)


def _stop(sign: int, count: int, tree: Tree, lengths: Lengths) -> tuple[float, int, int]:
    """How far the first nodes of ``order`` can move, and the tie that stops them; a random one of several."""
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
            slack = max(loss[k] - sign * (log[v] - log[z]), 0.0)
            if slack < best:
                best, node, outside, equal = slack, v, z, 1
            elif slack == best:
                equal += 1
                if _is_drawn(draw, equal):
                    node, outside = v, z
    return best, node, outside


def _turn(top: int, node: int, outside: int, sign: int, tree: Tree) -> None:
    """Attach the subtree of ``top`` to ``outside`` by ``node``: ties on the path between them change direction."""
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


def _move(count: int, change: float, tree: Tree) -> None:
    """Add ``change`` to the logarithms of the first nodes of ``order``, and update entries and costs."""
    order, inside, log, entries, cost, size = tree.order, tree.inside, tree.log, tree.entries, tree.cost, tree.size
    factor, extent = exp(change), tree.extent[0]
    for at in range(count):
        x = order[at]
        inside[x] = False
        log[x] += change
        entries[x] *= factor
        cost[x] *= factor
        size[x] *= factor
        extent = max(extent, abs(log[x]))
    tree.extent[0] = extent


def _pivot(top: int, tree: Tree, lengths: Lengths) -> None:
    """Scale a subtree until a tie to another node becomes tight, and attach it there."""
    sign, left = -tree.side[top], tree.parent[top]
    order, inside = tree.order, tree.inside
    count = list_subtree(top, tree.first, tree.after, order)
    for at in range(count):
        inside[order[at]] = True
    if lengths.is_metric:
        count_tie(top, left, -sign, -1, tree.lower, tree.higher)
    step, node, outside = _stop(sign, count, tree, lengths)
    if lengths.is_metric:
        count_tie(node, outside, sign, 1, tree.lower, tree.higher)
    _move(count, sign * step, tree)
    _turn(top, node, outside, sign, tree)
    sum_costs(top, outside, tree)
    sum_costs(left, tree.root, tree)
    sum_costs(outside, tree.root, tree)


def _wrong(tree: Tree, found: Int, gain: Float) -> int:
    """Write the nodes whose subtrees have costs of the wrong sign, and these costs; return their number."""
    cost, side, size = tree.cost, tree.side, tree.size
    count = 0
    for x in range(len(cost)):
        if x != tree.root and cost[x] * side[x] > TOLERANCE * size[x]:
            found[count], gain[count] = x, abs(cost[x])
            count += 1
    return count


def best_tree(tree: Tree, lengths: Lengths, most: int, found: Int, gain: Float) -> tuple[int, bool]:
    """Pivot a tree until its ray is the best for its costs; return the number of pivots, and whether it is the best."""
    # Wrong subtrees are moved in the order of their costs, the largest first; those that become wrong by pivots follow
    # in the next pass. found and gain are memory for one number per node.
    for at in range(len(tree.parent) - 1, 0, -1):
        sum_costs(tree.order[at], tree.parent[tree.order[at]], tree)
    pivots, count = 0, _wrong(tree, found, gain)
    while count and pivots < most:
        for at in np.argsort(-gain[:count], kind="stable"):
            if is_wrong(found[at], tree):
                _pivot(found[at], tree, lengths)
                pivots += 1
        count = _wrong(tree, found, gain)
    return pivots, count == 0


def improve_trees(
    outputs: Int,
    roots: Int,
    parents: Int,
    sides: Int,
    costs: Float,
    sums: Float,
    lengths: Lengths,
    most: int,
    is_best: Mask,
) -> int:
    """Pivot some outputs' trees until their rays are the best for ``costs - sums``; return the number of pivots."""
    n = len(sums)
    workspace = new_workspace(n)
    found, gain = np.empty(n, np.int32), np.empty(n)
    total = 0
    for y in outputs:
        tree = load_tree(roots[y], parents[y], sides[y], workspace)
        build(tree, lengths)
        for x in range(n):
            tree.own[x] = costs[y, x] - sums[x]
        tree.draw[0] = 1 + y
        pivots, is_best[y] = best_tree(tree, lengths, most, found, gain)
        for x in range(n):
            parents[y, x], sides[y, x] = tree.parent[x], tree.side[x]
        total += pivots
    return total
