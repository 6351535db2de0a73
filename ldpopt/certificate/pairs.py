r"""The bound of pairwise multipliers, output by output, in 64-bit integers: for channels of many entries.

With multipliers ``v`` of rows :math:`e^{-\epsilon d} P(x, y) - P(x', y) \le 0` an entry's cost falls by
:math:`v e^{-\epsilon d}` at ``(x, y)`` and grows by ``v`` at ``(x', y)``. The bound is the sum, over the inputs, of the
largest cost. Costs are rounded up and decreases down, so that it stays one; a few outputs are in memory at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float

if TYPE_CHECKING:
    from ldpopt.certificate.program_bound import PairRows

# Number of entries from which pairs are relaxed in 64-bit integers, which loosens the bound by about 1e-13
MIN_ENTRIES = 100_000
BLOCK = 1 << 21  # number of entries whose costs are in memory at once
# Bound on utilities plus multipliers: up to it a unit is at most 1, and every cost in units is a float
LARGEST_SUM = 2.0**60
BITS = 61  # bits of the largest sum of costs and multipliers: costs stay int64 whatever multipliers are added
# The natural logarithm of 2, in two parts; the product of the first one with a whole number below 2**13 is exact
LN2 = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
TERMS = 18  # terms of the series of ``exp(-r)`` up to 0.7; the rest is below 1e-19
LARGEST_EXPONENT = 700.0  # above this, ``exp(-x)`` is near the smallest floats and is replaced by 0


def exponential_below(exponent: Float) -> Float:
    """``exp(-exponent)`` rounded down by less than the share ``(10 + 2 exponent) 2**-50``, identical on every machine.

    Only sums and products of floats are used: a library's exponential differs between processors, and so would the
    bounds of a certificate. Rounding errors are below the margin of ``(5 + exponent) 2**-50``: a fifth of it here, and
    another eighth of ``exponent 2**-50`` if the exponent itself is a rounded product.
    """
    capped = np.minimum(exponent, LARGEST_EXPONENT)
    halvings = np.floor(capped / LN2[0])
    rest = (capped - halvings * LN2[0]) - halvings * LN2[1]
    found = np.ones_like(rest)
    for k in range(TERMS, 0, -1):
        found = 1 - found * rest / k
    found = np.ldexp(found * (1 - (5 + capped) * 2.0**-50), -halvings.astype(np.int64))
    return np.where(exponent > LARGEST_EXPONENT, 0.0, found)


def pairs_bound(weights: Float, utility: Float, pairs: PairRows, budget: Budget, distance: Float) -> tuple[int, int]:
    """Upper bound on the value of every private channel, and its fractional bits; ``distance`` is one for each row."""
    (n, m), sums = utility.shape, np.bincount(pairs.y, pairs.value[pairs.row], utility.shape[1])
    bits = BITS - int(np.frexp(np.abs(weights).max() * np.abs(utility).max() + sums.max())[1])
    order, size = np.argsort(pairs.y, kind="stable"), max(1, BLOCK // n)
    starts = np.searchsorted(pairs.y, np.arange(0, m + size, size), sorter=order)
    best = np.full(n, np.iinfo(np.int64).min)
    for begin, start, stop in zip(range(0, m, size), starts[:-1], starts[1:], strict=True):
        # The next float is above the product that was rounded; a power of two rounds nothing.
        costs = np.nextafter(weights[:, None] * utility[:, begin : begin + size], np.inf)
        whole = np.ceil(np.ldexp(costs, bits)).astype(np.int64)
        at, row = pairs.y[order[start:stop]] - begin, pairs.row[order[start:stop]]
        value = np.rint(np.ldexp(pairs.value[row], bits))
        less = np.floor(value * exponential_below(budget.rounded_up * distance[row]))
        np.subtract.at(whole, (pairs.first[row], at), less.astype(np.int64))
        np.add.at(whole, (pairs.second[row], at), value.astype(np.int64))
        np.maximum(best, whole.max(axis=1), out=best)
    return sum(best.tolist()), bits
