"""Shuffled reports of two kinds by people with two answers: the excess of every data set, exactly.

The number of second reports is all that a shuffler shows. If ``k`` of the others give the second
answer, it has the law of a sum of two binomial variables, and a person's answer changes one of
their terms. All ``k`` are compared.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpopt.accounting.blanket import ShuffledBound
from ldpopt.accounting.integers import UNIT, multiplied, rounded
from ldpopt.accounting.privacy_loss import ONE, ChannelSource
from ldpopt.foundation.numbers import Float

Law = list[int]  # masses of 0, 1, 2, ... second reports, over `UNIT`


@dataclass(frozen=True, eq=False)
class LargestExcess(ShuffledBound):
    """The excess with two answers and two reports: the largest of all data sets, rounded up or
    down.
    """

    is_upper: bool = True

    def _excess(self, a: Fraction) -> Fraction:
        over, under = a.as_integer_ratio()
        largest = 0
        for first, second in self._pairs:
            terms = (under * p - over * q for p, q in zip(first, second, strict=True))
            excess = sum(max(term, 0) for term in terms)
            largest = max(largest, excess)
        return Fraction(largest, under * UNIT)

    @cached_property
    def _pairs(self) -> list[tuple[Law, Law]]:
        """Laws of the number of second reports under both answers of a person, for each pair and
        number of others with the second answer.
        """
        # An upper bound takes the first law rounded up and the second one down: the excess
        # ``p - a q`` rises with p and falls with q.
        up = self.is_upper
        ends = zip(self.channel.first.tolist(), self.channel.second.tolist(), strict=True)
        return [
            (self._law(x, k, up=up), self._law(z, k, up=not up))
            for x, z in ends
            for k in range(self.n)
        ]

    def _law(self, answer: int, count: int, *, up: bool) -> Law:
        """Law of the number of second reports if a person gives one answer, and ``count`` of the
        others the second.
        """
        firsts, seconds = self._powers[up]
        left = firsts[self.n - 1 - count + (answer == 0)]
        right = seconds[count + (answer == 1)]
        return multiplied(left, right, up=up)

    @cached_property
    def _powers(self) -> dict[bool, list[list[Law]]]:
        """For each way of rounding and each answer, the laws of 0 to n people with this answer."""
        # UNIT is a multiple of ONE: masses are moved to the finer grid without rounding
        rows = [[int(mass) * UNIT // ONE for mass in row] for row in self.channel.counts]
        return {up: [_binomials(row, self.n, up=up) for row in rows] for up in (False, True)}


def _binomials(row: list[int], n: int, *, up: bool) -> list[Law]:
    """Laws of the number of second reports of 0 to n people with the same answer."""
    laws = [[UNIT]]
    for _ in range(n):
        neighbors = zip([*laws[-1], 0], [0, *laws[-1]], strict=True)
        masses = (row[0] * same + row[1] * less for same, less in neighbors)
        laws.append([rounded(mass, UNIT, up=up) for mass in masses])
    return laws


def rough_largest(channel: ChannelSource, n: int, a: float) -> float:
    """About the excess of `LargestExcess` at ``a``, in floats: to search with, never to prove."""
    laws = []
    for row in channel.counts / ONE:
        powers: list[Float] = [np.ones(1)]
        for _ in range(n):
            powers.append(np.convolve(powers[-1], row))
        laws.append(powers)

    def law(answer: int, count: int) -> Float:
        """As `LargestExcess._law`."""
        return np.convolve(laws[0][n - 1 - count + (answer == 0)], laws[1][count + (answer == 1)])

    ends = zip(channel.first.tolist(), channel.second.tolist(), strict=True)
    return max(
        float(np.maximum(law(x, k) - a * law(z, k), 0).sum()) for x, z in ends for k in range(n)
    )
