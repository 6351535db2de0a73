"""Tables of Excel, Stata and SPSS, with value labels; a reader that is not installed is one
line."""

from __future__ import annotations

import importlib.util

import pandas as pd
import pytest

from builders import refused
from ldpopt.errors import ModelFileError
from ldpopt.tables.files import reading

NEEDS = {"xlsx": "openpyxl", "sav": "pyreadstat", "dta": "pandas"}


@pytest.mark.parametrize("ending", NEEDS)
def test_texts_that_look_like_numbers_stay_as_they_are(ending, tmp_path):
    pytest.importorskip(NEEDS[ending])
    path = tmp_path / f"a.{ending}"
    table = pd.DataFrame({"id": ["007", "7", "1.0"], "version": [1.0, 2.0, 3.0]})
    labels = {"version": {1: "v1.0", 2: "v2.0"}}
    if ending == "dta":
        table.to_stata(path, write_index=False, value_labels=labels)
    elif ending == "sav":
        importlib.import_module("pyreadstat").write_sav(
            table, str(path), variable_value_labels=labels
        )
    else:
        table.assign(version=["v1.0", "v2.0", 3.0]).to_excel(path, index=False)
    with reading(str(path)) as rows:
        (batch,) = rows.batches([0, 1], [])
        assert [column.to_pylist() for column in batch] == [
            ["007", "7", "1.0"],
            ["v1.0", "v2.0", "3"],
        ]


@pytest.mark.parametrize("first", [[], [["about this file"]]])
def test_the_only_sheet_with_entries_is_read(first, tmp_path):
    pytest.importorskip("openpyxl")
    path = str(tmp_path / "a.xlsx")
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(first).to_excel(book, sheet_name="about", index=False, header=False)
        pd.DataFrame({"q": ["no", "yes"]}).to_excel(book, sheet_name="data", index=False)
    if first:
        with refused("several-sheets", ModelFileError), reading(path):
            pass
        return
    with reading(path) as rows:
        assert rows.columns == ["q"]
