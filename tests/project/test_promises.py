"""Every sentence of `docs/promises.md` that promises something has a row in
`docs/promises_checked.md`, and its tests exist; tests of promises that belong to no single room.
"""

from __future__ import annotations

import ast
import functools
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import PrivacyViolationError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
CHECKED = (ROOT / "docs" / "promises_checked.md").read_text(encoding="utf-8")
PARTS = ("Promised", "Under which assumptions", "Not promised")


def part_of(page: str, title: str) -> str:
    """The text below a title."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def sentences(text: str) -> list[str]:
    """Sentences of paragraphs and lists, without tables."""
    plain = "\n".join(row for row in text.splitlines() if not row.lstrip().startswith("|"))
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=\* )", plain)]
    return [
        sentence
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.!?]) (?=[A-Z`*])", paragraph)
        if sentence
    ]


def rows(title: str) -> list[tuple[str, list[str]]]:
    """The beginning of each sentence in the table of a part, and its tests."""
    lines = [line for line in part_of(CHECKED, title).splitlines() if line.startswith("| ")][1:]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in lines]
    return [(row[0].removesuffix(" ..."), re.findall(r"`(tests/[^`]*)`", row[2])) for row in cells]


def test_every_promise_has_a_row() -> None:
    begun = tuple(beginning for beginning, _ in rows("Promised"))
    left = [
        sentence
        for sentence in sentences(part_of(PAGE, "Promised"))
        if not sentence.startswith(("Theory: ", *begun))
    ]
    assert not left, "add rows to docs/promises_checked.md"


@pytest.mark.parametrize("title", PARTS)
def test_every_row_is_a_sentence_of_the_page(title: str) -> None:
    stated = [sentence.removeprefix("* ") for sentence in sentences(part_of(PAGE, title))]
    for beginning, _ in rows(title):
        assert sum(sentence.startswith(beginning) for sentence in stated) == 1, beginning


@pytest.mark.parametrize("title", PARTS)
def test_the_tests_of_promises_exist(title: str) -> None:
    for beginning, tests in rows(title):
        assert tests or title != "Promised", beginning
        for test in tests:
            path, name = test.split("::")
            assert name in functions_of(ROOT / path), test


@functools.cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


# Promises that belong to no single room


class Stricter(lo.PureLDP):
    """Rows of one budget, and an audit at half of it."""

    def audit(self, channel: Any) -> lo.Audit:
        return lo.PureLDP(self.epsilon.share(Fraction(1, 2))).audit(channel)


class Never(lo.PureLDP):
    """Rows of one budget, and an audit that nothing passes."""

    def audit(self, channel: Any) -> lo.Audit:
        return lo.PureLDP(self.epsilon).audit(np.eye(2))


def test_a_mechanism_that_fails_the_audit_is_not_returned() -> None:
    strict = Stricter("log(3)")
    plain = lo.solve(lo.Problem([0.4, 0.6], "identity", lo.PureLDP("log(3)"))).mechanism
    assert strict.audit(plain).verdict == "violated"
    answer = lo.solve(lo.Problem([0.4, 0.6], "identity", strict))
    assert strict.audit(answer.mechanism).verdict == "certified"
    with pytest.raises(PrivacyViolationError):
        lo.solve(lo.Problem([0.4, 0.6], "identity", Never("log(3)")))


BETWEEN_PROCESSES = {"processes/child.py", "processes/pool.py", "tables/spark.py"}
READERS = {"pickle", "marshal", "shelve", "dill", "yaml", "joblib", "runpy"}
CALLS = {"eval", "exec", "compile", "np.load"}


def test_no_code_is_read_from_files() -> None:
    """What is pickled goes between the processes of one run; everything else is data."""
    imported = set()
    for path in sorted((ROOT / "ldpopt").rglob("*.py")):
        where = path.relative_to(ROOT / "ldpopt").as_posix()
        source = path.read_text(encoding="utf-8")
        if not any(name in source for name in (*READERS, *CALLS, "allow_pickle")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                if names & READERS:
                    imported.add(where)
            elif isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in CALLS, where
                assert "allow_pickle" not in {key.arg for key in node.keywords}, where
    assert imported == BETWEEN_PROCESSES


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("n", [2, 5])
def test_a_worst_case_tells_every_truth_sometimes(epsilon: float, n: int) -> None:
    worst = lo.Problem(None, lo.utility.identity(n), lo.PureLDP(epsilon), objective="worst_case")
    truths = np.diag(lo.solve(worst).mechanism.channel)
    assert truths.min() >= 1 / n - 1e-12
    steep = [0.9, *[0.1 / (n - 1)] * (n - 1)]
    often = lo.solve(lo.Problem(steep, "identity", lo.PureLDP(epsilon))).mechanism
    assert np.diag(often.channel).min() == 0  # the likeliest answer is reported always


def test_a_delta_of_15_percent_reveals_15_percent_of_the_rare_answers() -> None:
    notion = lo.ApproximateLDP(0.1, 0.15)
    mechanism = lo.solve(lo.Problem([0.2, 0.8], "identity", notion)).mechanism
    # A report "0" comes from the rare answer only, up to the units of masses that a repair moves.
    assert mechanism.channel[:, 0] == pytest.approx([0.15, 0], abs=1e-12)
