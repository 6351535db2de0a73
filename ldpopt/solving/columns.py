r"""Extreme columns: a simplex method for compact programs whose columns are priced, not listed.

Under a pure budget for all pairs every output of a channel is a sum of *extreme* columns, whose
entries are 1 or :math:`b = e^{-\epsilon}` times a scale (Kairouz, Oh & Viswanath 2016). There are
``2**n`` of them for each output, and one row sum for each input. A basis has one column for each
row; at its multipliers the best of all columns is found in ``n m`` steps, so that an exchange takes
as long as reading the utility once (docs, "Extreme columns").
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.native import exchange_columns, invert_matrix
from ldpopt.solvers import Outcome, Solver, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import worst_case_utility

EXCHANGES = 100  # largest number of exchanges, for each row of the basis
ROUND = 4000  # exchanges after which the inverse of the basis is computed anew
# Largest number of operations of a round, about a second: only between rounds a deadline is read,
# and Ctrl-C heard
ROUND_OPERATIONS = 1e9
# A column enters if its gain is above this share of the largest cost, for each input
TOLERANCE = 1e-14
# Row sums are raised by up to this much, each by another number: of the many bases of one vertex
# only one is then feasible, and the method cannot go round among them
PERTURBATION = 1e-8
# A level at the unperturbed row sums may be below 0 by rounding, but not by more
LEAST_LEVEL = -1e-11
# Up to this many rows the inverse is accurate enough; with more the certified gap of one worst case
# in fifteen would stay above the one that HiGHS leaves
INVERTED_ROWS = 40
GOLDEN = 0.6180339887498949  # its multiples modulo 1 are spread evenly
SPANS = ["row_sum", "privacy"]  # of the compact program; a worst case has one more


@dataclass(frozen=True, eq=False)
class _Statement:
    """Maximize the gain of a channel in the compact form."""

    gains: Float  # (n, m), at most 1 in size
    prior: Float | None  # (n,); None: the worst input counts
    b: float
    exponent: int  # gains were divided by this power of 2

    @property
    def rows(self) -> int:
        """Row sums, and for a worst case the values of the inputs."""
        return len(self.gains) * (1 if self.prior is not None else 2)

    def right_side(self, perturbation: float) -> Float:
        """The row sums 1 and the values' slack 0, moved apart by at most a perturbation."""
        n = len(self.gains)
        spread = np.arange(1, self.rows + 1) * GOLDEN % 1.0
        parts: Float = np.multiply(perturbation, spread, dtype=np.float64)
        parts[:n] += 1.0
        parts[n:] *= -1.0
        return parts


class ColumnBasis:
    """As many columns as rows: extreme columns, and for a worst case slacks and the worst value.

    A column with its output ``y >= 0`` is ``level * (1 where ones, else b)``; the slack of the
    input ``x`` has the output ``-1 - x``, the worst value ``-1 - n``.
    """

    def __init__(self, statement: _Statement) -> None:
        """Start at randomized response: the column of each input favors that input alone."""
        self.statement = statement
        self.matrix: Float = np.zeros((0, 0))  # (rows, rows), a row for each column of the basis
        self.inverse: Float = np.zeros((0, 0))  # (rows, rows), by columns: [r, k] of row k
        self.dual: Float = np.zeros(0)  # (rows,)
        gains, b = statement.gains, statement.b
        n = len(gains)
        self.ones = np.zeros((statement.rows, n), np.uint8)
        self.ones[:n] = np.eye(n, dtype=np.uint8)
        self.held = -1  # place of the worst value, which never leaves
        if statement.prior is not None:
            costs = statement.prior[:, None] * gains
            output = (b * costs.sum(axis=0) + (1 - b) * costs).argmax(axis=1)
            self.output = output.astype(np.int32)
            return
        output = gains.argmax(axis=1)
        slacks = -1 - np.arange(n)
        self.output = np.concatenate([output, slacks]).astype(np.int32)
        right = statement.right_side(PERTURBATION)
        values = self._values()[:n]
        # the matrix is (1 - b) times the identity and b everywhere
        levels = (right[:n] - b * right[:n].sum() / (1 - b + n * b)) / (1 - b)
        by_input = (levels[:, None] * values * gains[:, output].T).sum(axis=0)
        # the input with the least value has no slack, so that all others' slacks are positive
        self.held = n + int((by_input - right[n:]).argmin())
        self.output[self.held] = -1 - n

    def _values(self) -> Float:
        """Entries of the extreme columns at level 1, (rows, n); slacks have none."""
        values = np.where(self.ones, 1.0, self.statement.b)
        if self.held >= 0:
            values[self.output < 0] = 0.0
        return values

    def invert(self) -> bool:
        """Invert the basis, and compute the multipliers of the rows; return whether it could be."""
        # no product of matrices: its last digits, and so which of two columns is taken that are
        # equally good, would depend on the processor
        statement = self.statement
        values = self._values()
        # of a slack any output: its values are 0
        gained = values * statement.gains.T[np.maximum(self.output, 0)]
        if statement.prior is not None:
            self.matrix = values
            gain = (gained * statement.prior).sum(axis=1)
        else:
            # a value minus its slack minus the worst value is 0
            n = values.shape[1]
            slack = np.flatnonzero((self.output < 0) & (self.output >= -n))
            gained[slack, -1 - self.output[slack]] = -1.0
            gained[self.held] = -1.0
            self.matrix = np.concatenate([values, gained], axis=1)
            gain = np.zeros(len(values))
            gain[self.held] = 1.0  # the worst value alone has a gain
        self.inverse = np.empty_like(self.matrix)
        if invert_matrix(self.matrix.copy(), self.inverse):
            return False
        self.dual = self._multipliers(gain)
        return True

    def _multipliers(self, gain: Float) -> Float:
        """Multipliers of the rows at which each column has this gain, (rows,)."""
        dual: Float = (self.inverse * gain).sum(axis=1)
        if len(dual) <= INVERTED_ROWS:
            return dual
        # what the inverse misses is computed with more digits, and solved for once more
        missing = gain - (self.matrix.astype(np.longdouble) * dual).sum(axis=1)
        return np.asarray(dual + (self.inverse * missing.astype(float)).sum(axis=1))

    def row_duals(self, weighted: Float) -> Float:
        """Multipliers of the rows of the compact program for other costs, (n, m), of an expected
        value that is maximized: a basis has them whether or not it is optimal for these costs.
        """
        gained = (self._values() * weighted.T[self.output]).sum(axis=1)
        eta = (self.inverse * gained).sum(axis=1)
        return np.concatenate([eta, np.maximum(weighted - eta[:, None], 0.0).reshape(-1)])

    def levels(self, perturbation: float = 0.0) -> Float:
        """Level of each column at row sums of 1, or near 1, (rows,)."""
        right = self.statement.right_side(perturbation)
        level: Float = (right[:, None] * self.inverse).sum(axis=0)
        if len(level) <= INVERTED_ROWS:
            return level
        missing = right - (self.matrix.astype(np.longdouble) * level[:, None]).sum(axis=0)
        return np.asarray(level + (missing.astype(float)[:, None] * self.inverse).sum(axis=0))

    def exchange(self, most: int) -> int:
        """Exchange columns until none has a gain; return the number of exchanges, ``most + 1`` if
        no column can leave.
        """
        statement = self.statement
        gains, prior = statement.gains, statement.prior
        weight = np.ones(len(gains)) if prior is None else prior
        largest = float(weight.max()) * float(np.abs(gains).max())
        tolerance = TOLERANCE * largest * len(gains)
        levels = self.levels(PERTURBATION)
        state = self.inverse, levels, self.dual, self.output, self.ones
        return exchange_columns(gains, weight, *state, statement.b, tolerance, most, self.held)

    def solve(self, most: int, deadline: Deadline) -> tuple[Status, str]:
        """Exchange columns until a new inverse shows that none has a gain."""
        total = 0
        operations = len(self.output) ** 2 + self.statement.gains.size  # of an exchange
        in_round = min(ROUND, max(1, int(ROUND_OPERATIONS / operations)))
        while total < most and not deadline.is_over:
            if not self.invert():
                return Status.FAILED, "the basis became singular"
            now = min(most - total, in_round)
            done = self.exchange(now)
            if done > now:
                return Status.FAILED, "a column has a gain, but none can leave"
            if not done:
                return Status.OPTIMAL, f"{total} exchanges of columns"
            total += done
        return Status.LIMIT, f"the limit was reached after {total} exchanges of columns"


class ColumnSimplex(Solver):
    """Simplex on extreme columns, for pure budgets of all pairs."""

    name = "columns"
    in_process_nonzeros = math.inf

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        exchanges: int | None = None,
        **options: Any,
    ) -> Outcome:
        """Solve a compact program of a pure budget, with an expected or worst-case objective."""
        _check_options(exchanges, options)
        if not (isinstance(program, ChannelProgram) and is_solved_by_columns(program)):
            problem = (
                "extreme columns solve compact programs of a pure budget: one constraint for all "
                "pairs, and no side constraints"
            )
            raise NotRepresentableError(problem, code="column-program", do='use solver="highs"')
        statement = _read(program)
        most = EXCHANGES * statement.rows if exchanges is None else exchanges
        basis = ColumnBasis(statement)
        status, text = basis.solve(most, Deadline.after(time_limit))
        if status is not Status.OPTIMAL:
            return Outcome(status, text)
        level = basis.levels()
        if level[np.arange(len(level)) != basis.held].min() < LEAST_LEVEL:
            return Outcome(Status.FAILED, f"{text} left a negative level")
        return Outcome(status, text, *_written(program, basis, level), basis)


def is_solved_by_columns(program: ChannelProgram) -> bool:
    """Whether its rows are those of a pure budget for all pairs, and at most those of a worst
    case.
    """
    ties = program.structure.ties
    names = [span.name for span in program.rows]
    is_plain = program.structure.form == "compact" and ties is not None and ties.is_plain
    return is_plain and names in (SPANS, [*SPANS, "worst_case"])


def _check_options(exchanges: Any, options: dict[str, Any]) -> None:
    """Refuse options other than a positive number of exchanges."""
    for name in options:
        raise SolverOptionError(
            f"extreme columns have no option {name!r}",
            code="unknown-option",
            do="the option is exchanges, their largest number",
        )
    if exchanges is not None and not (type(exchanges) is int and exchanges > 0):
        raise SolverOptionError(
            f"exchanges = {exchanges!r} is not valid",
            code="option-value",
            do="give a positive integer",
        )


def _read(program: ChannelProgram) -> _Statement:
    """The statement of a program, with gains of a size near 1."""
    problem = program.problem
    assert problem is not None
    sign = 1.0 if program.maximize else -1.0
    if problem.prior is None:
        gains = sign * worst_case_utility(problem)
    else:
        gains = sign * problem.utility.matrix
    exponent = int(np.frexp(np.abs(gains).max())[1])
    scaled = np.ascontiguousarray(np.ldexp(gains, -exponent))
    return _Statement(scaled, problem.prior, program.structure.b, exponent)


def _written(
    program: ChannelProgram, basis: ColumnBasis, level: Float
) -> tuple[Float, Float, Float]:
    r"""Point, multipliers of the rows and reduced costs of the compact program.

    An output's column is :math:`Q_y + b M_y`, where ``M`` is the sum of the levels of its extreme
    columns. With :math:`d = c - \eta` the multipliers of the caps are :math:`d^+`, and the reduced
    costs :math:`-d^-` and, of ``M``, the price of the best column.
    """
    statement, dual = basis.statement, basis.dual
    n, m = statement.gains.shape
    b, beta = program.structure.b, program.structure.beta
    sign = 1.0 if program.maximize else -1.0
    is_column = basis.output >= 0
    output = basis.output[is_column]
    levels = np.maximum(level[is_column], 0.0)
    top = np.bincount(output, levels, minlength=m)
    # entries above b times the scale, in 0 .. beta
    above = np.zeros((m, n))
    np.add.at(above, output, (beta * levels)[:, None] * basis.ones[is_column])
    eta = np.ldexp(dual[:n], statement.exponent)
    weight = statement.prior if statement.prior is not None else -dual[n:]
    excess = np.ldexp(weight[:, None] * statement.gains, statement.exponent) - eta[:, None]
    over = np.maximum(excess, 0.0)
    reduced = [(excess - over).reshape(-1), b * excess.sum(axis=0) + beta * over.sum(axis=0)]
    point = [above.T.reshape(-1), top]
    rows = [eta, over.reshape(-1)]
    if statement.prior is None:
        unit = float(program.objective[-1])  # the program's worst value is in this unit
        point.append(sign * np.ldexp(level[[basis.held]], statement.exponent) / unit)
        rows.append(sign * unit * weight)  # positive for a loss, too, after the sign of all rows
        reduced.append(np.zeros(1))
    return np.concatenate(point), sign * np.concatenate(rows), sign * np.concatenate(reduced)
