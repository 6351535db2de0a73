"""A second try where a small gap is left after the repair, which worst cases magnify.

Rounding and repair cost each input a little. The worst case counts the input that lost most, though its multiplier may
be small: where spreads of the utility differ by thousands, the loss is large beside the stake. The same program with
worst-case rows raised by those losses has nearly the same optimum, and its repair ends level. Where that does not help,
the interior point by outputs is tried: it keeps ratios that a simplex method takes for zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.clock import OutOfTimeError
from ldpopt.foundation.log import LOG
from ldpopt.mechanism.repair import Repaired, repair
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.claims import proved_gap
from ldpopt.solving.formulation import worst_case_scale
from ldpopt.solving.methods.graph_interior import GraphInteriorPoint
from ldpopt.solving.methods.method import RawSolution, Task, found, solver_named
from ldpopt.solving.solution import value_of
from ldpopt.statement.problem import Problem

CLOSE = 3e-10
"""Relative gap after the repair up to which nothing more is tried."""

MOST_NONZEROS = 30_000
"""Non-zeros of a program that is worth a second solve."""

REPAIR_SHARE = 2.0
"""Multiple of the repair's cost by which worst-case rows are raised: the second repair costs about the same."""


def closer(raw: RawSolution, fixed: Repaired, task: Task) -> tuple[RawSolution, Repaired]:
    """Solve a small problem again where the repaired channel leaves a gap, and return the better answer.

    Parameters
    ----------
    raw : RawSolution
        A method's answer; its multipliers prove the bound.
    fixed : Repaired
        Its channel, exactly private.
    task : Task
        The problem, and the deadline.

    Returns
    -------
    tuple of RawSolution, Repaired
        The answer with the smallest gap, in floats.
    """
    problem = task.problem
    gap = None if raw.gap is not None else proved_gap(raw, problem, fixed.mechanism.channel)
    if gap is None or not gap > CLOSE or raw.program.nnz > MOST_NONZEROS:
        return raw, fixed
    for other in _others(raw, fixed, task):
        if other.channel is None:
            continue
        names = {"inputs": problem.inputs, "outputs": problem.outputs}
        repaired = repair(other.channel, problem.privacy, **names, ties=problem.ties())
        left = _left(other, problem, repaired, fixed)
        LOG.info("a gap of %.1e after the repair; solved again by %s: %s", gap, other.solver, left)
        if left is not None and left < gap:
            raw, fixed, gap = other, repaired, left
        if gap <= CLOSE:
            break
    return raw, fixed


def _left(other: RawSolution, problem: Problem, repaired: Repaired, fixed: Repaired) -> float | None:
    """The gap of another answer; a method that knows its own is believed where its value is better, too."""
    if other.gap is None:
        return proved_gap(other, problem, repaired.mechanism.channel)
    new, old = (value_of(problem, one.mechanism.channel) for one in (repaired, fixed))
    return other.gap if (new > old) == (problem.utility.sense == "gain") and new != old else None


def _others(raw: RawSolution, fixed: Repaired, task: Task) -> Iterator[RawSolution]:
    """Further answers; a method that refuses or fails gives none."""
    levelled = _levelled(raw, fixed, task)
    if levelled is not None:
        yield levelled
    try:
        answer = GraphInteriorPoint().solve(task)
    except (NotRepresentableError, OutOfTimeError):
        return
    if isinstance(answer, RawSolution) and answer.outcome.status is Status.OPTIMAL:
        yield answer


def _levelled(raw: RawSolution, fixed: Repaired, task: Task) -> RawSolution | None:
    """The optimum of the same program with rows raised by the repair's cost; its multipliers stay those of ``raw``."""
    problem, program = task.problem, raw.program
    if problem.prior is not None or raw.channel is None:
        return None
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    worth = worst_case_scale(problem)
    cost = sign * (worth * (raw.channel - fixed.mechanism.channel)).sum(axis=1)
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
