"""What a file of reports says of itself: in the metadata of a Parquet file, in a second file beside a CSV file."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.checks import short_repr
from ldpopt.foundation.files import replacing, strict_json
from ldpopt.tables.kinds import kind_of

FORMAT = "ldpopt reports 1"

KEY = b"ldpopt"
"""Key of the metadata of a Parquet file."""

BESIDE = ".origin.json"
"""What the name of the file beside a CSV file ends with."""

MAX_FILE_BYTES = 2**24


def text_of_origin(origin: dict[str, Any]) -> str:
    """An origin as JSON."""
    return json.dumps({"format": FORMAT, **origin}, indent=1, allow_nan=False)


def read_origin(path: str) -> dict[str, Any] | None:
    """What a file of reports says of itself; None if it says nothing.

    Raises
    ------
    ModelFileError
        If it has an origin that cannot be read.
    """
    if path == "-" or not os.path.isfile(path):
        return None
    if kind_of(path) == "parquet":
        return _of_parquet(path)
    beside = path + BESIDE
    if not os.path.isfile(beside):
        return None
    try:
        return _checked(strict_json(beside, MAX_FILE_BYTES), beside)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"not the origin of a table: {error}", where=beside, do="remove it to go on") from None


def says_nothing(path: str) -> bool:
    """Whether a table, or a file of a folder of Parquet files, does not say which mechanism drew its reports."""
    if path == "-" or not os.path.isdir(path):
        return read_origin(path) is None
    names = (entry.path for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith("."))
    return any(read_origin(name) is None for name in names if Path(name).suffix in (".parquet", ".pq"))


def write_beside(path: str, origin: dict[str, Any]) -> None:
    """Write the origin of a CSV file beside it; what is written to stdout or to a device has none."""
    if os.path.isfile(path):
        with replacing(path + BESIDE) as stream:
            stream.write(text_of_origin(origin) + "\n")


def remove_beside(path: str) -> None:
    """Remove the origin of a CSV file, before another table takes its place."""
    with suppress(OSError):
        if path != "-":
            os.unlink(path + BESIDE)


def _of_parquet(path: str) -> dict[str, Any] | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = (pq.read_metadata(path).metadata or {}).get(KEY)
    except (pa.ArrowException, OSError):
        return None  # whoever reads the table says what is wrong
    if found is None:
        return None
    try:
        return _checked(json.loads(found), path)
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"the origin of the table is damaged: {error}", where=path) from None


def _checked(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("questions"), dict):
        stated = data.get("format") if isinstance(data, dict) else data
        what = f"the origin of the table is of another format: {short_repr(stated)}, not {FORMAT!r}"
        raise ModelFileError(what, where=where, do="estimate with the version of ldpopt that privatized")
    return data
