"""The interface of solvers: a solver takes a `LinearProgram`, returns an `Outcome`, and declares
its features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, SolverNotFoundError
from ldpopt.foundation.numbers import Float, require_kind, short_repr
from ldpopt.solvers.program import LinearProgram

Arrays = dict[str, NDArray[Any]]


class Feature(Enum):
    """Optional abilities of a solver, each with a keyword of `Solver.solve`."""

    WARM_START = "warm_start: starts from an earlier outcome of the same program with fewer rows"
    ROUGH = "refined=False: solves faster, with less accuracy; `Solver.refine` improves the answer"
    GAP = "gap: stops at this relative gap of value and bound"
    OTHER_OUTPUTS = "kept: starts from an earlier outcome of a channel program with other outputs"


class Solver(ABC):
    """A solver of linear programs.

    A constructor may take the part of the name after a colon (``"cvxpy:CLARABEL"``) and raises
    SolverNotFoundError if something is missing. A solver runs in a child process, which can be
    killed or crash; it gets the program without names. Programs of at most `in_process_nonzeros`
    are solved in this process.
    """

    name: str
    features: ClassVar[frozenset[Feature]] = frozenset()
    in_process_nonzeros: float = 0
    """Number of non-zeros up to which a solve takes a fraction of a second; infinite for a solver
    in Python that keeps its time limit and stops at Ctrl-C."""

    @abstractmethod
    def solve(
        self, program: LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        """Solve with these options.

        Raises
        ------
        SolverOptionError
            If the solver refuses an option.
        """

    def refine(
        self,
        program: LinearProgram,
        outcome: Outcome,
        *,
        time_limit: float | None = None,
        **options: Any,
    ) -> Outcome:
        """Improve a rough answer of this program, by a solver with `Feature.ROUGH`; default: solve
        again.
        """
        require_kind(program, LinearProgram, "refine()", "pass the program of formulate(problem)")
        require_kind(outcome, Outcome, "refine()", "pass what solve returned")
        return self.solve(program, time_limit=time_limit, refined=True, **options)

    def load(self) -> None:
        """Run imports that take long; called in the child process."""
        return

    def pack_warm_start(self, warm_start: Any) -> Arrays:
        """Write a warm start as arrays of numbers, to send it to another process; default:
        nothing.
        """
        return {}

    def unpack_warm_start(self, arrays: Arrays) -> Any:
        """Read what `pack_warm_start` wrote; None if there is no warm start."""
        return None


def require_solver(solver: Any) -> Solver:
    """Return a solver with a name; refuse anything else."""
    if not isinstance(solver, Solver) or not getattr(solver, "name", ""):
        do = "derive its class from ldpopt.solvers.Solver, and give it a name"
        raise SolverNotFoundError(f"{short_repr(solver)} is not a solver", do=do)
    return solver


def missing(name: str, package: str, extra: str) -> SolverNotFoundError:
    """Error for a solver whose package is not installed."""
    problem = f"solver {name!r} needs {package}, which is not installed"
    return SolverNotFoundError(problem, code="package", do=f'pip install "ldpopt[{extra}]"')


def check_outcome(outcome: Any, solver: Solver, program: LinearProgram) -> Outcome:
    """Check that the result of a solver is an outcome of this program, and return it."""
    if not isinstance(outcome, Outcome):
        raise _wrong(solver, f"{short_repr(outcome)}, which is not an Outcome")
    if not isinstance(outcome.status, Status):
        raise _wrong(solver, f"the status {short_repr(outcome.status)}, which is not a Status")
    if outcome.status is Status.OPTIMAL and outcome.point is None:
        raise _wrong(solver, "the status OPTIMAL without a point")
    rows, columns = program.shape
    for name, size in (("point", columns), ("row_duals", rows), ("column_duals", columns)):
        if (numbers := getattr(outcome, name)) is not None:
            _require_numbers(solver, name, numbers, size)
    return outcome


def _require_numbers(solver: Solver, name: str, numbers: Any, size: int) -> None:
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in "fiu":
        raise _wrong(solver, f"{name} = {short_repr(numbers)}, which is not an array of numbers")
    if numbers.shape != (size,):
        raise _wrong(solver, f"{name} of shape {numbers.shape}; the program needs ({size},)")
    if name == "point" and not np.isfinite(numbers).all():
        raise _wrong(solver, "a point with a number that is not finite")


def _wrong(solver: Solver, problem: str) -> LdpoptError:
    do = "test it with ldpopt.testing.check_solver"
    return LdpoptError(
        f"solve() of the solver {solver.name!r} returned {problem}", code="outcome", do=do
    )


class Status(Enum):
    """How a solve ended. OPTIMAL is the solver's claim; the certificate checks it."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a solve.

    Attributes
    ----------
    status : Status
        How the solve ended.
    raw_status : str
        The status in the words of the solver.
    point : float array or None, shape (columns,)
        Best point found.
    row_duals : float array or None, shape (rows,)
        Change of the optimal value for each unit by which a row's active bound is raised.
    column_duals : float array or None, shape (columns,)
        The same for column bounds: the reduced costs.
    warm_start : object
        Final state of the solver, in its own format, from which a later solve can start.
    """

    status: Status
    raw_status: str
    point: Float | None = None
    row_duals: Float | None = None
    column_duals: Float | None = None
    warm_start: Any = None
