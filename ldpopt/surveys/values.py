"""Values of the reports of a survey, as columns of numbers that any other program can average."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.channel_counts import PairReader
from ldpopt.estimation.counts import ListedSource
from ldpopt.estimation.report_model import ReportModel, values_of_each_channel
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


def shares_of_all(
    survey: Questionnaire, questions: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Questions whose estimates are among some people only, while the means of their values are
    shares of all people, each with the columns of the other people: no answer, not asked, careless.
    """
    columns = {}
    for name in survey.questions if questions is None else questions:
        numbers = numbers_of(survey, name).names
        if places := survey.questions[name].excluded_places(numbers):
            columns[name] = [f"{name}: {text_of(numbers[place])}" for place in places]
    return columns


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
            read = _reader(sources[name], column, "", None)
            beside = sources[name].beside
            clear = None if beside is None else column_of(frame, beside)
            yield name, read(column_of(frame, column), clear, 0)
        return
    path = os.fspath(table)
    for name, column in columns.items():
        require_drawn_by(path, column, sources[name].digest)
    with reading(path) as rows:
        names = [each.beside for each in sources.values() if each.beside is not None]
        needed = dict.fromkeys([*columns.values(), *names])
        places = {column: position_of(rows, column) for column in needed}
        readers = {name: _reader(sources[name], columns[name], rows.name, rows) for name in columns}
        first_row = rows.first_row
        for batch in rows.batches(list(places.values()), []):
            parts = dict(zip(places, batch, strict=True))
            for name, read in readers.items():
                beside = sources[name].beside
                clear_part = None if beside is None else parts[beside]
                yield name, read(parts[columns[name]], clear_part, first_row)
            first_row += len(batch[0])


def _reader(source: ListedSource, column: str, table: str, rows: Any) -> Any:
    """What returns the values of the reports in a column, of the mechanisms that the column beside
    it names; those of missing reports are nan.
    """
    names = column, source.beside or column
    where = [f"{table}, column {name}" if table else name for name in names]
    as_text = [rows is not None and rows.is_text(position_of(rows, name)) for name in names]
    values = source.estimator.T
    if isinstance(source, ReportModel) and not source.is_one:
        values = _of_each_mechanism(source, column)
    if source.beside is not None:
        pairs = PairReader(source, (where[0], where[1]), (as_text[0], as_text[1]))
    else:
        plain = source.codec.reader(as_text[0])

    def read(reports: Any, clear: Any, first_row: int) -> Float:
        if clear is None:
            positions, there = plain(reports, where[0], first_row)
        else:
            positions, there = pairs.read(reports, clear, first_row, True)
        table = np.full((len(there), values.shape[1]), np.nan)
        table[there] = values[positions]
        return table

    return read


def _of_each_mechanism(model: ReportModel, name: str) -> Float:
    """Values of pairs of mechanism and report, unbiased for the people of each mechanism."""
    try:
        return values_of_each_channel(model)
    except StatementError as error:
        if error.code != "rank":
            raise
    raise StatementError(
        f"the mechanisms of {name!r} show its shares only together, so that a single report has no "
        "value",
        code="values-of-channels",
        do="estimate it (survey estimate), and leave it out here: questions=[...] (--question)",
    )
