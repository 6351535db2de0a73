"""Differences, quantiles, tests and consistent tables on the command line: the same numbers as in
Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, run_cli
from ldpopt import Mechanism, PureLDP, Survey, Workload, design, fieldwork, plan_difference
from ldpopt.surveys.form import form_digest


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    coin = Mechanism([[0.8, 0.2], [0.2, 0.8]], inputs=["no", "yes"])
    stress = design(Workload.prefix(["low", "mid", "high"]), PureLDP(2.0))
    survey = Survey({"smokes": coin, "stress": stress})
    survey.save(folder / "survey.json")
    rng = np.random.default_rng(1)
    for name, shift in (("before", 0.0), ("after", 0.2)):
        region = rng.choice(["north", "south"], 800)
        share = np.where(region == "north", 0.5, 0.2) + shift
        answers = pd.DataFrame(
            {
                "smokes": np.where(rng.random(800) < share, "yes", "no"),
                "stress": rng.choice(["low", "mid", "high"], 800, p=[0.5, 0.3, 0.2]),
                "region": region,
            }
        )
        survey.privatize(answers, rng=2).to_csv(folder / f"{name}.csv", index=False)
    return folder


def estimate(files: Path, *options: str) -> list[str]:
    return ["survey", "estimate", str(files / "survey.json"), str(files / "after.csv"), *options]


def test_differences_of_groups(files: Path, tmp_path: Path) -> None:
    survey = Survey.load(files / "survey.json")
    found = survey.estimate(files / "after.csv", by="region").differences("south")
    data = cli_json(*estimate(files, "--by", "region", "--differences", "south", "--json", "-"))
    assert data["differences"] == found.entries()
    every = cli_json(*estimate(files, "--by", "region", "--differences", "all", "--json", "-"))
    assert {row["first"] for row in every["differences"]} == {"north"}
    table = tmp_path / "differences.csv"
    options = ["--by", "region", "--differences", "south", "-o", str(table)]
    text = cli_output(*estimate(files, *options))
    assert "north - south" in text
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["p"]) for row in rows] == [row["p"] for row in found.entries()]
    # the share up to the last answer is known: no row, and no test
    assert "<= high" not in {row["answer"] for row in rows}


def test_changes_between_waves(files: Path) -> None:
    options = ["--against", str(files / "before.csv"), "--json", "-"]
    data = cli_json(*estimate(files, *options))
    changes = {row["answer"]: row for row in data["differences"] if row["question"] == "smokes"}
    assert changes["yes"]["difference"] > 0.1
    assert changes["yes"]["p"] < 0.01
    assert "after - before" in cli_output(*estimate(files, *options[:2]))


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two waves of a survey as collectors keep them, each in its database."""
    folder = tmp_path_factory.mktemp("waves")
    coin = Mechanism([[0.8, 0.2], [0.2, 0.8]], inputs=["no", "yes"])
    for wave, report in ((1, "no"), (2, "yes")):
        survey = Survey({"smokes": coin}, words={"wave": wave, "waves": 2})
        survey.save(folder / f"{wave}.json")
        with fieldwork.Store(f"sqlite:///{folder / f'{wave}.db'}", survey) as store:
            told = {"form": form_digest(survey.form()), "words": survey.words_digest}
            for place in range(400):
                answer = report if place < 240 else {"no": "yes", "yes": "no"}[report]
                body = told | {"id": f"{place:032x}", "reports": {"smokes": answer}}
                assert store.add([store.reader.read(json.dumps(body).encode())]) == [True]
    return folder


def test_the_database_of_an_earlier_wave_is_compared_with(waves: Path) -> None:
    """Each wave has a form and a database of its own, as the page Fieldwork says."""
    urls = [f"sqlite:///{waves / f'{wave}.db'}" for wave in (1, 2)]
    both = [["survey", "estimate", waves / f"{wave}.json"] for wave in (1, 2)]
    data = cli_json(*both[1], urls[1], "--against", urls[0], "--json", "-")
    changes = {row["answer"]: row["difference"] for row in data["differences"]}
    assert changes["yes"] == pytest.approx((0.6 - 0.4) / 0.6)
    later = run_cli(*both[0], urls[0], "--against", urls[1])
    assert later.exit_code == 2
    assert "wave is 2, not 1" in later.stderr
    assert run_cli(*both[1], urls[0]).exit_code == 2  # the reports themselves are of this wave
    path = run_cli(*both[1], waves / "2.db")
    assert path.exit_code == 2
    assert urls[1] in path.stderr  # a path in place of an address


def test_quantiles(files: Path) -> None:
    data = cli_json(*estimate(files, "--quantile", "0.5", "--quantile", "0.9", "--json", "-"))
    found = {(row["question"], row["quantile"]): row for row in data["quantiles"]}
    assert found["stress", 0.9]["estimate"] == "high"
    assert found["stress", 0.5]["estimate"] in ("low", "mid")
    # nothing says that no is below yes
    assert {row["question"] for row in data["quantiles"]} == {"stress"}
    assert "quantiles" in cli_output(*estimate(files, "--by", "region", "--quantile", "0.5"))


def test_groups_are_tested(files: Path) -> None:
    survey = Survey.load(files / "survey.json")
    found = survey.estimate(files / "after.csv", by="region").independence("smokes")
    data = cli_json(*estimate(files, "--by", "region", "--test", "--json", "-"))
    assert data["tests"][0]["p"] == found.p_value
    assert data["tests"][0]["freedom"] == 1


def test_consistent_tables(files: Path) -> None:
    data = cli_json(*estimate(files, "--by", "region", "--consistent", "--json", "-"))
    rows = [row for row in data["estimates"] if row["question"] == "smokes"]
    assert all(0 <= row["estimate"] <= 1 for row in rows)


def test_values(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    arguments = ["survey", "values", files / "survey.json", files / "after.csv", "-o", path]
    data = cli_json(*arguments, "--json", "-")
    assert data["people"] == 800
    table = pd.read_csv(path)
    survey = Survey.load(files / "survey.json")
    pd.testing.assert_frame_equal(table, survey.values(files / "after.csv"), check_dtype=False)
    some = tmp_path / "some.csv"
    cli_output(*arguments[:-1], some, "--question", "smokes")
    assert list(pd.read_csv(some)) == ["smokes: no", "smokes: yes"]


@pytest.mark.parametrize(
    "options",
    [
        ["--differences", "south"],
        ["--test"],
        ["--consistent"],
        ["--by", "region", "--test", "--consistent"],
        ["--by", "region", "--against", "before.csv"],
        ["--by", "region", "--differences", "west"],
        ["--quantile", "1.5"],
        ["--pair", "smokes", "stress", "--quantile", "0.5"],
        ["--against", "nowhere.csv"],
    ],
)
def test_what_does_not_fit_is_refused(files: Path, options: list[str]) -> None:
    result = run_cli(*estimate(files, *options))
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
    assert "do:" in result.stderr


def test_a_wave_is_not_compared_with_itself(files: Path) -> None:
    assert run_cli(*estimate(files, "--against", str(files / "after.csv"))).exit_code == 2


def test_people_for_a_difference(files: Path) -> None:
    survey = files / "survey.json"
    data = cli_json("plan", survey, "--difference", "10%", "--power", "0.9", "--json", "-")
    coin = Survey.load(survey).questions["smokes"].source
    right = plan_difference(coin, 0.1, power=0.9)
    assert (data["groups"][0]["first"], data["groups"][0]["second"]) == right
    asked_one = files / "one.json"
    questions = Survey.load(survey).questions
    Survey(questions, scheme="one_question").save(asked_one)
    text = cli_json("plan", asked_one, "--difference", "10%", "--power", "0.9", "--json", "-")
    assert text["groups"][0]["first"] == 2 * right[0]
    assert "first group" in cli_output("plan", survey, "--difference", "0.1")
    alone = (
        ["0.1", "--half-width", "0.1"],
        ["0.1", "--confidence", "0.9"],
        ["0.1", "--simultaneous"],
    )
    for options in (["x"], ["2"], ["0.1", "--power", "1"], *alone):
        assert run_cli("plan", survey, "--difference", *options).exit_code in (1, 2)


def test_shares_may_be_percentages(files: Path) -> None:
    survey = str(files / "survey.json")
    asked = ["plan", survey, "--difference", "10%", "--json", "-"]
    percents = cli_json(*asked, "--power", "90%", "--level", "1%")
    assert percents == cli_json(*asked, "--power", "0.9", "--level", "0.01")
    assert cli_json(*asked, "--power", "80%", "--level", "5%") == cli_json(*asked)
    numbers = estimate(files, "--quantile", "0.9", "--confidence", "0.8", "--json", "-")
    same = estimate(files, "--quantile", "90%", "--confidence", "80%", "--json", "-")
    assert cli_json(*same) == cli_json(*numbers)
    assert run_cli(*asked, "--power", "much").exit_code == 2
