"""Shares among those who answered, of people who chose their mechanism: ratios of sums over strata,
with the variance of each stratum at its own law.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.estimation.answered import RatioBand
from ldpopt.estimation.band import Scales, effects_of
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.liars import plain_band
from ldpopt.estimation.sampled import ReportNoise, SampledNumbers
from ldpopt.estimation.strata import Law, variances_at_zero
from ldpopt.estimation.sums import Sums
from ldpopt.foundation.numbers import Float


class ChosenRatioBand(RatioBand):
    """Numbers among those who answered; the source is a `ChosenSource`, and the numbers of all
    people have a `StrataBand`.
    """

    @cached_property
    def _strata(self) -> list[tuple[float, Any, Counts, Float]]:
        """Of each stratum with reports the weight, what estimates it, its counts and its law."""
        band = plain_band(self.of_all)
        chosen = self.source.counts_by_choice(self.counts)
        return [
            (float(a), part.source, counts, each.frequencies)
            for a, each, (_, part, counts) in zip(band.shares, band.bands, chosen, strict=True)
        ]

    @cached_property
    def _coefficients(self) -> list[tuple[Float, Float, Float]]:
        return [self._moments_of(source) for _, source, _, _ in self._strata]

    def _laws(self, t: Float) -> list[Law]:
        """The law of a person's value in ``a - t (1 - f)`` in each stratum."""
        numbers = self.source.wanted[self.rows] - t[:, None] * (1 - self._is_missing)
        return [
            Law.at(numbers, constant + t[:, None] * linear + t[:, None] ** 2 * square, frequencies)
            for (_, _, _, frequencies), (constant, linear, square) in zip(
                self._strata, self._coefficients, strict=True
            )
        ]

    @cached_property
    def _of_strata(self) -> Float:
        """The square of the weight over the effective number of reports, shape (g, k)."""
        size = len(self.rows)
        return np.stack(
            [
                a * a * np.broadcast_to(self._scale_of(source, counts), size)
                for a, source, counts, _ in self._strata
            ]
        )

    def _scale_of(self, source: Any, counts: Counts) -> Float | float:
        """One over the effective number of reports of a stratum."""
        if not counts.is_weighted or not self._answered > 0:
            return counts.scale
        plain, heavy = (
            source.ratio_squares(each, self.rows, self.missing, self._ratios)
            for each in (counts, counts.with_squared_weights)
        )
        largest = self._second_moments[0].max(axis=1)
        return Scales.of(counts, effects_of(heavy, plain, largest)).interval

    def _variances(self, t: Float) -> Float:
        """Variances of the estimates of ``a - t (1 - f)`` if their means are 0."""
        if t.ndim > 1:
            return np.stack([self._variances(side) for side in t])
        weights = np.array([a for a, _, _, _ in self._strata])
        return variances_at_zero(self._laws(t), weights, self._of_strata)

    @cached_property
    def _of_sample(self) -> SampledNumbers | None:
        """What is known of the errors from a sample: the noise is that within each choice."""
        if self.counts.sampled is None:
            return None
        t = np.nan_to_num(self._ratios)[:, None]
        source = self.source
        missing = list(self.missing)
        weight = np.zeros(source.estimator.shape[1])
        groups = np.zeros(len(weight), dtype=np.int64)
        shares = {part.name: a for a, part in self._weights}
        for place, (part, pairs) in enumerate(zip(source.parts, source.slices, strict=True)):
            people = self.counts.values[pairs].sum() / self.counts.total
            weight[pairs] = shares[part.name] / people if people > 0 else 0.0
            groups[pairs] = place
        values = source.estimator[self.rows] + t * source.estimator[missing].sum(axis=0)
        wanted = source.wanted[self.rows] + t * source.wanted[missing].sum(axis=0)
        moved = weight * (values - t)
        noise = ReportNoise.of(weight * values, wanted, source.channel, source.left_inverse, groups)
        return SampledNumbers(self.counts.sampled, moved, self.counts.total, noise)

    @property
    def _weights(self) -> list[tuple[float, Any]]:
        """The weight of each choice; 0 of one that nobody made."""
        band = plain_band(self.of_all)
        chosen = {
            part.name: float(a)
            for a, (_, part, _) in zip(
                band.shares, self.source.counts_by_choice(self.counts), strict=True
            )
        }
        return [(chosen.get(part.name, 0.0), part) for part in self.source.parts]

    @cached_property
    def _scales(self) -> Scales:
        """What the variances of strata are multiplied by; 1 without a sample."""
        if self._of_sample is None:
            return Scales(1.0, 1.0)
        plain = self._variances(np.nan_to_num(self._ratios))
        sampled = self._of_sample.variances
        error, interval = (
            np.divide(each, plain, out=np.ones(len(plain)), where=plain > 0)
            for each in (sampled, np.maximum(sampled, self._of_sample.least))
        )
        return Scales(error, interval)

    @property
    def effect(self) -> Float | None:
        """Design effect of the weights for each number."""
        of_all = self.of_all.effect
        if of_all is None:
            return None
        t = np.nan_to_num(self._ratios)
        weights = np.array([a for a, _, _, _ in self._strata])
        equal = np.broadcast_to(weights[:, None], self._of_strata.shape) / self.counts.n_reports
        plain = variances_at_zero(self._laws(t), weights, equal)
        wide = self._scales.interval * self._variances(t)
        effect = np.divide(wide, plain, out=np.ones(len(plain)), where=plain > 0)
        return self._with_missing(effect, of_all)

    def _sums(self, matrix: Float) -> Any:
        """The source of sums of the numbers."""
        return self.source.each(lambda source: Sums(source, matrix))
