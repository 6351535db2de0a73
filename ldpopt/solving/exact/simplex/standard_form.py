"""The standard form of the simplex method, of any linear program, and a solver's final basis in
it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.labels import first_duplicate
from ldpopt.foundation.numbers import is_whole, listed_items, require_kind, require_text, short_repr
from ldpopt.solvers import Outcome, find
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.solution import Solution

# largest number of rows of a program that is converted to rationals; elimination then takes seconds
MAX_ROWS = 2000
# Columns for the distances of a variable or row from its lower and from its upper bound
Side = tuple[int | None, int | None]
Row = dict[int, Any]  # the non-zero entries of a row by column


@dataclass(frozen=True)
class Variable:
    """A variable of a program in terms of the columns of a standard form: ``offset + sum of sign *
    x[position]``.
    """

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
        for name in ("matrix", "right", "cost", "names", "variables"):
            value = getattr(self, name)
            if not isinstance(value, tuple):
                object.__setattr__(self, name, tuple(listed_items(value, name)))
        for row in self.matrix:
            require_kind(row, Sequence, "StandardForm()", "give the rows as tuples")
        for name in self.names:
            require_text(name, "the name of a column")
        rows, columns = self.shape
        if (
            len(self.matrix) != rows
            or any(len(row) != columns for row in self.matrix)
            or len(self.cost) != columns
        ):
            problem = (
                f"the matrix does not have {rows} rows and {columns} columns, as b and the names do"
            )
            raise StatementError(
                problem,
                code="shape",
                do="give one entry of b for each row, a name and a cost for each column",
            )
        if (twice := first_duplicate(self.names)) is not None:
            raise StatementError(
                f"duplicate column name {twice[0]!r}",
                code="column-names",
                do="give each column its own name",
            )

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
        basic = []
        for column in listed_items(basis, "basis"):
            position = None
            if isinstance(column, str):
                position = position_of.get(column)
            elif is_whole(column):
                position = int(column)
            if position is None or not 0 <= position < columns:
                problem = f"unknown column {column!r} in the basis"
                do = (
                    f"name some of {', '.join(self.names[:8])}, ... or positions from 0 to "
                    f"{columns - 1}"
                )
                raise StatementError(problem, code="basis-column", do=do)
            basic.append(position)
        if len(basic) != rows or len(set(basic)) < rows:
            problem = (
                f"a basis needs {rows} distinct columns, one per row; this one has "
                f"{len(set(basic))}"
            )
            raise StatementError(problem, code="basis-size", do="name each basic column once")
        return tuple(basic)

    def point(self, x: Sequence[Any]) -> dict[str, Any]:
        """Return a point in the program's own variables, by name."""
        x = listed_items(x, "point")
        if len(x) != len(self.names):
            raise StatementError(
                f"a point of {len(x)} numbers for {len(self.names)} columns",
                code="shape",
                do="give one number for each column",
            )
        if not self.variables:
            return dict(zip(self.names, x, strict=True))
        return {
            v.name: v.offset + sum(sign * x[position] for position, sign in v.terms)
            for v in self.variables
        }


def standard_form(program: LinearProgram) -> StandardForm:
    """Rewrite any program in standard form, its floats read exactly as Fractions.

    Parameters
    ----------
    program : LinearProgram
        Rows and columns may be bounded on one side, both, or none.

    Returns
    -------
    StandardForm
        A variable with a lower bound is shifted, one with only an upper bound is mirrored. With
        both, a second column ``room[...]`` is the distance to the upper bound, in an extra row. A
        free variable is the difference of two columns, a fixed one is substituted. Rows get
        ``above[...]`` and ``below[...]``. Minimizing becomes maximizing with ``sign = -1``.

    Raises
    ------
    StatementError
        If a coefficient is not finite.
    NotRepresentableError
        If the program has more than 2000 rows.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, formulate
    >>> standard_form(formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)))).shape
    (12, 21)
    """
    return _Writer(program).form


def basis_of(solution: Solution) -> tuple[StandardForm, tuple[int, ...]]:
    """Read a solver's final basis, so that ``canonical_form(*basis_of(solution))`` repeats its
    proof of optimality.

    HiGHS returns a basis; of another solver's optimum HiGHS solves the program again.

    Parameters
    ----------
    solution : Solution
        A solution with a mechanism.

    Returns
    -------
    tuple of StandardForm and tuple of int
        The solved program in standard form and the positions of the basic columns. An equation
        whose slack is basic (it follows from the active rows) is written as two inequalities,
        unlike in `standard_form`.

    Raises
    ------
    NotRepresentableError
        If the solution has no program or no optimum.

    Notes
    -----
    A solver's basis is optimal up to its tolerance. Near a tie (about one random problem in ten) a
    reduced cost of about 1e-17 has the wrong sign in the exact test; `improve` then pivots to a
    basis that passes.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, solve
    >>> from ldpopt.solving.exact.simplex import canonical_form
    >>> solution = solve(Problem([0.5, 0.375, 0.125], "identity", PureLDP("log(2)")))
    >>> replay = canonical_form(*basis_of(solution))
    >>> replay.is_optimal, replay.objective
    (True, Fraction(7, 12))
    """
    require_kind(solution, Solution, "basis_of()", "pass solve(problem)")
    program, outcome = solution.program, solution.outcome
    if program is None or outcome is None:
        raise NotRepresentableError(
            f"{solution.solver} returned no basis", code="no-basis", do="solve with solver='highs'"
        )
    if outcome.point is not None and not _has_basis(outcome):
        outcome = find("highs").solve(program)
    return basis_in(program, outcome)


def _has_basis(outcome: Outcome) -> bool:
    """Whether an outcome has a basis as HiGHS returns it."""
    return hasattr(outcome.warm_start, "col_status")


def basis_in(program: LinearProgram, outcome: Outcome) -> tuple[StandardForm, tuple[int, ...]]:
    """Read HiGHS's final basis of a program."""
    basis = outcome.warm_start
    if outcome.point is None or not _has_basis(outcome):
        raise NotRepresentableError(
            "the solver returned no basis", code="no-basis", do="solve with solver='highs'"
        )
    columns, rows = ([s.name for s in part] for part in (basis.col_status, basis.row_status))
    writer = _Writer(
        program,
        split_rows={i for i, status in enumerate(rows) if status == "kBasic"},
        split_columns={j for j, status in enumerate(columns) if status == "kBasic"},
    )
    chosen: list[int] = []
    for j, (status, (low, high)) in enumerate(zip(columns, writer.column_sides, strict=True)):
        if j in writer.free:
            # A basic free variable is represented by the one of its two columns that is not
            # negative.
            half = low if outcome.point[j] >= 0 else high
            chosen += [half] if half is not None and status == "kBasic" else []
        else:
            chosen += _basic(status, low, high)
    for status, (low, high) in zip(rows, writer.row_sides, strict=True):
        chosen += _basic(status, low, high)
    return writer.form, tuple(chosen)


def _basic(status: str, low: int | None, high: int | None) -> list[int]:
    """Basic columns of a variable or row; at a bound, the distance from that bound is not basic."""
    at_upper = status == "kUpper" or (status != "kBasic" and low is None)
    pair = (
        low if status == "kBasic" or at_upper else None,
        high if status == "kBasic" or not at_upper else None,
    )
    return [position for position in pair if position is not None]


class _Writer:
    """Writes a program in standard form and records the columns of each variable and row.

    Equations and fixed variables have no slack columns; those in ``split_rows``, ``split_columns``
    become inequalities.
    """

    def __init__(
        self,
        program: LinearProgram,
        split_rows: Collection[int] = (),
        split_columns: Collection[int] = (),
    ) -> None:
        require_kind(program, LinearProgram, "standard_form()", "pass formulate(problem)")
        if program.shape[0] > MAX_ROWS:
            problem = (
                f"the program has {program.shape[0]} rows; rational elimination stops at {MAX_ROWS}"
            )
            raise NotRepresentableError(
                problem, code="row-count", do="use certify(solution), which needs no basis"
            )
        self.program = program
        self.names: dict[str, int] = {}
        self.rows: list[Row] = []
        self.right: list[Fraction] = []
        self.free: set[int] = set()
        self.column_sides: list[Side] = []
        self.row_sides: list[Side] = []
        names = program.column_names()
        variables = [self._column(j, names[j], j in split_columns) for j in range(program.shape[1])]
        for i, name in enumerate(program.row_names()):
            self._row(i, name, variables, i in split_rows)
        sign = 1 if program.maximize else -1
        zero = Fraction(0)
        cost = [zero] * len(self.names)
        objective = [exact(c) for c in program.objective]
        for c, variable in zip(objective, variables, strict=True):
            for position, direction in variable.terms:
                cost[position] = sign * direction * c
        self.form = StandardForm(
            tuple(tuple(row.get(j, zero) for j in range(len(cost))) for row in self.rows),
            tuple(self.right),
            tuple(cost),
            tuple(self.names),
            sign,
            sum((c * v.offset for c, v in zip(objective, variables, strict=True)), zero),
            tuple(variables),
        )

    def _new(self, name: str) -> int:
        """Add a column; a duplicate name gets its position as suffix."""
        position = len(self.names)
        self.names[name if name not in self.names else f"{name}#{position}"] = position
        return position

    def _write(self, row: Row, right: Fraction) -> None:
        """Add an equation."""
        self.rows.append(row)
        self.right.append(right)

    def _column(self, j: int, name: str, is_split: bool) -> Variable:
        """Write a variable: its columns, and an equation for a second bound."""
        lower = float(self.program.column_lower[j])
        upper = float(self.program.column_upper[j])
        low = np.isfinite(lower)
        high = np.isfinite(upper)
        unit = Fraction(1)
        if not low and not high:
            self.free.add(j)
            plus = self._new(f"{name}+")
            minus = self._new(f"{name}-")
            self.column_sides.append((plus, minus))
            return Variable(name, Fraction(0), ((plus, 1), (minus, -1)))
        if lower == upper and not is_split:
            self.column_sides.append((None, None))
            return Variable(name, exact(lower), ())
        position = self._new(name)
        if not low:
            self.column_sides.append((None, position))
            return Variable(name, exact(upper), ((position, -1),))
        room = self._new(f"room[{name}]") if high else None
        if room is not None:
            self._write({position: unit, room: unit}, exact(upper) - exact(lower))
        self.column_sides.append((position, room))
        return Variable(name, exact(lower), ((position, 1),))

    def _row(self, i: int, name: str, variables: Sequence[Variable], is_split: bool) -> None:
        """Write a row: an equation with slack columns, and one for a second bound; `_Writer` says
        what is split.
        """
        program = self.program
        unit = Fraction(1)
        row, moved = self._substituted(i, variables)
        lower = float(program.row_lower[i])
        upper = float(program.row_upper[i])
        low = np.isfinite(lower)
        high = np.isfinite(upper)
        equation = lower == upper and not is_split
        above = self._new(f"above[{name}]") if low and not equation else None
        below = self._new(f"below[{name}]") if high and not equation else None
        self.row_sides.append((above, below))
        if low:
            self._write(row if above is None else {**row, above: -unit}, exact(lower) - moved)
        elif below is not None:
            self._write({**row, below: unit}, exact(upper) - moved)
        if above is not None and below is not None:
            self._write({above: unit, below: unit}, exact(upper) - exact(lower))

    def _substituted(self, i: int, variables: Sequence[Variable]) -> tuple[Row, Fraction]:
        """A row of the program in the new columns, and the constant that the offsets of its
        variables add.
        """
        program = self.program
        terms = slice(program.start[i], program.start[i + 1])
        row: Row = {}
        constant = Fraction(0)
        for j, value in zip(
            program.index[terms].tolist(), program.value[terms].tolist(), strict=True
        ):
            constant += exact(value) * variables[j].offset
            for position, sign in variables[j].terms:
                row[position] = row.get(position, 0) + sign * exact(value)
        return row, constant


def exact(value: Any) -> Any:
    """Convert a number or numeric text to an exact Fraction; return anything else (a symbol)
    unchanged.
    """
    try:
        return (
            Fraction(value) if isinstance(value, (str, Rational, float)) else Fraction(float(value))
        )
    except (ValueError, OverflowError, ZeroDivisionError):
        problem = f"{short_repr(value)} is not a finite number"
        raise StatementError(
            problem, code="finite-number", do="give numbers, or text such as '1/3'"
        ) from None
    except TypeError:
        return value
