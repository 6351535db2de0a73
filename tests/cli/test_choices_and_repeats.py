"""Surveys in which people choose their epsilon, or are asked twice, by the command line."""

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, run_cli

CHOICES = """
choices = [0.5, 1.0, 2.0]
[question.smokes]
labels = ["yes", "no"]
[question.age]
labels = ["18-29", "30-49", "50+"]
"""
REPEAT = """
epsilon = 8.0
missing = "answer"
[question.a]
labels = ["yes", "no"]
[question.b]
labels = ["x", "y"]
repeat = true
"""


@pytest.fixture
def chosen(tmp_path):
    """A solved survey with choices, and a table of answers."""
    (tmp_path / "chosen.toml").write_text(CHOICES)
    pd.DataFrame(
        {"smokes": ["yes", "no", "no"], "age": ["50+", "50+", "30-49"], "choice": [2, 1, 0.5]}
    ).to_csv(tmp_path / "answers.csv", index=False)
    cli_json("survey", "solve", str(tmp_path / "chosen.toml"), "-o", str(tmp_path / "chosen.json"))
    return tmp_path


def test_no_command_says_that_everybody_spends_the_largest_choice(chosen):
    file, answers, reports = (
        str(chosen / name) for name in ("chosen.json", "answers.csv", "r.csv")
    )
    printed = [
        run_cli("survey", "solve", str(chosen / "chosen.toml")),
        run_cli("survey", "certify", file),
        run_cli("survey", "audit", file),
        run_cli("survey", "audit", file, "--epsilon", "1"),
        run_cli("survey", "privatize", file, answers, "-o", reports),
    ]
    for result in printed:
        text = " ".join((result.stdout + result.stderr).split())
        assert "at most 2" in text
        assert "spends epsilon 2" not in text
        assert ", epsilon 2 a person" not in text


def test_an_account_says_for_which_choice_it_is(chosen):
    result = run_cli("survey", "account", str(chosen / "chosen.json"))
    assert "for whoever chooses epsilon 2;" in result.stderr


def test_values_of_shares_among_some_people_say_how_the_estimates_follow(tmp_path):
    rng = np.random.default_rng(4)
    pd.DataFrame(
        {
            "a": rng.choice(["yes", "no", ""], 3000),
            "b": (first := rng.choice(["x", "y"], 3000, p=[0.3, 0.7])),
            "b again": np.where(rng.random(3000) < 0.8, first, rng.choice(["x", "y"], 3000)),
        }
    ).to_csv(tmp_path / "answers.csv", index=False)
    (tmp_path / "s.toml").write_text(REPEAT)
    file, reports, values = (str(tmp_path / name) for name in ("s.json", "r.csv", "v.csv"))
    cli_json("survey", "solve", str(tmp_path / "s.toml"), "-o", file)
    run_cli("survey", "privatize", file, str(tmp_path / "answers.csv"), "-o", reports)
    result = run_cli("survey", "values", file, reports, "-o", values)
    means = pd.read_csv(values).mean()
    estimates = cli_json("survey", "estimate", file, reports)["estimates"]
    others = {"a": ["a: no answer"], "b": ["b: no answer", "b: careless"]}
    for name, columns in others.items():
        assert f"note: {name}: the means are shares of all people" in result.stderr
        assert all(repr(column) in result.stderr for column in columns)
        rows = {row["answer"]: row["estimate"] for row in estimates if row["question"] == name}
        left = 1 - means[columns].sum()
        for answer, value in rows.items():
            column = f"{name}: {answer}"
            share = means[column] if column in columns else means[column] / left
            assert value == pytest.approx(share, abs=1e-9)
