"""Statements of the theory pages: numbers, labels and marks in order, tests that exist, sources
that are listed."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))

from statements import HEADER, KINDS, Statement, pages, statements, table  # noqa: E402

PAGES = pages()
ALL = [one for page, text in PAGES.items() for one in statements(page, text)]
WITHOUT_STATEMENTS = {"errata", "index", "references", "symbols"}
SOURCES = re.findall(r"^\(([\w-]+)\)=$", PAGES["references"], flags=re.MULTILINE)[1:]


@cache
def functions(path: str) -> set[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_page_has_assumptions_and_then_numbered_statements() -> None:
    assert len(ALL) > 100
    for page, text in PAGES.items():
        if page in WITHOUT_STATEMENTS:
            continue
        found = list(statements(page, text))
        assert [one.number for one in found] == list(range(1, len(found) + 1)), page
        assert found, page
        first = HEADER.search(text)
        assert first is not None
        assert 0 < text.find("**Assumptions.**") < first.start(), page


def test_labels_are_those_of_their_page_and_unique() -> None:
    assert len({one.label for one in ALL}) == len(ALL)
    for one in ALL:
        assert one.label.startswith(f"thm-{one.page.replace('_', '-')}-"), one


def test_no_statement_has_another_form() -> None:
    """A heading in bold that the parser does not read would be without number, mark and test."""
    for page, text in PAGES.items():
        if page == "errata":  # statements of others
            continue
        headings = re.findall(rf"\*\*(?:{'|'.join(KINDS)}|Claim|Statement)\b[^*]*\*\*", text)
        labels = re.findall(r"^\(thm-[\w-]+\)=$", text, flags=re.MULTILINE)
        read = sum(1 for _ in statements(page, text))
        assert (len(headings), len(labels)) == ((read, read) if page != "index" else (1, 0)), page


@pytest.mark.parametrize("page", sorted(PAGES.keys() - WITHOUT_STATEMENTS))
def test_statements_name_tests_that_exist(page: str) -> None:
    for one in statements(page, PAGES[page]):
        assert one.tests, f"{one.label}: name a test, or several"
        for test in one.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), f"{one.label}: there is no {path}"
            assert name in functions(path), f"{one.label}: {path} has no {name}"


def test_a_statement_that_is_proved_has_a_proof() -> None:
    """Every proof ends with the sign for it, before the next statement or section."""
    for page, text in PAGES.items():
        found = list(HEADER.finditer(text))
        for k, one in enumerate(found):
            end = found[k + 1].start() if k + 1 < len(found) else len(text)
            if one["mark"].startswith("Proved"):
                assert "∎" in text[one.end() : end], f"{page}: {one['label']}"
            assert text[one.end() : end].count("∎") <= 2 + (page == "binary"), (
                f"{page}: {one['label']}"
            )


def test_sources_are_cited_and_listed() -> None:
    cited = {
        key
        for page in PAGES.values()
        for key in re.findall(r"\]\(#([\w-]+)\)", page)
        if not key.startswith("thm-")
    }
    assert sorted(SOURCES) == SOURCES
    assert cited == set(SOURCES)
    labels = {one.label for one in ALL}
    assert {
        key for page in PAGES.values() for key in re.findall(r"\]\(#(thm-[\w-]+)\)", page)
    } <= labels


def test_a_damaged_statement_is_noticed() -> None:
    good = (
        "(thm-x-one)=\n**Theorem 1 (one).** *Proved; new.* Test: `tests/a.py::test_b`.\n\nIt "
        "is so.\n"
    )
    assert list(statements("x", good)) == [
        Statement("x", "thm-x-one", "Theorem", 1, "one", "Proved; new", ("tests/a.py::test_b",))
    ]
    for old, new in {
        "Proved": "Clear",
        "Test:": "See",
        " (one)": "",
        "\n\n": "\n",
        "thm-": "",
    }.items():
        assert not list(statements("x", good.replace(old, new))), old


def test_the_table_has_every_statement() -> None:
    assert table().count("](#thm-") == len(ALL)


BARE = re.compile(r"\{ref\}`([\w-]+)`")
TITLED = re.compile(r"^\(([\w-]+)\)=\n+(?=#|```\{figure\}|:::\{table\})", flags=re.MULTILINE)


def test_a_reference_without_words_names_a_heading() -> None:
    # of other labels the documents have no title to print, and the build ends with a warning
    texts = {p: p.read_text("utf-8") for p in sorted((ROOT / "docs").rglob("*.md"))}
    titled = {label for text in texts.values() for label in TITLED.findall(text)}
    named = [(p.name, x) for p, text in texts.items() for x in BARE.findall(text)]
    assert len(named) > 20
    assert not [(page, label) for page, label in named if label not in titled]


def test_the_pdf_has_a_link_to_every_page() -> None:
    from pdf import contents

    page = (
        '<section class="x" id="theory-a">\n<span id="a"></span><h2>Page A<a class="headerlink" '
        'href="#theory-a">#</a></h2><h3>Part<a class="headerlink" href="#p">#</a></h3></section>'
        '<section id="theory-b">\n<h2>Page B<a class="headerlink" href="#theory-b">#</a></h2>'
    )
    links = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', contents(page))
    assert links == [("theory-a", "Page A"), ("theory-b", "Page B")]


def test_marks_in_the_table_have_no_signs() -> None:
    marks = [line.split("|")[3].strip() for line in table().splitlines()[2:]]
    assert all(re.fullmatch(r"[A-Z][a-z]+(, [a-z]+)*", mark) for mark in marks)
