"""Small programs with known answers, written by hand."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.solvers.program import LinearProgram, Span


def dense_program(
    objective: ArrayLike,
    rows: ArrayLike,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    *,
    column_lower: ArrayLike = 0.0,
    column_upper: ArrayLike = np.inf,
    maximize: bool = True,
) -> LinearProgram:
    r"""Small program from dense arrays: optimize ``objective @ v`` over ``row_lower <= rows @ v <=
    row_upper``.

    Parameters
    ----------
    objective : array_like, shape (columns,)
        Coefficients.
    rows : array_like, shape (rows, columns)
        Coefficients; zeros are left out.
    row_lower, row_upper : array_like
        Bounds of the rows, infinite if there is none; a number applies to all.
    column_lower, column_upper : array_like
        Bounds of the columns; a number applies to all; default: ``0.0`` and ``np.inf``.
    maximize : bool
        Whether the objective is maximized; default: ``True``.

    Returns
    -------
    LinearProgram
        Program with rows ``row[0]``, ... and columns ``v[0]``, ...

    Examples
    --------
    >>> dense_program([3, 5], [[1, 0], [0, 2], [3, 2]], -np.inf, [4, 12, 18]).shape
    (3, 2)
    """
    costs = np.asarray(objective, float)
    matrix = np.asarray(rows, float).reshape(-1, len(costs))
    row, index = np.nonzero(matrix)
    size, width = matrix.shape
    sides: Any = (
        (row_lower, size),
        (row_upper, size),
        (column_lower, width),
        (column_upper, width),
    )
    low, high, least, most = [
        np.array(np.broadcast_to(np.asarray(side, float), (length,))) for side, length in sides
    ]
    spans = [
        (Span(name, 0, k, (tuple(map(str, range(k))),)),)
        for name, k in (("row", size), ("v", width))
    ]
    start = np.searchsorted(row, np.arange(size + 1))
    value = matrix[row, index]
    return LinearProgram(costs, maximize, start, index, value, low, high, least, most, *spans)


def factory() -> LinearProgram:
    """Maximum 36 at (2, 6), duals (0, 3/2, 1)."""
    return dense_program([3, 5], [[1, 0], [0, 2], [3, 2]], -np.inf, [4, 12, 18])


def diet() -> LinearProgram:
    """Minimum 9 at (3, 1), duals (3/2, 1/2)."""
    return dense_program([2, 3], [[1, 1], [1, 3]], [4, 6], np.inf, maximize=False)


def mixed(maximize: bool) -> LinearProgram:
    """Rows of every kind and bounds of every kind; optimum unique and not degenerate."""
    sign = 1.0 if maximize else -1.0
    costs = sign * np.array([4.0, 3.0, -2.0, 1.0, -1.0])
    rows = [[1, 1, 1, 0, 0], [2, -1, 0, 1, 0], [1, 0, -1, 0, 1], [0, 1, 0, 1, 1]]
    bounds: Any = {
        "column_lower": [0, 0, -np.inf, -2, 0.5],
        "column_upper": [np.inf, 4, np.inf, 3, np.inf],
    }
    return dense_program(
        costs, rows, [-np.inf, -4, 1, 2], [10, 6, 1, np.inf], **bounds, maximize=maximize
    )
