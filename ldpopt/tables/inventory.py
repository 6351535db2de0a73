"""The inventory of a folder of reports, in a file beside it: which files it has when it is
finished, with their rows, sizes and digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import file_errors, parse_strictly
from ldpopt.tables.files import reading
from ldpopt.tables.folder import MOVE, TablePart, parts_of
from ldpopt.tables.origin import PART, read_origin
from ldpopt.tables.packed import unpacked
from ldpopt.tables.places import beside, place_of, store_of, write_new

FORMAT = "ldpopt inventory 1"
ENDING = ".inventory.json"
MAX_BYTES = 2**30
BLOCK = 1 << 20  # bytes that are read at once
MOST = 2**62  # more rows and bytes than any file has
PART_KEYS = ("name", "id", "rows", "bytes", "digest")
AGAIN = "repeat the call of privatize that began it"


class FileFacts(NamedTuple):
    """What is known of a file: rows (None if only reading tells), bytes, digest of what it holds,
    and the id that its origin gives it.
    """

    rows: int | None
    size: int | None
    digest: str | None
    id: str | None = None


def facts_of(part: TablePart, origin: dict[str, Any] | None = None) -> FileFacts:
    """Read what identifies a file; a packed one has the digest of what is in it."""
    store = store_of(part.path)
    digest = hashlib.sha256()
    with store.open(part.path) as stream, unpacked(stream, part.path) as content:
        while block := content.read(BLOCK):
            digest.update(block)
    rows = None
    if part.is_parquet:
        with reading(part) as _, store.open(part.path) as stream:  # a damaged one is named
            rows = int(optional.pyarrow_parquet.read_metadata(stream).num_rows)
    known = (read_origin(part.path) if origin is None else origin) or {}
    return FileFacts(rows, store.size(part.path), digest.hexdigest(), known.get(PART))


def require_no_copies(parts: Mapping[str, TablePart], facts: Mapping[str, FileFacts]) -> None:
    """Refuse two files with the same id or content; files without rows are alike."""
    for key in ("id", "digest"):
        seen: dict[Any, str] = {}
        for name in sorted(facts):
            value = getattr(facts[name], key)
            if value is None or facts[name].rows == 0:
                continue
            first = seen.setdefault(value, name)
            if first != name and rows_of(parts[name], facts[name]):
                raise ModelFileError(
                    f"{first!r} and {name!r} are copies: their people would count twice",
                    code="copied-file",
                    where=parts[name].folder,
                    do="remove one of them; join them if they are of other people",
                )


def rows_of(part: TablePart, facts: FileFacts) -> int:
    """Number of rows of a file; that of a text is counted."""
    if facts.rows is not None:
        return facts.rows
    with reading(part) as rows:
        return sum(len(batch[0]) for batch in rows.batches([], [0]))


@dataclass
class Inventory:
    """The files of a folder of reports, by name: those that are to be drawn, and what is known of
    those that are there.
    """

    folder: str
    survey: dict[str, Any]  # as in the origin of reports: mechanisms, what is kept, name of the key
    parts: dict[str, FileFacts] = field(default_factory=dict)
    finished: bool = False

    @property
    def path(self) -> str:
        """The file beside the folder."""
        return beside(self.folder, ENDING)

    def save(self, new: bool = False) -> None:
        """Write the inventory, at once; a ``new`` one is refused where there is one."""
        rows = [dict(zip(PART_KEYS, _row(name, each), strict=True)) for name, each in self.sorted]
        data = {"format": FORMAT, "survey": self.survey, "finished": self.finished, "parts": rows}
        if not new:
            store_of(self.path).write(self.path, signed(data))
            return
        with file_errors("cannot write the inventory", self.path):
            is_new = write_new(self.path, signed(data))
        if not is_new:
            raise ModelFileError(
                "another call has begun to write into this folder",
                code="two-calls",
                where=self.folder,
                do="wait until it ends, and repeat this one to see whether all is there",
            )

    @property
    def sorted(self) -> list[tuple[str, FileFacts]]:
        """The files in the order of their names."""
        return sorted(self.parts.items())

    @classmethod
    def load(cls, folder: str) -> Inventory | None:
        """Read the inventory of a folder; None if there is none."""
        path = beside(folder, ENDING)
        if store_of(path).kind(path) != "file":
            return None
        data = read_signed(path, FORMAT)
        table = Entry(data, path).table("format", "survey", "finished", "parts", "digest")
        survey = table["survey"].value
        if not isinstance(survey, dict) or type(table["finished"].value) is not bool:
            raise table["survey"].error("this is no inventory of reports", code="entry")
        parts = {}
        for row in table["parts"].list():
            cells = row.table(*PART_KEYS)
            id, digest = (optional_text(cells[key]) for key in ("id", "digest"))
            rows, size = (optional_whole(cells[key]) for key in ("rows", "bytes"))
            parts[cells["name"].text()] = FileFacts(rows, size, digest, id)
        return cls(folder, survey, parts, table["finished"].value)


def _row(name: str, facts: FileFacts) -> tuple[Any, ...]:
    return name, facts.id, facts.rows, facts.size, facts.digest


def optional_text(entry: Entry) -> str | None:
    """Read a text or null."""
    return None if entry.value is None else entry.text()


def optional_whole(entry: Entry) -> int | None:
    """Read a whole number or null."""
    return None if entry.value is None else entry.whole(MOST)


def signed(data: dict[str, Any]) -> bytes:
    """Write JSON with the digest of its content."""
    return (json.dumps({**data, "digest": _digest(data)}, indent=1) + "\n").encode()


def _digest(data: dict[str, Any]) -> str:
    content = {key: part for key, part in data.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_signed(path: str, form: str) -> dict[str, Any]:
    """Read what `signed` wrote; refuse what was changed since."""
    with store_of(path).open(path) as stream:
        raw = stream.read(MAX_BYTES)
    data: Any = None
    try:
        data = parse_strictly(raw)
        why = ""
    except ValueError as error:
        why = str(error)
    if not isinstance(data, dict) or data.get("format") != form:
        why = why or f"its format is not {form!r}"
    elif data.get("digest") != _digest(data):
        why = "its digest does not fit"
    if why:
        raise ModelFileError(
            f"the inventory was changed: {why}",
            code="inventory",
            where=path,
            do="restore it from a copy; do not draw the reports again",
        )
    checked: dict[str, Any] = data
    return checked


class Checked:
    """A folder of tables and its inventory, if it has one: everything in it is read or refused, and
    nothing is missing.
    """

    def __init__(self, folder: Any, recursive: bool = False) -> None:
        self.folder = place_of(folder)
        self.inventory = Inventory.load(self.folder)
        stated = self.inventory
        unfinished = stated is not None and not stated.finished
        self.listing = parts_of(self.folder, recursive or stated is not None, unfinished)
        self.parts = {part.name: part for part in self.listing.parts}
        if stated is not None:
            self._require_finished(stated)
            require_names(stated, self.parts)
            for name, part in self.parts.items():
                if part.size != stated.parts[name].size:
                    raise _changed(self.folder, name, "has another size")

    def compare(self, facts: Mapping[str, FileFacts]) -> None:
        """Compare what was read of all files with the inventory, and with each other."""
        require_no_copies(self.parts, facts)
        for name, each in facts.items():
            if self.inventory is None and each.id is not None:
                raise ModelFileError(
                    f"the inventory of these reports is not there: {name!r} is one file of a run, "
                    "and others may be missing",
                    code="no-inventory",
                    where=beside(self.folder, ENDING),
                    do="copy it here, too; count folders of several runs one by one, and add up",
                )
            if self.inventory is not None:
                stated = self.inventory.parts[name]
                if (each.digest, each.id) != (stated.digest, stated.id):
                    raise _changed(self.folder, name, "has other content")

    def _require_finished(self, stated: Inventory) -> None:
        """Refuse a folder whose reports are not all drawn."""
        if stated.finished:
            return
        present = [name for name in stated.parts if name in self.parts]
        drawn = sum(facts_of(self.parts[name]).rows or 0 for name in present)
        rows = [each.rows for each in stated.parts.values()]
        known = sum(row or 0 for row in rows)
        total = f" of {known:,}" if None not in rows else ""
        files = f"{len(present)} of {len(rows)} files"
        raise ModelFileError(
            f"the folder is not finished: {drawn:,}{total} reports are drawn, in {files}",
            code="unfinished",
            where=self.folder,
            do=AGAIN,
        )


def require_names(stated: Inventory, names: Iterable[str]) -> None:
    """Refuse a folder with more or fewer files than its inventory."""
    if more := sorted(set(names) - set(stated.parts)):
        raise ModelFileError(
            f"{more[0]!r} is not in the inventory of the folder: it was added later",
            code="foreign-file",
            where=stated.folder,
            do=MOVE,
        )
    if lost := sorted(set(stated.parts) - set(names)):
        raise ModelFileError(
            f"{lost[0]!r} is in the inventory and not in the folder: {len(lost)} of "
            f"{len(stated.parts)} files are missing",
            code="missing-part",
            where=stated.folder,
            do="restore them from a copy; do not draw them again",
        )


def _changed(folder: str, name: str, problem: str) -> ModelFileError:
    """The error for a file that is not what the inventory says."""
    return ModelFileError(
        f"{name!r} {problem} than the inventory says: it was changed after it was drawn",
        code="changed-part",
        where=folder,
        do="restore it from a copy",
    )
