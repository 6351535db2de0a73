"""Functions of estimated shares for `Estimate.function`: a ratio, the odds ratio and phi of a table
of two yes/no questions.
"""

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, real_array


def ratio(shares: Float) -> float:
    r"""Return the ratio of the second to the first of two numbers, :math:`t_2 / t_1`.

    Raises
    ------
    StatementError
        If there are not two numbers.

    Examples
    --------
    >>> from ldpopt import Estimate
    >>> coin = Estimate([0.4, 0.6], [0.1, 0.1], 90, covariance=[[0.01, -0.01], [-0.01, 0.01]])
    >>> coin.function(ratio).values.round(2)
    array([1.5])
    """
    first, second = _of_size(shares, 2)
    with np.errstate(divide="ignore", invalid="ignore"):  # Estimate.function refuses the result
        return float(second / first)


def odds_ratio(table: Float) -> float:
    r"""Return the odds ratio of a table of two yes/no questions.

    .. math:: \frac{t_{11} t_{22}}{t_{12} t_{21}}

    Parameters
    ----------
    table : ndarray, shape (4,)
        Shares of the pairs of answers, row by row, as `Survey.estimate_pair` has them.

    Raises
    ------
    StatementError
        If there are not four numbers.
    """
    first, second, third, fourth = _of_size(table, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(first * fourth / (second * third))


def phi(table: Float) -> float:
    r"""Return the correlation of two yes/no questions.

    .. math:: \frac{t_{11} t_{22} - t_{12} t_{21}}
              {\sqrt{t_{1+} \, t_{2+} \, t_{+1} \, t_{+2}}}

    Parameters
    ----------
    table : ndarray, shape (4,)
        Shares of the pairs of answers, row by row, as `Survey.estimate_pair` has them.

    Raises
    ------
    StatementError
        If there are not four numbers.
    """
    square = _of_size(table, 4).reshape(2, 2)
    margins = np.prod([*square.sum(axis=0), *square.sum(axis=1)])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((square[0, 0] * square[1, 1] - square[0, 1] * square[1, 0]) / np.sqrt(margins))


def _of_size(values: Float, size: int) -> Float:
    numbers = real_array(values, "table")
    if numbers.shape != (size,):
        raise StatementError(
            f"{numbers.size} numbers; this function is of {size}",
            code="shape",
            do="pass the estimates of a question of two answers, or of a table of two such",
        )
    return numbers
