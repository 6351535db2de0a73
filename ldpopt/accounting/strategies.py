r"""What people reveal who choose later answers by earlier reports: the exact curve of channels of
which no pair of answers is the worst.

.. math:: H_0(a) = \max(1 - a, 0), \quad
          H_t(a) = \max_{x, x'} \sum_y P_{xy} H_{t-1}(a P_{x'y} / P_{xy})

Of different channels any may be next: there is a table for every number of each that is left.
Theory: docs, "Answers that depend on reports".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product as every
from math import ceil, log2, prod
from typing import Any, ClassVar

from ldpopt.accounting.choices import PairChoice, Parts, parts_of, terms_of
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.privacy_loss import Source
from ldpopt.accounting.strategy_lines import (
    AskedQuestion,
    KnownTable,
    lower_loss,
    next_known,
    start,
    upper_loss,
)

MAX_TABLES = 1000
MAX_LEVELS = 1 << 17
WORK = 4_000_000  # values of lines that are taken for one curve, in about 5 s
LEAST_POINTS = 200  # of a table: fewer bound less well than the product of one loss for each report
Count = tuple[int, ...]  # of each question, how often it is left
Repeated = Sequence[tuple[Source, int]]


@dataclass(frozen=True, eq=False)
class Strategies(Source):
    """The reports of some channels, of people who choose what is asked next and every pair of
    answers by the reports before.
    """

    sources: tuple[tuple[Source, int], ...]
    levels: int  # largest number of points of a table

    kind: ClassVar[str] = "strategies"

    @property
    def reports(self) -> int:
        """Those of all sources."""
        return sum(times * source.reports for source, times in self.sources)

    @property
    def compares_all(self) -> bool:
        """Whether all sources compare all pairs."""
        return all(source.compares_all for source, _ in self.sources)

    @property
    def leaves_out(self) -> bool:
        """Whether a source compares two answers in neither order."""
        return any(source.leaves_out for source, _ in self.sources)

    @property
    def named_pairs(self) -> list[tuple[Any, Any]]:
        """Those of all sources."""
        return [pair for source, _ in self.sources for pair in source.named_pairs]

    @cached_property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of all reports."""
        return prod((source.odds**times for source, times in self.sources), start=Fraction(1))

    def renyi(self, order: float) -> float:
        """The sum over the sources."""
        return sum(times * source.renyi(order) for source, times in self.sources)

    @property
    def points(self) -> int:
        """Largest number of points of a table, for which the work is bounded."""
        terms = sum(terms_of(parts) for parts in self._parts)
        work = WORK * max(1, self.levels >> 16)  # whoever asks for more levels gets them
        return min(self.levels, MAX_LEVELS, work // (terms * tables_of(self.sources)))

    @property
    def is_small(self) -> bool:
        """Whether the tables are few enough, and may have enough points."""
        is_few = len(self.sources) == 1 or tables_of(self.sources) <= MAX_TABLES
        return is_few and self.points >= min(LEAST_POINTS, self.levels)

    @property
    def is_thinned(self) -> bool:
        """Whether the tables would bend at more points than they have."""
        return self._known.table.is_thinned

    @cached_property
    def _parts(self) -> list[Parts]:
        """The choices of each source; of a source of one pair, this one."""
        return [choices_of(source) for source, _ in self.sources]

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """A loss whose excess is the upper bound, and that of the best tests that were found."""
        possible = ((1 - source.losses[0].certain) ** times for source, times in self.sources)
        certain = 1 - prod(possible, start=Fraction(1))
        return upper_loss(self._known.upper, self.odds, certain), lower_loss(self._known.lower)

    @cached_property
    def _known(self) -> KnownTable:
        """The table of all reports, from those of all numbers of channels that are left, of which
        those of one report less are enough.
        """
        questions = [AskedQuestion(parts) for parts in self._parts]
        known = {tuple(0 for _ in questions): start(self._shift)}
        layers: dict[int, list[Count]] = {}
        for count in every(*(range(times + 1) for _, times in self.sources)):
            layers.setdefault(sum(count), []).append(count)
        for total in range(1, len(layers)):
            layer: dict[Count, KnownTable] = {}
            for count in layers[total]:
                following = []
                for i, question in enumerate(questions):
                    fewer = tuple(number - (j == i) for j, number in enumerate(count))
                    if count[i]:
                        following.append((question, known[fewer]))
                layer[count] = next_known(following, self.points)
            known = layer
        (last,) = known.values()
        return last

    @property
    def _shift(self) -> int:
        """Bits that masses under the other answers need more: they may be so much smaller."""
        bits = sum(times * log2(source.odds) for source, times in self.sources)
        return min(ceil(bits), 996) + 64

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        sources = [{"times": times, **source.plain()} for source, times in self.sources]
        return {"kind": self.kind, "levels": self.points, "sources": sources}


def choices_of(source: Source) -> Parts:
    """What may be chosen at a question."""
    known = parts_of(source)
    return ((Fraction(1), (PairChoice(*source.losses),)),) if known is None else known


def tables_of(sources: Repeated) -> int:
    """Number of tables: one for every number of each channel that is left."""
    return prod(times + 1 for _, times in sources)


def gathered(sources: Repeated, levels: int) -> tuple[tuple[Source, int], ...]:
    """The same reports, where channels of which no pair of answers is the worst are taken together,
    as long as their tables are few.

    What is not together is multiplied, which bounds every order: docs, "Answers that depend on
    reports". A channel with one pair needs no table, as it is asked first at worst.
    """
    others = []
    groups: list[dict[Source, int]] = []
    for source, times in sources:
        if not times or parts_of(source) is None:
            others.append((source, times))
            continue
        for group in groups:
            more = {**group, source: group.get(source, 0) + times}
            if len(more) == 1 or tables_of(list(more.items())) <= MAX_TABLES:
                group.clear()
                group.update(more)
                break
        else:
            groups.append({source: times})
    for group in groups:
        together = Strategies(tuple(group.items()), levels)
        others += [(together, 1)] if together.is_small else list(group.items())
    return tuple(others)
