"""Files for SPSS and Stata: what is written is read again by pyreadstat, with names and labels as
these programs allow them."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt.tables.labels import FORMATS, variable_names
from ldpopt.tables.sheets import write_sheet

pyreadstat = pytest.importorskip("pyreadstat")
pytest.importorskip("pandas")

DAY = datetime.date(2027, 3, 31)
MOMENT = datetime.datetime(2027, 3, 31, 12, 30)
BYTES = {".sav": (256, 120), ".dta": (4 * 80, 32_000)}


def back(path: Any) -> tuple[Any, Any]:
    """The table and the labels of a file."""
    read = pyreadstat.read_sav if Path(path).suffix == ".sav" else pyreadstat.read_dta
    return read(str(path))


@pytest.fixture(params=sorted(FORMATS))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / f"table{request.param}")


def test_entries_of_every_kind(path: str) -> None:
    columns = {
        "code": [1, 2, None],
        "share": [0.25, math.nan, np.float64(0.5)],
        "exact": [Decimal("1.5"), None, 2],
        "flag": [True, None, False],
        "words": ["größer, ≥ 3", None, "no"],
        "day": [DAY, None, DAY],
        "moment": [MOMENT, None, MOMENT],
        "mixed": [1, "one", None],
        "id": [2**60 + 1, 5, None],
        "none": [None, None, None],
    }
    write_sheet(path, columns)
    frame, _ = back(path)
    assert list(frame) == list(columns)
    missing = {name: frame[name].isna().tolist() for name in frame}
    for name in ("code", "flag"):
        assert [x for x in frame[name].tolist() if x == x] == [
            float(x) for x in columns[name] if x is not None
        ]
        assert missing[name] == [x is None for x in columns[name]]
    assert frame["share"].tolist()[::2] == [0.25, 0.5]
    assert missing["share"] == [False, True, False]
    assert frame["exact"].tolist()[::2] == [1.5, 2.0]
    assert frame["words"].tolist() == ["größer, ≥ 3", "", "no"]
    assert frame["mixed"].tolist() == ["1", "one", ""]
    assert frame["id"].tolist() == [str(2**60 + 1), "5", ""]
    assert frame["day"].tolist()[::2] == [DAY, DAY]
    assert frame["moment"].tolist()[::2] == [MOMENT, MOMENT]
    assert missing["none"] == [True] * 3


def test_infinite_numbers_are_missing_and_the_label_says_so(path: str) -> None:
    write_sheet(path, {"times": [2.0, math.inf, 1e308], "n": [1, 2, 3]}, {"times": "how often"})
    frame, meta = back(path)
    assert frame["times"].isna().tolist() == [False, True, True]
    assert meta.column_names_to_labels["times"] == "(missing: infinite) how often"


def test_an_empty_table_has_its_columns(path: str) -> None:
    write_sheet(path, {"q": [], "region": []}, {"q": "a"}, {"q": {1: "no", 2: "yes"}})
    frame, meta = back(path)
    assert frame.shape == (0, 2)
    assert dict(meta.variable_value_labels["q"]) == {1: "no", 2: "yes"}


def test_names_are_those_that_both_programs_take(path: str) -> None:
    wanted = ["joint report", "joint_report", "JOINT.REPORT", "a" * 40, "a" * 40 + "b", "with"]
    wanted += ["1st", "_n", "str8", "größe", "GRÖSSE", "", "ö" * 30, "€", "all", "使用", "ALL_2"]
    names = write_sheet(
        path,
        {name: [1, 2] for name in wanted},
        {},
        {name: {1: "x", 2: "y"} for name in wanted},
    )
    frame, meta = back(path)
    assert list(frame) == [names[name] for name in wanted]
    assert len({name.casefold() for name in frame}) == len(wanted)
    for name in frame:
        assert len(name.encode()) <= 32
        assert name[0].isalpha()
        assert all(sign.isalnum() or sign == "_" for sign in name)
        assert name.lower() not in ("with", "all", "str8", "by")
        assert dict(meta.variable_value_labels[name]) == {1: "x", 2: "y"}
    assert names["größe"] == "größe"
    assert meta.column_names_to_labels[names["joint report"]] == "joint report"


def test_labels_are_cut_and_stay_different(path: str) -> None:
    """.sav cuts labels without a word, .dta refuses them."""
    ending = Path(path).suffix
    start = "RANDOM REPORT, not the answer: "
    labels = {name: f"{start}{'a very long question ' * 30}{name}" for name in "abc"}
    values = {name: {k: "größer " * 60 + str(k) for k in range(1, 13)} for name in "abc"}
    write_sheet(path, {name: [1, 12] for name in "abc"}, labels, values, "a title " * 40)
    _, meta = back(path)
    variable, value = BYTES[ending]
    written = list(meta.column_names_to_labels.values())
    assert len(set(written)) == 3
    assert all(text.startswith(start) and len(text.encode()) <= variable for text in written)
    assert ending == ".sav" or max(map(len, written)) <= 80
    for codes in meta.variable_value_labels.values():
        assert len(set(codes.values())) == 12
        assert all(len(text.encode()) <= value for text in codes.values())
        assert all(text.startswith("größer größer") for text in codes.values())
    assert meta.file_label.startswith("a title a title")


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=70)


@cases(30)
@given(
    st.lists(TEXTS, min_size=1, max_size=6, unique=True),
    st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6),
    st.sampled_from(sorted(FORMATS)),
)
def test_any_names_and_labels(tmp_path_factory, wanted, texts, ending) -> None:
    path = str(tmp_path_factory.mktemp("labels") / f"t{ending}")
    values = dict(enumerate(texts, 1))
    names = write_sheet(
        path,
        {name: list(values) for name in wanted},
        dict.fromkeys(wanted, texts[0]),
        dict.fromkeys(wanted, values),
        texts[-1],
    )
    frame, meta = back(path)
    assert list(frame) == list(names.values())
    for name in frame:
        assert frame[name].tolist() == list(values)
        assert len(set(meta.variable_value_labels[name].values())) == len(texts)


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ""])
def test_other_endings_are_refused(tmp_path: Path, ending: str) -> None:
    with refused("sheet-kind"):
        write_sheet(str(tmp_path / f"t{ending}"), {"a": [1]})


def test_a_table_without_columns_is_refused(path: str) -> None:
    with refused("sheet-kind"):
        write_sheet(path, {})


def test_a_file_that_cannot_be_written_leaves_the_old_one(path: str) -> None:
    write_sheet(path, {"a": [1]})
    before = Path(path).read_bytes()
    with refused("sheet-entry"):
        write_sheet(path, {"a": ["half a character: \ud800"]})
    assert Path(path).read_bytes() == before


def test_cut_names_are_numbered_within_the_length() -> None:
    names = variable_names([f"{'x' * 50}{k}" for k in range(120)], 31)
    assert len({name.lower() for name in names.values()}) == 120
    assert max(map(len, names.values())) == 31
