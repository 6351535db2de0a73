"""How files of CSV are written that are read: the sign between fields, and the encoding.

What `reading_csv_as` states holds for every file of CSV that is read within its block, by whatever
function; files are written with commas, in UTF-8.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import IO

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import short_repr

NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
RECODED = 1 << 20  # bytes of a file in another encoding that are read at once


@dataclass(frozen=True)
class CsvFormat:
    """The sign between the fields of CSV, and the encoding of its text."""

    separator: str = ","
    encoding: str = "utf-8"

    @property
    def is_stated(self) -> bool:
        """Whether it differs from that of files that are written here."""
        return self != PLAIN


PLAIN = CsvFormat()
_FORMAT: ContextVar[CsvFormat] = ContextVar("csv_format", default=PLAIN)


def csv_format() -> CsvFormat:
    """How CSV is read now."""
    return _FORMAT.get()


@contextmanager
def reading_csv_as(
    *, separator: str | None = None, encoding: str | None = None
) -> Iterator[CsvFormat]:
    """Read CSV within a block with another separator or encoding; None keeps what is stated."""
    stated = _FORMAT.get()
    if separator is not None:
        stated = replace(stated, separator=_separator(separator))
    if encoding is not None:
        stated = replace(stated, encoding=_encoding(encoding))
    token = _FORMAT.set(stated)
    try:
        yield stated
    finally:
        _FORMAT.reset(token)


def _separator(text: str) -> str:
    """The sign of a separator, or of one that is named."""
    sign = NAMED.get(text.lower(), text)
    is_sign = len(sign) == 1 and sign.isascii() and (sign == "\t" or sign.isprintable())
    if not is_sign or sign.isalnum() or sign in "\"'.+- ":
        raise StatementError(
            f"{short_repr(text)} is not a separator of columns",
            code="separator",
            do="name one sign such as ';' or '|', or tab",
        )
    return sign


def _encoding(name: str) -> str:
    """The name of an encoding of text, as Python writes it."""
    try:
        "a".encode(name)
        found = codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        raise StatementError(
            f"{short_repr(name)} is not an encoding of text",
            code="encoding",
            do="name one such as latin-1, cp1252, mac-roman or utf-16",
        ) from None
    return "utf-8" if found == "utf-8-sig" else found


class Recoded:
    """A stream in another encoding as one of UTF-8; it ends where bytes are not of the encoding."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._held = b""
        self.is_wrong = False

    @property
    def problem(self) -> str:
        """What is wrong with the bytes, in words; empty if nothing is."""
        return f"not {self._encoding} text" if self.is_wrong else ""

    def read(self, size: int) -> bytes:
        """Read at most some bytes of UTF-8; none at the end."""
        while not self._held and not self.is_wrong:
            data = self._stream.read(RECODED)
            try:
                self._held = self._decoder.decode(data, final=not data).encode()
            except UnicodeError:
                self.is_wrong = True
            if not data:
                break
        part = self._held[:size]
        self._held = self._held[size:]
        return part
