"""A model file to spoil, and how to write, refuse and compare one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldpopt.errors import ModelFileError
from ldpopt.problem.modelfile import load_model
from ldpopt.problem.problem import Problem

GOOD = """\
title = "Survey"
source = "nobody"

[alphabet]
inputs = ["no", "yes"]

[prior]
values = [0.2, 0.8]

[utility]
kind = "identity"

[privacy]
kind = "pure"
epsilon = 0.1

[solver]
name = "highs"
time_limit = 60

[expect]
value = 0.8
"""


@pytest.fixture(scope="session")
def survey() -> str:
    return GOOD


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Write the text of a model, and return where it is."""

    def write(text: str) -> Path:
        path = tmp_path / "model.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session", name="privacy")
def _privacy() -> Callable[..., str]:
    return privacy


@pytest.fixture(scope="session", name="same")
def _same() -> Callable[[Problem, Problem], bool]:
    return same


@pytest.fixture(scope="session", name="one_line")
def _one_line() -> Callable[[Path], str]:
    return one_line


def privacy(lines: str, *, inputs: str = '["a", "b", "c"]') -> str:
    """Statement of a notion."""
    return f"[alphabet]\ninputs = {inputs}\n[prior]\nuniform = true\n[privacy]\n{lines}\n"


def same(one: Problem, other: Problem) -> bool:
    """Equal statements, part by part; the notion by the rows it writes and the exact budget it
    names."""

    def key(problem: Problem) -> list[Any]:
        rows = problem.privacy.rows(problem.inputs, len(problem.outputs))
        blocks = [rows, *problem.constraints]
        own = getattr(problem.privacy, "epsilon", None)
        budgets = list(problem.comparisons().budget) if own is None else [own]
        return [
            problem.inputs,
            problem.outputs,
            problem.objective,
            problem.utility.sense,
            problem.utility.matrix.tolist(),
            None if problem.prior is None else problem.prior.tolist(),
            type(problem.privacy),
            {(budget.nats, budget.ratio) for budget in budgets},
            getattr(problem.privacy, "form", None),
            *(
                (
                    b.name,
                    *(
                        getattr(b, a).tolist()
                        for a in ("row", "x", "y", "coefficient", "lower", "upper")
                    ),
                )
                for b in blocks
            ),
        ]

    return key(one) == key(other)


@pytest.fixture(scope="session", name="refusal")
def _refusal() -> Callable[[Path], ModelFileError]:
    return refusal


def refusal(path: Path) -> ModelFileError:
    """The refusal of a file, in one line with file, key and line."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    line = caught.value.one_line
    assert "\n" not in line
    assert len(line) < 600
    assert str(path) in line
    return caught.value


def one_line(path: Path) -> str:
    """The message of a refusal."""
    return refusal(path).one_line
