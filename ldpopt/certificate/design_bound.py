r"""Bounds that no private mechanism's variance falls below, proved in rationals by multipliers.

With ``G_c`` the Gram matrix of the centered workload, any matrix ``S`` and any vector ``y`` with

.. math:: v^T N v \le (y \cdot v)(r \cdot v), \quad N = S^T G_c S,

for all columns ``v`` of the cone, every private channel with an unbiased estimator has average
variance at least ``2 tr(S G_c) - 1.y - sum_x r_x G_c[x, x]``. Theory: docs, "Estimation". The
condition is checked for every set of at most 32 answers, for all sets of more answers by a
semidefinite form (`design_bound_elliptope`), and for every extreme ray that is listed. A design's
value is proved apart, in `design_statement`: any kind of bound goes with any design.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_bound_elliptope import Inequalities, is_positive
from ldpopt.certificate.design_statement import Cone, Statement
from ldpopt.certificate.integers import Integers, Rationals, are_finite, product
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import RayList
from ldpopt.privacy.cones.exact_rays import ColumnRays
from ldpopt.privacy.cones.rays import ZERO, Rays

EXACT = 20  # largest number of answers for whose sets Python's integers are used
LISTED = 32  # largest number of answers whose sets are listed: about 15 s
CACHED = 15  # bits of the number of sums that are made at once: 256 KB, which stay in the cache
DIGIT = 8  # bits of a digit of the exponents of rays, whose exponentials are tabled
PRECISION = 160  # bits of an entry of a ray near the smallest one
# bits to which a product of enclosures is known at least: seven to ten of ``2**-180``
RELATIVE = 170
ROUNDED = 16  # units of the last bit by which a product of up to eight digits is too small at most
ROWS = 4096  # rays at a time


class Bound(Protocol):
    """Multipliers that prove a lower bound on the average variance of every private mechanism."""

    kind: ClassVar[str]

    def plain(self) -> dict[str, Any]:
        """Plain values for a file, without the kind."""
        ...

    @classmethod
    def read(cls, entry: Entry, n: int) -> "Bound":
        """Read what `plain` wrote, for ``n`` answers."""
        ...

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether no private column costs more than the multipliers allow, in exact arithmetic."""
        ...

    def value(self, statement: Statement) -> Fraction:
        """Lower bound on the average variance of every private channel, if the multipliers hold."""
        ...


def read_bound(entry: Entry, n: int, *kinds: type[Bound]) -> Bound:
    """Read the multipliers of a file, of one of these kinds, for ``n`` answers."""
    named = {bound.kind: bound for bound in kinds}
    kind = entry.part("kind").text(*named)
    numbers = {key: value for key, value in entry.value.items() if key != "kind"}
    return named[kind].read(Entry(numbers, entry.path, entry.key), n)


@dataclass(frozen=True)
class NoBound:
    """The bound 0, for budgets so small that floats cannot prove another one: no variance is
    negative.
    """

    kind: ClassVar[str] = "none"

    def plain(self) -> dict[str, Any]:
        """An empty table: there are no multipliers."""
        return {}

    @classmethod
    def read(cls, entry: Entry, n: int) -> "NoBound":
        """Read the empty table that `plain` wrote."""
        entry.table()
        return cls()

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """True: 0 is a lower bound of every variance."""
        return True

    def value(self, statement: Statement) -> Fraction:
        """The bound 0."""
        return Fraction(0)


@dataclass(frozen=True, eq=False)
class FormBound:
    """``S`` and ``y`` in full, as floats that are read exactly.

    ``shift`` and ``inequalities`` are for answers whose sets are not listed: the diagonal that
    makes the form positive for all signs, whose first entry is minus the sum of the others, and
    multipliers of inequalities of all sets.
    """

    inverse: Float  # S, shape (n, n)
    line: Float  # y, shape (n,)
    shift: Float | None = None  # (n + 1,)
    inequalities: Inequalities | None = None

    kind: ClassVar[str] = "form"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        shift = None if self.shift is None else self.shift.tolist()
        inequalities = None if self.inequalities is None else self.inequalities.plain()
        numbers = {"inverse": self.inverse.tolist(), "line": self.line.tolist()}
        return {**numbers, "shift": shift, "inequalities": inequalities}

    @classmethod
    def read(cls, entry: Entry, n: int) -> "FormBound":
        """Read what `plain` wrote, for ``n`` answers."""
        table = entry.table("inverse", "line", "shift", "inequalities")
        shift = None if table["shift"].value is None else table["shift"].numbers(n + 1)
        inequalities = Inequalities.read(table["inequalities"], n)
        return cls(table["inverse"].numbers(n, n), table["line"].numbers(n), shift, inequalities)

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether ``v N v <= (y.v)(r.v)`` for all columns."""
        if not are_finite(self.inverse, self.line, self.shift):  # a search that went astray
            return False
        s = Rationals.of(self.inverse)
        gram = statement.gram
        line = Rationals.of(self.line)
        r = statement.weights
        # N = S^T G_c S
        form = Rationals(
            product(product(s.whole.T, gram.whole), s.whole), s.denominator**2 * gram.denominator
        )
        if self.shift is not None:
            return not isinstance(cone, RayList) and is_positive(
                form, line, r, cone, self.shift, self.inequalities
            )
        if isinstance(cone, ColumnRays):
            return self.inequalities is None and _whole_rays_hold(form, line, r, cone)
        if isinstance(cone, Rays):
            return self.inequalities is None and rays_hold(form, line, r, cone)
        if isinstance(cone, RayList):  # a kind of list without a proof
            return False
        return (
            self.inequalities is None
            and len(self.line) <= LISTED
            and _sets_hold(form, line, r, cone)
        )

    def value(self, statement: Statement) -> Fraction:
        """The bound ``2 tr(S G_c) - 1.y - spread``, exactly."""
        inverse = Rationals.of(self.inverse)
        line = Rationals.of(self.line)
        gram = statement.gram
        trace = Fraction(
            int((inverse.whole * gram.whole).sum()), inverse.denominator * gram.denominator
        )
        return 2 * trace - Fraction(int(line.whole.sum()), line.denominator) - statement.spread


def _sets_hold(form: Rationals, line: Rationals, weights: Rationals, base: Fraction) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for ``v = base + (1 - base) indicator`` of every set."""
    low = base.numerator
    step = base.denominator - base.numerator
    outer = line.whole[:, None] * weights.whole
    # Twice the right side less the left side is v Q v: a constant, and an upper triangle over the
    # indicator.
    twice = (outer + outer.T) * form.denominator - 2 * (
        line.denominator * weights.denominator
    ) * form.whole
    upper = np.triu(2 * step * step * twice, 1)
    upper[np.diag_indices_from(upper)] = step * (
        2 * low * twice.sum(axis=0) + step * np.diag(twice)
    )
    constant = low * low * int(twice.sum())
    # 64 bits; indicators are not negative, so coefficients rounded down lower the value
    if len(upper) > EXACT:
        shift = max((abs(constant) + int(np.abs(upper).sum())).bit_length() - 62, 0)
        constant, upper = constant >> shift, (upper >> shift).astype(np.int64)
    return bool(least_by_half(constant, upper)[0].min() >= 0)


def least_by_half(constant: float, upper: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Least ``constant + p U p`` over the sets with given last answers, and the number of a set
    that attains this.

    ``p`` is the indicator, ``U`` an upper triangle whose sums are exact in its type. A set's number
    has the bits ``p``.
    """
    half = len(upper) // 2
    values = constant + _subset_squares(upper[half:, half:])
    numbers = np.arange(len(values)) << half
    rows = [subset_sums(row) for row in upper[:half, half:].T]
    few = min(len(rows), max(CACHED - half, 0))
    block = _subset_squares(upper[:half, :half])[None]
    for row in rows[:few]:
        block = np.concatenate([block, block + row])
    for start, sums in enumerate(_in_order(block, rows[few:])):
        part = slice(start << few, (start + 1) << few)
        least = sums.argmin(axis=1)
        values[part] += np.take_along_axis(sums, least[:, None], axis=1)[:, 0]
        numbers[part] += least
    return values, numbers


def _in_order(block: NDArray[Any], rows: list[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """The block plus the sum of some of the rows, for every set of them in the order of numbers."""
    if not rows:
        yield block
        return
    yield from _in_order(block, rows[:-1])
    yield from _in_order(block + rows[-1], rows[:-1])


def subset_sums(values: NDArray[Any]) -> NDArray[Any]:
    """Sum of the values in every set; set ``A`` is at the number whose bits are the indicator of
    ``A``.
    """
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _subset_squares(upper: NDArray[Any]) -> NDArray[Any]:
    """Value ``p U p`` of every set, for an upper triangle, from one answer to the next."""
    squares = np.zeros(1, dtype=upper.dtype)
    for place in range(len(upper)):
        squares = np.concatenate(
            [squares, squares + upper[place, place] + subset_sums(upper[:place, place])]
        )
    return squares


def rays_hold(form: Rationals, line: Rationals, weights: Rationals, rays: Rays) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for all rays, and so for the cone."""
    # Entries exp(-epsilon unit below) are not rationals. They are read from below as w over a power
    # of two, with w <= v
    # <= w (1 + RELATIVE) + ROUNDED / 2**bits; the most that this changes (y.v)(r.v) - v N v is
    # subtracted.
    bits = PRECISION + 3 * ceil(rays.depth / log(2))
    table = Exponentials(rays, bits)
    left = line.denominator * weights.denominator
    # Everything over one denominator, times 2**(2 bits).
    matrix = form.whole * left
    total = form.denominator
    for start in range(0, len(rays.below), ROWS):
        w = table.of(rays.below[start : start + ROWS])
        spare = total * (w @ line.whole) * (w @ weights.whole) - ((w @ matrix) * w).sum(axis=1)
        size = total * (w @ abs(line.whole)) * (w @ abs(weights.whole)) + (
            (w @ abs(matrix)) * w
        ).sum(axis=1)
        most = total * int(abs(line.whole).sum()) * int(abs(weights.whole).sum()) + int(
            abs(matrix).sum()
        )
        lost = (3 * size >> (RELATIVE - 1)) + 3 * ROUNDED * most * (1 << bits)
        if not bool((spare >= lost + 1).all()):
            return False
    return True


def _whole_rays_hold(
    form: Rationals, line: Rationals, weights: Rationals, rays: ColumnRays
) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for all rays of integers, and so for the cone.

    Nothing is enclosed here, in contrast to rays of logarithms: the ratios of the notion were
    rounded up when the rays were listed, so that their cone has all private columns, and these rays
    are exactly those of that cone. Reports of one answer alone are rays of the list as well.

    A ray of answers of weight 0 alone also needs ``y.v >= 0``: the bound adds ``y`` over a channel.
    """
    matrix = form.whole * (line.denominator * weights.denominator)
    for start in range(0, len(rays), ROWS):
        v = rays.whole[start : start + ROWS]
        prices = v @ line.whole
        masses = v @ weights.whole
        spare = form.denominator * prices * masses - ((v @ matrix) * v).sum(axis=1)
        if not bool((spare >= 0).all() and ((masses > 0) | (prices >= 0)).all()):
            return False
    return True


class Exponentials:
    """Lower bounds of ``exp(-epsilon unit k)``, digit by digit."""

    def __init__(self, rays: Rays, bits: int) -> None:
        self.rays, self.bits = rays, bits
        self.known: dict[int, int] = {}

    def of(self, below: Any) -> Integers:
        """One integer over ``2**bits`` for each entry."""
        sizes, place = np.unique(below, return_inverse=True)
        values = np.array([self._entry(int(size)) for size in sizes], dtype=object)
        return np.asarray(values[place.reshape(below.shape)], dtype=object)

    def _entry(self, size: int) -> int:
        """``exp(-epsilon unit size)`` over ``2**bits``, rounded down; 0 for an entry that is 0."""
        if size == ZERO:
            return 0
        value = 1 << self.bits
        shift = 0
        while size >> shift:
            digit = (size >> shift) & ((1 << DIGIT) - 1)
            if digit:
                value = value * self._power(digit << shift) >> self.bits
            shift += DIGIT
        return value

    def _power(self, size: int) -> int:
        """The exponential of one digit, rounded down; computed once."""
        if size not in self.known:
            high = self.rays.budget.enclosure(self.rays.unit * size)[1]
            self.known[size] = (high.denominator << self.bits) // high.numerator
        return self.known[size]
