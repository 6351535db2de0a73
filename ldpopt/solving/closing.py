"""A second try where a small gap is left after the repair, which worst cases magnify.

Rounding and repair cost each input a little. The worst case counts the input that lost most, though its multiplier may
be small: where spreads of the utility differ by thousands, the loss is large beside the stake. The same program with
worst-case rows raised by those losses has nearly the same optimum, and its repair ends level. Where that does not help,
other methods are tried: interior points keep ratios that a simplex method takes for zero, and generated rows end at a
vertex where an interior point stalls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import OutOfTimeError
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.claims import believed, proved
from ldpopt.solving.formulation import worst_case_scale
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.event_interior import EventInteriorPoint
from ldpopt.solving.methods.graph_interior import GraphInteriorPoint
from ldpopt.solving.methods.loops import SHARE
from ldpopt.solving.methods.method import RawSolution, Task, found, solver_named
from ldpopt.solving.methods.row_generation import RowGeneration

CLOSE = 3e-10
"""Relative gap after the repair up to which nothing more is tried."""

LARGEST_GAP = 1e-9
"""Largest gap of an answer to so small a problem that is called optimal."""

MOST_NONZEROS = 30_000
"""Non-zeros of a program that is worth a second solve."""

MOST_ROUNDS = 16
"""Rounds of row generation in a second solve."""

REPAIR_SHARE = 2.0
"""Multiple of the repair's cost by which worst-case rows are raised: the second repair costs about the same."""


def closer(raw: RawSolution, task: Task) -> RawSolution:
    """Solve a small problem again where the repaired channel leaves a gap, and return the better answer."""
    gap = raw.gap
    if gap is None or not gap > CLOSE or raw.program.nnz > MOST_NONZEROS:
        return raw
    for answer in _others(raw, task):
        other = proved(answer, task.problem)
        LOG.info("a gap of %.1e after the repair; solved again by %s: %s", gap, other.solver, other.gap)
        if other.gap is not None and other.gap < gap:
            raw, gap = other, other.gap
        if gap <= CLOSE:
            break
    return believed(raw, LARGEST_GAP)


def _others(raw: RawSolution, task: Task) -> Iterator[RawSolution]:
    """Further answers; a method that refuses or fails gives none."""
    levelled = _levelled(raw, task)
    if levelled is not None:
        yield levelled
    for method in (GraphInteriorPoint(), EventInteriorPoint(), RowGeneration(may_switch=False)):
        if method.name.startswith(raw.solver) or not method.suits(task.form, task.limits):
            continue
        try:
            if method.loops is not None:
                method.loops.wait(task.deadline.share(SHARE))
            answer = method.solve(replace(task, limits=replace(task.limits, generation_rounds=MOST_ROUNDS)))
        except (NotRepresentableError, OutOfTimeError):
            continue
        if isinstance(answer, RawSolution) and answer.outcome.status is Status.OPTIMAL:
            yield answer


def _levelled(raw: RawSolution, task: Task) -> RawSolution | None:
    """The optimum of the same program with rows raised by the repair's cost; its multipliers stay those of ``raw``."""
    problem, program = task.problem, raw.program
    if problem.prior is not None or raw.channel is None or raw.repaired is None:
        return None
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    worth = worst_case_scale(problem)
    cost = sign * (worth * (raw.channel - raw.repaired.mechanism.channel)).sum(axis=1)
    shift = sign * REPAIR_SHARE * np.maximum(cost, 0.0) / program.objective[-1]
    span = next(span for span in program.rows if span.name == "worst_case")
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[span.slice] -= shift
    upper[span.slice] -= shift
    raised: LinearProgram = replace(program, row_lower=lower, row_upper=upper)
    outcome = solver_named("highs").solve(raised, time_limit=task.deadline.left)
    if not found(outcome) or outcome.point is None:
        return None
    channel = program.structure.channel(outcome.point)
    return replace(raw, outcome=replace(raw.outcome, point=outcome.point), channel=channel)
