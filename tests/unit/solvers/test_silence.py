"""Solvers print nothing of their own to the output, which other programs read."""

from __future__ import annotations

import subprocess
import sys

import pytest

SOLVED = """
from ldpopt import Problem, PureLDP, solve
solve(Problem([0.2, 0.8], "identity", PureLDP(1.0)), solver={!r})
"""


@pytest.mark.parametrize("solver", ["highs", "cvxpy:HIGHS", "cbc"])
def test_nothing_is_printed(solver: str) -> None:
    """In a process of its own, for HiGHS 1.16 shows its version once, when the first model is made."""
    ended = subprocess.run([sys.executable, "-c", SOLVED.format(solver)], capture_output=True, text=True, check=True)
    assert ended.stdout == ""
