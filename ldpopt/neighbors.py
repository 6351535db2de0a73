"""Neighbor relations as networkx graphs, and the breadth-first layers of Wu, Xia and He."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.Graph[Any]

# networkx takes a third of a second to import: only a graph that is asked for pays for it.


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
        If there is no label or one stands twice.

    Examples
    --------
    >>> complete("abc").number_of_edges()
    3
    """
    names = _distinct(labels)
    return _graph(names, ((x, y) for i, x in enumerate(names) for y in names[:i]))


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
        If there is no label or one stands twice.

    Examples
    --------
    >>> sorted(path(["low", "mid", "high"]).edges("mid"))
    [('mid', 'high'), ('mid', 'low')]
    """
    names = _distinct(labels)
    return _graph(names, pairwise(names))


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
        If there are fewer than three labels or one stands twice.

    Examples
    --------
    >>> cycle(range(12)).has_edge(11, 0)
    True
    """
    names = _distinct(labels)
    if len(names) < 3:
        raise StatementError(f"a cycle of {len(names)} labels is none", do="give at least three labels, or use a path")
    return _graph(names, zip(names, (*names[1:], names[0]), strict=True))


def grid(rows: int, columns: int, labels: Iterable[Hashable] | None = None) -> Graph:
    """Tie each cell of a rectangle to the cells above, below, left and right of it.

    Parameters
    ----------
    rows, columns : int
        Size of the rectangle, at least 1 each.
    labels : iterable of hashable, optional
        Names of the cells row by row, ``(0, 0), (0, 1), ...`` unless told.

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
    if rows < 1 or columns < 1:
        raise StatementError(f"a grid of {rows} rows and {columns} columns is empty", do="give at least one of each")
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    names: tuple[Any, ...] = _distinct(cells if labels is None else labels)
    if len(names) != len(cells):
        raise StatementError(f"{len(names)} labels for a grid of {rows} x {columns} = {len(cells)} cells")
    down = ((names[k], names[k + columns]) for k in range(len(names) - columns))
    across = ((names[k], names[k + 1]) for k in range(len(names) - 1) if (k + 1) % columns)
    return _graph(names, [*down, *across])


def within(
    points: Mapping[Any, ArrayLike] | ArrayLike,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    r: float = 1.0,
) -> Graph:
    """Tie the points that lie at most ``r`` apart.

    Parameters
    ----------
    points : mapping label -> coordinates, or array_like, shape (n,) or (n, d)
        Points of an array get the labels 0, 1, 2, ...
    metric : {"euclidean", "manhattan"} or callable
        A callable takes the coordinates of two points, as they were given.
    r : float
        Radius in the unit of the coordinates, positive and finite.

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
    if not (r > 0 and np.isfinite(r)):
        raise StatementError(f"r = {r} is no radius", do="give a positive finite r in the unit of the coordinates")
    given = dict(points) if isinstance(points, Mapping) else dict(enumerate(np.asarray(points)))
    names = _distinct(given)
    if callable(metric):
        pairs = ((x, y) for i, x in enumerate(names) for y in names[:i])
        return _graph(names, ((x, y) for x, y in pairs if metric(given[x], given[y]) <= r))
    if metric not in ("euclidean", "manhattan"):
        raise StatementError(f"unknown metric {metric!r}", do='name "euclidean" or "manhattan", or pass a function')
    where = _coordinates(list(given.values()))
    edges = []
    for i, x in enumerate(names):
        gap = np.abs(where[:i] - where[i])
        distance = gap.sum(axis=1) if metric == "manhattan" else np.sqrt((gap**2).sum(axis=1))
        edges += [(x, names[k]) for k in np.flatnonzero(distance <= r)]
    return _graph(names, edges)


def bfs_partition(
    graph: Graph, source: Hashable, value: Mapping[Any, Hashable] | Callable[[Any], Hashable] | None = None
) -> tuple[frozenset[Any], ...]:
    r"""Layers :math:`I_0, I_1, \ldots` of what lies 0, 1, ... steps from a source.

    .. math:: I_0(x) = \{f(x)\}, \qquad
              I_t(x) = \bigcup_{x' \sim x} I_{t-1}(x') \setminus (I_0(x) \cup \dots \cup I_{t-1}(x))

    Parameters
    ----------
    graph : networkx.Graph
        The neighbor relation, undirected.
    source : hashable
        Node :math:`x` to start from.
    value : mapping or callable, optional
        Query value :math:`f` of a node; without it the layers are made of the nodes themselves.

    Returns
    -------
    tuple of frozenset
        Disjoint layers, none of them empty but where no *new* value is met at that distance; nodes out of reach are
        in no layer. With ``value``, layer t holds the values first met at distance t.

    Raises
    ------
    StatementError
        If the graph is empty or directed, the source is not in it, or a node has no value.

    Notes
    -----
    O(nodes + edges). Layer numbers of neighboring sources differ by at most one (Lemma 1).

    References
    ----------
    Wu, Xia and He, section 4 (neighbor-set partition).

    Examples
    --------
    >>> [sorted(layer) for layer in bfs_partition(path("abcd"), "b")]
    [['b'], ['a', 'c'], ['d']]
    >>> [sorted(layer) for layer in bfs_partition(path(range(-2, 3)), 0, value=abs)]
    [[0], [1], [2]]
    """
    require_undirected(graph)
    if source not in graph:
        raise StatementError(f"the source {source!r} is no node of the graph", do="start from one of its nodes")
    layers: list[frozenset[Any]] = []
    seen: set[Any] = {source}
    front: list[Any] = [source]
    met: set[Any] = set()
    while front:
        new = {_value(node, value) for node in front} - met
        met |= new
        layers.append(frozenset(new))
        following = []
        for node in front:
            for neighbor in graph[node]:
                if neighbor not in seen:
                    seen.add(neighbor)
                    following.append(neighbor)
        front = following
    # Trailing layers without a new value say nothing; one in the middle keeps the distance of those after it.
    while len(layers) > 1 and not layers[-1]:
        layers.pop()
    return tuple(layers)


def require_undirected(graph: Graph) -> None:
    """Refuse what is no undirected, non-empty networkx graph.

    Raises
    ------
    StatementError
        With what it is instead.
    """
    if not (hasattr(graph, "is_directed") and hasattr(graph, "adj")):
        raise StatementError(f"{type(graph).__name__} is no networkx graph", do="pass a networkx.Graph on the inputs")
    if graph.is_directed():
        raise StatementError(
            "the graph is directed; being neighbors is mutual", do="pass graph.to_undirected() if both ways are meant"
        )
    if len(graph) == 0:
        raise StatementError("the graph is empty", do="add the inputs as nodes")


def _value(node: Any, value: Mapping[Any, Hashable] | Callable[[Any], Hashable] | None) -> Hashable:
    if value is None:
        return node  # type: ignore[no-any-return]
    if callable(value):
        return value(node)
    try:
        return value[node]
    except KeyError:
        raise StatementError(f"node {node!r} has no query value", do="give a value to every node") from None


def _distinct(labels: Iterable[Hashable]) -> tuple[Any, ...]:
    names = tuple(labels)
    if not names:
        raise StatementError("a graph without labels is empty", do="give at least one label")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise StatementError(f"the label {twice!r} stands twice", do="give every input its own label")
    return names


def _graph(names: Sequence[Any], edges: Iterable[tuple[Any, Any]]) -> Graph:
    import networkx as nx

    graph: Graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    return graph


def _coordinates(points: Sequence[ArrayLike]) -> NDArray[np.float64]:
    try:
        array = np.array([np.atleast_1d(np.asarray(point, dtype=np.float64)) for point in points])
    except (TypeError, ValueError):
        raise StatementError("the points are no rectangular array of real numbers") from None
    if array.ndim != 2 or not np.isfinite(array).all():
        raise StatementError("the points need finite coordinates, one row for each")
    return array
