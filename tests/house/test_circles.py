"""No circles among files, and what proves imports nothing that searches; imports inside functions included."""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in (ROOT / "ldpopt").rglob("*.py")
}


def imports(node: ast.AST) -> Iterator[str]:
    """Names that are imported anywhere below a node, except for type checkers."""
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in FILES else node.module for name in names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for child in node.orelse if is_for_types else ast.iter_child_nodes(node):
        yield from imports(child)


def house() -> nx.DiGraph:
    """An arrow from each file to those that it imports."""
    graph = nx.DiGraph()
    for name, file in FILES.items():
        graph.add_node(name)
        used = set(imports(ast.parse(file.read_text()))) & set(FILES) - {name}
        graph.add_edges_from((name, other) for other in used)
    return graph


def test_files_import_each_other_in_no_circle() -> None:
    circles = [sorted(part) for part in nx.strongly_connected_components(house()) if len(part) > 1]
    assert not circles


def test_what_proves_imports_nothing_that_searches() -> None:
    trusted, searching = {"certificate", "auditing", "privacy"}, {"solvers", "solving", "designing"}
    rooms = [[name.split(".")[1] for name in pair] for pair in house().edges if all("." in name for name in pair)]
    assert not [pair for pair in rooms if pair[0] in trusted and pair[1] in searching]
