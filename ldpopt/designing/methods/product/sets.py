"""Sets that depend on few attributes: the candidates of a design for a product alphabet, and their
images.

Of attributes with up to 16 combinations all sets are listed; of more, sets are improved one answer
at a time. Images are those under a group that permutes the values of each attribute, moving any two
of them to any two others, and exchanges attributes between which the workload does not distinguish.
Averaged over such a group every matrix is in the scheme (`ldpopt.certificate.scheme`); the group
may be much smaller than that of all permutations.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ldpopt.certificate.scheme import Permutation, Scheme
from ldpopt.designing.private_columns import Price, indicators, local_search
from ldpopt.foundation.numbers import Float, Int

LISTED = 16  # largest number of combinations whose sets are all listed
STARTS = 200  # number of random sets that are improved
DIGITS = 10  # digits in which sets with the same information agree


@dataclass(eq=False)
class Space:
    """Sets that depend on some of the attributes."""

    places: tuple[int, ...]  # the attributes
    scheme: Scheme  # their product
    sets: Float  # indicators of the candidates, shape (m, scheme.n)

    @classmethod
    def of(cls, places: tuple[int, ...], sizes: Sequence[int]) -> "Space":
        """All sets if they can be listed, else none yet."""
        scheme = Scheme(tuple(sizes[place] for place in places))
        return cls(
            places,
            scheme,
            _listed(scheme.sizes)[0] if scheme.n <= LISTED else np.zeros((0, scheme.n)),
        )

    def add(self, sets: Float) -> None:
        """Add candidates."""
        self.sets = np.unique(np.vstack([self.sets, sets]), axis=0)
        self.__dict__.pop("energies", None)

    @cached_property
    def energies(self) -> Float:
        """Mean squares of the parts of each set, shape ``(m, 2**d)``, the constant first."""
        return (
            _listed(self.scheme.sizes)[1]
            if self.scheme.n <= LISTED
            else _energies(self.sets, self.scheme)
        )

    def information(self, n: int, base: float, spread: float) -> Float:
        """``|E_T g|^2`` over ``n`` answers, for every set and every subset ``T`` of the
        attributes.
        """
        mass = base + spread * self.sets.mean(axis=1)
        return np.asarray(self.energies * (n * (spread / mass) ** 2)[:, None])

    def search(
        self, prices: Float, value: float, n: int, base: float, spread: float, starts: Float
    ) -> None:
        """Add sets that a local search finds at these prices of the parts ``T``, from random sets
        and ``starts``.
        """
        size = self.scheme.n
        form = self.scheme.matrix(prices.reshape(self.scheme.shape)) * (n / size)
        rng = np.random.default_rng(size)
        drawn = rng.standard_normal((STARTS, size)) @ self.scheme.matrix(
            np.sqrt(prices).reshape(self.scheme.shape)
        )
        counts = rng.integers(1, size, STARTS)
        ranks = np.argsort(np.argsort(drawn, axis=1), axis=1)
        sets = np.vstack([(ranks < counts[:, None]).astype(np.float64), starts])
        self.add(
            local_search(
                Price(form, np.zeros(size), np.full(size, 1.0 / size)), value, sets, base, spread
            )
        )


@lru_cache(maxsize=64)
def _listed(sizes: tuple[int, ...]) -> tuple[Float, Float]:
    """One set of every kind with other information, with its energies."""
    scheme = Scheme(sizes)
    sets = indicators(np.arange(1, 2**scheme.n - 1), scheme.n)
    energies = _energies(sets, scheme)
    kept = np.unique(np.round(energies, DIGITS), axis=0, return_index=True)[1]
    return sets[kept], energies[kept]


def _energies(sets: Float, scheme: Scheme) -> Float:
    return scheme.energies(sets).reshape(len(sets), -1)


def spaces(sizes: Sequence[int], classes: Sequence[int], most: int) -> list[Space]:
    """One space for each choice of attributes, up to exchange, of at most ``most`` combinations;
    small ones first.
    """
    members: dict[int, list[int]] = {}
    for place, kind in enumerate(classes):
        members.setdefault(kind, []).append(place)
    counts = itertools.product(*(range(len(group) + 1) for group in members.values()))
    parts = (
        [group[:count] for group, count in zip(members.values(), taken, strict=True)]
        for taken in counts
    )
    chosen = [tuple(sorted(itertools.chain(*part))) for part in parts]
    sized = sorted(
        (math.prod(sizes[place] for place in places), places) for places in chosen if places
    )
    return [Space.of(places, sizes) for size, places in sized if size <= most]


def masks(space: Space, attributes: int) -> Int:
    """Flat index of every subset of the attributes of a space among the sets of all attributes."""
    flat = np.zeros((), dtype=np.int64)
    for place in space.places:
        flat = np.add.outer(flat, np.array([0, 1 << (attributes - 1 - place)]))
    return np.asarray(flat.ravel())


def generators(scheme: Scheme, classes: Sequence[int]) -> list[Permutation]:
    """Permutations of all answers that generate the group: values of each attribute, and attributes
    of a class.
    """
    cube = np.arange(scheme.n, dtype=np.int64).reshape(scheme.sizes)
    every = (
        (axis, order) for axis, size in enumerate(scheme.sizes) for order in value_generators(size)
    )
    permutations = [np.take(cube, order, axis=axis).ravel() for axis, order in every]
    last: dict[int, int] = {}
    for axis, kind in enumerate(classes):
        if kind in last:
            permutations.append(np.swapaxes(cube, last[kind], axis).ravel())
        last[kind] = axis
    return permutations


def orbit(indicator: Float, moves: Sequence[Permutation], most: int) -> Float | None:
    """All images of a set; None if there are more than ``most``."""
    first = indicator.astype(np.int8)
    seen = {first.tobytes()}
    images = [first]
    place = 0
    while place < len(images):
        for move in moves:
            image = images[place][move]
            key = image.tobytes()
            if key not in seen:
                seen.add(key)
                images.append(image)
        if len(images) > most:
            return None
        place += 1
    return np.array(images, dtype=np.float64)


def placements(places: Sequence[int], classes: Sequence[int]) -> list[tuple[int, ...]]:
    """Attributes for which those of a set may be exchanged, in the order of the classes of
    ``places``.
    """
    wanted = [classes[place] for place in places]
    members = {
        kind: [place for place, other in enumerate(classes) if other == kind]
        for kind in dict.fromkeys(wanted)
    }
    choices = [itertools.combinations(members[kind], wanted.count(kind)) for kind in members]
    placed = []
    for chosen in itertools.product(*choices):
        left = {kind: iter(part) for kind, part in zip(members, chosen, strict=True)}
        placed.append(tuple(next(left[kind]) for kind in wanted))
    return placed


def lifted(indicators: Float, places: Sequence[int], scheme: Scheme) -> Float:
    """Sets of values of some attributes, as sets of answers."""
    where = np.zeros(scheme.n, dtype=np.int64)
    for place in places:
        where = where * scheme.sizes[place] + scheme.digits[place]
    return np.asarray(indicators[:, where])


def value_generators(size: int) -> list[Permutation]:
    """Permutations of ``size`` values that generate a doubly transitive group: affine, projective,
    or all of them.
    """
    values = np.arange(size)
    if _is_prime(size):
        orders = [(values + 1) % size, values * _primitive(size) % size]
    elif _is_prime(size - 1):
        # The projective line: x + 1, g x and -1/x, with the last value for infinity.
        p = size - 1
        inverse = np.array([p, *((-pow(int(x), -1, p)) % p for x in range(1, p)), 0])
        orders = [
            np.append((values[:-1] + 1) % p, p),
            np.append(values[:-1] * _primitive(p) % p, p),
            inverse,
        ]
    else:
        orders = [np.roll(values, 1), np.array([1, 0, *range(2, size)])]
    return [np.asarray(order, dtype=np.int64) for order in orders if (order != values).any()]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))


def _primitive(p: int) -> int:
    """Least generator of the multiplicative group modulo a prime."""
    return next(
        g for g in range(1, p) if len({pow(g, power, p) for power in range(p - 1)}) == p - 1
    )
