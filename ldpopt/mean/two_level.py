r"""A law with two probabilities: one for a likely set of reports, one for the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ldpopt.auditing.divergence import Verdict
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.mean.protocol import verdict_of_ratio
from ldpopt.mean.randomizer import TOTAL


@dataclass(frozen=True)
class TwoLevel:
    r"""With probability ``p`` a uniform report from the likely set, else a uniform report from all reports.

    .. math:: \frac{P(\text{likely report})}{P(\text{other report})} = 1 + \frac{p}{(1 - p) f} \le e^\epsilon, \qquad
              \delta(e) = p - (e^e - 1) (1 - p) f

    with ``p`` the largest multiple of ``2**-53`` that keeps the inequality. Delta is attained by two answers with
    disjoint likely sets; it is the maximum over all pairs.

    Attributes
    ----------
    budget : Budget
        Nats, positive.
    fraction : Fraction
        Share ``f`` of the reports that are likely, at most 1/2, the same for every answer.
    """

    budget: Budget
    fraction: Fraction

    @cached_property
    def mass(self) -> int:
        """``p`` in units of ``2**-53``."""
        raised = (self.budget.enclosure()[0] - 1) * self.fraction
        mass = int(TOTAL * raised / (1 + raised))
        if not mass:
            raise StatementError(f"epsilon = {self.budget!r} is too small for masses of 2**-53")
        return mass

    @property
    def likely(self) -> float:
        """``p``, exactly."""
        return self.mass / TOTAL

    @property
    def rest(self) -> float:
        """``1 - p``, exactly."""
        return (TOTAL - self.mass) / TOTAL

    def privacy(self) -> tuple[float, Verdict]:
        """True epsilon, rounded up, and the verdict on the budget."""
        return verdict_of_ratio(1 + Fraction(self.mass, TOTAL - self.mass) / self.fraction, self.budget)

    def delta(self, epsilon: float) -> float:
        """Largest delta at a budget ``>= 0``."""
        return max(0.0, self.likely - math.expm1(min(epsilon, 709.0)) * self.rest * float(self.fraction))
