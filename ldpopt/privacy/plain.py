"""Values and neighbor graphs of a privacy notion as files hold them: numbers, text, lists and
tables.

A notion is written as a table of plain values, and read from one that a user wrote by hand. Hence
two requirements: what is written is exact (a budget keeps its text, such as ``log(3)``), and what
is read is refused with the key that is wrong, because the file's author has nothing else to go by.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, decimal_of
from ldpopt.foundation.labels import nearest, read_alphabet
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.neighbors import complete, cycle, grid, path

if TYPE_CHECKING:
    import networkx as nx

Table = Mapping[str, Any]

FAMILIES: dict[str, Callable[[Any], nx.Graph[Any]]] = {
    "path": path,
    "cycle": cycle,
    "complete": complete,
}
"""Neighbor graphs that a file names; the first family that fits is written."""

KINDS_OF_NEIGHBORS = ("complete", "path", "cycle", "grid", "edges")

KEYS_OF_NEIGHBORS = ("kind", "rows", "columns", "edges")


class MisstatedError(StatementError):
    """A value of a table is wrong; ``key`` leads to it from the table."""

    def __init__(self, what: str, *key: str | int, code: str = "", do: str = "") -> None:
        super().__init__(what, code=code, do=do)
        self.key = key


@contextmanager
def at_key(*key: str | int) -> Iterator[None]:
    """Say in errors which key of a table they are about.

    Parts of a table, such as distributions and notions that are joined, are read by code that does
    not know where they stand; whoever calls it does.
    """
    try:
        yield
    except MisstatedError as error:
        raise MisstatedError(error.what, *key, *error.key, code=error.code, do=error.do) from None
    except StatementError as error:
        raise MisstatedError(error.what, *key, code=error.code, do=error.do) from None


def as_label(name: Any) -> Any:
    """A label of a file, in which tuples are lists."""
    return tuple(map(as_label, name)) if isinstance(name, list) else name


def parameters(kind: type) -> tuple[str, ...]:
    """Names of the parameters of a class."""
    return tuple(inspect.signature(kind).parameters)


def fields_to_plain(notion: Any) -> dict[str, Any]:
    """Fields of a dataclass as plain values; a field that is None is left out.

    A field that is None is left out rather than written, so that a reader takes the default.
    """
    values = {field.name: getattr(notion, field.name) for field in fields(notion) if field.init}
    return {name: to_plain(value) for name, value in values.items() if value is not None}


def fields_from_plain(kind: type, table: Table) -> Any:
    """Object of a class whose parameters are the keys of a table.

    Keys without a default must be there, and there are no others.
    """
    known = parameters(kind)
    for key in read_table(table):
        if key not in known:
            raise MisstatedError(f"unknown key {short_repr(key)}", key, do=nearest(key, known))
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is parameter.empty:
            required(table, name)
    return kind(**table)


def read_table(table: Any) -> Table:
    """Read a table, a mapping with texts for keys."""
    if not isinstance(table, Mapping) or not all(isinstance(key, str) for key in table):
        raise StatementError(
            f"{short_repr(table)} is not a table of a privacy notion",
            code="table",
            do="pass what to_plain() returned",
        )
    return table


def required(table: Table, name: str) -> Any:
    """Value of a required key."""
    read_table(table)
    if name not in table:
        raise MisstatedError(f"the key privacy.{name} is missing", name, do=f"add {name}")
    return table[name]


def to_plain(value: Any) -> Any:
    """Convert budgets, arrays and tuples to plain values."""
    if isinstance(value, Budget):
        return plain_budget(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [to_plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def plain_budget(epsilon: Budget) -> float | str:
    """Return a number if that number means exactly the budget, else the text of its exact value.

    A number is the decimal that is written: ``0.4`` for 4/10, but ``log(3)`` as text, because the
    decimals next to it are other budgets.
    """
    is_number = epsilon.nats is not None and epsilon.nats == decimal_of(epsilon)
    return float(epsilon) if is_number else epsilon.exact_text


def is_plain(value: Any) -> bool:
    """Whether a file can hold the value.

    Text, booleans, integers, finite floats, and lists and tables of these; None is not one, as TOML
    has no word for it.
    """
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(part) for key, part in value.items())
    return isinstance(value, (str, bool, int)) or (
        isinstance(value, float) and bool(np.isfinite(value))
    )


def plain_neighbors(graph: nx.Graph[Any], inputs: Sequence[Hashable]) -> dict[str, Any]:
    """Table of a graph on the inputs: the name of its family, ``{ kind = "path" }``, else its
    edges.
    """
    inputs = tuple(inputs)
    edges = {frozenset(edge) for edge in graph.edges if edge[0] != edge[1]}
    for kind, build in FAMILIES.items():
        # Two labels make no cycle; they are a path.
        if (kind != "cycle" or len(inputs) > 2) and edges == {
            frozenset(edge) for edge in build(inputs).edges
        }:
            return {"kind": kind}
    position = {label: x for x, label in enumerate(inputs)}
    pairs = sorted(tuple(sorted(position[label] for label in edge)) for edge in edges)
    return {"edges": [[inputs[x] for x in pair] for pair in pairs]}


def read_neighbors(table: Any, inputs: Sequence[Hashable]) -> nx.Graph[Any]:
    """Graph of a table ``{ kind = "path" }`` or ``{ edges = [["a", "b"], ...] }``."""
    inputs = read_alphabet(inputs)
    if not isinstance(table, dict):
        raise _wrong(
            f"privacy.neighbors = {short_repr(table)}: should be a table",
            do='such as { kind = "path" }',
        )
    for key in table:
        if key not in KEYS_OF_NEIGHBORS:
            raise _wrong(f"unknown key {key!r}", key, do=nearest(key, KEYS_OF_NEIGHBORS))
    kind = table.get("kind", "edges")
    edges = table.get("edges")
    if not isinstance(kind, str) or kind not in KINDS_OF_NEIGHBORS:
        problem = (
            f"privacy.neighbors.kind = {short_repr(kind)}: should be "
            f"{', '.join(map(repr, KINDS_OF_NEIGHBORS))}"
        )
        raise _wrong(problem, "kind", do=nearest(kind, KINDS_OF_NEIGHBORS))
    sizes: Any = (table.get("rows"), table.get("columns"))
    if (None in sizes) if kind == "grid" else (sizes != (None, None)):
        do = "give rows and columns with kind = 'grid' and nowhere else"
        raise _wrong(f"neighbors of kind {kind!r} with rows, columns = {sizes}", do=do)
    if (edges is None) == (kind == "edges"):
        raise _wrong(
            "give either a kind of neighbors or their edges", do='such as { kind = "path" }'
        )
    if edges is not None:
        return _by_edges(edges, inputs, "neighbors", "edges")
    try:
        return grid(sizes[0], sizes[1], inputs) if kind == "grid" else FAMILIES[kind](inputs)
    except StatementError as error:
        raise _wrong(error.what, do=error.do) from None


def graph_of_positions(edges: Any, inputs: Sequence[Hashable]) -> nx.Graph[Any]:
    """Graph of a certificate: ``edges`` are pairs of positions of inputs."""
    inputs = read_alphabet(inputs)
    n = len(inputs)
    pairs = edges if isinstance(edges, list) else [edges]
    for k, edge in enumerate(pairs):
        if not (
            isinstance(edge, list)
            and len(edge) == 2
            and all(type(x) is int and 0 <= x < n for x in edge)
        ):
            problem = (
                f"the edge {short_repr(edge)} should be a pair of integers from 0 to {n - 1}, "
                "positions of inputs"
            )
            raise MisstatedError(
                problem, "edges", k, do="give labels as neighbors = { edges = [[label, label]] }"
            )
    return _by_edges([[inputs[x] for x in edge] for edge in pairs], inputs, "edges")


def _by_edges(edges: Any, inputs: Sequence[Hashable], *key: str) -> nx.Graph[Any]:
    import networkx as nx

    if not isinstance(edges, list):
        problem = f"{short_repr(edges)} should be a list of pairs of labels"
        raise MisstatedError(problem, *key, do='write [["a", "b"], ...]')
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(inputs)
    for k, edge in enumerate(edges):
        if not isinstance(edge, list) or len(edge) != 2:
            problem = f"the edge {short_repr(edge)} should be a pair of labels"
            raise MisstatedError(problem, *key, k, do='write ["a", "b"]')
        for label in edge:
            if isinstance(label, (list, dict)) or label not in graph:
                problem = f"the edge {edge} names {label!r}, which is not an input"
                raise MisstatedError(problem, *key, k, do=nearest(label, inputs))
        if edge[0] == edge[1]:
            raise MisstatedError(
                f"the edge {edge} ties an input to itself", *key, k, do="remove this edge"
            )
        graph.add_edge(*edge)
    return graph


def _wrong(problem: str, *key: str | int, do: str = "") -> MisstatedError:
    return MisstatedError(problem, "neighbors", *key, do=do)
