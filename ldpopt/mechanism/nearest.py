r"""The nearest private channel: a linear program over the notion's rows, and then the exact repair.

Minimize ``t`` subject to ``sum_y max(P[x, y] - C[x, y], 0) <= t`` for every input x (total variation), where C is the
given channel and P is private. Rows of an event-wise notion are generated where P violates them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import RowBlock

MAX_ENTRIES = 2_000_000
"""Largest number of non-zeros of the program; for more the repair alone decides."""

AVERAGE_WEIGHT = 1e-3
"""Weight of the average distance of a row, which decides among the channels with the least largest distance."""

MAX_ROUNDS = 50


def nearest_channel(
    channel: Float, privacy: Any, inputs: Sequence[Hashable], outputs: Sequence[Hashable]
) -> Float | None:
    """Private channel, up to the solver's tolerance, that is nearest to a channel (n, m); None if the program is too large."""
    n, m = channel.shape
    ties = privacy.ties(inputs, outputs)
    if ties is not None and 2 * len(ties.pairs()[0]) * m > MAX_ENTRIES:
        return None
    blocks = [privacy.rows(inputs, m) if ties is None else ties.rows(m)]
    for _ in range(MAX_ROUNDS):
        found = _solve(channel, blocks)
        if found is None:
            return None
        violated = privacy.separate(found, inputs) if privacy.is_separated else None
        if violated is None:
            return found
        blocks.append(violated)
    return found


def _solve(channel: Float, blocks: Sequence[RowBlock]) -> Float | None:
    """Solve the program over P (n, m), the excesses of its entries (n, m), and the largest distance."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    n, m = channel.shape
    size = n * m
    rows, sums = sp.identity(size, format="csr"), sp.kron(sp.identity(n), np.ones((1, m)), format="csr")
    column = sp.csr_array((size, 1))
    upper = [sp.hstack([rows, -rows, column]), sp.hstack([sp.csr_array((n, size)), sums, -np.ones((n, 1))])]
    right = [channel.reshape(-1), np.zeros(n)]
    for block in blocks:
        table = sp.csr_array((block.coefficient, (block.row, block.x * m + block.y)), (len(block), size))
        for bound, sign in ((block.upper, 1.0), (block.lower, -1.0)):
            kept = np.flatnonzero(np.isfinite(bound))
            if len(kept):
                upper.append(sp.hstack([sign * table[kept], sp.csr_array((len(kept), size + 1))]))
                right.append(sign * bound[kept])
    cost = np.concatenate([np.zeros(size), np.full(size, AVERAGE_WEIGHT / n), [1.0]])
    equal = sp.hstack([sums, sp.csr_array((n, size + 1))])
    done = linprog(cost, sp.vstack(upper), np.concatenate(right), equal, np.ones(n), method="highs")
    return np.clip(done.x[:size].reshape(n, m), 0, 1) if done.status == 0 else None
