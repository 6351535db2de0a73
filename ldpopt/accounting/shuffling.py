"""Shuffled reports: what the reports of ``n`` people without names reveal about one of them.

The curve of the bounds in `blanket` and `two_reports`. Every point is a sum over all people, so an
epsilon is found with few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb, erfc, exp, log, sqrt
from operator import itemgetter
from typing import Any, Literal, overload

import numpy as np

from ldpopt.accounting.blanket import Blanket
from ldpopt.accounting.curve import PrivacyCurve, compared
from ldpopt.accounting.epsilons import MAX_EXPONENT
from ldpopt.accounting.excess import ShuffledExcesses, odds_of
from ldpopt.accounting.rough_blanket import rough_excess
from ldpopt.accounting.shuffled_reports import MAX_EXACT, MAX_PEOPLE, Shuffled
from ldpopt.accounting.two_reports import rough_largest
from ldpopt.closed_forms.top_k import top_k
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down
from ldpopt.foundation.numbers import real_number, short_repr, whole_number
from ldpopt.frequencies.subset_selection import MAX_LISTED_SETS, SubsetSelection
from ldpopt.mechanism.mechanism import Mechanism

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

    # one lower epsilon takes longer than all upper ones
    shows_lower = False

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
            aim *= limit / proved * (1 - Fraction(CLOSE) / 4)
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
    One delta takes less than a second for up to a million people, and an epsilon about a second.
    The shuffler must be trusted, and reports must have no names, times or keys. Bound: Balle,
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


class LocalBudget(Budget):
    """A local epsilon that keeps a promise of shuffled reports: a budget that knows of which
    mechanism this was proved.

    Attributes
    ----------
    mechanism : Mechanism or what the family returned
        The channel whose shuffled reports keep the promise. Another mechanism of the same epsilon
        need not keep it: sets of answers reveal more when they are shuffled.
    """

    @property
    def mechanism(self) -> Any:
        """The channel."""
        return self.proved_for

    @classmethod
    def of(cls, local: float, mechanism: Any) -> LocalBudget:
        """The budget of a mechanism."""
        self = cls(local)
        self.proved_for = mechanism
        return self


@overload
def target(
    n: int,
    epsilon: float | str,
    delta: float,
    family: Literal["frequencies"],
    *,
    answers: int,
    most: float = 20.0,
) -> tuple[LocalBudget, Mechanism]: ...
@overload
def target(
    n: int,
    epsilon: float | str,
    delta: float,
    family: int | Callable[[float], Any] = 2,
    *,
    answers: None = None,
    most: float = 20.0,
) -> LocalBudget: ...
def target(
    n: int,
    epsilon: float | str,
    delta: float,
    family: int | str | Callable[[float], Any] = 2,
    *,
    answers: int | None = None,
    most: float = 20.0,
) -> LocalBudget | tuple[LocalBudget, Mechanism]:
    r"""Largest local epsilon at which the shuffled reports of n people keep a promise ``(epsilon,
    delta)``.

    Parameters
    ----------
    n : int
        Number of people.
    epsilon, delta : float
        The promise; epsilon in nats, or such as ``"log(3)"``.
    family : int, callable or "frequencies"
        Number of answers of randomized response, or a function from an epsilon to a channel; or
        ``"frequencies"``: sets of 1, 2, ... of all ``answers``, each with its own local epsilon, of
        which the one with the least variance is taken. Default: ``2``.
    answers : int, optional
        Number of answers, from 2 on, if the family is ``"frequencies"``. Default: ``None``.
    most : float
        Largest local epsilon that is tried; default: ``20``.

    Returns
    -------
    LocalBudget, or (LocalBudget, Mechanism)
        A float, within one part in a thousand; the promise is proved for its ``mechanism``, and
        for no other: a design for `PureLDP` of this budget says so in its notes. With
        ``"frequencies"`` also the mechanism.

    Raises
    ------
    StatementError
        If a number is out of range, the number of answers does not go with the family, or no
        channel of the family keeps the promise.

    Notes
    -----
    Sets are tried as long as there are at most 4096 of one size. In all settings that were tried
    (2, 10 and 100 answers, 1000 to a million people, epsilon .1 to 1) randomized response, sets of
    one, is within 6.4 % of the best.

    Examples
    --------
    >>> round(target(20, 0.9, 1e-3), 1)
    1.2
    """
    budget = Budget(epsilon)
    limit = Fraction(real_number(delta, "delta", 0, 1))
    most = real_number(most, "most", 0, MAX_EXPONENT)
    people = whole_number(n, "n", 1, MAX_PEOPLE)
    if isinstance(family, str):
        if family != "frequencies":
            raise StatementError(
                f"family = {short_repr(family)} is unknown",
                code="choice",
                do='pass a number of answers, at least 2, "frequencies", or a function',
            )
        return _best_sets(people, budget, limit, whole_number(answers, "answers", 2), most)
    if answers is not None:
        raise StatementError(
            f"answers = {short_repr(answers)} has no effect: the family states the answers",
            code="answers",
            do='leave it out, or pass family="frequencies"',
        )
    promise = _Promise(people, budget, limit, _family(family), not callable(family))
    local = promise.largest(most, is_plain=not callable(family))
    return LocalBudget.of(local, promise.make(local))


def _best_sets(
    people: int, budget: Budget, limit: Fraction, answers: int, most: float
) -> tuple[LocalBudget, Mechanism]:
    """The size of sets with the least variance at the local epsilon that floats find for it, then
    proved.

    A larger set is better at a given local epsilon, but all who report a set with an answer in it
    stand out together, so that its local epsilon has to be smaller. Which of both counts more is
    seen at each size's own epsilon only; floats are enough for this choice, and the size that is
    chosen gets a proof.
    """
    found = []
    for size in range(1, max(answers // 2, 1) + 1):
        if comb(answers, size) > MAX_LISTED_SETS:
            break
        promise = _Promise(people, budget, limit, partial(_sets, answers, size), True)
        low, high = _kept(promise.seems_to_keep, min(float(budget), most), most)
        while high - low > ROUGH_SHARE * high:
            middle = sqrt(low * high) if low else high / 2
            low, high = (middle, high) if promise.seems_to_keep(middle) else (low, middle)
        if low > LEAST_LOCAL:
            found.append((SubsetSelection(answers, low, size=size).total_variance, promise))
    if not found:
        raise _no_channel()
    promise = min(found, key=itemgetter(0))[1]
    local = promise.largest(most)
    mechanism = promise.make(local)
    return LocalBudget.of(local, mechanism), mechanism


def _sets(answers: int, size: int, local: float) -> Any:
    """The channel that reports a set of some size."""
    if not local > 0:
        return np.full((answers, 2), 0.5)  # reveals nothing, as sets at epsilon 0
    return SubsetSelection(answers, local, size=size).mechanism


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
    # whether all pairs of answers are alike, up to the rounding of masses: floats compare one pair
    is_symmetric: bool = False

    def keeps(self, local: float) -> bool:
        """Whether the promise is proved for the channel of a local epsilon."""
        return shuffled(self.make(local), self.n).delta(self.budget) <= self.limit

    def largest(self, most: float, *, is_plain: bool = False) -> float:
        """The largest local epsilon that is proved, within one part in a thousand; ``is_plain`` if
        each person answers one question, whose own epsilon is the promise's at delta 0.
        """
        if self.seems_to_keep(most) and self.keeps(most):
            return most
        if not self.limit and is_plain:
            return _kept(self.keeps, min(float(self.budget), most), most)[0]
        low, high = self.bracket(most)
        while high - low > 5e-4 * high:
            middle = sqrt(low * high) if low else high / 2
            low, high = (middle, high) if self.keeps(middle) else (low, middle)
        return low

    def bracket(self, most: float) -> tuple[float, float]:
        """A local epsilon that is proved to keep the promise, and one above it that does not.

        Floats search, and the proof is tried just below what they find; if it fails, lower and
        lower.
        """
        first = min(float(self.budget), most)
        if not (self.limit and self.has_close_floats(first)):
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

    def has_close_floats(self, local: float) -> bool:
        """Whether floats find a local epsilon as closely as a proof: they do not for few people,
        of whom not all data sets are compared.
        """
        return self.n > MAX_EXACT or self._shuffled(local).is_exact

    def seems_to_keep(self, local: float) -> bool:
        """Whether the promise is kept in floats."""
        source = self._shuffled(local)
        a = exp(float(self.budget))
        if source.is_exact:
            return rough_largest(source.channel, self.n, a) <= self.limit
        return rough_excess(Blanket(source.channel, self.n), a) <= self.limit

    def _shuffled(self, local: float) -> Shuffled:
        """The reports that floats bound."""
        channel = self.make(local)
        # a permutation of the answers turns each pair into any other one, so that one is enough;
        # at 0 there may be no labels: the channel that reveals nothing is an array
        pairs = [tuple(channel.inputs[:2])] if self.is_symmetric and local else None
        return Shuffled(compared(channel, pairs), self.n)


def _kept(keeps: Callable[[float], bool], first: float, most: float) -> tuple[float, float]:
    """A local epsilon that keeps the promise, and one above it that does not.

    One question keeps it at the promise's own epsilon, but a family may have several in a message.
    """
    low = first
    high = most
    while not keeps(low):
        if not low:
            raise _no_channel()
        high = low
        low = low / 16 if low > LEAST_LOCAL else 0.0
    return low, high


def _no_channel() -> StatementError:
    """Error for a family of which no channel keeps the promise."""
    return StatementError(
        "no channel of the family keeps the promise",
        code="promise",
        do="give a larger epsilon or delta, or a family that reveals nothing at epsilon 0",
    )
