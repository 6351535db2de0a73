"""What the reports of a person are drawn from, and the losses that bound what each reveals."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.losses import NOTHING, PrivacyLoss
from ldpopt.accounting.pairs import BITS, BLOCK, ONE, Points, RowPairs, distinct_pairs
from ldpopt.accounting.renyi import log_ratios, renyi_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Int

__all__ = [
    "BITS",
    "ONE",
    "ChannelSource",
    "OneOf",
    "Points",
    "Ratios",
    "Source",
    "all_pairs",
]


class Source(ABC):
    """What one or more reports of a person are drawn from.

    A source knows two losses, from which it is composed with others, and what it is drawn from as
    plain data, from which a certificate is read. Its ``kind`` is its name there.
    """

    kind: ClassVar[str]

    @property
    def reports(self) -> int:
        """Number of reports that a person sends."""
        return 1

    @property
    def compares_all(self) -> bool:
        """Whether all ordered pairs of answers are compared."""
        return True

    @property
    def leaves_out(self) -> bool:
        """Whether two answers are compared in neither order."""
        return False

    @property
    @abstractmethod
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss, and the loss of one pair of answers, or of one that reveals nothing."""

    @property
    def distinct(self) -> RowPairs | None:
        """The pairs of laws of the reports, if they are listed."""
        return None

    @property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of the reports, at least 1."""
        return max([Fraction(1), *self.losses[0].ratios[-1:]])

    def renyi(self, order: float) -> float:
        """Upper bound on the Renyi divergence of an order, in floats."""
        return self.losses[0].renyi(order)

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """The pairs of answers that are compared, each once; none if all are."""
        return []

    @abstractmethod
    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""


@dataclass(frozen=True, eq=False)
class ChannelSource(Source):
    """One report: a channel, and the ordered pairs of answers that are compared."""

    counts: Int  # masses over 2**53
    first: Int  # positions of the first answers of the pairs
    second: Int
    inputs: Sequence[Any] = ()  # labels of the answers, if they are known
    points: Points = None
    channels: int = 1  # whose rows follow each other: a person has one, and others know which

    kind: ClassVar[str] = "reports"

    def __post_init__(self) -> None:
        if not len(self.first):
            problem = "no two answers are compared: whatever the reports reveal, it is of nobody"
            do = "give a channel of two answers or more, and a pair of them"
            raise StatementError(problem, code="no-pairs", do=do)
        if (self.first == self.second).any():
            problem = "a pair compares an answer with itself, of which every report reveals nothing"
            raise StatementError(problem, code="equal-pairs", do="give pairs of two answers")

    @cached_property
    def compares_all(self) -> bool:
        """Whether all ordered pairs of answers are compared, in each channel."""
        n = len(self.counts)
        pairs = n * (n // self.channels - 1)
        return len(np.unique(self.first * n + self.second)) == pairs

    @cached_property
    def compares_both_orders(self) -> bool:
        """Whether each pair is compared in both orders."""
        ordered = set(zip(self.first.tolist(), self.second.tolist(), strict=True))
        return all((z, x) in ordered for x, z in ordered)

    @property
    def leaves_out(self) -> bool:
        """Whether two answers are compared in neither order."""
        n = len(self.counts)
        every = n * (n // self.channels - 1) // 2
        return not self.compares_all and len(self.named_pairs) < every

    @cached_property
    def distinct(self) -> RowPairs:
        """The pairs of rows, each once."""
        return distinct_pairs(self.counts, self.first, self.second)

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss of all pairs, and the loss of one pair."""
        return self.distinct.losses(points=self.points)

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """The pairs of labels, or of positions, each in one order; none if all are compared."""
        if self.compares_all:
            return []
        names = self.inputs or range(len(self.counts))
        ordered = zip(self.first.tolist(), self.second.tolist(), strict=True)
        pairs = sorted({(min(pair), max(pair)) for pair in ordered})
        return [(names[x], names[z]) for x, z in pairs]

    def renyi(self, order: float) -> float:
        """Largest Renyi divergence of the pairs, in nats and floats; infinite if one answer of a
        pair may give a report that the other never gives.
        """
        largest = 0.0
        for begin in range(0, len(self.first), BLOCK):
            part = slice(begin, begin + BLOCK)
            p = self.counts[self.first[part]]
            q = self.counts[self.second[part]]
            logs = log_ratios(p, q)
            if np.isinf(logs).any():
                return inf
            # with the differences, whose sum is 0, no term of the sum is negative
            found = renyi_divergence(p / ONE, logs, order, (q - p) / ONE)
            largest = max(largest, float(found.max()))
        return largest

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data: masses, pairs (null for all), and ratios at which a loss
        bounds the excess.
        """
        pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
        is_every = self.compares_all and self.channels == 1
        named = None if is_every else [list(pair) for pair in pairs]
        ratios = [str(ratio) for ratio in self.losses[0].ratios]
        return {"kind": self.kind, "masses": self.counts.tolist(), "pairs": named, "ratios": ratios}


@dataclass(frozen=True, eq=False)
class Ratios(Source):
    """Reports that are not listed, with three ratios: the largest, 1, and the inverse of the
    largest.

    With the largest possible share, ``largest / (1 + largest)``, all channels with this ratio
    reveal less (Kairouz, Oh and Viswanath 2015).
    """

    largest: Fraction
    share: Fraction  # mass of the reports that attain the ratio
    is_attained: bool

    kind: ClassVar[str] = "ratios"

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss, and the same if one pair attains the excess, or one that reveals
        nothing.
        """
        # the two answers have the same law up to their names: the inverse ratio has share / largest
        inverse = 1 / self.largest
        equal = 1 - self.share * (1 + inverse)
        atoms = [
            (self.largest, self.share),
            (inverse, self.share * inverse),
            (Fraction(1), equal),
        ]
        used = [(ratio, mass) for ratio, mass in atoms if mass]
        loss = PrivacyLoss.of(used, is_attained=self.is_attained)
        return loss, loss if self.is_attained else NOTHING

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {"kind": self.kind, "odds": str(self.largest), "share": str(self.share)}


@dataclass(frozen=True, eq=False)
class OneOf(Source):
    """One of several sources, drawn for each person with equal probabilities; which one was drawn
    is known.
    """

    sources: tuple[Any, ...]
    is_attained: bool
    reports: int = 1  # of a person, of which one is about the answer to its question

    kind: ClassVar[str] = "one_of"

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """The pairs of answers that are compared for each source, one source after the other."""
        return [pair for source in self.sources for pair in source.named_pairs]

    @property
    def compares_all(self) -> bool:
        """Whether all sources compare all pairs of answers."""
        return all(source.compares_all for source in self.sources)

    @property
    def leaves_out(self) -> bool:
        """Whether a source compares two answers in neither order."""
        return any(source.leaves_out for source in self.sources)

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Upper and lower loss: means of those of the sources; the lower one reveals nothing if it
        is not attained.
        """
        share = Fraction(1, len(self.sources))
        upper = PrivacyLoss.mean([(share, source.losses[0]) for source in self.sources])
        if not self.is_attained:
            return replace(upper, is_attained=False), NOTHING
        return upper, PrivacyLoss.mean([(share, source.losses[1]) for source in self.sources])

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {"kind": self.kind, "sources": [source.plain() for source in self.sources]}


def all_pairs(n: int) -> tuple[Int, Int]:
    """Positions of all ordered pairs of n answers."""
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    return first, second
