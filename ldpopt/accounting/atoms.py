r"""Products of privacy loss distributions whose atoms are listed, in integers rounded one way.

The excess :math:`\sum p \max(1 - a / r, 0)` rises with every mass and every ratio, so that rounding
all of them up bounds it from above, and down from below. The atoms of two halves of the reports are
listed; if there are too many, masses are put on levels in place of it (`window`).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import exp, log

import numpy as np

from ldpopt.accounting.integers import UNIT, power, rounded, scaled
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.foundation.numbers import Float

CLOSE = 40  # ratios that differ by less than one part in 2**40 are made equal
MAX_POWER = 30_000  # products of atoms of one question: more reports are faster on levels
MAX_PAIRS = 1_600_000  # of atoms, whose ratios are listed for a picture
MAX_LEVELS = 200  # of the tests of a product that is not listed
Questions = Sequence[tuple[PrivacyLoss, int]]
Atoms = list[tuple[int, int]]  # ratio and mass in fixed point, by ascending ratio


class TooManyAtomsError(Exception):
    """Two lists have too many products."""


@dataclass(frozen=True)
class ListedProduct:
    """Two lists of atoms, whose products are the atoms of all reports.

    An atom is a ratio ``r`` of the probabilities of a report under two answers and its mass ``p``
    under the first, so that ``p / r`` is that under the other; ``certain`` is the mass of reports
    that the other answer never gives. If ``is_upper``, all is rounded so that the excess is a bound
    from above, else from below.

    Of ``k`` and ``l`` atoms the ``k l`` products are never listed: for each atom of the left list,
    those of the right list above a ratio are sums that are known, so that an excess takes ``k log
    l`` steps.
    """

    left: Atoms
    right: Atoms
    certain: Fraction
    is_upper: bool

    is_on_levels = False

    def excess(self, a: Fraction) -> Fraction:
        """Excess ``sum p max(1 - a / r, 0)`` and the certain part, rounded as the atoms."""
        # of the products with a ratio above a: the masses under both answers, over UNIT**2
        mass = 0
        other = 0
        ratios, sums = self._tails
        over = a.numerator * UNIT * UNIT
        under = a.denominator
        for ratio, p in self.left:
            # the product of two ratios is above a from this atom of the right list on
            place = bisect_right(ratios, over // (under * ratio))
            mass_above, other_above = sums[place]
            mass += p * mass_above
            # the excess falls with the other mass: it is rounded against the direction
            other += rounded(p * other_above * UNIT, ratio, up=not self.is_upper)
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
        if len(left) * len(right) > MAX_PAIRS:
            lowest = left[0] + right[0] - 1e-12
            highest = left[-1] + right[-1]
            return np.linspace(lowest, highest, MAX_LEVELS)[::-1]
        logs = np.unique((left[:, None] + right).ravel().round(11))[::-1]
        step = -(-len(logs) // (10 * MAX_LEVELS))
        logs = logs[::step]
        # just below each ratio, and below all of them
        return np.append(logs - 1e-10, logs[-1] - 1)

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess without its certain part is about the
        limit, without proof.
        """
        low = 0.0
        high = most
        for _ in range(60):
            middle = (low + high) / 2
            masses, others = self.above(np.array([middle]))
            is_low = masses[0] - exp(middle) * others[0] > limit
            low, high = (middle, high) if is_low else (low, middle)
        return high


def listed(questions: Questions, most: int, *, up: bool) -> tuple[Atoms, Atoms]:
    """Atoms of two halves of the questions, if no two lists have more than ``most`` products."""
    for loss, times in questions:
        # n reports have n (d - 1) + 1 different ratios or more, if one has d
        if (times // 4 * (len(loss.ratios) - 1) + 1) ** 2 > MAX_POWER:
            raise TooManyAtomsError
    halves = [[(UNIT, UNIT)], [(UNIT, UNIT)]]
    multiply = partial(_products, most=most, up=up)
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


def _products(left: Atoms, right: Atoms, *, most: int, up: bool) -> Atoms:
    """Products of atoms; close ratios are raised to the largest of them, or lowered to the
    smallest.
    """
    if len(left) * len(right) > most:
        raise TooManyAtomsError
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
