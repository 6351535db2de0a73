"""Cores of the machine: compiled loops release the interpreter's lock, so that threads run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")

MAX_PARTS = 8
"""Largest number of parts into which rows are split; a sum over all rows is kept for each of them."""

PART_OPERATIONS = 2e6
"""Smallest number of operations of a part, a millisecond or two: less is not worth a thread."""


def cores() -> int:
    """Number of cores that this process may use; the variable ``OMP_NUM_THREADS`` may allow fewer.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(stated)) if stated.isdigit() and int(stated) else allowed


def in_threads(work: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
    """Do some work for each part, on as many cores as there are.

    Examples
    --------
    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    if len(parts) == 1 or cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, parts))


def parts_of(rows: int, operations: float) -> list[slice]:
    """Split rows into parts that are worth a thread; they depend on the sizes only, not on the machine.

    Examples
    --------
    >>> parts_of(4, 1e6)
    [slice(0, 2, None), slice(2, 4, None)]
    """
    count = max(1, min(MAX_PARTS, rows, int(rows * operations / PART_OPERATIONS)))
    ends = [rows * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def over_rows(loop: Callable[..., None], fixed: Sequence[Any], arrays: Sequence[Any], operations: float) -> None:
    """Call a compiled loop with parts of the arrays' rows, on as many cores as there are."""
    in_threads(lambda part: loop(*fixed, *(array[part] for array in arrays)), parts_of(len(arrays[0]), operations))
