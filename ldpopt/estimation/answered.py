r"""Shares among those who answered: ratios of two estimates, with score intervals.

With ``a`` an estimated number to which the missing answer contributes nothing, and ``f`` the share
of missing answers,

.. math:: t = \frac{a}{1 - f}, \qquad \text{so that} \quad a - t (1 - f) = 0 .

The left side is estimated without bias, linearly in the reports. An interval has all ``t`` for
which its estimate differs from 0 by at most ``z`` standard errors (Fieller 1954), with the variance
that it has if its mean is 0. Weights that are related to the answers are accounted for as in
`ldpopt.estimation.band`, by the values in ``a - t (1 - f)`` at the estimated ``t``.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.estimation.band import Scales, effects_of
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate, interval_quantile
from ldpopt.estimation.intervals import null_variances
from ldpopt.foundation.numbers import Float

ANSWERED = "answered"  # the method of such estimates
STEPS = 26  # bisections of an interval's end: to less than a ten-millionth of the range


def among_answered(
    estimates: Estimate, source: Any, counts: Counts, missing: int, *, simultaneous: bool = False
) -> Estimate:
    """Divide estimates, shape (k,), by the share of those who answered; the last one is the share
    of missing answers.

    Numbers that are equal for all who answered are left out; intervals end one span beyond the
    possible ones. O(k n).
    """
    answered = source.wanted[:, source.wanted[missing] == 0]
    differs = np.ptp(answered, axis=1) > 0
    rows = np.flatnonzero(differs & (np.arange(len(answered)) != missing))
    ratios = _Ratios.of(estimates, source, counts, missing, rows)
    z = interval_quantile(estimates.confidence, len(rows) + 1, simultaneous)
    ends = ratios.ends(z, answered[rows].min(axis=1), np.ptp(answered[rows], axis=1))
    places = np.append(rows, missing)
    error = np.sqrt(ratios.scales.error * ratios.variances(ratios.values)) / ratios.answered
    labels = estimates.labels
    effect = ratios.scales.design_effects(counts, len(rows))
    if effect is not None and estimates.effect is not None:
        effect = np.append(effect, estimates.effect[missing])
    return replace(
        estimates,
        values=np.append(ratios.values, estimates.values[missing]),
        std_error=np.append(error, estimates.std_error[missing]),
        interval=np.vstack([ends.T, estimates.interval[missing]]),
        labels=None if labels is None else tuple(labels[place] for place in places),
        covariance=None,
        is_distribution=False,
        effect=effect,
        method=ANSWERED,
    )


@dataclass(frozen=True, eq=False)
class _Ratios:
    """The ratios ``t = a / (1 - f)`` of some numbers, shape (k,), and what their intervals need.

    A person's value in ``a - t (1 - f)`` has a second moment that is a polynomial in ``t``, of
    which ``second_moments`` has the three coefficients by answer.
    """

    numbers: Float  # (k,): estimates of a
    answered: float  # estimate of 1 - f
    wanted: Float  # (k, n): the numbers a
    is_missing: Float  # (n,): 1 for the missing answer
    second_moments: tuple[Float, Float, Float]  # (k, n), (k, n), (n,)
    frequencies: Float  # (n,): of the answers
    scales: Scales  # one over the number of reports

    @classmethod
    def of(
        cls, estimates: Estimate, source: Any, counts: Counts, missing: int, rows: Any
    ) -> "_Ratios":
        """The ratios of the numbers in some rows."""
        wanted = source.wanted[rows]
        is_missing = source.wanted[missing]
        squares, products = source.second_moments(missing)
        # (v - t (1 - u))^2 = v^2 + 2 t (v u - v) + t^2 (u^2 - 2 u + 1) for values v, u in a, f
        second_moments = (
            squares[rows],
            2 * (products[rows] - wanted),
            squares[missing] - 2 * is_missing + 1,
        )
        numbers = estimates.values[rows]
        answered = 1 - float(estimates.values[missing])
        scales = Scales.of(counts)
        if counts.is_weighted and answered > 0:
            plain, heavy = (
                source.ratio_squares(each, rows, missing, numbers / answered)
                for each in (counts, counts.with_squared_weights)
            )
            scales = Scales.of(counts, effects_of(heavy, plain, second_moments[0].max(axis=1)))
        frequencies = source.frequencies(counts)
        return cls(numbers, answered, wanted, is_missing, second_moments, frequencies, scales)

    @cached_property
    def values(self) -> Float:
        """The ratios; if nobody seems to have answered, nothing is known."""
        if self.answered > 0:
            return self.numbers / self.answered
        return np.full(len(self.numbers), np.nan)

    def variances(self, t: Float) -> Float:
        """Variances of one person's values in ``a - t (1 - f)`` if their means are 0."""
        constant, linear, square = self.second_moments
        second = constant + t[:, None] * linear + t[:, None] ** 2 * square
        wanted = self.wanted - t[:, None] * (1 - self.is_missing)
        return null_variances(wanted, second, self.frequencies)

    def ends(self, z: float, low: Float, span: Float) -> Float:
        """Ends of the score intervals, shape (2, k), by bisection; the possible ratios begin at
        ``low``.
        """
        far = np.stack([np.fmin(self.values, low - span), np.fmax(self.values, low + 2 * span)])
        near = np.broadcast_to(self.values, far.shape)
        for _ in range(STEPS if self.answered > 0 else 0):
            middle = (near + far) / 2
            spread = np.stack([self.scales.interval * self.variances(side) for side in middle])
            is_out = (self.numbers - middle * self.answered) ** 2 > z * z * spread
            near = np.where(is_out, near, middle)
            far = np.where(is_out, middle, far)
        return far
