"""solve(problem): run the plan, repair the channel, and audit it."""

import logging
import time
from dataclasses import replace
from typing import Any

from ldpopt.certificate.program_bound import bound
from ldpopt.errors import CertificateError, NotRepresentableError, StatementError
from ldpopt.foundation.deadline import Deadline, OutOfTimeError
from ldpopt.foundation.numbers import Float, positive_seconds, real_number, require_kind, truth
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import Repaired
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Solver, Status, find
from ldpopt.solving.certify import read_multipliers
from ldpopt.solving.channel_program import program_blocks
from ldpopt.solving.formulation import formulate, relaxed_form
from ldpopt.solving.gap_check import (
    OPTIMAL_GAP,
    better,
    check_gap,
    polish,
    repair_and_measure,
)
from ldpopt.solving.limits import LIMITS, Limits
from ldpopt.solving.log import LOG, Step, log_to_stderr
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task
from ldpopt.solving.methods.rays.cluster import LEAST_INPUTS, require_client
from ldpopt.solving.plan import POLISHING_METHODS, SolveForm, planned
from ldpopt.solving.problem_form import ProblemForm
from ldpopt.solving.sentences import TOPICS, BudgetFacts
from ldpopt.solving.solution import Solution, value_of, with_constant_report

FINAL = (Status.OPTIMAL, Status.INFEASIBLE)  # statuses after which no other method is tried
NOTED_COST = 1e-6  # smallest relative cost of the repair that is noted


def solve(
    problem: Problem,
    *,
    solver: str | Solver = "auto",
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
        The problem.
    solver : str or Solver
        ``"auto"`` follows the `plan`: extreme columns for small problems with a pure budget, an
        interior point for large ones (about a thousand entries or more), else HiGHS. Or
        ``"highs"``, ``"columns"``, ``"interior"``, ``"cbc"``, ``"piqp"``, ``"cvxpy"`` (Clarabel),
        ``"cvxpy:SCS"``, ... or a plug-in's name, or an instance of `ldpopt.solvers.Solver`;
        default: ``"auto"``.
    time_limit : float, optional
        Seconds for the whole call; default: no limit.
    gap : float, optional
        Relative gap between value and bound at which methods that compute it may stop; default:
        solve to the optimum.
    form : {"compact", "pairwise", "sifted"}, optional
        The program to solve; default: chosen with the method. ``"sifted"`` solves the compact one
        on few outputs and prices the others.
    limits : Limits, optional
        Measured thresholds for the choice of a method; default: ``LIMITS``.
    verbose : bool
        Print plan, rounds and gaps to stderr, too; the logger ``ldpopt`` always receives them.
        Default: ``False``.
    executor : dask.distributed.Client, optional
        A cluster that computes the rays of a metric on 600 inputs or more; the results are the
        same. Default: the cores of this machine.
    **options
        Options of the solver under its own names; with ``"auto"`` the solver is then HiGHS.

    Returns
    -------
    Solution
        Its mechanism is private for the real ``e**epsilon``, audited in exact arithmetic. If no
        channel is feasible, ``status`` is INFEASIBLE and ``mechanism`` raises. At a time limit the
        mechanism is the best private one so far, or the best constant report (for an expected value
        without side constraints).

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
    require_kind(
        problem, Problem, "solve()", "pass a Problem, or an array and a notion by Problem(...)"
    )
    if gap is not None and not 0 < (gap := real_number(gap, "gap")) < 1:
        raise StatementError(
            f"gap = {gap} is not between 0 and 1", do="give a relative gap such as 1e-3"
        )
    if executor is not None:
        require_client(executor)
    verbose = truth(verbose, "verbose")
    require_kind(limits, Limits, "limits=")
    with log_to_stderr(verbose):
        LOG.info("%r", problem)
        try:
            facts = ProblemForm.of(problem, deadline)
            planned_solver = "highs" if solver == "auto" and options else solver
            steps = planned(facts, planned_solver, form, limits)
            task = Task(problem, facts, deadline, gap, options, limits, executor)
            raw, notes = run_plan(steps, task)
        except OutOfTimeError as error:
            message = f"the time limit of {time_limit:.3g} s was over while {error}"
            ended = Solution(
                problem, Status.LIMIT, message, "no solver", 0.0, {}, {}, _notes(problem)
            )
            solution = with_constant_report(ended, problem)
        else:
            solution = _finished(raw, notes, task, solver)
        # nobody else has this solution yet: a copy for one number would take longer than the plan
        object.__setattr__(solution, "runtime", time.perf_counter() - began)
        if LOG.isEnabledFor(logging.INFO):
            seconds = solution.runtime
            LOG.info("%s: value %.12g, %.3g s", solution.status.value, solution.value, seconds)
    return solution


def _finished(
    raw: RawSolution, step_notes: list[str], task: Task, solver: str | Solver
) -> Solution:
    """Polish the answer of the plan, and add the mechanism and notes."""
    problem = task.problem
    if task.executor is not None and not raw.used_executor:
        step_notes.append(
            f"the executor was not used: it is for metrics of at least {LEAST_INPUTS} inputs"
        )
    if solver == "auto" and not task.options and task.gap is None and not task.deadline.is_over:
        raw = _failed_as_limit(polish(raw, task, POLISHING_METHODS))
    solution = _solution(problem, raw, tuple(step_notes))
    if solution.status is Status.INFEASIBLE:
        solution = replace(solution, conflict=_conflict(problem, solver, task.deadline))
    return solution if solution.repaired is not None else with_constant_report(solution, problem)


def run_plan(steps: tuple[Step[Method], ...], task: Task) -> tuple[RawSolution, list[str]]:
    """Try the methods in order; return the best answer, and notes of each method, its reason, and
    how it failed.
    """
    notes: list[str] = []
    best: RawSolution | None = None
    last = steps[0].method
    for step in steps:
        _note(notes, str(step))
        try:
            raw = _checked(_run_step(step, steps, task, notes), task)
            last = step.method
        except NotRepresentableError as error:
            if step is steps[-1] and (best is None or best.channel is None):
                raise
            _note(notes, f"{step.method} refused the problem: {error.what}")
            continue
        except OutOfTimeError as error:
            if best is None or best.channel is None:
                raise
            _note(notes, f"{step.method}: the time was over while {error}")
            return _failed_as_limit(best), notes
        is_stopped = task.deadline.is_over or (
            raw.outcome.status is Status.LIMIT and raw.channel is not None
        )
        if raw.outcome.status in FINAL or is_stopped or step is steps[-1]:
            break
        _note(notes, f"{step.method} ended with {raw.outcome.raw_status!r}")
        best = better(raw, best)
    if raw.rounds:
        notes.append(f"{raw.rounds} round{'s' * (raw.rounds > 1)} of {last}")
    return _failed_as_limit(raw if raw.outcome.status in FINAL else better(raw, best)), notes


def _note(notes: list[str], text: str) -> None:
    """Add a note, and log it."""
    notes.append(text)
    LOG.info("%s", text)


def _run_step(
    step: Step[Method], steps: tuple[Step[Method], ...], task: Task, notes: list[str]
) -> RawSolution:
    """Run one method, and the methods to which it switches."""
    methods = {other.method.name: other.method for other in steps}
    raw = step.method.solve(task)
    while isinstance(raw, Switch):
        _note(notes, f"switched to the {raw.to}: {raw.because}")
        answer = methods[raw.to].solve(task, raw)
        if isinstance(answer, RawSolution) and answer.outcome.status is Status.FAILED:
            _note(
                notes, f"the {raw.to} failed ({answer.outcome.raw_status}); {step.method} continues"
            )
            answer = raw.resume()
        raw = answer
    return raw


def _checked(raw: RawSolution, task: Task) -> RawSolution:
    """Mark results that cannot be right as failed: an unbounded channel, an optimum without a
    proof.
    """
    if raw.outcome.status is Status.UNBOUNDED:
        message = f"{raw.outcome.raw_status}, which is wrong: a channel's entries are at most 1"
        return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=message))
    goal = task.gap or 0.0
    return check_gap(repair_and_measure(raw, task.problem, goal), max(OPTIMAL_GAP, goal))


def _failed_as_limit(raw: RawSolution) -> RawSolution:
    """Change the status from failed to limit if there is a channel: the certificate has its gap."""
    if raw.channel is None or raw.outcome.status is not Status.FAILED:
        return raw
    return replace(raw, outcome=replace(raw.outcome, status=Status.LIMIT))


def _solution(problem: Problem, raw: RawSolution, steps: tuple[str, ...]) -> Solution:
    """The solution of an answer, whose duals are named by blocks of rows and columns."""
    program, outcome = raw.program, raw.outcome
    repaired = None if raw.channel is None else raw.repaired
    notes = (*_notes(problem, None if repaired is None else repaired.mechanism), *steps)
    if raw.channel is not None and repaired is not None:
        costs = _cost_of_repair(problem, raw.channel, repaired)
        notes = (*_few_reports(repaired), *notes, *costs, *_unproved(problem, raw))
    form = program.form if program.form == "averages" else program.structure.form
    tried = program.structure.shape[1]
    outputs = len(problem.outputs)
    return Solution(
        problem,
        outcome.status,
        outcome.raw_status,
        f"{raw.solver} ({form if tried == outputs else f'{form}, {tried} of {outputs} outputs'})",
        0.0,
        {} if outcome.row_duals is None else program_blocks(program, outcome.row_duals),
        {}
        if outcome.column_duals is None
        else {s.name: outcome.column_duals[s.slice] for s in program.columns},
        notes,
        program,
        outcome,
        repaired,
        steps=steps,
        multipliers=raw.multipliers,
        proved=raw.proved,
    )


def _conflict(problem: Problem, solver: str | Solver, deadline: Deadline) -> tuple[str, ...]:
    """Constraints that conflict with privacy: each is left out in turn, and dropped if the rest is
    still infeasible.
    """
    backend = find("highs" if solver in ("auto", "interior") else solver)
    needed = list(problem.constraints)
    for block in problem.constraints:
        others = [other for other in needed if other is not block]
        trial = replace(problem, constraints=tuple(others))
        if (
            backend.solve(formulate(trial, relaxed_form(trial)), time_limit=deadline.left).status
            is Status.INFEASIBLE
        ):
            needed = others
    return (f"privacy ({problem.privacy!r})", *(repr(block.name) for block in needed))


def _notes(problem: Problem, mechanism: Mechanism | None = None) -> tuple[str, ...]:
    """Notes about the problem itself, and about a mechanism for it."""
    facts = BudgetFacts.of(problem, mechanism)
    said = filter(None, (topic.say(facts) for topic in TOPICS))
    return (*said, *problem.privacy.notes(problem.inputs))


def _unproved(problem: Problem, raw: RawSolution) -> tuple[str, ...]:
    """Note that generated rows prove no bound, if the notion does not state that they are valid."""
    duals = raw.outcome.row_duals
    if raw.gap is not None or duals is None or not problem.privacy.is_separated:
        return ()
    try:
        bound(problem, read_multipliers(problem, raw.program, duals))
    except CertificateError as error:
        return (f"no bound is proved: {error.what}",)
    return ()


def _few_reports(fixed: Repaired) -> tuple[str, ...]:
    """Note that frequencies cannot be estimated if fewer reports are used than there are
    answers.
    """
    n = len(fixed.mechanism.inputs)
    used = int((fixed.mechanism.channel > 0).any(axis=0).sum())
    if used >= n:
        return ()
    reports = "1 report is" if used == 1 else f"{used} reports are"
    return (
        f"{reports} used for {n} answers: frequencies cannot be estimated from them; `design` "
        "finds what can",
    )


def _cost_of_repair(problem: Problem, channel: Float, fixed: Repaired) -> tuple[str, ...]:
    """Note the cost of making the channel exactly private, if it is at least `NOTED_COST`."""
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    before, after = (value_of(problem, matrix) for matrix in (channel, fixed.mechanism.channel))
    if not (cost := sign * (before - after)) > NOTED_COST * abs(before):
        return ()
    share = cost / abs(before) if before else float("inf")
    change = f"from {before:.9g} to {after:.9g}, a relative change of {share:.1e}"
    return (f"making the channel exactly private changed its value {change}",)
