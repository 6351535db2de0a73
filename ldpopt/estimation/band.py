r"""Bands: the values of some numbers that reports do not contradict, at any confidence, also under
weights that are related to the answers.

A number ``t`` is estimated by the weighted mean of one value :math:`v_y` a report. With ``c`` and
``s`` the sums of the weights and of their squares by report, and totals ``T`` and ``S``,

.. math:: \operatorname{Var} \hat t \approx \frac{1}{T^2} \sum_y s_y (v_y - \hat t)^2
          = \frac{S}{T^2} \, D \, \frac{1}{T} \sum_y c_y (v_y - \hat t)^2, \qquad
          D = \frac{\sum_y s_y (v_y - \hat t)^2 / S}{\sum_y c_y (v_y - \hat t)^2 / T} .

:math:`S / T^2` is one over the effective number of reports (Kish 1965), which is right if the
weights are unrelated to the answers; then ``D`` is about 1. If rare answers have large weights
``D`` is above 1 (Rao and Scott 1981). A standard error takes :math:`D S / T^2`; the score interval
takes :math:`\max(1, D) S / T^2`, since ``D`` is too small where few people have the large weights.
Without weights all three are one over the number of reports.

The *design effect* of ``N`` reports is :math:`N \max(1, D) S / T^2`: so many times fewer reports of
equal weights have intervals as wide. Since :math:`s_y \le w c_y` for the largest weight ``w``, and
:math:`S \le w T`, it is at most :math:`w / (T / N)`, the largest weight over the mean one, however
weights and answers are related.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.identified import unseen_variances
from ldpopt.estimation.intervals import (
    binomial_intervals,
    norm_sub,
    score_intervals,
    student_quantile,
)
from ldpopt.estimation.sampled import InfluenceValues, ReportNoise, SampledNumbers
from ldpopt.foundation.numbers import Float

SAME = 1e-9  # relative difference up to which two values of reports are the same
LARGEST_COVARIANCE = 1000  # number of estimates of which the covariance is kept in any case
ROUNDING = 1e-12  # share of the largest square up to which a mean square is rounding


@dataclass(frozen=True, eq=False)
class Scales:
    """One over the effective numbers of reports, for standard errors and for intervals: a number,
    or with weights one for each estimate.
    """

    error: Float | float
    interval: Float | float

    @classmethod
    def of(cls, counts: Counts, effects: Float | None = None) -> "Scales":
        """Those of some counts, with the ``D`` of each estimate, shape (k,)."""
        if effects is None:
            return cls(counts.scale, counts.scale)
        return cls(counts.scale * effects, counts.scale * np.maximum(1.0, effects))

    def at(self, chosen: Any) -> "Scales":
        """Those of some of the estimates."""
        error, interval = (
            each if np.ndim(each) == 0 else np.asarray(each)[chosen]
            for each in (self.error, self.interval)
        )
        return Scales(error, interval)

    def design_effects(self, counts: Counts, size: int) -> Float | None:
        """Design effect of the weights and the sample for each of ``size`` estimates; None without
        both.
        """
        if not counts.is_weighted and counts.sampled is None:
            return None
        return np.array(np.broadcast_to(counts.n_reports * self.interval, (size,)))


def effects_of(heavy: Float, plain: Float, largest: Float | float) -> Float:
    """``D`` from the mean squares with squared and with plain weights, shape (k,); 1 if all reports
    have the same value.
    """
    is_known = plain > ROUNDING * largest
    return np.asarray(np.divide(heavy, plain, out=np.ones_like(plain), where=is_known))


def scales_of_support(counts: Counts) -> Scales:
    """Scales of the shares of reports that support each label, whose values are 1 and 0."""
    if not counts.is_weighted:
        return Scales.of(counts)
    share = counts.values / counts.total
    heavy = counts.squares / counts.total_squares
    # heavy (1 - share)^2 + (1 - heavy) share^2, and exactly the plain squares for equal weights
    plain = share * (1 - share)
    return Scales.of(counts, effects_of(plain + (heavy - share) * (1 - 2 * share), plain, 1.0))


def scales_of_values(estimator: Float, values: Float, counts: Counts) -> Scales:
    """Scales of estimates, shape (k,), of which each report has a value, shape (k, m)."""
    if not counts.is_weighted:
        return Scales.of(counts)
    squares = (estimator - values[:, None]) ** 2
    plain, heavy = (
        squares @ (each.values / each.total) for each in (counts, counts.with_squared_weights)
    )
    largest = np.abs(estimator[:, counts.values > 0]).max(axis=1) ** 2
    return Scales.of(counts, effects_of(heavy, plain, largest))


def scales_of_sample(numbers: SampledNumbers, counts: Counts) -> Scales:
    """Scales of estimates from a sample, by the variance of the sample alone: a share of 1 of the
    population, or strata that are alike inside, make intervals shorter. Intervals are at least as
    wide as the noise makes them.
    """
    squares = numbers.deviations**2
    plain = squares @ (counts.values / counts.total)
    is_known = plain > ROUNDING * squares.max(axis=1)
    error, interval = (
        np.divide(each, plain, out=np.full_like(plain, counts.scale), where=is_known)
        for each in (numbers.variances, np.maximum(numbers.variances, numbers.least))
    )
    return Scales(error, interval)


class Band(Protocol):
    """Some numbers with their intervals at any confidence: the values that the reports do not
    contradict.

    Of what is estimated and how reports were drawn a band keeps as much as its intervals need, so
    that intervals of sums and differences of the numbers follow from it, and tests of a value.
    """

    @property
    def values(self) -> Float:
        """The estimates, shape (k,)."""

    @property
    def errors(self) -> Float:
        """Their standard errors, shape (k,)."""

    @property
    def covariance(self) -> Float | None:
        """Their covariance, shape (k, k); None if it is not known."""

    @property
    def effect(self) -> Float | None:
        """Design effect of the weights, shape (k,); None for equal weights, or if it is not
        known.
        """

    @property
    def possible(self) -> Float:
        """The least and the largest value of each number that some answers give, shape (2,) or (k,
        2).
        """

    @property
    def freedom(self) -> float:
        """Degrees of freedom of their errors, of Student's t; infinite for normal ones."""

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves them; None without a sample."""

    def ends(self, z: Any) -> Float:
        """Ends of the intervals, shape (k, 2), of quantile ``z`` of the normal distribution: a
        number, or one for each interval, shape (k,). With few clusters the quantile of Student's t
        with the same probability is taken.
        """

    def contrast(self, matrix: Float) -> "Band":
        """The band of ``matrix @ t``, matrix of shape (r, k).

        Raises
        ------
        StatementError
            If it would need a covariance that is not known.
        """


@dataclass(frozen=True, eq=False)
class NormalBand:
    """Numbers with normal intervals ``values -+ z spread``, clipped to what is possible."""

    values: Float
    errors: Float
    covariance: Float | None = None
    spread: Float | None = None  # (k,); default: the standard errors
    possible: Any = (-np.inf, np.inf)  # (2,), or (k, 2)
    effect: Float | None = None  # (k,): of the weights
    freedom: float = np.inf
    influence_values: InfluenceValues | None = None

    def ends(self, z: Any) -> Float:
        """Normal intervals, or of Student's t, clipped."""
        half = student_quantile(z, self.freedom) * (
            self.errors if self.spread is None else self.spread
        )
        low, high = np.transpose(self.possible)
        ends = np.stack([self.values - half, self.values + half], axis=-1)
        return np.asarray(np.clip(ends.T, low, high).T)

    def contrast(self, matrix: Float) -> "NormalBand":
        r"""Sums and differences: covariance :math:`B C B^T`.

        What standard errors have above the covariance (reports that nobody gave, weights that are
        related to the answers) is taken as if it added up.
        """
        is_one = (matrix != 0).sum(axis=1) <= 1
        values = matrix @ self.values
        size = np.abs(matrix)
        spread = self.errors if self.spread is None else self.spread
        possible = _range(matrix, self.possible)
        influence = self.influence_values and self.influence_values.contrast(matrix)
        sample: Any = {"freedom": self.freedom, "influence_values": influence}
        if self.covariance is None:
            if not is_one.all():
                raise no_covariance()
            return NormalBand(values, size @ self.errors, None, size @ spread, possible, **sample)
        covariance = matrix @ self.covariance @ matrix.T
        variances = np.diag(self.covariance)
        errors, wide = (
            np.where(
                is_one,
                size @ each,
                np.sqrt(
                    np.maximum(np.diag(covariance), 0.0)
                    + (size @ np.sqrt(np.maximum(each**2 - variances, 0.0))) ** 2
                ),
            )
            for each in (self.errors, spread)
        )
        return NormalBand(values, errors, covariance, wide, possible, **sample)


def _range(matrix: Float, possible: Any) -> Float:
    """The least and the largest value of sums of numbers within some limits, shape (r, 2)."""
    low, high = np.broadcast_to(possible, (matrix.shape[1], 2)).T
    with np.errstate(invalid="ignore"):
        from_low, from_high = (np.where(matrix == 0, 0.0, matrix * end) for end in (low, high))
    ends = np.minimum(from_low, from_high), np.maximum(from_low, from_high)
    return np.stack([end.sum(axis=1) for end in ends], axis=-1)


@dataclass(frozen=True, eq=False)
class MultiplesBand:
    """Multiples of single numbers of a band, with its intervals."""

    band: Any
    matrix: Float  # (r, k): at most one entry of a row is not 0

    @classmethod
    def of(cls, band: Band, matrix: Float) -> Band:
        """The sums of a band whose covariance is not known, if each is a multiple of one number.

        Raises
        ------
        StatementError
            If one is not.
        """
        if ((matrix != 0).sum(axis=1) > 1).any():
            normal = NormalBand(band.values, band.errors, band.covariance)
            sample = replace(normal, freedom=band.freedom, influence_values=band.influence_values)
            return sample.contrast(matrix)
        return cls(band, matrix)

    @property
    def values(self) -> Float:
        """The multiples, shape (r,)."""
        return np.asarray(self.matrix @ self.band.values)

    @property
    def errors(self) -> Float:
        """Their standard errors."""
        return np.asarray(np.abs(self.matrix) @ self.band.errors)

    @property
    def covariance(self) -> Float | None:
        """Their covariance, if that of the numbers is known."""
        covariance = self.band.covariance
        return None if covariance is None else self.matrix @ covariance @ self.matrix.T

    @property
    def effect(self) -> Float | None:
        """Design effects of the numbers."""
        effect = self.band.effect
        return None if effect is None else effect[np.abs(self.matrix).argmax(axis=1)]

    @property
    def possible(self) -> Float:
        """Their least and largest values."""
        return _range(self.matrix, self.band.possible)

    @property
    def freedom(self) -> float:
        """That of the numbers."""
        return float(self.band.freedom)

    @property
    def influence_values(self) -> InfluenceValues | None:
        """That of the numbers, multiplied."""
        influence: InfluenceValues | None = self.band.influence_values
        return influence and influence.contrast(self.matrix)

    @property
    def liars(self) -> float:
        """The share of liars for which the intervals are widened."""
        return float(getattr(self.band, "liars", 0.0))

    @property
    def plain(self) -> "MultiplesBand":
        """The same of reports that are all true."""
        return replace(self, band=getattr(self.band, "plain", self.band)) if self.liars else self

    def ends(self, z: Any) -> Float:
        """The ends of the numbers' intervals, multiplied."""
        place = np.abs(self.matrix).argmax(axis=1)
        factor = self.matrix[np.arange(len(place)), place]
        if np.ndim(z):  # one for each multiple: each needs the intervals of its own
            return np.concatenate(
                [MultiplesBand(self.band, self.matrix[[row]]).ends(z[row]) for row in range(len(z))]
            )
        ends = factor[:, None] * self.band.ends(z)[place]
        return np.sort(ends, axis=1)

    def contrast(self, matrix: Float) -> Band:
        """Sums of the multiples are sums of the numbers."""
        contrasted: Band = self.band.contrast(matrix @ self.matrix)
        return contrasted


@dataclass(frozen=True, eq=False)
class LikelihoodBand(NormalBand):
    """The most likely frequencies of the answers, with normal intervals."""

    channel: Any = None  # (n, m)
    counts: Any = None
    groups: Any = None  # as those of `ScoreBand`


class SampledBand(ABC):
    """What is the same of all bands of numbers that may come from a sample."""

    @property
    @abstractmethod
    def of_sample(self) -> SampledNumbers | None:
        """What is known of the errors from a sample with strata, clusters or the like."""

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t, with clusters."""
        return np.inf if self.of_sample is None else self.of_sample.freedom

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves the numbers."""
        return None if self.of_sample is None else self.of_sample.influence_values


@dataclass(frozen=True, eq=False)
class ScoreBand(SampledBand):
    """Estimates of ``wanted @ p`` that are linear in the reports, with the score interval of each
    at any confidence.
    """

    estimator: Float  # (k, m): value of each report in each number
    wanted: Float  # (k, n): the numbers
    channel: Float  # (n, m)
    frequencies: Float  # (n,): of the answers, where variances are taken
    counts: Counts
    # (k,): added to each number; large constants are kept apart, which variances do not depend on
    constant: Float | float = 0.0
    answers: tuple[Hashable, ...] = ()  # names of the rows of the channel, if they matter
    # whether numbers that are a count of reports have binomial intervals (Clopper and Pearson
    # 1934), as those that hold all at once
    is_exact: bool = False
    # (m,): the channel of each report, if there are several, with fixed numbers of people
    groups: Any = None
    inverse: Float | None = None  # (n, m): the left inverse of the channel, for a sample
    is_chosen: bool = False  # whether people chose their channels, of which each has an inverse

    @cached_property
    def values(self) -> Float:
        """The estimates, shape (k,)."""
        return np.asarray(self._linear + self.constant)

    @cached_property
    def of_sample(self) -> SampledNumbers | None:
        """What is known of the errors from a sample with strata, clusters or the like."""
        if self.counts.sampled is None:
            return None
        chosen = self.groups if self.is_chosen else None
        noise = ReportNoise.of(self.estimator, self.wanted, self.channel, self.inverse, chosen)
        return SampledNumbers(self.counts.sampled, self._deviations, self.counts.total, noise)

    @cached_property
    def _linear(self) -> Float:
        return np.asarray(self.estimator @ (self.counts.values / self.counts.total))

    @cached_property
    def _deviations(self) -> Float:
        return self.estimator - self._linear[:, None]

    @cached_property
    def _spread(self) -> Float:
        if self.of_sample is not None:
            return self.of_sample.covariance
        weights = self.counts.squares / self.counts.total**2
        covariance = (self._deviations * weights) @ self._deviations.T
        return np.asarray((covariance + covariance.T) / 2)

    @property
    def has_covariance(self) -> bool:
        """Whether their covariance is kept: there are few numbers, or no more than answers."""
        return len(self.estimator) <= max(LARGEST_COVARIANCE, len(self.channel))

    @property
    def covariance(self) -> Float | None:
        r"""Covariance of the estimates, shape (k, k): :math:`\sum_y s_y (v_y - t)(v_y - t)^T /
        T^2`; None for very many.
        """
        return self._spread if self.has_covariance else None

    @property
    def variances(self) -> Float:
        """Variances of the estimates, shape (k,), at the reports that were seen."""
        if self.of_sample is not None:
            return self.of_sample.variances
        if self.has_covariance:
            return np.diag(self._spread)
        return np.asarray(self._deviations**2 @ (self.counts.squares / self.counts.total**2))

    @cached_property
    def errors(self) -> Float:
        """Standard errors, also of the reports that practically nobody gives, shape (k,)."""
        people = 1 / self.counts.scale
        unseen = unseen_variances(self.estimator, self.channel, self.frequencies, people)
        return np.sqrt(np.maximum(self.variances + unseen, 0.0))

    @cached_property
    def scales(self) -> Scales:
        """One over the effective number of reports of each estimate."""
        if self.of_sample is not None:
            return scales_of_sample(self.of_sample, self.counts)
        return scales_of_values(self.estimator, self._linear, self.counts)

    @property
    def effect(self) -> Float | None:
        """Design effect of the weights for each number, shape (k,); None without weights."""
        return self.scales.design_effects(self.counts, len(self.estimator))

    @property
    def possible(self) -> Float:
        """The least and the largest value over all answers, shape (k, 2)."""
        ends = np.stack([self.wanted.min(axis=1), self.wanted.max(axis=1)], axis=-1)
        return np.asarray((ends.T + self.constant).T)

    def ends(self, z: Any) -> Float:
        """Score intervals of quantile ``z``, shape (k, 2), not clipped."""
        z = student_quantile(z, self.freedom)
        second = self.estimator**2 @ self.channel.T
        scale = self.scales.interval
        ends = score_intervals(self._linear, self.wanted, second, self.frequencies, scale, z)
        if self.is_exact:
            self._put_binomial(ends, z)
        return np.asarray((ends.T + self.constant).T)

    def _put_binomial(self, ends: Float, z: Any) -> None:
        """Put binomial ends where a number is a count of reports."""
        low = self.estimator.min(axis=1)
        span = np.ptp(self.estimator, axis=1)
        part = (self.estimator - low[:, None]) / np.where(span > 0, span, 1.0)[:, None]
        distance = np.minimum(np.abs(part), np.abs(1 - part)).max(axis=1)
        is_count = (span > 0) & (distance < SAME)
        share = part[is_count] @ (self.counts.values / self.counts.total)
        scale = np.broadcast_to(self.scales.interval, len(is_count))[is_count]
        quantile = z if np.ndim(z) == 0 else z[is_count]
        shares = binomial_intervals(share, scale, quantile)
        ends[is_count] = low[is_count, None] + span[is_count, None] * shares

    @classmethod
    def of(
        cls,
        counts: Counts,
        estimator: Float,
        wanted: Float,
        channel: Float,
        inverse: Float,
        **fields: Any,
    ) -> "ScoreBand":
        """The band of numbers that an ``estimator``, shape (k, m), estimates without bias.

        A left ``inverse`` of the channel, shape (n, m), gives the frequencies at which variances
        are taken.
        """
        frequencies = norm_sub(inverse @ (counts.values / counts.total))
        return cls(estimator, wanted, channel, frequencies, counts, inverse=inverse, **fields)

    def contrast(self, matrix: Float) -> "ScoreBand":
        r"""The band of :math:`B V`, :math:`B W`: its variances are those of ``B t`` itself."""
        constant = matrix @ np.broadcast_to(self.constant, matrix.shape[1])
        return replace(
            self,
            estimator=matrix @ self.estimator,
            wanted=matrix @ self.wanted,
            constant=constant if np.any(self.constant) else 0.0,
        )


@dataclass(frozen=True, eq=False)
class ProjectedBand:
    """Estimates moved to the nearest possible ones, with the intervals of the unmoved estimates
    clipped to [0, 1].
    """

    values: Float
    unbiased: Band

    @property
    def errors(self) -> Float:
        """Those of the unbiased estimates."""
        return self.unbiased.errors

    @property
    def covariance(self) -> Float | None:
        """That of the unbiased estimates."""
        return self.unbiased.covariance

    @property
    def effect(self) -> Float | None:
        """That of the unbiased estimates."""
        return self.unbiased.effect

    @property
    def possible(self) -> Float:
        """Those of the unbiased estimates."""
        return self.unbiased.possible

    @property
    def freedom(self) -> float:
        """That of the unbiased estimates."""
        return self.unbiased.freedom

    @property
    def influence_values(self) -> InfluenceValues | None:
        """That of the unbiased estimates."""
        return self.unbiased.influence_values

    def ends(self, z: Any) -> Float:
        """Ends of the unbiased estimates' intervals, clipped to [0, 1]."""
        return np.clip(self.unbiased.ends(z), 0.0, 1.0)

    def contrast(self, matrix: Float) -> NormalBand:
        """Normal intervals of sums and differences of the moved estimates."""
        normal = NormalBand(self.values, self.errors, self.covariance)
        sample = replace(normal, freedom=self.freedom, influence_values=self.influence_values)
        return sample.contrast(matrix)


def no_covariance() -> StatementError:
    """Return the error for sums of numbers whose covariance is not known."""
    return StatementError(
        "the covariance of these estimates is not known",
        code="covariance",
        do="estimate from a mechanism or a design, or take one number alone",
    )
