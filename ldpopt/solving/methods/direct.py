"""The direct method: a solver of linear programs solves the whole program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ldpopt.certificate.program_bound import Form
from ldpopt.solving.formulation import formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, found, solver_named
from ldpopt.solving.problem_form import ProblemForm


@dataclass(frozen=True)
class Direct(Method):
    """Give the whole program to a solver of linear programs.

    Attributes
    ----------
    solver : str
        Its name, as `ldpopt.solvers.find` takes it.
    program_form : {"compact", "pairwise"} or None
        None is the default form of the problem.
    """

    solver: str = "highs"
    program_form: Form | None = None

    name: ClassVar[str] = "direct"
    forms: ClassVar[frozenset[str]] = frozenset({"compact", "pairwise"})

    def restricted_to(self, form: Any) -> Method:
        """Solve this form."""
        return replace(self, program_form=form)

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Every problem whose rows are all in the program."""
        return not form.has_generated_rows or self.program_form == "pairwise"

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """Last: it always works, and the methods with a lower rank are faster where they apply."""
        return 3.0

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """Name the form and the solver."""
        return f"the {self.program_form or form.default_form} program is solved as a whole by {self.solver}"

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Formulate and solve."""
        program = formulate(task.problem, self.program_form, task.deadline)
        solver = solver_named(self.solver)
        outcome = solver.solve(program, time_limit=task.deadline.left, **task.options_for(solver))
        channel = program.structure.channel(outcome.point) if found(outcome) and outcome.point is not None else None
        return RawSolution(program, outcome, channel, 0, solver.name)
