"""What a run on a folder is to draw: an inventory beside the target, and beside it a private record
of the sources.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry
from ldpopt.mechanism.keyed import Keyed, part_id
from ldpopt.tables.folder import TablePart, parts_of
from ldpopt.tables.inventory import (
    FileFacts,
    Inventory,
    facts_of,
    optional_text,
    optional_whole,
    read_signed,
    rows_of,
    signed,
)
from ldpopt.tables.origin import PART, read_origin
from ldpopt.tables.places import beside, store_of

SURVEY = ("questions", "asked", "unprotected", "key")  # what an origin says of the survey
FORMAT = "ldpopt sources 1"
ENDING = ".sources.json"
KEYS = ("name", "target", "rows", "bytes", "digest")
FOREIGN = "name an empty folder; reports are never replaced"
RESTORE = (
    "restore the file as it was: the reports of its people are drawn; draw those of other people "
    "from another folder into another folder"
)


@dataclass(frozen=True)
class AnswersFile:
    """A file of answers: where it is, what is known of it, and the origin of its reports."""

    part: TablePart
    facts: FileFacts
    origin: dict[str, Any]

    @property
    def target(self) -> str:
        """Name of the file of its reports. Folders such as country=de are left out: what they name
        is a column, which is dropped or kept.
        """
        name = self.part.name
        if self.part.groups:
            digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()
            return f"part-{digest[:16]}.parquet"
        return name if name.endswith((".parquet", ".pq")) else f"{name}.parquet"


class Plan:
    """The run that an inventory is about: compared with earlier runs, and written before it
    begins.
    """

    def __init__(self, target: str, survey: dict[str, Any], keyed: Keyed | None) -> None:
        self.target, self._keyed = target, keyed
        self.survey = {key: survey.get(key) for key in SURVEY}
        self._stated = Inventory.load(target)
        self.present: dict[str, TablePart] = {}
        if store_of(target).kind(target):
            listing = parts_of(target, recursive=True, empty=True)
            self.present = {part.name: part for part in listing.parts}
        self._record = _recorded(target)
        self.inventory = Inventory(target, self.survey)
        self.sources: dict[str, AnswersFile] = {}

    def of(self, sources: Mapping[str, AnswersFile], passed: list[str]) -> None:
        """Plan the reports of some files; refuse those that differ from what earlier runs read.

        ``passed`` are names of files that are no tables and were passed over; they are recorded.
        """
        self._require_survey()
        targets = {source.target: source for source in sources.values()}
        for name in sorted(self.present):
            if name not in targets:
                recorded = self._record.items()
                gone = next((old for old, (target, _) in recorded if target == name), None)
                raise self._foreign(name, gone)
        for name, source in sorted(targets.items()):
            self.inventory.parts[name] = self._planned(name, source)
        self._require_nothing_lost(targets)
        self.sources = dict(sources)
        self._passed = passed

    def begin(self) -> None:
        """Write what is to be drawn."""
        self._save_sources()
        self.inventory.save(new=self._stated is None)

    def finish(self, facts: Mapping[str, FileFacts]) -> None:
        """Write what was drawn; refuse a folder in which a file is not there."""
        listing = parts_of(self.target, recursive=True)
        sizes = {part.name: part.size for part in listing.parts}
        for name, each in facts.items():
            if sizes.get(name) != each.size:
                raise ModelFileError(
                    f"a worker wrote {name!r}, and it is not here",
                    code="not-shared",
                    where=self.target,
                    do="name a folder on a disk that all workers share, or an address of a store",
                )
        self.inventory.parts = dict(facts)
        self.inventory.finished = True
        self._save_sources()
        self.inventory.save()

    def _save_sources(self) -> None:
        """Write the record of the sources, for the owner only: from the digest of a small file
        its answers can be guessed.
        """
        rows = []
        for name, source in sorted(self.sources.items()):
            rows_there = self.inventory.parts[source.target].rows
            rows_known = source.facts.rows if source.facts.rows is not None else rows_there
            cells = (name, source.target, rows_known, source.facts.size, source.facts.digest)
            rows.append(dict(zip(KEYS, cells, strict=True)))
        path = beside(self.target, ENDING)
        data = {"format": FORMAT, "parts": rows, "no_tables": self._passed}
        store_of(path).write(path, signed(data), private=True)

    def _require_survey(self) -> None:
        """Refuse the folder of another survey."""
        if self._stated is not None and self._stated.survey != self.survey:
            raise ModelFileError(
                "the folder has reports of other questions, mechanisms or keys",
                code="foreign-file",
                where=self.target,
                do=FOREIGN,
            )

    def _foreign(self, name: str, gone: str | None) -> ModelFileError:
        """The error for a file in the folder that this run would not write: reports of a source
        ``gone``, if the record knows one, or anything else.
        """
        if gone is not None:
            return ModelFileError(
                f"the reports of {gone!r} are drawn, and the file is not there now",
                code="missing-source",
                where=self.target,
                do="restore the file, or name another folder for the reports",
            )
        return ModelFileError(
            f"the folder has a file that this call would not write: {name!r}",
            code="foreign-file",
            where=self.target,
            do=FOREIGN,
        )

    def _planned(self, name: str, source: AnswersFile) -> FileFacts:
        """What is known of the file of reports: if it is there, it must be of this source."""
        stated = None if self._stated is None else self._stated.parts.get(name)
        recorded = self._record.get(source.part.name, (None, None))[1]
        if name not in self.present:
            is_same = recorded is not None and recorded.digest == source.facts.digest
            id = stated.id if stated is not None and is_same else self._new_id(source)
            return FileFacts(source.facts.rows, None, None, id)
        if self._stated is not None and stated is None:
            raise self._foreign(name, None)
        origin = read_origin(self.present[name].path) or {}
        if any(origin.get(key) != source.origin.get(key) for key in SURVEY):
            raise self._foreign(name, None)
        known = origin.get(PART)
        if stated is not None and known != stated.id:
            raise self._foreign(name, None)
        facts = facts_of(self.present[name], origin)
        if stated is not None and stated.digest not in (None, facts.digest):
            raise ModelFileError(
                f"{name!r} was changed after it was drawn",
                code="changed-part",
                where=self.target,
                do="restore it from a copy",
            )
        _require_same(source, recorded, facts)
        return facts

    def _new_id(self, source: AnswersFile) -> str:
        """Id of the reports of a file; with a key the same for the same answers."""
        if self._keyed is None:
            return uuid.uuid4().hex
        content = json.dumps([source.facts.digest, self.survey], sort_keys=True)
        return part_id(self._keyed.key, content)

    def _require_nothing_lost(self, targets: Mapping[str, AnswersFile]) -> None:
        """Refuse to draw once more what was finished and is lost, unless a key gives the same."""
        stated = {} if self._stated is None else self._stated.parts
        lost = [
            name
            for name, each in sorted(stated.items())
            if each.digest is not None and name not in self.present
        ]
        if lost and (self._keyed is None or lost[0] not in targets):
            raise ModelFileError(
                f"the reports in {lost[0]!r} were drawn, and are not there now: drawn again, they "
                "would spend the budget of their people twice",
                code="missing-part",
                where=self.target,
                do="restore them from a copy; or draw all in a new folder, and destroy this one",
            )


def _require_same(source: AnswersFile, recorded: FileFacts | None, drawn: FileFacts) -> None:
    """Refuse a file that is not the one from which its reports were drawn."""
    before = FileFacts(drawn.rows, None, None) if recorded is None else recorded
    now = source.facts
    problem = ""
    if before.digest is not None and before.digest != now.digest:
        problem = "has other content than"
    rows = now.rows
    if problem or before.digest is None:
        rows = rows_of(source.part, now)
    if before.rows is not None and rows is not None and before.rows != rows:
        problem = f"has {rows:,} rows, and had {before.rows:,}"
    if problem:
        raise ModelFileError(
            f"{source.part.name!r} {problem} when its reports were drawn",
            code="changed-source",
            where=source.part.folder,
            do=RESTORE,
        )


def _recorded(target: str) -> dict[str, tuple[str, FileFacts]]:
    """What earlier runs read: of each file the name of its reports, and its facts."""
    path = beside(target, ENDING)
    if store_of(path).kind(path) != "file":
        return {}
    data = read_signed(path, FORMAT)
    found = {}
    for row in Entry(data, path).table("format", "parts", "no_tables", "digest")["parts"].list():
        cells = row.table(*KEYS)
        rows, size = (optional_whole(cells[key]) for key in ("rows", "bytes"))
        facts = FileFacts(rows, size, optional_text(cells["digest"]))
        found[cells["name"].text()] = (cells["target"].text(), facts)
    return found
