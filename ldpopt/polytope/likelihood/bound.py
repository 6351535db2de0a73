r"""The proof of an extremal channel, in integers: a bound for all private channels, and the value
of a mechanism.

Prices :math:`\eta` and the slopes between which each answer is above its price come from the
search, and nothing of them is trusted. Theory: docs, "Extremal channels of any size".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpopt.foundation.budget import Budget
from ldpopt.polytope.likelihood.enclosures import EXACT_FORMS, Enclosure, ExactForm

BITS = 144  # of all fixed-point numbers, and more for very small or large budgets


@dataclass(frozen=True)
class LikelihoodPair:
    r"""A pair (p, q) as exact shares: q sums to 1, and z (p less q, or the scores' masses less
    their mean) to 0; both are integers over a unit.

    The utility is :math:`\sum_y q \cdot c_y \; g(z \cdot c_y / q \cdot c_y)` plus ``constant``, the
    square of the mean of the scores.
    """

    z: tuple[int, ...]
    q: tuple[int, ...]
    unit: int
    form: str
    constant: Fraction = Fraction(0)

    @classmethod
    def read(cls, pair: tuple[Any, Any, str]) -> "LikelihoodPair":
        """Read p, q and the name of f; the floats are exact."""
        p, p_unit = _over_one_unit(pair[0])
        q, q_unit = _over_one_unit(pair[1])
        form = pair[2]
        total = sum(q)
        if form != "fisher":
            size = sum(p)
            z = tuple(a * total - c * size for a, c in zip(p, q, strict=True))
            return cls(z, tuple(c * size for c in q), total * size, form)
        mean = sum(p)
        centered = (a * total - mean * c for a, c in zip(p, q, strict=True))
        z = tuple(part * q_unit for part in centered)
        shares = tuple(c * p_unit * total for c in q)
        square = Fraction(mean * q_unit, p_unit * total) ** 2
        return cls(z, shares, p_unit * total * total, form, square)

    @property
    def exact_form(self) -> ExactForm:
        """Enclosures of g."""
        return EXACT_FORMS[self.form]


@dataclass(frozen=True)
class PureCone:
    """Private columns up to a factor: entries from b to 1, ``b = low / 2**bits`` rounded down."""

    low: int
    bits: int
    fixed: int  # bits of fixed-point numbers

    @classmethod
    def of(cls, budget: Budget, form: ExactForm) -> "PureCone":
        """Round ``exp(-epsilon)`` down: no private column is left out."""
        _, alpha = budget.enclosure()
        large = math.ceil(alpha).bit_length()
        bits = BITS + large
        low = math.floor((1 << bits) / alpha)
        # A small budget's value is of the order of beta**2.
        small = bits - ((1 << bits) - low).bit_length()
        steep = large if form.has_steep_slopes else 0
        return cls(low, bits, BITS + 2 * small + steep)

    @property
    def width(self) -> int:
        """``1 - b`` over ``2**bits``."""
        return (1 << self.bits) - self.low

    def column_sum(self, n: int, size: int) -> Fraction:
        """Sum of the column of a set of this size, of n answers."""
        return Fraction(n * self.low + size * self.width, 1 << self.bits)


@dataclass(frozen=True)
class Membership:
    """Slopes between which an answer is declared to be above its price; equal: never."""

    enter: Fraction
    leave: Fraction


@dataclass(frozen=True, eq=False)
class Pricing:
    r"""Prices and declared slopes on the grid of fixed-point numbers, and all that follows.

    .. math:: \text{bound} = \sum_x \eta_x + \frac{n V^+}{n b + 1 - b}, \qquad
              V = \max_i \mu(w_{A_i}) - \eta \cdot w_{A_i} + (1 - b) \sum_x \delta_x

    The sets :math:`A_i` are those of the declared slopes, :math:`\delta_x` is the largest error of
    an answer's declaration. The bound holds whatever the prices and the slopes are.
    """

    pair: LikelihoodPair
    cone: PureCone
    prices: tuple[int, ...]
    borders: tuple[tuple[int, int], ...]
    ends: tuple[int, int]  # slopes below and above those of all columns

    @classmethod
    def of(
        cls,
        pair: LikelihoodPair,
        cone: PureCone,
        prices: Sequence[Fraction],
        declared: Sequence[Membership],
    ) -> "Pricing":
        """Round prices up, and slopes in some way."""
        unit = 1 << cone.fixed
        ends = _ends(pair, cone)
        borders = tuple(_on_grid(member, ends, unit) for member in declared)
        rounded = tuple(math.ceil(price * unit) for price in prices)
        return cls(pair, cone, rounded, borders, ends)

    def above(self, x: int, u: int) -> Enclosure:
        """Enclose ``d(u)``, the tangent plane less the price of an answer, over the pair's unit."""
        pair = self.pair
        low, high = pair.exact_form.conjugate(u, self.cone.fixed)
        q = pair.q[x]
        level = u * pair.z[x] - self.prices[x] * pair.unit
        return level - high * q, level - low * q

    def derivative(self, x: int, u: int) -> Enclosure:
        """Enclose the derivative of ``d``, over the pair's unit."""
        bits = self.cone.fixed
        low, high = self.pair.exact_form.ratio(u, bits)
        q = self.pair.q[x]
        z = self.pair.z[x] << bits
        return z - high * q, z - low * q

    def error(self, x: int) -> int:
        """Largest error of an answer's declaration at any slope, over the pair's unit."""
        # d is concave: above the lower of its ends between the borders, and below its tangents.
        enter, leave = self.borders[x]
        low, high = self.ends
        errors = [0]
        for u in (enter, leave):
            least, most = self.above(x, u)
            errors.append(-least if enter < leave else most)
        if enter > low:
            errors.append(self._largest(x, enter, low))
        if leave < high:
            errors.append(self._largest(x, leave, high))
        return max(errors)

    def _largest(self, x: int, u: int, end: int) -> int:
        """At most the largest ``d`` between a slope and an end of the range, in the pair's unit."""
        rise = self._rise(x, u, end)
        _, level = self.above(x, u)
        top = level + rise
        if rise == 0:
            return top
        # The slope is beyond the peak, perhaps by little: there the tangent at the peak is better.
        peak = self._peak(x)
        _, level = self.above(x, peak)
        around = max(self._rise(x, peak, border) for border in self.ends)
        return min(top, level + around)

    def _peak(self, x: int) -> int:
        """A slope next to that at which ``d`` is largest."""
        low, high = self.ends
        z = self.pair.z[x]
        q = self.pair.q[x]
        if q == 0:
            return high if z > 0 else low
        if q + z == 0 and self.pair.form != "fisher":
            return low  # the ratio is 0, its slope perhaps infinite
        slope, _ = self.pair.exact_form.slope(z, q, self.cone.fixed)
        return min(max(slope, low), high)

    def _rise(self, x: int, u: int, end: int) -> int:
        """Rise of the tangent from a slope to an end of the range, rounded up; 0 if it falls."""
        low, high = self.derivative(x, u)
        rise = (high if end > u else low) * (end - u)
        return -(-max(0, rise) >> self.cone.fixed)

    @cached_property
    def excesses(self) -> list[tuple[Fraction, int]]:
        """Of each declared set: the utility of its column less its price, errors included; and its
        size.
        """
        # The slack is over the pair's unit, and b over another power of two.
        cone = self.cone
        slack = sum(self.error(x) for x in range(len(self.prices)))
        error = Fraction(cone.width * slack, self.pair.unit << cone.bits)
        listed = []
        for z, q, price, size in self._sets():
            excess = self._excess(z, q, price) + error
            listed.append((excess / (1 << cone.fixed), size))
        return listed

    @cached_property
    def bound(self) -> Fraction:
        """No private channel has a larger utility."""
        n = len(self.prices)
        total = Fraction(sum(self.prices), 1 << self.cone.fixed) + self.pair.constant
        excess = max(Fraction(0), *(excess for excess, _ in self.excesses))
        # The column of no answer is b times that of all: only columns with an answer matter.
        return total + excess * n / self.cone.column_sum(n, 1)

    def _sets(self) -> list[tuple[int, ...]]:
        """Sums of z, q and the prices over each declared set, and its size."""
        # A set that no slope between two borders has does no harm: it is a set of answers too.
        changes: dict[int, list[int]] = {self.ends[0]: [0, 0, 0, 0]}
        for x, (enter, leave) in enumerate(self.borders):
            if enter == leave:
                continue
            masses = self.pair.z[x], self.pair.q[x]
            parts = (*masses, self.prices[x], 1)
            for at, sign in ((enter, 1), (leave, -1)):
                change = changes.setdefault(at, [0, 0, 0, 0])
                for k, part in enumerate(parts):
                    change[k] += sign * part
        sets: list[tuple[int, ...]] = [(0, 0, 0, 0)]
        for at in sorted(changes):
            last = zip(sets[-1], changes[at], strict=True)
            sets.append(tuple(old + new for old, new in last))
        return sets

    def _excess(self, z: int, q: int, price: int) -> int:
        """Utility of a set's column less its price, rounded up."""
        cone = self.cone
        unit = self.pair.unit << cone.bits
        wide = cone.low * self.pair.unit + cone.width * q
        _, value = self.pair.exact_form.value(cone.width * z, wide, unit, cone.fixed)
        cost = cone.low * sum(self.prices) + cone.width * price
        return value - (cost >> cone.bits)


def ratio_key(pair: LikelihoodPair) -> Callable[[int], tuple[int, Fraction]]:
    """The key of the order of the answers by ratios; a ratio to 0 is the largest."""
    z, q = pair.z, pair.q
    return lambda x: (0, Fraction(z[x], q[x])) if q[x] else (1, Fraction(0))


def utility_of(
    pair: LikelihoodPair, masses: Sequence[Sequence[int]], denominator: int, bits: int
) -> Fraction:
    """Bound the utility of a mechanism from below, by its integer masses, (n, m)."""
    total = 0
    for column in zip(*masses, strict=True):
        q = sum(a * c for a, c in zip(pair.q, column, strict=True))
        z = sum(a * c for a, c in zip(pair.z, column, strict=True))
        if q:
            low, _ = pair.exact_form.value(z, q, pair.unit * denominator, bits)
            total += max(0, low)
    return Fraction(total, 1 << bits) + pair.constant


def _over_one_unit(numbers: Any) -> tuple[list[int], int]:
    """Floats as integers over their common denominator."""
    parts = [float(number).as_integer_ratio() for number in numbers]
    unit = max(bottom for _, bottom in parts)
    return [top * (unit // bottom) for top, bottom in parts], unit


def _ends(pair: LikelihoodPair, cone: PureCone) -> tuple[int, int]:
    """Enclose the slopes of all columns: of the sets of the least and of the largest ratios."""
    answers = (x for x in range(len(pair.q)) if pair.z[x] or pair.q[x])
    order = sorted(answers, key=ratio_key(pair))
    slope = pair.exact_form.slope
    low, _ = slope(*_extreme(pair, cone, order, -1), cone.fixed)
    _, high = slope(*_extreme(pair, cone, order[::-1], 1), cone.fixed)
    return low, high


def _extreme(
    pair: LikelihoodPair, cone: PureCone, order: Sequence[int], sign: int
) -> tuple[int, int]:
    """Masses of the column of a prefix with the largest ratio, or for sign -1 the least."""
    z = 0
    q = cone.low * pair.unit
    best = (0, pair.unit)  # the column of all answers
    for x in order:
        z += cone.width * pair.z[x]
        q += cone.width * pair.q[x]
        if sign * (z * best[1] - best[0] * q) > 0:
            best = (z, q)
    return best


def _on_grid(member: Membership, ends: tuple[int, int], unit: int) -> tuple[int, int]:
    """Declared slopes on the grid and within the range."""
    low, high = ends
    enter = min(max(math.floor(member.enter * unit), low), high)
    leave = min(max(math.floor(member.leave * unit), enter), high)
    return enter, leave
