"""Modules that can be called: ``ldpopt.sweep(problem, epsilons)`` is ``ldpopt.sweep.sweep(problem, epsilons)``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def make_callable(module: str, function: str) -> None:
    """Let a loaded module be called as one of its functions, whose documentation `help` and ``?`` then show.

    Parameters
    ----------
    module : str
        Its name, as in ``__name__``.
    function : str
        Name of the function in it.
    """

    class Callable(ModuleType):
        def __call__(self, *args: Any, **how: Any) -> Any:
            return getattr(self, function)(*args, **how)

    Callable.__call__.__doc__ = getattr(sys.modules[module], function).__doc__
    sys.modules[module].__class__ = Callable
