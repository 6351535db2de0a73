"""What a person has answered (answers.js), in an embedded engine: which ticks exclude each other,
which numbers are taken, what is open, and what stands on which page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draw_vectors import SOURCE as DRAW
from ldpopt.fieldwork.form_page import HERE

engines = pytest.importorskip("py_mini_racer", reason="mini-racer is in the extra 'test'")
SOURCE = re.sub("^export ", "", (HERE / "answers.js").read_text("utf-8"), flags=re.M)
Call = Callable[..., Any]

CHOICE = {"name": "q", "answers": ["a", "b"], "missing": "refuse", "missing_answer": None}
DECLINED = CHOICE | {"answers": ["a", "b", "no answer"], "missing_answer": "no answer"}
LEFT = CHOICE | {"missing": "leave_out"}
TICKS = CHOICE | {"ticks": ["a", "b", "c"]}
BOTH = TICKS | {"missing_answer": "no answer"}
AGE = CHOICE | {"number": {"least": 18, "most": 99}}
EVEN = CHOICE | {"number": {"least": 10, "most": 20, "step": 2}}
CLASSES = CHOICE | {"number": {"starts": [18, 30, 45], "most": 60}, "answers": ["x", "y", "z"]}


@pytest.fixture(scope="module")
def call() -> Iterator[Call]:
    """Call a function of the script with JSON data."""
    with engines.MiniRacer() as engine:
        engine.eval(f"var run; (() => {{ {DRAW} {SOURCE} run = (code) => eval(code); }})()")

        def in_engine(name: str, *arguments: Any) -> Any:
            parts = ", ".join(json.dumps(one) for one in arguments).replace(
                '"undefined"', "undefined"
            )
            return json.loads(
                engine.eval(f"JSON.stringify(run({json.dumps(f'{name}({parts})')}) ?? null)")
            )

        yield in_engine


def after(call: Call, question: dict[str, Any], *clicks: str) -> list[str]:
    """The ticks after clicks, each of which changes one."""
    ticks: list[str] = []
    for click in clicks:
        ticks = call("ticked", question, ticks, click, click not in ticks)
    return ticks


def test_ticks_exclude_none_and_no_answer(call: Call) -> None:
    assert after(call, BOTH, "a", "c", "none") == ["none"]
    assert after(call, BOTH, "a", "c", "none", "b") == ["b"]
    assert after(call, BOTH, "none", "no answer") == ["no answer"]
    assert after(call, BOTH, "no answer", "none") == ["none"]
    assert after(call, BOTH, "a", "no answer", "a", "b") == ["a", "b"]
    assert after(call, BOTH, "a", "none", "none") == []
    assert after(call, TICKS, "a", "b", "a") == ["b"]


@given(st.lists(st.sampled_from(["a", "b", "c", "none", "no answer"]), max_size=12))
def test_ticks_are_always_one_answer(call: Call, clicks: list[str]) -> None:
    ticks = after(call, BOTH, *clicks)
    alone = {"none", "no answer"} & set(ticks)
    assert len(ticks) == len(set(ticks))
    assert not alone or len(ticks) == 1
    if clicks:
        # the last click counts as it was made
        before = after(call, BOTH, *clicks[:-1])
        assert (clicks[-1] in ticks) == (clicks[-1] not in before)
    expected = next(iter(alone), ";".join(sorted(ticks)) or None)
    assert call("answerFrom", BOTH, ticks) == expected


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        *(("18", "18"), ("99", "99"), (" 42 ", "42"), ("042", "42")),
        *(("17", None), ("100", None), ("42.5", None), ("-3", None), ("1e1", None), ("42,0", None)),
        *(("４２", None), ("٤٢", None), ("0x20", None), ("", None), ("  ", None), ("4 2", None)),
        *(("+42", None), ("42.", None), ("1234567890", None), ("none", None)),
    ],
)
def test_a_number_is_digits_within_its_borders(call: Call, typed: str, number: str | None) -> None:
    assert call("numberOf", typed, AGE["number"]) == number
    assert call("answerFrom", AGE, {"typed": typed}) == number
    if number is None:
        expected = "range" if typed.strip() else "open"
        assert call("problemOf", AGE, {"typed": typed}) == expected
        # an empty field may be left out; a wrong number may not
        assert call("problemOf", AGE | {"missing": "leave_out"}, {"typed": typed}) == (
            "range" if typed.strip() else None
        )


@given(st.integers(0, 120), st.integers(0, 60), st.integers(0, 60), st.integers(1, 9))
def test_a_number_is_taken_or_refused_never_changed(
    call: Call, number: int, least: int, width: int, step: int
) -> None:
    borders = {"least": least, "most": least + width, "step": step}
    is_one = number in range(least, least + width + 1, step)
    assert call("numberOf", str(number), borders) == (str(number) if is_one else None)


def test_who_declines_gives_no_number(call: Call) -> None:
    may = AGE | {"missing_answer": "no answer"}
    assert call("answerFrom", may, {"declined": True}) == "no answer"
    assert call("answerFrom", may, {"typed": "no answer"}) is None


def test_classes_have_the_numbers_between_their_starts(call: Call) -> None:
    assert call("boundsOf", CLASSES["number"]) == [
        {"least": 18, "most": 29},
        {"least": 30, "most": 44},
        {"least": 45, "most": 60},
    ]
    assert (call("isTyped", CLASSES), call("isTyped", AGE), call("isTyped", CHOICE)) == (
        False,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("question", "value", "problem"),
    [
        *((CHOICE, "undefined", "open"), (CHOICE, "a", None)),
        # nobody declines by overlooking a question
        *((DECLINED, "undefined", "open"), (DECLINED, "no answer", None)),
        *((LEFT, "undefined", None), (LEFT, "", None), (LEFT, "a", None)),
        *((TICKS, "undefined", "open"), (TICKS, [], "open"), (TICKS, ["none"], None)),
        *((EVEN, {"typed": "12"}, None), (EVEN, {"typed": "13"}, "range")),
        *((AGE, "undefined", "open"), (CLASSES, "undefined", "open"), (CLASSES, "y", None)),
    ],
)
def test_what_is_open_is_said(
    call: Call, question: dict[str, Any], value: Any, problem: str | None
) -> None:
    assert call("problemOf", question, value) == problem


def pages(call: Call, *sections: str | None) -> list[int]:
    questions = [
        {"name": str(k)} | ({"section": one} if one else {}) for k, one in enumerate(sections)
    ]
    found = call("pagesOf", questions)
    assert [one for page in found for one in page] == questions
    return [len(page) for page in found]


def test_another_section_begins_a_page(call: Call) -> None:
    assert pages(call, None, None) == [2]
    assert pages(call, "a", "a", "b", None, "c", "a") == [2, 2, 1, 1]
    assert pages(call, None, "a", None, "a") == [1, 3]
    assert pages(call) == []


def test_what_is_repeated_comes_again_at_the_end_on_a_page_of_its_own(call: Call) -> None:
    questions: list[dict[str, Any]] = [
        CHOICE | {"name": "a", "repeat": "?", "section": "one", "matrix": "m"},
        CHOICE | {"name": "b"},
        CHOICE | {"name": "c", "repeat": "?"},
    ]
    found = call("asTheyAreAsked", questions)
    assert [one["key"] for one in found] == ["a", "b", "c", "c again", "a again"]
    assert [one["name"] for one in found] == ["a", "b", "c", "c", "a"]
    assert found[-1]["table"] == "m"
    assert "matrix" not in found[-1]
    assert [one["key"] for one in call("asTheyAreAsked", questions[1:2])] == ["b"]
    pages = call("pagesOf", found)
    assert [[one["key"] for one in page] for page in pages] == [
        ["a", "b", "c"],
        ["c again", "a again"],
    ]
    by_name = "(questions => answersByName(questions, ({ key }) => (key === 'b' ? null : key)))"
    assert call(by_name, found) == {
        "a": ["a", "a again"],
        "b": None,
        "c": ["c", "c again"],
    }


def test_the_rows_of_a_matrix_stand_together(call: Call) -> None:
    names = ["x", "m", "m", None, "m", "n"]
    questions = [{"name": str(k)} | ({"matrix": one} if one else {}) for k, one in enumerate(names)]
    assert [len(block) for block in call("blocksOf", questions)] == [1, 2, 1, 1, 1]
