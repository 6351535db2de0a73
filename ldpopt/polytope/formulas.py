"""Extreme points as formulas: their entries as fractions of polynomials in ``a = e**epsilon`` with whole coefficients.

An extreme point solves a square system whose coefficients are polynomials in ``a``. The system is solved in rationals
with a huge integer in place of ``a``; then the digits of numerators and denominators in this base are the coefficients.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.polytope.staircase import Exact

# Number in place of ``a``: without a remainder modulo small primes, so that few fractions can be reduced by chance
BASE = math.lcm(*range(1, 400))
BASES = 12  # bases that are tried, from `BASE` on


def formula_of(point: Exact, ratio: Fraction, at: Callable[[Exact, Fraction], Exact]) -> str:
    """Write an extreme point over a common denominator.

    ``at`` returns the point of the same structure for another ratio. A formula whose value is not exactly the point is
    dropped; without one the text has four digits.
    """
    try:
        tables = (_polynomials(at(point, Fraction(base)), base) for base in range(BASE, BASE + BASES))
        numerators, below = next(found for found in tables if found is not None)
        pairs = zip(numerators.ravel().tolist(), point.ravel().tolist(), strict=True)
        is_exact = all(_value(above, ratio) == value * _value(below, ratio) for above, value in pairs)
    except (StopIteration, StatementError, NotRepresentableError):
        is_exact = False
    if not is_exact:
        return "[" + "; ".join(" ".join(f"{float(v):.4g}" for v in row) for row in point.tolist()) + "]"
    rows = "; ".join(" ".join(map(_text, row)) for row in numerators.tolist())
    divisor = _text(below)
    return f"[{rows}]" + ("" if divisor == "1" else f" / ({divisor})" if len(below) > 1 else f" / {divisor}")


def _polynomials(entries: Exact, base: int) -> tuple[Exact, tuple[int, ...]] | None:
    """Coefficients of numerators, shape (n, m), and of their denominator, lowest first; None if some are large."""
    below = math.lcm(*(value.denominator for value in entries.ravel().tolist()))
    table = np.empty(entries.shape, dtype=object)
    for place, value in np.ndenumerate(entries):
        table[place] = _digits(int(value * below), base)
    every = [*table.flat, _digits(below, base)]
    is_small = all(abs(digit) ** 3 < base for digits in every for digit in digits)
    return (table, every[-1]) if is_small else None


def _digits(value: int, base: int) -> tuple[int, ...]:
    """Digits of an integer from ``-base/2`` to ``base/2``, lowest first."""
    digits = []
    while value:
        digit = (value + base // 2) % base - base // 2
        digits.append(digit)
        value = (value - digit) // base
    return tuple(digits)


def _value(coefficients: Sequence[int], ratio: Fraction) -> Fraction:
    return sum((digit * ratio**power for power, digit in zip(count(), coefficients, strict=False)), Fraction(0))


def _text(coefficients: Sequence[int]) -> str:
    """A polynomial in ``a``, highest power first."""
    terms = []
    for power, digit in reversed(list(enumerate(coefficients))):
        letter = "" if power == 0 else "a" if power == 1 else f"a^{power}"
        size = str(abs(digit)) if abs(digit) != 1 or not power else ""
        terms += [("-" if digit < 0 else "+") + size + letter] * (digit != 0)
    return "".join(terms).removeprefix("+") or "0"
