"""Plug-ins: notions of others are solved, and check_notion names what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.auditing.audits import Audit
from ldpopt.errors import StatementError
from ldpopt.privacy import Notion, SeparableNotion, TiedNotion, Ties
from ldpopt.privacy.notion import (
    with_epsilon,
)
from ldpopt.testing import check_notion
from plug_in_notions import Halved, RowsOnly

PURE = lo.PureLDP(1.0)
UNIFORM = [1 / 3] * 3


@pytest.mark.parametrize(
    "notion", [RowsOnly(1.0), Halved(2.0)], ids=lambda notion: type(notion).__name__
)
def test_a_plug_in_is_solved_and_certified(notion):
    check_notion(notion)
    answer = lo.solve(lo.Problem(UNIFORM, "identity", notion))
    assert answer.value == pytest.approx(np.e / (np.e + 2), abs=1e-12)
    assert lo.certify(answer).relative_gap < 1e-9
    assert with_epsilon(notion, 0.5).epsilon == 0.5


def test_a_class_in_place_of_a_notion_is_refused():
    with refused("notion-class") as caught:
        check_notion(RowsOnly)
    assert "RowsOnly(...)" in str(caught.value)
    with refused("notion-class"):
        lo.Problem(UNIFORM, "identity", lo.PureLDP)


GOOD = PURE.rows(range(3), 3)


class Wrong(TiedNotion, SeparableNotion):
    """A notion of which one method returns the given result."""

    def __init__(self, method: str, result: Any) -> None:
        self.method, self.result = method, result

    def _or(self, method: str, good: Any) -> Any:
        if self.method != method:
            return good
        return self.result() if callable(self.result) else self.result

    def ties(self, inputs, outputs=None, deadline=None):
        return self._or("ties", PURE.ties(inputs))

    def definition(self, inputs, outputs=None):
        return self._or("definition", PURE.ties(inputs))

    def rows(self, inputs, n_outputs):
        return self._or("rows", PURE.rows(inputs, n_outputs))

    def separate(self, channel, inputs):
        return self._or("separate", None)

    def audit(self, channel):
        return self._or("audit", PURE.audit(channel))

    def check(self, inputs, outputs):
        self._or("check", None)

    def notes(self, inputs):
        return self._or("notes", ())


def fails():
    raise IndexError("list index out of range")


WRONG = [
    ("rows", None, "Wrong.rows() returned None, not a RowBlock"),
    ("rows", replace(GOOD, x=GOOD.x + 7), "it refers to input 9, and there are 3 inputs"),
    ("rows", replace(GOOD, x=GOOD.x + 1), "it refers to input 3, and there are 3 inputs"),
    ("rows", replace(GOOD, y=GOOD.y - 1), "it refers to output -1, and there are 3 outputs"),
    ("rows", replace(GOOD, x=GOOD.x * 0.5), "its inputs are not integers"),
    ("rows", replace(GOOD, coefficient=GOOD.coefficient * np.nan), "a coefficient is not finite"),
    ("rows", replace(GOOD, upper=GOOD.upper * np.nan), "a bound is nan"),
    ("rows", replace(GOOD, row=GOOD.row[::-1]), "its row numbers decrease"),
    ("rows", replace(GOOD, row=GOOD.row[1:]), "its arrays differ in length"),
    ("rows", fails, "IndexError: list index out of range"),
    ("separate", [1, 2], "Wrong.separate() returned a list, not a RowBlock"),
    ("ties", "all", "Wrong.ties() returned 'all', not Ties"),
    ("ties", Ties(1.0, 4), "Wrong.ties() returned a Ties of 4 inputs, not 3"),
    ("ties", Ties(1.0, 3, owner=np.array([-1, 0])), "with 2 owners for 3 outputs"),
    ("definition", 3, "Wrong.definition() returned 3, not Ties"),
    ("audit", None, "Wrong.audit() returned None, not an Audit"),
    ("audit", lambda: Audit(float("nan"), 0.0, None, "certified"), "not an audit: epsilon nan"),
    (
        "audit",
        lambda: Audit(1.0, 0.0, None, "fine"),
        "not an audit: epsilon 1.0, delta 0.0, verdict 'fine'",
    ),
    ("check", fails, "IndexError"),
    ("notes", "a sentence", "Wrong.notes() returned 'a sentence', not a tuple of sentences"),
]


@pytest.mark.parametrize(
    "method, result, words", WRONG, ids=[f"{row[0]}-{k}" for k, row in enumerate(WRONG)]
)
def test_check_notion_names_wrong_results(method, result, words):
    with pytest.raises(AssertionError) as caught:
        check_notion(Wrong(method, result), range(3))
    assert words in str(caught.value)


class TooWeak(lo.PureLDP):
    """Its ties require less than its audit."""

    def ties(self, inputs, outputs=None, deadline=None):
        return Ties(lo.Budget(float(self.epsilon) + 0.5), len(inputs))


class TooStrict(lo.PureLDP):
    """Its audit accepts everything."""

    def audit(self, channel):
        return replace(super().audit(channel), verdict="certified")


class Forgetful(lo.PureLDP):
    """Its table has another budget."""

    def to_plain(self, inputs, *, explicit=False):
        return {"epsilon": 2.0}


@pytest.mark.parametrize(
    "notion, words",
    [
        (TooWeak(1.0), "rows and audit: rows() allow a channel"),
        (
            TooStrict(1.0),
            "rows and audit: audit() says 'certified' for a channel that violates a row",
        ),
        (Forgetful(1.0), "table: the notion read from its table has different rows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_notion_finds_contradictions(notion, words):
    with pytest.raises(AssertionError) as caught:
        check_notion(notion, only=[words.partition(":")[0]])
    assert words in str(caught.value)


PRIOR = {0: 5, 1: 3, 2: 2}


class StrictRows(Notion):
    """The rows of one budget with the audit of a larger one; it knows nothing of comparisons."""

    def rows(self, inputs, n_outputs):
        return lo.PML(0.1, PRIOR).rows(inputs, n_outputs)

    def audit(self, channel):
        return lo.PML(0.2, PRIOR).audit(channel)


class StrictCone(lo.PML):
    """Comparisons of half of the budget that it audits."""

    def comparisons(self, inputs, outputs=None):
        return lo.PML(float(self.epsilon) / 2, self.prior).comparisons(inputs, outputs)


class StrictTies(lo.PureLDP):
    """Ties of half of the budget that it audits."""

    def ties(self, inputs, outputs=None, deadline=None):
        return Ties(lo.Budget(float(self.epsilon) / 2), len(inputs))


class StrictDefinition(lo.PureLDP):
    """Its program is right, and its definition, by which it is certified, is not."""

    def definition(self, inputs, outputs=None):
        return Ties(lo.Budget(float(self.epsilon) / 2), len(inputs))


class StrictEvents(lo.ApproximateLDP):
    """Rows of events of a smaller delta than it audits."""

    def separate(self, channel, inputs):
        return lo.ApproximateLDP(float(self.epsilon), 0.01).separate(channel, inputs)


class StrictOwners(lo.UtilityOptimizedLDP):
    """Ties of half of the budget, of reports that are not owned."""

    def ties(self, inputs, outputs=None, deadline=None):
        half = lo.UtilityOptimizedLDP(float(self.epsilon) / 2, self.sensitive)
        return half.ties(inputs, outputs)


@pytest.mark.parametrize(
    "notion, method",
    [
        (StrictRows(), "rows()"),
        (StrictCone(0.2, PRIOR), "rows()"),
        (StrictTies(1.0), "rows()"),
        (StrictDefinition(1.0), "definition()"),
        (StrictEvents(0.5, 0.1), "separate()"),
        (StrictOwners(1.0, [0, 1]), "rows()"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_notion_finds_what_is_stricter_than_the_audit(notion, method):
    """Every other check of rows passes: optima and repairs were made with the strict rows."""
    with pytest.raises(AssertionError, match="strictness: ") as caught:
        check_notion(notion, range(3), only=["strictness"])
    assert f"{method} is stricter than audit()" in str(caught.value)


@pytest.mark.parametrize(
    "notion",
    [
        lo.PML(0.2, PRIOR),
        lo.UtilityOptimizedLDP(1.0, [0, 1]),
        lo.OneSided(1.0, [0]),
        lo.ApproximateLDP(0.5, 0.1),
        lo.UtilityOptimizedLDP(1.0, [0]) & lo.InformationPrivacy(0.5, PRIOR),
    ],
    ids=repr,
)
def test_check_notion_finds_no_strictness_in_what_is_right(notion):
    check_notion(notion, range(3), only=["strictness"])


def test_post_processing_is_checked_on_request():
    notion = lo.ApproximateLDP(0.3, 0.2, "entry")
    check_notion(notion, range(4))
    with pytest.raises(AssertionError, match="post-processing: "):
        check_notion(notion, range(4), post_processing=True)


def test_an_unknown_check_is_named():
    with pytest.raises(StatementError, match=r"unknown check 'tight'"):
        check_notion(lo.PureLDP(1.0), only=["tight"])
