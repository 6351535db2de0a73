"""Columns of arrow as numpy arrays and back, by their buffers: arrow's own functions for this
import pandas, which takes longer than a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation import optional

# Places that are looked up at once: as indices of 64 bits they fill 64 KB, less than what gets
# fresh pages
PIECE = 1 << 13


def numbers_of(column: optional.pyarrow.Array) -> NDArray[Any]:
    """The numbers of a column as they lie in memory, shape (N,), not to be changed; what stands at
    missing entries has no meaning.
    """
    kind = np.dtype(column.type.to_pandas_dtype())
    values = column.buffers()[1]
    if values is None or not len(column):
        return np.zeros(len(column), kind)
    return np.frombuffer(values, kind, len(column), column.offset * kind.itemsize)


def is_there(column: optional.pyarrow.Array) -> NDArray[np.bool_] | None:
    """Which entries of a column are not missing, shape (N,); None if all are there."""
    bits = column.buffers()[0] if column.null_count else None
    if bits is None:
        return None
    last = column.offset + len(column)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=last, bitorder="little")
    return unpacked[column.offset :].view(np.bool_)


def places_of(column: optional.pyarrow.DictionaryArray) -> NDArray[Any]:
    """The place of each entry in the dictionary of a column, shape (N,): the first after its end if
    the entry is missing.
    """
    places = numbers_of(column.indices)
    there = is_there(column.indices)
    return places if there is None else np.where(there, places, len(column.dictionary))


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The entries of a table at places within it, shape (N,), in memory of arrow.

    Arrow keeps the memory of a batch for the next one. Numpy gives it back in processes with a
    fixed threshold of trimming, such as workers of Dask, where each batch gets fresh pages then.
    """
    room = optional.pyarrow.allocate_buffer(len(places) * table.itemsize)
    entries: NDArray[Any] = np.frombuffer(room, table.dtype)
    for start in range(0, len(places), PIECE):
        part = slice(start, start + PIECE)
        # "clip" writes as it goes; "raise" makes an array of its own first
        table.take(places[part], out=entries[part], mode="clip")
    return entries


def column_of_numbers(
    values: NDArray[Any], is_missing: NDArray[np.bool_] | None = None
) -> optional.pyarrow.Array:
    """A column of whole numbers or floats, shape (N,), without a copy of them."""
    pa = optional.pyarrow
    numbers = np.ascontiguousarray(values)
    bits = None
    if is_missing is not None:
        bits = pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [bits, pa.py_buffer(numbers)])


def column_of_texts(texts: Sequence[str]) -> optional.pyarrow.Array:
    """A column of texts, of which none is missing."""
    pa = optional.pyarrow
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    is_large = int(ends[-1]) > np.iinfo(np.int32).max
    kind = pa.large_string() if is_large else pa.string()
    offsets = pa.py_buffer(ends.astype(np.int64 if is_large else np.int32))
    return pa.Array.from_buffers(
        kind, len(encoded), [None, offsets, pa.py_buffer(b"".join(encoded))]
    )


def bytes_of(column: optional.pyarrow.LargeBinaryArray) -> list[bytes]:
    """The entries of a column of bytes with ends of 64 bits; a missing one is empty."""
    if not len(column):
        return []
    _, ends, data = column.buffers()
    starts = np.frombuffer(ends, np.int64, len(column) + 1, 8 * column.offset).tolist()
    text = b"" if data is None else data.to_pybytes()
    return [text[first:last] for first, last in pairwise(starts)]
