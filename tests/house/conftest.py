"""Files that the command line is tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpopt import Mechanism

COIN = (Path(__file__).parents[2] / "models" / "coin.toml").read_text().partition("[expect]")[0]
IMPOSSIBLE = """
[alphabet]
inputs = [-1.0, 0.0, 1.0]
[prior]
uniform = true
[utility]
kind = "squared_error"
[privacy]
kind = "pure"
epsilon = 0.5
[[constraints]]
kind = "unbiased"
"""
SURVEY = """
title = "A survey"
[alphabet]
inputs = ["no", "perhaps", "yes"]
[workload]
kind = "prefix"
[privacy]
kind = "pure"
epsilon = 1.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("coin.toml").write_text(COIN)
    Path("survey.toml").write_text(SURVEY)
    Path("expects.toml").write_text(COIN + "[expect]\nvalue = 0.7\n")
    Path("impossible.toml").write_text(IMPOSSIBLE)
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    Path("answers.csv").write_text('\ufeffname,answer\r\nann,yes\r\nbob,"no"\r\neve,yes\r\n', encoding="utf-8")
    return tmp_path


@pytest.fixture
def coin() -> str:
    return COIN
