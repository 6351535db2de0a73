"""The commands simulate and experiment: grids, checkpoints, tables of unknown origin."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from builders import cli_json, run_cli
from ldpopt import Mechanism
from ldpopt.mean import NumberProtocol
from ldpopt.studies.experiment import Resampled, compare_means, protocols
from ldpopt.studies.simulate import simulate

MODELS = Path(__file__).parents[2] / "models"
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    COIN.save("coin.json")
    for name in ("zhou_nary_delta", "worst_case", "zhou_model_1"):
        Path(f"{name}.toml").write_text((MODELS / f"{name}.toml").read_text())
    Path("hours.csv").write_text(
        "hours,age,name\n" + "".join(f"{k % 60},{20 + k % 50},x\n" for k in range(300))
    )


def table(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_a_mechanism_is_simulated_as_in_python() -> None:
    data = cli_json(
        "simulate",
        "coin.json",
        "--people",
        "50,200",
        "--repeats",
        4,
        "--seed",
        1,
        "--prior",
        "yes=8,no=2",
    )
    for row in data["rows"]:
        alone = simulate(COIN, [0.2, 0.8], population=row["people"], repeats=4, rng=1)
        assert (row["utility"], row["expected"], row["error"]) == (
            alone.mean,
            alone.expected,
            alone.error,
        )
    assert [set(row) for row in data["rows"]] == [
        {"file", "people", "repeats", "utility", "std_error", "expected", "error"}
    ] * 2


def test_models_are_solved_over_budgets_and_deltas() -> None:
    args = (
        "simulate",
        "zhou_nary_delta.toml",
        "--epsilon",
        "0.5,log(3)",
        "--delta",
        "0,0.1",
        "--people",
        "100",
    )
    more = ("--repeats", "2", "--seed", "1", "--checkpoint", "points", "-o", "out.csv")
    rows = cli_json(*args, *more)["rows"]
    assert [(row["epsilon"], row["delta"]) for row in rows] == [
        (e, d) for d in (0, 0.1) for e in (0.5, np.log(3))
    ]
    assert [row["expected"] for row in rows] == pytest.approx([0.5, 0.6, 0.55, 0.64], abs=1e-9)
    assert [float(row["utility"]) for row in table("out.csv")] == [row["utility"] for row in rows]
    lines = Path("points").read_text().splitlines()
    assert len(lines) == 1 + 8
    # More people in the same checkpoint: what is there is not done again, and one process does what
    # two do.
    cli_json(*args[:-1], "100,200", *more, "-j", "2")
    assert Path("points").read_text().splitlines()[:9] == lines
    assert [float(row["utility"]) for row in table("out.csv")][::2] == [
        row["utility"] for row in rows
    ]


def test_without_a_prior_answers_are_uniform() -> None:
    result = run_cli(
        "simulate", "coin.json", "worst_case.toml", "--people", "100", "--repeats", "2"
    )
    assert result.exit_code == 0
    assert result.stderr.count("no prior is given") == 2
    assert "worst_case" in result.stdout


def test_protocols_are_compared_as_in_python() -> None:
    args = (
        "experiment",
        "hours.csv",
        "-c",
        "hours",
        "-c",
        "age",
        "--range",
        "0:100",
        "--epsilon",
        "1",
        "--sets",
        "2",
    )
    rows = cli_json(
        *args, "--people", "100,200", "--protocol", "Duchi", "--checkpoint", "runs", "-o", "out.csv"
    )["rows"]
    data = Resampled("hours.csv", ["hours", "age"], 0, 100)
    assert len(data) == 300
    for row in rows:
        found = compare_means(
            protocols(["Duchi"], 2), data, epsilons=[1.0], sets=2, users=row["people"]
        )
        assert row["error"] == pytest.approx(100 * np.sqrt((found.rmse**2).mean()))
        assert row["theory"] == pytest.approx(100 * np.sqrt((found.theory**2).mean()))
    assert [float(row["error"]) for row in table("out.csv")] == [row["error"] for row in rows]
    assert len(Path("runs").read_text().splitlines()) == 1 + 4
    text = run_cli(*args, "--people", "100", "--sets", "1").stdout
    assert all(protocol.__name__ in text for protocol in NumberProtocol.PUBLISHED)


def test_a_table_of_unknown_origin_is_noted() -> None:
    Path("raw.csv").write_text("a\n" + "no\nyes\nno\nno\n")
    result = run_cli("estimate", "coin.json", "raw.csv", "-c", "a")
    assert result.exit_code == 0
    assert (
        "raw.csv does not say which mechanism drew its reports (no raw.csv.origin.json beside it)"
        in result.stderr
    )
    for target in ("reports.csv", "reports.parquet"):
        assert run_cli("privatize", "coin.json", "raw.csv", "-c", "a", "-o", target).exit_code == 0
        result = run_cli("estimate", "coin.json", target, "-c", "a")
        assert (result.exit_code, result.stderr) == (0, "")
    piped = run_cli(
        "estimate", "coin.json", "-", "-c", "a", "--json", "-", stdin=Path("raw.csv").read_text()
    )
    assert json.loads(piped.stdout)["origin_known"] is False
    assert "the table does not say" in piped.stderr


def test_a_table_of_many_rows_is_printed_in_part() -> None:
    args = ("--people", "100", "--epsilon", "0.1:4:40")
    protocols = ("--range", "0:60", "--sets", "1", "--protocol", "Laplace")
    for command in (
        ("simulate", "zhou_nary_delta.toml", *args, "--repeats", "2"),
        ("experiment", "hours.csv", "-c", "hours", *protocols, *args),
        ("sweep", "zhou_nary_delta.toml", *args[2:]),
    ):
        text = run_cli(*command).stdout
        assert "one row in 2 shown" in text
        assert len(text.splitlines()) == 3 + 20
