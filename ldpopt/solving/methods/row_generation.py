"""Row generation: solve a relaxation, add the rows that its optimum violates, until none is left or none matters.

Where the solver may be chosen, larger graph and event-wise programs go to interior points made for them.

Between two rounds there is an outer point (the relaxation's optimum) and an inner one (private as far as floats tell).
Rows are asked for at the outer point, and at a point of the segment close to the inner one: those cut deeper, and the
inner point moves on where there are none (Ben-Ameur and Neto 2007). So it is known when no row can matter any more.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.privacy.answers import is_separated, separated
from ldpopt.solvers import Outcome, ProgramSolver, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.formulation import add_rows, default_form
from ldpopt.solving.methods.event_interior import ENOUGH, FEWEST, fits, solve_events
from ldpopt.statement.problem import Problem

MOST_ROUNDS = 200
"""Rounds of row generation; two to twenty are usual."""

MOST_ROUGH = 25
"""Rounds with points that are not refined: what is left to do then may be below the solver's tolerance."""

STEP = 0.1
"""How far from the inner towards the outer point the second question is asked."""

NEAR = 1e-13
"""Share of the value by which the inner point may fall short of the bound and count as the optimum."""


HEAVY = 35_000
"""Non-zeros from which an event-wise program is no longer enlarged, but handed to the interior point (measured)."""

LONG = 12
"""Rounds after which a small event-wise problem is tried at once: where events are nearly parallel, rounds go on."""

CLOSE = 1e-10
"""Gap of that answer, as a share, for which the rounds end; a worse one is taken where they never do."""

BY_BLOCKS = 1500
"""Entries of a channel from which the interior point by outputs beats simplex on a graph or metric (measured)."""


@dataclass(frozen=True)
class Generated:
    """The program with its generated rows, how its last solve ended, the channel found, and who found it."""

    program: LinearProgram
    outcome: Outcome
    channel: Float | None
    rounds: int
    solver: str


def generate(
    problem: Problem,
    program: LinearProgram,
    backend: ProgramSolver,
    time_limit: float | None,
    options: dict[str, Any],
    *,
    choose: bool = False,
) -> Generated:
    """Solve, and as long as the notion finds violated rows that are new, add them and solve again.

    Notions without ``separate``, and programs that have all rows, are solved once. With ``choose`` another solver than
    ``backend`` may be taken.
    """
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    generates = is_separated(problem.privacy) and program.structure.form == "compact"
    inner: Float | None = None
    seen: set[bytes] = set()
    if choose and program.structure.form == "pairwise":
        by_blocks = _by_blocks(problem, program, time_limit)
        if by_blocks is not None:
            return by_blocks
    continues = getattr(backend, "continues", False)
    # A point that only asks for more rows need not be refined; the last one is.
    rough, outcome = generates and continues, Outcome(Status.FAILED, "")
    rounds = 0
    while rounds < MOST_ROUNDS:
        left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3)
        going: dict[str, Any] = {"basis": outcome.basis, "refined": not rough} if continues else {}
        outcome = backend.solve(program, time_limit=left, **going, **options)
        if outcome.status is not Status.OPTIMAL or outcome.point is None:
            return Generated(program, outcome, None, rounds, backend.name)
        raw: Float = program.structure.channel(outcome.point)
        if not generates:
            return Generated(program, outcome, raw, rounds, backend.name)
        outer = _stochastic(raw)
        # A constant row keeps every notion, but not every side constraint.
        start = None if problem.constraints else np.repeat(outer.mean(axis=0)[None], len(outer), axis=0)
        inner = start if inner is None else inner
        inner, blocks = _questions(problem, outer, inner)
        is_near = inner is not None and _is_near(problem, inner, outer) and bool(blocks)
        keys = [block.x.tobytes() + block.y.tobytes() for block in blocks]
        if is_near or not set(keys) - seen:
            if not rough:
                return Generated(program, outcome, inner if is_near else raw, rounds, backend.name)
            rough = False
            continue
        is_heavy, is_long = program.nnz > HEAVY and fits(problem, program, FEWEST), rounds in (LONG, MOST_ROUNDS - 1)
        if choose and (is_heavy or (is_long and fits(problem, program, 2))):
            enough = CLOSE if rounds == LONG and not is_heavy else ENOUGH
            at_once = solve_events(problem, program, outer, math.inf if deadline is None else deadline, enough)
            if at_once is not None:
                return Generated(*at_once, rounds, "events")
            choose = not is_heavy
        for key, block in zip(keys, blocks, strict=True):
            program = program if key in seen else add_rows(program, block, problem)
        seen.update(keys)
        rounds += 1
        rough = rough and rounds < MOST_ROUGH
    ended = replace(outcome, status=Status.LIMIT, raw_status=f"{MOST_ROUNDS} rounds of row generation")
    return Generated(program, ended, None, rounds, backend.name)


def _by_blocks(problem: Problem, program: LinearProgram, time_limit: float | None) -> Generated | None:
    """Solve a large graph or metric program output by output; None where that does not serve."""
    if problem.utility.matrix.size < BY_BLOCKS or default_form(problem) != "pairwise":
        return None
    from ldpopt.solving.interior import graphs

    if not graphs.fits(program):
        return None
    outcome = graphs.Blocks().solve(program, time_limit=time_limit)
    if outcome.status is Status.FAILED:
        return None
    channel = program.structure.channel(outcome.point) if outcome.status is Status.OPTIMAL else None
    return Generated(program, outcome, channel, 0, graphs.Blocks.name)


def _questions(problem: Problem, outer: Float, inner: Float | None) -> tuple[Float | None, list[Any]]:
    """Move the inner point on while it stays private; return it, and rows violated near it and at the outer point."""
    block = separated(problem.privacy, outer, problem.inputs)
    if block is None or inner is None:
        return inner, [] if block is None else [block]
    while not _is_near(problem, inner, outer):
        middle = STEP * outer + (1 - STEP) * inner
        deep = separated(problem.privacy, middle, problem.inputs)
        if deep is not None:
            return inner, [deep, block]
        inner = middle
    return inner, [block]


def _is_near(problem: Problem, inner: Float, outer: Float) -> bool:
    worth, best = (_value(problem, channel) for channel in (inner, outer))
    most = np.abs(problem.utility.matrix).max(axis=1)
    size = float(most.max() if problem.prior is None else problem.prior @ most)
    return abs(best - worth) <= NEAR * max(abs(best), 1e-3 * size)


def _value(problem: Problem, channel: Float) -> float:
    by_input = (problem.utility.matrix * channel).sum(axis=1)
    if problem.prior is not None:
        return float(problem.prior @ by_input)
    return float(by_input.min() if problem.utility.sense == "gain" else by_input.max())


def _stochastic(channel: Float) -> Float:
    """Take the solver's rounding out of the rows, so that an excess is a matter of the notion alone."""
    positive = channel.clip(min=0.0)
    normal: Float = positive / positive.sum(axis=1, keepdims=True)
    return normal
