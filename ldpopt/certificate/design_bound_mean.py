"""The bound for a single mean, by two vectors.

Why a few sets suffice: columns of pure privacy are mixtures of ``b 1 + (1 - b) 1_S`` for sets ``S``
of answers, with ``b = e**-epsilon``, and the condition says that the smallest value over ``t`` of
``sum_x v_x a_x(t)`` is not negative. For each ``t`` the worst set has exactly the answers with
``a_x(t) < 0``.

With ``k`` and ``y`` such that ``(k.v)^2 <= (y.v)(r.v)`` for all columns, no channel has average
variance below ``2 k.w_c - 1.y - sum_x r_x w_c,x^2``. Only the sets ``{x : a_x(t) < 0}`` with
``a_x(t) = r_x t^2 - 2 k_x t + y_x`` need checking, which change at the roots of the ``a_x``; these
are sorted exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from math import isqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ldpopt.certificate.design_statement import Cone, Statement
from ldpopt.certificate.integers import Integers, Rationals
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import RayList

BITS = 200  # bits after the point to which roots are computed before they are compared exactly


@dataclass(frozen=True, eq=False)
class MeanBound:
    """Multipliers for a single mean, as floats that are read exactly; each of shape ``(n,)``."""

    numbers: Float  # w: every row of the workload is a multiple of it plus a constant
    slope: Float  # k
    line: Float  # y

    kind: ClassVar[str] = "mean"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "numbers": self.numbers.tolist(),
            "slope": self.slope.tolist(),
            "line": self.line.tolist(),
        }

    @classmethod
    def read(cls, entry: Entry, n: int) -> "MeanBound":
        """Read what `plain` wrote, for ``n`` answers."""
        return cls(*(part.numbers(n) for part in entry.table("numbers", "slope", "line").values()))

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether the workload has these numbers, and no column costs more than allowed.

        In integers, for a ratio that is at most ``e**-epsilon``: no fewer columns are allowed than
        by the notion. False if the workload is not a multiple of one row plus constants, or the
        cone is not that of pure privacy.
        """
        if isinstance(cone, RayList) or _factor(statement, self.numbers) is None:
            return False
        k = Rationals.of(self.slope)
        y = Rationals.of(self.line)
        r = statement.weights
        common = k.denominator * y.denominator * r.denominator
        scaled = [part.whole * (common // part.denominator) for part in (k, y, r)]
        return all_hold(scaled[0], scaled[1], scaled[2], cone)

    def value(self, statement: Statement) -> Fraction:
        """``2 k.w_c - 1.y - spread`` for the numbers, times the factor of the workload."""
        factor = _factor(statement, self.numbers)
        assert factor is not None
        k = Rationals.of(self.slope)
        y = Rationals.of(self.line)
        w = _centered(statement, self.numbers)
        linear = Fraction(int(k.whole @ w.whole), k.denominator * w.denominator)
        return (
            factor * (2 * linear - Fraction(int(y.whole.sum()), y.denominator)) - statement.spread
        )


def _centered(statement: Statement, numbers: Float) -> Rationals:
    """The numbers less their average over the weights."""
    w = Rationals.of(numbers)
    r = statement.weights
    return Rationals(
        w.whole * r.denominator - int(r.whole @ w.whole), w.denominator * r.denominator
    )


def _factor(statement: Statement, numbers: Float) -> Fraction | None:
    """Factor of the Gram matrix of the numbers in that of the workload; None if it is not a
    multiple.

    Compared entry by entry, and exactly: ``G_xz * w_p^2 = w_x w_z * G_pp`` with the entry ``p`` of
    the largest number.
    """
    if len(numbers) != len(statement.weights.whole):
        return None
    gram = statement.gram
    w = _centered(statement, numbers)
    pivot = int(np.argmax(np.abs(w.whole)))
    square = int(w.whole[pivot]) ** 2
    diagonal = int(gram.whole[pivot, pivot])
    if not square or (gram.whole * square != np.outer(w.whole, w.whole) * diagonal).any():
        return None
    return Fraction(diagonal * w.denominator**2, gram.denominator * square)


class _Root(NamedTuple):
    """``(p + sign sqrt(d)) / q`` with ``q > 0``, about ``place``, where the answer enters or leaves
    the set.
    """

    p: int
    sign: int
    d: int
    q: int
    place: int
    answer: int
    joins: bool


def all_hold(k: Integers, y: Integers, r: Integers, base: Fraction) -> bool:
    """Whether ``(k.v)^2 <= (y.v)(r.v)`` for the columns of all sets, in integers."""
    return all(
        price >= 0 and slope**2 <= price * mass
        for slope, price, mass in sums_of_sets(k, y, r, base)
    )


def sums_of_sets(
    k: Integers, y: Integers, r: Integers, base: Fraction
) -> Iterator[tuple[int, int, int]]:
    """``k.v``, ``y.v`` and ``r.v`` for the column of every set ``{x : a_x(t) < 0}``, in integers,
    times the denominator of the base; at most ``2n + 1`` of them.

    ``inside`` are the answers of the set for ``t`` below all roots. The three sums are those of
    ``k``, ``y`` and ``r`` over the column of the current set; at each root one answer enters or
    leaves, so that all sets together cost no more than sorting. Where ``r_x`` is 0 the parabola is
    a line, with one root or none.
    """
    roots: list[_Root] = []
    inside = np.zeros(len(k), dtype=bool)
    for x, (slope, line, weight) in enumerate(zip(k.tolist(), y.tolist(), r.tolist(), strict=True)):
        if weight > 0:
            d = slope * slope - weight * line
            if d > 0:
                roots += [rounded_root(slope, sign, d, weight, x, sign < 0) for sign in (-1, 1)]
        elif slope:
            roots.append(
                rounded_root(line if slope > 0 else -line, 0, 0, 2 * abs(slope), x, slope > 0)
            )
            inside[x] = slope < 0
        else:
            inside[x] = line < 0
    roots.sort(key=cmp_to_key(compare_roots))
    low, high = base.numerator, base.denominator
    sums = [low * int(part.sum()) + (high - low) * int(part[inside].sum()) for part in (k, y, r)]
    yield sums[0], sums[1], sums[2]
    for root in roots:
        step = (high - low) * (1 if root.joins else -1)
        sums = [
            have + step * int(part[root.answer]) for have, part in zip(sums, (k, y, r), strict=True)
        ]
        yield sums[0], sums[1], sums[2]


def rounded_root(p: int, sign: int, d: int, q: int, answer: int, joins: bool) -> _Root:
    """The root with its value rounded down to ``2**-BITS``."""
    return _Root(p, sign, d, q, ((p << BITS) + sign * isqrt(d << (2 * BITS))) // q, answer, joins)


def compare_roots(left: _Root, right: _Root) -> int:
    """Sign of the difference of two roots, exactly.

    The places are the roots times ``2**200``, rounded down: places that differ by more than 4
    decide. Roots nearer than that are compared by squaring, without rounding.
    """
    if abs(left.place - right.place) > 4:
        return 1 if left.place > right.place else -1
    return exact_sign(
        left.p * right.q - right.p * left.q,
        left.sign * right.q,
        left.d,
        -right.sign * left.q,
        right.d,
    )


def exact_sign(a: int, b: int, d: int, c: int, e: int) -> int:
    """Sign of ``a + b sqrt(d) + c sqrt(e)``.

    ``b`` and ``c`` are any integers, ``d`` and ``e`` are not negative. If ``a`` and the sum of the
    roots have opposite signs, squares decide, first ``a^2`` against ``(b sqrt(d) + c sqrt(e))^2``
    and, as this has the root ``sqrt(d e)``, its square once more.
    """
    first = b * b * d * (1 if b > 0 else -1)
    second = c * c * e * (1 if c > 0 else -1)
    roots = (first + second > 0) - (first + second < 0)
    sign_of_a = (a > 0) - (a < 0)
    if sign_of_a * roots >= 0:
        return sign_of_a or roots
    # Opposite signs: compare the squares, a^2 - b^2 d - c^2 e with 2 b c sqrt(d e).
    remainder = a * a - b * b * d - c * c * e
    cross = 2 * b * c
    side = (remainder > 0) - (remainder < 0)
    other = (cross > 0) - (cross < 0) if d and e else 0
    if side * other <= 0:
        larger = side or -other
    else:
        larger = side * (
            (remainder * remainder > cross * cross * d * e)
            - (remainder * remainder < cross * cross * d * e)
        )
    return sign_of_a * larger
