"""Read and write tables in batches, CSV or Parquet, and read databases; a file is written whole or
not at all.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from ldpopt.errors import ModelFileError, shows_values
from ldpopt.foundation.files import WHAT_TO_DO, replacing
from ldpopt.foundation.kinds import require_holding
from ldpopt.foundation.labels import NUMBER, suggestion
from ldpopt.foundation.numbers import short_repr
from ldpopt.tables.csv_ import CsvRows, as_csv
from ldpopt.tables.csv_format import csv_format
from ldpopt.tables.database import (
    ID,
    DatabaseRows,
    is_database,
    reading_database,
    without_password,
)
from ldpopt.tables.folder import TablePart, parts_of
from ldpopt.tables.groups import GroupedRows
from ldpopt.tables.labels import FORMATS
from ldpopt.tables.origin import KEY, read_origin, remove_beside, text_of_origin, write_beside
from ldpopt.tables.packed import ENDINGS as PACKED
from ldpopt.tables.packed import TEXT_ENDINGS, inner_name, is_packed, unpacked
from ldpopt.tables.parquet import ENDINGS as PARQUET_ENDINGS
from ldpopt.tables.parquet import ParquetRows, writing_parquet
from ldpopt.tables.places import (
    is_address,
    is_folder,
    open_table,
    place_of,
    replacing_in_store,
)
from ldpopt.tables.sheets import ENDINGS as SHEETS
from ldpopt.tables.sheets import sheet_rows

Rows = CsvRows | ParquetRows | DatabaseRows | GroupedRows
Kind = Literal["csv", "parquet"]
CSV_ENDINGS = ("", *TEXT_ENDINGS)
UNREAD = (".zst", ".7z", ".rar", ".tar", ".tgz")  # of packed files that are not read
DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3")
PARQUET_MARK = b"PAR1"  # first bytes of a Parquet file
# bytes of a table for stdout that are kept in memory; a larger one is collected in a temporary file
SPOOL = 1 << 24


def kind_of(path: str, more: Sequence[str] = (), written: Sequence[str] = ()) -> Kind:
    """Kind of a table, by the ending of its file; ``-`` and files without an ending are CSV.

    ``more`` are endings that are read too, and ``written`` those that are written too, by others;
    CSV is read also from packed files.
    """
    ending = Path(path).suffix.lower()
    plain = (*CSV_ENDINGS, *PARQUET_ENDINGS)
    if more and is_packed(path) and Path(inner_name(path)).suffix.lower() in CSV_ENDINGS:
        return "csv"
    if ending not in plain:
        known = " ".join(filter(None, (*plain, *more, *written)))
        is_unread = ending in (*UNREAD, *PACKED) and more
        first = "unpack the file first; " if is_unread else ""
        if ending in DATABASE_ENDINGS and more:
            first = f"a database has an address, sqlite:///{path}; of files "
        if more:
            require_holding(path, "a table", f"use one of {known}")
        raise ModelFileError(
            f"a table cannot {'be read from' if more else 'be written to'} a file {ending!r}",
            code="ending",
            where=path,
            do=f"{first}use one of {known}",
        )
    return "parquet" if ending in PARQUET_ENDINGS else "csv"


def result_kind(path: str) -> Literal["csv", "parquet", "sheet"]:
    """Kind of a table of results or of reports for other programs, which may also be for SPSS or
    Stata.
    """
    ending = Path(path).suffix.lower()
    if ending in FORMATS:
        return "sheet"
    return kind_of(path, written=tuple(FORMATS))


def require_other_file(source: str, target: str) -> None:
    """Refuse to replace the file that is read."""
    if "-" in (source, target):
        return
    if is_address(source) or is_address(target):
        source, target = source.rstrip("/"), target.rstrip("/")
    is_same = os.path.realpath(source) == os.path.realpath(target)
    if is_same or (
        os.path.isfile(source) and os.path.isfile(target) and os.path.samefile(source, target)
    ):
        raise ModelFileError(
            "the result would replace the file that is read",
            code="same-file",
            where=target,
            do="name another file",
        )


def require_csv(tables: Sequence[str]) -> None:
    """Refuse a stated separator or encoding if none of some tables is CSV."""
    if csv_format().is_stated and not any(map(_is_csv, tables)):
        raise ModelFileError(
            "a separator and an encoding are for tables in CSV, and none is read",
            code="no-csv",
            where=", ".join(map(without_password, tables)),
            do="leave out --separator and --encoding",
        )


def _is_csv(path: str) -> bool:
    """Whether a path would be read as CSV, or is a folder with CSV."""
    if is_database(path):
        return False
    names = [path]
    if is_folder(path):
        listing = parts_of(place_of(path), recursive=True, empty=True)
        names = [part.name for part in listing.parts]
    return any(Path(inner_name(name)).suffix.lower() in CSV_ENDINGS for name in names)


@contextmanager
def reading(table: str | TablePart) -> Iterator[Rows]:
    """Open a table in a file of this machine or a store, in a database by its address, or on stdin
    if the path is ``-``; a part of a folder has the columns that its folders name, too.
    """
    path = place_of(table.path if isinstance(table, TablePart) else table, databases=True)
    if is_database(path):
        with reading_database(path) as rows:
            yield rows
        return
    if is_folder(path):
        do = "name a file; privatize, count, estimate and regress take a folder"
        raise ModelFileError(
            "cannot read the table: it is a folder", code="folder", where=path, do=do
        )
    with ExitStack() as stack:
        of_file = _rows_of(stack, path)
        groups = table.groups if isinstance(table, TablePart) else ()
        yield GroupedRows(of_file, groups) if groups else of_file


def _rows_of(stack: ExitStack, path: str) -> CsvRows | ParquetRows:
    """Open the rows of a file."""
    is_sheet = Path(path).suffix.lower() in SHEETS
    kind = "csv" if is_sheet else kind_of(path, SHEETS)
    try:
        if path == "-":
            binary = getattr(sys.stdin, "buffer", None)
            stream = binary or io.BytesIO(sys.stdin.read().encode(csv_format().encoding))
        else:
            stream = stack.enter_context(open_table(path))
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        do = WHAT_TO_DO.get(getattr(error, "errno", None) or 0, "check the path")
        raise ModelFileError(
            f"cannot read the table: {why}", code="unreadable-file", where=path, do=do
        ) from None
    if is_sheet:
        return sheet_rows(stream, _copied(stack, stream, path) if is_address(path) else path)
    if kind == "csv" and path != "-" and not is_packed(path) and stream.seekable():
        if stream.read(len(PARQUET_MARK)) == PARQUET_MARK:
            raise ModelFileError(
                "this is a Parquet file",
                code="parquet",
                where=path,
                do="rename the file to .parquet",
            )
        stream.seek(0)
    if path != "-":
        stream = stack.enter_context(unpacked(stream, path))
    return CsvRows(stream, path) if kind == "csv" else ParquetRows(stream, path)


def _copied(stack: ExitStack, stream: IO[bytes], path: str) -> str:
    """A copy on this machine of a file in a store, for a reader that needs a path."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    copy = os.path.join(folder, Path(path).name)
    with open(copy, "wb") as target:
        shutil.copyfileobj(stream, target)
    stream.seek(0)
    return copy


def other_separator(columns: Sequence[str]) -> str:
    """The separator that stands in the only name of a header, as it is stated; empty if there is
    none.
    """
    signs = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
    return next((signs[sign] for sign in signs if len(columns) == 1 and sign in columns[0]), "")


def position_of(rows: Rows, column: str, hint: str = "") -> int:
    """Position of a column in a table; a hint is what else to do if there is none."""
    known = list(rows.columns)
    count = known.count(column)
    if count == 1:
        return known.index(column)
    if count:
        raise ModelFileError(
            f"duplicate column {column!r}: {count} of them",
            code="duplicate-column",
            where=rows.name,
            do="rename one of them",
        )
    if other := other_separator(known):
        do = f"the header has {other} between names: give --separator {other}, or save with commas"
    elif not shows_values() and (
        len(set(known)) < len(known)
        or any(not name.strip() or NUMBER.fullmatch(name) for name in known)
    ):  # names that look like answers, as in a file without a header line
        do = (
            "the first line has a number, an empty field or one text twice; if it has answers, "
            "add a header line"
        )
    else:
        short = [name if len(name) <= 24 else name[:23] + "~" for name in known[:12]]
        names = ", ".join(short) + (", ..." if len(known) > 12 else "")
        do = (
            f"{hint}{suggestion(column, [name for name in known if len(name) <= 60])}the "
            f"columns are {names}"
        )
    raise ModelFileError(
        f"unknown column {short_repr(column)}", code="column", where=rows.name, do=do
    )


@contextmanager
def writing(
    path: str, fields: Sequence[Any], origin: dict[str, Any] | None = None
) -> Iterator[Callable[[Sequence[Any]], Any]]:
    """Open a table for writing; the context is a function that writes the columns of a batch.

    Fields and columns are those of arrow; for CSV names and `Texts` are enough.
    """
    # The file appears when the block ends; - is stdout, as CSV. A CSV file has its origin in a
    # second file beside it.
    path = place_of(path)
    if kind_of(path) == "parquet":
        notes = {} if origin is None else {KEY.decode(): text_of_origin(origin)}
        with _opened(path) as stream, writing_parquet(stream, fields, notes) as write:
            yield write
        return
    with _opened(path) as stream:
        head = io.StringIO()
        names = [getattr(field, "name", field) for field in fields]
        csv.writer(head, lineterminator="\n").writerow(names)
        stream.write(head.getvalue().encode())

        yield lambda columns: stream.write(as_csv(columns))
        remove_beside(path)  # only now: if the table is not written, the old one keeps its origin
    if origin is not None:
        write_beside(path, origin)


def copy_reports(source: str, target: str) -> int:
    """Write the reports of a database or a table to a file, with their origin, and without the ids
    of a database; return their number.
    """
    count = 0
    with reading(source) as rows:
        is_stored = isinstance(rows, DatabaseRows)
        places = [place for place, name in enumerate(rows.columns) if not is_stored or name != ID]
        fields: Sequence[Any]
        batches: Iterator[Any]
        if isinstance(rows, DatabaseRows) and kind_of(target) == "csv":  # needs no arrow
            fields = [rows.columns[place] for place in places]
            batches = rows.texts(places)
        else:
            fields = rows.fields(places)
            batches = rows.batches((), places)
        with writing(target, fields, read_origin(source)) as write:
            for batch in batches:
                write(batch)
                count += len(batch[0])
    return count


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Open a stream of bytes that are written atomically, also to stdout."""
    if path != "-":
        opener: Any = partial(replacing, binary=True)
        with (replacing_in_store if is_address(path) else opener)(path) as stream:
            yield stream
        return
    with tempfile.SpooledTemporaryFile(SPOOL, "w+b") as spool:
        yield spool
        spool.seek(0)
        sys.stdout.flush()
        binary = getattr(sys.stdout, "buffer", None)
        if binary is not None:
            shutil.copyfileobj(spool, binary)
        else:
            shutil.copyfileobj(io.TextIOWrapper(spool, "utf-8", newline=""), sys.stdout)
