"""Parquet files in batches."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.tables.coding import is_text

ENDINGS = (".parquet", ".pq")
ROWS = 1 << 17  # rows per batch
GROUP = 1 << 20  # rows per group of a file that is written


class ParquetRows:
    """Rows of a Parquet file, in batches; ``name`` is the name of the file in messages."""

    first_row = 1  # number of the first row

    def __init__(self, stream: IO[bytes], name: str) -> None:
        pa, pq = optional.pyarrow, optional.pyarrow_parquet
        self.name = name
        try:
            self._schema = pq.read_schema(stream)
            coded = [field.name for field in self._schema if is_text(field.type)]
            self._file = pq.ParquetFile(stream, read_dictionary=coded)
        except (pa.ArrowException, OSError) as error:
            raise _invalid(error, name) from None
        self.columns = self._schema.names

    def is_text(self, position: int) -> bool:
        """Whether a column has texts."""
        return is_text(self._schema.field(position).type)

    def fields(self, positions: Sequence[int]) -> list[optional.pyarrow.Field]:
        """Names and types of columns."""
        return [self._schema.field(position) for position in positions]

    def batches(
        self, coded: Sequence[int], kept: Sequence[int]
    ) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield columns by their positions: first the coded ones, then the kept ones in their own
        type.
        """
        names = [self.columns[position] for position in (*coded, *kept)]
        kinds = [None] * len(coded) + [field.type for field in self.fields(kept)]
        try:
            for batch in self._file.iter_batches(
                ROWS, columns=list(dict.fromkeys(names)), use_threads=False
            ):
                columns = zip([batch.column(name) for name in names], kinds, strict=True)
                yield [
                    column if kind in (None, column.type) else column.cast(kind)
                    for column, kind in columns
                ]
        except (optional.pyarrow.ArrowException, OSError) as error:
            raise _invalid(error, self.name) from None


@contextmanager
def writing_parquet(
    stream: IO[bytes], fields: Sequence[optional.pyarrow.Field], notes: Mapping[str, str]
) -> Iterator[Callable[[Sequence[optional.pyarrow.Array]], None]]:
    """Write a Parquet file in groups of rows: the context is a function that takes batches;
    ``notes`` are metadata.
    """
    pa = optional.pyarrow
    pq = optional.pyarrow_parquet
    batches = list[Any]()
    writer: Any = None

    def write(columns: Sequence[optional.pyarrow.Array]) -> None:
        schema = pa.schema(
            [field.with_type(column.type) for field, column in zip(fields, columns, strict=True)]
        )
        batches.append(pa.record_batch(list(columns), schema=schema))
        if sum(map(len, batches)) >= GROUP:
            flush()

    def flush() -> None:
        nonlocal writer
        if writer is None:
            # Dictionaries are stored as such, but the schema for readers has plain labels, and the
            # notes of the table.
            plain = pa.schema(fields, notes)
            writer = pq.ParquetWriter(
                stream, batches[0].schema if batches else plain, store_schema=False
            )
            text = base64.b64encode(plain.serialize().to_pybytes()).decode()
            writer.add_key_value_metadata({"ARROW:schema": text, **notes})
        if any(map(len, batches)):
            writer.write_table(pa.Table.from_batches(batches))
        batches.clear()

    try:
        yield write
        flush()
    finally:
        if writer is not None:
            writer.close()


def _invalid(error: Exception, name: str) -> ModelFileError:
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ModelFileError(
        f"not a Parquet table: {why}",
        code="parquet",
        where=name,
        do="save the table as .parquet again, or as .csv",
    )
