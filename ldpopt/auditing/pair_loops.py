"""Compiled loops over pairs of inputs that find the entries which decide an audit; for few pairs numpy does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.compiled import compiled

Float = NDArray[np.float64]

STRIDE = 128
"""Number of outputs that are compared at once with the largest ratio so far."""

LOWER = 1 - 1e-12
"""Factor of that ratio: what is left out is smaller, whatever the rounding."""


@compiled
def largest_excesses(floats: Float, x: int, others: NDArray[np.int64], found: Float) -> None:
    """Write for each other input the largest ``(P[x, y] - P[x', y]) / P[x', y]``, at least 0; ``0 / 0`` does not count.

    Parameters
    ----------
    floats : float array, shape (n, m)
        The channel.
    x, others : int, int array
        Input whose entries are above, and those below.
    found : float array, shape (len(others),)
        Written.
    """
    over = floats[x]
    for k in range(len(others)):
        under, most = floats[others[k]], 0.0
        for start in range(0, len(over), STRIDE):
            stop, hits, ratio = min(start + STRIDE, len(over)), 0, LOWER * (1 + most)
            for y in range(start, stop):  # without a branch, so that several are compared at once
                hits += over[y] > ratio * under[y]
            for y in range(start, stop if hits else start):
                if over[y] > under[y]:
                    most = max(most, (over[y] - under[y]) / under[y] if under[y] > 0 else np.inf)
        found[k] = most


@compiled
def count_near(
    floats: Float, x: int, others: NDArray[np.int64], factor: Float, used: NDArray[np.bool_], found: NDArray[np.int64]
) -> None:
    """Write for each other input the number of outputs with ``P[x', y] <= factor P[x, y]`` that ``x`` uses."""
    over = np.where(used, floats[x], -1.0)
    for k in range(len(others)):
        under, above, count = floats[others[k]], factor[k], 0
        for y in range(len(over)):  # without a branch, so that several are compared at once
            count += under[y] <= above * over[y]
        found[k] = count
