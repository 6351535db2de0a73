"""Values of the reports of a channel of integer masses, exactly within the caps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ldpopt.foundation.numbers import Float

ROUNDS = 3  # a first correction may leave rounding errors


def unbiased(channel: Float, rows: Float, values: Float, weights: Float) -> Float:
    """The values moved by as little as possible so that they are unbiased for a channel."""
    q = weights @ channel
    matrix = (channel / q) @ channel.T
    for _ in range(ROUNDS):
        off = rows - values @ channel.T
        values = values + np.linalg.lstsq(matrix, off.T, rcond=1e-13)[0].T @ channel / q
    return np.asarray(values)


def least_biased(channel: Float, rows: Float, limits: Float) -> Float:
    """Values of the least bias within the limits, for caps that leave next to no freedom."""
    from scipy.optimize import lsq_linear

    values = []
    for row, limit in zip(rows, limits, strict=True):
        if np.isfinite(limit):
            solved = lsq_linear(channel, row, (-limit, limit), method="bvls", tol=1e-15).x
        else:
            solved = np.linalg.lstsq(channel, row, rcond=1e-14)[0]
        values.append(solved)
    return np.array(values)


def clipped(values: Float, matrix: Float, caps: Float) -> Float:
    """Values at which the influence is at most each cap, exactly."""
    result = values.copy()
    for row, numbers, cap in zip(result, matrix, caps.tolist(), strict=True):
        if np.isfinite(cap):
            most = Fraction(float(numbers.min())) + Fraction(cap)
            least = Fraction(float(numbers.max())) - Fraction(cap)
            np.clip(row, _float_from(least, np.inf), _float_from(most, -np.inf), out=row)
    return result


def _float_from(number: Fraction, towards: float) -> float:
    """The float nearest to a rational on one side of it."""
    near = float(number)
    is_within = near >= number if towards > 0 else near <= number
    return near if is_within else float(np.nextafter(near, towards))
