"""Shuffled reports: what the reports of ``n`` people without names reveal about one of them.

The curve of the bounds in `blanket` and `two_reports`. Every point is a sum over all people, so an
epsilon is found with few of them.
"""

from collections.abc import Callable
from fractions import Fraction
from math import erfc, exp, log, sqrt
from typing import Any

import numpy as np

from ldpopt.accounting.curve import PrivacyCurve, compared
from ldpopt.accounting.epsilons import MAX_EXPONENT
from ldpopt.accounting.excess import ShuffledExcesses, odds_of
from ldpopt.accounting.shuffled_reports import MAX_PEOPLE, Shuffled
from ldpopt.closed_forms.top_k import top_k
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down
from ldpopt.foundation.numbers import real_number, whole_number

LEAST_LOG = -60.0  # of a delta over another
LOWER_SHARE = 1e-4  # to which the lower side is found
LEAST_LOCAL = 1e-9  # local epsilon below which only 0 is tried
FIRST_TRIALS = (1.02, 0.97)  # around the epsilon of normal variables, which is often this close


class ShuffledCurve(ShuffledExcesses, PrivacyCurve):
    """The curve of shuffled reports: every epsilon is found by bounds, each a sum over all
    people.
    """

    def _crossing(self, limit: Fraction, most: float) -> float:
        """Upper end of an interval with the least epsilon, by the rule of false position on
        logarithms.
        """
        return self._ends(self.delta, limit, most, 1e-6)[1] if limit else most

    def _lower_crossing(self, limit: Fraction) -> float:
        """Lower end of an interval with the epsilon of the lower side."""

        def revealed(epsilon: float) -> Fraction:
            """What one data set reveals."""
            return self.lower.excess(odds_of(epsilon)[1])

        return self._ends(revealed, limit, float(self.most_nats), LOWER_SHARE)[0]

    def _ends(
        self, delta: Callable[[float], Fraction], limit: Fraction, most: float, share: float
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


def _log(value: Fraction, limit: Fraction) -> float:
    """Logarithm of a number over a limit."""
    return max(log(value / limit), LEAST_LOG) if value else LEAST_LOG


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
    response = np.ones(2 if callable(family) else whole_number(family, "family", 2))
    make = (
        family
        if callable(family)
        else lambda local: top_k(response / len(response), local).mechanism
    )
    most = real_number(most, "most", 0, MAX_EXPONENT)

    def keeps(local: float) -> bool:
        return shuffled(make(local), n).delta(budget) <= limit

    if keeps(most):
        return most
    low, high = _kept(keeps, min(float(budget), most), most)
    if not limit and not callable(family):
        return low  # all people may send the same report: a pure promise is that of one of them
    while high - low > 5e-4 * high:
        middle = sqrt(low * high) if low else high / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


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
