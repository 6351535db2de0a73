"""From reports to counts: of each column of a questionnaire, and of each group of people."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.reports import ALL, count_file, count_frame
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_kind, require_text, short_repr
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.tables.coding import Missing

Columns = Mapping[str, tuple[ReportSource, Missing]]


def counts_of_all(
    survey: Questionnaire, columns: Columns, table: Any, weights: Any
) -> dict[str, Counts]:
    """Count the reports of all people in columns of a dataframe or file; see `Survey.count`."""
    counts = counts_by_group(survey, columns, table, weights)
    return {name: groups[ALL] for name, groups in counts.items()}


def counts_by_group(
    survey: Questionnaire, columns: Columns, table: Any, weights: Any, by: str | None = None
) -> dict[str, dict[Hashable, Counts]]:
    """Count the reports in columns of a dataframe or file, by the groups of another column; see
    `Survey.count`.
    """
    weights = survey.weights if weights is None else weights
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
    if isinstance(table, (str, os.PathLike)):
        if weights is not None and not isinstance(weights, str):
            raise StatementError(
                "weights of a file are a column of it",
                code="weights-of-file",
                do="pass weights= by name",
            )
        return count_file(os.fspath(table), columns, weights, by)
    for column in columns.values():
        if not isinstance(column, tuple) or len(column) != 2:
            raise StatementError(
                f"{short_repr(column)} is not the source of a column",
                code="column-source",
                do="pass survey.columns, or some of them",
            )
    return {
        name: count_frame(source, table, name, weights, missing, by)
        for name, (source, missing) in columns.items()
    }


def counts_of_table(
    survey: Questionnaire, table: Any, weights: Any, by: str | None
) -> dict[str, dict[Hashable, Counts]]:
    """Counts by column and group of a table of reports, or of counts that were made before."""
    if not isinstance(table, Mapping):
        return counts_by_group(survey, survey.columns, table, weights, by)
    if by is not None:
        raise StatementError(
            "counts do not show who is in a group",
            code="counts-by-group",
            do="pass the table of the reports",
        )
    _require_counts_of(survey, table)
    return {name: {ALL: counts} for name, counts in table.items()}


def _require_counts_of(survey: Questionnaire, counts: Mapping[str, Any]) -> None:
    """Refuse counts that are not of the mechanisms of all questions."""
    for name in counts:
        if name not in survey.asked:
            raise StatementError(
                f"counts of {name!r}, which is not a question",
                code="question",
                do=nearest(name, survey.asked),
            )
    for name, randomizer in survey.randomizers.items():
        if not isinstance(counts.get(name), Counts):
            raise StatementError(
                f"there are no counts of question {name!r}",
                code="missing-counts",
                do="pass what survey.count returned",
            )
        counts[name].require(randomizer.digest)
