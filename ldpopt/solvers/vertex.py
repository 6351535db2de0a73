r"""The vertex of a basis in extended precision: HiGHS factors the basis, residuals are ours.

With the basic variables' columns ``B`` of ``[A, I]`` a step solves :math:`B z = -(A v - a)` for the
values ``v`` and the activities ``a`` of rows, and :math:`B^T w = c_B - B^T y` for the multipliers.
One factorization serves all steps, and each step gains the digits that the factors have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.refinement import ROUNDOFF, Point, as_outcome, point_at, point_of
from ldpopt.solvers.solver import Outcome

if TYPE_CHECKING:
    import highspy

STEPS = 6  # largest number of corrections by the factors
LOWER, BASIC, UPPER = 0, 1, 2  # numbers of `highspy.HighsBasisStatus`
# HiGHS only factors the basis of an optimum: it need not search
FACTOR_ONLY = {"presolve": "off", "solver": "simplex", "simplex_iteration_limit": 0}


def at_vertex(program: LinearProgram, outcome: Outcome) -> tuple[Outcome, float]:
    """An optimal outcome at the vertex of its basis, if that has smaller residuals; and the
    largest residual, infinite without an optimum.
    """
    if (point := point_of(program, outcome)) is None:
        return outcome, np.inf
    best = point
    if point.residual > ROUNDOFF and outcome.warm_start is not None:
        system = _System.of(program, outcome.warm_start)
        best = point if system is None else _improved(program, point, system)
    return outcome if best is point else as_outcome(outcome, best), best.residual


class _System:
    """The equations of a basis, and HiGHS with its factors."""

    def __init__(self, program: LinearProgram, highs: highspy.Highs, basis: Any) -> None:
        columns, rows = (
            np.array([int(state) for state in states])
            for states in (basis.col_status, basis.row_status)
        )
        self.program, self.highs = program, highs
        basic = np.array(highs.getBasicVariables()[1])
        self.is_column = basic >= 0
        self.columns = basic[self.is_column]
        self.rows = -basic[~self.is_column] - 1
        # basic variables have no bound to lie on
        self.values = _bounds(columns, program.column_lower, program.column_upper)
        self.activities = _bounds(rows, program.row_lower, program.row_upper)

    @classmethod
    def of(cls, program: LinearProgram, basis: Any) -> _System | None:
        """The factors of a basis; None if HiGHS refuses it."""
        highs = program.scaled_highs()
        for option, value in FACTOR_ONLY.items():
            highs.setOptionValue(option, value)
        highs.setBasis(basis)
        highs.run()
        if highs.getBasicVariables()[0].name != "kOk":
            return None
        system = cls(program, highs, basis)
        is_placed = np.isfinite(system.values).all() and np.isfinite(system.activities).all()
        return system if is_placed else None

    def start(self, point: Point) -> tuple[Any, Any]:
        """Values and activities with the basic ones of a point."""
        values = self.values.astype(np.longdouble)
        activities = self.activities.astype(np.longdouble)
        values[self.columns] = point.x[self.columns]
        activities[self.rows] = self.program.activity(point.x)[self.rows]
        return values, activities

    def step(self, values: Any, activities: Any) -> None:
        """Correct the basic values and activities, in place."""
        off = self.program.activity(values) - activities
        change = _solved(self.highs.getBasisSolve, -off.astype(float))
        values[self.columns] += change[self.is_column]
        activities[self.rows] -= change[~self.is_column]

    def step_of_duals(self, duals: Any) -> Any:
        """Corrected multipliers."""
        costs = self.program.objective - self.program.adjoint(duals)
        off = np.empty(len(duals))
        off[self.is_column] = costs[self.columns]
        off[~self.is_column] = -duals[self.rows]
        return duals + _solved(self.highs.getBasisTransposeSolve, off)


def _solved(solve: Any, side: Any) -> Any:
    """A solution for a right side, which is scaled to 1: HiGHS drops numbers below 1e-14."""
    exponent = int(np.frexp(np.abs(side).max(initial=0.0))[1])
    return np.ldexp(solve(np.ldexp(side, -exponent))[1], exponent)


def _bounds(states: Any, lower: Any, upper: Any) -> Any:
    """The bound on which each variable lies; 0 for basic and free ones."""
    return np.where(states == LOWER, lower, np.where(states == UPPER, upper, 0.0))


def _improved(program: LinearProgram, point: Point, system: _System) -> Point:
    """The best point of some steps."""
    values, activities = system.start(point)
    duals = point.y
    best = point
    for _ in range(STEPS):
        system.step(values, activities)
        duals = system.step_of_duals(duals)
        now = point_at(program, values.copy(), duals, point.unit)
        if not now.residual < best.residual:
            break
        best = now
        if best.residual <= ROUNDOFF:
            break
    return best
