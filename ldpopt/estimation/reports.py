"""Reports in the forms that users have: vectors of labels, tables with a column, counts by
label.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError, shows_values
from ldpopt.estimation.channel_counts import PairReader
from ldpopt.estimation.tallies import NO_GROUP, count_lazy, require_few_groups
from ldpopt.foundation import optional
from ldpopt.foundation.labelled import as_counts, is_labelled, is_series, read_labelled
from ldpopt.foundation.labels import NUMBER, Names, codes, text_of
from ldpopt.foundation.numbers import (
    Float,
    listed_items,
    quoted,
    real_array,
    real_number,
    require_choice,
    short_repr,
)
from ldpopt.mechanism.files import require_drawn_by, require_origin_of
from ldpopt.native import count_codes
from ldpopt.tables.coding import (
    MISSING,
    TREATMENTS,
    Coder,
    Codes,
    Missing,
    MissingAnswers,
    Texts,
    is_missing,
)
from ldpopt.tables.database import DatabaseRows
from ldpopt.tables.files import position_of, reading
from ldpopt.tables.folder import TablePart
from ldpopt.tables.frames import (
    as_arrow,
    as_frame,
    as_lazy,
    codes_of,
    column_of,
    gathered,
    is_partitioned,
)
from ldpopt.tables.inventory import Checked, facts_of
from ldpopt.tables.origin import origin_of_table
from ldpopt.tables.places import is_folder
from ldpopt.tables.vectors import is_there, numbers_of, places_of

if TYPE_CHECKING:
    from ldpopt.estimation.counts import Counts, ReportSource

ALL = None  # the group of all people
MOST_TALLIED = 1 << 12  # positions whose counts fit in the cache four times
TURNS = 4  # counts for each position, as in native/counts.c


def counted(reports: Any, alphabet: Names, weights: Any = None) -> NDArray[np.int64] | None:
    """Return counts by label in the order of an alphabet; None if the reports are labels
    themselves.
    """
    counts = as_counts(reports, alphabet, "report")
    if counts is None:
        return None
    if weights is not None:
        raise StatementError(
            "counts by label take no weights",
            code="weights-of-counts",
            do="pass the reports, with their weights",
        )
    seen = np.zeros(len(alphabet), dtype=np.int64)
    places = codes(list(counts), alphabet, "report")
    for place, (label, count) in zip(places, counts.items(), strict=True):
        seen[place] += _whole_count(label, count, sys.maxsize // len(alphabet))
    return seen


def codes_in(
    reports: Any, alphabet: Names, missing: Missing = "refuse"
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the positions of labels in a vector of any library, and which entries are not
    missing.
    """
    require_choice(missing, TREATMENTS, "missing")
    if isinstance(reports, (str, os.PathLike)):
        raise _no_column(os.fspath(reports))
    if not isinstance(reports, (list, tuple, np.ndarray)) and as_arrow(reports) is not None:
        positions = codes_of(reports, Coder(alphabet, "report"), "the reports")
    else:
        labels = reports.to_list() if hasattr(reports, "to_list") else reports
        if not isinstance(labels, Iterable):
            labels = listed_items(labels, "reports")  # which refuses them
        positions = codes(labels, alphabet, "report")  # of which none is missing
        return positions, np.broadcast_to(np.True_, len(positions))
    if not len(positions) or positions.min() > MISSING:
        return positions, np.broadcast_to(np.True_, len(positions))
    if missing == "refuse":
        absent = MissingAnswers("the reports", "report")
        absent.add(positions, 0)
        absent.require_none()
    there = positions != MISSING
    return positions[there], there


def tally(positions: Codes, size: int) -> NDArray[np.int64]:
    """Count positions below a size, as `numpy.bincount` does, which takes longer for small ones."""
    if size > MOST_TALLIED:
        return np.bincount(positions, minlength=size).astype(np.int64, copy=False)
    counts = np.zeros((TURNS, size + 1), np.int64)  # and a place for those that are none
    count_codes(np.ascontiguousarray(positions, np.int64), counts)
    if counts[:, size].any():
        raise ValueError(f"a position is not below {size}")
    found: NDArray[np.int64] = counts[:, :size].sum(axis=0)
    return found


def count_frame(
    source: ReportSource, table: Any, column: Any, weights: Any, missing: Missing, by: Any = None
) -> dict[Hashable, Counts]:
    """Count the reports in a column of a dataframe of any library, by the groups that another
    column names.
    """
    if is_partitioned(table):
        if not isinstance(weights, (str, type(None))):
            raise no_names()
        require_origin_of(origin_of_table(table), column, source.digest, "the table")
        merged: dict[Hashable, Any] = {}
        for part in gathered(
            table,
            lambda part, _: count_frame(source, part, column, weights, missing, by),
            (column, source.beside, weights, by),
        ):
            merged |= {group: counts + merged.get(group, 0) for group, counts in part.items()}
        return merged
    if (lazy := as_lazy(table)) is not None:
        if not isinstance(weights, (str, type(None))):
            raise no_names()
        return count_lazy(source, lazy, column, by, weights, missing)
    frame = as_frame(table)
    numbers = column_of(frame, weights).to_numpy() if isinstance(weights, str) else weights
    numbers = report_weights(numbers, table, len(frame))
    where = f"column {column!r}", f"column {source.beside!r}"
    counter = _ColumnCounter(source, missing, where, (False, False))
    groups = None if by is None else _groups(column_of(frame, by), f"column {by!r}", False)
    channels = None if source.beside is None else column_of(frame, source.beside)
    counter.add(column_of(frame, column), numbers, 0, groups, channels)
    return counter.finished()


def count_file(
    path: str,
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: Any = None,
    by: str | None = None,
) -> dict[str, dict[Hashable, Counts]]:
    """Count columns of a file, database or folder in one pass; each has a source and a treatment of
    missing reports.

    Counts are by the groups that a column ``by`` names; without it, all people are the group `ALL`.
    """
    if not all(isinstance(name, str) for name in (*columns, by or "")) or not isinstance(
        weights, (str, type(None))
    ):
        raise _no_column(path)
    if not is_folder(path):
        return count_part(path, columns, weights, by)
    folder = Checked(path)
    folder.compare({name: facts_of(part) for name, part in folder.parts.items()})
    counts = [count_part(part, columns, weights, by) for part in folder.parts.values()]
    return same_groups(counts)


def same_groups(
    parts: Sequence[dict[str, dict[Hashable, Counts]]],
) -> dict[str, dict[Hashable, Counts]]:
    """Sums of counts by column and group; groups with the same text are one: a CSV file has 1 as a
    text, a Parquet file perhaps as a number.
    """
    sums: dict[str, dict[Hashable, Any]] = {}
    names: dict[str | None, Hashable] = {}
    for part in parts:
        for column, groups in part.items():
            known = sums.setdefault(column, {})
            for group, counts in groups.items():
                text = None if group is ALL else text_of(group)
                name = names.setdefault(text, group)
                known[name] = counts + known.get(name, 0)
    return sums


def count_part(
    path: str | TablePart,
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: Any = None,
    by: str | None = None,
) -> dict[str, dict[Hashable, Counts]]:
    """Count columns of one file or database; see `count_file`."""
    for name, (source, _) in columns.items():
        require_drawn_by(path if isinstance(path, str) else path.path, name, source.digest)
    with reading(path) as table:
        if isinstance(table, DatabaseRows):
            # Equal rows, which the database counts, have no numbers: an entry that is refused is
            # met once more by the count of single rows below, whose error names its row.
            with suppress(StatementError), table.at_one_moment():
                return _count_database(table, columns, weights, by)
        return _count_columns(table, columns, weights, by)


def _count_database(
    table: DatabaseRows,
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: str | None,
    by: str | None,
) -> dict[str, dict[Hashable, Counts]]:
    """Count columns of a database: those of labels by equal rows, which the database counts, and
    those of sets, few of which are equal, in one pass.
    """
    counts: dict[str, dict[Hashable, Counts]] = {}
    listed = {}
    for name, column in columns.items():
        if column[0].codec.form == "labels":
            counts |= _count_columns(table, {name: column}, weights, by, are_equal=True)
        else:
            listed[name] = column
    counts |= _count_columns(table, listed, weights, by) if listed else {}
    return {name: counts[name] for name in columns}


def _count_columns(
    table: Any,
    columns: Mapping[str, tuple[ReportSource, Missing]],
    weights: str | None,
    by: str | None,
    *,
    are_equal: bool = False,
) -> dict[str, dict[Hashable, Counts]]:
    """Count columns of an open table in one pass; with ``are_equal`` the database brings equal rows
    together.
    """
    kept = "keep it beside the reports when they are drawn (`privatize --keep`); "
    clear = [by, *(source.beside for source, _ in columns.values())]
    coded = {name: position_of(table, name) for name in columns}
    beside = {name: position_of(table, name, kept) for name in clear if name is not None}
    weighing = [] if weights is None else [position_of(table, weights)]
    counters = {
        name: _ColumnCounter.of_file(table, name, source, missing)
        for name, (source, missing) in columns.items()
    }
    row = table.first_row
    for batch in batches_of(table, [*coded.values(), *beside.values()], weighing, are_equal):
        parts = dict(zip(beside, batch[len(coded) :], strict=False))
        where = f"{table.name}, column {weights}"
        numbers = read_weights(batch[-1], where, row) if weighing else None
        groups = None
        if by is not None:
            about = f"{table.name}, column {by}", table.is_text(beside[by])
            groups = _groups(parts[by], *about)
        for counter, part in zip(counters.values(), batch, strict=False):
            channels = None if counter.beside is None else parts[counter.beside]
            counter.add(part, numbers, row, groups, channels)
        row += len(batch[0])
    return {name: counter.finished() for name, counter in counters.items()}


def batches_of(
    table: Any, coded: list[int], kept: list[int], are_equal: bool = False
) -> Iterator[list[Any]]:
    """Columns of a file or database in batches, the coded and the kept ones; those of a database
    need no arrow, and with ``are_equal`` equal rows come together.
    """
    if isinstance(table, DatabaseRows):
        return table.equal_rows([*coded, *kept]) if are_equal else table.texts([*coded, *kept])
    batches: Iterator[list[Any]] = table.batches(coded, kept)
    return batches


def _groups(column: Any, where: str, as_text: bool) -> dict[Hashable, NDArray[np.bool_]]:
    """Which rows are in each group that a column names; rows without a name are a group of their
    own.
    """
    names, codes = coded_names(column, where, as_text)
    require_few_groups(names, where)
    return {name: codes == code for code, name in enumerate(names)}


def coded_names(column: Any, where: str, as_text: bool) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The names that a column has, and the position of that of each row; a missing one is named
    `NO_GROUP`.
    """
    if isinstance(column, Texts):
        return _coded(column.distinct, column.places, as_text)
    values = as_arrow(column)
    if values is None or str(values.type).startswith(("list", "struct")):
        raise StatementError(
            "the entries are not names of groups",
            code="group",
            where=where,
            do="pass a column of texts or numbers",
        )
    coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    entries = [*coded.dictionary.to_pylist(), None]
    return _coded(entries, places_of(coded), as_text)


def _coded(
    entries: Sequence[Any], codes: Codes, as_text: bool
) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The names among some entries that occur, and the position of that of each row."""
    known: dict[Hashable, int] = {}
    places = np.zeros(len(entries), dtype=np.int64)
    for code in np.unique(codes).tolist():
        name = NO_GROUP if is_missing(entries[code], as_text) else entries[code]
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        places[code] = known.setdefault(name, len(known))
    return list(known), places[codes]


def no_names() -> StatementError:
    """Return the error for a table of Dask, Spark or another engine without names of columns."""
    return StatementError(
        "a table that an engine computes needs the names of its columns",
        code="column-of-dask",
        where="Counts.of",
        do="pass column=, and weights= by name",
    )


def _no_column(path: str) -> StatementError:
    """Return the error for a text in place of reports: it may be an answer, and is quoted only if
    it names a file.
    """
    where = path if shows_values() or os.path.exists(path) else ""
    problem = "a text names a file, which needs its columns"
    if where:
        problem = "a file needs the names of its columns"
    return StatementError(
        problem,
        code="column-of-file",
        where=where,
        do="pass column=, and weights= by name; or the reports as a list",
    )


class _ColumnCounter:
    """Counts the reports of one column, batch by batch."""

    def __init__(
        self,
        source: ReportSource,
        missing: Missing,
        where: tuple[str, str],
        as_text: tuple[bool, bool],
    ) -> None:
        # where, as_text: of the column, and of the one beside it that names each person's channel
        require_choice(missing, TREATMENTS, "missing")
        self.source = source
        self.beside = source.beside
        self.keeps_all = missing == "refuse"
        self.where = where[0]
        self.absent = MissingAnswers(where[0], "report")
        self.read = source.codec.reader(as_text[0])
        self.pairs = None if self.beside is None else PairReader(source, where, as_text)
        self.counts: dict[Hashable, Counts] = {}

    @classmethod
    def of_file(
        cls, table: Any, name: str, source: ReportSource, missing: Missing
    ) -> _ColumnCounter:
        """The counter of a column of a file."""
        columns = name, source.beside or name
        where = f"{table.name}, column {columns[0]}", f"{table.name}, column {columns[1]}"
        first, second = (table.is_text(position_of(table, column)) for column in columns)
        return cls(source, missing, where, (first, second))

    def add(
        self,
        column: Any,
        weights: Float | None,
        first_row: int,
        groups: Any = None,
        channels: Any = None,
    ) -> None:
        """Count the reports of a batch by group, with weights of shape (N,)."""
        if self.pairs is None:
            reports, there = self.read(column, self.where, first_row)
        else:
            reports, there = self.pairs.read(column, channels, first_row, self.keeps_all)
        if self.keeps_all:
            self.absent.add(np.where(there, 0, MISSING), first_row)
        numbers = None if weights is None else weights[there]
        if groups is None:
            counts = self.source.counts_of_array(reports, numbers)
            self.counts[ALL] = counts + self.counts.get(ALL, 0)
            return
        for group, rows in groups.items():
            is_member = rows[there]
            counts = self.source.counts_of_array(
                reports[is_member], None if numbers is None else numbers[is_member]
            )
            self.counts[group] = counts + self.counts.get(group, 0)

    def finished(self) -> dict[Hashable, Counts]:
        """Return the counts of each group; refuse missing reports that must not be missing."""
        self.absent.require_none()
        return self.counts or {ALL: self.source.counts_of_array(self.source.codec.no_reports)}


def read_effects(path: str, column: str) -> tuple[float, float]:
    r"""Design effects of the weights in a column of a file: of those that are unrelated to the
    answers, :math:`N \sum w^2 / (\sum w)^2` (Kish), and the largest of any, the largest weight over
    the mean one; see `ldpopt.estimation.band`.
    """
    with reading(path) as table:
        where = f"{table.name}, column {column}"
        batches = table.batches((), [position_of(table, column)])
        weights = np.concatenate(
            [np.empty(0), *(read_weights(batch, where, table.first_row) for (batch,) in batches)]
        )
    if not weights.sum() > 0:
        raise StatementError(
            "there are no weights above 0", code="weights", where=where, do="name another column"
        )
    mean = float(weights.mean())
    return float((weights**2).mean()) / mean**2, float(weights.max()) / mean


def read_weights(column: optional.pyarrow.Array | Texts, where: str, first_row: int) -> Float:
    """Read weights in a column of a file."""
    return _checked(read_numbers(column, where, first_row, "weight"), where, first_row)


def read_numbers(
    column: optional.pyarrow.Array | Texts, where: str, first_row: int, kind: str
) -> Float:
    """Read numbers in a column of a file; nan if one is missing in a file with missing values."""
    if isinstance(column, Texts):
        return _numbers_of(column, where, first_row, kind)
    try:
        numbers = column.cast(optional.pyarrow.float64())
        there = is_there(numbers)
        return (
            numbers_of(numbers) if there is None else np.where(there, numbers_of(numbers), np.nan)
        )
    except (optional.pyarrow.ArrowInvalid, optional.pyarrow.ArrowNotImplementedError):
        values = column.to_pylist()
        row = next((row for row, value in enumerate(values) if not _is_float(value)), None)
        if row is None:
            raise
    # Raised outside the block: the error of arrow contains the entry, and would stay in the chain.
    raise _no_number(values[row], f"{where}, row {first_row + row}", kind)


def _numbers_of(column: Texts, where: str, first_row: int, kind: str) -> Float:
    """Read numbers as arrow does: without spaces and underscores, null as nan."""
    known = np.full(len(column.distinct), math.nan)
    for place, text in enumerate(column.distinct):
        if text is None:
            continue
        if text != text.strip() or not NUMBER.fullmatch(text):
            row = int(np.argmax(column.places == place))
            raise _no_number(text, f"{where}, row {first_row + row}", kind)
        known[place] = float(text)
    numbers: Float = known[column.places]
    return numbers


def _no_number(value: Any, where: str, kind: str) -> StatementError:
    """Return the error for an entry that is not a number."""
    return StatementError(
        f"the {kind}{quoted(value)} is not a number",
        code="non-number",
        where=where,
        do="correct the entry, or name a column of numbers",
    )


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def report_weights(weights: Any, reports: Any, size: int) -> Float | None:
    """Return weights in the order of the reports: a Series is aligned with their index, or else
    with 0, 1, 2, ...
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        raise StatementError(
            f"the weights are the text {weights!r}",
            code="weights-text",
            do="pass a column of the table, table['NAME']",
        )
    if is_labelled(weights):
        index = (
            reports.index
            if hasattr(reports, "to_numpy") and hasattr(reports, "index")
            else range(size)
        )
        if not (is_series(weights) and hasattr(index, "equals") and weights.index.equals(index)):
            weights = _ordered(weights, index)
    values = real_array(weights.to_numpy() if is_series(weights) else weights, "weights")
    if values.shape != (size,):
        raise StatementError(
            f"the weights have shape {values.shape}; there are {size} reports",
            code="weights-shape",
            do="give one weight for each report",
        )
    return _checked(values, "the weights", 0)


def _ordered(weights: Any, index: Any) -> Float:
    """Return weights in the order of the reports' index, whose labels may be names or answers, and
    are not quoted.
    """
    try:
        return read_labelled(weights, "weights", ("report",)).to(tuple(index))
    except StatementError:
        if shows_values():
            raise
    raise StatementError(
        "the weights have other labels than the index of the reports, or a label twice",
        code="weights-index",
        do="label each weight as its report; or pass .to_numpy(), which goes by position",
    )


def _checked(weights: Float, where: str, first_row: int) -> Float:
    """Return the weights if all are finite and >= 0."""
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise StatementError(
            f"the weight{quoted(float(weights[bad[0]]))} is not a finite number >= 0",
            code="weight-value",
            where=f"{where}, row {first_row + int(bad[0])}",
            do="give a weight >= 0, or leave the report out",
        )
    return weights


def _whole_count(label: Hashable, count: Any, most: int) -> int:
    """Return a count as an integer; a float such as 2.0 is accepted."""
    try:
        number = int(count) if real_number(count, "count", 0, most) == count else -1
    except StatementError:
        number = -1
    if number < 0 or number != count:
        raise StatementError(
            f"the count{quoted(count)} is not a whole number >= 0",
            code="count",
            where=f"report {short_repr(label)}",
            do="pass raw counts",
        )
    return number
