"""Old names of public things: they work for a while, with a warning that names the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def renamed(old: str, new: str) -> Callable[..., Any]:
    """Return a method that warns, and calls the method of the new name.

    Examples
    --------
    >>> class Coin:
    ...     def privatize(self, answers):
    ...         return answers
    ...     randomize = renamed("randomize", "privatize")
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     _ = Coin().randomize(["yes"])
    >>> str(seen[0].message)
    'Coin.randomize() is now Coin.privatize()'
    """

    def method(self: Any, *args: Any, **how: Any) -> Any:
        name = (self if isinstance(self, type) else type(self)).__name__
        warnings.warn(f"{name}.{old}() is now {name}.{new}()", DeprecationWarning, stacklevel=2)
        return getattr(self, new)(*args, **how)

    method.__name__ = method.__qualname__ = old
    method.__doc__ = f"Old name of `{new}`."
    return method
