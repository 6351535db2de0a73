r"""What one report reveals, as few atoms: masses and likelihood ratios that bound the excess of every pair of answers.

.. math:: h(a) = \max_{x, x'} \sum_y \max(P_{xy} - a P_{x'y}, 0) \le c + \sum_i p_i \max(1 - a / r_i, 0), \quad a \ge 0

The left side is convex and linear between likelihood ratios, so a right side that interpolates it at some of them, the
largest included, is an upper bound. If one pair of answers attains the maximum everywhere, the two are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import Any, ClassVar

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.rows import Int
from ldpopt.mechanism import sampling

BITS = sampling.BITS
ONE = 1 << BITS

MAX_ENTRIES = 50_000_000  # pairs of answers times reports, compared in a second or two for each ratio
MAX_RATIOS = 1000  # number of ratios at which the excess is computed; others lie between two of them
RESOLUTION = (
    2.0**-44
)  # ratios that differ by less are raised to the largest of them; so are those within their rounding


@dataclass(frozen=True)
class Law:
    """Atoms whose excess bounds that of all pairs of answers from above, or that of one pair from below."""

    ratios: tuple[Fraction, ...]  # positive, ascending
    masses: tuple[Fraction, ...]  # of each ratio
    certain: Fraction  # mass of reports that are impossible under the other answer
    is_attained: bool = True  # by one pair of answers at every ratio, up to the rounding of masses

    def excess(self, a: Fraction) -> Fraction:
        """Excess at ``a``."""
        atoms = zip(self.ratios, self.masses, strict=True)
        return self.certain + sum((p * (1 - a / r) for r, p in atoms if r > a), Fraction(0))

    def renyi(self, order: float) -> float:
        """Renyi divergence of an order of at least 1, in nats and in floats: an upper bound for an upper law."""
        if self.certain:
            return inf
        logs, masses = np.array([log(r) for r in self.ratios]), np.array([float(p) for p in self.masses])
        if order == 1:
            return float(masses @ logs)
        return float(np.log(masses @ np.exp((order - 1) * logs)) / (order - 1)) if len(logs) else 0.0


NOTHING = Law((Fraction(1),), (Fraction(1),), Fraction(0))  # of reports that do not depend on the answer


@dataclass(frozen=True, eq=False)
class Channel:
    """One report: a channel, and the ordered pairs of answers that are compared.

    Every source of reports has the same four properties: its laws, its largest ratio, its divergences, its statement.
    """

    counts: Int  # masses over 2**53
    first: Int  # positions of the first answers of the pairs
    second: Int

    kind: ClassVar[str] = "reports"

    @cached_property
    def laws(self) -> tuple[Law, Law]:
        """An upper law of all pairs, and the law of one pair."""
        return laws(self.counts, list(zip(self.first.tolist(), self.second.tolist(), strict=True)))

    @cached_property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of a report, at least 1."""
        p, q = self.counts[self.first], self.counts[self.second]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(q > 0, p / q, 0.0)
        near = (q > 0) & (
            ratios >= ratios.max(initial=0.0) * (1 - 1e-14)
        )  # floats cannot tell which of these is the largest
        return max([Fraction(1), *map(Fraction, p[near].tolist(), q[near].tolist())])

    def renyi(self, order: float) -> float:
        """Largest Renyi divergence of the pairs, in floats."""
        shares = self.counts / self.counts[0].sum()
        p, q = shares[self.first], shares[self.second]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(p) - np.log(q)
            if order == 1:
                terms = np.where(p > 0, p * logs, 0.0).sum(axis=1)
            else:
                terms = np.log(np.where(p > 0, p * np.exp((order - 1) * logs), 0.0).sum(axis=1)) / (order - 1)
        return float(terms.max(initial=0.0))

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data: masses, pairs (null for all), and ratios at which a law bounds the excess."""
        n = len(self.counts)
        pairs = list(zip(self.first.tolist(), self.second.tolist(), strict=True))
        return {
            "kind": self.kind,
            "masses": self.counts.tolist(),
            "pairs": None if len(set(pairs)) == n * (n - 1) else [list(pair) for pair in pairs],
            "ratios": [str(ratio) for ratio in self.laws[0].ratios],
        }


@dataclass(frozen=True, eq=False)
class Ratios:
    """Reports that are not listed: the largest ratio, and the mass of the reports that attain the ratio.

    All other reports have the ratio 1 or the inverse of the largest. If the mass is the largest that is possible, all
    channels with this ratio reveal less (Kairouz, Oh and Viswanath 2015).
    """

    odds: Fraction
    share: Fraction
    is_attained: bool

    kind: ClassVar[str] = "ratios"

    @classmethod
    def of_budget(cls, odds: Fraction) -> Ratios:
        """Binary randomized response, which reveals most among the channels with a ratio."""
        return cls(odds, odds / (1 + odds), is_attained=False)

    @cached_property
    def laws(self) -> tuple[Law, Law]:
        """An upper law, and the same if one pair attains the excess, or one that reveals nothing."""
        masses = {1 / self.odds: self.share / self.odds, Fraction(1): 1 - self.share * (1 + 1 / self.odds)}
        masses[self.odds] = masses.get(self.odds, Fraction(0)) + self.share if self.odds > 1 else Fraction(1)
        kept = sorted(ratio for ratio, mass in masses.items() if mass)
        law = Law(tuple(kept), tuple(masses[ratio] for ratio in kept), Fraction(0), self.is_attained)
        return law, law if self.is_attained else NOTHING

    def renyi(self, order: float) -> float:
        """Renyi divergence of the upper law."""
        return self.laws[0].renyi(order)

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {"kind": self.kind, "odds": str(self.odds), "share": str(self.share)}


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of several sources, drawn for each person with equal probabilities; which one was drawn is known."""

    sources: tuple[Any, ...]
    is_attained: bool

    kind: ClassVar[str] = "one_of"

    @property
    def odds(self) -> Fraction:
        """The largest ratio of all sources."""
        found: Fraction = max(source.odds for source in self.sources)
        return found

    @cached_property
    def laws(self) -> tuple[Law, Law]:
        """The mean of the laws of the sources."""
        found = []
        for side in (0, 1):
            masses: dict[Fraction, Fraction] = {}
            each = [source.laws[side] for source in self.sources]
            for law in each:
                for ratio, mass in zip(law.ratios, law.masses, strict=True):
                    masses[ratio] = masses.get(ratio, Fraction(0)) + mass / len(each)
            certain = sum((law.certain for law in each), Fraction(0)) / len(each)
            is_attained = self.is_attained and all(law.is_attained for law in each)
            ratios = tuple(sorted(masses))
            found.append(Law(ratios, tuple(masses[ratio] for ratio in ratios), certain, is_attained))
        return found[0], found[1] if self.is_attained else NOTHING

    def renyi(self, order: float) -> float:
        """Renyi divergence of the upper law."""
        return self.laws[0].renyi(order)

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        return {"kind": self.kind, "sources": [source.plain() for source in self.sources]}


def all_pairs(n: int) -> tuple[Int, Int]:
    """Positions of all ordered pairs of n answers."""
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    return first, second


def laws(counts: Int, pairs: Sequence[tuple[int, int]] | None = None) -> tuple[Law, Law]:
    """Upper law of all ordered pairs of rows of integer masses, (n, m), or of those given, and the law of one pair."""
    n, m = counts.shape
    ordered = [(x, k) for x in range(n) for k in range(n) if x != k] if pairs is None else list(pairs)
    if not ordered:
        return (Law((), (), Fraction(0)),) * 2
    if len(ordered) * m > MAX_ENTRIES:
        what = f"{len(ordered):,} pairs of {n} answers with {m} reports are too many to compare"
        raise StatementError(what, do="merge answers or reports, or name the pairs to compare")
    first, second = _distinct(*(counts[list(ends)] for ends in zip(*ordered, strict=True)))
    points = [Fraction(0), *_ratios(first, second)]
    values, attained = [], []
    for a in points:
        value, where = _largest_excess(first, second, a)
        values.append(value)
        attained.append(where)
    hits = np.bincount(np.concatenate(attained), minlength=len(first))
    best = int(hits.argmax())
    upper = interpolated(points, values, is_attained=bool(hits[best] == len(points)))
    return upper, _of_pair(first[best], second[best])


def _ratios(first: Int, second: Int) -> list[Fraction]:
    """Ratios of entries, ascending; of close ones the largest, and of many some, the largest of all among them."""
    is_finite = (first > 0) & (second > 0)
    if not is_finite.any():
        return []
    p, q = np.unique(np.stack([first[is_finite], second[is_finite]]), axis=1)
    order = np.argsort(p / q)
    p, q = p[order], q[order]
    values = p / q
    spread = np.clip(8 / np.minimum(p, q), RESOLUTION, 2.0**-30)  # an entry is within a unit of the one that was meant
    ends = np.flatnonzero(np.append(values[1:] > values[:-1] * (1 + np.maximum(spread[1:], spread[:-1])), True))
    if len(ends) > MAX_RATIOS:
        ends = np.unique(np.append(ends[:: -(-len(ends) // MAX_RATIOS)], ends[-1]))
    starts = np.searchsorted(values, values[ends] * (1 - 2.0**-50))  # floats cannot tell which of these is the largest
    return [
        max(Fraction(int(p[k]), int(q[k])) for k in range(start, end + 1))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _distinct(first: Int, second: Int) -> tuple[Int, Int]:
    """Pairs of rows without those that have the same entries in another order."""
    entries = np.empty(first.shape, [("p", np.int64), ("q", np.int64)])
    entries["p"], entries["q"] = first, second
    _, kept = np.unique(np.sort(entries, axis=1, order=("p", "q")), axis=0, return_index=True)
    return first[kept], second[kept]


def _largest_excess(first: Int, second: Int, a: Fraction) -> tuple[Fraction, Int]:
    """Largest excess of the pairs of rows at ``a``, exactly, and the pairs that attain it up to rounding."""
    rough = np.concatenate(
        [
            np.maximum(first[part] - float(a) * second[part], 0).sum(axis=1) / ONE
            for part in (slice(begin, begin + 4096) for begin in range(0, len(first), 4096))
        ]
    )
    # A term is counted if p >= a q, so that its error is below p 2**-51; those of all terms and of their sum, twice.
    near = np.flatnonzero(rough >= rough.max() - (first.shape[1] + 8) * 2.0**-50)
    parts = first[near].astype(object) * a.denominator - second[near].astype(object) * a.numerator
    exact = np.maximum(parts, 0).sum(axis=1)
    best = exact.max()
    attained = exact >= best - (best >> 40) - (a.denominator << 3)  # masses are rounded to a unit
    return Fraction(int(best), ONE * a.denominator), near[attained.astype(bool)]


def interpolated(points: Sequence[Fraction], values: Sequence[Fraction], *, is_attained: bool) -> Law:
    """The law whose excess has these values at these points, 0 the first, and is linear between them."""
    slopes = [(values[k + 1] - values[k]) / (points[k + 1] - points[k]) for k in range(len(points) - 1)] + [Fraction(0)]
    masses = [points[k] * (slopes[k] - slopes[k - 1]) for k in range(1, len(points))]
    return Law(tuple(points[1:]), tuple(masses), values[-1], is_attained)


def _of_pair(first: Int, second: Int) -> Law:
    """The exact law of two rows of integer masses."""
    masses: dict[Fraction, Fraction] = {}
    for p, q in zip(first.tolist(), second.tolist(), strict=True):
        if p and q:
            ratio = Fraction(p, q)
            masses[ratio] = masses.get(ratio, Fraction(0)) + Fraction(p, ONE)
    ratios = tuple(sorted(masses))
    return Law(ratios, tuple(masses[r] for r in ratios), Fraction(int(first[second == 0].sum()), ONE))


def hull_law(points: Sequence[Fraction], values: Sequence[Fraction]) -> Law:
    """An upper law from bounds of a convex excess at points, the first at 0; the last value holds from there on."""
    kept: list[int] = []
    for k in range(len(values)):
        while len(kept) > 1 and _is_above(points, values, kept[-2], kept[-1], k):
            kept.pop()
        kept.append(k)
    return interpolated([points[k] for k in kept], [values[k] for k in kept], is_attained=False)


def _is_above(points: Sequence[Fraction], values: Sequence[Fraction], i: int, j: int, k: int) -> bool:
    """Whether the middle one of three points lies on or above the line through the others."""
    return (values[j] - values[i]) * (points[k] - points[i]) >= (values[k] - values[i]) * (points[j] - points[i])


def regrouped(law: Law, points: Sequence[Fraction]) -> Law:
    """An upper law with atoms at other ratios, ascending; mass of ratios beyond the last one counts as infinite."""
    where = [Fraction(0), *points]
    return interpolated(where, [law.excess(a) for a in where], is_attained=False)
