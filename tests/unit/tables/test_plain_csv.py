"""Plain CSV is read in one pass: the rows and errors are those of arrow."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt.errors import ModelFileError
from ldpopt.tables import csv_, plain_csv
from ldpopt.tables.csv_ import CsvRows
from ldpopt.tables.csv_format import reading_csv_as


def rows_of(batches):
    """The rows of batches, and the code, place and text of the error that ends them."""
    rows = []
    try:
        for batch in batches:
            rows += zip(*(column.to_pylist() for column in batch), strict=True)
    except ModelFileError as error:
        return rows, (error.code, str(error))
    return rows, None


def small_blocks(patch, size):
    """Blocks of some bytes, of both readers, from the first one on."""
    split = csv_.split_header

    def split_early(stream, name):
        head, beginning = split(stream, name)
        more = io.BytesIO(beginning + stream.read())
        stream.read = more.read
        return head, b""

    patch.setattr(plain_csv, "BLOCK", size)
    patch.setattr(csv_, "BLOCK", size)
    patch.setattr(csv_, "split_header", split_early)


class Stream:
    """Bytes, of which a block that is small can be read."""

    def __init__(self, data):
        self.read = io.BytesIO(data).read


def same_as_arrow(data, coded, separator=","):
    """The rows of a file, read in one pass and by arrow."""
    with reading_csv_as(separator=separator):
        wanted, refused_by_arrow = rows_of(
            CsvRows(Stream(data), "f.csv")._batches_of_arrow(coded, (), 0)
        )
        rows, error = rows_of(CsvRows(Stream(data), "f.csv").batches(coded, ()))
    assert error == refused_by_arrow
    if error is None:
        assert rows == wanted
    return rows, error


FIELDS = st.sampled_from(
    [
        *("", "a", "yes", "no", "never", "1234567", "12345678", "ab" * 8, "ab" * 7 + "a", "b" * 40),
        *("\u00e4\u00f6", "\U0001f600", "\ufeffx", "a b", "\0", "a\0", "NA", "-1.5", "\x85"),
    ]
)
ODD = st.sampled_from(
    [b'"', b'""', b"\r", b",", b"\n", b"\xff", b"\xe4", b"\r\n", b'"a\n"', b'"x,"']
)


# arrow cannot show its handler a row that is no text, and goes on without it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@cases(150)
@given(st.data())
def test_rows_and_errors_are_those_of_arrow(data):
    columns = data.draw(st.integers(1, 4))
    separator = data.draw(st.sampled_from([",", ";", "\t"]))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    fields = data.draw(st.lists(FIELDS, min_size=1, max_size=6))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    lines = [
        separator.join(fields[at] for at in rng.integers(len(fields), size=columns))
        for _ in range(data.draw(st.integers(0, 40)))
    ]
    lines.insert(0, separator.join(f"c{number}" for number in range(columns)))
    text = end.join(lines).encode() + data.draw(st.sampled_from([b"", b"\n", b"\r\n", b"\n\n\n"]))
    if data.draw(st.booleans()):
        at = int(rng.integers(len(lines[0]), len(text) + 1))
        text = text[:at] + data.draw(ODD) + text[at:]
    coded = data.draw(st.permutations(range(columns)))[: data.draw(st.integers(1, columns))]
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, data.draw(st.sampled_from([2, 7, 45, 100, 1 << 22])))
        patch.setattr(plain_csv, "TEXTS", data.draw(st.sampled_from([2, 1 << 12])))
        patch.setattr(plain_csv, "ROOM", data.draw(st.sampled_from([20, 1 << 18])))
        same_as_arrow(text, list(coded), separator)


@pytest.mark.parametrize(
    ("body", "by_arrow"),
    [
        (b"a\nb\na", False),
        (b"a\r\nb\r\n\r\n", False),
        (b"\n\na\n", False),  # two empty answers
        (b"a", False),
        (b"", False),
        (b'a\n"b"\n', True),
        (b"a\rb\n", True),
        (b"a,\n", True),
        (b"\xff\n", True),
        (b"\xef\xbb\xbfa\nb\n", True),
    ],
)
def test_plain_files_need_no_arrow_and_others_are_left_to_it(body, by_arrow, monkeypatch):
    called = []
    reader = CsvRows._batches_of_arrow

    def watched(self, *arguments):
        called.append(arguments)
        return reader(self, *arguments)

    monkeypatch.setattr(CsvRows, "_batches_of_arrow", watched)
    rows_of(CsvRows(io.BytesIO(b"x\n" + body), "f.csv").batches([0], ()))
    assert bool(called) == by_arrow
    same_as_arrow(b"x\n" + body, [0])


@pytest.mark.parametrize("odd", [b'"q"', b"a,b", b"\xff", b"a\rb", b"b" * 150, b"b" * 900])
@pytest.mark.parametrize("before", [0, 1, 1000])
def test_what_follows_plain_blocks_is_left_to_arrow_with_its_row(odd, before, monkeypatch):
    small_blocks(monkeypatch, 100)
    body = b"never\nonce\n" * before + odd + b"\n" + b"often\n" * 50
    rows, error = same_as_arrow(b"x\n" + body, [0])
    if odd in (b"a,b", b"\xff"):
        assert f"row {2 + 2 * before}" in error[1] or odd == b"\xff"
    elif len(odd) == 900:
        assert error[0] == "long-line"
    elif odd == b"a\rb":
        assert len(rows) == 2 * before + 52
    else:
        assert len(rows) == 2 * before + 51


def test_texts_keep_their_numbers_from_block_to_block_and_many_are_left_to_arrow(monkeypatch):
    monkeypatch.setattr(plain_csv, "BLOCK", 1 << 12)
    texts = [f"label {number:05d} {'x' * (number % 23)}" for number in range(6000)]
    rng = np.random.default_rng(3)
    chosen = [texts[at] for at in rng.integers(3000, size=20_000)]
    rows, _ = same_as_arrow("\n".join(["x", *chosen]).encode(), [0])
    assert [row for (row,) in rows] == chosen
    reader = CsvRows(io.BytesIO("\n".join(["x", *chosen]).encode()), "f.csv")
    sizes = [len(batch[0].dictionary) for batch in reader.batches([0], ())]
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(set(chosen))
    rows, _ = same_as_arrow("\n".join(["x", *chosen, *texts, *chosen]).encode(), [0])
    assert [row for (row,) in rows] == [*chosen, *texts, *chosen]


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\nab", "\r\n"])
@pytest.mark.parametrize("rows", [1, 90, 100, 101, 5000])
def test_batches_end_where_those_of_arrow_end(rows, ending, monkeypatch):
    """Draws that alternate between batches are then the same with a seed."""
    monkeypatch.setattr(plain_csv, "BLOCK", 1000)
    monkeypatch.setattr(csv_, "BLOCK", 1000)
    monkeypatch.setattr(csv_, "split_header", lambda stream, name: (stream.read(1), stream.read(1)))
    data = ("x\n" + "\n".join(["a", "bcd", "ef", "", "123456789"] * rows) + ending).encode()
    by_arrow = CsvRows(Stream(data), "f.csv")._batches_of_arrow([0], (), 0)
    lengths = [len(batch[0]) for batch in by_arrow]
    assert [len(batch[0]) for batch in CsvRows(Stream(data), "f.csv").batches([0], ())] == lengths
    assert (len(lengths) > 1) == (rows > 80)


def test_a_quote_is_counted_once_although_its_block_is_read_twice():
    _, error = same_as_arrow(b'x\na\n"b\n', [0])
    assert error[0] == "csv"
    assert csv_.QUOTE == b'"'
