"""Threads: for loops in C over the rows of an array, and those that the linear algebra may use."""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from ldpopt.foundation.numbers import Float
from ldpopt.native import raise_to_products

Part = TypeVar("Part")
Result = TypeVar("Result")

ROWS = 64  # number of rows of a product that a thread computes at a time
# largest number of parts into which rows are split; a sum over all rows is kept for each of them
MAX_PARTS = 8
# smallest number of operations of a part, a millisecond or two: less does not pay for a thread
PART_OPERATIONS = 2e6
# smallest order of a matrix for which all cores are used (``python benchmarks/designs.py threads``)
THREADED = 1500


def cores() -> int:
    """Number of cores that this process may use; the variable ``OMP_NUM_THREADS`` may allow
    fewer.
    """
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(limit)) if limit.isdigit() and int(limit) else allowed


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Apply a function that releases the interpreter's lock to each part, on all cores."""
    if len(parts) == 1 or cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, parts))


def parts_of(rows: int, operations: float) -> list[slice]:
    """Split rows of so many operations each into slices for threads; the slices do not depend on
    the machine.
    """
    count = max(1, min(MAX_PARTS, rows, int(rows * operations / PART_OPERATIONS)))
    return [slice(a, b) for a, b in pairwise([rows * k // count for k in range(count + 1)])]


def over_rows(
    loop: Callable[..., object], fixed: Sequence[Any], arrays: Sequence[Any], operations: float
) -> None:
    """Call a loop in C with parts of the arrays' rows, of so many operations each, on all cores."""
    in_threads(
        lambda part: loop(*fixed, *(array[part] for array in arrays)),
        parts_of(len(arrays[0]), operations),
    )


def few_threads(order: int) -> Any:
    """Context manager that limits BLAS to one thread for matrices of a lower order than
    `THREADED`.
    """
    # Threads of OpenBLAS wait for each other by spinning, which can make small matrices seventeen
    # times slower.
    return _libraries("scipy.linalg" in sys.modules).limit(
        limits=1 if order < THREADED else None, user_api="blas"
    )


@cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """Loaded linear algebra libraries, of which scipy has its own; finding them takes
    milliseconds.
    """
    return ThreadpoolController()


def max_product(left: Float, right: Float) -> Float:
    r"""Largest terms :math:`\max_k a_{ik} b_{kj}` of the product of two matrices, at least 0; nan
    does not count.
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    largest = np.zeros((len(left), right.shape[1]))

    def work(begin: int) -> None:
        raise_to_products(left[begin : begin + ROWS], right, largest[begin : begin + ROWS])

    in_threads(work, range(0, len(left), ROWS))
    return largest
