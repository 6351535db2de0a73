r"""Bounds on the excess of shuffled reports by any channel: the privacy blanket, and a test.

With the least probabilities :math:`m_y = \min_x P_{xy}` (the privacy blanket of Balle, Bell, Gascon
and Nissim 2019),

.. math:: \delta \le \sum_{y : m_y =
          0} (P_{xy} - a P_{x'y})^+ + \frac1n E \Bigl( \sum_{i=1}^n V_i \Bigr)^+ ,

where :math:`V_i` is :math:`(P_{xy} - a P_{x'y}) / m_y` with probability :math:`m_y`, and else 0.
Any whole scores of the reports give a test, and so a lower bound. Proofs: docs, "Shuffled reports".
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np

from ldpopt.accounting.blanket_rows import Rows, distinct_rows
from ldpopt.accounting.lattice import PLACES, STEPS, positive_part, sum_of
from ldpopt.accounting.losses import summed
from ldpopt.accounting.privacy_loss import ONE, ChannelSource
from ldpopt.foundation.numbers import Float, Int

RARE = 10**5  # reports that are rarer than one of so many in all are not counted in the blanket
ROUGH_FINENESS = 1.5  # places to a standard deviation in the first look at all pairs
MAX_SCORE = 20  # of a report in a test, in standard deviations


@dataclass(frozen=True, eq=False)
class ShuffledBound(ABC):
    """A bound on the excess of the shuffled reports of n people, which keeps the values that were
    computed.
    """

    channel: ChannelSource  # of every person
    n: int
    known: dict[Fraction, Fraction] = field(default_factory=dict)

    def excess(self, a: Fraction) -> Fraction:
        """Bound on ``sum max(p - a p', 0)`` over the shuffled reports, with ``a`` in place of
        ``e**epsilon``.
        """
        if a not in self.known:
            # one answer is compared with nothing: its reports reveal nothing
            is_any = len(self.channel.first) > 0
            self.known[a] = self._excess(a) if is_any else max(1 - a, Fraction(0))
        return self.known[a]

    @abstractmethod
    def _excess(self, a: Fraction) -> Fraction:
        """Compute `excess`, which keeps the result."""

    @property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""
        return self.channel.losses[0].certain


@dataclass(frozen=True, eq=False)
class Blanket(ShuffledBound):
    """Upper bound by the privacy blanket; see the module."""

    places: int = PLACES  # to a standard deviation of a sum, at least

    def _excess(self, a: Fraction) -> Fraction:
        """The largest bound of all pairs of answers; only those that may be the worst get a fine
        lattice.
        """
        fineness = 16 if self.n <= 1000 else 8 if self.n <= 20_000 else 4
        rough = [(Fraction(1), 0)]
        if len(self.rows) > 1:
            rough = []
            for k, rows in enumerate(self.rows):
                rough.append((self._of_pair(rows, a, ROUGH_FINENESS), k))
        best = Fraction(0)
        for most, k in sorted(rough, reverse=True):
            # the rough bounds fall from here on: none of the pairs that follow exceeds the best
            if most <= best:
                break
            fine = self._of_pair(self.rows[k], a, fineness)
            best = max(best, min(most, fine))
        return best

    def _of_pair(self, rows: Rows, a: Fraction, fineness: float) -> Fraction:
        """Upper bound on the divergence of two answers at the ratio ``a``: the mean positive part
        of a sum of n scores, one for each person whose report is drawn from the blanket.

        ``rows`` are the masses of each report under both answers and in the blanket, which is what
        all answers have in common. A smaller blanket is one too: of reports that are very rare it
        is left out, and they count as if nobody else gave them.
        """
        reports = list(zip(*rows, strict=True))
        alone = Fraction(0)
        in_blanket = []
        for p, q, least in reports:
            if least * self.n * RARE < ONE:
                alone += max((p - a * q) / ONE, Fraction(0))
            else:
                in_blanket.append(((p, q, least), Fraction(least, ONE)))
        masses = summed(in_blanket)  # of equal reports
        values = [(p - a * q) / least for p, q, least in masses]
        total = positive_part(values, list(masses.values()), self.n, fineness, self.places)
        return alone + total / self.n

    @cached_property
    def rows(self) -> list[Rows]:
        """Distinct pairs of rows with the blanket, rounded so that the bound rises."""
        return distinct_rows(self.channel)


class Tested(ShuffledBound):
    """What a test attains: all others give one answer, and the scores of all reports are added."""

    def _excess(self, a: Fraction) -> Fraction:
        """Excess of the event that the sum of the scores is above a level, rounded down."""
        p, q, others = self._worst
        scores, level = self._scores(float(a))
        masses = summed(
            (score, Fraction(mass, ONE))
            for score, mass in zip(scores, others.tolist(), strict=True)
            if mass
        )
        # the others' scores must reach ``level + 1 - score`` if the person reports this score
        first = level + 1 - max(scores)
        last = level + 1 - min(scores)
        at_least = sum_of(masses, self.n - 1, up=False).tails(first, last, up=False)
        at_most = sum_of(masses, self.n - 1, up=True).tails(first, last, up=True)
        total = Fraction(0)
        for score, over, under in zip(scores, p.tolist(), q.tolist(), strict=True):
            gain = over - a * under
            tails = at_most if gain < 0 else at_least
            total += gain * tails[max(scores) - score]
        return max(total / ONE, Fraction(0))

    def _scores(self, a: float) -> tuple[list[int], int]:
        """Whole scores of the reports, and the level of their sum: near the best test, which
        compares the sum of ``(p - a q) / others`` with 0.
        """
        p, q, others = self._worst
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (p - a * q) / others
        # 0 / 0 is of no use to a test, and a report that others never send is a huge score
        exact = np.nan_to_num(ratios, nan=0.0, posinf=1e300, neginf=-1e300)
        exact = np.clip(exact, -1e6, 1e6)
        shares: Float = others / ONE
        deviation = sqrt(float(shares @ exact**2)) or 1.0
        fineness = 24 if self.n <= 20_000 else 8
        steps = deviation / fineness * np.linspace(1.0, 0.5, 50 * STEPS)
        limit = MAX_SCORE * deviation
        clipped = np.clip(exact, -limit, limit)
        tried = np.rint(clipped / steps[:, None])
        mean = float(shares @ exact)
        shifts = tried @ shares - mean / steps  # of the mean by rounding
        best = int(np.abs(shifts).argmin())
        scores = tried[best].astype(int).tolist()
        return scores, round(self.n * float(shifts[best]))

    @cached_property
    def _worst(self) -> tuple[Int, Int, Int]:
        """Rows of a pair of answers, and of the answer of all others, with the most information for
        the test.
        """
        counts = self.channel.counts
        p = counts[self.channel.first]
        q = counts[self.channel.second]
        best: tuple[float, int, int] = (-1.0, 0, 0)
        for z, others in enumerate(counts):
            squares = ((p - q) / ONE) ** 2
            information = (squares / np.maximum(others / ONE, 1e-9)).sum(axis=1)
            pair = int(information.argmax())
            best = max(best, (float(information.max()), pair, z))
        _, pair, z = best
        return p[pair], q[pair], counts[z]
