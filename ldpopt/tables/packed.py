"""Compressed CSV files, such as ``answers.csv.gz`` and a zip with one table: read as what they
hold.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import PurePath
from typing import IO, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.labels import listed

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ZIP = ".zip"
ENDINGS = (*OPENERS, ZIP)
TEXT_ENDINGS = (".csv", ".txt")
# What the readers raise about bytes that are no such file, or end too early
DAMAGES = (
    *(EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(RuntimeError, NotImplementedError),  # a password, or another way to compress
)


def is_packed(path: str) -> bool:
    """Whether a file is compressed, by its ending."""
    return PurePath(path).suffix.lower() in ENDINGS


def inner_name(path: str) -> str:
    """The name without the ending of a compressed file; that of a zip is the table in it."""
    if not is_packed(path):
        return path
    name = path[: -len(PurePath(path).suffix)]
    is_plain_zip = path.lower().endswith(ZIP) and not PurePath(name).suffix
    return f"{name}.csv" if is_plain_zip else name


def unpacked(stream: IO[bytes], path: str) -> IO[bytes]:
    """Open what a file holds; any other file is returned as it is."""
    ending = PurePath(path).suffix.lower()
    if ending not in ENDINGS:
        return stream
    reader: Any = None
    try:
        reader = _of_zip(stream, path) if ending == ZIP else OPENERS[ending](stream, "rb")
    except DAMAGES as error:
        why = type(error).__name__
    if reader is None:
        raise _damaged(why, path)
    unpacking: Any = _Unpacking(reader, path)
    return io.BufferedReader(unpacking, 1 << 20)


def _of_zip(stream: IO[bytes], path: str) -> IO[bytes]:
    """Open the only table of a zip."""
    archive = zipfile.ZipFile(stream)
    names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    tables = [name for name in names if PurePath(name).suffix.lower() in TEXT_ENDINGS]
    if len(names) != 1 or tables != names:
        held = listed(names) if names else "nothing"
        raise ModelFileError(
            f"the zip holds {held}, not one table in CSV",
            code="zip",
            where=path,
            do="unpack it, and give each table a file of its own",
        )
    return archive.open(names[0])


class _Unpacking(io.RawIOBase):
    """The bytes that a reader unpacks; damage is an error that names the file."""

    def __init__(self, reader: IO[bytes], path: str) -> None:
        self._reader, self._path = reader, path

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack as many bytes as the buffer has room for."""
        why = ""
        data = b""
        try:
            data = self._reader.read(len(buffer))
        except DAMAGES as error:
            why = type(error).__name__
        if why:
            raise _damaged(why, self._path)
        buffer[: len(data)] = data
        return len(data)


def _damaged(why: str, path: str) -> ModelFileError:
    return ModelFileError(
        f"the file cannot be unpacked: {why}",
        code="packed",
        where=path,
        do="copy it again, or unpack it with another program and pass the table",
    )
