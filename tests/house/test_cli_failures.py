"""The command line when things go wrong: one line, an exit code, and no file half written."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from builders import run_cli, run_python, seconds, start_cli, thorough_or
from ldpopt import Mechanism


@pytest.mark.parametrize(
    "table, words",
    [
        ("answer\nyes\nmaybe\n", ("unknown answer: ", "row 3")),
        ("answer\nyes\nYes\n", ("row 3", "known: no, yes")),
        ("anwser\nyes\n", ("unknown column 'answer'", "did you mean 'anwser'")),
        ("answer,answer\nyes,no\n", ("duplicate column 'answer': 2",)),
        ("answer,b\nyes\n", ("1 fields", "row 2")),
        ("answer\nyes\n\nno\n", ("1 answer is missing", "row 3")),
        ("", ("empty",)),
        ('answer\n"yes\n', ("not a CSV", "not closed")),
    ],
)
def test_bad_tables_leave_the_old_file(folder: Path, table: str, words: tuple[str, ...]) -> None:
    Path("bad.csv").write_text(table)
    Path("out.csv").write_text("old")
    result = run_cli("privatize", "coin.json", "bad.csv", "-c", "answer", "-o", "out.csv")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr
    assert Path("out.csv").read_text() == "old"
    assert not [name for name in os.listdir() if name.startswith(".")]
    to_stdout = run_cli("privatize", "coin.json", "bad.csv", "-c", "answer", "-o", "-")
    assert to_stdout.stdout == ""


BAD = [
    ("frobnicate",),
    ("--frobnicate",),
    ("solve",),
    ("solve", "missing.toml"),
    ("solve", "."),
    ("solve", "coin.json"),
    ("solve", "broken.toml"),
    ("solve", "coin.toml", "--solver", "nobody"),
    ("solve", "coin.toml", "--solver", "cvxpy:nobody"),
    ("solve", "coin.toml", "--form", "square"),
    ("solve", "coin.toml", "--time-limit", "0"),
    ("solve", "coin.toml", "--time-limit", "soon"),
    ("solve", "coin.toml", "-o", "missing/out.json"),
    ("solve", "coin.toml", "-o", "."),
    ("solve", "coin.toml", "--json", "missing/out.json"),
    ("solve", "coin.toml", "--plot", "out.doc"),
    ("check", "binary.toml"),
    ("compare", "missing.toml"),
    ("audit", "missing.json"),
    ("audit", "."),
    ("audit", "coin.toml"),
    ("audit", "other.json"),
    ("audit", "list.json"),
    ("audit", "coin.json", "--epsilon", "plenty"),
    ("audit", "coin.json", "--epsilon=-1"),
    ("audit", "coin.json", "--epsilon", "inf"),
    ("audit", "coin.json", "--delta", "0.1"),
    ("audit", "coin.json", "--epsilon", "1", "--delta", "2"),
    ("audit", "coin.json", "--epsilon", "1", "--model", "coin.toml"),
    ("privatize", "coin.json", "answers.csv", "-o", "out.csv"),
    ("privatize", "coin.json", "missing.csv", "-c", "answer", "-o", "out.csv"),
    ("privatize", "coin.json", ".", "-c", "answer", "-o", "out.csv"),
    ("privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "missing/out.csv"),
    ("privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "out.csv", "--keep", "age"),
    ("privatize", "twins.json", "answers.csv", "-c", "answer", "-o", "out.csv"),
    ("privatize", "coin.json", "latin.csv", "-c", "answer", "-o", "out.csv"),
    ("privatize", "coin.json", "answers.csv", "-c", "answer", "-o", "-", "--json", "-"),
    ("estimate", "coin.json", "answers.csv", "-c", "name"),
    ("estimate", "coin.json", "answers.csv", "-c", "answer", "--confidence", "2"),
    ("estimate", "constant.json", "answers.csv", "-c", "answer"),
    ("sweep", "coin.toml", "--epsilon", "a:b:c"),
    ("sweep", "coin.toml", "--epsilon", "1:2:0"),
    ("sweep", "coin.toml", "--epsilon", "0:nan:3"),
    ("sweep", "coin.toml", "--epsilon", ""),
    ("sweep", "coin.toml", "--epsilon", "1", "-j", "0"),
    ("sweep", "impossible.toml", "--epsilon", "1", "--prior-grid", "3"),
    ("plot", "impossible.toml", "--kind", "polytope", "-o", "out.png"),
    ("plot", "coin.json", "-o", "out"),
    ("design", "coin.toml"),
    ("design", "missing.toml"),
    ("design", "survey.toml", "-o", "missing/out.json"),
    ("design", "survey.toml", "--certificate", "."),
    ("design", "survey.toml", "--plot", "out.doc"),
    ("design", "survey.toml", "--outputs", "1"),
    ("design", "survey.toml", "--gap", "2"),
    ("design", "survey.toml", "--time-limit", "0"),
    ("solve", "survey.toml"),
    ("certify", "survey.toml", "--solver", "cbc"),
    ("sweep", "survey.toml", "--epsilon", "1"),
    ("vertices", "survey.toml"),
    ("export", "survey.toml", "--to", "lp"),
    ("plot", "survey.toml", "--kind", "mechanism", "-o", "out.png"),
    ("plot", "coin.json", "--kind", "design", "-o", "out.png"),
    ("export", "coin.toml", "--to", "xls"),
    ("export", "coin.toml", "--to", "lp", "--json", "-"),
    ("models", "missing"),
]


@pytest.mark.parametrize("args", BAD, ids=" ".join)
def test_bad_input_is_one_line_and_exit_2(folder: Path, args: tuple[str, ...]) -> None:
    Path("broken.toml").write_text("x = [")
    Path("binary.toml").write_bytes(b"\xff\xfe\x00")
    Path("other.json").write_text('{"channel": 3}')
    Path("list.json").write_text("[1, 2]")
    Path("latin.csv").write_bytes(b"answer\nyes\nn\xf6\n")
    Mechanism([[0.5, 0.5], [0.5, 0.5]], ["no", "yes"]).save("constant.json")
    Mechanism([[0.5, 0.5], [0.5, 0.5]], ["1", 1]).save("twins.json")
    before = sorted(os.listdir())
    result = run_cli(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("ldpopt: ")
    assert result.stderr.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_plot_of_an_infeasible_model_is_exit_3(folder: Path) -> None:
    assert run_cli("plot", "impossible.toml", "-o", "out.png").exit_code == 3


def test_unexpected_errors_are_not_swallowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ldpopt.problem.modelfile.read_model", broken)
    assert isinstance(run_cli("check", "coin.toml").exception, ZeroDivisionError)


def test_labels_cannot_speak_to_the_terminal(folder: Path, coin: str) -> None:
    Path("rude.toml").write_text(coin.replace('"no"', r'"[red]\u001b[2J\n"'))
    text = run_cli("solve", "rude.toml").stdout
    assert "\x1b[2J" not in text
    assert "[red]" in text


# What needs a process of its own.


def test_a_closed_pipe_ends_quietly(folder: Path, coin: str) -> None:
    Path("large.toml").write_text(coin.replace('["no", "yes"]', str(list(range(60)))))
    with start_cli("export", "large.toml", "--to", "lp") as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(seconds(20)) == 0


COMMANDS = [
    ("solve", "coin.toml"),
    ("solve", "coin.toml", "--json", "-"),
    ("check", "coin.toml"),
    ("--help",),
    ("--version",),
]


@pytest.fixture(params=thorough_or([""], ["", "1"]), ids=lambda value: "unbuffered" if value else "buffered")
def _buffering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer keeps what could not be written, and is written again when the interpreter ends."""
    monkeypatch.setenv("PYTHONUNBUFFERED", request.param)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line(folder: Path, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full, start_cli(*args, stdout=full) as program:
        _, text = program.communicate(timeout=seconds(20))
    assert (program.returncode, text) == (2, "ldpopt: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.usefixtures("_buffering")
def test_what_cannot_be_said_changes_no_exit_code(folder: Path) -> None:
    codes = []
    for model in ("coin.toml", "missing.toml", "impossible.toml"):
        with Path("/dev/full").open("w") as full, start_cli("solve", model, stdout=full, stderr=full) as program:
            codes.append(program.wait(seconds(20)))
    assert codes == [2, 2, 3]


@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_nobody_has_to_read(folder: Path, args: tuple[str, ...]) -> None:
    """The reader is gone before anything is written, or there never was one."""
    for close in (False, True):
        read, write = os.pipe()
        os.close(read)
        with start_cli(*args, stdout=write, preexec_fn=(lambda: os.close(1)) if close else None) as program:
            os.close(write)
            _, text = program.communicate(timeout=seconds(20))
        assert (program.returncode, text) == (0, "")


def test_help_starts_fast() -> None:
    """At most three times the CPU of importing numpy, and nothing heavy."""

    def cpu(*command: str) -> float:
        best = math.inf
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return best

    assert cpu(sys.executable, "-m", "ldpopt", "--help") < 3 * cpu(sys.executable, "-c", "import numpy")
    heavy = ("scipy", "networkx", "pandas", "highspy", "matplotlib", "cvxpy", "pulp", "pydantic", "rich", "cloudpickle")
    code = f"import sys, ldpopt.cli; print([m for m in {heavy!r} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"
