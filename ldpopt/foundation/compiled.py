"""Loops compiled to machine code: for algorithms that walk trees and sparse factors entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers when it is first called.

    The machine code is kept beside the source, or in the user's cache folder, for the next process; where neither
    can be written it is compiled anew. Import a module that uses this inside the function that needs it: numba
    takes half a second to import.

    Examples
    --------
    >>> @compiled
    ... def total(values):
    ...     return values.sum()
    >>> import numpy as np
    >>> total(np.arange(4.0))
    6.0
    """
    try:
        fast = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder in which code may be kept
        fast = numba.njit(nogil=True)(function)
    return fast  # type: ignore[no-any-return]
