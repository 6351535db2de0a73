"""Compiled loops over the ties of all outputs: transposed slacks, weights of the Newton system, steps.

Arrays of ties have the shape (m, pairs), arrays of entries (m, n). Tie ``e`` has the slack
``p[second[e]] - ratio[e] p[first[e]]``.
"""

from __future__ import annotations

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int


@compiled
def adjoint(first: Int, second: Int, ratio: Float, ties: Float, found: Float) -> None:
    """Add the transposed slacks, applied to multipliers, to ``found``."""
    for j in range(len(found)):
        for e in range(len(first)):
            found[j, second[e]] += ties[j, e]
            found[j, first[e]] -= ratio[e] * ties[j, e]


@compiled
def weigh(ratio: Float, pair_edge: Int, t: Float, ties: Float, off: Float) -> None:
    """Add minus the weighted Laplacians' entries off the diagonal to ``off``, by edge."""
    for j in range(len(off)):
        for e in range(len(ratio)):
            off[j, pair_edge[e]] += ratio[e] * (ties[j, e] / t[j, e])


@compiled
def add_multiplier_steps(
    first: Int, second: Int, ratio: Float, at: Float, t: Float, ties: Float, aim: Float, p: Float, found: Float
) -> None:
    """Add the transposed slacks, applied to the step of the multipliers, to ``found``, for a step ``p`` of the entries.

    ``at``, ``t`` and ``ties`` are the point's entries, slacks and multipliers, ``aim`` the changes of the products.
    """
    for j in range(len(found)):
        for e in range(len(first)):
            i, k, r = first[e], second[e], ratio[e]
            slack = (p[j, k] - r * p[j, i]) + ((at[j, k] - r * at[j, i]) - t[j, e])
            change = (aim[j, e] - ties[j, e] * slack) / t[j, e]
            found[j, k] += change
            found[j, i] -= r * change


@compiled
def steps(
    first: Int,
    second: Int,
    ratio: Float,
    at: Float,
    t: Float,
    ties: Float,
    aim: Float,
    p: Float,
    t_step: Float,
    ties_step: Float,
) -> None:
    """Write the steps of slacks and multipliers for a step ``p`` of the entries; see `add_multiplier_steps`."""
    for j in range(len(p)):
        for e in range(len(first)):
            i, k, r = first[e], second[e], ratio[e]
            slack = (p[j, k] - r * p[j, i]) + ((at[j, k] - r * at[j, i]) - t[j, e])
            t_step[j, e] = slack
            ties_step[j, e] = (aim[j, e] - ties[j, e] * slack) / t[j, e]
