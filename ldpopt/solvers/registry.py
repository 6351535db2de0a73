"""Solvers by name: those of this package, and plug-ins under the entry point ``ldpopt.solvers``."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ldpopt.errors import SolverNotFoundError
from ldpopt.foundation.numbers import short_repr
from ldpopt.solvers.solver import InProcess, Solver, read_solver

BUILT_IN = {
    "interior": "ldpopt.solving.interior.compact:Interior",
    "highs": "ldpopt.solvers.highs_:Highs",
    "cbc": "ldpopt.solvers.cbc_:Cbc",
    "cvxpy": "ldpopt.solvers.cvxpy_:Cvxpy",
}
"""Addresses of the built-in solvers; the interior point is in `ldpopt.solving`, as it needs channel programs."""

Offer = tuple[Callable[[], Any], str | None]
"""A function that returns a solver's class, and its address ``module:class``, if it has one."""


def find(name: str) -> Solver:
    """Return the solver of a name such as ``"highs"`` or ``"cvxpy:CLARABEL"``.

    Raises
    ------
    SolverNotFoundError
        If there is no such solver; the message names the known ones, or what to install. Solvers inside a package, such
        as those of cvxpy, are checked when they solve.
    """
    head, _, detail = name.partition(":") if isinstance(name, str) else ("", "", "")
    offered = (
        _own() if head in BUILT_IN else _offered()
    )  # a search for plug-ins reads the metadata of every installed package
    if head not in offered:
        names = f"auto, {', '.join(sorted(offered))}, or cvxpy:SOLVER"
        raise SolverNotFoundError(f"there is no solver {short_repr(name)}", do=f"name one of {names}")
    load, address = offered[head]
    factory = load()
    solver = read_solver(factory(detail) if detail else factory())
    if address is None or solver.in_process_nonzeros == math.inf:
        return solver if head in BUILT_IN else InProcess(solver)
    from ldpopt.solvers.processes.guarded import Guarded

    return Guarded(solver, address, detail)


def installed() -> dict[str, str]:
    """Every known solver, with ``"installed"`` or what to install."""
    found = {}
    for name in sorted(_offered()):
        try:
            find(name)
            found[name] = "installed"
        except SolverNotFoundError as error:
            found[name] = error.do or error.what
        except Exception as error:  # a plug-in that is broken must not hide the others
            found[name] = f"cannot be loaded: {type(error).__name__}: {error}"
    return found


def missing(name: str, package: str, extra: str) -> SolverNotFoundError:
    """Error for a solver whose package is not installed."""
    return SolverNotFoundError(
        f"solver {name!r} needs {package}, which is not installed", do=f'pip install "ldpopt[{extra}]"'
    )


def _own() -> dict[str, Offer]:
    return {name: (partial(_imported, address), address) for name, address in BUILT_IN.items()}


def _imported(address: str) -> Any:
    module, _, attribute = address.partition(":")
    return getattr(import_module(module), attribute)


def _offered() -> dict[str, Offer]:
    """The built-in solvers and those of installed packages, which cannot replace built-in ones."""
    from importlib.metadata import entry_points

    points = entry_points(group="ldpopt.solvers")
    others: dict[str, Offer] = {
        point.name: (point.load, getattr(point, "value", "").partition("[")[0].strip() or None) for point in points
    }
    return others | _own()
