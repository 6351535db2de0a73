"""What several reports of a person reveal together: the curve of delta over epsilon, and what
follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ldpopt.accounting.privacy_loss import Channel, Ratios, Source, all_pairs
from ldpopt.accounting.product import Product, product
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down, round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, Table
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import Float, real_number, short_repr, whole_number
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import Notion

if TYPE_CHECKING:
    from ldpopt.accounting.certificate import CurveCertificate

SHOWN_DELTAS = (1e-3, 1e-6, 1e-9)
MAX_EXPONENT = 700.0  # larger powers are infinite in floats


class Bound(Protocol):
    """Bound on the excess of all reports at every ``a``, rounded one way."""

    @property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""

    def excess(self, a: Fraction) -> Fraction:
        """Bound on the delta at ``e**epsilon = a``: the sum of ``max(p - a p', 0)`` over the
        reports.
        """


@dataclass(frozen=True, eq=False)
class PrivacyCurve(HasFacts):
    r"""What reports of a person reveal together about one answer in place of another: the least
    delta at each epsilon.

    .. math:: \delta(\varepsilon) = \sup_{x, x'} \sum_y \max(P_{xy} - e^\varepsilon P_{x'y}, 0)

    over the answers to all questions, and over people who choose later answers by earlier reports;
    from `compose`.

    Attributes
    ----------
    is_attained : bool
        Whether one pair of answers to each question attains the curve everywhere; otherwise the
        curve is an upper bound that perhaps nobody attains, and `delta_lower` is what one pair
        attains.

    Notes
    -----
    Numbers are integers over ``2**512``, rounded up. Theory: docs, "Several reports together". The
    idea of a dominating pair is that of Zhu, Dong and Wang 2022.
    """

    sources: tuple[tuple[Source, int], ...]  # with repetitions
    is_attained: bool

    @cached_property
    def _product(self) -> Product:
        """The product of the upper losses."""
        return product([(source.losses[0], times) for source, times in self.sources], is_upper=True)

    @property
    def upper(self) -> Bound:
        """Upper bound on the excess."""
        return self._product

    @cached_property
    def lower(self) -> Bound:
        """Excess that one pair of answers to each question attains."""
        return product(
            [(source.losses[1], times) for source, times in self.sources], is_upper=False
        )

    def delta(self, epsilon: float | str) -> Fraction:
        """Least delta at an epsilon in nats, rounded up: a proved upper bound, with a relative
        error below 1e-10.
        """
        odds = Budget(epsilon).enclosure()[0]
        return (
            self.upper.certain
            if odds >= self._largest_odds
            else min(self.upper.excess(odds), Fraction(1))
        )

    def delta_lower(self, epsilon: float | str) -> float:
        """A delta that one pair of answers attains, rounded down."""
        return max(round_down(self.lower.excess(Budget(epsilon).enclosure()[1])), 0.0)

    def epsilon(self, delta: float) -> float:
        """Least epsilon at a delta in [0, 1], rounded up; infinite if none is enough."""
        limit = Fraction(real_number(delta, "delta", 0, 1))
        most = round_up(
            sum(
                (times * log_enclosure(source.odds)[1] for source, times in self.sources),
                Fraction(0),
            )
        )
        if self.upper.certain > limit:
            return inf
        if self.upper.certain == limit or self.delta(0.0) <= limit:
            return most if self.upper.certain == limit else 0.0
        high = self._crossing(limit, most)
        step = 1e-13 * max(high, 1e-3)
        while high < most and self.delta(high) > limit:
            high, step = min(high + step, most), 4 * step
        return high

    def _crossing(self, limit: Fraction, most: float) -> float:
        """An epsilon near the least one, not proved."""
        if most < MAX_EXPONENT:
            return self._product.crossing(float(limit - self.upper.certain), most)
        low, high = 0.0, most
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > limit else (low, middle)
        return high

    @cached_property
    def _largest_odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of all reports together."""
        return prod((source.odds**times for source, times in self.sources), start=Fraction(1))

    def guess(self, prior: float = 0.5) -> float:
        r"""Probability that the best guess between two answers is right, after all reports, rounded
        up.

        .. math:: \max_{x, x'} \sum_y \max(\pi P_{xy}, (1 - \pi) P_{x'y})

        Parameters
        ----------
        prior : float
            Probability :math:`\pi` of the first answer, in (0, 1); default: ``0.5``.
        """
        share = Fraction(real_number(prior, "prior", 0, 1))
        if not 0 < share < 1:
            raise StatementError(
                f"prior = {prior:g} leaves nothing to guess", do="give a number between 0 and 1"
            )
        return min(round_up(1 - share + share * self.upper.excess((1 - share) / share)), 1.0)

    def tradeoff(self) -> Float:
        """Points (false alarms, misses) of the best tests between two answers, shape (m, 2), in
        floats.
        """
        misses = 1 - float(self._product.certain)
        masses, others = self._product.above(self._product.levels())
        table = np.column_stack([np.append(0.0, others), np.append(misses, misses - masses)])
        table = np.clip(np.append(table, [[1.0, 0.0]], axis=0), 0.0, 1.0)
        return np.asarray(
            table[np.append(True, np.abs(np.diff(table, axis=0)).max(axis=1) > 1e-12)]
        )

    def renyi(self, order: float) -> float:
        r"""Renyi divergence of an order of at least 1, in nats, the sum over the questions.

        .. math:: \max_{x, x'} \frac{1}{s - 1} \log \sum_y P_{xy}^s P_{x'y}^{1 - s}

        Order 1 is the Kullback-Leibler divergence. The worst pair of each question is taken for
        this order; in floats.
        """
        order = real_number(order, "order", 1)
        if order == inf:
            return self.epsilon(0.0)
        return sum((times * source.renyi(order) for source, times in self.sources), 0.0)

    @property
    def certificate(self) -> CurveCertificate:
        """A proof of the curve at the deltas 1e-3, 1e-6 and 1e-9 and of the best guess; see
        `prove`.
        """
        return self.prove(*SHOWN_DELTAS)

    def prove(self, *deltas: float) -> CurveCertificate:
        """Return a certificate of the least epsilons at some deltas, which can be saved, and
        checked without ldpopt.

        Raises
        ------
        StatementError
            If no epsilon is enough for any of the deltas.
        """
        import ldpopt

        return ldpopt.accounting.certificate_of(self, *deltas)

    @property
    def in_words(self) -> str:
        """What the best adversary guesses, in one sentence for people who decide."""
        reports = sum(times for _, times in self.sources)
        after = "one report" if reports == 1 else f"all {reports} reports"
        times = 100 * self.guess()
        shown = f"{ceil(times)}" if times <= 99 else f"{ceil(100 * times) / 100:g}"
        who = (
            f"After {after} the best possible adversary guesses which of two equally likely "
            "answers a person has"
        )
        return f"{who} right at most {shown} of 100 times (50 without reports)."

    def facts(self) -> Facts:
        """Epsilon at some deltas, and the best guess."""
        rows = [[delta, self.epsilon(delta)] for delta in (0.0, *SHOWN_DELTAS)]
        reports = sum(times for _, times in self.sources)
        guess = f"right with probability at most {self.guess():.4f} (0.5 without reports)"
        parts: list[Part] = [("reports", reports), ("best guess of two answers", guess)]
        parts.append(Table(["delta", "epsilon"], rows))
        if not self.is_attained:
            parts.append(
                "an upper bound: no pair of answers is the worst everywhere, so that it may not "
                "be attained"
            )
        return Facts("What all reports reveal together", parts)

    def __repr__(self) -> str:
        reports = sum(times for _, times in self.sources)
        return f"PrivacyCurve({reports} reports, epsilon {self.epsilon(0.0):.6g} at delta 0)"


def compose(
    channels: Iterable[Any],
    *,
    pairs: Sequence[tuple[Any, Any]] | Notion | None = None,
    group: int = 1,
) -> PrivacyCurve:
    r"""What the reports of several channels reveal together about one person, or about a household.

    Parameters
    ----------
    channels : iterable of Mechanism, or of (Mechanism, int)
        One for each question, or with the number of times it is used; also a `Design`, an array of
        shape (n, m), or the `PrivacyCurve` of `permanent`, `shuffled` or `compose`. Answers may
        depend on each other and on earlier reports; the channels must be fixed in advance.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared, for every channel; a notion names those that it
        compares: sensitive answers with others, or the edges of a graph. The budgets then add up
        along them: a person who changes two answers by one edge each is protected by both, and a
        metric by the sum of ``epsilon d``. Default: all.
    group : int
        Number of people whose answers are one secret, such as a household; default: ``1``.

    Returns
    -------
    PrivacyCurve
        Its epsilon at delta 0 is the sum of the budgets; any delta, guesses and divergences follow
        from the channels themselves and are smaller.

    Raises
    ------
    StatementError
        If there is no channel, a number of times is not a whole number, or a channel has too many
        pairs of answers.

    Notes
    -----
    For each channel the excess of all ordered pairs is bounded by one privacy loss distribution,
    exactly, and these multiply. 1000 reports by randomized response take about a second, as do 20
    different questions; of more atoms, masses are moved to powers of one number. Composition by
    dominating pairs: Zhu, Dong and Wang 2022; the adaptive case is proved in docs, "Several reports
    together".

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> curve = compose([(coin, 2)])
    >>> round(float(curve.delta("log(3)")), 12), round(curve.guess(), 12)
    (0.375, 0.75)
    """
    group = whole_number(group, "group", 1)
    if isinstance(channels, (Mechanism, str)) or not isinstance(channels, Iterable):
        raise StatementError(
            f"a {type(channels).__name__} is not a list of channels", do="pass [mechanism, ...]"
        )
    known: dict[int, Source] = {}
    found: list[tuple[Source, int]] = []
    for one in channels:
        given, times = one if isinstance(one, tuple) and len(one) == 2 else (one, 1)
        times = whole_number(times, "the number of times", 0) * group
        if isinstance(given, PrivacyCurve):
            found += [(source, times * own) for source, own in given.sources]
            continue
        if id(given) not in known:
            known[id(given)] = _source(given, pairs)
        found.append((known[id(given)], times))
    if not found:
        raise StatementError("there is no channel to compose", do="give a list of mechanisms")
    return PrivacyCurve(tuple(found), all([source.losses[0].is_attained for source, _ in found]))


def _source(given: Any, pairs: Any) -> Source:
    """What draws the reports; sets of answers and other reports that are not listed are known by
    their ratios.
    """
    if isinstance(given, Source):
        return given
    drawn = given if isinstance(given, SubsetSelection) else getattr(given, "randomizer", given)
    if isinstance(drawn, SubsetSelection):
        n = len(drawn.inputs)
        size = drawn.size
        return Ratios(
            drawn.distribution.odds, drawn.p * Fraction(n - size, n - 1), is_attained=True
        )
    odds = getattr(drawn, "odds", None)
    if not isinstance(drawn, Mechanism) and isinstance(odds, Fraction):
        # as binary randomized response, which reveals most
        return Ratios(odds, odds / (1 + odds), is_attained=False)
    mechanism = read_channel(given)
    return Channel(mechanism.counts, *read_pairs(mechanism, pairs))


def read_channel(given: Any) -> Mechanism:
    """The mechanism of a channel, a design or an array."""
    channel = getattr(given, "mechanism", given)
    return channel if isinstance(channel, Mechanism) else Mechanism(channel)


def read_pairs(mechanism: Mechanism, pairs: Any) -> Any:
    """Positions of the first and of the second answers of the pairs, two vectors."""
    if pairs is None:
        return all_pairs(len(mechanism.inputs))
    if isinstance(pairs, Notion):
        tied = pairs.definition(mechanism.inputs, mechanism.outputs)
        if tied is None:
            raise StatementError(
                f"{type(pairs).__name__} does not name pairs of answers", do="give the pairs"
            )
        return tied.pairs()
    if not len(pairs) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise StatementError(
            f"pairs = {short_repr(pairs)} are not pairs of answers", do='give [("yes", "no"), ...]'
        )
    return tuple(codes([pair[k] for pair in pairs], mechanism.inputs, "answer") for k in (0, 1))
