"""PIQP: a proximal interior point (Schwan, Jiang, Kuhn and Jones 2023), often the fastest for
programs of a few thousand non-zeros.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import SolverOptionError
from ldpopt.foundation.numbers import Float, positive_seconds, require_kind, truth
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.refinement import in_floats
from ldpopt.solvers.solver import Feature, Outcome, Solver, Status, missing

try:
    import piqp
except ImportError:
    raise missing("piqp", "piqp", "piqp") from None

_STATUS = {
    "PIQP_SOLVED": Status.OPTIMAL,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
    "PIQP_MAX_ITER_REACHED": Status.LIMIT,
    "PIQP_NUMERICS": Status.FAILED,
    "PIQP_UNSOLVED": Status.FAILED,
}

ENDED = ("PIQP_SOLVED", "PIQP_PRIMAL_INFEASIBLE", "PIQP_DUAL_INFEASIBLE")
MANUAL = "see the names, types and ranges of settings in PIQP's manual"
INFINITE = 1e20  # bounds from which on there is none
# Tolerances of residuals and duality gap, and limits of iterations: what every channel program
# reaches, and a refined answer. Most reach it with at most a tenth more time, some never do.
ROUGH: tuple[float, int] = (1e-9, 200)
FINE: tuple[float, int] = (1e-12, 60)
ACCEPTED = 1e-6  # residual of a point that is kept although PIQP did not reach its tolerances
TOLERANCES = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")


@dataclass(frozen=True)
class _Attempt:
    """An answer of PIQP, and the largest of its residuals and duality gap."""

    program: LinearProgram
    raw_status: str
    point: Float
    duals: Float
    residual: float

    def outcome(self) -> Outcome:
        """The answer as others give it; a point with small residuals is an optimum, too."""
        status = _STATUS.get(self.raw_status, Status.FAILED)
        if status is Status.INFEASIBLE or status is Status.UNBOUNDED:
            return Outcome(status, self.raw_status)
        if not np.isfinite(self.point).all() or not np.isfinite(self.residual):
            return Outcome(Status.FAILED, self.raw_status)
        if self.residual <= ACCEPTED:
            status = Status.OPTIMAL  # as a claim: the certificate measures the gap
        costs = self.program.objective - self.program.adjoint(self.duals)
        return Outcome(status, self.raw_status, self.point, self.duals, costs)


class Piqp(Solver):
    """An interior point on sparse matrices; the same program has the same answer on one machine,
    but vector instructions of other machines may change the last digits.
    """

    name = "piqp"
    features = frozenset({Feature.ROUGH})
    in_process_nonzeros = 30_000
    """Such a program takes a fraction of a second; a time limit ends it afterwards."""

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        refined: bool = True,
        **options: Any,
    ) -> Outcome:
        """Solve; options are the settings of PIQP under its own names."""
        require_kind(program, LinearProgram, "solve()", "pass the program of formulate(problem)")
        time_limit = positive_seconds(time_limit)
        began = time.perf_counter()
        best: _Attempt | None = None
        for tolerance, iterations in (FINE, ROUGH) if truth(refined, "refined") else (ROUGH,):
            settings = dict.fromkeys(TOLERANCES, tolerance) | {"max_iter": iterations} | options
            run = _run(program, settings)
            best = run if best is None or run.residual < best.residual else best
            if time_limit is not None and time.perf_counter() - began > time_limit:
                return Outcome(Status.LIMIT, f"the time limit of {time_limit:.3g} s was over")
            if run.raw_status in ENDED:
                break
        assert best is not None
        return best.outcome()


def _run(program: LinearProgram, settings: dict[str, Any]) -> _Attempt:
    """Solve once: equations, other rows with a bound, and columns apart, as PIQP takes them."""
    from scipy.sparse import csc_matrix, eye_array, vstack

    sides = (program.row_lower, program.row_upper, program.column_lower, program.column_upper)
    row_lower, row_upper, column_lower, column_upper = (_with_infinity(side) for side in sides)
    equal = row_lower == row_upper
    bounded = ~equal & (np.isfinite(row_lower) | np.isfinite(row_upper))
    # Without room between its bounds a column has no interior: it is an equation, too.
    fixed = column_lower == column_upper
    sign = -1.0 if program.maximize else 1.0
    columns = program.shape[1]
    units = eye_array(columns, format="csr")[np.flatnonzero(fixed)]
    equations = vstack([program.matrix[np.flatnonzero(equal)], units])
    solver = piqp.SparseSolver()
    _set(solver.settings, settings)
    solver.setup(
        csc_matrix((columns, columns)),
        sign * program.objective,
        csc_matrix(equations),
        np.concatenate([row_lower[equal], column_lower[fixed]]),
        csc_matrix(program.matrix[np.flatnonzero(bounded)]),
        row_lower[bounded],
        row_upper[bounded],
        np.where(fixed, -np.inf, column_lower),
        np.where(fixed, np.inf, column_upper),
    )
    raw_status = str(solver.solve()).rpartition(".")[2]
    found = solver.result
    if raw_status == "PIQP_INVALID_SETTINGS":
        problem = f"PIQP refuses one of its settings {settings}"
        raise SolverOptionError(problem, code="option-range", do=MANUAL)
    duals = np.zeros(program.shape[0])
    duals[equal] = -sign * np.asarray(found.y)[: int(equal.sum())]
    duals[bounded] = -sign * (np.asarray(found.z_u) - np.asarray(found.z_l))
    info = found.info
    residual = max(info.primal_res, info.dual_res, info.duality_gap)
    return _Attempt(program, raw_status, np.array(found.x), in_floats(duals), float(residual))


def _with_infinity(bounds: Float) -> Float:
    """Bounds in which large ones, which stand for none, are infinite."""
    return np.where(np.abs(bounds) < INFINITE, bounds, np.copysign(np.inf, bounds))


def _set(target: Any, settings: dict[str, Any]) -> None:
    """Set PIQP's settings by name; PIQP itself takes new names without a word."""
    for name, value in settings.items():
        if name.startswith("_") or not hasattr(target, name):
            problem = f"PIQP has no setting {name!r}"
            raise SolverOptionError(problem, code="option", do=MANUAL)
        try:
            setattr(target, name, value)
        except TypeError:
            problem = f"PIQP refuses the setting {name} = {value!r}"
            raise SolverOptionError(problem, code="option-value", do=MANUAL) from None
