"""HiGHS, straight through highspy."""

from __future__ import annotations

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


class Highs:
    """The default solver: dual simplex on the sparse program, vertices as answers."""

    name = "highs"

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve; every option of HiGHS can be passed by its own name."""
        highs = program.to_highs(named=False)
        for option, value in {**DEFAULTS, **options}.items():
            _set(highs, option, value)
        if time_limit is not None:
            _set(highs, "time_limit", float(time_limit))
        highs.run()
        raw = highs.getModelStatus()
        if raw.name in ("kUnboundedOrInfeasible", "kUnknown", "kSolveError", "kUnbounded"):
            raw = _again(highs)
        status = _STATUS.get(raw.name, Status.FAILED)
        text = highs.modelStatusToString(raw)
        solution = highs.getSolution()
        if not solution.value_valid:
            return Outcome(status, text)
        point = np.array(solution.col_value)
        if not solution.dual_valid:
            return Outcome(status, text, point)
        return Outcome(status, text, point, np.array(solution.row_dual), np.array(solution.col_dual))


def _set(highs: highspy.Highs, option: str, value: Any) -> None:
    if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        raise SolverOptionError(
            f"HiGHS refuses the option {option} = {value!r}", do="see the option's name, type and range in HiGHS's manual"
        )


def _again(highs: highspy.Highs) -> highspy.HighsModelStatus:
    """Settle an unclear end by the primal simplex without presolve, at HiGHS's own tolerances."""
    highs.clearSolver()
    for option, value in (
        ("presolve", "off"),
        ("solver", "simplex"),
        ("simplex_strategy", 4),
        ("primal_feasibility_tolerance", 1e-9),
        ("dual_feasibility_tolerance", 1e-9),
    ):
        highs.setOptionValue(option, value)
    highs.run()
    return highs.getModelStatus()
