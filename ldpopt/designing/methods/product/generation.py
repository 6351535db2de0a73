"""Designs for product alphabets: columns of sets with all their images, priced in the reduced program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.images import generators, lifted, orbit, placements
from ldpopt.designing.methods.product.program import solve_reduced
from ldpopt.designing.methods.product.sets import LISTED, masks, spaces
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float

POINTS = 64
"""Most combinations of attributes that a set may depend on, more where the workload itself asks for more."""

ENTRIES = 4_000_000
"""Most entries of a channel."""

ROUNDS = 60
"""Limit on rounds of pricing."""

ADDED = 6
"""Sets that are added from each space in a round."""

SEARCHES = 4
"""Rounds in which sets of many combinations are sought."""

USED = 1e-9
"""Probability below which a set is left out."""


@dataclass(frozen=True, eq=False)
class Orbits:
    """Sets with all their images.

    Attributes
    ----------
    images : list of ndarray, shape (images, n)
        Indicators.
    q : ndarray
        Probability of each orbit.
    rounds : int
        Of pricing.
    """

    images: list[Float]
    q: Float
    rounds: int


class Reduced:
    """A workload whose Gram matrix has given eigenvalues over the sets of attributes.

    Parameters
    ----------
    scheme : Scheme
        The alphabet.
    eigenvalues : ndarray, shape (2,) * d
        Of the Gram matrix; that of the constant does not count.
    base, spread : float
        ``e**-epsilon`` and ``1 - e**-epsilon``.
    """

    def __init__(self, scheme: Scheme, eigenvalues: Float, base: float, spread: float) -> None:
        self.scheme, self.base, self.spread = scheme, base, spread
        self.classes = scheme.interchangeable(eigenvalues)
        flat = eigenvalues.ravel().copy()
        flat[0] = 0.0
        flat[flat <= 1e-12 * flat.max()] = 0.0
        d = len(scheme.sizes)
        bits = (np.arange(2**d)[:, None] >> np.arange(d)[::-1]) & 1
        counted = np.array([[row[np.array(self.classes) == kind].sum() for kind in set(self.classes)] for row in bits])
        wanted = np.flatnonzero(flat > 0)
        types, place = np.unique(counted[wanted], axis=0, return_inverse=True)
        self.type_of = np.full(2**d, len(types))
        self.type_of[wanted] = place.ravel()
        ranks = np.bincount(place.ravel(), weights=scheme.ranks.ravel()[wanted])
        first = wanted[np.unique(place.ravel(), return_index=True)[1]]
        self.cost = flat[first] * ranks**2
        largest = max(np.prod(np.array(scheme.sizes)[bits[mask] == 1]) for mask in wanted)
        self.spaces = spaces(scheme.sizes, self.classes, int(max(POINTS, largest)))
        self.own = [self.type_of[masks(space, d)] for space in self.spaces]
        self.most = ENTRIES // scheme.n
        self.orbits: dict[tuple[int, bytes], Float | None] = {}

    def generate(self, gap: float, deadline: Deadline = NO_LIMIT) -> Orbits | None:
        """Find the best sets; None if no set with few enough images makes the workload estimable."""
        keys, told = self._first()
        if (told.max(axis=0, initial=0.0) == 0).any():
            return None
        searches, rounds = 0, 0
        while rounds < ROUNDS:
            rounds += 1
            q, value = solve_reduced(np.asarray(self.cost, dtype=np.float64), told, gap / 10)
            prices = self.cost / (q @ told) ** 2
            more = self._dearest(prices, value * (1 + gap / 4))
            if not len(more[0]) and searches < SEARCHES:
                searches += 1
                self._search(prices, value, [keys[a] for a in np.flatnonzero(q > USED)])
                more = self._dearest(prices, value * (1 + gap / 4))
            known = {*keys}
            fresh = [a for a, key in enumerate(more[0]) if key not in known]
            if (not fresh and searches == SEARCHES) or deadline.is_over:
                break
            keys, told = self._more(keys, told, [more[0][a] for a in fresh], np.asarray(more[1][fresh]))
        return self._orbits(keys[: len(q)], self._fewest(keys, told[: len(q)], q), rounds)

    def _fewest(self, keys: list[tuple[int, bytes]], told: Float, q: Float) -> Float:
        """Probabilities of the sets with the fewest images that tell as much: one more than there are types."""
        from scipy.optimize import linprog

        sizes = []
        for key in keys[: len(q)]:
            images = self._images(key)
            assert images is not None
            sizes.append(len(images) * len(placements(self.spaces[key[0]].places, self.classes)))
        scale = q @ told
        found = linprog(sizes, A_ub=-(told / scale).T, b_ub=-np.ones(len(scale)), A_eq=np.ones((1, len(q))), b_eq=[1.0])
        return np.asarray(found.x) if found.status == 0 else q

    def _first(self) -> tuple[list[tuple[int, bytes]], Float]:
        """Sets that together tell all that is wanted, if there are any."""
        prices = 1 / np.sqrt(self.cost)
        keys, told = self._dearest(prices, 0.0)
        for place in np.flatnonzero(told.max(axis=0, initial=0.0) == 0):
            one = np.eye(len(self.cost))[place]
            self._search(one, 0.0, [])
            keys, told = self._more(keys, told, *self._dearest(one, 0.0))
        return keys, told

    def _more(
        self, keys: list[tuple[int, bytes]], told: Float, others: list[tuple[int, bytes]], also: Float
    ) -> tuple[list[tuple[int, bytes]], Float]:
        return keys + others, np.asarray(np.vstack([told, also]), dtype=np.float64)

    def _dearest(self, prices: Float, least: float) -> tuple[list[tuple[int, bytes]], Float]:
        """Sets that cost more than ``least``, the dearest of each space; what they tell of each type."""
        keys: list[tuple[int, bytes]] = []
        told: list[Float] = []
        padded = np.append(prices, 0.0)
        for place, (space, own) in enumerate(zip(self.spaces, self.own, strict=True)):
            if not len(space.sets):
                continue
            parts = space.told(self.scheme.n, self.base, self.spread)
            cost = parts @ padded[own]
            added = 0
            for a in np.argsort(-cost):
                if not cost[a] > least or added == ADDED:
                    break
                key = (place, space.sets[a].tobytes())
                if self._images(key) is None:
                    continue
                added += 1
                keys.append(key)
                told.append(np.bincount(own, weights=parts[a], minlength=len(padded))[:-1].astype(np.float64))
        return keys, np.array(told, dtype=np.float64).reshape(-1, len(prices))

    def _search(self, prices: Float, value: float, used: list[tuple[int, bytes]]) -> None:
        """Look for sets in the spaces that are not listed, from the used ones among others."""
        padded = np.append(prices, 0.0)
        for space, own in zip(self.spaces, self.own, strict=True):
            if space.scheme.n <= LISTED:
                continue
            starts = [np.zeros((0, space.scheme.n))]
            for place, indicator in used:
                part = self.spaces[place]
                if set(part.places) <= set(space.places):
                    inner = tuple(space.places.index(attribute) for attribute in part.places)
                    starts.append(lifted(np.frombuffer(indicator)[None], inner, space.scheme))
            space.search(padded[own], value, self.scheme.n, self.base, self.spread, np.vstack(starts))

    def _images(self, key: tuple[int, bytes]) -> Float | None:
        """Images of a set in its own attributes, where the channel stays of moderate size."""
        if key not in self.orbits:
            space = self.spaces[key[0]]
            inner = [self.classes[place] for place in space.places]
            spots = len(placements(space.places, self.classes))
            moves = generators(space.scheme, inner)
            self.orbits[key] = orbit(np.frombuffer(key[1]), moves, self.most // spots)
        return self.orbits[key]

    def _orbits(self, keys: list[tuple[int, bytes]], q: Float, rounds: int) -> Orbits:
        images, kept = [], np.flatnonzero(q > USED)
        for a in kept:
            part = self._images(keys[a])
            assert part is not None
            spots = placements(self.spaces[keys[a][0]].places, self.classes)
            images.append(np.vstack([lifted(part, spot, self.scheme) for spot in spots]))
        return Orbits(images, q[kept] / q[kept].sum(), rounds)
