"""How many threads the linear algebra may use: they cost more than they bring until its matrices are large."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

THREADED = 1500
"""Order of a matrix from which all cores are used."""


def few_threads(order: int) -> Any:
    """Keep BLAS to one thread, inside a ``with`` or as a decorator's part, where matrices are of a lower order."""
    return _libraries().limit(limits=1 if order < THREADED else None, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Those loaded by now; looking for them takes milliseconds."""
    return ThreadpoolController()
