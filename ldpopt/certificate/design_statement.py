r"""The statement that a bound for designs is about, in integers, and the exact value of a design.

The value is mean squared error and bias of the estimator that `Design.estimate` uses. A report
``y`` contributes ``V_y = w_1 + sum_{x > 1} d_x X[x, y]``, with ``d_x = w_x - w_1`` from the columns
of the workload: the first row of ``X`` is 1 minus the others, so that constants added to a workload
change nothing. For every answer the numbers

.. math:: \operatorname{mse}_x = \sum_y C_{xy} |V_y - w_x|^2,
          \qquad \operatorname{bias}_x = |\sum_y C_{xy} V_y - w_x|

are rationals, computed in integers from ``V`` itself, or from the Gram matrix of ``d`` if that is
smaller.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, gcd, isqrt
from typing import Any

import numpy as np

from ldpopt.certificate.integers import Digits, Integers, Rationals, fraction_bits
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import RayList
from ldpopt.privacy.cones.rays import cone_comparisons, rays_of, tied_cone

BASE_BITS = 96  # bits of ``e**-epsilon``, rounded down, in a proof
# Largest bias, in standard deviations of one respondent's estimate. The standard deviation of the
# mean of up to 1e16 respondents is more than ten times such a bias, which no survey can notice.
LARGEST_BIAS = Fraction(1, 10**9)
UNBOUNDED = Fraction(10**400)  # value of a biased estimator
CELLS = 1 << 22  # numbers of the estimator that are in memory as digits at a time


@dataclass(frozen=True, eq=False)
class AnswerClasses:
    """Classes of answers with equal columns of the workload, of which each counts as one answer.

    Nothing is lost: averaging the rows of such answers keeps a channel private, its estimator
    unbiased, and the average variance. Example: a workload with the only row ``1, 0, 1`` has the
    classes ``0, 1, 0``.
    """

    first: Int  # one answer of each class, ascending, shape (c,)
    classes: Int  # class of every answer, shape (n,)

    @classmethod
    def of(cls, matrix: Float) -> "AnswerClasses":
        """Find the classes of a workload's matrix."""
        _, first, classes = np.unique(
            matrix.T + 0.0, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        rank = np.argsort(order)
        return cls(first[order].astype(np.int64), rank[classes.ravel()].astype(np.int64))

    @classmethod
    def under(cls, privacy: Any, matrix: Float, inputs: Sequence[Hashable]) -> "AnswerClasses":
        """Those classes under pure privacy; under other notions every answer has a class of its
        own.
        """
        # There the average of two rows may break a tie with a third.
        everyone = np.arange(len(inputs))
        return cls.of(matrix) if is_pure(privacy, inputs) else cls(everyone, everyone)


def is_pure(privacy: Any, inputs: Sequence[Hashable]) -> bool:
    """Whether all answers are tied to each other at distance 1."""
    ties = tied_cone(privacy, inputs)
    return ties is not None and ties.is_complete and ties.distance is None


@dataclass(frozen=True, eq=False)
class Statement:
    """Workload and weights in integers. A constant added to a row of the workload changes
    nothing.
    """

    rows: Digits  # columns of the workload less the first one, shape (k, n), times `unit`
    unit: int  # a power of two
    weights: Rationals  # r, summing to exactly 1

    @classmethod
    def of(cls, matrix: Float, weights: Float, merged: AnswerClasses | None = None) -> "Statement":
        """Read a workload and weights, which are divided by their exact sum, for all answers or
        classes of them.
        """
        chosen = matrix if merged is None else matrix[:, merged.first]
        bits = fraction_bits(chosen)
        rows = Digits.read(chosen, bits)
        share = Rationals.of(weights).whole
        if merged is not None:
            single, share = share, np.zeros(len(merged.first), dtype=object)
            np.add.at(share, merged.classes, single)
        share = share // gcd(*share.tolist())
        return cls(rows - rows.columns(slice(1)), 1 << bits, Rationals(share, int(share.sum())))

    @cached_property
    def centered(self) -> Digits:
        """``G_c`` times `scale`: Gram matrix of the workload less its average over the weights."""
        total = self.weights.denominator
        share = Digits.of(self.weights.whole[:, None])
        rows = self.rows.times(total) - self.rows @ share
        return rows.T @ rows

    @property
    def scale(self) -> int:
        """Denominator of ``G_c``."""
        return (self.unit * self.weights.denominator) ** 2

    @cached_property
    def gram(self) -> Rationals:
        """``G_c``, the Gram matrix of the centered workload, as rationals."""
        return Rationals(self.centered.whole(), self.scale)

    @cached_property
    def spread(self) -> Fraction:
        """``sum_x r_x G_c[x, x]``: variance of the true values among people."""
        r, total = self.weights.whole, self.weights.denominator
        squares = self.rows.sums_of_products(self.rows).whole()[0]
        mean = self.rows @ Digits.of(r[:, None])
        return Fraction(
            int(r @ squares) * total - int(mean.sums_of_products(mean).whole()[0, 0]), self.scale
        )


# the private columns: ``e**-epsilon`` rounded down for pure privacy, else all extreme rays
Cone = Fraction | RayList


def cone_of(privacy: Any, inputs: Sequence[Hashable]) -> Cone:
    """Private columns of a notion, for a proof."""
    return (
        least_ratio(budget_of(privacy, inputs))
        if is_pure(privacy, inputs)
        else rays_of(privacy, inputs)
    )


def budget_of(privacy: Any, inputs: Sequence[Hashable]) -> Budget:
    """Epsilon of a notion whose columns form a cone; the smallest one, if it has several."""
    if (ties := tied_cone(privacy, inputs)) is not None:
        return ties.budget
    return min(cone_comparisons(privacy, inputs).budget)


def least_ratio(epsilon: Budget) -> Fraction:
    """``e**-epsilon`` rounded down to a short rational: a bound for a smaller ratio holds for this
    one too.
    """
    smallest = 1 / epsilon.enclosure()[1]
    bits = BASE_BITS + max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())
    return Fraction(smallest.numerator * 2**bits // smallest.denominator, 2**bits)


@dataclass(frozen=True)
class DesignValue:
    """Mean squared error and bias of an estimator, in the units of the workload."""

    achieved: Fraction  # average of the mean squared errors over the weights, or the largest
    # largest square of an answer's bias, summed over the numbers of the workload
    bias_squared: Fraction
    spread: Fraction  # variance of the true values among people

    @property
    def is_unbiased(self) -> bool:
        """Whether the bias is at most 1e-9 of the standard deviation of one respondent's
        estimate.
        """
        # The variance of the true values among people counts too: it does not vanish for large
        # budgets, as the variance of the reports does.
        return self.bias_squared <= LARGEST_BIAS**2 * (self.achieved + self.spread)

    @property
    def bias(self) -> Fraction:
        """A float that is at least the largest bias."""
        value = self.bias_squared
        shift = 2 * max(
            0, 100 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
        )
        root = isqrt((value.numerator << shift) // value.denominator) + (value > 0)
        return Fraction(round_up(Fraction(root, 1 << (shift // 2))))


def value_of(
    statement: Statement, channel: Float, left_inverse: Float, objective: str
) -> DesignValue:
    """Value of ``V = W X`` for a channel of shape ``(n, m)``; the first row of ``X`` is not
    read.
    """
    rows, (n, m) = statement.rows, channel.shape
    if left_inverse.shape != (n, m):
        problem = f"the left inverse has the shape {left_inverse.shape}, the channel {(n, m)}"
        raise CertificateError(
            problem, code="inverse-shape", do="give a left inverse with the shape of the channel"
        )
    is_small = rows.parts.shape[1] <= n
    # In terms of V: the metric of the numbers is 1. In terms of X: it is their Gram matrix, and X C
    # should be 1.
    metric = None if is_small else rows.T @ rows
    target = rows if is_small else Digits.of(np.eye(n, dtype=np.int64).astype(object))
    # W has differences from its first column, which is 0: the first row of X has no weight
    inverse = np.vstack([np.zeros((1, m)), left_inverse[1:]])
    mass_bits = fraction_bits(channel)
    bits = fraction_bits(inverse)
    # by answer: the mean of |v|^2, shape (n, 1), and the mean of v
    second = mean = None
    size = max(1, CELLS // max(n, target.parts.shape[1]))
    for part in (slice(first, first + size) for first in range(0, m, size)):
        masses = Digits.read(channel[:, part], mass_bits)
        estimator = Digits.read(inverse[:, part], bits)
        estimator = rows @ estimator if is_small else estimator
        squares = masses @ _measured(metric, estimator).sums_of_products(estimator).T
        means = estimator @ masses.T
        second = squares if second is None else second + squares
        mean = means if mean is None else mean + means
    assert second is not None
    assert mean is not None
    # Masses are over 2**mass_bits, entries of X over 2**bits, those of the workload over unit.
    scale = (1 << mass_bits) * (1 << bits)
    wanted = _measured(metric, target)
    # |v - t|^2 = |v|^2 - 2 v.t + |t|^2 for the estimate v of a respondent and the truth t; all
    # terms are over scale**2 unit**2.
    mean_times_truth = _row(mean.sums_of_products(wanted)) * scale
    truth_squared = _row(target.sums_of_products(wanted)) * scale**2
    mean_squared = _row(mean.sums_of_products(_measured(metric, mean)))
    # A sum over reports has the denominator of a mass once only.
    second_moment = second.whole()[:, 0] * (1 << mass_bits)
    errors = second_moment - 2 * mean_times_truth + truth_squared
    biases = mean_squared - 2 * mean_times_truth + truth_squared
    total = scale**2 * statement.unit**2
    if objective == "worst_case":
        achieved = Fraction(int(errors.max()), total)
    else:
        achieved = Fraction(
            int(statement.weights.whole @ errors), total * statement.weights.denominator
        )
    return DesignValue(achieved, Fraction(int(biases.max()), total), statement.spread)


def value_above(
    statement: Statement, channel: Float, left_inverse: Float, objective: str
) -> Fraction:
    """Value of an estimator, to compare designs; `UNBOUNDED` if it is biased by more than
    rounding.
    """
    value = value_of(statement, channel, left_inverse, objective)
    return value.achieved if value.is_unbiased else UNBOUNDED


def _measured(metric: Digits | None, columns: Digits) -> Digits:
    """Columns times the metric."""
    return columns if metric is None else metric @ columns


def _row(digits: Digits) -> Integers:
    """The only row of a matrix of one row, as Python integers."""
    return np.asarray(digits.whole()[0], dtype=object)


def with_first_row(left_inverse: Float) -> Float:
    """``X`` whose first row is the float nearest to 1 minus the others; shape ``(n, m)``."""
    completed = left_inverse.copy()
    completed[0] = [fsum([1.0, *others]) for others in (-left_inverse[1:].T).tolist()]
    return completed
