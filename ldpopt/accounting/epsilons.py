"""The least epsilon at a delta, from both sides: an upper bound for all pairs of answers, and what
one strategy shows to be necessary.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from ldpopt.accounting.excess import Excesses, odds_of
from ldpopt.accounting.logarithms import GRAIN, loss_of
from ldpopt.accounting.losses import NOTHING
from ldpopt.accounting.strategies import Strategies
from ldpopt.foundation.budget import epsilon_above, round_down
from ldpopt.foundation.numbers import real_number

MAX_EXPONENT = 700.0  # larger powers are infinite in floats
MAX_LOOSENESS = 1e-3  # above it a curve warns


@dataclass(frozen=True, eq=False)
class LeastEpsilons(Excesses):
    """The least epsilons of some sources at every delta."""

    def epsilon(self, delta: float) -> float:
        """Least epsilon at a delta in [0, 1], rounded up; infinite if none is enough.

        If levels may have made it larger by more than a part in 1000, see `looseness`, it warns.
        """
        limit = _limit(delta)
        epsilon = self._upper_epsilon(limit)
        if self._is_loose(limit, epsilon):
            problem = (
                f"epsilon {epsilon:.6g} at delta {delta:g} is an upper bound; only "
                f"{self.epsilon_lower(delta):.6g} is known to be necessary"
            )
            do = "compose(..., levels=) with more levels brings them together"
            warnings.warn(f"{problem}; {do}", stacklevel=2)
        return epsilon

    def epsilon_lower(self, delta: float) -> float:
        """An epsilon below which one strategy reveals more than delta, rounded down; infinite if it
        does at every epsilon.
        """
        limit = _limit(delta)
        if not limit and not self.lower.certain:
            return self._attained
        if self.lower.certain > limit:
            return inf
        if self.lower.excess(Fraction(1)) <= limit:
            return 0.0
        epsilon = self._lower_crossing(limit)
        step = 1e-13 * max(epsilon, 1e-3)
        while epsilon > 0 and not self._reveals(epsilon, limit):
            epsilon = max(epsilon - step, 0.0)
            step *= 4
        return epsilon

    def looseness(self, delta: float) -> float:
        """Proved bound on the relative excess of `epsilon`: ``(upper - lower) / upper`` with
        `epsilon_lower`; 1 if the lower side is 0, and 0 if both are equal.
        """
        upper = self._upper_epsilon(_limit(delta))
        lower = self.epsilon_lower(delta)
        if upper == lower:
            return 0.0
        return 1.0 if upper == inf else (upper - lower) / upper

    def _upper_epsilon(self, limit: Fraction) -> float:
        """The epsilon of a delta; see `epsilon`."""
        most = epsilon_above(self.most_nats)
        if self.certain > limit:
            return inf
        if self.certain == limit:
            return most
        if self.delta(0.0) <= limit:
            return 0.0
        # what is found is not proved: it is raised until the upper bound keeps the delta
        epsilon = self._crossing(limit, most)
        step = 1e-13 * max(epsilon, 1e-3)
        while epsilon < most and self.delta(epsilon) > limit:
            epsilon = min(epsilon + step, most)
            step *= 4
        return epsilon

    def _crossing(self, limit: Fraction, most: float) -> float:
        """An epsilon near the least one, not proved."""
        if most < MAX_EXPONENT or self._product.is_on_levels:
            return self._product.crossing(float(limit - self.certain), most)
        low = 0.0
        high = most
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > limit else (low, middle)
        return high

    def _lower_crossing(self, limit: Fraction) -> float:
        """An epsilon near that of the lower side, not proved."""
        most = float(self.most_nats)
        if most < MAX_EXPONENT or self._lower_product.is_on_levels:
            return self._lower_product.crossing(float(limit - self.lower.certain), most)
        low = 0.0
        high = most
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self._reveals(middle, limit) else (low, middle)
        return low

    def _reveals(self, epsilon: float, limit: Fraction) -> bool:
        """Whether a strategy is known to reveal more than a delta at an epsilon."""
        return self.lower.excess(odds_of(epsilon)[1]) > limit

    @property
    def _attained(self) -> float:
        """The largest loss of all reports that one pair of answers to each question can have."""
        losses = [(source.losses[1], times) for source, times in self.sources]
        nats = sum(times * loss_of(loss.ratios[-1], up=False) for loss, times in losses)
        return max(round_down(Fraction(nats, GRAIN)), 0.0)

    @property
    def _depends_on_levels(self) -> bool:
        """Whether the upper bound depends on a number of levels."""
        is_thinned = self.answers == "adaptive" and any(
            isinstance(source, Strategies) and source.is_thinned for source, _ in self.gathered
        )
        return is_thinned or self._product.is_on_levels

    def _is_loose(self, limit: Fraction, epsilon: float) -> bool:
        """Whether levels may have raised an epsilon by more than a part in 1000: those of products,
        and points of tables of strategies.

        Of sources of which no pair of answers is known to be the worst, the lower side says
        nothing about the levels.
        """
        if not (limit and 0 < epsilon < inf and self._depends_on_levels):
            return False
        if any(source.losses[1] is NOTHING for source, _ in self.sources):
            return False
        return not self._reveals(epsilon * (1 - MAX_LOOSENESS), limit)


def _limit(delta: float) -> Fraction:
    """A delta that is given."""
    return Fraction(real_number(delta, "delta", 0, 1))
