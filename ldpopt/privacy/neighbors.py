"""Neighbor relations as networkx graphs: families on given labels, points within a distance, data
sets, groups.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import is_labelled
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import (
    is_whole,
    listed_items,
    real_number,
    require_memory,
    require_room,
    short_repr,
    whole_number,
)
from ldpopt.privacy.graph_layers import bfs_partition, require_undirected
from ldpopt.privacy.places import distances, read_points, require_metric

if TYPE_CHECKING:
    from ldpopt.privacy.graph_layers import Graph as Graph

__all__ = [
    "bfs_partition",
    "cayley",
    "complete",
    "cycle",
    "grid",
    "histograms",
    "path",
    "require_undirected",
    "within",
]

# largest number of nodes of a grid or of histograms: such a graph takes a second to build
MOST_CELLS = 100_000
MOST_COUNTS = 500_000  # largest total number of bins over all histograms of a graph


def complete(labels: Iterable[Hashable]) -> Graph:
    """Tie every pair of labels: the neighbor relation of local differential privacy.

    Parameters
    ----------
    labels : iterable of hashable
        Distinct labels, at least one.

    Returns
    -------
    networkx.Graph
        ``n (n - 1) / 2`` edges.

    Raises
    ------
    StatementError
        If there is no label, or a duplicate.

    Examples
    --------
    >>> complete("abc").number_of_edges()
    3
    """
    names = _distinct(labels)
    return _graph_of(names, ((x, y) for i, x in enumerate(names) for y in names[:i]))


def path(labels: Iterable[Hashable]) -> Graph:
    """Tie each label to the next: counts, or an ordered scale.

    Parameters
    ----------
    labels : iterable of hashable
        Distinct labels in their order, at least one.

    Returns
    -------
    networkx.Graph
        ``n - 1`` edges.

    Raises
    ------
    StatementError
        If there is no label, or a duplicate.

    Examples
    --------
    >>> sorted(path(["low", "mid", "high"]).edges("mid"))
    [('mid', 'high'), ('mid', 'low')]
    """
    names = _distinct(labels)
    return _graph_of(names, pairwise(names))


def cycle(labels: Iterable[Hashable]) -> Graph:
    """Tie each label to the next and the last to the first: hours, months, directions.

    Parameters
    ----------
    labels : iterable of hashable
        Distinct labels in their order, at least three.

    Returns
    -------
    networkx.Graph
        ``n`` edges.

    Raises
    ------
    StatementError
        If there are fewer than three labels, or a duplicate.

    Examples
    --------
    >>> cycle(range(12)).has_edge(11, 0)
    True
    """
    if len(names := _distinct(labels)) < 3:
        problem = f"a cycle of {len(names)} labels does not exist"
        raise StatementError(
            problem, code="cycle-length", do="give at least three labels, or use a path"
        )
    return _graph_of(names, zip(names, (*names[1:], names[0]), strict=True))


def grid(rows: int, columns: int, labels: Iterable[Hashable] | None = None) -> Graph:
    """Tie each cell of a rectangle to the cells above, below, left and right of it.

    Parameters
    ----------
    rows, columns : int
        Size of the rectangle, at least 1 each.
    labels : iterable of hashable, optional
        Names of the cells row by row; default: ``(0, 0), (0, 1), ...``

    Returns
    -------
    networkx.Graph
        ``rows * columns`` nodes.

    Raises
    ------
    StatementError
        If the rectangle is empty or the labels do not fill it.

    Examples
    --------
    >>> sorted(grid(2, 3)[(0, 1)])
    [(0, 0), (0, 2), (1, 1)]
    """
    rows, columns = whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)
    if rows * columns > MOST_CELLS:
        problem = f"a grid of {rows} x {columns} cells has more than {MOST_CELLS}"
        raise StatementError(problem, do="merge cells: no channel has so many inputs")
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    names: tuple[Any, ...] = _distinct(cells if labels is None else labels)
    if len(names) != len(cells):
        problem = f"{len(names)} labels for a grid of {rows} x {columns} = {len(cells)} cells"
        raise StatementError(
            problem, code="grid-labels", do="give one label for each cell, row by row"
        )
    down = ((names[k], names[k + columns]) for k in range(len(names) - columns))
    across = ((names[k], names[k + 1]) for k in range(len(names) - 1) if (k + 1) % columns)
    return _graph_of(names, [*down, *across])


def histograms(bins: int, most: int, *, replace: bool = False) -> Graph:
    """Tie histograms that differ by one record: the data sets of the central model, up to the order
    of records.

    Parameters
    ----------
    bins : int
        Kinds of records, at least 1.
    most : int
        Largest number of records, at least 0; with ``replace`` the number of records.
    replace : bool
        Whether neighbors differ by the kind of one record, in place of a record added or removed;
        default: ``False``.

    Returns
    -------
    networkx.Graph
        Nodes are tuples of counts with a sum of at most ``most``: ``C(most + bins, bins)`` of them.
        With ``replace`` the sum is ``most``: ``C(most + bins - 1, most)`` nodes.

    Raises
    ------
    StatementError
        If there is no bin or a negative number of records.

    Notes
    -----
    A linear query is a ``value`` such as ``lambda h: 3 * h[0] + 5 * h[1]``, that is ``A h`` made
    hashable; its steps are the columns of A, with ``replace`` the differences of two columns.

    References
    ----------
    Liu and Zhou 2023, definition 1, replace a record; Wu, Xia and He add or remove one.

    Examples
    --------
    >>> sorted(histograms(2, 1)), sorted(histograms(2, 1, replace=True))
    ([(0, 0), (0, 1), (1, 0)], [(0, 1), (1, 0)])
    """
    bins, most = whole_number(bins, "bins", 1), whole_number(most, "most")
    free = bins - 1 if replace else bins
    count = 1
    few = min(free, most)
    many = max(free, most)
    for k in range(1, few + 1):
        count = count * (many + k) // k  # C(many + k, k)
        if count > MOST_CELLS or count * bins > MOST_COUNTS:
            problem = (
                f"there are too many histograms of {short_repr(bins)} bins and up to "
                f"{short_repr(most)} records"
            )
            raise StatementError(
                problem, do="merge bins, or take fewer records: no channel has so many inputs"
            )
    if replace:
        # The tables that become equal without one of their records are neighbors of each other.
        shorter = _tables(bins, most - 1) if most else []
        return _graph_of(
            _tables(bins, most), (pair for h in shorter for pair in combinations(_one_more(h), 2))
        )
    nodes = [h[:-1] for h in _tables(bins + 1, most)]
    return _graph_of(nodes, ((h, more) for h in nodes if sum(h) < most for more in _one_more(h)))


def _tables(bins: int, records: int) -> list[tuple[int, ...]]:
    """Return all counts with this sum, by stars and bars: a count is the number of stars between
    two bars.
    """
    end = records + bins - 1
    return [
        tuple(b - a - 1 for a, b in pairwise((-1, *bars, end)))
        for bars in combinations(range(end), bins - 1)
    ]


def _one_more(h: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the tables with one record more."""
    return [(*h[:k], h[k] + 1, *h[k + 1 :]) for k in range(len(h))]


def cayley(elements: int | range, generators: Iterable[int]) -> Graph:
    """Tie integers that differ by a generator: modulo ``N``, or within a range.

    Parameters
    ----------
    elements : int or range
        ``N >= 2`` for the cyclic group of 0 .. N-1; a range for a window of the integers.
    generators : iterable of int
        Steps, used both ways; 0 (and multiples of N) give no edge.

    Returns
    -------
    networkx.Graph
        On the cyclic group every node looks like every other (vertex-transitive); at the ends of a
        range it does not.

    Raises
    ------
    StatementError
        If there are no elements, or a generator is not an integer.

    Examples
    --------
    >>> sorted(cayley(8, [1, 3])[0]), sorted(cayley(range(8), [1, 3])[0])
    ([1, 3, 5, 7], [1, 3])
    """
    steps = listed_items(generators, "generators", "give a list of steps, such as [1, 3]")
    if wrong := [step for step in steps if not is_whole(step)]:
        raise StatementError(
            f"the generator {short_repr(wrong[0])} is not an integer", do="give whole numbers"
        )
    if isinstance(elements, range):
        return _graph_of(
            _distinct(elements),
            ((x, x + int(s)) for x in elements for s in steps if s and x + int(s) in elements),
        )
    if not is_whole(elements, 2):
        problem = f"{short_repr(elements)} is not a group of integers"
        raise StatementError(problem, do="pass N >= 2 for 0 .. N-1, or a range")
    n = int(elements)
    require_memory(500.0 * n * (1 + len(steps)), f"the graph of {n} integers")
    return _graph_of(range(n), ((x, (x + int(s)) % n) for x in range(n) for s in steps if s % n))


def within(
    points: Mapping[Any, ArrayLike] | ArrayLike,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    r: float = 1.0,
) -> Graph:
    """Connect the points at distance at most ``r``.

    Parameters
    ----------
    points : mapping or Series label -> coordinates, DataFrame, or array_like, shape (n,) or (n, d)
        Points of an array get the labels 0, 1, 2, ...; the points of a DataFrame are its rows, with
        their labels.
    metric : {"euclidean", "manhattan", "great_circle"} or callable
        As in `MetricDP.of_points`. A callable takes two points in the form in which they were
        passed; default: ``"euclidean"``.
    r : float
        Radius in the unit of the distance, positive and finite; default: ``1.0``.

    Returns
    -------
    networkx.Graph
        All points are nodes.

    Raises
    ------
    StatementError
        If there are no points, the points have different dimensions or are not finite, the radius
        is not positive, or the metric is unknown.

    Notes
    -----
    O(n**2) distances and memory. A point without neighbors is allowed; it is not protected.

    Examples
    --------
    >>> sorted(within([0.0, 0.5, 2.0], r=1).edges)
    [(0, 1)]
    """
    do = "give a positive finite r in the unit of the distance"
    if not ((radius := real_number(r, "r", do=do)) > 0 and np.isfinite(radius)):
        raise StatementError(f"r = {radius} is not a radius", code="radius", do=do)
    if callable(metric):
        if not isinstance(points, Mapping) and is_labelled(points):
            coordinates, names = read_points(points)
            points = dict(zip(names or range(len(coordinates)), coordinates, strict=True))
        if isinstance(points, Mapping):
            values: Any = points
        else:
            values = dict(enumerate(points))  # type: ignore[arg-type]
        nodes = _distinct(values)
        pairs = ((x, y) for i, x in enumerate(nodes) for y in nodes[:i])
        near = (
            (x, y)
            for x, y in pairs
            if real_number(metric(values[x], values[y]), "distance") <= radius
        )
        return _graph_of(nodes, near)
    require_metric(metric)
    coordinates, names = read_points(points, metric)
    nodes = _distinct(range(len(coordinates)) if names is None else names)
    require_memory(24.0 * len(nodes) ** 2, f"the distances of {len(nodes)} points")
    ends = np.argwhere(np.tril(distances(coordinates, names, metric) <= radius, -1)).tolist()
    return _graph_of(nodes, ((nodes[x], nodes[k]) for x, k in ends))


def _distinct(labels: Iterable[Hashable]) -> tuple[Any, ...]:
    """Labels as a tuple; refuse duplicates, labels that are not hashable, None and nan."""
    require_room(labels, "list of labels")
    stated: Any = (
        tuple(labels)
        if isinstance(labels, Iterable) and getattr(labels, "ndim", 1) == 1
        else labels
    )
    names = check_labels(stated, None, "input", StatementError)
    if not names:
        raise StatementError(
            "a graph without labels is empty", code="no-labels", do="give at least one label"
        )
    if None in names:
        raise StatementError(
            "None cannot name an input", do="name inputs by numbers, texts or tuples of them"
        )
    return names


def _graph_of(names: Sequence[Any], edges: Iterable[tuple[Any, Any]]) -> Graph:
    """Graph with these nodes, in this order, and edges."""
    import networkx as nx  # takes a third of a second

    graph: Graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    return graph
