"""Floats as integers: on the grid of a bound, exactly over one denominator, and in digits for exact
matrix products.

A float is an integer of 53 bits times a power of two, so that reading one is a shift. Three forms
hold what was read. `integers` are over a power of two that the caller chooses, and the only
function here that may round: in the direction that keeps a bound a bound. `Rationals` are over the
smallest denominator that holds all entries. `Digits` cut integers into pieces so small that float64
multiplies and adds them without rounding, which is what makes exact products of large matrices as
fast as those of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import CertificateError
from ldpopt.foundation.numbers import Float

Integers = NDArray[np.object_]  # an array of Python integers
GRID = 320  # fractional bits of the integers in a bound; finer values are rounded
BITS = 18  # bits of a digit
MASK = (1 << BITS) - 1

# number of products of two digits that float64 adds at a time: their sum stays below ``2**51``
TERMS = 1 << 14
# largest number of digits of an exact matrix: enough for floats from 1e-600 to 1e600
MOST_DIGITS = 250


def integers(array: Any, *, up: bool = False, grid: int = GRID) -> Integers:
    """Floats as integers over ``2**grid``, rounded down (or up).

    The result ``k`` of a float ``v`` is the largest integer with ``k <= v * 2**grid``, with ``up``
    the smallest with ``k >= v * 2**grid``, for either sign: shifts of Python's integers round
    towards minus infinity. A grid of `exact_grid` rounds nothing.
    """
    mantissa, exponent = np.frexp(np.asarray(array, float))
    shift = exponent.astype(np.int64) - 53 + grid
    scaled = (mantissa * 2.0**53).astype(np.int64).astype(object)
    if shift.min(initial=0) >= 0:
        return np.asarray(scaled << shift.astype(object), dtype=object)
    scaled, right_shift = (
        scaled << np.maximum(shift, 0).astype(object),
        np.maximum(-shift, 0).astype(object),
    )
    return np.asarray(-(-scaled >> right_shift) if up else scaled >> right_shift, dtype=object)


def exact_grid(*arrays: Any, least: int = GRID) -> int:
    """Number of fractional bits, at least ``least``, with which every float of the arrays is exact.

    The last bit of a float with the exponent ``e`` (as `numpy.frexp` defines it) is worth ``2**(e -
    53)``; the smallest exponent of all arrays decides. Zeros have the exponent 0 and decide
    nothing.
    """
    exponents = [np.frexp(np.asarray(array, float))[1].min(initial=0) for array in arrays]
    return max(least, 53 - int(min(exponents, default=0)))


def exactly(array: Any) -> tuple[Integers, int]:
    """Floats as integers without rounding, and their number of fractional bits, at least `GRID`."""
    grid = exact_grid(array)
    return integers(array, grid=grid), grid


@dataclass(frozen=True, eq=False)
class Rationals:
    """An array of rationals: Python integers over a power of two, or over any common
    denominator.

    An entry is ``whole / denominator``. The denominator is positive and not reduced: a common
    factor costs a few digits, while looking for one would cost a gcd for each entry.
    """

    whole: Integers
    denominator: int

    @classmethod
    def of(cls, array: Float) -> Rationals:
        """The exact values of floats."""
        mantissa, exponent = np.frexp(np.asarray(array, dtype=np.float64))
        least = min(int(exponent[array != 0].min(initial=1)) - 53, 0)
        shift = np.where(array == 0, 0, exponent - 53 - least).astype(object)
        return cls(
            np.asarray((mantissa * 2.0**53).astype(np.int64).astype(object) << shift, dtype=object),
            1 << -least,
        )


def are_finite(*arrays: Any) -> bool:
    """Whether all floats of some arrays are numbers, so that they can be read exactly; None has
    none.
    """
    return all(bool(np.isfinite(array).all()) for array in arrays if array is not None)


def fraction_bits(array: Float) -> int:
    """Number of fractional bits, at least 0, with which every float of an array is exact.

    Zeros at the end of a mantissa do not count: 0.75 needs 2 bits, and integers need none. This is
    less than what `exact_grid` returns, because digits are paid for by the bit.
    """
    mantissa, exponent = np.frexp(array)
    mantissas = (mantissa * 2.0**53).astype(np.int64)
    # x & -x is the lowest bit that is set.
    lowest = np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1
    return max(0, int((53 - lowest - exponent)[mantissas != 0].max(initial=0)))


@dataclass(frozen=True, eq=False)
class Digits:
    """A matrix of integers, ``sum_i parts[i] * 2**(18 i)``, whose products in float64 are exact.

    Products are exact for any order in which a library adds: a product of two digits is below
    ``2**36``, at most ``2**14`` of them are added at a time, and float64 holds every integer up to
    ``2**53``. Sums, differences and products carry at once, so that digits are in their range again
    after each operation. Entries may have any sign and size; all entries of a matrix have the same
    number of digits, which is why numbers of very different sizes in one matrix cost memory; `read`
    refuses more than `MOST_DIGITS`.

    Digits are from 0 to ``2**18 - 1``, except the last ones, which have the sign and are not
    larger.
    """

    parts: NDArray[np.int64]  # (digits, rows, columns)

    @classmethod
    def of(cls, numbers: Integers) -> Digits:
        """Split a matrix of Python integers into digits."""
        bits = max((int(entry).bit_length() for entry in numbers.ravel()), default=0) + 1
        count = -(-bits // BITS)
        parts = [
            ((numbers >> (BITS * place)) & MASK).astype(np.int64) for place in range(count - 1)
        ]
        return cls(np.array([*parts, (numbers >> (BITS * (count - 1))).astype(np.int64)]))

    @classmethod
    def read(cls, array: Float, bits: int) -> Digits:
        """Floats times ``2**bits``, for at least as many bits as `fraction_bits` returns.

        Nothing is rounded, because the bits are enough for each float to become an integer. No
        Python integer is made on the way.
        """
        mantissa, exponent = np.frexp(array)
        mantissas = (mantissa * 2.0**53).astype(np.int64)
        shift = (np.where(mantissas == 0, 0, exponent - 53) + bits).astype(np.int64)
        count = -(
            -max(1, int(np.where(mantissas == 0, 1 - 54, shift).max(initial=-53)) + 54) // BITS
        )
        if count > MOST_DIGITS:
            problem = (
                f"exact numbers of {BITS * count} bits are too long: their sizes are too far apart"
            )
            do = (
                f"scale the workload so that its numbers take at most {BITS * MOST_DIGITS} "
                "bits together"
            )
            raise CertificateError(problem, code="digits", do=do)
        parts = np.empty((count, *array.shape), dtype=np.int64)
        for place in range(count):
            down = BITS * place - shift
            low = np.where(down > -BITS, mantissas << np.clip(-down, 0, BITS), 0)
            part = np.where(down >= 0, mantissas >> np.clip(down, 0, 63), low)
            parts[place] = part if place == count - 1 else part & MASK
        return cls(parts)

    @property
    def T(self) -> Digits:  # noqa: N802
        """The transposed matrix."""
        return Digits(self.parts.transpose(0, 2, 1))

    def columns(self, chosen: Any) -> Digits:
        """Some of the columns, by a slice or by their places."""
        return Digits(self.parts[:, :, chosen])

    def __add__(self, other: Digits) -> Digits:
        """Sum; a single row or column is added to every one."""
        return self._with(other, 1)

    def __sub__(self, other: Digits) -> Digits:
        """Difference; a single row or column is subtracted from every one."""
        return self._with(other, -1)

    def _with(self, other: Digits, sign: int) -> Digits:
        mine, its = self.parts, other.parts
        total = np.zeros(
            (max(len(mine), len(its)), *np.broadcast_shapes(mine.shape[1:], its.shape[1:])),
            dtype=np.int64,
        )
        total[: len(mine)] += mine
        total[: len(its)] += sign * its
        return _carried(total)

    def times(self, factor: int) -> Digits:
        """All integers times one factor."""
        other = Digits.of(np.array([[factor]], dtype=object)).parts[:, 0, 0]
        total = np.zeros((len(self.parts) + len(other) - 1, *self.parts.shape[1:]), dtype=np.int64)
        for place, digit in enumerate(other.tolist()):
            total[place : place + len(self.parts)] += digit * self.parts
        return _carried(total)

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
        total = np.zeros(
            (len(self.parts) + len(other.parts) - 1, 1, self.parts.shape[2]), dtype=np.int64
        )
        for i, part in enumerate(self.parts):
            for j, factor in enumerate(other.parts):
                total[i + j, 0] += np.einsum("xy,xy->y", part, factor)
        return _carried(total)

    def whole(self) -> Integers:
        """The matrix as Python integers.

        The inverse of `of`: the way out of digits, at the end of a computation.
        """
        total = self.parts[-1].astype(object)
        for part in self.parts[-2::-1]:
            total = (total << BITS) + part.astype(object)
        return np.asarray(total, dtype=object)


def _carried(total: NDArray[np.int64]) -> Digits:
    """The fewest digits that hold these sums.

    Digits of the sums may have any sign, and be longer than a digit. What exceeds a digit is moved
    to the next one, from the lowest on; the last digit takes what is left, with its sign. The value
    of each entry stays the same. Two last digits that fit into one are joined, so that sums of
    numbers of opposite signs do not stay long.
    """
    parts = []
    carry = np.zeros_like(total[0])
    for part in total:
        carry = carry + part
        parts.append(carry & MASK)
        carry = carry >> BITS
    while np.abs(carry).max(initial=0) > MASK:
        parts.append(carry & MASK)
        carry = carry >> BITS
    parts.append(carry)
    while len(parts) > 1:
        joined = (parts[-1] << BITS) + parts[-2]
        if np.abs(joined).max(initial=0) > MASK:
            break
        parts[-2:] = [joined]
    return Digits(np.array(parts))


def product(left: Integers, right: Integers) -> Integers:
    """Exact matrix product of Python integers of any size."""
    return (Digits.of(left) @ Digits.of(right)).whole()
