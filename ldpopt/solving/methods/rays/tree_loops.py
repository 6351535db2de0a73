r"""Compiled loops over one output's tree of tight ties: its lists, its entries, and the costs of its subtrees.

Numbers of a subtree are absolute: ``cost[x]`` is the sum of ``own[z] entries[z]`` over ``x`` and the nodes ``z`` below
it, ``size[x]`` the same sum with all costs made positive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask

Int = NDArray[np.signedinteger[Any]]
"""Numbers of nodes, of any size in bytes."""

Rough = NDArray[np.float32]
"""Numbers in single precision, to compare many at once."""

TOLERANCE = 1e-13
"""Share of a subtree's costs, all made positive, that counts as zero."""


class Lengths(NamedTuple):
    """Losses along ties: as compressed rows, neighbors in ascending order, or in a table of all pairs of inputs.

    The table has no rows where compressed rows are used; it is infinite where there is no tie. ``place`` is each
    node's place in the table, and ``rough`` has the losses between nodes in single precision. ``is_metric`` says that
    all pairs are tied, and each tie is a shortest chain.
    """

    start: Int
    neighbor: Int
    loss: Float
    table: Float
    rough: Rough
    place: Int
    is_metric: bool


class Tree(NamedTuple):
    """One output's tree and room to work: parents, sides, lists of children, and numbers for every node.

    ``lower`` and ``higher`` count the ties of the tree at which a node is the lower and the higher one; they are kept
    for a metric only. ``extent`` is at least the largest entry of ``log``, whatever its sign.

    Loops that are hot read these arrays into local names first: each access through the tuple counts references.
    """

    root: int
    parent: Int
    side: Int
    first: Int
    after: Int
    before: Int
    order: Int
    inside: Mask
    log: Float
    entries: Float
    own: Float
    cost: Float
    size: Float
    height: Float
    rough: Rough
    lower: Int
    higher: Int
    few: Int
    extent: Float
    draw: Int


@compiled
def new_room(n: int) -> Tree:
    """Room for a tree of that many nodes."""
    single, small, whole = np.float32, np.int32, np.float64
    return Tree(
        0,
        np.empty(n, small),
        np.empty(n, np.int8),
        np.empty(n, small),
        np.empty(n, small),
        np.empty(n, small),
        np.empty(n, small),
        np.zeros(n, np.bool_),
        np.empty(n, whole),
        np.empty(n, whole),
        np.empty(n, whole),
        np.empty(n, whole),
        np.empty(n, whole),
        np.empty(n, whole),
        np.empty(n, single),
        np.zeros(n, small),
        np.zeros(n, small),
        np.empty(n, small),
        np.zeros(1),
        np.ones(1, np.int64),
    )


@compiled
def tree_of(root: int, count: int, room: Tree) -> Tree:
    """A tree of the first few nodes of a room, whose parents and sides stand there."""
    return Tree(
        root,
        room.parent[:count],
        room.side[:count],
        room.first[:count],
        room.after[:count],
        room.before[:count],
        room.order[:count],
        room.inside[:count],
        room.log[:count],
        room.entries[:count],
        room.own[:count],
        room.cost[:count],
        room.size[:count],
        room.height[:count],
        room.rough[:count],
        room.lower[:count],
        room.higher[:count],
        room.few[:count],
        room.extent,
        room.draw,
    )


@compiled
def loaded(root: int, parent: Int, side: Int, room: Tree) -> Tree:
    """A tree of all nodes, whose parents and sides are copied to a room."""
    for x in range(len(parent)):
        room.parent[x], room.side[x] = parent[x], side[x]
    return tree_of(root, len(parent), room)


@compiled
def tie_loss(lengths: Lengths, x: int, u: int) -> float:
    """Loss along the tie of ``x`` and ``u``."""
    if len(lengths.table):
        return float(lengths.table[lengths.place[x], lengths.place[u]])
    low, high = lengths.start[x], lengths.start[x + 1]
    while low < high:
        middle = (low + high) // 2
        if lengths.neighbor[middle] < u:
            low = middle + 1
        else:
            high = middle
    return float(lengths.loss[low])


@compiled
def attach(x: int, u: int, first: Int, after: Int, before: Int) -> None:
    """Make ``x`` the first child of ``u``."""
    old = first[u]
    first[u], after[x], before[x] = x, old, -1
    if old >= 0:
        before[old] = x


@compiled
def detach(x: int, u: int, first: Int, after: Int, before: Int) -> None:
    """Take ``x`` from the children of ``u``."""
    if before[x] >= 0:
        after[before[x]] = after[x]
    else:
        first[u] = after[x]
    if after[x] >= 0:
        before[after[x]] = before[x]


@compiled
def below(x: int, first: Int, after: Int, order: Int) -> int:
    """Write the subtree of ``x`` into ``order``, parents before children; returns its number of nodes."""
    order[0] = x
    count, done = 1, 0
    while done < count:
        child = first[order[done]]
        while child >= 0:
            order[count] = child
            count += 1
            child = after[child]
        done += 1
    return count


@compiled
def count_tie(x: int, u: int, side: int, change: int, lower: Int, higher: Int) -> None:
    """Count the tie of ``x`` to ``u``, or no longer: ``change`` is 1 or -1."""
    low, high = (x, u) if side < 0 else (u, x)
    lower[low] += change
    higher[high] += change


@compiled
def grow(tree: Tree, lengths: Lengths) -> None:
    """Write lists of children, the nodes from the root on, and the entries."""
    root, parent, side, log, order = tree.root, tree.parent, tree.side, tree.log, tree.order
    first, after, before, lower, higher = tree.first, tree.after, tree.before, tree.lower, tree.higher
    first[:] = -1
    lower[:] = 0
    higher[:] = 0
    for x in range(len(parent)):
        if x != root:
            attach(x, parent[x], first, after, before)
            if lengths.is_metric:
                count_tie(x, parent[x], side[x], 1, lower, higher)
    below(root, first, after, order)
    log[root] = extent = 0.0
    for at in range(1, len(parent)):
        x = order[at]
        u = parent[x]
        log[x] = log[u] + side[x] * tie_loss(lengths, x, u)
        extent = max(extent, abs(log[x]))
    tree.extent[0] = extent
    for x in range(len(log)):
        tree.entries[x] = np.exp(log[x])


@compiled
def sum_up(begin: int, stop: int, tree: Tree) -> None:
    """Sum the costs of subtrees from those of their children: of a node and those above it, up to another one."""
    own, entries, costs, sizes = tree.own, tree.entries, tree.cost, tree.size
    parent, first, after = tree.parent, tree.first, tree.after
    x = begin
    while x != stop:
        cost = own[x] * entries[x]
        size = abs(cost)
        child = first[x]
        while child >= 0:
            cost += costs[child]
            size += sizes[child]
            child = after[child]
        costs[x], sizes[x] = cost, size
        x = parent[x]


@compiled
def is_wrong(x: int, tree: Tree) -> bool:
    """Whether moving a subtree away from its parent lowers the cost, beyond rounding."""
    return bool(tree.cost[x] * tree.side[x] > TOLERANCE * tree.size[x])


@compiled
def hang(root: int, parent: Int, side: Int) -> None:
    """Make another node the root of a tree: ties on the path from it to the old root change direction."""
    x, above, way = root, root, 0
    while True:
        old_above, old_way = parent[x], side[x]
        parent[x], side[x] = above, way
        if old_above == x:
            break
        x, above, way = old_above, x, -old_way


@compiled
def read(outputs: Int, roots: Int, parents: Int, sides: Int, lengths: Lengths, rays: Float) -> None:
    """Write the rays of some outputs, one a row."""
    room = new_room(parents.shape[1])
    for k in range(len(outputs)):
        y = outputs[k]
        tree = loaded(roots[y], parents[y], sides[y], room)
        grow(tree, lengths)
        for x in range(len(tree.entries)):
            rays[k, x] = tree.entries[x]


@compiled
def clip(tree: Tree) -> float:
    r"""Write what is left of the costs, in units of each node, when every tie has taken what it may; returns the price.

    A subtree's cost goes to its parent through their tie if it has the sign that the tie permits. Otherwise it
    stays; then it is written to ``height``, where 0 stands for nothing left. Such ties' ``cost`` becomes 0.
    """
    tree.cost[:] = 0.0
    for at in range(len(tree.order) - 1, 0, -1):
        x = tree.order[at]
        tree.cost[x] += tree.own[x] * tree.entries[x]
        if tree.cost[x] * tree.side[x] <= 0:
            tree.cost[tree.parent[x]] += tree.cost[x]
            tree.height[x] = 0.0
        else:
            tree.height[x], tree.cost[x] = tree.cost[x] / tree.entries[x], 0.0
    tree.height[tree.root] = tree.cost[tree.root] + tree.own[tree.root]
    return float(tree.height[tree.root])


@compiled
def price(
    outputs: Int,
    roots: Int,
    costs: Float,
    priced: Float,
    parents: Int,
    sides: Int,
    lengths: Lengths,
    share: Float,
    found: Float,
) -> None:
    """Price some outputs by their trees, whether these are the best or not.

    Shapes: ``priced`` (n,), ``share`` (n,), ``found`` (2, m).
    """
    room = new_room(len(priced))
    for y in outputs:
        tree = loaded(roots[y], parents[y], sides[y], room)
        grow(tree, lengths)
        total = 0.0
        for x in range(len(priced)):
            tree.own[x] = costs[y, x] - priced[x]
            total += tree.entries[x]
        found[0, y], found[1, y] = clip(tree), total
        for x in range(len(priced)):
            share[x] = min(share[x], tree.height[x])


@compiled
def _hand_less(tree: Tree, spare: float) -> None:
    """Lower the costs that subtrees hand to their parents, where these can do without.

    The root can do without ``spare`` and its price, a node without what it need not hand on itself.
    """
    room = tree.size
    room[tree.root] = spare + max(tree.height[tree.root], 0.0)
    for at in range(1, len(tree.order)):
        x = tree.order[at]
        u = tree.parent[x]
        less = min(max(tree.cost[x], 0.0), room[u])
        tree.cost[x] -= less
        room[u] -= less
        room[x] = less + max(tree.height[x], 0.0) * tree.entries[x]


@compiled
def multipliers(
    root: int, costs: Float, parent: Int, side: Int, lengths: Lengths, spare: float, node: Int, value: Float
) -> int:
    """Write the nodes whose ties to their parents have positive multipliers, and these; returns their number.

    ``spare`` is how much less than their tree's price they may prove: most ties far from the root then need none.
    """
    tree = loaded(root, parent, side, new_room(len(parent)))
    grow(tree, lengths)
    for x in range(len(costs)):
        tree.own[x] = costs[x]
    clip(tree)
    _hand_less(tree, spare)
    count = 0
    for x in range(len(parent)):
        if x != root and tree.cost[x] != 0:
            u = parent[x] if side[x] > 0 else x
            node[count], value[count] = x, abs(tree.cost[x]) / tree.entries[u]
            count += 1
    return count
