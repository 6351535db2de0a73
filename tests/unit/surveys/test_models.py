"""Survey files with edges, techniques, several mechanisms and behaviors: right values of public
cases from a file and a table, and what is refused."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from builders import run_cli
from ldpopt import Mechanism, Survey, techniques
from report_cases import ANCHOR, Q, anchored

HALVES = """
[question.q]
channel = "half"
mechanisms = { 1 = "a.json", 2 = "b.json" }
behaviors = { cheater = "no" }
"""
BUDGETS = """
[question.smokes]
channel = "budget"
mechanisms = { "0.5" = "coin0.5.json", 1 = "coin1.0.json", "2.0" = "coin2.0.json" }
"""
PAIR = """
weights = "w"
[question.drugs]
mechanism = "pair.json"
behaviors = { careless = "uniform" }
"""
SEEN = {1: {"yes": 430, "no": 570}, 2: {"yes": 740, "no": 260}}
CHOSEN = {0.5: {"yes": 88, "no": 112}, 1.0: {"yes": 112, "no": 188}, 2.0: {"yes": 165, "no": 335}}


def coin(truth: float) -> Mechanism:
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])


def table_of(seen: dict[Any, Any], channel: str, question: str) -> pd.DataFrame:
    rows = [(j, y) for j, each in seen.items() for y, n in each.items() for _ in range(n)]
    return pd.DataFrame(rows, columns=[channel, question]).sample(frac=1, random_state=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Mechanisms and reports of the cases."""
    techniques.forced(0, 0.25).save(tmp_path / "a.json")
    techniques.forced(0, 0.75).save(tmp_path / "b.json")
    for epsilon in CHOSEN:
        coin(exp(epsilon) / (1 + exp(epsilon))).save(tmp_path / f"coin{epsilon}.json")
    rows = [[(1 - a) * Q, (1 - a) * (1 - Q), a * Q, a * (1 - Q)] for a in (1 - Q, Q)]
    Mechanism(rows, ["no", "yes"], [f"r{y}" for y in ANCHOR]).save(tmp_path / "pair.json")
    table_of(SEEN, "half", "q").to_csv(tmp_path / "halves.csv", index=False)
    table_of(CHOSEN, "budget", "smokes").to_csv(tmp_path / "budgets.csv", index=False)
    reports, weights = anchored()
    anchors = pd.DataFrame({"drugs": [f"r{y}" for y in reports], "w": weights})
    anchors.to_csv(tmp_path / "pair.csv", index=False)
    return tmp_path


def solved(folder: Path, text: str) -> Path:
    """The saved survey of a statement."""
    (folder / "s.toml").write_text(text, encoding="utf-8")
    done = run_cli("survey", "solve", folder / "s.toml", "-o", folder / "s.json")
    assert done.exit_code == 0, done.output
    return folder / "s.json"


def estimates(*args: Any) -> list[dict[str, Any]]:
    done = run_cli("survey", "estimate", *args, "--json", "-")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["estimates"]
    return found


@pytest.mark.parametrize("by_file", [True, False])
def test_cheaters_are_found_by_two_halves(folder: Path, by_file: bool) -> None:
    if by_file:
        rows = estimates(solved(folder, HALVES), folder / "halves.csv")
    else:
        survey = Survey.from_toml(str(solved(folder, HALVES).with_suffix(".toml")))
        rows = survey.estimate(table_of(SEEN, "half", "q")).entries()
    assert [row["answer"] for row in rows] == ["no", "yes", "cheater"]
    assert [row["estimate"] for row in rows] == pytest.approx([0.620, 0.275, 0.105], abs=1e-9)
    errors = [row["std_error"] for row in rows]
    assert errors == pytest.approx([0.041833, 0.024486, 0.022230], abs=5e-7)


@pytest.mark.parametrize(
    ("assigned", "value", "error"),
    [("true", 0.267166, 0.024746), ("false", 0.257166, 0.036617)],
)
def test_personal_budgets_are_one_estimate(
    folder: Path, assigned: str, value: float, error: float
) -> None:
    rows = estimates(solved(folder, f"{BUDGETS}assigned = {assigned}"), folder / "budgets.csv")
    assert rows[1]["estimate"] == pytest.approx(value, abs=5e-7)
    assert rows[1]["std_error"] == pytest.approx(error, abs=5e-7)


def test_careless_people_are_found_by_an_anchor(folder: Path) -> None:
    path = solved(folder, PAIR)
    every = estimates(path, folder / "pair.csv")
    assert every[2]["estimate"] == pytest.approx(0.211205, abs=5e-7)
    assert every[2]["std_error"] == pytest.approx(0.033000, abs=5e-7)
    rows = estimates(path, folder / "pair.csv", "--followers")
    assert rows[1]["estimate"] == pytest.approx(0.114740, abs=5e-7)
    assert rows[1]["std_error"] == pytest.approx(0.025487, abs=5e-7)
