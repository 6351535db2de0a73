"""Solvers by name: those of ldpopt, and plug-ins under the entry point ``ldpopt.solvers``."""

import math

from ldpopt.errors import SolverNotFoundError
from ldpopt.foundation.numbers import short_repr
from ldpopt.foundation.plugins import at_address, plug_ins, register, registered
from ldpopt.solvers.guarded import Guarded
from ldpopt.solvers.solver import Solver, require_solver

GROUP = "ldpopt.solvers"

register(GROUP, "highs", "ldpopt.solvers.highs_:Highs")
register(GROUP, "cbc", "ldpopt.solvers.cbc_:Cbc")
register(GROUP, "cvxpy", "ldpopt.solvers.cvxpy_:Cvxpy")
register(GROUP, "piqp", "ldpopt.solvers.piqp_:Piqp")


def find(name: str | Solver) -> Solver:
    """Return the solver of a name such as ``"highs"`` or ``"cvxpy:CLARABEL"``.

    A solver that is given itself runs in this process: a time limit is left to the solver.

    Raises
    ------
    SolverNotFoundError
        If there is no such solver; the message names the known ones, or the package to install.
        Solvers inside a package, such as those of cvxpy, are checked when they solve.
    """
    if isinstance(name, Solver):
        return name if isinstance(name, Guarded) else Guarded(require_solver(name), "")
    head, _, detail = name.partition(":") if isinstance(name, str) else ("", "", "")
    plugins = registered(GROUP)
    if head in plugins:
        address = plugins[head]
        factory = at_address(address)
    else:
        others = plug_ins(GROUP)
        if head not in others:
            names = f"auto, {', '.join(sorted({*plugins, *others}))}, or cvxpy:SOLVER"
            do = (
                f"name one of {names}; or pass an instance of a class derived from "
                "ldpopt.solvers.Solver"
            )
            raise SolverNotFoundError(
                f"there is no solver {short_repr(name)}", code="unknown-solver", do=do
            )
        address = getattr(others[head], "value", "").partition("[")[0].strip()
        factory = others[head].load()
    solver = require_solver(factory(detail) if detail else factory())
    return (
        solver
        if head in plugins and solver.in_process_nonzeros == math.inf
        else Guarded(solver, address, detail)
    )


def installed() -> dict[str, str]:
    """Every known solver, with ``"installed"`` or the package to install."""
    available = {}
    for name in sorted({*registered(GROUP), *plug_ins(GROUP)}):
        try:
            find(name)
            available[name] = "installed"
        except SolverNotFoundError as error:
            available[name] = error.do or error.what
        except Exception as error:  # a plug-in that is broken must not hide the others
            available[name] = f"cannot be loaded: {type(error).__name__}: {error}"
    return available
