"""Plain CSV, without quotes: the texts of some columns are numbered in one pass over the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ldpopt.foundation import optional
from ldpopt.native import read_fields
from ldpopt.tables.vectors import column_of_numbers, column_of_texts

BLOCK = 1 << 22  # bytes per batch
BREAK = b"\n"
QUOTE = b'"'
MARK = b"\xef\xbb\xbf"
PADDING = bytes(16)  # after the lines, as in native/texts.c
# Different texts of a column, and their bytes, that are numbered here; half of the slots are taken
TEXTS = 1 << 12
ROOM = 1 << 18
SLOTS = 2 * TEXTS


class Bytes(Protocol):
    """A stream to which bytes can be put back."""

    def read(self, size: int) -> bytes:
        """Read some bytes; none at the end."""

    def put_back(self, *parts: bytes) -> None:
        """Take bytes that the next calls of `read` return."""


class PlainFields:
    """Numbers the texts of some columns, whose positions are ``wanted``, of a table with so many
    columns.

    A file with quotes, returns without a line break, rows of another length, too many texts or
    bytes that are no text is left to arrow from the block on where this begins, so that its rows
    and errors are those of arrow.
    """

    def __init__(self, columns: int, wanted: Sequence[int], separator: str) -> None:
        count = len(wanted)
        self._separator = ord(separator)
        self._places = np.full(columns, -1, np.int32)
        self._places[list(wanted)] = np.arange(count)
        self._keys = np.empty((count, 2 * SLOTS), np.int64)
        self._slots = np.full((count, SLOTS), -1, np.int32)
        self._known = np.zeros(count, np.int64)
        self._ends = np.zeros((count, TEXTS + 1), np.int64)
        self._pool = np.empty((count, ROOM), np.uint8)
        self._texts: list[list[str]] = [[] for _ in wanted]
        self.rows = 0  # that were read
        self.is_done = False

    def batches(self, source: Bytes) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield the columns of the lines of a source, which ends without a line break; lines that
        are not plain are put back, with all that follow.
        """
        # The batches end where those of arrow do, so that draws in turn are the same.
        text = source.read(BLOCK)
        while text:
            more = source.read(BLOCK)
            size = text.rfind(BREAK) + 1 if more else len(text)
            is_long = not size and len(text) >= BLOCK
            is_marked = text.startswith(MARK)
            columns = None
            if not is_long and (self.rows or not is_marked):
                columns = self._columns(text[:size] if more else text + BREAK) if size else []
            if columns is None:
                # arrow leaves out a mark at the beginning of what it reads
                source.put_back(MARK + text if self.rows and is_marked else text, more)
                return
            if columns:
                yield columns
                self.rows += len(columns[0])
            text = text[size:] + more
        self.is_done = True

    def _columns(self, lines: bytes) -> list[optional.pyarrow.Array] | None:
        """The columns of whole lines; None if they are not plain."""
        if QUOTE in lines:
            return None
        rows = int(np.count_nonzero(np.frombuffer(lines, np.uint8) == ord(BREAK)))
        text = np.frombuffer(lines + PADDING, np.uint8)
        # memory of arrow is kept for the next batch
        memory = optional.pyarrow.allocate_buffer(4 * rows * len(self._texts))
        found = np.frombuffer(memory, np.int32).reshape(len(self._texts), rows)
        tables = self._keys, self._slots, self._known, self._ends, self._pool
        if not read_fields(text, self._separator, self._places, *tables, found):
            return None
        if not self._take_texts():
            return None
        arrow = optional.pyarrow.DictionaryArray
        return [
            arrow.from_arrays(column_of_numbers(places), column_of_texts(texts))
            for places, texts in zip(found, self._texts, strict=True)
        ]

    def _take_texts(self) -> bool:
        """Read the texts that are new; return whether they are of UTF-8."""
        for texts, known, ends, pool in zip(
            self._texts, self._known.tolist(), self._ends, self._pool, strict=True
        ):
            for code in range(len(texts), known):
                try:
                    texts.append(pool[ends[code] : ends[code + 1]].tobytes().decode())
                except UnicodeDecodeError:
                    return False
        return True
