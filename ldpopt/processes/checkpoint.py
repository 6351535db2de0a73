"""A checkpoint: a file with the finished points of a run, with which a repeated run continues."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import parse_strictly, readable

FORMAT = "ldpopt checkpoint"

VERSION = 2

# Seconds between syncs to the disk; a kill loses no written point, a power failure those since the
# last sync
SYNC_SECONDS = 1.0


class Checkpoint:
    """Finished points in a file: a header with the digest of the statement, then one line for each
    point: its key, its result, and the digest of both.

    A line is appended in one write as soon as its point is finished, so a kill never cuts a line.
    An unfinished last line, as on a full disk, is dropped when the file is opened again.

    ``statement`` is everything that the results depend on, in types of JSON; a file with another
    one is refused, and the message has its title and digest. ``pack`` and ``unpack`` convert a
    result to types of JSON, and back; a result packed as None is not kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        statement: Mapping[str, Any],
        title: str,
        *,
        pack: Callable[[Any], Any],
        unpack: Callable[[Any], Any],
    ) -> None:
        self.path = Path(path)
        self._pack = pack
        self._unpack = unpack
        self._header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "title": title,
            "statement": _digest(statement),
        }
        self._handle: int | None = None
        self._synced = 0.0
        self.finished: dict[Any, Any] = {}

    def __enter__(self) -> Self:
        """Lock the file until the end of the run, and read the finished points."""
        try:
            if self.path.exists():
                readable(self.path)
            # Bytes, and one write for each line: nothing is left in a buffer when the process is
            # killed.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self.path, flags, 0o666)
            self._lock_file()
            self.finished = self._read()
            if not os.fstat(self._handle).st_size:
                self._write(self._header)
        except OSError as error:
            self._close()
            why = error.strerror or str(error)
            raise self._error(
                f"cannot use the checkpoint: {why}",
                "check the folder and its permissions",
                code="file",
            ) from None
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Sync the file to the disk and release it."""
        self._close()

    def append(self, key: Any, result: Any) -> None:
        """Add a finished point."""
        try:
            if (plain := self._pack(result)) is not None:
                self._write([key, plain, _digest([key, plain])])
        except OSError as error:
            raise self._error(
                f"cannot write the checkpoint: {error.strerror}",
                "make room, and start again",
                code="full-disk",
            ) from None

    def _write(self, value: Any) -> None:
        assert self._handle is not None
        line = (json.dumps(value, separators=(",", ":")) + "\n").encode()
        if os.write(self._handle, line) < len(line):
            raise OSError(28, "no space left on the device")
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._handle)
            self._synced = time.monotonic()

    def _read(self) -> dict[Any, Any]:
        """Finished points of an earlier run; an unfinished last line is cut off."""
        raw = self.path.read_bytes()
        written, _, cut_off = raw.rpartition(b"\n")
        header = json.dumps(self._header, separators=(",", ":")).encode()
        if not written and header.startswith(cut_off):
            os.truncate(self.path, 0)
            return {}
        self._require_header(written.split(b"\n", 1)[0])
        try:
            results = dict(map(self._read_line, written.split(b"\n")[1:]))
        except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            raise self._error(
                f"the checkpoint is damaged: {error}",
                "name another file to start again",
                code="damaged-checkpoint",
            ) from None
        if cut_off:
            os.truncate(self.path, len(written) + 1)
        return results

    def _read_line(self, line: bytes) -> tuple[Any, Any]:
        """Key and result of a finished point, as they were written."""
        key, plain, digest = json.loads(line)
        if digest != _digest([key, plain]):
            raise ValueError("a finished point was changed after it was written")
        return _key(key), self._unpack(plain)

    def _require_header(self, line: bytes) -> None:
        try:
            header = parse_strictly(line)
            is_known = header["format"] == FORMAT and header["version"] == VERSION
            is_known = is_known and {key: type(part) for key, part in header.items()} == {
                key: type(part) for key, part in self._header.items()
            }
            title = str(header["title"])
            digest = str(header["statement"])
        except (ValueError, KeyError, TypeError, AttributeError):
            is_known = False
        if not is_known:
            raise self._error(
                f"the file is not a checkpoint of version {VERSION}",
                "name another file",
                code="checkpoint",
            )
        if digest != self._header["statement"]:
            raise self._error(
                f"the checkpoint is of another run: {title!r} ({digest[:12]}), not "
                f"{self._header['title']!r} ({self._header['statement'][:12]})",
                "repeat the same run, or name another file",
                code="other-run",
            )

    def _lock_file(self) -> None:
        """Lock the file; the system unlocks it when this process ends in any way."""
        if sys.platform == "win32":  # pragma: no cover
            return
        import fcntl

        assert self._handle is not None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._error(
                "another run is writing this checkpoint",
                "wait for it, or name another file",
                code="busy-checkpoint",
            ) from None

    def _close(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.fsync(self._handle)
            os.close(self._handle)
            self._handle = None

    def _error(self, problem: str, do: str, *, code: str) -> ModelFileError:
        return ModelFileError(problem, code=code, where=str(self.path), do=do)


def _digest(value: Any) -> str:
    """SHA-256 of the sorted, compact JSON text of a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _key(plain: Any) -> Any:
    """A key as it was before JSON, which writes tuples as lists."""
    return tuple(map(_key, plain)) if isinstance(plain, list) else plain
