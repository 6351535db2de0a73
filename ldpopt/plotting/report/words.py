"""Words for people who decide: what an estimate is, and which program wrote a page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt import __version__
from ldpopt.foundation.labels import text_of

MAX_NAMED = 3  # largest number of answers in a row that are named one by one
# smaller half-widths are rounding errors of the probabilities: nothing is estimated
MIN_HALF_WIDTH = 1e-6


def number_in_words(
    name: Hashable, row: Any, inputs: Sequence[Hashable], shown: Callable[[Hashable], str] = text_of
) -> str:
    """Words for the number ``row @ shares``, shape (n,); of a share its answers. None: the share of
    answer ``name``.
    """
    places: list[int] = np.flatnonzero(row).tolist() if row is not None and is_share(row) else []
    answers = [shown(inputs[place]) for place in places]
    if 0 < len(answers) <= MAX_NAMED:
        return " or ".join([", ".join(answers[:-1]), answers[-1]] if len(answers) > 1 else answers)
    is_range = bool(places) and places[-1] - places[0] == len(places) - 1
    return f"anything from {answers[0]} to {answers[-1]}" if is_range else shown(name)


def is_share(row: Any) -> bool:
    """Whether a number is the share of some of the answers."""
    return row is None or bool(np.isin(row, (0, 1)).all())


@cache
def program() -> str:
    """Name, version and digest of the code that runs."""
    home = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(home).as_posix() for path in home.rglob("*.py")):
        digest.update(f"{name}\n".encode() + (home / name).read_bytes())
    return f"ldpopt {__version__}, whose code has the SHA-256 {digest.hexdigest()[:16]}"
