"""The breadth-first layers of Wu, Xia and He: nodes or values at 0, 1, ... steps from a source."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import is_among
from ldpopt.foundation.numbers import short_repr

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.Graph[Any]

Value = Mapping[Any, Hashable] | Callable[[Any], Hashable]


def require_undirected(graph: Graph) -> None:
    """Require an undirected, non-empty networkx graph."""
    if not (hasattr(graph, "is_directed") and hasattr(graph, "adj")):
        problem = f"{type(graph).__name__} is not a networkx graph"
        raise StatementError(problem, code="graph", do="pass a networkx.Graph on the inputs")
    if graph.is_directed():
        problem = "the graph is directed; being neighbors is mutual"
        raise StatementError(
            problem, code="directed-graph", do="pass graph.to_undirected() if both ways are meant"
        )
    if len(graph) == 0:
        raise StatementError("the graph is empty", code="empty-graph", do="add the inputs as nodes")


def bfs_partition(
    graph: Graph, source: Hashable, value: Value | None = None
) -> tuple[frozenset[Any], ...]:
    r"""Layers :math:`I_0, I_1, \ldots` of the nodes, or of their values, at 0, 1, ... steps from a
    source.

    .. math:: I_0(x) = \{f(x)\}, \qquad
              I_t(x) = \bigcup_{x' \sim x} I_{t-1}(x') \setminus (I_0(x) \cup \dots \cup I_{t-1}(x))

    Parameters
    ----------
    graph : networkx.Graph
        The neighbor relation, undirected.
    source : hashable
        Node :math:`x` to start from.
    value : mapping or callable, optional
        Query value :math:`f` of a node; default: none, the layers consist of the nodes themselves.

    Returns
    -------
    tuple of frozenset
        Disjoint layers. With ``value``, layer t has the values that occur at distance t and at no
        smaller one; it is empty if there are none. Nodes out of reach are in no layer.

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
    >>> from ldpopt.privacy.neighbors import path
    >>> line = path(range(-2, 3))
    >>> [[sorted(layer) for layer in bfs_partition(line, 0, value)] for value in (None, abs)]
    [[[0], [-1, 1], [-2, 2]], [[0], [1], [2]]]
    """
    require_undirected(graph)
    if not is_among(source, graph):
        problem = f"the source {short_repr(source)} is not a node of the graph"
        raise StatementError(problem, code="source", do="start from one of its nodes")
    nearest: dict[Any, int] = {}
    for node, number in steps_from(graph, [source]).items():
        nearest.setdefault(value_of(node, value), number)
    layers: list[set[Any]] = [set() for _ in range(max(nearest.values()) + 1)]
    for member, number in nearest.items():
        layers[number].add(member)
    return tuple(map(frozenset, layers))


def steps_from(graph: Graph, sources: Iterable[Hashable]) -> dict[Any, int]:
    """Return the number of edges from the nearest source to each node in reach, in ascending
    order.
    """
    steps: dict[Any, int] = dict.fromkeys(sources, 0)
    order = list(steps)
    for node in order:
        for neighbor in graph[node]:
            if neighbor not in steps:
                steps[neighbor] = steps[node] + 1
                order.append(neighbor)
    return steps


def value_of(node: Any, value: Value | None) -> Hashable:
    """Return the query value of a node, or the node itself."""
    if value is None:
        return node  # type: ignore[no-any-return]
    if callable(value):
        try:
            answer = value(node)
        except Exception as error:
            raise StatementError(
                f"the query failed for node {short_repr(node)}: {type(error).__name__}: {error}",
                code="query",
                do="pass a function of a node, or a mapping",
            ) from error
    else:
        try:
            answer = value[node]
        except (KeyError, IndexError, TypeError):
            problem = f"node {short_repr(node)} has no query value"
            raise StatementError(
                problem, code="query-value", do="give a value to every node"
            ) from None
    try:
        hash(answer)
    except TypeError:
        problem = (
            f"the query value of node {short_repr(node)} is not hashable: {short_repr(answer)}"
        )
        raise StatementError(problem, do="return a number, a text or a tuple") from None
    return answer
