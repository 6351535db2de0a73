"""solve(problem): follow the plan, repair the channel, audit it."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import Any

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.foundation.numbers import Float, positive_seconds, real_number
from ldpopt.mechanism.repair import Repaired
from ldpopt.mechanism.sampling import BITS
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Status, find
from ldpopt.solving.channel_program import program_blocks
from ldpopt.solving.claims import BELIEVED_GAP, believed, proved
from ldpopt.solving.closing import closer
from ldpopt.solving.constant import with_constant_report
from ldpopt.solving.formulation import default_form, formulate
from ldpopt.solving.limits import LIMITS, Limits
from ldpopt.solving.log import LOG, shown
from ldpopt.solving.methods.loops import SHARE, NotCompiledError
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task
from ldpopt.solving.methods.rays.cluster import LEAST_INPUTS, require_client
from ldpopt.solving.plan import SolveForm, plan
from ldpopt.solving.problem_form import ProblemForm
from ldpopt.solving.solution import Solution, value_of
from ldpopt.solving.step import Step

SETTLED = (Status.OPTIMAL, Status.INFEASIBLE)
"""How a method ends that needs no other one after it."""

NOTED_COST = 1e-6
"""Smallest relative cost of the repair that is noted."""


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
    form: SolveForm | None = None,
    limits: Limits = LIMITS,
    verbose: bool = False,
    executor: Any = None,
    **options: Any,
) -> Solution:
    r"""Find the best private mechanism for a problem.

    Parameters
    ----------
    problem : Problem
        The statement.
    solver : str
        ``"auto"`` follows the `plan`: HiGHS, or an interior point for large problems (about a thousand entries or
        more). Or ``"highs"``, ``"interior"``, ``"cbc"``, ``"cvxpy"`` (Clarabel), ``"cvxpy:SCS"``, ... or
        a plug-in's name; default: ``"auto"``.
    time_limit : float, optional
        Seconds for the whole call; default: no limit.
    gap : float, optional
        Relative gap of value and bound at which methods that compute it may stop; default: solve to the optimum.
    form : {"compact", "pairwise", "sifted"}, optional
        The program to solve; default: chosen with the method. ``"sifted"`` solves the compact one on few outputs and
        prices the others.
    limits : Limits, optional
        Measured thresholds for the choice of a method; default: ``LIMITS``.
    verbose : bool
        Print plan, rounds and gaps to stderr; the logger ``ldpopt`` has them in any case. Default: ``False``.
    executor : dask.distributed.Client, optional
        Its workers price the outputs of a metric of 600 places or more, with the same numbers; default: the cores of
        this machine.
    **options
        Options of the solver under its own names; with ``"auto"`` the solver is then HiGHS.

    Returns
    -------
    Solution
        With a mechanism that is private for the real ``e**epsilon``, audited in exact arithmetic. If there is none
        (infeasible), ``status`` says so and ``mechanism`` raises. At a limit it is the best private
        mechanism so far; without one, the best constant report (for an expected value without side constraints).

    Raises
    ------
    StatementError, NotRepresentableError
        If the problem is ill posed or too large.
    SolverNotFoundError, SolverOptionError
        If the solver is not installed, or refuses an option.
    PrivacyViolationError
        If the audit finds a violation; such a mechanism is never returned.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP, solve
    >>> answer = solve(Problem([0.5, 0.5], "identity", PureLDP("log(3)")))
    >>> round(answer.value, 12), answer.mechanism.channel.round(9).tolist()
    (0.75, [[0.75, 0.25], [0.25, 0.75]])
    """
    deadline = Deadline.after(positive_seconds(time_limit))
    began = time.perf_counter()
    if not isinstance(problem, Problem):
        raise StatementError(f"solve() takes a Problem, not a {type(problem).__name__}")
    if gap is not None and not 0 < (gap := real_number(gap, "gap")) < 1:
        raise StatementError(f"gap = {gap} is not between 0 and 1", do="state a relative gap such as 1e-3")
    if executor is not None:
        require_client(executor)
    with shown(verbose):
        LOG.info("%r", problem)
        solution = replace(
            _solve(problem, solver, time_limit, gap, form, limits, deadline, options, executor),
            runtime=time.perf_counter() - began,
        )
        LOG.info("%s: value %.12g, %.3g s", solution.status.value, solution.value, solution.runtime)
    return solution


def _solve(
    problem: Problem,
    solver: str,
    time_limit: float | None,
    gap: float | None,
    form: SolveForm | None,
    limits: Limits,
    deadline: Deadline,
    options: dict[str, Any],
    executor: Any,
) -> Solution:
    """Plan, solve, repair."""
    try:
        steps = plan(problem, "highs" if solver == "auto" and options else solver, form, limits, deadline)
        form_of = ProblemForm.of(problem, deadline)
        task = Task(problem, form_of, deadline, gap, options, limits, executor)
        raw, step_notes = run_plan(steps, task)
        if executor is not None and not raw.used_executor:
            step_notes.append(f"the executor was not used: it is for metrics of at least {LEAST_INPUTS} inputs")
    except OutOfTimeError as error:
        ended = _out_of_time(problem, f"the time limit of {time_limit:.3g} s was over while {error}")
        return with_constant_report(ended, problem)
    if solver == "auto" and not options and gap is None and not deadline.is_over:
        raw = _as_limit(closer(raw, task))
    solution = replace(_read(problem, raw, (*_notes(problem), *step_notes)), steps=tuple(step_notes))
    if solution.status is Status.INFEASIBLE:
        solution = replace(solution, conflict=_conflict(problem, solver, deadline))
    if raw.repaired is None or raw.channel is None:
        return with_constant_report(solution, problem)
    notes = (*solution.notes, *_cost_of_repair(problem, raw.channel, raw.repaired))
    return replace(solution, repaired=raw.repaired, notes=notes)


def run_plan(steps: tuple[Step[Method], ...], task: Task) -> tuple[RawSolution, list[str]]:
    """Try the methods in order, and note each one, why it was chosen, and how it failed."""
    notes: list[str] = []
    best: RawSolution | None = None
    for step in steps:
        _note(notes, str(step))
        try:
            raw = _checked(_run_step(step, steps, task, notes), task)
        except NotRepresentableError as error:
            if step is steps[-1]:
                raise
            _note(notes, f"{step.method} refused the problem: {error.what}")
            continue
        except NotCompiledError as error:
            if step is steps[-1]:
                raise
            _note(notes, f"{step.method}: {SHARE:.0%} of the time was over while {error}")
            continue
        except OutOfTimeError as error:
            if best is None or best.channel is None:
                raise
            _note(notes, f"{step.method}: time was over while {error}")
            return _as_limit(best), notes
        if _is_last(raw, task) or step is steps[-1]:
            break
        _note(notes, f"{step.method} ended with {raw.outcome.raw_status!r}")
        best = _better(raw, best)
    notes += _rounds_note(raw, step)
    return _as_limit(raw if raw.outcome.status in SETTLED else _better(raw, best)), notes


def _note(notes: list[str], text: str) -> None:
    """Add a note, and log it."""
    notes.append(text)
    LOG.info("%s", text)


def _checked(raw: RawSolution, task: Task) -> RawSolution:
    """Call wrong claims failures: an optimum that its multipliers do not prove, and a channel without bounds."""
    if raw.outcome.status is Status.UNBOUNDED:
        told = f"{raw.outcome.raw_status}, which no channel is: its entries are at most 1"
        return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=told))
    return believed(proved(raw, task.problem), max(BELIEVED_GAP, task.gap or 0.0))


def _is_last(raw: RawSolution, task: Task) -> bool:
    """Whether no other method follows: the problem is settled, or time is over."""
    is_stopped = raw.outcome.status is Status.LIMIT and raw.channel is not None
    return raw.outcome.status in SETTLED or is_stopped or task.deadline.is_over


def _better(raw: RawSolution, best: RawSolution | None) -> RawSolution:
    """Of two unfinished answers the one with a channel, and with the smaller gap; else the later one."""
    if best is None or best.channel is None:
        return raw
    if raw.channel is None or (best.gap is not None and best.gap < (inf if raw.gap is None else raw.gap)):
        return best
    return raw


def _as_limit(raw: RawSolution) -> RawSolution:
    """Call it a limit where a method failed with a channel at hand: the certificate says how far off it is."""
    if raw.channel is None or raw.outcome.status is not Status.FAILED:
        return raw
    return replace(raw, outcome=replace(raw.outcome, status=Status.LIMIT))


def _rounds_note(raw: RawSolution, step: Step[Method]) -> list[str]:
    return [f"{raw.rounds} round{'s' * (raw.rounds > 1)} of {step.method}"] if raw.rounds else []


def _run_step(step: Step[Method], steps: tuple[Step[Method], ...], task: Task, notes: list[str]) -> RawSolution:
    """Run one method, and the methods to which it hands the problem over."""
    methods = {other.method.name: other.method for other in steps}
    if step.method.loops is not None:
        step.method.loops.wait(task.deadline if step is steps[-1] else task.deadline.share(SHARE))
    raw = step.method.solve(task)
    while isinstance(raw, Switch):
        _note(notes, f"handed over to the {raw.to}: {raw.because}")
        answer = methods[raw.to].solve(task, raw)
        if isinstance(answer, RawSolution) and answer.outcome.status is Status.FAILED:
            _note(notes, f"the {raw.to} failed ({answer.outcome.raw_status}); {step.method} goes on")
            answer = raw.resume()
        raw = answer
    return raw


def _read(problem: Problem, raw: RawSolution, notes: tuple[str, ...]) -> Solution:
    """Read duals by the names of rows and columns."""
    program, outcome = raw.program, raw.outcome
    return Solution(
        problem,
        outcome.status,
        outcome.raw_status,
        f"{raw.solver} ({_described(problem, raw)})",
        0.0,
        {} if outcome.row_duals is None else program_blocks(program, outcome.row_duals),
        {} if outcome.column_duals is None else {s.name: outcome.column_duals[s.slice] for s in program.columns},
        notes,
        program,
        outcome,
    )


def _out_of_time(problem: Problem, told: str) -> Solution:
    """Solution when the time limit is over before any method could start."""
    return Solution(problem, Status.LIMIT, told, "no solver", 0.0, {}, {}, _notes(problem))


def _described(problem: Problem, raw: RawSolution) -> str:
    form = raw.program.structure.form
    tried, outputs = raw.program.structure.shape[1], len(problem.outputs)
    return form if tried == outputs else f"{form}, {tried} of {outputs} outputs"


def _conflict(problem: Problem, solver: str, deadline: Deadline) -> tuple[str, ...]:
    """Conflicting blocks: leave out each in turn, and keep it if the rest is feasible without it."""
    backend = find("highs" if solver in ("auto", "interior") else solver)
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
        program = formulate(trial, default_form(trial))
        if backend.solve(program, time_limit=deadline.left).status is Status.INFEASIBLE:
            needed = rest
    return (f"privacy ({problem.privacy!r})", *(repr(block.name) for block in needed))


def _notes(problem: Problem) -> tuple[str, ...]:
    """Notes about the problem itself."""
    notes = []
    ties = problem.__dict__.get("_ties")
    epsilon, delta = (None, 0.0) if ties is None else (ties.budget, ties.delta)
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
    return (*notes, *problem.privacy.notes(problem.inputs))


def _cost_of_repair(problem: Problem, channel: Float, fixed: Repaired) -> tuple[str, ...]:
    """Note the cost of making the channel exactly private, if it is at least `NOTED_COST`."""
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    before, after = (value_of(problem, one) for one in (channel, fixed.mechanism.channel))
    cost = sign * (before - after)
    if not cost > NOTED_COST * abs(before):
        return ()
    share = cost / abs(before) if before else float("inf")
    change = f"from {before:.9g} to {after:.9g}, by {share:.1e} of it"
    return (f"making the channel exactly private changed its value {change}",)
