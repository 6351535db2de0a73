"""What a receipt says of a report (receipt.js), in an embedded engine, against the survey's own
probabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draw_vectors import SOURCE as DRAW
from ldpopt import PureLDP, Survey, design
from ldpopt.fieldwork.form_page import HERE
from ldpopt.frequencies import SubsetSelection
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

engines = pytest.importorskip("py_mini_racer", reason="mini-racer is in the extra 'test'")
SOURCE = re.sub("^export ", "", (HERE / "receipt.js").read_text("utf-8"), flags=re.M)
TOTAL = 2**53
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def call() -> Iterator[Call]:
    """Call a function of the script with JSON data."""
    with engines.MiniRacer() as engine:
        engine.eval(f"var run; (() => {{ {DRAW} {SOURCE} run = (code) => eval(code); }})()")

        def in_engine(name: str, *arguments: Any) -> Any:
            code = json.dumps(f"{name}({', '.join(map(json.dumps, arguments))})")
            return json.loads(engine.eval(f"JSON.stringify(run({code}))"))

        yield in_engine


@given(st.lists(st.integers(0, 20), min_size=1, max_size=15))
def test_the_likeliest_are_named_and_all_others_lie_between(call: Call, masses: list[int]) -> None:
    found = call("likeliest", masses)
    named = [masses[row] for row in found["rows"]]
    assert found["rows"] == sorted(set(found["rows"]))
    assert len(named) == min(6, len(masses))
    others = sorted(mass for row, mass in enumerate(masses) if row not in found["rows"])
    assert found["others"] == ([others[0], others[-1]] if others else None)
    if others:
        assert others[-1] <= min(named)


def test_shares_of_ticks_are_means_over_all_sets_with_and_without() -> None:
    with engines.MiniRacer() as engine:
        engine.eval(f"var run; (() => {{ {DRAW} {SOURCE} run = (code) => eval(code); }})()")
        ticks = ("beer", "wine", "no answer")
        law = design(tick_workload(ticks), PureLDP(1.0))
        form = Survey({"q": TicksQuestion(law, "refuse", "no answer", ticks)}).form()
        answers = form["questions"]["q"]["answers"]
        column = form["columns"]["q"]
        for report in range(len(column["reports"])):
            masses = [row[report] for row in column["masses"]]
            code = f"tickMasses({json.dumps(ticks)}, {json.dumps(answers)}, {masses}, 'no answer')"
            found = json.loads(engine.eval(f"JSON.stringify(run({json.dumps(code)}))"))
            mass = dict(zip(answers, masses, strict=True))
            beer = {"ticked": ("beer", "beer;wine"), "others": ("none", "wine")}
            wine = {"ticked": ("wine", "beer;wine"), "others": ("none", "beer")}
            for tick, sets, said in (("beer", beer, found[0]), ("wine", wine, found[1])):
                assert said["tick"] == tick
                for key, names in sets.items():
                    assert said[key] == pytest.approx(sum(map(mass.__getitem__, names)) / 2)
            assert len(found) == 2


def test_only_answers_that_can_be_given_are_in_the_table_of_ticks(call: Call) -> None:
    question = {"ticks": ["a", "b"], "missing_answer": "no answer"}
    answers = ["none", "a", "a;b", "no answer", "a;no answer"]
    assert [call("canBeGiven", question, one) for one in answers] == [True] * 4 + [False]
    assert call("canBeGiven", {"missing_answer": "no answer"}, "a;no answer")


@pytest.mark.parametrize(("count", "size"), [(4, 1), (5, 2), (82, 22)])
def test_an_answer_is_in_a_set_with_these_probabilities(call: Call, count: int, size: int) -> None:
    law = SubsetSelection(range(count), 1.0, size=size)
    inside = law.distribution.mass / TOTAL
    found = call("setMasses", {"count": count, "size": size, "mass": law.distribution.mass})
    with_both = inside * comb(count - 2, size - 2) / comb(count - 1, size - 1) if size > 1 else 0
    with_other = (1 - inside) * comb(count - 2, size - 1) / comb(count - 1, size)
    assert found["inside"] / TOTAL == inside
    assert found["other"] / TOTAL == pytest.approx(with_both + with_other)


def test_with_fake_data_most_reports_are_of_a_random_answer(call: Call) -> None:
    rows = np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]) * TOTAL
    found = np.array(call("shownMasses", {"masses": rows.tolist()}, 3))
    expected = rows / 4 + 3 / 4 * rows.mean(axis=0)
    assert found == pytest.approx(expected)
    assert call("shownMasses", {"masses": rows.tolist()}, 0) == rows.tolist()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0"),
        (1, "100"),
        (0.5, "50"),
        (0.0995, "10"),
        (0.094, "9,4"),
        (0.0004, "<0,1"),
        (1e-9, "<0,1"),
    ],
)
def test_what_is_possible_is_never_nought(call: Call, share: float, text: str) -> None:
    assert call("percent", share * TOTAL, {"decimal": ","}) == text
