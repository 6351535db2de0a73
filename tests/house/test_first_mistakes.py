"""What newcomers get wrong: each mistake is answered by what to do, or means what they meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ldpopt as lo
from builders import run_cli
from ldpopt.errors import StatementError, showing_values

MODELS = Path(__file__).parents[2] / "models"


def refused(*args: object) -> str:
    result = run_cli(*args)
    assert result.exit_code == 2, result.stdout
    return result.stderr


@pytest.fixture(scope="module")
def coin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("coin") / "coin.json"
    lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["FULL-TIME", "none"]).save(path)
    return str(path)


def test_a_model_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_bytes(b'source = "a survey"\ntitle = "Gr\xf6\xdfe"\n' + (MODELS / "coin.toml").read_bytes())
    text = refused("check", path)
    assert "model.toml:2" in text
    assert "UTF-8" in text


def test_a_table_with_semicolons_and_a_label_in_small_letters(tmp_path: Path, coin: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("id;job\n1;none\n")
    assert "';'" in refused("privatize", coin, path, "-c", "job", "-o", tmp_path / "reports.csv")
    path.write_text("job\nfull-time\n")
    command = ("privatize", coin, path, "-c", "job", "-o", tmp_path / "reports.csv")
    assert "row 2" in refused(*command)
    assert "did you mean" not in refused(*command)
    assert "did you mean 'FULL-TIME'?" in refused(*command, "--show-values")
    with showing_values(), pytest.raises(StatementError, match="did you mean 'FULL-TIME'"):
        lo.Mechanism.load(coin).sample(["full-time"])


def test_answers_straight_in_the_prior(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('[alphabet]\ninputs = ["walk", "bike"]\n[prior]\nwalk = 0.3\nbike = 0.7\n')
    assert 'weights = {"walk" = 0.3, ...}' in refused("check", path)


@pytest.mark.parametrize("command", ["compare", "check", "vertices", "solve", "audit"])
def test_a_folder_for_the_record_is_refused_before_the_work(command: str, coin: str, tmp_path: Path) -> None:
    file = coin if command == "audit" else str(MODELS / "coin.toml")
    result = run_cli(command, file, "--json", tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot write the file: it is a folder" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("solve", "coin"),
        ("report", "coin"),
        ("sweep", "coin", "--epsilon", "1"),
        ("simulate", "coin", "--people", "10"),
        ("estimate", "COIN", "reports.csv", "-c", "a"),
    ],
)
def test_stdout_for_a_file_makes_no_file_of_that_name(
    args: tuple[str, ...], coin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = refused(*(coin if arg == "COIN" else arg for arg in args), "-o", "-")
    assert "--json - writes to stdout" in text
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there(coin: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    for args in (("audit", missing), ("certify", missing), ("estimate", coin, tmp_path / "missing.csv", "-c", "a")):
        assert "do: check the path" in refused(*args)


def test_a_model_where_a_mechanism_is_asked_for() -> None:
    text = refused("audit", MODELS / "coin.toml")
    assert "a model is solved first" in text
    assert "JSONDecodeError" not in text


def test_a_program_has_the_format_of_its_files_ending(tmp_path: Path) -> None:
    assert run_cli("export", MODELS / "coin.toml", "-o", tmp_path / "coin.mps").exit_code == 0
    assert (tmp_path / "coin.mps").read_text().startswith("NAME")
    assert "\\ File written by HiGHS .lp" in run_cli("export", MODELS / "coin.toml").stdout


def test_models_of_a_sweep_that_state_different_limits(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text((MODELS / "coin.toml").read_text() + "\n[solver]\ntime_limit = 3.0\n")
    args = ("sweep", MODELS / "coin.toml", other, "--epsilon", "1")
    assert "different values of time_limit: None, 3.0" in refused(*args)
    assert run_cli(*args, "--time-limit", "2").exit_code == 0


def test_kinds_of_privacy_are_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text((MODELS / "coin.toml").read_text().replace('"pure"', '"prue"'))
    assert refused("check", path).count("pure") == 2  # did you mean, and in the list


def test_distances_by_name_as_in_a_model_file() -> None:
    with pytest.raises(StatementError, match="points=") as error:
        lo.MetricDP(1.0, "euclidean")
    assert "needs points" in error.value.what
    with pytest.raises(StatementError, match="'manhattan'"):
        lo.MetricDP(1.0, "manhatan", points=[0, 1])
    corners = {"home": (0, 0), "work": (3, 4)}
    assert lo.MetricDP(1.0, "euclidean", points=corners).matrix(["work", "home"])[0, 1] == 5
    assert lo.MetricDP(1.0, "absolute").matrix(["1", "10"])[0, 1] == 9
    with pytest.raises(StatementError, match="numbers"):
        lo.MetricDP(1.0, "absolute").matrix(["a", "b"])


def test_a_solution_is_no_mechanism_and_a_designed_protocol_is_found() -> None:
    solution = lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1.0)))
    with pytest.raises(StatementError, match=r"solution\.mechanism"):
        lo.estimate_frequencies(solution, [0, 1])
    with pytest.raises(StatementError, match=r"mean\.designed\("):
        lo.mean.Designed(1.0)


def test_pictures_of_another_file(tmp_path: Path, coin: str) -> None:
    assert "name the model file" in refused("plot", coin, "--kind", "polytope", "-o", tmp_path / "a.png")
    assert "ldpopt design" in refused("plot", coin, "--kind", "design", "-o", tmp_path / "a.png")


def test_files_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    target = tmp_path / "found.json"
    command = [sys.executable, "-u", "-m", "ldpopt", "check", str(MODELS / "coin.toml"), "--json", str(target)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_text().endswith("}\n")


def test_a_sweep_says_what_its_values_are() -> None:
    problem = lo.Problem(None, np.eye(2), lo.PureLDP(1.0), objective="worst_case")
    assert lo.sweep(problem, [1.0]).aim == "worst-case gain"


def test_a_bare_matrix_that_looks_like_a_loss() -> None:
    loss = np.array([[0.0, 1.0], [2.0, 0.0]])
    with pytest.warns(UserWarning, match="is it a loss"):
        assert lo.Problem([0.5, 0.5], loss, lo.PureLDP(1.0)).utility.sense == "gain"
    lo.Problem([0.5, 0.5], lo.Utility(loss, "gain"), lo.PureLDP(1.0))  # said on purpose: no warning


def test_numbers_in_text_are_numbers() -> None:
    problem = lo.Problem({"1": 0.5, "10": 0.3, "1e2": 0.2}, "absolute_error", lo.PureLDP(1.0))
    assert problem.utility.matrix[0].tolist() == [0, 9, 99]
    with pytest.raises(StatementError, match="'1' is a number, 'more' is none"):
        lo.utility.named("absolute_error", ["1", "more"], ["1", "more"])


def test_a_mechanism_is_no_certificate(tmp_path):
    target = tmp_path / "coin.json"
    assert run_cli("solve", "coin", "-o", target).exit_code == 0
    done = run_cli("certify", target)
    assert done.exit_code == 2
    assert "--certificate" in done.stderr
    assert "ldpopt audit" in done.stderr
