r"""The law of the sum of the scores of many reports, under each of two hypotheses.

The score of a report is the logarithm of its likelihood ratio. If the reports have two different
ratios, their sum is a binomial number. Otherwise scores are rounded to whole multiples of a part of
their range: the test by the rounded sum is *exact*, since its own law is computed, and rounding
costs it practically no power.

The law of the sum of ``N`` scores from 0 to ``K`` is the power of one Fourier transform, on a
window around the mean outside of which, by Hoeffding's inequality,

.. math:: P(|T - E T| \ge t) \le 2 \exp(-2 t^2 / (N K^2))

is below 1e-18. What this and floats leave open (`doubt`) is added to a p-value and taken from a
power, so that a level is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from ldpopt.foundation.numbers import Float, Int

SAME = 1e-12  # difference up to which two logarithms are one
STEPS = 400  # parts of the range of the scores
FEWEST_STEPS = 16
MAX_WINDOW = 1 << 22  # sums whose probabilities are kept at once
OUTSIDE = 1e-18  # probability of the sums outside of the window
ROUNDING = 2.0**-48  # of a probability, for each report whose law is multiplied
RELATIVE = 1e-9  # rounding of a binomial tail, in proportion
UNIT = 2.0**-53  # of a difference from 1


@dataclass(frozen=True, eq=False)
class Scores:
    """The likelihood ratios of the reports, and the masses of the reports under both hypotheses.

    Attributes
    ----------
    logs : ndarray, shape (m,)
        Logarithms of second over first mass; infinite for a report that only one of them gives.
    first, second : ndarray, shape (m,)
        Probability of each report under the first and the second hypothesis.
    """

    logs: Float
    first: Float
    second: Float

    @classmethod
    def of(cls, first: Float, second: Float) -> Scores:
        """Those of two distributions of reports; a report of neither has the score 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(second) - np.log(first)
        return cls(np.where(np.isnan(logs), 0.0, logs), first, second)

    @property
    def finite(self) -> Float:
        """The logarithms, of which infinite ones are moved to one range beyond the others."""
        known = self.logs[np.isfinite(self.logs)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
        range_ = max(high - low, 1.0)
        return np.asarray(np.clip(self.logs, low - range_, high + range_))

    @property
    def levels(self) -> Float:
        """The different logarithms, ascending."""
        ordered = np.sort(self.finite)
        return np.asarray(ordered[np.append(True, np.diff(ordered) > SAME)])

    def whole(self, people: int) -> Int:
        """Whole scores from 0 on, shape (m,), coarser for very many people."""
        levels = self.levels
        finite = self.finite
        if len(levels) == 2:
            return np.asarray(finite > levels.mean(), np.int64)
        window = 2 * math.sqrt(people * math.log(2 / OUTSIDE) / 2)
        steps = int(np.clip(MAX_WINDOW / window, FEWEST_STEPS, STEPS))
        share = (finite - levels[0]) / (levels[-1] - levels[0])
        return np.asarray(np.rint(share * steps), np.int64)

    def law(self, people: int) -> SumLaw:
        """The law of the sum over some people."""
        scores = self.whole(people)
        first, second = (
            np.bincount(scores, masses).astype(float) for masses in (self.first, self.second)
        )
        return SumLaw(people, first, second)

    def moments(self, masses: Float) -> tuple[float, float]:
        """Mean and standard deviation of one report's score."""
        scores = self.finite
        mean = float(masses @ scores)
        return mean, math.sqrt(max(float(masses @ (scores - mean) ** 2), 0.0))


@dataclass(frozen=True, eq=False)
class SumLaw:
    """The law of the sum of the whole scores of some people, under both hypotheses.

    ``first`` and ``second`` have the probability of each score from 0 on, shape (K + 1,).
    """

    people: int
    first: Float
    second: Float

    @cached_property
    def _tails(self) -> tuple[SumTail, SumTail]:
        """The probabilities of large sums, under both hypotheses."""
        kind = BinomialTail if len(self.first) == 2 else WindowTail.of
        return kind(self.people, self.first), kind(self.people, self.second)

    def p_value(self, total: int) -> float:
        """An upper bound of the probability, under the first hypothesis, of at least this sum."""
        reached = self._tails[0]
        return min(1.0, reached.at(total) + reached.doubt(total))

    def critical(self, level: float) -> int:
        """The least sum that at most a share ``level`` of all samples of the first hypothesis
        reach.
        """
        return self._tails[0].first_below(level)

    def power(self, level: float) -> float:
        """A lower bound of the probability, under the second hypothesis, of a sum that is
        critical at a level.
        """
        return max(0.0, self._tails[1].above(self.critical(level)))

    @property
    def doubt(self) -> float:
        """What no level is below, and no power nearer to 1: the rounding of the law; 0 if its
        tails are known in proportion.
        """
        return 0.0 if len(self.first) == 2 else WindowTail.rounding(self.people)


class SumTail(Protocol):
    """The probability that the sum of some scores is at least a number."""

    def at(self, total: int) -> float:
        """The probability of at least this sum."""

    def doubt(self, total: int) -> float:
        """How much rounding may have changed it."""

    def above(self, total: int) -> float:
        """A lower bound of the probability."""

    def first_below(self, level: float) -> int:
        """The least sum whose probability, with its doubt, is at most a level."""


@dataclass(frozen=True, eq=False)
class BinomialTail:
    """The tail where each person counts as 0 or 1, with the probabilities ``law``, shape (2,)."""

    people: int
    law: Float

    def at(self, total: int) -> float:
        """The probability of at least so many ones."""
        return float(binomial_tail(self.people, float(self.law[1]), total))

    def doubt(self, total: int) -> float:
        """A part of it."""
        return RELATIVE * self.at(total)

    def above(self, total: int) -> float:
        """From the smaller one of it and of what it misses."""
        return float(binomial_power(self.people, float(self.law[1]), total))

    def first_below(self, level: float) -> int:
        """By a search from the normal approximation."""
        return int(critical_counts(self.people, float(self.law[1]), level))


@dataclass(frozen=True, eq=False)
class WindowTail:
    """The tail on a window of sums: ``tails`` has it from ``low`` on."""

    people: int
    low: int
    tails: Float

    @classmethod
    def of(cls, people: int, law: Float) -> WindowTail:
        """The power of the transform of a law of whole scores, shape (K + 1,)."""
        size = len(law) - 1
        mean = people * float(law @ np.arange(size + 1))
        reach = size * math.sqrt(people * math.log(2 / OUTSIDE) / 2)
        low = max(0, math.floor(mean - reach))
        high = min(people * size, math.ceil(mean + reach))
        length = 1 << max(high - low, size).bit_length()
        spectrum = np.fft.rfft(law, length) ** people
        # a sum beyond the window comes to lie inside: it is a part of the doubt
        around = np.roll(np.fft.irfft(spectrum, length), -(low % length))[: high - low + 1]
        return cls(people, low, np.cumsum(np.maximum(around, 0.0)[::-1])[::-1])

    def at(self, total: int) -> float:
        """The tail; 1 below the window, 0 above."""
        place = total - self.low
        if place >= len(self.tails):
            return 0.0
        return min(1.0, float(self.tails[max(place, 0)])) if place > 0 else 1.0

    def doubt(self, total: int) -> float:
        """What is outside of the window, and the rounding of the power."""
        return self.rounding(self.people)

    @staticmethod
    def rounding(people: int) -> float:
        """The doubt of every probability of a number of people."""
        return OUTSIDE + people * ROUNDING

    def above(self, total: int) -> float:
        """The probability less its doubt."""
        return self.at(total) - self.doubt(total)

    def first_below(self, level: float) -> int:
        """The tail falls, so that it is the place of the first that is small enough."""
        is_rare = self.tails + self.doubt(0) <= level
        return self.low + (int(np.argmax(is_rare)) if is_rare.any() else len(self.tails))


def binomial_tail(people: Any, chance: float, counts: Any) -> Float:
    """The probability that at least so many of some people give a report of some chance."""
    from scipy.special import betainc

    people, counts = np.broadcast_arrays(people, counts)
    inside = np.clip(counts, 1, people)
    reached = betainc(inside, people - inside + 1.0, chance)
    return np.asarray(np.where(counts < 1, 1.0, np.where(counts > people, 0.0, reached)))


def binomial_power(people: Any, chance: float, counts: Any) -> Float:
    """A lower bound of the tail, from the smaller one of it and of what it misses."""
    people, counts = np.broadcast_arrays(people, counts)
    reached = binomial_tail(people, chance, counts) * (1 - RELATIVE)
    missed = binomial_tail(people, 1 - chance, people - counts + 1) * (1 + RELATIVE)
    return np.asarray(np.maximum(reached, 1 - missed - UNIT))


def critical_counts(people: Any, chance: float, level: float) -> Any:
    """For each number of people the least count that at most a share ``level`` of all samples
    reach.
    """

    def is_rare(counts: Any) -> Any:
        return binomial_tail(people, chance, counts) * (1 + RELATIVE) <= level

    spread = np.sqrt(people * chance * (1 - chance))
    z = -NormalDist().inv_cdf(level)
    counts = np.clip(np.floor(people * chance + z * spread), 0, people).astype(np.int64)
    while (is_low := ~is_rare(counts)).any():  # more than all people never report
        counts = counts + is_low
    while (is_high := is_rare(counts - 1)).any():
        counts = counts - is_high
    return counts
