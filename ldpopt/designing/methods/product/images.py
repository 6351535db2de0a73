"""Images of a set under the symmetries of a product alphabet.

Values of each attribute are permuted by a group that moves any two of them to any two others, attributes that the
workload does not tell apart are exchanged. Averaged over such a group every form sees only in which attributes two
answers differ; the group may be much smaller than that of all permutations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ldpopt.certificate.scheme import Permutation, Scheme
from ldpopt.foundation.numbers import Float


def generators(scheme: Scheme, classes: Sequence[int]) -> list[Permutation]:
    """Permutations of all answers that generate the group; attributes of a class are exchanged."""
    cube = np.arange(scheme.n, dtype=np.int64).reshape(scheme.sizes)
    found = [
        np.take(cube, order, axis=axis).ravel()
        for axis, size in enumerate(scheme.sizes)
        for order in value_generators(size)
    ]
    last: dict[int, int] = {}
    for axis, kind in enumerate(classes):
        if kind in last:
            found.append(np.swapaxes(cube, last[kind], axis).ravel())
        last[kind] = axis
    return found


def orbit(indicator: Float, moves: Sequence[Permutation], most: int) -> Float | None:
    """All images of a set, None where there are more than ``most``."""
    first = indicator.astype(np.int8)
    seen = {first.tobytes()}
    found, place = [first], 0
    while place < len(found):
        for move in moves:
            image = found[place][move]
            key = image.tobytes()
            if key not in seen:
                seen.add(key)
                found.append(image)
        if len(found) > most:
            return None
        place += 1
    return np.array(found, dtype=np.float64)


def placements(places: Sequence[int], classes: Sequence[int]) -> list[tuple[int, ...]]:
    """Sets of attributes that a set's own may be exchanged for, in the order of the classes of ``places``."""
    wanted = [classes[place] for place in places]
    members = {kind: [place for place, own in enumerate(classes) if own == kind] for kind in dict.fromkeys(wanted)}
    choices = [itertools.combinations(members[kind], wanted.count(kind)) for kind in members]
    found = []
    for chosen in itertools.product(*choices):
        left = {kind: iter(part) for kind, part in zip(members, chosen, strict=True)}
        found.append(tuple(next(left[kind]) for kind in wanted))
    return found


def lifted(indicators: Float, places: Sequence[int], scheme: Scheme) -> Float:
    """Sets of the values of some attributes as sets of whole answers."""
    where = np.zeros(scheme.n, dtype=np.int64)
    for place in places:
        where = where * scheme.sizes[place] + scheme.digits[place]
    return np.asarray(indicators[:, where])


def value_generators(size: int) -> list[Permutation]:
    """Permutations that generate a doubly transitive group: affine, projective, or all of them.

    Examples
    --------
    >>> [order.tolist() for order in value_generators(3)]
    [[1, 2, 0], [0, 2, 1]]
    """
    values = np.arange(size)
    if _is_prime(size):
        found = [(values + 1) % size, values * _primitive(size) % size]
    elif _is_prime(size - 1):
        # The projective line: x + 1, g x and -1/x, with the last value for infinity.
        p = size - 1
        inverse = np.array([p, *((-pow(int(x), -1, p)) % p for x in range(1, p)), 0])
        found = [
            np.append((values[:-1] + 1) % p, p),
            np.append(values[:-1] * _primitive(p) % p, p),
            inverse,
        ]
    else:
        found = [np.roll(values, 1), np.array([1, 0, *range(2, size)])]
    return [np.asarray(order, dtype=np.int64) for order in found if (order != values).any()]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))


def _primitive(p: int) -> int:
    """Least generator of the multiplicative group."""
    return next(g for g in range(1, p) if len({pow(g, power, p) for power in range(p - 1)}) == p - 1)
