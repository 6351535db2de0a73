"""From reports to counts: of each column of a questionnaire, and of each group of people."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, ReportSource, new_people
from ldpopt.estimation.reports import ALL, count_file, count_frame
from ldpopt.estimation.sample import Sample
from ldpopt.estimation.sampled import SampledPeople, SampledTable, of_everybody
from ldpopt.estimation.units import UnitSums, units_of_file, units_of_frame
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_kind, require_text, short_repr
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.tables.coding import Missing

Columns = Mapping[str, tuple[ReportSource, Missing]]


def counts_of_all(
    survey: Questionnaire,
    columns: Columns,
    table: Any,
    weights: Any,
    sample: Sample | None = None,
) -> dict[str, Counts]:
    """Count the reports of all people in columns of a dataframe or file; see `Survey.count`."""
    counts = counts_by_group(survey, columns, table, weights, sample=sample)
    return {name: groups[ALL] for name, groups in counts.items()}


def counts_by_group(
    survey: Questionnaire,
    columns: Columns,
    table: Any,
    weights: Any,
    by: str | None = None,
    sample: Sample | None = None,
) -> dict[str, dict[Hashable, Counts]]:
    """Count the reports in columns of a dataframe or file, by the groups of another column; see
    `Survey.count`. Without a sample people count as drawn one by one.
    """
    drawn = Sample() if sample is None else sample
    for given in (drawn.weights, survey.weights):
        weights = given if weights is None else weights
    require_kind(columns, Mapping, "counts_by_group()", "pass survey.columns, or some of them")
    if by is not None:
        require_text(by, "by")
    if by is not None and by in survey.asked and by in columns:
        raise StatementError(
            f"the column {by!r} has reports, not groups",
            code="group",
            do="name another column; the table of two questions is an estimate of its own",
        )
    if isinstance(weights, str) and weights in columns:
        raise StatementError(
            f"the column {weights!r} has reports, not weights",
            code="weights",
            do="name another column",
        )
    for name in drawn.keys:
        if name in columns:
            raise StatementError(
                f"the column {name!r} has reports, and cannot be part of the sample",
                code="sample-column",
                do="name a column that is not protected",
            )
    is_file = isinstance(table, (str, os.PathLike))
    if is_file and weights is not None and not isinstance(weights, str):
        raise StatementError(
            "weights of a file are a column of it",
            code="weights-of-file",
            do="pass weights= by name",
        )
    if not drawn.is_plain:
        return of_the_same_people(_of_sample(columns, table, weights, by, drawn))
    if is_file:
        return of_the_same_people(count_file(os.fspath(table), columns, weights, by))
    for column in columns.values():
        if not isinstance(column, tuple) or len(column) != 2:
            raise StatementError(
                f"{short_repr(column)} is not the source of a column",
                code="column-source",
                do="pass survey.columns, or some of them",
            )
    return of_the_same_people(
        {
            name: count_frame(source, table, name, weights, missing, by)
            for name, (source, missing) in columns.items()
        }
    )


def _of_sample(
    columns: Columns, table: Any, weights: Any, by: str | None, sample: Sample
) -> dict[str, dict[Hashable, Counts]]:
    """Counts with the covariance of a sample."""
    listed: dict[str, tuple[ReportSource, Missing]] = {}
    for name, (source, missing) in columns.items():
        if source.unit_columns is None:
            raise StatementError(
                f"the reports of {name!r} are counted by what they support, which does not show "
                "how units of a sample differ",
                code="unlisted",
                where="the sample",
                do="use a mechanism, a design of single questions, or weights alone",
            )
        listed[name] = (source, missing)
    if isinstance(table, (str, os.PathLike)):
        units = units_of_file(listed, os.fspath(table), sample, weights, by)
    else:
        units = units_of_frame(listed, table, sample, weights, by)
    return {
        name: _counts_by_group(source, units[name], sample) for name, (source, _) in listed.items()
    }


def _counts_by_group(
    source: ReportSource, units: UnitSums, sample: Sample
) -> dict[Hashable, Counts]:
    """Counts of the groups of a table of units, with fitted weights."""
    table = SampledTable.of(units, sample)
    found: dict[Hashable, Counts] = {}
    for place, group in enumerate(table.groups):
        rows = table.group == place
        if not rows.any() and group is not ALL:
            continue
        size = len(source.unit_columns or ())
        values, squares = (each[rows].sum(axis=0) for each in (table.sums, table.squares))
        total, total_squares = (
            float(of_everybody(each, table.totals)) for each in (values, squares)
        )
        found[group] = Counts(
            source.digest,
            tuple(source.unit_columns or ()),
            values[:size],
            squares[:size],
            total,
            total_squares,
            int(units.people[rows].sum()),
            sampled=SampledPeople(table, np.array([place])),
        )
    return found


def of_the_same_people(
    counts: dict[str, dict[Hashable, Counts]],
) -> dict[str, dict[Hashable, Counts]]:
    """Counts of the columns of one table, which are reports of the same people in each group."""
    people = {group: new_people() for groups in counts.values() for group in groups}
    return {
        name: {group: replace(each, people=people[group]) for group, each in groups.items()}
        for name, groups in counts.items()
    }


def counts_of_table(
    survey: Questionnaire, table: Any, weights: Any, by: str | None, sample: Sample
) -> dict[str, dict[Hashable, Counts]]:
    """Counts by column and group of a table of reports, or of counts that were made before."""
    if not isinstance(table, Mapping):
        return counts_by_group(survey, survey.columns, table, weights, by, sample)
    if not sample.is_plain:
        raise StatementError(
            "counts do not show who is in a stratum or a cluster",
            code="counts-of-sample",
            do="pass the table of the reports",
        )
    grouped: dict[str, dict[Hashable, Any]] = {
        name: dict(each) if isinstance(each, Mapping) else {ALL: each}
        for name, each in table.items()
    }
    if by is not None and any(ALL in groups for groups in grouped.values()):
        raise StatementError(
            "counts do not show who is in a group",
            code="counts-by-group",
            do="pass the table of the reports, or what count_folder(by=) returned",
        )
    _require_counts_of(survey, grouped)
    if by is None:
        return {name: {ALL: sum(each.values())} for name, each in grouped.items()}
    return grouped


def _require_counts_of(survey: Questionnaire, grouped: Mapping[str, dict[Any, Any]]) -> None:
    """Refuse counts by question and group that are not of the mechanisms of all questions."""
    for name in grouped:
        if name not in survey.asked:
            raise StatementError(
                f"counts of {name!r}, which is not a question",
                code="question",
                do=nearest(name, survey.asked),
            )
    for name, randomizer in survey.randomizers.items():
        counts = list(grouped.get(name, {}).values())
        if not counts or not all(isinstance(each, Counts) for each in counts):
            raise StatementError(
                f"there are no counts of question {name!r}",
                code="missing-counts",
                do="pass what survey.count returned",
            )
        for each in counts:
            each.require(randomizer.digest)
