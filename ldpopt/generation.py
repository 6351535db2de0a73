"""Row generation: solve a relaxation, add the rows that its optimum violates, until none is left or none matters.

Between two rounds there is an outer point (the relaxation's optimum) and an inner one (private as far as floats tell).
Rows are asked for at the outer point, and at a point of the segment close to the inner one: those cut deeper, and the
inner point moves on where there are none (Ben-Ameur and Neto 2007). So it is known when no row can matter any more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.formulation import add_rows
from ldpopt.problem import Problem
from ldpopt.program import LinearProgram
from ldpopt.solvers import Outcome, ProgramSolver, Status
from ldpopt.utility import Float

MOST_ROUNDS = 200
"""Rounds of row generation; two to twenty are usual."""

STEP = 0.1
"""How far from the inner towards the outer point the second question is asked."""

NEAR = 1e-13
"""Share of the value by which the inner point may fall short of the bound and count as the optimum."""


@dataclass(frozen=True)
class Generated:
    """The program with its generated rows, how its last solve ended, and the channel found."""

    program: LinearProgram
    outcome: Outcome
    channel: Float | None
    rounds: int


def generate(
    problem: Problem, program: LinearProgram, backend: ProgramSolver, time_limit: float | None, options: dict[str, Any]
) -> Generated:
    """Solve, and as long as the notion finds violated rows that are new, add them and solve again.

    Notions without ``separate``, and programs that have all rows, are solved once.
    """
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    generates = hasattr(problem.privacy, "separate") and program.structure.form == "compact"
    inner: Float | None = None
    seen: set[bytes] = set()
    outcome = backend.solve(program, time_limit=time_limit, **options)
    for rounds in range(MOST_ROUNDS):
        if rounds:
            left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3)
            going = {"basis": outcome.basis} if getattr(backend, "continues", False) else {}
            outcome = backend.solve(program, time_limit=left, **going, **options)
        if outcome.status is not Status.OPTIMAL or outcome.point is None:
            return Generated(program, outcome, None, rounds)
        raw: Float = program.structure.channel(outcome.point)
        if not generates:
            return Generated(program, outcome, raw, rounds)
        outer = _stochastic(raw)
        # A constant row keeps every notion, but not every side constraint.
        start = None if problem.constraints else np.repeat(outer.mean(axis=0)[None], len(outer), axis=0)
        inner = start if inner is None else inner
        inner, blocks = _questions(problem, outer, inner)
        if inner is not None and _is_near(problem, inner, outer) and blocks:
            return Generated(program, outcome, inner, rounds)
        keys = [block.x.tobytes() + block.y.tobytes() for block in blocks]
        if not set(keys) - seen:
            return Generated(program, outcome, raw, rounds)
        for key, block in zip(keys, blocks, strict=True):
            program = program if key in seen else add_rows(program, block, problem)
        seen.update(keys)
    ended = replace(outcome, status=Status.LIMIT, raw_status=f"{MOST_ROUNDS} rounds of row generation")
    return Generated(program, ended, None, rounds)


def _questions(problem: Problem, outer: Float, inner: Float | None) -> tuple[Float | None, list[Any]]:
    """Move the inner point on while it stays private; return it, and rows violated near it and at the outer point."""
    block = problem.privacy.separate(outer, problem.inputs)
    if block is None or inner is None:
        return inner, [] if block is None else [block]
    while not _is_near(problem, inner, outer):
        middle = STEP * outer + (1 - STEP) * inner
        deep = problem.privacy.separate(middle, problem.inputs)
        if deep is not None:
            return inner, [deep, block]
        inner = middle
    return inner, [block]


def _is_near(problem: Problem, inner: Float, outer: Float) -> bool:
    worth, best = (_value(problem, channel) for channel in (inner, outer))
    return abs(best - worth) <= NEAR * max(abs(best), 1e-3 * float(np.abs(problem.utility.matrix).max()))


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
