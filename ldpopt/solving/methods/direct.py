"""The direct method: a solver of linear programs solves the whole program."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ldpopt.certificate.program_bound import Form
from ldpopt.solvers import Feature, Outcome, Solver
from ldpopt.solvers.refinement import refinement_seconds
from ldpopt.solving.formulation import formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import (
    Method,
    RawSolution,
    Switch,
    Task,
    optimal_point,
    solver_named,
)
from ldpopt.solving.problem_form import ProblemForm


@dataclass(frozen=True)
class Direct(Method):
    """Give the whole program to a solver of linear programs."""

    solver: str | Solver = "highs"  # a solver, or its name as in `ldpopt.solvers.find`
    program_form: Form | None = None  # form of the program; None: the default form of the problem

    name: ClassVar[str] = "direct"
    forms: ClassVar[frozenset[str]] = frozenset({"compact", "pairwise"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether all rows of the problem are in the program: none has to be generated."""
        return not form.has_generated_rows or self.program_form == "pairwise"

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """Last: it always works, but methods with a lower rank are faster if they apply."""
        return 3.0

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the form and the solver."""
        return (
            f"the {self.program_form or form.program_name} program is solved as a whole by "
            f"{self.solver}"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Formulate the whole program, and solve it."""
        program = formulate(task.problem, self.program_form, task.deadline)
        solver = solver_named(self.solver)
        goal = {} if task.gap is None or Feature.GAP not in solver.features else {"gap": task.gap}
        # Most answers prove their gap as they are: refining one takes longer than finding it.
        is_rough = Feature.ROUGH in solver.features and "refined" not in task.options
        rough = {"refined": False} if is_rough else {}
        began = time.perf_counter()
        options = goal | rough | task.options
        outcome = solver.solve(program, time_limit=task.deadline.left, **options)
        took = time.perf_counter() - began

        def refined() -> RawSolution:
            left = refinement_seconds(took, task.deadline.left)
            return answer(solver.refine(program, outcome, time_limit=left, **goal, **task.options))

        def answer(
            outcome: Outcome, refine: Callable[[], RawSolution] | None = None
        ) -> RawSolution:
            point = optimal_point(outcome)
            channel = None if point is None else program.structure.channel(point)
            return RawSolution(program, outcome, channel, 0, solver.name, refine=refine)

        return answer(outcome, refined if is_rough else None)
