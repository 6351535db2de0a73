"""Files record their origin: mechanisms their notion and digest, reports the mechanism that drew
them."""

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
    GraphDP,
    Mechanism,
    Problem,
    PureLDP,
    SecretKey,
    Survey,
    __version__,
    solve,
)
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
OTHER = Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"])
SURVEY = Survey({"a": COIN, "b": Question(OTHER, "leave_out")})
FRAME = pd.DataFrame(
    {"a": ["no", "yes"] * 50, "b": ["yes", None] * 50, "age": range(100), "id": range(100)}
)


def test_a_mechanism_file_names_title_notion_budget_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    COIN.save(path, title="a coin", privacy=PureLDP("log(3)"))
    data = json.loads(path.read_text())
    found = {key: data[key] for key in ("title", "delta", "digest", "made_by")}
    assert found == {
        "title": "a coin",
        "delta": 0.0,
        "digest": COIN.digest,
        "made_by": f"ldpopt {__version__}",
    }
    assert math.log(3) <= data["epsilon"] < math.log(3) + 1e-12
    assert "log(3)" in data["notion"]
    assert Mechanism.load(path) == COIN
    Mechanism([[1.0, 0.0], [0.5, 0.5]]).save(path)
    assert json.loads(path.read_text())["epsilon"] is None  # no budget is large enough


def test_a_mechanism_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    COIN.save(path)
    path.write_text(path.read_text().replace("0.75", "0.5").replace("0.25", "0.5"))
    with refused("digest", ModelFileError):
        Mechanism.load(path)


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


def test_a_graph_notion_is_named(tmp_path: Path) -> None:
    import networkx as nx

    problem = Problem([0.2, 0.3, 0.5], "identity", GraphDP(1.0, nx.path_graph(3)))
    solve(problem).mechanism.save(tmp_path / "m.json", privacy=problem.privacy)
    assert json.loads((tmp_path / "m.json").read_text())["notion"]
