"""Files that appear as a whole or not at all, and JSON that is read strictly."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ldpopt.errors import ModelFileError

_SUFFIX = ".ldpopt-part"
"""Ends the name of a file that is being written; the writer holds a lock on it, which the system drops if it dies."""

OLD = 60.0
"""Seconds without a change after which a part that nobody locks is removed: between its making and its lock is less."""


@contextmanager
def replacing(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that appears as a whole, or not at all, when the block ends; a device or pipe is written as it is.

    A writer that is killed leaves a hidden file beside the target, which nobody reads and the next writer removes.

    Raises
    ------
    ModelFileError
        If it cannot be written.
    """
    import tempfile

    text: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb" if binary else "w", **text) as stream:
                yield stream
            return
        _sweep(target)
        handle, temporary = tempfile.mkstemp(_SUFFIX, f".{target.name[:64]}.", target.parent)
        lock = _locked(handle)
        try:
            with os.fdopen(handle, "wb" if binary else "w", **text) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
        finally:
            if lock is not None:
                os.close(lock)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        do = "check the folder and its rights"
        raise ModelFileError(f"cannot write the file: {why}", where=os.fspath(path), do=do) from None


def readable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to read, unless it is a named pipe, which may never say anything.

    Raises
    ------
    OSError
        If it is one. ``/dev/stdin`` and what a shell writes for ``<(command)`` are none.
    """
    real = os.path.realpath(path)
    if stat.S_ISFIFO(os.stat(path).st_mode) and os.path.exists(real) and not real.startswith(("/dev/", "/proc/")):
        raise OSError(errno.EINVAL, "it is a named pipe", os.fspath(path))
    return Path(path)


def strict_json(path: str | os.PathLike[str], largest: int) -> Any:
    """Read JSON that says everything once: no key twice, no nan or infinity, at most ``largest`` bytes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is larger, no UTF-8 text or no such JSON, or nested deeper than the interpreter's stack.
    """
    with readable(path).open("rb") as stream:
        raw = stream.read(largest + 1)
    if len(raw) > largest:
        raise ValueError(f"the file has more than {largest // 2**20} MiB")
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except RecursionError:
        raise ValueError("the file is nested too deep") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"duplicate key {key!r}")
        table[key] = value
    return table


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _locked(handle: int) -> int | None:
    """Lock a file that is being written; return what to close when it is done, None where there are no such locks."""
    if sys.platform == "win32":  # pragma: no cover - there, files of killed writers are left
        return None
    import fcntl

    lock = os.dup(handle)
    with suppress(OSError):  # a file system without locks: nobody gets one to remove the part, either
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _sweep(target: Path) -> None:
    """Remove what killed writers of the same file have left: parts that are a minute old and that nobody locks."""
    if sys.platform == "win32":  # pragma: no cover
        return
    import fcntl
    import glob

    for part in target.parent.glob(f".{glob.escape(target.name[:64])}.*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime < OLD:
                continue
            handle = os.open(part, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()
            finally:
                os.close(handle)
