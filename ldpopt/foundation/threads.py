"""How many threads the linear algebra may use: for small matrices, one thread is fastest.

Threads of OpenBLAS wait for each other by spinning, which costs small matrices up to seventeen times the work itself.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

THREADED = 1500
"""Smallest order of a matrix for which all cores are used (``python benchmarks/designs.py threads``)."""


def few_threads(order: int) -> Any:
    """Limit BLAS to one thread if matrices are of a lower order than `THREADED`; used in a ``with`` statement."""
    return _libraries("scipy.linalg" in sys.modules).limit(limits=1 if order < THREADED else None, user_api="blas")


@cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """The loaded linear algebra libraries, of which scipy has its own; the search takes milliseconds."""
    return ThreadpoolController()
