r"""Memoised reports as a source: one permanent report, and publications that are drawn from it.

.. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

The numbers of the published reports are enough: their order says nothing about the permanent one.
Their probabilities are integers over ``2**(53 (T + 1))``.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial, prod
from operator import mul
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.pairs import BITS, Points, RowPairs, distinct_pairs
from ldpopt.accounting.privacy_loss import ChannelSource, Source
from ldpopt.foundation.numbers import Int

FINE = 3000  # bits of a ratio that is too long to be written
MAX_TERMS = 3_000_000  # probabilities of reports that are compared: a few seconds


@dataclass(frozen=True, eq=False)
class Permanent(Source):
    """The published reports of one person."""

    channel: ChannelSource  # draws the permanent report once
    fresh: Int  # masses of the fresh layer, (k, m)
    times: int
    points: Points = None

    kind: ClassVar[str] = "permanent"

    @property
    def reports(self) -> int:
        """Number of publications."""
        return self.times

    @property
    def compares_all(self) -> bool:
        """As the channel of the permanent report."""
        return self.channel.compares_all

    @property
    def leaves_out(self) -> bool:
        """As the channel."""
        return self.channel.leaves_out

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss of all pairs, and that of one pair."""
        return self.distinct.losses(MAX_TERMS, self.points)

    @cached_property
    def distinct(self) -> RowPairs:
        """The pairs of laws of the publications."""
        m = self.fresh.shape[1]
        weights = []
        for reports in combinations_with_replacement(range(m), self.times):
            numbers = [reports.count(y) for y in range(m)]
            # the publications in every order have these numbers: a multinomial coefficient
            orders = factorial(self.times) // prod(map(factorial, numbers))
            weight = [orders * prod(map(pow, row, numbers)) for row in self.fresh.tolist()]
            weights.append(weight)
        rows = [
            [sum(map(mul, row, column)) for column in weights]
            for row in self.channel.counts.tolist()
        ]
        unit = 1 << BITS * (self.times + 1)
        counts = np.array(rows, object)
        return distinct_pairs(counts, self.channel.first, self.channel.second, unit)

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """The pairs of answers that are compared for the permanent report."""
        return self.channel.named_pairs

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        ratios = [str(_short(ratio)) for ratio in self.losses[0].ratios]
        layer = {"kind": self.kind, "fresh": self.fresh.tolist(), "publications": self.times}
        return {**self.channel.plain(), **layer, "ratios": ratios}


def _short(ratio: Fraction) -> Fraction:
    """The ratio, rounded up if its digits are too many: any ratios bound the excess, and that above
    the largest one is of impossible reports alone.
    """
    over, under = ratio.as_integer_ratio()
    if max(over, under).bit_length() <= 2 * FINE:
        return ratio
    shift = max(FINE + under.bit_length() - over.bit_length(), 0)
    return Fraction(-(-(over << shift) // under), 1 << shift)
