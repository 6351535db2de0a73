"""Compiled loops that price an output by a view: few inputs are seen, and stand for those near to them.

Costs of inputs that are not seen are handed on, input by input, to one nearby, until a seen one takes them. These
handovers are ties of the output's tree, so that the tree of what is seen proves a price of all inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask
from ldpopt.solving.methods.rays.pivot_loops import best_tree
from ldpopt.solving.methods.rays.tree_loops import Int, Lengths, Rough, Tree, grow, loaded, new_room, tree_of

ADDED = 0.7
"""Share of a view's error that the inputs cause which are seen next."""

CLOSE = 0.5
"""A view is good enough if its ray costs less than this share of the price that it proves."""

FIRST = 256
"""Number of seen inputs for which there is room at first."""

TILE = 64
"""Rows of a table that are written together."""


class Handover(NamedTuple):
    """Inputs in an order, the earlier one that takes each one's costs, and the exponential of minus the loss to it."""

    order: Int
    above: Int
    fall: Float


@compiled
def gather(costs: Float, sums: Float, is_seen: Mask, handover: Handover, g: Float, side: Int) -> None:
    """Write ``costs - sums`` to ``g`` when inputs that are not seen have handed on theirs.

    What is positive counts at its least, ``side`` -1, what is negative at its largest.
    """
    for x in range(len(g)):
        g[x] = costs[x] - sums[x]
    for k in range(len(g) - 1, 0, -1):
        x = handover.order[k]
        if is_seen[x]:
            continue
        if g[x] >= 0:
            g[handover.above[x]] += g[x] * handover.fall[x]
            side[x] = -1
        else:
            g[handover.above[x]] += g[x] / handover.fall[x]
            side[x] = 1


@compiled
def extend(node: Int, entries: Float, log: Float, table: Float, ray: Float) -> None:
    """Extend a ray from some nodes to all inputs, by the least entries that the cone permits."""
    for x in range(len(ray)):
        ray[x] = -np.inf
    for k in range(len(node)):
        row, height = table[node[k]], log[k]
        for x in range(len(row)):
            ray[x] = max(ray[x], height - row[x])
    for x in range(len(ray)):
        ray[x] = np.exp(ray[x])
    for k in range(len(node)):
        ray[node[k]] = entries[k]


@compiled
def slacks(g: Float, ray: Float, is_seen: Mask, handover: Handover, error: Float) -> float:
    """Write what each handover's slack adds to the ray's cost, beyond the price that is proved; returns the sum."""
    total = 0.0
    for x in range(len(g)):
        error[x] = 0.0
        if not is_seen[x]:
            fall = handover.fall[x] if g[x] >= 0 else 1 / handover.fall[x]
            error[x] = max(g[x] * (ray[x] - fall * ray[handover.above[x]]), 0.0)
            total += error[x]
    return total


@compiled
def _wider(known: int, count: int, node: Int, losses: Rough, part: Rough) -> Rough:
    """Losses between the first inputs of ``node``, of which those between some are known already.

    They are written to the given room, or to a larger one if there are too many.
    """
    if count > len(part):
        larger = np.empty((min(2 * count, len(losses)), min(2 * count, len(losses))), np.float32)
        for a in range(known):
            for b in range(known):
                larger[a, b] = part[a, b]
        part = larger
    for a in range(known, count):
        for b in range(count):
            part[a, b] = losses[node[a], node[b]]
    for begin in range(0, known, TILE):  # few rows at a time, which stay near the processor
        for a in range(known, count):
            for b in range(begin, min(begin + TILE, known)):
                part[b, a] = part[a, b]
    return part


@compiled
def _lengths(table: Float, rough: Rough, place: Int) -> Lengths:
    """The losses between some inputs of a metric, whose places in the table are given."""
    return Lengths(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), table, rough, place, True)


@compiled
def _holder(x: int, count: int, log: Float, node: Int, table: Float) -> int:
    """The place of the one of the first few inputs of ``node`` that holds another input highest."""
    best, at = -np.inf, 0
    for k in range(count):
        value = log[k] - table[x, node[k]]
        if value > best:
            best, at = value, k
    return at


@compiled
def _see_more(
    count: int, error: Float, total: float, node: Int, is_seen: Mask, tree: Tree, table: Float, parent: Int, side: Int
) -> int:
    """See the inputs that cause most of the error, each a leaf of what holds it highest; returns how many are seen."""
    left, size = (1 - ADDED) * total, count
    ranked = np.argsort(-error)
    for x in ranked[: max(count, 16)]:
        if total <= left or error[x] <= 0:
            break
        total -= error[x]
        node[count], parent[count], side[count] = x, _holder(x, size, tree.log, node, table), -1
        is_seen[x] = True
        count += 1
    return count


@compiled
def _numbered(is_seen: Mask, node: Int, place: Int) -> int:
    """Write the seen inputs, and the place of each among them; returns their number."""
    count = 0
    for x in range(len(is_seen)):
        if is_seen[x]:
            node[count], place[x] = x, count
            count += 1
    return count


@compiled
def _root_cost(tree: Tree) -> float:
    """Cost of the whole tree, from those of the root's subtrees."""
    cost = float(tree.own[tree.root])
    child = tree.first[tree.root]
    while child >= 0:
        cost += tree.cost[child]
        child = tree.after[child]
    return cost


@compiled
def _write(
    count: int,
    node: Int,
    parent: Int,
    side: Int,
    parents: Int,
    sides: Int,
    is_seen: Mask,
    handover: Handover,
    side_of: Int,
) -> None:
    """Write the tree of the seen inputs, and the handovers of the others, as one tree of all inputs."""
    for k in range(count):
        parents[node[k]], sides[node[k]] = node[parent[k]], side[k]
    for x in range(len(parents)):
        if not is_seen[x]:
            parents[x], sides[x] = handover.above[x], side_of[x]


@compiled
def look(
    outputs: Int,
    roots: Int,
    costs: Float,
    sums: Float,
    parents: Int,
    sides: Int,
    table: Float,
    rough: Rough,
    handover: Handover,
    views: Mask,
    enough: Float,
    price: Float,
) -> int:
    """Find the best trees of some outputs, whose views grow until these prove enough; returns the number of pivots.

    Shapes: ``table``, ``rough`` (n, n), ``views`` (m, n), ``enough`` (m,), ``price`` (m,).
    """
    n, total = len(sums), 0
    room = new_room(n)
    node, place, parent, side = np.empty(n, np.int64), np.empty(n, np.int64), room.parent, room.side
    found, gain = np.empty(n, np.int32), np.empty(n)
    part = np.empty((FIRST, FIRST), np.float32)
    g, ray, error, side_of = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int8)
    for y in outputs:
        is_seen = views[y]
        count = _numbered(is_seen, node, place)
        for k in range(count):
            parent[k], side[k] = place[parents[y, node[k]]], sides[y, node[k]]
        known = 0
        while True:
            part = _wider(known, count, node, rough, part)
            known, lengths = count, _lengths(table, part, node)
            tree = tree_of(place[roots[y]], count, room)
            grow(tree, lengths)
            tree.draw[0] = 1 + roots[y]
            gather(costs[y], sums, is_seen, handover, g, side_of)
            for k in range(count):
                tree.own[k] = g[node[k]]
            total += best_tree(tree, lengths, np.iinfo(np.int64).max, found, gain)[0]
            proved = _root_cost(tree)
            price[y] = proved
            if proved >= enough[y] or count == n:
                break
            extend(node[:count], tree.entries, tree.log, table, ray)
            wrong = slacks(g, ray, is_seen, handover, error)
            price[y] = proved + wrong
            if price[y] <= CLOSE * proved:
                break
            count = _see_more(count, error, wrong, node, is_seen, tree, table, parent, side)
        _write(count, node, parent, side, parents[y], sides[y], is_seen, handover, side_of)
    return total


@compiled
def read_extended(
    outputs: Int,
    roots: Int,
    parents: Int,
    sides: Int,
    table: Float,
    views: Mask,
    rays: Float,
) -> None:
    """Write the rays of some outputs, extended from what is seen by the least entries."""
    n = len(table)
    room, lengths = new_room(n), _lengths(table, np.empty((0, 0), np.float32), np.arange(n))
    node, log, entries = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for k in range(len(outputs)):
        y = outputs[k]
        tree = loaded(roots[y], parents[y], sides[y], room)
        grow(tree, lengths)
        count = 0
        for x in range(n):
            if views[y, x]:
                node[count], log[count], entries[count] = x, tree.log[x], tree.entries[x]
                count += 1
        extend(node[:count], entries, log, table, rays[k])
