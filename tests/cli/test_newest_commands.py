"""What the newest commands print, and that it is what Python returns: a second stage, a test of two
distributions, caps on the influence, designs for liars."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpopt as lo
from builders import cli_json, cli_output, run_cli
from ldpopt.hypotheses import best

LEVELS = ["low", "middle", "high"]
MODEL = """
[alphabet]
inputs = ["low", "middle", "high"]
[workload]
kind = "prefix"
[privacy]
kind = "pure"
epsilon = 1.0
[expect]
variance = 6.0
tolerance = 1e-3
"""
TEST = """
[alphabet]
inputs = ["low", "middle", "high"]
[privacy]
kind = "pure"
epsilon = 1.0
[test]
first = [0.2, 0.3, 0.5]
second = [0.5, 0.3, 0.2]
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "levels.toml"
    path.write_text(MODEL)
    return path


def words(*args: object) -> str:
    """What a command prints, without its line ends."""
    return " ".join(cli_output(*args).split())


def test_a_cap_on_the_influence_is_printed_and_is_not_held_to_the_expected_value(
    model: Path,
) -> None:
    assert run_cli("design", model).exit_code == 1  # nothing has the variance 6
    workload = lo.Workload.prefix(LEVELS)
    capped = lo.design(workload, lo.PureLDP(1.0), influence=2.2)
    out = model.with_name("out.json")
    text = words("design", model, "--influence", "2.2", "--json", out)
    data = json.loads(out.read_text())
    assert data["value"] == pytest.approx(capped.value, rel=1e-6)
    assert data["influence"] <= 2.2 + 1e-9
    assert "influence at most: 2.2 for each number" in text
    assert "model expects" not in text


def test_a_design_for_liars_says_which_error_is_left(model: Path) -> None:
    out = model.with_name("out.json")
    text = words("design", model, "--liars", "2%", "--people", "4000", "--json", out)
    assert "2 % of 4,000 people may send anything: root mean squared error" in text
    made = lo.design(lo.Workload.prefix(LEVELS), lo.PureLDP(1.0), liars=0.02, people=4000)
    data = json.loads(out.read_text())
    assert data["value"] == pytest.approx(made.value, rel=1e-6)


@pytest.mark.parametrize("answers", [3, 24])
def test_the_recheck_of_a_design_says_of_which_designs_the_bound_is(
    answers: int, tmp_path: Path
) -> None:
    workload = lo.Workload.frequencies(answers)
    privacy = lo.PureLDP(1.0)
    path = tmp_path / "design.json"
    best = lo.design(workload, privacy, liars=0.02, people=4000)
    best.save(path)
    text = words("certify", path)
    assert f"{best.influence.largest:.9g}" in text.partition("influence at most: ")[2]
    error = f"root mean squared error {best.root_mean_square:.4g}"
    assert f"2 % of 4,000 people may send anything: {error}" in text
    data = cli_json("certify", path)
    assert error in data["with_liars"]
    lo.design(workload, privacy).save(path)
    assert "influence" not in words("certify", path)
    assert "with_liars" not in cli_json("certify", path)


@pytest.mark.parametrize(("share", "is_of_no_use"), [(0.1, False), (0.6, True)])
def test_so_many_liars_that_reports_are_of_no_use_are_named(
    share: float, is_of_no_use: bool
) -> None:
    workload = 3 * lo.Workload.frequencies(24)
    best = lo.design(workload, lo.PureLDP(2.0), liars=share, people=1000)
    assert (best.root_mean_square >= 1.5) == is_of_no_use
    assert ("without reports, errs by at most 1.5" in str(best.facts())) == is_of_no_use


def test_caps_of_some_numbers_are_counted() -> None:
    workload = lo.Workload.prefix(LEVELS)
    best = lo.design(workload, lo.PureLDP(1.0), influence={workload.names[0]: 2.2})
    assert "2.2 for 1 of 3 numbers" in str(best.facts())


def test_a_test_prints_people_power_and_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(TEST)
    first, second = ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2])
    test = best(dict(zip(LEVELS, first, strict=True)), dict(zip(LEVELS, second, strict=True)), 1.0)
    people = test.people(0.05, 0.9)
    text = words("test", path)
    assert f"people: {people:,} for level 5 % and power 90 %" in text
    assert f"power: {test.power(people, 0.05):.4f} with so many" in text
    assert "P(report | answer), 3 x 2" in text
    assert f"{test.mechanism.channel[0].max():.4f}" in text


def test_a_second_stage_is_printed_with_its_promise(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    starts = lo.Workload.prefix(LEVELS)
    survey = lo.Survey({"level": starts}, epsilon=1.0)
    first, table, second = (tmp_path / name for name in ("s.json", "r.csv", "second.json"))
    survey.save(first)
    answers = pd.DataFrame({"level": rng.choice(LEVELS, 2000, p=[0.5, 0.3, 0.2])})
    survey.privatize(answers, rng=1).to_csv(table, index=False)
    text = words("survey", "adapt", first, table, "--quantile", "50%", "-o", second)
    made = lo.Survey.load(second)
    assert made.stage is not None
    assert made.stage.in_words in text
    assert made.stage.promise(made.epsilon) in text
    assert f"ldpopt survey form {second} -o page.html" in text.replace("- ", "-")
    assert made.stage.value == survey.adapt(table, quantile=0.5).stage.value
    for goals in ([], ["--quantile", ".5", "--rate"]):
        assert run_cli("survey", "adapt", first, table, *goals, "-o", second).exit_code == 2
