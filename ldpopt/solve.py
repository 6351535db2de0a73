"""solve(problem): formulate, run a solver, generate rows where needed, repair, audit."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ldpopt import solvers
from ldpopt.errors import StatementError
from ldpopt.formulation import Form, default_form, formulate, program_blocks
from ldpopt.generation import generate
from ldpopt.problem import Problem
from ldpopt.repair import repair
from ldpopt.sampling import BITS
from ldpopt.solution import Solution
from ldpopt.solvers import ProgramSolver, Status


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    form: Form | None = None,
    **options: Any,
) -> Solution:
    r"""Find the best private mechanism for a problem.

    Parameters
    ----------
    problem : Problem
        The statement.
    solver : str
        ``"auto"`` (HiGHS; an interior point for many inputs on a graph or under an event-wise delta), ``"highs"``,
        ``"cbc"``, ``"cvxpy"`` (Clarabel), ``"cvxpy:SCS"``, ... or a plug-in's name.
    time_limit : float, optional
        Seconds for the solver.
    form : {"compact", "pairwise"}, optional
        The compact program wherever the notion has one, unless told.
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
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise StatementError(f"time_limit = {time_limit!r} is no positive number of seconds")
    backend = solvers.find("highs" if solver == "auto" else solver)
    choose = solver == "auto" and not options
    made = generate(problem, formulate(problem, form), backend, time_limit, options, choose=choose)
    program, outcome, notes = made.program, made.outcome, _notes(problem, made.rounds)
    solution = Solution(
        problem,
        outcome.status,
        outcome.raw_status,
        f"{made.solver} ({program.structure.form})",
        0.0,
        {} if outcome.row_duals is None else program_blocks(program, outcome.row_duals),
        {} if outcome.column_duals is None else {s.name: outcome.column_duals[s.slice] for s in program.columns},
        notes,
        program,
        outcome,
    )
    if outcome.status is Status.INFEASIBLE:
        solution = replace(
            solution, conflict=_conflict(problem, backend, None if time_limit is None else began + time_limit)
        )
    if made.channel is not None:
        fixed = repair(made.channel, problem.privacy, inputs=problem.inputs, outputs=problem.outputs)
        solution = replace(solution, repaired=fixed)
    return replace(solution, runtime=time.perf_counter() - began)


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
        left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3)
        if backend.solve(formulate(trial, form), time_limit=left).status is Status.INFEASIBLE:
            needed = rest
    return (f"privacy ({problem.privacy!r})", *(repr(block.name) for block in needed))


def _notes(problem: Problem, rounds: int) -> tuple[str, ...]:
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
    if rounds:
        notes.append(f"{rounds} round{'s' * (rounds > 1)} of row generation")
    return tuple(notes)
