"""Answers replaced by reports where they lie: tables of Spark, by its executors; other tables in
memory or by Dask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import truth
from ldpopt.foundation.seeds import Random
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.privatizing import (
    FileOfAnswers,
    columns_of_answers,
    of_table,
    privatize_frame,
    require_other_column,
)
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.tables.origin import origin_of_table, require_raw, text_of_origin
from ldpopt.tables.spark import ArrowRows, is_spark, partition_name, replaced, require_own_names


def privatize_table(
    table: Any,
    questions: Mapping[Any, Question],
    rng: Random = None,
    keyed: Keyed | None = None,
    one_question: OneQuestion | None = None,
    again: bool = False,
) -> Any:
    """Replace columns of a dataframe of any library or engine by reports; see
    `Mechanism.privatize`.
    """
    if not is_spark(table):
        return privatize_frame(table, questions, rng, keyed, one_question, again)
    columns = list(table.columns)
    require_own_names(columns)
    questions = of_table(questions, columns)
    read = columns_of_answers(questions)
    before = origin_of_table(table)
    if not truth(again, "again"):
        require_raw(before, read, columns, "the table")
    if keyed is None:
        problem = "Spark computes a table again for each action, and would draw other reports"
        if rng is not None:
            problem = "Spark keeps no order of rows, so no seed gives a row its draw again"
        raise StatementError(
            problem,
            code="drawn-again",
            do="pass key= and id=, which give each person the same report again; or write the "
            "answers to a folder once and use ldpopt.privatize_folder",
        )
    require_other_column(keyed, read)
    keep = tuple(name for name in columns if name not in read)
    if twice := [name for name in questions if name in keep]:
        problem = f"the table has a column {twice[0]!r} already"
        do = "rename this column: the reports get its name"
        raise StatementError(problem, code="report-column", do=do)
    drawer = Drawer(dict(questions), keep, keyed, one_question, read)
    kinds = drawer.kinds(columns)
    origin = origin_of_reports(questions, keep, keyed, one_question, before)
    return replaced(table, drawer.function(columns), read, kinds, text_of_origin(origin))


@dataclass(frozen=True)
class Drawer:
    """Draws the reports of a partition; sent to the executors with the key."""

    questions: dict[str, Question]
    keep: tuple[str, ...]
    keyed: Keyed
    one_question: OneQuestion | None
    read: Sequence[str]

    def answers(self, columns: Sequence[str], name: str) -> FileOfAnswers:
        """The columns of a table that are read."""
        table: Any = ArrowRows(columns, name)
        return FileOfAnswers.of(
            table, self.questions, self.keep, None, self.keyed, self.one_question
        )

    def kinds(self, columns: Sequence[str]) -> dict[str, Any]:
        """Types of the columns of reports."""
        answers = self.answers(columns, "the table")
        reports = zip(answers.fields, self.questions.values(), strict=False)
        for field, question in reports:
            labels = question.randomizer.codec.labels(as_text=False)
            names = getattr(question.randomizer, "outputs", ())
            if labels.type == optional.pyarrow.string() and not all(
                isinstance(name, str) for name in names
            ):
                raise StatementError(
                    "the reports have labels of several kinds",
                    code="mixed-labels",
                    where=f"column {field.name!r}",
                    do="use labels of one kind",
                )
        return {field.name: field.type for field in answers.fields[: len(self.questions)]}

    def function(self, columns: Sequence[str]) -> Any:
        """What Spark calls with the batches of a partition, which have these columns."""

        def reports(batches: Iterable[Any]) -> Iterator[Any]:
            return self.reports(batches, columns)

        return reports

    def reports(self, batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
        """Draw the reports of the batches of a partition, in the order of the table's columns."""
        answers = self.answers(names, partition_name())
        places = (*answers.places, *answers.copied_places)
        kept = {*self.keep, *self.questions}
        order = list(dict.fromkeys((*filter(kept.__contains__, names), *self.questions)))
        row = 0
        for batch in batches:
            columns = answers.reports([batch.column(place) for place in places], row)
            row += len(batch)
            if columns is not None:
                made = dict(zip((*self.questions, *self.keep), columns, strict=True))
                yield optional.pyarrow.record_batch([_plain(made[name]) for name in order], order)
        answers.require_complete()


def _plain(column: Any) -> Any:
    """A column of reports without a dictionary."""
    pa = optional.pyarrow
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
