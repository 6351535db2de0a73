r"""Pricing for a single mean: for every report value ``t`` the costliest set is found answer by answer.

.. math:: (k \cdot v)^2 \le (y \cdot v)(r \cdot v) \text{ for all } v \iff
          \sum_x \min_{b \le v_x \le 1} v_x a_x(t) \ge 0 \text{ for all } t, \quad a_x(t) = r_x t^2 - 2 k_x t + y_x .

The set ``{x : a_x(t) < 0}`` changes only at the roots of the ``a_x``: there are at most ``2 n + 1`` sets to price.
"""

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class Pieces:
    """The costliest sets from the lowest to the highest report value, each between ``start`` and ``stop``."""

    start: Float
    stop: Float
    k: Float  # k.v of the column of the set
    y: Float  # y.v
    r: Float  # r.v

    @property
    def cost(self) -> Float:
        """``((k.v)^2 / (r.v) - y.v) / (r.v)``: the multiple of ``r`` that has to be added to ``y``."""
        return np.asarray((self.k**2 / self.r - self.y) / self.r)

    def minima(self) -> tuple[Float, Float]:
        """Report values at which the sum is locally smallest, and the cost there."""
        best = self.k / self.r
        inside = (best >= self.start) & (best <= self.stop)
        return best[inside], self.cost[inside]


def pieces(k: Float, y: Float, r: Float, base: float) -> Pieces:
    """The costliest sets in the order of report values."""
    flat = r <= 0
    square = k**2 - r * y
    hits = (square > 0) & ~flat
    root = np.sqrt(np.maximum(square, 0.0))
    # The root of larger absolute value first, without cancellation.
    far = k + np.copysign(root, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = far / r, np.where(far == 0, 0.0, y / far)
        alone = y / (2 * k)
    low, high = np.minimum(first, second)[hits], np.maximum(first, second)[hits]
    up, down = flat & (k > 0), flat & (k < 0)
    place = np.concatenate([low, high, alone[up], alone[down]])
    answer = np.concatenate([np.flatnonzero(hits), np.flatnonzero(hits), np.flatnonzero(up), np.flatnonzero(down)])
    sign = np.concatenate([np.ones(hits.sum()), -np.ones(hits.sum()), np.ones(up.sum()), -np.ones(down.sum())])
    order = np.argsort(place, kind="stable")
    place, answer, sign = place[order], answer[order], sign[order]
    at_first = down | (flat & (k == 0) & (y < 0))
    sums = []
    for vector in (k, y, r):
        begin = base * vector.sum() + (1 - base) * vector[at_first].sum()
        sums.append(begin + np.concatenate([[0.0], np.cumsum((1 - base) * sign * vector[answer])]))
    ends = np.concatenate([[-np.inf], place, [np.inf]])
    return Pieces(ends[:-1], ends[1:], *sums)


def raised(k: Float, y: Float, r: Float, base: float) -> Float:
    """``y`` plus the least multiple of ``r`` with which no set costs more than allowed."""
    total = float("inf")
    for _ in range(100):
        more = float(pieces(k, y, r, base).cost.max())
        if not more > 1e-15 * np.abs(y).sum() or more >= total:
            break
        y, total = y + more * r, more
    return y


def slack_at(t: Float, k: Float, y: Float, r: Float, base: float) -> Float:
    """``sum_x min_v v a_x(t)`` at given report values: the slack of the costliest set."""
    a = np.multiply.outer(t**2, r) - 2 * np.multiply.outer(t, k) + y
    return np.asarray(np.minimum(a, base * a).sum(axis=1))
