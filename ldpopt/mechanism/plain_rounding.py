"""Rounding for plain ties, where only the extremes of each column count."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.mechanism import sampling
from ldpopt.privacy import Ties

# Sum of a row's integer masses; float64 holds all integers up to this exactly, as the arrays below
# require
TOTAL = 1 << sampling.BITS
ROW_TOTAL = float(TOTAL)
LARGEST_FACTOR = 1e300  # larger ratios of masses are rounded like this one


def in_float(factor: Fraction) -> float:
    """The float nearest to a ratio of masses, at most `LARGEST_FACTOR`."""
    try:
        return min(factor.numerator / factor.denominator, LARGEST_FACTOR)
    except OverflowError:
        return LARGEST_FACTOR


def factor_below(ties: Ties) -> float:
    """A little less than ``e**epsilon``, at most `LARGEST_FACTOR`."""
    return in_float(ties.budget.enclosure()[0]) * (1 - 2.0**-50)


def exact_factor(ties: Ties) -> float | None:
    """The ratio ``e**epsilon`` if it is a rational, such as 3 for ``log(3)``."""
    low, high = ties.budget.enclosure()
    factor = in_float(low)
    return factor if low == high and factor < LARGEST_FACTOR else None


def by_extremes(values: Float, ties: Ties) -> Iterator[Any]:
    r"""Columns from their least mass to its ``e**epsilon``-fold, for rows that sum to 1.

    The values are scaled, floored and raised to their columns' least masses ``t``. A constant ``c``
    in a column leaves room for up to :math:`(e^\epsilon - 1) c` in each row, which fills it up:
    :math:`P \le e^\epsilon t` and :math:`c + f \le e^\epsilon c` add up.
    """
    m = values.shape[1]
    low = factor_below(ties)
    most = values.max(axis=0)
    nearest = np.rint(values * ROW_TOTAL).astype(np.int64)
    if _has_whole_rows(nearest):
        yield nearest  # it may be on the grid already
    elif not np.count_nonzero(most > low * values.min(axis=0)):
        yield sampling.round_rows(values)
    if not low > 1:
        return
    if (exact := exact_factor(ties)) is not None:
        # of a rational ratio, such as 3, the optimum itself is often on the grid: a fair coin is
        raised = np.maximum(values, most / exact)
        yield sampling.round_rows(raised / raised.sum(axis=1, keepdims=True))
    lifted = np.maximum(values, most / low)
    sums = lifted.sum(axis=1)
    largest = sums.max()
    # floors take at most a unit of each entry, and those of the constant and its room one each
    missing = ROW_TOTAL * float(1 - sums.min() / largest) + 4 * m
    share = missing / (low - 1) + m
    if share > ROW_TOTAL / 8:
        return
    constant = np.floor(lifted.sum(axis=0) * (share / sums.sum()))
    counts = np.floor(lifted * ((ROW_TOTAL - np.ceil(share) - 2 * m) / largest))
    counts = np.maximum(counts, np.ceil(counts.max(axis=0) / low)) + constant
    room = np.floor(np.minimum(constant * (low - 1), ROW_TOTAL / m))
    left = TOTAL - counts.astype(np.int64).sum(axis=1, keepdims=True)
    counts += np.minimum(np.maximum(left - (room.cumsum() - room), 0.0), room)
    if left.min() >= 0 and _has_whole_rows(counts.astype(np.int64)):
        yield counts


def _has_whole_rows(counts: Any) -> bool:
    """Whether the masses of each row sum to `TOTAL`."""
    return not np.count_nonzero(counts.sum(axis=1) != TOTAL)
