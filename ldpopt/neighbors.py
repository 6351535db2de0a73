"""Neighbor relations as networkx graphs, and the breadth-first layers of Wu, Xia and He."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.numbers import is_whole, real_array, real_number, require_memory, require_room, shown, whole_number

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.Graph[Any]

BYTES_PER_NODE = 1000
"""Memory that networkx takes for a node and its few edges."""

MOST_CELLS = 100_000
"""Of a grid: a graph of them takes a second, and a channel has as many rows."""

MOST_COUNTS = 500_000
"""Of all histograms of a graph together; histograms are no more than `MOST_CELLS`."""

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
    rows, columns = whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)
    if rows * columns > MOST_CELLS:
        raise StatementError(
            f"a grid of {rows} x {columns} cells has more than {MOST_CELLS}",
            do="no channel has so many inputs: merge cells",
        )
    require_memory(float(BYTES_PER_NODE * rows * columns), f"a grid of {rows} x {columns} cells")
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    names: tuple[Any, ...] = _distinct(cells if labels is None else labels)
    if len(names) != len(cells):
        raise StatementError(f"{len(names)} labels for a grid of {rows} x {columns} = {len(cells)} cells")
    down = ((names[k], names[k + columns]) for k in range(len(names) - columns))
    across = ((names[k], names[k + 1]) for k in range(len(names) - 1) if (k + 1) % columns)
    return _graph(names, [*down, *across])


def cayley(elements: int | range, generators: Iterable[int]) -> Graph:
    """Tie integers that differ by a generator: modulo ``N``, or within a range.

    Parameters
    ----------
    elements : int or range
        ``N >= 2`` for the cyclic group of 0 .. N-1; a range for a window of the integers.
    generators : iterable of int
        Steps, used both ways; 0 (and multiples of N) tie nothing.

    Returns
    -------
    networkx.Graph
        On the cyclic group every node looks like every other (vertex-transitive); at the ends of a range it does not.

    Raises
    ------
    StatementError
        If there is no element, or a generator is no integer.

    Examples
    --------
    >>> sorted(cayley(8, [1, 3])[0]), sorted(cayley(range(8), [1, 3])[0])
    ([1, 3, 5, 7], [1, 3])
    """
    steps = list(generators)
    wrong = [step for step in steps if not is_whole(step)]
    if wrong:
        raise StatementError(f"the generator {shown(wrong[0])} is no integer")
    if isinstance(elements, range):
        held = elements
        return _graph(_distinct(held), ((x, x + int(s)) for x in held for s in steps if s and x + int(s) in held))
    if not is_whole(elements, 2):
        raise StatementError(f"{shown(elements)} is no group of integers", do="pass N >= 2 for 0 .. N-1, or a range")
    n = int(elements)
    return _graph(range(n), ((x, (x + int(s)) % n) for x in range(n) for s in steps if s % n))


def histograms(bins: int, most: int) -> Graph:
    """Tie histograms that differ by one record: the data sets of the central model, up to the order of records.

    Parameters
    ----------
    bins : int
        Kinds of records, at least 1.
    most : int
        Largest number of records, at least 0.

    Returns
    -------
    networkx.Graph
        Nodes are tuples of counts with a sum of at most ``most``: ``C(most + bins, bins)`` of them.

    Raises
    ------
    StatementError
        If there is no bin or a negative number of records.

    Notes
    -----
    A linear query is a ``value`` such as ``lambda h: 3 * h[0] + 5 * h[1]``, that is ``A h`` made hashable; its steps
    are the columns of A.

    Examples
    --------
    >>> sorted(histograms(2, 1))
    [(0, 0), (0, 1), (1, 0)]
    """
    bins, most = whole_number(bins, "bins", 1), whole_number(most, "most")
    count, few, many = 1, min(bins, most), max(bins, most)
    for k in range(1, few + 1):
        count = count * (many + k) // k  # C(many + k, k)
        if count > MOST_CELLS or count * bins > MOST_COUNTS:
            raise StatementError(
                f"there are too many histograms of {shown(bins)} bins and up to {shown(most)} records",
                do="no channel has so many inputs: merge bins, or take fewer records",
            )
    # Counts are the gaps between bars among stars; what is right of the last bar is left out.
    held = [tuple(b - a - 1 for a, b in pairwise((-1, *bars))) for bars in combinations(range(most + bins), bins)]
    fuller = ((h, (*h[:k], h[k] + 1, *h[k + 1 :])) for h in held if sum(h) < most for k in range(bins))
    return _graph(held, fuller)


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
    do = "give a positive finite r in the unit of the coordinates"
    r = real_number(r, "r", do=do)
    if not (r > 0 and np.isfinite(r)):
        raise StatementError(f"r = {r} is no radius", do=do)
    if isinstance(points, np.ndarray):
        points = np.atleast_1d(points)
    elif isinstance(points, range) or not isinstance(points, (Mapping, Sequence)):
        points = np.atleast_1d(real_array(points, "list of points"))
    given = dict(points) if isinstance(points, Mapping) else dict(enumerate(points))
    names = _distinct(given)
    if callable(metric):
        pairs = ((x, y) for i, x in enumerate(names) for y in names[:i])
        return _graph(names, ((x, y) for x, y in pairs if real_number(metric(given[x], given[y]), "distance") <= r))
    if not isinstance(metric, str) or metric not in ("euclidean", "manhattan"):
        raise StatementError(
            f"unknown metric {shown(metric)}", do='name "euclidean" or "manhattan", or pass a function'
        )
    where = _coordinates(list(given.values()))
    edges = []
    for i, x in enumerate(names):
        distance = _distances(where[:i], where[i], metric)
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
    if not _is_node(source, graph):
        raise StatementError(f"the source {shown(source)} is no node of the graph", do="start from one of its nodes")
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


def _is_node(label: Any, graph: Graph) -> bool:
    try:
        return label in graph
    except (TypeError, ValueError):  # not every value can be hashed
        return False


def _value(node: Any, value: Mapping[Any, Hashable] | Callable[[Any], Hashable] | None) -> Hashable:
    if value is None:
        return node  # type: ignore[no-any-return]
    if callable(value):
        return value(node)
    try:
        return value[node]
    except (KeyError, IndexError, TypeError):
        raise StatementError(f"node {shown(node)} has no query value", do="give a value to every node") from None


def _distinct(labels: Iterable[Hashable]) -> tuple[Any, ...]:
    require_room(labels, "list of labels")
    try:
        names = tuple(labels) if getattr(labels, "ndim", 1) == 1 else ([],)
        hash(names)
    except (TypeError, ValueError):
        raise StatementError("a label is not hashable", do="name inputs by numbers, texts or tuples of them") from None
    if not names:
        raise StatementError("a graph without labels is empty", do="give at least one label")
    if any(name is None or (isinstance(name, float) and name != name) for name in names):
        raise StatementError("None and nan name no input", do="name inputs by numbers, texts or tuples of them")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise StatementError(f"the label {shown(twice)} stands twice", do="give every input its own label")
    return names


def _graph(names: Sequence[Any], edges: Iterable[tuple[Any, Any]]) -> Graph:
    import networkx as nx

    graph: Graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    return graph


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
