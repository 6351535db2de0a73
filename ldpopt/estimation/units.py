"""Tables of units and reports: for each part of a sample the sums of the weights, and of their
squares, of those with each report. Tables of batches and shards add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.channel_counts import PairReader
from ldpopt.estimation.counts import ReportSource
from ldpopt.estimation.reports import (
    ALL,
    batches_of,
    coded_names,
    no_names,
    read_weights,
    report_weights,
)
from ldpopt.estimation.sample import Sample
from ldpopt.estimation.tallies import NO_GROUP, require_few_groups
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float, Int
from ldpopt.mechanism.files import require_drawn_by, require_origin_of
from ldpopt.tables.coding import MISSING, Missing, MissingAnswers
from ldpopt.tables.files import position_of, reading
from ldpopt.tables.folder import TablePart
from ldpopt.tables.frames import as_frame, column_of, gathered, is_partitioned
from ldpopt.tables.inventory import Checked, facts_of
from ldpopt.tables.origin import origin_of_table
from ldpopt.tables.places import is_folder

Key = tuple[list[Hashable], Int]  # names, and the position of that of each person
LARGEST_TABLE = 1 << 27  # number of entries: 1 GB
KEPT = "keep it beside the reports when they are drawn (`privatize --keep`); "


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums over the people with the same stratum, cluster, category of each margin and group."""

    names: tuple[list[Hashable], ...]  # of strata, clusters, categories of each margin, groups
    codes: Int  # (r, 3 + margins): positions in the names
    sums: Float  # (r, m): of the weights, by report
    squares: Float  # (r, m)
    people: Int  # (r,)
    totals: Int | None = None  # (m,): if reports are sets, the column of all of its kind, of each

    @classmethod
    def of(
        cls,
        keys: Sequence[Key],
        reports: Any,
        weights: Float | None,
        size: int,
        totals: Int | None = None,
    ) -> UnitSums:
        """Those of some people, whose reports are positions below ``size``, or sets of such
        positions, shape (N, k), filled up with -1.

        Sets that do not have a column of their kind have a last one, of all people.
        """
        codes = np.stack([each for _, each in keys], axis=1)
        first, row = _rows(codes)
        if len(first) * size > LARGEST_TABLE:
            raise StatementError(
                f"{len(first):,} parts of the sample and {size:,} reports need a table of more "
                f"than {LARGEST_TABLE:,} entries",
                code="table-size",
                do="use fewer clusters, or a mechanism of fewer reports",
            )
        shape = len(first), size
        numbers = np.ones(len(reports)) if weights is None else weights
        is_appended = reports.ndim == 2 and totals is None
        entries = reports.reshape(len(reports), -1)
        is_entry = entries >= 0
        person = np.repeat(np.arange(len(entries)), is_entry.sum(axis=1))
        place = row[person] * size + entries[is_entry]
        tables: list[Any] = []
        for power in (numbers, numbers**2):
            table = np.bincount(place, power[person], shape[0] * size)
            table = table.reshape(shape).astype(float)
            everybody = np.bincount(row, power, len(first))[:, None]
            tables.append(np.hstack([table, everybody]) if is_appended else table)
        people = np.bincount(row, minlength=len(first))
        names = tuple(list(each) for each, _ in keys)
        kinds = np.full(size + 1, size) if is_appended else totals
        return cls(names, codes[first], tables[0], tables[1], people, kinds)

    def named(self, known: Mapping[int, dict[str | None, Hashable]]) -> UnitSums:
        """The same with the names that are known by their texts: a file of CSV has 1 as a text,
        one of Parquet perhaps as a number; new names become known.
        """
        names = []
        for place, each in enumerate(self.names):
            texts = known[place]
            names.append(
                [texts.setdefault(None if name is ALL else text_of(name), name) for name in each]
            )
        return replace(self, names=tuple(names))

    def __add__(self, other: Any) -> UnitSums:
        """Sums of all people of both."""
        if isinstance(other, int) and other == 0:  # the start of sum()
            return self
        if not isinstance(other, UnitSums):
            return NotImplemented
        names: list[list[Hashable]] = []
        codes: list[Int] = []
        for mine, theirs, place in zip(
            self.names, other.names, range(len(self.names)), strict=True
        ):
            known = {name: code for code, name in enumerate(mine)}
            new = np.array([known.setdefault(name, len(known)) for name in theirs], dtype=np.int64)
            names.append(list(known))
            codes.append(np.concatenate([self.codes[:, place], new[other.codes[:, place]]]))
        every = np.stack(codes, axis=1)
        first, row = _rows(every)
        added: list[Any] = []
        for key in ("sums", "squares", "people"):
            both = np.concatenate([getattr(self, key), getattr(other, key)])
            total = np.zeros((len(first), *both.shape[1:]), dtype=both.dtype)
            np.add.at(total, row, both)
            added.append(total)
        sums, squares, people = added
        return UnitSums(tuple(names), every[first], sums, squares, people, self.totals)

    __radd__ = __add__


def _rows(codes: Int) -> tuple[Int, Int]:
    """The first person of each combination of codes, shape (N, d), and the combination of each."""
    row = np.zeros(len(codes), dtype=np.int64)
    first = np.arange(len(codes))[:1]
    for column in codes.T:
        together = row * (int(column.max(initial=0)) + 1) + column
        _, first, row = np.unique(together, return_index=True, return_inverse=True)
    return first, row


def units_of_frame(
    columns: Mapping[str, tuple[ReportSource, Missing]],
    table: Any,
    sample: Sample,
    weights: Any,
    by: str | None,
) -> dict[str, UnitSums]:
    """Tables of some columns of a dataframe of any library."""
    if is_partitioned(table):
        if not isinstance(weights, (str, type(None))):
            raise no_names()
        for name, (source, _) in columns.items():
            require_origin_of(origin_of_table(table), name, source.digest, "the table")
        parts = gathered(
            table,
            lambda part, _: units_of_frame(columns, part, sample, weights, by),
            (*columns, *_beside(columns, sample, by), weights),
        )
        return {name: sum(part[name] for part in parts) for name in columns}
    frame = as_frame(table)
    numbers = column_of(frame, weights).to_numpy() if isinstance(weights, str) else weights
    numbers = report_weights(numbers, table, len(frame))
    beside = _beside(columns, sample, by)
    there = {name: column_of(frame, name) for name in (*columns, *beside)}
    keys = _keys_of(there, sample, by, dict.fromkeys(there, False), "", len(frame))
    found = {}
    for name, (source, missing) in columns.items():
        where = f"column {name!r}", f"column {source.beside!r}"
        counter = _UnitCounter(source, missing, where, (False, False))
        counter.add(there, name, keys, numbers, 0)
        found[name] = counter.finished()
    return found


def units_of_file(
    columns: Mapping[str, tuple[ReportSource, Missing]],
    path: str,
    sample: Sample,
    weights: str | None,
    by: str | None,
) -> dict[str, UnitSums]:
    """Tables of some columns of a file, database or folder, in one pass; a unit that is in several
    files of a folder is one.
    """
    if not is_folder(path):
        return _units_of_part(columns, path, sample, weights, by)
    folder = Checked(path)
    folder.compare({name: facts_of(part) for name, part in folder.parts.items()})
    known: dict[int, dict[str | None, Hashable]] = defaultdict(dict)
    total: dict[str, Any] = dict.fromkeys(columns, 0)
    for part in folder.parts.values():
        for name, units in _units_of_part(columns, part, sample, weights, by).items():
            total[name] = total[name] + units.named(known)
    return total


def _units_of_part(
    columns: Mapping[str, tuple[ReportSource, Missing]],
    path: str | TablePart,
    sample: Sample,
    weights: str | None,
    by: str | None,
) -> dict[str, UnitSums]:
    """Tables of some columns of a file or database, in one pass."""
    for name, (source, _) in columns.items():
        require_drawn_by(path if isinstance(path, str) else path.path, name, source.digest)
    beside = _beside(columns, sample, by)
    with reading(path) as table:
        places = {name: position_of(table, name) for name in columns}
        places |= {name: position_of(table, name, KEPT) for name in beside}
        of_weights = [] if weights is None else [position_of(table, weights, KEPT)]
        is_text = {name: table.is_text(place) for name, place in places.items()}
        counters = {
            name: _UnitCounter(
                source,
                missing,
                (f"{table.name}, column {name}", f"{table.name}, column {source.beside}"),
                (is_text[name], is_text[source.beside or name]),
            )
            for name, (source, missing) in columns.items()
        }
        row = table.first_row
        for batch in batches_of(table, list(places.values()), of_weights):
            there = dict(zip(places, batch, strict=False))
            where = f"{table.name}, column {weights}"
            numbers = None if weights is None else read_weights(batch[-1], where, row)
            keys = _keys_of(there, sample, by, is_text, f"{table.name}, ", len(batch[0]))
            for name, counter in counters.items():
                counter.add(there, name, keys, numbers, row)
            row += len(batch[0])
    return {name: counter.finished() for name, counter in counters.items()}


def _keys(sample: Sample, by: str | None) -> tuple[str, ...]:
    """Columns that say to which part somebody belongs, and to which group, each once."""
    return tuple(dict.fromkeys((*sample.keys, *(() if by is None else (by,)))))


def _beside(
    columns: Mapping[str, tuple[ReportSource, Missing]], sample: Sample, by: str | None
) -> tuple[str, ...]:
    """The same, and columns that name the mechanism of each person."""
    channels = (source.beside for source, _ in columns.values())
    named = (name for name in channels if name is not None)
    return tuple(dict.fromkeys((*_keys(sample, by), *named)))


def _keys_of(
    there: Mapping[str, Any],
    sample: Sample,
    by: str | None,
    is_text: Mapping[str, bool],
    where: str,
    size: int,
) -> list[Key]:
    """Stratum, cluster, category of each margin and group of each person."""
    coded: dict[str, Key] = {
        name: coded_names(there[name], f"{where}column {name!r}", is_text[name])
        for name in _keys(sample, by)
    }
    for name in sample.keys:
        names, codes = coded[name]
        if NO_GROUP in names and (codes == names.index(NO_GROUP)).any():
            raise StatementError(
                f"somebody has no entry in the column {name!r} of the sample",
                code="missing-unit",
                where=f"{where}column {name!r}",
                do="fill it in, or leave the rows out",
            )
    if by is not None:
        require_few_groups(coded[by][0], f"{where}column {by!r}")
    of_all: Key = ([ALL], np.zeros(size, dtype=np.int64))
    parts: tuple[Any, ...] = (sample.strata, sample.clusters, *(sample.margins or ()), by)
    return [of_all if part is None else coded[part] for part in parts]


class _UnitCounter:
    """Adds up the table of one column, batch by batch."""

    def __init__(
        self,
        source: ReportSource,
        missing: Missing,
        where: tuple[str, str],
        as_text: tuple[bool, bool],
    ) -> None:
        # where, as_text: of the column, and of the one beside it that names each person's channel
        self.size = len(source.unit_columns or ())
        self.source = source
        self.keeps_all = missing == "refuse"
        self.where = where[0]
        self.absent = MissingAnswers(where[0], "report")
        self.read = source.codec.reader(as_text[0])
        self.pairs = None if source.beside is None else PairReader(source, where, as_text)
        self.table: Any = 0

    def add(
        self,
        columns: Mapping[str, Any],
        name: str,
        keys: list[Key],
        weights: Float | None,
        first_row: int,
    ) -> None:
        """Add the reports of a batch of columns, of which one has this name."""
        if self.pairs is None:
            reports, there = self.read(columns[name], self.where, first_row)
        else:
            channels = columns[self.source.beside or ""]
            reports, there = self.pairs.read(columns[name], channels, first_row, self.keeps_all)
        if self.keeps_all:
            self.absent.add(np.where(there, 0, MISSING), first_row)
        reports, kept = self.source.in_table(reports)
        some = [(names, codes[there][kept]) for names, codes in keys]
        numbers = None if weights is None else weights[there][kept]
        totals = self.source.unit_totals
        self.table = UnitSums.of(some, reports, numbers, self.size, totals) + self.table

    def finished(self) -> UnitSums:
        """The table; missing reports that must not be missing are refused."""
        self.absent.require_none()
        table: UnitSums = self.table
        return table
