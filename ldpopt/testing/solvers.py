r"""check_solver: tests that a solver of linear programs must pass to serve as a plug-in.

A plug-in's own test is one line, ``check_solver("its-name")``; pytest is not needed. `Tolerances`
may be larger for a less accurate solver: `repair` and `certify` make results exact, but status and
signs of duals must be right. A solver for channels may raise `NotRepresentableError` for any other
program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, NotRepresentableError, SolverOptionError
from ldpopt.privacy import PureLDP
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Solver, Status, find
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import check_outcome, require_solver
from ldpopt.solving.formulation import formulate
from ldpopt.testing.conditions import chosen_checks, require, require_none
from ldpopt.testing.programs import dense_program, diet, factory, mixed

# change of a bound for a dual; optimal values are linear over twice this distance
BOUND_STEP = 2.0**-7


@dataclass(frozen=True)
class Tolerances:
    """Largest errors of a solver's answers.

    Attributes
    ----------
    value : float
        Relative error of the optimal value, ``>= 0``.
    residual : float
        Largest violation of a row or bound by the point, ``>= 0``.
    dual : float
        Error of a dual or reduced cost relative to the largest one, ``>= 0``.
    time_limit : float or None
        Seconds within which the solver cannot solve a channel program of 60 inputs; None if it has
        no time limit.
    """

    value: float = 1e-9
    residual: float = 1e-9
    dual: float = 1e-7
    time_limit: float | None = 1e-3


@dataclass(frozen=True)
class _CheckedSolver:
    """A solver under test and the required tolerances."""

    solver: Solver
    tolerances: Tolerances

    def solve(self, program: LinearProgram, **options: Any) -> Outcome:
        """Solve, and check types and shapes of the result."""
        before = [np.copy(a) for a in _arrays(program)]
        outcome = self.solver.solve(program, **options)
        try:
            check_outcome(outcome, self.solver, program)
        except LdpoptError as error:
            raise AssertionError(error.what) from None
        unchanged = all(np.array_equal(a, b) for a, b in zip(before, _arrays(program), strict=True))
        require(unchanged, "the solver has changed the program it was given")
        return outcome

    def expect_status(self, program: LinearProgram, status: Status, **options: Any) -> Outcome:
        """Solve and require a status."""
        outcome = self.solve(program, **options)
        ended = f"{outcome.status.value} ({outcome.raw_status!r})"
        require(outcome.status is status, f"status {ended}, not {status.value}")
        return outcome

    def value(self, program: LinearProgram, expected: float) -> Outcome:
        """Solve and require an optimal value, attained by a point within the bounds."""
        outcome = self.expect_status(program, Status.OPTIMAL)
        if outcome.point is None:
            raise AssertionError("the status is optimal, but there is no point")
        violation = program.residual(outcome.point)
        require(
            violation <= self.tolerances.residual,
            f"the point violates a row or bound by {violation:.3g}",
        )
        objective = float(program.objective @ outcome.point)
        relative_error = abs(objective - expected) / max(1.0, abs(expected))
        require(
            relative_error <= self.tolerances.value, f"value {objective:.15g}, not {expected:.15g}"
        )
        return outcome


def check_solver(
    solver: Solver | str, tolerances: Tolerances | None = None, *, only: Sequence[str] | None = None
) -> None:
    """Run every check on a solver.

    Parameters
    ----------
    solver : Solver or str
        A solver, or the name under which `ldpopt.solve` finds it.
    tolerances : Tolerances, optional
        Largest accepted errors; default: those of a simplex solver.
    only : sequence of str, optional
        Names out of `checks()`; default: all of them.

    Raises
    ------
    AssertionError
        If a check fails; the message names each one and its result.

    Examples
    --------
    >>> check_solver("highs", only=["optimum of a maximum", "infeasible"])
    """
    adapter = find(solver) if isinstance(solver, str) else require_solver(solver)
    checked = _CheckedSolver(adapter, tolerances or Tolerances())
    failures = []
    for title in chosen_checks(only, _CHECKS):
        try:
            _CHECKS[title](checked)
        except NotRepresentableError:
            continue
        except AssertionError as error:
            failures.append(f"  {title}: {error}")
        except Exception as error:  # of the solver itself: every check has to be named
            failures.append(f"  {title}: the solver raised {type(error).__name__}: {error}")
    require_none(failures, f"solver {adapter.name!r}")


def checks() -> tuple[str, ...]:
    """Names of the checks, in order: values for ``only`` of `check_solver`.

    Examples
    --------
    >>> checks()[:2]
    ('optimum of a maximum', 'optimum of a minimum')
    """
    return tuple(_CHECKS)


def _arrays(program: LinearProgram) -> tuple[Any, ...]:
    sides = program.row_lower, program.row_upper, program.column_lower, program.column_upper
    return program.objective, program.start, program.index, program.value, *sides


def _infeasible(solver: _CheckedSolver) -> None:
    rows = [[1, 1], [1, 1]]
    solver.expect_status(dense_program([1, 0], rows, [-np.inf, 2], [1, np.inf]), Status.INFEASIBLE)
    solver.expect_status(
        dense_program([1, 0], rows, [1, 2], [1, 2], maximize=False), Status.INFEASIBLE
    )
    solver.expect_status(
        dense_program([1, 1], [[1.0, 1.0]], 3, np.inf, column_upper=1), Status.INFEASIBLE
    )


def _unbounded(solver: _CheckedSolver) -> None:
    solver.expect_status(dense_program([1, 0], [[1, -1]], -np.inf, 1), Status.UNBOUNDED)
    solver.expect_status(
        dense_program([1, 1], [[1, -1]], 0, 0, column_lower=-np.inf, maximize=False),
        Status.UNBOUNDED,
    )


def _degenerate(solver: _CheckedSolver) -> None:
    # Beale's example, on which the textbook rule cycles.
    rows = [[1 / 4, -60, -1 / 25, 9], [1 / 2, -90, -1 / 50, 3], [0.0, 0.0, 1.0, 0.0]]
    solver.value(
        dense_program([-3 / 4, 150, -1 / 50, 6], rows, -np.inf, [0, 0, 1], maximize=False), -1 / 20
    )
    # Four rows through one vertex of the plane.
    solver.value(
        dense_program([1, 1], [[1, 0], [0, 1], [1, 1], [1, 2]], -np.inf, [1, 1, 2, 3]), 2.0
    )


def _badly_scaled(solver: _CheckedSolver) -> None:
    rows = np.array([1e3, 1.0, 1e-3])
    columns = np.array([1e2, 1e-2])
    scaled = rows[:, None] * np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]]) * columns
    solver.value(dense_program(columns * [3, 5], scaled, -np.inf, rows * [4, 12, 18]), 36.0)


def _free(solver: _CheckedSolver) -> None:
    rows = [[1, -1, 0], [1, 0, -2], [0, 1, 1]]
    solver.value(
        dense_program(
            [1, 0, 0], rows, [-np.inf] * 2 + [1], [0, 0, 1], column_lower=[-np.inf, 0, 0]
        ),
        2 / 3,
    )
    solver.value(dense_program([1, 0], [[1, 1]], -np.inf, -1, column_lower=[-np.inf, 2]), -3.0)


def _two_sided(solver: _CheckedSolver) -> None:
    for maximize, expected in ((True, 3.0), (False, 1.0)):
        program = dense_program([1, 1], [[1, 1], [1, -1]], [1, -1], [3, 0.5], maximize=maximize)
        outcome = solver.value(program, expected)
        if outcome.row_duals is not None:
            dual = float(outcome.row_duals[0])
            require(
                abs(dual - 1) <= solver.tolerances.dual,
                f"dual {dual:.6g} of the active side, not 1",
            )


def _equalities(solver: _CheckedSolver) -> None:
    # Ship 3 and 4 units to shops that need 2 and 5; one of the four equations is redundant.
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    supply = [3, 4, 2, 5]
    solver.value(dense_program([8, 6, 9, 5], rows, supply, supply, maximize=False), 42.0)


def _empty(solver: _CheckedSolver) -> None:
    rows = [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    solver.value(
        dense_program([1, 1, 0], rows, [-1, -np.inf, 0], [np.inf, 2, 0], column_upper=9), 2.0
    )
    solver.value(dense_program([1, -1], np.zeros((0, 2)), [], [], column_upper=3), 3.0)
    solver.expect_status(
        dense_program([1.0], [[0.0], [1.0]], [1, 0], [np.inf, 1]), Status.INFEASIBLE
    )


def _channel(solver: _CheckedSolver) -> None:
    try:
        solver.value(formulate(Problem([0.5, 0.3, 0.2], "identity", PureLDP("log(3)"))), 0.6)
    except NotRepresentableError as error:
        raise AssertionError(
            f"refuses the compact program of three answers: {error.what}"
        ) from None
    solver.value(
        formulate(Problem(None, np.eye(2), PureLDP("log(3)"), objective="worst_case")), 0.75
    )


def _time_limit(solver: _CheckedSolver) -> None:
    limit = solver.tolerances.time_limit
    if limit is None:
        return
    weights = np.arange(1.0, 61.0)
    distance = np.abs(np.subtract.outer(weights, weights)) ** 1.5
    program = formulate(Problem(weights / weights.sum(), -distance, PureLDP(1.0)))
    outcome = solver.solve(program, time_limit=limit)
    require(
        outcome.status is not Status.OPTIMAL,
        f"optimal within {limit} s: the limit was ignored, or not reported",
    )
    require(
        outcome.status is Status.LIMIT,
        f"status {outcome.status.value} ({outcome.raw_status!r}), not limit",
    )
    solver.value(factory(), 36.0)
    solver.expect_status(factory(), Status.OPTIMAL, time_limit=60.0)


def _unknown_option(solver: _CheckedSolver) -> None:
    try:
        solver.solve(factory(), no_solver_has_such_an_option=1)
    except SolverOptionError:
        return
    raise AssertionError("an unknown option was accepted without an error")


def _duals(solver: _CheckedSolver) -> None:
    for program in (factory(), diet(), mixed(True), mixed(False)):
        duals = solver.expect_status(program, Status.OPTIMAL).row_duals
        if duals is None:
            raise AssertionError("there are no row duals, which certificates need")
        for row in range(program.shape[0]):
            slope = _slope(solver, program, "row", row)
            problem = f"dual {duals[row]:.9g} of row {row}, but the value moves by {slope:.9g}"
            require(_near(duals[row], slope, solver), problem)


def _reduced_costs(solver: _CheckedSolver) -> None:
    for program in (factory(), mixed(True), mixed(False)):
        outcome = solver.expect_status(program, Status.OPTIMAL)
        if outcome.row_duals is None or outcome.column_duals is None:
            raise AssertionError("there are no reduced costs")
        residual = program.objective - program.matrix.T @ outcome.row_duals - outcome.column_duals
        require(
            _near(np.abs(residual).max(), 0.0, solver),
            "reduced costs are not objective - A.T @ duals",
        )
        for column in range(program.shape[1]):
            slope = _slope(solver, program, "column", column)
            cost = outcome.column_duals[column]
            problem = (
                f"reduced cost {cost:.9g} of column {column}, but the value moves by {slope:.9g}"
            )
            require(_near(cost, slope, solver), problem)


def _slope(solver: _CheckedSolver, program: LinearProgram, kind: str, index: int) -> float:
    """Change of the optimal value for each unit by which a row's or column's finite bounds are
    raised.
    """
    values = []
    for step in (-BOUND_STEP, BOUND_STEP):
        sides = f"{kind}_lower", f"{kind}_upper"
        moved: dict[str, Any] = {side: np.copy(getattr(program, side)) for side in sides}
        for side in moved.values():
            side[index] += step
        point = solver.expect_status(replace(program, **moved), Status.OPTIMAL).point
        if point is None:
            raise AssertionError("optimal, but there is no point")
        values.append(float(program.objective @ point))
    return (values[1] - values[0]) / (2 * BOUND_STEP)


def _near(value: float, expected: float, solver: _CheckedSolver) -> bool:
    roughness = solver.tolerances.value * 36 / BOUND_STEP
    return abs(value - expected) <= solver.tolerances.dual * max(1.0, abs(expected)) + roughness


_CHECKS: dict[str, Callable[[_CheckedSolver], object]] = {
    "optimum of a maximum": lambda solver: solver.value(factory(), 36.0),
    "optimum of a minimum": lambda solver: solver.value(diet(), 9.0),
    "infeasible": _infeasible,
    "unbounded": _unbounded,
    "degenerate": _degenerate,
    "badly scaled": _badly_scaled,
    "free columns": _free,
    "two-sided rows": _two_sided,
    "equations": _equalities,
    "empty rows and columns": _empty,
    "channel programs": _channel,
    "time limit": _time_limit,
    "unknown option": _unknown_option,
    "signs of duals": _duals,
    "reduced costs": _reduced_costs,
}
