"""Every example runs in a process of its own, ends well, and leaves a picture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import THOROUGH, seconds

FOLDER = Path(__file__).parents[2] / "examples"
CHECKS = Path(__file__).with_name("story_checks.py")
"""Runs a story and checks what it says; the scripts of the papers check themselves."""

HELPERS = ("all", "rows", "shared", "motion", "liu_zhou_page", "liu_zhou_printed")
"""Not scripts by themselves: `tests/paper/test_all_papers.py` runs `all.py`."""

EXAMPLES = sorted(
    [*FOLDER.glob("[0-9][0-9]_*.py"), *(path for path in FOLDER.glob("papers/*.py") if path.stem not in HELPERS)]
)
QUICK = ("01_survey", "05_places")
"""The usual set runs these two; the house's own run and the thorough set run all."""

NEEDED = {"matplotlib": "matplotlib", "datasets.load": "statsmodels", "plotly.data": "plotly", "cvxpy": "cvxpy"}
NEEDED |= {"distributed": "distributed"}
"""Package that a word in a script asks for."""


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if THOROUGH or path.stem in QUICK], ids=lambda path: path.stem
)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for word, package in NEEDED.items():
        if word in text:
            pytest.importorskip(package, reason='the example needs pip install "ldpopt[all]"')
    ended = subprocess.run(
        [sys.executable, *([CHECKS] if path.parent == FOLDER else []), path, tmp_path / "pictures"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=seconds(120),
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    pictures = list((tmp_path / "pictures").glob("*.png"))
    assert pictures, "no picture was written"
    assert all(picture.stat().st_size > 5000 for picture in pictures)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pictures"], "something was written elsewhere"


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_tells_its_story(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    if path.parent != FOLDER:
        assert "assert " in text
        return
    assert "Question: " in text
    assert "assert " not in text, "what a reader need not see is checked in story_checks.py"
    assert f"def {path.stem[3:]}(" in CHECKS.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 95
