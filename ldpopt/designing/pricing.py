r"""Pricing: the cost of a column, ``g N g - slope g`` with its score vector ``g``, and columns with a larger cost.

The bound on all designs is divided by the largest cost. For staircase columns the cost is a quadratic form in the
indicator of a set, over the set's mass. `local_search` exchanges single answers, which finds costly sets but does not
prove that there are no others.
"""

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.design_bound import FormBound, subset_sums
from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.rays import Columns


@dataclass(frozen=True, eq=False)
class Price:
    """The cost ``g N g - slope g`` of a column ``v``, with ``g = v / (r.v) - 1``."""

    form: Float  # N, shape (n, n)
    slope: Float  # (n,)
    weights: Float  # r, shape (n,)

    def costs(self, columns: Columns) -> Float:
        """Cost of each column."""
        scores = columns.scores(self.weights)
        return np.asarray(np.einsum("ax,ax->a", scores @ self.form, scores) - scores @ self.slope)


@dataclass(frozen=True, eq=False)
class Priced:
    """The largest cost that pricing found, and the shapes of columns to add."""

    largest: float
    shapes: Float


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers in floats, before they are scaled and checked in rationals: ``S`` and the largest cost of a column.

    ``shift`` is the diagonal and ``inequalities`` are the multipliers by which a cost of more than 20 answers is proved
    (`design_bound_elliptope`).
    """

    weights: Float  # r, shape (n,)
    inverse: Float  # S over all answers, shape (n, n)
    value: float  # tr(S G_c)
    largest: float  # largest cost of a column
    slope: Float  # tilt of the allowed cost, shape (n,), summing to 0
    shift: Float | None = None  # (n + 1,)
    inequalities: Inequalities | None = None

    @property
    def bound(self) -> float:
        """Lower bound on the value of every design."""
        return self.value * (self.value / self.largest)

    def mean(self, other: "Dual") -> "Dual":
        """The mean of two sets of multipliers, scaled to the same cost; the largest cost of the mean is not known."""
        own, its = self.value / self.largest, other.value / other.largest
        return Dual(
            self.weights,
            (own * self.inverse + its * other.inverse) / 2,
            (own * self.value + its * other.value) / 2,
            np.inf,
            (own**2 * self.slope + its**2 * other.slope) / 2,
        )

    def price(self, gram: Float) -> Price:
        """The cost of a column that these multipliers give, with ``N = S^T G_c S``."""
        return Price(np.asarray(self.inverse.T @ gram @ self.inverse), self.slope, self.weights)

    def scaled_bound(self, margin: float) -> FormBound:
        """The multipliers with the best scale, if every cost is raised by a margin."""
        r, largest = self.weights, self.largest * (1 + margin)
        scale = self.value / largest
        # As a form of columns that are not centered.
        tilt = np.eye(len(r)) - np.outer(np.ones(len(r)), r)
        inverse = scale * (tilt.T @ self.inverse @ tilt)
        shift = None if self.shift is None else scale**2 * self.shift
        taken = None if self.inequalities is None else self.inequalities.times(scale**2)
        return FormBound(inverse, scale**2 * (largest * r + self.slope), shift, taken)


def local_search(
    price: Price, at_least: float, sets: Float, base: float, spread: float, *, steps: int | None = None
) -> Float:
    """Improve all sets at once: exchange the single answer that raises ``v N v - (y.v)(r.v)`` most, while any does."""
    form, linear, constant = _quadratic(price, at_least, base, spread)
    active, sets = np.arange(len(sets)), sets.copy()
    for _ in range(4 * sets.shape[1] if steps is None else steps):
        part = sets[active]
        gain = (1 - 2 * part) * (2 * part @ form + linear) + np.diag(form)
        place = gain.argmax(axis=1)
        better = gain[np.arange(len(active)), place] > 1e-12 * constant
        active, place = active[better], place[better]
        if not len(active):
            break
        sets[active, place] = 1 - sets[active, place]
    inside = sets.sum(axis=1)
    return np.unique(sets[(inside > 0) & (inside < sets.shape[1])], axis=0)


def _quadratic(price: Price, at_least: float, base: float, spread: float) -> tuple[Float, Float, float]:
    """``(cost - at_least) (r.v)^2`` in terms of the indicator: quadratic form, linear form, and their largest entry."""
    r, ones, n = price.weights, np.ones(len(price.weights)), len(price.weights)
    tilt = np.eye(n) - np.outer(ones, r)
    centered = spread**2 * (tilt.T @ price.form @ tilt)
    slope = spread * (price.slope - r * price.slope.sum())
    cross = np.outer(slope + at_least * spread * r, spread * r)
    form = centered - (cross + cross.T) / 2
    linear = -base * (slope + 2 * at_least * spread * r)
    return form, linear, float(np.abs(form).max() + np.abs(linear).max())


def costs_of_all_sets(price: Price, base: float, spread: float) -> Float:
    """Cost of the staircase column of every set; set ``A`` is at the number whose bits are the indicator of ``A``."""
    n = len(price.weights)
    half = n // 2
    low, high, form = all_sets(half), all_sets(n - half), price.form
    square = ((high @ (2 * form[half:, :half])) @ low.T) + np.einsum("ax,ax->a", low @ form[:half, :half], low)
    square += np.einsum("ax,ax->a", high @ form[half:, half:], high)[:, None]
    mass, ones = subset_sums(price.weights), form.sum(axis=0)
    square = square.ravel() - 2 * mass * subset_sums(ones) + mass**2 * ones.sum()
    scale = spread / (base + spread * mass)
    return np.asarray(scale * (scale * square - (subset_sums(price.slope) - mass * price.slope.sum())))


def all_sets(n: int) -> Float:
    """Indicators of all sets of ``n`` answers."""
    return indicators(np.arange(2**n), n)


def indicators(numbers: np.ndarray, n: int) -> Float:
    """Indicators of the sets whose bits these numbers are, one a row."""
    return np.asarray((numbers[:, None] >> np.arange(n)) & 1, dtype=np.float64)


def local_maxima(costs: Float, n: int) -> np.ndarray:
    """Whether no exchange of a single answer gives a larger cost, for every set."""
    is_largest = np.ones(len(costs), dtype=bool)
    for place in range(n):
        cube = costs.reshape(-1, 2, 2**place)
        is_largest &= (cube >= cube[:, ::-1]).reshape(-1)
    return is_largest
