"""Any linear program, and nothing of privacy: programs with names, and one file for each solver.

In: a `LinearProgram`. Out: an `Outcome` with its `Status` in our own words; `find` returns a solver by name.
"""

from ldpopt.solvers.registry import find, installed, missing
from ldpopt.solvers.solver import Feature, Outcome, Solver, Status

__all__ = ["Feature", "Outcome", "Solver", "Status", "find", "installed", "missing"]
