"""What a solver is: it takes a `LinearProgram`, says how it ended in our own words, and declares what it can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import LdpoptError, SolverNotFoundError
from ldpopt.foundation.checks import Float, short_repr
from ldpopt.solvers.program import LinearProgram

Arrays = dict[str, NDArray[Any]]


class Status(Enum):
    """How a solve ended. Only OPTIMAL claims an optimum, and even that is checked by the certificate."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    FAILED = "failed"


class Feature(Enum):
    """What a solver can do besides solving, each under a keyword of `Solver.solve`."""

    WARM_START = "warm_start: starts from an earlier outcome of the same program with fewer rows"
    ROUGH = "refined=False: answers sooner, with less accuracy"
    GAP = "gap: stops at this relative gap of value and bound"
    OTHER_OUTPUTS = "kept: starts from an earlier outcome of a channel program with other outputs"


@dataclass(frozen=True)
class Outcome:
    """What a solver said.

    Attributes
    ----------
    status : Status
        In our words.
    raw_status : str
        In the solver's.
    point : float array or None, shape (columns,)
        Best point found.
    row_duals : float array or None, shape (rows,)
        Change of the optimal value for each unit by which a row's active bound is raised.
    column_duals : float array or None, shape (columns,)
        The same for column bounds: the reduced costs.
    warm_start : object
        Where the solver ended, in a form of its own, from which it can go on.
    """

    status: Status
    raw_status: str
    point: Float | None = None
    row_duals: Float | None = None
    column_duals: Float | None = None
    warm_start: Any = None


class Solver(ABC):
    """One solver of linear programs.

    A constructor may take the part of the name after a colon (``"cvxpy:CLARABEL"``) and raises SolverNotFoundError
    where something is missing. A solver runs in a process of its own, where it can be stopped and may crash; it is
    given the program's numbers without names. `in_process_nonzeros` states up to which size it runs in this process.
    """

    name: str
    features: ClassVar[frozenset[Feature]] = frozenset()
    in_process_nonzeros: float = 0
    """Non-zeros of a program that it solves in a fraction of a second; infinite for a solver that keeps its time limit
    by itself and is written in Python, which hears Ctrl-C."""

    @abstractmethod
    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve, passing the options on.

        Raises
        ------
        SolverOptionError
            If the solver refuses an option.
        """

    def load(self) -> None:
        """Import what takes long; called in the solver's own process."""
        return

    def pack_warm_start(self, warm_start: Any) -> Arrays:
        """Write a warm start as arrays of numbers, for its way to another process; default: none."""
        return {}

    def unpack_warm_start(self, arrays: Arrays) -> Any:
        """Read what `pack_warm_start` wrote; None without one."""
        return None


class PlainSolver(Solver):
    """A plug-in that does not derive from `Solver`, but has a name and a method ``solve``."""

    def __init__(self, solver: Any) -> None:
        name, solve = getattr(solver, "name", None), getattr(solver, "solve", None)
        if not (isinstance(name, str) and name and callable(solve)):
            raise SolverNotFoundError(
                f"{short_repr(solver)} is not a solver: it needs a name and a method solve",
                do="derive its class from ldpopt.solvers.Solver",
            )
        self.name, self._solve = name, solve

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Call the solver."""
        outcome: Outcome = self._solve(program, time_limit=time_limit, **options)
        return outcome


class InProcess(Solver):
    """A solver of another package that runs in this process: what it returns is checked."""

    def __init__(self, solver: Solver) -> None:
        self.solver, self.name = solver, solver.name
        self.features = solver.features  # type: ignore[misc]
        self.in_process_nonzeros = solver.in_process_nonzeros

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Call the solver, and check its outcome."""
        return checked(self.solver.solve(program, time_limit=time_limit, **options), self.solver, program)


def read_solver(given: Any) -> Solver:
    """Return a solver as it is, or wrapped.

    Raises
    ------
    SolverNotFoundError
        If it has no name or no method ``solve``.
    """
    return given if isinstance(given, Solver) else PlainSolver(given)


def checked(outcome: Any, solver: Solver, program: LinearProgram) -> Outcome:
    """Return what a solver gave, if it is an outcome of this program.

    Raises
    ------
    LdpoptError
        If it is anything else; the message names the solver, the part and what it was.
    """
    if not isinstance(outcome, Outcome):
        raise _wrong(solver, f"{short_repr(outcome)}, which is not an Outcome")
    if not isinstance(outcome.status, Status):
        raise _wrong(solver, f"the status {short_repr(outcome.status)}, which is not a Status")
    if outcome.status is Status.OPTIMAL and outcome.point is None:
        raise _wrong(solver, "the status OPTIMAL without a point")
    rows, columns = program.shape
    for name, size in (("point", columns), ("row_duals", rows), ("column_duals", columns)):
        given = getattr(outcome, name)
        if given is not None:
            _require_numbers(solver, name, given, size)
    return outcome


def _require_numbers(solver: Solver, name: str, given: Any, size: int) -> None:
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "fiu":
        raise _wrong(solver, f"{name} = {short_repr(given)}, which is not an array of numbers")
    if given.shape != (size,):
        raise _wrong(solver, f"{name} of shape {given.shape}; the program needs ({size},)")
    if name == "point" and not np.isfinite(given).all():
        raise _wrong(solver, "a point with a number that is not finite")


def _wrong(solver: Solver, what: str) -> LdpoptError:
    do = "test it with ldpopt.testing.check_solver"
    return LdpoptError(f"solve() of the solver {solver.name!r} returned {what}", do=do)
