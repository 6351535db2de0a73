"""Neighbor graphs as plain tables, ``{ kind = "path" }`` or ``{ edges = [["a", "b"], ...] }``, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.neighbors.families import complete, cycle, grid, path
from ldpopt.privacy.tables import MisstatedError

if TYPE_CHECKING:
    import networkx as nx

KEYS = ("kind", "rows", "columns", "edges")

KINDS = ("complete", "path", "cycle", "grid", "edges")

FAMILIES: dict[str, Callable[[Any], Any]] = {"path": path, "cycle": cycle, "complete": complete}


def plain_neighbors(graph: nx.Graph[Any], inputs: Sequence[Hashable]) -> dict[str, Any]:
    """State a graph on the inputs by the name of its family, else by its edges."""
    edges = {frozenset(edge) for edge in graph.edges if edge[0] != edge[1]}
    for kind, build in FAMILIES.items():
        # Two labels make no cycle, and a path has told them already.
        if (kind != "cycle" or len(inputs) > 2) and edges == {frozenset(edge) for edge in build(inputs).edges}:
            return {"kind": kind}
    place = {label: x for x, label in enumerate(inputs)}
    pairs = sorted(tuple(sorted(place[label] for label in edge)) for edge in edges)
    return {"edges": [[inputs[x] for x in pair] for pair in pairs]}


def read_neighbors(table: Any, inputs: Sequence[Hashable]) -> nx.Graph[Any]:
    """Make the graph that a table states."""
    kind, edges, sizes = _read_keys(table)
    if (None in sizes) if kind == "grid" else (sizes != (None, None)):
        do = "state rows and columns with kind = 'grid' and nowhere else"
        raise _wrong(f"neighbors of kind {kind!r} with rows, columns = {sizes}", do=do)
    if (edges is None) == (kind == "edges"):
        raise _wrong("state either a kind of neighbors or their edges", do='such as { kind = "path" }')
    if edges is not None:
        return _by_edges(edges, inputs)
    try:
        return grid(*sizes, inputs) if kind == "grid" else FAMILIES[kind](inputs)
    except StatementError as error:
        raise _wrong(error.what, do=error.do) from None


def _read_keys(table: Any) -> tuple[str, Any, tuple[Any, Any]]:
    """Kind, edges and size that a table states; unknown keys and kinds are refused."""
    if not isinstance(table, dict):
        raise _wrong(f"privacy.neighbors = {short_repr(table)}: should be a table", do='such as { kind = "path" }')
    for key in table:
        if key not in KEYS:
            raise _wrong(f"unknown key {key!r}", key, do=nearest(key, KEYS))
    kind = table.get("kind", "edges")
    if not isinstance(kind, str) or kind not in KINDS:
        what = f"privacy.neighbors.kind = {short_repr(kind)}: should be {', '.join(map(repr, KINDS))}"
        raise _wrong(what, "kind", do=nearest(kind, KINDS))
    return kind, table.get("edges"), (table.get("rows"), table.get("columns"))


def graph_of_places(edges: Any, inputs: Sequence[Hashable]) -> nx.Graph[Any]:
    """Make the graph of ``edges``, pairs of positions of inputs: how certificates of the first format state it."""
    n = len(inputs)
    pairs = edges if isinstance(edges, list) else [edges]
    for place, edge in enumerate(pairs):
        is_pair = isinstance(edge, list) and len(edge) == 2 and all(type(x) is int and 0 <= x < n for x in edge)
        if not is_pair:
            what = f"the edge {short_repr(edge)} should be a pair of integers from 0 to {n - 1}, positions of inputs"
            raise MisstatedError(what, "edges", place, do="state labels as neighbors = { edges = [[label, label]] }")
    return _by_edges([[inputs[x] for x in edge] for edge in pairs], inputs, "edges")


def _by_edges(edges: Any, inputs: Sequence[Hashable], *key: str) -> nx.Graph[Any]:
    import networkx as nx

    key = key or ("neighbors", "edges")
    if not isinstance(edges, list):
        raise MisstatedError(f"{short_repr(edges)} should be a list of pairs of labels", *key)
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(inputs)
    for place, edge in enumerate(edges):
        if not isinstance(edge, list) or len(edge) != 2:
            raise MisstatedError(f"the edge {short_repr(edge)} should be a pair of labels", *key, place)
        for label in edge:
            if isinstance(label, (list, dict)) or label not in graph:
                what = f"the edge {edge} names {label!r}, which is not an input"
                raise MisstatedError(what, *key, place, do=nearest(label, inputs))
        if edge[0] == edge[1]:
            raise MisstatedError(f"the edge {edge} ties an input to itself", *key, place, do="remove it")
        graph.add_edge(*edge)
    return graph


def _wrong(what: str, *key: str | int, do: str = "") -> MisstatedError:
    return MisstatedError(what, "neighbors", *key, do=do)
