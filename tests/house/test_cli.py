"""The command line: every verb, its exit codes, its JSON, and what it says to bad input."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path

import pytest

import ldpopt as lo
import ldpopt.testing
from builders import run_cli
from ldpopt import Mechanism
from ldpopt.cli.options import parse_grid
from ldpopt.cli.printing import plain
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.display import printable
from ldpopt.foundation.files import replacing

MODELS = Path(__file__).parents[2] / "models"
VERBS = (
    "check", "solve", "design", "compare", "audit", "certify", "plan", "key", "privatize", "estimate", "sweep",
    "simulate", "experiment", "plot", "report", "export", "solvers", "models", "init", "examples",
)  # fmt: skip


def good(*args: str, stdin: str | None = None) -> str:
    result = run_cli(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def record(*args: str) -> dict:
    """One JSON object on stdout, and strictly JSON."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(good(*args, "--json", "-"), parse_constant=refuse)


def test_help_lists_every_verb_and_costs_nothing() -> None:
    for text in (good(), good("--help"), good("-h")):
        for verb in VERBS:
            assert f"\n  {verb} " in text
    assert "Exit codes" in good("--help")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(verb: str) -> None:
    text = good(verb, "--help")
    assert "--json" in text
    assert "Usage: ldpopt " + verb in text


def test_version() -> None:
    from importlib.metadata import version

    assert good("--version").strip() == version("ldpopt")


def test_check_prints_sizes(folder: Path) -> None:
    text = good("check", "coin.toml")
    assert "compact (default)" in text
    assert "pairwise" in text
    data = record("check", "coin.toml")
    assert data["inputs"] == 2
    assert [form["form"] for form in data["forms"]] == ["compact", "pairwise"]
    assert data["forms"][1] == {"form": "pairwise", "rows": 6, "columns": 4, "nonzeros": 12, "memory_bytes": 2400}


def test_check_of_too_many_events_is_still_json(folder: Path, coin: str) -> None:
    text = coin.replace('"pure"', '"approximate"\ndelta = 0.1').replace('["no", "yes"]', str(list(range(1200))))
    Path("large.toml").write_text(text)
    assert record("check", "large.toml")["forms"][1]["rows"] is None


def test_solve_prints_mechanism_and_certificate(folder: Path) -> None:
    text = good("solve", "coin.toml", "-o", "out.json", "--plot", "out.png", "--json", "out2.json")
    for part in ("Two coins", "0.7500", "expected gain:", "relative gap", "certified"):
        assert part in text
    assert Mechanism.load("out.json").channel[0, 0] == pytest.approx(0.75)
    assert Mechanism.load("out2.json").inputs == ("no", "yes")
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_solve_json_has_the_stated_keys(folder: Path) -> None:
    data = record("solve", "coin.toml")
    assert list(data) == ["status", "value", "solver", "mechanism", "certificate", "audit"]
    assert list(data["mechanism"]) == ["inputs", "outputs", "channel"]
    assert list(data["certificate"]) == ["achieved", "bound", "gap", "relative_gap"]
    assert list(data["audit"]) == ["epsilon", "delta", "verdict"]
    assert data["value"] == pytest.approx(0.75, abs=1e-12)
    assert data["audit"]["verdict"] == "certified"


@pytest.mark.parametrize("options", [("--solver", "cbc"), ("--solver", "cvxpy"), ("--form", "pairwise")])
def test_solve_options(folder: Path, options: tuple[str, ...]) -> None:
    data = record("solve", "coin.toml", *options)
    assert options[1] in data["solver"]
    assert data["value"] == pytest.approx(0.75, abs=1e-7)


def test_solve_shortens_a_large_mechanism(folder: Path, coin: str) -> None:
    Path("large.toml").write_text(coin.replace('["no", "yes"]', str(list(range(30)))))
    text = good("solve", "large.toml")
    assert "30 x 30" in text
    assert "..." in text
    assert len(text.splitlines()) < 40


def test_unmet_expectation_is_exit_1(folder: Path) -> None:
    for verb in ("solve", "compare"):
        result = run_cli(verb, "expects.toml")
        assert result.exit_code == 1
        assert "expects 0.7" in result.stderr
        assert "certified" in result.stdout


def test_gap_too_large_is_exit_1(folder: Path) -> None:
    result = run_cli("solve", "coin.toml", "--solver", "cvxpy", "--gap", "0")
    assert result.exit_code == 1
    assert "relative gap" in result.stderr


def test_a_stated_gap_is_where_the_search_may_stop(folder: Path) -> None:
    lo.save_model(lo.testing.synthetic_city(80, rng=1).problem(1.0), "city.toml")
    rough, fine = record("solve", "city.toml", "--gap", "0.2"), record("solve", "city.toml")
    assert 1e-6 < rough["certificate"]["relative_gap"] <= 0.2
    assert fine["certificate"]["relative_gap"] <= 1e-6


def test_a_cluster_that_does_not_answer_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ldpopt.cli.options.CONNECT_SECONDS", 0.2)
    result = run_cli("solve", "coin.toml", "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "no scheduler of Dask answers" in result.stderr


def test_infeasible_is_exit_3_with_json(folder: Path) -> None:
    result = run_cli("solve", "impossible.toml", "--json", "-")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["status"] == "infeasible"
    assert "unbiased" in result.stderr
    assert result.stderr.count("\n") == 1
    assert run_cli("compare", "impossible.toml").exit_code == 3
    assert run_cli("sweep", "impossible.toml", "--epsilon", "0.1,0.2").exit_code == 3


def test_compare_agrees_with_itself(folder: Path) -> None:
    text = good("compare", "coin.toml")
    for part in ("closed form binary", "closed form top_k", "highs (compact)", "highs (pairwise)"):
        assert part in text
    assert "best extreme point" in text
    assert "certified bound" in text
    data = record("compare", "coin.toml")
    assert data["best"] == pytest.approx(0.75, abs=1e-9)
    assert all(abs(row["difference"]) < 1e-7 and row["verdict"] == "certified" for row in data["rows"])


def test_compare_goes_on_after_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpopt.solvers import highs_

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no luck today")

    monkeypatch.setattr(highs_.Highs, "solve", broken)
    result = run_cli("compare", "coin.toml")
    assert result.exit_code == 0
    assert "failed" in result.stdout
    assert "highs (compact): RuntimeError: no luck today" in result.stderr
    assert "cvxpy (compact)" in result.stdout


@pytest.mark.parametrize(
    "name, method",
    [("education_path", "path_graph"), ("cells", "kernel"), ("worst_case", "minimax"), ("zhou_nary_delta", "top_k")],
)
def test_compare_finds_the_closed_form(name: str, method: str) -> None:
    rows = {row["method"]: row for row in record("compare", str(MODELS / f"{name}.toml"))["rows"]}
    assert abs(rows[f"closed form {method}"]["difference"]) < 1e-7
    assert rows[f"closed form {method}"]["verdict"] == "certified"


def test_compare_shows_the_mechanisms_of_the_literature() -> None:
    data = record("compare", str(MODELS / "geo_metric.toml"))["peers"]
    assert data["rows"][0]["name"] == "optimum"
    assert {"planar Laplace", "exponential"} <= {row["name"] for row in data["rows"]}
    assert all(row["verdict"] == "certified" and row["ratio"] > 1 - 1e-9 for row in data["rows"])
    text = good("compare", str(MODELS / "zhou_nary_delta.toml"))
    assert "does not apply: tight constraints, planar Laplace, exponential" in text


def test_compare_orders_bins_by_number(folder: Path, coin: str) -> None:
    statement = coin.replace('["no", "yes"]', "[3, 0, 1, 7]").replace("identity", "absolute_error")
    Path("bins.toml").write_text(statement)
    rows = {row["method"]: row for row in record("compare", "bins.toml")["rows"]}
    assert abs(rows["closed form bins"]["difference"]) < 1e-7


def test_audit_decides_claims(folder: Path) -> None:
    text = good("audit", "coin.json")
    assert "1.09861228867" in text
    assert "least delta" in text
    assert run_cli("audit", "coin.json", "--epsilon", "log(3)").exit_code == 0
    assert run_cli("audit", "coin.json", "--model", "coin.toml").exit_code == 0
    violated = run_cli("audit", "coin.json", "--epsilon", "1")
    assert violated.exit_code == 1
    assert "violated" in violated.stdout
    assert violated.stderr.count("\n") == 1
    assert run_cli("audit", "coin.json", "--epsilon", "1", "--delta", "0.1").exit_code == 0
    assert run_cli("audit", "coin.json", "--epsilon", "1", "--delta", "0.1", "--form", "entry").exit_code == 0
    assert run_cli("audit", "coin.json", "--epsilon", "0.5", "--delta", "0.1").exit_code == 1


def test_audit_json_of_a_channel_without_privacy(folder: Path) -> None:
    Mechanism([[1.0, 0.0], [0.0, 1.0]]).save("truth.json")
    data = record("audit", "truth.json")
    assert data["epsilon"] is None
    assert data["verdict"] == "violated"
    assert data["claim"] is None
    assert data["curve"][0] == {"epsilon": 0.0, "delta": 1.0}


def test_audit_of_a_constant_channel(folder: Path) -> None:
    Mechanism([[0.5, 0.5], [0.5, 0.5]]).save("constant.json")
    assert "all rows are equal" in good("audit", "constant.json")
    assert record("audit", "constant.json", "--epsilon", "0")["verdict"] == "certified"


def test_privatize_drops_other_columns_unless_kept(folder: Path) -> None:
    assert "3 reports" in good("privatize", "coin.json", "answers.csv", "--column", "answer", "-o", "out.csv")
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "answer"
    assert len(lines) == 4
    assert set(lines[1:]) <= {"yes", "no"}
    good("privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "out.csv", "--keep", "name")
    assert [row["name"] for row in csv.DictReader(Path("out.csv").read_text().splitlines())] == ["ann", "bob", "eve"]


def test_privatize_is_repeatable_with_a_seed_and_streams(folder: Path) -> None:
    answers = "answer\n" + "yes\nno\n" * 50_000
    args = ("privatize", "coin.json", "-", "-c", "answer", "-o", "-", "--seed", "7")
    first, second = run_cli(*args, stdin=answers), run_cli(*args, stdin=answers)
    assert first.stdout == second.stdout
    assert "seed" in first.stderr
    assert first.stdout.count("\n") == 100_001
    kept = sum(a == b for a, b in zip(answers.split(), first.stdout.split(), strict=True)) - 1
    assert abs(kept - 75_000) < 1000


def test_numbers_as_labels_are_matched_as_text(folder: Path) -> None:
    Mechanism([[0.75, 0.25], [0.25, 0.75]], [1, 2.5]).save("numbers.json")
    out = good("privatize", "numbers.json", "-", "-c", "x", "-o", "-", stdin="x\n1\n2.5\n")
    assert set(out.split()[1:]) <= {"1", "2.5"}


def test_header_alone_and_trailing_empty_lines(folder: Path) -> None:
    Path("bare.csv").write_text("answer\n\n\n")
    result = run_cli("privatize", "coin.json", "bare.csv", "-c", "answer", "-o", "-")
    assert (result.exit_code, result.stdout) == (0, "answer\n")
    assert "no rows" in result.stderr
    assert run_cli("estimate", "coin.json", "bare.csv", "-c", "answer").exit_code == 2


@pytest.mark.parametrize("method", ["inversion", "maximum_likelihood"])
def test_estimate(folder: Path, method: str) -> None:
    Path("reports.csv").write_text("answer\n" + "no\n" * 600 + "yes\n" * 400)
    args = ("estimate", "coin.json", "reports.csv", "-c", "answer", "--method", method)
    assert "1,000 reports" in good(*args, "--plot", "bars.svg")
    assert "<svg" in Path("bars.svg").read_text()
    data = record(*args)
    assert data["n_reports"] == 1000
    assert [entry["answer"] for entry in data["estimates"]] == ["no", "yes"]
    assert data["estimates"][0]["estimate"] == pytest.approx(0.7, abs=1e-9)
    assert data["estimates"][0]["low"] < 0.7 < data["estimates"][0]["high"]


def test_estimate_with_weights_and_all_at_once(folder: Path) -> None:
    Path("reports.csv").write_text("answer,w\n" + "no,1\n" * 600 + "yes,2\n" * 400)
    args = ("estimate", "coin.json", "reports.csv", "-c", "answer")
    plain, weighted = record(*args), record(*args, "--weights", "w")
    assert weighted["estimates"][1]["estimate"] == pytest.approx((800 / 1400 - 0.25) / 0.5)
    assert (plain["p_value"], weighted["p_value"]) == (1.0, None)
    assert [entry["norm_sub"] for entry in plain["estimates"]] == pytest.approx([0.7, 0.3])
    wide = record(*args, "--simultaneous")["estimates"][0]
    assert wide["low"] < plain["estimates"][0]["low"]


def test_estimate_flags_raw_answers(folder: Path) -> None:
    Path("raw.csv").write_text("answer\n" + "no\n" * 950 + "yes\n" * 50)
    result = run_cli("estimate", "coin.json", "raw.csv", "-c", "answer")
    assert result.exit_code == 1
    assert "raw answers?" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "950" not in result.stderr
    Path("raw.csv").write_text("answer\n" + "no\n" * 50 + "yes\n" * 1)
    assert run_cli("estimate", "coin.json", "raw.csv", "-c", "answer").exit_code == 0


def test_tables_of_both_kinds_and_several_columns(folder: Path) -> None:
    Path("in.csv").write_text("a,b\n" + "yes,no\n" * 500)
    result = run_cli("privatize", "coin.json", "in.csv", "-c", "a", "-c", "b", "-o", "out.parquet", "--seed", "1")
    assert "each person spends epsilon 2.19722 (split: a 1.099, b 1.099)" in result.stderr
    data = [record("estimate", "coin.json", "out.parquet", "-c", column)["estimates"] for column in "ab"]
    assert data[0][1]["estimate"] > 0.7 > 0.3 > data[1][1]["estimate"]
    for args in (("-c", "a", "-c", "a"), ("-c", "a", "--keep", "a")):
        assert run_cli("privatize", "coin.json", "in.csv", *args, "-o", "out.csv").exit_code == 2
    assert run_cli("estimate", "coin.json", "out.parquet", "-c", "a", "-c", "b").exit_code == 2


def test_what_is_missing_in_a_table(folder: Path) -> None:
    Path("in.csv").write_text("a\nyes\nNA\nno\nNA\n")
    args = ("privatize", "coin.json", "in.csv", "-c", "a", "-o", "out.csv")
    refused = run_cli(*args)
    assert refused.exit_code == 2
    assert "2 answers are missing | where: in.csv, column a, the first in row 3" in refused.stderr
    kept = run_cli(*args, "--missing", "leave_out")
    assert (kept.exit_code, Path("out.csv").read_text().count('""')) == (0, 2)
    assert "the reports reveal who did not answer a" in kept.stderr
    assert run_cli(*args, "--missing-answer", "maybe").exit_code == 2
    good(*args, "--missing-answer", "no")
    before = Path("in.csv").read_text()
    same = run_cli("privatize", "coin.json", "in.csv", "-c", "a", "-o", "./in.csv", "--missing-answer", "no")
    assert (same.exit_code, Path("in.csv").read_text()) == (2, before)


def test_plan(folder: Path) -> None:
    data = record("plan", "coin.json", "--half-width", "0.02", "--people", "9604", "--epsilon", "1:2:2")
    assert [entry["people"] for entry in data["answers"]] == [9604, 9604]
    assert data["worst"]["half_width"] == pytest.approx(0.02, abs=1e-6)
    assert [float(entry["epsilon"]) for entry in data["curve"]] == [1.0, 2.0]
    assert data["curve"][0]["people"] > data["curve"][1]["people"]
    assert "people for +-0.02" in good("plan", "coin.json", "--half-width", "0.02")
    assert run_cli("plan", "coin.json").exit_code == 2


def test_sweep_writes_table_and_curves(folder: Path) -> None:
    text = good("sweep", "coin.toml", "--epsilon", "0.5:2:4", "-o", "out.csv", "--plot", "out.png")
    assert "4 points" in text
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [float(row["epsilon"]) for row in rows] == [0.5, 1.0, 1.5, 2.0]
    assert all(abs(float(row["value"]) - float(row["closed_form"])) < 1e-9 for row in rows)
    assert Path("out.png").stat().st_size > 1000


def test_a_sweep_goes_on_from_its_checkpoint(folder: Path) -> None:
    args = ("sweep", "coin.toml", "--epsilon", "0.5:2:4", "--checkpoint", "points")
    first = record(*args)
    assert record(*args) == first  # the seconds, too: nothing was solved again
    other = run_cli("sweep", "coin.toml", "--epsilon", "0.5:2:5", "--checkpoint", "points")
    assert other.exit_code == 2
    assert "another run: 'sweep of 4 points" in other.stderr


def test_a_sweep_over_models_and_deltas_keeps_mechanisms(folder: Path) -> None:
    text = Path("coin.toml").read_text()
    Path("other.toml").write_text(text.replace('kind = "pure"', 'kind = "approximate"\ndelta = 0.0'))
    Path("third.toml").write_text(Path("other.toml").read_text())
    args = ("sweep", "other.toml", "third.toml", "--epsilon", "0.5,log(3)", "--delta", "0,0.1", "--keep", "kept")
    rows = record(*args, "--plot", "curves.png")["rows"]
    assert [(row["model"], row["delta"]) for row in rows[::2]] == [
        (name, delta) for name in ("other", "third") for delta in (0, 0.1)
    ]
    assert len(list(Path("kept").iterdir())) == 8
    assert "delta 0.1" in json.loads(Path("kept/4.json").read_text())["title"]
    for wrong in (args, ("sweep", "coin.toml", "coin.toml", "--epsilon", "1"), (*args[:4], "1", "--delta", "much")):
        assert run_cli(*wrong).exit_code == 2


def test_folders_are_privatized_and_estimated(folder: Path) -> None:
    import pandas as pd

    good("solve", "coin.toml", "-o", "coin.json")
    labels = list(Mechanism.load("coin.json").inputs)
    Path("answers").mkdir()
    for k in range(2):
        pd.DataFrame({"a": labels * 500}).to_parquet(f"answers/{k}.parquet")
    assert "reports" in good("privatize", "coin.json", "answers", "-c", "a", "-o", "reports")
    assert record("estimate", "coin.json", "reports", "-c", "a", "-j", "2")["n_reports"] == 2000
    assert run_cli("privatize", "coin.json", "answers", "-c", "a", "-o", "reports.csv").exit_code == 2


def test_sweep_over_priors(folder: Path) -> None:
    data = record("sweep", "coin.toml", "--epsilon", "0.5,log(3)", "--prior-grid", "3", "--plot", "surface.png")
    assert len(data["rows"]) == 6
    assert data["rows"][4]["weight[no]"] == 0.5
    assert data["rows"][4]["value"] == pytest.approx(0.75, abs=1e-9)
    assert Path("surface.png").stat().st_size > 1000


def test_plot(folder: Path) -> None:
    for source, kind in (("coin.json", "mechanism"), ("coin.toml", "mechanism"), ("coin.json", "delta")):
        assert good("plot", source, "--kind", kind, "-o", "out.png").strip() == "out.png"
    assert record("plot", "coin.toml", "--kind", "polytope", "-o", "out.pdf") == {"file": "out.pdf", "kind": "polytope"}
    assert Path("out.pdf").read_bytes().startswith(b"%PDF")


def test_export(folder: Path) -> None:
    assert good("export", "coin.toml", "--to", "lp").rstrip().endswith("end")
    assert good("export", "coin.toml", "--to", "mps").rstrip().endswith("ENDATA")
    data = record("export", "coin.toml", "--to", "mps", "--form", "pairwise", "-o", "out.mps")
    assert data == {
        "file": "out.mps", "format": "mps", "form": "pairwise", "rows": 6, "columns": 4, "nonzeros": 12
    }  # fmt: skip
    assert "P(no,yes)" in Path("out.mps").read_text()


def test_solvers() -> None:
    data = record("solvers")
    assert {"name": "highs", "installed": True, "install": None} in data["solvers"]
    assert "highs" in good("solvers")


def test_models(folder: Path) -> None:
    Path("bad.toml").write_text("x = [")
    result = run_cli("models", ".", "--json", "-")
    assert result.exit_code == 2
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["models"]}
    assert entries["coin"]["inputs"] == 2
    assert "error" in entries["bad"]
    assert "bad.toml" in result.stderr
    Path("bad.toml").unlink()
    assert "Two coins" in good("models", ".")


def test_grid_texts() -> None:
    assert parse_grid("1:2:3") == ["1.0", "1.5", "2.0"]
    assert parse_grid("0.1, log(3)") == ["0.1", "log(3)"]
    for text in ("1:2", "1:2:x", "1:inf:3", "1:2:-1", "::"):
        with pytest.raises(StatementError):
            parse_grid(text)


def test_plain_values_are_json() -> None:
    from fractions import Fraction

    import numpy as np

    values = plain({"a": math.inf, 1: np.float64("nan"), "b": (np.int64(3), Fraction(1, 2), None, True)})
    assert values == {"a": None, "1": None, "b": [3, "1/2", None, True]}
    assert printable("a\x1bb\nc") == "a\\x1bb c"


def test_replacing_writes_devices_in_place_and_keeps_the_old_file(folder: Path) -> None:
    with replacing(os.devnull) as stream:
        stream.write("x")
    assert not Path(os.devnull).is_file()
    Path("old").write_text("old")
    Path("link").symlink_to("old")
    with pytest.raises(ZeroDivisionError), replacing("old") as stream:
        stream.write(f"new {1 / 0}")
    assert Path("old").read_text() == "old"
    with replacing("link") as stream:
        stream.write("new")
    assert Path("link").is_symlink()
    assert Path("old").read_text() == "new"
    with pytest.raises(ModelFileError), replacing("."):
        pass
