"""Friedman's test: do algorithms differ in their ranks over data sets?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, real_array


class Friedman(NamedTuple):
    """Friedman's test of equal algorithms."""

    statistic: float
    p_value: float
    mean_ranks: Float


def friedman(errors: ArrayLike) -> Friedman:
    r"""Friedman's rank test: do the algorithms (columns) differ over the data sets (rows)?

    .. math:: \chi^2 = \frac{12 l}{k (k+1)} \Bigl( \sum_j \bar I_j^2 - \frac{k (k+1)^2}{4} \Bigr)

    Parameters
    ----------
    errors : array_like, shape (l, k)
        Smaller is better; ``l >= 2`` data sets and ``k >= 3`` algorithms.

    Returns
    -------
    Friedman
        The statistic (corrected for ties), its p-value by chi-square with ``k - 1`` degrees of freedom, mean ranks.

    Raises
    ------
    StatementError
        If the table is too small or has entries that are not numbers.

    References
    ----------
    Friedman 1937; Liu and Zhou 2023, equations (22) and (23).

    Examples
    --------
    >>> friedman([[1, 2, 3], [1, 3, 2], [1, 2, 3]]).mean_ranks.round(2)
    array([1.  , 2.33, 2.67])
    """
    from scipy.stats import friedmanchisquare, rankdata

    table = real_array(errors, "table of errors")
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3 or not np.isfinite(table).all():
        raise StatementError(
            f"errors of shape {table.shape} cannot be ranked", do="pass 2 or more rows, 3 or more columns, all finite"
        )
    found = friedmanchisquare(*table.T)
    return Friedman(float(found.statistic), float(found.pvalue), rankdata(table, axis=1).mean(axis=0))


def friedman_statistic(mean_ranks: ArrayLike, sets: int) -> tuple[float, float]:
    """Friedman's statistic and p-value from mean ranks only, without ties; checks published tables.

    Raises
    ------
    StatementError
        If there are fewer than 3 ranks.

    Examples
    --------
    >>> round(friedman_statistic([1.4, 23 / 6, 3.7, 2.4, 11 / 3], 30)[0], 3)
    54.587
    """
    from scipy.stats import chi2

    ranks = real_array(mean_ranks, "list of mean ranks")
    k = len(ranks)
    if ranks.ndim != 1 or k < 3:
        raise StatementError(f"{k} mean ranks are too few for the test")
    statistic = 12 * sets / (k * (k + 1)) * float((ranks**2).sum() - k * (k + 1) ** 2 / 4)
    return statistic, float(chi2.sf(statistic, k - 1))
