"""Files of reports name their mechanisms and the budget of a person; others are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from builders import refused, run_cli
from ldpopt import (
    Counts,
    Mechanism,
    SecretKey,
    Survey,
)
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
OTHER = Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"])
SURVEY = Survey({"a": COIN, "b": Question(OTHER, "leave_out")})
FRAME = pd.DataFrame(
    {"a": ["no", "yes"] * 50, "b": ["yes", None] * 50, "age": range(100), "id": range(100)}
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_reports_carry_their_mechanisms_and_the_budget_of_a_person(
    tmp_path: Path, ending: str
) -> None:
    source = tmp_path / f"in.{ending}"
    target = tmp_path / f"out.{ending}"
    getattr(FRAME, f"to_{ending}")(source, index=False)
    SURVEY.privatize_file(source, target, keep=["age"], key=SecretKey(bytes(32)), id="id")
    beside = tmp_path / "out.csv.origin.json"
    text = beside.read_text() if ending == "csv" else pq.read_metadata(target).metadata[b"ldpopt"]
    origin = json.loads(text)
    assert origin["epsilon"] == pytest.approx(math.log(3) + math.log(1.5))
    assert origin["questions"]["b"] == {
        "digest": OTHER.digest,
        "epsilon": OTHER.audit().epsilon,
        "missing": "leave_out",
    }
    assert (origin["unprotected"], origin["key"]) == (["age"], SecretKey(bytes(32)).name)
    assert SURVEY.estimate(target)["a"].n_reports == 100
    for column, mechanism, code in (
        ("a", OTHER, "other-mechanism"),
        ("age", COIN, "copied-column"),
    ):
        with refused(code, ModelFileError):
            Counts.of(mechanism, target, column=column)


def test_a_csv_file_without_origin_is_read_and_a_new_one_replaces_it(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    target = tmp_path / "out.csv"
    beside = tmp_path / "out.csv.origin.json"
    Survey({"a": COIN}).privatize_file(tmp_path / "in.csv", target)
    Survey({"a": OTHER}).privatize_file(tmp_path / "in.csv", target)
    assert Counts.of(OTHER, target, column="a").n_reports == 100
    beside.write_text("{}")
    with pytest.raises(ModelFileError, match="has another format"):
        Counts.of(OTHER, target, column="a")
    beside.unlink()
    assert Counts.of(COIN, target, column="a").n_reports == 100


def test_a_table_that_was_written_anew_is_refused_with_the_origin_to_remove(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    target = tmp_path / "out.csv"
    beside = tmp_path / "out.csv.origin.json"
    Survey({"a": COIN}).privatize_file(tmp_path / "in.csv", target)
    Survey({"a": OTHER, "b": OTHER}).privatize(FRAME[["a"]].assign(b="no")).to_csv(target)
    for column in ("a", "b"):
        with pytest.raises(ModelFileError) as caught:
            Counts.of(OTHER, target, column=column)
        assert str(beside) in caught.value.do
    beside.unlink()
    assert Counts.of(OTHER, target, column="b").n_reports == 100
    Survey({"a": COIN}).privatize_file(tmp_path / "in.csv", tmp_path / "out.parquet")
    with refused("other-mechanism", ModelFileError) as inside:
        Counts.of(OTHER, tmp_path / "out.parquet", column="a")
    assert "origin.json" not in inside.value.do


def test_the_command_line_refuses_foreign_reports_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    COIN.save("coin.json")
    OTHER.save("other.json")
    FRAME.to_csv("in.csv", index=False)
    assert (
        run_cli("privatize", "coin.json", "in.csv", "-c", "a", "-o", "out.parquet").exit_code == 0
    )
    assert run_cli("estimate", "coin.json", "out.parquet", "-c", "a").exit_code == 0
    found = run_cli("estimate", "other.json", "out.parquet", "-c", "a")
    assert found.exit_code == 2
    assert "drawn by another mechanism" in found.stderr
    assert found.stderr.count("\n") == 1
