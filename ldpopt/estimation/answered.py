r"""Shares among those who answered: ratios of two estimates, with score intervals.

With ``a`` an estimated number to which the missing answer contributes nothing, and ``f`` the share
of missing answers,

.. math:: t = \frac{a}{1 - f}, \qquad \text{so that} \quad a - t (1 - f) = 0 .

The left side is estimated without bias, linearly in the reports. An interval has all ``t`` for
which its estimate differs from 0 by at most ``z`` standard errors (Fieller 1954), with the variance
that it has if its mean is 0.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate, interval_quantile
from ldpopt.estimation.intervals import null_variances
from ldpopt.foundation.numbers import Float

ANSWERED = "answered"  # the method of such estimates
STEPS = 26  # bisections of an interval's end: to less than a ten-millionth of the range


def among_answered(
    found: Estimate, source: Any, counts: Counts, missing: int, *, simultaneous: bool = False
) -> Estimate:
    """Divide estimates, shape (k,), by the share of those who answered; the last one is the share
    of missing answers.

    Numbers that are equal for all who answered are left out; intervals end one span beyond the
    possible ones. O(k n).
    """
    is_missing = source.wanted[missing]
    squares, products = source.second_moments(missing)
    own = source.wanted[:, is_missing == 0]
    rows = np.flatnonzero((np.ptp(own, axis=1) > 0) & (np.arange(len(own)) != missing))
    own, above, estimates = own[rows], source.wanted[rows], found.values[rows]
    low = own.min(axis=1)
    span = np.ptp(own, axis=1)
    squares, products, square = (
        squares[rows],
        2 * (products[rows] - above),
        squares[missing] - 2 * is_missing + 1,
    )
    frequencies = source.frequencies(counts)
    rest = 1 - float(found.values[missing])
    z = interval_quantile(found.confidence, len(rows) + 1, simultaneous)

    def variances(t: Float) -> Float:
        """Variances of the estimates of ``a - t (1 - f)`` if their means are 0."""
        second = squares + t[:, None] * products + t[:, None] ** 2 * square
        return counts.scale * null_variances(
            above - t[:, None] * (1 - is_missing), second, frequencies
        )

    # If nobody seems to have answered, nothing is known.
    values = estimates / rest if rest > 0 else np.full(len(rows), np.nan)
    far = np.stack([np.fmin(values, low - span), np.fmax(values, low + 2 * span)])
    near = np.broadcast_to(values, far.shape)
    for _ in range(STEPS if rest > 0 else 0):
        middle = (near + far) / 2
        is_out = (estimates - middle * rest) ** 2 > z * z * np.stack(
            [variances(side) for side in middle]
        )
        near, far = np.where(is_out, near, middle), np.where(is_out, middle, far)
    parts = (values, found.values), (np.sqrt(variances(values)) / rest, found.std_error)
    values, error = (np.append(shares, whole[missing]) for shares, whole in parts)
    interval = np.vstack([far.T, found.interval[missing]])
    labels = (
        None
        if found.labels is None
        else tuple(found.labels[place] for place in np.append(rows, missing))
    )
    how: dict[str, Any] = {
        "interval": interval,
        "labels": labels,
        "covariance": None,
        "method": ANSWERED,
    }
    return replace(found, values=values, std_error=error, **how)
