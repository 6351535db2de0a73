"""What a newcomer begins with: a model file, the models and examples of the package, completion in the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import ldpopt as lo
from builders import run_cli

ROOT = Path(__file__).parents[2]


def good(*args: object) -> str:
    result = run_cli(*args)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(("options", "verb"), [((), "solve"), (("--estimate",), "design")])
def test_a_new_model_is_solved_as_it_is(tmp_path: Path, options: tuple[str, ...], verb: str) -> None:
    path = tmp_path / "mine.toml"
    answers = 'yes, no, "rather # not"'
    assert f"ldpopt {verb}" in good("init", path, "--answers", answers, "--epsilon", "log(3)", *options)
    assert "certified" in good(verb, path)
    text = path.read_text()
    assert max(map(len, text.splitlines())) < 160
    assert "rather # not" in str(json.loads(good(verb, path, "--json", "-"))["mechanism"]["inputs"])
    again = run_cli("init", path)
    assert (again.exit_code, path.read_text()) == (2, text)
    commented = text.replace("\n# weights", "\nweights").replace("uniform = true", "# uniform")
    path.write_text(commented)
    assert "certified" in good(verb, path)


def test_a_model_needs_answers(tmp_path: Path) -> None:
    for answers in ("yes", "yes,yes", "yes,"):
        assert run_cli("init", tmp_path / "a.toml", "--answers", answers).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_models_are_known_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    names = {entry["name"] for entry in json.loads(good("models", "--json", "-"))["models"]}
    assert names == {path.stem for path in (ROOT / "models").glob("*.toml")}
    assert lo.load_model("coin").inputs == ("no", "yes")
    assert "did you mean 'coin'?" in run_cli("solve", "coyn").stderr
    Path("coin").write_text("no model")  # a file of that name is meant
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
    assert "01_survey.py" in good("examples", "--copy", target)
    assert (target / "papers" / "zhou_2019_figures.py").is_file()
    assert run_cli("examples", "--copy", target).exit_code == 2


def test_another_budget_than_the_models() -> None:
    found = json.loads(good("solve", "coin", "--epsilon", "log(9)", "--json", "-"))
    assert found["value"] == pytest.approx(0.9, abs=1e-12)
    assert run_cli("solve", "coin", "--epsilon", "-1").exit_code == 2
    assert json.loads(good("design", "anes96_party_prefix", "--epsilon", "2", "--json", "-"))["privacy"] == "PureLDP(2)"


def test_estimates_as_a_table(tmp_path: Path) -> None:
    mechanism, reports = tmp_path / "coin.json", tmp_path / "reports.csv"
    lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no, never", "yes"]).save(mechanism)
    reports.write_text('q\n"no, never"\nyes\nyes\n')
    for name in ("table.csv", "table.parquet"):
        good("estimate", mechanism, reports, "-c", "q", "-o", tmp_path / name)
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0] == "answer,estimate,std_error,low,high,norm_sub"
    assert lines[1].startswith('"no, never",0.16')
    table = parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert table["estimate"][1] == float(lines[2].split(",")[1])
    assert run_cli("estimate", mechanism, reports, "-c", "q", "-o", tmp_path / "table.docx").exit_code == 2


def test_completion_in_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # the shell is named, not looked for
    assert "--install-completion" in good("--help")
    assert "_LDPOPT_COMPLETE" in good("--show-completion", "bash")
