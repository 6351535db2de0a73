"""How many threads the linear algebra may use: for small matrices, one thread is fastest."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

THREADED = 1500
"""Smallest order of a matrix for which all cores are used."""


def few_threads(order: int) -> Any:
    """Limit BLAS to one thread if matrices are of a lower order than `THREADED`; used in a ``with`` statement."""
    return _libraries().limit(limits=1 if order < THREADED else None, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """The loaded linear algebra libraries; the search takes milliseconds."""
    return ThreadpoolController()
