"""Tables in files: what csv of the standard library and pandas read and write, in batches;
everything else refused."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Mechanism
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question
from ldpopt.tables import csv_
from ldpopt.tables.coding import MISSING, UNKNOWN, Coder, label_column
from ldpopt.tables.files import (
    PARQUET_ENDINGS,
    SHEETS,
    kind_of,
    position_of,
    reading,
    require_other_file,
    writing,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


def rows_of(path, *columns):
    """All rows of the columns, as texts or values."""
    with reading(str(path)) as table:
        places = [position_of(table, column) for column in columns]
        batches = [
            [part.to_pylist() for part in batch] for batch in table.batches(places[:1], places[1:])
        ]
    return [list(row) for batch in batches for row in zip(*batch, strict=True)]


@cases(60)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(3, 40),
)
def test_csv_is_read_as_the_standard_library_reads_it(tmp_path_factory, rows, end, step):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
            [("a", "b,c"), *rows]
        )
    assert rows_of(path, "b,c", "a") == [[two, one] for one, two in rows]


@cases(60)
@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=6), st.booleans())
def test_csv_is_written_as_the_standard_library_writes_it(rows, alone):
    rows = [row[:1] for row in rows] if alone else rows
    plain = io.StringIO()
    csv.writer(plain, lineterminator="\n").writerows(rows)
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    written = csv_.as_csv(columns or [pa.array([], pa.string())]).decode()
    assert list(csv.reader(io.StringIO(written, newline=""))) == rows
    if not any(mark in cell for row in rows for cell in row for mark in "\r #"):
        assert written == plain.getvalue()


def test_many_blocks_are_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_, "BLOCK", 64)
    rows = [[f"label {k % 7}", f'say "{k}"\nand, more'] for k in range(500)]
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["a", "b"], *rows])
    assert rows_of(path, "a", "b") == rows


@pytest.mark.parametrize(
    "text", ["a\nx\ny\n", "a\nx\ny", "a\r\nx\r\ny\r\n\r\n\n", "\ufeffa\nx\ny\n", 'a\nx\n"y"\n\n']
)
def test_ends_of_lines_and_files(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    assert rows_of(path, "a") == [["x"], ["y"]]


@pytest.mark.parametrize("text", ["a", "a\n", "a\n\n\n", "a,b", '"a"\r\n'])
def test_a_header_alone_has_no_rows(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, newline="")
    assert rows_of(path, "a") == []


BAD = {
    "no header": ("", "empty-table"),
    "too few fields": ("a,b\n1,2\n1\n", "fields", "1 fields", "header 2", "row 3"),
    "too many fields": ("a,b\n1,2\n1,2,3\n", "fields", "3 fields", "header 2", "row 3"),
    "an open quote in the last column": ('a,b\n1,"2\n3,4\n', "csv", "quotation mark"),
    "semicolons": ("a;b\n1;2\n", "column", "';' between names"),
    "tabs": ("a\tb\n1\t2\n", "column", "between names"),
    "another case": ("A,b\n1,2\n", "column", "'a'", "columns are A, b"),
    "a column twice": ("a,a\n1,2\n", "duplicate-column", "'a': 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_csv_is_refused_with_its_place(tmp_path, name):
    text, code, *words = BAD[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    with refused(code, ModelFileError) as caught:
        rows_of(path, "a", "a") if name == "an open quote in the last column" else rows_of(
            path, "a"
        )
    assert all(word in str(caught.value) for word in words)


def test_text_that_is_not_utf8_is_refused_with_its_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\nx,1\nn\xf6,2\n")
    with refused("csv", ModelFileError) as caught:
        rows_of(path, "a")
    assert "row 3" in str(caught.value)


def test_kinds_by_ending(tmp_path):
    assert [kind_of(name) for name in ("a.CSV", "a", "-", "a.pq", "a.txt")] == [
        "csv",
        "csv",
        "csv",
        "parquet",
        "csv",
    ]
    with refused("ending", ModelFileError) as caught:
        kind_of("answers.xlsx")
    assert "'.xlsx'" in str(caught.value)
    path = tmp_path / "table.csv"
    pq.write_table(pa.table({"a": ["x"]}), path)
    with refused("parquet", ModelFileError):
        rows_of(path, "a")
    (tmp_path / "b.parquet").write_text("a\nx\n")
    with refused("parquet", ModelFileError):
        rows_of(tmp_path / "b.parquet", "a")


def test_the_same_file_under_another_name_is_found(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n")
    (tmp_path / "link.csv").hardlink_to(path)
    for target in (path, tmp_path / "." / "a.csv", tmp_path / "link.csv"):
        with refused("same-file", ModelFileError):
            require_other_file(str(path), str(target))
    require_other_file(str(path), str(tmp_path / "b.csv"))


def test_parquet_keeps_types_of_other_columns(tmp_path):
    times = pd.date_range("2026-01-01", periods=3, tz="Europe/Berlin")
    frame = pd.DataFrame({"a": ["x", "y", "x"], "t": times, "n": [1.5, None, 2.0]})
    frame.to_parquet(tmp_path / "in.parquet")
    with reading(str(tmp_path / "in.parquet")) as table:
        places = [position_of(table, column) for column in ("a", "t", "n")]
        with writing(str(tmp_path / "out.parquet"), table.fields(places)) as write:
            for batch in table.batches(places[:1], places[1:]):
                write([batch[0].cast(table.fields(places[:1])[0].type), *batch[1:]])
    back = pq.read_table(tmp_path / "out.parquet")
    assert back.schema.field("t").type == pq.read_schema(tmp_path / "in.parquet").field("t").type
    assert back.to_pandas()["t"].tolist() == frame["t"].tolist()


def test_codes():
    coder = Coder(["no", "yes"], "answer")
    assert coder.codes(pa.array(["yes", None, "no"]), "here").tolist() == [1, MISSING, 0]
    category = pa.array(["yes", "no"]).dictionary_encode()
    unused = pa.DictionaryArray.from_arrays(category.indices, pa.array(["yes", "no", "never used"]))
    assert coder.codes(unused, "here").tolist() == [1, 0]
    with refused("unknown-label") as caught:
        coder.codes(pa.array(["no", "yes", "NO"]), "here", 10)
    assert caught.value.where == "here, row 12"
    assert "known: no, yes" in caught.value.do
    with refused("unknown-label"):
        coder.codes(pa.array(["NA"]), "here")
    assert (
        Coder(["no", "yes"], "answer", as_text=True).codes(pa.array(["NA", ""]), "here").tolist()
        == [MISSING] * 2
    )
    assert Coder(["NA", ""], "answer", as_text=True).codes(
        pa.array(["NA", ""]), "here"
    ).tolist() == [0, 1]
    assert Coder([1, 2.5], "answer").codes(pa.array([2.5, 1.0, np.nan]), "here").tolist() == [
        1,
        0,
        MISSING,
    ]
    for nested in ([{"a": 1}], [["a"]]):
        with refused("entry-type"):
            coder.codes(pa.array(nested), "here")
    with refused("same-text", ModelFileError) as caught:
        Coder([1, "1"], "answer", as_text=True)
    assert "'1'" in str(caught.value)


def test_columns_of_labels_have_their_own_type():
    assert [
        label_column(labels).type for labels in (["a"], [1], [0.5], [True], [1, "a"], [("a",)])
    ] == [*(pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.string())]


def test_a_folder_is_neither_read_nor_written_as_a_table(tmp_path):
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    pd.DataFrame({"a": ["no", "yes"]}).to_csv(tmp_path / "in.csv", index=False)
    for name in ("folder", "folder.parquet"):
        (tmp_path / name).mkdir()
        with refused("folder", ModelFileError):
            privatize_file(tmp_path / "in.csv", tmp_path / name, {"a": Question(coin)})
        with refused("folder", ModelFileError):
            privatize_file(tmp_path / name, tmp_path / "out.csv", {"a": Question(coin)})
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("ending", [".xls", ".ods", ".csv.zst", ".tsv", ".feather"])
def test_a_refused_ending_is_told_all_that_are_known(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"")
    with refused("ending", ModelFileError) as caught, reading(str(path)):
        pass
    assert all(known in caught.value.do for known in (".csv", *SHEETS, *PARQUET_ENDINGS))
    with refused("ending", ModelFileError) as caught:
        kind_of(str(path))
    assert not any(known in caught.value.do for known in SHEETS)
    for known in re.findall(r"\.\w+", caught.value.do):
        assert kind_of(f"a{known}") in ("csv", "parquet")


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ([1, 2, 3], ["1", "2.0", "3.00", "", "1.5", "01", "1e0", "4.0"]),
        (["1", "2", "3"], ["1", "2", "3", "", "2.0", "01", "1e0", "3.00"]),
        ([1.0, 2.0, 3.0], ["1", "2.0", "3.00", "", "1.5", "01", "1e0", "4.0"]),
        ([1, "1.0", 3], ["1", "1.0", "3.00", "", "2.0", "01", "1e0", "4.0"]),
        ([-1, 0.5, 10], ["-1.0", "0.50", "10.0", "", "0", "-01", "1e1", "1.0"]),
    ],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_text_is_the_label_of_its_number(labels, texts, as_text):
    coder = Coder(labels, "answer", as_text=as_text)
    empty = MISSING if as_text else UNKNOWN
    assert [*map(coder.code, texts)] == [0, 1, 2, empty, *[UNKNOWN] * 4]


def test_a_column_of_numbers_with_missing_entries_is_read(tmp_path):
    three = Mechanism(np.eye(3), [1, 2, 3])
    path = tmp_path / "a.csv"
    pd.DataFrame({"q": [1.0, 2.0, np.nan, 3.0], "p": 0}).to_csv(path, index=False)
    assert "1.0" in path.read_text()
    target = tmp_path / "r.csv"
    privatize_file(str(path), str(target), {"q": Question(three, "leave_out")})
    assert pd.read_csv(target)["q"].tolist()[:2] == [1.0, 2.0]
