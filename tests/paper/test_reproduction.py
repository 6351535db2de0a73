"""`examples/papers/all.py` compares each printed value with ours; finished parts are kept, and
differences explained.

The other tests of this folder check what the scripts do not: proofs by definition, and errata at
other parameters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import load_script, seconds

pytest.importorskip("matplotlib", reason='the scripts draw; pip install "ldpopt[plot]"')
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "papers"


def run_all(folder: Path, *options: str) -> str:
    """The output of ``all.py``."""
    ended = subprocess.run(
        [sys.executable, str(FOLDER / "all.py"), str(folder), *options],
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=seconds(300),
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def results(page: Path) -> dict[str, list[str]]:
    """Row of a source -> the other cells of its line in a table of rows."""
    lines = [
        line.strip("| \n").split(" | ") for line in page.read_text(encoding="utf-8").splitlines()
    ]
    return {line[0]: line[1:] for line in lines if len(line) == 4 and line[0][0] in "ZWRB"}


@pytest.mark.long
def test_printed_values_and_ours_are_as_documented(tmp_path: Path) -> None:
    assert "MISSING" not in run_all(tmp_path, "--quick")
    found = results(tmp_path / "rows.md")
    documented = results(ROOT / "docs" / "papers.md")
    assert found.keys() == documented.keys() == set(load_script(FOLDER / "rows.py").ROWS)
    assert {
        key for key, (_, places, _) in found.items() if places == documented[key][1]
    } == documented.keys()
    # these depend on the run or the machine
    fixed = documented.keys() - {"R18", "R19", "R20", "R21", "R23", "R24"}
    assert {key: found[key] for key in fixed} == {key: documented[key] for key in fixed}


@pytest.mark.long
def test_a_finished_part_is_kept_until_something_changes(tmp_path: Path) -> None:
    assert "introduction: done" in run_all(tmp_path, "--only", "introduction")
    state = tmp_path / "introduction" / "part.json"
    first = json.loads(state.read_text())
    assert "introduction: kept" in run_all(tmp_path, "--only", "introduction")
    assert json.loads(state.read_text()) == first
    # Another digest: an older script, other options, another library.
    runner = load_script(FOLDER / "all.py").Runner(
        tmp_path, type("Options", (), {"quick": False, "fresh": False})
    )
    assert runner.is_finished("introduction")
    state.write_text(json.dumps(first | {"digest": "0"}))
    assert not runner.is_finished("introduction")


def test_an_unfinished_part_continues_only_with_the_same_script(tmp_path: Path) -> None:
    script = load_script(FOLDER / "all.py")
    runner = script.Runner(
        tmp_path, type("Options", (), {"quick": True, "fresh": False, "jobs": 1})
    )
    _, digest, _ = runner.state("introduction")
    folder = tmp_path / "introduction"
    folder.mkdir()
    (folder / "half").touch()
    (folder / "part.json").write_text(json.dumps({"digest": digest}))
    assert not runner.is_finished("introduction")
    runner.start("introduction")
    assert (folder / "half").exists()
    runner.stop()
    (folder / "part.json").write_text(json.dumps({"digest": "of another script"}))
    runner.start("introduction")
    assert not (folder / "half").exists()
    runner.stop()


def test_a_difference_needs_a_reason(tmp_path: Path) -> None:
    shared = load_script(FOLDER / "shared.py")
    record = shared.Record(tmp_path)
    record.value("Z19", "to the printed digits", 0.47502, "0.4750", where="")
    record.value("Z19", "the last digit is off", 0.47508, "0.4750", where="")
    assert [row.verdict for row in record.rows] == ["agrees", "differs"]
    with pytest.raises(AssertionError, match="last digit"):
        record.save()
    record.rows.pop()
    record.save()
    assert shared.read_rows(tmp_path / "rows.csv") == record.rows
