r"""The private columns of a notion, and their prices: staircases of pure privacy, or sums of listed
extreme rays.

The cost of a column with the score vector ``g`` is ``g N g - slope g``; the bound on all designs is
divided by the largest cost. `local_search` finds costly sets, but does not prove that there are no
others.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_bound import LISTED, FormBound, least_by_half, subset_sums
from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.certificate.design_statement import is_pure
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy import PureLDP
from ldpopt.privacy.cones.columns import Columns, RayList
from ldpopt.privacy.cones.rays import cone_comparisons, rays_of, tied_cone

# smallest ratio of two entries of a column: masses are multiples of ``2**-53``
LEAST_RATIO = 2.0**-52
PRICED = 20  # largest number of answers all of whose sets are priced at once
ROUNDING = 1e-12  # share of a cost by which floats may be wrong
SECONDS = 3e-9  # to price one of more sets than are priced at once, or to prove it
LEAST_GAIN = 1e-12  # smallest gain of an exchange, as a share of the largest coefficient
TOGETHER = 4_000_000  # gains of pairs that are computed at once
CACHED = 1 << 14  # costs that are computed at once: 128 KB, which stay in the cache
SEARCHED = 3000  # sets that the local search improves at a time
ALL_TAKEN = 400  # number of listed rays up to which all are initial columns


@dataclass(frozen=True, eq=False)
class Price:
    """The cost ``g N g - slope g`` of a column ``v``, with ``g = v / (r.v) - 1``.

    This is the sensitivity function of optimal design: the rate at which the value falls if some
    probability moves to the column. At an optimum it is the same for all columns in use, and at
    most that for all others; the slope accounts for the equation ``sum q g = 0``.
    """

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
    """Multipliers in floats, before they are scaled and checked in rationals.

    For every design with information ``M`` and every symmetric ``S``,

    .. code-block:: text

        tr(G M^-1) >= 2 tr(G S) - tr(S G S M),

    because the difference is ``tr(G (M^-1 - S) M (M^-1 - S))``. The last term is a mean of costs
    ``g N g``, hence at most the largest cost of a column. With the best multiple of ``S`` this
    is the bound ``value**2 / largest``, for any ``S``; it is tight for the inverse information of
    an optimal design. So any point of a search gives a bound as soon as all columns are priced.
    """

    weights: Float  # r, shape (n,)
    inverse: Float  # S over all answers, shape (n, n)
    value: float  # tr(S G_c)
    largest: float  # largest cost of a column
    slope: Float  # tilt of the allowed cost, shape (n,), summing to 0
    # (n + 1,): diagonal of the proof for more than 20 answers, `design_bound_elliptope`
    shift: Float | None = None
    inequalities: Inequalities | None = None  # multipliers of the same proof

    @property
    def bound(self) -> float:
        """Lower bound on the value of every design."""
        return self.value * (self.value / self.largest)

    def mean(self, other: "Dual") -> "Dual":
        """The mean of two sets of multipliers, scaled to the same cost; the largest cost of the
        mean is not known.
        """
        first = self.value / self.largest
        second = other.value / other.largest
        inverse = (first * self.inverse + second * other.inverse) / 2
        value = (first * self.value + second * other.value) / 2
        return Dual(
            self.weights,
            inverse,
            value,
            np.inf,
            (first**2 * self.slope + second**2 * other.slope) / 2,
        )

    def price(self, gram: Float) -> Price:
        """The cost of a column that these multipliers give, with ``N = S^T G_c S``."""
        return Price(np.asarray(self.inverse.T @ gram @ self.inverse), self.slope, self.weights)

    def scaled_bound(self, margin: float) -> FormBound:
        """The multipliers with the best scale, if every cost is raised by a margin."""
        r = self.weights
        largest = self.largest * (1 + margin)
        scale = self.value / largest
        # as a form of columns that are not centered
        tilt = np.eye(len(r)) - np.outer(np.ones(len(r)), r)
        inverse = scale * (tilt.T @ self.inverse @ tilt)
        shift = None if self.shift is None else scale**2 * self.shift
        taken = None if self.inequalities is None else self.inequalities.times(scale**2)
        return FormBound(inverse, scale**2 * (largest * r + self.slope), shift, taken)


def local_search(price: Price, at_least: float, sets: Float, base: float, spread: float) -> Float:
    """Improve all sets at once: exchange the single answer that raises ``v N v - (y.v)(r.v)`` most,
    while any does.
    """
    return _proper(_improved(_quadratic(price, at_least, base, spread), sets, 4 * sets.shape[1]))


def neighbors(
    price: Price, at_least: float, sets: Float, base: float, spread: float, *, pairs: bool
) -> Float:
    """The sets after the exchange of the one answer, or of the two, that raises the same value
    most.
    """
    quadratic = _quadratic(price, at_least, base, spread)
    exchanged = _by_pairs(quadratic, sets)[0] if pairs else _improved(quadratic, sets, 1)
    return _proper(np.unique(exchanged, axis=0))


def search_by_pairs(
    price: Price, at_least: float, sets: Float, base: float, spread: float
) -> Float:
    """The same, followed by exchanges of the best two answers, while these raise the value."""
    quadratic = _quadratic(price, at_least, base, spread)
    most = 4 * sets.shape[1]
    ends = []
    sets = _improved(quadratic, sets, most)
    while len(sets):
        exchanged, is_end = _by_pairs(quadratic, sets)
        ends.append(sets[is_end])
        sets = _improved(quadratic, exchanged[~is_end], most)
    return _proper(np.unique(np.vstack(ends), axis=0))


def _improved(quadratic: tuple[Float, Float, float], sets: Float, steps: int) -> Float:
    """Distinct sets after at most ``steps`` exchanges of the answer whose exchange raises the value
    most.
    """
    form, linear, constant = quadratic
    active = np.arange(len(sets))
    sets = sets.copy()
    for _ in range(steps):
        part = sets[active]
        gain = (1 - 2 * part) * (2 * part @ form + linear) + np.diag(form)
        place = gain.argmax(axis=1)
        better = gain[np.arange(len(active)), place] > LEAST_GAIN * constant
        active = active[better]
        place = place[better]
        if not len(active):
            break
        sets[active, place] = 1 - sets[active, place]
    return np.unique(sets, axis=0)


def _by_pairs(
    quadratic: tuple[Float, Float, float], sets: Float
) -> tuple[Float, NDArray[np.bool_]]:
    """Sets after the exchange of the best two answers, and which have not changed, because no
    exchange raises them.
    """
    parts = np.array_split(sets, 1 + sets.size * sets.shape[1] // TOGETHER)
    pairs = np.concatenate([_best_pairs(quadratic, part) for part in parts])
    exchanged = sets.copy()
    is_end = pairs[:, 0] == pairs[:, 1]
    rows = np.arange(len(sets))[:, None]
    exchanged[rows, pairs] = 1 - exchanged[rows, pairs]
    return np.where(is_end[:, None], sets, exchanged), is_end


def _best_pairs(quadratic: tuple[Float, Float, float], sets: Float) -> Int:
    """The two answers whose exchange raises the value of each set most; twice the same if none
    does.
    """
    form, linear, constant = quadratic
    n = len(form)
    turn = 1 - 2 * sets
    single = turn * (2 * sets @ form + linear) + np.diag(form)
    gain = single[:, :, None] + single[:, None, :] + 2 * turn[:, :, None] * turn[:, None, :] * form
    gain[:, np.arange(n), np.arange(n)] = LEAST_GAIN * constant
    return np.stack(np.divmod(gain.reshape(len(sets), -1).argmax(axis=1), n), axis=1)


def _proper(sets: Float) -> Float:
    """The sets that are neither empty nor full."""
    inside = sets.sum(axis=1)
    return np.asarray(sets[(inside > 0) & (inside < sets.shape[1])])


def _quadratic(
    price: Price, at_least: float, base: float, spread: float
) -> tuple[Float, Float, float]:
    """``(cost - at_least) (r.v)^2`` of a set's indicator: two forms, and the sum of their largest
    entries.
    """
    r = price.weights
    ones = np.ones(len(price.weights))
    n = len(price.weights)
    tilt = np.eye(n) - np.outer(ones, r)
    centered = spread**2 * (tilt.T @ price.form @ tilt)
    slope = spread * (price.slope - r * price.slope.sum())
    cross = np.outer(slope + at_least * spread * r, spread * r)
    form = centered - (cross + cross.T) / 2
    linear = -base * (slope + 2 * at_least * spread * r)
    return form, linear, float(np.abs(form).max() + np.abs(linear).max())


def costs_of_all_sets(price: Price, base: float, spread: float) -> Float:
    """Cost of the staircase column of every set; set ``A`` is at the number whose bits are the
    indicator of ``A``.
    """
    n = len(price.weights)
    half = n // 2
    low = all_sets(half)
    high = all_sets(n - half)
    form, linear, _ = _quadratic(price, 0.0, base, spread)
    low_square = np.einsum("ax,ax->a", low @ form[:half, :half] + linear[:half], low)
    high_square = np.einsum("ax,ax->a", high @ form[half:, half:] + linear[half:], high)
    cross = high @ (2 * form[half:, :half])
    low_mass = base + spread * subset_sums(price.weights[:half])
    high_mass = spread * subset_sums(price.weights[half:])
    costs = np.empty((len(high), len(low)))
    rows = max(1, CACHED // len(low))
    for start in range(0, len(high), rows):
        block = slice(start, start + rows)
        part = np.matmul(cross[block], low.T, out=costs[block])
        part += low_square
        part += high_square[block, None]
        part /= (low_mass + high_mass[block, None]) ** 2
    return costs.ravel()


def all_sets(n: int) -> Float:
    """Indicators of all sets of ``n`` answers."""
    return indicators(np.arange(2**n), n)


def indicators(numbers: np.ndarray, n: int) -> Float:
    """Indicators of the sets whose bits these numbers are, one a row."""
    return np.asarray((numbers[:, None] >> np.arange(n)) & 1, dtype=np.float64)


def local_maxima(costs: Float, n: int, at_least: float) -> Int:
    """Numbers of the sets that cost more than ``at_least``, and no less than after the exchange of
    any one answer.
    """
    places = np.flatnonzero(costs > at_least)
    for place in range(n):
        places = places[costs[places] >= costs[places ^ (1 << place)]]
    return places


@dataclass(frozen=True)
class Staircases:
    """Columns with two values, ``1`` on a set and ``base = e**-epsilon`` elsewhere.

    These are the extreme rays of pure privacy, so that some optimal design has no other columns
    (Kairouz, Oh and Viswanath 2016). There are ``2**n - 2`` of them: up to 20 answers all are
    priced at once, as a quadratic function of the indicator; beyond, a local search finds costly
    ones, and only `costlier` can say that there are no others.
    """

    n: int
    base: float
    spread: float  # 1 - base

    def columns(self, sets: Float) -> Columns:
        """Columns of sets, given as indicators."""
        return Columns(np.asarray(sets, dtype=np.float64), self.base, self.spread)

    def is_symmetric(self, order: Int) -> bool:
        """True: all sets of answers are in the cone."""
        return True

    def initial(self, gram: Float) -> Columns:
        """All sets of few answers; else single answers, and thresholds of the order and of the
        leading directions.
        """
        if self.n <= 6:
            return self.columns(all_sets(self.n)[1:-1])
        singles = np.eye(self.n)
        ramp = np.tril(np.ones((self.n, self.n)))[:-1]
        leading = self._thresholds(
            np.linalg.eigh(gram)[1][:, ::-1][:, : min(8, self.n)].T, np.arange(1, self.n)
        )
        sets = np.vstack([singles, ramp, leading])
        return self.columns(np.unique(np.vstack([sets, 1 - sets]), axis=0))

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """All sets of at most 20 answers; of more answers those that a local search finds."""
        if self.n <= PRICED:
            costs = costs_of_all_sets(price, self.base, self.spread)
            places = local_maxima(costs, self.n, at_least)
            places = places[np.argsort(-costs[places])][:most]
            return Priced(float(costs.max()), indicators(places, self.n))
        sets = search_by_pairs(price, at_least, self._starts(price, known), self.base, self.spread)
        costs = price.costs(self.columns(sets))
        order = np.argsort(-costs)
        order = order[costs[order] > at_least][:most]
        return Priced(float(max(costs.max(initial=0.0), price.costs(known).max())), sets[order])

    @property
    def listing_seconds(self) -> float:
        """Seconds in which all sets are priced or proved once, if they are too many for each
        pricing.
        """
        return SECONDS * 2.0**self.n if PRICED < self.n <= LISTED else 0.0

    def costlier(self, price: Price, at_least: float, most: int) -> Float:
        """The costliest sets above the largest cost that a local search found; none only if there
        are none.
        """
        if not PRICED < self.n <= LISTED:
            return np.zeros((0, self.n))
        form, linear, _ = _quadratic(price, at_least, self.base, self.spread)
        costs = -np.triu(2 * form, 1) - np.diag(linear + np.diag(form))
        values, numbers = least_by_half(self.base**2 * at_least, costs)
        places = np.flatnonzero(values < -ROUNDING * at_least)
        return indicators(numbers[places[np.argsort(values[places])[:most]]], self.n)

    def _starts(self, price: Price, known: Columns) -> Float:
        """The costliest columns known, thresholds of the leading directions of the price, and
        random sets of them.
        """
        best = known.shapes[np.argsort(-price.costs(known))[:SEARCHED]]
        vectors = np.linalg.eigh(price.form)[1][:, ::-1][:, :16].T
        leading = self._thresholds(vectors, np.linspace(0, self.n, 24)[1:-1])
        mixed = (
            np.random.default_rng(len(known)).standard_normal((SEARCHED // 4, len(vectors)))
            @ vectors
        )
        return np.unique(
            np.vstack([best, leading, 1.0 - leading, mixed > 0]).astype(np.float64), axis=0
        )

    def _thresholds(self, vectors: Float, cuts: np.ndarray) -> Float:
        """Sets of the answers with the smallest entries of each vector, of all the sizes given."""
        ranks = np.argsort(np.argsort(vectors, axis=1), axis=1)
        return np.asarray(
            (ranks[:, None, :] < cuts[None, :, None]).reshape(-1, self.n), dtype=np.float64
        )


@dataclass(frozen=True, eq=False)
class ListedRays:
    """A cone all of whose extreme rays are listed and priced.

    Other notions than pure privacy have no formula for their rays; the list comes from
    `ldpopt.privacy.cones`. Columns are kept in the form of staircases, as shapes from 0
    to 1 above a base, so that both kinds of cones have the same scores and costs.
    """

    rays: RayList
    listing_seconds: ClassVar[float] = 0.0  # every pricing has all rays

    @property
    def all(self) -> Columns:
        """The columns of all rays."""
        return self.rays.columns

    def initial(self, gram: Float) -> Columns:
        """All of few rays; else rays that sum to a constant, those highest and lowest at each
        answer, and some more.
        """
        if len(self.all) <= ALL_TAKEN:
            return self.all
        from scipy.optimize import nnls

        values = self.all.vectors
        constant = np.flatnonzero(nnls(values.T, np.ones(values.shape[1]))[0] > 0)
        over = values - values.mean(axis=1, keepdims=True)
        some = np.linspace(0, len(values) - 1, ALL_TAKEN // 2).astype(np.int64)
        return self.all.take(
            np.unique(np.concatenate([constant, over.argmax(axis=0), over.argmin(axis=0), some]))
        )

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """Price every ray; the costliest ones are found."""
        costs = price.costs(self.all)
        places = np.flatnonzero(costs > at_least)
        places = places[np.argsort(-costs[places], kind="stable")][:most]
        return Priced(float(costs.max()), self.all.shapes[places])

    def costlier(self, price: Price, at_least: float, most: int) -> Float:
        """No shapes: `price` finds the costliest ray."""
        return self.all.shapes[:0]

    def is_symmetric(self, order: Int) -> bool:
        """Whether a permutation of the answers turns rays into rays."""
        return self.rays.is_symmetric(order)


Cone = Staircases | ListedRays
"""Columns from which column generation chooses: initial ones, and costly ones by `price`."""


@dataclass(frozen=True, eq=False)
class PrivateColumns:
    """The private columns of a notion on answers of which no two count as one."""

    privacy: Any
    inputs: Names
    cone: Cone

    @classmethod
    def of(cls, privacy: Any, inputs: Names, classes: int, deadline: Deadline = NO_LIMIT) -> Self:
        """Cone of a notion; under pure privacy that of so many classes of answers."""
        if not is_pure(privacy, inputs):
            return cls(privacy, inputs, ListedRays(rays_of(privacy, inputs, deadline=deadline)))
        plain = PureLDP(privacy.epsilon)
        base = max(float(np.exp(-plain.epsilon)), LEAST_RATIO)
        return cls(
            plain, range(classes), Staircases(classes, base, float(-np.expm1(-plain.epsilon)))
        )

    @property
    def rays(self) -> RayList | None:
        """All extreme rays, if they are listed."""
        return self.cone.rays if isinstance(self.cone, ListedRays) else None

    @property
    def response(self) -> Columns:
        """Columns of a randomized response that is private; for listed rays they are not rays."""
        if isinstance(self.cone, ListedRays):
            return Columns(self.cone.rays.response, self.cone.all.base, self.cone.all.spread)
        return self.cone.columns(np.eye(self.cone.n))

    @cached_property
    def conditions(self) -> Float:
        """Rows ``(u - v / a) / (1 - 1 / a)``, shape (k, n), that are not negative at a private
        column, and 1 at the constant 1.
        """
        n = len(self.inputs)
        ties = tied_cone(self.privacy, self.inputs)
        if ties is None:
            return cone_comparisons(self.privacy, self.inputs).conditions
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        nats = float(ties.budget) * distance
        rows = np.zeros((len(first), n))
        rows[np.arange(len(first)), second] = 1.0
        rows[np.arange(len(first)), first] = -np.exp(-nats)
        return np.asarray(rows / -np.expm1(-nats)[:, None])

    @cached_property
    def has_units(self) -> bool:
        """Whether some reports may be of one answer alone, and no condition is about them."""
        ties = tied_cone(self.privacy, self.inputs)
        return ties is None and bool(cone_comparisons(self.privacy, self.inputs).units)
