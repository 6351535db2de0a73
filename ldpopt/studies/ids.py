"""Ids that must be distinct in all files of a folder: found with little memory, by hashes on
disk.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.files import file_errors, require_path
from ldpopt.foundation.numbers import Int, require_text, truth, whole_number
from ldpopt.mechanism.keyed import Ids
from ldpopt.tables.files import position_of, reading
from ldpopt.tables.folder import TablePart
from ldpopt.tables.inventory import Checked
from ldpopt.tables.places import is_folder, place_of

MEMORY = 1 << 28  # bytes of hashes that are sorted at once
BUCKETS = 256  # files of hashes, by their last byte; a large one is divided again
MOST = 1000  # ids whose duplicates are looked for by name


def check_ids(
    table: str | os.PathLike[str], id: str, *, recursive: bool = False, memory: int = MEMORY
) -> int:
    r"""Refuse a folder in which an id is there twice, in one file or in two.

    Hashes of :math:`n` ids take :math:`8 n` bytes of the folder for temporary files, and are sorted
    in parts that need a limited memory. Ids with the same hash are compared themselves.

    Parameters
    ----------
    table : path
        A folder of tables, a table, or an address of one.
    id : str
        Column of the ids, texts or whole numbers.
    recursive : bool
        Whether the files of subfolders are read, too. Default: ``False``.
    memory : int
        Bytes of hashes that are sorted at once, at least 4096. Default: ``268435456``.

    Returns
    -------
    int
        Number of ids.

    Raises
    ------
    StatementError
        If an id is there twice or missing, or is neither a text nor a whole number.
    ModelFileError
        If a file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> size = path.write_text("person,smokes\na,no\nb,yes\n")
    >>> check_ids(path, "person")
    2
    """
    require_path(table)
    require_text(id, "id")
    truth(recursive, "recursive")
    limit = whole_number(memory, "memory", 4096)
    place = place_of(table, databases=True)
    parts: list[Any] = [place]
    if is_folder(place):
        parts = list(Checked(place, recursive).parts.values())
    with tempfile.TemporaryDirectory() as folder, file_errors("cannot write the hashes", folder):
        count = 0
        buckets = _Buckets(Path(folder), 0)
        for hashes in _hashes(parts, id):
            count += len(hashes)
            buckets.add(hashes)
        suspects = _repeated(buckets, limit)
    if len(suspects):
        _require_distinct(parts, id, suspects)
    return count


def _hashes(parts: Iterable[Any], column: str) -> Iterator[Int]:
    """Hashes of the ids in all files, batch by batch."""
    for part in parts:
        for _, _, hashes in _batches(part, column):
            yield hashes


def _batches(part: Any, column: str) -> Iterator[tuple[int, list[bytes], Int]]:
    """First row, ids and hashes of each batch of a file."""
    with reading(part) as rows:
        place = position_of(rows, column)
        row = rows.first_row
        for batch in rows.batches([], [place]):
            # one for each batch, so that not all of its hashes are kept
            names = Ids(f"{rows.name}, column {column}", row).take(batch[0])
            yield row, names, np.fromiter(map(hash, names), np.int64, len(names))
            row += len(names)


class _Buckets:
    """Hashes on disk, divided by one of their bytes."""

    def __init__(self, folder: Path, byte: int) -> None:
        self._folder, self.byte = folder, byte

    def add(self, hashes: Int) -> None:
        """Append hashes to their files."""
        keys = hashes.astype("<i8").view(np.uint8).reshape(-1, 8)[:, self.byte]
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(keys, minlength=BUCKETS))
        ordered = hashes[order]
        for key, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if end > start:
                with open(self._folder / f"{self.byte}-{key}", "ab") as stream:
                    stream.write(ordered[start:end].tobytes())

    def files(self) -> Iterator[Path]:
        """The files that have hashes."""
        yield from sorted(self._folder.glob(f"{self.byte}-*"))

    def divided(self, path: Path, size: int) -> _Buckets:
        """Divide a file by the next byte, in parts of some number of hashes; of equal hashes in a
        part two are enough.
        """
        folder = path.with_suffix(".more")
        folder.mkdir()
        finer = _Buckets(folder, self.byte + 1)
        for hashes in _read(path, size):
            ordered = np.sort(hashes)
            is_third = np.zeros(len(ordered), bool)
            is_third[2:] = ordered[2:] == ordered[:-2]
            finer.add(ordered[~is_third])
        return finer


def _read(path: Path, size: int) -> Iterator[Int]:
    """Hashes of a file, some at a time."""
    with open(path, "rb") as stream:
        while block := stream.read(8 * size):
            yield np.frombuffer(block, np.int64)


def _repeated(buckets: _Buckets, memory: int) -> Int:
    """The first hashes that are there twice; a file that is too large is divided."""
    size = memory // 8
    repeated: list[Int] = []
    for path in buckets.files():
        if path.stat().st_size > 8 * size and buckets.byte < 7:
            repeated.append(_repeated(buckets.divided(path, size), memory))
        else:
            for hashes in _read(path, size):
                ordered = np.sort(hashes)
                repeated.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]])[:MOST])
        path.unlink()
        if sum(map(len, repeated)) >= MOST:
            break
    return np.unique(np.concatenate([np.empty(0, np.int64), *repeated]))[:MOST]


def _require_distinct(parts: list[Any], column: str, suspects: Int) -> None:
    """Refuse ids that are the same, among those whose hashes are."""
    seen: dict[bytes, tuple[str, int]] = {}
    times: dict[bytes, int] = defaultdict(int)
    first: tuple[str, int, str, int] | None = None
    for part in parts:
        name = part.name if isinstance(part, TablePart) else os.path.basename(part)
        for row, names, hashes in _batches(part, column):
            for place in np.flatnonzero(np.isin(hashes, suspects)).tolist():
                known = seen.setdefault(names[place], (name, row + place))
                times[names[place]] += 1
                if first is None and known != (name, row + place):
                    first = (*known, name, row + place)
    if first is None:
        return
    again = sum(count > 1 for count in times.values())
    ids = f"{again:,} or more ids are" if len(suspects) == MOST else f"{again:,} of the ids"
    raise StatementError(
        f"row {first[1]} of {first[0]} and row {first[3]} of {first[2]} have the same id "
        f"(there twice: {ids})",
        code="duplicate-id",
        where=f"column {column}",
        do="each person answers once: leave the other rows out, or number the answers in the ids",
    )
