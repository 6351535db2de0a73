"""A model: a problem with the other entries of its file."""

from dataclasses import dataclass, replace
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.problem import Problem


@dataclass(frozen=True)
class Expect:
    """Expected values of the solved model: ``abs(solution.value - value) <= tolerance``, also for
    the variance.

    Attributes
    ----------
    value : float or None
        Of the utility.
    tolerance : float
        Of both.
    variance : float or None
        Of the design for the workload.
    """

    value: float | None
    tolerance: float = 1e-9
    variance: float | None = None


@dataclass(frozen=True)
class Model:
    """A problem with title, source, solver settings and expected value.

    Attributes
    ----------
    problem : Problem or None
        Argument of `solve`; None if the file has a workload and no utility.
    title, source : str
        Title and source; empty if the file has none.
    solver : str
        Argument of `solve`.
    time_limit : float or None
        Seconds.
    expect : Expect or None
        Checked by a test, shown by the command line.
    design : DesignProblem or None
        Argument of `ldpopt.design`; None if the file has no workload.
    """

    problem: Problem | None
    title: str = ""
    source: str = ""
    solver: str = "auto"
    time_limit: float | None = None
    expect: Expect | None = None
    design: DesignProblem | None = None

    def require_problem(self, where: str = "") -> Problem:
        """Return the problem, or refuse a model without a utility."""
        if self.problem is None:
            do = "use `ldpopt design`, `compare` or `check`; or add [utility]"
            raise StatementError(
                "the model has a workload and no utility", code="utility", where=where, do=do
            )
        return self.problem

    def require_design(self, where: str = "") -> DesignProblem:
        """Return the design problem, or refuse a model without a workload."""
        if self.design is None:
            do = 'add [workload], for example with kind = "frequencies"'
            raise StatementError("the model has no workload", code="workload", where=where, do=do)
        return self.design

    def at(self, epsilon: float | str) -> "Model":
        """The same model at another budget, without the expected value."""
        notion = with_epsilon(self.privacy, Budget(epsilon))
        problem = None if self.problem is None else replace(self.problem, privacy=notion)
        design = None if self.design is None else replace(self.design, privacy=notion)
        return replace(self, problem=problem, design=design, expect=None)

    @property
    def privacy(self) -> Any:
        """The privacy notion."""
        return self.require_problem().privacy if self.design is None else self.design.privacy
