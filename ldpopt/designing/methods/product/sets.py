"""Sets that depend on few attributes: the candidates of a design for a product alphabet.

Of attributes with up to 16 combinations all sets are listed; of more, sets are improved one answer at a time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.pricing import Price, climb, indicators
from ldpopt.foundation.numbers import Float

LISTED = 16
"""Most combinations whose sets are all listed."""

WALKS = 200
"""Random sets that are improved at a time."""

DIGITS = 10
"""Digits in which sets that tell the same are found."""


@dataclass(eq=False)
class Space:
    """Sets that depend on some of the attributes.

    Attributes
    ----------
    places : tuple of int
        The attributes.
    scheme : Scheme
        Their product.
    sets : ndarray, shape (m, points)
        Indicators of the candidates.
    """

    places: tuple[int, ...]
    scheme: Scheme
    sets: Float

    @classmethod
    def of(cls, places: tuple[int, ...], sizes: Sequence[int]) -> Space:
        """All sets where they can be listed, else none yet."""
        scheme = Scheme(tuple(sizes[place] for place in places))
        return cls(places, scheme, _all_sets(scheme) if scheme.n <= LISTED else np.zeros((0, scheme.n)))

    def add(self, sets: Float) -> None:
        """Take in more candidates."""
        self.sets = np.unique(np.vstack([self.sets, sets]), axis=0)
        self.__dict__.pop("energies", None)

    @cached_property
    def energies(self) -> Float:
        """Mean squares of the parts of each set, shape ``(m, 2**d)``, the constant first."""
        return _energies(self.scheme) if self.scheme.n <= LISTED else _energies_of(self.sets, self.scheme)

    def told(self, n: int, base: float, spread: float) -> Float:
        """``|E_T g|^2`` over ``n`` answers, for every set and every subset ``T`` of the attributes."""
        mass = base + spread * self.sets.mean(axis=1)
        return np.asarray(self.energies * (n * (spread / mass) ** 2)[:, None])

    def search(self, prices: Float, value: float, n: int, base: float, spread: float, starts: Float) -> None:
        """Improve random sets and given ones at prices of the parts, over ``T``, where sets are not all listed."""
        size = self.scheme.n
        form = self.scheme.form(prices.reshape(self.scheme.shape)) * (n / size)
        rng = np.random.default_rng(size)
        drawn = rng.standard_normal((WALKS, size)) @ self.scheme.form(np.sqrt(prices).reshape(self.scheme.shape))
        counts = rng.integers(1, size, WALKS)
        ranks = np.argsort(np.argsort(drawn, axis=1), axis=1)
        sets = np.vstack([(ranks < counts[:, None]).astype(np.float64), starts])
        price = Price(form, np.zeros(size), np.full(size, 1.0 / size))
        self.add(climb(price, value, sets, base, spread))


def _all_sets(scheme: Scheme) -> Float:
    return _listed(scheme.sizes)[0]


def _energies(scheme: Scheme) -> Float:
    return _listed(scheme.sizes)[1]


@lru_cache(maxsize=64)
def _listed(sizes: tuple[int, ...]) -> tuple[Float, Float]:
    """One set of every kind that tells something else, with its energies."""
    scheme = Scheme(sizes)
    sets = indicators(np.arange(1, 2**scheme.n - 1), scheme.n)
    energies = _energies_of(sets, scheme)
    kept = np.unique(np.round(energies, DIGITS), axis=0, return_index=True)[1]
    return sets[kept], energies[kept]


def _energies_of(sets: Float, scheme: Scheme) -> Float:
    return scheme.energies(sets).reshape(len(sets), -1)


def spaces(sizes: Sequence[int], classes: Sequence[int], most: int) -> list[Space]:
    """One space for each choice of attributes, up to exchange, of at most ``most`` combinations; small ones first."""
    members: dict[int, list[int]] = {}
    for place, kind in enumerate(classes):
        members.setdefault(kind, []).append(place)
    counts = itertools.product(*(range(len(group) + 1) for group in members.values()))
    chosen = [
        tuple(sorted(itertools.chain(*(group[:count] for group, count in zip(members.values(), taken, strict=True)))))
        for taken in counts
    ]
    sized = sorted((math.prod(sizes[place] for place in places), places) for places in chosen if places)
    return [Space.of(places, sizes) for size, places in sized if size <= most]


def masks(space: Space, attributes: int) -> NDArray[np.int64]:
    """Flat index over all attributes of every subset of a space's own."""
    found = np.zeros((), dtype=np.int64)
    for place in space.places:
        found = np.add.outer(found, np.array([0, 1 << (attributes - 1 - place)]))
    return np.asarray(found.ravel())
