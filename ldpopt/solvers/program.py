"""LinearProgram: a linear program in matrix form, with names for rows and columns."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.files import require_path
from ldpopt.foundation.numbers import Float, Int, real_number, require_kind, shaped_array, truth
from ldpopt.foundation.rows import RowBlock

if TYPE_CHECKING:
    import cvxpy
    import highspy
    import pulp
    from scipy.sparse import csr_array

# number of rows of a block, and of terms of a sum, in the text of a program
SHOWN_ROWS, SHOWN_TERMS = 2, 8
LARGEST_COEFFICIENT = 1e15  # HiGHS refuses rows with larger ones
LEAST_SCALE = 1e-100  # by which sides and costs may be multiplied
BLOCK = 1 << 20  # number of rows whose entries are multiplied at once
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_.,()#$%&@~;?!]")


@dataclass(frozen=True)
class Span:
    """Consecutive rows or columns with a name: the product of the alphabets ``axes``, in row-major
    order, or numbered.

    With a ``block`` the axes are inputs and outputs, and a row is named by the ones that occur in
    it. Axes are labels: they become text where names are read, which solving does not need.
    """

    name: str
    start: int
    stop: int
    axes: tuple[tuple[Hashable, ...], ...] = ()
    block: RowBlock | None = None

    @property
    def slice(self) -> slice:
        """The positions as a slice."""
        return slice(self.start, self.stop)

    def names(self) -> Iterator[str]:
        """Readable names in order: ``P[no,yes]``."""
        size = self.stop - self.start
        if self.block is not None:
            yield from self._row_names(self.block)
        elif self.axes:
            for index in np.ndindex(*(len(axis) for axis in self.axes)):
                parts = (str(axis[i]) for axis, i in zip(self.axes, index, strict=True))
                yield f"{self.name}[{','.join(parts)}]"
        else:
            yield from (self.name,) if size == 1 else (f"{self.name}[{i}]" for i in range(size))

    def _row_names(self, block: RowBlock) -> Iterator[str]:
        inputs, outputs = self.axes
        ends = np.searchsorted(block.row, np.arange(len(block) + 1))
        for row in range(len(block)):
            entries = slice(ends[row], ends[row + 1])
            input_names = list(dict.fromkeys(str(inputs[x]) for x in block.x[entries]))
            output_names = list(dict.fromkeys(str(outputs[y]) for y in block.y[entries]))
            is_short = len(input_names) <= 3 and len(output_names) <= 8
            yield (
                f"{self.name}[{','.join(input_names + output_names)}]"
                if is_short
                else f"{self.name}[{row}]"
            )


@dataclass(frozen=True, repr=False, eq=False)
class LinearProgram:
    r"""Optimize ``objective @ v`` over ``row_lower <= A v <= row_upper``, ``column_lower <= v <=
    column_upper``.

    Attributes
    ----------
    objective : float array, shape (columns,)
        Coefficients in the utility's unit.
    maximize : bool
        Direction.
    start, index, value : arrays
        ``A`` by rows (compressed): row ``r`` has ``value[start[r]:start[r+1]]`` at
        ``index[start[r]:start[r+1]]``.
    row_lower, row_upper, column_lower, column_upper : float arrays
        Bounds, infinite if there is none.
    rows, columns : tuple of Span
        Names, in order.
    """

    objective: Float
    maximize: bool
    start: Int
    index: Int
    value: Float
    row_lower: Float
    row_upper: Float
    column_lower: Float
    column_upper: Float
    rows: tuple[Span, ...]
    columns: tuple[Span, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.row_lower), len(self.objective)

    @property
    def title(self) -> str:
        """First words of its text."""
        return "linear program"

    def __repr__(self) -> str:
        return f"<{self._sizes}>"

    @property
    def _sizes(self) -> str:
        rows, columns = self.shape
        return f"{self.title}: {rows:,} rows, {columns:,} columns, {self.nnz:,} non-zeros"

    def __str__(self) -> str:
        names = self.column_names()
        direction = "maximize" if self.maximize else "minimize"
        used = np.flatnonzero(self.objective)
        lines = [self._sizes]
        for kind, spans in (("columns ", self.columns), ("rows    ", self.rows)):
            sizes: dict[str, int] = {}
            for span in spans:
                sizes[span.name] = sizes.get(span.name, 0) + span.stop - span.start
            lines.append(
                f"{kind} " + ", ".join(f"{name}: {size:,}" for name, size in sizes.items())
            )
        lines.append(f"{direction} {_sum_of_terms(self.objective[used], used, names)}")
        for span in self.rows:
            shown = range(span.start, min(span.stop, span.start + SHOWN_ROWS))
            labels = list(islice(span.names(), SHOWN_ROWS))
            width = max(map(len, labels), default=0)
            for row, label in zip(shown, labels, strict=True):
                terms = slice(self.start[row], self.start[row + 1])
                left = _sum_of_terms(self.value[terms], self.index[terms], names)
                lines.append(
                    f"{label:{width}}  "
                    f"{_with_sides(left, self.row_lower[row], self.row_upper[row])}"
                )
            if span.stop - span.start > SHOWN_ROWS:
                lines.append(
                    f"... {span.stop - span.start - SHOWN_ROWS:,} more rows of {span.name}"
                )
        return "\n".join(lines)

    @property
    def nnz(self) -> int:
        """Number of non-zeros."""
        return len(self.value)

    @cached_property
    def matrix(self) -> csr_array:
        """The constraint matrix as a scipy sparse array."""
        from scipy.sparse import csr_array

        return csr_array((self.value, self.index, self.start), shape=self.shape)

    # By numpy alone: scipy takes as long to import as all else that a small problem needs.
    def activity(self, point: Float) -> Float:
        """Value of each row at a point, in its precision: ``A v``."""
        point = _vector(point, "point", self.shape[1])
        sums = np.zeros(self.shape[0], point.dtype)
        used = self.start[:-1] < self.start[1:]
        sums[used] = np.add.reduceat(self.value * point[self.index], self.start[:-1][used])
        return sums

    def adjoint(self, duals: Float) -> Float:
        """Weight of each column under multipliers of the rows, in their precision: ``A^T y``; some
        rows at a time.
        """
        duals = _vector(duals, "multipliers", self.shape[0])
        sums = np.zeros(self.shape[1], duals.dtype)
        for begin in range(0, len(duals), BLOCK):
            starts = self.start[begin : begin + BLOCK + 1]
            entries = slice(starts[0], starts[-1])
            weights = np.repeat(duals[begin : begin + BLOCK], np.diff(starts))
            np.add.at(sums, self.index[entries], self.value[entries] * weights)
        return sums

    def row_names(self) -> list[str]:
        """One readable name for each row."""
        return [name for span in self.rows for name in span.names()]

    def column_names(self) -> list[str]:
        """One readable name for each column."""
        return [name for span in self.columns for name in span.names()]

    def residual(self, point: Float) -> float:
        """Largest violation of a row or bound at a point."""
        point = _vector(point, "point", self.shape[1])
        activity = self.activity(point)
        rows = self.row_lower - activity, activity - self.row_upper
        columns = self.column_lower - point, point - self.column_upper
        return float(max(0.0, *(np.max(gap, initial=0.0) for gap in rows + columns)))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write an LP or MPS file with readable names.

        Parameters
        ----------
        path : path-like
            Ends in ``.lp`` or ``.mps``.

        Raises
        ------
        StatementError
            If the path has another ending, or the file cannot be written.
        """
        from tempfile import TemporaryDirectory

        require_path(path)
        text = os.fsdecode(path)
        if not text.lower().endswith((".lp", ".mps")):
            raise StatementError(
                f"unknown format of the file {text!r}",
                code="file-format",
                do="end the file name in .lp or .mps",
            )
        target = Path(text)
        try:
            # HiGHS ends the process if it cannot write: it writes into a temporary folder.
            with TemporaryDirectory(prefix=".ldpopt-", dir=target.parent) as folder:
                written = Path(folder) / target.name
                is_written = (
                    not target.is_dir() and self.to_highs().writeModel(str(written)).name == "kOk"
                )
                if is_written:
                    os.replace(written, target)
        except OSError as error:
            raise StatementError(
                f"cannot write {text!r}: {error.strerror}", do="name a file in a folder"
            ) from None
        if not is_written:
            raise StatementError(
                f"cannot write {text!r}", do="name a file that can be written, not a folder"
            )

    def to_highs(self, *, named: bool = True) -> highspy.Highs:
        """Build a silent HiGHS model, ready to ``run()``; ``named=False`` leaves out the names,
        which is faster.

        Examples
        --------
        >>> from ldpopt import Problem, PureLDP
        >>> from ldpopt.solving.formulation import formulate
        >>> highs = formulate(Problem([0.2, 0.8], "identity", PureLDP(1.0))).to_highs()
        >>> highs.run().name, round(highs.getObjectiveValue(), 12)
        ('kOk', 0.8)
        """
        highs = silent_highs()()
        self._pass_to(highs, 1.0, 1.0)
        if truth(named, "named"):
            for column, name in enumerate(plain_names(self.column_names())):
                highs.passColName(column, name)
            for row, name in enumerate(plain_names(self.row_names())):
                highs.passRowName(row, name)
        return highs

    def scaled_highs(
        self, scale: float = 1.0, cost_scale: float = 1.0, into: highspy.Highs | None = None
    ) -> highspy.Highs:
        """A silent HiGHS model without names and callbacks, all sides and bounds times ``scale``,
        costs times ``cost_scale``; ``into`` is an empty one to fill.
        """
        import highspy

        for name, factor in (("scale", scale), ("cost_scale", cost_scale)):
            real_number(factor, name, LEAST_SCALE, 1 / LEAST_SCALE)
        empty: Any = highspy.Highs.__base__  # the class that calls the library
        if into is not None:
            require_kind(into, empty, "scaled_highs()", "leave into out")
        highs = empty() if into is None else into
        self._pass_to(highs, scale, cost_scale)
        return highs

    def _pass_to(self, highs: highspy.Highs, scale: float, cost_scale: float) -> None:
        """Give rows, columns and usual options to an empty model."""
        import highspy

        rows, columns = self.shape
        highs.setOptionValue("output_flag", False)
        # Coefficients such as e**-epsilon may be small: 1e-12 is the smallest threshold that HiGHS
        # allows.
        highs.setOptionValue("small_matrix_value", 1e-12)
        # Arrays of a HighsLp would be converted number by number, in three times the time.
        nothing = 0, np.zeros(columns, np.int32), np.zeros(0, np.int32), np.zeros(0)
        statuses = (
            highs.changeObjectiveSense(
                highspy.ObjSense.kMaximize if self.maximize else highspy.ObjSense.kMinimize
            ),
            highs.addCols(
                columns,
                self.objective * cost_scale,
                self.column_lower * scale,
                self.column_upper * scale,
                *nothing,
            ),
            highs.addRows(
                rows,
                self.row_lower * scale,
                self.row_upper * scale,
                self.nnz,
                self.start[:-1],
                self.index,
                self.value,
            ),
        )
        if highspy.HighsStatus.kError in statuses:
            largest = float(np.abs(self.value).max(initial=0.0))
            if largest >= LARGEST_COEFFICIENT:
                row = int(np.searchsorted(self.start, int(np.abs(self.value).argmax()), "right"))
                raise StatementError(
                    f"a coefficient of {self.row_names()[row - 1]} is {largest:.3g}; HiGHS takes "
                    f"less than {LARGEST_COEFFICIENT:g}",
                    code="steep-coefficient",
                    do="scale the row, or take a tangent that is less steep",
                )
            problem = f"HiGHS refuses the program with {rows} rows and {columns} columns"
            raise StatementError(
                problem, code="program", do="check that its numbers are finite and below 1e20"
            )

    def to_pulp(self, *, named: bool = True) -> pulp.LpProblem:
        """Build a PuLP model with the same names (or ``x0``, ``r0``, ...); a two-sided row becomes
        two rows.

        PuLP may change names further. The multipliers ``constraint.pi`` of a maximization are
        those of the definition, the change of the optimum by one unit of the right-hand side, with
        ``PULP_CBC_CMD``; with ``HiGHS`` of PuLP they have the opposite sign.
        """
        import pulp

        named = truth(named, "named")
        columns = (
            plain_names(self.column_names()) if named else [f"x{j}" for j in range(self.shape[1])]
        )
        rows = plain_names(self.row_names()) if named else [f"r{i}" for i in range(self.shape[0])]
        problem = pulp.LpProblem("ldpopt", pulp.LpMaximize if self.maximize else pulp.LpMinimize)
        variables = [
            pulp.LpVariable(name, *(None if not np.isfinite(v) else float(v) for v in bounds))
            for name, *bounds in zip(columns, self.column_lower, self.column_upper, strict=True)
        ]
        problem += pulp.LpAffineExpression(zip(variables, self.objective.tolist(), strict=True))
        problem.addVariables(variables)
        for row, name in enumerate(rows):
            lower = self.row_lower[row]
            upper = self.row_upper[row]
            for sense, side, suffix in pulp_sides(float(lower), float(upper)):
                terms = slice(self.start[row], self.start[row + 1])
                pairs = [
                    (variables[j], float(a))
                    for j, a in zip(self.index[terms], self.value[terms], strict=True)
                ]
                problem += pulp.LpConstraint(
                    pulp.LpAffineExpression(pairs), sense, name + suffix, side
                )
        return problem

    def to_cvxpy(self) -> cvxpy.Problem:
        """Build a cvxpy model over one vector ``v`` of all columns; a program of `formulate` has
        ``P`` in its place.
        """
        return self.cvxpy_sides()[1]

    def cvxpy_sides(self) -> tuple[list[tuple[Any, Any, int]], cvxpy.Problem, cvxpy.Variable]:
        """At most three vector constraints, each with its rows and the sign of its dual; the model;
        its variable.
        """
        import cvxpy as cp

        point = cp.Variable(self.shape[1], name="v")
        equal = self.row_lower == self.row_upper
        kinds = (
            (np.flatnonzero(equal), self.row_upper, 0),
            (np.flatnonzero(~equal & np.isfinite(self.row_upper)), self.row_upper, 1),
            (np.flatnonzero(~equal & np.isfinite(self.row_lower)), self.row_lower, -1),
        )
        rows = []
        for index, side, sign in kinds:
            if len(index):
                rows.append((relation(self.matrix[index] @ point, side[index], sign), index, sign))
        bounds = []
        for values, sign in ((self.column_lower, -1), (self.column_upper, 1)):
            if len(finite := np.flatnonzero(np.isfinite(values))):
                bounds.append(relation(point[finite], values[finite], sign))
        sense = cp.Maximize if self.maximize else cp.Minimize
        return (
            rows,
            cp.Problem(sense(self.objective @ point), [row for row, *_ in rows] + bounds),
            point,
        )


def _sum_of_terms(values: Float, index: Int, names: list[str]) -> str:
    """A sum as algebra, ``0.5 P[0,0] - P[1,0]``, cut off after `SHOWN_TERMS` terms."""
    text = ""
    for value, column in zip(
        values[:SHOWN_TERMS].tolist(), index[:SHOWN_TERMS].tolist(), strict=True
    ):
        sign = ("- " if text else "-") if value < 0 else "+ " if text else ""
        factor = "" if abs(value) == 1 else f"{abs(value):.6g} "
        text += f"{' ' if text else ''}{sign}{factor}{names[column]}"
    more = len(values) - SHOWN_TERMS
    return (text or "0") + (f" + ... ({more:,} more)" if more > 0 else "")


def _with_sides(left: str, lower: float, upper: float) -> str:
    """A row as algebra with its bounds."""
    if lower == upper:
        return f"{left} = {upper:.6g}"
    text = f"{left} <= {upper:.6g}" if upper < np.inf else left
    return f"{lower:.6g} <= {text}" if lower > -np.inf else text


@cache
def silent_highs() -> type[highspy.Highs]:
    """The class of HiGHS models that print nothing: one of 1.16 shows its version as soon as
    callbacks are enabled.
    """
    import highspy

    class SilentHighs(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802  # the name is that of highspy
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs


def relation(left: Any, right: Any, sign: int) -> Any:
    """``left == right``, ``left <= right`` or ``left >= right`` for the sign 0, 1 or -1."""
    if sign == 0:
        return left == right
    return left <= right if sign > 0 else left >= right


def pulp_sides(lower: float, upper: float) -> list[tuple[int, float, str]]:
    """Split a two-sided row: sense (-1, 0, 1), right-hand side and suffix of the name of each
    one-sided row.
    """
    if lower == upper:
        return [(0, lower, "")]
    both = np.isfinite(lower) and np.isfinite(upper)
    sides = [(-1, upper, "_upper" if both else "")] if np.isfinite(upper) else []
    return sides + ([(1, lower, "_lower" if both else "")] if np.isfinite(lower) else [])


def plain_names(names: list[str]) -> list[str]:
    """Convert to names that LP and MPS files accept: ASCII, no blanks or operators, short, and
    different.
    """
    plain = [
        _INVALID_CHARACTERS.sub("_", name.replace("[", "(").replace("]", ")"))[:200]
        for name in names
    ]
    if len(set(plain)) < len(plain):
        plain = [f"{name}_{position}" for position, name in enumerate(plain)]
    return plain


def _vector(values: Any, name: str, size: int) -> Any:
    """Read a vector of floats, in their precision."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape == (size,):
        return values
    return shaped_array(values, name, size)
