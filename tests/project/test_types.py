"""Type checkers accept a user's script that runs, and reject a wrong one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import load_script

ROOT = Path(__file__).parents[2]
KNOWN = ROOT / ".mypy_cache"
SCRIPT = Path(__file__).with_name("typed_script.py")
WRONG = """
import ldpopt
from ldpopt.studies.sweep import SweepResult

problem = ldpopt.Problem([0.4, 0.6], "identity", ldpopt.PureLDP(1.0))
found: SweepResult = ldpopt.sweep(problem, [1.0])
ldpopt.sweep(problem)  # line 7: no budgets
ldpopt.plot(found).no_such_method()  # line 8
ldpopt.slove(problem)  # line 9
"""


def test_the_script_runs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    load_script(SCRIPT).main(tmp_path)


@pytest.mark.long
def test_mypy_strict(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    if KNOWN.exists():  # then only what has other settings or another text is checked again
        shutil.copytree(KNOWN, tmp_path / KNOWN.name)
    output = checked(command, tmp_path)
    assert lines_of_errors(output, ": error:") == {"wrong.py": [7, 8, 9]}, output


@pytest.mark.long
def test_pyright(tmp_path: Path) -> None:
    pyright = shutil.which("pyright") or pytest.skip("pyright is not installed")
    output = checked([pyright, "--pythonpath", sys.executable], tmp_path)
    assert lines_of_errors(output, " - error:") == {"wrong.py": [7, 8, 9]}, output


def checked(command: list[str], folder: Path) -> str:
    """Output of a type checker for both scripts, outside of the repository and its settings."""
    for name, text in (("right.py", SCRIPT.read_text(encoding="utf-8")), ("wrong.py", WRONG)):
        (folder / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "right.py", "wrong.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def lines_of_errors(output: str, mark: str) -> dict[str, list[int]]:
    """Lines of each script at which a checker sees errors."""
    found: dict[str, set[int]] = {}
    for line in output.splitlines():
        if mark in line:
            place = Path(line.split(mark)[0].strip()).name.split(":")
            found.setdefault(place[0], set()).add(int(place[1]))
    return {name: sorted(lines) for name, lines in found.items()}
