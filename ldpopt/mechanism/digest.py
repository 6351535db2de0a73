"""Digests: short names for laws, the same for equal labels and masses on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(kind: str, labels: Iterable[Iterable[Hashable]], numbers: Iterable[Fraction | int | NDArray[Any]]) -> str:
    """SHA-256 of alphabets and exact numbers, in 64 hexadecimal digits.

    Examples
    --------
    >>> digest("coin", [["no", "yes"]], [3, 4])[:8] == digest("coin", [("no", "yes")], [3, 4])[:8]
    True
    """
    found = hashlib.sha256(f"{kind}\n".encode())
    for alphabet in labels:
        for label in alphabet:
            found.update(f"{_text(label)}\n".encode("utf-8", "surrogatepass"))
        found.update(b"--\n")
    for number in numbers:
        found.update(number.astype("<i8").tobytes() if isinstance(number, np.ndarray) else f"{number}\n".encode())
    return found.hexdigest()


def _text(label: Hashable) -> str:
    """Labels that are equal have the same text, also 1, 1.0 and True."""
    if isinstance(label, int) or (isinstance(label, float) and math.isfinite(label)):
        return str(Fraction(label))
    return repr(label)
