"""How many threads the linear algebra may use: they cost more than they bring until its matrices are large."""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

THREADED = 1500
"""Order of a matrix from which all cores are used."""


def few_threads(order: int) -> Any:
    """Keep BLAS to one thread, inside a ``with`` or as a decorator's part, where matrices are of a lower order."""
    return threadpool_limits(limits=1 if order < THREADED else None, user_api="blas")
