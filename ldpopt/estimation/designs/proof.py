r"""The proof of a design in rationals: value of the channel from above, bound on all channels from below.

With ``G_c`` the Gram matrix of the centered workload, any matrix ``S`` and any vector ``y`` with

.. math:: v^T N v \le (y \cdot v)(r \cdot v), \quad N = S^T G_c S,

for all columns ``v`` of the cone, every private channel with an unbiased estimator has average variance at least
``2 tr(S G_c) - 1.y - sum_x r_x G_c[x, x]``. Theory: docs, "Estimation".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.estimation.designs import signs
from ldpopt.estimation.designs.exactly import Exactly, Whole
from ldpopt.estimation.designs.merging import Merged
from ldpopt.estimation.designs.sizes import hold_by_size
from ldpopt.foundation.checks import Float

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
    def of(cls, matrix: Float, weights: Float, merged: Merged) -> Statement:
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
    rows = Exactly.of(matrix)
    return Exactly(rows.whole.T @ rows.whole, rows.denominator**2)


def value_above(statement: Statement, channel: Float, left_inverse: Float, objective: str) -> Fraction:
    r"""Upper bound of the variance of the best unbiased estimator for a channel.

    With ``E = X C - 1`` small, ``(1 + E)^-1 X`` is an exact left inverse; by the triangle inequality the root of its
    second moment is at most that of ``X`` plus ``|W_c E| / (1 - |E|)`` times the root of the moment of ``X`` itself.
    """
    rows, inverse = Exactly.of(channel), Exactly.of(left_inverse)
    off = Exactly(inverse.whole @ rows.whole.T, inverse.denominator * rows.denominator)
    off.whole[np.diag_indices_from(off.whole)] -= off.denominator
    size = _root(Fraction(int((off.whole**2).sum()), off.denominator**2))
    if size >= 1:
        return Fraction(10**400)
    lost = Fraction(int((off.whole * (statement.gram.whole @ off.whole)).sum()))
    lost = _root(lost / (off.denominator**2 * statement.gram.denominator)) / (1 - size)
    weighted = statement.gram.whole @ inverse.whole
    moments = (weighted * inverse.whole).sum(axis=0)
    squares = (inverse.whole**2).sum(axis=0)
    unit = inverse.denominator**2 * rows.denominator
    by_answer = rows.whole @ moments
    plain = rows.whole @ squares
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
    """

    inverse: Float
    line: Float
    shift: Float | None = None


def bound_below(statement: Statement, multipliers: Multipliers) -> Fraction:
    """``2 tr(S G_c) - 1.y - spread``: a bound if `costs_hold`."""
    inverse, line = Exactly.of(multipliers.inverse), Exactly.of(multipliers.line)
    gram = statement.gram
    trace = Fraction(int((inverse.whole * gram.whole).sum()), inverse.denominator * gram.denominator)
    return 2 * trace - Fraction(int(line.whole.sum()), line.denominator) - statement.spread


def price_form(statement: Statement, inverse: Float) -> Exactly:
    """``N = S^T G_c S``."""
    s = Exactly.of(inverse)
    return Exactly(s.whole.T @ statement.gram.whole @ s.whole, s.denominator**2 * statement.gram.denominator)


def costs_hold(statement: Statement, multipliers: Multipliers, base: Fraction) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for the columns of all sets, with ``base = e**-epsilon`` rounded down."""
    form, line = price_form(statement, multipliers.inverse), Exactly.of(multipliers.line)
    if multipliers.shift is not None:
        return signs.is_positive(form, line, statement.weights, base, multipliers.shift)
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
