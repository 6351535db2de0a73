r"""The proof of a design in rationals: value of the channel from above, bound on all channels from below.

With ``G_c`` the Gram matrix of the centered workload, any matrix ``S`` and any vector ``y`` with

.. math:: v^T N v \le (y \cdot v)(r \cdot v), \quad N = S^T G_c S,

for all columns ``v`` of the cone, every private channel with an unbiased estimator has average variance at least
``2 tr(S G_c) - 1.y - sum_x r_x G_c[x, x]``. Theory: docs, "Estimation".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ldpopt.certificate import design_bound_elliptope as signs
from ldpopt.certificate.answer_classes import AnswerClasses
from ldpopt.certificate.exact_products import Digits, product
from ldpopt.certificate.exactly import Exactly, Whole
from ldpopt.certificate.inequalities import Inequalities
from ldpopt.certificate.sizes import hold_by_size
from ldpopt.foundation.checks import Float

if TYPE_CHECKING:
    from ldpopt.certificate.entries import Entry

UNBOUNDED = Fraction(10**400)
"""Variance of a channel from which the workload cannot be estimated."""

BIAS = 1e-6
"""Error in floats up to which a left inverse is that of a channel, where the value does not depend on it."""
COLUMNS = 4096
"""Reports whose moments are computed at a time."""

LISTED = 20
"""Most answers whose sets are listed."""


@dataclass(frozen=True, eq=False)
class Statement:
    """Workload and weights in integers.

    Attributes
    ----------
    gram : Exactly
        ``G_c``.
    weights : Exactly
        ``r``, summing to exactly 1.
    """

    gram: Exactly
    weights: Exactly

    @classmethod
    def of(cls, matrix: Float, weights: Float, merged: AnswerClasses) -> Statement:
        """Read a workload and weights, which are divided by their exact sum, for classes of answers."""
        gram, single = exact_gram(matrix[:, merged.first]), Exactly.of(weights).whole
        share = np.zeros(len(merged.first), dtype=object)
        np.add.at(share, merged.classes, single)
        total = int(share.sum())
        mean = gram.whole @ share
        centered = total * total * gram.whole - total * (mean + mean[:, None]) + share @ mean
        return cls(Exactly(centered, gram.denominator * total * total), Exactly(share, total))

    @property
    def spread(self) -> Fraction:
        """``sum_x r_x G_c[x, x]``."""
        return Fraction(
            int(self.weights.whole @ np.diag(self.gram.whole)), self.weights.denominator * self.gram.denominator
        )


def exact_gram(matrix: Float) -> Exactly:
    """``W^T W``; in machine integers where they are large enough."""
    largest = np.abs(matrix).max()
    if np.array_equal(matrix, np.round(matrix)) and largest**2 * len(matrix) < 2.0**53:
        # Sums of products below 2**53 are exact in floats, in any order.
        return Exactly((matrix.T @ matrix).astype(np.int64).astype(object), 1)
    rows, denominator = Digits.read(matrix)
    return Exactly((rows.T @ rows).whole(), denominator**2)


def value_above(statement: Statement, channel: Float, left_inverse: Float, objective: str) -> Fraction:
    r"""Upper bound of the variance of the best unbiased estimator for a channel.

    With ``E = X C - 1`` small, ``(1 + E)^-1 X`` is an exact left inverse; by the triangle inequality the root of its
    second moment is at most that of ``X`` plus ``|W_c E| / (1 - |E|)`` times the root of the moment of ``X`` itself.
    """
    (rows, row_unit), (inverse, inverse_unit) = Digits.read(channel), Digits.read(left_inverse)
    off = Exactly((inverse @ rows.T).whole(), inverse_unit * row_unit)
    off.whole[np.diag_indices_from(off.whole)] -= off.denominator
    size = _root(Fraction(int((off.whole**2).sum()), off.denominator**2))
    if size >= 1:
        return UNBOUNDED
    lost = Fraction(int((off.whole * product(statement.gram.whole, off.whole)).sum()))
    lost = _root(lost / (off.denominator**2 * statement.gram.denominator)) / (1 - size)
    unit = inverse_unit**2 * row_unit
    by_answer, plain = _second_moments(statement.gram, rows, inverse)
    if objective == "average":
        r = statement.weights
        second = Fraction(int(r.whole @ by_answer), unit * statement.gram.denominator * r.denominator)
        other = Fraction(int(r.whole @ plain), unit * r.denominator)
        return (_root(second) + lost * _root(other)) ** 2 - statement.spread if lost else second - statement.spread
    found = []
    for x, (mine, own) in enumerate(zip(by_answer, plain, strict=True)):
        second = Fraction(int(mine), unit * statement.gram.denominator)
        least = Fraction(int(statement.gram.whole[x, x]), statement.gram.denominator)
        found.append((_root(second) + lost * _root(Fraction(int(own), unit))) ** 2 - least)
    return max(found)


def is_unbiased(statement: Statement, channel: Float, left_inverse: Float) -> bool:
    """Whether a left inverse in floats is one for the workload, up to rounding."""
    if left_inverse.shape != channel.shape:
        return False
    unit = statement.gram.denominator
    gram = np.array([[entry / unit for entry in row] for row in statement.gram.whole.tolist()])
    off = gram @ (left_inverse @ channel.T - np.eye(len(channel)))
    return bool(np.abs(off).max() <= BIAS * np.abs(gram).max())


def _second_moments(gram: Exactly, rows: Digits, inverse: Digits) -> tuple[Whole, Whole]:
    """Second moments of ``W_c X`` and of ``X`` for every answer; some columns at a time, for the memory."""
    n, m = inverse.parts.shape[1:]
    weighted, plain = np.zeros(n, dtype=object), np.zeros(n, dtype=object)
    form = Digits.of(gram.whole)
    for first in range(0, m, COLUMNS):
        part, share = inverse.columns(first, first + COLUMNS), rows.columns(first, first + COLUMNS)
        weighted += (share @ (form @ part).sums_of_products(part).T).whole()[:, 0]
        plain += (share @ part.sums_of_products(part).T).whole()[:, 0]
    return weighted, plain


def _root(value: Fraction) -> Fraction:
    """Rational just above the square root."""
    from math import isqrt

    if value <= 0:
        return Fraction(0)
    shift = 2 * max(0, 200 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return Fraction(isqrt((value.numerator << shift) // value.denominator) + 1, 1 << (shift // 2))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What proves a bound, as floats that are read exactly.

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
    keys: ClassVar[tuple[str, ...]] = ("inverse", "line", "shift", "inequalities")

    def stated(self) -> dict[str, Any]:
        """Plain values for a file."""
        shift = None if self.shift is None else self.shift.tolist()
        inequalities = None if self.inequalities is None else self.inequalities.stated()
        return {
            "inverse": self.inverse.tolist(),
            "line": self.line.tolist(),
            "shift": shift,
            "inequalities": inequalities,
        }

    @classmethod
    def read(cls, table: dict[str, Entry], n: int, m: int) -> Multipliers:
        """Read what `stated` wrote, for ``n`` answers and ``m`` reports."""
        shift = None if table["shift"].value is None else table["shift"].numbers(n + 1)
        if shift is None and n > LISTED:
            raise table["shift"].error(f"a bound for {n} answers needs a diagonal: their sets are not listed")
        inequalities = Inequalities.read(table["inequalities"], n)
        return cls(table["inverse"].numbers(n, n), table["line"].numbers(n), shift, inequalities)

    def costs_hold(self, statement: Statement, base: Fraction) -> bool:
        """See `costs_hold`."""
        return costs_hold(statement, self, base)

    def bound_below(self, statement: Statement) -> Fraction:
        """See `bound_below`."""
        return bound_below(statement, self)

    def value_above(self, statement: Statement, channel: Float, left_inverse: Float, objective: str) -> Fraction:
        """See `value_above`."""
        return value_above(statement, channel, left_inverse, objective)


class Proof(Protocol):
    """What proves a design: a bound for all channels, and the value of one."""

    kind: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]

    def stated(self) -> dict[str, Any]:
        """Plain values for a file, under `keys`."""
        ...

    def costs_hold(self, statement: Statement, base: Fraction) -> bool:
        """Whether the multipliers prove their bound, with ``base = e**-epsilon`` rounded down."""
        ...

    def bound_below(self, statement: Statement) -> Fraction:
        """Lower bound on the average variance of every private channel if `costs_hold`."""
        ...

    def value_above(self, statement: Statement, channel: Float, left_inverse: Float, objective: str) -> Fraction:
        """Upper bound of the variance of a channel with its best unbiased estimator."""
        ...


def bound_below(statement: Statement, multipliers: Multipliers) -> Fraction:
    """``2 tr(S G_c) - 1.y - spread``: a bound if `costs_hold`."""
    inverse, line = Exactly.of(multipliers.inverse), Exactly.of(multipliers.line)
    gram = statement.gram
    trace = Fraction(int((inverse.whole * gram.whole).sum()), inverse.denominator * gram.denominator)
    return 2 * trace - Fraction(int(line.whole.sum()), line.denominator) - statement.spread


def price_form(statement: Statement, inverse: Float) -> Exactly:
    """``N = S^T G_c S``."""
    s = Exactly.of(inverse)
    return Exactly(
        product(product(s.whole.T, statement.gram.whole), s.whole), s.denominator**2 * statement.gram.denominator
    )


def costs_hold(statement: Statement, multipliers: Multipliers, base: Fraction) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for the columns of all sets, with ``base = e**-epsilon`` rounded down."""
    form, line = price_form(statement, multipliers.inverse), Exactly.of(multipliers.line)
    if multipliers.shift is not None:
        return signs.is_positive(form, line, statement.weights, base, multipliers.shift, multipliers.inequalities)
    if len(line.whole) > LISTED:
        return hold_by_size(form, line, statement.weights, base)
    # (y.v)(r.v) - v N v over one denominator, for v = base + (1 - base) indicator.
    low, step = base.numerator, base.denominator - base.numerator
    ones = form.whole.sum(axis=0)
    square = _subset_squares(form.whole)
    line_sums, mass_sums = _sums(line.whole), _sums(statement.weights.whole)
    cost = low * low * int(ones.sum()) + 2 * low * step * _sums(ones) + step * step * square
    right = (low * int(line.whole.sum()) + step * line_sums) * (
        low * int(statement.weights.whole.sum()) + step * mass_sums
    )
    spare = right * form.denominator - cost * (line.denominator * statement.weights.denominator)
    return bool((spare >= 0).all())


def _sums(values: Any) -> Whole:
    """Sums over all sets, by the bits of their number."""
    sums = np.array([0], dtype=object)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _subset_squares(form: Whole) -> Whole:
    """Sum of a symmetric form over the pairs of every set: one answer after the other joins."""
    squares = np.array([0], dtype=object)
    for place in range(len(form)):
        joined = squares + form[place, place] + 2 * _sums(form[place, :place])
        squares = np.concatenate([squares, joined])
    return squares
