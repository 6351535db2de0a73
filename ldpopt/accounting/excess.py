r"""Excesses of several reports: what certificates claim and curves are drawn from.

The excess of all reports at ``a = e**epsilon`` is the least delta at that epsilon,

.. math:: \delta = \max_{x, x'} \sum_y \max(P_{xy} - a P_{x'y}, 0) .

This file computes it from the losses of the sources and nothing else: it knows neither the curves
that are drawn from excesses nor the certificates that claim them.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, prod
from numbers import Real
from typing import Literal, Protocol

from ldpopt.accounting.choices import parts_of
from ldpopt.accounting.fixed_answers import LargestProduct, largest_product
from ldpopt.accounting.logarithms import GRAIN, loss_of
from ldpopt.accounting.on_levels import LEVELS
from ldpopt.accounting.privacy_loss import Source
from ldpopt.accounting.product import Product, certain_of, product
from ldpopt.accounting.shuffled_reports import Shuffled
from ldpopt.accounting.strategies import Strategies, gathered
from ldpopt.foundation.budget import (
    LARGEST,
    MAX_NATS,
    Budget,
    decimal_of,
    log_enclosure,
    round_down,
)

Answers = Literal["adaptive", "fixed"]  # to later questions, by earlier reports or not
MAX_BITS = 100_000  # of the largest odds of all reports, if they are computed exactly
Sources = tuple[tuple[Source, int], ...]  # with repetitions


class ExcessBound(Protocol):
    """Bound on the excess of all reports at every ``a``, rounded one way.

    An upper bound is at least the excess of every pair of answers; a lower bound is at most that of
    one pair. Whoever has one can ask for the delta at any epsilon.
    """

    @property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""

    def excess(self, a: Fraction) -> Fraction:
        """Bound on the delta at ``e**epsilon = a``: the sum of ``max(p - a p', 0)`` over the
        reports.
        """


@dataclass(frozen=True, eq=False)
class Excesses:
    """The deltas of some sources at every epsilon: an upper bound for all pairs of answers, and
    what one pair attains.
    """

    sources: Sources
    levels: int = field(default=LEVELS, kw_only=True)
    answers: Answers = field(default="adaptive", kw_only=True)
    is_gathered: bool = field(default=False, kw_only=True)  # as in a certificate

    @cached_property
    def _product(self) -> Product | LargestProduct:
        """The product of the upper losses."""
        return self._of_losses(0)

    @cached_property
    def _lower_product(self) -> Product | LargestProduct:
        """The product of the losses below: of the best tests that are known."""
        return self._of_losses(1)

    @cached_property
    def gathered(self) -> Sources:
        """The sources; those of which no pair of answers is the worst are taken together."""
        return self.sources if self.is_gathered else gathered(self.sources, self.levels)

    @property
    def has_strategy(self) -> bool:
        """Whether some way to answer is known to attain the upper bound, but for rounding and
        levels.
        """
        sources = self.sources if self.answers == "fixed" else self.gathered
        together = sum(isinstance(source, Strategies) for source, _ in sources)
        return together <= 1 and all(
            isinstance(source, Strategies)
            or source.losses[0].is_attained
            or (self.answers == "fixed" and parts_of(source) is not None)
            for source, _ in sources
        )

    def _of_losses(self, side: int) -> Product | LargestProduct:
        """The product of the upper losses, or of those below."""
        if self.answers == "fixed":
            return largest_product(self.sources, is_upper=not side, levels=self.levels)
        losses = [(source.losses[side], times) for source, times in self.gathered]
        return product(losses, is_upper=not side, levels=self.levels)

    @cached_property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""
        return certain_of([(source.losses[0], times) for source, times in self.sources])

    @property
    def upper(self) -> ExcessBound:
        """Upper bound on the excess."""
        return self._product

    @property
    def lower(self) -> ExcessBound:
        """Excess that one pair of answers to each question attains."""
        return self._lower_product

    def delta(self, epsilon: float | str) -> Fraction:
        """Least delta at an epsilon in nats, rounded up: a proved upper bound, with a relative
        error below 1e-10.
        """
        # the excess falls with ``a``: the lower end of the enclosure of e**epsilon bounds it above
        odds = odds_of(epsilon)[0]
        if self._is_beyond(odds):
            return self.certain
        return min(self.upper.excess(odds), Fraction(1))

    def delta_lower(self, epsilon: float | str) -> float:
        """A delta that one pair of answers attains, rounded down."""
        odds = odds_of(epsilon)[1]
        return max(round_down(self.lower.excess(odds)), 0.0)

    def _is_beyond(self, odds: Fraction) -> bool:
        """Whether odds are at least the largest finite ratio of the probabilities of all
        reports.
        """
        bits = sum(times * source.odds.numerator.bit_length() for source, times in self.sources)
        if bits > MAX_BITS:
            return odds >= 1 and loss_of(odds, up=False) >= ceil(self.most_nats * GRAIN)
        return odds >= prod(
            (source.odds**times for source, times in self.sources), start=Fraction(1)
        )

    @cached_property
    def most_nats(self) -> Fraction:
        """The epsilon at delta 0, or of all that is not certain: the sum of the budgets, rounded
        up.
        """
        budgets = (times * log_enclosure(source.odds)[1] for source, times in self.sources)
        return sum(budgets, Fraction(0))


class ShuffledExcesses(Excesses):
    """The deltas of shuffled reports alone: bounds of their own, which are sharper than a loss."""

    @property
    def shuffle(self) -> Shuffled:
        """The shuffled reports."""
        return self.sources[0][0]  # type: ignore[return-value]

    @cached_property
    def certain(self) -> Fraction:
        """Mass of reports that are impossible under another answer."""
        return self.upper.certain

    @cached_property
    def upper(self) -> ExcessBound:
        """Upper bound on the excess."""
        return self.shuffle.upper

    @cached_property
    def lower(self) -> ExcessBound:
        """Excess of one data set."""
        return self.shuffle.lower


def odds_of(epsilon: float | str) -> tuple[Fraction, Fraction]:
    """Enclosure of ``e**epsilon``: the epsilons of many reports add up to more than a budget may
    be.
    """
    if isinstance(epsilon, Real) and LARGEST < epsilon <= MAX_NATS:
        return Budget(1).enclosure(decimal_of(float(epsilon)))
    return Budget(epsilon).enclosure()


def excesses_of(sources: Sources) -> Excesses:
    """The deltas of some sources, as sharp as is known for them."""
    (source, times), *others = sources
    if isinstance(source, Shuffled) and times == 1 and not others:
        return ShuffledExcesses(sources)
    return Excesses(sources, is_gathered=True)
