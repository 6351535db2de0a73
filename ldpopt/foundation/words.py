"""Words of messages: the nearest of the known names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def nearest(name: Any, known: Iterable[Any]) -> str:
    """Suggest the nearest of the known names, and list them.

    Examples
    --------
    >>> nearest("epsilom", ["epsilon", "delta"])
    "did you mean 'epsilon'? known: epsilon, delta"
    """
    names = [str(one) for one in known]
    near = difflib.get_close_matches(str(name), names, 1, 0.5)
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return (f"did you mean {near[0]!r}? " if near else "") + f"known: {shown}"
