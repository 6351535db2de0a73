r"""Convex utilities of a column in rationals: enclosures of :math:`\mu(c)` for columns of integers.

Distributions are shares: their floats, exactly, divided by their exact sum. Logarithms and roots
are enclosed by rationals; no line is shared with the functions that search in floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from ldpopt.foundation.budget import log_enclosure
from ldpopt.foundation.numbers import Float
from ldpopt.polytope.likelihood.enclosures import EXACT_FORMS

BITS = 192  # of an enclosure of a function of a likelihood ratio
Enclosure = tuple[Fraction, Fraction]
INFINITE: Enclosure | None = None  # of a utility that is infinite at a column


@dataclass(frozen=True, eq=False)
class ExactUtility:
    """One of the library's utilities, as integer weights of the answers over a common unit.

    Mutual information has one list of weights, the prior; a function of a likelihood ratio has two,
    those above and those below the line.
    """

    kind: str
    weights: tuple[tuple[int, ...], ...]
    unit: int
    logs: dict[Fraction, Enclosure] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, kind: str, *distributions: Float) -> ExactUtility:
        """Read floats exactly; of a Fisher information the first list are scores times shares."""
        listed = [[Fraction(weight) for weight in part.tolist()] for part in distributions]
        total = [sum(part, Fraction(0)) for part in listed]
        sums = [total[-1]] * len(total) if kind == "fisher" else total
        shares = [[w / t for w in part] for part, t in zip(listed, sums, strict=True)]
        unit = lcm(*(share.denominator for part in shares for share in part))
        whole = tuple(tuple(int(share * unit) for share in part) for part in shares)
        return cls(kind, whole, unit)

    def value(self, column: Sequence[int]) -> Enclosure | None:
        """Rationals around the utility of a column of integers; None if it is infinite."""
        sums = [sum(w * v for w, v in zip(part, column, strict=True) if v) for part in self.weights]
        if self.kind == "mutual_information":
            return self._information(column, sums[0])
        first, second = sums
        if not second:
            return (Fraction(0), Fraction(0)) if not first else self._of_zero(first)
        near = first if self.kind == "fisher" else first - second
        low, high = EXACT_FORMS[self.kind].value(near, second, self.unit, BITS)
        return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)

    def _of_zero(self, first: int) -> Enclosure | None:
        """The utility of a column that is impossible under the second distribution."""
        share = {"total_variation": Fraction(1, 2), "squared_hellinger": Fraction(1)}
        if self.kind not in share:
            return INFINITE
        value = share[self.kind] * first / self.unit
        return value, value

    def _information(self, column: Sequence[int], mean: int) -> Enclosure:
        r""":math:`\sum_x \pi_x c_x \log(c_x / \pi \cdot c)`, from logarithms of the largest entry
        over the others.
        """
        top = max(column)
        if not mean:
            return Fraction(0), Fraction(0)
        low, high = (mean * part for part in self.log(Fraction(top * self.unit, mean)))
        for weight, entry in zip(self.weights[0], column, strict=True):
            if weight and entry:
                less, more = self.log(Fraction(top, entry))
                low -= weight * entry * more
                high -= weight * entry * less
        return low / self.unit, high / self.unit

    def log(self, ratio: Fraction) -> Enclosure:
        """Rationals around the logarithm of a rational of at least 1."""
        if ratio not in self.logs:
            self.logs[ratio] = log_enclosure(ratio)
        return self.logs[ratio]
