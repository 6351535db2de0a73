"""Sparse Gaussian elimination in any numbers: Fractions, floats, symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ldpopt.certificate.simplex.form import StandardForm
from ldpopt.errors import StatementError

Row = dict[int, Any]
Simplify = Callable[[Any], Any]


def basic_rows(form: StandardForm, chosen: Sequence[int]) -> list[Row]:
    """``B`` by rows, non-zeros only."""
    return [{k: row[j] for k, j in enumerate(chosen) if row[j] != 0} for row in form.matrix]


def solve_rows(matrix: Sequence[Row], sides: Sequence[Sequence[Any]], simplify: Simplify | None) -> list[list[Any]]:
    """Solve ``matrix @ X = sides`` by elimination; the next pivot has the fewest neighbors in its row, then column."""
    rows, right = [dict(row) for row in matrix], [list(side) for side in sides]
    within: list[set[int]] = [set() for _ in rows]
    for r, row in enumerate(rows):
        for k in row:
            within[k].add(r)
    left, order = set(range(len(rows))), []
    while left:
        r = min(left, key=lambda i: len(rows[i]))
        left.discard(r)
        if not rows[r]:
            raise StatementError(
                "the basis is singular: its columns depend on each other",
                do="choose other columns (the bases of the binary models need epsilon > 0)",
            )
        for k in rows[r]:
            within[k].discard(r)
        pivot = min(rows[r], key=lambda k: len(within[k]))
        order.append((r, pivot))
        for other in within[pivot].copy():
            _eliminate(rows, right, within, other, r, pivot, simplify)
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
    """Take a multiple of row ``r`` from another row so that the pivot's column vanishes there."""
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
