"""The method for large graphs and metrics: an interior point that factors one small matrix for each output."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from ldpopt.solving.formulation import formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task
from ldpopt.solving.problem_form import ProblemForm


@dataclass(frozen=True)
class GraphInteriorPoint(Method):
    """Factor one small matrix for each output, instead of one large matrix for the whole program."""

    name: ClassVar[str] = "graph interior point"
    forms: ClassVar[frozenset[str]] = frozenset({"pairwise"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Mutual ties of sufficient length, two or more inputs, no side rows, no delta."""
        return form.n > 1 and not form.has_side_rows and form.fits_graph_interior(limits)

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First, or after rays, for a large channel."""
        return 0.5 if form.entries >= limits.graph_entries else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """State the size."""
        return (
            f"neighbors are tied output by output, and with {form.entries} entries "
            f"(from {limits.graph_entries} on) this is faster than simplex"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Formulate and solve; at a limit, and on numerical failure, the answer is the best point so far."""
        from ldpopt.solving.interior.graphs import GraphInterior

        program = formulate(task.problem, "pairwise", task.deadline)
        solver = GraphInterior()
        outcome = solver.solve(program, time_limit=task.deadline.left, **task.options_for(solver))
        channel = None if outcome.point is None else program.structure.channel(outcome.point)
        return RawSolution(program, outcome, channel, 0, solver.name)
