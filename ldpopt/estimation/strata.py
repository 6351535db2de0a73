r"""Numbers of several strata together, each of which has a mechanism of its own.

With the weights :math:`a_g` of the strata and the estimates :math:`\hat t_g` of each,

.. math:: \hat t = \sum_g a_g \hat t_g, \qquad
          \operatorname{Var} \hat t = \sum_g a_g^2 \sigma_g^2 / N_g .

The score interval has all values that the estimate does not contradict. A value ``t`` is reached by
moving the estimated law of *every* stratum to the end of the range by the same share ``u``,

.. math:: p_g(u) = (1 - u) \, p_g + u \, e_g, \qquad t(u) = (1 - u) \, t_0 + u \, w_{end},

so that the variance is a quadratic in ``u``, and so is the equation of the ends. For one stratum
this is the interval of `ldpopt.estimation.intervals`. Theory: docs, "Choices".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.estimation.band import ROUNDING, SampledBand, ScoreBand
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.intervals import moments_at_ends, student_quantile
from ldpopt.estimation.sampled import ReportNoise, SampledNumbers
from ldpopt.foundation.numbers import Float

NEAR = 1e-12  # relative distance from the end of a range up to which a number is there


@dataclass(frozen=True, eq=False)
class StrataBand(SampledBand):
    """Weighted sums of the same numbers of several strata, with score intervals."""

    bands: tuple[ScoreBand, ...]  # of each stratum with reports
    shares: Float  # (g,): their weights, which sum to 1
    counts: Counts  # of all people
    places: tuple[Any, ...]  # the reports of each stratum among those of all

    @cached_property
    def values(self) -> Float:
        """The estimates, shape (k,)."""
        return np.asarray(sum(a * band.values for a, band in self._weighted))

    @property
    def _weighted(self) -> Sequence[tuple[float, ScoreBand]]:
        """Each stratum with its weight."""
        return list(zip(self.shares.tolist(), self.bands, strict=True))

    @cached_property
    def _variances(self) -> Float:
        """Variances of the estimates by the reports that were seen; of a stratum whose reports all
        have the same value, by its mechanism at the estimated answers.
        """
        total = np.zeros(len(self.values))
        for a, band in self._weighted:
            seen = band.errors**2
            law = Law.of(band)
            expected = band.scales.interval * law.variance
            size = np.abs(band.estimator).max(axis=1) ** 2 * band.counts.scale
            total += a * a * np.where(seen > ROUNDING * size, seen, expected)
        return total

    @cached_property
    def of_sample(self) -> SampledNumbers | None:
        """What is known of the errors from a sample with strata, clusters or the like."""
        if self.counts.sampled is None:
            return None
        size = len(self.counts.values)
        k, n = self.bands[0].wanted.shape
        values = np.zeros((k, size))
        deviations = np.zeros((k, size))
        inverse = np.zeros((n, size))
        channel = np.zeros((n, size))
        groups = np.full(size, -1)
        for place, (a, band) in enumerate(self._weighted):
            part = self.places[place]
            share = band.counts.total / self.counts.total
            moved = band.estimator - (band.values - band.constant)[:, None]
            values[:, part] = a / share * band.estimator
            deviations[:, part] = a / share * moved
            channel[:, part] = share * band.channel
            inverse[:, part] = 0.0 if band.inverse is None else band.inverse
            groups[part] = place
        noise = ReportNoise.of(values, self.bands[0].wanted, channel, inverse, groups)
        return SampledNumbers(self.counts.sampled, deviations, self.counts.total, noise)

    @cached_property
    def errors(self) -> Float:
        """Standard errors, shape (k,)."""
        variances = self._variances if self.of_sample is None else self.of_sample.variances
        return np.sqrt(np.maximum(variances, 0.0))

    @property
    def covariance(self) -> Float | None:
        """Covariance of the estimates, shape (k, k); None for very many."""
        if self.of_sample is not None:
            return self.of_sample.covariance if self.bands[0].has_covariance else None
        each = [(a, band.covariance) for a, band in self._weighted]
        known = [a * a * covariance for a, covariance in each if covariance is not None]
        return np.asarray(sum(known)) if len(known) == len(each) else None

    @property
    def possible(self) -> Float:
        """The least and the largest value over all answers, shape (k, 2)."""
        return np.asarray(self.bands[0].possible)

    @property
    def wanted(self) -> Float:
        """The numbers, shape (k, n)."""
        return np.asarray((self.bands[0].wanted.T + self.bands[0].constant).T)

    @property
    def constant(self) -> float:
        """None is kept apart of `wanted`."""
        return 0.0

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """Names of the rows of the channels, if they matter."""
        return self.bands[0].answers

    @cached_property
    def _scales(self) -> Float:
        """The square of the weight over the effective number of reports, shape (g, k)."""
        size = len(self.values)
        scales = np.stack(
            [a * a * np.broadcast_to(band.scales.interval, size) for a, band in self._weighted]
        )
        if self.of_sample is None:
            return scales
        plain = np.asarray(sum(a * a * band.variances for a, band in self._weighted))
        of_sample = np.maximum(self.of_sample.variances, self.of_sample.least)
        factor = np.divide(of_sample, plain, out=np.ones(size), where=plain > 0)
        return np.asarray(scales * factor)

    @property
    def effect(self) -> Float | None:
        """Design effect of the weights for each number, shape (k,); None without weights."""
        if not self.counts.is_weighted and self.counts.sampled is None:
            return None
        laws = np.stack([Law.of(band).variance for band in self.bands])
        plain = (self.shares[:, None] * laws).sum(axis=0)
        wide = self.counts.n_reports * (self._scales * laws).sum(axis=0)
        return np.asarray(np.divide(wide, plain, out=np.ones(len(plain)), where=plain > 0))

    def ends(self, z: Any) -> Float:
        """Score intervals of quantile ``z``, shape (k, 2), not clipped."""
        quantile = student_quantile(z, self.freedom)
        linear = np.asarray(sum(a * (band.values - band.constant) for a, band in self._weighted))
        laws = [Law.of(band) for band in self.bands]
        ends = strata_intervals(linear, laws, self.shares, self._scales, quantile)
        return np.asarray((ends.T + self.bands[0].constant).T)

    def contrast(self, matrix: Float) -> StrataBand:
        """The band of sums of the numbers."""
        return replace(self, bands=tuple(band.contrast(matrix) for band in self.bands))


@dataclass(frozen=True, eq=False)
class Law:
    """The estimated law of a stratum: for each number its mean, the mean square of a person's
    value, and both at the least and at the largest number.
    """

    mean: Float  # (k,)
    moment: Float
    ends: Any  # two pairs of a number and the mean square there

    @classmethod
    def of(cls, band: ScoreBand) -> Law:
        """That of a band."""
        second = band.estimator**2 @ band.channel.T
        return cls.at(band.wanted, second, band.frequencies)

    @classmethod
    def at(cls, wanted: Float, second: Float, frequencies: Float) -> Law:
        """That of numbers with mean squares by answer, at some frequencies of the answers."""
        mean, moment, ends, _ = moments_at_ends(wanted, second, frequencies)
        return cls(mean, moment, ends)

    @property
    def variance(self) -> Float:
        """Variance of one person's value, shape (k,)."""
        return np.asarray(np.maximum(self.moment - self.mean**2, 0.0))


def variances_at_zero(laws: Sequence[Law], shares: Float, scales: Float) -> Float:
    """Variances of sums over strata, shape (k,), if these sums are 0: every law is moved to the end
    on the other side by the same share until they are.
    """
    at = shares @ np.stack([law.mean for law in laws])
    side = np.where(at > 0, 0, 1)
    goal = np.where(side == 0, laws[0].ends[0][0], laws[0].ends[1][0])
    step = goal - at
    u = np.divide(-at, step, out=np.zeros(len(at)), where=step != 0)
    total = np.zeros(len(at))
    for law, scale in zip(laws, scales, strict=True):
        square = np.where(side == 0, law.ends[0][1], law.ends[1][1])
        moment = law.moment + u * (square - law.moment)
        mean = law.mean + u * (goal - law.mean)
        total += scale * np.maximum(moment - mean**2, 0.0)
    return total


def strata_intervals(
    estimates: Float, laws: Sequence[Law], shares: Float, scales: Float, z: Any
) -> Float:
    """Ends of the score intervals of sums over strata, shape (k, 2); ``scales``, shape (g, k), are
    the squares of the ``shares`` over the numbers of reports.
    """
    means, moments = (np.stack([getattr(law, key) for law in laws]) for key in ("mean", "moment"))
    there = [np.stack([law.ends[side][1] for law in laws]) for side in (0, 1)]
    low, high = (laws[0].ends[side][0] for side in (0, 1))
    at = shares @ means
    is_known = ~(low < high)  # a number that is equal for all answers
    # If an estimate is so far out that no possible value agrees, the ends have the variance at the
    # nearest one.
    nearest = np.where(estimates > (low + high) / 2, there[1] - high**2, there[0] - low**2)
    half = z * np.sqrt(np.maximum((scales * nearest).sum(axis=0), 0.0))
    sides = []
    for end, side in enumerate((-1.0, 1.0)):
        is_there = np.abs((low, high)[end] - at) <= NEAR * (1.0 + np.abs((low, high)[end]))
        # at the end of the range already: away from the other end, along the same line
        goal = np.where(is_there == bool(end), low, high)
        square = np.where(is_there, there[1 - end], there[end])
        step = goal - at
        rest = goal - means
        constant = (scales * (moments - means**2)).sum(axis=0)
        slope = (scales * (square - moments - 2 * means * rest)).sum(axis=0)
        first = step**2 + z * z * (scales * rest**2).sum(axis=0)
        middle = step * (estimates - at) + z * z * slope / 2
        inside = middle**2 - first * ((estimates - at) ** 2 - z * z * constant)
        root = np.sqrt(np.maximum(inside, 0.0)) * np.where(is_there, -1.0, 1.0)
        u = (middle + root) / np.where(is_known, 1.0, first)
        found = np.where(inside < 0, estimates + side * half, at + step * u)
        sides.append(np.where(is_known, estimates, found))
    return np.stack(sides, axis=-1)
