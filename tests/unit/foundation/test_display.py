"""Facts of objects: text that fits the terminal, and tables in notebooks."""

from __future__ import annotations

import pytest

import ldpopt as lo
from ldpopt.foundation.display import (
    Facts,
    Table,
    folded,
    label,
    printable,
    privacy_text,
    thinned,
)

PROBLEM = lo.Problem({"<no>": 0.4, "yes": 0.6}, "identity", lo.PureLDP("log(3)"))
SOLUTION = lo.solve(PROBLEM)
LONG = Table(
    ["model", "size", "title"],
    [["a", 12345, "a b c d " * 20], ["b", None, "short"]],
    "Title",
    words=["title"],
)


def test_a_certificate_is_one_line_of_floats() -> None:
    text = repr(lo.certify(SOLUTION))
    assert text.startswith("Certificate(achieved=0.75, bound=0.75, relative_gap=")
    assert len(text) < 120
    assert "\n" not in text


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_words_are_folded_or_cut_to_fit(width: int) -> None:
    text = LONG.text(width)
    assert text.startswith("Title\n")
    assert "12,345" in text
    assert "-" in text
    assert width < 40 or max(map(len, text.splitlines())) <= width
    cut = Table(LONG.headings, LONG.rows, words=["title"], cut=True).text(width)
    assert len(cut.splitlines()) == 4
    assert width == 200 or "..." in cut


def test_a_table_that_is_too_wide_is_replaced() -> None:
    wide = Table(["a"] * 30, [["12345"] * 30], narrow=Table(["few"], [["words"]]))
    assert "few" in wide.text(80)
    assert "few" not in wide.text(300)
    assert "few" not in wide.html()


def test_facts_have_empty_lines_around_tables_only() -> None:
    table = Table(["x"], [["1"]])
    text = Facts(
        "Title", [table, ("name", 0.123456789), "a remark", table, "another", ("last", True)]
    ).text(80)
    blank = [place for place, line in enumerate(text.splitlines()) if not line]
    assert text.splitlines()[0] == "Title"
    assert [text.splitlines()[place + 1][:5] for place in blank] == ["name:", "x"]
    assert "0.123457" in text


def test_many_rows_are_thinned_or_cut_off() -> None:
    few, more = thinned(range(100), 30)
    assert (list(few), more) == (list(range(0, 100, 4)), ", one row in 4 shown")
    assert thinned(range(3), 30) == (range(3), "")
    page = Table(["x"], [[k] for k in range(100)]).html()
    assert page.count("<tr>") == 31
    assert "the first 30 of 100 rows" in page


def test_text_cannot_control_the_terminal() -> None:
    assert printable("a\x1bb\nc") == "a\\x1bb c"
    assert label("x" * 30) == "x" * 23 + "~"
    assert folded("one two three", 8).splitlines() == ["one two", "    three"]
    assert privacy_text(lo.ApproximateLDP("log(3)", 0.1)) == "ApproximateLDP('log(3)', 0.1)"
