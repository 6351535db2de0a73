"""Answers of tables replaced by reports: files in batches, dataframes of any library, series."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.asking import Asking
from ldpopt.mechanism.keyed import Draws, Keyed, KeyedDraws, SecretKey
from ldpopt.mechanism.origins import of_reports
from ldpopt.mechanism.partitions import privatize_partitions
from ldpopt.mechanism.sampling import Random, generators
from ldpopt.tables.coding import MISSING, Coder, Codes, Missing, MissingAnswers, require_policy
from ldpopt.tables.files import Rows, place_of, reading, writing
from ldpopt.tables.frames import as_frame, codes_of, column_of, with_labels
from ldpopt.tables.ids import Ids, ids_of
from ldpopt.tables.kinds import kind_of, require_other_file
from ldpopt.tables.origin import origin_of_table, read_origin, require_raw, with_origin
from ldpopt.tables.partitions import is_partitioned

if TYPE_CHECKING:
    import pyarrow as pa

    from ldpopt.mechanism.codec import Law


@dataclass(frozen=True)
class Rule:
    """How the answers of one column become reports.

    Parameters
    ----------
    mechanism : Mechanism or protocol
        Its inputs are the answers; its codec says what reports look like.
    missing : {"refuse", "leave_out"}
        What is done where there is no answer; left out, it stays empty in the reports, for all to see. Default:
        ``"refuse"``.
    missing_answer : hashable, optional
        The input that stands for a missing answer; default: none does.

    Raises
    ------
    StatementError
        If the policy is unknown, or the answer for what is missing is no input.
    """

    mechanism: Law
    missing: Missing = "refuse"
    missing_answer: Hashable | None = None

    def __post_init__(self) -> None:
        """Check the policy."""
        require_policy(self.missing)
        if self.missing_answer is not None and self._place() is None:
            raise StatementError(
                f"the missing answer {short_repr(self.missing_answer)} is not an input of the mechanism",
                do=nearest(self.missing_answer, self.inputs),
            )

    def filled(self, codes: Codes, absent: MissingAnswers, first_row: int = 0) -> Codes:
        """Codes with the answer for what is missing; what has to be refused is counted."""
        place = None if self.missing_answer is None else self._place()
        if place is not None:
            return np.where(codes == MISSING, place, codes)
        if self.missing == "refuse":
            absent.add(codes, first_row)
        return codes

    @property
    def budget(self) -> float:
        """Audited epsilon in nats; infinite where none is large enough."""
        return self.mechanism.audit().epsilon

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers."""
        return self.mechanism.inputs

    def _place(self) -> int | None:
        if self.missing_answer in self.inputs:
            return self.inputs.index(self.missing_answer)
        names, text = list(map(text_of, self.inputs)), text_of(self.missing_answer)
        return names.index(text) if text in names else None


def privatize_frame(
    table: Any,
    rules: Mapping[Any, Rule],
    rng: Random = None,
    keyed: Keyed | None = None,
    asking: Asking | None = None,
    again: bool = False,
) -> Any:
    """Replace columns of a dataframe by reports; see `Mechanism.privatize`."""
    if is_partitioned(table):
        return privatize_partitions(privatize_frame, table, rules, rng, keyed, asking)
    frame, before = as_frame(table), origin_of_table(table)
    if not again:
        require_raw(before, rules, frame.columns, "the table")
    drawn = {}
    sources: list[Draws] = list(generators(rng, len(rules) + (asking is not None)))
    if keyed is not None:
        _require_other_column(keyed, rules)
        ids = ids_of(column_of(frame, keyed.id), f"column {keyed.id!r}")
        sources = [KeyedDraws(keyed.key, name, ids) for name in (*map(text_of, rules), "")]
    chosen = None if asking is None else asking.choose(len(frame), sources[len(rules)])
    for place, ((column, rule), source) in enumerate(zip(rules.items(), sources, strict=False)):
        where = f"column {column!r}"
        codes = codes_of(column_of(frame, column), Coder(rule.inputs, "answer"), where)
        absent = MissingAnswers(where, "answer")
        codes = rule.filled(codes, absent)
        absent.require_none()
        if asking is not None:
            codes = asking.answers(codes, chosen == place, len(rule.inputs), source)
        drawn[column] = rule.mechanism.codec.entries(codes, source)
    keep = [name for name in frame.columns if name not in rules]
    return with_origin(with_labels(frame, drawn), lambda: of_reports(rules, keep, keyed, asking, before))


def _require_other_column(keyed: Keyed, rules: Mapping[Any, Rule]) -> None:
    """Refuse answers as ids."""
    if keyed.id in rules:
        raise StatementError(f"column {keyed.id!r} has answers, not ids", do="name the column of the ids")


@dataclass
class _Column:
    """One column of a file on its way from answers to reports."""

    rule: Rule
    coder: Coder
    names: pa.Array
    source: Random
    absent: MissingAnswers
    question: str

    def reports(self, answers: pa.Array, batch: _Batch, place: int) -> pa.Array | None:
        """Reports as a column; None where answers are missing that must not be."""
        codes = self.coder.codes(answers, self.absent.where, batch.first_row)
        codes = self.rule.filled(codes, self.absent, batch.first_row)
        if self.absent.count:
            return None
        source = batch.source(self.source, self.question)
        if batch.asking is not None:
            codes = batch.asking.answers(codes, batch.chosen == place, len(self.rule.inputs), source)
        return self.rule.mechanism.codec.column(codes, self.names, source)


class _Batch:
    """What the columns of a batch share: its first row, the ids of the records, and which question each is asked."""

    def __init__(
        self, first_row: int, size: int, asking: Asking | None, key: SecretKey | None, ids: list[bytes], rng: Random
    ) -> None:
        self.first_row, self.asking, self._key, self._ids = first_row, asking, key, ids
        self.chosen = None if asking is None else asking.choose(size, self.source(rng, ""))

    def source(self, rng: Random, question: str) -> Draws:
        """Where the reports to a question come from."""
        return rng if self._key is None else KeyedDraws(self._key, question, self._ids)


def privatize_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    rules: Mapping[str, Rule],
    *,
    keep: Sequence[str] = (),
    rng: Random = None,
    keyed: Keyed | None = None,
    asking: Asking | None = None,
    again: bool = False,
    announce: Callable[[], None] | None = None,
) -> int:
    """Write the reports of a file of answers, in batches, whole or not at all; return the number of rows.

    CSV or Parquet by the endings, ``-`` for stdin and stdout. Columns to ``keep`` are copied unprotected. ``announce``
    is called when the columns are found, before anything is written. Columns that are reports already are refused,
    unless ``again`` is stated. For the rest see `Survey.privatize_file`.
    """
    name, output, rows = os.fspath(source), os.fspath(target), 0
    kind_of(output)
    require_other_file(name, output)
    twice = [column for column in keep if column in rules]
    if twice:
        raise ModelFileError(f"column {twice[0]!r} would be kept and protected", do="do not keep it")
    if keyed is not None:
        _require_other_column(keyed, rules)
    beside = [*keep, *([] if keyed is None or keyed.id in keep else [keyed.id])]
    before = read_origin(name)
    with reading(name) as table:
        if not again:
            require_raw(before, rules, table.columns, name)
        places, others = [[place_of(table, column) for column in columns] for columns in (rules, beside)]
        streams = generators(rng, len(rules) + (asking is not None))
        columns = [
            _column(table, place, rule, stream)
            for place, rule, stream in zip(places, rules.values(), streams, strict=False)
        ]
        fields = [
            field.with_type(column.names.type) for field, column in zip(table.fields(places), columns, strict=True)
        ]
        ids = None if keyed is None else Ids(f"{name}, column {keyed.id}", table.first_row)
        if announce is not None:
            announce()
        origin = of_reports(rules, keep, keyed, asking, before)
        with writing(output, [*fields, *table.fields(others[: len(keep)])], origin) as write:
            for batch in table.batches(places, others):
                first, rest = table.first_row + rows, batch[len(columns) :]
                names = [] if keyed is None or ids is None else ids.take(rest[beside.index(keyed.id)])
                key = None if keyed is None else keyed.key
                shared = _Batch(first, len(batch[0]), asking, key, names, streams[-1])
                made = [
                    column.reports(part, shared, at)
                    for at, (column, part) in enumerate(zip(columns, batch, strict=False))
                ]
                if not any(column.absent.count for column in columns):
                    write([*made, *rest[: len(keep)]])
                rows += len(batch[0])
            for column in columns:
                column.absent.require_none()
            if ids is not None:
                ids.require_distinct()
    return rows


def _column(table: Rows, place: int, rule: Rule, source: Random) -> _Column:
    """Match a column of a file with its mechanism: by the text of the labels where the column has texts."""
    as_text = table.is_text(place)
    where = f"{table.name}, column {table.columns[place]}"
    coder = Coder(rule.inputs, "answer", as_text=as_text)
    absent = MissingAnswers(where, "answer")
    return _Column(rule, coder, rule.mechanism.codec.labels(as_text), source, absent, table.columns[place])
