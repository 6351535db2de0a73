"""Exact products of integer matrices: digits of 18 bits, whose products in floats lose nothing.

A sum of at most ``2**14`` products of two digits stays below ``2**51``, so that matrix products of digits are exact in
float64, in whatever order they are added. Sums over the digits are carried in int64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float

BITS = 18
"""Bits of a digit."""

MASK = (1 << BITS) - 1

TERMS = 1 << 14
"""Products that are added in floats at a time."""


@dataclass(frozen=True, eq=False)
class Digits:
    """A matrix of integers, ``sum_i parts[i] * 2**(18 i)``.

    Attributes
    ----------
    parts : int64 array, shape (digits, rows, columns)
        From 0 to ``2**18 - 1``, except the last ones, which have the sign.
    """

    parts: NDArray[np.int64]

    @classmethod
    def of(cls, whole: NDArray[np.object_]) -> Digits:
        """Python integers, a matrix of them."""
        bits = max((int(entry).bit_length() for entry in whole.ravel()), default=0) + 1
        count = -(-bits // BITS)
        parts = [((whole >> (BITS * place)) & MASK).astype(np.int64) for place in range(count - 1)]
        return cls(np.array([*parts, (whole >> (BITS * (count - 1))).astype(np.int64)]))

    @classmethod
    def read(cls, array: Float) -> tuple[Digits, int]:
        """Floats exactly, and their common denominator, a power of two."""
        mantissa, exponent = np.frexp(array)
        least = min(int(exponent[array != 0].min(initial=1)) - 53, 0)
        shift = np.where(array == 0, 0, exponent - 53 - least).astype(np.int64)
        whole = (mantissa * 2.0**53).astype(np.int64)
        count = -(-(int(shift.max(initial=0)) + 54) // BITS)
        parts = np.empty((count, *array.shape), dtype=np.int64)
        for place in range(count):
            down = BITS * place - shift
            low = np.where(down > -BITS, whole << np.clip(-down, 0, BITS), 0)
            part = np.where(down >= 0, whole >> np.clip(down, 0, 63), low)
            parts[place] = part if place == count - 1 else part & MASK
        return cls(parts), 1 << -least

    @property
    def T(self) -> Digits:  # noqa: N802
        """Transposed."""
        return Digits(self.parts.transpose(0, 2, 1))

    def columns(self, first: int, last: int) -> Digits:
        """Columns from the first up to, not including, the last."""
        return Digits(self.parts[:, :, first:last])

    def __matmul__(self, other: Digits) -> Digits:
        """Matrix product."""
        mine, its = self.parts, other.parts
        total = np.zeros((len(mine) + len(its) - 1, mine.shape[1], its.shape[2]), dtype=np.int64)
        for first in range(0, mine.shape[2], TERMS):
            left = mine[:, :, first : first + TERMS].astype(np.float64)
            right = its[:, first : first + TERMS].astype(np.float64)
            for i, part in enumerate(left):
                for j, factor in enumerate(right):
                    total[i + j] += (part @ factor).astype(np.int64)
        return _carried(total)

    def sums_of_products(self, other: Digits) -> Digits:
        """Sum over the rows of the products entry by entry; one row."""
        total = np.zeros((len(self.parts) + len(other.parts) - 1, 1, self.parts.shape[2]), dtype=np.int64)
        for i, part in enumerate(self.parts):
            for j, factor in enumerate(other.parts):
                total[i + j, 0] += np.einsum("xy,xy->y", part, factor)
        return _carried(total)

    def whole(self) -> NDArray[np.object_]:
        """Python integers."""
        total = self.parts[-1].astype(object)
        for part in self.parts[-2::-1]:
            total = (total << BITS) + part.astype(object)
        return np.asarray(total, dtype=object)


def _carried(total: NDArray[np.int64]) -> Digits:
    """Digits of sums."""
    parts, rest = [], np.zeros_like(total[0])
    for part in total:
        rest = rest + part
        parts.append(rest & MASK)
        rest = rest >> BITS
    while np.abs(rest).max(initial=0) > MASK:
        parts.append(rest & MASK)
        rest = rest >> BITS
    return Digits(np.array([*parts, rest]))


def product(left: NDArray[np.object_], right: NDArray[np.object_]) -> NDArray[np.object_]:
    """Exact matrix product of Python integers.

    Examples
    --------
    >>> import numpy as np
    >>> product(np.array([[10**30, -1]], dtype=object), np.array([[3], [5]], dtype=object)).tolist()
    [[2999999999999999999999999999995]]
    """
    return (Digits.of(left) @ Digits.of(right)).whole()
