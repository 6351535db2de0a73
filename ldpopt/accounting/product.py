r"""Products of laws: the excess of all reports together, in integers rounded in one direction.

The excess of a product is :math:`\sum p \max(1 - a / r, 0)` over its atoms, whose masses and ratios are products. It
rises with every mass and every ratio, so that rounding all of them up bounds it from above, and down from below.

Three ways to add up the atoms: all ratios are powers of one (a lattice), and masses are multiplied as polynomials; few
atoms, listed as two halves and compared by their ratios; many, moved to a fine lattice first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb, exp, factorial, log, prod

import numpy as np

from ldpopt.accounting.law import Law, regrouped
from ldpopt.foundation.numbers import Float

BITS = 512  # of masses and of ratios in fixed point: a delta of 1e-100 keeps 50 digits
UNIT = 1 << BITS

MAX_LEVELS = 200  # of the tests of a product that is not listed
MAX_ATOMS = 60_000  # of a half of the product that is listed
MAX_POWERS = 1 << 14  # of a fine lattice
MAX_SLACK = 1e-11  # relative error of all ratios together that a lattice may have

NEAR = UNIT - UNIT // 10**10  # a ratio that is a smaller share of its power counts as the power before

Questions = Sequence[tuple[Law, int]]


@dataclass(frozen=True)
class Atoms:
    """Atoms in floats, the products of two lists: for numbers that need no proof, and to find where to prove."""

    left: Float  # logarithms of ratios
    left_mass: Float
    right: Float  # ascending
    right_mass: Float

    def above(self, level: float) -> tuple[float, float]:
        """Mass of the atoms with a logarithm of the ratio above a level, and that under the other answer."""
        where = np.searchsorted(self.right, level - self.left, side="right")
        return tuple(float(weight @ sums[where]) for weight, sums in self._sums)  # type: ignore[return-value]

    @cached_property
    def _sums(self) -> list[tuple[Float, Float]]:
        """For both answers the masses of the left list, and the sums of the right list from each atom on."""
        with np.errstate(over="ignore", under="ignore"):
            parts = [(self.left_mass, self.right_mass)]
            parts.append((self.left_mass * np.exp(-self.left), self.right_mass * np.exp(-self.right)))
        return [(left, np.append(np.cumsum(right[::-1])[::-1], 0.0)) for left, right in parts]

    def levels(self) -> Float:
        """Levels between the atoms, or some of them, descending."""
        if len(self.left) == 1:
            each = np.unique((self.left[:, None] + self.right).ravel().round(11))[::-1]
            return np.append(each - 1e-10, each[-1] - 1)
        ends = self.left.min() + self.right[0] - 1e-12, self.left.max() + self.right[-1]
        return np.linspace(*ends, MAX_LEVELS)[::-1]

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess of the atoms is about the limit."""
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            mass, other = self.above(middle)
            low, high = (middle, high) if mass - exp(middle) * other > limit else (low, middle)
        return high


def atoms_of_law(law: Law) -> Atoms:
    """The atoms of a law in floats."""
    values = np.array([log(r) for r in law.ratios]), np.array([float(p) for p in law.masses])
    return Atoms(np.zeros(1), np.ones(1), *values)


@dataclass(frozen=True)
class Lattice:
    r"""Masses, rounded, at the ratios :math:`s g^i` for consecutive exponents."""

    base: Fraction
    slack: Fraction
    least: int  # exponent of the first mass
    masses: tuple[int, ...]  # in units of 2**-512
    certain: Fraction
    is_upper: bool

    def excess(self, a: Fraction) -> Fraction:
        """Excess at ``a``, rounded as the masses."""
        first = self.slack * self.base**self.least
        # 1 / ratio in fixed point: rounded down makes the excess larger
        inverse, step = (scaled(1 / number, up=not self.is_upper) for number in (first, self.base))
        total = 0
        for p in self.masses:
            share = UNIT - rounded(a.numerator * inverse, a.denominator, up=not self.is_upper)
            if share > 0:
                total += rounded(p * share, UNIT, up=self.is_upper)
            inverse = rounded(inverse * step, UNIT, up=not self.is_upper)
        return self.certain + Fraction(total, UNIT)

    @cached_property
    def floats(self) -> Atoms:
        """Logarithms of the ratios, and masses, in floats."""
        powers = np.arange(self.least, self.least + len(self.masses), dtype=float)
        return Atoms(
            np.zeros(1),
            np.ones(1),
            log(self.slack) + log(self.base) * powers,
            np.array([float(Fraction(p, UNIT)) for p in self.masses]),
        )


@dataclass(frozen=True)
class Halves:
    """Two lists of atoms, by ascending ratio, whose products are the atoms of the product."""

    left: tuple[tuple[int, int], ...]  # ratio and mass in fixed point
    ratios: tuple[int, ...]
    sums: tuple[tuple[int, int], ...]  # of masses and of masses over ratios of the right half, from each atom on
    certain: Fraction
    is_upper: bool

    def excess(self, a: Fraction) -> Fraction:
        """Excess at ``a``, rounded as the atoms."""
        total, (number, count) = 0, (a.numerator, a.denominator)
        for ratio, mass in self.left:
            masses, others = self.sums[self._first_above(a, ratio)]
            part = masses * count * ratio - number * UNIT * others  # (masses - a / ratio * others) * count * ratio
            total += rounded(mass * part, count * ratio, up=self.is_upper)
        return self.certain + Fraction(total, UNIT * UNIT)

    def _first_above(self, a: Fraction, ratio: int) -> int:
        """Position of the first ratio r of the right half with ``ratio * r > a``."""
        return bisect_right(self.ratios, a.numerator * UNIT * UNIT // (a.denominator * ratio))

    @cached_property
    def floats(self) -> Atoms:
        """Logarithms of the ratios, and masses, in floats."""
        left, masses = zip(*self.left, strict=True)
        right = [above[0] - rest[0] for above, rest in pairwise(self.sums)]
        logs = (np.array([log(Fraction(r, UNIT)) for r in part]) for part in (left, self.ratios))
        values = (np.array([float(Fraction(p, UNIT)) for p in part]) for part in (masses, right))
        (first, second), (p, q) = logs, values
        return Atoms(first, p, second, q)


Product = Lattice | Halves


def product(questions: Questions, *, is_upper: bool) -> Product:
    """The product of laws, each with its number of repetitions."""
    certain = 1 - prod(((1 - law.certain) ** times for law, times in questions), start=Fraction(1))
    questions = [(law, times) for law, times in questions if times and law.ratios]
    base = _common_base(questions)
    if base is not None:
        found = _lattice(questions, base, certain, is_upper=is_upper)
        if abs(float(found.slack) - 1) < MAX_SLACK:
            return found
    halves = _split(questions)
    if halves is not None:
        return _halves(*halves, certain, is_upper=is_upper)
    width = sum(times * (log(law.ratios[-1]) - log(law.ratios[0])) for law, times in questions)
    base = Fraction(exp(width / MAX_POWERS))
    if is_upper:
        moved = {id(law): _on_lattice(law, base) for law, _ in questions}
        questions = [(moved[id(law)], times) for law, times in questions]
    return _lattice(questions, base, certain, is_upper=is_upper)


def _common_base(questions: Questions) -> Fraction | None:
    """A number of which all ratios are powers, up to rounding, if there is one with few powers."""
    logs = sorted({abs(log(r)) for law, _ in questions for r in law.ratios})
    logs = [value for value in logs if value > 1e-9]
    if not logs:
        return Fraction(2)
    width = sum(times * (log(law.ratios[-1]) - log(law.ratios[0])) for law, times in questions)
    for divisor in range(1, 9):
        unit = logs[0] / divisor
        unit = logs[-1] / round(logs[-1] / unit)  # the largest ratio fixes the base best
        if width / unit <= MAX_POWERS and all(abs(value / unit - round(value / unit)) < 1e-9 for value in logs):
            return Fraction(exp(unit))
    return None


def _on_lattice(law: Law, base: Fraction) -> Law:
    """An upper law with atoms near powers of a number, from one below its ratios to one above all of them."""
    unit = log(base)
    exponents = range(int(log(law.ratios[0]) // unit), int(log(law.ratios[-1]) // unit) + 3)
    return regrouped(law, [Fraction(exp(unit * k)) for k in exponents])


def _lattice(questions: Questions, base: Fraction, certain: Fraction, *, is_upper: bool) -> Lattice:
    """The product on the powers of a number; a slack covers the distance of the ratios from the powers."""
    unit, slack, least, masses = log(base), Fraction(1), 0, [UNIT]
    for law, times in questions:
        exponents = [round(log(r) / unit) for r in law.ratios]
        first, last = min(exponents) - 1, max(exponents)
        known = _powers(base, range(first, last + 1), up=not is_upper)
        distances = [_over(r, known[k - first], up=is_upper) for k, r in zip(exponents, law.ratios, strict=True)]
        if not is_upper:  # a ratio far below its power would move all others down
            exponents = [k - (d < NEAR) for k, d in zip(exponents, distances, strict=True)]
            distances = [_over(r, known[k - first], up=False) for k, r in zip(exponents, law.ratios, strict=True)]
        own = Fraction(max(distances) if is_upper else min(distances), UNIT)
        slack = _shortened(slack * _shortened(own, up=is_upper) ** times, up=is_upper)
        first = min(exponents)
        powers = [0] * (max(exponents) - first + 1)
        for k, p in zip(exponents, law.masses, strict=True):
            powers[k - first] += scaled(p, up=is_upper)
        least += first * times
        masses = multiplied(masses, power(powers, times, up=is_upper), up=is_upper)
    return Lattice(base, slack, least, tuple(masses), certain, is_upper)


def _powers(base: Fraction, exponents: range, *, up: bool) -> list[int]:
    """Powers of a number for consecutive exponents, in fixed point."""
    found = [scaled(base ** exponents[0], up=up)]
    for _ in exponents[1:]:
        found.append(rounded(found[-1] * base.numerator, base.denominator, up=up))
    return found


def _over(value: Fraction, power: int, *, up: bool) -> int:
    """A number over a power, both results in fixed point."""
    return rounded(value.numerator << 2 * BITS, value.denominator * power, up=up)


def power(values: list[int], times: int, *, up: bool) -> list[int]:
    """Power of a polynomial with coefficients in fixed point."""
    found = [UNIT]
    while times:
        if times & 1:
            found = multiplied(found, values, up=up)
        times >>= 1
        if times:
            values = multiplied(values, values, up=up)
    return found


def multiplied(left: list[int], right: list[int], *, up: bool) -> list[int]:
    """Product of two polynomials with coefficients in fixed point, by one product of long integers."""
    size = (2 * BITS + 64) // 8
    joined = (int.from_bytes(b"".join(v.to_bytes(size, "little") for v in part), "little") for part in (left, right))
    count = len(left) + len(right) - 1
    digits = prod(joined).to_bytes(size * (count + 1), "little")
    found = (int.from_bytes(digits[size * k : size * (k + 1)], "little") for k in range(count))
    return [rounded(value, UNIT, up=up) for value in found]


def _split(questions: Questions) -> tuple[Questions, Questions] | None:
    """Two halves with few atoms each, if there are such."""
    halves: tuple[list[tuple[Law, int]], list[tuple[Law, int]]] = ([], [])
    counts = [1, 1]
    for law, times in sorted(questions, key=lambda one: -one[1]):
        smaller = 0 if counts[0] <= counts[1] else 1
        for half, own in ((smaller, times - times // 2), (1 - smaller, times // 2)):
            if own:
                halves[half].append((law, own))
                counts[half] *= comb(own + len(law.ratios) - 1, own)
    return halves if max(counts) <= MAX_ATOMS else None


def _halves(left: Questions, right: Questions, certain: Fraction, *, is_upper: bool) -> Halves:
    """Atoms of both halves, by ratio."""
    first, second = (sorted(_atoms(part, up=is_upper)) for part in (left, right))
    sums, masses, others = [(0, 0)], 0, 0
    for ratio, mass in reversed(second):
        masses, others = masses + mass, others + rounded(mass * UNIT, ratio, up=not is_upper)
        sums.append((masses, others))
    return Halves(tuple(first), tuple(ratio for ratio, _ in second), tuple(reversed(sums)), certain, is_upper)


def _atoms(questions: Questions, *, up: bool) -> list[tuple[int, int]]:
    """Ratios and masses, in fixed point, of all atoms of a product."""
    found = [(UNIT, UNIT)]
    for law, times in questions:
        own = []
        for numbers in _compositions(times, len(law.ratios)):
            ways = factorial(times) // prod(map(factorial, numbers))
            ratio = prod((r**k for r, k in zip(law.ratios, numbers, strict=True)), start=Fraction(1))
            mass = prod((p**k for p, k in zip(law.masses, numbers, strict=True)), start=Fraction(ways))
            own.append((scaled(ratio, up=up), scaled(mass, up=up)))
        found = [
            (rounded(r * ratio, UNIT, up=up), rounded(p * mass, UNIT, up=up)) for r, p in found for ratio, mass in own
        ]
    return found


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write a number as a sum of so many non-negative ones."""
    if parts == 1:
        return [(total,)]
    return [(k, *rest) for k in range(total + 1) for rest in _compositions(total - k, parts - 1)]


def rounded(number: int, unit: int, *, up: bool) -> int:
    return -(-number // unit) if up else number // unit


def scaled(value: Fraction, *, up: bool) -> int:
    """A number in fixed point."""
    return rounded(value.numerator << BITS, value.denominator, up=up)


def _shortened(value: Fraction, *, up: bool) -> Fraction:
    """A number near 1 to 128 bits."""
    return Fraction(rounded(value.numerator << 128, value.denominator, up=up), 1 << 128)
