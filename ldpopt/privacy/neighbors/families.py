"""Families of relations on given labels: everybody, a line, a ring, a rectangle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import require_memory, whole_number
from ldpopt.privacy.neighbors.relation import MOST_CELLS, distinct, graph_of

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph

BYTES_PER_NODE = 1000
"""Memory that networkx takes for a node and its few edges."""


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
    names = distinct(labels)
    return graph_of(names, ((x, y) for i, x in enumerate(names) for y in names[:i]))


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
    names = distinct(labels)
    return graph_of(names, pairwise(names))


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
    names = distinct(labels)
    if len(names) < 3:
        raise StatementError(
            f"a cycle of {len(names)} labels does not exist", do="give at least three labels, or use a path"
        )
    return graph_of(names, zip(names, (*names[1:], names[0]), strict=True))


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
        raise StatementError(
            f"a grid of {rows} x {columns} cells has more than {MOST_CELLS}",
            do="no channel has so many inputs: merge cells",
        )
    require_memory(float(BYTES_PER_NODE * rows * columns), f"a grid of {rows} x {columns} cells")
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    names: tuple[Any, ...] = distinct(cells if labels is None else labels)
    if len(names) != len(cells):
        raise StatementError(f"{len(names)} labels for a grid of {rows} x {columns} = {len(cells)} cells")
    down = ((names[k], names[k + columns]) for k in range(len(names) - columns))
    across = ((names[k], names[k + 1]) for k in range(len(names) - 1) if (k + 1) % columns)
    return graph_of(names, [*down, *across])
