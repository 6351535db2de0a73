"""One reader and one writer for tables in files: CSV or Parquet by the ending, in batches, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError, shows_values
from ldpopt.foundation.files import readable, replacing
from ldpopt.foundation.labels import NUMBER, suggestion
from ldpopt.foundation.numbers import short_repr
from ldpopt.tables.csv_ import CsvRows, as_csv
from ldpopt.tables.kinds import PARQUET_MARK, kind_of
from ldpopt.tables.origin import KEY, remove_beside, text_of_origin, write_beside
from ldpopt.tables.parquet import ParquetFile, ParquetRows

if TYPE_CHECKING:
    import pyarrow as pa

Rows = CsvRows | ParquetRows

SPOOL = 1 << 24
"""Bytes of a table for stdout that are kept in memory."""


@contextmanager
def reading(path: str) -> Iterator[Rows]:
    """Open a table in a file, or on stdin where the path is ``-``."""
    if os.path.isdir(path):
        do = "name a file in it; ldpopt.privatize_folder takes a folder of Parquet files"
        raise ModelFileError("cannot read the table: it is a folder", where=path, do=do)
    kind = kind_of(path)
    with ExitStack() as stack:
        try:
            stream = _stdin() if path == "-" else stack.enter_context(readable(path).open("rb"))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            what = f"cannot read the table: {why}"
            raise ModelFileError(what, where=path, do="check the path") from None
        if kind == "csv" and path != "-" and stream.seekable():
            if stream.read(len(PARQUET_MARK)) == PARQUET_MARK:
                raise ModelFileError("this is a Parquet file", where=path, do="rename it to .parquet")
            stream.seek(0)
        yield (CsvRows if kind == "csv" else ParquetRows)(stream, path)


def _stdin() -> IO[bytes]:
    binary = getattr(sys.stdin, "buffer", None)
    return binary if binary is not None else io.BytesIO(sys.stdin.read().encode())


def place_of(rows: Rows, column: str) -> int:
    """Place of a column of a table by its name."""
    known = list(rows.columns)
    count = known.count(column)
    if count == 1:
        return known.index(column)
    if count:
        raise ModelFileError(f"duplicate column {column!r}: {count} of them", where=rows.name, do="rename one of them")
    separator = next((mark for mark in (";", "\t", "|") if len(known) == 1 and mark in known[0]), "")
    if separator:
        do = f"the header has {separator!r} between names; save the table with commas"
    elif not shows_values() and (len(set(known)) < len(known) or any(map(_is_entry, known))):
        do = "a number, no text, or one text twice is among its names, which may be answers: is there a header line?"
    else:
        shown = ", ".join(map(_shortened, known[:12])) + (", ..." if len(known) > 12 else "")
        do = f"{suggestion(column, [name for name in known if len(name) <= 60])}the columns are {shown}"
    raise ModelFileError(f"unknown column {short_repr(column)}", where=rows.name, do=do)


def _is_entry(name: str) -> bool:
    """Whether it looks like an entry: where there is no header, the names are what the first person answered."""
    return not name.strip() or NUMBER.fullmatch(name) is not None


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "~"


@contextmanager
def writing(
    path: str, fields: Sequence[pa.Field], origin: dict[str, Any] | None = None
) -> Iterator[Callable[[Sequence[pa.Array]], None]]:
    """Open a table for writing: call what is returned with the columns of each batch.

    The origin is what the table says of itself, in its metadata or in a second file beside a CSV file.

    The file appears, or is replaced, when the block ends; ``-`` is stdout, as CSV.
    """
    if kind_of(path) == "parquet":
        notes = {} if origin is None else {KEY.decode(): text_of_origin(origin)}
        with _opened(path) as stream, ParquetFile(stream, fields, notes) as file:
            yield file.write
        return
    with _opened(path) as stream:
        head = io.StringIO()
        csv.writer(head, lineterminator="\n").writerow([field.name for field in fields])
        stream.write(head.getvalue().encode())
        yield lambda columns: _ignored(stream.write(as_csv(columns)))
        remove_beside(path)  # as late as can be: if the table is not written, the old one has to keep its origin
    if origin is not None:
        write_beside(path, origin)


def _ignored(_: Any) -> None:
    """Give nothing back."""


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Stream of bytes that are written atomically, also to stdout."""
    if path != "-":
        with replacing(path, binary=True) as stream:
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
