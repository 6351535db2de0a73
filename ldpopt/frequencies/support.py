"""The band of frequencies that are estimated from the shares of the reports that support each
label.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.black_box import lower_limit, upper_limit
from ldpopt.estimation.band import Band, MultiplesBand, Scales
from ldpopt.estimation.intervals import binomial_intervals, share_intervals, tail
from ldpopt.foundation.numbers import Float


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
    freedom: float = np.inf
    influence: None = None

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
