"""Core: linear programs with names, and one file for each solver; nothing here depends on privacy.

In: a `LinearProgram`. Out: an `Outcome` with a `Status`; `find` returns a solver by name.
"""

from ldpopt.solvers.registry import find, installed
from ldpopt.solvers.solver import Feature, Outcome, Solver, Status, missing

__all__ = ["Feature", "Outcome", "Solver", "Status", "find", "installed", "missing"]
