r"""Memoised reports with a fresh layer: each answer has one permanent report, and every publication is drawn from it.

.. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

The numbers of the published reports are enough; their probabilities are integers over ``2**(53 (T + 1))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial, prod
from operator import mul
from typing import Any, ClassVar

from ldpopt.accounting.curve import PrivacyCurve, compose, read_channel, read_pairs
from ldpopt.accounting.law import BITS, Channel, Law, interpolated
from ldpopt.accounting.product import compositions
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import whole_number
from ldpopt.foundation.rows import Int

MAX_TERMS = 3_000_000  # probabilities of reports that are compared: a few seconds
CLOSE = 2.0**-40  # ratios that differ by less are raised to the largest of them


@dataclass(frozen=True, eq=False)
class Permanent:
    """The published reports of one person; a source of reports."""

    channel: Channel  # draws the permanent report once
    fresh: Int  # masses of the fresh layer, (k, m)
    times: int

    kind: ClassVar[str] = "permanent"

    @cached_property
    def unit(self) -> int:
        """The integer over which probabilities are."""
        return 1 << BITS * (self.times + 1)

    @cached_property
    def pairs(self) -> list[list[tuple[int, int]]]:
        """For each distinct pair of answers the probabilities of the reports."""
        weights = []
        for numbers in compositions(self.times, self.fresh.shape[1]):
            ways = factorial(self.times) // prod(map(factorial, numbers))
            powers = ([p**k for p, k in zip(row, numbers, strict=True)] for row in self.fresh.tolist())
            weights.append([ways * prod(each) for each in powers])
        rows = [[sum(map(mul, row, each)) for each in weights] for row in self.channel.counts.tolist()]
        ends = zip(self.channel.first.tolist(), self.channel.second.tolist(), strict=True)
        found = {tuple(sorted(zip(rows[x], rows[k], strict=True))) for x, k in ends}
        return [[(p, q) for p, q in pair if p] for pair in sorted(found)]

    @cached_property
    def laws(self) -> tuple[Law, Law]:
        """An upper law of all pairs, and that of one pair."""
        points = [Fraction(0), *self._ratios()]
        excesses = []
        for a in points:
            over, under = a.as_integer_ratio()
            excesses.append([sum(max(under * p - over * q, 0) for p, q in pair) for pair in self.pairs])
        best = [max(row) for row in excesses]
        near = [[value >= top - (top >> 40) for value in row] for row, top in zip(excesses, best, strict=True)]
        hits = [sum(column) for column in zip(*near, strict=True)]
        most = max(range(len(hits)), key=hits.__getitem__)
        values = [Fraction(top, self.unit * a.denominator) for top, a in zip(best, points, strict=True)]
        masses: dict[Fraction, Fraction] = {}
        for p, q in self.pairs[most]:
            if q:
                masses[Fraction(p, q)] = masses.get(Fraction(p, q), Fraction(0)) + Fraction(p, self.unit)
        certain = Fraction(sum(p for p, q in self.pairs[most] if not q), self.unit)
        own = Law(tuple(sorted(masses)), tuple(masses[r] for r in sorted(masses)), certain)
        return interpolated(points, values, is_attained=hits[most] == len(points)), own

    def _ratios(self) -> Iterator[Fraction]:
        """Ratios of the probabilities, ascending; of close ones the largest."""
        last: Fraction | None = None
        for ratio in sorted({Fraction(p, q) for pair in self.pairs for p, q in pair if q}):
            if last is not None and ratio > last * (1 + Fraction(CLOSE)):
                yield last
            last = ratio
        if last is not None:
            yield last

    @property
    def odds(self) -> Fraction:
        """The largest finite ratio of the probabilities of all reports."""
        return max(Fraction(1), *self.laws[0].ratios)

    def renyi(self, order: float) -> float:
        """Renyi divergence of the upper law, in floats."""
        return self.laws[0].renyi(order)

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        ratios = [str(Fraction(float(r)).limit_denominator(1 << 60)) for r in self.laws[0].ratios]
        own = {"kind": self.kind, "fresh": self.fresh.tolist(), "publications": self.times}
        return {**self.channel.plain(), **own, "ratios": ratios}


def permanent(first: Any, fresh: Any, times: int, *, pairs: Any = None) -> PrivacyCurve:
    r"""What repeated publications reveal if each draws afresh from one permanent report.

    .. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

    Parameters
    ----------
    first : Mechanism, design or array of shape (n, k)
        Draws the permanent report, once, or with a key.
    fresh : Mechanism, design or array of shape (k, m)
        Draws every publication from the permanent report.
    times : int
        Number of publications, at least 1.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared; default: all.

    Returns
    -------
    PrivacyCurve
        For an answer that stays the same. Its epsilon never exceeds that of ``first``, nor ``times`` that of
        ``first.then(fresh)``. If the answer changes, the permanent report may change: then the publications are
        ``times`` reports of ``fresh``.

    Raises
    ------
    StatementError
        If the layers do not fit, or there are too many reports to compare.

    Notes
    -----
    Exact. All numbers of reports are listed: :math:`\binom{T + m - 1}{m - 1}` of them for ``m`` reports.

    Examples
    --------
    >>> curve = permanent([[0.75, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.25, 0.75]], 10)
    >>> round(curve.epsilon(0.0), 4)
    1.0986
    """
    mechanism, layer, times = read_channel(first), read_channel(fresh), whole_number(times, "times", 1)
    (n, k), (inputs, m) = mechanism.counts.shape, layer.counts.shape
    if inputs != k:
        what = f"the fresh layer has {inputs} inputs, and the permanent report is one of {k}"
        raise StatementError(what, do="give a fresh layer for the outputs of the first mechanism")
    channel = Channel(mechanism.counts, *read_pairs(mechanism, pairs))
    terms = comb(times + m - 1, m - 1) * (n * k + len(channel.first))
    if terms > MAX_TERMS:
        what = f"{times} publications of {m} reports are {terms:,} probabilities to compare"
        raise StatementError(what, do="take fewer publications, or a fresh layer with fewer reports")
    source = Permanent(channel, layer.counts, times)
    return compose([source])
