r"""The curve of the best strategy between two bounds, in integers.

.. math:: H(a) = \max_{x, x'} \sum_y P_{xy} H'(a P_{x'y} / P_{xy})

On both sides the curve is a list of lines ``M - a Q``, each between two points. Above, it is taken
at the points, and the lines are chords, above a convex curve. Below, each line is the test that one
strategy makes: of mass at least ``M`` under the first answers, and at most ``Q`` under the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from ldpopt.accounting.choices import PairChoice, Parts
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.strategy_points import START, FloatLoss, FloatParts, FloatTable, next_table
from ldpopt.foundation.numbers import Float, Int

BITS = 128  # of a mass of a line
PLACES = 512  # bits of the atoms of a loss
UNIT = 1 << PLACES
ONE = 1 << BITS
FINE = 192  # bits of a mass of a report that is no integer over 2**53
NEAR = 2.0**-45  # a place may be on the other side of a point that is as near, in floats

Integers = Any  # arrays of Python's integers


def rounded(values: Integers, bits: Any, *, up: bool) -> Integers:
    """Integers without their last bits."""
    return -(-values >> bits) if up else values >> bits


@dataclass(frozen=True, eq=False)
class Loss:
    """One choice in integers over ``2**bits``: masses under both answers, rounded one way."""

    first: list[int]
    second: list[int]
    ratios: list[float]  # of the second mass to the first one, in floats
    certain: int

    @classmethod
    def of(cls, choice: PairChoice, weight: Fraction, bits: int, *, up: bool) -> "Loss":
        """The bound of a choice, above or below, with its weight."""
        loss = choice.upper if up else choice.lower
        over = ceil if up else floor
        under = floor if up else ceil
        unit = weight * (1 << bits)
        atoms = list(zip(loss.ratios, loss.masses, strict=True))
        return cls(
            [over(p * unit) for _, p in atoms],
            [under(p / r * unit) for r, p in atoms],
            [float(1 / r) for r, _ in atoms],
            over(loss.certain * unit),
        )


@dataclass(frozen=True, eq=False)
class AskedQuestion:
    """The choices of a question, for both bounds."""

    parts: Parts

    @cached_property
    def bits(self) -> int:
        """Bits of the integers that hold the masses under both answers: 53 if these are exact, as
        those of a listed channel are.
        """
        is_plain = all(
            (p * weight * (1 << 53)).denominator == 1
            and (p * weight / r * (1 << 53)).denominator == 1
            for weight, choices in self.parts
            for choice in choices
            for loss in (choice.upper, choice.lower)
            for r, p in zip(loss.ratios, loss.masses, strict=True)
        )
        return 53 if is_plain else FINE

    @cached_property
    def floats(self) -> FloatParts:
        """The upper losses of the choices in floats."""
        return [
            [FloatLoss.of(choice.upper, float(weight)) for choice in choices]
            for weight, choices in self.parts
        ]

    def losses(self, *, up: bool) -> list[list[Loss]]:
        """The choices of each part, in integers."""
        return self._upper if up else self._lower

    @cached_property
    def _upper(self) -> list[list[Loss]]:
        return self._losses(up=True)

    @cached_property
    def _lower(self) -> list[list[Loss]]:
        return self._losses(up=False)

    def _losses(self, *, up: bool) -> list[list[Loss]]:
        return [
            [Loss.of(choice, weight, self.bits, up=up) for choice in choices]
            for weight, choices in self.parts
        ]


@dataclass(frozen=True, eq=False)
class Lines:
    """A line for every interval between points, before the first one and after the last.

    ``M`` is an integer over ``2**128``, ``Q`` over ``2**(128 + shift)``.
    """

    points: Float
    first: Integers  # M, one more than points
    second: Integers  # Q
    shift: int


class KnownTable(NamedTuple):
    """What is known of one table: its points in floats, and both bounds."""

    table: FloatTable
    upper: Lines
    lower: Lines


Next = Sequence[tuple[AskedQuestion, KnownTable]]  # what may be asked, and what is left then


def start(shift: int) -> KnownTable:
    """The lines of no report: 1 - a up to 1, and 0."""
    first = np.array([ONE, 0], object)
    second = np.array([ONE << shift, 0], object)
    lines = Lines(START.points, first, second, shift)
    return KnownTable(START, lines, lines)


def next_known(following: Next, most: int) -> KnownTable:
    """The table before one more report, with at most so many points."""
    table = next_table([(question.floats, known.table) for question, known in following], most)
    return KnownTable(
        table, _upper_lines(following, table.points), _lower_lines(following, table.points)
    )


def _upper_lines(following: Next, points: Float) -> Lines:
    """Chords between points, above the curve before one more report."""
    shift = following[0][1].upper.shift
    x = _Exact.of(points, shift)
    best = np.zeros(len(points), object)
    for question, (_, lines, _) in following:
        total = 0
        for choices in question.losses(up=True):
            total = total + _largest([_value(loss, lines, x) for loss in choices])
        best = np.maximum(best, rounded(total, question.bits, up=True))
    # the curve falls, and is at most 1
    values = np.minimum.accumulate(np.minimum(best, ONE))
    return _chords(x, values, shift)


def _largest(values: list[Integers]) -> Integers:
    """The largest of some arrays at each place."""
    largest = values[0]
    for each in values[1:]:
        largest = np.maximum(largest, each)
    return largest


@dataclass(frozen=True, eq=False)
class _Exact:
    """Floats, and the same as integers times powers of two."""

    floats: Float
    integers: Integers
    exponents: Integers
    shifts: Integers  # of a product with a mass under the other answers

    @classmethod
    def of(cls, points: Float, shift: int) -> "_Exact":
        """The parts of floats."""
        mantissas, exponents = np.frexp(points)
        integers = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
        exponents = exponents.astype(np.int64) - 53
        return cls(points, integers, exponents.astype(object), (shift - exponents).astype(object))


def _value(loss: Loss, lines: Lines, x: _Exact) -> Integers:
    """Upper bound at points of what a choice reveals, over ``2**(128 + bits)``."""
    total = np.full(len(x.floats), loss.certain << BITS, object)
    for p, q, ratio in zip(loss.first, loss.second, loss.ratios, strict=True):
        place = x.floats * ratio
        low = np.searchsorted(lines.points, place * (1 - NEAR))
        high = np.searchsorted(lines.points, place * (1 + NEAR))
        times = x.integers * q
        term = _term(p, times, x.shifts, lines, low)
        # floats cannot tell on which side of a point the place is: the upper one of both lines
        close = np.flatnonzero(low != high)
        if len(close):
            other = _term(p, times[close], x.shifts[close], lines, high[close])
            term[close] = np.maximum(term[close], other)
        total += term
    return total


def _term(p: int, times: Integers, shifts: Integers, lines: Lines, k: Int) -> Integers:
    """The values ``p M - x q Q`` of some lines, rounded up."""
    return p * lines.first[k] - (times * lines.second[k] >> shifts)


def _chords(x: _Exact, values: Integers, shift: int) -> Lines:
    """The lines through values at points, 1 at 0, rounded up."""
    before = np.append(0, x.integers[:-1])
    exponents = np.append(x.exponents[0], x.exponents[:-1])
    heights = np.append(ONE, values[:-1])
    width = (x.integers << x.exponents - exponents) - before
    slopes = (heights - values << shift - exponents) // width
    starts = heights + rounded(before * slopes, shift - exponents, up=True)
    return Lines(x.floats, np.append(starts, values[-1]), np.append(slopes, 0), shift)


def _lower_lines(following: Next, points: Float) -> Lines:
    """One test between any two points, of the strategy that is the best one in floats.

    Each test is exact, whatever the floats choose: a worse choice only gives a lower bound.
    """
    # the geometric mean of two points, without underflow of their product
    inner = np.sqrt(points[1:]) * np.sqrt(points[:-1])
    middle = np.concatenate([points[:1] / 2, inner, points[-1:] * 2])
    first = np.zeros(len(middle), object)
    second = np.zeros(len(middle), object)
    totals = []  # for each question its value at each of ``middle``
    chosen = []  # for each question and part the number of the best choice there
    for question, (table, _, _) in following:
        values = [
            np.stack([loss.values(middle, table) for loss in choices])
            for choices in question.floats
        ]
        totals.append(sum(each.max(axis=0) for each in values))
        chosen.append([each.argmax(axis=0) for each in values])
    best = np.argmax(totals, axis=0)
    for i, (question, (_, _, lines)) in enumerate(following):
        asks = best == i
        sums = [np.zeros(len(middle), object), np.zeros(len(middle), object)]
        for choices, which in zip(question.losses(up=False), chosen[i], strict=True):
            for c, loss in enumerate(choices):
                _add_test(sums, loss, lines, middle, np.flatnonzero(asks & (which == c)))
        first[asks] = rounded(sums[0][asks], question.bits, up=False)
        second[asks] = rounded(sums[1][asks], question.bits, up=True)
    return Lines(points, first, second, following[0][1].lower.shift)


def _add_test(sums: list[Integers], loss: Loss, lines: Lines, middle: Float, at: Int) -> None:
    """Add the masses of a test under both answers, at some places."""
    first = np.full(len(at), loss.certain << BITS, object)
    second = np.zeros(len(at), object)
    for p, q, ratio in zip(loss.first, loss.second, loss.ratios, strict=True):
        k = np.searchsorted(lines.points, middle[at] * ratio)
        first += p * lines.first[k]
        second += q * lines.second[k]
    sums[0][at] += first
    sums[1][at] += second


def upper_loss(lines: Lines, odds: Fraction, certain: Fraction) -> PrivacyLoss:
    """The loss whose excess is the lower hull of an upper bound, level from the largest ratio
    on.
    """
    spare = PLACES - BITS
    corners = [(0, UNIT)]
    end = ceil(odds * UNIT)
    ends = zip(lines.points.tolist(), lines.first, lines.second, strict=False)
    for x, first, second in ends:
        a = ceil(Fraction(x) * UNIT)
        if a < end:
            value = (first << spare) - (a * second >> lines.shift + BITS)
            _add_corner(corners, a, value)
    _add_corner(corners, end, ceil(certain * UNIT))
    widths = [b - a for (a, _), (b, _) in pairwise(corners)]
    falls = [u - v for (_, u), (_, v) in pairwise(corners)]
    atoms = []
    # a bend of the excess at r by p / r is an atom (r, p); the last one is to a level line
    for i, (ratio, _) in enumerate(corners[1:]):
        width, fall = (widths[i + 1], falls[i + 1]) if i + 1 < len(widths) else (1, 0)
        bend = falls[i] * width - fall * widths[i]
        mass = -(-ratio * bend // (width * widths[i]))
        if mass:
            atoms.append((Fraction(ratio, UNIT), Fraction(mass, UNIT)))
    return PrivacyLoss.of(atoms, certain)


def _add_corner(corners: list[tuple[int, int]], a: int, value: int) -> None:
    """Add a corner to a lower hull; those on or above the line to it are left out."""
    while len(corners) > 1:
        (b, u), (c, v) = corners[-2:]
        if (v - u) * (a - b) < (value - u) * (c - b):
            break
        corners.pop()
    corners.append((a, min(value, corners[-1][1])))


def lower_loss(lines: Lines) -> PrivacyLoss:
    """The loss whose excess is the largest of the tests."""
    tests: list[tuple[int, int]] = []
    for first, second in zip(lines.first.tolist(), lines.second.tolist(), strict=True):
        _add_line(tests, first, second)
    atoms = []
    for (p, q), (first, second) in pairwise(tests):
        atoms.append((Fraction((p - first) << lines.shift, q - second), Fraction(p - first, ONE)))
    return PrivacyLoss.of(atoms, Fraction(tests[-1][0], ONE))


def _add_line(tests: list[tuple[int, int]], first: int, second: int) -> None:
    """Add a line of less slope to those that are the largest somewhere."""
    if tests and second >= tests[-1][1]:
        return
    while tests:
        p, q = tests[-1]
        if len(tests) == 1:
            if first < p:
                break
        else:
            before, slope = tests[-2]
            # the line in the middle is needed if it leaves the first one before the new one does
            if (before - p) * (q - second) < (p - first) * (slope - q):
                break
        tests.pop()
    tests.append((first, second))
