"""The method for large graphs and metrics: an interior point that factors one sparse matrix for each output."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import program_of_pairs, worst_case_scale
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.loops import Loops
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, small_task
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.interior.graph_program import GraphProgram
    from ldpopt.solving.interior.graphs import GraphResult

ACCEPTED_GAP = 1e-9
"""Gap accepted as optimal."""

FINISH_SECONDS = 1e-5
"""Seconds for each entry that pass after the last step, on a slow machine: rows, repair, audit."""

NAME = "graph interior"
"""The solver's name in a solution."""


@dataclass(frozen=True)
class GraphInteriorPoint(Method):
    """Factor one sparse matrix for each output, instead of one large matrix for the whole program."""

    name: ClassVar[str] = "graph interior point"
    forms: ClassVar[frozenset[str]] = frozenset({"pairwise"})
    loops: ClassVar[Loops] = Loops(name, lambda: GraphInteriorPoint().solve(small_task()))

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
        """Read the problem and solve it; at a limit, and on numerical failure, the answer is the best point so far."""
        from ldpopt.solving.interior.graphs import GAP, solve_graph

        data = read_problem(task)
        goal = {} if task.gap is None else {"gap": task.gap}
        options = _options(goal | task.options)
        left = inf if task.deadline.left is None else task.deadline.left
        deadline = task.deadline.before(min(FINISH_SECONDS * data.cost.size, left / 2))
        found = solve_graph(data, deadline=deadline, **options)
        accepted = max(options.get("gap", GAP), ACCEPTED_GAP)
        return _raw(task.problem, found, accepted)


def read_problem(task: Task) -> GraphProgram:
    """The problem as the interior point by outputs reads it."""
    from ldpopt.solving.interior.graph_program import GraphProgram

    problem, form = task.problem, task.form
    data = None
    if form.n > 1 and not form.has_side_rows and form.ties is not None and form.has_inside(task.limits):
        if problem.prior is None:
            gain = worst_case_scale(problem)
            gain = gain if problem.utility.sense == "gain" else -gain
            data = GraphProgram.of(form.ties, np.zeros(gain.shape), gain)
        else:
            data = GraphProgram.of(form.ties, problem.prior[:, None] * problem.utility.gain, None)
    if data is None:
        what = "the interior point by outputs solves pairwise programs of ties of 0.001 nats or more, no side rows"
        raise NotRepresentableError(what, do='use solver="highs"')
    return data


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse options that are not known."""
    unknown = next((name for name in options if name not in ("gap", "steps")), None)
    if unknown is not None:
        do = "its options are gap and steps"
        raise SolverOptionError(f"the interior point for graphs has no option {unknown!r}", do=do)
    return options


def _raw(problem: Problem, found: GraphResult, accepted: float) -> RawSolution:
    """Write the program with the privacy rows that have multipliers."""
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    program = program_of_pairs(problem, found.pair, found.output)
    point = found.channel.reshape(-1)
    if problem.prior is None:
        by_input = (worst_case_scale(problem) * found.channel).sum(axis=1)
        worst = by_input.min() if sign > 0 else by_input.max()
        point = np.append(point, worst / program.objective[-1])
    duals = sign * np.concatenate([found.sums, found.value, found.prior])
    reduced = program.objective - program.adjoint(duals)
    status = Status.OPTIMAL if found.gap <= accepted else Status.LIMIT if found.timed_out else Status.FAILED
    message = f"{found.steps} steps, gap {found.gap:.1e}" + (", time limit" if found.timed_out else "")
    outcome = Outcome(status, message, point, duals, reduced)
    return RawSolution(program, outcome, found.channel, 0, NAME, found.gap)
