"""Settings for all tests: hypothesis repeats the same examples, and does not fail when it is slow;
test files."""

from __future__ import annotations

import ast
import functools
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The workers of pytest-xdist take all cores: more threads in each of them would wait for another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from builders import NEW_CASES, THOROUGH, seconds, thorough_or
from ldpopt import Mechanism

settings.register_profile(
    "ldpopt",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=15,
)
settings.register_profile(
    "thorough", settings.get_profile("ldpopt"), derandomize=not NEW_CASES, max_examples=160
)
settings.load_profile(os.environ.get("LDPOPT_TESTS", "ldpopt"))

# The limit for a test that hangs: pytest-timeout reads it before the number in pyproject.toml.
os.environ.setdefault("PYTEST_TIMEOUT", f"{seconds(thorough_or(240, 1200)):.0f}")


# Collecting makes half a million objects that stay: looking for unused ones among them takes a
# third of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for unused objects again, among those that tests make; in a session of thousands of
    tests Python's own thresholds took 6 % of the time.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--not-usual",
        action="store_true",
        help="leave out tests that are the same in the usual set",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked as long to the thorough set, and to the usual one those that do not depend
    on the set."""
    for item in items if not THOROUGH else ():
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="in the thorough set"))
    if config.getoption("--not-usual"):
        same = {item for item in items if depending(item.path).isdisjoint(names_of(item))}
        config.hook.pytest_deselected(items=list(same))
        items[:] = [item for item in items if item not in same]


def names_of(item: pytest.Item) -> set[str]:
    """Names of a test, of its class, of its marks and of its fixtures."""
    places = {node.name.partition("[")[0] for node in item.listchain()}
    return (
        places
        | {mark.name for mark in item.iter_markers()}
        | set(getattr(item, "fixturenames", ()))
    )


@functools.cache
def depending(path: Path) -> set[str]:
    """Names in a test file of what depends on the set of tests: it speaks of the set, or of such a
    name."""
    parts = [
        ({node.name} if hasattr(node, "name") else names_in(node, ast.Store), names_in(node))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
    ]
    found = {"THOROUGH", "thorough_or", "sample_or_all", "pairs_or_turns", "cases", "fuzz_cases"}
    found |= {"given", "long"}
    while more := [made for made, used in parts if used & found and not made <= found]:
        found.update(*more)
    return found


def names_in(tree: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Names and attributes, also those of the arguments of functions, which are fixtures."""
    nodes = list(ast.walk(tree))
    names = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }
    names |= {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, context)
    }
    return names | {
        node.arg for node in nodes if isinstance(node, ast.arg) and context is ast.expr_context
    }


@pytest.fixture(autouse=True, scope="session")
def _files_need_not_reach_the_disk() -> Iterator[None]:
    """Syncing to disk takes a millisecond to a second each time, and no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


COIN = (Path(__file__).parents[1] / "models" / "coin.toml").read_text().partition("[expect]")[0]
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
WORKLOAD = """
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
    Path("workload.toml").write_text(WORKLOAD)
    Path("expects.toml").write_text(COIN + "[expect]\nvalue = 0.7\n")
    Path("impossible.toml").write_text(IMPOSSIBLE)
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    Path("answers.csv").write_text(
        '\ufeffname,answer\r\nann,yes\r\nbob,"no"\r\neve,yes\r\n', encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def coin() -> str:
    return COIN


def pytest_runtest_teardown() -> None:
    """Close the figures of a test: too many open ones are a warning in the next test of the same
    process."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
