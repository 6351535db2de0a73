"""The statement that a bound for designs is about: workload and weights in integers, and the private columns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.integers import Digits, Rationals, fraction_bits
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.rays import Rays, cone_ties, rays_of

BASE_BITS = 96  # bits of ``e**-epsilon``, rounded down, in a proof


@dataclass(frozen=True, eq=False)
class AnswerClasses:
    """Classes of answers with equal columns of the workload, of which each counts as one answer.

    Nothing is lost: averaging the rows of such answers keeps a channel private, its estimator unbiased, and the average
    variance. Example: a workload with the only row ``1, 0, 1`` has the classes ``0, 1, 0``.
    """

    first: NDArray[np.int64]  # one answer of each class, ascending, shape (c,)
    classes: NDArray[np.int64]  # class of every answer, shape (n,)

    @classmethod
    def of(cls, matrix: Float) -> "AnswerClasses":
        """Find the classes of a workload's matrix."""
        _, first, classes = np.unique(matrix.T + 0.0, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.argsort(order)
        return cls(first[order].astype(np.int64), rank[classes.ravel()].astype(np.int64))

    @classmethod
    def under(cls, privacy: Any, matrix: Float, inputs: Sequence[Hashable]) -> "AnswerClasses":
        """Those classes under pure privacy; under other notions every answer has a class of its own."""
        # There the average of two rows may break a tie with a third.
        everyone = np.arange(len(inputs))
        return cls.of(matrix) if is_pure(privacy, inputs) else cls(everyone, everyone)


def is_pure(privacy: Any, inputs: Sequence[Hashable]) -> bool:
    """Whether all answers are tied to each other at distance 1."""
    ties = cone_ties(privacy, inputs)
    return ties.is_complete and ties.distance is None


@dataclass(frozen=True, eq=False)
class Statement:
    """Workload and weights in integers. A constant added to a row of the workload changes nothing."""

    rows: Digits  # columns of the workload less the first one, shape (k, n), times `unit`
    unit: int  # a power of two
    weights: Rationals  # r, summing to exactly 1

    @classmethod
    def of(cls, matrix: Float, weights: Float, merged: AnswerClasses | None = None) -> "Statement":
        """Read a workload and weights, which are divided by their exact sum, for all answers or classes of them."""
        chosen = matrix if merged is None else matrix[:, merged.first]
        bits = fraction_bits(chosen)
        rows, share = Digits.read(chosen, bits), Rationals.of(weights).whole
        if merged is not None:
            single, share = share, np.zeros(len(merged.first), dtype=object)
            np.add.at(share, merged.classes, single)
        share = share // gcd(*share.tolist())
        return cls(rows - rows.columns(slice(1)), 1 << bits, Rationals(share, int(share.sum())))

    @cached_property
    def centered(self) -> Digits:
        """``G_c`` times `scale`: Gram matrix of the workload less its average over the weights."""
        total, share = self.weights.denominator, Digits.of(self.weights.whole[:, None])
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
        square = int(mean.sums_of_products(mean).whole()[0, 0])
        return Fraction(int(r @ squares) * total - square, self.scale)


Cone = Fraction | Rays  # the private columns: ``e**-epsilon`` rounded down for pure privacy, else all extreme rays


def cone_of(privacy: Any, inputs: Sequence[Hashable]) -> Cone:
    """Private columns of a notion, for a proof."""
    return least_ratio(budget_of(privacy, inputs)) if is_pure(privacy, inputs) else rays_of(privacy, inputs)


def budget_of(privacy: Any, inputs: Sequence[Hashable]) -> Budget:
    """Epsilon of a notion whose columns form a cone."""
    return cone_ties(privacy, inputs).budget


def least_ratio(epsilon: Budget) -> Fraction:
    """``e**-epsilon`` rounded down to a short rational: a bound for a smaller ratio holds for this one too."""
    smallest = 1 / epsilon.enclosure()[1]
    bits = BASE_BITS + max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())
    return Fraction(smallest.numerator * 2**bits // smallest.denominator, 2**bits)
