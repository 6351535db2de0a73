"""New columns: those in use with one answer changed, where the prices gain most.

A design on few columns overstates what distant sets are worth. Sets next to those in use keep the moments nearly as
they are, and adding them lowers the value more than the dearest sets do.
"""

from __future__ import annotations

import numpy as np

from ldpopt.designing.pricing import Price, Staircases, quadratic
from ldpopt.foundation.checks import Float

PARENTS = 4096
"""Sets that are changed at a time."""


def neighbors(price: Price, least: float, cone: Staircases, parents: Float) -> Float:
    """Change one answer of each set, the one that gains most; those that gain nothing are left out."""
    form, linear, constant = quadratic(price, least, cone.base, cone.spread)
    found = []
    for first in range(0, len(parents), PARENTS):
        sets = parents[first : first + PARENTS].copy()
        gain = (1 - 2 * sets) * (2 * sets @ form + linear) + np.diag(form)
        place, rows = gain.argmax(axis=1), np.arange(len(sets))
        better = gain[rows, place] > 1e-12 * constant
        sets[rows, place] = 1 - sets[rows, place]
        found.append(sets[better])
    sets = np.unique(np.vstack(found), axis=0)
    inside = sets.sum(axis=1)
    return np.asarray(sets[(inside > 0) & (inside < sets.shape[1])])
