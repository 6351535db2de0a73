"""How many threads may be used: for small matrices of linear algebra, one thread is fastest."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

THREADED = 1500
"""Smallest order of a matrix for which all cores are used."""


def few_threads(order: int) -> Any:
    """Limit BLAS to one thread if matrices are of a lower order than `THREADED`; used in a ``with`` statement."""
    return _libraries().limit(limits=1 if order < THREADED else None, user_api="blas")


def cores() -> int:
    """Number of cores that this process may use; ``OMP_NUM_THREADS`` may allow fewer."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(stated)) if stated.isdigit() and int(stated) else allowed


@cache
def _libraries() -> ThreadpoolController:
    """The loaded linear algebra libraries; the search takes milliseconds."""
    return ThreadpoolController()
