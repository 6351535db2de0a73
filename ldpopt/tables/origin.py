"""The origin of reports, such as mechanism and key: in a Parquet file or a database, or beside a
CSV file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.budget import budget_above, decimal_of
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import parse_strictly, replacing, strict_json
from ldpopt.foundation.numbers import short_repr
from ldpopt.tables.database import is_database, origin_in_database, without_password
from ldpopt.tables.folder import parts_of
from ldpopt.tables.parquet import ENDINGS
from ldpopt.tables.places import BESIDE as BESIDE
from ldpopt.tables.places import is_address, is_folder, place_of, store_of
from ldpopt.tables.spark import is_spark, notes_in_parquet, notes_of_spark

FORMAT = "ldpopt reports 1"
KEY = b"ldpopt"  # key of the metadata of a Parquet file
KEYS = ("format", "made_by", "epsilon", "asked", "questions", "unprotected", "key", "digest")
QUESTION_KEYS = ("digest", "epsilon", "missing")  # of each question
OF_COPIES = ("asked", "key")  # of a question whose reports were copied from another table
PART = "part"  # key of the id of a file that was drawn as a part of a folder
MAX_FILE_BYTES = 2**24


def text_of_origin(origin: dict[str, Any]) -> str:
    """Write an origin as JSON."""
    data = {"format": FORMAT, **origin}
    return json.dumps({**data, "digest": _digest(data)}, indent=1, allow_nan=False)


def _digest(data: dict[str, Any]) -> str:
    """SHA-256 of the sorted, compact JSON text of an origin without its key "digest"."""
    content = {key: part for key, part in data.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_origin(path: str) -> dict[str, Any] | None:
    """Read the origin of reports in a file or database; None if there is none."""
    if is_database(path):
        data = origin_in_database(path)
        return None if data is None else _checked(data, without_password(path))
    path = place_of(path)
    if path == "-" or store_of(path).kind(path) != "file":
        return None
    if _is_parquet(path):
        return _of_parquet(path)
    if (beside := origin_beside(path)) is None:
        return None
    try:
        if is_address(path):
            with store_of(beside).open(beside) as stream:
                data = parse_strictly(stream.read(MAX_FILE_BYTES))
        else:
            data = strict_json(beside, MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"not the origin of a table: {error}",
            code="origin-file",
            where=beside,
            do="remove this file",
        ) from None
    return _checked(data, beside)


def origin_beside(path: str) -> str | None:
    """The file with the origin of a table, beside it or beside what its link leads to; None if
    there is none.
    """
    if is_database(path):
        return None
    path = place_of(path)
    names = dict.fromkeys((path, path if is_address(path) else os.path.realpath(path)))
    files = (name + BESIDE for name in names)
    return next((name for name in files if store_of(path).kind(name) == "file"), None)


def recorded_missing(path: str, column: str) -> Any:
    """How missing answers of a column were treated, if they were left out when the reports were
    drawn; else None.
    """
    paths = [path]
    if is_folder(path):
        paths = [part.path for part in parts_of(place_of(path), recursive=True).parts]
    for name in paths:
        asked = (read_origin(name) or {"questions": {}})["questions"].get(column, {})
        if asked.get("missing") == "leave_out":
            return "leave_out"
    return None


def origin_of_table(table: Any) -> dict[str, Any] | None:
    """The origin of a table of pyarrow or Spark, or in the ``attrs`` of one of pandas; None for any
    other table.
    """
    if is_spark(table):
        return _joined(notes_of_spark(table), "the table")
    metadata = getattr(getattr(table, "schema", None), "metadata", None) or {}
    text = metadata.get(KEY) or (getattr(table, "attrs", None) or {}).get(KEY.decode())
    return None if text is None else _parsed(text, "the table")


def with_origin(table: Any, origin: Callable[[], dict[str, Any]]) -> Any:
    """Add the origin to a table of pyarrow, from where it reaches files, or of pandas; others
    cannot hold one.
    """
    if isinstance(getattr(table, "attrs", None), dict):
        table.attrs = {**table.attrs, KEY.decode(): text_of_origin(origin())}
    if not hasattr(table, "replace_schema_metadata"):
        return table
    return table.replace_schema_metadata(
        {**(table.schema.metadata or {}), KEY: text_of_origin(origin()).encode()}
    )


def _joined(texts: Sequence[str], where: str) -> dict[str, Any] | None:
    """The origin of a table whose columns have several, as after a join; None if there is none."""
    joined: dict[str, Any] | None = None
    for text in texts:
        origin = _parsed(text, where)
        if joined is not None:
            unprotected = [*origin["unprotected"], *joined["questions"]]
            origin = merged({**origin, "unprotected": unprotected}, joined)
        joined = origin
    return joined


def require_raw(
    origin: dict[str, Any] | None, columns: Iterable[Any], known: Iterable[Any], where: str
) -> None:
    """Refuse to privatize columns that are reports by the origin, or may be such columns under a
    new name.
    """
    if origin is None:
        return
    renamed = set(origin["questions"]) - set(map(str, known))
    for column in map(str, columns):
        if column in origin["questions"]:
            code = "second-layer"
            problem = (
                f"column {column!r} has reports already; privatizing them again would spoil "
                "the estimates"
            )
        elif renamed and column not in origin.get("unprotected", ()):
            code = "renamed-column"
            was = ", ".join(map(repr, sorted(renamed)))
            problem = (
                f"column {column!r} may have the reports of {was}, which the table does not "
                "have under this name"
            )
        else:
            continue
        do = (
            "pass the table of the answers; or pass --again (again=True), and estimate with "
            "first.then(second)"
        )
        raise ModelFileError(problem, code=code, where=where, do=do)


def merged(origin: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """The origin of a table that was made from a table with an origin; copied columns of reports
    keep theirs.
    """
    # Reports of reports have the digests of both mechanisms, with + between them.
    if before is None:
        return origin
    known = {"asked": before.get("asked"), "key": before.get("key")}
    old = {name: known | entry for name, entry in before["questions"].items()}
    copied = {name: old[name] for name in origin["unprotected"] if name in old}
    drawn = {
        name: {**entry, "digest": f"{old[name].get('digest')}+{entry['digest']}"}
        if name in old
        else entry
        for name, entry in origin["questions"].items()
    }
    spent = [origin["epsilon"], *([before.get("epsilon")] if copied else [])]
    epsilon = None if None in spent else budget_above(sum(map(decimal_of, spent), Fraction(0)))
    unprotected = [name for name in origin["unprotected"] if name not in copied]
    return {
        **origin,
        "epsilon": epsilon,
        "questions": {**drawn, **copied},
        "unprotected": unprotected,
    }


def lacks_origin(path: str) -> bool:
    """Whether a table, or a file of a folder of tables, has no origin."""
    if not is_folder(path):
        return read_origin(path) is None
    parts = parts_of(place_of(path), recursive=True).parts
    return any(read_origin(part.path) is None for part in parts)


def write_beside(path: str, origin: dict[str, Any]) -> None:
    """Write the origin of a CSV file beside it; stdout and devices get none."""
    if is_address(path):
        store_of(path).write(path + BESIDE, (text_of_origin(origin) + "\n").encode())
    elif os.path.isfile(path):
        with replacing(path + BESIDE) as stream:
            stream.write(text_of_origin(origin) + "\n")


def remove_beside(path: str) -> None:
    """Remove the origin of a CSV file, before another table takes its place."""
    with suppress(OSError):
        if path != "-":
            store_of(path).remove(path + BESIDE)


def _is_parquet(path: str) -> bool:
    return Path(path).suffix.lower() in ENDINGS


def _of_parquet(path: str) -> dict[str, Any] | None:
    """Read the origin in the metadata of a Parquet file; None if it has none, or cannot be read."""
    pa, pq = optional.pyarrow, optional.pyarrow_parquet
    try:
        with store_of(path).open(path) as stream:
            metadata = pq.read_metadata(stream).metadata or {}
    except (pa.ArrowException, OSError):
        return None  # reading the table raises an error with the reason
    text = metadata.get(KEY)
    return _joined(notes_in_parquet(metadata), path) if text is None else _parsed(text, path)


def _parsed(text: str | bytes, where: str) -> dict[str, Any]:
    """Read an origin in metadata."""
    try:
        data = parse_strictly(text if isinstance(text, bytes) else text.encode())
    except ValueError as error:
        do = "restore the table as it was written, or privatize again"
        raise ModelFileError(
            f"the origin of the table is damaged: {error}",
            code="damaged-origin",
            where=where,
            do=do,
        ) from None
    return _checked(data, where)


def _checked(data: Any, where: str) -> dict[str, Any]:
    """Return the origin if it has the format of this version."""
    if (
        not isinstance(data, dict)
        or data.get("format") != FORMAT
        or not isinstance(data.get("questions"), dict)
    ):
        stated = data.get("format") if isinstance(data, dict) else data
        problem = (
            f"the origin of the table has another format: {short_repr(stated)}, not {FORMAT!r}"
        )
        raise ModelFileError(
            problem,
            code="origin-format",
            where=where,
            do="estimate with the version of ldpopt that privatized",
        )
    document = Entry(data, where)
    table = document.table(*KEYS, *([PART] if PART in data else []))
    if PART in table:
        table[PART].text()
    if table["digest"].text() != _digest(data):
        problem = (
            "the origin of the table was changed after it was written: its digest does not fit"
        )
        do = "restore the table as it was written, or privatize again"
        raise ModelFileError(problem, code="changed-file", where=where, do=do)
    _require_entry(table)
    for key in ("made_by", "asked"):
        table[key].text()
    for name in table["unprotected"].list():
        name.text()
    for entry in table["questions"].parts().values():
        more = [key for key in OF_COPIES if isinstance(entry.value, dict) and key in entry.value]
        parts = entry.table(*QUESTION_KEYS, *more)
        _require_entry(parts)
        parts["digest"].text()
        parts["missing"].text("refuse", "leave_out", "answer")
        if (asked := parts.get("asked")) is not None and asked.value is not None:
            asked.text()
    return {key: part for key, part in data.items() if key != "digest"}


def _require_entry(table: dict[str, Entry]) -> None:
    """Refuse an epsilon that is no budget, or null for an infinite one; and a key that is no name,
    or null for none.
    """
    epsilon = table["epsilon"]
    if epsilon.value is not None and epsilon.number() < 0:
        raise epsilon.error("epsilon is a number from 0 on", code="negative-epsilon")
    if (key := table.get("key")) is not None and key.value is not None:
        key.text()
