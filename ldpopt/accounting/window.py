r"""Masses of reports on levels of the privacy loss, in a window: what is far out is not kept.

The losses of the levels are ``start + j step``, integers over `GRAIN`, so that no ratio is ever
rounded: a sum of losses is exact. An upper window has for every ``a >= 0``

.. math:: \text{lost} + \sum_j m_j \max(1 - a e^{-L_j}, 0)
          \ge \text{excess of the reports at } a,

and the terms of a lower window, the masses under the second answer times ``e**L`` beside them,

.. math:: \sum_j \max(m_j - a e^{-L_j} n_j, 0) \le \text{excess of the reports at } a .

Every operation keeps its inequality, and a product of windows has that of all reports together.
Proofs: docs, "Several reports together".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar, Self

from ldpopt.accounting.integers import convolved, rounded, width_of
from ldpopt.accounting.logarithms import WHOLE, decay, growth, places_of

Atom = tuple[int, int]  # loss over `GRAIN`, mass


@dataclass(frozen=True)
class Resolution:
    """Masses are integers over ``2**bits``; at each end of a product at most ``2**-tail`` is cut.

    Excesses above ``least`` keep ten digits and more.
    """

    bits: int
    tail: int
    least: Fraction


RESOLUTIONS = (
    Resolution(128, 84, Fraction(1, 10**12)),
    Resolution(256, 200, Fraction(1, 10**45)),
    Resolution(512, 440, Fraction(0)),
)


@dataclass(frozen=True)
class Window(ABC):
    """Masses under the first answer at the losses ``start + j step``."""

    resolution: Resolution
    start: int  # over `GRAIN`
    step: int  # over `GRAIN`, positive
    masses: list[int]  # over ``2**bits``, at least one

    up: ClassVar[bool]  # the side to which numbers are rounded

    @classmethod
    @abstractmethod
    def of(cls, atoms: Sequence[Atom], step: int, resolution: Resolution) -> Self:
        """Put atoms of one report, whose numbers are rounded to the side of the window, on levels
        from the least loss on.
        """

    @abstractmethod
    def moved(self, step: int) -> Self:
        """The window on levels with another step."""

    @abstractmethod
    def doubled(self) -> Self:
        """The window on every second level: what was between two of them goes to both."""

    @abstractmethod
    def times(self, other: Self) -> Self:
        """The window of the reports of both, which have the same step."""

    @property
    def total(self) -> Fraction:
        """The side of the inequality at ``a = 0``."""
        return Fraction(sum(self.masses), 1 << self.resolution.bits)

    @abstractmethod
    def excess(self, loss: int) -> Fraction:
        """The side of the inequality at ``log a = loss`` over `GRAIN`, rounded to the side."""

    def _product(self, left: list[int], right: list[int]) -> list[int]:
        """Product of two polynomials with coefficients over ``2**bits``."""
        unit = 1 << self.resolution.bits
        products = convolved(left, right, width_of(left, right))
        return [rounded(value, unit, up=self.up) for value in products]

    def _ends(self, masses: list[int]) -> tuple[int, int]:
        """The levels that are kept: those cut at each end have at most ``2**-tail`` together, and
        one is kept.
        """
        cut = 1 << (self.resolution.bits - self.resolution.tail)
        begin = bisect_right(list(accumulate(masses)), cut)
        end = len(masses) - bisect_right(list(accumulate(reversed(masses))), cut)
        begin = min(begin, len(masses) - 1)
        return begin, max(end, begin + 1)


@dataclass(frozen=True)
class UpperWindow(Window):
    """A window whose excess is at least that of the reports."""

    lost: int = 0  # mass at ratio infinity

    up = True

    @property
    def total(self) -> Fraction:
        """The side of the inequality at ``a = 0``."""
        return Fraction(self.lost + sum(self.masses), 1 << self.resolution.bits)

    @classmethod
    def of(cls, atoms: Sequence[Atom], step: int, resolution: Resolution) -> UpperWindow:
        """Atoms on levels; see `Window.of`."""
        start = min(loss for loss, _ in atoms)
        places = places_of([loss - start for loss, _ in atoms], step, up=False)
        levels = zip(places, atoms, strict=True)
        moves = ((place, below, mass) for (place, _, below, _), (_, mass) in levels)
        return cls(resolution, start, step, _split(moves, step))

    def moved(self, step: int) -> UpperWindow:
        """The window on levels with another step; see `_split`."""
        places = places_of(range(0, self.step * len(self.masses), self.step), step, up=False)
        levels = zip(places, self.masses, strict=True)
        moves = ((place, below, mass) for (place, _, below, _), mass in levels)
        return replace(self, step=step, masses=_split(moves, step))

    def doubled(self) -> UpperWindow:
        """Every second level: with ``b = e**step`` the share ``b / (b + 1)`` goes up."""
        share = rounded(WHOLE * WHOLE, WHOLE + decay(self.step, up=False), up=True)
        raised = [rounded(mass * share, WHOLE, up=True) for mass in self.masses[1::2]]
        masses = [0] * (len(self.masses) // 2 + 1)
        for i, mass in enumerate(self.masses[::2]):
            masses[i] += mass
        for i, (mass, part) in enumerate(zip(self.masses[1::2], raised, strict=True)):
            masses[i] += mass - part
            masses[i + 1] += part
        return replace(self, step=2 * self.step, masses=masses)

    def times(self, other: UpperWindow) -> UpperWindow:
        """The reports of both: what one has lost counts with the whole mass of the other."""
        masses = self._product(self.masses, other.masses)
        begin, end = self._ends(masses)
        kept = masses[begin:end]
        kept[0] += sum(masses[:begin])
        # for the reports of a person sum to 1 at most, if not the masses that are rounded up
        lost = rounded(other.lost * sum(self.masses), 1 << self.resolution.bits, up=True)
        lost += self.lost + sum(masses[end:])
        start = self.start + other.start + begin * self.step
        return replace(self, start=start, masses=kept, lost=lost)

    def excess(self, loss: int) -> Fraction:
        """Upper bound; see `Window`."""
        first = max((loss - self.start) // self.step + 1, 0)
        weight = decay(self.start + first * self.step - loss, up=False)
        factor = decay(self.step, up=False)
        total = self.lost
        for mass in self.masses[first:]:
            total += mass - mass * weight // WHOLE
            weight = weight * factor // WHOLE
        return Fraction(total, 1 << self.resolution.bits)


def _split(moves: Iterable[tuple[int, int, int]], step: int) -> list[int]:
    r"""Masses on levels from 0 on, of masses ``p`` at a distance ``d`` above a level, given as
    ``(level, e**-d, p)``.

    The level above gets at least the share :math:`(1 - e^{-d}) / (1 - e^{-h})`, with which the sums
    under both answers are kept.
    """
    scale = WHOLE - decay(step, up=True)
    sums: dict[int, int] = {}
    for place, below, mass in moves:
        raised = min(rounded(mass * (WHOLE - below), scale, up=True), mass)
        sums[place] = sums.get(place, 0) + mass - raised
        if raised:
            sums[place + 1] = sums.get(place + 1, 0) + raised
    return [sums.get(place, 0) for place in range(max(sums) + 1)]


@dataclass(frozen=True)
class LowerWindow(Window):
    """A window whose excess is at most that of the reports: the law of a number that is drawn from
    them, the level, under both answers.
    """

    others: list[int]  # masses under the second answer times e**loss, rounded up

    up = False

    @classmethod
    def of(cls, atoms: Sequence[Atom], step: int, resolution: Resolution) -> LowerWindow:
        """Atoms on levels; see `Window.of`.

        The loss of an atom is rounded down, so that its mass under the second answer times ``e``
        to this loss is at most its mass, which is rounded up by a unit.
        """
        start = min(loss for loss, _ in atoms)
        places = places_of([loss - start for loss, _ in atoms], step, up=True)
        pairs = [(mass, mass + 1) for _, mass in atoms]
        masses, others = _drawn(places, pairs, step)
        return cls(resolution, start, step, masses, others)

    def moved(self, step: int) -> LowerWindow:
        """The window on levels with another step; see `_drawn`."""
        places = places_of(range(0, self.step * len(self.masses), self.step), step, up=True)
        pairs = zip(self.masses, self.others, strict=True)
        masses, others = _drawn(places, pairs, step)
        return replace(self, step=step, masses=masses, others=others)

    def doubled(self) -> LowerWindow:
        """Every second level: of what is between two of them each gets half."""
        below = decay(self.step, up=True)
        above = growth(self.step, up=True)
        masses = [0] * (len(self.masses) // 2 + 1)
        others = [0] * len(masses)
        for j, (mass, other) in enumerate(zip(self.masses, self.others, strict=True)):
            i = j // 2
            if j % 2:
                masses[i] += mass // 2
                masses[i + 1] += mass // 2
                others[i] += rounded(other * below, 2 * WHOLE, up=True)
                others[i + 1] += rounded(other * above, 2 * WHOLE, up=True)
            else:
                masses[i] += mass
                others[i] += other
        return replace(self, step=2 * self.step, masses=masses, others=others)

    def times(self, other: LowerWindow) -> LowerWindow:
        """The reports of both; levels that are cut are no part of any test."""
        masses = self._product(self.masses, other.masses)
        unit = 1 << self.resolution.bits
        products = convolved(self.others, other.others, width_of(self.others, other.others))
        begin, end = self._ends(masses)
        others = [rounded(value, unit, up=True) for value in products[begin:end]]
        start = self.start + other.start + begin * self.step
        return replace(self, start=start, masses=masses[begin:end], others=others)

    def excess(self, loss: int) -> Fraction:
        """Lower bound; see `Window`. Levels below ``log a`` are left out."""
        first = max((loss - self.start) // self.step + 1, 0)
        weight = decay(self.start + first * self.step - loss, up=True)
        factor = decay(self.step, up=True)
        total = 0
        for mass, other in zip(self.masses[first:], self.others[first:], strict=True):
            total += max(mass - rounded(other * weight, WHOLE, up=True), 0)
            weight = rounded(weight * factor, WHOLE, up=True)
        return Fraction(total, 1 << self.resolution.bits)


def _drawn(
    places: Iterable[tuple[int, int, int, int]], pairs: Iterable[tuple[int, int]], step: int
) -> tuple[list[int], list[int]]:
    r"""Masses on levels from 0 on if each is drawn above or below with its mean kept, whatever the
    answer is: of places ``(level, d, e**-d, e**(h - d))`` and pairs of masses under both answers.
    """
    masses: dict[int, int] = {}
    others: dict[int, int] = {}
    for (place, distance, below, above), (mass, other) in zip(places, pairs, strict=True):
        rest = step - distance
        for level, share, factor in ((place, rest, below), (place + 1, distance, above)):
            if share:
                masses[level] = masses.get(level, 0) + mass * share // step
                part = rounded(other * factor * share, step * WHOLE, up=True)
                others[level] = others.get(level, 0) + part
    levels = range(max(others) + 1)
    return [masses.get(j, 0) for j in levels], [others.get(j, 0) for j in levels]
