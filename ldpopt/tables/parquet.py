"""Parquet files in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from ldpopt.errors import ModelFileError
from ldpopt.tables.coding import is_text

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 17
"""Rows per batch."""


class ParquetRows:
    """Rows of a Parquet file, in batches.

    Parameters
    ----------
    stream : binary file
        The file.
    name : str
        Its name in messages.

    Raises
    ------
    ModelFileError
        If it is no Parquet file.
    """

    first_row = 1
    """Number of the first row."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.name = name
        try:
            self._schema = pq.read_schema(stream)
            coded = [field.name for field in self._schema if is_text(field.type)]
            self._file = pq.ParquetFile(stream, read_dictionary=coded)
        except (pa.ArrowException, OSError) as error:
            raise _no_parquet(error, name) from None
        self.columns = self._schema.names

    def is_text(self, place: int) -> bool:
        """Whether a column has texts."""
        return is_text(self._schema.field(place).type)

    def fields(self, places: Sequence[int]) -> list[pa.Field]:
        """Names and types of columns."""
        return [self._schema.field(place) for place in places]

    def batches(self, coded: Sequence[int], kept: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield columns by their places: first the coded ones, then the kept ones in their own type.

        Raises
        ------
        ModelFileError
            If the file is damaged.
        """
        import pyarrow as pa

        names = [self.columns[place] for place in (*coded, *kept)]
        kinds = [None] * len(coded) + [field.type for field in self.fields(kept)]
        try:
            for batch in self._file.iter_batches(ROWS, columns=list(dict.fromkeys(names)), use_threads=False):
                found = [batch.column(name) for name in names]
                yield [
                    one if kind in (None, one.type) else one.cast(kind) for one, kind in zip(found, kinds, strict=True)
                ]
        except (pa.ArrowException, OSError) as error:
            raise _no_parquet(error, self.name) from None


def _no_parquet(error: Exception, name: str) -> ModelFileError:
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ModelFileError(f"not a Parquet table: {why}", where=name, do="save it as .parquet again, or as .csv")
