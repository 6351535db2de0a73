"""Edges of classes: the ends of the intervals of numbers that ordered answers stand for."""

from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import contains_non_numbers, short_repr


def read_edges(edges: Any, n: int) -> tuple[float, ...]:
    """The edges of ``n`` classes, ascending; only the first and the last may be infinite."""
    try:
        numbers = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    is_right = numbers.shape == (n + 1,) and not contains_non_numbers(edges)
    if not is_right or not (numbers[1:] > numbers[:-1]).all() or np.isinf(numbers[1:-1]).any():
        raise StatementError(
            f"edges = {short_repr(edges)} are not the ends of {n} classes",
            code="edges",
            do=f"pass {n + 1} ascending numbers; only the first and the last may be infinite",
        )
    return tuple(numbers.tolist())
