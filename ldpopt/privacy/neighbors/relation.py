"""What a neighbor relation is: an undirected networkx graph on distinct labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import require_room, short_repr

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.Graph[Any]

MOST_CELLS = 100_000
"""Of a grid: a graph of them takes a second, and a channel has as many rows."""


def require_undirected(graph: Graph) -> None:
    """Require an undirected, non-empty networkx graph.

    Raises
    ------
    StatementError
        If it is something else; the message names it.
    """
    if not (hasattr(graph, "is_directed") and hasattr(graph, "adj")):
        what = f"{type(graph).__name__} is not a networkx graph"
        raise StatementError(what, do="pass a networkx.Graph on the inputs")
    if graph.is_directed():
        raise StatementError(
            "the graph is directed; being neighbors is mutual", do="pass graph.to_undirected() if both ways are meant"
        )
    if len(graph) == 0:
        raise StatementError("the graph is empty", do="add the inputs as nodes")


def is_node(label: Any, graph: Graph) -> bool:
    """Whether the graph has this node; an unhashable label is not one."""
    try:
        return label in graph
    except (TypeError, ValueError):
        return False


def distinct(labels: Iterable[Hashable]) -> tuple[Any, ...]:
    """Return the labels as they are named."""
    require_room(labels, "list of labels")
    try:
        names = tuple(labels) if getattr(labels, "ndim", 1) == 1 else ([],)
        hash(names)
    except (TypeError, ValueError):
        raise StatementError("a label is not hashable", do="name inputs by numbers, texts or tuples of them") from None
    if not names:
        raise StatementError("a graph without labels is empty", do="give at least one label")
    if any(name is None or (isinstance(name, float) and name != name) for name in names):
        raise StatementError("None and nan cannot name an input", do="name inputs by numbers, texts or tuples of them")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise StatementError(f"duplicate label {short_repr(twice)}", do="give every input its own label")
    return names


def graph_of(names: Sequence[Any], edges: Iterable[tuple[Any, Any]]) -> Graph:
    """Return the graph with these nodes, in this order, and edges."""
    import networkx as nx  # takes a third of a second: imported for graphs only

    graph: Graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from(edges)
    return graph
