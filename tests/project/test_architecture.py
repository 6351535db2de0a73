"""Imports between files: no circles; the picture of the packages.

Imports inside functions count; imports for type checkers only do not.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from builders import load_script

ROOT = Path(__file__).parents[2]
FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in (ROOT / "ldpopt").rglob("*.py")
}


def imported_names(node: ast.AST) -> Iterator[str]:
    """Names that are imported anywhere below a node, except for type checkers."""
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in FILES else node.module for name in names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for child in node.orelse if is_for_types else ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from imported_names(child)


@pytest.fixture(scope="module")
def imports() -> nx.DiGraph:
    """An arrow from each file of the package to each file that it imports."""
    graph = nx.DiGraph()
    graph.add_nodes_from(FILES)
    for name, file in FILES.items():
        used = set(imported_names(ast.parse(file.read_text(encoding="utf-8")))) & set(FILES) - {
            name
        }
        graph.add_edges_from((name, other) for other in used)
    return graph


def test_there_is_no_circle_of_files(imports: nx.DiGraph) -> None:
    assert [
        sorted(part) for part in nx.strongly_connected_components(imports) if len(part) > 1
    ] == []


@pytest.mark.parametrize(
    ("independent", "searching"),
    [
        ("auditing", {"solving", "solvers", "designing"}),
        ("certificate", {"solving", "solvers", "designing"}),
        ("closed_forms", {"solving", "solvers"}),
    ],
)
def test_what_checks_reaches_nothing_that_searches(
    imports: nx.DiGraph, independent: str, searching: set[str]
) -> None:
    """Also not by what it imports."""
    own = [name for name in imports if name.startswith(f"ldpopt.{independent}.")]
    assert own
    reached = set().union(*(nx.descendants(imports, name) for name in own))
    assert sorted(name for name in reached if set(name.split(".")[1:2]) & searching) == []


def test_the_picture_of_the_packages_is_drawn_anew() -> None:
    script = load_script(ROOT / "docs" / "packages.py")
    assert (ROOT / "docs" / "packages.svg").read_text(encoding="utf-8") == script.drawing(), (
        "run python docs/packages.py"
    )


def test_every_package_is_in_one_box_on_the_side_of_its_kind() -> None:
    script = load_script(ROOT / "docs" / "packages.py")
    ledger = tomllib.loads((ROOT / "tests" / "project" / "rooms.toml").read_text(encoding="utf-8"))
    for kind, floors in (("product", script.PRODUCTS), ("core", script.CORE)):
        drawn = [name for floor in floors for _, packages, _ in floor for name in packages]
        rows = {
            name
            for name, row in ledger.items()
            if row["kind"] == kind and "/" not in name and name != "ldpopt_check.py"
        }
        assert sorted(drawn) == sorted(rows), (
            f"docs/packages.py does not draw each {kind} once: {sorted(rows ^ set(drawn))}"
        )
