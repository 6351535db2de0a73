"""CBC through PuLP: its answers have eight digits, so they are improved by iterative refinement."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.errors import SolverNotFoundError, SolverOptionError
from ldpopt.foundation.deadline import Deadline
from ldpopt.solvers.program import LinearProgram, pulp_sides
from ldpopt.solvers.refinement import refine
from ldpopt.solvers.solver import Outcome, Solver, Status, missing

try:
    import pulp
except ImportError:
    raise missing("cbc", "PuLP", "cbc") from None

_STATUS = {
    pulp.LpSolutionOptimal: Status.OPTIMAL,
    pulp.LpSolutionInfeasible: Status.INFEASIBLE,
    pulp.LpSolutionUnbounded: Status.UNBOUNDED,
    pulp.LpSolutionIntegerFeasible: Status.LIMIT,
    pulp.LpSolutionNoSolutionFound: Status.FAILED,
}


class Cbc(Solver):
    """COIN-OR CBC's simplex method, independent of HiGHS."""

    name = "cbc"
    in_process_nonzeros = 2_000
    """A program of this size takes half a second, most of it for text files."""

    def __init__(self) -> None:
        self._command = _command()

    def solve(
        self, program: LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        """Solve; options are those of PuLP's CBC command (``threads``, ``options=[...]``, ...)."""
        deadline = Deadline.after(time_limit)

        def run(part: LinearProgram) -> Outcome:
            return self._run(part, deadline.left, options)

        return refine(program, run(program), run)

    def _run(
        self, program: LinearProgram, time_limit: float | None, options: dict[str, Any]
    ) -> Outcome:
        problem = program.to_pulp(named=False)
        try:
            with tempfile.TemporaryDirectory() as folder:
                solver = self._command(msg=False, timeLimit=time_limit, **options)
                solver.tmpDir = folder
                problem.solve(solver)
        except TypeError as error:
            message = f"PuLP refuses an option for CBC: {error}"
            raise SolverOptionError(
                message, do="leave the option out, or see the documentation of PuLP"
            ) from None
        except pulp.PulpSolverError as error:
            return Outcome(Status.FAILED, str(error))
        raw = f"{pulp.LpStatus[problem.status]}, {pulp.LpSolution[problem.sol_status]}"
        status = _STATUS.get(problem.sol_status, Status.FAILED)
        if any(variable.varValue is None for variable in problem.variables()):
            return Outcome(status, raw)
        return Outcome(status, raw, *_read(program, problem))


def _read(program: LinearProgram, problem: pulp.LpProblem) -> tuple[Any, Any, Any]:
    """Values and duals in the program's order; a two-sided row has the sum of the duals of its two
    sides.
    """
    by_name = {v.name: v for v in problem.variables()}

    columns = [by_name[f"x{j}"] for j in range(program.shape[1])]
    point = np.array([v.varValue for v in columns], float)
    duals = np.zeros(program.shape[0])
    for row in range(len(duals)):
        for _, _, suffix in pulp_sides(
            float(program.row_lower[row]), float(program.row_upper[row])
        ):
            if (dual := problem.constraints[f"r{row}{suffix}"].pi) is None:
                return point, None, None
            duals[row] += dual
    reduced = [v.dj for v in columns]
    return point, duals, None if None in reduced else np.array(reduced, float)


def _command() -> Any:
    """Return the CBC that comes with PuLP, or one on the system's path."""
    for name in ("PULP_CBC_CMD", "COIN_CMD"):
        if (command := getattr(pulp, name, None)) is not None and command(msg=False).available():
            return command
    if path := _from_cbcbox():
        return lambda **options: pulp.COIN_CMD(path=path, **options)
    message = "solver 'cbc' needs the program cbc, which this version of PuLP does not contain"
    raise SolverNotFoundError(message, do='pip install cbcbox, or "pulp<4"')


def _from_cbcbox() -> str | None:
    try:
        import cbcbox
    except ImportError:
        return None
    path = Path(cbcbox.cbc_bin_path())
    return str(path) if path.exists() else None
