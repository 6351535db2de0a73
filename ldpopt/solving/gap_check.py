"""The gap of a repaired channel: an answer is called optimal only if its own multipliers prove a
small gap.

The gap is that of the certificate, which `certify` returns. The first answer of a solver is taken
as it is if it proves a small gap, and is refined only if it does not.

A small problem with a gap is solved again (`polish`), as often happens for worst cases: rounding
and repair cost each input a little, and a worst case has the value of the input that lost most.
First worst-case rows are raised by those losses, so that after the repair all inputs lose equally.
Then other methods are tried: interior points keep ratios that a simplex method rounds to zero, and
row generation ends at a vertex where an interior point stalls.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ldpopt.certificate.program_certificate import prove
from ldpopt.errors import CertificateError, NotRepresentableError
from ldpopt.foundation.deadline import OutOfTimeError
from ldpopt.mechanism.repair import repair_read
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.certify import read_multipliers
from ldpopt.solving.formulation import worst_case_utility
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.method import Method, RawSolution, Task, optimal_point, solver_named
from ldpopt.solving.solution import Proved

# Relative gap up to which the first answer of a solver is not refined: its own value and bound
# differ from those of a refined one by no more
REFINED_GAP = 1e-12
POLISHED_GAP = 3e-10  # relative gap after the repair up to which nothing more is tried
SMALL_OPTIMAL_GAP = 1e-9  # largest relative gap of a small problem's answer that is called optimal
# largest number of non-zeros of a program, with all its pairs, that is solved again
MAX_NONZEROS = 30_000
MAX_ROUNDS = 16  # largest number of rounds of row generation in a second solve
# Multiple of the repair's cost by which worst-case rows are raised: the second repair costs about
# the same
REPAIR_SHARE = 2.0
# largest relative gap of an answer that is called optimal, unless a larger one was requested
OPTIMAL_GAP = 1e-6


def repair_and_measure(raw: RawSolution, problem: Problem, goal: float = 0.0) -> RawSolution:
    """Repair an answer's channel, and prove the gap of the repaired channel; a rough answer with a
    gap above the goal and `REFINED_GAP` is refined, as often as it can be.
    """
    raw = _measured(raw, problem)
    is_closed = raw.gap is not None and raw.gap <= max(REFINED_GAP, goal)
    if raw.refine is None or raw.outcome.status is not Status.OPTIMAL or is_closed:
        return raw
    refined = repair_and_measure(raw.refine(), problem, goal)
    LOG.info("gap %s of the first answer, %s after its refinement", raw.gap, refined.gap)
    return better(refined, raw)


def better(raw: RawSolution, best: RawSolution | None) -> RawSolution:
    """Of two answers, the one with a channel and the smaller gap; else the later one."""
    if best is None or best.channel is None:
        return raw
    if raw.channel is None or (
        best.gap is not None and best.gap < (np.inf if raw.gap is None else raw.gap)
    ):
        return best
    return raw


def check_gap(raw: RawSolution, largest: float) -> RawSolution:
    """Change the status from optimal to failed if the gap is larger than this."""
    if raw.outcome.status is not Status.OPTIMAL or raw.gap is None or not raw.gap > largest:
        return raw  # also if the gap is nan, beyond floats
    message = f"{raw.outcome.raw_status}, but a gap of {raw.gap:.1e} is left"
    return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=message))


def _measured(raw: RawSolution, problem: Problem) -> RawSolution:
    """An answer with its repaired channel, and the certificate that its multipliers prove; its gap
    stays unknown without multipliers that prove a bound.
    """
    if raw.channel is None:
        return raw
    alphabets = problem.inputs, problem.outputs
    fixed = repair_read(raw.channel, *alphabets, problem.privacy, problem.ties())
    duals, point = raw.outcome.row_duals, raw.outcome.point
    if duals is None or point is None or (len(duals), len(point)) != raw.program.shape:
        # also if the multipliers are those of another program
        return replace(raw, repaired=fixed, gap=None)
    multipliers = raw.multipliers or read_multipliers(problem, raw.program, duals)
    try:
        proof = prove(problem, fixed.mechanism, multipliers, fixed.audit)
    except CertificateError:
        return replace(raw, repaired=fixed, gap=None)
    proved = Proved(proof, raw.program, duals)
    return replace(raw, repaired=fixed, gap=proof.relative_gap, proved=proved)


def polish(raw: RawSolution, task: Task, methods: tuple[Method, ...]) -> RawSolution:
    """Solve a small problem again by these methods if the repaired channel has a gap; return the
    better answer.
    """
    gap = raw.gap
    # The program of rays or generated rows may be much smaller than that of all pairs.
    if (
        gap is None
        or not gap > POLISHED_GAP
        or max(raw.program.nnz, task.form.pair_nonzeros) > MAX_NONZEROS
    ):
        return raw
    for answer in _other_answers(raw, task, methods):
        other = repair_and_measure(answer, task.problem)
        LOG.info(
            "gap %.1e after the repair; solved again by %s: gap %s", gap, other.solver, other.gap
        )
        if other.gap is not None and other.gap < gap:
            raw, gap = other, other.gap
        if gap <= POLISHED_GAP:
            break
    return check_gap(raw, SMALL_OPTIMAL_GAP)


def _other_answers(
    raw: RawSolution, task: Task, methods: tuple[Method, ...]
) -> Iterator[RawSolution]:
    """Answers with raised rows and by other methods; one that refuses or fails is left out."""
    raised = _with_raised_rows(raw, task)
    if raised is not None:
        yield raised
    for method in methods:
        if method.name.startswith(raw.solver) or not method.suits(task.form, task.limits):
            continue
        try:
            answer = method.solve(
                replace(task, limits=replace(task.limits, generation_rounds=MAX_ROUNDS))
            )
        except (NotRepresentableError, OutOfTimeError):
            continue
        if isinstance(answer, RawSolution) and answer.outcome.status is Status.OPTIMAL:
            yield answer


def _with_raised_rows(raw: RawSolution, task: Task) -> RawSolution | None:
    """The optimum of a worst case whose rows are raised by the repair's cost; its multipliers stay
    those of ``raw``.
    """
    problem, program = task.problem, raw.program
    if problem.prior is not None or raw.channel is None or raw.repaired is None:
        return None
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    cost = sign * (
        worst_case_utility(problem) * (raw.channel - raw.repaired.mechanism.channel)
    ).sum(axis=1)
    shift = sign * REPAIR_SHARE * np.maximum(cost, 0.0) / program.objective[-1]
    span = next(span for span in program.rows if span.name == "worst_case")
    lower = program.row_lower.copy()
    upper = program.row_upper.copy()
    lower[span.slice] -= shift
    upper[span.slice] -= shift
    raised: LinearProgram = replace(program, row_lower=lower, row_upper=upper)
    outcome = solver_named("highs").solve(raised, time_limit=task.deadline.left)
    point = optimal_point(outcome)
    if point is None:
        return None
    return replace(
        raw, outcome=replace(raw.outcome, point=point), channel=program.structure.channel(point)
    )
