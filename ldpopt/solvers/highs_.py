"""HiGHS, straight through highspy, with its answer refined to roundoff."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ldpopt.errors import SolverOptionError
from ldpopt.foundation.rows import Int
from ldpopt.solvers import Outcome, Status, missing
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.refinement import in_floats, refine

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

TIGHT: dict[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""As tight as HiGHS allows: privacy is multiplicative, tolerances are not."""

SIMPLEX: dict[str, Any] = {"presolve": "off", "solver": "simplex"}

OTHER_WAYS: tuple[dict[str, Any], ...] = (
    {"simplex_strategy": 4},
    {"simplex_scale_strategy": 0},
    {"solver": "ipm", "ipm_iteration_limit": 200},
)
"""Where the dual simplex ends short of the optimum and refinement fails: primal simplex, unscaled rows, a crossover."""

ASTRAY = 1e-7
"""Violation of a row at a point that was said to be optimal."""

PATIENCE = 1000
"""Iterations, besides one for each row and column, after which improving an answer is given up."""

SHORTEST, LONGEST = 1.0, 10.0
"""Seconds that improving an answer may take: the longer of so many, and so many times what finding it took."""

SCALE = 2.0**8
"""Right-hand sides and costs of 1 are stated as this, which makes the absolute tolerances that much tighter."""


class Highs:
    """The default solver: simplex on the sparse program, vertices as answers."""

    name = "highs"
    continues = True
    quick = 30_000
    """The slowest channel programs of that size take half a second, by simplex and by interior point."""

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        basis: Any = None,
        refined: bool = True,
        **options: Any,
    ) -> Outcome:
        """Solve; every option of HiGHS can be passed by its own name."""
        began = time.perf_counter()
        deadline = None if time_limit is None else began + time_limit
        outcome = _run(program, SCALE, {**TIGHT, **options}, deadline, _extended(program, basis))
        if basis is not None and outcome.point is not None and program.residual(outcome.point) > ASTRAY:
            # From a basis of nearly parallel rows HiGHS may call optimal what is not even feasible.
            outcome = _run(program, SCALE, {**TIGHT, **options}, deadline, None)
        if outcome.status in (Status.UNBOUNDED, Status.FAILED):
            # Unclear ends come from tolerances that are too tight for the program: settle them by HiGHS's own.
            outcome = _run(program, 1.0, {**SIMPLEX, "simplex_strategy": 4, **options}, deadline, None)
        if not refined:
            return outcome
        at = None if outcome.basis is None else _with_slacks(outcome.basis)
        # Near an optimum, at the edge of what floats can tell, a simplex method may go round in circles.
        end = {"simplex_iteration_limit": PATIENCE + sum(program.shape)}
        late = time.perf_counter() + max(SHORTEST, LONGEST * (time.perf_counter() - began))
        late = late if deadline is None else min(late, deadline)

        def residual(step: LinearProgram) -> Outcome:
            nonlocal at
            found = _run(step, 1.0, {**TIGHT, **SIMPLEX, **end}, late, at)
            if found.status is not Status.OPTIMAL:
                found = _run(step, 1.0, end, late, None)
            at = found.basis
            return found

        def others() -> Iterator[Outcome]:
            nonlocal at
            for start, way in product((outcome.basis, None), OTHER_WAYS):
                if time.perf_counter() > late:
                    return
                found = _run(program, SCALE, {**TIGHT, **SIMPLEX, **way, **end, **options}, late, start)
                at = None if found.basis is None else _with_slacks(found.basis)
                yield found

        return refine(program, outcome, residual, others())

    @staticmethod
    def basis_arrays(basis: highspy.HighsBasis) -> tuple[Int, Int]:
        """States of columns and of rows, as HiGHS numbers them."""
        return np.array(list(map(int, basis.col_status)), int), np.array(list(map(int, basis.row_status)), int)

    @staticmethod
    def basis_from(columns: Int, rows: Int) -> highspy.HighsBasis:
        """Read the basis back from its states."""
        basis = highspy.HighsBasis()
        basis.valid = True
        basis.col_status = list(map(highspy.HighsBasisStatus, columns.tolist()))
        basis.row_status = list(map(highspy.HighsBasisStatus, rows.tolist()))
        return basis


def _run(program: LinearProgram, scale: float, options: dict[str, Any], deadline: float | None, basis: Any) -> Outcome:
    """Solve with right-hand sides and costs in another unit, and report in the program's own."""
    largest = float(np.abs(program.objective).max(initial=0.0))
    cost = scale * 2.0 ** min(-int(np.frexp(largest)[1]), 1000) if largest and scale != 1 else 1.0
    sides = ("row_lower", "row_upper", "column_lower", "column_upper")
    with np.errstate(over="ignore"):  # beyond 1e20 a bound is infinite to HiGHS anyway
        scaled: Any = {name: getattr(program, name) * scale for name in sides}
    highs = replace(program, objective=program.objective * cost, **scaled).to_highs(named=False)
    for option, value in options.items():
        _set(highs, option, value)
    if deadline is not None:
        _set(highs, "time_limit", max(deadline - time.perf_counter(), 1e-3))
    if basis is not None:
        highs.setBasis(basis)
    highs.run()
    raw = highs.getModelStatus()
    status, text = _STATUS.get(raw.name, Status.FAILED), highs.modelStatusToString(raw)
    solution, found = highs.getSolution(), highs.getBasis()
    if not solution.value_valid:
        return Outcome(status, text)
    point = np.array(solution.col_value) / scale
    if not solution.dual_valid:
        return Outcome(status, text, point)
    duals, reduced = (in_floats(np.array(v, np.longdouble) / cost) for v in (solution.row_dual, solution.col_dual))
    return Outcome(status, text, point, duals, reduced, found if found.valid else None)


def _extended(program: LinearProgram, basis: highspy.HighsBasis | None) -> highspy.HighsBasis | None:
    """Carry an earlier basis over: rows added since are basic, so that the dual simplex only has to drive them in."""
    if basis is not None:
        added = program.shape[0] - len(basis.row_status)
        basis.row_status = list(basis.row_status) + [highspy.HighsBasisStatus.kBasic] * added
    return basis


def _with_slacks(basis: highspy.HighsBasis) -> highspy.HighsBasis:
    """Read the same basis where every row is an equation with a slack column of its own."""
    wider = highspy.HighsBasis()
    wider.valid = True
    wider.col_status = list(basis.col_status) + list(basis.row_status)
    wider.row_status = [highspy.HighsBasisStatus.kLower] * len(basis.row_status)
    return wider


def _set(highs: highspy.Highs, option: str, value: Any) -> None:
    if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        raise SolverOptionError(
            f"HiGHS refuses the option {option} = {value!r}", do="see its name, type and range in HiGHS's manual"
        )
