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
from math import exp, floor, log, prod
from typing import TypeVar

import numpy as np

from ldpopt.accounting.losses import PrivacyLoss
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
    """Two lists of atoms, whose products are the atoms of all reports.

    Of ``k`` and ``l`` atoms the ``k l`` products are never listed: for each atom of the left list,
    those of the right list above a ratio are sums that are known, so that an excess takes ``k log
    l`` steps.
    """

    left: Atoms
    right: Atoms
    certain: Fraction
    is_upper: bool

    def excess(self, a: Fraction) -> Fraction:
        """Excess at ``a``, rounded as the atoms."""
        mass = 0  # under the one answer
        other = 0  # under the other answer
        ratios, sums = self._tails
        over = a.numerator * UNIT * UNIT
        under = a.denominator
        for ratio, p in self.left:
            # the product of two ratios is above a
            place = bisect_right(ratios, over // (under * ratio))
            first, second = sums[place]
            mass += p * first
            # the excess falls with the other mass: it is rounded against the direction
            other += rounded(p * second * UNIT, ratio, up=not self.is_upper)
        excess = under * mass - a.numerator * other
        return self.certain + Fraction(excess, under * UNIT * UNIT)

    @cached_property
    def _tails(self) -> tuple[list[int], Atoms]:
        """Ratios of the right list, and its masses under both answers from each atom on."""
        mass = 0
        other = 0
        sums = [(mass, other)]
        for ratio, p in reversed(self.right):
            mass += p
            other += rounded(p * UNIT, ratio, up=not self.is_upper)
            sums.append((mass, other))
        return [ratio for ratio, _ in self.right], sums[::-1]

    @cached_property
    def _floats(self) -> list[tuple[Float, Float, Float]]:
        """Of both lists the logarithms of the ratios, and the masses under both answers, in
        floats.
        """
        lists = []
        for part in (self.left, self.right):
            pairs = [(log(r) - log(UNIT), p / UNIT) for r, p in part]
            logs, masses = np.array(pairs).reshape(-1, 2).T
            with np.errstate(over="ignore", under="ignore"):
                others = masses * np.exp(-logs)
            lists.append((logs, masses, others))
        return lists

    def above(self, levels: Float) -> tuple[Float, Float]:
        """Masses under both answers of the atoms with a logarithm of the ratio above some levels,
        in floats.
        """
        left_logs, left_masses, left_others = self._floats[0]
        logs, masses, others = self._floats[1]
        places = np.searchsorted(logs, levels[:, None] - left_logs, side="right")
        mass_above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        other_above = np.append(np.cumsum(others[::-1])[::-1], 0.0)
        return mass_above[places] @ left_masses, other_above[places] @ left_others

    def levels(self) -> Float:
        """Logarithms between the ratios of the atoms, or some of them, descending."""
        left = self._floats[0][0]
        right = self._floats[1][0]
        if not (len(left) and len(right)):
            return left
        if len(left) * len(right) > 8 * MAX_PRODUCTS:
            lowest = left[0] + right[0] - 1e-12
            highest = left[-1] + right[-1]
            return np.linspace(lowest, highest, MAX_LEVELS)[::-1]
        logs = np.unique((left[:, None] + right).ravel().round(11))[::-1]
        step = -(-len(logs) // (10 * MAX_LEVELS))
        logs = logs[::step]
        # just below each ratio, and below all of them
        return np.append(logs - 1e-10, logs[-1] - 1)

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess is about the limit, without proof."""
        low = 0.0
        high = most
        for _ in range(60):
            middle = (low + high) / 2
            masses, others = self.above(np.array([middle]))
            is_low = masses[0] - exp(middle) * others[0] > limit
            low, high = (middle, high) if is_low else (low, middle)
        return high


def product(questions: Questions, *, is_upper: bool) -> Product:
    """The product of losses, each with its number of repetitions."""
    # no report is impossible under the other answer with the product of these probabilities
    possible = ((1 - loss.certain) ** times for loss, times in questions)
    certain = 1 - prod(possible, start=Fraction(1))
    questions = [(loss, times) for loss, times in questions if times]
    if not all(loss.ratios for loss, _ in questions):
        return Product([], [], certain, is_upper)  # every report to one of them is certain
    try:
        left, right = _listed(questions, up=is_upper)
    except _TooManyAtomsError:
        left = [(UNIT, UNIT)]
        right = _on_powers(questions, up=is_upper)
    return Product(left, right, certain, is_upper)


def _listed(questions: Questions, *, up: bool) -> tuple[Atoms, Atoms]:
    """Atoms of two halves of the questions."""
    halves = [[(UNIT, UNIT)], [(UNIT, UNIT)]]
    multiply = partial(_products, up=up)
    for loss, times in sorted(questions, key=lambda question: -question[1]):
        atoms = [
            (scaled(ratio, up=up), scaled(mass, up=up))
            for ratio, mass in zip(loss.ratios, loss.masses, strict=True)
        ]
        # both halves get half of the repetitions, and the shorter one that is left over
        factors = []
        if times > 1:
            factors += [power(atoms, times // 2, multiply)] * 2
        if times % 2:
            factors.append(atoms)
        for factor in factors:
            shorter = len(halves[0]) > len(halves[1])
            halves[shorter] = multiply(halves[shorter], factor)
    return halves[0], halves[1]


def _products(left: Atoms, right: Atoms, *, up: bool) -> Atoms:
    """Products of atoms; close ratios are raised to the largest of them, or lowered to the
    smallest.
    """
    if len(left) * len(right) > MAX_PRODUCTS:
        raise _TooManyAtomsError
    pairs = []
    for r, p in left:
        for s, q in right:
            ratio = rounded(r * s, UNIT, up=up)
            mass = rounded(p * q, UNIT, up=up)
            pairs.append((ratio, mass))
    pairs.sort(reverse=up)
    merged: Atoms = []
    # descending if rounded up, so that the first of close ratios is the largest
    for ratio, mass in pairs:
        last, sum_of_masses = merged[-1] if merged else (0, 0)
        if merged and abs(ratio - last) <= last >> CLOSE:
            merged[-1] = (last, sum_of_masses + mass)
        elif ratio and mass:
            merged.append((ratio, mass))
    return merged[::-1] if up else merged


def _on_powers(questions: Questions, *, up: bool) -> Atoms:
    """Atoms of the product after masses are moved to powers of one number, below times a number
    under 1.
    """
    base = _base(questions)
    # below, powers are lowered a little, so that rounding of the base cannot raise a ratio
    slack = Fraction(1) if up else 1 - Fraction(1, 1 << 44)
    least = 0
    masses = [UNIT]
    multiply = partial(multiplied, up=up)
    for loss, times in questions:
        first, coefficients = _moved(loss, base, slack, up=up)
        least += first * times
        masses = multiply(masses, power(coefficients, times, multiply))
    ratios = _powers(base, least, least + len(masses), up=up)
    shift = scaled(slack ** sum(times for _, times in questions), up=up)
    atoms = []
    for power_of_base, mass in zip(ratios, masses, strict=True):
        ratio = rounded(power_of_base * shift, UNIT, up=up)
        if ratio and mass:
            atoms.append((ratio, mass))
    return atoms


def _base(questions: Questions) -> Fraction:
    """A number of which all ratios are about powers, if there is one, or else a small one."""
    logs = [abs(log(ratio)) for loss, _ in questions for ratio in loss.ratios]
    largest = max(logs)
    width = sum(times * (log(loss.ratios[-1]) - log(loss.ratios[0])) for loss, times in questions)
    finest = largest * MAX_POWERS / width
    for count in range(1, min(9, floor(finest) + 1)):
        parts = np.array(logs) * count / largest
        if np.abs(parts - parts.round()).max() < 1e-9:
            return Fraction(exp(largest / count))
    return Fraction(exp(largest / finest))


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
        raised = 0
        if up:
            # p = u + v and p / r = u / s + v / t between s <= r <= t: v = p (r - s) t / (r (t - s))
            s = points[k]
            t = points[k + 1]
            raised = rounded(p * (r - s) * t, r * (t - s), up=True)
        moved[k] += p - raised
        moved[k + 1] += raised
    return first, moved


def _powers(base: Fraction, first: int, last: int, *, up: bool) -> list[int]:
    """Powers of a number for exponents from ``first`` to before ``last``, in fixed point."""
    over, under = base.as_integer_ratio()
    below = [UNIT]
    for _ in range(first, 0):
        smaller = rounded(below[-1] * under, over, up=up)
        below.append(smaller)
    above = [UNIT]
    for _ in range(1, last):
        larger = rounded(above[-1] * over, under, up=up)
        above.append(larger)
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
    products = convolved(left, right, WIDTH)
    return [rounded(value, UNIT, up=up) for value in products]


def convolved(left: list[int], right: list[int], width: int) -> list[int]:
    """Coefficients of the product of two polynomials, of at most ``width`` digits, by one product
    of long decimals.
    """
    # Kronecker's substitution: a coefficient has its own digits, as no product reaches the next
    first, second = (
        Decimal("".join(f"{value:0{width}d}" for value in reversed(part))) for part in (left, right)
    )
    count = len(left) + len(right) - 1
    digits = str(MULTIPLY(first, second)).zfill(width * count)
    ends = range(len(digits), len(digits) - width * count, -width)
    return [int(digits[max(end - width, 0) : end]) for end in ends]


def rounded(number: int, unit: int, *, up: bool) -> int:
    """A quotient of integers, rounded up or down."""
    return -(-number // unit) if up else number // unit


def scaled(value: Fraction, *, up: bool) -> int:
    """A number in fixed point."""
    return rounded(value.numerator << BITS, value.denominator, up=up)
