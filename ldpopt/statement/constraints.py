"""Side constraints on a channel, one function each; each returns a RowBlock for `Problem(constraints=...)`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import real_array, real_number, short_repr
from ldpopt.foundation.rows import RowBlock


def unbiased(values: ArrayLike, outputs: ArrayLike) -> RowBlock:
    r"""Make the report an unbiased estimate: :math:`\sum_y w_y P(y \mid x) = v_x` for every input.

    Parameters
    ----------
    values : array_like, shape (n,)
        The number behind each input.
    outputs : array_like, shape (m,)
        The number behind each output.

    Returns
    -------
    RowBlock
        ``n`` equations named ``"unbiased"``.

    Raises
    ------
    StatementError
        If a value is not a finite number.

    Notes
    -----
    Feasible under pure epsilon only if the outputs span at least ``coth(epsilon / 2)`` times the inputs' range.

    Examples
    --------
    >>> len(unbiased([-1, 1], [-3, 0, 3]))
    2
    """
    targets, numbers = real_array(values, "list of input values"), real_array(outputs, "list of output values")
    for name, array in (("input", targets), ("output", numbers)):
        if array.ndim != 1 or not array.size or not np.isfinite(array).all():
            raise StatementError(f"the {name} values are no non-empty list of finite numbers")
    n, m = len(targets), len(numbers)
    x = np.repeat(np.arange(n), m)
    return RowBlock("unbiased", x, x, np.tile(np.arange(m), n), np.tile(numbers, n), targets, targets)


def linear(coefficients: ArrayLike, lower: float = -np.inf, upper: float = np.inf, name: str = "linear") -> RowBlock:
    r"""Bound one linear function of the channel: :math:`l \le \sum_{x,y} a_{xy} P(x, y) \le u`.

    Parameters
    ----------
    coefficients : array_like, shape (n, m)
        The numbers :math:`a_{xy}`.
    lower, upper : float
        Bounds; equal ones make an equation.
    name : str
        Name of the block, under which its dual is found.

    Returns
    -------
    RowBlock
        One row.

    Raises
    ------
    StatementError
        If the coefficients are no finite matrix, or the bounds exclude each other.

    Examples
    --------
    >>> len(linear([[1, 0], [0, 0]], upper=0.5, name="at most half"))
    1
    """
    matrix = real_array(coefficients, "coefficient matrix")
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise StatementError(f"the coefficients of {short_repr(name)} are no finite matrix (inputs, outputs)")
    lower, upper = (
        real_number(lower, f"the lower bound of {short_repr(name)}"),
        real_number(upper, f"the upper bound of {short_repr(name)}"),
    )
    if lower > upper:
        raise StatementError(f"the bounds of {short_repr(name)} exclude each other: {lower} > {upper}")
    x, y = np.nonzero(matrix)
    row = np.zeros(len(x), np.int64)
    return RowBlock(name, row, x, y, matrix[x, y], np.array([lower]), np.array([upper]))
