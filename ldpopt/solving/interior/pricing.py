r"""Pricing of outputs: what multipliers of the row sums say about every output of a column-tied program, in floats.

With ``d = costs - y`` the best cone of output ``j`` is worth

.. math:: g_j(y) = \beta \sum_x d_{xj}^+ + b \sum_x d_{xj},

and ``y`` is dual feasible where no :math:`g_j` is positive (docs, "Certificates"). Every :math:`g_j(y + t)` is convex,
piecewise linear and decreasing in ``t``: Newton's method from the left finds the least feasible shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.foundation.checks import Float

CHUNK = 1 << 18
"""Entries worked on at a time."""


@dataclass(frozen=True)
class Prices:
    r"""Sums over the inputs of each output: :math:`\sum d^+`, :math:`\sum d`, and how many :math:`d` are positive."""

    positive: Any
    total: Any
    count: Any

    @classmethod
    def of(cls, costs: Any, duals: Any) -> Prices:
        """Price columns, floats or integers, a chunk of inputs at a time."""
        n, m = costs.shape
        positive, total = (np.zeros(m, costs.dtype) for _ in range(2))
        count = np.zeros(m, np.int64)
        step = max(1, CHUNK // max(m, 1))
        for first in range(0, n, step):
            excess = costs[first : first + step] - duals[first : first + step, None]
            over = excess > 0
            total += excess.sum(axis=0)
            count += over.sum(axis=0)
            excess *= over
            positive += excess.sum(axis=0)
        return cls(positive, total, count)

    def gains(self, b: Any, beta: Any) -> Any:
        """Worth :math:`g_j` of each output's best cone."""
        return beta * self.positive + b * self.total


def best_bound(costs: Float, duals: Float, b: float, beta: float, delta: float = 0.0) -> float:
    r"""Upper bound :math:`\sum_x y_x + n t` with the best shift, plus the slack's share; up to rounding."""
    n = len(duals)
    prices = Prices.of(costs, duals)
    # A tangent's root lies left of the root, more so for a larger b: the first step may go back, all others go on.
    least = max(b, np.finfo(float).eps)
    steps = prices.gains(least, beta) / (beta * prices.count + least * n)
    shift = float(max(steps.max(), 0.0) if delta else steps.max())
    # A gain grows by n (b + beta) at most for each unit that the multipliers go back.
    columns = np.flatnonzero(prices.gains(b, beta) > min(shift, 0.0) * n * (b + beta))
    for _ in range(100):
        prices = Prices.of(costs[:, columns], duals + shift)
        gains = prices.gains(b, beta)
        left = gains > 0
        if not left.any():
            break
        columns = columns[left]
        move = float((gains[left] / (beta * prices.count[left] + b * n)).max())
        if shift + move == shift:
            break
        shift += move
    total = float(duals.sum()) + n * shift
    if delta:
        total += delta * float(Prices.of(costs, duals + shift).positive.sum())
    return total


def project_to_private(channel: Float, b: float, delta: float = 0.0) -> Float:
    """Return a private channel near this one, shape (n, k), whose ratios and row sums are slightly off; up to rounding.

    Entries are raised to their floors ``b (max - delta)``, and what rows lack is filled up. Nothing is claimed of the
    result: it is repaired and audited like any other.
    """
    top = channel.max(axis=0)
    raised: Float = np.maximum(channel, b * (top - delta))
    sums = raised.sum(axis=1)
    # Less may be scaled up only where no slack is exceeded by it.
    total = max(1.0, float(sums.max())) if delta else float(sums.max())
    lack = total / float(sums.min()) - 1
    # Rows that lack mass take it in one column, whose ratio a share of constant rows makes room for.
    room = (1 - b) / max(b, 1e-100)
    share = min(1.0, lack / (room + delta * (1 + room) + 1e-300) + lack)
    raised *= (1 - share) / total
    raised[:, int(np.argmax(top))] += share + (1 - share) * (1 - sums / total)
    return raised
