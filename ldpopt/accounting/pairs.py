"""The pairs of rows of a channel: the largest excess of all of them, exactly, and the losses that
bound it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ldpopt.accounting.losses import NOTHING, PrivacyLoss, interpolated
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
ROUNDS = 6  # of crossings of pairs, of which some are found after others
FINE = 1 << 80  # crossings are rounded to one part in it
# ratios at which an excess is computed, ascending; None for those that bound it best
Points = Sequence[Fraction] | None
# ratios that differ by less are raised to the largest; so are those within their rounding
RESOLUTION = 2.0**-44


def distinct_pairs(counts: Any, first: Int, second: Int, unit: int = ONE) -> "RowPairs":
    """Pairs of rows of integers over a unit, (n, m), each once."""
    m = counts.shape[1]
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
    return RowPairs(values, *np.divmod(distinct, len(values)), unit)


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows: the values of all entries, ascending, and their places among the values."""

    values: Any  # (v,), integers of any size over the unit
    first: Int  # (pairs, m)
    second: Int
    unit: int

    def losses(
        self, most: int = MAX_RATIOS, points: Points = None
    ) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Upper loss of all pairs from some ratios, and the loss of one pair."""
        if not len(self.first):
            return NOTHING, NOTHING
        ends = {Fraction(0), *(self.ratios(most) if points is None else points)}
        excesses = {a: self.largest_excess(a) for a in ends}
        hits = np.bincount(np.concatenate([k for _, k in excesses.values()]))
        best = int(hits.argmax())
        # a pair that attains the largest excess at every ratio attains it between them, too
        is_attained = bool(points is None and hits[best] == len(excesses))
        if not is_attained and points is None:
            self._add_crossings(excesses)
        values = [excesses[a][0] for a in sorted(excesses)]
        return interpolated(sorted(excesses), values, is_attained=is_attained), self.loss(best)

    @cached_property
    def is_attained(self) -> bool:
        """Whether one pair attains the largest excess everywhere, up to the rounding of masses."""
        return self.losses()[0].is_attained

    def _add_crossings(self, excesses: dict[Fraction, tuple[Fraction, Int]]) -> None:
        """Add the excess at 1, of guesses, and where another pair becomes the worst: there the
        largest excess bends, too.
        """
        if min(excesses) < 1 < max(excesses):
            excesses[Fraction(1)] = self.largest_excess(Fraction(1))
        for _ in range(ROUNDS):
            points = sorted(excesses)
            new = set[Fraction]()
            for a, b in pairwise(points):
                before = excesses[a][1]
                after = excesses[b][1]
                if not np.intersect1d(before, after).size:
                    new.update(self._crossing(a, b, int(before[0]), int(after[0])))
            if not new:
                break
            excesses.update({a: self.largest_excess(a) for a in new})

    def _crossing(self, a: Fraction, b: Fraction, first: int, second: int) -> list[Fraction]:
        """About where the curves of two pairs cross, of which the first is above at one point, and
        the second at a larger one; nothing if that is at an end.
        """
        losses = self.loss(first), self.loss(second)
        above = losses[0].excess(a) - losses[1].excess(a)
        below = losses[1].excess(b) - losses[0].excess(b)
        if above <= 0 or below <= 0:
            return []
        exact = a + (b - a) * above / (above + below)
        rough = Fraction(exact.numerator * FINE // exact.denominator, FINE)
        return [rough] if a < rough < b else []

    def taken(self, members: list[int]) -> "RowPairs":
        """Some of the pairs."""
        return replace(self, first=self.first[members], second=self.second[members])

    def excesses(self, ends: Float) -> Float:
        """Excesses of every pair at some points, (pairs, points), in floats."""
        p = self.shares[self.first]
        q = self.shares[self.second]
        return np.stack([np.maximum(p - a * q, 0).sum(axis=1) for a in ends], axis=1)

    def upper(self, points: Points) -> PrivacyLoss:
        """A loss that bounds all pairs, from their excesses at points, the largest ratio among
        them.
        """
        return self.losses(points=points)[0]

    @property
    def largest_ratio(self) -> Fraction:
        """The largest finite ratio; 1 if there is none."""
        return max(self.ratios(2), default=Fraction(1))

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
