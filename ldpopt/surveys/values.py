"""Values of the reports of a survey, as columns of numbers that any other program can average."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import ListedSource
from ldpopt.foundation import optional
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import Float, listed_items
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.tables.files import position_of, reading
from ldpopt.tables.frames import as_frame, column_of


def values_of_survey(
    survey: Questionnaire, table: Any, questions: Sequence[str] | None
) -> optional.pandas.DataFrame:
    """The values of all reports; see `Survey.values`."""
    names = list(survey.questions)
    if questions is not None:
        names = listed_items(questions, "questions")
    sources = {name: _listed(survey, name) for name in names}
    columns = {name: survey.column_of(name) for name in names}
    parts: dict[str, list[Float]] = {name: [] for name in names}
    for name, values in _values(table, columns, sources):
        parts[name].append(values)
    found: dict[str, Any] = {}
    for name, source in sources.items():
        values = np.concatenate([np.empty((0, len(source.names))), *parts[name]])
        for number, column in zip(source.names, values.T, strict=True):
            found[f"{name}: {text_of(number)}"] = column
    index = table.index if isinstance(table, optional.pandas.DataFrame) else None
    return optional.pandas.DataFrame(found, index=index)


def _listed(survey: Questionnaire, name: str) -> ListedSource:
    """What estimates the numbers of a question, whose values are listed."""
    if name not in survey.questions:
        raise StatementError(
            f"{name!r} is not a question", code="question", do=nearest(name, survey.questions)
        )
    source = numbers_of(survey, name)
    if not isinstance(source, ListedSource):
        raise StatementError(
            f"the values of the reports on {name!r} are not listed",
            code="unlisted",
            do="leave the question out: questions=[...]",
        )
    return source


def _values(
    table: Any, columns: Mapping[str, str], sources: Mapping[str, ListedSource]
) -> Iterator[tuple[str, Float]]:
    """The values of each question, of shape (N, k), for a dataframe or each batch of a file."""
    if not isinstance(table, (str, os.PathLike)):
        frame = as_frame(table)
        for name, column in columns.items():
            read = sources[name].codec.reader(False)
            yield name, _of_column(sources[name], read, column_of(frame, column), column, 0)
        return
    path = os.fspath(table)
    for name, column in columns.items():
        require_drawn_by(path, column, sources[name].digest)
    with reading(path) as rows:
        places = {column: position_of(rows, column) for column in columns.values()}
        readers = {
            name: sources[name].codec.reader(rows.is_text(places[column]))
            for name, column in columns.items()
        }
        first_row = rows.first_row
        for batch in rows.batches(list(places.values()), []):
            parts = dict(zip(places, batch, strict=True))
            for name, read in readers.items():
                where = f"{rows.name}, column {columns[name]}"
                part = parts[columns[name]]
                yield name, _of_column(sources[name], read, part, where, first_row)
            first_row += len(batch[0])


def _of_column(source: ListedSource, read: Any, column: Any, where: str, first_row: int) -> Float:
    """The values of the reports in a column; those of missing reports are nan."""
    reports, there = read(column, where, first_row)
    values = np.full((len(there), len(source.names)), np.nan)
    values[there] = source.estimator.T[reports]
    return values
