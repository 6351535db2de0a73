"""Side constraints on a channel: each function returns a RowBlock for
`Problem(constraints=...)`.
"""

from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.numbers import real_number, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.problem.utility import read_numbers


def unbiased(values: Any, outputs: Any) -> RowBlock:
    r"""Make the report an unbiased estimate: :math:`\sum_y w_y P(y \mid x) = v_x` for every input.

    Feasible under pure epsilon only if the outputs span at least ``coth(epsilon / 2)`` times the
    inputs' range.

    Parameters
    ----------
    values : array_like, shape (n,), or mapping or Series label -> number
        Value of each input.
    outputs : array_like, shape (m,), or mapping or Series label -> number
        Value of each output.

    Returns
    -------
    RowBlock
        ``n`` equations named ``"unbiased"``.

    Raises
    ------
    StatementError
        If a list of values is empty or not finite.

    Examples
    --------
    >>> len(unbiased([-1, 1], [-3, 0, 3]))
    2
    """
    rows = read_numbers(values, "input")
    columns = read_numbers(outputs, "output")
    targets, numbers = rows.values, columns.values
    n = len(targets)
    m = len(numbers)
    x = np.repeat(np.arange(n), m)
    y = np.tile(np.arange(m), n)
    return RowBlock(
        "unbiased",
        x,
        x,
        y,
        np.tile(numbers, n),
        targets,
        targets,
        rows.axes[0],
        columns.axes[0],
        (n, m),
    )


def linear(
    coefficients: Any, lower: float = -np.inf, upper: float = np.inf, name: str = "linear"
) -> RowBlock:
    r"""Bound one linear function of the channel: :math:`l \le \sum_{x,y} a_{xy} P(x, y) \le u`.

    Parameters
    ----------
    coefficients : array_like, shape (n, m), or DataFrame or mapping of mappings
        The numbers :math:`a_{xy}`; labels are those of the inputs and outputs.
    lower, upper : float
        Bounds; equal bounds give an equation; default: ``-inf`` and ``inf``.
    name : str
        Name of the block and of its dual; default: ``"linear"``.

    Raises
    ------
    StatementError
        If the coefficients are not a finite matrix, or the bounds exclude each other or are
        infinite.

    Examples
    --------
    >>> len(linear([[1, 0], [0, 0]], upper=0.5, name="at most half"))
    1
    """
    table = read_labelled(coefficients, "coefficient matrix")
    matrix = table.values
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        problem = (
            f"the coefficients of {short_repr(name)} are not a finite matrix (inputs, outputs)"
        )
        raise StatementError(
            problem,
            code="coefficients",
            do="give one row for each input, one column for each output",
        )
    lower = real_number(lower, f"the lower bound of {short_repr(name)}")
    upper = real_number(upper, f"the upper bound of {short_repr(name)}")
    if lower > upper:
        problem = f"the bounds of {short_repr(name)} exclude each other: {lower} > {upper}"
        raise StatementError(
            problem, code="bounds", do="give a lower bound that is at most the upper one"
        )
    if not np.isfinite([lower, upper]).any():
        raise StatementError(
            f"the constraint {short_repr(name)} has no bound", do="give lower, upper or both"
        )
    x, y = np.nonzero(matrix)
    row = np.zeros(len(x), np.int64)
    inputs, outputs = table.axes
    n, m = matrix.shape
    ends = (np.array([lower]), np.array([upper]))
    return RowBlock(name, row, x, y, matrix[x, y], *ends, inputs, outputs, (n, m))
