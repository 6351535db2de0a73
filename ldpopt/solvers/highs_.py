"""HiGHS through highspy; answers are improved by iterative refinement."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpopt.errors import SolverOptionError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import positive_seconds, require_kind, truth
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.refinement import ACCEPTED_RESIDUAL, in_floats, refine, refinement_seconds
from ldpopt.solvers.solver import Arrays, Feature, Outcome, Solver, Status, missing
from ldpopt.solvers.vertex import at_vertex

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

TOLERANCES: dict[str, Any] = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
"""The smallest that HiGHS allows: they are absolute, but privacy bounds ratios of small numbers."""

SIMPLEX: dict[str, Any] = {"presolve": "off", "solver": "simplex"}

FALLBACK_OPTIONS: tuple[dict[str, Any], ...] = (
    {"simplex_strategy": 4},
    {"simplex_scale_strategy": 0},
    {"solver": "ipm", "ipm_iteration_limit": 200},
)
"""Tried when refinement fails after the dual simplex: primal simplex, unscaled rows, interior point
with crossover."""

MAX_RESIDUAL = 1e-7  # largest violation of a row in a point that is accepted as optimal
# Iterations allowed from a warm start, in addition to one for each row and column; then it starts
# cold
WARM_ITERATIONS = 500
# iterations allowed for refinement, in addition to one for each row and column
EXTRA_REFINEMENT_ITERATIONS = 1000
# non-zeros up to which presolve takes a third of the time and removes nothing
UNSIMPLIFIED_NONZEROS = 10_000
# factor for right-hand sides and costs, which makes the absolute tolerances tighter by the same
# factor
SCALE = 2.0**8
_KEPT = threading.local()


class Highs(Solver):
    """The default solver: sparse simplex, with vertices as answers."""

    name = "highs"
    features = frozenset({Feature.WARM_START, Feature.ROUGH})
    in_process_nonzeros = 30_000
    """The slowest channel programs of that size take half a second, by simplex and by interior
    point."""

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        warm_start: highspy.HighsBasis | None = None,
        refined: bool = True,
        **options: Any,
    ) -> Outcome:
        """Solve; every option of HiGHS can be passed by its own name."""
        began = time.perf_counter()
        require_kind(program, LinearProgram, "solve()", "pass the program of formulate(problem)")
        if warm_start is not None:
            require_kind(warm_start, highspy.HighsBasis, "warm_start=", "pass outcome.warm_start")
        refined = truth(refined, "refined")
        deadline = Deadline.after(positive_seconds(time_limit))
        outcome = _first_answer(program, options, deadline, warm_start)
        if not refined:
            return outcome
        most = refinement_seconds(time.perf_counter() - began, deadline.left)
        return self.refine(program, outcome, time_limit=most, **options)

    def refine(
        self,
        program: LinearProgram,
        outcome: Outcome,
        *,
        time_limit: float | None = None,
        **options: Any,
    ) -> Outcome:
        """Improve an answer of `solve`: at the vertex of its basis, then by residual programs."""
        require_kind(program, LinearProgram, "refine()", "pass the program of formulate(problem)")
        require_kind(outcome, Outcome, "refine()", "pass what solve returned")
        deadline = Deadline.after(positive_seconds(time_limit))
        outcome, residual = at_vertex(program, outcome)
        if residual <= ACCEPTED_RESIDUAL:
            return outcome
        return _Refinement(program, outcome, options, deadline, outcome.warm_start).refined()

    def pack_warm_start(self, warm_start: highspy.HighsBasis) -> Arrays:
        """States of columns and rows, numbered as in HiGHS."""
        require_kind(warm_start, highspy.HighsBasis, "pack_warm_start()", "pass its warm start")
        states = {"columns": warm_start.col_status, "rows": warm_start.row_status}
        return {
            f"basis_{kind}": np.array(list(map(int, statuses)), int)
            for kind, statuses in states.items()
        }

    def unpack_warm_start(self, arrays: Arrays) -> highspy.HighsBasis | None:
        """Read the basis back from its states."""
        require_kind(arrays, dict, "unpack_warm_start()", "pass what pack_warm_start() returned")
        if "basis_rows" not in arrays:
            return None
        basis = highspy.HighsBasis()
        basis.valid = True
        basis.col_status = list(map(highspy.HighsBasisStatus, arrays["basis_columns"].tolist()))
        basis.row_status = list(map(highspy.HighsBasisStatus, arrays["basis_rows"].tolist()))
        return basis


def _first_answer(
    program: LinearProgram, options: dict[str, Any], deadline: Deadline, basis: Any
) -> Outcome:
    """Solve once, and again with other settings if the answer is wrong or unclear."""
    steps: dict[str, Any] = {} if program.nnz > UNSIMPLIFIED_NONZEROS else {"presolve": "off"}
    if basis is not None:
        steps["simplex_iteration_limit"] = WARM_ITERATIONS + sum(program.shape)
    outcome = _run(
        program, SCALE, {**TOLERANCES, **steps, **options}, deadline, _with_new_rows(program, basis)
    )
    if _is_stalled(outcome, options) and basis is not None:
        # Among nearly parallel rows a simplex method may cycle, from any basis, where tolerances
        # are the smallest.
        outcome = _run(
            program, 1.0, {**SIMPLEX, **steps, "simplex_strategy": 4, **options}, deadline, None
        )
    is_wrong = (
        basis is not None
        and outcome.point is not None
        and program.residual(outcome.point) > MAX_RESIDUAL
    )
    if is_wrong or (basis is not None and _is_stalled(outcome, options)):
        # From a basis with nearly parallel rows HiGHS may call an infeasible point optimal. Columns
        # scaled to at most 1 take a fraction of the seconds of its default scaling there.
        outcome = _run(
            program, SCALE, {**TOLERANCES, "simplex_scale_strategy": 4, **options}, deadline, None
        )
    if outcome.status in (Status.UNBOUNDED, Status.FAILED):
        # The tolerances may be too small for the program: decide with HiGHS's default ones.
        outcome = _run(program, 1.0, {**SIMPLEX, "simplex_strategy": 4, **options}, deadline, None)
    return outcome


def _is_stalled(outcome: Outcome, options: dict[str, Any]) -> bool:
    """Whether the warm start's own limit of iterations was reached."""
    return (
        outcome.raw_status == "Iteration limit reached" and "simplex_iteration_limit" not in options
    )


@dataclass
class _Refinement:
    """Refinement of an answer, with its own limits: near an optimum a simplex method may cycle."""

    program: LinearProgram
    outcome: Outcome
    options: dict[str, Any]
    deadline: Deadline
    last: highspy.HighsBasis | None  # basis of the program from which the next refinement starts
    start: highspy.HighsBasis | None = None  # or that of its residual program

    def refined(self) -> Outcome:
        """Solve for residuals until they are roundoff."""
        return refine(self.program, self.outcome, self._residual, self._fallback_answers())

    @property
    def _limits(self) -> dict[str, Any]:
        return {"simplex_iteration_limit": EXTRA_REFINEMENT_ITERATIONS + sum(self.program.shape)}

    def _residual(self, step: LinearProgram) -> Outcome:
        """Solve a residual program: by small tolerances from the last basis; if that fails, by
        HiGHS's own ones without a basis.
        """
        # The first residual program after an answer starts from the basis of the program itself,
        # whose slacks it has as columns; later ones from that of the residual program before.
        if self.last is not None:
            self.start, self.last = _with_slacks(self.last), None
        correction = _run(
            step, 1.0, {**TOLERANCES, **SIMPLEX, **self._limits}, self.deadline, self.start
        )
        if correction.status is not Status.OPTIMAL:
            correction = _run(step, 1.0, self._limits, self.deadline, None)
        self.start = correction.warm_start
        return correction

    def _fallback_answers(self) -> Iterator[Outcome]:
        for basis, fallback in product((self.outcome.warm_start, None), FALLBACK_OPTIONS):
            if self.deadline.is_over:
                return
            settings = {**TOLERANCES, **SIMPLEX, **fallback, **self._limits, **self.options}
            answer = _run(self.program, SCALE, settings, self.deadline, basis)
            self.start, self.last = None, answer.warm_start
            yield answer


def _run(
    program: LinearProgram, scale: float, options: dict[str, Any], deadline: Deadline, basis: Any
) -> Outcome:
    """Solve with scaled right-hand sides and costs, and return the answer in the program's
    units.
    """
    largest_cost = float(np.abs(program.objective).max(initial=0.0))
    cost_scale = (
        scale * 2.0 ** min(-int(np.frexp(largest_cost)[1]), 1000)
        if largest_cost and scale != 1
        else 1.0
    )
    # the clock of a kept model is that of all its runs: a time limit needs a new one
    kept = _kept_model() if deadline.left is None else None
    try:
        with np.errstate(over="ignore"):  # HiGHS treats bounds above 1e20 as infinite
            highs = program.scaled_highs(scale, cost_scale, kept)
        for option, value in options.items():
            _set(highs, option, value)
        if deadline.left is not None:
            _set(highs, "time_limit", deadline.left)
        if basis is not None:
            highs.setBasis(basis)
        highs.run()
        return _outcome(highs, scale, cost_scale)
    finally:
        if kept is not None:
            kept.clear()


def _kept_model() -> Any:
    """The empty model of this thread: making and freeing one takes a third as long as solving for
    five answers.
    """
    if not hasattr(_KEPT, "model"):
        _KEPT.model = highspy.Highs.__base__()
    return _KEPT.model


def _outcome(highs: highspy.Highs, scale: float, cost_scale: float) -> Outcome:
    """Read the result of a run, in the units of the program."""
    raw = highs.getModelStatus()
    status = _STATUS.get(raw.name, Status.FAILED)
    text = highs.modelStatusToString(raw)
    solution = highs.getSolution()
    basis = highs.getBasis()
    if not solution.value_valid:
        return Outcome(status, text)
    point = np.fromiter(solution.col_value, float) / scale
    if not solution.dual_valid:
        return Outcome(status, text, point)
    with np.errstate(over="ignore"):  # the scale is a power of two
        duals, costs = (
            in_floats(np.fromiter(v, float) / cost_scale)
            for v in (solution.row_dual, solution.col_dual)
        )
    return Outcome(status, text, point, duals, costs, basis if basis.valid else None)


def _with_new_rows(
    program: LinearProgram, basis: highspy.HighsBasis | None
) -> highspy.HighsBasis | None:
    """Extend an earlier basis: new rows are basic, so that the dual simplex continues from it."""
    if basis is not None:
        added = program.shape[0] - len(basis.row_status)
        basis.row_status = list(basis.row_status) + [highspy.HighsBasisStatus.kBasic] * added
    return basis


def _with_slacks(basis: highspy.HighsBasis) -> highspy.HighsBasis:
    """Return the same basis for the program in which every row is an equation with its own slack
    column.
    """
    extended = highspy.HighsBasis()
    extended.valid = True
    extended.col_status = list(basis.col_status) + list(basis.row_status)
    extended.row_status = [highspy.HighsBasisStatus.kLower] * len(basis.row_status)
    return extended


def _set(highs: highspy.Highs, option: str, value: Any) -> None:
    if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        message = f"HiGHS refuses the option {option} = {value!r}"
        raise SolverOptionError(
            message, code="option", do="see its name, type and range in HiGHS's manual"
        )
