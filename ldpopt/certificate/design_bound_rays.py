r"""The condition of a bound on every extreme ray, in integers.

Entries ``exp(-epsilon unit below)`` are no rationals. They are read from below as ``w`` over a power of two, with
``w <= v <= w (1 + RELATIVE) + ROUNDED / 2**bits``; what that may change of ``(y.v)(r.v) - v N v`` is taken off.
"""

from __future__ import annotations

from math import ceil, log
from typing import Any

import numpy as np

from ldpopt.certificate.integers import Exact, Exactly
from ldpopt.privacy.cones.rays import ZERO, Rays

DIGIT = 8
"""Bits of a digit of the exponents, whose exponentials are tabled."""

PRECISION = 160
"""Bits of an entry near the smallest one."""

RELATIVE = 170
"""Bits to which a product of enclosures is known at least: seven to ten of ``2**-180``."""

ROUNDED = 16
"""Units of the last bit by which a product of up to eight digits is too small at most."""

ROWS = 4096
"""Rays at a time."""


def rays_hold(form: Exactly, line: Exactly, weights: Exactly, rays: Rays) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for all rays, and so for the cone: form ``N``, line ``y``, weights ``r``."""
    bits = PRECISION + 3 * ceil(rays.depth / log(2))
    table = _Exponentials(rays, bits)
    left = line.denominator * weights.denominator
    # Everything over one denominator, times 2**(2 bits).
    matrix, total = form.whole * left, form.denominator
    for start in range(0, len(rays.below), ROWS):
        w = table.of(rays.below[start : start + ROWS])
        spare = total * (w @ line.whole) * (w @ weights.whole) - ((w @ matrix) * w).sum(axis=1)
        size = total * (w @ abs(line.whole)) * (w @ abs(weights.whole)) + ((w @ abs(matrix)) * w).sum(axis=1)
        one = 1 << bits
        most = total * int(abs(line.whole).sum()) * int(abs(weights.whole).sum()) + int(abs(matrix).sum())
        lost = (3 * size >> (RELATIVE - 1)) + 3 * ROUNDED * most * one
        if not bool((spare >= lost + 1).all()):
            return False
    return True


class _Exponentials:
    """Lower bounds of ``exp(-epsilon unit k)``, digit by digit."""

    def __init__(self, rays: Rays, bits: int) -> None:
        self.rays, self.bits = rays, bits
        self.known: dict[int, int] = {}

    def of(self, below: Any) -> Exact:
        """One integer over ``2**bits`` for each entry."""
        sizes, place = np.unique(below, return_inverse=True)
        values = np.array([self._entry(int(size)) for size in sizes], dtype=object)
        return np.asarray(values[place.reshape(below.shape)], dtype=object)

    def _entry(self, size: int) -> int:
        if size == ZERO:
            return 0
        value, shift = 1 << self.bits, 0
        while size >> shift:
            digit = (size >> shift) & ((1 << DIGIT) - 1)
            if digit:
                value = value * self._power(digit << shift) >> self.bits
            shift += DIGIT
        return value

    def _power(self, size: int) -> int:
        if size not in self.known:
            high = self.rays.budget.enclosure(self.rays.unit * size)[1]
            self.known[size] = (high.denominator << self.bits) // high.numerator
        return self.known[size]
