"""The best multipliers and columns of a capped design, in floats."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldpopt.designing.methods.capped.barrier import (
    CappedDual,
    CappedProgram,
    best_values,
    maximise,
)
from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.methods.capped.polish import polished
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

FIRST = 1.0  # t of the first program
SHARE = 0.2  # of the required gap for the interior point method
LOOSE = 1e-3  # gap of the programs of the first rounds
ROUNDS = 200  # of pricing
BACK = 64.0  # by which t goes back after columns were added
LEAST_GAP = 1e-10  # smallest relative gap that floats reach
KEPT = (1e-6, 1e-7, 1e-8, 1e-9, 0.0)  # probabilities of reports left out, in turn
LARGEST = 1e5  # limit of multipliers, in units of the workload over the span


@dataclass(frozen=True, eq=False)
class CappedOptimum:
    """CappedDual that hold for all columns, and the columns with their weights."""

    multipliers: CappedDual
    vectors: Float
    weights: Float  # theta, of the columns
    values: Float  # V, shape (k, m)
    rounds: int
    is_bounded: bool  # whether no multiplier is at the limit; else the cap may be too small
    is_unbiased: bool  # whether weights and values are polished

    @property
    def channel(self) -> Float:
        """The channel, shape (n, m), whose rows sum to about 1."""
        return np.asarray((self.vectors * self.weights[:, None]).T)


def search(
    program: CappedProgram, columns: CappedColumns, gap: float, deadline: Deadline
) -> CappedOptimum:
    """CappedDual and columns of a relative gap, or the best within the deadline."""
    gap = max(gap, LEAST_GAP)
    x = program.start()
    t = FIRST
    rounds = 0
    best = x
    best_value = -np.inf
    enough = gap * SHARE if columns.is_complete else LOOSE
    while True:
        x, t, theta = maximise(program, x, t, enough, deadline)
        rounds += 1
        over, more = columns.priced(x, program.limits, 3 * len(program.weights))
        raised = _raised(x, max(over, 0.0))
        value = raised.value(program.rows)
        above = x.value(program.rows) + program.constraints / t
        if value > best_value:
            best, best_value = raised, value
        left = (above - best_value) / max(abs(above), 1e-300)
        is_done = left <= gap or not len(more) or rounds >= ROUNDS
        if is_done and enough > gap * SHARE and not deadline.is_over:
            enough = gap * SHARE
            is_done = False
        if is_done or deadline.is_over:
            break
        enough = max(gap * SHARE, min(enough, left / 20))
        if len(more):
            program = program.with_columns(np.vstack([program.vectors, more]))
            x = _raised(x, 2 * max(over, 0.0) + len(program.weights) / t)
            t = max(FIRST, t / BACK)
    return _kept(program, best, x, _State(t, theta, rounds), deadline)


def _raised(x: CappedDual, by: float) -> CappedDual:
    """The multipliers with a higher price."""
    return replace(x, line=x.line + by)


def _kept(
    program: CappedProgram, best: CappedDual, x: CappedDual, state: _State, deadline: Deadline
) -> CappedOptimum:
    """The columns that matter, with weights and values that are unbiased up to rounding."""
    is_bounded = bool(np.abs(best.slope).max() < 0.5 * program.largest)
    mass = state.theta * (program.vectors @ x.weights)
    for share in KEPT:
        kept = mass > share
        some = replace(program.with_columns(program.vectors[kept]), is_refined=True)
        if kept.sum() < len(x.weights) // 2 or deadline.is_over:
            continue
        again, _, theta = maximise(some, x, state.t, np.inf, deadline)
        values = best_values(again.slope, some.vectors, some.vectors @ again.weights, some.limits)
        exact = polished(some.vectors, theta, values, some.rows, some.limits)
        if exact is not None:
            return CappedOptimum(best, some.vectors, *exact, state.rounds, is_bounded, True)
    values = best_values(x.slope, program.vectors, program.vectors @ x.weights, program.limits)
    return CappedOptimum(
        best, program.vectors, state.theta, values, state.rounds, is_bounded, False
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Where the last program ended."""

    t: float
    theta: Float
    rounds: int
