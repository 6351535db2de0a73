"""Shuffled reports as a source: the reports of n people without names, and their bounds."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log, sqrt
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.blanket import Blanket, ShuffledBound, Tested
from ldpopt.accounting.losses import NOTHING, PrivacyLoss, interpolated
from ldpopt.accounting.privacy_loss import ONE, ChannelSource, Points, Source
from ldpopt.accounting.two_reports import LargestExcess

MAX_PEOPLE = 10**7
MAX_EXACT = 200  # people with two answers and two reports for whom all data sets are compared
FEW_PLACES = 32  # of a sum to a standard deviation, at the points of a loss
# of the points of a bound, in deviations
REACH = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)


@dataclass(frozen=True, eq=False)
class Shuffled(Source):
    """The shuffled reports of n people by one channel.

    Alone, they have the bounds `upper` and `lower` at every ``a``. With other reports they are
    composed by a loss that interpolates the upper bound at some points.
    """

    channel: ChannelSource
    n: int
    points: Points = None

    kind: ClassVar[str] = "shuffled"

    @property
    def compares_all(self) -> bool:
        """Whether all pairs of answers are compared for the channel of a person."""
        return self.channel.compares_all

    @property
    def leaves_out(self) -> bool:
        """Whether two answers are compared in neither order for the channel of a person."""
        return self.channel.leaves_out

    @property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of one report."""
        return self.channel.odds

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss from bounds at some points, and a loss that reveals nothing."""
        above = [Fraction(exp(reach * self.deviation)) for reach in REACH]
        # an excess at 1 / a follows from that at a
        inner = {*above, *(1 / a for a in above)}
        # a saved statement has its own points
        ends = [*sorted(a for a in inner if a < self.odds), self.odds]
        if self.points is not None:
            ends = list(self.points)
        # at 0 the excess is that of the certain event
        excesses = [Fraction(1), *(min(self._excess(a), Fraction(1)) for a in ends)]
        return interpolated([Fraction(0), *ends], excesses, is_attained=False), NOTHING

    def _excess(self, a: Fraction) -> Fraction:
        """Upper bound on the excess; from the largest odds on only reports count that the other
        answer never gives.

        As ``(p - a q)^+ = (p - a q) + (a q - p)^+``, the excess at ``a`` is ``1 - a`` plus ``a``
        times that at ``1 / a``, where pairs are compared in both orders.
        """
        if a < 1 and self.channel.compares_both_orders:
            return 1 - a + a * self._excess(1 / a)
        return self._interpolated.excess(a) if a < self.odds else self.upper.certain

    @cached_property
    def _interpolated(self) -> ShuffledBound:
        """Upper bound at the points of a loss: between them a chord exceeds it by far more than few
        places of a sum.
        """
        if self.is_exact:
            return self.upper
        return Blanket(self.channel, self.n, places=FEW_PLACES)

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """Those of one report."""
        return self.channel.named_pairs

    @cached_property
    def upper(self) -> ShuffledBound:
        """Upper bound on the excess."""
        kind = LargestExcess if self.is_exact else Blanket
        return kind(self.channel, self.n)

    @cached_property
    def lower(self) -> ShuffledBound:
        """Excess of one data set."""
        if self.is_exact:
            return LargestExcess(self.channel, self.n, is_upper=False)
        return Tested(self.channel, self.n)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the logarithm of the ratio of the probabilities of all reports,
        about.
        """
        shares = self.channel.counts / ONE
        squares = (shares[self.channel.first] - shares[self.channel.second]) ** 2
        spread = (squares / np.maximum(shares.min(axis=0), 1e-9)).sum(axis=1).max(initial=0.0)
        return min(sqrt(float(spread) / self.n), log(self.odds)) or 1e-9

    @property
    def is_exact(self) -> bool:
        """Whether all data sets can be compared."""
        return self.channel.counts.shape == (2, 2) and self.n <= MAX_EXACT

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data, with the ratios of the loss if other reports made it
        necessary.
        """
        ratios = [str(ratio) for ratio in self.losses[0].ratios] if "losses" in vars(self) else []
        return {**self.channel.plain(), "kind": self.kind, "people": self.n, "ratios": ratios}
