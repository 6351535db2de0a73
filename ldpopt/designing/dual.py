"""What proves a bound, in floats: the matrix ``S`` with the largest cost that its columns have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.design_bound import FormBound
from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers before they are scaled and checked in rationals.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        ``r``.
    inverse : ndarray, shape (n, n)
        ``S`` over all answers.
    value : float
        ``tr(S G_c)``.
    largest : float
        Largest cost of a column.
    slope : ndarray, shape (n,)
        Tilt of the allowed cost, summing to 0.
    shift : ndarray, shape (n + 1,) or None
        Diagonal of the elliptope, where the cost is proved by it.
    inequalities : Inequalities or None
        Inequalities of sets, where the cost is proved with them.
    """

    weights: Float
    inverse: Float
    value: float
    largest: float
    slope: Float
    shift: Float | None = None
    inequalities: Inequalities | None = None

    @property
    def bound(self) -> float:
        """Lower bound on the value of every design."""
        return self.value * (self.value / self.largest)

    def mean(self, other: Dual) -> Dual:
        """Halfway between the two, scaled to the same cost; its own largest cost is not known."""
        own, its = self.value / self.largest, other.value / other.largest
        return Dual(
            self.weights,
            (own * self.inverse + its * other.inverse) / 2,
            (own * self.value + its * other.value) / 2,
            np.inf,
            (own**2 * self.slope + its**2 * other.slope) / 2,
        )

    def form(self, gram: Float) -> Float:
        """``N = S G_c S``."""
        return np.asarray(self.inverse.T @ gram @ self.inverse)

    def multipliers(self, margin: float) -> FormBound:
        """Scale ``S`` so that the bound is best, with every cost raised by a margin."""
        r, largest = self.weights, self.largest * (1 + margin)
        scale = self.value / largest
        # As a form of columns that are not centered.
        tilt = np.eye(len(r)) - np.outer(np.ones(len(r)), r)
        inverse = scale * (tilt.T @ self.inverse @ tilt)
        shift = None if self.shift is None else scale**2 * self.shift
        taken = None if self.inequalities is None else self.inequalities.times(scale**2)
        return FormBound(inverse, scale**2 * (largest * r + self.slope), shift, taken)
