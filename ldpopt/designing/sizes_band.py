"""The band of frequencies that are estimated from sets of a few sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpopt.estimation.band import Band, MultiplesBand, SampledBand, Scales
from ldpopt.estimation.intervals import score_intervals, student_quantile
from ldpopt.estimation.sampled import SampledNumbers
from ldpopt.foundation.numbers import Float


def variances_at(values: Float, squares: tuple[float, float]) -> Float:
    """The variance of a report's value at the possible frequency that is nearest to each."""
    near = np.clip(values, 0.0, 1.0)
    of_truth, others = squares
    return np.asarray(np.maximum(others + near * (of_truth - others) - near**2, 0.0))


@dataclass(frozen=True, eq=False)
class SizesBand(SampledBand):
    r"""Frequencies with their score intervals, by the variance :math:`m_0 + t (m_1 - m_0) - t^2` of
    a value at the frequency ``t``; ``m_1`` and ``m_0`` are the mean squares of the values of the
    people with the answer, and of all others.
    """

    values: Float  # (k,)
    squares: tuple[float, float]  # m_1 and m_0
    scales: Scales
    effect: Float | None = None  # (k,): design effect of the weights and the sample
    of_sample: SampledNumbers | None = None  # the errors from a sample

    @property
    def covariance(self) -> None:
        """Not kept: counts do not show which answers are in one set."""
        return None

    @property
    def possible(self) -> Float:
        """Frequencies are from 0 to 1."""
        return np.broadcast_to([0.0, 1.0], (len(self.values), 2))

    @cached_property
    def errors(self) -> Float:
        """Standard errors, at the nearest possible frequency."""
        return np.sqrt(variances_at(self.values, self.squares) * self.scales.error)

    def ends(self, z: float | Float) -> Float:
        """Ends of the intervals, shape (k, 2), not clipped."""
        z = student_quantile(z, self.freedom)
        k = len(self.values)
        wanted = np.broadcast_to([1.0, 0.0], (k, 2))
        second = np.broadcast_to(self.squares, (k, 2))
        # of two answers every frequency is on the line between both ends
        half = np.full(2, 0.5)
        return score_intervals(self.values, wanted, second, half, self.scales.interval, z)

    def contrast(self, matrix: Float) -> Band:
        """Multiples of single frequencies."""
        return MultiplesBand.of(self, matrix)
