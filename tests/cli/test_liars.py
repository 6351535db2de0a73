"""Influence and liars on the command line and on pages: the same numbers as in Python, and every
printer says that intervals are widened."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, run_cli
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.estimation.influence import people_text

WIDER = "widened by what 2 % of liars"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    coin = Mechanism([[0.8, 0.2], [0.2, 0.8]], inputs=["no", "yes"])
    coin.save(folder / "coin.json")
    stress = design(Workload.prefix(["low", "mid", "high"]), PureLDP(2.0))
    survey = Survey({"smokes": coin, "stress": stress})
    survey.save(folder / "survey.json")
    rng = np.random.default_rng(1)
    answers = pd.DataFrame(
        {
            "smokes": rng.choice(["no", "yes"], 800),
            "stress": rng.choice(["low", "mid", "high"], 800),
            "region": rng.choice(["north", "south"], 800),
        }
    )
    survey.privatize(answers, rng=2).to_csv(folder / "reports.csv", index=False)
    return folder


def test_estimates_of_a_survey_allow_for_liars(files: Path, tmp_path: Path) -> None:
    survey = Survey.load(files / "survey.json")
    reports = str(files / "reports.csv")
    wide = survey.estimate(reports, by="region", liars=0.02)
    call = ["survey", "estimate", str(files / "survey.json"), reports, "--by", "region"]
    data = cli_json(*call, "--liars", "2%", "--json", "-")
    assert data["estimates"] == wide.entries()
    assert data["liars"] == 0.02
    assert cli_json(*call, "--json", "-")["liars"] == 0.0
    table = tmp_path / "estimates.csv"
    text = " ".join(cli_output(*call, "--liars", ".02", "-o", str(table)).split())
    assert f"{WIDER} of each group" in text
    with table.open() as stream:
        assert {row["liars"] for row in csv.DictReader(stream)} == {"0.02"}
    text = " ".join(cli_output(*call, "--liars", ".02", "--differences", "south").split())
    assert f"{WIDER} of each group" in text
    assert "takes all reports as true" in text
    assert "widened" not in cli_output(*call)
    for options in (["--test"], ["--quantile", ".5"]):
        failed = run_cli(*call, "--liars", ".02", *options)
        assert failed.exit_code
        assert "all reports as true" in " ".join(failed.stderr.split())
    assert run_cli(*call, "--liars", "1.5").exit_code


def test_estimates_of_a_mechanism_allow_for_liars(files: Path, tmp_path: Path) -> None:
    call = ["estimate", str(files / "coin.json"), str(files / "reports.csv")]
    call += ["--column", "smokes", "--liars", ".02"]
    table = tmp_path / "estimates.csv"
    text = " ".join(cli_output(*call, "-o", str(table)).split())
    assert f"{WIDER} can do" in text
    with table.open() as stream:
        assert {row["liars"] for row in csv.DictReader(stream)} == {"0.02"}
    failed = run_cli(*call, "--method", "maximum_likelihood")
    assert failed.exit_code
    assert "inversion" in failed.stderr


def test_every_page_prints_its_own_influence(files: Path, tmp_path: Path) -> None:
    survey = Survey.load(files / "survey.json")
    most = {name: survey.influence(name).most_people for name in survey.questions}
    data = cli_json("survey", "check", str(files / "survey.json"), "--json", "-")
    assert {row["question"]: row["influence"] for row in data["questions"]} == most
    assert "influence" in cli_output("survey", "check", str(files / "survey.json"))
    page = tmp_path / "report.html"
    cli_output("survey", "report", str(files / "survey.json"), "-o", str(page))
    text = page.read_text(encoding="utf-8")
    for name, people in most.items():
        assert f"{name} {people_text(people)}" in text
    form = tmp_path / "form.html"
    printed = cli_output("survey", "form", str(files / "survey.json"), "-o", str(form))
    assert people_text(max(most.values())) in printed


def test_a_model_prints_the_influence_of_its_design_and_the_least_one(tmp_path: Path) -> None:
    model = tmp_path / "model.toml"
    model.write_text(
        'title = "Four"\n[alphabet]\ninputs = ["a", "b", "c", "d"]\n[workload]\n'
        'kind = "frequencies"\n[privacy]\nkind = "pure"\nepsilon = 1.0\n'
    )
    best = design(Workload.frequencies(["a", "b", "c", "d"]), PureLDP(1.0))
    data = cli_json("design", str(model), "--json", "-")
    assert data["influence"] == pytest.approx(best.influence.most_people)
    assert "up to 2.75 people" in cli_output("design", str(model))
    checked = cli_json("check", str(model), "--json", "-")
    assert checked["workload"]["least_influence"] == pytest.approx(0.5 + 0.5 / np.tanh(0.5))
    assert "1.58 people or more" in " ".join(cli_output("check", str(model)).split())
    page = tmp_path / "report.html"
    cli_output("report", str(model), "-o", str(page))
    assert "A false report counts as up to 2.75 people." in page.read_text(encoding="utf-8")
