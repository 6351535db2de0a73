"""Loops compiled to machine code, and a product of matrices with the largest term in place of the sum."""

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.threads import in_threads

Function = TypeVar("Function", bound=Callable[..., object])

# Sizes of a tile: rows and columns of the product, and terms that are compared before the next tile
ROWS, COLUMNS, TERMS = 64, 512, 64


def compiled(function: Function) -> Function:
    """Let numba compile a function of arrays and numbers when it is first called."""
    # The machine code is kept beside the source or in the user's cache folder for the next process; if neither can be
    # written, it is compiled anew. numba takes half a second to import, which is spent at the first call.
    return _Compiled(function)  # type: ignore[return-value]


_LOCK = Lock()


class _Compiled:
    """A function with machine code, which other compiled functions may call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function

    @property
    def _machine_code(self) -> Any:
        with _LOCK:  # several threads may call it first
            return self._dispatcher

    @cached_property
    def _dispatcher(self) -> Any:
        import numba

        try:
            kept = numba.njit(cache=True, nogil=True)(self._function)
            files = kept._cache._cache_file
        except (RuntimeError, AttributeError):  # no folder in which code may be kept, or another version of numba
            return numba.njit(nogil=True)(self._function)
        # numba writes the name of a file into its index before the file. Without new names, a kill between the two lets
        # an index of this source name the machine code of an older one.
        files._data_name = lambda number: files._data_name_pattern.format(number=uuid4().int)
        return kept

    @property
    def _numba_type_(self) -> Any:
        """Type by which numba knows this object when it compiles a function that calls it."""
        return self._machine_code._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self._machine_code(*args)


def max_product(left: Float, right: Float) -> Float:
    r"""Largest terms :math:`\max_k a_{ik} b_{kj}` of the product of two matrices, at least 0; nan does not count.

    Takes about a tenth of a nanosecond for each term, on all cores.
    """
    found = np.zeros((len(left), right.shape[1]))

    def work(begin: int) -> None:
        raise_to_products(left[begin : begin + ROWS], right, found[begin : begin + ROWS])

    in_threads(work, range(0, len(left), ROWS))
    return found


@compiled
def raise_to_products(left: Float, right: Float, found: Float) -> None:
    """Raise ``found[i, j]`` to the largest ``left[i, k] * right[k, j]``; a product that is nan does not count."""
    # found may be some rows of right. Tiles of the matrices stay near the processor.
    (rows, terms), columns = left.shape, right.shape[1]
    for begin in range(0, columns, COLUMNS):
        part = slice(begin, min(begin + COLUMNS, columns))
        for first in range(0, terms, TERMS):
            last = min(first + TERMS, terms)
            for i in range(rows):
                best = found[i, part]
                for k in range(first, last - last % 4, 4):
                    a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
                    p, q, r, s = right[k, part], right[k + 1, part], right[k + 2, part], right[k + 3, part]
                    for j in range(len(best)):  # without a branch, so that several are compared at once
                        most = best[j]
                        most = a * p[j] if a * p[j] > most else most
                        most = b * q[j] if b * q[j] > most else most
                        most = c * r[j] if c * r[j] > most else most
                        best[j] = d * s[j] if d * s[j] > most else most
                for k in range(last - last % 4, last):
                    a, p = left[i, k], right[k, part]
                    for j in range(len(best)):
                        best[j] = a * p[j] if a * p[j] > best[j] else best[j]
