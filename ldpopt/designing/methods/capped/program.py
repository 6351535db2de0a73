"""A capped program in floats: listed columns, centered workload, limits, and its multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """Columns, the centered workload, and the limits of its values."""

    vectors: Float  # v, shape (m, n)
    rows: Float  # W less the middle of each row, shape (k, n)
    limits: Float  # B, shape (k,); inf without a cap
    weights: Float  # r, shape (n,)
    is_worst_case: bool = False
    is_least: bool = False  # whether the limits are to be as small as possible, whatever the error

    def with_columns(self, vectors: Float) -> CappedProgram:
        """The program of other columns."""
        return replace(self, vectors=vectors)

    def fresh(self, more: Float) -> Float:
        """The columns that are not there yet, each once."""
        known = {vector.tobytes() for vector in self.vectors}
        more = np.unique(more, axis=0)
        return np.asarray(more[[vector.tobytes() not in known for vector in more]])


@dataclass(frozen=True, eq=False)
class CappedDual:
    """``K``, ``y`` and the weights ``r``."""

    slope: Float
    line: Float
    weights: Float

    def value(self, rows: Float) -> float:
        """The bound, with the variance of the true values added in the mean and subtracted in the
        worst case.
        """
        squares = (rows**2).sum(axis=0)
        linear = 2 * float((self.slope * rows).sum()) - float(self.line.sum())
        return linear - float(self.weights @ squares)

    def raised(self, by: float) -> CappedDual:
        """The multipliers with a higher price."""
        return replace(self, line=self.line + by)


def best_values(slope: Float, vectors: Float, mass: Float, limits: Float) -> Float:
    """The best values of columns within the limits, shape (k, m)."""
    values: Float = np.clip(slope @ vectors.T / mass, -limits[:, None], limits[:, None])
    return values


def costs_of(multipliers: CappedDual, vectors: Float, limits: Float) -> Float:
    """``sum_j h_j - y.v`` of columns: at most 0 where the multipliers hold."""
    mass = vectors @ multipliers.weights
    values = best_values(multipliers.slope, vectors, mass, limits)
    cost = (values * (2 * (multipliers.slope @ vectors.T) - mass * values)).sum(axis=0)
    return np.asarray(cost - vectors @ multipliers.line)


def error_of(program: CappedProgram, theta: Float, values: Float) -> float:
    """The variance of unbiased weights and values: the mean of the answers, or the largest."""
    squares = (values**2).sum(axis=0)
    errors = (theta * squares) @ program.vectors - (program.rows**2).sum(axis=0)
    return float(errors.max() if program.is_worst_case else program.weights @ errors)
