"""Neighbor relations by distance between points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import is_labelled, take_labels
from ldpopt.foundation.numbers import real_array, real_number, short_repr
from ldpopt.privacy.neighbors.relation import distinct, graph_of

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph


def within(
    points: Mapping[Any, ArrayLike] | ArrayLike,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    r: float = 1.0,
) -> Graph:
    """Connect the points at distance at most ``r``.

    Parameters
    ----------
    points : mapping or Series label -> coordinates, DataFrame, or array_like, shape (n,) or (n, d)
        Points of an array get the labels 0, 1, 2, ...; those of a DataFrame are the rows, under their labels.
    metric : {"euclidean", "manhattan"} or callable
        A callable takes two points in the form in which they were passed; default: ``"euclidean"``.
    r : float
        Radius in the unit of the coordinates, positive and finite; default: ``1.0``.

    Returns
    -------
    networkx.Graph
        All points are nodes.

    Raises
    ------
    StatementError
        If there are no points, the points have different dimensions or are not finite, the radius is not positive,
        or the metric is unknown.

    Notes
    -----
    O(n**2) distances. A point without neighbors is allowed; it is not protected.

    Examples
    --------
    >>> sorted(within([0.0, 0.5, 2.0], r=1).edges)
    [(0, 1)]
    """
    r = _read_radius(r)
    given = _labelled_points(points)
    nodes = distinct(given)
    if callable(metric):
        pairs = ((x, y) for i, x in enumerate(nodes) for y in nodes[:i])
        return graph_of(nodes, ((x, y) for x, y in pairs if real_number(metric(given[x], given[y]), "distance") <= r))
    if not isinstance(metric, str) or metric not in ("euclidean", "manhattan"):
        raise StatementError(
            f"unknown metric {short_repr(metric)}", do='name "euclidean" or "manhattan", or pass a function'
        )
    coordinates = _coordinates(list(given.values()))
    edges = []
    for i, x in enumerate(nodes):
        distance = _distances(coordinates[:i], coordinates[i], metric)
        edges += [(x, nodes[k]) for k in np.flatnonzero(distance <= r)]
    return graph_of(nodes, edges)


def _read_radius(r: Any) -> float:
    do = "state a positive finite r in the unit of the coordinates"
    radius = real_number(r, "r", do=do)
    if not (radius > 0 and np.isfinite(radius)):
        raise StatementError(f"r = {radius} is not a radius", do=do)
    return radius


def _labelled_points(points: Any) -> dict[Any, Any]:
    """Points by label; those without labels are labelled 0, 1, 2, ..."""
    if not isinstance(points, Mapping) and is_labelled(points):
        coordinates, (names, _) = take_labels(points, "list of points", ("input", "coordinate"))
        points = coordinates if names is None else dict(zip(names, coordinates, strict=True))
    if isinstance(points, Mapping):
        return dict(points)
    if isinstance(points, np.ndarray):
        points = np.atleast_1d(points)
    elif isinstance(points, range) or not isinstance(points, Sequence):
        points = np.atleast_1d(real_array(points, "list of points"))
    return dict(enumerate(points))


def _distances(points: Any, point: Any, metric: str) -> Any:
    """Distances of points from one point; infinite on overflow."""
    with np.errstate(over="ignore"):
        gap = np.abs(points - point)
        if metric == "manhattan":
            return gap.sum(axis=1)
        # If squares would overflow, a power of two is the unit, which causes no rounding.
        largest = float(gap.max(initial=0.0))
        unit = 1.0 if 1e-100 < largest < 1e100 else 2.0 ** int(np.frexp(min(largest, 1e308))[1] - 1)
        return unit * np.sqrt(((gap / unit) ** 2).sum(axis=1))


def _coordinates(points: Sequence[ArrayLike]) -> NDArray[np.float64]:
    array = real_array([np.atleast_1d(real_array(point, "list of points")) for point in points], "list of points")
    if array.ndim != 2 or not np.isfinite(array).all():
        raise StatementError("the points need finite coordinates, one row per point")
    return array
