"""Surveys, counts, folders and commands that are given reports in place of answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import cli_json, refused, run_cli
from ldpopt import (
    Counts,
    Mechanism,
    PureLDP,
    Survey,
    Workload,
    count_folder,
    design,
    estimate_frequencies,
    privatize_folder,
)
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question
from ldpopt.tables.origin import lacks_origin, read_origin
from reported_files import ALREADY, COIN, ENDINGS, answers, reported_file, write

FRESH = Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"])
SURVEY = Survey({"a": COIN, "b": COIN})


@pytest.fixture(params=ENDINGS)
def reports(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return reported_file(tmp_path, request.param)


def test_a_second_time_is_refused_and_leaves_nothing(reports: Path) -> None:
    twice = reports.with_name("twice" + reports.suffix)
    ways: tuple[Callable[..., Any], ...] = (
        lambda **how: privatize_file(reports, twice, {"a": Question(COIN)}, **how),
        lambda **how: SURVEY.privatize_file(reports, twice, **how),
    )
    for way in ways:
        with pytest.raises(ModelFileError, match=ALREADY) as caught:
            way()
        assert "again=True" in str(caught.value)
        assert not twice.exists()
        assert way(again=True) == 200
        for path in reports.parent.glob("twice*"):
            path.unlink()


def test_commands_refuse_reports_too(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reports.parent)
    COIN.save("coin.json")
    SURVEY.save("survey.json")
    for command in (
        ["privatize", "coin.json", reports.name, "-c", "a"],
        ["survey", "privatize", "survey.json", reports.name],
    ):
        found = run_cli(*command, "-o", "twice.csv")
        assert (found.exit_code, Path("twice.csv").exists()) == (2, False)
        assert ALREADY in found.stderr
        assert "--again" in found.stderr
        assert run_cli(*command, "-o", "twice.csv", "--again").exit_code == 0
        Path("twice.csv").unlink()


def test_a_raw_column_beside_reports_is_privatized_and_the_reports_stay_what_they_are(
    reports: Path,
) -> None:
    both, end = (reports.with_name(name + reports.suffix) for name in ("both", "end"))
    privatize_file(reports, both, {"b": Question(FRESH)}, keep=["a", "age"], rng=2)
    origin = read_origin(str(both)) or {}
    digests = {name: entry["digest"] for name, entry in origin["questions"].items()}
    assert digests == {"a": COIN.digest, "b": FRESH.digest}
    assert origin["unprotected"] == ["age"]
    assert origin["epsilon"] == pytest.approx(np.log(3) + np.log(1.5))
    assert origin["epsilon"] >= COIN.audit().epsilon + FRESH.audit().epsilon
    assert (
        Counts.of(COIN, both, column="a").n_reports
        == Counts.of(FRESH, both, column="b").n_reports
        == 200
    )
    for column in ("a", "b"):
        with pytest.raises(ModelFileError, match=f"'{column}'"):
            privatize_file(both, end, {column: Question(COIN)})
    with refused("copied-column", ModelFileError):
        Counts.of(COIN, both, column="age")


def test_both_layers_are_needed_to_estimate(reports: Path) -> None:
    many = reports.with_name("many" + reports.suffix)
    write(many, pd.DataFrame({"a": ["yes"] * 9000 + ["no"] * 1000}))
    one, two = (reports.with_name(name + reports.suffix) for name in ("one", "two"))
    privatize_file(many, one, {"a": Question(COIN)}, rng=3)
    privatize_file(one, two, {"a": Question(FRESH)}, rng=4, again=True)
    for layer in (COIN, FRESH):
        with refused("layers", ModelFileError) as caught:
            Counts.of(layer, two, column="a")
        assert "2 times" in str(caught.value)
    whole = COIN.then(FRESH)
    found = estimate_frequencies(whole, Counts.of(whole, two, column="a")).values
    assert found[1] == pytest.approx(0.9, abs=0.2)


def test_tables_of_arrow_carry_their_origin(tmp_path: Path) -> None:
    source = write(tmp_path / "in.parquet", answers())
    privatize_file(source, tmp_path / "rep.parquet", {"a": Question(COIN)}, keep=["b", "age"])
    table = pq.read_table(tmp_path / "rep.parquet")
    for call in (lambda: COIN.privatize(table, "a"), lambda: SURVEY.privatize(table)):
        with pytest.raises(ModelFileError, match=ALREADY):
            call()
    assert (
        COIN.privatize(table, "a", again=True).num_rows
        == SURVEY.privatize(table, again=True).num_rows
        == 200
    )
    both = COIN.privatize(table, "b")
    with pytest.raises(ModelFileError, match="'b'"):
        COIN.privatize(both, "b")
    pq.write_table(both, tmp_path / "both.parquet")
    assert Counts.of(COIN, tmp_path / "both.parquet", column="a").n_reports == 200
    assert Counts.of(COIN, tmp_path / "both.parquet", column="b").n_reports == 200
    first = COIN.privatize(pa.table(answers()), "a")
    with pytest.raises(ModelFileError, match=ALREADY):
        COIN.privatize(first, "a")


def test_frames_of_pandas_carry_their_origin(tmp_path: Path) -> None:
    reports = COIN.privatize(answers(), "a")
    reports.to_parquet(tmp_path / "rep.parquet")
    for table in (
        reports,
        reports[:10].copy(),
        pd.concat([reports, reports]),
        pd.read_parquet(tmp_path / "rep.parquet"),
    ):
        for call in (lambda one: COIN.privatize(one, "a"), SURVEY.privatize):
            with pytest.raises(ModelFileError, match=ALREADY):
                call(table)
    with pytest.raises(ModelFileError, match=r"'c' .* 'a'"):
        COIN.privatize(reports.rename(columns={"a": "c"}), "c")
    assert len(COIN.privatize(reports, "a", again=True)) == len(COIN.privatize(reports, "b")) == 200
    assert not answers().attrs


def test_sets_of_answers_carry_their_origin(tmp_path: Path) -> None:
    best = design(Workload.frequencies(list("abcdef")), PureLDP(1.0))
    survey = Survey({"a": best})
    source = write(tmp_path / "in.csv", pd.DataFrame({"a": list("abcdef")}))
    survey.privatize_file(source, tmp_path / "rep.csv")
    with pytest.raises(ModelFileError, match=ALREADY):
        survey.privatize_file(tmp_path / "rep.csv", tmp_path / "twice.csv")


def test_folders(tmp_path: Path) -> None:
    source, first, second = (tmp_path / name for name in ("in", "rep", "twice"))
    source.mkdir()
    for place in range(2):
        write(source / f"{place}.parquet", answers().assign(place=place))
    privatize_folder(source, first, {"a": COIN}, keep=["b"])
    with pytest.raises(ModelFileError, match=ALREADY):
        privatize_folder(first, second, {"a": COIN})
    assert not second.exists()
    assert privatize_folder(first, second, {"b": COIN}, keep=["a"]) == 400
    # what is finished is known again
    assert privatize_folder(first, second, {"b": COIN}, keep=["a"]) == 400
    assert {
        name: one.n_reports for name, one in count_folder(second, {"a": COIN, "b": COIN}).items()
    } == {
        "a": 400,
        "b": 400,
    }
    assert privatize_folder(first, tmp_path / "again", {"a": COIN}, again=True) == 400
    COIN.save(tmp_path / "coin.json")
    command = ("privatize", tmp_path / "coin.json", first, "-c", "a", "-o", tmp_path / "cli")
    assert ALREADY in run_cli(*command).stderr
    assert run_cli(*command, "--again").exit_code == 0
    found = cli_json("estimate", tmp_path / "coin.json", first, "-c", "a")
    assert (found["n_reports"], found["origin_known"]) == (400, True)
    assert lacks_origin(str(source))
