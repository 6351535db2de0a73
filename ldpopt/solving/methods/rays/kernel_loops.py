"""Compiled loops that find the trees of kernel columns where a table has the losses of all pairs of inputs."""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.solving.methods.rays.tree_loops import Int

CLOSE = 1 - 1e-9
"""A chain is shorter than another one if it is so by more than rounding."""


@compiled
def _nearest(row: Float, reached: Float) -> int:
    """Where ``row + reached`` is least."""
    best, at = np.inf, 0
    for z in range(len(row)):
        if row[z] + reached[z] < best:
            best, at = row[z] + reached[z], z
    return at


@compiled
def kernel_tree(root: int, table: Float, parent: Int, reached: Float) -> float:
    """Write a tree of shortest chains, where every tie of the root is a shortest chain; returns the largest loss.

    Shapes: ``table`` (n, n), ``parent``, ``reached`` (n,).

    Notes
    -----
    Inputs that are tied to the root hang from it. Dijkstra's algorithm finds the others, k of them, in
    ``k n`` operations.
    """
    n = len(table)
    waiting, count = np.empty(n, np.int64), 0
    tied = np.empty(n)
    for x in range(n):
        tied[x] = reached[x] = 0.0 if x == root else table[root, x]
        parent[x] = root
        if tied[x] == np.inf:
            waiting[count] = x
            count += 1
    for at in range(count):
        x = waiting[at]
        u = _nearest(table[x], tied)
        parent[x], reached[x] = u, tied[u] + table[x, u]
    while count:
        nearest = 0
        for at in range(count):
            if reached[waiting[at]] < reached[waiting[nearest]]:
                nearest = at
        x = waiting[nearest]
        count -= 1
        waiting[nearest] = waiting[count]
        for at in range(count):
            z = waiting[at]
            if reached[x] + table[x, z] < reached[z]:
                parent[z], reached[z] = x, reached[x] + table[x, z]
    return float(reached.max())


@compiled
def is_shortest(reached: Float, table: Float) -> bool:
    """Whether no tie shortens the losses from a root."""
    for z in range(len(table)):
        first, shorter = reached[z], 0
        for x in range(len(table)):
            shorter += first + table[z, x] < CLOSE * reached[x]
        if shorter:
            return False
    return True
