"""Outputs priced by views, in plain Python: only some inputs, the seen ones, get entries of their own.

An input that is not seen hands its cost over to a nearby input, which may do the same, until a seen one takes the sum.
Each handover is a tie of the output's tree, so that the tree of the seen inputs proves a price for all inputs.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask
from plain.pivots import best_tree
from plain.trees import (
    Int,
    Lengths,
    Rough,
    Tree,
    build,
    load_tree,
    new_workspace,
    small_tree,
)

ADDED_SHARE = 0.7  # share of a view's error that is caused by the inputs that are seen next
# A view is accepted if the (negative) price of its ray is at most this share of the price that it proves
ACCEPTED_SHARE = 0.5
FIRST_SEEN = 256  # number of seen inputs for which memory is allocated at first
TILE = 64  # number of rows of a table that are written together


class Handover(NamedTuple):
    """To which input each input hands its cost over."""

    order: Int  # inputs, each after the one that takes its cost
    above: Int  # the input that takes each one's cost
    fall: Float  # exp(-loss) to that input


def hand_over(costs: Float, sums: Float, is_seen: Mask, handover: Handover, g: Float, side: Int) -> None:
    """Write ``costs - sums`` to ``g``, after all handovers of inputs that are not seen."""
    # A positive cost counts with the entry's smallest value (side -1), a negative one with its largest (side 1).
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


def extend(node: Int, entries: Float, log: Float, table: Float, ray: Float) -> None:
    """Extend a ray from some nodes to all inputs, by the smallest entries in the cone."""
    for x in range(len(ray)):
        ray[x] = -np.inf
    for k in range(len(node)):
        row, height = table[node[k]], log[k]
        for x in range(len(row)):
            ray[x] = max(ray[x], height - row[x])
    for x in range(len(ray)):
        ray[x] = exp(ray[x])
    for k in range(len(node)):
        ray[node[k]] = entries[k]


def write_errors(g: Float, ray: Float, is_seen: Mask, handover: Handover, error: Float) -> float:
    """Write the cost of each handover's slack, by which the ray's price exceeds the proved one; return the sum."""
    total = 0.0
    for x in range(len(g)):
        error[x] = 0.0
        if not is_seen[x]:
            fall = handover.fall[x] if g[x] >= 0 else 1 / handover.fall[x]
            error[x] = max(g[x] * (ray[x] - fall * ray[handover.above[x]]), 0.0)
            total += error[x]
    return total


def _with_more_losses(known: int, count: int, node: Int, losses: Rough, part: Rough) -> Rough:
    """Losses between the first ``count`` inputs of ``node``, of which the first ones are known already."""
    # They are written to part, or to a larger array if it is too small.
    if count > len(part):
        larger = np.empty((min(2 * count, len(losses)), min(2 * count, len(losses))), np.float32)
        for a in range(known):
            for b in range(known):
                larger[a, b] = part[a, b]
        part = larger
    for a in range(known, count):
        for b in range(count):
            part[a, b] = losses[node[a], node[b]]
    for begin in range(0, known, TILE):  # few rows at a time, which stay in the processor's cache
        for a in range(known, count):
            for b in range(begin, min(begin + TILE, known)):
                part[b, a] = part[a, b]
    return part


def _lengths(table: Float, rough: Rough, place: Int) -> Lengths:
    """The losses between some inputs of a metric, given by their positions in the table."""
    return Lengths(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), table, rough, place, True)


def _holder(x: int, count: int, log: Float, node: Int, table: Float) -> int:
    """Position of the one of the first inputs of ``node`` whose tie gives another input the largest lower bound."""
    best, at = -np.inf, 0
    for k in range(count):
        value = log[k] - table[x, node[k]]
        if value > best:
            best, at = value, k
    return at


def _see_more(
    count: int, error: Float, total: float, node: Int, is_seen: Mask, tree: Tree, table: Float, parent: Int, side: Int
) -> int:
    """See the inputs that cause most of the error, too, as leaves of the tree; return the number of seen inputs."""
    left, size = (1 - ADDED_SHARE) * total, count
    ranked = np.argsort(-error, kind="stable")
    for x in ranked[: max(count, 16)]:
        if total <= left or error[x] <= 0:
            break
        total -= error[x]
        node[count], parent[count], side[count] = x, _holder(x, size, tree.log, node, table), -1
        is_seen[x] = True
        count += 1
    return count


def _numbered(is_seen: Mask, node: Int, place: Int) -> int:
    """Write the seen inputs, and the position of each among them; return their number."""
    count = 0
    for x in range(len(is_seen)):
        if is_seen[x]:
            node[count], place[x] = x, count
            count += 1
    return count


def _root_cost(tree: Tree) -> float:
    """Cost of the whole tree, from those of the root's subtrees."""
    cost = float(tree.own[tree.root])
    child = tree.first[tree.root]
    while child >= 0:
        cost += tree.cost[child]
        child = tree.after[child]
    return cost


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
    """Write the tree of the seen inputs and the handovers of the others as a tree of all inputs."""
    for k in range(count):
        parents[node[k]], sides[node[k]] = node[parent[k]], side[k]
    for x in range(len(parents)):
        if not is_seen[x]:
            parents[x], sides[x] = handover.above[x], side_of[x]


def improve_views(
    outputs: Int,
    roots: Int,
    parents: Int,
    sides: Int,
    costs: Float,
    sums: Float,
    table: Float,
    rough: Rough,
    handover: Handover,
    views: Mask,
    enough: Float,
    price: Float,
) -> int:
    """Find the best trees of some outputs, with growing views, until the proved prices reach ``enough``, shape (m,)."""
    # views, shape (m, n), are the seen inputs of each output. Writes the prices of the rays to price, shape (m,), and
    # returns the number of pivots.
    n, total = len(sums), 0
    workspace = new_workspace(n)
    node, place, parent, side = np.empty(n, np.int64), np.empty(n, np.int64), workspace.parent, workspace.side
    found, gain = np.empty(n, np.int32), np.empty(n)
    part = np.empty((FIRST_SEEN, FIRST_SEEN), np.float32)
    g, ray, error, side_of = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int8)
    for y in outputs:
        is_seen = views[y]
        count = _numbered(is_seen, node, place)
        for k in range(count):
            parent[k], side[k] = place[parents[y, node[k]]], sides[y, node[k]]
        known = 0
        while True:
            part = _with_more_losses(known, count, node, rough, part)
            known, lengths = count, _lengths(table, part, node)
            tree = small_tree(place[roots[y]], count, workspace)
            build(tree, lengths)
            tree.draw[0] = 1 + roots[y]
            hand_over(costs[y], sums, is_seen, handover, g, side_of)
            for k in range(count):
                tree.own[k] = g[node[k]]
            total += best_tree(tree, lengths, np.iinfo(np.int64).max, found, gain)[0]
            proved = _root_cost(tree)
            price[y] = proved
            if proved >= enough[y] or count == n:
                break
            extend(node[:count], tree.entries, tree.log, table, ray)
            wrong = write_errors(g, ray, is_seen, handover, error)
            price[y] = proved + wrong
            if price[y] <= ACCEPTED_SHARE * proved:
                break
            count = _see_more(count, error, wrong, node, is_seen, tree, table, parent, side)
        _write(count, node, parent, side, parents[y], sides[y], is_seen, handover, side_of)
    return total


def write_extended_rays(
    outputs: Int, roots: Int, parents: Int, sides: Int, table: Float, views: Mask, rays: Float
) -> None:
    """Write the rays of some outputs, extended from the seen inputs by the smallest entries, as rows."""
    n = len(table)
    workspace, lengths = new_workspace(n), _lengths(table, np.empty((0, 0), np.float32), np.arange(n))
    node, log, entries = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for k in range(len(outputs)):
        y = outputs[k]
        tree = load_tree(roots[y], parents[y], sides[y], workspace)
        build(tree, lengths)
        count = 0
        for x in range(n):
            if views[y, x]:
                node[count], log[count], entries[count] = x, tree.log[x], tree.entries[x]
                count += 1
        extend(node[:count], entries, log, table, rays[k])
