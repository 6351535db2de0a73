"""Mutants of a module: places where an operator of Cosmic Ray, or an exchange of two names, changes
its meaning."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes
    ----------
    function : str
        Qualified name of the function with the change; empty outside of functions.
    name : str
        Function, the changed line before and after; unique in a module, and independent of line
        numbers.
    line : int
        Number of the changed line.
    code : str
        The changed module.
    """

    function: str
    name: str
    line: int
    code: str


def exchange(one: str, other: str) -> Operator:
    """Operator that writes one name for another: ``floor`` for ``ceil``, ``round_up`` for
    ``round_down``."""

    class Exchange(Operator):
        def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
            if (
                node.type == "name"
                and node.value == one
                and node.parent.type not in ("import_as_names", "funcdef")
            ):
                yield node.start_pos, node.end_pos

        def mutate(self, node: Any, index: int) -> Any:
            node.value = other
            return node

        @classmethod
        def examples(cls) -> tuple[()]:
            return ()

    return Exchange()


def operators(settings: dict[str, Any]) -> Iterator[tuple[str, Operator]]:
    """Yield the operators that the settings name."""
    chosen = re.compile("|".join(settings["operators"]))
    for name in sorted(operator_names()):
        if chosen.fullmatch(name.partition("/")[2]):
            yield name, get_operator(name)()
    for one, other in settings["exchanged"]:
        yield one, exchange(one, other)
        yield other, exchange(other, one)


def mutants(path: str, settings: dict[str, Any], most: int) -> list[Mutant]:
    """Mutants of a module that are other programs, in a random order that other lines do not
    change."""
    source = Path(path).read_text()
    lines = source.splitlines()
    functions = _functions(source)
    raised = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise))
    words = {line for node in raised for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    places = []
    for part in ast.parse(source).body:
        if isinstance(part, ast.If):
            continue  # imports for types, and what only a process of its own runs
        first = min([part.lineno, *(mark.lineno for mark in getattr(part, "decorator_list", ()))])
        text = "\n".join(lines[first - 1 : part.end_lineno]) + "\n"
        nodes = list(ast_nodes(get_ast(text)))
        for name, operator in operators(settings):
            positions = (at for node in nodes for at in operator.mutation_positions(node))
            for occurrence, ((row, column), _) in enumerate(positions):
                line = lines[first + row - 2]
                if (
                    line.startswith("@")
                    or line[:column].endswith("strict=")
                    or line[column:].startswith("*, ")
                ):
                    continue  # the size of a cache, a guard against slips, a mark in a signature
                if first + row - 1 in words:
                    continue  # what an error says; that it is raised stays
                if name.endswith("NumberReplacer") and re.match(
                    r"[0-9.]+e|[0-9]{4}|[0-9]+_", line[column:]
                ):
                    continue  # a threshold of 1e-9 or 20_000 that is off by one says nothing
                key = hashlib.sha1(
                    f"{settings['seed']} {name} {line} {column} {occurrence % 2}".encode()
                ).digest()
                places.append((key, operator, occurrence, first + row - 1, first, text))
    seen = set()
    found = {}
    for _, operator, occurrence, line, first, text in sorted(places, key=lambda place: place[0]):
        changed = mutate_code(text, operator, occurrence)
        meaning = changed and _meaning(changed)
        if meaning and meaning not in seen and meaning != _meaning(text):
            seen.add(meaning)
            function = max(
                ((low, name) for name, low, high in functions if low <= line <= high),
                default=(0, ""),
            )[1]
            name = f"{function}: {_change(text, changed)}"
            while name in found:
                name += " again"
            rest = lines[first - 1 + text.count("\n") :]
            found[name] = Mutant(
                function, name, line, "\n".join([*lines[: first - 1], changed, *rest, ""])
            )
        if len(found) == most:
            break
    return list(found.values())


def _meaning(code: str) -> str | None:
    """Syntax tree without annotations and docstrings, as text; None if it is no program."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("int")
    return ast.dump(tree)


def _functions(source: str) -> list[tuple[str, int, int]]:
    """Qualified names, first and last lines of the functions of a module and of its classes."""
    found = []
    for node in ast.parse(source).body:
        parts = (
            [(f"{node.name}.", part) for part in node.body]
            if isinstance(node, ast.ClassDef)
            else [("", node)]
        )
        for prefix, part in parts:
            if isinstance(part, ast.FunctionDef):
                found.append((prefix + part.name, part.lineno, part.end_lineno or 0))
    return found


def _change(source: str, code: str) -> str:
    """The first line that differs, before and after."""
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    before, after = next((one, other) for one, other in pairs if one != other)
    return f"{before.strip()} => {re.sub(' +', ' ', after.strip())}"
