"""Ids of records in a column of a table: distinct texts or whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import short_repr
from ldpopt.tables.coding import is_text
from ldpopt.tables.frames import as_arrow

if TYPE_CHECKING:
    import pyarrow as pa

DO = "give each record its own id: the same id twice would draw the same report twice"


class Ids:
    """Ids of the records of a table, read batch by batch; ``where`` is the file and column, for messages.

    Duplicate ids are found by 64-bit hashes, eight bytes a row. With probability below ``n^2 / 2^65`` two different ids
    of ``n`` rows have the same hash and the table is refused; Python's hashes differ from run to run.
    """

    def __init__(self, where: str, first_row: int = 0) -> None:
        self.where, self._row, self._first = where, first_row, first_row
        self._hashes: list[Any] = []

    def take(self, column: pa.Array) -> list[bytes]:
        """Ids of a batch, in UTF-8; a whole number is read as its digits."""
        from ldpopt.foundation.optional import pyarrow as pa

        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (is_text(kind) or pa.types.is_integer(kind)):
            what = f"ids are texts or whole numbers, not {short_repr(str(kind))}"
            raise StatementError(what, where=self.where, do="make them texts")
        texts = column.cast(kind).cast(pa.large_string()) if kind != pa.large_string() else column.cast(kind)
        found: list[bytes] = texts.cast(pa.large_binary()).to_numpy(zero_copy_only=False).tolist()
        if texts.null_count or b"" in found:
            row = next(row for row, name in enumerate(found) if not name)
            raise StatementError("an id is missing", where=f"{self.where}, row {self._row + row}", do=DO)
        self._hashes.append(np.fromiter(map(hash, found), np.int64, len(found)))
        self._row += len(found)
        return found

    def require_distinct(self) -> None:
        """Refuse a table with duplicate ids."""
        hashes = np.concatenate(self._hashes) if self._hashes else np.empty(0, np.int64)
        ordered = np.sort(hashes)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            one, two = (np.flatnonzero(hashes == ordered[again[0]])[:2] + self._first).tolist()
            more = f"; {len(again):,} rows repeat an id" if len(again) > 1 else ""
            raise StatementError(f"rows {one} and {two} have the same id{more}", where=self.where, do=DO)


def ids_of(column: Any, where: str) -> list[bytes]:
    """Ids in a column of a dataframe, a list or an array."""
    from ldpopt.foundation.optional import pyarrow as pa

    try:
        array = as_arrow(column)
        array = pa.array(column.to_list() if hasattr(column, "to_list") else column) if array is None else array
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None
    if array is None:  # outside the block: the error of arrow has an id, and would be shown as the cause
        raise StatementError("the ids are of several kinds", where=where, do="make them texts")
    ids = Ids(where)
    found = ids.take(array)
    ids.require_distinct()
    return found
