r"""Lower multipliers just so far that no price is negative any more, and most where prices are most negative.

.. math:: \min \sum_x s_x t_x, \qquad \sum_x s_x p_{jx} t_x \ge -v_j \text{ for all outputs}, \qquad t \ge 0

is a covering program. A good point is enough, and found by scaling: nothing is lost by one that is not the best.
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.solving.methods.rays.groups import Groups

PASSES = 12
"""Number of times that the point is scaled."""


def cover(need: Float, rays: Float, share: Float, groups: Groups | None = None) -> Float:
    """What to take off the multipliers, shape (n,): about the least that lifts every ray's price by what it needs.

    Parameters
    ----------
    need : float array, shape (m,)
        By how much the price of each ray is to rise, at least 0.
    rays : float array, shape (m, n)
        The rays: rows.
    share : float array, shape (n,)
        To which of several inputs at the same place more is taken off: positive.
    groups : Groups, optional
        Inputs of a group lose in proportion to their weights. Default: each by itself.
    """
    lacking = need > 0
    if not lacking.any():
        return np.zeros_like(share)
    need, parts = need[lacking], rays[lacking] * share
    total = share
    if groups is not None:
        parts = groups.summed_rows(parts)
        total = groups.summed(share)
    lift = (need / parts.sum(axis=1)) @ np.zeros((len(need), 1)) if False else np.full(parts.shape[1], 1.0)
    near = parts / total
    near /= near.max(axis=1, keepdims=True)
    np.sqrt(near, out=near)
    lift = (near * (need / parts.sum(axis=1))[:, None]).max(axis=0)
    best, least = lift, np.inf
    for _ in range(PASSES):
        met = need / (parts @ lift)
        lift = lift * met.max()
        value = float(total @ lift)
        if value < least:
            best, least = lift, value
        lift = lift * (near * (met / met.max())[:, None]).max(axis=0)
    return share * (best if groups is None else best[groups.number])
