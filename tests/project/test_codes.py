"""Codes of errors: what programs and tests match in place of sentences.

A code is a noun in lower case, or several with "-" between them. All places that make an error of
ldpopt are read from the source: calls of a class of `ldpopt.errors`, and of any function or method
with the keyword ``code``. The rules that can be seen there:

1. A code is a text constant of the right form, or a name that is assigned such constants in the
   same function.
2. A code has one spelling: a code and the same one with a last "s" do not occur both.
3. A code is for one cause: where it occurs several times in a file, the errors have one class, and
   the sentences share a word of four letters or more. What a file says in another file's words is
   its own affair: "grid" may be one of budgets here and one of points there.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

import ldpopt
from ldpopt import errors
from ldpopt.errors import LdpoptError

PACKAGE = Path(ldpopt.__file__).parent
FORM = re.compile(r"[a-z]+(-[a-z]+)*")
KINDS = {
    name
    for name, thing in vars(errors).items()
    if isinstance(thing, type) and issubclass(thing, LdpoptError)
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Site(NamedTuple):
    """A place that makes an error with a code."""

    file: str
    line: int
    code: str | None  # None if it cannot be read
    kind: str  # class or function that is called
    words: frozenset[str]  # of the sentence, as far as it is constant


def constants(node: ast.AST | None) -> list[str]:
    """Texts in an expression; of a name, those that it is assigned are not among them."""
    parts = [] if node is None else list(ast.walk(node))
    return [
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


@cache
def assignments(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Expressions that are assigned to each name of a scope."""
    values = defaultdict(list)
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    values[target.id].append(node.value)
    return values


def values_of(name: str, scope: ast.AST) -> list[ast.expr]:
    """Expressions that are assigned to a name."""
    return assignments(scope).get(name, [])


def functions_in(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions, without a look at expressions."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        parts = ast.iter_child_nodes(node)
        nodes += [part for part in parts if isinstance(part, STATEMENTS)]
    return [node for node in nodes if isinstance(node, FUNCTIONS)]


def sites_in(path: Path) -> Iterator[Site]:
    """All places in a file; a code that is passed on as it came is none."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\bcode\s*=", text):  # no call has the keyword
        return
    lines = text.splitlines()
    seen = set[int]()
    for scope in reversed(functions_in(ast.parse(text))):  # inner ones before those around them
        if not any("code" in line for line in lines[scope.lineno - 1 : scope.end_lineno]):
            continue
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and id(call) not in seen:
                seen.add(id(call))
                yield from _sites(call, scope, path.relative_to(PACKAGE).as_posix())


def _sites(call: ast.Call, scope: ast.AST, file: str) -> Iterator[Site]:
    """The codes of one call: none, one, or those that a name is assigned."""
    (code,) = [word.value for word in call.keywords if word.arg == "code"] or [None]
    kind = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if code is None or not (kind in KINDS or kind.lower().endswith(("error", "refuse", "refusal"))):
        return
    sentence = call.args[0] if call.args else None
    sentences = values_of(sentence.id, scope) if isinstance(sentence, ast.Name) else [sentence]
    words = frozenset(
        word
        for part in sentences
        for text in constants(part)
        for word in re.findall(r"[a-z]{4,}", text.lower())
    )
    codes: list[ast.expr] = values_of(code.id, scope) if isinstance(code, ast.Name) else [code]
    for value in codes:
        texts = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
        for text in texts:
            yield Site(file, call.lineno, text if isinstance(text, str) else None, kind, words)


@cache
def sites() -> list[Site]:
    """All places of the package whose code can be read."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return [site for path in paths for site in sites_in(path) if site.code]


def test_codes_are_read_from_the_source() -> None:
    assert len({site.code for site in sites()}) > 100
    assert ("studies/sweep.py", "grid") in {(site.file, site.code) for site in sites()}


def test_codes_are_nouns_in_lower_case() -> None:
    wrong = [site for site in sites() if not FORM.fullmatch(site.code or "")]
    assert not wrong


def test_no_code_has_two_spellings() -> None:
    places = defaultdict(list)
    for site in sites():
        places[site.code].append(f"{site.file}:{site.line}")
    twice = {code: places[f"{code}s"] for code in places if f"{code}s" in places}
    assert not twice


def test_a_code_is_for_one_cause_in_a_file() -> None:
    by_code = defaultdict(list)
    for site in sites():
        by_code[site.file, site.code].append(site)
    wrong = [
        (first, second)
        for same in by_code.values()
        for first, second in combinations(same, 2)
        if first.kind != second.kind
        or (first.words and second.words and not first.words & second.words)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ('def f():\n    raise StatementError("no grid", code="grid")\n', "grid"),
        ('def f():\n    code = "grid"\n    raise StatementError("no grid", code=code)\n', "grid"),
        ('def f(self):\n    raise self.error("no grid", code="grid")\n', "grid"),
    ],
)
def test_the_reader_of_codes_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, code: str
) -> None:
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    (tmp_path / "file.py").write_text(source)
    (site,) = sites_in(tmp_path / "file.py")
    assert (site.code, site.words) == (code, {"grid"})
