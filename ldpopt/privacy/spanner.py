"""The pairs of a metric that no third input implies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.foundation.rows import Int
from ldpopt.privacy.ties import Mask

NEAREST, BLOCK = 16, 64
"""Number of third inputs that are tried at once: the nearest ones, which may imply most pairs; then all others."""

MARGIN = 1e-6
"""Relative margin of sums in single precision: larger ones imply nothing."""


def unimplied_pairs(distance: Float, deadline: Deadline = NO_LIMIT) -> tuple[Int, Int]:
    """Ordered pairs at a positive distance that no chain through a third input implies.

    A pair ``(x, k)`` is implied if ``d(x, z) + d(z, k) <= d(x, k)`` for some other ``z``, as exact numbers; both parts
    are shorter, so all implied pairs may be dropped at once.

    Parameters
    ----------
    distance : float array, shape (n, n)
        Symmetric, zero on the diagonal, positive elsewhere.
    deadline : Deadline, optional
        Deadline of the whole call; default: ``NO_LIMIT``.

    Notes
    -----
    At most ``n**3 / 2`` additions in single precision, and ``n**2`` extra floats of 4 bytes; sums near equality are
    decided exactly. Where the nearest inputs imply most pairs, as in road networks and under the Manhattan distance,
    about ``16 n**2`` additions.
    """
    n = len(distance)
    coarse = (distance / distance.max(initial=1e-300)).astype(np.float32)
    np.fill_diagonal(coarse, np.inf)
    keep = np.zeros((n, n), bool)
    for x in range(n - 1):
        deadline.check("dropping the metric's implied pairs")
        others = _unimplied_from(distance, coarse, x)
        keep[x, others] = keep[others, x] = True
    first, second = np.nonzero(keep)
    return first, second


def _unimplied_from(distance: Float, coarse: NDArray[np.float32], x: int) -> Int:
    """Partners ``k > x`` of an input whose pair is not implied."""
    own = distance[x]
    partners = np.arange(x + 1, len(own))
    nearest = np.argpartition(own, min(NEAREST, len(own) - 1))[: NEAREST + 1]
    nearest = nearest[nearest != x]
    partners = partners[~_is_implied(own[nearest][:, None], distance[nearest][:, partners], own[partners])]
    limit = coarse[x, partners] * np.float32(1 + MARGIN) + np.float32(1e-30)
    is_all = len(partners) == len(own) - x - 1
    total = np.empty((BLOCK, len(partners)), np.float32)
    near = np.empty(total.shape, bool)
    implied = np.zeros(len(partners), bool)
    for begin in range(0, len(own) if len(partners) else 0, BLOCK):
        third = slice(begin, begin + BLOCK)
        onwards = coarse[third, x + 1 :] if is_all else coarse[third][:, partners]
        size = len(onwards)
        np.add(coarse[x, third, None], onwards, out=total[:size])
        np.less_equal(total[:size], limit, out=near[:size])
        places = np.flatnonzero(near[:size])  # much faster than nonzero of a matrix
        if len(places):
            z, k = begin + places // len(partners), places % len(partners)
            found = _implies(own[z], distance[z, partners[k]], own[partners[k]])
            implied[k[found]] = True
    return partners[~implied]


def _is_implied(to_third: Float, onwards: Float, direct: Float) -> Mask:
    """Whether some third input implies the pair with each partner."""
    return np.asarray(_implies(np.broadcast_to(to_third, onwards.shape), onwards, direct).any(axis=0))


def _implies(to_third: Float, onwards: Float, direct: Float) -> Mask:
    """Whether ``to_third + onwards <= direct`` as exact numbers, element by element.

    A sum that is rounded to less than a float is less than it. Where the two are equal, the error of the sum decides,
    which is a float too (Knuth's TwoSum). A third input that is the partner itself has ``onwards = 0`` and does not
    count.
    """
    rounded = to_third + onwards
    part = rounded - to_third
    error = (to_third - (rounded - part)) + (onwards - part)
    return np.asarray((onwards > 0) & ((rounded < direct) | ((rounded == direct) & (error <= 0))))
