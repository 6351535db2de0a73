"""Any solver that cvxpy can call, for linear programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ldpopt.errors import SolverNotFoundError, SolverOptionError
from ldpopt.program import LinearProgram, relation
from ldpopt.solvers import Outcome, Status, missing

try:
    import cvxpy as cp
except ImportError:
    raise missing("cvxpy", "cvxpy", "cvxpy") from None

_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.USER_LIMIT: Status.LIMIT,
}

_TIME_LIMIT = {"CLARABEL": "time_limit", "HIGHS": "time_limit", "SCS": "time_limit_secs", "OSQP": "time_limit"}

_TIGHT: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 500},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polishing": True},
}
"""Tolerances where a solver's own default would be felt after the repair."""

QUICK = {"CLARABEL": 5_000, "HIGHS": 5_000}
"""Non-zeros that are solved in 0.2 s; first-order methods may take a hundred thousand steps for ten of them."""


class Cvxpy:
    """cvxpy with a solver named by us: ``"cvxpy"`` is Clarabel, ``"cvxpy:SCS"`` another."""

    def __init__(self, solver: str = "CLARABEL") -> None:
        self._solver = solver.upper()
        self.quick = QUICK.get(self._solver, 0)
        self.name = "cvxpy" if self._solver == "CLARABEL" else f"cvxpy:{self._solver}"
        installed = cp.installed_solvers()
        if self._solver not in installed:
            raise SolverNotFoundError(
                f"cvxpy has no solver {solver!r} here", do=f"name one of {', '.join(sorted(installed))}"
            )

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve; options are those of the named solver."""
        rows, problem, point = _model(program)
        settings = {**_TIGHT.get(self._solver, {}), **options}
        if time_limit is not None and self._solver in _TIME_LIMIT:  # the others are stopped from outside
            settings[_TIME_LIMIT[self._solver]] = float(time_limit)
        try:
            with warnings.catch_warnings():
                # Inaccuracy is told by the status, and measured by the certificate.
                warnings.filterwarnings("ignore", "Solution may be inaccurate")
                problem.solve(solver=self._solver, **settings)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise SolverOptionError(f"{self._solver} refuses an option: {error}") from None
        except cp.SolverError as error:
            return Outcome(Status.FAILED, str(error))
        status = _STATUS.get(problem.status, Status.FAILED)
        if problem.status == cp.OPTIMAL_INACCURATE:
            status = Status.OPTIMAL  # the certificate says how far off it is
        if point.value is None:
            return Outcome(status, problem.status)
        if any(row.dual_value is None for row, *_ in rows):
            return Outcome(status, problem.status, point.value)
        duals = _duals(program, rows)
        return Outcome(status, problem.status, point.value, duals, program.objective - program.matrix.T @ duals)


def _model(program: LinearProgram) -> tuple[list[tuple[Any, Any, int]], cp.Problem, cp.Variable]:
    """Vectorised: one variable, at most three constraints, each with the rows and sign of its dual."""
    point = cp.Variable(program.shape[1])
    equal = program.row_lower == program.row_upper
    kinds = (
        (np.flatnonzero(equal), program.row_upper, 0),
        (np.flatnonzero(~equal & np.isfinite(program.row_upper)), program.row_upper, 1),
        (np.flatnonzero(~equal & np.isfinite(program.row_lower)), program.row_lower, -1),
    )
    rows = []
    for index, side, sign in kinds:
        if len(index):
            part = program.matrix[index]
            rows.append((relation(part @ point, side[index], sign), index, sign))
    bounds = []
    for values, sign in ((program.column_lower, -1), (program.column_upper, 1)):
        finite = np.flatnonzero(np.isfinite(values))
        if len(finite):
            bounds.append(relation(point[finite], values[finite], sign))
    sense = cp.Maximize if program.maximize else cp.Minimize
    return rows, cp.Problem(sense(program.objective @ point), [row for row, *_ in rows] + bounds), point


def _duals(program: LinearProgram, rows: list[tuple[Any, Any, int]]) -> Any:
    """Turn cvxpy's multipliers into changes of the optimal value with the right-hand side."""
    duals = np.zeros(program.shape[0])
    direction = 1.0 if program.maximize else -1.0
    for row, index, sign in rows:
        duals[index] += direction * (sign or 1) * np.asarray(row.dual_value)
    return duals
