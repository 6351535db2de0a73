r"""Rows of events, recognized by their numbers.

A row :math:`b P_x(S) - P_{x'}(S) \le h` has one coefficient ``b`` for the reports of an event at
one input, and -1 for the same reports at another. Rows that a search has generated enter a proof
only if the notion recognizes them: from ``b`` and ``h`` alone, whatever was meant by them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.ties import Ties

Height = Callable[[Fraction], Fraction | None]
"""The least ``h`` of all private channels at a ratio ``b``; None if none is known."""


def events_hold(block: RowBlock, height: Height, tied: Any = None) -> bool:
    """Whether every row of a block is one of an event, with a side that is at least its height.

    ``tied``, (n, n), has the ordered pairs of positions that are compared; None: all of them.
    """
    if not np.isneginf(block.lower).all():
        return False
    ends = np.searchsorted(block.row, np.arange(len(block) + 1))
    known: dict[float, Fraction | None] = {}
    for row in range(len(block)):
        part = slice(ends[row], ends[row + 1])
        pair = _event_of(block.x[part], block.y[part], block.coefficient[part])
        if pair is None:
            return False
        x, other, ratio = pair
        if tied is not None and not tied[x, other]:
            return False
        if ratio not in known:
            known[ratio] = height(Fraction(ratio))
        least = known[ratio]
        side = float(block.upper[row])
        if least is None or (np.isfinite(side) and Fraction(side) < least):
            return False
    return True


def _event_of(x: Any, y: Any, coefficient: Any) -> tuple[int, int, float] | None:
    """The two inputs and the ratio of a row of an event; None for another row."""
    over = coefficient > 0
    ratio = float(coefficient[over].max(initial=0.0))
    is_event = (
        over.any()
        and (coefficient[over] == ratio).all()
        and (coefficient[~over] == -1).all()
        and len(set(x[over].tolist())) == len(set(x[~over].tolist())) == 1
        and sorted(y[over].tolist()) == sorted(set(y[~over].tolist())) == sorted(y[~over].tolist())
    )
    if not is_event or x[over][0] == x[~over][0]:
        return None
    return int(x[over][0]), int(x[~over][0]), ratio


def height_of_ties(ties: Ties) -> Height:
    r"""``b delta`` at ratios of at most :math:`e^{-\epsilon}`, for ties whose events share a
    delta.
    """
    high = ties.budget.enclosure()[1]
    delta = Fraction(ties.delta)

    def height(ratio: Fraction) -> Fraction | None:
        return ratio * delta if ratio * high <= 1 else None

    return height
