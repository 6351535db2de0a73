"""Polishing: a small problem is solved again if the repaired channel has a gap, as often happens for worst cases.

Rounding and repair cost each input a little. A worst case has the value of the input that lost most, even if that
input's multiplier is small, so the gap is large if the spreads of the inputs' utilities differ by factors of thousands.
The first remedy solves the same program with worst-case rows raised by those losses: the optimum is nearly the same,
and after the repair all inputs lose equally. If that does not help, other methods are tried: interior points keep
ratios that a simplex method rounds to zero, and row generation ends at a vertex where an interior point stalls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import OutOfTimeError
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.formulation import worst_case_utility
from ldpopt.solving.gap_check import check_gap, repair_and_measure
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.method import Method, RawSolution, Task, optimal_point, solver_named

POLISHED_GAP = 3e-10  # relative gap after the repair up to which nothing more is tried
OPTIMAL_GAP = 1e-9  # largest relative gap of a small problem's answer that is called optimal
MAX_NONZEROS = 30_000  # largest number of non-zeros of a program that is solved again
MAX_ROUNDS = 16  # largest number of rounds of row generation in a second solve
# Multiple of the repair's cost by which worst-case rows are raised: the second repair costs about the same
REPAIR_SHARE = 2.0


def polish(raw: RawSolution, task: Task, methods: tuple[Method, ...]) -> RawSolution:
    """Solve a small problem again by these methods if the repaired channel has a gap; return the better answer."""
    gap = raw.gap
    if gap is None or not gap > POLISHED_GAP or raw.program.nnz > MAX_NONZEROS:
        return raw
    for answer in _other_answers(raw, task, methods):
        other = repair_and_measure(answer, task.problem)
        LOG.info("gap %.1e after the repair; solved again by %s: gap %s", gap, other.solver, other.gap)
        if other.gap is not None and other.gap < gap:
            raw, gap = other, other.gap
        if gap <= POLISHED_GAP:
            break
    return check_gap(raw, OPTIMAL_GAP)


def _other_answers(raw: RawSolution, task: Task, methods: tuple[Method, ...]) -> Iterator[RawSolution]:
    """Answers with raised rows and by other methods; one that refuses or fails is left out."""
    raised = _with_raised_rows(raw, task)
    if raised is not None:
        yield raised
    for method in methods:
        if method.name.startswith(raw.solver) or not method.suits(task.form, task.limits):
            continue
        try:
            answer = method.solve(replace(task, limits=replace(task.limits, generation_rounds=MAX_ROUNDS)))
        except (NotRepresentableError, OutOfTimeError):
            continue
        if isinstance(answer, RawSolution) and answer.outcome.status is Status.OPTIMAL:
            yield answer


def _with_raised_rows(raw: RawSolution, task: Task) -> RawSolution | None:
    """The optimum of a worst case whose rows are raised by the repair's cost; its multipliers stay those of ``raw``."""
    problem, program = task.problem, raw.program
    if problem.prior is not None or raw.channel is None or raw.repaired is None:
        return None
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    cost = sign * (worst_case_utility(problem) * (raw.channel - raw.repaired.mechanism.channel)).sum(axis=1)
    shift = sign * REPAIR_SHARE * np.maximum(cost, 0.0) / program.objective[-1]
    span = next(span for span in program.rows if span.name == "worst_case")
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[span.slice] -= shift
    upper[span.slice] -= shift
    raised: LinearProgram = replace(program, row_lower=lower, row_upper=upper)
    outcome = solver_named("highs").solve(raised, time_limit=task.deadline.left)
    point = optimal_point(outcome)
    if point is None:
        return None
    return replace(raw, outcome=replace(raw.outcome, point=point), channel=program.structure.channel(point))
