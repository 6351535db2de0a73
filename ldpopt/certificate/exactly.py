"""Arrays of rationals over one denominator: floats read exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float

Whole = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Exactly:
    """An array of rationals: Python integers over a power of two, or over any common denominator."""

    whole: Whole
    denominator: int

    @classmethod
    def of(cls, array: Float) -> Exactly:
        """Floats as they read."""
        mantissa, exponent = np.frexp(np.asarray(array, dtype=np.float64))
        least = min(int(exponent[array != 0].min(initial=1)) - 53, 0)
        shift = np.where(array == 0, 0, exponent - 53 - least).astype(object)
        whole = (mantissa * 2.0**53).astype(np.int64).astype(object) << shift
        return cls(np.asarray(whole, dtype=object), 1 << -least)
