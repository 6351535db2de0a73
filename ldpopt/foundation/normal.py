r"""The normal distribution function :math:`\Phi` and its inverse between rationals.

.. math:: \Phi(z) = \tfrac12 + \frac{e^{-z^2/2}}{\sqrt{2\pi}} \sum_{k \ge 0}
          \frac{z^{2k+1}}{1 \cdot 3 \cdots (2k+1)}

The terms are positive for ``z > 0``, so that a sum of rounded terms errs to a known side.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from statistics import NormalDist

BITS = 200  # fractional bits beyond those that a tail needs
FARTHEST = 40  # beyond it a tail is below `LEAST`
LEAST = Fraction(1, 1 << 1100)
STEPS = 2  # Newton steps that refine a float of 50 bits to `BITS` bits
COARSE = Fraction(1, 1 << 40)  # first distance of the ends of an inverse, relative
FINE = Fraction(1, 1 << 170)
FLOATS = NormalDist()
HALF_LOG = math.log(2 * math.pi) / 2
Enclosure = tuple[Fraction, Fraction]


@lru_cache(maxsize=65536)
def normal_cdf(z: Fraction) -> Enclosure:
    r"""Rationals ``low <= Phi(z) <= high``, within a relative ``2**-180`` of each other or so."""
    if z < 0:
        low, high = normal_cdf(-z)
        return 1 - high, 1 - low
    if z > FARTHEST:
        return 1 - LEAST, Fraction(1)
    # the tail is a difference from 1, which keeps as many bits as are added here: e**(-z z / 2)
    bits = BITS + int(z * z * Fraction(3, 4)) + 8
    grid: int = 1 << bits
    position = z.numerator * grid // z.denominator
    below, above = _half(position, bits)
    half = grid // 2
    # z is at most one unit above its position, and the slope of Phi is below 1
    most = half + above + 1
    return Fraction(half + below, grid), Fraction(most if most < grid else grid, grid)


def probit(u: Fraction, *, fine: bool = True) -> Enclosure:
    r"""Rationals ``low <= z <= high`` around the ``z`` with ``Phi(z) = u``, ``0 < u < 1``.

    They are found in floats, refined by Newton steps if ``fine``, and proved by `normal_cdf`.
    """
    if 2 * u > 1:
        low, high = probit(1 - u, fine=fine)
        return -high, -low
    if u < Fraction(1, 1 << 1000):
        # exp(-t t / 2) / 2 is above the tail of t: t t / 2 >= ln(1 / u) is enough
        steps = u.denominator.bit_length() - u.numerator.bit_length() + 1
        return Fraction(-isqrt(2 * steps) - 1), Fraction(-36)
    return _refined(u, fine)


@lru_cache(maxsize=65536)
def _refined(u: Fraction, fine: bool) -> Enclosure:
    """`probit` between ``2**-1000`` and 1/2."""
    z = Fraction(FLOATS.inv_cdf(float(u)))
    for _ in range(STEPS if fine else 0):
        height = Fraction(math.exp(-(float(z) ** 2) / 2 - HALF_LOG))
        z = _cut(z + (u - normal_cdf(z)[0]) / height, BITS, up=False)
    width = (FINE if fine else COARSE) * max(abs(z), Fraction(1, 8))
    low = z - width
    high = z + width
    while normal_cdf(low)[1] > u:
        low, width = low - width, 2 * width
    while normal_cdf(high)[0] < u:
        high, width = high + width, 2 * width
    return low, high


def _cut(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """A rational rounded down or up to ``bits`` fractional bits."""
    scaled = value.numerator << bits
    return Fraction(
        -(-scaled // value.denominator) if up else scaled // value.denominator, 1 << bits
    )


def _half(position: int, bits: int) -> tuple[int, int]:
    """Integers around ``2**bits (Phi(z) - 1/2)`` at ``z = position / 2**bits``."""
    low, high = _divisor(position, bits)
    return (
        (_series(position, bits, up=False) << bits) // high,
        -(-(_series(position, bits, up=True) << bits) // low),
    )


def _series(position: int, bits: int, *, up: bool) -> int:
    """``2**bits`` times the sum of ``z**(2k+1) / (1 3 .. (2k+1))``, for ``z = position / 2**bits``,
    rounded down or up term by term.
    """
    shift = 2 * bits
    square = position * position
    term, total, odd = position, 0, 1
    # Terms that are rounded up never fall below 1: what ends their sum is the ratio of two terms,
    # z**2 / (odd + 2).
    while term > 1 or (up and square >= (odd + 2) << (shift - 1)):
        total += term
        odd += 2
        term = -(-(term * square) // (odd << shift)) if up else term * square // (odd << shift)
    # from here on each term is at most half of the one before it: the rest is at most two terms
    return total + 2 * term if up else total


def _divisor(position: int, bits: int) -> tuple[int, int]:
    r"""Integers around ``2**bits sqrt(2 pi) exp(z z / 2)``."""
    low, high = (isqrt(number << (bits + 1)) for number in _pi(bits))
    square = position * position
    # at least the digits of the power, log10(2) for a bit and log10(e) for a unit of z z / 2, and
    # 30 more: it is wrong by less than one unit
    digits = (31 * bits + 44 * (square >> (2 * bits + 1))) // 100 + 30
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    exponent = context.divide(Decimal(square), Decimal(1 << (2 * bits + 1)))
    power = int(context.multiply(context.exp(exponent), Decimal(1 << bits)))
    return (low * (power - 1)) >> bits, (((high + 1) * (power + 2)) >> bits) + 1


@lru_cache(maxsize=4096)
def _pi(bits: int) -> tuple[int, int]:
    r"""Integers around ``2**bits pi``, by ``pi = 16 arctan(1/5) - 4 arctan(1/239)``."""
    guard = bits.bit_length() + 8
    total = 16 * _arctan(5, bits + guard) - 4 * _arctan(239, bits + guard)
    # every term of the two series is cut off by less than 1, and there are less than `bits` terms
    error = 20 * (bits + guard)
    return (total - error) >> guard, ((total + error) >> guard) + 1


def _arctan(number: int, bits: int) -> int:
    """About ``2**bits arctan(1 / number)``, term by term."""
    power = (1 << bits) // number
    total, odd, sign = 0, 1, 1
    while power:
        total += sign * (power // odd)
        power //= number * number
        odd, sign = odd + 2, -sign
    return total
