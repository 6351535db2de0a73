"""From an optimum in floats to a mechanism that is exactly private, and the estimator that is unbiased for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.designing.allowed import Allowed
from ldpopt.designing.coordinates import Contrasts
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.cones.columns import Columns

CONDITION = 1e-4
"""Singular values of a design below this share of the largest are lifted by a little randomized response."""

SHARE = 1e-10
"""Largest share of randomized response that is mixed in; the variance grows by at most this share."""


@dataclass(frozen=True, eq=False)
class Realized:
    """A private channel with a left inverse.

    Attributes
    ----------
    channel : ndarray, shape (n, m)
        Masses over ``2**53``.
    left_inverse : ndarray, shape (n, m)
        ``X`` with ``X C = 1`` for ``C`` the transposed channel; columns sum to 1. The estimator is ``W X``.
    """

    channel: Float
    left_inverse: Float


def realize(
    contrasts: Contrasts, columns: Columns, q: Float, allowed: Allowed, gap: float, *, lift: bool = True
) -> Realized:
    """Make the columns a private channel, and find the best unbiased estimator of that channel.

    ``lift`` adds reports if some contrast has hardly any information; see `estimable`.
    """
    if lift:
        columns, q = estimable(contrasts, columns, q, allowed.response, min(SHARE, gap / 4))
    order = np.lexsort(-columns.shapes.T[::-1])
    columns, q = columns.take(order), q[order]
    channel = (columns.vectors * (q / columns.mass(contrasts.weights))[:, None]).T
    fixed = repair(channel, allowed.privacy, inputs=allowed.inputs, outputs=range(channel.shape[1]))
    channel = fixed.mechanism.channel[:, fixed.mechanism.channel.max(axis=0) > 0]
    return Realized(channel, left_inverse(channel, contrasts.weights))


def left_inverse(channel: Float, weights: Float) -> Float:
    """Left inverse of least variance: ``r + (1 - r 1^T) M^-1 g_y`` for the report ``y``."""
    n = len(weights)
    least = channel.min(axis=0)
    over = channel - least
    mean = weights @ over
    q = least + mean
    said = (over - mean) / q
    basis = np.linalg.qr(weights[:, None], mode="complete")[0][:, 1:]
    atoms = (basis.T @ said) * np.sqrt(q)
    left, sizes, right = np.linalg.svd(atoms, full_matrices=False)
    if len(sizes) < n - 1 or not sizes[-1] > 1e-13 * sizes[0]:
        raise StatementError(
            "the reports cannot tell the answers apart: epsilon is too small for masses of 2**-53",
            do="state a larger epsilon",
        )
    solved = basis @ ((left / sizes) @ right) / np.sqrt(q)
    solved -= np.outer(weights, solved.sum(axis=0))
    found = solved + weights[:, None]
    # A step of Newton's method: reports that are rare at a large budget lose digits above.
    return np.asarray(found - (found @ channel.T - np.eye(n)) @ found)


def estimable(contrasts: Contrasts, columns: Columns, q: Float, single: Columns, share: float) -> tuple[Columns, Float]:
    """Add a little randomized response if the information matrix is singular or nearly so.

    The optimum for a mean may have no information on other contrasts; rounding errors would then decide about them.
    """
    sizes = np.linalg.svd(contrasts.atoms(columns) * np.sqrt(q)[:, None], compute_uv=False)
    n = len(contrasts.weights)
    if len(sizes) == n - 1 and sizes[-1] > CONDITION * sizes[0]:
        return columns, q
    other = single.mass(contrasts.weights)
    mixed = np.concatenate([(1 - share) * q, share * other / other.sum()])
    shapes, place = np.unique(np.vstack([columns.shapes, single.shapes]), axis=0, return_inverse=True)
    total: Float = np.bincount(place.ravel(), weights=mixed).astype(np.float64)
    return Columns(shapes, columns.base, columns.spread), total
