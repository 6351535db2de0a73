"""Symmetry: permutations of the answers that leave workload and weights as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.pricing import Cone
from ldpopt.foundation.numbers import Float

SAME = 1e-12
"""Relative difference up to which two Gram matrices are the same."""

LARGEST_GROUP = 4
"""Most permutations that are averaged over one by one."""

Permutations = NDArray[np.int64]


def group(contrasts: Contrasts, hints: Sequence[Permutations], cone: Cone) -> Permutations:
    """Return a small group of symmetries, one a row, the identity first.

    Of the hints and the reversal those are taken that keep the problem as it is, while their group stays small.
    """
    n = len(contrasts.weights)
    members = [np.arange(n)]
    for hint in (*hints, np.arange(n)[::-1]):
        if _keeps(contrasts, hint) and not _is_in(hint, members) and cone.keeps(hint):
            grown = _closure([*members, hint])
            if grown is not None:
                members = grown
    return np.array(members)


def _keeps(contrasts: Contrasts, order: Permutations) -> bool:
    r = contrasts.weights
    if not np.array_equal(r[order], r):
        return False
    turned = contrasts.turned(order[None])[0]
    moved = turned.T @ contrasts.reduced @ turned
    return bool(np.abs(moved - contrasts.reduced).max() <= SAME * np.abs(contrasts.reduced).max())


def _is_in(order: Permutations, members: Sequence[Permutations]) -> bool:
    return any(np.array_equal(order, member) for member in members)


def _closure(members: list[Permutations]) -> list[Permutations] | None:
    """All products; None where they are too many."""
    found = list(members)
    for first in found:
        for second in members:
            product = first[second]
            if not _is_in(product, found):
                found.append(product)
            if len(found) > LARGEST_GROUP:
                return None
    return found


def representatives(shapes: Float, permutations: Permutations) -> Float:
    """Keep one column of every orbit."""
    if not len(shapes):
        return shapes
    kept: dict[bytes, int] = {}
    for place, shape in enumerate(shapes):
        kept.setdefault(min(shape[order].tobytes() for order in permutations), place)
    return np.asarray(shapes[list(kept.values())])


def spread_out(shapes: Float, q: Float, permutations: Permutations) -> tuple[Float, Float]:
    """Give every image of a column its share of the probability; equal images are merged."""
    images = np.vstack([shapes[:, order] for order in permutations])
    shares = np.tile(q / len(permutations), len(permutations))
    distinct, place = np.unique(images, axis=0, return_inverse=True)
    total: Float = np.bincount(place.ravel(), weights=shares, minlength=len(distinct)).astype(np.float64)
    return distinct, total
