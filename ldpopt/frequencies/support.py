"""The band of frequencies that are estimated from the shares of the reports that support each
label.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.black_box import lower_limit, upper_limit
from ldpopt.estimation.band import Band, MultiplesBand, Scales, scales_of_support
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.intervals import (
    binomial_intervals,
    share_intervals,
    student_quantile,
    tail,
)
from ldpopt.estimation.sampled import InfluenceValues, SampledNumbers
from ldpopt.foundation.numbers import Float, require_memory


@dataclass(frozen=True, eq=False)
class SupportNoise:
    """The variance of whether a report supports a label by randomization alone: of its own people,
    and of all others.
    """

    places: Any  # (k,): of the labels
    p: float
    q: float

    def at(self, rows: slice) -> "SupportNoise":
        """That of some of the labels."""
        return SupportNoise(self.places[rows], self.p, self.q)

    def covariance(self, squares: Float) -> Float:
        """That of the sums of people with some squared weights: the diagonal, (k, k)."""
        p, q = self.p, self.q
        people = squares[-1]
        own = np.clip((squares[self.places] - q * people) / (p - q), 0.0, people)
        return np.diag(own * p * (1 - p) + (people - own) * q * (1 - q))


def sampled_shares(counts: Counts, places: Any, p: float, q: float) -> SampledNumbers | None:
    """What is known from a sample of the errors of the shares of the reports that support some
    labels; None without a sample.
    """
    if counts.sampled is None:
        return None
    size = len(counts.values)
    require_memory(8.0 * len(places) * (size + 1), "the influence of reports on estimates")
    deviations = np.zeros((len(places), size + 1))
    deviations[np.arange(len(places)), places] = 1.0
    deviations[:, -1] = -(counts.values / counts.total)[places]
    return SampledNumbers(counts.sampled, deviations, counts.total, SupportNoise(places, p, q))


def scales_of_shares(share: Float, numbers: SampledNumbers | None, counts: Counts) -> Scales:
    """One over the effective numbers of reports of some shares: of a sample by its variances."""
    if numbers is None:
        return scales_of_support(counts)
    plain = share * (1 - share)
    error, interval = (
        np.divide(each, plain, out=np.full_like(plain, counts.scale), where=plain > 0)
        for each in (numbers.variances, np.maximum(numbers.variances, numbers.least))
    )
    return Scales(error, interval)


@dataclass(frozen=True, eq=False)
class SupportBand:
    r"""Frequencies :math:`(s - q) / (p - q)` of some labels, with the intervals of the shares ``s``
    of supporting reports.

    These are score intervals (Wilson 1927), or binomial ones (Clopper and Pearson 1934) where all
    hold at once, although perhaps chosen by the reports: then the risk of each lower and of each
    upper end is divided by the number of labels among which it was chosen.
    """

    share: Float  # (k,)
    scales: Scales
    errors: Float
    q: float  # probability that a report supports a label of somebody else
    gap: float  # p - q
    among: tuple[int, int] | None = None  # None: score intervals
    is_pair: bool = False  # whether these are the two shares of a yes/no question
    effect: Float | None = None  # (k,): design effect of the weights
    of_sample: SampledNumbers | None = None  # the errors of the shares from a sample

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t, with clusters."""
        return np.inf if self.of_sample is None else self.of_sample.freedom

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves the frequencies."""
        if self.of_sample is None:
            return None
        influence = self.of_sample.influence_values
        parts = [(groups, values / self.gap) for groups, values in influence.parts]
        return InfluenceValues(influence.table, parts, influence.has_noise)

    @cached_property
    def values(self) -> Float:
        """The frequencies, shape (k,)."""
        return np.asarray((self.share - self.q) / self.gap)

    @property
    def covariance(self) -> Float | None:
        """That of the two shares of a yes/no question, which sum to 1; else it is not kept."""
        if self.is_pair:
            return float(self.errors[0] ** 2) * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return None

    @property
    def possible(self) -> Float:
        """Frequencies are from 0 to 1."""
        return np.broadcast_to([0.0, 1.0], (len(self.share), 2))

    def ends(self, z: Any) -> Float:
        """Ends of the intervals, shape (k, 2), not clipped."""
        z = student_quantile(z, self.freedom)
        scale = self.scales.interval
        if self.among is None:
            ends = share_intervals(self.share, scale, z)
        elif self.among == (1, 1):
            ends = binomial_intervals(self.share, scale, z)
        else:
            hits = np.round(np.clip(self.share, 0.0, 1.0) / scale, 6)
            below, above = (tail(z) / number for number in self.among)
            pair = lower_limit(hits, 1 / scale, below), upper_limit(hits, 1 / scale, above)
            ends = np.stack(pair, axis=-1)
        return np.asarray((ends - self.q) / self.gap)

    def contrast(self, matrix: Float) -> Band:
        """Multiples of single frequencies, or differences of the two of a yes/no question."""
        return MultiplesBand.of(self, matrix)


@dataclass(frozen=True, eq=False)
class ScaledBand:
    """The numbers of a band in another unit."""

    band: Band
    unit: float

    @property
    def values(self) -> Float:
        """The numbers, shape (k,)."""
        return self.unit * self.band.values

    @property
    def errors(self) -> Float:
        """Their standard errors."""
        return abs(self.unit) * self.band.errors

    @property
    def covariance(self) -> None:
        """Not kept."""
        return None

    @property
    def effect(self) -> Float | None:
        """Design effects of the weights; they are ratios of variances, and a unit changes none."""
        return self.band.effect

    @property
    def possible(self) -> Float:
        """The least and the largest value of each number."""
        return np.sort(self.unit * np.asarray(self.band.possible), axis=-1)

    @property
    def freedom(self) -> float:
        """That of the numbers."""
        return self.band.freedom

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves the numbers."""
        influence = self.band.influence_values
        if influence is None:
            return None
        return replace(influence, parts=[(who, self.unit * by) for who, by in influence.parts])

    def ends(self, z: Any) -> Float:
        """Ends of the intervals in this unit."""
        return np.sort(self.unit * self.band.ends(z), axis=-1)

    def contrast(self, matrix: Float) -> Band:
        """Sums in this unit."""
        return self.band.contrast(self.unit * matrix)
