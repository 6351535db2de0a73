r"""Covering: lower multipliers by about the least that leaves no price negative, most where prices are most negative.

.. math:: \min \sum_x s_x t_x, \qquad \sum_x s_x p_{jx} t_x \ge -v_j \text{ for all outputs}, \qquad t \ge 0

is a covering program, with shares ``s``, rays ``p_j`` and prices ``v_j``. A feasible point that is good is enough: it
is scaled until the rays that lack most are just covered, and lowered where rays have more than they need.
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.solving.methods.rays.groups import Groups

PASSES = 12
"""Number of times that the point is scaled."""


def cover(need: Float, rays: Float, share: Float, groups: Groups | None = None) -> Float:
    """What to take off the multipliers, shape (n,): about the least that lifts every ray's price by what it needs.

    Shapes: ``need`` (m,), ``rays`` (m, n).
    """
    lacking = need > 0
    if not lacking.any():
        return np.zeros_like(share)
    need, parts, total = need[lacking], rays[lacking] * share, share
    if groups is not None:
        parts, total = groups.summed_rows(parts), groups.summed(share)
    near = np.sqrt(parts / total)  # where a ray is large it is lifted
    near /= near.max(axis=1, keepdims=True)
    lift = (near * (need / parts.sum(axis=1))[:, None]).max(axis=0)
    best, least = lift, np.inf
    for _ in range(PASSES):
        met = need / (parts @ lift)
        lift = lift * met.max()
        value = float(total @ lift)
        if value < least:
            best, least = lift, value
        lift = lift * (near * (met / met.max())[:, None]).max(axis=0)
    return np.asarray(share * (best if groups is None else best[groups.number]))
