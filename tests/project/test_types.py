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
@pytest.mark.parametrize("script", ["right", "wrong"])
def test_mypy_strict(script: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    output = checked([sys.executable, "-m", "mypy", "--strict", "--config-file="], script, tmp_path)
    assert lines_of_errors(output, ": error:") == ([] if script == "right" else [7, 8, 9]), output


@pytest.mark.long
@pytest.mark.parametrize("script", ["right", "wrong"])
def test_pyright(script: str, tmp_path: Path) -> None:
    pyright = shutil.which("pyright") or pytest.skip("pyright is not installed")
    output = checked([pyright, "--pythonpath", sys.executable], script, tmp_path)
    assert lines_of_errors(output, " - error:") == ([] if script == "right" else [7, 8, 9]), output


def checked(command: list[str], script: str, folder: Path) -> str:
    """Output of a type checker for the script, outside of the repository and its settings."""
    path = folder / "script.py"
    path.write_text(SCRIPT.read_text(encoding="utf-8") if script == "right" else WRONG, encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run([*command, path.name], cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def lines_of_errors(output: str, mark: str) -> list[int]:
    """Lines of the script at which a checker sees errors."""
    places = [line.split(mark)[0] for line in output.splitlines() if mark in line]
    return sorted({int(place.split("script.py:")[1].split(":")[0]) for place in places})
