r"""What proves that no private mechanism has a smaller variance than a bound, in rationals.

With ``G_c`` the Gram matrix of the centered workload, any matrix ``S`` and any vector ``y`` with

.. math:: v^T N v \le (y \cdot v)(r \cdot v), \quad N = S^T G_c S,

for all columns ``v`` of the cone, every private channel with an unbiased estimator has average variance at least
``2 tr(S G_c) - 1.y - sum_x r_x G_c[x, x]``. Theory: docs, "Estimation". The value of a design is proved apart from
its bound, in `design_value`: any kind of bound goes with any design.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any, ClassVar, Protocol

import numpy as np

from ldpopt.certificate.answer_classes import AnswerClasses, is_pure
from ldpopt.certificate.design_bound_elliptope import Inequalities, is_positive
from ldpopt.certificate.design_bound_rays import rays_hold
from ldpopt.certificate.integers import Digits, Exact, Exactly, fraction_bits, product
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.rays import Rays, definition_of, rays_of

LISTED = 20
"""Most answers whose sets are listed."""

BASE_BITS = 96
"""Bits of ``e**-epsilon``, rounded down, in a proof."""


@dataclass(frozen=True, eq=False)
class Statement:
    """Workload and weights in integers. A constant added to a row of the workload changes nothing.

    Attributes
    ----------
    rows : Digits
        Columns of the workload less the first one, shape ``(k, n)``, times ``unit``.
    unit : int
        A power of two.
    weights : Exactly
        ``r``, summing to exactly 1.
    """

    rows: Digits
    unit: int
    weights: Exactly

    @classmethod
    def of(cls, matrix: Float, weights: Float, merged: AnswerClasses | None = None) -> Statement:
        """Read a workload and weights, which are divided by their exact sum, for all answers or classes of them."""
        chosen = matrix if merged is None else matrix[:, merged.first]
        bits = fraction_bits(chosen)
        rows, share = Digits.read(chosen, bits), Exactly.of(weights).whole
        if merged is not None:
            single, share = share, np.zeros(len(merged.first), dtype=object)
            np.add.at(share, merged.classes, single)
        share = share // gcd(*share.tolist())
        return cls(rows - rows.columns(slice(1)), 1 << bits, Exactly(share, int(share.sum())))

    @cached_property
    def centered(self) -> Digits:
        """``G_c`` times `scale`."""
        total, share = self.weights.denominator, Digits.of(self.weights.whole[:, None])
        rows = self.rows.times(total) - self.rows @ share
        return rows.T @ rows

    @property
    def scale(self) -> int:
        """Denominator of ``G_c``."""
        return (self.unit * self.weights.denominator) ** 2

    @cached_property
    def gram(self) -> Exactly:
        """``G_c``."""
        return Exactly(self.centered.whole(), self.scale)

    @cached_property
    def spread(self) -> Fraction:
        """``sum_x r_x G_c[x, x]``: variance of the true values among people."""
        r, total = self.weights.whole, self.weights.denominator
        squares = self.rows.sums_of_products(self.rows).whole()[0]
        mean = self.rows @ Digits.of(r[:, None])
        square = int(mean.sums_of_products(mean).whole()[0, 0])
        return Fraction(int(r @ squares) * total - square, self.scale)


Cone = Fraction | Rays
"""The private columns: ``e**-epsilon`` rounded down for pure privacy, else all extreme rays."""


def cone_of(privacy: Any, inputs: Sequence[Hashable]) -> Cone:
    """Private columns of a notion, for a proof."""
    return least_ratio(budget_of(privacy, inputs)) if is_pure(privacy, inputs) else rays_of(privacy, inputs)


def budget_of(privacy: Any, inputs: Sequence[Hashable]) -> Budget:
    """Return epsilon of a notion that has a cone of columns."""
    return definition_of(privacy, inputs).budget


def least_ratio(epsilon: Budget) -> Fraction:
    """Return ``e**-epsilon`` rounded down to a short rational: a bound for smaller ratios holds for this one too."""
    smallest = 1 / epsilon.enclosure()[1]
    bits = BASE_BITS + max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())
    return Fraction(smallest.numerator * 2**bits // smallest.denominator, 2**bits)


class Bound(Protocol):
    """Multipliers that prove a lower bound on the average variance of every private mechanism."""

    kind: ClassVar[str]

    def stated(self) -> dict[str, Any]:
        """Plain values for a file, without the kind."""
        ...

    @classmethod
    def read(cls, entry: Entry, n: int) -> Bound:
        """Read what `stated` wrote, for ``n`` answers."""
        ...

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether no private column costs more than the multipliers allow, in exact arithmetic."""
        ...

    def below(self, statement: Statement) -> Fraction:
        """Lower bound on the average variance of every private channel if they hold."""
        ...


@dataclass(frozen=True)
class NoBound:
    """No variance is negative: what remains if no multipliers hold, at a budget at the end of the floats."""

    kind: ClassVar[str] = "none"

    def stated(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    @classmethod
    def read(cls, entry: Entry, n: int) -> NoBound:
        """Nothing to read."""
        entry.table()
        return cls()

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Always."""
        return True

    def below(self, statement: Statement) -> Fraction:
        """0."""
        return Fraction(0)


@dataclass(frozen=True, eq=False)
class FormBound:
    """``S`` and ``y`` in full, as floats that are read exactly.

    Attributes
    ----------
    inverse : ndarray, shape (n, n)
        ``S``.
    line : ndarray, shape (n,)
        ``y``.
    shift : ndarray, shape (n + 1,) or None
        Diagonal that makes the form positive for all signs, beyond 20 answers; its sum is taken off the first entry.
    inequalities : Inequalities or None
        Multipliers of inequalities that sets satisfy, beyond 20 answers.
    """

    inverse: Float
    line: Float
    shift: Float | None = None
    inequalities: Inequalities | None = None

    kind: ClassVar[str] = "form"

    def stated(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "inverse": self.inverse.tolist(),
            "line": self.line.tolist(),
            "shift": None if self.shift is None else self.shift.tolist(),
            "inequalities": None if self.inequalities is None else self.inequalities.stated(),
        }

    @classmethod
    def read(cls, entry: Entry, n: int) -> FormBound:
        """Read what `stated` wrote, for ``n`` answers."""
        table = entry.table("inverse", "line", "shift", "inequalities")
        shift = None if table["shift"].value is None else table["shift"].numbers(n + 1)
        inequalities = Inequalities.read(table["inequalities"], n)
        return cls(table["inverse"].numbers(n, n), table["line"].numbers(n), shift, inequalities)

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether ``v N v <= (y.v)(r.v)`` for all columns."""
        form, line, r = price_form(statement, self.inverse), Exactly.of(self.line), statement.weights
        if isinstance(cone, Rays):
            return rays_hold(form, line, r, cone)
        if self.shift is not None:
            return is_positive(form, line, r, cone, self.shift, self.inequalities)
        return len(self.line) <= LISTED and _sets_hold(form, line, r, cone)

    def below(self, statement: Statement) -> Fraction:
        """``2 tr(S G_c) - 1.y - spread``."""
        inverse, line, gram = Exactly.of(self.inverse), Exactly.of(self.line), statement.gram
        trace = Fraction(int((inverse.whole * gram.whole).sum()), inverse.denominator * gram.denominator)
        return 2 * trace - Fraction(int(line.whole.sum()), line.denominator) - statement.spread


def price_form(statement: Statement, inverse: Float) -> Exactly:
    """``N = S^T G_c S``."""
    s = Exactly.of(inverse)
    whole = product(product(s.whole.T, statement.gram.whole), s.whole)
    return Exactly(whole, s.denominator**2 * statement.gram.denominator)


def _sets_hold(form: Exactly, line: Exactly, weights: Exactly, base: Fraction) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for ``v = base + (1 - base) indicator`` of every set."""
    low, step = base.numerator, base.denominator - base.numerator
    ones = form.whole.sum(axis=0)
    cost = low * low * int(ones.sum()) + 2 * low * step * _sums(ones) + step * step * _subset_squares(form.whole)
    right = (low * int(line.whole.sum()) + step * _sums(line.whole)) * (
        low * int(weights.whole.sum()) + step * _sums(weights.whole)
    )
    return bool((right * form.denominator - cost * (line.denominator * weights.denominator) >= 0).all())


def _sums(values: Any) -> Exact:
    """Sums over all sets, by the bits of their number."""
    sums = np.array([0], dtype=object)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _subset_squares(form: Exact) -> Exact:
    """Sum of a symmetric form over the pairs of every set: one answer after the other joins."""
    squares = np.array([0], dtype=object)
    for place in range(len(form)):
        joined = squares + form[place, place] + 2 * _sums(form[place, :place])
        squares = np.concatenate([squares, joined])
    return squares
