r"""Sums of independent variables on a lattice, as masses that are integers rounded one way.

The masses of a sum of a million variables are far too small for fixed point where it matters: in
the tail. They are therefore tilted: for a base ``b >= 1`` the list has

.. math:: q_s = \Pr[S = s] \, b^s / c ,

which has its bulk where ``s`` is about 0, and the masses are ``c q_s b**-s``. Products of lists are
products of polynomials; what is small at both ends is not multiplied further, and its mass is kept
as `LatticeSum.lost`, which an upper bound adds again. The mean of a convex function may be taken of
a sum on every second place, with its mean kept, as soon as there are very many to its deviation.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, exp, floor, sqrt

import numpy as np

from ldpopt.accounting.integers import convolved, power, rounded
from ldpopt.accounting.losses import summed
from ldpopt.foundation.numbers import Float

TEN = 10**36  # masses of a tilted distribution are integers over this
WIDTH = 76  # digits of a coefficient of a product
LOST = 10**12  # mass at each end of a product that is not multiplied further
MAX_PLACES = 1 << 13  # of a variable on the lattice
STEPS = 100  # candidates for the step of a lattice
DIGITS = 200  # bits of a scale
PLACES = 128  # least number to a standard deviation of a sum that is put on a coarser lattice


@dataclass(frozen=True)
class LatticeSum:
    r"""A sum of variables on whole numbers: the mass :math:`c\, q_s b^{-s}` at s, all numbers
    rounded one way.
    """

    scale: Fraction  # c
    base: Fraction  # b, at least 1
    least: int  # the first s
    masses: list[int]  # q, over 10**36
    lost: Fraction  # mass q that is not listed, if masses are rounded up
    greatest: int  # the last s that is possible, listed or not

    def tails(self, first: int, last: int, *, up: bool) -> list[Fraction]:
        """Probabilities that the sum is at least s, for s from ``first`` to ``last``."""
        atoms = dict(self.weighted(first, up=up))
        # a lost mass q weighs at most q b**-first from the first s on, as b >= 1
        lost = self.lost * self.base**-first * TEN
        total = ceil(lost) if up else 0
        start = max(first, self.least)
        tails = []
        for s in range(max(last, start + len(atoms) - 1), first - 1, -1):
            total += atoms.get(s, 0)
            if s <= last:
                tails.append(Fraction(total, TEN) * self.scale)
        return tails[::-1]

    def weighted(self, first: int, *, up: bool) -> list[tuple[int, int]]:
        """Positions from one on, and the masses there over ``10**36`` without the scale."""
        first = max(first, self.least)
        over, under = self.base.as_integer_ratio()
        weight = TEN * Fraction(under, over) ** first
        share = rounded(*weight.as_integer_ratio(), up=up)
        atoms = []
        for s in range(first, self.least + len(self.masses)):
            mass = self.masses[s - self.least]
            atoms.append((s, rounded(mass * share, TEN, up=up)))
            share = rounded(share * under, over, up=up)
        return atoms

    @property
    def deviation(self) -> float:
        """Standard deviation of the tilted masses, in places."""
        shares = np.array(self.masses, float)
        shares /= shares.sum()
        places = np.arange(len(shares))
        return sqrt(float(shares @ (places - shares @ places) ** 2))

    def halved(self) -> LatticeSum:
        """The sum on every second place, in twice the step: what is between two of them goes to
        both in halves, so that the mean stays. Masses are rounded up.
        """
        over, under = self.base.as_integer_ratio()
        first = self.least // 2
        doubled = [0] * ((self.least + len(self.masses)) // 2 - first + 1)  # twice the masses
        for s, mass in enumerate(self.masses, self.least):
            place = s // 2 - first
            if s % 2:
                # q b**-s is (q / b) b**-(s - 1) one place below, and q b b**-(s + 1) above
                doubled[place] += rounded(mass * under, over, up=True)
                doubled[place + 1] += rounded(mass * over, under, up=True)
            else:
                doubled[place] += 2 * mass
        total = max(sum(doubled), 2 * TEN)  # products need masses of about 1 in all
        masses = [rounded(mass * TEN, total, up=True) for mass in doubled]
        # a mass that is lost may be at an odd place, where its weight rises
        lost = self.lost * (self.base + 1 / self.base) * TEN / total
        return LatticeSum(
            _shortened(self.scale * Fraction(total, 2 * TEN)),
            self.base**2,
            first,
            masses,
            Fraction(ceil(lost * TEN), TEN),
            -(-self.greatest // 2),
        )


def sum_of(masses: dict[int, Fraction], n: int, *, up: bool) -> LatticeSum:
    """The sum of n independent variables with masses at whole numbers, rounded up or down.

    At most ``2 log2 n`` products of polynomials, by repeated squares.
    """
    variable = _tilted(masses, up=up)
    if not n:
        return LatticeSum(Fraction(1), variable.base, 0, [TEN], Fraction(0), 0)
    return power(variable, n, partial(_joined, up=up))


def spread_sum_of(masses: dict[int, Fraction], n: int, places: int) -> tuple[LatticeSum, int]:
    """An upper bound on the mean of every convex function of the sum of n variables, at least one:
    a sum in another step, and this step, a power of 2.

    A sum of more than ``2 places`` to a standard deviation is put on every second one, and so is
    the variable that is added to it. Both keep their means, and the variance rises each time by
    about ``1 / (8 places**2)`` of that of the sum.
    """
    variable = _tilted(masses, up=True)
    result = variable
    step = 1
    for bit in bin(n)[3:]:
        result = _joined(result, result, up=True)
        if bit == "1":
            result = _joined(result, variable, up=True)
        while result.deviation > 2 * places:
            result = result.halved()
            variable = variable.halved()
            step *= 2
    return result, step


def _tilted(masses: dict[int, Fraction], *, up: bool) -> LatticeSum:
    """A variable with masses at whole numbers, rounded up or down; its sums are centered at 0."""
    places = np.array(list(masses), float)
    shares = np.array(list(masses.values()), float)
    tilt = tilt_of(places, shares)
    base = Fraction(round(exp(tilt) * 2**40), 2**40)
    least = min(masses)
    weights = {}
    for s, mass in masses.items():
        if mass:
            weights[s] = _shortened(mass * base**s, up=up)
    # Rounded up, so that tilted masses sum to 10**36 and a unit for each at most. It is divided out
    # of them, and so its own rounding has no direction.
    total = _shortened(sum(weights.values(), Fraction(0)))
    tilted = [0] * (max(masses) - least + 1)
    for s, w in weights.items():
        over = w.numerator * total.denominator
        under = w.denominator * total.numerator
        tilted[s - least] = rounded(over * TEN, under, up=up)
    return LatticeSum(total, base, least, tilted, Fraction(0), max(masses))


def tilt_of(values: Float, masses: Float) -> float:
    """A number t for which the weights ``exp(t s)`` center masses at values s; 0 if their mean is
    not negative.

    Any ``t >= 0`` gives a valid bound; this one puts the digits of the sum where it is about 0.
    """
    largest = values.max()
    if largest <= 0:
        return 0.0
    low = 0.0
    high = 40 / largest
    for _ in range(50):
        middle = (low + high) / 2
        weights = np.exp(middle * (values - largest))
        is_low = (values * masses) @ weights < 0
        low, high = (middle, high) if is_low else (low, middle)
    return low


def _joined(left: LatticeSum, right: LatticeSum, *, up: bool) -> LatticeSum:
    """The sum of two variables; places at both ends with little mass are not listed."""
    products = convolved(left.masses, right.masses, WIDTH)
    masses = [rounded(mass, TEN, up=up) for mass in products]
    from_below = list(accumulate(masses))
    from_above = list(accumulate(reversed(masses)))
    begin = bisect_right(from_below, LOST)
    end = len(masses) - bisect_right(from_above, LOST)
    lost = Fraction(0)
    if up:
        # listed masses are at most 1.1 in all, so that a lost mass meets at most 1.1 of the other
        lost_before = (left.lost + right.lost) * Fraction(11, 10)
        cut = sum(masses[:begin]) + sum(masses[end:])
        lost = Fraction(ceil(lost_before * TEN + cut), TEN)
    scale = _shortened(left.scale * right.scale, up=up)
    least = left.least + right.least + begin
    greatest = left.greatest + right.greatest
    return LatticeSum(scale, left.base, least, masses[begin:end], lost, greatest)


def _shortened(value: Fraction, *, up: bool = True) -> Fraction:
    """A positive number to 200 significant bits."""
    over = value.numerator
    under = value.denominator
    shift = DIGITS + under.bit_length() - over.bit_length()
    if shift >= 0:
        return Fraction(rounded(over << shift, under, up=up), 1 << shift)
    return Fraction(rounded(over, under << -shift, up=up) << -shift)


def positive_part(
    values: list[Fraction],
    masses: list[Fraction],
    n: int,
    fineness: float,
    places: int = PLACES,
) -> Fraction:
    r"""Upper bound on the mean positive part of a sum of n variables; what is left of their mass is
    at 0.

    .. math:: E \max(X_1 + \dots + X_n, 0) \le \text{step} \cdot c \Bigl( \sum_{s \ge 1}
              s q_s b^{-s} + \text{lost} \cdot \max_s s b^{-s} \Bigr)

    Three steps, each of which can only raise the result. (1) A value between two multiples of a
    step is moved to both, with the same mean: the mean of a convex function rises (Jensen). So are
    the values of sums if they have very many places (`spread_sum_of`). (2) The masses of the sum
    are rounded up. (3) What is not listed counts as if it were at the worst place.
    """
    if not values or max(values) <= 0:
        return Fraction(0)
    floats = np.array([float(v) for v in values])
    p = np.array([float(mass) for mass in masses])
    step = _step(floats, p, n, fineness)
    moved = [(0, 1 - sum(masses, Fraction(0)))]
    for value, mass in zip(values, masses, strict=True):
        place = floor(value / step)
        share = value / step - place
        moved.append((place, mass * (1 - share)))
        moved.append((place + 1, mass * share))
    shares = summed(moved)
    total, coarser = spread_sum_of(shares, n, places)
    listed = sum(s * mass for s, mass in total.weighted(1, up=True))
    # of s b**-s, which is at most 1 / (e log b), and log b >= 1 - 1 / b
    most = Fraction(max(total.greatest, 0))
    if total.base > 1:
        most = min(most, total.base / (2 * (total.base - 1)))
    return (Fraction(listed, TEN) + total.lost * most) * total.scale * coarser * step


def _step(values: Float, masses: Float, n: int, fineness: float) -> Fraction:
    """A step of which the values are multiples up to a small variance, so many to a standard
    deviation or more.
    """
    # the tilted law is about that of the variables when their sum is 0: its deviation is the scale
    exponents = np.minimum(tilt_of(values, masses) * values, 40.0)
    weights = masses * np.exp(exponents)
    at_zero = max(1 - masses.sum(), 0)
    deviation = sqrt(float(weights @ values**2) / float(weights.sum() + at_zero))
    candidates = deviation / fineness * np.linspace(1.0, 0.5, STEPS)
    parts = values / candidates[:, None]
    # a value between two places gains the variance (distance below) (distance above) step**2
    below = parts - np.floor(parts)
    above = np.ceil(parts) - parts
    excess = candidates**2 * ((below * above) @ weights)
    best = float(candidates[int(excess.argmin())])
    widest = float(np.ptp(np.append(values, 0.0)))
    return Fraction(max(best, widest / MAX_PLACES))
