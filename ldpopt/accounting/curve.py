"""What several reports of a person reveal together: the curve of delta over epsilon, and what
follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.certificate import CurveCertificate
from ldpopt.accounting.epsilons import LeastEpsilons
from ldpopt.accounting.excess import Answers, Excesses
from ldpopt.accounting.fixed_answers import require_few
from ldpopt.accounting.on_levels import LEVELS
from ldpopt.accounting.privacy_loss import ChannelSource, Ratios, Source, all_pairs
from ldpopt.accounting.sentences import ANSWERS, ATTAINED, COMPARED, GUESS, ROUNDING, GuessFacts
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, Table
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import (
    Float,
    listed_items,
    real_number,
    require_choice,
    short_repr,
    whole_number,
)
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import Notion

SHOWN_DELTAS = (1e-3, 1e-6, 1e-9)
MIN_LEVELS = 16
MAX_LEVELS = 1 << 24


@dataclass(frozen=True, eq=False)
class PrivacyCurve(LeastEpsilons, HasFacts):
    r"""What reports of a person reveal together about one answer in place of another: the least
    delta at each epsilon.

    .. math:: \delta(\varepsilon) = \sup_{x, x'} \sum_y \max(P_{xy} - e^\varepsilon P_{x'y}, 0)

    over the answers to all questions, and over people who choose later answers by earlier reports;
    from `compose`.

    Attributes
    ----------
    is_attained : bool
        Whether one way to answer, a strategy or one pair of answers to each question, attains the
        curve at each epsilon, but for rounding and too few levels; otherwise the curve is an upper
        bound that perhaps nobody attains. `delta_lower` is what some strategy attains.
    group : int
        Number of people whose answers are one secret; default: ``1``.
    answers : {"adaptive", "fixed"}
        What `compose` assumed: whether later answers may be chosen by earlier reports, or all are
        given before any report is published; default: ``"adaptive"``.

    Notes
    -----
    Numbers are integers, rounded up or down. `epsilon_lower` is what one strategy proves to be
    necessary, and `looseness` how far both may be apart; `epsilon` warns if that is more than a
    part in 1000 because of too few levels. Theory: docs, "Several reports together". The idea of a
    dominating pair is that of Zhu, Dong and Wang 2022.
    """

    is_attained: bool
    group: int = 1

    shows_lower: ClassVar[bool] = True  # in `facts`

    def guess(self, prior: float = 0.5) -> float:
        r"""Probability that the best guess between two answers is right, after all reports, rounded
        up.

        .. math:: \max_{x, x'} \sum_y \max(\pi P_{xy}, (1 - \pi) P_{x'y})

        Parameters
        ----------
        prior : float
            Probability :math:`\pi` of the first answer, in (0, 1); default: ``0.5``.

        Returns
        -------
        float
            At most 1. Without reports it is ``max(prior, 1 - prior)``.

        Raises
        ------
        StatementError
            If the prior is not between 0 and 1.
        """
        share = Fraction(real_number(prior, "prior", 0, 1))
        if not 0 < share < 1:
            problem = f"prior = {prior:g} leaves nothing to guess"
            raise StatementError(problem, code="prior", do="give a number between 0 and 1")
        # max(s p, (1 - s) q) = (1 - s) q + s max(p - a q, 0) with a = (1 - s) / s
        excess = self.upper.excess((1 - share) / share)
        return min(round_up(1 - share + share * excess), 1.0)

    def tradeoff(self) -> Float:
        """Points (false alarms, misses) of the best tests between two answers, shape (m, 2), in
        floats.
        """
        misses = 1 - float(self._product.certain)
        masses, others = self._product.above(self._product.levels())
        # a test decides for the first answer above a level: all reports below it are missed
        alarms = np.append(0.0, others)
        table = np.column_stack([alarms, np.append(misses, misses - masses)])
        table = np.clip(np.append(table, [[1.0, 0.0]], axis=0), 0.0, 1.0)
        is_new = np.abs(np.diff(table, axis=0)).max(axis=1) > 1e-12
        table = table[np.append(True, is_new)]
        table[-1] = 1.0, 0.0  # whoever always raises the alarm, whatever the sums were rounded to
        return np.asarray(table)

    def renyi(self, order: float) -> float:
        r"""Renyi divergence of an order of at least 1, in nats, the sum over the questions.

        .. math:: \max_{x, x'} \frac{1}{s - 1} \log \sum_y P_{xy}^s P_{x'y}^{1 - s}

        Order 1 is the Kullback-Leibler divergence. The worst pair of each question is taken for
        this order; in floats, raised by what rounding can lose.
        """
        order = real_number(order, "order", 1)
        if order == inf:
            return self.epsilon(0.0)
        return sum((times * source.renyi(order) for source, times in self.sources if times), 0.0)

    @property
    def certificate(self) -> CurveCertificate:
        """A proof of the curve at the deltas 1e-3, 1e-6 and 1e-9 and of the best guess; see
        `prove`.
        """
        return self.prove(*SHOWN_DELTAS)

    def prove(self, *deltas: float) -> CurveCertificate:
        """Return a certificate of the least epsilons at some deltas, which can be saved, and
        checked without ldpopt.

        The deltas that are claimed hold for answers that are chosen by earlier reports, too. A
        curve of ``answers="fixed"`` claims them at its own, smaller epsilons: there they may be
        larger than ``deltas``.

        Raises
        ------
        StatementError
            If no epsilon is enough for any of the deltas.
        """
        epsilons = [self.epsilon(delta) for delta in deltas]
        finite = [epsilon for epsilon in epsilons if epsilon < inf]
        if not finite:
            problem = "no epsilon is enough for any of the deltas"
            do = "give a larger delta, or channels without impossible reports"
            raise StatementError(problem, code="delta", do=do)
        return CurveCertificate.of(self, finite)

    @property
    def in_words(self) -> str:
        """What the best adversary guesses, in one sentence for people who decide."""
        facts = GuessFacts.of(self.sources, self.group, self.guess(), self.answers)
        return GUESS.say(facts)

    def facts(self) -> Facts:
        """Epsilon at some deltas, what is known to be necessary, the best guess, and what is
        assumed of the answers.
        """
        deltas = (0.0, *SHOWN_DELTAS)
        headings = ["delta", "epsilon"]
        rows = [[delta, self.epsilon(delta)] for delta in deltas]
        if self.shows_lower:
            headings.insert(1, "at least")
            rows = [[delta, self.epsilon_lower(delta), epsilon] for delta, epsilon in rows]
        reports = sum(times * source.reports for source, times in self.sources)
        at_most = ceil(10_000 * Fraction(self.guess()) - ROUNDING) / 10_000
        guess = f"right with probability at most {at_most:.4f} (0.5 without reports)"
        parts: list[Part] = [("reports", reports), ("best guess of two answers", guess)]
        parts.append(Table(headings, rows))
        parts += [("compared", COMPARED.say(self.sources))]
        assumed = ANSWERS.say(self)
        parts += [("answers", assumed)] if assumed else []
        parts += filter(None, [ATTAINED.say(self)])
        return Facts("What all reports reveal together", parts)

    def __repr__(self) -> str:
        reports = sum(times * source.reports for source, times in self.sources)
        assumed = ", fixed answers" if self.answers == "fixed" else ""
        return (
            f"PrivacyCurve({reports} reports{assumed}, epsilon {self.epsilon(0.0):.6g} at delta 0)"
        )


def compose(
    channels: Iterable[Any],
    *,
    pairs: Sequence[tuple[Any, Any]] | Notion | None = None,
    group: int = 1,
    answers: Answers = "adaptive",
    levels: int = LEVELS,
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
    answers : {"adaptive", "fixed"}
        Whether people may choose later answers, and what is asked next, by earlier reports, or
        give all their answers before any report is published; default: ``"adaptive"``, which holds
        for both. ``"fixed"`` assumes that nobody sees a report before the last answer is given.
    levels : int
        Number of levels of the loss of all reports, from 16 to 16 777 216, if there are too many
        atoms to list, and of points of a table of strategies; default: ``65536``. The work grows
        with it, and what `PrivacyCurve.looseness` proves falls with its square.

    Returns
    -------
    PrivacyCurve
        Its epsilon at delta 0 is the sum of the budgets; any delta, guesses and divergences follow
        from the channels themselves and are smaller.

    Raises
    ------
    StatementError
        If there is no channel, a number of times is not a whole number from 1 on, a channel has too
        many pairs of answers, no pair of two is compared, there are more than 10,000 ways to take
        pairs of fixed answers, or ``answers`` or ``levels`` is out of range.

    Notes
    -----
    Of a channel of which one pair of answers is the worst, the excess is that of one privacy loss
    distribution, and these multiply: as atoms, or, of many reports, on levels in a window of about
    20 standard deviations, whose tails are counted. A million reports by randomized response take
    about a second. Work: ``2 log2(times)`` products for a question, and one for each question, in
    nearly linear time in the levels. Of other channels, such as a coin for one answer only, people
    reveal more who choose pairs by reports: the curve is the largest over all strategies, by a
    table for every number of reports that are left, with work of about ``reports * levels``, for
    which levels are left out of many reports. Composition by dominating pairs: Zhu, Dong and Wang
    2022; the
    adaptive case is proved in docs, "Several reports together".

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> curve = compose([(coin, 2)])
    >>> round(float(curve.delta("log(3)")), 12), round(curve.guess(), 12)
    (0.375, 0.75)
    """
    group = whole_number(group, "group", 1)
    levels = whole_number(levels, "levels", MIN_LEVELS, MAX_LEVELS)
    require_choice(answers, ("adaptive", "fixed"), "answers")
    is_list = isinstance(channels, Iterable) and getattr(channels, "shape", (1,)) != ()
    if isinstance(channels, (Mechanism, str)) or not is_list:
        problem = f"a {type(channels).__name__} is not a list of channels"
        raise StatementError(problem, code="channel-list", do="pass [mechanism, ...]")
    known: dict[int, Source] = {}  # a channel that is used again is one source
    sources: list[tuple[Source, int]] = []
    inner = 1  # the largest group of a curve among the channels
    for item in channels:
        channel, times = item if isinstance(item, tuple) and len(item) == 2 else (item, 1)
        times = whole_number(times, "the number of times", 1) * group
        if isinstance(channel, PrivacyCurve):
            inner = max(inner, channel.group)
            sources += [(source, times * repeated) for source, repeated in channel.sources]
            continue
        if id(channel) not in known:
            known[id(channel)] = _source(channel, pairs)
        sources.append((known[id(channel)], times))
    if not sources:
        problem = "there is no channel to compose"
        raise StatementError(problem, code="empty-list", do="give a list of mechanisms")
    if answers == "fixed":
        require_few(sources)
    is_attained = Excesses(tuple(sources), answers=answers, levels=levels).has_strategy
    return PrivacyCurve(tuple(sources), is_attained, group * inner, answers=answers, levels=levels)


def _source(channel: Any, pairs: Any) -> Source:
    """What draws the reports; sets of answers and other reports that are not listed are known by
    their ratios.
    """
    if isinstance(channel, Source):
        return channel
    is_subset = isinstance(channel, SubsetSelection)
    drawn = channel if is_subset else getattr(channel, "randomizer", channel)
    if isinstance(drawn, SubsetSelection):
        # a report is a set: it has the largest ratio if it has the first answer and not the second
        n = len(drawn.inputs)
        share = drawn.p * Fraction(n - drawn.size, n - 1)
        return Ratios(drawn.distribution.odds, share, is_attained=True)
    odds = getattr(drawn, "odds", None)
    if isinstance(drawn, AssignedMechanisms):
        return _of_assigned(drawn, pairs)
    if not isinstance(drawn, Mechanism) and isinstance(odds, Fraction):
        # as binary randomized response, which reveals most
        return Ratios(odds, odds / (1 + odds), is_attained=False)
    return compared(channel, pairs)


def _of_assigned(laws: AssignedMechanisms, pairs: Any) -> ChannelSource:
    """The rows of several mechanisms, of which each person has one that is known: answers are
    compared within each, and the number of a column means nothing between them.
    """
    each = [compared(law, pairs) for law in laws.mechanisms.values()]
    width = max(source.counts.shape[1] for source in each)
    counts = [np.pad(s.counts, ((0, 0), (0, width - s.counts.shape[1]))) for s in each]
    n = len(laws.inputs)
    first, second = (
        np.concatenate([getattr(source, side) + n * i for i, source in enumerate(each)])
        for side in ("first", "second")
    )
    inputs = [answer for source in each for answer in source.inputs]
    return ChannelSource(np.vstack(counts), first, second, inputs, channels=len(each))


def compared(channel: Any, pairs: Any) -> ChannelSource:
    """The channel of a mechanism, a design or an array, with the pairs that are compared."""
    mechanism = read_channel(channel)
    first, second = read_pairs(mechanism, pairs)
    return ChannelSource(mechanism.counts, first, second, mechanism.inputs)


def read_channel(channel: Any) -> Mechanism:
    """The mechanism of a channel, a design or an array."""
    mechanism = getattr(channel, "mechanism", channel)
    return mechanism if isinstance(mechanism, Mechanism) else Mechanism(mechanism)


def read_pairs(mechanism: Mechanism, pairs: Any) -> Any:
    """Positions of the first and of the second answers of the pairs, two vectors.

    ``pairs`` are tuples of two labels, a notion (the pairs that it compares), or None (all).
    """
    if pairs is None:
        return all_pairs(len(mechanism.inputs))
    if isinstance(pairs, Notion):
        tied = pairs.definition(mechanism.inputs, mechanism.outputs)
        if tied is None:
            problem = f"{type(pairs).__name__} does not name pairs of answers"
            raise StatementError(problem, code="pairs-of-notion", do="give the pairs")
        return tied.pairs()
    pairs = listed_items(pairs, "pairs", 'give [("yes", "no"), ...]')
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        problem = f"pairs = {short_repr(pairs)} are not pairs of answers"
        raise StatementError(problem, code="pairs", do='give [("yes", "no"), ...]')
    first = codes([pair[0] for pair in pairs], mechanism.inputs, "answer")
    second = codes([pair[1] for pair in pairs], mechanism.inputs, "answer")
    return first, second
