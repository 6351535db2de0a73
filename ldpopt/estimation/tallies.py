r"""Counting by an engine: a query that groups reports, and counts from the rows that it returns.

A row stands for all people of a group with the same report: their number :math:`n`, and with
weights :math:`\sum w` and :math:`\sum w^2`. Nothing else of the table leaves the engine.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.channel_counts import PairReader
from ldpopt.foundation import optional
from ldpopt.foundation.labels import is_hashable, nearest, text_of
from ldpopt.foundation.numbers import Float, require_choice, require_text, short_repr
from ldpopt.tables.coding import LEAVE_OUT_REPORTS, TREATMENTS, Missing, is_missing
from ldpopt.tables.frames import as_frame, as_lazy

if TYPE_CHECKING:
    from ldpopt.estimation.counts import Counts, ReportSource

NO_GROUP = "(missing)"  # the group of those whose group is missing
MAX_GROUPS = 1000  # largest number of groups
Dialect = Literal["duckdb", "sqlite", "postgresql", "ansi"]
DIALECTS = get_args(Dialect)
# The columns of a query, in this order: a report, the channel beside it, a group; then the number
# of people, of their weights, the least and largest weight, the sum of weights and of squares
COLUMNS = (
    *("report", "channel", "of_group"),
    *("n", "weighted", "least", "most", "total", "squares"),
)
# Names and texts that a collation takes for equal are apart by a second key
EXACT = {
    "duckdb": 'CAST({} AS VARCHAR) COLLATE "C"',
    "postgresql": 'CAST({} AS TEXT) COLLATE "C"',
    "sqlite": "{} COLLATE BINARY",
}
REAL = {"sqlite": "REAL"}  # type of sums of weights; of others DOUBLE PRECISION
WHERE = "the rows of the query"
ASK_AGAIN = "run what counts_query wrote, and pass all of its rows"


def write_query(
    source: ReportSource,
    table: str | Sequence[str],
    column: str,
    by: str | None,
    weights: str | None,
    dialect: Dialect,
) -> str:
    """Write the query that counts the reports of a column; see `ldpopt.counts_query`."""
    require_choice(dialect, DIALECTS, "dialect")
    if (exact := EXACT.get(dialect)) is None:
        _require_apart(source)
    name = ".".join(map(_quoted, [table] if isinstance(table, str) else table))
    keys = {"report": column, "channel": source.beside, "of_group": by}
    chosen = {}
    for alias, key in keys.items():
        chosen[alias] = "NULL" if key is None else f"r.{_quoted(key)}"
    chosen["n"] = "COUNT(*)"
    if weights is None:
        chosen |= dict.fromkeys(COLUMNS[len(chosen) :], "NULL")
    else:
        weight = f"r.{_quoted(weights)}"
        number = f"CAST({weight} AS {REAL.get(dialect, 'DOUBLE PRECISION')})"
        # SQLite would take a text for a number, or for 0: its largest weight is then a text
        bounds = weight if dialect == "sqlite" else number
        chosen |= {"weighted": f"COUNT({weight})", "least": f"MIN({bounds})"}
        chosen |= {"most": f"MAX({bounds})", "total": f"SUM({number})"}
        chosen["squares"] = f"SUM({number} * {number})"
    groups = [chosen[alias] for alias, key in keys.items() if key is not None]
    apart = [] if exact is None else [exact.format(key) for key in groups]
    columns = ",\n  ".join(f"{text} AS {alias}" for alias, text in chosen.items())
    return f"SELECT\n  {columns}\nFROM {name} AS r\nGROUP BY {', '.join([*groups, *apart])}"


def _quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    require_text(name, "a name of SQL")
    if "\0" in name or not name:
        raise StatementError(
            f"{short_repr(name)} is no name of SQL", code="sql-name", do="rename it"
        )
    return '"' + name.replace('"', '""') + '"'


def _require_apart(source: ReportSource) -> None:
    """Refuse reports that some collation takes for equal."""
    known: dict[str, Hashable] = {}
    for report in getattr(source.randomizer, "outputs", ()):
        plain = unicodedata.normalize("NFKD", text_of(report)).casefold().strip()
        text = "".join(sign for sign in plain if not unicodedata.combining(sign))
        if text in known:
            raise StatementError(
                f"a collation may take {short_repr(known[text])} and {short_repr(report)} for "
                "equal, and count them together",
                code="collation",
                do=f"name the dialect, one of {', '.join(DIALECTS[:-1])}; or relabel the reports",
            )
        known[text] = report


def require_few_groups(names: Sequence[Hashable], where: str) -> None:
    """Refuse a column of groups with many values."""
    if len(names) > MAX_GROUPS:
        raise StatementError(
            f"there are more than {MAX_GROUPS} groups",
            code="group-count",
            where=where,
            do="name a column with fewer values, such as a region",
        )


class _Entries(list[Any]):
    """The entries of a column of the rows, as readers of reports take them."""

    def to_list(self) -> list[Any]:
        """The entries."""
        return list(self)


@dataclass(frozen=True)
class Tallies:
    """Rows of a query, as columns."""

    report: _Entries
    channel: _Entries
    of_group: list[Any]
    n: list[int]
    weights: tuple[Float, Float] | None  # sums of weights and of their squares, each (rows,)

    @classmethod
    def read(cls, rows: Any) -> Tallies:
        """Read rows of any driver, or a dataframe with the columns of the query."""
        listed = _listed(rows)
        return cls.of_columns([[row[place] for row in listed] for place in range(len(COLUMNS))])

    @classmethod
    def of_columns(cls, columns: Sequence[list[Any]]) -> Tallies:
        """Read the columns of a query."""
        report, channel, of_group, n, weighted, *numbers = columns
        sizes = [_size(number) for number in n]
        is_weighted = any(number is not None for number in weighted)
        weights = _weights(sizes, weighted, *numbers) if is_weighted else None
        return cls(_Entries(report), _Entries(channel), of_group, sizes, weights)

    def counts(
        self, source: ReportSource, missing: Missing, by_group: bool = True
    ) -> dict[Hashable, Counts]:
        """Counts of each group, or of all people as the group None, of reports of a source;
        anything else is refused.
        """
        require_choice(missing, TREATMENTS, "missing")
        reports, there = self._read_with(source, missing == "refuse")
        sizes = np.array(self.n, dtype=np.int64)
        if missing == "refuse" and not there.all():
            raise StatementError(
                f"{int(sizes[~there].sum()):,} reports are missing",
                code="missing-answer",
                where=WHERE,
                do=LEAVE_OUT_REPORTS,
            )
        names: dict[Hashable, int] = {}
        named = map(_name, self.of_group) if by_group else [None] * len(self.n)
        place = np.array([names.setdefault(name, len(names)) for name in named], dtype=np.int64)
        require_few_groups(list(names), WHERE)
        numbers = [sizes[there], *(each[there] for each in self.weights or ())]
        found: dict[Hashable, Counts] = {}
        for name, code in names.items():
            rows = place[there] == code
            found[name] = _counts(source, reports[rows], *(each[rows] for each in numbers))
        return found or {None: source.counts_of_array(source.codec.no_reports)}

    def _read_with(self, source: ReportSource, keeps_all: bool) -> tuple[Any, Any]:
        """The reports as a source reads them, and which rows have one."""
        as_text = _is_text(self.report)
        if source.beside is None:
            return source.codec.reader(as_text)(self.report, WHERE, 0)
        pairs = PairReader(source, (WHERE, WHERE), (as_text, _is_text(self.channel)))
        return pairs.read(self.report, self.channel, 0, keeps_all)


def _is_text(entries: Sequence[Any]) -> bool:
    """Whether all entries but missing ones are texts."""
    return all(isinstance(entry, str) for entry in entries if entry is not None)


def count_lazy(
    source: ReportSource, table: Any, column: Any, by: Any, weights: Any, missing: Missing
) -> dict[Hashable, Counts]:
    """Count the reports in a column of a table that an engine computes, which gets a query; see
    `as_lazy`.
    """
    names = (column, source.beside, by, weights)
    for name in names:
        if name is not None:
            require_text(name, "the name of a column")
    if table.implementation.is_duckdb():
        query = write_query(source, "reports", column, by, weights, "duckdb")
        rows = table.to_native().query("reports", query).fetchall()
        return Tallies.read(rows).counts(source, missing, by is not None)
    nw = optional.narwhals
    known = table.collect_schema().names()
    if unknown := [name for name in names if name is not None and name not in known]:
        raise StatementError(
            f"unknown column {unknown[0]!r}",
            code="column",
            where="the table",
            do=nearest(unknown[0], known),
        )
    keys = dict(zip(COLUMNS, names[:3], strict=False))
    used = [nw.col(name).alias(alias) for alias, name in keys.items() if name is not None]
    w = nw.col("w")
    sums = {"n": nw.len()}
    if weights is not None:
        used.append(nw.col(weights).cast(nw.Float64).alias("w"))
        sums |= {"weighted": w.count(), "least": w.min(), "most": w.max()}
        sums |= {"total": w.sum(), "squares": (w * w).sum()}
    grouped = table.select(*used).group_by(*(key for key in keys if keys[key] is not None))
    tallied = grouped.agg(*(each.alias(alias) for alias, each in sums.items())).collect("pyarrow")
    none = [None] * len(tallied)
    columns = [tallied[name].to_list() if name in tallied.columns else none for name in COLUMNS]
    return Tallies.of_columns(columns).counts(source, missing, by is not None)


def _counts(source: ReportSource, reports: Any, sizes: Any, *weights: Float) -> Counts:
    """Counts of reports of which each stands for several people."""
    people = int(sizes.sum())
    if weights:
        sums, squares = (source.counts_of_array(reports, each) for each in weights)
        return replace(
            sums,
            squares=squares.values,
            total_squares=squares.total,
            n_reports=people,
        )
    seen = source.counts_of_array(reports, sizes.astype(float))
    whole = np.rint(seen.values).astype(np.int64)
    return replace(
        seen,
        values=whole,
        squares=whole,
        total=people,
        total_squares=people,
        n_reports=people,
    )


def _listed(rows: Any) -> list[Sequence[Any]]:
    """The rows as sequences of the columns of the query."""
    if hasattr(rows, "columns") or hasattr(rows, "schema"):
        lazy = as_lazy(rows)
        frame = as_frame(rows) if lazy is None else lazy.collect()
        if absent := [name for name in COLUMNS if name not in frame.columns]:
            raise _no_rows(f"the table has no column {absent[0]!r}")
        return list(frame.select(*COLUMNS).rows())
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise _no_rows(f"a {type(rows).__name__} has no rows of a query")
    listed: list[Sequence[Any]] = []
    for row in rows:
        values = row
        if isinstance(row, Mapping):
            values = [row[name] for name in COLUMNS if name in row]
        is_row = isinstance(values, Collection) and not isinstance(values, str)
        if not is_row or len(values) != len(COLUMNS):
            raise _no_rows(f"a row has not the {len(COLUMNS)} columns of the query")
        listed.append(tuple(values))
    return listed


def _no_rows(problem: str) -> StatementError:
    return StatementError(problem, code="rows", where=WHERE, do=ASK_AGAIN)


def _size(number: Any) -> int:
    """A number of people; drivers return integers, decimals or floats."""
    is_number = isinstance(number, (int, float, Decimal)) and not isinstance(number, bool)
    if not is_number or not 1 <= number < 1 << 53 or number != int(number):
        raise _no_rows(f"{short_repr(number)} is no number of people")
    return int(number)


def _weights(sizes: list[int], weighted: list[Any], *numbers: list[Any]) -> tuple[Float, Float]:
    """Sums of weights and of their squares; as in a table, each weight is finite and not below
    0.
    """
    columns: list[Float] = []
    for column in numbers:
        if any(isinstance(number, (str, bytes)) for number in column):
            raise StatementError(
                "a weight is a text",
                code="weight-text",
                where=WHERE,
                do="make the column one of numbers",
            )
        columns.append(np.array([math.nan if v is None else float(v) for v in column]))
    least, most, total, squares = columns
    absent = sum(sizes) - sum(int(number or 0) for number in weighted)
    ends = (least >= 0) & (most < np.inf) & np.isfinite(total) & np.isfinite(squares)
    if absent or not ends.all():
        problem = "a weight is not a finite number >= 0"
        raise StatementError(
            f"{absent:,} weights are missing" if absent else problem,
            code="weight-value",
            where=WHERE,
            do="give a weight >= 0, or leave the report out",
        )
    return total, squares


def _name(value: Any) -> Hashable:
    """The name of a group, as in a table: a whole number has no point."""
    if not is_hashable(value):
        raise StatementError(
            f"a {type(value).__name__} is no name of a group",
            code="group",
            where=WHERE,
            do="name a column of texts or numbers",
        )
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return NO_GROUP if is_missing(value, isinstance(value, str)) else value
