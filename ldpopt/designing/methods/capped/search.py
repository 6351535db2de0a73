"""The best multipliers and columns of a capped design, in floats.

All columns are in the first program if they are few, else those that are likely to be good. Its gap
is loose. Columns of hardly any weight are then left out, because the gap of an interior point is
the number of logarithms over ``t``, and a large ``t`` costs digits; what was left out wrongly is
found again by its price. The bound of a round holds for all columns, after the multipliers ``y``
are raised by the largest price; the best one is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldpopt.designing.methods.capped.barrier import (
    CappedDual,
    CappedProgram,
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
CARRIED = 1e-6  # share of the largest weight from which a column stays in the program
AT_CAP = 1e-5  # share of a cap within which a value is at it
BACK = 64.0  # by which t goes back after columns were added
LEAST_GAP = 1e-10  # smallest relative gap that floats reach
KEPT = (1e-6, 1e-7, 1e-8, 1e-9, 0.0)  # probabilities of reports left out, in turn
LARGEST = 1e5  # limit of multipliers, in units of the workload over the span


@dataclass(frozen=True, eq=False)
class CappedOptimum:
    """Multipliers that hold for all columns, and the columns with their weights."""

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
    program: CappedProgram,
    columns: CappedColumns,
    gap: float,
    deadline: Deadline,
    within: Float | None = None,
) -> CappedOptimum:
    """Multipliers and columns of a relative gap, or the best within the deadline; values are moved
    to within other limits, if there are some.
    """
    limits = program.limits if within is None else within
    gap = max(gap, LEAST_GAP)
    x = program.start()
    t = FIRST
    rounds = 0
    best = x
    best_value = -np.inf
    enough = max(LOOSE, gap * SHARE)
    while True:
        x, t, theta, values = maximise(program, x, t, enough, deadline)
        rounds += 1
        over, more = columns.priced(x, program.limits, 3 * len(program.weights))
        raised = _raised(x, max(over, 0.0))
        value = raised.value(program.rows)
        above = x.value(program.rows) + program.constraints / t
        if value > best_value:
            best, best_value = raised, value
        left = (above - best_value) / max(abs(above), 1e-300)
        is_done = left <= gap or not len(more) or rounds >= ROUNDS
        if (is_done and enough <= gap * SHARE) or deadline.is_over:
            break
        # the gap of an interior point is the number of columns over t: few are carried on
        if rounds == 1:
            mass = theta * (program.vectors @ x.weights)
            carried = program.vectors[mass > CARRIED * mass.max()]
            program = program.with_columns(np.unique(np.vstack([carried, columns.anchors]), axis=0))
        enough = gap * SHARE if is_done else max(gap * SHARE, min(enough, left / 20))
        if len(more):
            program = program.with_columns(np.vstack([program.vectors, more]))
            x = _raised(x, 2 * max(over, 0.0) + len(program.weights) / t)
            t = max(FIRST, t / BACK)
    return _kept(program, best, x, _State(theta, values, rounds), limits)


def _raised(x: CappedDual, by: float) -> CappedDual:
    """The multipliers with a higher price."""
    return replace(x, line=x.line + by)


def _kept(
    program: CappedProgram, best: CappedDual, x: CappedDual, state: _State, within: Float
) -> CappedOptimum:
    """The columns that matter, with weights and values that are unbiased up to rounding."""
    is_bounded = bool(np.abs(best.slope).max() < 0.5 * program.largest)
    mass = state.theta * (program.vectors @ x.weights)
    limits = within[:, None]
    # values this near to their cap are at it
    near = np.abs(state.values) > limits * (1 - AT_CAP)
    values = np.where(near, np.sign(state.values) * limits, state.values)
    for share in KEPT:
        kept = mass > share
        if not kept.any():
            continue
        vectors = program.vectors[kept]
        exact = polished(vectors, state.theta[kept], values[:, kept], program.rows, within)
        if exact is not None:
            return CappedOptimum(best, vectors, *exact, state.rounds, is_bounded, True)
    return CappedOptimum(
        best, program.vectors, state.theta, state.values, state.rounds, is_bounded, False
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Where the last program ended."""

    theta: Float
    values: Float
    rounds: int
