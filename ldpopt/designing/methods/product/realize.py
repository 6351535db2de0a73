"""The channel of a product alphabet: every set of an orbit has the same two integer masses.

All rows then have the same sum, whatever the masses are. What is missing of it is the mass of one report that says
nothing.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.generation import Orbits
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float

MASSES = 1 << 53
"""Sum of a row's masses."""


def masses(orbits: Orbits, epsilon: Budget) -> NDArray[np.int64]:
    """Integer masses, shape ``(n, m)``; the ratio of two in a column is at most ``e**epsilon``."""
    ratio = 1 / epsilon.enclosure()[0]
    columns = []
    for images, q in zip(orbits.images, orbits.q, strict=True):
        share = Fraction(float(images.mean()))
        theta = Fraction(float(q)) / (len(images) * (ratio + (1 - ratio) * share))
        # The low masses are rounded up, and the high ones down so far that the rows sum to at most 1.
        high = int(theta * MASSES) - int((1 - share) / (share + (1 - share) * ratio)) - 1
        low = -int(-(high * ratio) // 1)
        columns.append(np.where(images > 0, high, low).astype(np.int64).T)
    found = np.hstack(columns)
    rest = MASSES - found.sum(axis=1)
    return found if not rest.any() else np.column_stack([found, rest])


def left_inverse_of(scheme: Scheme, channel: Float, eigenvalues: Float) -> Float:
    """``X`` with ``W X`` the best unbiased estimator: ``1/n + S g_y`` with the inverse of the information wanted."""
    told = information(scheme, np.ldexp(channel, 53).astype(np.int64))
    assert told is not None
    have = np.array([float(value) for value in told]).reshape(scheme.shape)
    wanted = (eigenvalues > 1e-12 * eigenvalues.ravel()[1:].max()) & (have > 0)
    wanted.flat[0] = False
    inverse = np.where(wanted, 1 / np.where(have > 0, have, 1.0), 0.0)
    over = channel - channel.min(axis=0)
    said = (over - over.mean(axis=0)) / channel.mean(axis=0)
    return np.asarray(scheme.form(inverse) @ said + 1 / scheme.n)


def information(scheme: Scheme, masses: NDArray[np.int64]) -> list[Fraction] | None:
    """Eigenvalues of the information of a channel with two masses in each column, None where it is not in the scheme.

    Columns with the same masses and sets of the same size are counted together.
    """
    n = scheme.n
    high, low = masses.max(axis=0), masses.min(axis=0)
    inside = masses == high
    if not (inside | (masses == low)).all():
        return None
    inside &= high > low
    found = [Fraction(0)] * 2 ** len(scheme.sizes)
    for key in {*zip(high.tolist(), low.tolist(), inside.sum(axis=0).tolist(), strict=True)}:
        chosen = (high == key[0]) & (low == key[1]) & (inside.sum(axis=0) == key[2])
        sets = inside[:, chosen].astype(np.float64)
        pairs = scheme.eigenvalues((sets @ sets.T).astype(np.int64))
        if pairs is None:
            return None
        step, mass = key[0] - key[1], key[1] * n + (key[0] - key[1]) * key[2]
        if step:
            share = Fraction(step * step * n, MASSES * mass)
            found = [have + share * int(more) for have, more in zip(found, pairs.ravel(), strict=True)]
    return found
