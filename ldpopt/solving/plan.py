"""The plan: which method solves a problem, and why. This is the only place where a method is
chosen.
"""

from dataclasses import replace
from math import inf
from operator import itemgetter
from typing import Literal, get_args

from ldpopt.errors import StatementError
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Solver
from ldpopt.solving.limits import LIMITS, Limits
from ldpopt.solving.log import Step, Steps
from ldpopt.solving.methods.direct import Direct
from ldpopt.solving.methods.event_interior import EventInteriorPoint
from ldpopt.solving.methods.extreme_columns import ExtremeColumns
from ldpopt.solving.methods.graph_interior import GraphInteriorPoint
from ldpopt.solving.methods.method import Method
from ldpopt.solving.methods.output_sifting import OutputSifting
from ldpopt.solving.methods.rays.method import RaysMethod
from ldpopt.solving.methods.row_generation import RowGeneration
from ldpopt.solving.problem_form import ProblemForm

SolveForm = Literal["compact", "pairwise", "sifted"]

METHODS: tuple[Method, ...] = (
    ExtremeColumns(),
    OutputSifting(),
    RaysMethod(),
    GraphInteriorPoint(),
    RowGeneration(may_switch=True),
    EventInteriorPoint(),
    Direct(),
)
"""The methods from which ``solver="auto"`` chooses."""

POLISHING_METHODS: tuple[Method, ...] = (
    GraphInteriorPoint(),
    EventInteriorPoint(),
    RowGeneration(may_switch=False),
)
"""The methods by which a small problem is solved again if its repaired channel has a gap."""


def plan(
    problem: Problem,
    solver: str | Solver = "auto",
    form: SolveForm | None = None,
    limits: Limits = LIMITS,
    deadline: Deadline = NO_LIMIT,
) -> Steps[Method]:
    """Choose the methods for a problem, in the order in which they are tried.

    Parameters
    ----------
    problem : Problem
        The problem.
    solver : str or Solver
        ``"auto"`` chooses by structure and size; any other name plans the method that uses this
        solver; default: ``"auto"``.
    form : {"compact", "pairwise", "sifted"}, optional
        The program to solve; default: chosen with the method.
    limits : Limits, optional
        Thresholds of the choice; default: ``LIMITS``, the measured ones.
    deadline : Deadline, optional
        Deadline of the whole call; default: ``NO_LIMIT``.

    Returns
    -------
    Steps
        A tuple of `Step`, in the order in which they are tried: each only if all before it have
        failed.

    Raises
    ------
    StatementError
        If the form is unknown, or ``limits`` is not a `Limits`.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP
    >>> for step in plan(Problem(None, [[1, 0], [0, 1]], PureLDP(0), objective="worst_case")):
    ...     print(step)
    direct: the compact program is solved as a whole by highs
    """
    require_kind(limits, Limits, "limits=")
    require_kind(problem, Problem, "plan()")
    return planned(ProblemForm.of(problem, deadline), solver, form, limits)


def planned(
    facts: ProblemForm, solver: str | Solver, form: SolveForm | None, limits: Limits
) -> Steps[Method]:
    """As `plan`, for a problem whose properties are known."""
    if form is not None and not (isinstance(form, str) and form in get_args(SolveForm)):
        raise StatementError(
            f"unknown form {short_repr(form)}",
            code="unknown-form",
            do="use 'compact', 'pairwise' or 'sifted'",
        )
    if solver != "auto":
        requested = (
            f'solver="{solver}"'
            if isinstance(solver, str)
            else f"the solver {getattr(solver, 'name', solver)}"
        )
        return Steps([Step(_with_solver(facts, solver, form), f"{requested} was requested")])
    if form == "sifted":
        return Steps([Step(OutputSifting(), 'form="sifted" was requested')])
    allowed = [
        replace(candidate, program_form=form)
        if form is not None and isinstance(candidate, Direct)
        else candidate
        for candidate in METHODS
    ]
    # Ranks take less time than suiting.
    candidates = [
        (rank, method)
        for method in allowed
        if (form is None or form in method.forms)
        and (rank := method.rank(facts, limits)) < inf
        and method.suits(facts, limits)
    ]
    ranked = [method for _, method in sorted(candidates, key=itemgetter(0))]
    if (
        form is None
        and len(ranked) > 1
        and facts.is_mutual
        and facts.pair_nonzeros > limits.direct_nonzeros
    ):
        # simplex would take hours
        ranked = [method for method in ranked if not isinstance(method, Direct)]
    return Steps([Step(method, method.because(facts, limits)) for method in ranked])


def _with_solver(facts: ProblemForm, solver: str | Solver, form: SolveForm | None) -> Method:
    """The one method that uses this solver for this form."""
    if form == "sifted":
        return OutputSifting(solver)
    if solver == "interior" and form in (None, "pairwise") and facts.default_form == "pairwise":
        return GraphInteriorPoint()
    if solver == "interior" and form is None:
        return OutputSifting(solver)
    return (
        RowGeneration(solver)
        if facts.has_generated_rows and form != "pairwise"
        else Direct(solver, form)
    )
