"""The best multipliers and columns of a capped design, in floats.

All columns are in the program if they are few, else those that are likely to be good, and those
that pricing adds, for programs of a loose gap first. The bound of a round holds for all columns,
after the multipliers ``y`` are raised by the largest price; the best one is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.methods.capped.interior import Solved, solved
from ldpopt.designing.methods.capped.polish import polished
from ldpopt.designing.methods.capped.program import CappedDual, CappedProgram, error_of
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

SHARE = 0.2  # of the required gap for the interior point method
FINE = 1e-8  # its gap at the end, if no smaller one is required
LOOSE = 1e-4  # its gap while columns are added
ROUNDS = 200  # of pricing
FEW_ROUNDS = 10  # the same of programs with more digits, from the columns of the last one
AT_CAP = (1e-5, 1e-7, 0.0)  # share of a cap within which a value is at it, in turn
LEAST_GAP = 1e-10  # smallest relative gap that floats reach
KEPT = (1e-6, 1e-7, 1e-8, 1e-9, 0.0)  # probabilities of reports left out, in turn
REACHED = 0.5  # share of the required gap at which a search is not done again with more digits
MORE_WORK = 3e8  # products of a factor that keeps digits, about .2 s, up to which it is tried


@dataclass(frozen=True, eq=False)
class CappedOptimum:
    """Multipliers that hold for all columns, and the columns with their weights."""

    multipliers: CappedDual
    vectors: Float
    weights: Float  # theta, of the columns
    values: Float  # V, shape (k, m)
    rounds: int
    is_unbiased: bool  # whether weights and values are polished

    @property
    def channel(self) -> Float:
        """The channel, shape (n, m), whose rows sum to about 1."""
        return np.asarray((self.vectors * self.weights[:, None]).T)

    def error(self, program: CappedProgram) -> float:
        """The error of the columns; infinite if they are biased."""
        if not self.is_unbiased:
            return np.inf
        return error_of(program.with_columns(self.vectors), self.weights, self.values)

    def gap(self, program: CappedProgram) -> float:
        """By which part the error is above the bound."""
        error = self.error(program)
        return 1 - self.multipliers.value(program.rows) / error if np.isfinite(error) else np.inf

    def better(self, other: CappedOptimum, program: CappedProgram) -> CappedOptimum:
        """The larger bound, and the columns of the smaller error."""
        first = self if self.error(program) <= other.error(program) else other
        bounds = [each.multipliers for each in (self, other)]
        best = max(bounds, key=lambda each: each.value(program.rows))
        return replace(first, multipliers=best)


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
    fast, program = _searched(program, columns, gap, deadline)
    optimum = _kept(program, fast, limits)
    if optimum.gap(program) <= gap * REACHED or deadline.is_over or _work(program) > MORE_WORK:
        return optimum
    exact, program = _searched(program, columns, LEAST_GAP, deadline, keeps_digits=True)
    again = _kept(program, exact, limits)
    return optimum.better(again, program)


def _work(program: CappedProgram) -> float:
    """Number of products of a factor that keeps digits."""
    m, n = program.vectors.shape
    k = len(program.rows)
    return float(2.0 * m * (k + 1) * ((k + 2) * n) ** 2)


@dataclass(frozen=True, eq=False)
class _Searched:
    """The best multipliers for all columns, and where the last program ended."""

    best: CappedDual
    found: Solved
    rounds: int


def _searched(
    program: CappedProgram,
    columns: CappedColumns,
    gap: float,
    deadline: Deadline,
    keeps_digits: bool = False,
) -> tuple[_Searched, CappedProgram]:
    """Solve and price until the gap is reached; also the program of the last columns."""
    fine = min(gap * SHARE, FINE)
    enough = fine if columns.is_complete or keeps_digits else LOOSE
    n = len(program.weights)
    best: CappedDual | None = None
    best_value = -np.inf
    count = 0
    while count < (FEW_ROUNDS if keeps_digits else ROUNDS):
        count += 1
        found = solved(program, enough, deadline, keeps_digits)
        over, more = columns.priced(found.dual, program.limits, 3 * n)
        raised = found.dual.raised(max(over, 0.0))
        value = raised.value(program.rows)
        if best is None or value > best_value:
            best, best_value = raised, value
        fresh = program.fresh(more)
        left = max(over, 0.0) * n / max(abs(value), 1e-300)
        is_done = left <= max(enough, fine) or not len(fresh)
        if (is_done and enough <= fine) or deadline.is_over:
            break
        if is_done:
            enough = fine
        if len(fresh):
            program = program.with_columns(np.vstack([program.vectors, fresh]))
    assert best is not None
    vectors = program.vectors[: len(found.point.theta)]
    return _Searched(best, found, count), program.with_columns(vectors)


def _kept(program: CappedProgram, searched: _Searched, within: Float) -> CappedOptimum:
    """The columns that matter, with weights and values that are unbiased up to rounding: the first
    whose error is as good as the bound, or those of the least error.
    """
    best = searched.best
    found = searched.found
    rounds = searched.rounds
    theta = found.point.theta
    values = (found.point.products / theta[:, None]).T
    mass = theta * (program.vectors @ found.dual.weights)
    limits = within[:, None]
    enough = best.value(program.rows) * (1 + FINE)
    least = np.inf
    optimum = CappedOptimum(best, program.vectors, theta, values, rounds, False)
    for near, share in product(AT_CAP, KEPT):
        is_at = np.abs(values) > limits * (1 - near)
        moved = np.where(is_at, np.sign(values) * limits, values)
        kept = mass > share
        if not kept.any():
            continue
        vectors = program.vectors[kept]
        exact = polished(vectors, theta[kept], moved[:, kept], program.rows, within)
        if exact is None:
            continue
        error = error_of(program.with_columns(vectors), *exact)
        if error < least:
            least = error
            optimum = CappedOptimum(best, vectors, *exact, rounds, True)
        if least <= enough:
            break
    return optimum
