"""What tests do not do: import private names, match sentences, measure time."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time"}
Rule = Callable[[ast.AST], Iterator[str]]
SENTENCE = 3
"""Most words of a pattern that an error or a warning is matched with."""


@functools.cache
def files() -> dict[str, str]:
    """The tests and what they share, by their path in the folder of tests."""
    return {
        str(path.relative_to(TESTS)): path.read_text(encoding="utf-8")
        for path in sorted(TESTS.rglob("*.py"))
    }


def private_imports(tree: ast.AST) -> Iterator[str]:
    """Names with an underscore that are imported from the package, and modules with one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ldpopt"):
            names = [*str(node.module).split("."), *(each.name for each in node.names)]
        elif isinstance(node, ast.Import):
            names = [part for each in node.names for part in each.name.split(".")]
            names = names if names[0] == "ldpopt" else []
        else:
            continue
        yield from (name for name in names if re.match("_(?!_)", name))


def long_patterns(tree: ast.AST) -> Iterator[str]:
    """Patterns of more than a few words, which break when a sentence is worded better."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "match":
            texts = [
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if len(re.findall(r"[^\W\d_]{2,}", " ".join(texts))) > SENTENCE:
                yield ast.unparse(node.value)


def timed(tree: ast.AST) -> Iterator[str]:
    """Functions that assert how much time went by, unless a limit of time is their subject."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "limit" not in node.name:
            parts = list(ast.walk(node))
            since = {
                target.id
                for part in parts
                if isinstance(part, ast.Assign) and passed(part.value, set())
                for target in part.targets
                if isinstance(target, ast.Name)
            }
            if any(isinstance(part, ast.Assert) and passed(part.test, since) for part in parts):
                yield node.name


def passed(node: ast.AST, since: set[str]) -> bool:
    """Whether an expression has the time since another moment, or a name of it."""
    return any(
        (isinstance(part, ast.Name) and part.id in since)
        or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and is_clock(part.left))
        for part in ast.walk(node)
    )


def is_clock(node: ast.AST) -> bool:
    """Whether an expression is the call of a clock."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in CLOCKS
    )


RULES = {
    private_imports: re.compile(
        r"^ *(from|import) ldpopt[\w.]*(\._| import (\([^)]*\b_|.*\b_))", re.M
    ),
    long_patterns: re.compile(r"match="),
    timed: re.compile(rf"({'|'.join(CLOCKS)})\(\) *-"),
}
"""Each rule, and what a file has in its text that may break it."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_test_does_it(rule: Rule) -> None:
    broken = {
        path: list(rule(ast.parse(text)))
        for path, text in files().items()
        if RULES[rule].search(text)
    }
    assert {path: what for path, what in broken.items() if what} == {}


WRONG = """
from ldpopt.designing.record import KINDS, _other
from ldpopt._hidden import name
import ldpopt._module as module

def test_speed():
    began = time.perf_counter()
    act()
    assert time.perf_counter() - began < 3

def test_speed_by_name():
    began = clock()
    act()
    took = monotonic() - began
    assert took < 3

def test_the_limit_of_time():
    assert time.process_time() - began < seconds(3)

def test_a_sentence():
    assert time.monotonic() < end
    with pytest.raises(ValueError, match="not a grid: steps"):
        act()
    with pytest.raises(ValueError, match="a table has no rows"):
        act()
"""


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        (private_imports, ["_other", "_hidden", "_module"]),
        (long_patterns, ["'a table has no rows'"]),
        (timed, ["test_speed", "test_speed_by_name"]),
    ],
)
def test_each_rule_sees_what_breaks_it(rule: Rule, seen: list[str]) -> None:
    assert RULES[rule].search(WRONG)
    assert list(rule(ast.parse(WRONG))) == seen
