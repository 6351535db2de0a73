"""Files that appear as a whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ldpopt.errors import ModelFileError


@contextmanager
def replacing(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that appears as a whole, or not at all, when the block ends; a device or pipe is written as it is.

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
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
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
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        do = "check the folder and its rights"
        raise ModelFileError(f"cannot write the file: {why}", where=os.fspath(path), do=do) from None
