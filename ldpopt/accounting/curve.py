"""What several reports of a person reveal together: the curve of delta over epsilon, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.accounting.law import laws
from ldpopt.accounting.product import Product, product
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down, round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, Table
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import Float, real_number, short_repr, whole_number
from ldpopt.foundation.rows import Int
from ldpopt.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_DELTAS = (1e-3, 1e-6, 1e-9)


@dataclass(frozen=True, eq=False)
class PrivacyCurve(HasFacts):
    r"""What reports of a person reveal together about one answer in place of another: the least delta at each epsilon.

    .. math:: \delta(\varepsilon) = \sup_{x, x'} \sum_y \max(P_{xy} - e^\varepsilon P_{x'y}, 0)

    over the answers to all questions, and over people who choose later answers by earlier reports; from `compose`.

    Attributes
    ----------
    is_attained : bool
        Whether one pair of answers to each question attains the curve everywhere; otherwise the curve is an upper bound
        that perhaps nobody attains, and `delta_lower` is what one pair attains.

    Notes
    -----
    Numbers are integers over ``2**512``, rounded up. Theory: docs, "Several reports together". The idea of a dominating
    pair is that of Zhu, Dong and Wang 2022.
    """

    upper: Product
    lower: Product
    channels: tuple[tuple[Int, Int, Int, int], ...]  # masses, first and second answers of the pairs, repetitions
    is_attained: bool

    def delta(self, epsilon: float | str) -> Fraction:
        """Least delta at an epsilon in nats, rounded up: a proved upper bound, with a relative error below 1e-10."""
        odds = Budget(epsilon).enclosure()[0]
        return self.upper.certain if odds >= self._largest_odds else min(self.upper.excess(odds), Fraction(1))

    def delta_lower(self, epsilon: float | str) -> float:
        """A delta that one pair of answers attains, rounded down."""
        return max(round_down(self.lower.excess(Budget(epsilon).enclosure()[1])), 0.0)

    def epsilon(self, delta: float) -> float:
        """Least epsilon at a delta in [0, 1], rounded up; infinite if none is enough."""
        limit = Fraction(real_number(delta, "delta", 0, 1))
        most = self._sum_of_budgets()
        if self.upper.certain > limit:
            return inf
        if self.upper.certain == limit or self.delta(0.0) <= limit:
            return most if self.upper.certain == limit else 0.0
        low, high = 0.0, most
        for _ in range(60):  # in floats: to find where to prove
            middle = (low + high) / 2
            mass, other = self.upper.floats.above(middle)
            low, high = (
                (middle, high) if mass + float(self.upper.certain) - exp(middle) * other > limit else (low, middle)
            )
        step = 1e-13 * max(high, 1e-3)
        while high < most and self.delta(high) > limit:
            high, step = min(high + step, most), 4 * step
        return high

    @cached_property
    def _odds(self) -> list[tuple[Fraction, int]]:
        """The largest finite ratio of the probabilities of a report, for each channel with its repetitions."""
        found = []
        for counts, first, second, times in self.channels:
            entries = _largest_ratios(counts[first], counts[second])
            found.append((max([Fraction(1), *(Fraction(x, y) for x, y in entries)]), times))
        return found

    @cached_property
    def _largest_odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of all reports together."""
        return prod((odds**times for odds, times in self._odds), start=Fraction(1))

    def _sum_of_budgets(self) -> float:
        """Logarithm of the largest finite ratio of the probabilities of all reports, rounded up."""
        return round_up(sum((times * log_enclosure(odds)[1] for odds, times in self._odds), Fraction(0)))

    def guess(self, prior: float = 0.5) -> float:
        r"""Probability that the best guess between two answers is right, after all reports, rounded up.

        .. math:: \max_{x, x'} \sum_y \max(\pi P_{xy}, (1 - \pi) P_{x'y})

        Parameters
        ----------
        prior : float
            Probability :math:`\pi` of the first answer, in (0, 1); default: ``0.5``.
        """
        share = Fraction(real_number(prior, "prior", 0, 1))
        if not 0 < share < 1:
            raise StatementError(f"prior = {prior:g} leaves nothing to guess", do="give a number between 0 and 1")
        found = 1 - share + share * self.upper.excess((1 - share) / share)
        return min(round_up(found), 1.0)

    def tradeoff(self) -> Float:
        """Points (false alarms, misses) of the best tests between two answers, shape (m, 2), in floats."""
        atoms, certain = self.upper.floats, float(self.upper.certain)
        points = [(other, 1 - certain - mass) for mass, other in map(atoms.above, atoms.levels().tolist())]
        table = np.clip(np.array([(0.0, 1 - certain), *points, (1.0, 0.0)]), 0.0, 1.0)
        kept: Float = table[np.append(True, np.abs(np.diff(table, axis=0)).max(axis=1) > 1e-12)]
        return kept

    def renyi(self, order: float) -> float:
        r"""Renyi divergence of an order of at least 1, in nats, the sum over the questions.

        .. math:: \max_{x, x'} \frac{1}{s - 1} \log \sum_y P_{xy}^s P_{x'y}^{1 - s}

        Order 1 is the Kullback-Leibler divergence. The worst pair of each question is taken for this order; in floats.
        """
        order = real_number(order, "order", 1)
        if order == inf:
            return self.epsilon(0.0)
        total = 0.0
        for counts, first, second, times in self.channels:
            shares = counts / counts[0].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(shares[first]) - np.log(shares[second])
                if order == 1:
                    terms = np.where(shares[first] > 0, shares[first] * logs, 0.0).sum(axis=1)
                else:
                    terms = np.where(shares[first] > 0, shares[first] * np.exp((order - 1) * logs), 0.0).sum(axis=1)
                    terms = np.log(terms) / (order - 1)
            total += times * float(terms.max(initial=0.0))
        return total

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw delta over epsilon on axes, or on new ones, and return them."""
        import ldpopt

        return ldpopt.plotting.privacy_curve(self, ax)

    def facts(self) -> Facts:
        """Epsilon at some deltas, and the best guess."""
        rows = [[delta, self.epsilon(delta)] for delta in (0.0, *SHOWN_DELTAS)]
        reports = sum(times for *_, times in self.channels)
        parts: list[Part] = [
            ("reports", reports),
            ("best guess of two answers", f"right with probability at most {self.guess():.4f} (0.5 without reports)"),
            Table(["delta", "epsilon"], rows),
        ]
        if not self.is_attained:
            parts.append("an upper bound: no pair of answers is the worst everywhere, so that it may not be attained")
        return Facts("What all reports reveal together", parts)

    def __repr__(self) -> str:
        reports = sum(times for *_, times in self.channels)
        return f"PrivacyCurve({reports} reports, epsilon {self.epsilon(0.0):.6g} at delta 0)"


def _largest_ratios(p: Int, q: Int) -> list[tuple[int, int]]:
    """Entries whose ratio is the largest, up to rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(q > 0, p / q, 0.0)
    near = ratios >= ratios.max(initial=0.0) * (1 - 1e-14)
    return list(zip(p[near].tolist(), q[near].tolist(), strict=True))


def compose(channels: Iterable[Any], *, pairs: Sequence[tuple[Any, Any]] | None = None, group: int = 1) -> PrivacyCurve:
    r"""What the reports of several channels reveal together about one person, or about a household.

    Parameters
    ----------
    channels : iterable of Mechanism, or of (Mechanism, int)
        One for each question, or with the number of times it is used; also a `Design`, or an array of shape (n, m).
        Answers may depend on each other and on earlier reports; the channels must be fixed in advance.
    pairs : sequence of (answer, answer), optional
        The ordered pairs that a one-sided notion compares, for every channel; default: all.
    group : int
        Number of people whose answers are one secret, such as a household; default: ``1``.

    Returns
    -------
    PrivacyCurve
        Its epsilon at delta 0 is the sum of the budgets; any delta, guesses and divergences follow from the channels
        themselves and are smaller.

    Raises
    ------
    StatementError
        If there is no channel, a number of times is not a whole number, or a channel has too many pairs of answers.

    Notes
    -----
    For each channel the excess of all ordered pairs is bounded by one law with few atoms, exactly; laws multiply. If
    all ratios are powers of one, as for randomized response, 1000 reports take about a second; so do 20 different
    questions. Otherwise masses are moved to a fine lattice. Composition by dominating pairs: Zhu, Dong and Wang 2022;
    the adaptive case is proved in docs, "Several reports together".

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> curve = compose([(coin, 2)])
    >>> round(float(curve.delta("log(3)")), 12), round(curve.guess(), 12)
    (0.375, 0.75)
    """
    read = [_read(one) for one in channels]
    if not read:
        raise StatementError("there is no channel to compose", do="give a list of mechanisms")
    group = whole_number(group, "group", 1)
    known: dict[int, Any] = {}
    found = []
    for mechanism, times in read:
        if id(mechanism) not in known:
            known[id(mechanism)] = (*laws(mechanism.counts, chosen := _pairs(mechanism, pairs)), chosen)
        found.append((mechanism, times * group, *known[id(mechanism)]))
    upper = product([(law, times) for _, times, law, *_ in found], is_upper=True)
    lower = product([(law, times) for _, times, _, law, _ in found], is_upper=False)
    parts = []
    for mechanism, times, _, _, chosen in found:
        n = len(mechanism.inputs)
        first, second = np.nonzero(~np.eye(n, dtype=bool)) if chosen is None else np.array(chosen).reshape(-1, 2).T
        parts.append((mechanism.counts, first, second, times))
    return PrivacyCurve(upper, lower, tuple(parts), all(law.is_attained for _, _, law, *_ in found))


def _read(given: Any) -> tuple[Mechanism, int]:
    """A channel and the number of times it is used."""
    channel, times = given if isinstance(given, tuple) and len(given) == 2 else (given, 1)
    channel = getattr(channel, "mechanism", channel)
    mechanism = channel if isinstance(channel, Mechanism) else Mechanism(channel)
    return mechanism, whole_number(times, "the number of times", 0)


def _pairs(mechanism: Mechanism, pairs: Sequence[tuple[Any, Any]] | None) -> list[tuple[int, int]] | None:
    """Positions of the pairs of answers; None for all."""
    if pairs is None:
        return None
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise StatementError(f"pairs = {short_repr(pairs)} are not pairs of answers", do='give [("yes", "no"), ...]')
    first, second = (codes([pair[k] for pair in pairs], mechanism.inputs, "answer").tolist() for k in (0, 1))
    return list(zip(first, second, strict=True))
