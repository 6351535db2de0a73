"""Solvers: one file each. A solver takes a LinearProgram and says how it ended, in our own words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from ldpopt.errors import SolverNotFoundError
from ldpopt.foundation.checks import Float, short_repr
from ldpopt.solvers.program import LinearProgram

BUILT_IN = {
    "highs": "ldpopt.solvers.highs_:Highs",
    "interior": "ldpopt.solving.interior.compact:Interior",
    "cbc": "ldpopt.solvers.cbc_:Cbc",
    "cvxpy": "ldpopt.solvers.cvxpy_:Cvxpy",
}
"""Solvers of this package; others come by the entry point group ``ldpopt.solvers``."""


class Status(Enum):
    """How a solve ended. Only OPTIMAL claims an optimum, and even that is checked by the certificate."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    FAILED = "failed"


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
    basis : object
        The solver's own mark of where it ended, from which it can go on when rows have been added.
    """

    status: Status
    raw_status: str
    point: Float | None = None
    row_duals: Float | None = None
    column_duals: Float | None = None
    basis: Any = None


class ProgramSolver(Protocol):
    """One solver.

    A constructor may take the part of the name after a colon (``"cvxpy:CLARABEL"``) and raises SolverNotFoundError
    where something is missing. One with an attribute ``continues = True`` takes a keyword ``basis`` from an earlier
    outcome of the same program with fewer rows.

    A solver runs in a process of its own, where it can be stopped and may crash, and is given the program's numbers
    without names and structure. Up to ``quick`` non-zeros (an attribute; 0 unless stated) it runs in this process
    instead: state as many as it solves in a fraction of a second, or ``math.inf`` if it reads the structure, keeps its
    time limit and is written in Python, which hears Ctrl-C. What takes long to import can be left to a method
    ``load()``, which is called in the other process. For a basis to cross over, ``basis_arrays(basis)`` writes it as
    two integer arrays and ``basis_from(columns, rows)`` reads them.
    """

    name: str

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve, passing the options on.

        Raises
        ------
        SolverOptionError
            If the solver refuses an option.
        """
        ...


def find(name: str) -> ProgramSolver:
    """Return the solver of a name such as ``"highs"`` or ``"cvxpy:CLARABEL"``.

    Raises
    ------
    SolverNotFoundError
        If there is none, naming those that there are, or what to install. What a package has beneath it, as cvxpy has
        solvers, is known when it solves.
    """
    head, _, detail = name.partition(":") if isinstance(name, str) else ("", "", "")
    offered = _own() if head in BUILT_IN else _offered()  # looking for plug-ins reads every installed package's data
    if head not in offered:
        raise SolverNotFoundError(
            f"there is no solver {short_repr(name)}",
            do=f"name one of auto, {', '.join(sorted(offered))}, or cvxpy:SOLVER",
        )
    load, target = offered[head]
    factory = load()
    solver: ProgramSolver = factory(detail) if detail else factory()
    if target is None or getattr(solver, "quick", 0) == math.inf:
        return solver
    from ldpopt.solvers.processes.guarded import Guarded

    return Guarded(solver, target, detail)


def installed() -> dict[str, str]:
    """Every solver known here, and either ``"installed"`` or what to install."""
    found = {}
    for name in sorted(_offered()):
        try:
            find(name)
            found[name] = "installed"
        except SolverNotFoundError as error:
            found[name] = error.do or error.what
    return found


def missing(name: str, package: str, extra: str) -> SolverNotFoundError:
    """Error for a solver whose package is not installed."""
    return SolverNotFoundError(
        f"solver {name!r} needs {package}, which is not installed", do=f'pip install "ldpopt[{extra}]"'
    )


def _own() -> dict[str, tuple[Any, str | None]]:
    """Loaders and ``module:class`` of our solvers, by name."""

    def loader(target: str) -> Any:
        def load() -> Any:
            from importlib import import_module

            module, _, attribute = target.partition(":")
            return getattr(import_module(module), attribute)

        return load

    return {name: (loader(target), target) for name, target in BUILT_IN.items()}


def _offered() -> dict[str, tuple[Any, str | None]]:
    """Ours, and those of installed packages, which cannot replace ours."""
    from importlib.metadata import entry_points

    points = entry_points(group="ldpopt.solvers")
    others = {
        point.name: (point.load, getattr(point, "value", "").partition("[")[0].strip() or None) for point in points
    }
    return others | _own()
