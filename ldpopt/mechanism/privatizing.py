"""Answers of tables replaced by reports: dataframes of any library, lists, and files in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.labels import text_of
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Draws, Ids, Keyed, KeyedDraws, ids_of
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.mechanism.sampling import Random, child_seed, generators, seed_of
from ldpopt.tables.coding import Coder, Codes, MissingAnswers
from ldpopt.tables.files import Rows, kind_of, position_of, reading, require_other_file, writing
from ldpopt.tables.frames import as_frame, codes_of, column_of, is_partitioned, mapped, with_labels
from ldpopt.tables.origin import origin_of_table, read_origin, require_raw, with_origin

if TYPE_CHECKING:
    import pyarrow as pa


def privatize_frame(
    table: Any,
    questions: Mapping[Any, Question],
    rng: Random = None,
    keyed: Keyed | None = None,
    one_question: OneQuestion | None = None,
    again: bool = False,
) -> Any:
    """Replace columns of a dataframe by reports; see `Mechanism.privatize`."""
    if is_partitioned(table):
        return _privatize_partitions(table, questions, rng, keyed, one_question)
    frame, before = as_frame(table), origin_of_table(table)
    if not again:
        require_raw(before, questions, frame.columns, "the table")
    ids: list[bytes] = []
    if keyed is not None:
        _require_other_column(keyed, questions)
        ids = ids_of(column_of(frame, keyed.id), f"column {keyed.id!r}")
    streams = _streams(rng, questions, one_question)
    records, drawn = _Records(len(frame), keyed, ids, one_question, streams[-1]), {}
    for position, ((column, question), stream) in enumerate(zip(questions.items(), streams, strict=False)):
        where = f"column {column!r}"
        missing = MissingAnswers(where, "answer")
        codes = codes_of(column_of(frame, column), Coder(question.inputs, "answer"), where)
        codes = question.fill_missing(codes, missing)
        missing.require_none()
        codes, source = records.prepare(position, text_of(column), question, codes, stream)
        drawn[column] = question.randomizer.codec.entries(codes, source)
    keep = [name for name in frame.columns if name not in questions]
    return with_origin(
        with_labels(frame, drawn), lambda: origin_of_reports(questions, keep, keyed, one_question, before)
    )


def _streams(rng: Random, questions: Mapping[Any, Question], one_question: OneQuestion | None) -> list[Random]:
    """Return independent sources of the draws for each question, and one more for the question of each person."""
    found = generators(rng, len(questions) + (one_question is not None))
    return found if one_question is not None else [*found, None]


def _require_other_column(keyed: Keyed, questions: Mapping[Any, Question]) -> None:
    """Refuse a column of answers as ids."""
    if keyed.id in questions:
        raise StatementError(f"column {keyed.id!r} has answers, not ids", do="name the column of the ids")


class _Records:
    """Records of a table or batch: their ids if draws are keyed, and each person's question if one is drawn."""

    def __init__(
        self, size: int, keyed: Keyed | None, ids: list[bytes], one_question: OneQuestion | None, rng: Random
    ) -> None:
        self._keyed, self._ids, self._one_question = keyed, ids, one_question
        self._positions = None if one_question is None else one_question.draw(size, self._source("", rng))

    def _source(self, name: str, rng: Random) -> Draws:
        """The source of the draws for a question: keyed by the ids, or the generator."""
        return rng if self._keyed is None else KeyedDraws(self._keyed.key, name, self._ids)

    def prepare(self, position: int, name: str, question: Question, codes: Codes, rng: Random) -> tuple[Codes, Draws]:
        """Return the answers that are randomized for a question, and the source of their draws."""
        source = self._source(name, rng)
        if self._one_question is not None:
            is_drawn = self._positions == position
            codes = self._one_question.answers(codes, is_drawn, len(question.inputs), source)
        return codes, source


def _privatize_partitions(
    table: Any, questions: Mapping[Any, Question], rng: Random, keyed: Keyed | None, one_question: OneQuestion | None
) -> Any:
    """Replace columns of a dataframe of Dask lazily, so that a second computation gives the same reports."""
    if keyed is None and rng is None:
        raise StatementError(
            "a table of Dask is computed again whenever it is needed, and each time other reports would be drawn",
            do="pass key= and id=, which give each person the same report again; or write the reports once with "
            "ldpopt.privatize_folder",
        )
    task = _Partition(dict(questions), None if rng is None else seed_of(rng), keyed, one_question)
    return mapped(table, task, task(table._meta, 0))


@dataclass(frozen=True)
class _Partition:
    """Draws the reports of one partition of a dataframe."""

    questions: dict[Any, Question]
    seed: np.random.SeedSequence | None
    keyed: Keyed | None
    one_question: OneQuestion | None

    def __call__(self, part: Any, number: int) -> Any:
        rng = None if self.seed is None else child_seed(self.seed, number)
        reports = privatize_frame(part, self.questions, rng, self.keyed, self.one_question)
        # A column that may have missing reports has the same type in all partitions, whether or not some are missing.
        may_miss = self.one_question is not None and not self.one_question.fake_data
        left_out = [column for column, one in self.questions.items() if may_miss or one.missing == "leave_out"]
        return reports.astype(dict.fromkeys(left_out, object))


def privatize_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    questions: Mapping[str, Question],
    *,
    keep: Sequence[str] = (),
    rng: Random = None,
    keyed: Keyed | None = None,
    one_question: OneQuestion | None = None,
    again: bool = False,
    announce: Callable[[], None] | None = None,
) -> int:
    """Write the reports of a file of answers, in batches, whole or not at all; return the number of rows."""
    # CSV or Parquet by the endings, - for stdin and stdout. Columns to keep are copied unprotected. announce is called
    # when the columns are found, before anything is written. Columns that are reports already are refused, unless again
    # is true. For the rest see `Survey.privatize_file`.
    name, output, rows = os.fspath(source), os.fspath(target), 0
    kind_of(output)
    require_other_file(name, output)
    twice = [column for column in keep if column in questions]
    if twice:
        raise ModelFileError(f"column {twice[0]!r} would be kept and protected", do="do not keep it")
    if keyed is not None:
        _require_other_column(keyed, questions)
    copied = [*keep, *([] if keyed is None or keyed.id in keep else [keyed.id])]
    before = read_origin(name)
    with reading(name) as table:
        if not again:
            require_raw(before, questions, table.columns, name)
        places, others = [[position_of(table, column) for column in columns] for columns in (questions, copied)]
        streams = _streams(rng, questions, one_question)
        columns = [
            _Column.of(table, place, question, stream)
            for place, question, stream in zip(places, questions.values(), streams, strict=False)
        ]
        fields = [
            field.with_type(column.labels.type) for field, column in zip(table.fields(places), columns, strict=True)
        ]
        ids = None if keyed is None else Ids(f"{name}, column {keyed.id}", table.first_row)
        if announce is not None:
            announce()
        origin = origin_of_reports(questions, keep, keyed, one_question, before)
        with writing(output, [*fields, *table.fields(others[: len(keep)])], origin) as write:
            for batch in table.batches(places, others):
                first, rest = table.first_row + rows, batch[len(columns) :]
                names = [] if keyed is None or ids is None else ids.take(rest[copied.index(keyed.id)])
                records = _Records(len(batch[0]), keyed, names, one_question, streams[-1])
                reports = [
                    column.reports(part, first, records, position)
                    for position, (column, part) in enumerate(zip(columns, batch, strict=False))
                ]
                if not any(column.missing.count for column in columns):
                    write([*reports, *rest[: len(keep)]])
                rows += len(batch[0])
            for column in columns:
                column.missing.require_none()
            if ids is not None:
                ids.require_distinct()
    return rows


@dataclass
class _Column:
    """A column of a file whose answers become reports."""

    question: Question
    name: str
    coder: Coder
    labels: pa.Array
    rng: Random
    missing: MissingAnswers

    @classmethod
    def of(cls, table: Rows, place: int, question: Question, rng: Random) -> _Column:
        """Match a column with its question: by the text of the labels if the column has texts."""
        as_text, name = table.is_text(place), table.columns[place]
        missing = MissingAnswers(f"{table.name}, column {name}", "answer")
        labels = question.randomizer.codec.labels(as_text)
        return cls(question, name, Coder(question.inputs, "answer", as_text=as_text), labels, rng, missing)

    def reports(self, answers: pa.Array, first_row: int, records: _Records, position: int) -> pa.Array | None:
        """Draw the reports of a batch as a column; None if answers are missing that must not be."""
        codes = self.coder.codes(answers, self.missing.where, first_row)
        codes = self.question.fill_missing(codes, self.missing, first_row)
        if self.missing.count:
            return None
        codes, source = records.prepare(position, self.name, self.question, codes, self.rng)
        return self.question.randomizer.codec.column(codes, self.labels, source)
