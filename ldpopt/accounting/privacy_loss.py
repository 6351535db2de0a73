r"""What one report reveals, as few atoms: masses and likelihood ratios that bound the excess of
every pair of answers.

.. math:: h(a) = \max_{x, x'} \sum_y \max(P_{xy} - a P_{x'y},
          0) \le c + \sum_i p_i \max(1 - a / r_i, 0), \quad a \ge 0

The left side is convex and linear between likelihood ratios, so a right side that interpolates it
at some of them, the largest included, is an upper bound. If one pair of answers attains the maximum
everywhere, the two are equal.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar, TypeVar

import numpy as np

from ldpopt.accounting.renyi import log_ratio, log_ratios, renyi_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int
from ldpopt.mechanism import sampling

BITS = sampling.BITS
ONE = 1 << BITS
# pairs of answers times reports, compared in a second or two for each ratio
MAX_ENTRIES = 50_000_000
# number of ratios at which the excess is computed; others lie between two of them
MAX_RATIOS = 1000
BLOCK = 4096  # pairs that are compared at once in floats
T = TypeVar("T")
# ratios at which an excess is computed, ascending; None for those that bound it best
Points = Sequence[Fraction] | None
# ratios that differ by less are raised to the largest; so are those within their rounding
RESOLUTION = 2.0**-44


def summed(pairs: Iterable[tuple[T, Fraction]]) -> dict[T, Fraction]:
    """The sum of the numbers of each key, in the order of the keys."""
    sums: dict[T, Fraction] = {}
    for key, number in pairs:
        before = sums.get(key, Fraction(0))
        sums[key] = before + number
    return sums


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss distribution whose excess bounds that of all pairs of answers, or that of one
    pair from below.

    An atom ``(r, p)`` stands for reports of probability ``p`` under one answer and ``p / r`` under
    the other; its excess at ``a`` is ``max(p - a p / r, 0)``. The loss of a report is ``log r``.
    Losses of independent reports are multiplied: ratios and masses of every combination of atoms.
    """

    ratios: tuple[Fraction, ...]  # positive, ascending
    masses: tuple[Fraction, ...]  # of each ratio
    certain: Fraction  # mass of reports that are impossible under the other answer
    is_attained: bool = True  # by one pair of answers at every ratio, up to the rounding of masses

    @classmethod
    def of(
        cls,
        atoms: Iterable[tuple[Fraction, Fraction]],
        certain: Fraction = Fraction(0),
        *,
        is_attained: bool = True,
    ) -> "PrivacyLoss":
        """The loss of some ratios and masses in any order; those of equal ratios are added."""
        masses = summed(sorted(atoms))
        return cls(tuple(masses), tuple(masses.values()), certain, is_attained)

    def excess(self, a: Fraction) -> Fraction:
        """The right side of the bound on ``h(a)`` in the module's docstring."""
        atoms = zip(self.ratios, self.masses, strict=True)
        parts = (p * (1 - a / r) for r, p in atoms if r > a)
        return self.certain + sum(parts, Fraction(0))

    def renyi(self, order: float) -> float:
        """Renyi divergence of an order of at least 1, in nats and in floats: an upper bound for an
        upper loss.
        """
        if self.certain:
            return inf
        masses = np.array([float(p) for p in self.masses])
        logs = np.array([log_ratio(r) for r in self.ratios])
        # of an upper loss, either sum may be other than 1
        return max(0.0, float(renyi_divergence(masses, logs, order)))


# of reports that do not depend on the answer
NOTHING = PrivacyLoss((Fraction(1),), (Fraction(1),), Fraction(0))


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
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss of all pairs, and the loss of one pair."""
        return losses_of(self.counts, self.first, self.second, points=self.points)

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
        """Largest Renyi divergence of the pairs, in floats."""
        largest = 0.0
        for begin in range(0, len(self.first), BLOCK):
            part = slice(begin, begin + BLOCK)
            p = self.counts[self.first[part]]
            q = self.counts[self.second[part]]
            logs = log_ratios(p, q)
            if np.isinf(logs).any():
                return inf
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
        """Those of all sources."""
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
        upper = self._mean([source.losses[0] for source in self.sources])
        lower = self._mean([source.losses[1] for source in self.sources])
        return upper, lower if self.is_attained else NOTHING

    def _mean(self, losses: Sequence[PrivacyLoss]) -> PrivacyLoss:
        """The loss whose excess is the mean of those of some losses."""
        number = len(losses)
        atoms = []
        for loss in losses:
            for ratio, mass in zip(loss.ratios, loss.masses, strict=True):
                atoms.append((ratio, mass / number))
        certain = sum((loss.certain for loss in losses), Fraction(0)) / number
        is_attained = self.is_attained and all(loss.is_attained for loss in losses)
        return PrivacyLoss.of(atoms, certain, is_attained=is_attained)

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {"kind": self.kind, "sources": [source.plain() for source in self.sources]}


def all_pairs(n: int) -> tuple[Int, Int]:
    """Positions of all ordered pairs of n answers."""
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    return first, second


def losses_of(
    counts: Any,
    first: Int,
    second: Int,
    unit: int = ONE,
    most: int = MAX_RATIOS,
    points: Points = None,
) -> tuple[PrivacyLoss, PrivacyLoss]:
    """Upper loss of all pairs of rows of integers over a unit, (n, m), from some ratios, and the
    loss of one pair.
    """
    m = counts.shape[1]
    if not len(first):
        return NOTHING, NOTHING
    if len(first) * m > MAX_ENTRIES:
        problem = (
            f"{len(first):,} pairs of {len(counts)} answers with {m} reports are too many "
            "to compare"
        )
        do = "merge answers or reports, or name the pairs to compare"
        raise StatementError(problem, code="many-pairs", do=do)
    values, places = np.unique(counts, return_inverse=True)
    places = places.reshape(counts.shape)
    # A pair of entries is one number. The order of reports does not matter: pairs of rows that
    # differ in it only are one pair.
    codes = np.sort(places[first] * len(values) + places[second], axis=1)
    distinct = np.unique(codes, axis=0)
    pairs = _Pairs(values, *np.divmod(distinct, len(values)), unit)
    ends = [Fraction(0), *(pairs.ratios(most) if points is None else points)]
    excesses, attained = zip(*map(pairs.largest_excess, ends), strict=True)
    hits = np.bincount(np.concatenate(attained), minlength=len(pairs.first))
    best = int(hits.argmax())
    # a pair that attains the largest excess at every ratio attains it between them, too
    is_attained = bool(hits[best] == len(ends))
    return interpolated(ends, excesses, is_attained=is_attained), pairs.loss(best)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of rows: the values of all entries, ascending, and their places among the values."""

    values: Any  # (v,), integers of any size over the unit
    first: Int  # (pairs, m)
    second: Int
    unit: int

    @cached_property
    def shares(self) -> Float:
        """The values in floats."""
        return np.asarray(self.values / self.unit, float)

    def ratios(self, most: int) -> list[Fraction]:
        """Ratios of entries, ascending; of close ones the largest, and of many some, the largest of
        all among them.
        """
        size = len(self.values)
        over, under = np.divmod(np.unique(self.first * size + self.second), size)
        p = self.values[over]
        q = self.values[under]
        is_finite = (p > 0) & (q > 0)
        if not is_finite.any():
            return []
        p = p[is_finite]
        q = q[is_finite]
        order = np.argsort((p / q).astype(float))
        p = p[order]
        q = q[order]
        floats = (p / q).astype(float)
        # masses are rounded to a unit
        spread = np.clip((8 / np.minimum(p, q)).astype(float), RESOLUTION, 2.0**-30)
        gap = np.maximum(spread[1:], spread[:-1])
        is_apart = floats[1:] > floats[:-1] * (1 + gap)
        ends = np.flatnonzero(np.append(is_apart, True))
        if len(ends) > most:
            step = -(-len(ends) // most)
            ends = np.unique(np.append(ends[::step], ends[-1]))
        # floats cannot tell which of the ratios near an end is the largest: rationals decide
        starts = np.searchsorted(floats, floats[ends] * (1 - 2.0**-50))
        largest = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            close = slice(start, end + 1)
            largest.append(max(map(Fraction, p[close].tolist(), q[close].tolist())))
        return largest

    def largest_excess(self, a: Fraction) -> tuple[Fraction, Int]:
        """Largest excess of the pairs at ``a``, exactly, and the pairs that attain it up to
        rounding.
        """
        rough = []
        for begin in range(0, len(self.first), BLOCK):
            part = slice(begin, begin + BLOCK)
            p = self.shares[self.first[part]]
            q = self.shares[self.second[part]]
            rough.append(np.maximum(p - float(a) * q, 0).sum(axis=1))
        floats = np.concatenate(rough)
        # A term is counted if p >= a q, so its error is below p 2**-50.6; those of all terms and of
        # their sum, twice.
        margin = (self.first.shape[1] + 8) * 2.0**-50
        near = np.flatnonzero(floats >= floats.max() - margin)
        over = self.values[self.first[near]].astype(object)
        under = self.values[self.second[near]].astype(object)
        terms = over * a.denominator - under * a.numerator
        exact = np.maximum(terms, 0).sum(axis=1)
        best = exact.max()
        # masses are rounded to a unit: a pair that is this close attains it, too
        attained = exact >= best - (best >> 40) - (a.denominator << 3)
        return Fraction(int(best), self.unit * a.denominator), near[attained.astype(bool)]

    def loss(self, k: int) -> PrivacyLoss:
        """The exact loss of a pair."""
        first = self.values[self.first[k]].tolist()
        second = self.values[self.second[k]].tolist()
        atoms = []
        certain = 0
        for p, q in zip(first, second, strict=True):
            if p and q:
                atoms.append((Fraction(p, q), Fraction(p, self.unit)))
            elif p:
                certain += p
        return PrivacyLoss.of(atoms, Fraction(certain, self.unit))


def interpolated(
    points: Sequence[Fraction], values: Sequence[Fraction], *, is_attained: bool
) -> PrivacyLoss:
    """The loss whose excess is the lower hull of values at points, 0 the first; the last value
    holds from there on.

    Theorem of the module: an excess is convex in ``a``, and linear between likelihood ratios. An
    atom ``(r, p)`` is a bend of the excess at ``r`` by ``p / r``.
    """
    corners: list[tuple[Fraction, Fraction]] = []
    slopes: list[Fraction] = []  # between corners
    for a, value in zip(points, values, strict=True):
        # a corner on or above the line from the one before it to the new one is not on the hull
        while slopes and value - corners[-1][1] <= slopes[-1] * (a - corners[-1][0]):
            del corners[-1]
            del slopes[-1]
        if corners:
            before, height = corners[-1]
            slopes.append((value - height) / (a - before))
        corners.append((a, value))
    atoms = []
    # the last bend is to a level line
    after = [*slopes[1:], Fraction(0)]
    for (a, _), left, right in zip(corners[1:], slopes, after, strict=False):
        atoms.append((a, a * (right - left)))
    return PrivacyLoss.of(atoms, values[-1], is_attained=is_attained)
