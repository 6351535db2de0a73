r"""The covariance of estimates from a sample with strata, clusters, a finite population or margins:
the formula of `Sample`.

An estimate is the mean of one value a report, so that all of its variance follows from the sums of
the weights, and of their squares, by unit and report (`UnitSums`). *Influences* are the values of
the reports less the estimate, divided by the total weight: a person of weight ``w`` moves the
estimate by ``w`` times the influence of the report. Estimates of groups are influenced by their
members alone, and those of two groups are dependent if people of both are in one cluster.

The error of sampling is that of the sums of units, within strata, with margins of the residuals;
the sampled share ``f`` reduces it. What is left of a census is the noise of the mechanism: with
``A`` the left inverse of the channel, :math:`\sum_y F_y \sum_x A_{xy} s_x^2`, where :math:`F_y` is
the sum of :math:`f w^2` over the people with report ``y``. Without a left inverse the noise is not
known for every answer, and ``f`` counts as 0. If people were drawn one by one from one population
of ``N``, the variance is that of the estimated shares themselves, :math:`(1 - n/N) N / (N - 1)`
times that of the answers, and the noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.raking import fitted_factors, projection_on_margins, targets_of
from ldpopt.estimation.sample import Sample, category_of
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Float, Int, short_repr

if TYPE_CHECKING:
    from ldpopt.estimation.units import UnitSums

BLOCK = 1000  # number of estimates of which a covariance is made at a time

Influences = Sequence[tuple[Int, Float]]  # of the people of some groups: positions, and (k, m)


@dataclass(frozen=True, eq=False)
class SampledTable:
    """The people of a sample with their reports: sums of fitted weights by unit, category of the
    margins, group and report.
    """

    sample: Sample
    strata: list[Hashable]
    groups: list[Hashable]
    stratum: Int  # (r,): of each row
    unit: Int  # (r,): its cluster, or 0
    cell: Int  # (r,): its categories of all margins
    group: Int  # (r,)
    sums: Float  # (r, m)
    squares: Float  # (r, m)
    n_units: Int  # (strata,): clusters, or people
    projection: Float | None  # (cells, cells): on the margins
    totals: Int | None = None  # (m,): as those of `UnitSums`

    @property
    def weight(self) -> Float:
        """Sum of the weights of the people of each row, shape (r,)."""
        return of_everybody(self.sums, self.totals)

    @property
    def squared_weight(self) -> Float:
        """Sum of their squares."""
        return of_everybody(self.squares, self.totals)

    @classmethod
    def of(cls, table: UnitSums, sample: Sample) -> SampledTable:
        """Fit the weights of a table of units to the margins of its sample."""
        stratum, cluster = table.codes.T[:2]
        margins = table.codes[:, 2:-1]
        units, unit = np.unique(stratum * len(table.names[1]) + cluster, return_inverse=True)
        if sample.clusters is None:
            n_units = np.bincount(stratum, table.people, len(table.names[0])).astype(np.int64)
            unit = np.zeros(len(stratum), dtype=np.int64)
        else:
            n_units = np.bincount(units // len(table.names[1]), minlength=len(table.names[0]))
        sums, squares = table.sums, table.squares
        projection = None
        cell = np.zeros(len(sums), dtype=np.int64)
        if sample.margins is not None and len(sums):
            cells, cell = np.unique(margins, axis=0, return_inverse=True)
            cell = cell.reshape(-1)  # numpy 2.0 has another shape
            weight = of_everybody(sums, table.totals)
            totals = np.bincount(cell, weight, len(cells)).astype(float)
            stated = zip(sample.margins.items(), table.names[2:-1], cells.T, strict=True)
            targets = [
                targets_of(column, names, _added(totals[None], code, len(names))[0], margin)
                for (column, margin), names, code in stated
            ]
            factors = fitted_factors(cells, totals, targets)
            projection = projection_on_margins(cells, totals * factors)
            sums = sums * factors[cell, None]
            squares = squares * factors[cell, None] ** 2
        return cls(
            sample,
            table.names[0],
            table.names[-1],
            stratum,
            unit,
            cell,
            table.codes[:, -1],
            sums,
            squares,
            n_units,
            projection,
            table.totals,
        )

    @cached_property
    def sampled_shares(self) -> Float:
        """The share of the units of each stratum that were drawn, shape (strata,).

        Raises
        ------
        StatementError
            If a stratum has no population, or more units than it; or the population has a stratum
            of which nobody was drawn.
        """
        population: Any = self.sample.population
        if self.sample.strata and population is not None and not isinstance(population, Mapping):
            raise StatementError(
                "one number is given for the population, and there are strata",
                code="population-of-strata",
                do="pass the population of each stratum: {stratum: number}",
            )
        if population is None:
            return np.zeros(len(self.strata))
        sizes: dict[str, int] = population if self.sample.strata else {"": population}
        texts = [category_of(name) for name in self.strata] if self.sample.strata else [""]
        for text, name, n in zip(texts, self.strata, self.n_units.tolist(), strict=True):
            if text not in sizes:
                raise StatementError(
                    f"the population of the stratum {short_repr(name)} is not given",
                    code="stratum",
                    do=nearest(text, sizes),
                )
            if n > sizes[text]:
                where = f"stratum {short_repr(name)}" if text else ""
                raise StatementError(
                    f"there are {n} units, more than the population of {sizes[text]}",
                    code="population-size",
                    where=where,
                    do="give the number of people, or of clusters if there are any",
                )
        there = {text for text, n in zip(texts, self.n_units, strict=True) if n > 0}
        if missing := sizes.keys() - there:
            raise StatementError(
                f"nobody of the stratum {min(missing)!r} of the population has a report",
                code="empty-stratum",
                do="merge it with another stratum, in the table and in the population",
            )
        return np.array([n / sizes[text] for n, text in zip(self.n_units, texts, strict=True)])

    def factors(self, has_noise: bool) -> tuple[Float, Float]:
        """Factors of the error of sampling, and of the noise that is added, of each stratum.

        Raises
        ------
        StatementError
            If a stratum has a single unit of several: its error is not known.
        """
        share = self.sampled_shares if has_noise else np.zeros(len(self.strata))
        n = self.n_units.astype(float)
        if self.sample.strata is None and self.sample.clusters is None:
            people = self.sample.population
            if people is None or not has_noise:
                return np.ones(len(n)), share
            sampling = (1 - share) * people / max(people - 1, 1)  # type: ignore[operator]
            return sampling, 1 - sampling
        alone = np.flatnonzero((n == 1) & (share < 1))
        if len(alone):
            unit = "person" if self.sample.clusters is None else "cluster"
            where = "" if self.sample.strata is None else f"stratum {self.strata[alone[0]]!r}"
            raise StatementError(
                f"a single {unit} does not show how {unit}s differ",
                code="single-unit",
                where=where,
                do="merge it with another stratum" if where else "name another column of clusters",
            )
        return (1 - share) * n / np.maximum(n - 1, 1), share

    def freedom(self, groups: Int, has_noise: bool) -> float:
        """Degrees of freedom of the error of sampling of some groups: the clusters less the strata
        that they are in; infinite without clusters, or if all clusters were drawn.

        Raises
        ------
        StatementError
            If they are in one cluster of several.
        """
        if self.sample.clusters is None:
            return np.inf
        is_here = np.isin(self.group, groups) & (self.sums.sum(axis=1) > 0)
        is_here &= (self.factors(has_noise)[0] > 0)[self.stratum]
        units, strata = (len(np.unique(each[is_here])) for each in (self.unit, self.stratum))
        if units == 1:
            names = [self.groups[place] for place in groups.tolist()]
            raise StatementError(
                "all people are in a single cluster, which does not show how clusters differ",
                code="single-unit",
                where=f"group {short_repr(names[0])}" if len(names) == 1 and names[0] else "",
                do="merge the group with another one, or name another column of clusters",
            )
        return float(max(1, units - strata)) if units else np.inf

    def covariance(self, first: Influences, second: Influences, has_noise: bool) -> Float:
        """The error of sampling of two estimates, shape (k, k), from their influences."""
        factor, _ = self.factors(has_noise)
        moved, second_moved = map(self._moved, (first, second))
        fitted, second_fitted = map(self._fitted, (moved, second_moved))
        weight = self.weight
        sums = moved - weight * fitted
        second_sums = second_moved - weight * second_fitted
        if self.sample.clusters is not None:
            place = self.unit
            size = int(place.max(initial=0)) + 1
            of_unit = np.zeros(size, dtype=np.int64)
            of_unit[place] = self.stratum
            one, two = (_added(each, place, size) for each in (sums, second_sums))
            units = np.maximum(self.n_units, 1)
            one -= (_added(one, of_unit, len(factor)) / units)[:, of_unit]
            two -= (_added(two, of_unit, len(factor)) / units)[:, of_unit]
            return np.asarray((one * factor[of_unit]) @ two.T)
        by_row = factor[self.stratum]
        total = self._squared(first, second, by_row)
        crossed, second_crossed = (self._moved(each, self.squares) for each in (first, second))
        total -= (by_row * crossed) @ second_fitted.T + (by_row * fitted) @ second_crossed.T
        total += (by_row * self.squared_weight * fitted) @ second_fitted.T
        means = [_added(each, self.stratum, len(factor)) for each in (sums, second_sums)]
        by_unit = factor / np.maximum(self.n_units, 1)
        return np.asarray(total - (means[0] * by_unit) @ means[1].T)

    def _moved(self, influences: Influences, table: Float | None = None) -> Float:
        """How much the people of each row move some estimates, shape (k, r)."""
        table = self.sums if table is None else table
        moved = np.zeros((len(influences[0][1]), len(table)))
        for groups, values in influences:
            rows = np.isin(self.group, groups)
            moved[:, rows] += values @ table[rows].T
        return moved

    def _fitted(self, moved: Float) -> Float:
        """The part of a person's influence that the margins explain, by row, shape (k, r)."""
        if self.projection is None:
            return np.zeros_like(moved)
        cells = _added(moved, self.cell, len(self.projection))
        return np.asarray((cells @ self.projection)[:, self.cell])

    def _squared(self, first: Influences, second: Influences, by_row: Float) -> Float:
        """Sums of the products of the influences of each person, shape (k, k).

        If reports are sets, those of two numbers are right only if no set has elements of both.
        A person then moves an estimate by the value of the kind of the set, and that of an element.
        """
        total = np.zeros((len(first[0][1]), len(second[0][1])))
        for groups, values in first:
            for others, other_values in second:
                rows = np.isin(self.group, np.intersect1d(groups, others))
                squares = by_row[rows] @ self.squares[rows]
                total += (values * squares) @ other_values.T
                for kind in [] if self.totals is None else np.unique(self.totals).tolist():
                    # (v + c)(v' + c'), with the constants in the column of the kind
                    some = np.flatnonzero(self.totals == kind)
                    some = some[some != kind]
                    total += (values[:, some] @ squares[some])[:, None] * other_values[:, kind]
                    total += values[:, [kind]] * (other_values[:, some] @ squares[some])
        return total


def of_everybody(sums: Float, totals: Int | None) -> Float:
    """Sums over all people of sums by report, shape (..., m): if reports are sets, of those of each
    kind.
    """
    return np.asarray((sums if totals is None else sums[..., np.unique(totals)]).sum(axis=-1))


def _added(values: Float, place: Int, size: int) -> Float:
    """Sums of the columns of values, shape (k, r), that have the same place, shape (k, size)."""
    total = np.zeros((len(values), size))
    np.add.at(total.T, place, values.T)
    return total


@dataclass(frozen=True, eq=False)
class SampledPeople:
    """The sample of which some counts are: all of it, or some of its groups."""

    table: SampledTable
    groups: Int

    def __add__(self, other: Any) -> SampledPeople:
        """Other groups of the same sample.

        Raises
        ------
        StatementError
            If it is another sample, or a group is in both.
        """
        is_other = not isinstance(other, SampledPeople) or other.table is not self.table
        if is_other or len(np.intersect1d(self.groups, other.groups)):
            raise StatementError(
                "counts of a sample add up with those of its other groups only",
                code="sample",
                do="pass the table of all reports",
            )
        return SampledPeople(self.table, np.concatenate([self.groups, other.groups]))

    def squares(self, by_stratum: Float | None = None) -> Float:
        """Sums of the squared weights by report, times a factor of each stratum, shape (m,)."""
        rows = np.isin(self.table.group, self.groups)
        squares = self.table.squares[rows]
        if by_stratum is None:
            return np.asarray(squares.sum(axis=0))
        return np.asarray(by_stratum[self.table.stratum[rows]] @ squares)

    def with_groups_as_reports(self, places: Sequence[int], size: int) -> SampledPeople:
        """The same people, each with the pair of the report and the place of the group, of
        ``size``, in place of a report; groups of place -1 are other people.
        """
        place = np.array(places)[self.table.group]
        is_here = (place >= 0) & np.isin(self.table.group, self.groups)
        rows = np.flatnonzero(is_here)
        tables = []
        for each in (self.table.sums, self.table.squares):
            paired = np.zeros((*each.shape, size))
            paired[rows, :, place[rows]] = each[rows]
            tables.append(paired.reshape(len(each), -1))
        table = replace(
            self.table,
            sums=tables[0],
            squares=tables[1],
            group=np.where(is_here, 0, 1),
            groups=[None, ""],
        )
        return SampledPeople(table, np.array([0]))


@dataclass(frozen=True, eq=False)
class InfluenceValues:
    """How much a person of weight 1 moves some estimates, by group and report."""

    table: SampledTable
    parts: Influences
    has_noise: bool

    def contrast(self, matrix: Float) -> InfluenceValues:
        """That of sums of the estimates."""
        return replace(self, parts=[(groups, matrix @ values) for groups, values in self.parts])

    def minus(self, other: InfluenceValues | None) -> InfluenceValues | None:
        """That of differences from estimates of the same sample; None if they are of another
        one.
        """
        if other is None or other.table is not self.table:
            return None
        negative = [(groups, -values) for groups, values in other.parts]
        return replace(self, parts=[*self.parts, *negative])

    def covariance(self, other: InfluenceValues | None) -> Float | None:
        """Covariance with the estimates of other groups of the same sample, (k, k); None if they
        are of another one.
        """
        if other is None or other.table is not self.table:
            return None
        has_noise = self.has_noise and other.has_noise
        return self.table.covariance(self.parts, other.parts, has_noise)


class RandomizationNoise(Protocol):
    """The variance of the values of reports by randomization alone, given the answers."""

    def at(self, rows: slice) -> Any:
        """That of some of the numbers."""

    def covariance(self, squares: Float) -> Float:
        """Covariance of the sums of the values of people with some squared weights, (k, k)."""


@dataclass(frozen=True, eq=False)
class ReportNoise:
    """The variance of the values of reports by randomization alone, given the answers.

    If people were assigned to several channels, reports are pairs of channel and report, and the
    assignment is part of the randomization. If they chose their channels it is not: the noise is
    that within each channel, with the left inverse of each.
    """

    estimator: Float  # (k, m)
    wanted: Float  # (k, n)
    channel: Float  # (n, m)
    inverse: Float  # (n, m): the left inverse; of chosen channels that of each
    chosen: Any = None  # (m,): the channel of each report, if people chose it

    @classmethod
    def of(
        cls,
        estimator: Float,
        wanted: Float,
        channel: Float,
        inverse: Float | None,
        chosen: Any = None,
    ) -> ReportNoise | None:
        """That of an estimator; None without a left inverse of all answers.

        If the rows of a channel are dependent, the rows of ``inverse`` for some answers are 0.
        """
        if inverse is None or not (inverse != 0).any(axis=1).all():
            return None
        return cls(estimator, wanted, channel, inverse, chosen)

    def at(self, rows: slice) -> ReportNoise:
        """That of some of the numbers."""
        return replace(self, estimator=self.estimator[rows], wanted=self.wanted[rows])

    def covariance(self, squares: Float) -> Float:
        """Covariance of the sums of the values of people with some squared weights, (k, k)."""
        if self.chosen is None:
            return self._of_channel(self.channel, slice(None), self.wanted, squares)
        total = np.zeros((len(self.estimator),) * 2)
        for name in np.unique(self.chosen):
            part = np.flatnonzero(self.chosen == name)
            share = self.channel[0, part].sum()
            if share > 0:
                channel = self.channel[:, part] / share
                means = self.estimator[:, part] @ channel.T
                total += self._of_channel(channel, part, means, squares)
        return total

    def _of_channel(self, channel: Float, part: Any, means: Float, squares: Float) -> Float:
        """That of the people with one channel, whose values have the means, shape (k, n)."""
        values = self.estimator[:, part]
        answers = self.inverse[:, part] @ squares[part]
        total = (values * (channel.T @ answers)) @ values.T
        total -= (means * answers) @ means.T
        np.fill_diagonal(total, np.maximum(np.diag(total), 0.0))
        return np.asarray((total + total.T) / 2)


@dataclass(frozen=True, eq=False)
class SampledNumbers:
    """Estimates from a sample: the values of the reports less the estimates, and their noise."""

    sampled: SampledPeople
    deviations: Float  # (k, m)
    total: float  # sum of the weights
    noise: RandomizationNoise | None

    @property
    def influence_values(self) -> InfluenceValues:
        """How much each person moves the estimates."""
        parts = [(self.sampled.groups, self.deviations / self.total)]
        return InfluenceValues(self.sampled.table, parts, self.noise is not None)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t; infinite without clusters."""
        return self.sampled.table.freedom(self.sampled.groups, self.noise is not None)

    @property
    def ignores_population(self) -> bool:
        """Whether the size of the population is not used, since the noise is not known."""
        return self.noise is None and self.sampled.table.sample.population is not None

    @cached_property
    def covariance(self) -> Float:
        """Covariance of the estimates, shape (k, k)."""
        table, influence = self.sampled.table, self.influence_values
        found = table.covariance(influence.parts, influence.parts, influence.has_noise)
        shares = table.factors(influence.has_noise)[1]
        if self.noise is not None and shares.any():
            found = found + self.noise.covariance(self.sampled.squares(shares)) / self.total**2
        return np.asarray((found + found.T) / 2)

    @cached_property
    def variances(self) -> Float:
        """Their diagonal, shape (k,), at least 0."""
        parts = [np.diag(part.covariance) for part in self._blocks()]
        return np.maximum(np.concatenate(parts), 0.0)

    @cached_property
    def least(self) -> Float:
        """Variances by the noise alone, shape (k,)."""
        if self.noise is None:
            return np.zeros(len(self.deviations))
        squares = self.sampled.squares() / self.total**2
        parts = [np.diag(part.noise.covariance(squares)) for part in self._blocks() if part.noise]
        return np.concatenate(parts)

    def _blocks(self) -> Iterator[SampledNumbers]:
        """Some of the estimates at a time, whose covariance needs little room."""
        size = len(self.deviations)
        if size <= BLOCK:
            yield self
            return
        for start in range(0, size, BLOCK):
            rows = slice(start, start + BLOCK)
            noise = self.noise and self.noise.at(rows)
            yield replace(self, deviations=self.deviations[rows], noise=noise)
