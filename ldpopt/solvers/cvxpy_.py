"""Any solver that cvxpy can call, for linear programs."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from ldpopt.errors import SolverNotFoundError, SolverOptionError
from ldpopt.solvers.program import LinearProgram, silent_highs
from ldpopt.solvers.solver import Outcome, Solver, Status, missing

_STATUS = {
    "optimal": Status.OPTIMAL,
    "optimal_inaccurate": Status.OPTIMAL,  # the certificate measures the gap
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "user_limit": Status.LIMIT,
}

_TIME_LIMIT = {
    "CLARABEL": "time_limit",
    "HIGHS": "time_limit",
    "SCS": "time_limit_secs",
    "OSQP": "time_limit",
}

_TOLERANCES: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 500},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polishing": True},
}
"""Options for solvers whose default tolerances are too large."""


class Cvxpy(Solver):
    """cvxpy with a named solver: ``"cvxpy"`` is Clarabel, ``"cvxpy:SCS"`` is SCS; its import takes
    seconds.
    """

    def __init__(self, solver: str = "CLARABEL") -> None:
        if find_spec("cvxpy") is None:
            raise missing("cvxpy", "cvxpy", "cvxpy")
        self._solver = solver.upper()
        self.name = "cvxpy" if self._solver == "CLARABEL" else f"cvxpy:{self._solver}"

    def load(self) -> None:
        """Import cvxpy."""
        import cvxpy as cp

        installed = cp.installed_solvers()
        if self._solver not in installed:
            problem = f"cvxpy has no solver {self._solver!r} here"
            raise SolverNotFoundError(
                problem, code="cvxpy-solver", do=f"name one of {', '.join(sorted(installed))}"
            )

    def solve(
        self, program: LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        """Solve; options are those of the named solver."""
        began = time.perf_counter()
        self.load()
        import cvxpy as cp

        rows, problem, point = program.cvxpy_sides()
        settings = {**_TOLERANCES.get(self._solver, {}), **options}
        # the other solvers are killed at the limit
        if time_limit is not None and self._solver in _TIME_LIMIT:
            settings[_TIME_LIMIT[self._solver]] = max(
                time_limit - (time.perf_counter() - began), 0.01
            )
        try:
            with warnings.catch_warnings(), _silence(self._solver):
                # The status reports inaccuracy, and the certificate measures it.
                warnings.filterwarnings("ignore", "Solution may be inaccurate")
                problem.solve(solver=self._solver, **settings)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            message = f"{self._solver} refuses an option: {error}"
            raise SolverOptionError(
                message, do="leave the option out, or see the documentation of the solver"
            ) from None
        except cp.SolverError as error:
            return Outcome(Status.FAILED, str(error))
        status = _STATUS.get(problem.status, Status.FAILED)
        if point.value is None:
            return Outcome(status, problem.status)
        if any(row.dual_value is None for row, *_ in rows):
            return Outcome(status, problem.status, point.value)
        duals = _duals(program, rows)
        return Outcome(
            status, problem.status, point.value, duals, program.objective - program.adjoint(duals)
        )


@contextmanager
def _silence(solver: str) -> Iterator[None]:
    """HiGHS prints its version whenever cvxpy makes one: cvxpy makes a silent one here."""
    if solver != "HIGHS":
        yield
        return
    import highspy

    usual = highspy.Highs
    highspy.Highs = silent_highs()
    try:
        yield
    finally:
        highspy.Highs = usual


def _duals(program: LinearProgram, rows: list[tuple[Any, Any, int]]) -> Any:
    """Convert cvxpy's multipliers to changes of the optimal value per unit of the right-hand
    side.
    """
    duals = np.zeros(program.shape[0])
    direction = 1.0 if program.maximize else -1.0
    for row, index, sign in rows:
        duals[index] += direction * (sign or 1) * np.asarray(row.dual_value)
    return duals
