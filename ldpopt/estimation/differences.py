"""Differences of the same numbers of two groups of people, with intervals by square and add."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.foundation.numbers import Float, short_repr

if TYPE_CHECKING:
    from ldpopt.estimation.estimate import Estimate


@dataclass(frozen=True, eq=False)
class DifferenceBand:
    r"""Differences of two independent bands.

    The distance from the difference to an end is the root of the sum of the squared distances of
    the two estimates to those of their ends that are on this side: each end of an interval shows
    the variance that the estimate would have there (Newcombe 1998; Zou and Donner 2008). A distance
    below 0, of an estimate outside of its own interval, counts as 0.
    """

    first: Band
    second: Band

    @cached_property
    def values(self) -> Float:
        """The differences, shape (k,)."""
        return np.asarray(self.first.values - self.second.values)

    @property
    def errors(self) -> Float:
        """Roots of the sums of the variances."""
        return np.asarray(np.hypot(self.first.errors, self.second.errors))

    @property
    def covariance(self) -> Float | None:
        """Sum of both covariances; None if one is not known."""
        if self.first.covariance is None or self.second.covariance is None:
            return None
        return np.asarray(self.first.covariance + self.second.covariance)

    @property
    def effect(self) -> None:
        """Not known: the two estimates have design effects of their own."""
        return None

    @property
    def possible(self) -> Float:
        """The least and the largest difference, shape (k, 2)."""
        return np.asarray(self.first.possible) - np.asarray(self.second.possible)[..., ::-1]

    def ends(self, z: Any) -> Float:
        """Ends by square and add, shape (k, 2)."""
        below, above = _distances(self.first, z)
        below_second, above_second = _distances(self.second, z)
        return np.stack(
            [
                self.values - np.hypot(below, above_second),
                self.values + np.hypot(above, below_second),
            ],
            axis=-1,
        )

    def contrast(self, matrix: Float) -> DifferenceBand:
        """Sums of differences are differences of sums."""
        return DifferenceBand(self.first.contrast(matrix), self.second.contrast(matrix))


def _distances(band: Band, z: Any) -> tuple[Float, Float]:
    """Distances of the values from the ends below and above them, each of shape (k,)."""
    low, high = band.ends(z).T
    return np.maximum(band.values - low, 0.0), np.maximum(high - band.values, 0.0)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """The differences of two estimates of other people; see `Estimate.__sub__`."""
    if first.people & second.people:
        raise StatementError(
            "reports of the same people are in both estimates, which are not independent",
            code="same-people",
            do="subtract estimates of two groups that share nobody; of the numbers of one estimate "
            "take a contrast; of two waves of the same people compare the values by person",
        )
    band = DifferenceBand(first.bounds, _aligned(first, second))
    simultaneous = first.simultaneous or second.simultaneous
    z = interval_quantile(first.confidence, len(first.values), simultaneous)
    return replace(
        first,
        values=band.values,
        std_error=band.errors,
        n_reports=first.n_reports + second.n_reports,
        method="difference",
        covariance=band.covariance,
        interval=band.ends(z),
        fit=None,
        is_distribution=False,
        simultaneous=simultaneous,
        band=band,
        effect=None,
        people=first.people | second.people,
    )


def _aligned(first: Estimate, second: Estimate) -> Band:
    """The band of the second, its numbers in the order of the first one's labels."""
    if first.scale != second.scale:
        raise _not_the_same(first.scale or (), second.scale or ())
    if first.labels is None or second.labels is None:
        if first.labels is not second.labels or len(first.values) != len(second.values):
            raise _not_the_same(first.labels or first.values, second.labels or second.values)
        return second.bounds
    if first.labels == second.labels:
        return second.bounds
    places: dict[Hashable, int] = {name: place for place, name in enumerate(second.labels)}
    if set(first.labels) != set(places):
        raise _not_the_same(first.labels, second.labels)
    order = [places[name] for name in first.labels]
    return second.bounds.contrast(np.eye(len(order))[order])


def _not_the_same(first: Any, second: Any) -> StatementError:
    return StatementError(
        f"the estimates are not of the same numbers: {short_repr(list(first))} and "
        f"{short_repr(list(second))}",
        code="labels",
        do="subtract estimates of the same question; take a contrast for one of their numbers",
    )
