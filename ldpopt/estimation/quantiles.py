r"""Quantiles of ordered answers: the inversion of their estimated distribution function.

``F_j`` is the share of the answers up to the ``j``-th, with the pointwise band :math:`[L_j, H_j]`
of its score intervals. All are 0 at the first edge of the classes and 1 at the last one, and linear
in between. The interval of a quantile ``p`` has all ``t`` that the band does not exclude,

.. math:: [\min \{t : H(t) \ge p\}, \; \max \{t : L(t) \le p\}]

(Woodruff 1952). It needs no monotone ``F``, and at one ``t`` alone decides whether that ``t`` is
the quantile, so that it covers as the intervals of ``F`` do. The estimate is where the isotonic
regression of ``F``, clipped to [0, 1], reaches ``p``; where it is flat at ``p``, the middle.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, MultiplesBand, ScoreBand
from ldpopt.estimation.intervals import normal_quantile, student_quantile
from ldpopt.estimation.strata import StrataBand
from ldpopt.foundation.edges import read_edges
from ldpopt.foundation.labels import label_numbers
from ldpopt.foundation.numbers import Float, inner_share

if TYPE_CHECKING:
    from ldpopt.estimation.estimate import Estimate


@runtime_checkable
class SharesOfSome(Band, Protocol):
    """The band of shares among some of the people, such as those who answered."""

    @property
    def answered(self) -> Float:
        """The numbers of the answers of these people, shape (k, n)."""

    @property
    def inputs(self) -> tuple[Hashable, ...] | None:
        """These answers; None if they are not known."""


@dataclass(frozen=True, eq=False)
class QuantileBand:
    """The quantile ``p`` of ordered answers, from the band of their distribution function."""

    shares: Band  # F_1 to F_(n - 1)
    p: float
    edges: Float | None  # (n + 1,); None: quantiles are positions of answers

    @cached_property
    def values(self) -> Float:
        """The estimate, shape (1,)."""
        from scipy.optimize import isotonic_regression

        rising = self.shares.values
        if len(rising):
            rising = isotonic_regression(rising).x
        heights = np.concatenate([[0.0], np.clip(rising, 0.0, 1.0), [1.0]])
        first, last = (int(np.searchsorted(heights, self.p, side)) for side in ("left", "right"))
        if self.edges is None:
            return np.array([first - 1.0])
        if first < last:  # flat at p between two edges
            return np.array([(self.edges[first] + self.edges[last - 1]) / 2])
        return np.array([_crossing(heights, self.edges, first - 1, self.p)])

    @property
    def errors(self) -> Float:
        """Half of the length of the interval of one standard error, shape (1,)."""
        width = 2 * student_quantile(1.0, self.freedom)
        return np.asarray(np.diff(self.ends(1.0))[:, 0] / width)

    @property
    def covariance(self) -> None:
        """Not known: the interval is not symmetric."""
        return None

    @property
    def effect(self) -> None:
        """Not known: the shares have design effects of their own."""
        return None

    @property
    def possible(self) -> Float:
        """From the first to the last edge, or answer, shape (1, 2)."""
        if self.edges is None:
            return np.array([[0.0, float(len(self.shares.values))]])
        return np.asarray(self.edges[[0, -1]][None])

    @property
    def freedom(self) -> float:
        """That of the shares."""
        return self.shares.freedom

    @property
    def influence_values(self) -> None:
        """Not known: a quantile is not linear in the reports."""
        return None

    def ends(self, z: Any) -> Float:
        """Ends of the interval, shape (1, 2).

        An end in an unbounded class is infinite if it is the outer one, and else the class's edge.
        """
        low, high = self.shares.ends(float(np.ravel(z)[0])).T
        lower, upper = (np.concatenate([[0.0], side, [1.0]]) for side in (low, high))
        below = int(np.argmax(upper >= self.p)) - 1  # the class of the first t with H(t) >= p
        above = int(np.flatnonzero(lower <= self.p)[-1])  # of the last t with L(t) <= p
        if self.edges is None:
            return np.array([[below, above]], dtype=np.float64)
        first = _crossing(upper, self.edges, below, self.p, np.isinf(self.edges[below + 1]))
        last = _crossing(lower, self.edges, above, self.p, np.isinf(self.edges[above]))
        return np.array([[first, last]])

    def contrast(self, matrix: Float) -> Band:
        """A multiple of the quantile."""
        return MultiplesBand.of(self, matrix)


def _crossing(
    heights: Float, edges: Float, place: int, p: float, takes_finite: bool = False
) -> float:
    """Where a function that is linear in the class after edge ``place`` has the value ``p``."""
    left, right = edges[place : place + 2].tolist()
    if np.isinf(left) or np.isinf(right):
        finite, infinite = (right, left) if np.isinf(left) else (left, right)
        return float(finite if takes_finite else infinite)
    low, high = heights[place : place + 2]
    return float(left + (right - left) * (p - low) / (high - low))


def quantile(estimate: Estimate, p: float, edges: Any = None) -> Estimate:
    """A quantile of ordered answers; see `Estimate.quantile`."""
    share = inner_share(p, "p", do="pass 0.5 for the median")
    shares, answers = distribution_of(estimate)
    ends = None if edges is None else np.array(read_edges(edges, len(answers)))
    band = QuantileBand(shares, share, ends)
    z = normal_quantile(estimate.confidence)
    interval = band.ends(z)
    return replace(
        estimate,
        values=band.values,
        std_error=np.diff(interval)[:, 0] / (2 * student_quantile(z, band.freedom)),
        method="quantile",
        labels=(f"quantile {share:g}",),
        covariance=None,
        interval=interval,
        is_distribution=False,
        simultaneous=False,
        band=band,
        effect=None,
        scale=answers if ends is None else None,
    )


def distribution_of(estimate: Estimate) -> tuple[Band, tuple[Hashable, ...]]:
    """The band of the shares up to each answer but the last, and the answers in their order:
    numbers ascend.
    """
    band = estimate.bounds
    if estimate.is_distribution:
        answers = estimate.labels or tuple(range(len(estimate.values)))
        return _summed(band, answers, len(answers))
    if (ratios := _among_answered(estimate)) is not None:
        return ratios
    if isinstance(band, (ScoreBand, StrataBand)) and band.answers:
        n = len(band.answers)
        rows = (band.wanted.T + band.constant).T
        if len(rows) in (n - 1, n) and np.array_equal(rows, np.tri(len(rows), n)):
            return band.contrast(np.eye(len(rows))[: n - 1]), band.answers
    raise StatementError(
        "a quantile needs the frequencies of all answers, or the shares up to each of them",
        code="frequencies",
        do='use a design for the workload "frequencies" or "prefix"',
    )


def _summed(
    band: Band, answers: tuple[Hashable, ...], size: int
) -> tuple[Band, tuple[Hashable, ...]]:
    """The band of the shares up to each answer but the last, from one of ``size`` numbers of which
    the first ones are the shares of the answers.
    """
    n = len(answers)
    order = np.arange(n)
    if (numbers := label_numbers(answers)) is not None:
        order = np.argsort(np.asarray(numbers, dtype=np.float64), kind="stable")
    rows = np.zeros((n - 1, size))
    rows[:, order] = np.tri(n - 1, n)
    return band.contrast(rows), tuple(answers[place] for place in order)


def _among_answered(estimate: Estimate) -> tuple[Band, tuple[Hashable, ...]] | None:
    """The distribution of shares among those who answered; None if these are other numbers.

    The ratios are shares of the answers, or those up to each answer but the last; the last number
    is the share of missing answers.
    """
    ratios: Any = estimate.bounds
    if not isinstance(ratios, SharesOfSome) or estimate.labels is None:
        return None
    kept = ratios.answered
    n = kept.shape[1]
    if len(kept) == n and np.array_equal(kept, np.eye(n)):
        return _summed(ratios, estimate.labels[:n], len(estimate.values))
    if ratios.inputs is not None and np.array_equal(kept, np.tri(n - 1, n)):
        return ratios.contrast(np.eye(len(estimate.values))[: n - 1]), ratios.inputs
    return None
