"""Distances between points and along the edges of a network; pairs that a chain through a third
input implies.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labelled import Labelled, Labels, distinct_labels, take_labels
from ldpopt.foundation.numbers import Float, Int, real_array, require_text, short_repr
from ldpopt.foundation.threads import in_threads
from ldpopt.native import count_implied, mark_implied
from ldpopt.privacy.graph_layers import require_undirected
from ldpopt.privacy.ties import Mask

if TYPE_CHECKING:
    import networkx as nx

THREADED_INPUTS = 100  # number of inputs from which threads pay
# Number of inputs whose pairs are tried together, so that each row of distances is read once for
# all of them
BLOCK = 16
# Number of inputs from which a sample is tried first, its size, and the share of implied pairs that
# may be kept
SAMPLED_INPUTS, SAMPLE, MAX_IMPLIED_SHARE = 1000, 50, 1e-3

METRICS = ("euclidean", "manhattan", "great_circle")  # names of the distances between coordinates
# axis of a named coordinate
GLOBE = {"latitude": 0, "lat": 0, "longitude": 1, "long": 1, "lon": 1, "lng": 1}
EARTH_RADIUS = 6371.0088  # mean radius of the Earth in kilometers (IUGG)


def point_distances(points: Any, metric: str, inputs: Sequence[Hashable] | None = None) -> Labelled:
    """Distances between points, shape (n,) or (n, d), and their labels."""
    require_metric(metric)
    coordinates, names = read_points(points, metric)
    if inputs is not None:
        table = Labelled(coordinates, (names, None), "list of points", ("input", "coordinate"))
        names = distinct_labels(inputs, "list of points", "input")
        coordinates = table.to(names, None)
    if names is not None and len(names) != len(coordinates):
        problem = f"{len(names)} input labels for {len(coordinates)} points"
        raise StatementError(problem, code="label-count", do="give one label for each point")
    distance = distances(coordinates, names, metric)
    x, k = next(
        iter(np.argwhere((distance == 0) & ~np.eye(len(distance), dtype=bool)).tolist()), (0, 0)
    )
    if x != k:
        problem = f"the points of {_name(names, x)} and {_name(names, k)} coincide"
        raise StatementError(
            problem,
            code="coincident-points",
            where="the list of points",
            do="merge the two inputs or move them apart",
        )
    return Labelled(distance, (names, names), "distance", ("input", "input"))


def require_metric(metric: Any) -> None:
    """Require the name of a distance between coordinates."""
    if not isinstance(metric, str) or metric not in METRICS:
        do = f"name one of {', '.join(map(repr, METRICS))}, or pass a function"
        raise StatementError(f"unknown metric {short_repr(metric)}", code="unknown-metric", do=do)


def distances(coordinates: Float, names: Labels | None, metric: str) -> Float:
    """Return all distances, shape (n, n); infinite on overflow.

    ``coordinates`` has shape (n, d), and ``names`` serve errors only. An overflow is left to the
    reader of the distance, who refuses what is not finite.
    """
    from scipy.spatial.distance import pdist, squareform

    if metric == "great_circle":
        return _great_circle(coordinates, names)
    if metric == "manhattan":
        with np.errstate(over="ignore"):
            return np.asarray(squareform(pdist(coordinates, "cityblock")))
    # If squares would overflow, a power of two is the unit, which causes no rounding.
    largest = float(np.abs(coordinates).max())
    unit = (
        1.0
        if 1e-100 < largest < 1e100 or not largest
        else 2.0 ** min(int(np.frexp(largest)[1]), 1023)
    )
    with np.errstate(over="ignore"):
        return np.asarray(unit * squareform(pdist(coordinates / unit)))


def network_distances(graph: nx.Graph[Any], weight: str) -> Labelled:
    """Lengths of the shortest paths between the nodes, and the nodes.

    Every node is an input, so that all must be connected. Lengths are put on a grid before they are
    added: then the distance of two nodes is the same whichever path and direction it is added
    along, and ties along edges imply all others exactly.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    require_undirected(graph)
    names = distinct_labels(list(graph.nodes), "network", "input")
    first, second, length = _edges(graph, names, weight)
    n = len(names)
    distance = dijkstra(
        csr_array((_on_grid(length), (first, second)), shape=(n, n)), directed=False
    )
    if not np.isfinite(distance).all():
        x, k = map(int, np.argwhere(~np.isfinite(distance))[0])
        problem = f"no path of the network joins {names[x]!r} and {names[k]!r}"
        raise StatementError(
            problem,
            code="network-parts",
            do="join the parts by edges, or give a problem for each part",
        )
    return Labelled(
        np.minimum(distance, distance.T), (names, names), "distance", ("input", "input")
    )


def _edges(graph: nx.Graph[Any], names: Labels, weight: str) -> tuple[Int, Int, Float]:
    """Ends and lengths of the edges, without loops; the shortest of parallel edges."""
    require_text(weight, "weight")
    position = {name: x for x, name in enumerate(names)}
    shortest: dict[tuple[int, int], float] = {}
    for u, v, data in graph.edges(data=True):
        if u == v:
            continue
        where = f"the edge from {u!r} to {v!r}"
        if weight not in data:
            problem = f"the edge has no {weight!r}"
            raise StatementError(
                problem,
                code="edge-length",
                where=where,
                do="give weight=, the attribute with lengths",
            )
        length = float(real_array(data[weight], f"{weight} of an edge"))
        if not 0 < length < np.inf:
            problem = f"the {weight} of the edge is {length}, which is not a positive length"
            raise StatementError(
                problem,
                code="negative-length",
                where=where,
                do="give every edge a positive, finite length",
            )
        ends = (min(position[u], position[v]), max(position[u], position[v]))
        shortest[ends] = min(length, shortest.get(ends, np.inf))
    ends_of = np.array(list(shortest), np.int64).reshape(-1, 2)
    return ends_of[:, 0], ends_of[:, 1], np.array(list(shortest.values()), float)


def _on_grid(length: Float) -> Float:
    """Lengths rounded down so that sums are exact: a pair's distance and a path's length then agree
    in all bits.
    """
    unit = 2.0 ** (int(np.frexp(length.sum())[1]) - 52) if len(length) else 1.0
    return np.asarray(np.maximum(np.floor(length / unit), 1.0) * unit)


def read_points(points: Any, metric: str = "euclidean") -> tuple[Float, Labels | None]:
    """Coordinates as an array of shape (n, d), latitude first on the globe, and the labels of the
    points.
    """
    labels, (names, columns) = take_labels(points, "list of points", ("input", "coordinate"))
    coordinates = real_array(labels, "list of points")
    coordinates = coordinates[:, None] if coordinates.ndim == 1 else coordinates
    if coordinates.ndim != 2 or not coordinates.size or not np.isfinite(coordinates).all():
        problem = "the points need finite coordinates, one row per point"
        raise StatementError(
            problem, code="coordinates", do="give one row of finite numbers for each point"
        )
    if (
        metric == "great_circle"
        and columns is not None
        and any(isinstance(name, str) for name in columns)
    ):
        axes = [GLOBE.get(str(name).casefold()) for name in columns]
        if axes not in ([0, 1], [1, 0]):
            problem = f"the coordinates {short_repr(columns)} are not a latitude and a longitude"
            raise StatementError(
                problem,
                code="column-names",
                do="name them 'latitude' and 'longitude', or pass .to_numpy(), latitude first",
            )
        coordinates = coordinates[:, [axes.index(0), axes.index(1)]]
    return coordinates, names


def _great_circle(coordinates: Float, names: Labels | None) -> Float:
    """Distances on a sphere, by the haversine formula, which is accurate for close points."""
    if coordinates.shape[1] != 2:
        problem = f"a point on the globe has {coordinates.shape[1]} coordinates"
        raise StatementError(problem, code="dimension", do="give latitude, longitude")
    for axis, (kind, limit) in enumerate((("latitude", 90), ("longitude", 360))):
        if len(wrong := np.flatnonzero(np.abs(coordinates[:, axis]) > limit)):
            value = coordinates[wrong[0], axis]
            where = f"the point of {_name(names, int(wrong[0]))}"
            do = "give (latitude, longitude) in degrees"
            raise StatementError(
                f"{kind} {value} is not within {limit} degrees of 0",
                code="degrees",
                where=where,
                do=do,
            )
    latitude, longitude = np.radians(coordinates).T
    distance = np.empty((len(coordinates),) * 2)
    for x in range(len(coordinates)):
        half = np.sin((latitude - latitude[x]) / 2) ** 2
        half += np.cos(latitude) * np.cos(latitude[x]) * np.sin((longitude - longitude[x]) / 2) ** 2
        distance[x] = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    np.fill_diagonal(distance, 0.0)
    return np.minimum(distance, distance.T)


def _name(names: Labels | None, x: int) -> str:
    return f"input {x}" if names is None else repr(names[x])


def implied_pairs(distance: Float, deadline: Deadline = NO_LIMIT) -> Mask:
    """Mask, (n, n), of the ordered pairs that a chain through a third input implies, and of the
    diagonal.

    A pair ``(x, k)`` is implied if ``d(x, z) + d(z, k) <= d(x, k)`` for some other ``z``, as exact
    numbers; both parts are shorter, so all implied pairs may be dropped at once. From
    `SAMPLED_INPUTS` inputs on all pairs are kept if hardly any pair of a sample is implied.

    At most ``n**3 / 2`` additions, or `SAMPLE` times ``n**2`` if all pairs are kept, in threads
    from `THREADED_INPUTS` inputs on, and ``n**2`` extra floats.
    """
    n = len(distance)
    through = distance.copy()
    np.fill_diagonal(through, np.inf)  # a third input differs from both
    is_implied = np.eye(n, dtype=bool)

    def mark_block(begin: int) -> None:
        deadline.check("dropping the metric's implied pairs")
        mark_implied(through, begin, min(begin + BLOCK, n), is_implied)

    blocks = range(0, n, BLOCK)
    if n >= SAMPLED_INPUTS and _seldom_implied(through, deadline):
        pass  # all pairs are kept
    elif n >= THREADED_INPUTS:
        in_threads(mark_block, blocks)
    else:
        for begin in blocks:
            mark_block(begin)
    return is_implied


def _seldom_implied(through: Float, deadline: Deadline) -> bool:
    """Whether hardly any pair of a sample of inputs is implied; the diagonal is infinite."""

    def count(x: int) -> int:
        deadline.check("looking for the metric's implied pairs")
        return count_implied(through, x)

    sample = np.random.default_rng(0).permutation(len(through))[:SAMPLE]
    return sum(in_threads(count, sample.tolist())) <= MAX_IMPLIED_SHARE * SAMPLE * len(through)
