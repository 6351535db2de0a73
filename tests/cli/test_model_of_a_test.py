"""Model files with two distributions to test: the divergence beside a linear program, files without
a utility, round trips, refusals at their key.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from builders import cli_json, refused, run_cli
from ldpopt.errors import ModelFileError, StatementError

TEXT = """
[privacy]
kind = "pure"
epsilon = 1.0

[test]
first = { left = 0.30, middle = 0.40, right = 0.30 }
second = { right = 0.22, left = 0.38, middle = 0.40 }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "town.toml"
    path.write_text(TEXT)
    return path


def largest_divergence(first: list[float], second: list[float], epsilon: float) -> float:
    """By a linear program over all columns with two values."""
    p, q = np.array(second), np.array(first)
    both = itertools.product((1.0, np.exp(epsilon)), repeat=len(p))
    columns = np.array(list(both)).T
    values = (p @ columns) * np.log((p @ columns) / (q @ columns))
    return -linprog(-values, A_eq=columns, b_eq=np.ones(len(p))).fun


def test_the_command_finds_the_divergence_and_the_people(model: Path) -> None:
    right = largest_divergence([0.3, 0.4, 0.3], [0.38, 0.4, 0.22], 1.0)
    data = cli_json("test", model)
    assert data["divergence"] == pytest.approx(right, abs=1e-12)
    assert data["people"] == 1496
    assert data["exact_power"] >= 0.9
    with_more = model.read_text() + f"\n[expect]\nvalue = {right!r}\ntolerance = 1e-9\n"
    model.write_text(with_more)
    assert run_cli("test", model).exit_code == 0
    model.write_text(with_more.replace(repr(right), "0.5"))
    assert run_cli("test", model).exit_code == 1


def test_reports_are_tested(model: Path, tmp_path: Path) -> None:
    mechanism = tmp_path / "mechanism.json"
    assert run_cli("test", model, "-o", mechanism).exit_code == 0
    law = lo.Mechanism.load(mechanism)
    assert law.audit().epsilon <= 1.0
    table = tmp_path / "reports.csv"
    reports = law.privatize(["left"] * 500 + ["right"] * 100, rng=1)
    table.write_text("answer\n" + "\n".join(map(str, reports)) + "\n")
    data = cli_json("test", model, table, "--column", "answer")
    assert data["result"]["p_value"] < 1e-4
    assert data["result"]["is_significant"]
    assert run_cli("test", model, table).exit_code == 2


def test_a_file_without_a_utility_reads_back_the_same(model: Path, tmp_path: Path) -> None:
    read = lo.read_model(model)
    assert read.problem is None
    assert read.inputs == ("left", "middle", "right")
    lo.save_model(read, tmp_path / "saved.toml")
    again = lo.read_model(tmp_path / "saved.toml")
    assert again.hypotheses == read.hypotheses
    assert again.at(2.0).privacy == lo.PureLDP(2.0)
    assert run_cli("check", model).exit_code == 0
    with refused("utility"):
        read.require_problem()
    with refused("test"):
        lo.read_model("coin").require_hypotheses()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("middle = 0.40 }\n", "center = 0.40 }\n", "test.second"),
        ("left = 0.30", "left = -0.30", "test.first"),
        ("second =", "third =", "third"),
    ],
)
def test_wrong_distributions_are_refused_at_their_key(
    model: Path, old: str, new: str, key: str
) -> None:
    model.write_text(TEXT.replace(old, new))
    with pytest.raises(ModelFileError) as caught:
        lo.read_model(model)
    assert key in str(caught.value)


def test_the_same_distribution_twice_is_refused(model: Path) -> None:
    model.write_text(TEXT.replace("right = 0.22, left = 0.38", "right = 0.30, left = 0.30"))
    printed = run_cli("test", model)
    assert printed.exit_code == 2
    stated = lo.read_model(model).require_hypotheses()
    with pytest.raises(StatementError):
        lo.hypotheses.best(stated.first, stated.second, 1.0)
