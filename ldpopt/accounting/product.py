r"""Products of privacy loss distributions: the excess of all reports together, in integers rounded
in one direction.

The excess :math:`\sum p \max(1 - a / r, 0)` rises with every mass and every ratio, so that rounding
all of them up bounds it from above, and down from below. Of two halves the atoms are listed; if
there are too many, masses are moved to powers of one number, and multiplied as polynomials.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import exp, floor, log, prod
from typing import TypeVar

import numpy as np

from ldpopt.accounting.privacy_loss import PrivacyLoss
from ldpopt.foundation.numbers import Float

BITS = 512  # of masses and of ratios in fixed point: a delta of 1e-100 keeps 50 digits
UNIT = 1 << BITS
WIDTH = 2 * len(str(UNIT)) + 20  # digits of a coefficient of a product
MULTIPLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN).multiply  # in nearly linear time
CLOSE = 40  # ratios that differ by less than one part in 2**40 are made equal
MAX_PRODUCTS = 200_000  # of two lists of atoms
MAX_POWERS = 1 << 14  # of one number, to which masses are moved
MAX_LEVELS = 200  # of the tests of a product that is not listed
Questions = Sequence[tuple[PrivacyLoss, int]]
Atoms = list[tuple[int, int]]  # ratio and mass in fixed point, by ascending ratio
T = TypeVar("T")


class _TooManyAtomsError(Exception):
    """Two lists have too many products."""


@dataclass(frozen=True)
class Product:
    """Two lists of atoms, whose products are the atoms of all reports."""

    left: Atoms
    right: Atoms
    certain: Fraction
    is_upper: bool

    def excess(self, a: Fraction) -> Fraction:
        """Excess at ``a``, rounded as the atoms."""
        mass, other, (ratios, sums) = 0, 0, self._tails
        over = a.numerator * UNIT * UNIT
        under = a.denominator
        for ratio, p in self.left:
            first, second = sums[bisect_right(ratios, over // (under * ratio))]
            mass += p * first
            other += rounded(p * second * UNIT, ratio, up=not self.is_upper)
        return self.certain + Fraction(under * mass - a.numerator * other, under * UNIT * UNIT)

    @cached_property
    def _tails(self) -> tuple[list[int], Atoms]:
        """Ratios of the right list, and its masses under both answers from each atom on."""
        pairs = [
            (p, rounded(p * UNIT, ratio, up=not self.is_upper)) for ratio, p in reversed(self.right)
        ]
        sums = accumulate(
            pairs, lambda after, atom: (after[0] + atom[0], after[1] + atom[1]), initial=(0, 0)
        )
        return [ratio for ratio, _ in self.right], list(sums)[::-1]

    @cached_property
    def _floats(self) -> list[tuple[Float, Float, Float]]:
        """Of both lists the logarithms of the ratios, and the masses under both answers, in
        floats.
        """
        lists = []
        for part in (self.left, self.right):
            logs, masses = np.array([(log(r) - log(UNIT), p / UNIT) for r, p in part]).T
            with np.errstate(over="ignore", under="ignore"):
                lists.append((logs, masses, masses * np.exp(-logs)))
        return lists

    def above(self, levels: Float) -> tuple[Float, Float]:
        """Masses under both answers of the atoms with a logarithm of the ratio above some levels,
        in floats.
        """
        left, right = self._floats
        where = np.searchsorted(right[0], levels[:, None] - left[0], side="right")
        first, second = (
            np.append(np.cumsum(masses[::-1])[::-1], 0.0)[where] for masses in right[1:]
        )
        return first @ left[1], second @ left[2]

    def levels(self) -> Float:
        """Logarithms between the ratios of the atoms, or some of them, descending."""
        left, right = (part[0] for part in self._floats)
        if len(left) * len(right) > 8 * MAX_PRODUCTS:
            return np.linspace(left[0] + right[0] - 1e-12, left[-1] + right[-1], MAX_LEVELS)[::-1]
        each = np.unique((left[:, None] + right).ravel().round(11))[::-1]
        each = each[:: -(-len(each) // (10 * MAX_LEVELS))]
        return np.append(each - 1e-10, each[-1] - 1)

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess is about the limit, without proof."""
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            mass, other = (values[0] for values in self.above(np.array([middle])))
            low, high = (middle, high) if mass - exp(middle) * other > limit else (low, middle)
        return high


def product(questions: Questions, *, is_upper: bool) -> Product:
    """The product of losses, each with its number of repetitions."""
    certain = 1 - prod(
        ((1 - loss.certain) ** times for loss, times in questions), start=Fraction(1)
    )
    questions = [(loss, times) for loss, times in questions if times and loss.ratios]
    try:
        halves = _listed(questions, up=is_upper)
    except _TooManyAtomsError:
        halves = [(UNIT, UNIT)], _on_powers(questions, up=is_upper)
    return Product(*halves, certain, is_upper)


def _listed(questions: Questions, *, up: bool) -> tuple[Atoms, Atoms]:
    """Atoms of two halves of the questions."""
    halves = [[(UNIT, UNIT)], [(UNIT, UNIT)]]
    multiply = partial(_products, up=up)
    for loss, times in sorted(questions, key=lambda question: -question[1]):
        atoms = [
            (scaled(r, up=up), scaled(p, up=up))
            for r, p in zip(loss.ratios, loss.masses, strict=True)
        ]
        for factor in [power(atoms, times // 2, multiply)] * 2 * (times > 1) + [atoms] * (
            times % 2
        ):
            smaller = len(halves[0]) > len(halves[1])
            halves[smaller] = multiply(halves[smaller], factor)
    return halves[0], halves[1]


def _products(left: Atoms, right: Atoms, *, up: bool) -> Atoms:
    """Products of atoms; close ratios are raised to the largest of them, or lowered to the
    smallest.
    """
    if len(left) * len(right) > MAX_PRODUCTS:
        raise _TooManyAtomsError
    pairs = (
        (rounded(r * s, UNIT, up=up), rounded(p * q, UNIT, up=up))
        for r, p in left
        for s, q in right
    )
    merged: Atoms = []
    for ratio, mass in sorted(pairs, reverse=up):
        if merged and abs(ratio - merged[-1][0]) <= merged[-1][0] >> CLOSE:
            merged[-1] = (merged[-1][0], merged[-1][1] + mass)
        elif ratio and mass:
            merged.append((ratio, mass))
    return merged[::-1] if up else merged


def _on_powers(questions: Questions, *, up: bool) -> Atoms:
    """Atoms of the product after masses are moved to powers of one number, below times a number
    under 1.
    """
    base = _base(questions)
    slack = Fraction(1) if up else 1 - Fraction(1, 1 << 44)
    least = 0
    masses = [UNIT]
    multiply = partial(multiplied, up=up)
    for loss, times in questions:
        first, coefficients = _moved(loss, base, slack, up=up)
        least, masses = (
            least + first * times,
            multiply(masses, power(coefficients, times, multiply)),
        )
    ratios = _powers(base, least, least + len(masses), up=up)
    shift = scaled(slack ** sum(times for _, times in questions), up=up)
    shifted = (rounded(ratio * shift, UNIT, up=up) for ratio in ratios)
    return [(ratio, mass) for ratio, mass in zip(shifted, masses, strict=True) if ratio and mass]


def _base(questions: Questions) -> Fraction:
    """A number of which all ratios are about powers, if there is one, or else a small one."""
    logs = [abs(log(ratio)) for loss, _ in questions for ratio in loss.ratios]
    width = sum(times * (log(loss.ratios[-1]) - log(loss.ratios[0])) for loss, times in questions)
    finest = max(logs) * MAX_POWERS / width
    for count in range(1, min(9, floor(finest) + 1)):
        parts = np.array(logs) * count / max(logs)
        if np.abs(parts - parts.round()).max() < 1e-9:
            return Fraction(exp(max(logs) / count))
    return Fraction(exp(max(logs) / finest))


def _moved(
    loss: PrivacyLoss, base: Fraction, slack: Fraction, *, up: bool
) -> tuple[int, list[int]]:
    """Masses of a loss on powers of a number, and the first exponent."""
    # Above, a mass is split between two powers with its sum under both answers; below, the lower
    # power has all.
    first = floor(log(loss.ratios[0]) / log(base)) - 1
    last = floor(log(loss.ratios[-1]) / log(base)) + 3
    over, under = slack.as_integer_ratio()
    points = [
        rounded(point * over, under, up=not up) for point in _powers(base, first, last, up=not up)
    ]
    moved = [0] * len(points)
    for ratio, mass in zip(loss.ratios, loss.masses, strict=True):
        r = scaled(ratio, up=up)
        p = scaled(mass, up=up)
        k = bisect_right(points, r) - 1
        raised = (
            rounded(p * (r - points[k]) * points[k + 1], r * (points[k + 1] - points[k]), up=True)
            if up
            else 0
        )
        moved[k] += p - raised
        moved[k + 1] += raised
    return first, moved


def _powers(base: Fraction, first: int, last: int, *, up: bool) -> list[int]:
    """Powers of a number for exponents from ``first`` to before ``last``, in fixed point."""
    below = [UNIT]
    above = [UNIT]
    over, under = base.as_integer_ratio()
    for _ in range(first, 0):
        below.append(rounded(below[-1] * under, over, up=up))
    for _ in range(1, last):
        above.append(rounded(above[-1] * over, under, up=up))
    powers = [*below[:0:-1], *above]
    start = min(first, 0)
    return powers[first - start : last - start]


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
    return [rounded(value, UNIT, up=up) for value in convolved(left, right, WIDTH)]


def convolved(left: list[int], right: list[int], width: int) -> list[int]:
    """Coefficients of the product of two polynomials, of at most ``width`` digits, by one product
    of long decimals.
    """
    texts = ("".join(f"{value:0{width}d}" for value in reversed(part)) for part in (left, right))
    count = len(left) + len(right) - 1
    digits = str(MULTIPLY(*map(Decimal, texts))).zfill(width * count)
    return [
        int(digits[max(end - width, 0) : end])
        for end in range(len(digits), len(digits) - width * count, -width)
    ]


def rounded(number: int, unit: int, *, up: bool) -> int:
    """A quotient of integers, rounded up or down."""
    return -(-number // unit) if up else number // unit


def scaled(value: Fraction, *, up: bool) -> int:
    """A number in fixed point."""
    return rounded(value.numerator << BITS, value.denominator, up=up)
