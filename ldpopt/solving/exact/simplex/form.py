"""StandardForm: maximize ``c x`` over ``A x = b``, ``x >= 0``, for any number type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import short_repr


@dataclass(frozen=True)
class Variable:
    """A variable of a program in terms of the columns of a standard form: ``offset + sum of sign * x[position]``."""

    name: str
    offset: Any
    terms: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class StandardForm:
    r"""Maximize ``cost @ x`` over ``matrix @ x == right``, ``x >= 0``.

    Attributes
    ----------
    matrix : tuple of tuple, shape (rows, columns)
        ``A``.
    right : tuple, shape (rows,)
        ``b``; any sign.
    cost : tuple, shape (columns,)
        ``c``.
    names : tuple of str, shape (columns,)
        Names of the columns, distinct.
    sign : int
        -1 if the original program minimizes.
    constant : number
        The program's objective is ``constant + sign * cost @ x``.
    variables : tuple of Variable
        The program's own variables; empty for a form written by hand.

    Raises
    ------
    StatementError
        If the shapes differ, or a name is duplicate.
    """

    matrix: tuple[tuple[Any, ...], ...]
    right: tuple[Any, ...]
    cost: tuple[Any, ...]
    names: tuple[str, ...]
    sign: int = 1
    constant: Any = 0
    variables: tuple[Variable, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if len(self.matrix) != rows or any(len(row) != columns for row in self.matrix) or len(self.cost) != columns:
            raise StatementError(f"the matrix does not have {rows} rows and {columns} columns, as b and the names do")
        if len(set(self.names)) < columns:
            raise StatementError("duplicate column name in the standard form")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.right), len(self.names)

    def positions(self, basis: Iterable[int | str]) -> tuple[int, ...]:
        """Read a basis, given by names or by positions from 0.

        Raises
        ------
        StatementError
            If a column is unknown or duplicate, or their number is not the number of rows.
        """
        rows, columns = self.shape
        position_of = {name: position for position, name in enumerate(self.names)}
        found = []
        for column in basis:
            position = position_of.get(column) if isinstance(column, str) else int(column)
            if position is None or not 0 <= position < columns:
                raise StatementError(
                    f"unknown column {column!r} in the basis",
                    do=f"name some of {', '.join(self.names[:8])}, ... or positions from 0 to {columns - 1}",
                )
            found.append(position)
        if len(found) != rows or len(set(found)) < rows:
            raise StatementError(f"a basis needs {rows} distinct columns, one per row; this one has {len(found)}")
        return tuple(found)

    def point(self, x: Sequence[Any]) -> dict[str, Any]:
        """Return a point in the program's own variables, by name."""
        if not self.variables:
            return dict(zip(self.names, x, strict=True))
        return {v.name: v.offset + sum(sign * x[position] for position, sign in v.terms) for v in self.variables}


def exact(value: Any) -> Any:
    """A number or numeric text as an exact Fraction; anything else (a symbol) unchanged."""
    try:
        return Fraction(value) if isinstance(value, (str, Rational, float)) else Fraction(float(value))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise StatementError(f"{short_repr(value)} is not a finite number") from None
    except TypeError:
        return value
