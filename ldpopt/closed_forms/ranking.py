"""Ranking: a prior in descending order, with the sums that decide how many answers to report."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.form import exact_sum
from ldpopt.foundation.numbers import Float


class Ranking:
    r"""Weights in descending order and the gaps :math:`G_k = \sum_{j<k} (\pi_{(j)} - \pi_{(k)})`.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Non-negative, not all zero.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Codes by descending weight; for equal weights the lower code first.
    sorted : ndarray, shape (n,)
        The weights in that order.
    gaps : ndarray, shape (n,)
        A running sum of non-negative terms ``k (pi_(k) - pi_(k+1))``: no cancellation, ties give exact zeros.
    support : int
        Number of positive weights.

    Notes
    -----
    O(n log n). Reporting the k-th answer is worth it if ``pi_(k) (alpha - 1) >= G_k``.
    """

    def __init__(self, weights: Float) -> None:
        self.order: NDArray[np.int64] = np.argsort(-weights, kind="stable")
        self.sorted: Float = weights[self.order]
        self.gaps: Float = np.zeros(len(weights))
        np.cumsum(np.arange(1, len(weights)) * -np.diff(self.sorted), out=self.gaps[1:])
        self.support = int(np.count_nonzero(weights))

    def total(self, k: int | None = None) -> Fraction:
        r"""Exact :math:`S_k`, or the sum of all weights."""
        return exact_sum(self.sorted[:k])

    def largest_k(self, alpha: Fraction) -> tuple[int, Fraction]:
        r"""Find the largest optimal number of members, and its :math:`S_k`, exactly.

        .. math:: k^* = \max \{ k : \pi_{(k)} > 0,\ \pi_{(k)} (\alpha + k - 2) \ge S_{k-1} \}

        Notes
        -----
        Floats give a first guess. A search in rationals over blocks of equal weights corrects their rounding.
        The thresholds are monotone, so the search finds the optimum.
        """
        b = float(1 / alpha)
        worth_reporting = (self.sorted > 0) & (self.sorted * float(1 - 1 / alpha) >= b * self.gaps)
        k = int(np.argmin(worth_reporting)) if not worth_reporting.all() else len(worth_reporting)
        total = self.total(k)
        while k < self.support and self._is_worth_reporting(k + 1, total, alpha):
            weight, end = Fraction(float(self.sorted[k])), self._block(k)[1]
            total, k = total + weight * (end - k), end
        while k > 1:
            weight, start = Fraction(float(self.sorted[k - 1])), self._block(k - 1)[0]
            if self._is_worth_reporting(k, total - weight, alpha):
                break
            total, k = total - weight * (k - start), start
        return k, total

    def _is_worth_reporting(self, k: int, before: Fraction, alpha: Fraction) -> bool:
        """Whether ``pi_(k) (alpha + k - 2) >= S_{k-1}``; equality at a tie."""
        return Fraction(float(self.sorted[k - 1])) * (alpha + k - 2) >= before

    def _block(self, index: int) -> tuple[int, int]:
        """Start and end of the block of weights equal to the one at ``index``."""
        weight = -self.sorted[index]
        ascending = -self.sorted
        return int(np.searchsorted(ascending, weight, "left")), int(np.searchsorted(ascending, weight, "right"))
