"""The grid of a bound: floats as integers over a power of two, rounded in the direction that keeps the bound valid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Exact = NDArray[np.object_]
"""Python integers."""

GRID = 320
"""Fractional bits of the integers in a bound; finer values are rounded."""


def integers(array: Any, *, up: bool = False, grid: int = GRID) -> Exact:
    """Floats as integers over ``2**grid``, rounded down (or up)."""
    mantissa, exponent = np.frexp(np.asarray(array, float))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    shift = exponent.astype(np.int64) - 53 + grid
    shifted = whole << np.maximum(shift, 0).astype(object)
    if (shift >= 0).all():
        return np.asarray(shifted, dtype=object)
    right_shift = np.maximum(-shift, 0).astype(object)
    return np.asarray(-(-shifted >> right_shift) if up else shifted >> right_shift, dtype=object)


def exact_grid(*arrays: Any) -> int:
    """Number of fractional bits, at least `GRID`, that represents every float of the arrays exactly."""
    exponents = [np.frexp(np.asarray(array, float))[1].min(initial=0) for array in arrays]
    return max(GRID, 53 - int(min(exponents, default=0)))
