"""Metric privacy of places: coordinates, the globe, road networks; labels and refusals."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused
from ldpopt.errors import StatementError
from ldpopt.privacy.neighbors import within
from ldpopt.privacy.places import EARTH_RADIUS


def test_distances_by_their_definition():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    euclidean = lo.MetricDP.of_points(1.0, points).matrix(range(3))
    manhattan = lo.MetricDP.of_points(1.0, points, "manhattan").matrix(range(3))
    assert euclidean.tolist() == [[0, 5, 3], [5, 0, 4], [3, 4, 0]]
    assert manhattan.tolist() == [[0, 7, 3], [7, 0, 4], [3, 4, 0]]
    assert lo.MetricDP.of_points(1.0, [1.0, 4.0]).matrix(range(2)).tolist() == [[0, 3], [3, 0]]


def test_great_circles():
    places = {"pole": (90, 0), "equator": (0, 17), "antipode": (0, -163), "other name": (0, 107)}
    distance = lo.MetricDP.of_points(1.0, places, "great_circle").matrix(list(places))
    assert distance[0] == pytest.approx(np.pi / 2 * EARTH_RADIUS * np.array([0, 1, 1, 1]))
    assert distance[1, 2:] == pytest.approx(np.pi * EARTH_RADIUS * np.array([1, 0.5]))
    # Munich and Vienna
    cities = lo.MetricDP.of_points(1.0, [(48.1374, 11.5755), (48.2082, 16.3738)], "great_circle")
    assert cities.matrix(range(2))[0, 1] == pytest.approx(355.6, abs=0.5)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_points_are_aligned_by_label(kind):
    points = {"c": [5.0, 0.0], "a": [0.0, 0.0], "b": [1.0, 0.0]}
    given_points = points if kind is dict else pd.DataFrame(points, index=["x", "y"]).T
    privacy = lo.MetricDP.of_points(1.0, given_points)
    assert privacy.matrix(["a", "b", "c"]).tolist() == [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    named = lo.MetricDP.of_points(1.0, given_points, inputs=["a", "b", "c"])
    assert named.inputs == ("a", "b", "c")
    assert named.distance.tolist() == [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    with pytest.raises(StatementError, match="input"):
        lo.Problem([0.5, 0.25, 0.25], "identity", privacy, inputs=["a", "b", "z"])


@pytest.mark.parametrize("container", ["frame", "mapping"])
def test_latitude_and_longitude_are_read_by_name(container):
    table = pd.DataFrame(
        {"lon": [11.5755, 16.3738], "lat": [48.1374, 48.2082]}, ["Munich", "Vienna"]
    )
    cities = table if container == "frame" else {name: table.loc[name] for name in table.index}
    assert lo.MetricDP.of_points(1.0, cities, "great_circle").distance[0, 1] == pytest.approx(
        355.6, abs=0.5
    )
    assert within(cities, "great_circle", 356.0).edges
    assert not within(cities, "great_circle", 355.0).edges


def test_named_coordinates_of_a_mapping_are_aligned():
    places = {
        "a": {"x": 0.0, "y": 1.0},
        "b": {"y": 1.0, "x": 2.0},
        "c": pd.Series([5.0, 0.0], ["y", "x"]),
    }
    assert lo.MetricDP.of_points(1.0, places, "manhattan").distance.tolist() == [
        [0, 2, 4],
        [2, 0, 6],
        [4, 6, 0],
    ]


def test_distances_of_a_network_are_shortest_paths():
    roads = nx.Graph()
    roads.add_weighted_edges_from(
        [("a", "b", 1.0), ("b", "c", 1.5), ("a", "c", 4.0), ("c", "d", 0.5)], weight="km"
    )
    privacy = lo.MetricDP.of_network(2.0, roads, weight="km")
    assert privacy.matrix(["d", "c", "b", "a"]).tolist() == [
        [0, 0.5, 2, 3],
        [0.5, 0, 1.5, 2.5],
        [2, 1.5, 0, 1],
        [3, 2.5, 1, 0],
    ]
    ties = privacy.ties(["a", "b", "c", "d"])
    assert sorted(zip(ties.first.tolist(), ties.second.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
        (2, 3),
        (3, 2),
    ]


@cases(20)
@given(st.integers(2, 25), st.integers(0, 10**6))
def test_only_the_edges_of_a_network_are_not_implied(n, seed):
    rng = np.random.default_rng(seed)
    roads = nx.Graph(nx.random_labeled_tree(n, seed=seed))
    roads.add_edges_from(rng.integers(0, n, (n, 2)).tolist())
    for u, v in roads.edges:
        roads.edges[u, v]["length"] = float(rng.random() + 0.1)
    privacy = lo.MetricDP.of_network(1.0, roads)
    ties = privacy.ties(list(roads.nodes))
    names = list(roads.nodes)
    assert all(
        roads.has_edge(names[x], names[k]) for x, k in zip(ties.first, ties.second, strict=True)
    )


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: lo.MetricDP.of_points(1.0, [[0, 0], [1, 1]], "chebyshev"), "unknown-metric"),
        (lambda: lo.MetricDP.of_points(1.0, [[0, 0], [0, 0]]), "coincident-points"),
        (lambda: lo.MetricDP.of_points(1.0, {"a": (0, 0), "b": (0, 0)}), "coincident-points"),
        (lambda: lo.MetricDP.of_points(1.0, [[0, np.nan], [0, 0]]), "coordinates"),
        (
            lambda: lo.MetricDP.of_points(1.0, [[0, 1, 2], [0, 0, 0]], "great_circle"),
            "dimension",
        ),
        (lambda: lo.MetricDP.of_points(1.0, [[95, 1], [0, 0]], "great_circle"), "degrees"),
        (
            lambda: lo.MetricDP.of_points(
                1.0, pd.DataFrame({"x": [1, 2], "y": [3, 4]}), "great_circle"
            ),
            "column-names",
        ),
        (
            lambda: lo.MetricDP.of_points(1.0, [[0, 1], [0, 0]], inputs=["a"]),
            "label-count",
        ),
        (lambda: lo.MetricDP.of_network(1.0, nx.path_graph(3)), "edge-length"),
        (
            lambda: lo.MetricDP.of_network(1.0, nx.DiGraph([(0, 1, {"length": 1.0})])),
            "directed-graph",
        ),
        (lambda: lo.MetricDP.of_network(1.0, nx.Graph()), "empty-graph"),
        (
            lambda: lo.MetricDP.of_network(1.0, nx.Graph([(0, 1, {"length": -1.0})])),
            "negative-length",
        ),
        (lambda: lo.MetricDP.of_network(1.0, nx.empty_graph(2)), "network-parts"),
        (lambda: lo.MetricDP.of_network(1.0, "roads"), "graph"),
    ],
)
def test_refusals(make, code):
    with refused(code):
        make()


@pytest.mark.parametrize(
    ("metric", "key"), [("absolute", "values"), ("manhattan", "points"), ("great_circle", "points")]
)
def test_points_of_files_are_aligned_by_label(metric, key):
    table = {"c": [0.0, 1.0], "a": [3.0, 2.0], "b": [1.0, 7.0]}
    numbers = {name: point[0] for name, point in table.items()} if key == "values" else table
    notion = lo.MetricDP.from_plain(
        {"epsilon": 0.5, "distance": metric, key: numbers}, ("a", "b", "c")
    )
    listed = [numbers[name] for name in "abc"]
    expected = lo.MetricDP.from_plain(
        {"epsilon": 0.5, "distance": metric, key: listed}, ("a", "b", "c")
    )
    assert notion.matrix("abc").tolist() == expected.matrix("abc").tolist()
    with pytest.raises(StatementError, match="names 'b'"):
        lo.MetricDP.from_plain({"epsilon": 0.5, "distance": metric, key: numbers}, ("a", "z", "c"))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "great_circle"])
def test_files_name_the_metric_or_list_the_distances(metric):
    points = [[0.5, 1.0], [2.0, 3.5], [-1.0, 0.25]]
    inputs = ("a", "b", "c")
    made = lo.MetricDP.of_points(0.5, points, metric)
    read = lo.MetricDP.from_plain({"epsilon": 0.5, "distance": metric, "points": points}, inputs)
    assert read.matrix(inputs).tolist() == made.matrix(inputs).tolist()
    again = lo.MetricDP.from_plain(made.to_plain(inputs), inputs)
    assert again.matrix(inputs).tolist() == made.matrix(inputs).tolist()
