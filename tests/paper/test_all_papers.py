"""`examples/papers/all.py`: what is finished is kept, a row that differs says why, and no row is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import THOROUGH, load_script, seconds

pytest.importorskip("matplotlib", reason='the scripts draw; pip install "ldpopt[plot]"')
FOLDER = Path(__file__).parents[2] / "examples" / "papers"


def run_all(folder: Path, *options: str) -> str:
    ended = subprocess.run(
        [sys.executable, str(FOLDER / "all.py"), str(folder), "--jobs", "1", *options],
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=seconds(300),
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_finished_part_is_kept_until_something_changes(tmp_path: Path) -> None:
    assert "introduction: done" in run_all(tmp_path, "--only", "introduction")
    state = tmp_path / "introduction" / "part.json"
    first = json.loads(state.read_text())
    said = run_all(tmp_path, "--only", "introduction")
    assert "introduction: kept" in said
    assert "MISSING" in said  # rows of the other parts
    assert json.loads(state.read_text()) == first
    # Another digest: an older script, other options, another library.
    runner = load_script(FOLDER / "all.py").Runner(tmp_path, type("Options", (), {"quick": False, "fresh": False}))
    assert runner.is_finished("introduction")
    state.write_text(json.dumps(first | {"digest": "0"}))
    assert not runner.is_finished("introduction")


def test_an_unfinished_part_starts_again_where_it_was(tmp_path: Path) -> None:
    every = load_script(FOLDER / "all.py")
    options = type("Options", (), {"quick": True, "fresh": False, "jobs": 1})
    runner = every.Runner(tmp_path, options)
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


def test_a_row_that_differs_says_why(tmp_path: Path) -> None:
    shared = load_script(FOLDER / "shared.py")
    record = shared.Record(tmp_path)
    record.value("Z19", "to the printed digits", 0.47502, "0.4750", where="")
    record.value("Z19", "the last digit is off", 0.47508, "0.4750", where="")
    assert [row.verdict for row in record.rows] == ["agrees", "differs"]
    with pytest.raises(AssertionError, match="the last digit is off"):
        record.save()
    record.rows.pop()
    record.save()
    assert shared.read_rows(tmp_path / "rows.csv") == record.rows


def test_there_are_79_rows() -> None:
    rows = load_script(FOLDER / "rows.py").ROWS
    counts = {letter: sum(key[0] == letter for key in rows) for letter in "ZWRB"}
    assert counts == {"Z": 24, "W": 22, "R": 26, "B": 7}


@pytest.mark.skipif(not THOROUGH, reason="a minute; LDPOPT_TESTS=thorough")
def test_every_row_is_shown(tmp_path: Path) -> None:
    said = run_all(tmp_path, "--quick")
    assert "MISSING" not in said
    assert (tmp_path / "rows.md").read_text().count("\n| ") == 80
