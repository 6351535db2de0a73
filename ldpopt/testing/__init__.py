"""Product: conformance checks of plug-ins without a test framework, `check_solver` and
`check_notion`.
"""

from ldpopt.testing.notions import check_notion
from ldpopt.testing.programs import dense_program
from ldpopt.testing.solvers import Tolerances, check_solver, checks

__all__ = ["Tolerances", "check_notion", "check_solver", "checks", "dense_program"]
