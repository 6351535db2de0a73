"""The commands: their output, exit codes and JSON. Refusals are in tests/refusals, designs and
studies beside this."""

from __future__ import annotations

import csv
import json
import math
import os
import time
from pathlib import Path
from shlex import quote

import pyarrow.parquet as parquet
import pytest
from typer.main import get_command

import ldpopt as lo
from builders import cli_json, cli_output, run_cli
from cities import synthetic_city
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.cli import app, printing
from ldpopt.cli.options import parse_grid
from ldpopt.cli.printing import plain
from ldpopt.errors import StatementError

MODELS = Path(__file__).parents[2] / "models"
COMMANDS = [command.__name__ for command in app.COMMANDS]


@pytest.mark.parametrize("columns", ["80", "100"])
def test_help_has_one_full_line_a_command(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for text in (cli_output(), cli_output("--help"), cli_output("-h")):
        assert all(f"\n  {command} " in text for command in [*COMMANDS, "survey"])
        assert "Exit codes" in text
        assert not [line for line in text.splitlines()[1:] if "..." in line]
    for command in ("init", "check", "solve", "plan", "privatize", "estimate"):
        assert f"\n  {command} " in cli_output("survey")
    assert cli_output("survey", "--help").count("...") == 1  # in the usage


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command: str) -> None:
    text = cli_output(command, "--help")
    assert "--json" in text
    assert f"Usage: ldpopt {command}" in text
    assert "range>" not in text


def test_one_file_for_each_command() -> None:
    files = {path.stem for path in Path(app.__file__).parent.glob("*.py")}
    assert {*COMMANDS, "survey"} <= files


@pytest.mark.parametrize(("n", "rays"), [(3, 5), (8, 216), (9, None)])
def test_check_prints_the_number_of_rays_of_few_answers(
    folder: Path, n: int, rays: int | None
) -> None:
    weights = ", ".join(f"a{x} = {n - x}" for x in range(n))
    (folder / "leakage.toml").write_text(
        f"[prior]\nweights = {{ {weights} }}\n[utility]\nkind = 'identity'\n"
        "[privacy]\nkind = 'leakage'\nepsilon = 1\n"
    )
    assert cli_json("check", "leakage.toml").get("rays") == rays
    assert ("extreme rays" in cli_output("check", "leakage.toml")) == (rays is not None)


def test_check_prints_sizes(folder: Path) -> None:
    text = cli_output("check", "coin.toml")
    assert "compact (default)" in text
    assert "pairwise" in text
    data = cli_json("check", "coin.toml")
    assert data["inputs"] == 2
    assert [form["form"] for form in data["forms"]] == ["compact", "pairwise"]
    assert data["forms"][1] == {
        "form": "pairwise",
        "rows": 6,
        "columns": 4,
        "nonzeros": 12,
        "memory_bytes": 2400,
    }


def test_check_of_too_many_events_is_still_json(folder: Path, coin: str) -> None:
    text = coin.replace('"pure"', '"approximate"\ndelta = 0.1').replace(
        '["no", "yes"]', str(list(range(1200)))
    )
    Path("large.toml").write_text(text)
    assert cli_json("check", "large.toml")["forms"][1]["rows"] is None


def test_solve_prints_mechanism_and_certificate(folder: Path) -> None:
    text = cli_output(
        "solve", "coin.toml", "-o", "out.json", "--plot", "out.png", "--json", "out2.json"
    )
    for part in ("Two coins", "0.7500", "expected gain:", "relative gap", "certified"):
        assert part in text
    assert Mechanism.load("out.json").channel[0, 0] == pytest.approx(0.75)
    assert Mechanism.load("out2.json").inputs == ("no", "yes")
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_solve_json_has_the_documented_keys(folder: Path) -> None:
    data = cli_json("solve", "coin.toml")
    assert list(data) == ["status", "value", "solver", "mechanism", "certificate", "audit"]
    assert list(data["mechanism"]) == ["inputs", "outputs", "channel"]
    assert list(data["certificate"]) == ["achieved", "bound", "gap", "relative_gap"]
    assert list(data["audit"]) == ["epsilon", "delta", "verdict"]
    assert data["value"] == pytest.approx(0.75, abs=1e-12)
    assert data["audit"]["verdict"] == "certified"


@pytest.mark.parametrize(
    "options", [("--solver", "cbc"), ("--solver", "cvxpy"), ("--form", "pairwise")]
)
def test_solve_options(folder: Path, options: tuple[str, ...]) -> None:
    data = cli_json("solve", "coin.toml", *options)
    assert options[1] in data["solver"]
    assert data["value"] == pytest.approx(0.75, abs=1e-7)


def test_solve_shortens_a_large_mechanism(folder: Path, coin: str) -> None:
    Path("large.toml").write_text(coin.replace('["no", "yes"]', str(list(range(30)))))
    text = cli_output("solve", "large.toml")
    assert "30 x 30" in text
    assert "..." in text
    assert len(text.splitlines()) < 40


def test_an_unmet_expectation_has_exit_code_1(folder: Path) -> None:
    for command in ("solve", "compare"):
        result = run_cli(command, "expects.toml")
        assert result.exit_code == 1
        assert "expects 0.7" in result.stderr
        assert "certified" in result.stdout


def test_a_large_gap_has_exit_code_1(folder: Path) -> None:
    result = run_cli("solve", "coin.toml", "--solver", "cvxpy", "--gap", "0")
    assert result.exit_code == 1
    assert "relative gap" in result.stderr


def test_the_search_may_stop_at_a_given_gap(folder: Path) -> None:
    lo.save_model(synthetic_city(40, rng=1).problem(1.0), "city.toml")
    rough = cli_json("solve", "city.toml", "--gap", "0.2")
    fine = cli_json("solve", "city.toml")
    assert 1e-6 < rough["certificate"]["relative_gap"] <= 0.2
    assert fine["certificate"]["relative_gap"] <= 1e-6


def test_an_infeasible_model_has_exit_code_3_and_json(folder: Path) -> None:
    result = run_cli("solve", "impossible.toml", "--json", "-")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["status"] == "infeasible"
    assert "unbiased" in result.stderr
    assert result.stderr.count("\n") == 1
    assert run_cli("compare", "impossible.toml").exit_code == 3
    assert run_cli("sweep", "impossible.toml", "--epsilon", "0.1,0.2").exit_code == 3


@pytest.mark.parametrize(
    "name, method",
    [
        ("education_path", "path_graph"),
        ("cells", "kernel"),
        ("worst_case", "minimax"),
        ("zhou_nary_delta", "top_k"),
    ],
)
def test_compare_finds_the_closed_form(name: str, method: str) -> None:
    rows = {row["name"]: row for row in cli_json("compare", str(MODELS / f"{name}.toml"))["rows"]}
    assert abs(rows[f"closed form {method}"]["difference"]) < 1e-7
    assert rows[f"closed form {method}"]["verdict"] == "certified"


def test_compare_shows_the_mechanisms_of_the_literature() -> None:
    data = cli_json("compare", str(MODELS / "geo_metric.toml"))
    rows = [row for row in data["rows"] if row["kind"] == "literature"]
    assert {"planar Laplace", "exponential"} <= {row["name"] for row in rows}
    assert all(row["verdict"] == "certified" and row["ratio"] > 1 - 1e-9 for row in rows)
    text = cli_output("compare", str(MODELS / "zhou_nary_delta.toml"))
    assert "does not apply: tight constraints" in text


def test_compare_orders_bins_by_number(folder: Path, coin: str) -> None:
    statement = coin.replace('["no", "yes"]', "[3, 0, 1, 7]").replace("identity", "absolute_error")
    Path("bins.toml").write_text(statement)
    rows = {row["name"]: row for row in cli_json("compare", "bins.toml")["rows"]}
    assert abs(rows["closed form bins"]["difference"]) < 1e-7


def test_audit_decides_claims(folder: Path) -> None:
    text = cli_output("audit", "coin.json")
    assert "1.09861228867" in text
    assert "least delta" in text
    assert run_cli("audit", "coin.json", "--epsilon", "log(3)").exit_code == 0
    assert run_cli("audit", "coin.json", "--model", "coin.toml").exit_code == 0
    violated = run_cli("audit", "coin.json", "--epsilon", "1")
    assert violated.exit_code == 1
    assert "violated" in violated.stdout
    assert violated.stderr.count("\n") == 1
    assert run_cli("audit", "coin.json", "--epsilon", "1", "--delta", "0.1").exit_code == 0
    assert (
        run_cli(
            "audit", "coin.json", "--epsilon", "1", "--delta", "0.1", "--form", "entry"
        ).exit_code
        == 0
    )
    assert run_cli("audit", "coin.json", "--epsilon", "0.5", "--delta", "0.1").exit_code == 1


def test_audit_json_of_a_channel_without_privacy(folder: Path) -> None:
    Mechanism([[1.0, 0.0], [0.0, 1.0]]).save("truth.json")
    data = cli_json("audit", "truth.json")
    assert data["epsilon"] is None
    assert data["verdict"] == "violated"
    assert data["claim"] is None
    assert data["curve"][0] == {"epsilon": 0.0, "delta": 1.0}


def test_audit_of_a_constant_channel(folder: Path) -> None:
    Mechanism([[0.5, 0.5], [0.5, 0.5]]).save("constant.json")
    assert "all rows are equal" in cli_output("audit", "constant.json")
    assert cli_json("audit", "constant.json", "--epsilon", "0")["verdict"] == "certified"


def test_privatize_drops_other_columns_unless_kept(folder: Path) -> None:
    assert "3 reports" in cli_output(
        "privatize", "coin.json", "answers.csv", "--column", "answer", "-o", "out.csv"
    )
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "answer"
    assert len(lines) == 4
    assert set(lines[1:]) <= {"yes", "no"}
    cli_output(
        "privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "out.csv", "--keep", "name"
    )
    assert [row["name"] for row in csv.DictReader(Path("out.csv").read_text().splitlines())] == [
        "ann",
        "bob",
        "eve",
    ]


def test_privatize_is_repeatable_with_a_seed_and_streams(folder: Path) -> None:
    answers = "answer\n" + "yes\nno\n" * 50_000
    args = ("privatize", "coin.json", "-", "-c", "answer", "-o", "-", "--seed", "7")
    first = run_cli(*args, stdin=answers)
    second = run_cli(*args, stdin=answers)
    assert first.stdout == second.stdout
    assert "seed" in first.stderr
    assert first.stdout.count("\n") == 100_001
    kept = sum(a == b for a, b in zip(answers.split(), first.stdout.split(), strict=True)) - 1
    assert abs(kept - 75_000) < 1000


def test_numbers_as_labels_are_matched_as_text(folder: Path) -> None:
    Mechanism([[0.75, 0.25], [0.25, 0.75]], [1, 2.5]).save("numbers.json")
    out = cli_output("privatize", "numbers.json", "-", "-c", "x", "-o", "-", stdin="x\n1\n2.5\n")
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
    assert "1,000 reports" in cli_output(*args, "--plot", "bars.svg")
    assert "shares.csv has the table, of 2 rows" in run_cli(*args, "-o", "shares.csv").stderr
    assert "<svg" in Path("bars.svg").read_text()
    data = cli_json(*args)
    assert data["n_reports"] == 1000
    assert [entry["answer"] for entry in data["estimates"]] == ["no", "yes"]
    assert data["estimates"][0]["estimate"] == pytest.approx(0.7, abs=1e-9)
    assert data["estimates"][0]["low"] < 0.7 < data["estimates"][0]["high"]


def test_estimate_with_weights_and_simultaneous_intervals(folder: Path) -> None:
    Path("reports.csv").write_text("answer,w\n" + "no,1\n" * 600 + "yes,2\n" * 400)
    args = ("estimate", "coin.json", "reports.csv", "-c", "answer")
    plain = cli_json(*args)
    weighted = cli_json(*args, "--weights", "w")
    assert weighted["estimates"][1]["estimate"] == pytest.approx((800 / 1400 - 0.25) / 0.5)
    assert (plain["p_value"], weighted["p_value"]) == (1.0, None)
    assert [entry["norm_sub"] for entry in plain["estimates"]] == pytest.approx([0.7, 0.3])
    wide = cli_json(*args, "--simultaneous")["estimates"][0]
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
    result = run_cli(
        "privatize", "coin.json", "in.csv", "-c", "a", "-c", "b", "-o", "out.parquet", "--seed", "1"
    )
    assert "each person spends epsilon 2.19722 (split: a 1.099, b 1.099)" in result.stderr
    data = [
        cli_json("estimate", "coin.json", "out.parquet", "-c", column)["estimates"]
        for column in "ab"
    ]
    assert data[0][1]["estimate"] > 0.7 > 0.3 > data[1][1]["estimate"]
    assert (
        run_cli(
            "privatize", "coin.json", "in.csv", "-c", "a", "--keep", "a", "-o", "out.csv"
        ).exit_code
        == 2
    )


def test_missing_answers(folder: Path) -> None:
    Path("in.csv").write_text("a\nyes\nNA\nno\nNA\n")
    args = ("privatize", "coin.json", "in.csv", "-c", "a", "-o", "out.csv")
    refused = run_cli(*args)
    assert refused.exit_code == 2
    assert "2 answers are missing | where: in.csv, column a, the first in row 3" in refused.stderr
    kept = run_cli(*args, "--missing", "leave_out")
    assert (kept.exit_code, Path("out.csv").read_text().count('""')) == (0, 2)
    assert "the reports reveal who did not answer a" in kept.stderr
    cli_output(*args, "--missing-answer", "no")
    before = Path("in.csv").read_text()
    same = run_cli(
        "privatize", "coin.json", "in.csv", "-c", "a", "-o", "./in.csv", "--missing-answer", "no"
    )
    assert (same.exit_code, Path("in.csv").read_text()) == (2, before)


def test_plan(folder: Path) -> None:
    data = cli_json(
        "plan", "coin.json", "--half-width", "0.02", "--people", "9604", "--epsilon", "1:2:2"
    )
    assert [entry["people"] for entry in data["answers"]] == [9604, 9604]
    assert data["worst"]["half_width"] == pytest.approx(0.02, abs=1e-6)
    assert [float(entry["epsilon"]) for entry in data["curve"]] == [1.0, 2.0]
    assert data["curve"][0]["people"] > data["curve"][1]["people"]
    assert "people for +-0.02" in cli_output("plan", "coin.json", "--half-width", "0.02")


def test_sweep_writes_table_and_curves(folder: Path) -> None:
    text = cli_output(
        "sweep", "coin.toml", "--epsilon", "0.5:2:4", "-o", "out.csv", "--plot", "out.png"
    )
    assert "4 points" in text
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [float(row["epsilon"]) for row in rows] == [0.5, 1.0, 1.5, 2.0]
    assert all(abs(float(row["value"]) - float(row["closed_form"])) < 1e-9 for row in rows)
    assert Path("out.png").stat().st_size > 1000


def test_a_sweep_goes_on_from_its_checkpoint(folder: Path) -> None:
    args = ("sweep", "coin.toml", "--epsilon", "0.5:2:4", "--checkpoint", "points")
    first = cli_json(*args)
    assert cli_json(*args) == first  # the seconds, too: nothing was solved again
    other = run_cli("sweep", "coin.toml", "--epsilon", "0.5:2:5", "--checkpoint", "points")
    assert other.exit_code == 2
    assert "another run: 'sweep of 4 points" in other.stderr


def test_a_sweep_over_models_and_deltas_keeps_mechanisms(folder: Path) -> None:
    text = Path("coin.toml").read_text()
    Path("other.toml").write_text(
        text.replace('kind = "pure"', 'kind = "approximate"\ndelta = 0.0')
    )
    Path("third.toml").write_text(Path("other.toml").read_text())
    args = (
        "sweep",
        "other.toml",
        "third.toml",
        "--epsilon",
        "0.5,log(3)",
        "--delta",
        "0,0.1",
        "--keep",
        "kept",
    )
    rows = cli_json(*args, "--plot", "curves.png")["rows"]
    assert [(row["model"], row["delta"]) for row in rows[::2]] == [
        (name, delta) for name in ("other", "third") for delta in (0, 0.1)
    ]
    assert len(list(Path("kept").iterdir())) == 8
    assert "delta 0.1" in json.loads(Path("kept/4.json").read_text())["title"]
    assert "the folder is not empty" in run_cli(*args).stderr


def test_sweep_over_priors(folder: Path) -> None:
    data = cli_json(
        "sweep",
        "coin.toml",
        "--epsilon",
        "0.5,log(3)",
        "--prior-grid",
        "3",
        "--plot",
        "surface.png",
    )
    assert len(data["rows"]) == 6
    assert data["rows"][4]["weight[no]"] == 0.5
    assert data["rows"][4]["value"] == pytest.approx(0.75, abs=1e-9)
    assert Path("surface.png").stat().st_size > 1000


def test_plot(folder: Path) -> None:
    for source, kind in (("coin.toml", "mechanism"), ("coin.json", "delta")):
        assert cli_output("plot", source, "--kind", kind, "-o", "out.png").strip() == "out.png"
    data = cli_json("plot", "coin.toml", "--kind", "polytope", "-o", "out.pdf")
    assert data == {"file": "out.pdf", "kind": "polytope"}
    assert Path("out.pdf").read_bytes().startswith(b"%PDF")


def test_export(folder: Path) -> None:
    assert cli_output("export", "coin.toml", "--to", "lp").rstrip().endswith("end")
    assert cli_output("export", "coin.toml", "--to", "mps").rstrip().endswith("ENDATA")
    data = cli_json("export", "coin.toml", "--to", "mps", "--form", "pairwise", "-o", "out.mps")
    assert data == {
        "file": "out.mps",
        "format": "mps",
        "form": "pairwise",
        "rows": 6,
        "columns": 4,
        "nonzeros": 12,
    }
    assert "P(no,yes)" in Path("out.mps").read_text()


def test_solvers() -> None:
    data = cli_json("solvers")
    assert {"name": "highs", "installed": True, "install": None} in data["solvers"]
    assert "highs" in cli_output("solvers")


def test_models(folder: Path) -> None:
    Path("bad.toml").write_text("x = [")
    result = run_cli("models", ".", "--json", "-")
    assert result.exit_code == 2
    entries = {entry["name"]: entry for entry in json.loads(result.stdout)["models"]}
    assert entries["coin"]["inputs"] == 2
    assert "error" in entries["bad"]
    assert "bad.toml" in result.stderr
    Path("bad.toml").unlink()
    assert "Two coins" in cli_output("models", ".")


def test_grids() -> None:
    assert parse_grid("1:2:3") == ["1.0", "1.5", "2.0"]
    assert parse_grid("0.1, log(3)") == ["0.1", "log(3)"]
    for text in ("1:2", "1:2:x", "1:inf:3", "1:2:-1", "::"):
        with pytest.raises(StatementError):
            parse_grid(text)


def test_plain_values_are_json() -> None:
    from fractions import Fraction

    import numpy as np

    values = plain(
        {"a": math.inf, 1: np.float64("nan"), "b": (np.int64(3), Fraction(1, 2), None, True)}
    )
    assert values == {"a": None, "1": None, "b": [3, "1/2", None, True]}


# What a newcomer begins with


@pytest.mark.parametrize(("options", "command"), [((), "solve"), (("--estimate",), "design")])
def test_a_new_model_is_solved_as_it_is(
    tmp_path: Path, options: tuple[str, ...], command: str
) -> None:
    path = tmp_path / "my model.toml"
    answers = 'yes, no, "rather # not"'
    shown = cli_output("init", path, "--answers", answers, "--epsilon", "log(3)", *options)
    assert f"`ldpopt {command} {quote(str(path))}`" in shown.replace("\n", "")
    assert "certified" in cli_output(command, path)
    text = path.read_text()
    assert max(map(len, text.splitlines())) < 160
    assert "rather # not" in str(cli_json(command, path)["mechanism"]["inputs"])
    again = run_cli("init", path)
    assert (again.exit_code, path.read_text()) == (2, text)
    commented = text.replace("\n# weights", "\nweights").replace("uniform = true", "# uniform")
    path.write_text(commented)
    assert "certified" in cli_output(command, path)


def test_models_are_known_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    names = {entry["name"] for entry in cli_json("models")["models"]}
    assert names == {path.stem for path in MODELS.glob("*.toml")}
    assert lo.load_model("coin").inputs == ("no", "yes")
    Path("coin").write_text("no model")  # the file of that name counts
    assert run_cli("solve", "coin").exit_code == 2


def test_models_without_the_package_of_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> None:
        raise lo.errors.LdpoptError("the package is not installed", do='pip install "ldpopt[data]"')

    monkeypatch.setattr("ldpopt.problem.modelfile.read_model", refuse)
    result = run_cli("models")
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    assert "anes96_income" in result.stderr
    assert 'pip install "ldpopt[data]"' in result.stderr


def test_examples_are_listed_and_copied(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    assert "01_survey.py" in cli_output("examples", "--copy", target)
    assert (target / "papers" / "zhou_2019_figures.py").is_file()
    assert run_cli("examples", "--copy", target).exit_code == 2


def test_a_model_is_solved_at_another_budget() -> None:
    found = cli_json("solve", "coin", "--epsilon", "log(9)")
    assert found["value"] == pytest.approx(0.9, abs=1e-12)
    assert cli_json("design", "anes96_party_prefix", "--epsilon", "2")["privacy"] == "PureLDP(2)"


def test_estimates_as_a_table(tmp_path: Path) -> None:
    mechanism = tmp_path / "coin.json"
    reports = tmp_path / "reports.csv"
    lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no, never", "yes"]).save(mechanism)
    reports.write_text('q\n"no, never"\nyes\nyes\n')
    for name in ("table.csv", "table.parquet"):
        cli_output("estimate", mechanism, reports, "-c", "q", "-o", tmp_path / name)
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0] == "answer,estimate,std_error,low,high,norm_sub"
    assert lines[1].startswith('"no, never",0.16')
    table = parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert table["estimate"][1] == float(lines[2].split(",")[1])


def test_completion_in_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    # the shell is an argument
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    # commands made now, which see the variable
    monkeypatch.setattr("typer.testing._get_command", get_command)
    assert "--install-completion" in cli_output("--help")
    assert "_LDPOPT_COMPLETE" in cli_output("--show-completion", "bash")


# What is printed


def test_tables_in_a_pipe_have_80_columns() -> None:
    for command in (
        ("compare", "coin"),
        ("models",),
        ("vertices", "zhou_nary"),
        ("solve", "anes96_income"),
        ("examples",),
    ):
        text = run_cli(*command).stdout
        tables = [
            line
            for line in text.splitlines()
            if not line.startswith(("does not apply:", "certificate:"))
        ]
        assert max(map(len, tables)) <= 80, command


def test_a_large_channel_is_shown_by_its_likeliest_reports() -> None:
    text = run_cli("solve", "anes96_income").stdout
    assert "24 x 24, 24 reports in use" in text
    assert "21 others 0.8165" in text
    assert "and 4 answers more" in text


def test_extreme_points_for_any_epsilon() -> None:
    text = run_cli("vertices", "zhou_nary").stdout
    assert "[1 1 a; 1 a 1; a 1 1] / (a+2)" in text
    assert "/5835008329519258320227205796779630939657678624050392151701" not in text
    exact = cli_json("vertices", "zhou_nary")
    assert "/" in exact["orbits"][1]["representative"][0][0]
    assert run_cli("vertices", "coin", "--fractions", "--list", "1").stdout.count("1/4") == 2


def test_compare_names_methods_that_do_not_apply() -> None:
    text = cli_output("compare", "worst_case")
    assert "does not apply: best extreme point: with a worst case" in text


def test_models_have_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpopt.foundation.display.screen_width", lambda: 100)
    lines = cli_output("models").splitlines()
    assert len(lines) == 2 + len(list(MODELS.glob("*.toml")))
    assert max(map(len, lines)) <= 100


# One command for one question and for several


@pytest.mark.parametrize("file", ["questions.toml", "questions.json"])
def test_a_survey_is_checked_audited_and_certified_as_a_whole(folder: Path, file: str) -> None:
    questions = (
        '[question.smokes]\nlabels = ["no", "yes"]\n[question.age]\nlabels = [1, 2, '
        '3]\nmissing = "answer"\n'
    )
    Path("questions.toml").write_text(f"epsilon = 2.0\n{questions}")
    cli_output("survey", "solve", "questions.toml", "-o", "questions.json")
    asked = cli_json("check", file)["questions"]
    assert [(one["question"], one["answers"], one["missing"]) for one in asked] == [
        *(("smokes", 2, "refuse"), ("age", 4, "answer"))
    ]
    assert [one["epsilon"] for one in cli_json("audit", file)["questions"]] == pytest.approx(
        [1.0, 1.0]
    )
    assert run_cli("audit", file, "--epsilon", "2").exit_code == 0
    refused = run_cli("audit", file, "--epsilon", "1.9")
    assert (refused.exit_code, "a person spends epsilon 2 | do:" in refused.stderr) == (1, True)
    found = cli_json("certify", file)
    assert found["holds"]
    assert all(one["relative_gap"] < 1e-6 for one in found["questions"])
    assert run_cli("certify", file, "--gap", "1e-16").exit_code == 1
    assert run_cli("certify", file, "-o", "proof.json").exit_code == 2


def test_a_changed_certificate_in_a_survey_fails(folder: Path) -> None:
    best = design(Workload.frequencies(["no", "perhaps", "yes"]), PureLDP(1.0))
    Survey({"a": best}).save("survey.json")
    text = Path("survey.json").read_text()
    Path("survey.json").write_text(text.replace('"bound": "', '"bound": "1'))
    done = run_cli("certify", "survey.json")
    assert done.exit_code in (1, 2)
    assert done.stderr.count("\n") == 1


def test_a_loss_by_order_shows_the_order(folder: Path) -> None:
    model = (
        '[alphabet]\ninputs = ["never", "often", "once"]\n[prior]\nuniform = '
        'true\n[utility]\nkind = "%s"\n'
    )
    for kind, is_shown in (("absolute_error", True), ("squared_error", True), ("identity", False)):
        Path("model.toml").write_text(model % kind + '[privacy]\nkind = "pure"\nepsilon = 1\n')
        assert ("never, often, once (as stated)" in cli_output("check", "model.toml")) == is_shown


def test_a_long_task_is_named_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "LONG_TASK", 0.01)
    with printing.working("counting sheep"):
        time.sleep(0.1)
    assert capsys.readouterr().err == "ldpopt: counting sheep ...\n"


def test_commands_take_a_survey_in_place_of_a_mechanism(folder: Path) -> None:
    head = 'title = "Habits"\nepsilon = 6.0\n'
    questions = [f'[question.{name}]\nlabels = ["no", "yes"]\n' for name in ("smokes", "drinks")]
    Path("habits.toml").write_text(head + "".join(questions))
    Path("answers.csv").write_text("smokes,drinks\n" + "no,yes\n" * 400 + "yes,no\n" * 200)
    cli_output("survey", "solve", "habits.toml", "-o", "habits.json")
    for args in (
        ("check", "habits.toml"),
        ("audit", "habits.json", "--epsilon", "6"),
        ("account", "habits.json", "--waves", "2"),
        ("certify", "habits.json"),
        ("plan", "habits.json", "--people", "1000"),
        ("privatize", "habits.json", "answers.csv", "-o", "reports.csv", "--seed", "1"),
        ("estimate", "habits.json", "reports.csv"),
    ):
        one = run_cli(*args)
        other = run_cli("survey", *args)
        assert one.exit_code == other.exit_code == 0
        assert (one.stdout, one.stderr) == (other.stdout, other.stderr)
    data = cli_json("estimate", "habits.json", "reports.csv")["estimates"]
    assert [(entry["question"], entry["answer"]) for entry in data[:2]] == [
        ("smokes", "no"),
        ("smokes", "yes"),
    ]
    assert data[0]["estimate"] == pytest.approx(2 / 3, abs=0.1)
    assert data[0]["n_reports"] == 600
