"""Atomic writing of files, and strict reading of JSON."""

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
from ldpopt.foundation.numbers import short_repr

_SUFFIX = ".ldpopt-part"
"""Suffix of a temporary file; its writer holds a lock on it, which the system releases if the writer dies."""

MIN_ORPHAN_AGE = 60.0
"""Seconds without change after which an unlocked temporary file is removed; its writer locks it much earlier."""


@contextmanager
def replacing(path: str | os.PathLike[str], *, binary: bool = False, new: bool = False) -> Iterator[IO[Any]]:
    """Open a file that is replaced atomically when the block ends; a device or pipe is written directly.

    A killed writer leaves a hidden temporary file beside the target, which the next writer removes. A ``new`` file
    replaces nothing, and its owner alone may read it.
    """
    require_path(path)
    if new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    target = Path(os.fsdecode(os.path.realpath(path)))
    if target.is_dir():
        raise ModelFileError("cannot write the file: it is a folder", where=os.fspath(path), do="name a file in it")
    options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
    mode = "wb" if binary else "w"
    try:
        is_special = target.exists() and not stat.S_ISREG(target.stat().st_mode)
        with target.open(mode, **options) if is_special else _temporary(target, mode, options, new) as stream:
            yield stream
    except (BrokenPipeError, FileExistsError):
        raise
    except OSError as error:
        why = error.strerror or str(error)
        do = "check the folder and its permissions"
        raise ModelFileError(f"cannot write the file: {why}", where=os.fspath(path), do=do) from None


@contextmanager
def _temporary(target: Path, mode: str, options: dict[str, Any], new: bool) -> Iterator[IO[Any]]:
    """Open a locked temporary file in the target's folder; it becomes the target when the block ends."""
    import tempfile

    _remove_orphans(target)
    handle, temporary = tempfile.mkstemp(_SUFFIX, f".{target.name[:64]}.", target.parent)
    lock = _locked(handle)
    try:
        with os.fdopen(handle, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if new:
            _name_new(temporary, target)
        else:
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


def _name_new(temporary: str, target: Path) -> None:
    """Give a temporary file the name of its target, unless there is a file of this name."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.replace(temporary, target)
        except OSError:
            os.unlink(target)
            raise
    else:
        os.unlink(temporary)


def require_path(path: Any) -> None:
    """Refuse what names no file."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ModelFileError(f"{short_repr(path)} is not a path", do="name a file")


def readable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to read; a named pipe is refused, since reading it may never end."""
    require_path(path)
    real = os.path.realpath(path)
    if stat.S_ISFIFO(os.stat(path).st_mode) and os.path.exists(real) and not real.startswith(("/dev/", "/proc/")):
        raise OSError(errno.EINVAL, "it is a named pipe", os.fspath(path))
    return Path(path)


def strict_json(path: str | os.PathLike[str], largest: int) -> Any:
    """Read JSON without duplicate keys, nan or infinity, of at most ``largest`` bytes."""
    with readable(path).open("rb") as stream:
        raw = stream.read(largest + 1)
    if len(raw) > largest:
        raise ValueError(f"the file has more than {largest // 2**20} MiB")
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except RecursionError:
        why = "the file is nested too deep"
    except ValueError as error:  # of which some kinds hold the whole text, which may be a key or a table of answers
        why = str(error)
    raise ValueError(why)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"duplicate key {key!r}")
        table[key] = value
    return table


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _locked(handle: int) -> int | None:
    """Lock a temporary file; return the handle to close at the end, or None if the platform has no such locks."""
    if sys.platform == "win32":  # pragma: no cover - files of killed writers stay there
        return None
    import fcntl

    lock = os.dup(handle)
    with suppress(OSError):  # a file system without locks: other writers cannot lock and remove the file, either
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _remove_orphans(target: Path) -> None:
    """Remove temporary files of killed writers of the same target: a minute old and not locked."""
    if sys.platform == "win32":  # pragma: no cover
        return
    import fcntl
    import glob

    for part in target.parent.glob(f".{glob.escape(target.name[:64])}.*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime < MIN_ORPHAN_AGE:
                continue
            handle = os.open(part, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()
            finally:
                os.close(handle)
