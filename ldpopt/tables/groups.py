"""Columns that the folders of a table name: country=de/1.parquet has the country de in each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional


class GroupedRows:
    """The rows of a file, and after its own columns those that its folders name."""

    def __init__(self, rows: Any, groups: Sequence[tuple[str, str | None]]) -> None:
        self._rows, self._groups = rows, groups
        self.name = rows.name
        self.first_row = rows.first_row
        self._size = len(rows.columns)
        self.columns = [*rows.columns, *(column for column, _ in groups)]
        twice = [column for column, _ in groups if column in rows.columns]
        if twice:
            raise ModelFileError(
                f"the column {twice[0]!r} is in the file and in the name of its folder",
                code="column-twice",
                where=self.name,
                do="rename the folder, or leave the column out of the file",
            )

    def is_text(self, position: int) -> bool:
        """Whether a column has texts, as those of the names have."""
        return position >= self._size or self._rows.is_text(position)

    def fields(self, positions: Sequence[int]) -> list[optional.pyarrow.Field]:
        """Names and types of columns."""
        pa = optional.pyarrow
        return [
            pa.field(self.columns[place], pa.string())
            if place >= self._size
            else self._rows.fields([place])[0]
            for place in positions
        ]

    def batches(
        self, coded: Sequence[int], kept: Sequence[int]
    ) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield columns by their positions, as the file does; without one of its own, the first is
        read for the number of rows.
        """
        places = [[place for place in wanted if place < self._size] for wanted in (coded, kept)]
        counting = [] if places[0] or places[1] else [0]
        for batch in self._rows.batches(places[0], [*places[1], *counting]):
            size = len(batch[0])
            columns = iter(batch)
            yield [
                next(columns)
                if place < self._size
                else self._column(place, size, number < len(coded))
                for number, place in enumerate((*coded, *kept))
            ]

    def _column(self, place: int, size: int, is_coded: bool) -> optional.pyarrow.Array:
        """The name of a group for each row, dictionary-encoded or not."""
        pa = optional.pyarrow
        column = pa.repeat(pa.scalar(self._groups[place - self._size][1], pa.string()), size)
        return column.dictionary_encode() if is_coded else column
