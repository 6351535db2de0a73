"""Answers of tables replaced by reports: dataframes of any library, lists, and files in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import require_path
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import listed_items, truth
from ldpopt.foundation.seeds import Random, child_seed, generators, seed_of
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Draws, Ids, Keyed, KeyedDraws, ids_of
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.tables.coding import Coder, Codes, MissingAnswers
from ldpopt.tables.files import Rows, kind_of, position_of, reading, require_other_file, writing
from ldpopt.tables.folder import TablePart
from ldpopt.tables.frames import Frame, Partitions, frame_of
from ldpopt.tables.origin import PART, origin_of_table, read_origin, require_raw, with_origin
from ldpopt.tables.places import place_of

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
    again = truth(again, "again")
    frame = frame_of(table)
    if isinstance(frame, Partitions):
        return _privatize_partitions(frame, questions, rng, keyed, one_question)
    before = origin_of_table(table)
    questions = of_table(questions, frame.columns)
    read = columns_of_answers(questions)
    if not again:
        require_raw(before, read, frame.columns, "the table")
    require_other_column(keyed, read)
    ids = [] if keyed is None else ids_of(frame.column(keyed.id), f"column {keyed.id!r}")
    streams, rounding = _streams(rng, questions, one_question)
    records = _Records(len(frame), keyed, ids, one_question, streams[-1])
    drawn = {}
    for position, ((column, question), stream) in enumerate(
        zip(questions.items(), streams, strict=False)
    ):
        parts = question.columns_read(column)
        missing = {
            name: MissingAnswers(f"column {name!r}", part.kind) for name, part in parts.items()
        }
        answers = [
            _answers_in(frame, name, part, missing[name], records.source(text_of(name), rounded))
            for name, part in parts.items()
            for rounded in [rounding.get(name)]
        ]
        codes = question.combine_rows(answers, list(missing.values()))
        for each in missing.values():
            each.require_none()
        codes, source = records.prepare(position, text_of(column), question, codes, stream)
        drawn[column] = question.randomizer.codec.entries(codes, source)
    keep = [name for name in frame.columns if name not in read]
    if set(keep) & set(questions):
        problem = f"the table has a column {next(iter(set(keep) & set(questions)))!r} already"
        raise StatementError(
            problem, code="report-column", do="rename this column: the reports get its name"
        )
    reports = frame.replaced([name for name in read if name not in questions], drawn)
    return with_origin(
        reports, lambda: origin_of_reports(questions, keep, keyed, one_question, before)
    )


def _answers_in(
    frame: Frame, column: Any, question: Any, missing: MissingAnswers, source: Draws
) -> Codes:
    """Codes of the answers in a column of a dataframe; numbers are rounded with a source."""
    codes = frame.codes(column, question.coder(), missing.where)
    codes = question.placed(codes, source)
    filled: Codes = question.fill_missing(codes, missing)
    missing.require_none()
    return filled


def of_table(questions: Mapping[Any, Question], columns: Sequence[Any]) -> dict[Any, Question]:
    """The questions for a table with these columns: two answers to one, or what remains of them."""
    return {name: question.of_table(columns) for name, question in questions.items()}


def columns_of_answers(questions: Mapping[Any, Question]) -> list[Any]:
    """The columns that are read: those of the questions, or of the parts of a joint one."""
    return [
        name for column, question in questions.items() for name in (question.parts or (column,))
    ]


def _streams(
    rng: Random, questions: Mapping[Any, Question], one_question: OneQuestion | None
) -> tuple[list[Random], dict[Any, Random]]:
    """Return independent sources of the draws for each question, and one more for the question of
    each person; and by column those that round numbers.
    """
    rounded = [
        name
        for column, question in questions.items()
        for name, part in question.columns_read(column).items()
        if part.is_rounded
    ]
    count = len(questions) + (one_question is not None)
    sources = generators(rng, count + len(rounded))
    drawn = sources[:count] if one_question is not None else [*sources[:count], None]
    return drawn, dict(zip(rounded, sources[count:], strict=True))


def require_other_column(keyed: Keyed | None, columns: Sequence[Any]) -> None:
    """Refuse a column of answers as ids."""
    if keyed is not None and isinstance(keyed.id, Hashable) and keyed.id in columns:
        raise StatementError(
            f"column {keyed.id!r} has answers, not ids",
            code="ids-column",
            do="name the column of the ids",
        )


class _Records:
    """Records of a table or batch: their ids if draws are keyed, and each person's question if one
    is drawn.
    """

    def __init__(
        self,
        size: int,
        keyed: Keyed | None,
        ids: list[bytes],
        one_question: OneQuestion | None,
        rng: Random,
    ) -> None:
        self._keyed, self._ids, self._one_question = keyed, ids, one_question
        self._positions = (
            None if one_question is None else one_question.draw(size, self.source("", rng))
        )

    def source(self, name: str, rng: Random) -> Draws:
        """The source of the draws for a question: keyed by the ids, or the generator."""
        return rng if self._keyed is None else KeyedDraws(self._keyed.key, name, self._ids)

    def prepare(
        self, position: int, name: str, question: Question, codes: Codes, rng: Random
    ) -> tuple[Codes, Draws]:
        """Return the answers that are randomized for a question, and the source of their draws."""
        source = self.source(name, rng)
        if self._one_question is not None:
            codes = self._one_question.answers(
                codes, self._positions == position, len(question.inputs), source
            )
        return codes, source


def _privatize_partitions(
    table: Partitions,
    questions: Mapping[Any, Question],
    rng: Random,
    keyed: Keyed | None,
    one_question: OneQuestion | None,
) -> Any:
    """Replace columns of a dataframe of Dask lazily, so that a second computation gives the same
    reports.
    """
    if keyed is None and rng is None:
        problem = (
            "a table of Dask is computed again whenever it is needed, and each time other "
            "reports would be drawn"
        )
        do = (
            "pass key= and id=, which give each person the same report again; or use "
            "ldpopt.privatize_folder once"
        )
        raise StatementError(problem, code="drawn-again", do=do)
    seed = None if rng is None else seed_of(rng)
    return table.mapped(partial(_privatize_partition, dict(questions), seed, keyed, one_question))


def _privatize_partition(
    questions: dict[Any, Question],
    seed: Any,
    keyed: Keyed | None,
    one_question: OneQuestion | None,
    part: Any,
    number: int,
) -> Any:
    """Draw the reports of one partition of a dataframe."""
    rng = None if seed is None else child_seed(seed, number)
    reports = privatize_frame(part, questions, rng, keyed, one_question)
    # A column that may have missing reports has the same type in all partitions, whether or not
    # some are missing.
    may_miss = one_question is not None and not one_question.fake_data
    left_out = [
        column
        for column, question in questions.items()
        if may_miss or question.missing == "leave_out"
    ]
    return reports.astype(dict.fromkeys(left_out, object))


def privatize_file(
    source: str | os.PathLike[str] | TablePart,
    target: str | os.PathLike[str],
    questions: Mapping[str, Question],
    *,
    keep: Sequence[str] = (),
    rng: Random = None,
    keyed: Keyed | None = None,
    one_question: OneQuestion | None = None,
    again: bool = False,
    announce: Callable[[Sequence[str]], None] | None = None,
    part: str | None = None,
) -> int:
    """Write the reports of a file of answers, in batches, whole or not at all; see
    `Survey.privatize_file`.

    Parameters
    ----------
    source, target : path-like
        Tables, or addresses of them; ``-`` is stdin or stdout. The source may be a part of a
        folder.
    questions : mapping of column to Question
        What is asked in each column of reports.
    keep : sequence of str
        Columns that are copied unprotected; default: ``()``.
    rng : numpy.random.Generator, SeedSequence or int, optional
        Makes the draws repeatable, as for `Mechanism.privatize`.
    keyed : Keyed, optional
        A key and the column of the ids, in place of ``rng``.
    one_question : OneQuestion, optional
        If one question is drawn for each person.
    again : bool
        Whether reports may be privatized once more; default: ``False``.
    announce : callable, optional
        Gets the columns that are dropped, before anything is written.
    part : str, optional
        Id of the reports as a part of a folder, for their origin; default: none.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    StatementError
        If a column is unknown or named twice, has reports already, or has an answer that is
        unknown or missing.
    """
    opened = source
    if isinstance(source, TablePart):
        source = source.path
    require_path(source)
    require_path(target)
    again = truth(again, "again")
    keep = listed_items(keep, "keep", "pass a list of columns")
    name = place_of(source, databases=True)
    output = place_of(target)
    kind_of(output)
    require_other_file(name, output)
    _require_protected_once(keep, columns_of_answers(questions), questions)
    before = read_origin(name)
    with reading(opened if isinstance(opened, TablePart) else name) as table:
        questions = of_table(questions, table.columns)
        read = columns_of_answers(questions)
        require_other_column(keyed, read)
        if not again:
            require_raw(before, read, table.columns, name)
        answers = FileOfAnswers.of(table, questions, keep, rng, keyed, one_question)
        if announce is not None:
            used = (*read, *answers.copied)
            announce([column for column in table.columns if column not in used])
        origin = origin_of_reports(questions, keep, keyed, one_question, before)
        if part is not None:
            origin[PART] = part
        with writing(output, answers.fields, origin) as write:
            rows = 0
            for batch in table.batches(answers.places, answers.copied_places):
                reports = answers.reports(batch, table.first_row + rows)
                if reports is not None:
                    write(reports)
                rows += len(batch[0])
            answers.require_complete()
    return rows


def _require_protected_once(
    keep: Sequence[str], read: Sequence[str], questions: Mapping[str, Question]
) -> None:
    """Refuse to copy a column that is protected."""
    twice = [column for column in keep if column in read or column in questions]
    if twice:
        problem = f"column {twice[0]!r} would be kept and protected"
        raise ModelFileError(problem, code="kept-column", do="do not keep this column")


@dataclass
class FileOfAnswers:
    """What is read from a file, and written in its place: reports, then the columns that are kept.

    A batch has the columns of answers first, and then the copied ones: those that are kept and the
    ids, which are copied too.
    """

    columns: list[_ReportColumn]
    read: list[str]  # columns of answers; several reports may be about one
    places: list[int]  # of these, in the file
    copied: list[str]
    copied_places: list[int]
    kept: int  # number of copied columns that are written
    fields: list[pa.Field]
    ids: Ids | None
    keyed: Keyed | None
    one_question: OneQuestion | None
    rng: Random  # draws the question of each person

    @classmethod
    def of(
        cls,
        table: Rows,
        questions: Mapping[str, Question],
        keep: Sequence[str],
        rng: Random,
        keyed: Keyed | None,
        one_question: OneQuestion | None,
    ) -> FileOfAnswers:
        """Find the columns in a file."""
        copied = [*keep, *([] if keyed is None or keyed.id in keep else [keyed.id])]
        read = [name for column, each in questions.items() for name in each.columns_read(column)]
        read = list(dict.fromkeys(read))
        places = [position_of(table, name) for name in read]
        copied_places = [position_of(table, column) for column in copied]
        streams, rounding = _streams(rng, questions, one_question)
        columns = [
            _ReportColumn.of(table, column, question, stream, rounding)
            for (column, question), stream in zip(questions.items(), streams, strict=False)
        ]
        sources = table.fields([position_of(table, column.reads[0].name) for column in columns])
        fields = [
            field.with_name(column.name).with_type(column.labels.type)
            for field, column in zip(sources, columns, strict=True)
        ]
        fields += table.fields(copied_places[: len(keep)])
        ids = None if keyed is None else Ids(f"{table.name}, column {keyed.id}", table.first_row)
        return cls(
            columns,
            read,
            places,
            copied,
            copied_places,
            len(keep),
            fields,
            ids,
            keyed,
            one_question,
            streams[-1],
        )

    def reports(self, batch: Sequence[pa.Array], first_row: int) -> list[pa.Array] | None:
        """Draw the columns that are written for a batch; None if answers are missing."""
        copied = batch[len(self.places) :]
        ids: list[bytes] = []
        if self.keyed is not None and self.ids is not None:
            ids = self.ids.take(copied[self.copied.index(self.keyed.id)])
        records = _Records(len(batch[0]), self.keyed, ids, self.one_question, self.rng)
        answers = dict(zip(self.read, batch, strict=False))
        # every column is read, so that the count of missing answers is that of the file
        reports = [
            column.reports(answers, first_row, records, place)
            for place, column in enumerate(self.columns)
        ]
        if any(column.is_missing for column in self.columns):
            return None
        return [*reports, *copied[: self.kept]]

    def require_complete(self) -> None:
        """Refuse a file with missing answers or duplicate ids, at its end."""
        for column in self.columns:
            for part in column.reads:
                part.missing.require_none()
        if self.ids is not None:
            self.ids.require_distinct()


@dataclass
class _Answers:
    """A column of a file with answers to a question."""

    question: Question
    name: str
    coder: Coder
    missing: MissingAnswers
    rng: Random  # rounds numbers

    @classmethod
    def of(cls, table: Rows, name: str, question: Question, rng: Random) -> _Answers:
        """Match a column with its question: by the text of the labels if the column has texts."""
        coder = question.coder(as_text=table.is_text(position_of(table, name)))
        missing = MissingAnswers(f"{table.name}, column {name}", question.kind)
        return cls(question, name, coder, missing, rng)

    def codes(self, answers: pa.Array, first_row: int, records: _Records) -> Codes:
        """Codes of a batch; missing answers that the question does not allow are counted."""
        codes = self.coder.codes(answers, self.missing.where, first_row)
        codes = self.question.placed(codes, records.source(self.name, self.rng))
        return self.question.fill_missing(codes, self.missing, first_row)


@dataclass
class _ReportColumn:
    """A column of reports, and the columns of a file whose answers they are drawn from."""

    question: Question
    name: str
    reads: list[_Answers]
    labels: pa.Array
    rng: Random

    @classmethod
    def of(
        cls,
        table: Rows,
        name: str,
        question: Question,
        rng: Random,
        rounding: Mapping[Any, Random],
    ) -> _ReportColumn:
        """Find the columns of the answers."""
        reads = [
            _Answers.of(table, column, part, rounding.get(column))
            for column, part in question.columns_read(name).items()
        ]
        return cls(
            question, name, reads, question.randomizer.codec.labels(reads[0].coder.as_text), rng
        )

    @property
    def is_missing(self) -> bool:
        """Whether answers are missing that must not be."""
        return any(part.missing.count for part in self.reads)

    def reports(
        self, answers: Mapping[str, pa.Array], first_row: int, records: _Records, position: int
    ) -> Any:
        """Draw the reports of a batch as a column from its columns of answers; None if answers are
        missing.
        """
        read = [part.codes(answers[part.name], first_row, records) for part in self.reads]
        codes = self.question.combine_rows(read, [part.missing for part in self.reads], first_row)
        if self.is_missing:
            return None
        codes, source = records.prepare(position, self.name, self.question, codes, self.rng)
        return self.question.randomizer.codec.column(codes, self.labels, source)
