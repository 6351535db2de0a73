"""Every example runs in a process of its own, its assertions hold, and it saves a picture."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import THOROUGH, seconds

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
QUICK = ("05_places",)
"""Example of the usual set; the thorough set runs all. `tests/paper/test_reproduction.py` runs
those of the papers."""

NEEDED = {
    "matplotlib": "matplotlib",
    "datasets.load": "statsmodels",
    "statsmodels.api": "statsmodels",
    "plotly.data": "plotly",
    "cvxpy": "cvxpy",
    "distributed": "distributed",
    "pyspark": "pyspark",
}
"""Words in an example and the packages that it needs for them."""


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for part in ("Question: ", "# sphinx_gallery_start_ignore", "\nassert ", "savefig("):
        assert part in text, f"{path.name} has no {part!r}: copy the form of another example"
    if not THOROUGH and path.stem not in QUICK:
        return
    for word, package in NEEDED.items():
        if word in text:
            pytest.importorskip(package, reason='the example needs pip install "ldpopt[all]"')
    if "pyspark" in text and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    ended = subprocess.run(
        [sys.executable, path, tmp_path / "pictures"],
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
    assert [entry.name for entry in tmp_path.iterdir()] == ["pictures"], (
        "something was written elsewhere"
    )


@pytest.mark.parametrize("page", ["index", "getting_started", "architecture"])
def test_python_on_the_first_pages_runs(
    page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = re.findall(
        r"^```python\n(.*?)^```",
        (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    assert blocks
    names: dict[str, object] = {}
    exec("from ldpopt import Problem, PureLDP, certify, solve", names)
    for block in blocks:
        exec(block, names)
