r"""The bound for designs whose influence has a cap, by multipliers of unbiasedness and of the sums.

With the middle ``m`` of each row of the workload subtracted, and :math:`B_j` as in
`capped_statement`, let

.. math:: h_B(z, \rho) = \max_{|V| \le B} (2 V z - \rho V^2)
          = \begin{cases} z^2 / \rho & |z| \le B \rho \\ 2 B |z| - B^2 \rho & |z| > B \rho
          \end{cases} .

If :math:`\sum_j h_{B_j}(K_j \cdot v, r \cdot v) \le y \cdot v` for all columns ``v`` of the cone,
no private channel with an unbiased estimator within the caps has an average variance below ``2 tr(K
W^T) - 1.y - sum_x r_x |W_x - m|^2``. Theory: docs, "Influence". The condition is checked for every
set of at most 20 answers, for every listed ray, and for a single number by the few sets of
`design_bound_mean`.

Why this is a kind of bound of its own: without caps the best value of a report in number ``j`` is
``K_j.v / r.v``, the cost of a column is a quadratic form, and only the Gram matrix of the rows
matters, so that `FormBound` may forget them. A cap cuts the values of each row apart, and so the
rows have to stay: what is stored is ``K`` itself. Without caps both kinds prove the same. A larger
cap makes ``h`` larger and the proof harder, since more designs are allowed; a larger cone does so
too, so that ``e**-epsilon`` is rounded down, and rays are enclosed from the side that proves less.

Times ``rho`` it is one of integers:

.. math:: \sum_j \big( z_j^2 - \max(0, |z_j| - B_j \rho)^2 \big) \le (y \cdot v) \rho .
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any, ClassVar, cast

import numpy as np

from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound import (
    PRECISION,
    RELATIVE,
    ROUNDED,
    ROWS,
    Exponentials,
    subset_sums,
)
from ldpopt.certificate.design_bound_mean import sums_of_sets
from ldpopt.certificate.design_statement import Cone
from ldpopt.certificate.integers import Integers, Rationals, are_finite
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import RayList
from ldpopt.privacy.cones.exact_rays import ColumnRays
from ldpopt.privacy.cones.rays import Rays

LISTED = 20  # largest number of answers all of whose sets are listed
COARSE = 28  # bits of the numbers with which most sets are decided
FINE = 20  # more bits of a limit


@dataclass(frozen=True, eq=False)
class CappedBound:
    """``K`` and ``y``, as floats that are read exactly."""

    slope: Float  # K, shape (k, c)
    line: Float  # y, shape (c,)

    kind: ClassVar[str] = "capped"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"slope": self.slope.tolist(), "line": self.line.tolist()}

    @classmethod
    def read(cls, entry: Entry, n: int) -> CappedBound:
        """Read what `plain` wrote, for ``n`` answers."""
        table = entry.table("slope", "line")
        return cls(table["slope"].numbers(len(table["slope"].list()), n), table["line"].numbers(n))

    def holds(self, statement: Any, cone: Cone) -> bool:
        """Whether no private column costs more than the multipliers allow, in exact arithmetic."""
        capped = cast(CappedStatement, statement)
        if self.slope.shape != capped.matrix.shape or any(b and b < 0 for b in capped.reach):
            return False
        if not are_finite(self.slope, self.line):  # a search that went astray
            return False
        condition = _Condition.of(capped, self)
        if isinstance(cone, ColumnRays):
            parts = (cone.whole[i : i + ROWS] for i in range(0, len(cone), ROWS))
            return all(condition.holds(*condition.sums(v)) for v in parts)
        if isinstance(cone, Rays):
            return _rays_hold(condition, cone)
        if isinstance(cone, RayList):  # a kind of list without a proof
            return False
        if len(condition.slope) <= 1:
            slope = (
                np.zeros_like(condition.line) if not len(condition.slope) else condition.slope[0]
            )
            sums = np.array(
                list(sums_of_sets(slope, condition.line, condition.weights, cone)), dtype=object
            )
            return condition.holds(sums[:, :1].T[: len(condition.slope)], sums[:, 1], sums[:, 2])
        if len(self.line) > LISTED:
            raise unlisted(len(self.line))
        return _sets_hold(condition, cone)

    def value(self, statement: Any) -> Fraction:
        """``2 tr(K W^T) - 1.y - sum_x r_x |W_x - m|^2``, exactly."""
        slope = Rationals.of(self.slope)
        line = Rationals.of(self.line)
        capped = cast(CappedStatement, statement)
        rows = capped.centered
        trace = Fraction(
            int((slope.whole * rows.whole).sum()), slope.denominator * rows.denominator
        )
        return 2 * trace - Fraction(int(line.whole.sum()), line.denominator) - capped.constant


def unlisted(n: int) -> NotRepresentableError:
    """The error for caps on several numbers of so many answers."""
    return NotRepresentableError(
        f"the sets of {n} answers are too many to list, and a cap on the influence of several "
        "numbers is proved by all of them",
        code="capped-answers",
        do=f"merge answers to at most {LISTED}, cap a single number, give one cap to all plain "
        "frequencies with equal weights, or leave the cap out",
    )


@dataclass(frozen=True, eq=False)
class _Condition:
    """``K``, ``y`` and ``r`` over one denominator, and the limits ``B`` over another one.

    Rows of ``K`` that are 0 cost nothing, and are left out.
    """

    slope: Integers  # (k, c)
    line: Integers  # (c,)
    weights: Integers  # (c,)
    limits: tuple[int | None, ...]  # of each row, over `unit`; None without a cap
    unit: int

    @classmethod
    def of(cls, statement: CappedStatement, bound: CappedBound) -> _Condition:
        """The condition of some multipliers."""
        k = Rationals.of(bound.slope)
        y = Rationals.of(bound.line)
        r = statement.weights
        common = k.denominator * y.denominator * r.denominator
        rows = np.flatnonzero((k.whole != 0).any(axis=1))
        reach = [statement.reach[row] for row in rows]
        unit = int(
            np.lcm.reduce([1, *(b.denominator for b in reach if b is not None)], dtype=object)
        )
        limits = tuple(None if b is None else int(b * unit) for b in reach)
        parts = (part.whole * (common // part.denominator) for part in (k, y, r))
        slope, line, weights = (np.asarray(part, dtype=object) for part in parts)
        return cls(slope[rows], line, weights, limits, unit)

    def sums(self, v: Integers) -> tuple[Integers, Integers, Integers]:
        """``K v``, ``y.v`` and ``r.v`` of some columns of integers, one a row."""
        return self.slope @ v.T, v @ self.line, v @ self.weights

    def holds(self, z: Integers, price: Integers, mass: Integers) -> bool:
        """Whether the columns with these sums cost no more than allowed, all in one unit.

        If the mass is 0, ``h`` is ``2 B |z|``, and without a cap there is none.
        """
        unit = self.unit
        cost = np.zeros(len(price), dtype=object)
        light = np.zeros(len(price), dtype=object)
        is_light = mass == 0
        for row, limit in zip(z, self.limits, strict=True):
            size = abs(row)
            cost = cost + (unit * size) ** 2
            if limit is None:
                if (is_light & (size > 0)).any():
                    return False
                continue
            beyond = np.maximum(unit * size - limit * mass, 0)
            cost = cost - beyond**2
            light = light + 2 * limit * size
        fits = np.where(is_light, light <= unit * price, cost <= unit**2 * price * mass)
        return bool((fits & (price >= 0)).all())


def _sets_hold(condition: _Condition, base: Fraction) -> bool:
    """Whether the condition holds for ``v = base + (1 - base) indicator`` of every set.

    Most sets are decided in 64 bits, with numbers rounded to the side that proves less, and the
    others in full.
    """
    n = len(condition.line)
    numbers = np.arange(1 << n) if n <= 6 else _undecided(condition, base)
    low, high = base.numerator, base.denominator
    for start in range(0, len(numbers), ROWS):
        inside = (numbers[start : start + ROWS, None] >> np.arange(n)) & 1
        v = low + (high - low) * inside.astype(object)
        if not condition.holds(*condition.sums(v)):
            return False
    return True


def _undecided(condition: _Condition, base: Fraction) -> Int:
    """Numbers of the sets that short integers do not decide.

    Nothing here is a tolerance: what is decided is decided by integers that are rounded to the side
    that proves less, and all other sets are decided again in full. Near an optimum these are the
    sets of the design and few more.

    With ``z <= d Z`` in size, ``rho >= e R``, ``y.v >= d^2/e Y`` and ``B rho <= d P``, a set fits
    if ``sum_j Z^2 - max(0, Z - P)^2 <= Y R``: the left side grows with ``Z`` and ``P``.
    """
    n = len(condition.line)
    k = max(1, len(condition.slope))
    common = int(condition.weights.sum())  # the weights sum to 1
    bits = min(COARSE, (61 - k.bit_length()) // 2)
    heaviest = max([1, *(int(abs(row).sum()) for row in condition.slope)])
    dearest = max(1, int(abs(condition.line).sum()))
    # d such that Z < 2**bits and Y R < 2**61
    squared = max(Fraction(heaviest, common << bits) ** 2, Fraction(dearest, common << (60)))
    step = Fraction(1)
    while step * step < squared:
        step *= 2
    while step * step >= 4 * squared:
        step /= 2
    light = Fraction(1, 1 << COARSE)
    mass = _sums(condition.weights, common, light, base)
    price = _sums(condition.line, common, step**2 / light, base)
    cost = np.zeros(1 << n, dtype=np.int64)
    for row, limit in zip(condition.slope, condition.limits, strict=True):
        size = np.abs(_sums(row, common, step, base)) + n + 1
        cost += size**2
        if limit is None:
            continue
        factor = ceil(Fraction(limit, condition.unit) * light / step * (1 << FINE))
        if factor.bit_length() + COARSE < 62:
            cost -= np.maximum(size - ((mass * factor >> FINE) + 1), 0) ** 2
    return np.flatnonzero((price < 0) | (cost > price * mass))


def _sums(values: Integers, common: int, unit: Fraction, base: Fraction) -> Int:
    """``values.v / common`` in some unit, rounded down by less than ``n + 1`` units, of every
    set.
    """
    total = Fraction(int(values.sum()), common) * base / unit
    step = (1 - base) / unit / common
    each = np.array([_floor(Fraction(int(value)) * step) for value in values], dtype=np.int64)
    return np.asarray(_floor(total) + subset_sums(each), dtype=np.int64)


def _floor(number: Fraction) -> int:
    """The largest integer that is not above a rational."""
    return number.numerator // number.denominator


def _rays_hold(condition: _Condition, rays: Rays) -> bool:
    """Whether the condition holds for all rays, whose entries are enclosed as in
    `design_bound.FormBound`: sizes are raised, masses and prices lowered by what that changes.
    """
    bits = PRECISION + 3 * ceil(rays.depth / log(2))
    table = Exponentials(rays, bits)
    for start in range(0, len(rays.below), ROWS):
        w = table.of(rays.below[start : start + ROWS])
        z, price, mass = condition.sums(w)
        sizes = abs(condition.slope) @ w.T
        most = abs(condition.slope).sum(axis=1)
        z = abs(z) + (sizes >> (RELATIVE - 1)) + ROUNDED * most[:, None] + 1
        price = price - (w @ abs(condition.line) >> (RELATIVE - 1))
        price = price - (ROUNDED * int(abs(condition.line).sum()) + 1)
        if not condition.holds(z, price, mass):
            return False
    return True
