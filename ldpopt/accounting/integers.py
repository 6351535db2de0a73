"""Integers over a power of two that are rounded one way, and products of polynomials with such
coefficients.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import TypeVar

BITS = 512  # of masses and of ratios in lists: a delta of 1e-100 keeps 50 digits
UNIT = 1 << BITS
WIDTH = 2 * len(str(UNIT)) + 20  # digits of a coefficient of a product
MULTIPLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN).multiply  # in nearly linear time
T = TypeVar("T")


def rounded(number: int, unit: int, *, up: bool) -> int:
    """A quotient of integers, rounded up or down."""
    return -(-number // unit) if up else number // unit


def scaled(value: Fraction, *, up: bool, bits: int = BITS) -> int:
    """A number in fixed point."""
    return rounded(value.numerator << bits, value.denominator, up=up)


def power(value: T, times: int, multiply: Callable[[T, T], T]) -> T:
    """Power of atoms or of a polynomial, at least the first, by repeated squares."""
    result = value
    for bit in bin(times)[3:]:
        result = multiply(result, result)
        if bit == "1":
            result = multiply(result, value)
    return result


def multiplied(left: list[int], right: list[int], *, up: bool) -> list[int]:
    """Product of two polynomials with coefficients in fixed point."""
    products = convolved(left, right, WIDTH)
    return [rounded(value, UNIT, up=up) for value in products]


def convolved(left: list[int], right: list[int], width: int) -> list[int]:
    """Coefficients of the product of two polynomials, of at most ``width`` digits, by one product
    of long decimals.
    """
    # Kronecker's substitution: a coefficient has its own digits, as no product reaches the next
    first = _decimal(left, width)
    second = first if left is right else _decimal(right, width)  # a square takes less time
    count = len(left) + len(right) - 1
    digits = str(MULTIPLY(first, second)).zfill(width * count)
    ends = range(len(digits), len(digits) - width * count, -width)
    return [int(digits[max(end - width, 0) : end]) for end in ends]


def _decimal(coefficients: list[int], width: int) -> Decimal:
    """The decimal whose digits are the coefficients, the first one last."""
    return Decimal("".join([f"{value:0{width}d}" for value in reversed(coefficients)]))


def width_of(left: list[int], right: list[int]) -> int:
    """Digits that hold every coefficient of a product of two polynomials without negative ones."""
    return len(str(min(sum(left) * max(right), max(left) * sum(right)))) + 1
