r"""The band of values that reports do not contradict, also under weights that are related to the
answers.

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

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpopt.estimation.counts import Counts
from ldpopt.estimation.intervals import score_intervals
from ldpopt.foundation.numbers import Float

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

    def design_effects(self, counts: Counts, size: int) -> Float | None:
        """Design effect of the weights for each of ``size`` estimates; None without weights."""
        if not counts.is_weighted:
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


@dataclass(frozen=True, eq=False)
class ScoreBand:
    """Estimates of ``wanted @ p`` that are linear in the reports, with the score interval of each
    at any confidence.
    """

    estimator: Float  # (k, m): value of each report in each number
    wanted: Float  # (k, n): the numbers
    channel: Float  # (n, m)
    frequencies: Float  # (n,): of the answers, where variances are taken
    counts: Counts

    @cached_property
    def values(self) -> Float:
        """The estimates, shape (k,)."""
        return np.asarray(self.estimator @ (self.counts.values / self.counts.total))

    @cached_property
    def _deviations(self) -> Float:
        return self.estimator - self.values[:, None]

    @cached_property
    def covariance(self) -> Float:
        r"""Covariance of the estimates, shape (k, k): :math:`\sum_y s_y (v_y - t)(v_y - t)^T /
        T^2`.
        """
        weights = self.counts.squares / self.counts.total**2
        covariance = (self._deviations * weights) @ self._deviations.T
        return np.asarray((covariance + covariance.T) / 2)

    def variances(self, *, has_covariance: bool) -> Float:
        """Variances of the estimates, shape (k,)."""
        if has_covariance:
            return np.diag(self.covariance)
        return np.asarray(self._deviations**2 @ (self.counts.squares / self.counts.total**2))

    @cached_property
    def scales(self) -> Scales:
        """One over the effective number of reports of each estimate."""
        return scales_of_values(self.estimator, self.values, self.counts)

    def ends(self, z: float) -> Float:
        """Score intervals of quantile ``z``, shape (k, 2), not clipped."""
        second = self.estimator**2 @ self.channel.T
        scale = self.scales.interval
        return score_intervals(self.values, self.wanted, second, self.frequencies, scale, z)
