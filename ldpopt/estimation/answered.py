r"""Shares among those who answered: ratios of two estimates, with score intervals.

With ``a`` an estimated number to which the missing answer contributes nothing, and ``f`` the share of missing answers,

.. math:: t = \frac{a}{1 - f}, \qquad \text{so that} \quad a - t (1 - f) = 0 .

The left side is estimated without bias, linearly in the reports. An interval has all ``t`` for which its estimate
differs from 0 by at most ``z`` standard errors (Fieller 1954), with the variance that it has where it is 0.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.estimate import Estimate, interval_quantile
from ldpopt.estimation.intervals import null_variances
from ldpopt.foundation.numbers import Float

ANSWERED = "answered"  # the method of such estimates
FARTHEST = 1e6  # distance, in spans of a number, at which an interval counts as unbounded
STEPS = 60  # bisections of an interval's end


def among_answered(
    found: Estimate, source: ReportSource, counts: Counts, missing: int, *, simultaneous: bool = False
) -> Estimate:
    """Divide estimates, shape (k,), by the share of those who answered; that of the missing answer stays as it is.

    ``missing`` is the position of its share among the numbers. Numbers that are equal for all who answered are left
    out, since they are known. O(k n) for each of 60 steps.
    """
    wanted, (squares, products) = source.wanted, source.second_moments(missing)
    frequencies, share = source.frequencies(counts), float(found.values[missing])
    own = np.where(wanted[missing] > 0, np.nan, wanted)  # numbers of those who answered
    low, high = np.nanmin(own, axis=1), np.nanmax(own, axis=1)
    rows = np.flatnonzero((low < high) & (np.arange(len(low)) != missing))
    low, high, above = low[rows], high[rows], wanted[rows]
    squares, products, twice = squares[rows], products[rows] - above, squares[missing] - 2 * wanted[missing] + 1
    z = interval_quantile(found.confidence, len(rows) + 1, simultaneous)

    def variances(t: Float) -> Float:
        """Variances of ``a - t (1 - f)`` where it is 0."""
        second = squares + 2 * t[:, None] * products + t[:, None] ** 2 * twice
        number = above - t[:, None] * (1 - wanted[missing])
        return null_variances(number, second, frequencies)

    def end(side: int) -> Float:
        """The last ``t`` on a side that the estimates do not contradict; the range of the number if all agree."""
        near, far = np.zeros(len(rows)), np.full(len(rows), FARTHEST)
        is_bounded = differs(values + side * (high - low) * far)
        for _ in range(STEPS):
            middle = np.where(far > 2 * near + 1, np.sqrt((near + 1e-3) * far), (near + far) / 2)
            is_out = differs(values + side * (high - low) * middle)
            near, far = np.where(is_out, near, middle), np.where(is_out, middle, far)
        return np.where(is_bounded, values + side * (high - low) * far, low if side < 0 else high)

    def differs(t: Float) -> Any:
        return (found.values[rows] - t * (1 - share)) ** 2 > z * z * counts.scale * variances(t)

    if share < 1:
        values = found.values[rows] / (1 - share)
        error = np.sqrt(counts.scale * variances(values)) / (1 - share)
        interval = np.stack([end(-1), end(1)], axis=-1)
    else:  # nobody seems to have answered: nothing is known
        values = error = np.full(len(rows), np.nan)
        interval = np.stack([low, high], axis=-1)
    order = np.append(rows, missing)
    names = None if found.labels is None else [found.labels[place] for place in order]
    return replace(
        found,
        values=np.append(values, share),
        std_error=np.append(error, found.std_error[missing]),
        interval=np.vstack([interval, found.interval[missing]]),
        labels=names,
        covariance=None,
        method=ANSWERED,
    )
