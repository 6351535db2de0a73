r"""Shuffled reports: what the reports of ``n`` people without names reveal about one of them.

With the least probabilities :math:`m_y = \min_x P_{xy}` (the privacy blanket of Balle, Bell, Gascon
and Nissim 2019),

.. math:: \delta \le \sum_{y : m_y =
          0} (P_{xy} - a P_{x'y})^+ + \frac1n E \Bigl( \sum_{i=1}^n V_i \Bigr)^+ ,

where :math:`V_i` is :math:`(P_{xy} - a P_{x'y}) / m_y` with probability :math:`m_y`, and else 0.
Any whole scores of the reports give a test, and so a lower bound. Proofs: docs, "Shuffled reports".
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import ceil, erfc, exp, floor, log, sqrt
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.curve import Bound, PrivacyCurve, read_channel, read_pairs
from ldpopt.accounting.privacy_loss import (
    NOTHING,
    ONE,
    Channel,
    PrivacyLoss,
    Source,
    interpolated,
    summed,
)
from ldpopt.accounting.product import UNIT, convolved, multiplied, power, rounded
from ldpopt.closed_forms.top_k import top_k
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, Int, real_number, whole_number

TEN = 10**36  # masses of a tilted distribution are integers over this
WIDTH = 76  # digits of a coefficient of a product
LOST = 10**12  # mass at each end of a product that is not multiplied further
RARE = 10**5  # reports that are rarer than one of so many in all are not counted in the blanket
MAX_PLACES = 1 << 13  # of a variable on the lattice
STEPS = 100  # candidates for the step of a lattice
MAX_PEOPLE = 10**7
MAX_EXACT = 200  # people with two answers and two reports for whom all data sets are compared
LEAST_LOG = -60.0  # of a delta over another
# of the points of a bound, in deviations
REACH = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)


@dataclass(frozen=True)
class Sum:
    r"""A sum of variables on whole numbers: the mass :math:`c\, q_s b^{-s}` at s, all numbers
    rounded one way.
    """

    scale: Fraction  # c
    base: Fraction  # b, at least 1
    least: int  # the first s
    masses: list[int]  # q, over 10**36
    lost: Fraction  # mass q that is not listed, if masses are rounded up

    def tails(self, first: int, last: int, *, up: bool) -> list[Fraction]:
        """Probabilities that the sum is at least s, for s from ``first`` to ``last``."""
        atoms = dict(self.weighted(first, up=up))
        rest = self.lost * self.base**-first * TEN  # at least b**-s for every s from the first on
        start = max(first, self.least)
        total = ceil(rest) if up else 0
        found = []
        for s in range(max(last, start + len(atoms) - 1), first - 1, -1):
            total += atoms.get(s, 0)
            if s <= last:
                found.append(Fraction(total, TEN) * self.scale)
        return found[::-1]

    def weighted(self, first: int, *, up: bool) -> list[tuple[int, int]]:
        """Positions from one on, and the masses there over ``10**36`` without the scale."""
        first, found, (over, under) = max(first, self.least), [], self.base.as_integer_ratio()
        share = rounded(*(TEN * Fraction(under, over) ** first).as_integer_ratio(), up=up)
        for s in range(first, self.least + len(self.masses)):
            found.append((s, rounded(self.masses[s - self.least] * share, TEN, up=up)))
            share = rounded(share * under, over, up=up)
        return found


def sum_of(masses: dict[int, Fraction], n: int, *, up: bool) -> Sum:
    """The sum of n independent variables with masses at whole numbers, rounded up or down."""
    tilt = _tilt(np.array(list(masses), float), np.array(list(masses.values()), float))
    base = Fraction(round(exp(tilt) * 2**40), 2**40)
    least = min(masses)
    most = max(masses)
    weights = {s: _shortened(mass * base**s, up=up) for s, mass in masses.items() if mass}
    total = _shortened(sum(weights.values(), Fraction(0)))
    first = [0] * (most - least + 1)
    for s, w in weights.items():
        first[s - least] = rounded(
            w.numerator * total.denominator * TEN, w.denominator * total.numerator, up=up
        )
    one = Sum(total, base, least, first, Fraction(0))
    return (
        power(one, n, partial(_joined, up=up))
        if n
        else Sum(Fraction(1), base, 0, [TEN], Fraction(0))
    )


def _tilt(values: Float, masses: Float) -> float:
    """A number t for which the weights ``exp(t s)`` center masses at values s; 0 if their mean is
    not negative.
    """
    largest = values.max()
    if largest <= 0:
        return 0.0
    low = 0.0
    high = 40 / largest
    for _ in range(50):
        middle = (low + high) / 2
        is_low = (values * masses) @ np.exp(middle * (values - largest)) < 0
        low, high = (middle, high) if is_low else (low, middle)
    return low


def _joined(left: Sum, right: Sum, *, up: bool) -> Sum:
    """The sum of two variables; places at both ends with little mass are not listed."""
    found = [rounded(mass, TEN, up=up) for mass in convolved(left.masses, right.masses, WIDTH)]
    begin = bisect_right(list(accumulate(found)), LOST)
    end = len(found) - bisect_right(list(accumulate(reversed(found))), LOST)
    lost = Fraction(0)
    if up:  # listed masses are at most 1.1
        rest = (
            (left.lost + right.lost) * Fraction(11, 10) * TEN
            + sum(found[:begin])
            + sum(found[end:])
        )
        lost = Fraction(ceil(rest), TEN)
    scale = _shortened(left.scale * right.scale, up=up)
    return Sum(scale, left.base, left.least + right.least + begin, found[begin:end], lost)


def _shortened(value: Fraction, *, up: bool = True) -> Fraction:
    """A positive number to 200 significant bits."""
    shift = 200 + value.denominator.bit_length() - value.numerator.bit_length()
    over = value.numerator << max(shift, 0)
    under = value.denominator << max(-shift, 0)
    return Fraction(rounded(over, under, up=up)) * (
        Fraction(1, 1 << shift) if shift >= 0 else 1 << -shift
    )


def positive_part(
    values: list[Fraction], masses: list[Fraction], n: int, fineness: float
) -> Fraction:
    """Upper bound on the expected positive part of a sum of n variables; the rest of their mass is
    at 0.
    """
    if not values or max(values) <= 0:
        return Fraction(0)
    floats = np.array([float(v) for v in values])
    p = np.array([float(mass) for mass in masses])
    step = _step(floats, p, n, fineness)
    moved = [(0, 1 - sum(masses, Fraction(0)))]
    # a value between two places is moved to both, with its mean
    for value, mass in zip(values, masses, strict=True):
        place = floor(value / step)
        share = value / step - floor(value / step)
        moved += [(place, mass * (1 - share)), (place + 1, mass * share)]
    shares = summed(moved)
    found = sum_of(shares, n, up=True)
    atoms = found.weighted(1, up=True)
    # of s b**-s, which is at most 1 / (e log b), and log b >= 1 - 1 / b
    most = Fraction(n * max(shares))
    if found.base > 1:
        most = min(most, found.base / (2 * (found.base - 1)))
    return (
        (Fraction(sum(s * mass for s, mass in atoms), TEN) + found.lost * most) * found.scale * step
    )


def _step(values: Float, masses: Float, n: int, fineness: float) -> Fraction:
    """A step of which the values are multiples up to a small variance, so many to a standard
    deviation or more.
    """
    weights = masses * np.exp(np.minimum(_tilt(values, masses) * values, 40.0))
    deviation = sqrt(float(weights @ values**2) / float(weights.sum() + max(1 - masses.sum(), 0)))
    candidates = deviation / fineness * np.linspace(1.0, 0.5, STEPS)
    parts = values / candidates[:, None]
    excess = candidates**2 * (((parts - np.floor(parts)) * (np.ceil(parts) - parts)) @ weights)
    return Fraction(
        max(
            float(candidates[int(excess.argmin())]),
            float(np.ptp(np.append(values, 0.0))) / MAX_PLACES,
        )
    )


@dataclass(frozen=True, eq=False)
class Shuffled(Source):
    """The shuffled reports of n people by one channel."""

    channel: Channel
    n: int

    kind: ClassVar[str] = "shuffled"

    @property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of one report."""
        return self.channel.odds

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss from bounds at some points, and a loss that reveals nothing."""
        inner = {
            Fraction(exp(sign * reach * self.deviation)) for reach in REACH for sign in (1, -1)
        }
        points = [Fraction(0), *sorted(a for a in inner if a < self.odds), self.odds]
        values = [
            Fraction(1),
            *(min(self.upper.excess(a), Fraction(1)) for a in points[1:-1]),
            self.upper.certain,
        ]
        return interpolated(points, values, is_attained=False), NOTHING

    @cached_property
    def upper(self) -> "_Bound":
        """Upper bound on the excess."""
        return Exact(self) if self.is_exact else Blanket(self)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the logarithm of the ratio of the probabilities of all reports,
        about.
        """
        rows = self.channel.counts / ONE
        squares = (rows[self.channel.first] - rows[self.channel.second]) ** 2
        spread = (squares / np.maximum(rows.min(axis=0), 1e-9)).sum(axis=1).max(initial=0.0)
        return min(sqrt(float(spread) / self.n), log(self.odds)) or 1e-9

    @property
    def is_exact(self) -> bool:
        """Whether all data sets can be compared."""
        return self.channel.counts.shape == (2, 2) and self.n <= MAX_EXACT

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data, with the ratios of the loss if other reports made it
        necessary.
        """
        ratios = [str(ratio) for ratio in self.losses[0].ratios] if "losses" in vars(self) else []
        return {**self.channel.plain(), "kind": self.kind, "people": self.n, "ratios": ratios}

    @cached_property
    def rows(self) -> list[tuple[list[int], list[int], list[int]]]:
        """Distinct pairs of rows with the blanket, each as masses of the reports, rounded so that
        the bound rises.
        """
        # Less blanket mass at larger values spreads them. Rows that differ by rounding only are not
        # distinct then.
        counts = self.channel.counts
        least = np.broadcast_to(counts.min(axis=0), counts[self.channel.first].shape)
        parts = (
            (counts[self.channel.first], True),
            (counts[self.channel.second], False),
            (least, False),
        )
        table = np.stack([_rough(values, up=up) for values, up in parts], axis=2).tolist()
        distinct = {tuple(sorted(map(tuple, rows))) for rows in table}
        columns = (zip(*rows, strict=True) for rows in sorted(distinct))
        return [tuple(map(list, column)) for column in columns]  # type: ignore[misc]


def _rough(masses: Int, *, up: bool) -> Int:
    """Masses rounded up or down to about 36 significant bits."""
    unit = np.left_shift(
        np.int64(1), np.maximum(np.frexp(masses.astype(float))[1] - 36, 0).astype(np.int64)
    )
    return np.asarray((masses + (unit - 1 if up else 0)) // unit * unit)


@dataclass(frozen=True, eq=False)
class _Bound(ABC):
    """A bound on the excess of shuffled reports, which keeps the values that were computed."""

    source: Shuffled
    known: dict[Fraction, Fraction] = field(default_factory=dict)

    def excess(self, a: Fraction) -> Fraction:
        """Bound on ``sum max(p - a p', 0)`` over the shuffled reports, with ``a`` in place of
        ``e**epsilon``.
        """
        if a not in self.known:
            self.known[a] = self._excess(a)
        return self.known[a]

    @abstractmethod
    def _excess(self, a: Fraction) -> Fraction:
        """Compute `excess`, which keeps the result."""

    @property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""
        return self.source.channel.losses[0].certain


class Blanket(_Bound):
    """Upper bound by the privacy blanket; see the module."""

    def _excess(self, a: Fraction) -> Fraction:
        """The largest bound of all pairs of answers; only those that may be the worst get a fine
        lattice.
        """
        fineness = 16 if self.source.n <= 1000 else 8 if self.source.n <= 20_000 else 4
        rough = [(Fraction(1), 0)]
        if len(self.source.rows) > 1:
            rough = [(self._of_pair(rows, a, 1.5), k) for k, rows in enumerate(self.source.rows)]
        best = Fraction(0)
        for most, k in sorted(rough, reverse=True):
            if most <= best:
                break
            best = max(best, min(most, self._of_pair(self.source.rows[k], a, fineness)))
        return best

    def _of_pair(self, rows: Sequence[list[int]], a: Fraction, fineness: float) -> Fraction:
        """Upper bound of one pair of answers; a smaller blanket is one too, so reports that are
        very rare have none.
        """
        reports = list(zip(*rows, strict=True))
        n = self.source.n
        alone = [
            max((p - a * q) / ONE, Fraction(0)) for p, q, least in reports if least * n * RARE < ONE
        ]
        merged = summed((one, Fraction(one[2], ONE)) for one in reports if one[2] * n * RARE >= ONE)
        values = [(p - a * q) / least for p, q, least in merged]
        return sum(alone, positive_part(values, list(merged.values()), n, fineness) / n)


class Tested(_Bound):
    """What a test attains: all others give one answer, and the scores of all reports are added."""

    def _excess(self, a: Fraction) -> Fraction:
        """Excess of the event that the sum of the scores is above a level, rounded down."""
        (p, q, others), n = self._worst, self.source.n
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = np.nan_to_num((p - float(a) * q) / others, nan=0.0, posinf=1e300, neginf=-1e300)
        shares, exact = others / ONE, np.clip(exact, -1e6, 1e6)
        deviation = sqrt(float(shares @ exact**2)) or 1.0
        steps = deviation / (24 if n <= 20_000 else 8) * np.linspace(1.0, 0.5, 50 * STEPS)
        tried = np.rint(np.clip(exact, -20 * deviation, 20 * deviation) / steps[:, None])
        shifts = tried @ shares - float(shares @ exact) / steps  # of the mean by rounding
        best = int(np.abs(shifts).argmin())
        scores = tried[best].astype(int).tolist()
        level = round(n * float(shifts[best]))
        masses = summed(
            (score, Fraction(mass, ONE))
            for score, mass in zip(scores, others.tolist(), strict=True)
            if mass
        )
        first = level + 1 - max(scores)
        last = level + 1 - min(scores)
        tails = [sum_of(masses, n - 1, up=up).tails(first, last, up=up) for up in (False, True)]
        gains = [over - a * under for over, under in zip(p.tolist(), q.tolist(), strict=True)]
        parts = (
            gain * tails[gain < 0][max(scores) - score]
            for score, gain in zip(scores, gains, strict=True)
        )
        return max(sum(parts, Fraction(0)) / ONE, Fraction(0))

    @cached_property
    def _worst(self) -> tuple[Int, Int, Int]:
        """Rows of a pair of answers, and of the answer of all others, with the most information for
        the test.
        """
        counts, channel = self.source.channel.counts, self.source.channel
        p = counts[channel.first]
        q = counts[channel.second]
        best: tuple[float, int, int] = (-1.0, 0, 0)
        for z, others in enumerate(counts):
            information = (((p - q) / ONE) ** 2 / np.maximum(others / ONE, 1e-9)).sum(axis=1)
            best = max(best, (float(information.max()), int(information.argmax()), z))
        return p[best[1]], q[best[1]], counts[best[2]]


@dataclass(frozen=True, eq=False)
class Exact(_Bound):
    """The excess with two answers and two reports: the largest of all data sets, rounded up or
    down.
    """

    is_upper: bool = True

    def _excess(self, a: Fraction) -> Fraction:
        over, under = a.as_integer_ratio()
        excesses = (
            sum(max(under * p - over * q, 0) for p, q in zip(*two, strict=True))
            for two in self._pairs
        )
        return Fraction(max(excesses), under * UNIT)

    @cached_property
    def _pairs(self) -> list[tuple[list[int], list[int]]]:
        """Distributions of the number of second reports, for each pair and number of others with
        the second answer.
        """
        channel, up, n = self.source.channel, self.is_upper, self.source.n
        rows = [[int(mass) * UNIT // ONE for mass in row] for row in channel.counts]
        powers = {way: [_powers(row, n, up=way) for row in rows] for way in (False, True)}

        def distribution(row: int, count: int, way: bool) -> list[int]:
            firsts, seconds = powers[way]
            return multiplied(
                firsts[n - 1 - count + (row == 0)], seconds[count + (row == 1)], up=way
            )

        ends = list(zip(channel.first.tolist(), channel.second.tolist(), strict=True))
        return [
            (distribution(x, k, up), distribution(z, k, not up)) for x, z in ends for k in range(n)
        ]


def _powers(row: list[int], n: int, *, up: bool) -> list[list[int]]:
    """Distributions of the number of second reports of 0 to n people with the same answer."""
    found = [[UNIT]]
    for _ in range(n):
        pairs = zip([*found[-1], 0], [0, *found[-1]], strict=True)
        found.append([rounded(row[0] * own + row[1] * less, UNIT, up=up) for own, less in pairs])
    return found


class ShuffledCurve(PrivacyCurve):
    """The curve of shuffled reports: every epsilon is found by bounds, each a sum over all
    people.
    """

    @cached_property
    def upper(self) -> Bound:
        """Upper bound on the excess."""
        return self._source.upper

    @cached_property
    def lower(self) -> Bound:
        """Excess of one data set."""
        return Exact(self._source, is_upper=False) if self.is_attained else Tested(self._source)

    @property
    def _source(self) -> Shuffled:
        return self.sources[0][0]  # type: ignore[return-value]

    def _crossing(self, limit: Fraction, most: float) -> float:
        """Upper end of an interval with the least epsilon, by the rule of false position on
        logarithms.
        """
        if not limit:
            return most
        low = 0.0
        high = most
        ends = [_log(self.delta(0.0), limit), LEAST_LOG]
        guess = self._normal_epsilon(float(limit))
        side = 0
        for trial in range(60):
            if high - low <= 1e-6 * high:
                break
            share = ends[0] / (ends[0] - ends[1]) if ends[1] > LEAST_LOG else 0.5
            middle = low + (high - low) * min(max(share, 0.01), 0.99)
            if trial < 2 and low < guess * (1.02, 0.97)[trial] < high:
                middle = guess * (1.02, 0.97)[trial]
            value = _log(self.delta(middle), limit)
            new = 1 if value > 0 else -1
            factor, side = 0.5 if new == side and ends[1] > LEAST_LOG else 1.0, new
            if new > 0:
                low, ends = middle, [value, ends[1] * factor]
            else:
                high, ends = middle, [ends[0] * factor, value]
        return high

    def _normal_epsilon(self, delta: float) -> float:
        """The epsilon of normal variables with the same information, to start from."""
        mu = self._source.deviation
        low = 0.0
        high = float(log(self._source.odds))
        for _ in range(40):
            middle = (low + high) / 2
            above, below = (erfc((middle / mu + sign * mu / 2) / sqrt(2)) / 2 for sign in (-1, 1))
            low, high = (middle, high) if above - exp(middle) * below > delta else (low, middle)
        return high


def _log(value: Fraction, limit: Fraction) -> float:
    """Logarithm of a number over a limit."""
    return max(log(value / limit), LEAST_LOG) if value else LEAST_LOG


def shuffled(channel: Any, n: int, *, pairs: Any = None) -> PrivacyCurve:
    r"""What the shuffled reports of n people reveal about one of them.

    .. math:: \delta(\varepsilon) = \max \sum_h \max(\Pr[h \mid x] - e^\varepsilon \Pr[h \mid x'],
              0)

    over the numbers h of all reports, two answers of one person, and the answers of all others.

    Parameters
    ----------
    channel : Mechanism, design or array of shape (n, m)
        The channel by which each person reports.
    n : int
        Number of people who really report, from 1 to 10 000 000.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared; default: all.

    Returns
    -------
    PrivacyCurve
        ``delta`` is an upper bound, proved for every data set; ``delta_lower`` is attained by
        people of whom all others give one answer. With two answers and two reports of at most 200
        people both are exact.

    Raises
    ------
    StatementError
        If ``n`` is not such a number.

    Notes
    -----
    One delta takes a second for 10 000 people and ten for a million; an epsilon takes about ten of
    them. The shuffler must be trusted, and reports must have no names, times or keys. Bound: Balle,
    Bell, Gascon and Nissim 2019.

    Examples
    --------
    >>> round(shuffled([[0.75, 0.25], [0.25, 0.75]], 100).epsilon(1e-6), 4)
    0.5501
    """
    mechanism = read_channel(channel)
    compared = Channel(mechanism.counts, *read_pairs(mechanism, pairs))
    return curve_of(Shuffled(compared, whole_number(n, "n", 1, MAX_PEOPLE)))


def curve_of(source: Shuffled) -> PrivacyCurve:
    """The curve of shuffled reports."""
    return ShuffledCurve(((source, 1),), source.is_exact)


def target(
    n: int,
    epsilon: float | str,
    delta: float,
    family: int | Callable[[float], Any] = 2,
    *,
    most: float = 20.0,
) -> float:
    r"""Largest local epsilon at which the shuffled reports of n people keep a promise ``(epsilon,
    delta)``.

    Parameters
    ----------
    n : int
        Number of people.
    epsilon, delta : float
        The promise; epsilon in nats, or such as ``"log(3)"``.
    family : int, or callable
        Number of answers of randomized response, or a function from an epsilon to a channel.
        Default: ``2``.
    most : float
        Largest local epsilon that is tried; default: ``20``.

    Returns
    -------
    float
        Within one part in a thousand; the promise is proved for the channel at this epsilon.

    Raises
    ------
    StatementError
        If a number is out of range.

    Examples
    --------
    >>> round(target(20, 0.9, 1e-3), 1)
    1.2
    """
    budget = Budget(epsilon)
    limit = Fraction(real_number(delta, "delta", 0, 1))
    response = np.ones(2 if callable(family) else whole_number(family, "family", 2))
    make = (
        family
        if callable(family)
        else lambda local: top_k(response / len(response), local).mechanism
    )
    low = min(float(budget), most)
    high = most
    if shuffled(make(high), n).delta(budget) <= limit:
        return high
    if not limit and not callable(family):
        return low  # all people may send the same report: a pure promise is that of one of them
    while high - low > 5e-4 * high:
        middle = sqrt(low * high) if low else high / 2
        low, high = (
            (middle, high) if shuffled(make(middle), n).delta(budget) <= limit else (low, middle)
        )
    return low
