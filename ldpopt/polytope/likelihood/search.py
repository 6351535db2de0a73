r"""Extremal channels of likelihood ratios: the best partition of the ordered answers, and the sets
that decide whether prices prove it.

All of it is search, in floats; `bound` proves, in integers. Theory: docs, "Extremal channels of any
size".
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float, Int
from ldpopt.polytope.likelihood.forms import Form

BISECTIONS = 90
LIFTS = 30  # largest number of steps of Newton; three are usual
Flags = NDArray[np.bool_]
ALL = np.array([0.0, 1.0, 1.0])  # masses z, q and p of all answers together


@dataclass(frozen=True, eq=False)
class OrderedAnswers:
    """Answers in the order of their ratios, no two of them equal: masses (3, n) of z, q and p, and
    the cone.
    """

    masses: Float
    form: Form
    b: float
    beta: float

    @property
    def n(self) -> int:
        """Number of answers."""
        return len(self.masses[0])

    @cached_property
    def sums(self) -> Float:
        """Masses of the first answers, from 0 to n of them: shape (3, n + 1)."""
        return running(self.masses)

    @cached_property
    def peaks(self) -> Float:
        """Slopes at the answers' ratios, within the range."""
        slopes = self.form.slope(*self.masses)
        return np.clip(slopes, *self.range)

    def columns(self, masses: Float) -> Float:
        """Masses of the columns of sets that have these masses."""
        base = np.multiply.outer(self.b * ALL, np.ones(masses.shape[1:]))
        return np.asarray(base + self.beta * masses)

    def value(self, masses: Float) -> Float:
        """Utility of the columns of sets that have these masses."""
        return self.form.value(*self.columns(masses))

    def slope(self, masses: Float) -> Float:
        """Slope at the ratio of these columns."""
        return self.form.slope(*self.columns(masses))

    def planes(self, u: Float) -> Float:
        """Tangent planes of the utility, of a slope for each answer or of one for all."""
        z, q, _ = self.masses
        with np.errstate(over="ignore", invalid="ignore"):
            drop = self.form.conjugate(u) * q
            return np.asarray(u * z - drop)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and largest slope of a column: of a prefix, and of a suffix, of the order."""
        heads = self.sums[:, 1:]
        tails = heads[:, -1:] - self.sums[:, :-1]
        low = self.slope(heads).min()
        high = self.slope(tails).max()
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the ordered answers into blocks: ``cuts`` from 0 to n, and its value."""

    cuts: Int
    value: float


@dataclass(frozen=True, eq=False)
class AnswerPrices:
    """Prices of the answers, feasible for all sets up to rounding, and their total: a bound."""

    prices: Float
    total: float


def running(part: Float) -> Float:
    """Sums of the first numbers, from none to all of them, with the digits of a long double."""
    sums = np.cumsum(part, axis=-1, dtype=np.longdouble).astype(np.float64)
    return np.concatenate([np.zeros((*part.shape[:-1], 1)), sums], axis=-1)


def best_partition(answers: OrderedAnswers) -> Partition:
    """Find the best partition into blocks of neighbors, in ``O(n**2)`` operations a round."""
    # A partition's value H solves sum (mu - b H) = beta H over its blocks: each round is a longest
    # path for the last H, and the value rises until it stays (Dinkelbach).
    n = answers.n
    gains = np.full((n + 1, n + 1), -np.inf)  # [j, i]: the block from i to j
    ends, starts = np.tril_indices(n + 1, -1)
    sums = answers.sums
    gains[ends, starts] = answers.value(sums[:, ends] - sums[:, starts])
    best = Partition(np.array([0, n]), 0.0)
    while True:
        cuts = _longest_path(gains, answers.b * best.value)
        total = gains[cuts[1:], cuts[:-1]].sum()
        weight = 1 + (len(cuts) - 2) * answers.b
        value = float(total / weight)
        if not value > best.value * (1 + 1e-15):
            return best
        best = Partition(cuts, value)


def _longest_path(gains: Float, toll: float) -> Int:
    """Cuts with the largest sum of gains, each less a toll."""
    n = len(gains) - 1
    best = np.zeros(n + 1)
    last = np.zeros(n + 1, dtype=np.int64)
    for j in range(1, n + 1):
        sums = best[:j] + gains[j, :j]
        last[j] = sums.argmax()
        best[j] = sums[last[j]] - toll
    cuts = [n]
    while cuts[-1]:
        cuts.append(int(last[cuts[-1]]))
    return np.array(cuts[::-1])


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of answers above their prices, as the slope grows: a set after each event."""

    enter: Float  # slopes between which each answer is in the set; equal: never
    leave: Float
    first: Int  # number of the first set with each answer, and of the first without it again
    end: Int
    size: Float  # of each set
    excess: Float  # of each set's column over its price
    slope: Float  # of each set's column

    def members(self, sets: Int) -> Float:
        """Indicators of the answers, shape (len(sets), n)."""
        number = sets[:, None]
        is_in = (self.first <= number) & (number < self.end)
        return is_in.astype(np.float64)


def sets_along(answers: OrderedAnswers, prices: AnswerPrices) -> Sets:
    """List all sets that can have the largest excess: at most ``2 n + 1`` of them."""
    n = answers.n
    is_in = answers.planes(answers.peaks) > prices.prices
    enter, leave = (_crossings(answers, prices, is_in, end) for end in answers.range)
    inside = np.flatnonzero(is_in)
    which = np.concatenate([inside, inside])
    change = np.repeat([1.0, -1.0], len(inside))
    # Answers enter before others leave: sets at a slope are larger than those beside it.
    slopes = np.concatenate([enter[inside], leave[inside]])
    order = np.lexsort([-change, slopes])
    which = which[order]
    change = change[order]
    places = np.arange(1, len(order) + 1)
    first = np.full(n, 2 * n + 1)
    first[which[change > 0]] = places[change > 0]
    end = np.full(n, 2 * n + 1)
    end[which[change < 0]] = places[change < 0]
    masses = running(change * answers.masses[:, which])
    costs = running(change * prices.prices[which])
    price = answers.b * prices.total + answers.beta * costs
    excess = answers.value(masses) - price
    slope = answers.slope(masses)
    return Sets(enter, leave, first, end, running(change), excess, slope)


def _crossings(answers: OrderedAnswers, prices: AnswerPrices, is_in: Flags, end: float) -> Float:
    """Slopes between the peaks and an end of the range from which answers are below their prices;
    the peaks themselves of answers that are never above.
    """
    inner = answers.peaks
    outer = np.where(is_in, end, inner)
    is_above = is_in & (answers.planes(outer) > prices.prices)
    inner = np.where(is_above, end, inner)
    for _ in range(BISECTIONS):
        middle = (inner + outer) / 2
        # neighboring floats have no middle: what follows would change nothing
        is_last = ((middle == inner) | (middle == outer)).all()
        is_above = answers.planes(middle) > prices.prices
        inner = np.where(is_above, middle, inner)
        outer = np.where(is_above, outer, middle)
        if is_last:
            break
    return np.where(is_in, inner, answers.peaks)


def lifted(answers: OrderedAnswers, prices: AnswerPrices) -> tuple[AnswerPrices, Sets]:
    """Raise all prices by the least number that makes them feasible for all sets; with the sets of
    the prices before.
    """
    # The largest excess is among the sets of the prices, the largest one per unit of a column is
    # not: so the sets are listed again for the raised prices (Newton).
    n = answers.n
    first = sets_along(answers, prices)
    sets = first
    lift = 0.0
    raised = prices
    for _ in range(LIFTS):
        width = answers.b * n + answers.beta * sets.size
        step = float((sets.excess / width).max())
        if not step > 1e-16 * abs(prices.total) / n:
            break
        lift += step
        raised = AnswerPrices(prices.prices + lift, prices.total + n * lift)
        sets = sets_along(answers, raised)
    return raised, first
