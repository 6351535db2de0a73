"""Bound over channels whose columns are tied alike: the compact form, where one shift prices every output."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ldpopt.certificate.grid import GRID, Exact, integers
from ldpopt.formulation import Structure


def columns_bound(costs: Exact, duals: Exact, structure: Structure) -> int:
    r"""Bound over columns tied by ``P[x, y] <= exp(epsilon) P[x', y] + delta``.

    With ``d = costs - y - t`` an output can only improve on ``sum(y + t)`` where
    :math:`\beta \sum_x d^+_x + b \sum_x d_x > 0`; the least shift ``t`` for which none does is guessed in floats and
    checked in integers. An entry-wise slack adds ``delta * sum d^+``.

    Parameters
    ----------
    costs : array of int, shape (n, m)
        Over ``2**(2 GRID)``, to be maximized.
    duals : array of int, shape (n,)
        Any multipliers of the row sums, over ``2**(2 GRID)``.
    structure : Structure
        Its ``b``, ``beta`` and ``delta``.

    Returns
    -------
    int
        Over ``2**(2 GRID)``: no such channel is worth more.
    """
    beta, b = int(integers([structure.beta], up=True)[0]), int(integers([structure.b])[0])
    shift = _guess(costs - duals[:, None], structure)
    step = max(1, abs(shift) >> 60, int(np.abs(costs).max()) >> 60)
    columns = np.arange(costs.shape[1])
    while True:
        excess = costs[:, columns] - (duals + shift)[:, None]
        pricing = beta * np.maximum(excess, 0).sum(axis=0) + b * excess.sum(axis=0)
        columns = columns[np.asarray(pricing > 0, dtype=bool)]
        if not len(columns):
            break
        shift += step
        step *= 2
    total = int((duals + shift).sum())
    if structure.delta:
        slack = int(np.maximum(costs - (duals + shift)[:, None], 0).sum())
        delta = int(integers([structure.delta], up=True)[0])
        total += -(-slack * delta >> GRID)
    return total


def _guess(difference: Exact, structure: Structure) -> int:
    r"""Least shift in floats; an output's pricing has the root :math:`\max_k (\beta S_k + b S_n) / (\beta k + b n)`."""
    scale = 1 << 2 * GRID
    floats = np.array([[float(Fraction(int(v), scale)) for v in row] for row in difference])
    order = -np.sort(-floats, axis=0)
    sums = np.cumsum(order, axis=0)
    k = np.arange(1, len(floats) + 1)[:, None]
    weight = structure.beta * k + structure.b * len(floats)
    roots = (structure.beta * sums + structure.b * sums[-1]) / weight
    root = int(Fraction(float(roots.max())) * scale)
    # Without slack a lower bound comes from any shift; with it, the duals as they are balance slack and sums.
    return max(root, 0) if structure.delta else root
