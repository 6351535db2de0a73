"""Neighbor graphs and breadth-first layers, against definitions spelled out."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused
from ldpopt.errors import StatementError
from ldpopt.privacy.neighbors import bfs_partition, complete, cycle, grid, path, within


def edges(graph: Any) -> set[frozenset[Any]]:
    return {frozenset(edge) for edge in graph.edges}


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_families_agree_with_networkx(n: int) -> None:
    assert edges(complete(range(n))) == edges(nx.complete_graph(n))
    assert edges(path(range(n))) == edges(nx.path_graph(n))
    if n >= 3:
        assert edges(cycle(range(n))) == edges(nx.cycle_graph(n))
    for m in (1, 2, 5):
        assert edges(grid(n, m)) == edges(nx.grid_2d_graph(n, m))
        assert list(grid(n, m)) == [(i, j) for i in range(n) for j in range(m)]


def test_nodes_keep_the_order_of_the_labels() -> None:
    names = ["z", 3, "a", 1.5]
    for build in (complete, path, cycle):
        assert list(build(names)) == names
    assert list(grid(2, 2, names)) == names
    assert edges(grid(2, 2, names)) == edges(cycle(["z", 3, 1.5, "a"]))
    assert list(path(iter("ab"))) == ["a", "b"]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_within_connects_points_up_to_the_radius(metric: str) -> None:
    points = np.random.default_rng(0).integers(0, 5, (12, 2))
    order = 2 if metric == "euclidean" else 1
    expected = {
        frozenset((i, j))
        for i, j in itertools.combinations(range(12), 2)
        if np.linalg.norm(points[i] - points[j], order) <= 2
    }
    assert edges(within(points, metric, 2)) == expected
    named = within({chr(65 + i): point for i, point in enumerate(points)}, metric, 2)
    assert len(named) == 12
    assert len(named.edges) == len(expected)


def test_within_takes_a_function_and_numbers_on_a_line() -> None:
    words = {"cat": "cat", "car": "car", "dog": "dog"}
    hamming = within(words, lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)), 1)
    assert edges(hamming) == {frozenset(("cat", "car"))}
    assert edges(within([0, 1, 5])) == {frozenset((0, 1))}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: path("aba"), "duplicate input label 'a'"),
        (lambda: grid(0, 3), "rows = 0 is less than 1"),
        (lambda: within([1, 2], r=float("nan")), "r = nan is not a number"),
        (lambda: within({"a": [0], "b": [0, 1]}), "rectangular"),
        (lambda: within([0.0, float("inf")]), "finite"),
    ],
)
def test_mistakes_in_labels_and_numbers(build: Any, words: str) -> None:
    with pytest.raises(StatementError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: complete([]), "no-labels"),
        (lambda: cycle("ab"), "cycle-length"),
        (lambda: grid(2, 2, "abc"), "grid-labels"),
        (lambda: within([1, 2], r=0), "radius"),
        (lambda: within([1, 2], "cosine"), "unknown-metric"),
        (lambda: within([]), "coordinates"),
    ],
)
def test_mistakes(build: Any, code: str) -> None:
    with refused(code):
        build()


def literal_layers(graph: Any, source: Any) -> list[set[Any]]:
    """Recurse exactly as eq. I_t(x) = union of the neighbors' I_{t-1}, minus what came earlier."""
    layers: dict[Any, list[set[Any]]] = {node: [{node}] for node in graph}
    for t in range(1, len(graph) + 1):
        fresh = {
            node: set().union(*(layers[other][t - 1] for other in graph[node]))
            - set().union(*layers[node])
            for node in graph
        }
        for node in graph:
            layers[node].append(fresh[node])
    found = layers[source]
    while not found[-1]:
        found.pop()
    return found


@given(st.integers(1, 8), st.floats(0, 1), st.integers(0, 999))
def test_layers_agree_with_the_recursion(n: int, density: float, seed: int) -> None:
    graph = nx.gnp_random_graph(n, density, seed=seed)
    for source in graph:
        assert [set(layer) for layer in bfs_partition(graph, source)] == literal_layers(
            graph, source
        )


def test_layers_have_the_values_first_met_at_their_distance() -> None:
    line = path(range(5))
    assert bfs_partition(line, 0, {0: "p", 1: "p", 2: "q", 3: "p", 4: "r"}) == (
        frozenset("p"),
        frozenset(),
        frozenset("q"),
        frozenset(),
        frozenset("r"),
    )
    assert bfs_partition(line, 0, value=lambda node: 7) == (frozenset({7}),)
    assert bfs_partition(line, 2, value={i: i for i in range(5)}) == bfs_partition(line, 2)


def test_nodes_out_of_reach_are_in_no_layer() -> None:
    assert bfs_partition(within([0, 1, 9]), 0) == (frozenset({0}), frozenset({1}))


@pytest.mark.parametrize(
    ("graph", "source", "value", "code"),
    [
        (nx.path_graph(3), 9, None, "source"),
        (nx.DiGraph([(0, 1)]), 0, None, "directed-graph"),
        (nx.Graph(), 0, None, "empty-graph"),
        ([(0, 1)], 0, None, "graph"),
        (nx.path_graph(3), 0, {0: 1}, "query-value"),
    ],
)
def test_mistakes_in_layers(graph: Any, source: Any, value: Any, code: str) -> None:
    with refused(code):
        bfs_partition(graph, source, value)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_distances_in_very_small_and_large_units(unit):
    points = [(0.0, 0.0), (3 * unit, 4 * unit), (0.0, 5 * unit)]
    assert edges(within(points, r=5 * unit)) == {
        frozenset((0, 1)),
        frozenset((0, 2)),
        frozenset((1, 2)),
    }
    assert edges(within(points, r=4.9 * unit)) == {frozenset((1, 2))}


def test_infinite_distances_give_no_edge():
    assert not edges(within([(1.5e308, 0.0), (-1.5e308, 0.0)], r=1e308))
    assert not edges(within([(1.5e308, 0.0), (-1.5e308, 0.0)], "manhattan", 1e308))


def test_places_within_some_kilometers():
    places = {
        "Union Sq.": (40.7359, -73.9911),
        "Empire State": (40.7484, -73.9857),
        "Battery Park": (40.7033, -74.0170),
    }
    assert edges(within(places, "great_circle", 2.0)) == {frozenset(("Union Sq.", "Empire State"))}
