"""The method of extreme columns: the fastest one for small problems with a pure budget."""

from functools import partial
from math import inf
from typing import ClassVar

from ldpopt.solving.columns import ColumnSimplex
from ldpopt.solving.formulation import formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.direct import Direct
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, optimal_point
from ldpopt.solving.problem_form import ProblemForm

LARGEST_BUDGET = 30.0  # nats; beyond it an entry e**-epsilon is lost beside 1


class ExtremeColumns(Method):
    """Solve a small compact program by exchanging extreme columns; if the gap stays open, as a
    whole.
    """

    name: ClassVar[str] = "extreme columns"
    forms: ClassVar[frozenset[str]] = frozenset({"compact"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether the budget is pure, the same for all pairs, and resolved by floats."""
        ties = form.ties
        if ties is None or not ties.is_plain or form.has_side_rows or form.has_generated_rows:
            return False
        return ties.budget.beta > limits.columns_least_beta and ties.budget <= LARGEST_BUDGET

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for a small utility."""
        return -1.0 if form.entries <= _most_entries(form, limits) else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the size of the channel."""
        return (
            f"with {form.entries} entries (up to {_most_entries(form, limits)}) exchanging extreme "
            "columns is faster than a solver for all linear programs"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Formulate the program, and solve it by columns."""
        program = formulate(task.problem, "compact", task.deadline)
        solver = ColumnSimplex()
        outcome = solver.solve(program, time_limit=task.deadline.left)
        point = optimal_point(outcome)
        channel = None if point is None else program.structure.channel(point)
        # tried if the gap stays open; the better one of both answers is kept
        as_a_whole = partial(Direct().solve, task)
        return RawSolution(program, outcome, channel, 0, solver.name, refine=as_a_whole)


def _most_entries(form: ProblemForm, limits: Limits) -> int:
    """Entries up to which columns beat the other methods."""
    return limits.columns_entries if form.is_expected else limits.columns_worst_entries
