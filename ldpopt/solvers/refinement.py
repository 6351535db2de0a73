"""Iterative refinement: any solver's answer, to roundoff, by solving for its residuals (Gleixner, Steffy, Wolter 2016).

A solver holds rows to an absolute tolerance, or prints eight digits. What is left to do is again a linear program,
with small bounds and costs: enlarge it, solve it, scale the answer down and add it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import Outcome, Status

ROUNDOFF = 1e-14
"""Residual, relative to right-hand sides and costs of 1, that is left alone."""

SETTLED = 1e-13
"""Residual above which an answer found in another way is asked for."""

ENLARGED = 2.0**8
"""Size that a residual is brought to, by at most 2**40."""


@dataclass
class _Point:
    """Primal and dual values in extended precision, and how far they are from optimal."""

    x: Any
    y: Any
    cost: Any
    lower: Any
    upper: Any
    primal: float
    dual: float

    @property
    def residual(self) -> float:
        return max(self.primal, self.dual)


def refine(
    program: LinearProgram,
    outcome: Outcome,
    solve: Callable[[LinearProgram], Outcome],
    others: Iterable[Outcome] = (),
    rounds: int = 3,
) -> Outcome:
    """Improve an optimal outcome until its residuals are roundoff, or nothing helps any more.

    Parameters
    ----------
    program : LinearProgram
        What was solved.
    outcome : Outcome
        With a point and duals.
    solve : callable
        Solves the residual program: the columns and one slack for each row, all rows equations.
    others : iterable of Outcome
        Further answers, tried one by one until the best is `SETTLED`; default: ``()``.
    rounds : int
        Largest number of residual programs for an answer; answers with small residuals need none; default: ``3``.

    Returns
    -------
    Outcome
        The same status, with a better point, duals and reduced costs.
    """
    point = _improved(program, outcome, solve, rounds)
    if point is None:
        return outcome
    further = iter(others)
    while point.residual > SETTLED and (other := next(further, None)) is not None:
        rival = _improved(program, other, solve, rounds)
        if rival is not None and rival.residual < point.residual:
            point, outcome = rival, other
    reduced = in_floats(program.objective - _transposed(program, point.y))
    return replace(outcome, point=point.x.astype(float), row_duals=in_floats(point.y), column_duals=reduced)


def in_floats(multipliers: Any) -> Float:
    """Round to floats, the largest where they end: any multipliers prove a bound."""
    most = np.finfo(float).max
    return np.asarray(np.clip(multipliers, -most, most), float)


def _improved(
    program: LinearProgram, outcome: Outcome, solve: Callable[[LinearProgram], Outcome], rounds: int
) -> _Point | None:
    """Add enlarged residual programs' answers for as long as they help; None without an optimum to start from."""
    if outcome.status is not Status.OPTIMAL or outcome.point is None or outcome.row_duals is None:
        return None
    point = _measured(program, outcome.point.astype(np.longdouble), outcome.row_duals.astype(np.longdouble))
    unit = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    for _ in range(rounds):
        if point.residual <= ROUNDOFF:
            break
        up, down = _enlarge(point.primal), min(_enlarge(point.dual) / unit, 1e300)
        step = solve(_residual_program(program, point, up, down))
        if step.status is not Status.OPTIMAL or step.point is None or step.row_duals is None:
            break
        better = _measured(program, point.x + step.point[: len(point.x)] / up, point.y + step.row_duals / down)
        if better.residual >= point.residual:
            break
        point = better
    return point


def _measured(program: LinearProgram, x: Any, y: Any) -> _Point:
    """Move the origin to a point: bounds and costs of columns and row slacks as seen from there."""
    place = np.concatenate([x, _product(program, x)])
    cost = np.concatenate([program.objective - _transposed(program, y), y])
    lower = (np.concatenate([program.column_lower, program.row_lower]) - place).astype(float)
    upper = (np.concatenate([program.column_upper, program.row_upper]) - place).astype(float)
    primal = max(float(lower.max()), -float(upper.min()), 0.0)
    unit = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    better = ((cost if program.maximize else -cost) / unit).astype(float)
    # A cost that improves is an error where there is room to follow it: the value of a step within that room.
    gain = np.max(better, initial=0.0, where=upper > ROUNDOFF), np.max(-better, initial=0.0, where=lower < -ROUNDOFF)
    return _Point(x, y, cost, lower, upper, primal, float(max(gain)))


def _residual_program(program: LinearProgram, point: _Point, up: float, down: float) -> LinearProgram:
    """``A d - s = 0`` with the enlarged bounds and costs; the multipliers found so far are the slacks' costs."""
    rows, columns = program.shape
    return replace(
        program,
        objective=(point.cost * down).astype(float),
        start=program.start + np.arange(rows + 1),
        index=np.insert(program.index, program.start[1:], columns + np.arange(rows)),
        value=np.insert(program.value, program.start[1:], -1.0),
        row_lower=np.zeros(rows),
        row_upper=np.zeros(rows),
        column_lower=point.lower * up,
        column_upper=point.upper * up,
    )


def _enlarge(residual: float) -> float:
    """Power of two that brings a residual to `ENLARGED`; one that is roundoff already is not blown up."""
    exponent = -int(np.frexp(residual)[1]) if residual > ROUNDOFF else 0
    return float(ENLARGED * 2.0 ** min(max(exponent, 0), 40))


def _product(program: LinearProgram, x: Any) -> Any:
    """``A @ x`` in extended precision."""
    terms = np.append(program.value * x[program.index], np.longdouble(0))
    return np.where(np.diff(program.start) > 0, np.add.reduceat(terms, program.start[:-1]), 0)


def _transposed(program: LinearProgram, y: Any) -> Any:
    """``A.T @ y`` in extended precision."""
    total = np.zeros(program.shape[1], np.longdouble)
    np.add.at(total, program.index, program.value * np.repeat(y, np.diff(program.start)))
    return total
