r"""The bound for capped frequencies of any number of answers: three multipliers, and a set for each
size.

All permutations of the answers leave the problem unchanged, so that the multipliers of the bound of
`design_bound_capped` may be averaged over them: ``K`` has one number ``d`` on its diagonal and
another one ``o`` off it, and ``y`` is constant. For a set of ``k`` answers with the column ``v``,
whose entries are 1 in the set and ``b`` out of it and have the sum ``s``, the condition is

.. math:: k \, h_B\big(o s + d - o, \tfrac s n\big)
          + (n - k) \, h_B\big(o s + (d - o) b, \tfrac s n\big) \le y s,

and it proves that no design has a variance below :math:`n u (d - (n - 1) o) - n y - n u^2 / 4`,
with the unit ``u`` of the frequencies. Theory: docs, "Influence".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, cast

from ldpopt.certificate.design_statement import Cone
from ldpopt.foundation.documents import Entry


@dataclass(frozen=True)
class SizesStatement:
    """Frequencies of ``n`` answers with equal weights, in some unit, and their common cap."""

    n: int
    unit: Fraction
    cap: Fraction | None  # of the influence on each number; None for none

    @property
    def reach(self) -> Fraction | None:
        """``B``: how far values may be from the middle between 0 and the unit; None without a
        cap.
        """
        return None if self.cap is None else self.cap - abs(self.unit) / 2


@dataclass(frozen=True)
class SizesBound:
    """``d``, ``o`` and ``y``, as floats that are read exactly."""

    same: float  # d, the multiplier of each answer's own number
    others: float  # o, that of every other number
    line: float  # y, of the sum of the probabilities of an answer

    kind: ClassVar[str] = "sizes"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"same": self.same, "others": self.others, "line": self.line}

    @classmethod
    def read(cls, entry: Entry, n: int) -> SizesBound:
        """Read what `plain` wrote."""
        table = entry.table("same", "others", "line")
        return cls(table["same"].number(), table["others"].number(), table["line"].number())

    def holds(self, statement: Any, cone: Cone) -> bool:
        """Whether no private column costs more than the multipliers allow, in integers."""
        sizes = cast(SizesStatement, statement)
        if not isinstance(cone, Fraction) or (sizes.reach is not None and sizes.reach < 0):
            return False
        return Fraction(self.line) >= least_line(sizes, cone, self.same, self.others)

    def value(self, statement: Any) -> Fraction:
        """``n u (d - (n - 1) o) - n y - n u^2 / 4``, exactly."""
        sizes = cast(SizesStatement, statement)
        n = sizes.n
        unit = sizes.unit
        trace = unit * (Fraction(self.same) - (n - 1) * Fraction(self.others))
        return n * (trace - Fraction(self.line) - unit**2 / 4)


def least_line(statement: SizesStatement, base: Fraction, same: float, others: float) -> Fraction:
    r"""The least ``y`` for which the condition holds for sets of all sizes, in rationals.

    Times :math:`s / n` it is :math:`k (z^2 - (|z| - B s / n)_+^2) + (n - k) (\dots) \le y s^2 / n`,
    with ``z`` of the answers in the set and of the others.
    """
    n = statement.n
    d = Fraction(same)
    o = Fraction(others)
    reach = statement.reach
    limit = Fraction(0) if reach is None else reach
    unit = lcm(d.denominator, o.denominator, limit.denominator)
    d_whole, o_whole, b_whole = (int(number * unit) for number in (d, o, limit))
    low, high = base.numerator, base.denominator  # the entries of a column, over `high`
    # the largest quotient so far, as two integers
    best = 0
    of = 1
    for k in range(n + 1):
        total = k * high + (n - k) * low
        cost = 0
        for many, entry in ((k, high), (n - k, low)):
            size = n * abs(o_whole * total + (d_whole - o_whole) * entry)
            beyond = 0 if reach is None else max(size - b_whole * total, 0)
            cost += many * (size**2 - beyond**2)
        if cost * of > best * total**2:
            best = cost
            of = total**2
    return Fraction(best, of * n * unit**2)
