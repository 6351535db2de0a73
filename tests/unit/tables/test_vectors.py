"""Columns of arrow as numpy arrays and back, without pandas."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ldpopt.tables.csv_ import as_csv
from ldpopt.tables.vectors import (
    bytes_of,
    column_of_numbers,
    column_of_texts,
    is_there,
    looked_up,
    numbers_of,
    places_of,
)

KINDS = ("int8", "uint16", "int32", "int64", "float32", "float64")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_read_and_written(kind: str) -> None:
    values = np.arange(21).astype(kind)
    gone = values % 3 == 1
    column = column_of_numbers(values, gone)
    assert column.equals(pa.array(values, mask=gone))
    assert column_of_numbers(values[::2]).equals(pa.array(values[::2].copy()))
    part = column[5:17]  # begins within a byte of the bits for missing entries
    there = is_there(part)
    assert there is not None
    assert there.tolist() == (~gone[5:17]).tolist()
    assert numbers_of(part)[there].tolist() == values[5:17][there].tolist()
    assert is_there(column_of_numbers(values)) is None
    assert numbers_of(column[:0]).tolist() == []


def test_texts_and_bytes() -> None:
    texts = ["", "a", "\u00e4\U0001f600", "long " * 9]
    column = column_of_texts(texts)
    column.validate(full=True)
    assert column.to_pylist() == texts
    assert column_of_texts([]).equals(pa.array([], pa.string()))
    large = pa.array([None if text == "a" else text.encode() for text in texts], pa.large_binary())
    assert bytes_of(large) == [b"", b"", *(text.encode() for text in texts[2:])]
    assert bytes_of(large[2:]) == [text.encode() for text in texts[2:]]
    assert bytes_of(large[:0]) == []


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint16()])
def test_places_and_lines_of_labels(index: pa.DataType) -> None:
    entries = ["b", None, 'say "a"', "", "b", "c,d", "long " * 9]
    column = pa.array(entries).dictionary_encode().cast(pa.dictionary(index, pa.string()))
    known = [*column.dictionary.to_pylist(), None]
    assert [known[place] for place in places_of(column[1:]).tolist()] == entries[1:]
    fields = ["b", "", '"say ""a"""', "", "b", '"c,d"', "long " * 9]
    alone = [text or '""' for text in fields]
    assert as_csv([column]) == "".join(f"{text}\n" for text in alone).encode()
    both = "".join(f"{text},{other}\n" for text, other in zip(fields, fields[::-1], strict=True))
    numbers = pa.array([1.5, None, 2.0]).dictionary_encode()
    assert as_csv([column, column.take(pa.array(range(6, -1, -1)))]) == both.encode()
    assert as_csv([numbers]) == as_csv([numbers.dictionary_decode()])


@pytest.mark.parametrize("rows", [0, 1, 8191, 8192, 8193, 30001])
def test_entries_are_looked_up_in_pieces(rows: int) -> None:
    table = np.array([5, -2, 7, -1])
    places = np.random.default_rng(rows).integers(0, 4, rows).astype(np.int32)
    entries = looked_up(table, places)
    assert entries.dtype == table.dtype
    assert np.array_equal(entries, table[places])
