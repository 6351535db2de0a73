"""Relations by distance: points that lie near one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import real_array, real_number, short_repr
from ldpopt.foundation.labelled import is_labelled, take_labels
from ldpopt.privacy.neighbors.relation import distinct, graph_of

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph


def within(
    points: Mapping[Any, ArrayLike] | ArrayLike,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    r: float = 1.0,
) -> Graph:
    """Tie the points that lie at most ``r`` apart.

    Parameters
    ----------
    points : mapping or Series label -> coordinates, DataFrame, or array_like, shape (n,) or (n, d)
        Points of an array get the labels 0, 1, 2, ...; those of a DataFrame are the rows, under their labels.
    metric : {"euclidean", "manhattan"} or callable
        A callable takes the coordinates of two points, as they were given; default: ``"euclidean"``.
    r : float
        Radius in the unit of the coordinates, positive and finite; default: ``1.0``.

    Returns
    -------
    networkx.Graph
        All points, tied or not.

    Raises
    ------
    StatementError
        If there is no point, the points are of different dimension or not finite, the radius is not positive,
        or the metric is unknown.

    Notes
    -----
    O(n**2) distances. A point with no neighbor is allowed: nothing protects it.

    Examples
    --------
    >>> sorted(within([0.0, 0.5, 2.0], r=1).edges)
    [(0, 1)]
    """
    do = "give a positive finite r in the unit of the coordinates"
    r = real_number(r, "r", do=do)
    if not (r > 0 and np.isfinite(r)):
        raise StatementError(f"r = {r} is no radius", do=do)
    if not isinstance(points, Mapping) and is_labelled(points):
        coordinates, (names, _) = take_labels(points, "list of points", ("input", "coordinate"))
        points = coordinates if names is None else dict(zip(names, coordinates, strict=True))
    if isinstance(points, np.ndarray):
        points = np.atleast_1d(points)
    elif isinstance(points, range) or not isinstance(points, (Mapping, Sequence)):
        points = np.atleast_1d(real_array(points, "list of points"))
    given = dict(points) if isinstance(points, Mapping) else dict(enumerate(points))
    nodes = distinct(given)
    if callable(metric):
        pairs = ((x, y) for i, x in enumerate(nodes) for y in nodes[:i])
        return graph_of(nodes, ((x, y) for x, y in pairs if real_number(metric(given[x], given[y]), "distance") <= r))
    if not isinstance(metric, str) or metric not in ("euclidean", "manhattan"):
        raise StatementError(
            f"unknown metric {short_repr(metric)}", do='name "euclidean" or "manhattan", or pass a function'
        )
    where = _coordinates(list(given.values()))
    edges = []
    for i, x in enumerate(nodes):
        distance = _distances(where[:i], where[i], metric)
        edges += [(x, nodes[k]) for k in np.flatnonzero(distance <= r)]
    return graph_of(nodes, edges)


def _distances(points: Any, point: Any, metric: str) -> Any:
    """Distances of points from one, infinite where they are beyond floats."""
    with np.errstate(over="ignore"):
        gap = np.abs(points - point)
        if metric == "manhattan":
            return gap.sum(axis=1)
        # A power of two as the unit, which rounds nothing, where squares would leave the floats.
        most = float(gap.max(initial=0.0))
        unit = 1.0 if 1e-100 < most < 1e100 else 2.0 ** int(np.frexp(min(most, 1e308))[1] - 1)
        return unit * np.sqrt(((gap / unit) ** 2).sum(axis=1))


def _coordinates(points: Sequence[ArrayLike]) -> NDArray[np.float64]:
    array = real_array([np.atleast_1d(real_array(point, "list of points")) for point in points], "list of points")
    if array.ndim != 2 or not np.isfinite(array).all():
        raise StatementError("the points need finite coordinates, one row for each")
    return array
