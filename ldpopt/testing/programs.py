"""Small programs with known answers, written by hand."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import real_array, shaped_array
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

    Raises
    ------
    StatementError
        If an array has another shape, or an entry is not a number.

    Examples
    --------
    >>> dense_program([3, 5], [[1, 0], [0, 2], [3, 2]], -np.inf, [4, 12, 18]).shape
    (3, 2)
    """
    costs = shaped_array(objective, "objective", None)
    matrix = shaped_array(rows, "rows", None, len(costs))
    row, index = np.nonzero(matrix)
    size, width = matrix.shape
    sides: Any = (
        (row_lower, size),
        (row_upper, size),
        (column_lower, width),
        (column_upper, width),
    )
    low, high, least, most = [_side(side, length) for side, length in sides]
    spans = [
        (Span(name, 0, k, (tuple(map(str, range(k))),)),)
        for name, k in (("row", size), ("v", width))
    ]
    start = np.searchsorted(row, np.arange(size + 1))
    value = matrix[row, index]
    return LinearProgram(costs, maximize, start, index, value, low, high, least, most, *spans)


def _side(values: Any, length: int) -> Any:
    """Bounds of rows or columns, from one number for all or one for each."""
    side = real_array(values, "bounds")
    if side.shape not in ((), (1,), (length,)):
        raise StatementError(
            f"bounds of shape {side.shape} for {length} rows or columns",
            code="shape",
            do="give one number, or one for each",
        )
    return np.array(np.broadcast_to(side, (length,)))


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
