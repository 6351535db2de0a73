"""Sparse Gaussian elimination for any number type: Fractions, floats, symbols."""

from collections.abc import Callable, Sequence
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.solving.exact.simplex.standard_form import Row, StandardForm

Simplify = Callable[[Any], Any]


def basic_rows(form: StandardForm, chosen: Sequence[int]) -> list[Row]:
    """Rows of ``B``, non-zero entries only."""
    return [{k: row[j] for k, j in enumerate(chosen) if row[j] != 0} for row in form.matrix]


def solve_rows(matrix: Sequence[Row], sides: Sequence[Sequence[Any]], simplify: Simplify | None) -> list[list[Any]]:
    """Solve ``matrix @ X = sides`` by sparse elimination and back substitution."""
    rows, right = [dict(row) for row in matrix], [list(side) for side in sides]
    order = _triangularize(rows, right, simplify)
    return _back_substitute(rows, right, order, simplify)


def _triangularize(rows: list[Row], right: list[list[Any]], simplify: Simplify | None) -> list[tuple[int, int]]:
    """Eliminate in place; return the pivots (row, column) in order."""
    # The next pivot is in the row with the fewest entries, in the column with the fewest remaining rows.
    within: list[set[int]] = [set() for _ in rows]
    for r, row in enumerate(rows):
        for k in row:
            within[k].add(r)
    remaining, order = set(range(len(rows))), []
    while remaining:
        r = min(remaining, key=lambda i: len(rows[i]))
        remaining.discard(r)
        if not rows[r]:
            what = "the basis is singular: its columns are linearly dependent"
            raise StatementError(what, do="choose other columns (the bases of the binary models need epsilon > 0)")
        for k in rows[r]:
            within[k].discard(r)
        pivot = min(rows[r], key=lambda k: len(within[k]))
        order.append((r, pivot))
        for other in within[pivot].copy():
            _eliminate(rows, right, within, other, r, pivot, simplify)
    return order


def _back_substitute(
    rows: list[Row], right: list[list[Any]], order: list[tuple[int, int]], simplify: Simplify | None
) -> list[list[Any]]:
    """Solve a triangular system, from the last pivot to the first."""
    found: list[list[Any]] = [[]] * len(rows)
    for r, pivot in reversed(order):
        value = right[r]
        for k, factor in rows[r].items():
            if k != pivot:
                value = [v - factor * x for v, x in zip(value, found[k], strict=True)]
        value = [v / rows[r][pivot] for v in value]
        found[pivot] = [simplify(v) for v in value] if simplify else value
    return found


def _eliminate(
    rows: list[Row],
    right: list[list[Any]],
    within: list[set[int]],
    other: int,
    r: int,
    pivot: int,
    simplify: Simplify | None,
) -> None:
    """Subtract a multiple of row ``r`` from another row to eliminate its entry in the pivot column."""
    factor = rows[other][pivot] / rows[r][pivot]
    for k, value in rows[r].items():
        entry = rows[other].get(k, 0) - factor * value
        entry = simplify(entry) if simplify else entry
        if k == pivot or entry == 0:
            rows[other].pop(k, None)
            within[k].discard(other)
        else:
            rows[other][k] = entry
            within[k].add(other)
    right[other] = [a - factor * b for a, b in zip(right[other], right[r], strict=True)]
