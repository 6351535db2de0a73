r"""Pricing for a single mean: for every report value ``t`` the dearest set takes each answer by its own sign.

.. math:: (k \cdot v)^2 \le (y \cdot v)(r \cdot v) \text{ for all } v \iff
          \sum_x \min_{b \le v_x \le 1} v_x a_x(t) \ge 0 \text{ for all } t, \quad a_x(t) = r_x t^2 - 2 k_x t + y_x .

The set ``{x : a_x(t) < 0}`` changes at the roots of the ``a_x`` only: there are at most ``2 n + 1`` sets to price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class Pieces:
    """The dearest sets from the lowest to the highest report value, in floats.

    Attributes
    ----------
    start, stop : ndarray, shape (s,)
        Report values between which each set is the dearest.
    k, y, r : ndarray, shape (s,)
        ``k.v``, ``y.v`` and ``r.v`` of its column.
    """

    start: Float
    stop: Float
    k: Float
    y: Float
    r: Float

    @property
    def dearest(self) -> Float:
        """Best report value of each set."""
        return self.k / self.r

    @property
    def cost(self) -> Float:
        """``((k.v)^2 / (r.v) - y.v) / (r.v)``: what the line has to be raised by, in multiples of ``r``."""
        return np.asarray((self.k**2 / self.r - self.y) / self.r)

    def minima(self) -> tuple[Float, Float]:
        """Report values at which the sum is locally smallest, and the cost there."""
        inside = (self.dearest >= self.start) & (self.dearest <= self.stop)
        return self.dearest[inside], self.cost[inside]


def pieces(k: Float, y: Float, r: Float, base: float) -> Pieces:
    """Sets in the order of report values."""
    flat = r <= 0
    square = k**2 - r * y
    hits = (square > 0) & ~flat
    root = np.sqrt(np.maximum(square, 0.0))
    # The root of larger size first: no cancellation.
    far = k + np.copysign(root, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = far / r, np.where(far == 0, 0.0, y / far)
        alone = y / (2 * k)
    low, high = np.minimum(first, second)[hits], np.maximum(first, second)[hits]
    up, down = flat & (k > 0), flat & (k < 0)
    where = np.concatenate([low, high, alone[up], alone[down]])
    who = np.concatenate([np.flatnonzero(hits), np.flatnonzero(hits), np.flatnonzero(up), np.flatnonzero(down)])
    sign = np.concatenate([np.ones(hits.sum()), -np.ones(hits.sum()), np.ones(up.sum()), -np.ones(down.sum())])
    order = np.argsort(where, kind="stable")
    where, who, sign = where[order], who[order], sign[order]
    at_first = down | (flat & (k == 0) & (y < 0))
    sums = []
    for vector in (k, y, r):
        begin = base * vector.sum() + (1 - base) * vector[at_first].sum()
        sums.append(begin + np.concatenate([[0.0], np.cumsum((1 - base) * sign * vector[who])]))
    ends = np.concatenate([[-np.inf], where, [np.inf]])
    return Pieces(ends[:-1], ends[1:], *sums)


def raised(k: Float, y: Float, r: Float, base: float) -> Float:
    """Raise ``y`` by the least multiple of ``r`` so that no set costs more than it allows."""
    total = float("inf")
    for _ in range(100):
        more = float(pieces(k, y, r, base).cost.max())
        if not more > 1e-15 * np.abs(y).sum() or more >= total:
            break
        y, total = y + more * r, more
    return y


def slack_at(t: Float, k: Float, y: Float, r: Float, base: float) -> Float:
    """``sum_x min_v v a_x(t)`` at given report values: what the dearest set leaves of the bound there."""
    a = np.multiply.outer(t**2, r) - 2 * np.multiply.outer(t, k) + y
    return np.asarray(np.minimum(a, base * a).sum(axis=1))
