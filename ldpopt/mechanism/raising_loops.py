"""Compiled loops that raise columns into the cone of their ties, as `raising` does with numpy for small channels."""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int


@compiled
def _raise_row(x: int, block: Float, ends: Int, partner: Int, ratio: Float, room: float, is_whole: bool) -> bool:
    """Raise the entries of one input to the bounds of its ties; return whether any was below."""
    row, changed = block[x], 0
    for k in range(ends[x], ends[x + 1]):
        other, factor = block[partner[k]], ratio[k]
        for y in range(len(row)):
            floor = (other[y] - room) * factor
            if is_whole:
                floor = np.ceil(floor)
            changed += floor > row[y]
            row[y] = max(row[y], floor)
    return changed > 0


@compiled
def raise_columns(block: Float, ends: Int, partner: Int, ratio: Float, room: float, is_whole: bool) -> None:
    """Raise columns, in place, until every entry is at least ``(entry of a tied input - room) * ratio``."""
    # block has shape (n, few outputs), so that it fits in the cache; ends, partner, ratio are the tied inputs of each
    # input, as compressed rows. Rows are raised in order and in reverse, at most 2 n + 2 times.
    n = len(block)
    for sweep in range(2 * n + 2):
        changed = False
        for at in range(n):
            x = at if sweep % 2 == 0 else n - 1 - at
            if _raise_row(x, block, ends, partner, ratio, room, is_whole):
                changed = True
        if not changed:
            break
