"""The table of groups that invitations and the board's page read."""

from __future__ import annotations

import pandas as pd
import pytest

from builders import refused
from ldpopt.surveys.groups import Group, read_groups
from ldpopt.tables.csv_format import reading_csv_as

FIELDS = {"region": ("North", "South"), "weight": ()}


def written(tmp_path, text, name="strata.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_groups_are_read_in_their_order(tmp_path):
    path = written(tmp_path, "region,people,age\nSouth,20,old\nNorth,5,young\n")
    assert read_groups(path) == [
        Group(20, {"region": "South", "age": "old"}),
        Group(5, {"region": "North", "age": "young"}),
    ]
    assert read_groups(path)[0].name == "region South, age old"


def test_csv_needs_no_arrow(tmp_path, monkeypatch):
    import sys

    path = written(tmp_path, 'people,region\n7,"North, upper"\n')
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pyarrow", "pandas")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert read_groups(path) == [Group(7, {"region": "North, upper"})]


@pytest.mark.parametrize("ending", [".parquet", ".xlsx"])
def test_other_tables(tmp_path, ending):
    frame = pd.DataFrame({"people": [5, 12], "district": [1.0, 2.0]})
    path = str(tmp_path / f"strata{ending}")
    (frame.to_parquet if ending == ".parquet" else frame.to_excel)(path, index=False)
    assert read_groups(path) == [Group(5, {"district": "1"}), Group(12, {"district": "2"})]


def test_separator_and_encoding(tmp_path):
    path = written(tmp_path, "people;gebiet\n30;Köln\n", encoding="latin-1")
    with reading_csv_as(separator=";", encoding="latin-1"):
        assert read_groups(path) == [Group(30, {"gebiet": "Köln"})]


@pytest.mark.parametrize(
    "text, fields, code",
    [
        ("region,n\nNorth,5\n", None, "column"),
        ("people\n5\n", None, "no-field"),
        ("people,region\n", None, "group-count"),
        ("people,region\n5,North\n6,North\n", None, "repeated-group"),
        ("people,region\n0,North\n", None, "people"),
        ("people,region\n-4,North\n", None, "people"),
        ("people,region\n4.5,North\n", None, "people"),
        ("people,region\n1e3,North\n", None, "people"),
        ("people,region\n,North\n", None, "people"),
        ("people,region\n5,\n", None, "missing-entry"),
        ("people,region\n5,North,x\n", None, "fields"),
        ('people,region\n5,"North\n', None, "csv"),
        ("people;region\n5;North\n", None, "column"),
        ("people,region,people\n5,North,5\n", None, "duplicate-column"),
        ("people,region,age\n5,North,1\n", FIELDS, "unknown-field"),
        ("people,region\n5,North\n", FIELDS, "missing-field"),
        ("people,region,weight\n5,East,1\n", FIELDS, "field-label"),
        ("people,region,weight\n5,North,1,5\n", FIELDS, "fields"),
        ("people,region,weight\n5,North,x\n", FIELDS, "group-weight"),
        ("people,region,weight\n5,North,0\n", FIELDS, "group-weight"),
        ("people,region,weight\n5,North,1.00000000001\n", FIELDS, "group-weight"),
    ],
)
def test_refused(tmp_path, text, fields, code):
    with refused(code):
        read_groups(written(tmp_path, text), fields)
