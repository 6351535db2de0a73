"""Atomic writing of files, and strict reading of JSON."""

import csv
import errno
import io
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.numbers import short_repr

FilePath = str | os.PathLike[str]
# suffix of the hidden temporary file beside a file that is written; a killed writer leaves it
_SUFFIX = ".ldpopt-part"
# What to do about an error of the operating system
WHAT_TO_DO = {
    **dict.fromkeys(
        (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)),
        "the disk is full: free space or name another disk, then repeat the call",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM), "check the permissions of the file and its folder"
    ),
    errno.EROFS: "the disk can only be read: name another folder",
    errno.ENOTDIR: "a part of the path is a file: name a folder",
}


@contextmanager
def replacing(
    path: str | os.PathLike[str],
    *,
    binary: bool = False,
    new: bool = False,
    private: bool = False,
) -> Iterator[IO[Any]]:
    """Open a file that is replaced atomically when the block ends; a device or pipe is written
    directly.
    """
    # A new file must not exist yet (else FileExistsError); only its owner may read it, nor a
    # private one.
    require_path(path)
    if "\0" in os.fsdecode(path):
        raise ModelFileError("the path has a null byte", code="path", do="name a file")
    if new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    target = Path(os.fsdecode(os.path.realpath(path)))
    if os.path.isdir(target):
        raise ModelFileError(
            "cannot write the file: it is a folder",
            code="folder",
            where=os.fspath(path),
            do="name a file",
        )
    options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
    mode = "wb" if binary else "w"
    passed = (BrokenPipeError, FileExistsError)
    with file_errors("cannot write the file", path, passed=passed):
        is_special = target.exists() and not stat.S_ISREG(target.stat().st_mode)
        with (
            target.open(mode, **options)
            if is_special
            else _temporary(target, mode, options, (new, private)) as stream
        ):
            yield stream


@contextmanager
def file_errors(
    problem: str,
    path: str | os.PathLike[str],
    do: str = "",
    passed: tuple[type[OSError], ...] = (),
    absent: str = "",
) -> Iterator[None]:
    """Raise errors of the operating system as a ModelFileError, which says what to do about their
    cause, but those that are to be passed as they are; ``absent`` says where to get a file that is
    not there.
    """
    try:
        yield
    except passed:
        raise
    except OSError as error:
        do = do or WHAT_TO_DO.get(error.errno or 0, "check the path")
        if absent and error.errno == errno.ENOENT:
            do = f"{do}; {absent}"
        raise ModelFileError(
            f"{problem}: {error.strerror or error}", code="file", where=os.fspath(path), do=do
        ) from None


@contextmanager
def _temporary(
    target: Path, mode: str, options: dict[str, Any], kind: tuple[bool, bool]
) -> Iterator[IO[Any]]:
    """Open a temporary file in the target's folder; it becomes the target when the block ends."""
    import tempfile

    new, private = kind

    handle, temporary = tempfile.mkstemp(_SUFFIX, f".{target.name[:64]}.", target.parent)
    try:
        with os.fdopen(handle, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if new:
            _name_new(temporary, target)
        else:
            if not private:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


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
    """Refuse an object that is not a path."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ModelFileError(f"{short_repr(path)} is not a path", code="path", do="name a file")


def readable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to read; a named pipe is an OSError, since reading it may never
    end.
    """
    # /dev/stdin and a shell's <(command) are allowed.
    require_path(path)
    real = os.path.realpath(path)
    if (
        stat.S_ISFIFO(os.stat(path).st_mode)
        and os.path.exists(real)
        and not real.startswith(("/dev/", "/proc/"))
    ):
        raise OSError(errno.EINVAL, "it is a named pipe", os.fspath(path))
    return Path(path)


def beginning(path: str | os.PathLike[str], size: int) -> str:
    """Return the first characters of a plain file; empty for anything else: a named pipe would wait
    for its writer.
    """
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(size)
    except OSError:
        return ""


def strict_object(path: str | os.PathLike[str], largest: int) -> dict[str, Any]:
    """Read an object as `strict_json` does; a file with anything else is a ValueError, which does
    not quote it.
    """
    if not isinstance(data := strict_json(path, largest), dict):
        kind = {"list": "a list", "str": "a text", "NoneType": "null"}.get(
            type(data).__name__, "a number"
        )
        raise ValueError(f"the file holds {kind}, not an object with keys")
    return data


def strict_json(path: str | os.PathLike[str], largest: int) -> Any:
    """Read JSON without duplicate keys, nan or infinity, of at most ``largest`` bytes; other files
    are a ValueError.
    """
    with readable(path).open("rb") as stream:
        raw = stream.read(largest + 1)
    if len(raw) > largest:
        raise ValueError(f"the file has more than {largest // 2**20} MiB")
    return parse_strictly(raw)


def parse_strictly(raw: bytes) -> Any:
    """Parse JSON in UTF-8 without duplicate keys, nan or infinity; anything else is a
    ValueError.
    """
    try:
        return json.loads(
            raw.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates
        )
    except RecursionError:
        why = "the JSON is nested too deep"
    except ValueError as error:
        # Not chained: some kinds hold the whole text, which may be a key or a table of answers.
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


def write_csv(
    records: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str] | None = None,
    header: Sequence[str] | None = None,
) -> str:
    """Return records as CSV with exact floats, nan as an empty field; with a path, also write it
    atomically.
    """
    rows = list(records)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, header or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {k: "" if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        )
    if path is not None:
        with replacing(path) as file:
            file.write(stream.getvalue())
    return stream.getvalue()
