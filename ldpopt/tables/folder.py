"""What is in a folder of tables: each file is read, or refused by its name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote

from ldpopt.errors import ModelFileError
from ldpopt.tables.packed import TEXT_ENDINGS, inner_name
from ldpopt.tables.parquet import ENDINGS as PARQUET_ENDINGS
from ldpopt.tables.places import BESIDE, Disk, Found, ObjectStore, joined, store_of
from ldpopt.tables.sheets import ENDINGS as SHEETS

GROUP = re.compile(r"([^=/]+)=(.*)", re.DOTALL)  # name of a folder such as country=de
NO_NAME = "__HIVE_DEFAULT_PARTITION__"  # what a missing group is called
TABLES = (*PARQUET_ENDINGS, *TEXT_ENDINGS, *SHEETS)
MARK = b"PAR1"  # first and last bytes of a Parquet file
TAIL = 8  # bytes of the length of the footer and the mark
MOVE = "move it out of the folder"
LOGS = {"_delta_log": "Delta Lake", "_spark_metadata": "a stream of Spark", ".hoodie": "Hudi"}


@dataclass(frozen=True)
class TablePart:
    """A file of a folder of tables; ``groups`` are the columns that folders name, such as
    ``country=de``.
    """

    folder: str
    name: str  # in the folder, with / between names
    size: int = 0  # bytes
    groups: tuple[tuple[str, str | None], ...] = ()

    @property
    def path(self) -> str:
        """The path of the file."""
        return joined(self.folder, self.name)

    @property
    def is_parquet(self) -> bool:
        """Whether the file is a Parquet file, by its ending."""
        return PurePath(self.name).suffix.lower() in PARQUET_ENDINGS


@dataclass(frozen=True)
class Listing:
    """The files of a folder: tables, and what other programs keep beside tables and has no rows."""

    parts: list[TablePart]
    beside: list[str]


def parts_of(folder: str, recursive: bool = False, empty: bool = False) -> Listing:
    """List the tables of a folder; whatever is neither a table nor known to have no rows is
    refused by name, and so is an ``empty`` folder.
    """
    store = store_of(folder)
    beside: list[str] = []
    parts = sorted(_walk(store, folder, "", (recursive, (), beside)), key=lambda part: part.name)
    if not parts and not empty:
        raise ModelFileError(
            "the folder has no tables",
            code="empty-folder",
            where=folder,
            do=f"files end in {', '.join(TABLES[:3])}, or another ending of a table",
        )
    tables = {part.name for part in parts}
    stray = [
        name for name in beside if name.endswith(BESIDE) and name.removesuffix(BESIDE) not in tables
    ]
    if stray:
        raise _refused(folder, stray[0], "has the origin of a table that is not there", "stray")
    _require_one_format(folder, parts)
    return Listing(parts, sorted(beside))


def _walk(
    store: Disk | ObjectStore,
    folder: str,
    inside: str,
    rules: tuple[bool, tuple[tuple[str, str | None], ...], list[str]],
) -> Iterator[TablePart]:
    """Tables of a folder and its subfolders; ``rules`` are whether plain subfolders are read, the
    groups of this one, and the list of what has no rows.
    """
    recursive, groups, beside = rules
    entries = store.entries(joined(folder, inside) if inside else folder)
    known = {entry.name for entry in entries}
    if log := next((name for name in LOGS if name in known), None):
        problem = f"is the log of {LOGS[log]}, in whose folders files may be out of date"
        do = "write the table as plain Parquet files, and pass their folder"
        raise _refused(folder, inside + log, problem, "table-log", do)
    for entry in entries:
        name = inside + entry.name
        _require_readable(folder, name, entry)
        if entry.kind == "folder":
            inner = _groups(folder, name, entry.name, groups)
            if inner == groups and not recursive:
                do = f"pass --recursive (recursive=True) to read its files, or {MOVE}"
                raise _refused(folder, name, "is a subfolder", "subfolder", do)
            yield from _walk(store, folder, name + "/", (recursive, inner, beside))
        elif _has_no_rows(store, folder, name, entry, known):
            beside.append(name)
        else:
            _require_table(store, folder, name, entry)
            yield TablePart(folder, name, entry.size, groups)


def _groups(
    folder: str, name: str, last: str, groups: tuple[tuple[str, str | None], ...]
) -> tuple[tuple[str, str | None], ...]:
    """The groups of a folder: those above it, and the one that its name states."""
    if (stated := GROUP.fullmatch(last)) is None:
        return groups
    column = unquote(stated[1])
    if any(column == above for above, _ in groups):
        problem = f"names the group {column!r} again"
        raise _refused(folder, name, problem, "group-twice", "rename one of the folders")
    value = None if stated[2] == NO_NAME else unquote(stated[2])
    return (*groups, (column, value))


def _require_readable(folder: str, name: str, entry: Found) -> None:
    """Refuse a link to a folder or to nothing, and what is no file."""
    if entry.kind == "link":
        problem = "is a link to a folder, or to nothing"
        do = f"copy what it links to here, or {MOVE}"
        raise _refused(folder, name, problem, "link", do)
    if entry.kind == "device":
        raise _refused(folder, name, "is a pipe, socket or device", "device")
    if entry.kind == "folder" and entry.name.startswith((".", "_")):
        raise _refused(folder, name, "is a hidden folder", "hidden-folder")


def _has_no_rows(
    store: Disk | ObjectStore, folder: str, name: str, entry: Found, known: set[str]
) -> bool:
    """Whether a file is what other programs keep beside tables, by its name and its bytes."""
    if entry.name == "_SUCCESS" and not entry.size:
        return True
    if entry.name.endswith(BESIDE):
        return entry.name.removesuffix(BESIDE) in known
    path = joined(folder, name)
    if entry.name in ("_metadata", "_common_metadata"):
        with store.open(path) as stream:
            start = stream.read(len(MARK))
            stream.seek(max(0, entry.size - TAIL))
            tail = stream.read()
        footer = int.from_bytes(tail[:4], "little")
        # nothing but the footer: a file of Parquet without a page
        is_whole = footer + TAIL + len(MARK) == entry.size
        return start == MARK == tail[4:] and is_whole
    starts = b"crc\0" if entry.name.endswith(".crc") else b"\0\0\0\1Bud1"
    if entry.name == ".DS_Store" or (
        entry.name.startswith(".") and entry.name[1:].removesuffix(".crc") in {*known, "_SUCCESS"}
    ):
        with store.open(path) as stream:
            return stream.read(len(starts)) == starts
    return False


def _require_table(store: Disk | ObjectStore, folder: str, name: str, entry: Found) -> None:
    """Refuse a file that is no table by its name, a hidden one, and one without bytes."""
    if entry.name.startswith((".", "_")):
        do = f"{MOVE}, or rename it if it is a table; remove it if a killed program left it"
        raise _refused(folder, name, "is a hidden file", "hidden-file", do)
    ending = PurePath(inner_name(entry.name)).suffix.lower()
    if ending not in TABLES or (
        inner_name(entry.name) != entry.name and ending not in TEXT_ENDINGS
    ):
        with store.open(joined(folder, name)) as stream:
            is_parquet = stream.read(len(MARK)) == MARK
        do = f"{MOVE}, or give it one of the endings {' '.join(TABLES)}"
        if is_parquet:
            do = "it is a Parquet file: let its name end in .parquet"
        raise _refused(folder, name, "has not the name of a table", "no-table", do)
    if not entry.size:
        do = "copy it again, or remove it"
        raise _refused(folder, name, "is empty: not even a header is there", "empty-file", do)


def _require_one_format(folder: str, parts: list[TablePart]) -> None:
    """Refuse a table that may be there twice, in two formats."""
    names = defaultdict(list)
    for part in parts:
        inner = inner_name(part.name)
        names[inner[: -len(PurePath(inner).suffix)]].append(part)
    for same in names.values():
        if len(same) > 1:
            problem = f"and {same[1].name!r} may be one table twice"
            do = f"rename one of them if they are of other people, or {MOVE}"
            raise _refused(folder, same[0].name, problem, "same-name", do)


def _refused(folder: str, name: str, problem: str, code: str, do: str = MOVE) -> ModelFileError:
    """The error for something in a folder."""
    return ModelFileError(f"{name!r} {problem}", code=code, where=folder, do=do)
