"""The bound over channels in the compact form: one shift of the multipliers makes every output
feasible.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ldpopt.certificate.integers import GRID, Integers, integers
from ldpopt.foundation.numbers import Float
from ldpopt.privacy import Ties

CHUNK = 1 << 18  # entries of one block of work
# Number of entries from which costs are always rounded up to 64-bit integers, however tight
MIN_COARSE_ENTRIES = 20_000
# Largest sum of the inputs' largest costs, over the bound, at which these integers loosen the bound
# by less than 1e-13: each is off by 2**-52 of the largest cost
TIGHT = 2**9


@dataclass(frozen=True)
class OutputSums:
    r"""Sums over the inputs of each output: :math:`\sum d^+`, :math:`\sum d`, and how many
    :math:`d` are positive.
    """

    positive: Any
    total: Any
    count: Any

    @classmethod
    def of(cls, costs: Any, duals: Any) -> "OutputSums":
        """Price columns, a chunk of inputs at a time; the sums of integers are Python's, of any
        size.
        """
        n, m = costs.shape
        step = max(1, CHUNK // max(m, 1))
        sums: Any = 0
        for first in range(0, n, step):
            excess = costs[first : first + step] - duals[first : first + step, None]
            over = excess > 0
            total = excess.sum(axis=0)
            excess *= over
            sums = sums + np.array([excess.sum(axis=0), total, over.sum(axis=0)], costs.dtype)
        kind = costs.dtype if costs.dtype.kind == "f" else object
        return cls(*sums.astype(kind, copy=False))

    def gains(self, b: Any, beta: Any) -> Any:
        """Gain :math:`g_j` of the best column of each output."""
        return beta * self.positive + b * self.total


def least_shift(costs: Any, duals: Any, b: Any, beta: Any, *, may_fall: bool) -> Any:
    """Least shift ``t`` of the multipliers at which no output has a gain, ``beta sum (d - t)^+ + b
    sum (d - t) <= 0`` for ``d = costs - duals``; at least 0 unless it ``may_fall``.

    By Newton's method in floats or integers: a gain is convex and falls in ``t``, so that a step
    never goes beyond the least shift, and only the first step may be negative.
    """
    n = len(duals)
    shift = 0
    columns = np.arange(costs.shape[1])
    is_exact = costs.dtype.kind != "f"
    # In floats a smaller move leaves all differences as they are, and could be made forever.
    noise = 0 if is_exact else np.finfo(float).eps / 2 * np.abs(duals).max()

    # Newton: the largest gain / slope, rounded up in integers
    def step(gains: Any, count: Any, b: Any) -> Any:
        slopes = beta * count + b * n
        return (-(-gains // slopes) if is_exact else gains / slopes).max()

    if may_fall:
        prices = OutputSums.of(costs, duals)
        # With b = 0 a slope may be 0. The least b above 0 has none, and a larger b gives a smaller
        # step, which does not go beyond the least shift either.
        least = max(b, 1 if is_exact else np.finfo(float).eps)
        gains = prices.gains(least, beta)
        shift = step(gains, prices.count, least)
        gains = gains if least == b else prices.gains(b, beta)
        # A gain grows by at most n (b + beta) per unit of a negative shift: others stay below 0.
        columns = (gains > min(shift, 0) * n * (b + beta)).nonzero()[0]
    while len(columns):
        prices = OutputSums.of(costs[:, columns], duals + shift)
        gains = prices.gains(b, beta)
        has_gain = np.asarray(gains > 0, dtype=bool)
        if not has_gain.any():
            break
        move = step(gains[has_gain], prices.count[has_gain], b)
        is_last = move <= noise or shift + move == shift
        shift, columns = shift + move, columns[has_gain]
        if is_last:
            break
    return shift


def coarse_integers(weights: Float, utility: Float, duals: Float) -> tuple[Any, Any, int]:
    """Costs ``weights * utility`` rounded up to int64, duals rounded to nearest, and their
    fractional bits.
    """
    # Sums of their differences over the inputs stay below 2**63.
    costs = weights[:, None] * utility
    largest = max(float(costs.max()), -float(costs.min()), float(np.abs(duals).max()))
    available_bits = 60 - len(duals).bit_length()
    bits = min(available_bits - int(np.frexp(largest)[1]), 1070) if largest else 0
    scaled = np.floor(np.ldexp(costs, bits, out=costs), out=costs).astype(np.int64)
    # A product is off by half a unit of its last place: the 2**53-th part of it, or 2**-1075 at
    # most. The integer above the sum is above it. Zeros are exact.
    above = (np.abs(scaled) >> 52) + 1
    scaled += np.where((weights != 0)[:, None] & (utility != 0), above, 0)
    return scaled, np.rint(np.ldexp(duals, bits)).astype(np.int64), bits


def is_tight(costs: Any, duals: Any) -> bool:
    """Whether the rounding of `coarse_integers` is small beside the bound, which is near the sum of
    the multipliers.
    """
    most = len(duals) * max(int(costs.max()), -int(costs.min()))
    return bool(most <= TIGHT * abs(sum(duals.tolist())))


def columns_bound(costs: Integers, duals: Integers, ties: Ties) -> int:
    r"""Upper bound on the value of all channels whose columns satisfy ``P[x, y] <= exp(epsilon)
    P[x', y] + delta``.

    With ``d = costs - y - t`` an output can raise the value above ``sum(y + t)`` only if
    :math:`\beta \sum_x d^+_x + b \sum_x d_x > 0`. Newton's method, in integers, finds the smallest
    shift ``t`` for which no output can. An entry-wise slack adds ``delta * sum d^+``.

    If only some inputs are capped, or some outputs have an owner, an entry without a cap must not
    cost more than its multiplier ``y``: multipliers are raised first. Outputs with an owner add no
    other condition. Costs ``(n, m)``, duals ``(n,)`` and the bound are integers over one power of
    two.
    """
    # rounded down: beta itself is rounded up
    b, beta = _on_grid(ties.budget.b, -ties.budget.beta)
    if not ties.is_complete:
        costs, duals = _relax_uncapped(costs, duals, ties)
    # With a delta the duals balance slack and sums: the shift does not fall.
    shift: int = least_shift(costs, duals, b, -beta, may_fall=not ties.delta and ties.is_complete)
    total: int = sum(duals.tolist()) + len(duals) * shift
    if ties.delta:
        slack = sum(map(int, OutputSums.of(costs, duals + shift).positive))
        total += -(-slack * int(integers([ties.delta], up=True)[0]) >> GRID)
    return total


@lru_cache(maxsize=64)
def _on_grid(b: float, beta: float) -> tuple[int, int]:
    """Two floats as integers over ``2**GRID``."""
    return int(integers(b)), int(integers(beta))


def _relax_uncapped(costs: Any, duals: Any, ties: Ties) -> tuple[Any, Any]:
    """Raise each multiplier to the costs of its uncapped entries, and drop the outputs with an
    owner.
    """
    m = costs.shape[1]
    tied = ties.tied_outputs(m)
    uncapped = ties.allowed(m) & ~(ties.capped_inputs()[:, None] & tied)
    raised = duals.copy()
    for x in np.flatnonzero(uncapped.any(axis=1)):
        raised[x] = max(raised[x], costs[x, uncapped[x]].max())
    return costs[:, tied], raised
