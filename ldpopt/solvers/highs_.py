"""HiGHS, straight through highspy, with its answer refined until the residuals are roundoff."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import SolverOptionError
from ldpopt.program import LinearProgram
from ldpopt.solvers import Outcome, Status, missing

try:
    import highspy
except ImportError:  # pragma: no cover - highspy is a required dependency
    raise missing("highs", "highspy", "all") from None

_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kTimeLimit": Status.LIMIT,
    "kIterationLimit": Status.LIMIT,
    "kInterrupt": Status.LIMIT,
    "kObjectiveBound": Status.LIMIT,
    "kObjectiveTarget": Status.LIMIT,
    "kMemoryLimit": Status.LIMIT,
}

DEFAULTS: dict[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""As tight as HiGHS allows: privacy is multiplicative, tolerances are not."""

SCALE = 2.0**8
"""Right-hand sides and costs of 1 are stated as this, which makes the absolute tolerances that much tighter."""

ROUNDS = 3
ROUNDOFF = 1e-14


class Highs:
    """The default solver: simplex on the sparse program, vertices as answers."""

    name = "highs"
    continues = True

    def solve(
        self, program: LinearProgram, *, time_limit: float | None = None, basis: Any = None, **options: Any
    ) -> Outcome:
        """Solve; every option of HiGHS can be passed by its own name."""
        deadline = None if time_limit is None else time.perf_counter() + time_limit
        run = _Run(program, SCALE, {**DEFAULTS, **options}, deadline)
        if basis is not None:
            run.continue_from(basis)
        outcome = run.outcome()
        if outcome.status in (Status.UNBOUNDED, Status.FAILED):
            # Unclear ends come from tolerances that are too tight for the program: settle them by HiGHS's own.
            plain = {"presolve": "off", "solver": "simplex", "simplex_strategy": 4, **options}
            outcome = _Run(program, 1.0, plain, deadline).outcome()
        return outcome


@dataclass
class _Point:
    """Primal and dual values in the program's own unit, kept in extended precision while they are refined."""

    x: Any
    y: Any


class _Run:
    """One live model of a program whose bounds and costs are stated in another unit."""

    def __init__(self, program: LinearProgram, scale: float, options: dict[str, Any], deadline: float | None) -> None:
        largest = float(np.abs(program.objective).max(initial=0.0))
        self.program, self.deadline = program, deadline
        self.right, self.cost = scale, scale * 2.0 ** -int(np.frexp(largest)[1]) if largest else 1.0
        self.highs = replace(
            program,
            objective=program.objective * self.cost,
            row_lower=program.row_lower * self.right,
            row_upper=program.row_upper * self.right,
            column_lower=program.column_lower * self.right,
            column_upper=program.column_upper * self.right,
        ).to_highs(named=False)
        for option, value in options.items():
            _set(self.highs, option, value)

    def continue_from(self, basis: highspy.HighsBasis) -> None:
        """Start at an earlier basis; rows added since are basic, so that the dual simplex only has to drive them in."""
        added = self.program.shape[0] - len(basis.row_status)
        basis.row_status = list(basis.row_status) + [highspy.HighsBasisStatus.kBasic] * added
        self.highs.setBasis(basis)

    def outcome(self) -> Outcome:
        """Solve, refine what is optimal, and report in the program's unit."""
        raw = self._run()
        status, text = _STATUS.get(raw.name, Status.FAILED), self.highs.modelStatusToString(raw)
        solution = self.highs.getSolution()
        if not solution.value_valid:
            return Outcome(status, text)
        if not solution.dual_valid:
            return Outcome(status, text, np.array(solution.col_value) / self.right)
        point = _Point(
            np.array(solution.col_value, np.longdouble) / self.right,
            np.array(solution.row_dual, np.longdouble) / self.cost,
        )
        if status is Status.OPTIMAL:
            self._refine(point)
        duals = point.y.astype(float)
        reduced = self.program.objective - _transposed(self.program, point.y).astype(float)
        basis = self.highs.getBasis()
        return Outcome(status, text, point.x.astype(float), duals, reduced, basis if basis.valid else None)

    def _run(self) -> highspy.HighsModelStatus:
        if self.deadline is not None:
            _set(self.highs, "time_limit", self._left())
        self.highs.run()
        status: highspy.HighsModelStatus = self.highs.getModelStatus()
        return status

    def _refine(self, point: _Point) -> None:
        """Iterative refinement (Gleixner, Steffy and Wolter 2016): solve for the residuals, enlarged, and add.

        Rows get slack columns, so that the multipliers found so far can stand as costs. The basis is kept: a round
        seldom takes a pivot.
        """
        program, highs = self.program, None
        unit = float(np.abs(program.objective).max(initial=0.0)) or 1.0
        for _ in range(ROUNDS):
            activity = _product(program, point.x)
            cost = np.concatenate([program.objective - _transposed(program, point.y), point.y])
            place = np.concatenate([point.x, activity])
            lower = (np.concatenate([program.column_lower, program.row_lower]) - place).astype(float)
            upper = (np.concatenate([program.column_upper, program.row_upper]) - place).astype(float)
            primal = max(float(lower.max()), -float(upper.min()), 0.0)
            better = (cost if program.maximize else -cost).astype(float)
            dual = max(
                np.max(better, initial=0.0, where=upper > ROUNDOFF),
                np.max(-better, initial=0.0, where=lower < -ROUNDOFF),
            )
            if primal <= ROUNDOFF and dual <= ROUNDOFF * unit:
                return
            highs = highs or self._with_slacks()
            up, down = _enlarge(primal), _enlarge(dual / unit) / unit
            every = np.arange(len(cost), dtype=np.int32)
            highs.changeColsCost(len(cost), every, (cost * down).astype(float))
            highs.changeColsBounds(len(cost), every, lower * up, upper * up)
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return
            solution = highs.getSolution()
            point.x = point.x + np.array(solution.col_value[: len(point.x)], np.longdouble) / up
            point.y = point.y + np.array(solution.row_dual, np.longdouble) / down

    def _with_slacks(self) -> highspy.Highs:
        """Build the model ``A x - s = 0`` at the basis found, each row's slack in its row's place."""
        program, (rows, columns) = self.program, self.program.shape
        ends = program.start[1:]
        slack = replace(
            program,
            objective=np.zeros(columns + rows),
            start=program.start + np.arange(rows + 1),
            index=np.insert(program.index, ends, columns + np.arange(rows)),
            value=np.insert(program.value, ends, -1.0),
            row_lower=np.zeros(rows),
            row_upper=np.zeros(rows),
            column_lower=np.zeros(columns + rows),
            column_upper=np.zeros(columns + rows),
        )
        highs, found = slack.to_highs(named=False), self.highs.getBasis()
        for option, value in {**DEFAULTS, "presolve": "off", "solver": "simplex", "time_limit": self._left()}.items():
            _set(highs, option, value)
        if found.valid:
            basis = highspy.HighsBasis()
            basis.valid = True
            basis.col_status = list(found.col_status) + list(found.row_status)
            basis.row_status = [highspy.HighsBasisStatus.kLower] * rows
            highs.setBasis(basis)
        return highs

    def _left(self) -> float:
        return np.inf if self.deadline is None else max(self.deadline - time.perf_counter(), 1e-3)


def _enlarge(residual: float) -> float:
    """Power of two that brings a residual to about `SCALE`, at most ``2**48``."""
    exponent = -int(np.frexp(residual)[1]) if residual > 0 else 40
    return float(SCALE * 2.0 ** min(max(exponent, 0), 40))


def _product(program: LinearProgram, x: Any) -> Any:
    """``A @ x`` in extended precision."""
    terms = np.append(program.value * x[program.index], np.longdouble(0))
    sums = np.add.reduceat(terms, program.start[:-1])
    return np.where(np.diff(program.start) > 0, sums, 0)


def _transposed(program: LinearProgram, y: Any) -> Any:
    """``A.T @ y`` in extended precision."""
    total = np.zeros(program.shape[1], np.longdouble)
    np.add.at(total, program.index, program.value * np.repeat(y, np.diff(program.start)))
    return total


def _set(highs: highspy.Highs, option: str, value: Any) -> None:
    if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        raise SolverOptionError(
            f"HiGHS refuses the option {option} = {value!r}", do="see its name, type and range in HiGHS's manual"
        )
