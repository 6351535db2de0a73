"""Rows and columns of the compact form as arrays; those of small problems are kept."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float, Int, frozen

# starts, columns and coefficients of rows; lower and upper sides of rows, and of columns
Arrays = tuple[Int, Int, Float, Float, Float, Float, Float]
KEPT_ENTRIES = 10_000  # entries up to which arrays are kept


@lru_cache(maxsize=16)
def complete_arrays(n: int, m: int, b: float, beta: float, delta: float) -> Arrays:
    """The arrays of all inputs and outputs, read-only: small problems of one shape and budget share
    them.
    """
    if not (b and beta):
        return _all_arrays(n, m, b, beta, delta)
    start, index, signs, lower, upper, *limits = _pattern(n, m)
    value = np.where(signs == 1.0, 1.0, np.where(signs > 0, b, -beta))
    upper = upper if not delta else frozen(np.where(upper == 1.0, 1.0, delta))
    return start, index, frozen(value), lower, upper, limits[0], limits[1]


@lru_cache(maxsize=16)
def _pattern(n: int, m: int) -> Arrays:
    """The arrays of a shape, in which 0.5 stands for ``b`` and for ``beta``: budgets share all that
    does not depend on them.
    """
    return _all_arrays(n, m, 0.5, 0.5, 0.0)


def _all_arrays(n: int, m: int, b: float, beta: float, delta: float) -> Arrays:
    """What `complete_arrays` returns, computed."""
    everything = np.ones(n * m + m, bool)
    arrays = compact_arrays((n, m), np.arange(n), np.arange(m), everything, b, beta, delta)
    # HiGHS takes integers of 32 bits as they are, and converts others at every solve
    start, index = (frozen(part.astype(np.int32)) for part in arrays[:2])
    value, *limits = map(frozen, arrays[2:])
    return start, index, value, limits[0], limits[1], limits[2], limits[3]


def compact_arrays(
    shape: tuple[int, int],
    capped: Int,
    shared: Int,
    is_free: NDArray[np.bool_],
    b: float,
    beta: float,
    delta: float,
) -> Arrays:
    """Matrix without zeros, sides of rows, and bounds of columns: ``sum_y (Q[x, y] + b M[y]) = 1``
    for every input, then ``Q[x, y] - beta M[y] <= delta`` for capped inputs and shared outputs.

    ``shape`` is (n, m); ``capped`` and ``shared`` are positions; ``is_free``, (n m + m,), is False
    for columns that are fixed to 0; ``b`` is ``exp(-epsilon)`` and ``beta`` is ``1 - b``.
    """
    n, m = shape
    # columns of the program: Q row by row, then M
    q = np.arange(n * m).reshape(n, m)
    floors = n * m + np.arange(m)
    size = len(capped) * len(shared)
    index = np.empty(2 * (n * m + size), np.int64)
    value = np.empty(2 * (n * m + size))
    columns = q, floors, q[capped[:, None], shared], floors[shared]
    for array, parts in ((index, columns), (value, (1.0, b, 1.0, -beta))):
        sums = array[: 2 * n * m].reshape(n, 2, m)
        caps = array[2 * n * m :].reshape(len(capped), len(shared), 2)
        sums[:, 0], sums[:, 1], caps[:, :, 0], caps[:, :, 1] = parts
    start = np.concatenate([np.arange(n) * 2 * m, n * 2 * m + np.arange(size + 1) * 2])
    if not (keep := value != 0).all():  # beta at epsilon = 0, ``b`` beyond epsilon = 745
        start = np.concatenate([[0], np.cumsum(keep)])[start]
        index = index[keep]
        value = value[keep]
    lower = np.concatenate([np.ones(n), np.full(size, -np.inf)])
    upper = np.concatenate([np.ones(n), np.full(size, delta)])
    limits = np.where(is_free, np.inf, 0.0)
    return start, index, value, lower, upper, np.zeros(n * m + m), limits
