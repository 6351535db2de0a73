r"""Pricing: which column of the cone breaks the bound most.

A column costs ``g N g - slope g``; the bound is divided by the largest cost. For staircase columns that is a quadratic
form in the indicator of a set over its mass: up to 20 answers all sets are listed, beyond that sets are improved by
exchanging single answers, which finds good columns but proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

LISTED = 20
"""Most answers whose sets are all priced."""

WALKS = 3000
"""Sets that are improved at a time by the search."""


@dataclass(frozen=True, eq=False)
class Price:
    """Forms that price a column, over all answers: ``g N g - slope g`` with ``g = v / (r.v) - 1``."""

    form: Float
    slope: Float
    weights: Float

    def of(self, columns: Columns) -> Float:
        """Cost of each column."""
        said = columns.said(self.weights)
        return np.asarray(np.einsum("ax,ax->a", said @ self.form, said) - said @ self.slope)


@dataclass(frozen=True, eq=False)
class Priced:
    """What pricing found: the largest cost, whether no column can exceed it, and columns worth adding."""

    largest: float
    is_proved: bool
    shapes: Float


class Cone(Protocol):
    """The columns that a notion allows."""

    def first(self, gram: Float) -> Columns:
        """Columns to begin with, which span all directions."""
        ...

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """Search for columns that cost more than ``at_least``, at most ``most`` of them."""
        ...

    def keeps(self, order: NDArray[np.int64]) -> bool:
        """Whether a permutation of the answers turns columns into columns."""
        ...


@dataclass(frozen=True)
class Staircases:
    """Columns with two values, ``1`` on a set and ``e**-epsilon`` off it: the extreme rays of pure privacy."""

    n: int
    base: float
    spread: float

    def columns(self, sets: Float) -> Columns:
        """Columns of sets, given as indicators."""
        return Columns(np.asarray(sets, dtype=np.float64), self.base, self.spread)

    def keeps(self, order: NDArray[np.int64]) -> bool:
        """Every permutation does."""
        return True

    def first(self, gram: Float) -> Columns:
        """All sets of few answers; else single answers, thresholds of the order and of the leading directions."""
        if self.n <= 6:
            return self.columns(_subsets(self.n)[1:-1])
        one = np.eye(self.n)
        ramp = np.tril(np.ones((self.n, self.n)))[:-1]
        vectors = np.linalg.eigh(gram)[1][:, ::-1][:, : min(8, self.n)].T
        ranks = np.argsort(np.argsort(vectors, axis=1), axis=1)
        leading = (ranks[:, None, :] < np.arange(1, self.n)[None, :, None]).reshape(-1, self.n)
        sets = np.vstack([one, ramp, leading.astype(np.float64)])
        return self.columns(np.unique(np.vstack([sets, 1 - sets]), axis=0))

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """List all sets where they are few enough, else search."""
        if self.n <= LISTED:
            return self._listed(price, at_least, most)
        return self._searched(price, at_least, known, most)

    def _listed(self, price: Price, at_least: float, most: int) -> Priced:
        square, line, mass = _sums(price)
        scale = self.spread / (self.base + self.spread * mass)
        ones = price.form.sum(axis=0)
        through = subset_sums(ones)
        square = square - 2 * mass * through + mass**2 * ones.sum()
        cost = scale * (scale * square - (line - mass * price.slope.sum()))
        largest = float(cost.max())
        peaks = np.flatnonzero(_is_peak(cost, self.n) & (cost > at_least))
        peaks = peaks[np.argsort(-cost[peaks])][:most]
        return Priced(largest, True, indicators(peaks, self.n))

    def _searched(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        sets = climb(price, at_least, self._starts(price, known), self.base, self.spread)
        columns = self.columns(sets)
        cost = price.of(columns)
        order = np.argsort(-cost)
        order = order[cost[order] > at_least][:most]
        largest = max(float(cost.max()), float(price.of(known).max()))
        return Priced(largest, False, sets[order])

    def _starts(self, price: Price, known: Columns) -> Float:
        cost = price.of(known)
        best = known.shapes[np.argsort(-cost)[:WALKS]]
        vectors = np.linalg.eigh(price.form)[1][:, ::-1][:, :16].T
        ranks = np.argsort(np.argsort(vectors, axis=1), axis=1)
        cuts = np.linspace(0, self.n, 24)[1:-1]
        leading = (ranks[:, None, :] < cuts[None, :, None]).reshape(-1, self.n)
        rng = np.random.default_rng(len(known))
        mixed = rng.standard_normal((WALKS // 4, len(vectors))) @ vectors
        return np.unique(np.vstack([best, leading, 1.0 - leading, mixed > 0]).astype(np.float64), axis=0)


def climb(price: Price, at_least: float, sets: Float, base: float, spread: float, *, steps: int | None = None) -> Float:
    """Exchange single answers while that raises ``v N v - (y.v)(r.v)``, at most ``steps``; all sets at once."""
    form, linear, constant = quadratic(price, at_least, base, spread)
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


def quadratic(price: Price, at_least: float, base: float, spread: float) -> tuple[Float, Float, float]:
    """``(cost - at_least) (r.v)^2`` as a form of the indicator: square part, linear part, and its scale."""
    r, ones, n = price.weights, np.ones(len(price.weights)), len(price.weights)
    tilt = np.eye(n) - np.outer(ones, r)
    centered = spread**2 * (tilt.T @ price.form @ tilt)
    slope = spread * (price.slope - r * price.slope.sum())
    cross = np.outer(slope + at_least * spread * r, spread * r)
    form = centered - (cross + cross.T) / 2
    linear = -base * (slope + 2 * at_least * spread * r)
    return form, linear, float(np.abs(form).max() + np.abs(linear).max())


def _sums(price: Price) -> tuple[Float, Float, Float]:
    """Square form, slope and weight of every set, in the order of `indicators`."""
    n = len(price.weights)
    half = n // 2
    low, high = _subsets(half), _subsets(n - half)
    form = price.form
    square = ((high @ (2 * form[half:, :half])) @ low.T) + np.einsum("ax,ax->a", low @ form[:half, :half], low)
    square += np.einsum("ax,ax->a", high @ form[half:, half:], high)[:, None]
    return square.ravel(), subset_sums(price.slope), subset_sums(price.weights)


def subset_sums(values: Float) -> Float:
    """Sum of the values in every set; set ``A`` stands at the number with the bits of ``A``."""
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _subsets(n: int) -> Float:
    return indicators(np.arange(2**n), n)


def indicators(numbers: np.ndarray, n: int) -> Float:
    """Sets of the numbers with their bits, as rows of 0 and 1."""
    return np.asarray((numbers[:, None] >> np.arange(n)) & 1, dtype=np.float64)


def _is_peak(cost: Float, n: int) -> np.ndarray:
    """Whether no exchange of a single answer costs more."""
    peak = np.ones(len(cost), dtype=bool)
    for place in range(n):
        cube = cost.reshape(-1, 2, 2**place)
        peak &= (cube >= cube[:, ::-1]).reshape(-1)
    return peak
