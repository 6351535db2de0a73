"""The commands of the documentation print what it says, but for seconds, rounding errors and random
draws."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from builders import THOROUGH, run_cli
from ldpopt import Survey, fieldwork, techniques

HOME = Path(__file__).parents[2]
PAGE = HOME / "docs" / "command_line.md"
RANDOM = ("estimate", "key")
"""Commands whose numbers differ from run to run."""

SEARCHED = 0.02
"""Relative tolerance for the best of some starts: the local optimum that is reached depends on the
processor."""

LONG = ("compare", "design", "sweep", "simulate", "experiment", "report")
"""Commands that take most of the time: in the thorough set."""


def documented() -> list[tuple[str, list[str]]]:
    """Commands of the page in their order, each with its lines of output."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(
        r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    ):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def plain(line: str) -> tuple[str, list[float]]:
    """Words of a line and its numbers, without what no two runs share: seconds, rounding errors,
    widths of columns."""
    line = re.sub(r"\d[\d.]* s\b", "# s", line)
    line = re.sub(r"-?\b\d+(\.\d+)?e[+-]\d+", "#", line)
    line = re.sub(r"\b[\da-f]{16}\b", "#", line)
    line = re.sub(r"(certified +)\d+\.\d{3}$", r"\1#", line)
    line = re.sub(r" 0 +optimal", " # optimal", line)
    number = r"-?\d+(?:,\d{3})*(?:\.\d*)?"
    numbers = [float(found.replace(",", "")) for found in re.findall(number, line)]
    return re.sub(r"[ ─]+", " ", re.sub(number, "#", line)).strip(), numbers


def same(shown: list[str], printed: list[str], is_random: bool) -> None:
    """Compare what is shown, where "..." stands for any lines at the beginning."""
    if shown and shown[0] == "...":
        shown = shown[1:]
        printed = printed[len(printed) - len(shown) :]
    assert [plain(line)[0] for line in printed] == [plain(line)[0] for line in shown]
    if not is_random:
        for one, two in zip(printed, shown, strict=True):
            assert plain(one)[1] == pytest.approx(
                plain(two)[1], rel=SEARCHED if "starts" in one else 1e-3
            ), one


def make_files(folder: Path) -> None:
    """Write the models and the 6366 answers that the page speaks of."""
    (folder / "models").symlink_to(HOME / "models")
    answers = np.repeat(["no", "yes"], [4313, 2053])
    rows = "".join(f"{person},{answer}\n" for person, answer in enumerate(answers))
    (folder / "answers.csv").write_text("person,affair\n" + rows)
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (halves,) = (block for block in blocks if "behaviors =" in block)
    (folder / "halves.toml").write_text(halves)
    techniques.forced(0, "1/4").save(folder / "quarter.json")
    techniques.forced(0, "3/4").save(folder / "three_quarters.json")
    seen = {(1, "no"): 570, (1, "yes"): 430, (2, "no"): 260, (2, "yes"): 740}
    lines = [f"{half},{report}\n" for (half, report), n in seen.items() for _ in range(n)]
    (folder / "halves.csv").write_text("half,shoplifting\n" + "".join(lines))
    (folder / "ages.csv").write_text("age\n" + "".join(f"{20 + k * k % 57}\n" for k in range(500)))


def run_documented(command: str, folder: Path) -> list[str] | None:
    """Lines that a command of the page prints; None if it is not shown, or is not ours."""
    if command.startswith("sed "):
        text = (folder / "proof.json").read_text(encoding="utf-8")
        changed = text.replace('"epsilon": 1.0', '"epsilon": 0.9')
        (folder / "other.json").write_text(changed, encoding="utf-8")
        return None
    words = shlex.split(command.split(" > ")[0])[1:]
    if words[0] == "privatize":
        shutil.rmtree(folder / "reports.csv", ignore_errors=True)
    result = run_cli(*words)
    assert max(map(len, result.stdout.splitlines()), default=0) <= 80
    printed = (result.stdout + (result.stderr if result.exit_code else "")).splitlines()
    return None if " > " in command else printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page."""
    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_documented_commands_print_what_is_shown(folder: Path) -> None:
    for package in ("matplotlib", "statsmodels", "cvxpy", "piqp", "pulp"):
        pytest.importorskip(package, reason='the page was written with pip install "ldpopt[all]"')
    commands = documented()
    assert len(commands) > 15
    for command, shown in commands:
        kind = command.split()[1]
        if kind in LONG and not THOROUGH:
            continue
        printed = run_documented(command, folder)
        if printed is not None:
            same(shown, printed, kind in RANDOM)


def readme_commands() -> list[list[str]]:
    """Words of the commands of the README that are no examples of Python."""
    text = (HOME / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    (ldpopt .*)$", text, re.M)
    parts = [part for line in lines for part in line.split(" && ")]
    return [shlex.split(part, comments=True)[1:] for part in parts]


def test_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("matplotlib", "formulaic", "pyarrow", "sqlalchemy"):
        pytest.importorskip(package, reason='the README was written with pip install "ldpopt[all]"')
    monkeypatch.chdir(tmp_path)
    text = (HOME / "README.md").read_text(encoding="utf-8")
    made = re.search(r"^    (awk .*?> answers\.csv)$", text, re.M | re.S)
    assert made is not None
    if shutil.which("awk") is None or shutil.which("bash") is None:
        pytest.skip("awk makes the table of the README")
    subprocess.run(["bash", "-c", made[1]], check=True)
    assert len(Path("answers.csv").read_text().splitlines()) == 4001
    commands = readme_commands()
    assert any("--differences" in words for words in commands)
    assert any(words[:2] == ["survey", "regress"] for words in commands)
    for words in commands:
        if words[:2] == ["survey", "collect"]:  # runs until it is ended
            with fieldwork.Store("sqlite:///reports.db", Survey.load("survey.json")):
                pass
            continue
        result = run_cli(*words)
        is_empty = "sqlite:///reports.db" in words and "no reports" in result.stderr
        assert result.exit_code == 0 or is_empty, (words, result.stderr)


def test_the_documented_survey_is_solved(folder: Path) -> None:
    """The file with every key of a question, but for those of halves."""
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (text,) = (block for block in blocks if "[question.smokes]" in block)
    techniques.warner(0.4).save(folder / "party.json")
    (folder / "survey.toml").write_text(text)
    for command in ("check", "solve"):
        done = run_cli("survey", command, "survey.toml")
        assert done.exit_code == 0, done.output
        assert "theft" in done.stdout
