"""CSV files in batches: the header is read here, the rows by pyarrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from ldpopt.errors import ModelFileError, shows_values
from ldpopt.foundation import optional
from ldpopt.native import write_fields
from ldpopt.tables.coding import TextRows, Texts, is_text
from ldpopt.tables.csv_format import Recoded, csv_format
from ldpopt.tables.plain_csv import BLOCK, MARK, QUOTE, PlainFields
from ldpopt.tables.vectors import places_of

PADDING = 16  # bytes after texts and lines, as in native/texts.c
MOST_ROOM = 1 << 26  # bytes for the lines of a batch without a look at their lengths
MAX_HEADER = 1 << 24  # largest number of bytes of the header
_has_read = False  # whether a table was read, maybe by a thread of pyarrow
BREAKS = b"\r\n"


def has_read() -> bool:
    """Whether a reader thread of pyarrow may still be running, also after the last row: exiting
    Python then can abort the process.
    """
    return _has_read


class CsvRows(TextRows):
    """A CSV table in a stream: the names of its columns, then its rows in batches of columns of
    text. Its separator and encoding are those of `csv_format`.
    """

    first_row = 2  # number of the first row; the header is row 1

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = name
        stated = csv_format()
        self._separator = stated.separator
        self._recoded = None if stated.encoding == "utf-8" else Recoded(stream, stated.encoding)
        source: Any = self._recoded or stream
        head, beginning = split_header(source, name)
        try:
            lines = io.StringIO(head.decode("utf-8"), newline="")
            self.columns = next(csv.reader(lines, strict=True, delimiter=self._separator), [])
            why = self._recoded.problem if self._recoded else ""
        except (csv.Error, UnicodeDecodeError) as error:
            why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        if why:
            raise _no_csv(why, name if self._recoded else f"{name}, row 1")
        if not self.columns:
            raise ModelFileError(
                "the table is empty", code="empty-table", where=name, do="add a header line"
            )
        self._body = _Body(beginning, source)

    def texts(self, positions: Sequence[int]) -> Iterator[list[Texts]]:
        """Yield columns by their positions, all rows at once and without arrow: for short tables.

        Raises
        ------
        ModelFileError
            If a row has more or fewer fields than the header, or the text is not CSV.
        """
        columns: list[list[str]] = [[] for _ in positions]
        why = ""
        row = self.first_row - 1
        data = b"".join(iter(lambda: self._body.read(BLOCK), b""))
        try:
            lines = io.StringIO(data.decode("utf-8"), newline="")
            for fields in csv.reader(lines, strict=True, delimiter=self._separator):
                row += 1
                cells = fields or [""]
                if len(cells) != len(self.columns):
                    raise self._wrong_number(len(cells), row)
                for column, place in zip(columns, positions, strict=True):
                    column.append(cells[place])
        except UnicodeDecodeError:
            why = "not UTF-8 text"
        except csv.Error as error:
            why = str(error)
        self._require_encoded()
        if why:
            raise _no_csv(why, f"{self.name}, after row {row}")
        yield [Texts(column) for column in columns]

    def batches(
        self, coded: Sequence[int], kept: Sequence[int]
    ) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield columns by their positions: the coded ones dictionary-encoded, then the kept ones
        as text.
        """
        global _has_read
        before = 0
        _has_read = True  # also without a thread: Python's end takes a tenth of a second
        if coded and not kept:
            plain = PlainFields(len(self.columns), list(dict.fromkeys(coded)), self._separator)
            yield from plain.batches(self._body)
            if plain.is_done:
                self._require_encoded()
                return
            before = plain.rows
        yield from self._batches_of_arrow(coded, kept, before)

    def _batches_of_arrow(
        self, coded: Sequence[int], kept: Sequence[int], before: int
    ) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield columns as `batches`, after some rows that were read before."""
        pa, arrow = optional.pyarrow, optional.pyarrow_csv
        names = list(map(str, range(len(self.columns))))
        last = 1 + before
        bad: list[Any] = []
        why = ""

        def refuse(row: Any) -> str:
            bad.append(row)
            return "error"

        texts = dict.fromkeys((names[position] for position in kept), pa.string())
        labels = dict.fromkeys(
            (names[position] for position in coded), pa.dictionary(pa.int32(), pa.string())
        )
        try:
            reader = arrow.open_csv(
                pa.PythonFile(self._body, mode="r"),
                arrow.ReadOptions(use_threads=False, block_size=BLOCK, column_names=names),
                arrow.ParseOptions(
                    delimiter=self._separator,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=refuse,
                ),
                arrow.ConvertOptions(
                    column_types={**texts, **labels},
                    include_columns=[*labels, *texts],
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                yield batch.columns
                last += batch.num_rows
        except pa.ArrowInvalid as error:
            why = str(error)
        # Outside the block: the error of arrow quotes the row, and would be shown as the cause.
        self._require_encoded()
        if why and not self._body.is_empty:
            raise self._error(why, bad, last, before)
        if self._body.quotes % 2:
            raise _no_csv("a quotation mark is not closed", self.name)

    def _require_encoded(self) -> None:
        """Refuse a table whose bytes are not of the encoding that was stated."""
        if self._recoded is not None and self._recoded.is_wrong:
            raise _no_csv(self._recoded.problem, self.name)

    def _wrong_number(self, count: int, row: int) -> ModelFileError:
        """Error for a row with more or fewer fields than the header."""
        named = {",": "commas", "\t": "tabs"}.get(self._separator, f"{self._separator!r}")
        return ModelFileError(
            f"the row has {count} fields, the header {len(self.columns)}",
            code="fields",
            where=f"{self.name}, row {row}",
            do=f"quote {named} and line breaks",
        )

    def _error(self, why: str, bad: list[Any], last: int, before: int) -> ModelFileError:
        """Error for a table that pyarrow cannot read: its message, its invalid rows, the last row
        before it, and how many rows arrow has not seen.
        """
        if bad:
            return self._wrong_number(bad[0].actual_columns, bad[0].number + 1 + before)
        if "straddling" in why:
            problem = f"a line has {BLOCK:,} characters or more"
            do = "pass a table with line breaks, and close all quotes"
            return ModelFileError(
                problem, code="long-line", where=f"{self.name}, after row {last}", do=do
            )
        row = why.partition("Row #")[2].partition(":")[0]
        where = f"{self.name}, row {int(row) + 1 + before}" if row.isdigit() else self.name
        return _no_csv(
            "not UTF-8 text" if "UTF8" in why else why if shows_values() else "it cannot be read",
            where,
        )


class _Body:
    """The stream after the header, without line breaks at its end; counts quotation marks."""

    closed = False

    def __init__(self, beginning: bytes, stream: IO[bytes]) -> None:
        self._held, self._stream = beginning, stream
        self._again: list[bytes] = []
        self.quotes = beginning.count(QUOTE)
        self.is_empty = True

    def read(self, size: int) -> bytes:
        """Read some bytes; none at the end of the stream."""
        if self._again:
            return self._again.pop(0)
        while True:
            data = self._stream.read(size)
            self.quotes += data.count(QUOTE) if QUOTE in data else 0
            text = self._held + data
            # only line breaks are held back; without data, at the end, they are left out
            lines = text.rstrip(BREAKS)
            self._held = text[len(lines) :] if data else b""
            if lines or not data:
                self.is_empty &= not lines
                return lines

    def put_back(self, *parts: bytes) -> None:
        """Take what the next calls of `read` return."""
        self._again = list(parts)

    def close(self) -> None:
        """Leave the stream open for its owner."""

    def flush(self) -> None:
        """Nothing is written."""


def split_header(stream: IO[bytes], name: str) -> tuple[bytes, bytes]:
    """Return the first line without its line break, and the bytes that were read after it."""
    head, start = b"", 0
    while len(head) <= MAX_HEADER:
        more = stream.read(1 << 16)
        head = (head + more).removeprefix(MARK) if not start else head + more
        for at in range(start, len(head)):
            if (
                head[at] in BREAKS
                and head.count(QUOTE, 0, at) % 2 == 0
                and (at + 1 < len(head) or not more)
            ):
                return head[:at], head[at + 1 + (head[at : at + 2] == BREAKS) :]
        if not more:
            return head, b""
        start = max(1, len(head) - 1)
    raise ModelFileError(
        f"the header has more than {MAX_HEADER:,} bytes",
        code="long-header",
        where=name,
        do="pass a table with lines",
    )


def _no_csv(why: str, where: str) -> ModelFileError:
    do = "save the table as CSV in UTF-8"
    if why.endswith(" text"):
        do = "name its encoding, such as --encoding latin-1, or " + do
    return ModelFileError(f"not a CSV table: {why}", code="csv", where=where, do=do)


def as_csv(columns: Sequence[optional.pyarrow.Array] | Sequence[Texts]) -> bytes:
    """Write columns as lines of CSV; only fields that need it are quoted."""
    if not len(columns[0]):
        return b""
    if isinstance(columns[0], Texts):
        return _texts_as_csv(columns)
    kinds = [getattr(column, "type", None) for column in columns]
    if all(map(optional.pyarrow.types.is_dictionary, kinds)):
        return _labels_as_csv(columns)
    if len(columns) == 1:
        text = _glued(_quoted(columns[0], alone=True), "\n")
    else:
        text = _glued(_glued(*(_by_label(column, _quoted) for column in columns), by=","), "\n")
    return bytes(text.buffers()[2])


def _labels_as_csv(columns: Sequence[optional.pyarrow.DictionaryArray]) -> bytes:
    """Write dictionary-encoded columns as lines of CSV: each label is quoted once."""
    fields = list[bytes]()
    codes = np.empty((len(columns), len(columns[0])), dtype=np.int32)
    room = 0
    for number, column in enumerate(columns):
        end = b"\n" if number == len(columns) - 1 else b","
        texts = _fields_of(column.dictionary, len(columns) == 1)
        np.add(places_of(column), len(fields), out=codes[number], casting="unsafe")
        fields += [text.encode() + end for text in texts]
        room += max(map(len, fields[-len(texts) :])) * len(column)
    ends = np.cumsum([0, *map(len, fields)])
    if room > MOST_ROOM:  # a label is long
        room = int(np.diff(ends)[codes].sum())
    out = np.empty(room + PADDING, dtype=np.uint8)
    text = np.frombuffer(b"".join([*fields, bytes(PADDING)]), dtype=np.uint8)
    return out[: write_fields(codes, ends, text, out)].tobytes()


def _fields_of(labels: optional.pyarrow.Array, alone: bool) -> list[str]:
    """Labels as fields of CSV, and that of a missing one."""
    if is_text(labels.type):
        texts = [_field(text or "", alone) for text in labels.to_pylist()]
    else:
        texts = _quoted(labels, alone).to_pylist()
    return [*texts, _field("", alone)]


def _texts_as_csv(columns: Sequence[Texts]) -> bytes:
    """Write columns as lines of CSV, without arrow."""
    fields = []
    for column in columns:
        texts = [_field(text or "", len(columns) == 1) for text in column.distinct]
        fields.append([texts[place] for place in column.places.tolist()])
    return "".join(f"{','.join(row)}\n" for row in zip(*fields, strict=True)).encode()


def _field(text: str, alone: bool) -> str:
    """Write a field of CSV; one that is ``alone`` in its line is quoted if it is empty."""
    is_special = any(sign in text for sign in ',"\r\n') or (alone and not text)
    return '"' + text.replace('"', '""') + '"' if is_special else text


def _by_label(
    column: optional.pyarrow.Array,
    write: Callable[[optional.pyarrow.Array], optional.pyarrow.Array],
) -> optional.pyarrow.Array:
    """Write a column; in a dictionary-encoded one each label is written only once."""
    pa = optional.pyarrow
    if not pa.types.is_dictionary(column.type):
        return write(column)
    labels = column.dictionary.cast(pa.large_string())
    with_missing = pa.concat_arrays([labels, pa.array([None], pa.large_string())])
    return write(with_missing).take(column.indices.fill_null(len(labels)))


def _glued(*parts: Any, by: str = "") -> optional.pyarrow.Array:
    """Join texts row by row."""
    pa, pc = optional.pyarrow, optional.pyarrow_compute
    kind = pa.large_string()
    texts = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar(by, kind))


def _quoted(column: optional.pyarrow.Array, alone: bool = False) -> optional.pyarrow.Array:
    """Write a column as fields of CSV; a field that is ``alone`` in its line is quoted if it is
    empty.
    """
    pa, pc = optional.pyarrow, optional.pyarrow_compute
    try:
        text = column.cast(pa.large_string()).fill_null("")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        do = "write .parquet, or leave the column out"
        raise ModelFileError(
            f"a column of type {column.type} cannot be written to a CSV table",
            code="column-type",
            do=do,
        ) from None
    special = pc.match_substring_regex(text, '^$|[",\r\n]' if alone else '[",\r\n]')
    if not pc.any(special).as_py():
        return text
    return pc.if_else(special, _glued('"', pc.replace_substring(text, '"', '""'), '"'), text)
