"""Sheets and labelled files on the command line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_output, run_cli
from ldpopt import Mechanism
from ldpopt.tables.files import reading

CODES = [0.0, 1.0, np.nan, 1.0]
LABELS = {0: "no", 1: "yes"}
NEEDS = {"xlsx": "openpyxl", "sav": "pyreadstat", "dta": "pandas"}


def write(path: Path) -> None:
    if path.suffix == ".dta":
        table = pd.DataFrame({"q": CODES, "age": [3.0, 4.0, 5.0, 6.0]})
        table.to_stata(path, write_index=False, value_labels={"q": LABELS})
    elif path.suffix == ".sav":
        table = pd.DataFrame({"q": CODES, "age": [3.0, 4.0, 5.0, 6.0]})
        importlib.import_module("pyreadstat").write_sav(
            table, str(path), variable_value_labels={"q": LABELS}
        )
    else:
        table = pd.DataFrame({"q": ["no", "yes", None, "yes"], "age": [3, 4, 5, 6]})
        table.to_excel(path, index=False)


@pytest.mark.parametrize("ending", NEEDS)
def test_value_labels_are_the_answers(ending, tmp_path, monkeypatch):
    pytest.importorskip(NEEDS[ending])
    monkeypatch.chdir(tmp_path)
    write(tmp_path / f"a.{ending}")
    with reading(f"a.{ending}") as rows:
        assert rows.columns == ["q", "age"]
        (batch,) = rows.batches([0], [1])
        assert [batch[0].to_pylist(), batch[1].to_pylist()] == [
            ["no", "yes", None, "yes"],
            [3, 4, 5, 6],
        ]
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    options = ["-c", "q", "--missing", "leave_out", "-o", "r.csv", "--keep", "age"]
    assert "4 reports" in cli_output("privatize", "coin.json", f"a.{ending}", *options)
    assert [
        line.split(",")[0] in ("no", "yes", "")
        for line in Path("r.csv").read_text().splitlines()[1:]
    ] == [True] * 4


def test_a_name_that_two_columns_of_a_sheet_have_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    pd.DataFrame([["no", "yes"], ["yes", "yes"]], columns=["q", "q"]).to_excel(
        "a.xlsx", index=False
    )
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    found = run_cli("privatize", "coin.json", "a.xlsx", "-c", "q", "-o", "r.csv")
    assert found.exit_code == 2
    assert "duplicate column 'q'" in found.stderr


@pytest.mark.parametrize("ending", NEEDS)
def test_a_missing_reader_and_a_broken_file_are_one_line(ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(f"a.{ending}").write_bytes(b"no table")
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    found = run_cli("privatize", "coin.json", f"a.{ending}", "-c", "q", "-o", "r.csv")
    is_there = importlib.util.find_spec(NEEDS[ending]) is not None
    words = f"a.{ending}" if is_there else NEEDS[ending]
    assert found.exit_code == 2
    assert words in found.stderr
    assert found.stderr.count("\n") == 1
    if not is_there:
        assert 'pip install "ldpopt[sheets]"' in found.stderr
