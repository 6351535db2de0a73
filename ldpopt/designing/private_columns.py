"""The private columns of a notion: the staircases of pure privacy, or sums of extreme rays that are listed."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_bound import LISTED
from ldpopt.certificate.design_statement import is_pure
from ldpopt.designing.pricing import Price, Priced, all_sets, costs_of_all_sets, indicators, local_maxima, local_search
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy import PureLDP
from ldpopt.privacy.cones.rays import Columns, Rays, cone_ties, rays_of
from ldpopt.privacy.cones.vertices import Int

LEAST_RATIO = 2.0**-52  # smallest ratio of two entries of a column: masses are multiples of ``2**-53``
SEARCHED = 3000  # sets that the local search improves at a time
ALL_TAKEN = 400  # number of listed rays up to which all are initial columns


class Cone(Protocol):
    """Columns from which column generation chooses."""

    def initial(self, gram: Float) -> Columns:
        """Columns that span all directions."""
        ...

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """Search for columns that cost more than ``at_least``, at most ``most`` of them."""
        ...

    def is_symmetric(self, order: NDArray[np.int64]) -> bool:
        """Whether a permutation of the answers turns columns of the cone into columns of the cone."""
        ...


@dataclass(frozen=True)
class Staircases:
    """Columns with two values, ``1`` on a set and ``base = e**-epsilon`` elsewhere: extreme rays of pure privacy."""

    n: int
    base: float
    spread: float  # 1 - base

    def columns(self, sets: Float) -> Columns:
        """Columns of sets, given as indicators."""
        return Columns(np.asarray(sets, dtype=np.float64), self.base, self.spread)

    def is_symmetric(self, order: NDArray[np.int64]) -> bool:
        """True: all sets of answers are in the cone."""
        return True

    def initial(self, gram: Float) -> Columns:
        """All sets of few answers; else single answers, and thresholds of the order and of the leading directions."""
        if self.n <= 6:
            return self.columns(all_sets(self.n)[1:-1])
        one = np.eye(self.n)
        ramp = np.tril(np.ones((self.n, self.n)))[:-1]
        vectors = np.linalg.eigh(gram)[1][:, ::-1][:, : min(8, self.n)].T
        leading = self._thresholds(vectors, np.arange(1, self.n))
        sets = np.vstack([one, ramp, leading])
        return self.columns(np.unique(np.vstack([sets, 1 - sets]), axis=0))

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """All sets of at most 20 answers; of more answers those that a local search finds."""
        if self.n <= LISTED:
            costs = costs_of_all_sets(price, self.base, self.spread)
            found = np.flatnonzero(local_maxima(costs, self.n) & (costs > at_least))
            found = found[np.argsort(-costs[found])][:most]
            return Priced(float(costs.max()), indicators(found, self.n))
        sets = local_search(price, at_least, self._starts(price, known), self.base, self.spread)
        costs = price.costs(self.columns(sets))
        order = np.argsort(-costs)
        order = order[costs[order] > at_least][:most]
        return Priced(max(float(costs.max()), float(price.costs(known).max())), sets[order])

    def _starts(self, price: Price, known: Columns) -> Float:
        """The costliest columns known, thresholds of the leading directions of the price, and random sets of them."""
        best = known.shapes[np.argsort(-price.costs(known))[:SEARCHED]]
        vectors = np.linalg.eigh(price.form)[1][:, ::-1][:, :16].T
        leading = self._thresholds(vectors, np.linspace(0, self.n, 24)[1:-1])
        rng = np.random.default_rng(len(known))
        mixed = rng.standard_normal((SEARCHED // 4, len(vectors))) @ vectors
        return np.unique(np.vstack([best, leading, 1.0 - leading, mixed > 0]).astype(np.float64), axis=0)

    def _thresholds(self, vectors: Float, cuts: np.ndarray) -> Float:
        """Sets of the answers with the smallest entries of each vector, of all the sizes given."""
        ranks = np.argsort(np.argsort(vectors, axis=1), axis=1)
        return np.asarray((ranks[:, None, :] < cuts[None, :, None]).reshape(-1, self.n), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ListedRays:
    """A cone all of whose extreme rays are listed and priced."""

    rays: Rays

    @property
    def all(self) -> Columns:
        """The columns of all rays."""
        return self.rays.columns

    def initial(self, gram: Float) -> Columns:
        """All of few rays; else rays that sum to a constant, those highest and lowest at each answer, and some more."""
        if len(self.all) <= ALL_TAKEN:
            return self.all
        from scipy.optimize import nnls

        values = self.all.vectors
        constant = np.flatnonzero(nnls(values.T, np.ones(values.shape[1]))[0] > 0)
        over = values - values.mean(axis=1, keepdims=True)
        some = np.linspace(0, len(values) - 1, ALL_TAKEN // 2).astype(np.int64)
        chosen = np.unique(np.concatenate([constant, over.argmax(axis=0), over.argmin(axis=0), some]))
        return self.all.take(chosen)

    def price(self, price: Price, at_least: float, known: Columns, most: int) -> Priced:
        """Price every ray; the costliest ones are found."""
        costs = price.costs(self.all)
        found = np.flatnonzero(costs > at_least)
        found = found[np.argsort(-costs[found], kind="stable")][:most]
        return Priced(float(costs.max()), self.all.shapes[found])

    def is_symmetric(self, order: NDArray[np.int64]) -> bool:
        """Whether a permutation of the answers turns rays into rays."""
        return np.array_equal(np.unique(self.rays.below[:, order], axis=0), np.unique(self.rays.below, axis=0))


@dataclass(frozen=True, eq=False)
class PrivateColumns:
    """The private columns of a notion on answers of which no two count as one."""

    privacy: Any
    inputs: Sequence[Hashable]
    cone: Staircases | ListedRays

    @classmethod
    def of(
        cls, privacy: Any, inputs: Sequence[Hashable], classes: int, deadline: Deadline = NO_LIMIT
    ) -> "PrivateColumns":
        """Cone of a notion; under pure privacy that of so many classes of answers."""
        if not is_pure(privacy, inputs):
            return cls(privacy, inputs, ListedRays(rays_of(privacy, inputs, deadline=deadline)))
        plain = PureLDP(privacy.epsilon)
        base = max(float(np.exp(-plain.epsilon)), LEAST_RATIO)
        return cls(plain, range(classes), Staircases(classes, base, float(-np.expm1(-plain.epsilon))))

    @property
    def rays(self) -> Rays | None:
        """All extreme rays, if they are listed."""
        return self.cone.rays if isinstance(self.cone, ListedRays) else None

    @property
    def response(self) -> Columns:
        """Columns of a randomized response that is private; for listed rays they are not rays."""
        if isinstance(self.cone, ListedRays):
            return Columns(self.cone.rays.response, self.cone.all.base, self.cone.all.spread)
        return self.cone.columns(np.eye(self.cone.n))

    @property
    def ties(self) -> tuple[Int, Int, Float]:
        """Pairs ``x, z`` with ``c_x <= e**nats c_z``, and these nats."""
        ties = cone_ties(self.privacy, self.inputs)
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        return first, second, float(ties.budget) * distance
