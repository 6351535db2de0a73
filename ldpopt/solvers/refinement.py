"""Iterative refinement improves any solver's answer until its residuals are roundoff (Gleixner,
Steffy, Wolter 2016).

The correction of an answer is the optimum of another linear program, with small bounds and costs,
which is scaled up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import Outcome, Status

# residuals up to this, relative to right-hand sides and costs of 1, are not refined
ROUNDOFF = 1e-14
ACCEPTED_RESIDUAL = 1e-13  # largest residual for which no other answer is tried
ROUNDS = 3  # largest number of residual programs
# A refinement may take this many seconds, or this multiple of the first solve, whichever is longer
MIN_SECONDS = 1.0
MAX_FACTOR = 10.0
LARGEST = float(np.finfo(float).max)
TARGET_SIZE = 2.0**8  # size to which a residual is scaled, by a factor of at most 2**40


@dataclass
class Point:
    """Primal and dual values in extended precision, the bounds and costs relative to them, and
    their residuals.
    """

    x: Any
    y: Any
    cost: Any
    lower: Any
    upper: Any
    unit: float  # of costs: the largest one
    primal: float
    dual: float

    @property
    def residual(self) -> float:
        """The larger one of the two residuals."""
        return max(self.primal, self.dual)


def refine(
    program: LinearProgram,
    outcome: Outcome,
    solve: Callable[[LinearProgram], Outcome],
    others: Iterable[Outcome] = (),
) -> Outcome:
    """Improve an optimal outcome until its residuals are roundoff, or no longer decrease."""
    if (point := _refine_one(program, outcome, solve)) is None:
        return outcome
    remaining = iter(others)
    while point.residual > ACCEPTED_RESIDUAL and (other := next(remaining, None)) is not None:
        candidate = _refine_one(program, other, solve)
        if candidate is not None and candidate.residual < point.residual:
            point, outcome = candidate, other
    return as_outcome(outcome, point)


def refinement_seconds(first: float, left: float | None) -> float:
    """Seconds that a refinement may take, after a first solve of this length."""
    most = max(MIN_SECONDS, MAX_FACTOR * first)
    return most if left is None else min(most, left)


def as_outcome(outcome: Outcome, point: Point) -> Outcome:
    """An outcome with the values of a point."""
    x = point.x.astype(float)
    reduced = in_floats(point.cost[: len(point.x)])
    return replace(outcome, point=x, row_duals=in_floats(point.y), column_duals=reduced)


def in_floats(multipliers: Any) -> Float:
    """Round to floats; too large values become the largest float, as any multipliers prove a
    bound.
    """
    return np.asarray(np.minimum(np.maximum(multipliers, -LARGEST), LARGEST), float)


def point_of(program: LinearProgram, outcome: Outcome) -> Point | None:
    """The point of an optimal outcome with multipliers; None for other outcomes."""
    if outcome.status is not Status.OPTIMAL or outcome.point is None or outcome.row_duals is None:
        return None
    unit = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    x = outcome.point.astype(np.longdouble)
    return point_at(program, x, outcome.row_duals.astype(np.longdouble), unit)


def _refine_one(
    program: LinearProgram, outcome: Outcome, solve: Callable[[LinearProgram], Outcome]
) -> Point | None:
    """Add the answers of residual programs while the residual decreases; None without an optimum to
    start from.
    """
    if (point := point_of(program, outcome)) is None:
        return None
    for _ in range(ROUNDS):
        if point.residual <= ROUNDOFF:
            break
        bound_scale = _enlarge(point.primal)
        cost_scale = min(_enlarge(point.dual) / point.unit, 1e300)
        step = solve(_residual_program(program, point, bound_scale, cost_scale))
        if step.status is not Status.OPTIMAL or step.point is None or step.row_duals is None:
            break
        x = step.point[: len(point.x)] / bound_scale
        y = step.row_duals / cost_scale
        better = point_at(program, point.x + x, point.y + y, point.unit)
        if better.residual >= point.residual:
            break
        point = better
    return point


def point_at(program: LinearProgram, x: Any, y: Any, unit: float) -> Point:
    """Bounds and costs of columns and row slacks relative to a point, and its residuals; costs are
    in units.
    """
    values = np.concatenate([x, program.activity(x)])
    cost = np.concatenate([program.objective - program.adjoint(y), y])
    lower = (np.concatenate([program.column_lower, program.row_lower]) - values).astype(float)
    upper = (np.concatenate([program.column_upper, program.row_upper]) - values).astype(float)
    primal = max(float(lower.max()), -float(upper.min()), 0.0)
    improving_cost = ((cost if program.maximize else -cost) / unit).astype(float)
    # An improving cost is an error only if a bound leaves room for a step.
    up = np.max(improving_cost, initial=0.0, where=upper > ROUNDOFF)
    down = np.max(-improving_cost, initial=0.0, where=lower < -ROUNDOFF)
    return Point(x, y, cost, lower, upper, unit, primal, float(max(up, down)))


def _residual_program(
    program: LinearProgram, point: Point, bound_scale: float, cost_scale: float
) -> LinearProgram:
    """``A d - s = 0`` with scaled bounds and costs; the current multipliers are the costs of the
    slacks.
    """
    rows, columns = program.shape
    return replace(
        program,
        objective=(point.cost * cost_scale).astype(float),
        start=program.start + np.arange(rows + 1),
        index=np.insert(program.index, program.start[1:], columns + np.arange(rows)),
        value=np.insert(program.value, program.start[1:], -1.0),
        row_lower=np.zeros(rows),
        row_upper=np.zeros(rows),
        column_lower=point.lower * bound_scale,
        column_upper=point.upper * bound_scale,
    )


def _enlarge(residual: float) -> float:
    """Power of two that scales a residual to `TARGET_SIZE`; residuals that are roundoff count as
    1.
    """
    exponent = -int(np.frexp(residual)[1]) if residual > ROUNDOFF else 0
    return float(TARGET_SIZE * 2.0 ** min(max(exponent, 0), 40))
