"""The method for large graphs and metrics: an interior point that factors one sparse matrix per
output.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import worst_case_utility
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, pair_answer
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.interior.graphs import GraphProgram

ACCEPTED_GAP = 1e-9  # relative gap accepted as optimal
# seconds per entry after the last step, on a slow machine: rows, repair, audit
FINISH_SECONDS = 1e-5
SOLVER = "graph interior"  # the solver's name in a solution


@dataclass(frozen=True)
class GraphInteriorPoint(Method):
    """Factor one sparse matrix per output instead of one large matrix for the whole program."""

    name: ClassVar[str] = "graph interior point"
    forms: ClassVar[frozenset[str]] = frozenset({"pairwise"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether inputs are tied mutually, with losses that floats resolve, without side rows and
        delta.
        """
        return form.n > 1 and not form.has_side_rows and form.fits_graph_interior(limits)

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First, or after rays, for a large channel."""
        return (
            0.5
            if form.entries >= limits.graph_entries or form.pair_nonzeros >= limits.graph_nonzeros
            else inf
        )

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the size of the channel, or of the program."""
        size = f"{form.entries} entries (from {limits.graph_entries} on)"
        if form.entries < limits.graph_entries:
            size = (
                f"{form.pair_nonzeros:.0f} non-zeros of privacy rows (from "
                f"{limits.graph_nonzeros} on)"
            )
        return (
            f"the constraints tie neighbors output by output, and with {size} this is faster "
            "than simplex"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Follow the central path; at a limit, and on numerical failure, the answer is the best
        point so far.
        """
        from ldpopt.solving.interior.graphs import GAP, solve_graph
        from ldpopt.solving.interior.path_following import check_options

        program = read_problem(task)
        options = ({} if task.gap is None else {"gap": task.gap}) | task.options
        check_options(options)
        left = inf if task.deadline.left is None else task.deadline.left
        deadline = task.deadline.before(min(FINISH_SECONDS * program.cost.size, left / 2))
        result = solve_graph(program, deadline=deadline, **options)
        is_optimal = result.gap <= max(options.get("gap", GAP), ACCEPTED_GAP)
        status = (
            Status.OPTIMAL if is_optimal else Status.LIMIT if result.timed_out else Status.FAILED
        )
        message = f"{result.steps} steps, gap {result.gap:.1e}" + (
            ", time limit" if result.timed_out else ""
        )
        numbers = result.channel, result.rows, result.multipliers
        return pair_answer(
            task.problem,
            *numbers,
            Outcome(status, message),
            rounds=0,
            solver=SOLVER,
            gap=result.gap,
        )


def read_problem(task: Task) -> GraphProgram:
    """The problem as the interior point by outputs reads it."""
    from ldpopt.solving.interior.graphs import GraphProgram

    problem, form = task.problem, task.form
    program = None
    if (
        form.n > 1
        and not form.has_side_rows
        and form.ties is not None
        and form.has_interior(task.limits)
    ):
        if problem.prior is None:
            gain = worst_case_utility(problem)
            gain = gain if problem.utility.sense == "gain" else -gain
            program = GraphProgram.of(form.ties, np.zeros(gain.shape), gain)
        else:
            program = GraphProgram.of(
                form.ties, problem.prior[:, None] * problem.utility.gain, None
            )
    if program is None:
        message = (
            "this method needs two or more inputs, ties of 0.001 nats or more, and no "
            "side constraints"
        )
        raise NotRepresentableError(message, code="graph-problem", do='use solver="highs"')
    return program
