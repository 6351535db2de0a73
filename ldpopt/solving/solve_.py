"""solve(problem): formulate, run a solver, generate rows where needed, repair, audit."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Literal, get_args

from ldpopt import solvers
from ldpopt.errors import StatementError
from ldpopt.foundation.checks import real_number, short_repr
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.sampling import BITS
from ldpopt.solvers import ProgramSolver, Status
from ldpopt.solving.formulation import default_form, formulate, program_blocks
from ldpopt.solving.methods.output_sifting import can_sift, require_siftable, sift
from ldpopt.solving.methods.row_generation import Generated, generate
from ldpopt.solving.solution import Solution
from ldpopt.statement.problem import Problem

SolveForm = Literal["compact", "pairwise", "sifted"]

SIFT_FROM = 900
"""Entries of a utility from which the interior point beats simplex on the whole program (measured)."""


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    form: SolveForm | None = None,
    **options: Any,
) -> Solution:
    r"""Find the best private mechanism for a problem.

    Parameters
    ----------
    problem : Problem
        The statement.
    solver : str
        ``"auto"`` (HiGHS; interior points made for these programs from about a thousand entries on), ``"highs"``,
        ``"interior"``, ``"cbc"``, ``"cvxpy"`` (Clarabel), ``"cvxpy:SCS"``, ... or a plug-in's name; default:
        ``"auto"``.
    time_limit : float, optional
        Seconds for the solver.
    form : {"compact", "pairwise", "sifted"}, optional
        Default: the compact program wherever the notion has one; for the interior point ``"sifted"``, which solves it
        on few outputs and prices the others.
    **options
        Passed on to the solver under its own names.

    Returns
    -------
    Solution
        With a mechanism that is private for the real ``e**epsilon``, audited in exact arithmetic. Where there is none
        (infeasible, limit), ``status`` says so and asking for the mechanism raises.

    Raises
    ------
    StatementError, NotRepresentableError
        If the problem is ill posed or too large.
    SolverNotFoundError, SolverOptionError
        If the solver is not there, or refuses an option.
    PrivacyViolationError
        If the audit disagrees; such a mechanism is never returned.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, solve
    >>> answer = solve(Problem([0.5, 0.5], "identity", PureLDP("log(3)")))
    >>> round(answer.value, 12), answer.mechanism.channel.round(9).tolist()
    (0.75, [[0.75, 0.25], [0.25, 0.75]])
    """
    began = time.perf_counter()
    if not isinstance(problem, Problem):
        raise StatementError(f"solve() takes a Problem, not a {type(problem).__name__}")
    if time_limit is not None:
        time_limit = real_number(time_limit, "time_limit")
        if not 0 < time_limit < float("inf"):
            raise StatementError(f"time_limit = {time_limit} is no positive number of seconds")
    if form is not None and not (isinstance(form, str) and form in get_args(SolveForm)):
        raise StatementError(
            f"form = {short_repr(form)} is unknown", do=f"use {', '.join(map(repr, get_args(SolveForm)))}"
        )
    deadline = None if time_limit is None else began + time_limit
    backend = solvers.find("highs" if isinstance(solver, str) and solver == "auto" else solver)
    made = _made(problem, solver, backend, form, deadline, options)
    program, outcome, notes = made.program, made.outcome, _notes(problem, made)
    solution = Solution(
        problem,
        outcome.status,
        outcome.raw_status,
        f"{made.solver} ({_described(problem, made)})",
        0.0,
        {} if outcome.row_duals is None else program_blocks(program, outcome.row_duals),
        {} if outcome.column_duals is None else {s.name: outcome.column_duals[s.slice] for s in program.columns},
        notes,
        program,
        outcome,
    )
    if outcome.status is Status.INFEASIBLE:
        solution = replace(solution, conflict=_conflict(problem, backend, deadline))
    if made.channel is not None:
        fixed = repair(made.channel, problem.privacy, inputs=problem.inputs, outputs=problem.outputs)
        solution = replace(solution, repaired=fixed)
    return replace(solution, runtime=time.perf_counter() - began)


def _made(
    problem: Problem,
    solver: str,
    backend: ProgramSolver,
    form: SolveForm | None,
    deadline: float | None,
    options: dict[str, Any],
) -> Generated:
    """Solve in the form asked for, or in the one that structure and size suggest."""
    if form in (None, "pairwise") and backend.name == "interior" and default_form(problem) == "pairwise":
        from ldpopt.solving.interior.graphs import Blocks

        backend = Blocks()  # the interior point for graphs and metrics, which goes output by output
    elif form == "sifted" or (form is None and backend.name == "interior"):
        require_siftable(problem)
        return sift(problem, backend, _left(deadline), options)
    choose = solver == "auto" and not options
    if choose and form is None and problem.utility.matrix.size >= SIFT_FROM and can_sift(problem):
        made = sift(problem, solvers.find("interior"), _left(deadline), {})
        late = deadline is not None and time.perf_counter() >= deadline
        if made.outcome.status is Status.OPTIMAL or late:
            return made
    program = formulate(problem, form)
    return generate(problem, program, backend, _left(deadline), options, choose=choose)


def _left(deadline: float | None) -> float | None:
    """Seconds; next to none where the deadline is over."""
    return None if deadline is None else max(deadline - time.perf_counter(), 1e-3)


def _described(problem: Problem, made: Generated) -> str:
    form = made.program.structure.form
    tried, outputs = made.program.structure.shape[1], len(problem.outputs)
    return form if tried == outputs else f"{form}, {tried} of {outputs} outputs"


def _conflict(problem: Problem, backend: ProgramSolver, deadline: float | None) -> tuple[str, ...]:
    """Blocks that exclude each other: leave out each in turn, and keep those without which the rest is feasible."""
    form = default_form(problem)
    needed = list(problem.constraints)
    for block in problem.constraints:
        rest = [other for other in needed if other is not block]
        trial = Problem(
            problem.prior,
            problem.utility,
            problem.privacy,
            inputs=problem.inputs,
            outputs=problem.outputs,
            objective=problem.objective,
            constraints=rest,
        )
        program = formulate(trial, form)
        if backend.solve(program, time_limit=_left(deadline)).status is Status.INFEASIBLE:
            needed = rest
    return (f"privacy ({problem.privacy!r})", *(repr(block.name) for block in needed))


def _notes(problem: Problem, made: Generated) -> tuple[str, ...]:
    notes = []
    epsilon, delta = getattr(problem.privacy, "epsilon", None), getattr(problem.privacy, "delta", 0.0)
    if problem.is_trivial:
        notes.append("there is one input only: reports tell nothing, so privacy costs nothing")
    elif epsilon == 0 and not delta:
        notes.append("epsilon = 0: reports cannot depend on the answer; the mechanism is a constant row")
    if delta == 1:
        notes.append("delta = 1 allows everything: this mechanism protects nobody")
    if epsilon is not None and epsilon > BITS * 0.6931471805599453:
        notes.append(
            f"epsilon = {float(epsilon):.6g} asks for masses below 2**-{BITS}; they are one unit of it instead, "
            "which is more private and costs at most 2**-53 per entry"
        )
    if made.rounds:
        what = "output sifting" if can_sift(problem) else "row generation"
        notes.append(f"{made.rounds} round{'s' * (made.rounds > 1)} of {what}")
    return tuple(notes)
