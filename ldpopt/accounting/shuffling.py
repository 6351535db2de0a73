"""Shuffled reports: what the reports of ``n`` people without names reveal about one of them.

The curve of the bounds in `blanket` and `two_reports`. Every point is a sum over all people, so an
epsilon is found with few of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, exp, log, sqrt
from typing import Any

import numpy as np

from ldpopt.accounting.blanket import Blanket
from ldpopt.accounting.curve import PrivacyCurve, compared
from ldpopt.accounting.epsilons import MAX_EXPONENT
from ldpopt.accounting.excess import ShuffledExcesses, odds_of
from ldpopt.accounting.rough_blanket import rough_excess
from ldpopt.accounting.shuffled_reports import MAX_EXACT, MAX_PEOPLE, Shuffled
from ldpopt.closed_forms.top_k import top_k
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down
from ldpopt.foundation.numbers import real_number, whole_number

LEAST_LOG = -60.0  # of a delta over another
CLOSE = 1e-6  # share of a delta to which an epsilon is found
PROOFS = 6  # tries of an epsilon that was found in floats
ROUGH_SHARE = 1e-4  # to which a local epsilon is found in floats
LOWER_SHARE = 1e-4  # to which the lower side is found
LEAST_LOCAL = 1e-9  # local epsilon below which only 0 is tried
FIRST_TRIALS = (1.02, 0.97)  # around the epsilon of normal variables, which is often this close


class ShuffledCurve(ShuffledExcesses, PrivacyCurve):
    """The curve of shuffled reports: every epsilon is found by bounds, each a sum over all
    people.
    """

    def _crossing(self, limit: Fraction, most: float) -> float:
        """A proved epsilon next to the least one: it is searched in floats, and what the proof
        finds larger is aimed at lower.
        """
        if not limit:
            return most
        if self.shuffle.is_exact:
            return self._ends(self.delta, limit, most, 1e-6)[1]
        blanket = self.shuffle.upper

        def rough(epsilon: float) -> float:
            """The delta of an epsilon in floats."""
            return rough_excess(blanket, exp(min(epsilon, MAX_EXPONENT)))  # type: ignore[arg-type]

        aim = limit
        best = most
        for _ in range(PROOFS):
            epsilon = self._ends(rough, aim, most, 1e-9)[1]
            proved = self.delta(epsilon)
            if proved <= limit:
                best = min(best, epsilon)
            if not proved or limit * (1 - CLOSE) <= proved <= limit:
                break
            aim *= limit / proved * (1 - CLOSE / 4)
        return best

    def _lower_crossing(self, limit: Fraction) -> float:
        """Lower end of an interval with the epsilon of the lower side."""

        def revealed(epsilon: float) -> Fraction:
            """What one data set reveals."""
            return self.lower.excess(odds_of(epsilon)[1])

        return self._ends(revealed, limit, float(self.most_nats), LOWER_SHARE)[0]

    def _ends(
        self, delta: Callable[[float], Any], limit: Fraction, most: float, share: float
    ) -> tuple[float, float]:
        """Ends of an interval, of a relative length, between which a delta falls to a limit."""
        low = 0.0
        high = most
        log_low = _log(delta(0.0), limit)
        log_high = LEAST_LOG
        normal = self._normal_epsilon(float(limit))
        side = 0
        for trial in range(60):
            if high - low <= share * high:
                break
            part = log_low / (log_low - log_high) if log_high > LEAST_LOG else 0.5
            middle = low + (high - low) * min(max(part, 0.01), 0.99)
            if trial < 2 and low < normal * FIRST_TRIALS[trial] < high:
                middle = normal * FIRST_TRIALS[trial]
            value = _log(delta(middle), limit)
            new_side = 1 if value > 0 else -1
            # an end that stays twice counts half, or false position would hardly move the other
            factor = 0.5 if new_side == side and log_high > LEAST_LOG else 1.0
            side = new_side
            if value > 0:
                low, log_low = middle, value
                log_high *= factor
            else:
                high, log_high = middle, value
                log_low *= factor
        return low, high

    @property
    def _attained(self) -> float:
        """The loss of reports that are all the same one: that of one of them."""
        return round_down(log_enclosure(self.shuffle.odds)[0])

    def _is_loose(self, limit: Fraction, epsilon: float) -> bool:
        """There are no levels of a product: how far both bounds are apart is `looseness`."""
        return False

    def _normal_epsilon(self, delta: float) -> float:
        """The epsilon of normal variables with the same information, to start from."""
        mu = self.shuffle.deviation
        low = 0.0
        high = float(log(self.shuffle.odds))
        for _ in range(40):
            middle = (low + high) / 2
            # of two normal variables with means mu apart and variance 1, at this likelihood ratio
            above = erfc((middle / mu - mu / 2) / sqrt(2)) / 2
            below = erfc((middle / mu + mu / 2) / sqrt(2)) / 2
            is_low = above - exp(middle) * below > delta
            low, high = (middle, high) if is_low else (low, middle)
        return high


def _log(value: Fraction | float, limit: Fraction) -> float:
    """Logarithm of a number over a limit."""
    share = value / limit
    return max(log(share), LEAST_LOG) if share > 0 else LEAST_LOG


def shuffled(channel: Any, n: int, *, pairs: Any = None) -> PrivacyCurve:
    r"""What the shuffled reports of n people reveal about one of them.

    .. math:: \delta(\varepsilon) = \max \sum_h \max(\Pr[h \mid x] - e^\varepsilon \Pr[h \mid x'],
              0)

    over the numbers h of all reports, two answers of one person, and the answers of all others.

    Parameters
    ----------
    channel : Mechanism, design or array of shape (n, m)
        The channel by which each person reports.
    n : int
        Number of people who really report, from 1 to 10 000 000.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared; default: all.

    Returns
    -------
    PrivacyCurve
        ``delta`` is an upper bound, proved for every data set; ``delta_lower`` is attained by
        people of whom all others give one answer. With two answers and two reports of at most 200
        people both are exact.

    Raises
    ------
    StatementError
        If ``n`` is not such a number.

    Notes
    -----
    One delta takes a second for 10 000 people and ten for a million; an epsilon takes about ten of
    them. The shuffler must be trusted, and reports must have no names, times or keys. Bound: Balle,
    Bell, Gascon and Nissim 2019.

    Examples
    --------
    >>> round(shuffled([[0.75, 0.25], [0.25, 0.75]], 100).epsilon(1e-6), 4)
    0.5501
    """
    return curve_of(Shuffled(compared(channel, pairs), whole_number(n, "n", 1, MAX_PEOPLE)))


def curve_of(source: Shuffled) -> PrivacyCurve:
    """The curve of shuffled reports."""
    return ShuffledCurve(((source, 1),), source.is_exact)


def target(
    n: int,
    epsilon: float | str,
    delta: float,
    family: int | Callable[[float], Any] = 2,
    *,
    most: float = 20.0,
) -> float:
    r"""Largest local epsilon at which the shuffled reports of n people keep a promise ``(epsilon,
    delta)``.

    Parameters
    ----------
    n : int
        Number of people.
    epsilon, delta : float
        The promise; epsilon in nats, or such as ``"log(3)"``.
    family : int, or callable
        Number of answers of randomized response, or a function from an epsilon to a channel.
        Default: ``2``.
    most : float
        Largest local epsilon that is tried; default: ``20``.

    Returns
    -------
    float
        Within one part in a thousand; the promise is proved for the channel at this epsilon.

    Raises
    ------
    StatementError
        If a number is out of range, or no channel of the family keeps the promise.

    Examples
    --------
    >>> round(target(20, 0.9, 1e-3), 1)
    1.2
    """
    budget = Budget(epsilon)
    limit = Fraction(real_number(delta, "delta", 0, 1))
    most = real_number(most, "most", 0, MAX_EXPONENT)
    promise = _Promise(whole_number(n, "n", 1, MAX_PEOPLE), budget, limit, _family(family))
    if promise.seems_to_keep(most) and promise.keeps(most):
        return most
    if not limit and not callable(family):
        return _kept(promise.keeps, min(float(budget), most), most)[0]  # that of one person
    low, high = promise.bracket(most)
    while high - low > 5e-4 * high:
        middle = sqrt(low * high) if low else high / 2
        low, high = (middle, high) if promise.keeps(middle) else (low, middle)
    return low


def _family(family: int | Callable[[float], Any]) -> Callable[[float], Any]:
    """The channel of a local epsilon."""
    if callable(family):
        return family
    response = np.ones(whole_number(family, "family", 2))
    return lambda local: top_k(response / len(response), local).mechanism


@dataclass(frozen=True)
class _Promise:
    """A promise of shuffled reports, and the family of channels that may keep it."""

    n: int
    budget: Budget
    limit: Fraction
    make: Callable[[float], Any]

    def keeps(self, local: float) -> bool:
        """Whether the promise is proved for the channel of a local epsilon."""
        return shuffled(self.make(local), self.n).delta(self.budget) <= self.limit

    def bracket(self, most: float) -> tuple[float, float]:
        """A local epsilon that is proved to keep the promise, and one above it that does not.

        Floats search, and the proof is tried just below what they find; if it fails, lower and
        lower.
        """
        first = min(float(self.budget), most)
        if self.n <= MAX_EXACT or not self.limit:
            return _kept(self.keeps, first, most)
        low, high = _kept(self.seems_to_keep, first, most)
        while high - low > ROUGH_SHARE * high:
            middle = sqrt(low * high) if low else high / 2
            low, high = (middle, high) if self.seems_to_keep(middle) else (low, middle)
        share = ROUGH_SHARE
        while low and not self.keeps(low):
            high = low
            low *= 1 - share
            share *= 4
            if share > 1 / 4:
                return _kept(self.keeps, low, most)
        # what floats find not to keep the promise is left untried
        return (low, min(high, low * (1 + 4e-4))) if low else _kept(self.keeps, 0.0, most)

    def seems_to_keep(self, local: float) -> bool:
        """Whether the promise is kept in floats."""
        source = Shuffled(compared(self.make(local), None), self.n)
        if source.is_exact:
            return self.keeps(local)
        blanket = Blanket(source.channel, self.n)
        return rough_excess(blanket, exp(float(self.budget))) <= self.limit


def _kept(keeps: Callable[[float], bool], first: float, most: float) -> tuple[float, float]:
    """A local epsilon that keeps the promise, and one above it that does not.

    One question keeps it at the promise's own epsilon, but a family may have several in a message.
    """
    low = first
    high = most
    while not keeps(low):
        if not low:
            raise StatementError(
                "no channel of the family keeps the promise",
                code="promise",
                do="give a larger epsilon or delta, or a family that reveals nothing at epsilon 0",
            )
        high = low
        low = low / 16 if low > LEAST_LOCAL else 0.0
    return low, high
