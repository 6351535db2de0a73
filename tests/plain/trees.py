r"""Loops over one output's tree of tight ties, in plain Python: lists of children, entries, and costs of subtrees.

The cost of a subtree is ``cost[x]``, the sum of ``own[z] entries[z]`` over ``x`` and the nodes ``z`` below it;
``size[x]`` is the sum of the absolute values.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask

Int = NDArray[np.signedinteger[Any]]  # array of nodes, by integers of any size
Rough = NDArray[np.float32]  # array in single precision, for fast comparisons
TOLERANCE = 1e-13  # cost of a subtree, as a share of its ``size``, that counts as zero


class Lengths(NamedTuple):
    """Losses along ties, either as compressed rows or in a table of all pairs of inputs; the other one is empty."""

    start: Int  # compressed rows, with neighbors in ascending order
    neighbor: Int
    loss: Float
    table: Float  # infinite without a tie
    rough: Rough  # losses between nodes, in single precision
    place: Int  # position of each node in the table
    is_metric: bool  # whether all pairs are tied, and each tie is a shortest chain

    @classmethod
    def of(cls, given: Any) -> Lengths:
        """The losses that loops in C read, with all inputs in their order."""
        numbers = np.arange(given.nodes)
        return cls(given.start, given.neighbor, given.loss, given.table, given.rough, numbers, given.is_metric)


class Tree(NamedTuple):
    """One output's tree: parents, lists of children, and numbers of every node; and memory for the loops."""

    root: int
    parent: Int
    side: Int  # whether the tie to the parent holds the node at its smallest (-1) or largest (1) value
    first: Int  # first child, or -1
    after: Int  # next child of the same parent, or -1
    before: Int  # previous child of the same parent, or -1
    order: Int  # nodes, parents before children
    inside: Mask  # whether a node is in the subtree that moves
    log: Float  # logarithms of the entries
    entries: Float
    own: Float  # cost of each node's entry
    cost: Float
    size: Float
    height: Float  # cost that a subtree does not pass to its parent
    rough: Rough  # logarithms that a pivot compares, in single precision
    lower: Int  # for a metric: number of the tree's ties at which a node is the lower one,
    higher: Int  # and the higher one
    few: Int  # nodes that a pivot compares
    extent: Float  # (1,): at least the largest absolute value of log
    draw: Int  # (1,): state of the random draws


def new_workspace(n: int) -> Tree:
    """Memory for a tree of this many nodes."""
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


def small_tree(root: int, count: int, workspace: Tree) -> Tree:
    """The tree of the first nodes of a workspace, which has their parents and sides already."""
    return Tree(
        root,
        workspace.parent[:count],
        workspace.side[:count],
        workspace.first[:count],
        workspace.after[:count],
        workspace.before[:count],
        workspace.order[:count],
        workspace.inside[:count],
        workspace.log[:count],
        workspace.entries[:count],
        workspace.own[:count],
        workspace.cost[:count],
        workspace.size[:count],
        workspace.height[:count],
        workspace.rough[:count],
        workspace.lower[:count],
        workspace.higher[:count],
        workspace.few[:count],
        workspace.extent,
        workspace.draw,
    )


def load_tree(root: int, parent: Int, side: Int, workspace: Tree) -> Tree:
    """The tree of all nodes with these parents and sides, which are copied to a workspace."""
    for x in range(len(parent)):
        workspace.parent[x], workspace.side[x] = parent[x], side[x]
    return small_tree(root, len(parent), workspace)


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


def attach(x: int, u: int, first: Int, after: Int, before: Int) -> None:
    """Make ``x`` the first child of ``u``."""
    old = first[u]
    first[u], after[x], before[x] = x, old, -1
    if old >= 0:
        before[old] = x


def detach(x: int, u: int, first: Int, after: Int, before: Int) -> None:
    """Remove ``x`` from the children of ``u``."""
    if before[x] >= 0:
        after[before[x]] = after[x]
    else:
        first[u] = after[x]
    if after[x] >= 0:
        before[after[x]] = before[x]


def list_subtree(x: int, first: Int, after: Int, order: Int) -> int:
    """Write the nodes of a subtree into ``order``, parents before children, and return their number."""
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


def count_tie(x: int, u: int, side: int, change: int, lower: Int, higher: Int) -> None:
    """Add the tie of ``x`` to ``u`` to the counts (``change`` 1), or remove it (-1)."""
    low, high = (x, u) if side < 0 else (u, x)
    lower[low] += change
    higher[high] += change


def build(tree: Tree, lengths: Lengths) -> None:
    """Write lists of children, the order of the nodes, and the entries."""
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
    list_subtree(root, first, after, order)
    log[root] = extent = 0.0
    for at in range(1, len(parent)):
        x = order[at]
        u = parent[x]
        log[x] = log[u] + side[x] * tie_loss(lengths, x, u)
        extent = max(extent, abs(log[x]))
    tree.extent[0] = extent
    for x in range(len(log)):
        tree.entries[x] = exp(log[x])


def sum_costs(begin: int, stop: int, tree: Tree) -> None:
    """Update the costs of the subtrees of ``begin`` and its ancestors below ``stop``."""
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


def is_wrong(x: int, tree: Tree) -> bool:
    """Whether moving a subtree away from its parent lowers the cost by more than rounding errors."""
    return bool(tree.cost[x] * tree.side[x] > TOLERANCE * tree.size[x])


def reroot(root: int, parent: Int, side: Int) -> None:
    """Make another node the root of a tree: ties on the path to the old root change direction."""
    x, above, way = root, root, 0
    while True:
        old_above, old_way = parent[x], side[x]
        parent[x], side[x] = above, way
        if old_above == x:
            break
        x, above, way = old_above, x, -old_way


def write_rays(outputs: Int, roots: Int, parents: Int, sides: Int, lengths: Lengths, rays: Float) -> None:
    """Write the rays of some outputs as rows."""
    workspace = new_workspace(parents.shape[1])
    for k in range(len(outputs)):
        y = outputs[k]
        tree = load_tree(roots[y], parents[y], sides[y], workspace)
        build(tree, lengths)
        for x in range(len(tree.entries)):
            rays[k, x] = tree.entries[x]


def pass_costs_up(tree: Tree) -> float:
    r"""Pass the costs of subtrees to their parents as far as the ties permit, and return the root's total, the price.

    A subtree's cost is added to its parent's if it has the sign that their tie permits. Otherwise it stays, divided by
    the node's entry, in ``height``, and its ``cost`` becomes 0; ``height`` is 0 for the other nodes.
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


def price_trees(
    outputs: Int,
    roots: Int,
    parents: Int,
    sides: Int,
    costs: Float,
    priced: Float,
    lengths: Lengths,
    share: Float,
    found: Float,
) -> None:
    """Price some outputs by their trees, optimal or not, at multipliers ``priced``, shape (n,)."""
    # Lowers share, shape (n,), to the costs that remain, and writes prices and sums of entries to found, (2, m).
    workspace = new_workspace(len(priced))
    for y in outputs:
        tree = load_tree(roots[y], parents[y], sides[y], workspace)
        build(tree, lengths)
        total = 0.0
        for x in range(len(priced)):
            tree.own[x] = costs[y, x] - priced[x]
            total += tree.entries[x]
        found[0, y], found[1, y] = pass_costs_up(tree), total
        for x in range(len(priced)):
            share[x] = min(share[x], tree.height[x])


def _lower_multipliers(tree: Tree, spare: float) -> None:
    """Lower the costs that subtrees pass to their parents, as far as the proof of the price permits."""
    # The root can spare spare and a positive price, any other node what its parent can spare and its own remainder.
    spare_at = tree.size
    spare_at[tree.root] = spare + max(tree.height[tree.root], 0.0)
    for at in range(1, len(tree.order)):
        x = tree.order[at]
        u = tree.parent[x]
        less = min(max(tree.cost[x], 0.0), spare_at[u])
        tree.cost[x] -= less
        spare_at[u] -= less
        spare_at[x] = less + max(tree.height[x], 0.0) * tree.entries[x]


def write_multipliers(
    root: int, parent: Int, side: Int, costs: Float, lengths: Lengths, spare: float, node: Int, value: Float
) -> int:
    """Write the nodes whose ties to their parents have positive multipliers, and the multipliers; return their number.

    They prove the tree's price less ``spare``; then most ties far from the root need no multiplier.
    """
    tree = load_tree(root, parent, side, new_workspace(len(parent)))
    build(tree, lengths)
    for x in range(len(costs)):
        tree.own[x] = costs[x]
    pass_costs_up(tree)
    _lower_multipliers(tree, spare)
    count = 0
    for x in range(len(parent)):
        if x != root and tree.cost[x] != 0:
            u = parent[x] if side[x] > 0 else x
            node[count], value[count] = x, abs(tree.cost[x]) / tree.entries[u]
            count += 1
    return count
