"""The list of all extreme rays against a plain one: every tree of tight ties, kept if no tie is broken."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from ldpopt import GraphDP, MetricDP
from ldpopt.privacy.cones.rays import cone_ties
from ldpopt.privacy.cones.vertices import lengths_of, vertices


def by_trees(ties):
    """All potentials whose tight ties contain a spanning tree, each tie one way or the other."""
    n = len(ties.paths)
    length = {(int(x), int(z)): int(size) for x, z, size in zip(ties.first, ties.second, ties.length, strict=True)}
    found = set()
    for tree in itertools.combinations([pair for pair in length if pair[0] < pair[1]], n - 1):
        if not nx.is_tree(nx.Graph(tree)) or len({place for pair in tree for place in pair}) < n:
            continue
        for turned in itertools.product((False, True), repeat=n - 1):
            height = {0: 0}
            steps = [pair[::-1] if turn else pair for pair, turn in zip(tree, turned, strict=True)]
            while len(height) < n:  # u_x - u_z = length of a tie from x to z
                for x, z in steps:
                    if z in height and x not in height:
                        height[x] = height[z] + length[x, z]
                    elif x in height and z not in height:
                        height[z] = height[x] - length[x, z]
            if all(height[x] - height[z] <= size for (x, z), size in length.items()):
                top = max(height.values())
                found.add(tuple(top - height[place] for place in range(n)))
    return sorted(found)


CASES = {
    "path": lambda: (GraphDP(1.0, nx.path_graph(4)), 4),
    "cycle": lambda: (GraphDP(1.0, nx.cycle_graph(5)), 5),
    "grid": lambda: (GraphDP(1.0, nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 3))), 6),
    "complete": lambda: (GraphDP(1.0, nx.complete_graph(5)), 5),
    "points": lambda: (MetricDP.of_points(1.0, [[0, 0], [1, 0], [0, 2], [3, 3]], metric="manhattan"), 4),
    "line": lambda: (MetricDP(0.5, np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)), 5),
    "star and path": lambda: (GraphDP(2.0, nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 3)])), 5),
}


@pytest.mark.parametrize("case", CASES)
def test_the_list_of_rays_is_complete(case):
    privacy, n = CASES[case]()
    ties = lengths_of(cone_ties(privacy, range(n)))
    assert [tuple(row) for row in vertices(ties).tolist()] == by_trees(ties)


@pytest.mark.parametrize("seed", range(6))
def test_the_list_of_rays_of_random_metrics_is_complete(seed):
    rng = np.random.default_rng(seed)
    n = 4 + seed % 2
    graph = nx.Graph()
    graph.add_weighted_edges_from((x, z, int(rng.integers(1, 5))) for x in range(n) for z in range(x))
    distance = np.array([[nx.shortest_path_length(graph, x, z, "weight") for z in range(n)] for x in range(n)], float)
    ties = lengths_of(cone_ties(MetricDP(1.0, distance), range(n)))
    assert [tuple(row) for row in vertices(ties).tolist()] == by_trees(ties)
