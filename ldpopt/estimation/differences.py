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
from ldpopt.estimation.liars import plain_band, share_of_liars
from ldpopt.estimation.sampled import InfluenceValues
from ldpopt.foundation.numbers import Float, short_repr

if TYPE_CHECKING:
    from ldpopt.estimation.estimate import Estimate


@dataclass(frozen=True, eq=False)
class DifferenceBand:
    r"""Differences of two bands of other people.

    The distance from the difference to an end is the root of the sum of the squared distances of
    the two estimates to those of their ends that are on this side: each end of an interval shows
    the variance that the estimate would have there (Newcombe 1998; Zou and Donner 2008). A distance
    below 0, of an estimate outside of its own interval, counts as 0. Groups of one sample, whose
    people are in the same clusters, are not independent: with the correlation ``r`` of the two
    estimates, twice ``r`` times the product of both distances is subtracted under the root.
    """

    first: Band
    second: Band

    @cached_property
    def values(self) -> Float:
        """The differences, shape (k,)."""
        return np.asarray(self.first.values - self.second.values)

    @cached_property
    def _crossed(self) -> Float | None:
        """Covariance of the first with the second estimates, shape (k, k); None if they are
        independent.
        """
        influence = self.first.influence_values
        return None if influence is None else influence.covariance(self.second.influence_values)

    @cached_property
    def _correlation(self) -> Float | float:
        """Correlation of each first with its second estimate."""
        if self._crossed is None:
            return 0.0
        product = self.first.errors * self.second.errors
        crossed = np.diag(self._crossed)
        ratio = np.divide(crossed, product, out=np.zeros_like(product), where=product > 0)
        return np.clip(ratio, -1.0, 1.0)

    @property
    def errors(self) -> Float:
        """Roots of the sums of the variances, less twice the covariance."""
        return _together(self.first.errors, self.second.errors, self._correlation)

    @property
    def covariance(self) -> Float | None:
        """Sum of both covariances, less those between them; None if one is not known."""
        if self.first.covariance is None or self.second.covariance is None:
            return None
        total = self.first.covariance + self.second.covariance
        return np.asarray(
            total if self._crossed is None else total - self._crossed - self._crossed.T
        )

    @property
    def freedom(self) -> float:
        """The smaller one of both."""
        return min(self.first.freedom, self.second.freedom)

    @property
    def influence_values(self) -> InfluenceValues | None:
        """That of the first less that of the second estimates."""
        return self.first.influence_values and self.first.influence_values.minus(
            self.second.influence_values
        )

    @property
    def effect(self) -> None:
        """Not known: the two estimates have design effects of their own."""
        return None

    @property
    def possible(self) -> Float:
        """The least and the largest difference, shape (k, 2)."""
        return np.asarray(self.first.possible) - np.asarray(self.second.possible)[..., ::-1]

    @property
    def liars(self) -> float:
        """The share of liars in each of both groups for which intervals are widened, the larger
        one.
        """
        return max(share_of_liars(self.first), share_of_liars(self.second))

    @property
    def plain(self) -> DifferenceBand:
        """The same of reports that are all true."""
        if not self.liars:
            return self
        return DifferenceBand(plain_band(self.first), plain_band(self.second))

    def ends(self, z: Any) -> Float:
        """Ends by square and add, shape (k, 2); what liars can do to both estimates adds up."""
        if not self.liars:
            return self._plain_ends(z)
        first, second = (
            np.abs(band.ends(z) - plain_band(band).ends(z)) for band in (self.first, self.second)
        )
        moved = (first + second[:, ::-1]) * np.array([-1.0, 1.0])
        return np.asarray(self.plain._plain_ends(z) + moved)

    def _plain_ends(self, z: Any) -> Float:
        """Ends of reports that are all true."""
        below, above = _distances(self.first, z)
        below_second, above_second = _distances(self.second, z)
        return np.stack(
            [
                self.values - _together(below, above_second, self._correlation),
                self.values + _together(above, below_second, self._correlation),
            ],
            axis=-1,
        )

    def contrast(self, matrix: Float) -> DifferenceBand:
        """Sums of differences are differences of sums."""
        return DifferenceBand(self.first.contrast(matrix), self.second.contrast(matrix))


def _together(first: Float, second: Float, correlation: Float | float) -> Float:
    """The distance that two make together, shape (k,)."""
    if np.ndim(correlation) == 0:
        return np.asarray(np.hypot(first, second))
    squares = first**2 + second**2 - 2 * correlation * first * second
    return np.sqrt(np.maximum(squares, 0.0))


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
