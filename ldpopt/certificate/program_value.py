"""The exact value of a mechanism's masses, and the relative gap of value and bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ldpopt.certificate.integers import exact_grid, integers
from ldpopt.certificate.program_bound import Multipliers, weights
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem

STAKE_SHARE = 100
"""The gap is relative to at least the stake divided by this, as the bound of a loss may be 0."""


def distance_to(best: Fraction, problem: Problem, mechanism: Mechanism) -> Fraction:
    """How much more than the mechanism's value the bound is, in the direction of the problem."""
    achieved = achieved_by(problem, mechanism)
    return best - achieved if problem.utility.sense == "gain" else achieved - best


def achieved_by(problem: Problem, mechanism: Mechanism) -> Fraction:
    """Exact value of the masses under the problem's objective."""
    worth, counts = problem.utility.matrix, mechanism.counts
    grid = exact_grid(worth)
    by_input = np.array([_weighted_sum(*row, grid) for row in zip(counts, worth, strict=True)], dtype=object)
    unit = Fraction(1, mechanism.denominator << grid)
    if problem.prior is not None:
        fine = exact_grid(problem.prior)
        return Fraction(int((integers(problem.prior, grid=fine) * by_input).sum()), 1 << fine) * unit
    worst = min(by_input) if problem.utility.sense == "gain" else max(by_input)
    return int(worst) * unit


def _weighted_sum(counts: Int, worth: Float, grid: int) -> int:
    """Sum of masses times utilities over ``2**grid``, exactly; row by row, to hold few integers at once."""
    used = np.flatnonzero((counts != 0) & (worth != 0))
    return int((counts[used].astype(object) * integers(worth[used], grid=grid)).sum())


def relative_gap(problem: Problem, multipliers: Multipliers, best: Fraction, distance: Fraction) -> float:
    """Gap over the bound, or over a hundredth of the stake if that is larger; infinite if both are 0 and it is not."""
    matrix = problem.utility.matrix
    fine = exact_grid(matrix)
    spread = integers(matrix.max(axis=1), grid=fine) - integers(matrix.min(axis=1), grid=fine)
    shares, grid = weights(problem, multipliers)
    stake = Fraction(int((shares * spread).sum()), 1 << (grid + fine))
    if not stake:  # the weights are those of inputs for whom all reports are alike: all inputs count instead
        stake = Fraction(int(spread.sum()), len(spread) << fine)
    scale = max(abs(best), stake / STAKE_SHARE)
    if not scale:
        return math.inf if distance else 0.0
    return round_up(distance / scale)
