r"""Weights and values of columns that are unbiased up to rounding.

An interior point method knows the slack of a column, and so its weight, to half of the digits. The
weights :math:`\theta` and :math:`\theta_A V_{Aj}` are moved by as little as possible, in units of
the weights, so that both equations hold; a value at its cap stays there. Where all values are at
their caps, as near the least influence, the weights alone have to do it, and a column that should
not be there shows by a weight that would not be positive: then other columns are kept.
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.numbers import Float

ROUNDS = 8
EXACT = 1e-14  # bias that is rounding, in the unit of the workload
CLOSE = 1e-12  # bias that is near enough: the values of the rounded channel are moved once more


def polished(
    vectors: Float, theta: Float, values: Float, rows: Float, limits: Float
) -> tuple[Float, Float] | None:
    """Weights, shape (m,), and values, shape (k, m); None if some weight would not be positive, or
    no small move helps.
    """
    is_free = np.abs(values) < limits[:, None]
    for _ in range(ROUNDS):
        off = np.concatenate([1 - theta @ vectors, (rows - (values * theta) @ vectors).ravel()])
        if np.abs(off).max() <= EXACT:
            break
        moved = _moved(vectors, theta, values, is_free, off)
        if moved is None:
            return None
        theta, values = moved
        beyond = np.abs(values) > limits[:, None]
        is_free &= ~beyond
        values = np.clip(values, -limits[:, None], limits[:, None])
    off = np.concatenate([1 - theta @ vectors, (rows - (values * theta) @ vectors).ravel()])
    return (theta, values) if np.abs(off).max() <= CLOSE else None


def _moved(
    vectors: Float, theta: Float, values: Float, is_free: np.ndarray, off: Float
) -> tuple[Float, Float] | None:
    """One step: the least move relative to the weights."""
    m, n = vectors.shape
    scaled = vectors * theta[:, None]
    places = [np.flatnonzero(row) for row in is_free]
    matrix = np.zeros(((len(values) + 1) * n, m + sum(map(len, places))))
    matrix[:n, :m] = scaled.T
    start = m
    for j, (row, place) in enumerate(zip(values, places, strict=True)):
        own = slice((j + 1) * n, (j + 2) * n)
        fixed = np.where(is_free[j], 0.0, row)
        matrix[own, :m] = (scaled * fixed[:, None]).T
        matrix[own, start : start + len(place)] = scaled[place].T
        start += len(place)
    step = np.linalg.lstsq(matrix, off, rcond=1e-12)[0]
    grown = theta * (1 + step[:m])
    if not grown.min() > 0:
        return None
    products = values * theta
    start = m
    for j, place in enumerate(places):
        products[j, place] += theta[place] * step[start : start + len(place)]
        start += len(place)
    return grown, np.where(is_free, products / grown, values)
