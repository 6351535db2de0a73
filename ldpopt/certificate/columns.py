"""Bound over channels whose columns are tied alike: the compact form, where one shift prices every output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.certificate.grid import GRID, Exact, integers
from ldpopt.errors import CertificateError
from ldpopt.foundation.checks import Float
from ldpopt.solving.channel_program import Structure
from ldpopt.solving.interior.pricing import Prices

LARGE = 20_000
"""Entries from which costs are rounded up to 64-bit integers: the bound is looser by about n units of 2**-48."""


def coarse(weights: Float, worth: Float, duals: Float) -> tuple[Any, Any, int]:
    """Costs ``weights * worth`` rounded up to int64, and the duals to nearest, over a power of two that leaves room.

    Sums over the inputs of differences stay below ``2**63``; the third value is the power's exponent.
    """
    costs = weights[:, None] * worth
    largest = max(float(costs.max()), -float(costs.min()), float(np.abs(duals).max()))
    room = min(52, 60 - int(np.ceil(np.log2(len(duals) + 1))))
    bits = min(room - int(np.frexp(largest)[1]), 1070) if largest else 0
    whole = np.ceil(np.ldexp(costs, bits, out=costs), out=costs).astype(np.int64)
    # A product is off by half a unit of its last place (2**-1075 at least), which is less than one unit with up to 52
    # bits: the next integer is above. Zeros are exact.
    whole += (weights != 0)[:, None] & (worth != 0)
    return whole, np.rint(np.ldexp(duals, bits)).astype(np.int64), bits


def columns_bound(costs: Exact, duals: Exact, structure: Structure) -> int:
    r"""Bound over columns tied by ``P[x, y] <= exp(epsilon) P[x', y] + delta``.

    With ``d = costs - y - t`` an output can only improve on ``sum(y + t)`` where
    :math:`\beta \sum_x d^+_x + b \sum_x d_x > 0`. The least shift ``t`` for which none does is found by Newton's
    method, in integers throughout. An entry-wise slack adds ``delta * sum d^+``.

    Where only some inputs are capped, and some outputs have an owner, an entry without a cap costs at most its
    multiplier ``y``: multipliers are raised to that first, and outputs with an owner ask for nothing more.

    Parameters
    ----------
    costs : array of int, shape (n, m)
        Integers over any power of two, Python's or int64, to be maximized.
    duals : array of int, shape (n,)
        Any multipliers of the row sums, over the same power of two.
    structure : Structure
        Its ``b``, ``beta``, ``delta`` and ``ties``.

    Returns
    -------
    int
        Over the same power of two: no such channel is worth more.
    """
    beta, b = int(integers([structure.beta], up=True)[0]), int(integers([structure.b])[0])
    n = len(duals)
    shift = 0
    if not structure.is_complete:
        costs, duals = _without_uncapped(costs, duals, structure)
    columns = np.arange(costs.shape[1])
    if not structure.delta and structure.is_complete:
        # A tangent's root lies left of the root, more so for a larger b, and b may be too small for the grid: a step
        # back is followed by steps forward only. With slack the duals as they are balance it against the sums.
        gains, slopes = _priced(costs, duals, max(b, 1), beta)
        shift = max(-(-int(g) // int(k)) for g, k in zip(gains, slopes, strict=True))
        if b:  # a gain grows by n (b + beta) at most for each unit back
            columns = np.flatnonzero(np.asarray(gains - min(shift, 0) * n * (b + beta) > 0, dtype=bool))
    while len(columns):
        gains, slopes = _priced(costs[:, columns], duals + shift, b, beta)
        left = np.asarray(gains > 0, dtype=bool)
        if not left.any():
            break
        shift += max(-(-int(g) // int(k)) for g, k in zip(gains[left], slopes[left], strict=True))
        columns = columns[left]
    total = sum(map(int, duals)) + n * shift
    if structure.delta:
        slack = sum(map(int, Prices.of(costs, duals + shift).positive))
        total += -(-slack * int(integers([structure.delta], up=True)[0]) >> GRID)
    return total


def _without_uncapped(costs: Any, duals: Any, structure: Structure) -> tuple[Any, Any]:
    """Raise the multipliers until no entry without a cap is worth more, and drop the outputs with an owner."""
    ties, m = structure.ties, costs.shape[1]
    if ties is None:
        raise CertificateError("the compact form of a structure without ties")
    shared = ties.tied_outputs(m)
    free = ties.allowed(m) & ~(ties.capped_inputs()[:, None] & shared)
    raised = duals.copy()
    for x in np.flatnonzero(free.any(axis=1)):
        raised[x] = max(raised[x], costs[x, free[x]].max())
    return costs[:, shared], raised


def _priced(costs: Any, duals: Any, b: int, beta: int) -> tuple[Exact, Exact]:
    """Worth of each output's best cone and how fast it falls with the shift, over ``2**GRID`` units."""
    prices = Prices.of(costs, duals)
    positive, total = prices.positive.astype(object), prices.total.astype(object)
    return beta * positive + b * total, beta * prices.count.astype(object) + b * len(duals)
