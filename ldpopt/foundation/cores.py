"""Cores of the machine: compiled loops release the interpreter's lock, so that threads run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")


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

    Parameters
    ----------
    work : callable
        Takes a part; releases the interpreter's lock where it takes long.
    parts : sequence
        What to do.

    Returns
    -------
    list
        What ``work`` found, in the order of the parts.

    Examples
    --------
    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    if len(parts) == 1 or cores() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(work, parts))
