r"""The statement of a capped design in rationals, and the exact value and influence of its values.

A design with the values ``V`` has for number ``j`` the influence

.. math:: I_j = \max\big( \max_y V_{jy} - \min_x W_{jx}, \; \max_x W_{jx} - \min_y V_{jy} \big),

which is at most a cap exactly if all values are at most :math:`B_j`, the cap less half of the span,
away from the middle :math:`m_j` between the least and the largest number. The influence is that of
the values that are used, float by float: what a respondent can send is a report of the list, also
one that no honest answer makes likely, so that every report counts. It is a maximum over answers
too, because liars have answers of their own, which are part of what is estimated, and the worst
case is the answer at the other end. Values need not be those of a left inverse of the channel: a
cap keeps no relation between the rows of a workload, and so estimated frequencies need not sum to 1
although each of them is unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpopt.certificate.design_statement import AnswerClasses, DesignValue, Statement
from ldpopt.certificate.integers import Digits, Rationals, fraction_bits
from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class CappedStatement:
    """Workload, weights and caps, for all answers or classes of them."""

    matrix: Float  # W, shape (k, c)
    weights: Rationals  # r, shape (c,), summing to exactly 1
    caps: Float  # largest influence of each number, shape (k,); inf for none

    @classmethod
    def of(
        cls, matrix: Float, weights: Float, caps: Float, merged: AnswerClasses
    ) -> CappedStatement:
        """The statement for classes of answers, with the weights of all answers: equal columns of
        the workload have the same middle, so that nothing is lost.
        """
        shares = Statement.of(matrix, weights, merged).weights
        return cls(np.asarray(matrix[:, merged.first]), shares, caps)

    @cached_property
    def centered(self) -> Rationals:
        """``W`` less the middle of each row, as rationals, shape (k, c)."""
        rows = Rationals.of(self.matrix)
        middle = rows.whole.min(axis=1) + rows.whole.max(axis=1)
        return Rationals(2 * rows.whole - middle[:, None], 2 * rows.denominator)

    @cached_property
    def reach(self) -> tuple[Fraction | None, ...]:
        """``B``: how far values may be from the middle of each row; None without a cap."""
        half = self.centered.whole.max(axis=1)
        return tuple(
            None
            if cap == np.inf
            else Fraction(cap) - Fraction(int(size), self.centered.denominator)
            for cap, size in zip(self.caps.tolist(), half.tolist(), strict=True)
        )

    @cached_property
    def constant(self) -> Fraction:
        """``sum_x r_x |W_x - m|^2``."""
        squares = (self.centered.whole**2).sum(axis=0)
        return Fraction(
            int(squares @ self.weights.whole),
            self.centered.denominator**2 * self.weights.denominator,
        )


def influence_of_values(matrix: Float, values: Float) -> tuple[Fraction, ...]:
    """The influence of a report on each number, exactly."""
    ends = zip(
        matrix.min(axis=1).tolist(),
        matrix.max(axis=1).tolist(),
        values.min(axis=1).tolist(),
        values.max(axis=1).tolist(),
        strict=True,
    )
    return tuple(
        max(Fraction(most) - Fraction(low), Fraction(high) - Fraction(least))
        for low, high, least, most in ends
    )


def value_of_values(
    matrix: Float, weights: Float, channel: Float, values: Float, objective: str
) -> DesignValue:
    r"""Mean squared error and bias of listed values, in rationals.

    .. math:: \operatorname{mse}_x = \sum_y C_{xy} |V_y|^2 - 2 W_x \cdot \sum_y C_{xy} V_y + |W_x|^2
    """
    bits = max(fraction_bits(matrix), fraction_bits(values))
    mass_bits = fraction_bits(channel)
    wanted = Digits.read(np.asarray(matrix), bits)
    each = Digits.read(values, bits)
    masses = Digits.read(channel, mass_bits)
    second = (masses @ each.sums_of_products(each).T).whole()[:, 0]
    mean = each @ masses.T  # over 2**(bits + mass_bits)
    cross = mean.sums_of_products(wanted).whole()[0]
    squares = wanted.sums_of_products(wanted).whole()[0] << mass_bits
    unit = 1 << (2 * bits + mass_bits)
    errors = [Fraction(int(error), unit) for error in second - 2 * cross + squares]
    off = mean - wanted.times(1 << mass_bits)
    biases = off.sums_of_products(off).whole()[0]
    share = Statement.of(matrix, weights)
    r = share.weights
    if objective == "worst_case":
        achieved = max(errors)
    else:
        achieved = sum(map(Fraction.__mul__, map(Fraction, r.whole.tolist()), errors), Fraction(0))
        achieved /= r.denominator
    bias = Fraction(int(biases.max()), 1 << (2 * (bits + mass_bits)))
    return DesignValue(achieved, bias, share.spread)
