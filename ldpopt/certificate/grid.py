"""The grid of a bound: floats as integers over a power of two, rounded to the safe side where they are finer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Exact = NDArray[np.object_]
"""Python integers."""

GRID = 320
"""Fractional bits of the integers in a bound: anything finer is rounded, upward where it matters."""


def integers(array: Any, *, up: bool = False, grid: int = GRID) -> Exact:
    """Floats as integers over ``2**grid``; what is finer is dropped (or rounded up)."""
    mantissa, exponent = np.frexp(np.asarray(array, float))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    shift = exponent.astype(np.int64) - 53 + grid
    left = whole << np.maximum(shift, 0).astype(object)
    if (shift >= 0).all():
        return np.asarray(left, dtype=object)
    right = np.maximum(-shift, 0).astype(object)
    return np.asarray(-(-left >> right) if up else left >> right, dtype=object)


def exact_grid(*arrays: Any) -> int:
    """Fractional bits, at least `GRID`, that hold every float of the arrays as it is."""
    exponents = [np.frexp(array[array != 0])[1].min(initial=0) for array in map(np.asarray, arrays)]
    return max(GRID, 53 - int(min(exponents, default=0)))
