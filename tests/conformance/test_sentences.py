"""Every claim of a page is a row of a registry, and true of all designs on which it is printed.

What is true is computed here from the probabilities alone, by plain enumeration of reports and
answers in rationals; nothing of the conditions of the registry is used. Whoever adds a sentence
adds its truth to `TRUTHS`, and a design that prints it.
"""

from __future__ import annotations

import html
import itertools
import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import MadeLater, cases
from ldpopt import Mechanism, Survey
from ldpopt.accounting import compose, permanent, shuffled
from ldpopt.accounting.sentences import GUESS, GuessFacts
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import ListedSource
from ldpopt.fieldwork import page
from ldpopt.fieldwork.sentences import TOPICS as OF_PROMISES
from ldpopt.fieldwork.sentences import PromiseFacts
from ldpopt.foundation.sentences import Topic, at_most_text
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.questions import Question
from ldpopt.mechanism.revealing import revealed_by
from ldpopt.plotting.report import report
from ldpopt.plotting.report.sentences import TOPICS as OF_PAGES
from ldpopt.plotting.report.sentences import PageFacts
from ldpopt.surveys.codebook import codebook
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.groups import Group
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

ROOT = Path(lo.__file__).parent
TOPICS = (*OF_PAGES, *OF_PROMISES)

# Designs.

q = 1 / 6
BINOMIAL = [math.comb(4, k) / 16 for k in range(5)]
PUBLISHED = {  # rows: not a carrier, carrier
    "Warner": [[5 / 6, 1 / 6], [1 / 6, 5 / 6]],
    "crosswise": [[q, 1 - q], [1 - q, q]],
    "triangular": [[1 - q, q], [0, 1]],
    "Mangat": [[0.7, 0.3], [0, 1]],
    "two-stage": [[0.79, 0.21], [0.21, 0.79]],
    "forced": [[5 / 6, 1 / 6], [1 / 6, 5 / 6]],
    "one coin": [[0.5, 0.5], [0, 1]],
    "unrelated, April": [[0.7 + 0.3 * 11 / 12, 0.3 / 12], [0.3 * 11 / 12, 0.7 + 0.3 / 12]],
    "unrelated, even": [[5 / 6, 1 / 6], [1 / 6, 5 / 6]],
    "Kuk": [[0.8, 0.2], [0.2, 0.8]],
    "disguised": [
        [math.comb(3, k) * 0.2**k * 0.8 ** (3 - k) for k in range(4)],
        [math.comb(3, k) * 0.8**k * 0.2 ** (3 - k) for k in range(4)],
    ],
    "item count": [[*BINOMIAL, 0], [0, *BINOMIAL]],
}
OTHERS = {
    "identity": np.eye(3),
    "constant": [[1.0]] * 2,
    "coin without an answer": [[0.5, 0.5]] * 2,
    "one answer": [[0.3, 0.7]],
    "one answer and report": [[1.0]],
    "a report that never occurs": [[0.75, 0, 0.25], [0.25, 0, 0.75]],
    "one of three told": [[0.6, 0.4, 0], [0.4, 0.3, 0.3], [0, 0.5, 0.5]],
    "two of three left": [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]],
    "one is never ruled out": [[0.5, 0, 0.5], [0, 0.5, 0.5], [0.25, 0.25, 0.5], [0.25, 0.25, 0.5]],
    "mass of one unit": [[2.0**-53, 1 - 2.0**-53], [0.5, 0.5]],
}
WARNER = Mechanism(PUBLISHED["Warner"], ["no", "yes"])
ONE_COIN = Mechanism(PUBLISHED["one coin"], ["no", "yes"])
OPEN = Mechanism(np.eye(2), ["no", "yes"])
SILENT = Mechanism([[0.5, 0.5]] * 2, ["no", "yes"])
THREE = Mechanism([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], ["no", "yes", "no answer"])


BUDGETS = lo.ReportModel(
    {1: WARNER, 2: Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"])}, column="b"
)


def ticks(missing: str | None = None) -> TicksQuestion:
    names = ("beer", "wine") if missing is None else ("beer", "wine", missing)
    source = lo.design(tick_workload(names), lo.PureLDP(1.0))
    return TicksQuestion(source, "refuse", missing, names)


def open_ticks() -> TicksQuestion:
    """Each report rules out the two answers that differ in the first tick."""
    workload = tick_workload(("beer", "wine"))
    rows = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
    return TicksQuestion(Mechanism(rows, workload.inputs), ticks=("beer", "wine"))


def second_stage(**goal: float) -> Survey:
    """After a first stage with epsilon 0.5, one with epsilon 1."""
    first = lo.design(lo.Workload.prefix(range(4)), lo.PureLDP(0.5))
    pilot = Survey({"q": Question(first, edges=range(5))})
    reports = pilot.privatize(pd.DataFrame({"q": [0, 1, 1, 2, 2, 3] * 30}), rng=1)
    return pilot.adapt(reports, epsilon=1.0, **goal)


OF_KINDS: dict[str, Callable[[], tuple[Survey, int]]] = {
    **{
        name: lambda rows=rows: (Survey({"q": Mechanism(rows)}), 1)
        for name, rows in (PUBLISHED | OTHERS).items()
    },
    **{
        f"{name}, twice": lambda rows=rows: (Survey({"q": Mechanism(rows)}), 2)
        for name, rows in OTHERS.items()
    },
    "Warner, twice": lambda: (Survey({"q": WARNER}), 2),
    "one coin, three times": lambda: (Survey({"q": ONE_COIN}), 3),
    "two of three left, three times": lambda: (
        Survey({"q": Mechanism(OTHERS["two of three left"])}),
        3,
    ),
    "odds beyond the floats": lambda: (Survey({"q": WARNER}), 1000),
    "two questions": lambda: (Survey({"a": WARNER, "b": THREE}), 1),
    "two questions, twice": lambda: (Survey({"a": WARNER, "b": THREE}), 2),
    "open and protected": lambda: (Survey({"a": OPEN, "b": WARNER}), 1),
    "open and one coin": lambda: (Survey({"a": OPEN, "b": ONE_COIN}), 1),
    "silent and open": lambda: (Survey({"a": SILENT, "b": OPEN}), 1),
    "silent and protected": lambda: (Survey({"a": SILENT, "b": WARNER}), 1),
    "without a choice, and protected": lambda: (Survey({"a": Mechanism([[1.0]]), "b": WARNER}), 1),
    "without a choice, and open": lambda: (Survey({"a": Mechanism([[1.0]]), "b": OPEN}), 1),
    "without a choice, and two left": lambda: (
        Survey({"a": Mechanism([[1.0]]), "b": Mechanism(OTHERS["two of three left"])}),
        1,
    ),
    "choices": lambda: (Survey({"a": ["no", "yes"], "b": ["x", "y", "z"]}, choices=[0.5, 2.0]), 1),
    "choices, twice": lambda: (Survey({"a": ["no", "yes"]}, choices=[0.5, 1.0, 2.0]), 2),
    "one question": lambda: (Survey({"a": WARNER, "b": THREE}, scheme="one_question"), 1),
    "one question, one coin": lambda: (
        Survey({"a": WARNER, "b": ONE_COIN}, scheme="one_question"),
        1,
    ),
    "one question, left out": lambda: (
        Survey({"a": WARNER, "b": Question(WARNER, "leave_out")}, scheme="one_question"),
        1,
    ),
    "fake data": lambda: (Survey({"a": WARNER, "b": THREE}, scheme="fake_data"), 1),
    "fake data, open": lambda: (Survey({"a": OPEN, "b": OPEN}, scheme="fake_data"), 1),
    "fake data, two left": lambda: (
        Survey({"a": WARNER, "b": Mechanism(OTHERS["two of three left"])}, scheme="fake_data"),
        1,
    ),
    "joint, yes and no": lambda: (
        Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=1.0, scheme="joint"),
        1,
    ),
    "joint": lambda: (Survey({"a": ["no", "yes"], "b": 3}, epsilon=1.0, scheme="joint"), 2),
    "joint, left out": lambda: (
        Survey(
            {"a": Question(lo.Workload.frequencies(2), "leave_out"), "b": ["no", "yes"]},
            epsilon=1.0,
            scheme="joint",
        ),
        1,
    ),
    "joint, two left out": lambda: (
        Survey(
            {
                "a": Question(lo.Workload.frequencies(2), "leave_out"),
                "b": Question(lo.Workload.frequencies(2), "leave_out"),
            },
            epsilon=1.0,
            scheme="joint",
        ),
        1,
    ),
    "sets": lambda: (Survey({"q": SubsetSelection(5, 1.0)}), 1),
    "sets, twice": lambda: (Survey({"q": SubsetSelection(5, 1.0)}), 2),
    "ticks": lambda: (Survey({"q": ticks()}), 1),
    "ticks with no answer": lambda: (Survey({"q": ticks("no answer")}), 1),
    "ticks, of which one is told": lambda: (Survey({"q": open_ticks()}), 1),
    "asked twice": lambda: (
        Survey({"q": Question(["no", "yes"], repeat=True), "r": WARNER}, epsilon=4.0),
        1,
    ),
    "left out": lambda: (Survey({"q": Question(WARNER, "leave_out")}), 1),
    "missing answer": lambda: (Survey({"q": Question(THREE, missing_answer="no answer")}), 1),
    "missing answer of an open one": lambda: (
        Survey({"q": Question(OPEN, missing_answer="no")}),
        1,
    ),
    "weights": lambda: (Survey({"q": WARNER}, weights="w"), 1),
    "personal budgets": lambda: (Survey({"q": BUDGETS}), 1),
    "personal budgets, twice": lambda: (Survey({"q": BUDGETS, "r": WARNER}), 2),
    "mean": lambda: (Survey({"q": lo.design(lo.Workload.mean([0, 1, 2]), lo.PureLDP(1.0))}), 1),
    "second stage of a median": lambda: (second_stage(quantile=0.5), 1),
    "second stage of a mean": lambda: (second_stage(normal=1.0), 1),
    "one-sided": lambda: (
        Survey({"q": lo.solve(lo.Problem([0.5, 0.5], "identity", lo.OneSided(1.0, [0])))}),
        1,
    ),
}


NORTH, SOUTH = (Group(n, {"region": name}) for n, name in ((400, "North"), (12, "South")))
FIELDS: Any = {"region": ("North", "South")}


def tree(scheme: Any = "split") -> Survey:
    """A question and one that depends on it, with one report, and another question."""
    answers: dict[str, Any] = {
        "smokes": Question(lo.Workload.frequencies(["no", "yes"])),
        "often": Question(lo.Workload.frequencies(["few", "many"]), only_if={"smokes": "yes"}),
    }
    if scheme == "split":
        answers["rich"] = WARNER
    return Survey(answers, epsilon=3.0 if scheme == "split" else 1.0, scheme=scheme)


SHARP = Mechanism([[0.98, 0.02], [0.02, 0.98]], ["no", "yes"])
OF_GROUPS: dict[str, Callable[[], tuple[Survey, int]]] = {
    "links with fields": lambda: (Survey({"q": WARNER}, fields=FIELDS), 1),
    "links": lambda: (Survey({"q": WARNER}), 1),
    "in the office, by region": lambda: (Survey({"q": THREE}), 1),
    "by region, without groups": lambda: (Survey({"q": ONE_COIN}), 1),
    "a group of few": lambda: (Survey({"q": WARNER}), 1),
    "a tree": lambda: (tree(), 1),
    "a tree, one question": lambda: (tree("one_question"), 1),
    "a tree, fake data": lambda: (tree("fake_data"), 1),
    "protects little": lambda: (Survey({"q": Mechanism([[0.99, 0.01], [0.01, 0.99]])}), 1),
    "protects little together": lambda: (Survey(dict.fromkeys("abcd", WARNER)), 1),
    "protects little together and apart": lambda: (Survey({"a": SHARP, "b": WARNER}), 1),
    "answers that may be missing, both ways": lambda: (
        Survey(
            {"a": Question(THREE, missing_answer="no answer"), "b": Question(WARNER, "leave_out")}
        ),
        1,
    ),
}
SURVEYS = MadeLater(OF_KINDS | OF_GROUPS)
"""Surveys of every kind, and how often each is asked."""
ASKED: dict[int, dict[str, Any]] = {  # how a survey is asked, by its identity
    id(SURVEYS[name][0]): how
    for name, how in {
        "links with fields": {"beside": ("region",), "groups": (NORTH, SOUTH), "has_links": True},
        "links": {"has_links": True, "where": "device"},
        "in the office, by region": {
            "where": "office",
            "beside": ("region",),
            "groups": (NORTH, SOUTH),
        },
        "by region, without groups": {"beside": ("region",)},
        "a group of few": {"beside": ("region",), "groups": (NORTH, Group(3, {"region": "East"}))},
    }.items()
}


# What is true, from the probabilities alone.


@dataclass(frozen=True)
class Column:
    """The reports that occur, of one column: ``rows[x][y]`` are probabilities."""

    answers: list[Any]
    reports: list[Any]
    rows: list[list[Fraction]]

    def giving(self, y: int) -> list[int]:
        return [x for x, row in enumerate(self.rows) if row[y] > 0]

    @property
    def sets(self) -> list[list[int]]:
        return [self.giving(y) for y in range(len(self.reports))]

    def pairs(self) -> list[tuple[int, int]]:
        return list(itertools.permutations(range(len(self.answers)), 2))


def column_of(law: Any) -> Column:
    """The law of a column, for sets and patterns by their definition; of several mechanisms, the
    reports of each beside each other, of which the rows sum to their number."""
    if isinstance(law, AssignedMechanisms):
        each = [column_of(law) for law in law.mechanisms.values()]
        rows = [[p for column in each for p in column.rows[x]] for x in range(len(law.inputs))]
        return Column(list(law.inputs), [y for column in each for y in column.reports], rows)
    if isinstance(law, Mechanism):
        rows = [[Fraction(int(mass), 2**53) for mass in row] for row in law.masses]
        reports = list(law.outputs)
        answers = list(law.inputs)
    elif isinstance(law, YesNoPatterns):
        drawn = law.pattern
        answers = list(itertools.product((0, 1), repeat=drawn.questions))
        reports = [
            (places, bits)
            for places in itertools.combinations(range(drawn.questions), drawn.size)
            for bits in itertools.product((0, 1), repeat=drawn.size)
        ]
        subsets = math.comb(drawn.questions, drawn.size)
        close = sum(math.comb(drawn.size, k) for k in range(drawn.least, drawn.size + 1))
        far = 2**drawn.size - close
        inside = Fraction(drawn.mass, 2**53)

        def chance(answer: Any, report: Any) -> Fraction:
            places, bits = report
            agreeing = sum(answer[place] == bit for place, bit in zip(places, bits, strict=True))
            share = inside / close if agreeing >= drawn.least else (1 - inside) / far
            return share / subsets

        rows = [[chance(answer, report) for report in reports] for answer in answers]
    else:
        assert isinstance(law, SubsetSelection)
        n = len(law.inputs)
        answers = list(law.inputs)
        reports = list(itertools.combinations(range(n), law.size))
        inside = law.p / math.comb(n - 1, law.size - 1)
        outside = (1 - law.p) / math.comb(n - 1, law.size)
        rows = [[inside if x in held else outside for held in reports] for x in range(n)]
    assert all(sum(row) == 1 for row in rows)
    occurring = [y for y in range(len(reports)) if any(row[y] for row in rows)]
    kept = [[row[y] for y in occurring] for row in rows]
    return Column(answers, [reports[y] for y in occurring], kept)


@dataclass(frozen=True)
class World:
    """A survey with the facts that its sentences claim, by enumeration."""

    survey: Survey
    waves: int

    @cached_property
    def columns(self) -> dict[str, Column]:
        asked = self.survey.asked.items()
        return {name: column_of(question.randomizer) for name, question in asked}

    @property
    def drawn_is_known(self) -> bool:
        """Whether reports come from the answers: no fake data."""
        return self.survey.scheme != "fake_data"

    def each(self, holds: Callable[[Column], bool]) -> bool:
        return all(holds(column) for column in self.columns.values())

    def some(self, holds: Callable[[Column], bool]) -> bool:
        return any(holds(column) for column in self.columns.values())

    def told(self, column: Column, times: int = 1) -> bool:
        """Whether some reports of one answer leave no other answer."""
        if len(column.answers) < 2:
            return False
        return any(
            set.intersection(*map(set, chosen)) == {x}
            for x in range(len(column.answers))
            for chosen in itertools.combinations_with_replacement(
                {tuple(left) for left in column.sets if x in left}, times
            )
        )

    @property
    def odds(self) -> Fraction | float:
        """Largest ratio of the probabilities of all reports of a person, by all pairs."""
        ratios = []
        for column in self.columns.values():
            ratio = Fraction(1)
            for x, other in column.pairs():
                for p, q in zip(column.rows[x], column.rows[other], strict=True):
                    if p and not q:
                        return math.inf
                    ratio = max(ratio, p / q if q else ratio)
            ratios.append(ratio)
        one = max(ratios) if self.survey.scheme in ("one_question", "fake_data") else None
        return (math.prod(ratios) if one is None else one) ** self.waves

    def is_bounded_by(self, text: str) -> bool:
        """Whether a factor in a sentence is at least the odds, and not far above."""
        if isinstance(self.odds, float):
            return False
        power = re.fullmatch(r"10\^(\d+)", text)
        shown = Fraction(10) ** int(power[1]) if power else Fraction(text.replace(",", ""))
        return bool(self.odds <= shown <= self.odds * (100 if power else Fraction(102, 100)))

    def tells_a_tick(self) -> bool:
        """Whether a report is given only by answers with a tick, or only by those without."""
        return any(
            len({tick in str(column.answers[x]).split(";") for x in left}) == 1
            for name, column in self.columns.items()
            for tick in getattr(self.survey.questions.get(name), "ticks", ())
            for left in column.sets
        )


def keeps_each_choice(world: World, text: str = "") -> bool:
    """Whether there is a choice, the text names all, and every report of a person with a choice
    multiplies the odds of two answers by at most its e^epsilon, by all pairs.
    """
    choices = [float(choice) for choice in world.survey.choices]
    if text and [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)] != choices:
        return False
    for choice in world.survey.choices:
        total = 1.0
        for question in world.survey.asked.values():
            rows = question.randomizer.mechanisms[choice].channel
            total *= max(float((one / other).max()) for one in rows for other in rows)
        if total > math.exp(float(choice)) * (1 + 1e-12):
            return False
    return bool(choices)


def any_answer(world: World) -> bool:
    return world.each(lambda column: all(len(s) == len(column.answers) for s in column.sets))


def is_random(world: World) -> bool:
    return world.each(lambda column: all(sum(p > 0 for p in row) > 1 for row in column.rows))


def is_silent(world: World) -> bool:
    return world.each(lambda column: all(row == column.rows[0] for row in column.rows))


def tells_one(world: World) -> bool:
    return world.some(world.told)


def rules_out(world: World) -> bool:
    return not any_answer(world)


def is_open(column: Column) -> bool:
    return len(column.answers) > 1 and all(len(left) == 1 for left in column.sets)


def has_choice(world: World) -> bool:
    return all(len(question.inputs) > 1 for question in world.survey.questions.values())


def names_who_is_told(world: World, text: str) -> bool:
    """Whether the named reports are those of one answer, with its probability, and none is left out
    of a question that is not open."""
    claims = set(re.findall(r"the report “([^”]*)” can only come from the answer “([^”]*)”", text))
    chances = dict(re.findall(r"“([^”]*)” with probability ([0-9.e-]*[0-9])", text))
    truth = set()
    for column in world.columns.values():
        if len(column.answers) < 2 or (world.drawn_is_known and is_open(column)):
            continue
        for y, left in enumerate(column.sets):
            if len(left) == 1:
                truth.add((str(column.reports[y]), str(column.answers[left[0]])))
        for x, answer in enumerate(column.answers):
            told = sum(
                (p for p, left in zip(column.rows[x], column.sets, strict=True) if left == [x]),
                Fraction(0),
            )
            if told:
                shown = Fraction(chances[str(answer)])
                assert told <= shown + Fraction(1, 10**9) <= told * Fraction(102, 100) + 1
            else:
                assert str(answer) not in chances or len(world.columns) > 1
    return claims == truth


def is_estimated(world: World) -> set[str]:
    """Questions for which the rank of the channel, in rationals, is that of its numbers."""
    return {name for name in world.survey.questions if can_estimate(world.survey, name)}


def can_estimate(survey: Survey, name: str) -> bool:
    try:
        survey.precision(name)
    except StatementError:
        return False
    return True


def counts_no_more(world: World) -> bool:
    """Whether no report in place of a true one moves a listed number by more people than is said:
    all values less all numbers of answers, one by one.
    """
    said = float(PromiseFacts(world.survey, 1).people.replace(",", ""))
    for name in is_estimated(world):
        source: Any = numbers_of(world.survey, name)
        if not isinstance(source, ListedSource) or source.blocks:
            continue
        times = len(world.survey.asked) if scheme(world) == "one_question" else 1
        for values, wanted in zip(source.estimator, source.wanted, strict=True):
            moved = max(abs(v - w) for v, w in itertools.product(values, wanted))
            span = max(wanted) - min(wanted)
            if span > 0 and times * moved / span > said * (1 + 1e-9):
                return False
    return True


def shares_only(world: World) -> bool:
    return not any("mean" in map(str, numbers(world.survey, n)) for n in is_estimated(world))


def numbers(survey: Survey, name: str) -> list[Any]:
    return list(survey.precision(name).names)


def finite(world: World) -> bool:
    return not isinstance(world.odds, float)


def factor_in(text: str) -> str:
    found = re.search(r"factor of at most ([0-9,.^]*[0-9])", text)
    assert found is not None
    return found[1]


def leaves(world: World) -> int:
    """Number of questions that may be left out without a report."""
    return sum(question.missing == "leave_out" for question in world.survey.questions.values())


def shows_who(world: World) -> bool:
    """Whether a missing report shows which question a person did not answer."""
    return scheme(world) == "split" or (scheme(world) == "joint" and leaves(world) == 1)


def must_answer(world: World) -> set[str]:
    """Questions without an input for a missing answer, of which none may be left out."""
    questions = world.survey.questions.items()
    return {name for name, q in questions if q.missing != "leave_out" and q.missing_code is None}


def quoted(text: str) -> set[str]:
    """What is in quotes."""
    return set(re.findall("“(.*?)”", text))


def asked(world: World, key: str) -> Any:
    """How the survey of a world is asked."""
    return ASKED.get(id(world.survey), {}).get(key)


def posterior(odds: Fraction | float, before: Fraction) -> Fraction:
    """How often a guess is right after reports of some odds, as one may try it: there is one other
    answer, which gives the reports that many times less often."""
    assert isinstance(odds, Fraction)
    here, there = odds * before, 1 - before
    return here / (here + there)


def says_how_right(odds: Fraction | float, text: str, before: int) -> bool:
    """Whether a text has the largest share of guesses that are right, to a tenth of 100."""
    true = 100 * posterior(odds, Fraction(before, 100))
    after = re.search(
        rf"right {before} of 100 times (is nearly certain|is right at most ([0-9.]+) of 100)", text
    )
    assert after is not None, text
    assert "100 of 100" not in text
    if after[2] is None:
        return true > Fraction(995, 10)
    shown = Fraction(after[2])
    return true <= Fraction(995, 10) and true <= shown < true + Fraction(1, 10)


def odds_alone(world: World) -> Fraction | float:
    """The largest odds of one report."""
    each = [World(Survey({"q": question}), 1) for question in world.survey.asked.values()]
    return max(one.odds for one in each)


def sends_one(world: World) -> bool:
    """Whether a person sends one report in all."""
    is_drawn = scheme(world) == "one_question" and len(world.survey.questions) > 1
    return world.waves == 1 and (len(world.columns) == 1 or is_drawn)


def least_people(world: World) -> int:
    return min(group.people for group in asked(world, "groups"))


Truth = Callable[[World, str], bool]
SUCH = ("such a guess", "right 50 of 100 times")
scheme: Callable[[World], str] = lambda world: world.survey.scheme  # noqa: E731


def can_miss(world: World) -> bool:
    return any(each.missing_answer is not None for each in world.survey.questions.values())


TRUTHS: dict[tuple[str, str], Truth] = {
    # the first sentence
    ("certain", "silent"): lambda world, text: is_silent(world),
    ("certain", "any"): lambda world, text: (
        not tells_one(world) and is_random(world) and any_answer(world) and has_choice(world)
    ),
    ("certain", "possible"): lambda world, text: any_answer(world),
    ("certain", "tells, fake data"): lambda world, text: (
        tells_one(world) and not world.drawn_is_known
    ),
    ("certain", "rules out, fake data"): lambda world, text: (
        rules_out(world) and not world.drawn_is_known
    ),
    ("certain", "open"): lambda world, text: world.drawn_is_known and world.each(is_open),
    ("certain", "some open"): lambda world, text: (
        world.drawn_is_known
        and set(re.findall("“(.*?)”", text)) == {n for n, c in world.columns.items() if is_open(c)}
        and not world.each(is_open)
    ),
    ("certain", "tells"): lambda world, text: (
        world.drawn_is_known and tells_one(world) and names_who_is_told(world, text)
    ),
    ("certain", "together"): lambda world, text: (
        not tells_one(world)
        and world.some(lambda column: world.told(column, world.waves))
        and world.waves > 1
    ),
    ("certain", "part"): lambda world, text: rules_out(world) and world.tells_a_tick(),
    ("certain", "several"): lambda world, text: (
        not world.some(lambda column: world.told(column, world.waves))
        and not world.tells_a_tick()
        and rules_out(world)
        and world.each(lambda column: min(map(len, column.sets)) > 1)
    ),
    ("certain", "rules out"): lambda world, text: rules_out(world),
    ("who", "who"): lambda world, text: names_who_is_told(world, text),
    # who has to answer
    ("must answer", "all"): lambda world, text: must_answer(world) == set(world.survey.questions),
    ("must answer", "some"): lambda world, text: must_answer(world) == quoted(text),
    # odds and budgets
    ("odds", "finite, one"): lambda world, text: world.is_bounded_by(factor_in(text)),
    ("odds", "finite, one, waves"): lambda world, text: world.is_bounded_by(factor_in(text)),
    ("odds", "finite, several"): lambda world, text: world.is_bounded_by(factor_in(text)),
    ("odds", "finite, several, waves"): lambda world, text: world.is_bounded_by(factor_in(text)),
    ("odds", "infinite"): lambda world, text: rules_out(world) and world.drawn_is_known,
    ("odds", "infinite, fake data"): lambda world, text: (
        rules_out(world) and not world.drawn_is_known
    ),
    # guesses, to the digit
    ("guess", "silent"): lambda world, text: is_silent(world),
    ("guess", "finite, one"): lambda world, text: (
        says_how_right(world.odds, text, 50)
        and says_how_right(world.odds, text, 1)
        and sends_one(world)
    ),
    ("guess", "finite"): lambda world, text: (
        says_how_right(world.odds, text, 50) and says_how_right(world.odds, text, 1)
    ),
    ("guess", "infinite"): lambda world, text: rules_out(world),
    ("judgment", "one"): lambda world, text: (
        log(world.odds) > 4 and sends_one(world) and says_how_right(world.odds, text, 50)
    ),
    ("judgment", "apart"): lambda world, text: (
        log(world.odds) > 4
        and says_how_right(world.odds, text, 50)
        and log(odds_alone(world)) <= 2
        and says_how_right(odds_alone(world), text.partition("What")[2].replace(*SUCH), 50)
    ),
    ("judgment", "together"): lambda world, text: (
        log(world.odds) > 4
        and says_how_right(world.odds, text, 50)
        and says_how_right(odds_alone(world), text.partition("After")[2].replace(*SUCH), 50)
    ),
    # how people are asked
    ("withdrawal", "office"): lambda world, text: asked(world, "where") == "office",
    ("withdrawal", "device, beside"): lambda world, text: (
        asked(world, "where") != "office" and all(name in text for name in asked(world, "beside"))
    ),
    ("withdrawal", "device"): lambda world, text: (
        asked(world, "where") != "office" and not asked(world, "beside")
    ),
    ("invited", "fields"): lambda world, text: (
        bool(asked(world, "has_links")) and all(name in text for name in world.survey.fields)
    ),
    ("invited", "links"): lambda world, text: (
        bool(asked(world, "has_links")) and not world.survey.fields
    ),
    ("invited", "open"): lambda world, text: not asked(world, "has_links"),
    ("small groups", "few"): lambda world, text: (
        least_people(world) < 5 and f"has {least_people(world)} people" in text
    ),
    ("small groups", "small"): lambda world, text: (
        5 <= least_people(world) < 20 and f"has {least_people(world)} people" in text
    ),
    ("groups", "quarter"): lambda world, text: (
        asked(world, "beside")[0] in text
        and all(
            math.isclose(world.survey.precision(name).half_width(250)[0], 2 * width)
            for name in is_estimated(world)
            for width in world.survey.precision(name).half_width(1000)[:1]
        )
    ),
    ("widths", "both"): lambda world, text: can_miss(world) and leaves(world) > 0,
    ("widths", "answer"): lambda world, text: can_miss(world) and not leaves(world),
    ("widths", "left out"): lambda world, text: not can_miss(world) and leaves(world) > 0,
    ("budget", "once"): lambda world, text: (
        finite(world)
        and math.isclose(
            float(re.findall("= ([0-9.e+-]*[0-9])", text)[0]),
            log(world.odds),
            rel_tol=1e-3,
            abs_tol=1e-9,
        )
    ),
    ("budget", "waves"): lambda world, text: (
        finite(world)
        and math.isclose(
            float(re.findall("time, ([0-9.e+]+) over", text)[0]), log(world.odds), rel_tol=1e-3
        )
    ),
    ("choice", "epsilons"): lambda world, text: keeps_each_choice(world, text.split(". ")[0]),
    ("budget", "chosen"): lambda world, text: (
        keeps_each_choice(world) and TRUTHS["budget", "once"](world, text)
    ),
    ("budget", "chosen, waves"): lambda world, text: (
        keeps_each_choice(world) and TRUTHS["budget", "waves"](world, text)
    ),
    ("budget", "infinite"): lambda world, text: not finite(world),
    ("drawn", "hidden"): lambda world, text: world.drawn_is_known or any_answer(world),
    ("drawn", "not said"): lambda world, text: True,  # it says what is sent
    # results
    ("published", "nothing"): lambda world, text: not is_estimated(world),
    ("published", "shares"): lambda world, text: bool(is_estimated(world)) and shares_only(world),
    ("published", "numbers"): lambda world, text: bool(is_estimated(world)),
    ("single", "random"): lambda world, text: is_random(world) and any_answer(world),
    ("single", "silent"): lambda world, text: is_silent(world),
    ("single", "possible"): lambda world, text: any_answer(world),
    ("single", "telling"): lambda world, text: rules_out(world),
    # missing answers
    ("left out", "joint"): lambda world, text: scheme(world) == "joint",
    ("left out", "one question"): lambda world, text: scheme(world) == "one_question",
    ("left out", "own"): lambda world, text: scheme(world) == "split",
    ("unanswered", "joint"): lambda world, text: scheme(world) == "joint" and leaves(world) > 1,
    ("unanswered", "one question"): lambda world, text: scheme(world) == "one_question",
    ("unanswered", "own"): lambda world, text: shows_who(world),
    ("note: unanswered", "joint"): lambda world, text: (
        scheme(world) == "joint" and leaves(world) > 1
    ),
    ("note: unanswered", "one question"): lambda world, text: scheme(world) == "one_question",
    ("note: unanswered", "own"): lambda world, text: shows_who(world),
    ("note: spent", "finite"): lambda world, text: math.isclose(
        float(re.findall("epsilon ([0-9.e+-]*[0-9])", text)[0]),
        log(World(world.survey, 1).odds),
        rel_tol=1e-5,
        abs_tol=1e-9,
    ),
    ("note: spent", "chosen"): lambda world, text: (
        keeps_each_choice(world)
        and math.isclose(
            float(re.findall("at most ([0-9.]*[0-9])", text)[0]),
            log(World(world.survey, 1).odds),
            rel_tol=1e-5,
        )
    ),
    ("note: spent", "infinite"): lambda world, text: not finite(world) and rules_out(world),
    # what is protected
    ("protected", "one"): lambda world, text: finite(world) and len(world.survey.questions) == 1,
    ("protected", "several"): lambda world, text: finite(world),
    ("protected", "open"): lambda world, text: world.each(is_open) and world.drawn_is_known,
    ("protected", "partly"): lambda world, text: rules_out(world),
    ("hides", "hides"): lambda world, text: finite(world),
    ("hides", "results"): lambda world, text: True,  # it claims nothing of reports
    ("device", "possible"): lambda world, text: has_page(world.survey),
    ("device", "mechanisms"): lambda world, text: (
        not has_page(world.survey) and finite(world) and bool(world.survey.channels)
    ),
    ("device", "weights"): lambda world, text: not has_page(world.survey) and finite(world),
    ("device", "open"): lambda world, text: not has_page(world.survey) and not finite(world),
    ("checked", "finite"): lambda world, text: finite(world),
    ("checked", "infinite"): lambda world, text: not finite(world),
    ("file", "proofs"): lambda world, text: bool(world.survey.certificates),
    ("file", "probabilities"): lambda world, text: not world.survey.certificates,
    ("stage", "second"): lambda world, text: (
        world.survey.stage is not None
        and "epsilon = 0.5 in the first and 1 in the second, 1.5 in all" in text
        and abs(math.log(world.odds) - 1) < 1e-6
    ),
    # the promise to respondents
    ("promise: random", "silent"): lambda world, text: is_silent(world),
    ("promise: random", "every answer"): lambda world, text: (
        any_answer(world) and is_random(world) and has_choice(world)
    ),
    ("promise: random", "possible"): lambda world, text: any_answer(world),
    ("promise: scheme", "one question"): lambda world, text: scheme(world) == "one_question",
    ("promise: scheme", "fake data"): lambda world, text: scheme(world) == "fake_data",
    ("promise: twice", "repeated"): lambda world, text: any(
        "inconsistent" in map(str, law.inputs) for law in world.survey.randomizers.values()
    ),
    ("promise: choice", "choice"): lambda world, text: keeps_each_choice(world),
    ("promise: warning", "choice"): lambda world, text: keeps_each_choice(world),
    ("promise: bound", "joint"): lambda world, text: scheme(world) == "joint",
    ("promise: bound", "fake data"): lambda world, text: scheme(world) == "fake_data",
    ("promise: bound", "one report"): lambda world, text: (
        len(world.survey.questions) == 1 or scheme(world) == "one_question"
    ),
    ("promise: bound", "all"): lambda world, text: finite(world),
    ("promise: waves", "waves"): lambda world, text: world.waves > 1 and finite(world),
    ("promise: stage", "second"): lambda world, text: world.survey.stage is not None,
    ("promise: estimates", "shares"): lambda world, text: (
        is_estimated(world) == set(world.survey.questions) and shares_only(world)
    ),
    ("promise: estimates", "numbers"): lambda world, text: (
        is_estimated(world) == set(world.survey.questions)
    ),
    ("promise: influence", "finite"): lambda world, text: counts_no_more(world),
    ("promise: unanswered", "joint"): lambda world, text: (
        scheme(world) == "joint" and leaves(world) > 1
    ),
    ("promise: unanswered", "joint, one"): lambda world, text: shows_who(world),
    ("promise: unanswered", "own"): lambda world, text: scheme(world) in ("split", "one_question"),
}
"""By topic and sentence: whether it is true of a survey."""

ELSEWHERE = {("missing", "protected"), ("missing", "counted")}


def log(odds: Fraction | float) -> float:
    """Logarithm also of numbers beyond the floats."""
    assert isinstance(odds, Fraction)
    return math.log(odds.numerator) - math.log(odds.denominator)


@cache  # each page is written once
def has_page(survey: Survey) -> bool:
    try:
        page(survey)
    except StatementError:
        return False
    return True


def facts_of(topic: Topic, survey: Survey, waves: int) -> Any:
    if topic in OF_PROMISES:
        return PromiseFacts(survey, waves)
    names = filter(lambda name: can_estimate(survey, name), survey.questions)
    rows = [
        {"in_points": name != "mean"} for question in names for name in numbers(survey, question)
    ]
    return PageFacts(survey, waves, rows=rows, **ASKED.get(id(survey), {}))


PRINTED: set[tuple[str, str]] = set()
MUST = {
    "note: spent",
    "certain",
    "odds",
    "budget",
    "published",
    "single",
    "protected",
    "hides",
    "device",
}
"""Topics of which one sentence is printed of every survey."""
IF = {
    "drawn": lambda survey: survey.scheme == "fake_data",
    "left out": lambda survey: bool(survey.unprotected),
    "unanswered": lambda survey: bool(survey.unprotected),
    "promise: unanswered": lambda survey: bool(survey.unprotected),
    "note: unanswered": lambda survey: bool(survey.unprotected),
}
"""Topics that a page names under a condition of its own."""


@pytest.mark.parametrize("name", SURVEYS)
def test_every_sentence_that_is_printed_is_true(name: str) -> None:
    true_sentences(name)


@cache
def true_sentences(name: str) -> None:
    """Refuse a false sentence about a survey; both tests need it, and it is computed once."""
    survey, waves = SURVEYS[name]
    world = World(survey, waves)
    for topic in TOPICS:
        is_asked = IF.get(topic.name, lambda survey: True)(survey)
        if not is_asked or topic.name == "missing":
            continue
        if topic in OF_PROMISES and not has_page(survey):
            continue
        facts = facts_of(topic, survey, waves)
        sentence = topic.chosen(facts)
        if sentence is None:
            assert topic.name not in MUST, f"nothing is said about {topic.name!r}"
            continue
        PRINTED.add((topic.name, sentence.name))
        text = sentence.about(facts)
        assert TRUTHS[topic.name, sentence.name](world, text), f"{topic.name}: {text!r} is false"


def test_the_registry_is_the_table_and_every_row_is_printed() -> None:
    rows = {(topic.name, sentence.name) for topic in TOPICS for sentence in topic.sentences}
    assert rows == set(TRUTHS) | ELSEWHERE, "each sentence needs its truth, and each truth one"
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)
    for name in SURVEYS:
        true_sentences(name)
    assert set(TRUTHS) - PRINTED == set(), "no survey of this test prints these"


PAGE_WORDS = ("certain", "odds", "budget", "published", "single", "protected", "hides", "checked")


@pytest.mark.parametrize("name", ["one coin", "identity", "Warner", "two questions", "fake data"])
def test_the_page_has_the_true_sentence_of_each_topic(name: str) -> None:
    survey, waves = SURVEYS[name]
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", report(survey, waves=waves))).split())
    by_name = {topic.name: topic for topic in OF_PAGES}
    for topic in PAGE_WORDS:
        facts = facts_of(by_name[topic], survey, waves)
        assert by_name[topic].say(facts) in text
        for sentence in by_name[topic].sentences:
            if "{" not in sentence.text and sentence is not by_name[topic].chosen(facts):
                assert sentence.text not in text


@pytest.mark.parametrize("rows", [[[0.5, 0.5], [0, 1]], np.eye(2)], ids=["one coin", "open"])
def test_the_page_of_a_design_that_reveals_does_not_deny_it(rows: Any) -> None:
    text = report(Survey({"q": Mechanism(rows, ["no", "yes"])}), people=1000, waves=3)
    text = " ".join(text.split())
    assert "No report tells" not in text
    assert "could have come from" not in text
    assert "nothing but a random report" not in text
    assert "Only the answers" not in text
    assert "tell for certain what a person answered" in text or (
        "tells for certain what a person answered" in text
    )


def test_who_is_told_by_which_report() -> None:
    text = " ".join(report(Survey({"q": ONE_COIN})).split())
    assert "the report “no” can only come from the answer “no”" in text
    assert "“no” with probability 0.5. No single report tells “yes”." in text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(THREE, missing_answer="no answer"), "protected like the others"),
        (Question(ONE_COIN, missing_answer="no"), "below is whose answers are told"),
    ],
)
def test_a_missing_answer_is_protected_only_where_the_others_are(
    question: Question, words: str
) -> None:
    assert words in " ".join(report(Survey({"q": question})).split())
    is_protected = any_answer(World(Survey({"q": question}), 1))
    assert ("protected like" in words) == is_protected


def test_a_page_of_a_model_says_what_its_reports_tell() -> None:
    one_sided = lo.Problem({"no": 0.5, "yes": 0.5}, "identity", lo.OneSided(1.0, ["yes"]))
    text = " ".join(report(one_sided, budgets=False).split())
    law = lo.solve(one_sided).mechanism
    tells = World(Survey({"q": law}), 1)
    assert ("tell for certain" in text) == tells_one(tells)
    assert "No report tells for certain" not in text
    pure = lo.Problem({"no": 0.5, "yes": 0.5}, "identity", lo.PureLDP(1.0))
    assert "No report tells for certain" in " ".join(report(pure, budgets=False).split())


PATH = nx.path_graph(3)
BY_NOTIONS: dict[str, Any] = {
    "pure": lo.PureLDP(1.0),
    "events": lo.ApproximateLDP(1.0, 0.1),
    "entries": lo.ApproximateLDP(1.0, 0.05, "entry"),
    "graph": lo.GraphDP(1.0, PATH),
    "metric": lo.MetricDP(1.0, np.array([[0, 0.5, 2], [0.5, 0, 1.5], [2, 1.5, 0]])),
    "one-sided": lo.OneSided(1.0, [0]),
    "utility-optimized": lo.UtilityOptimizedLDP(1.0, [0]),
}


def numbers_after(words: str, text: str) -> Fraction:
    """The number behind some words, without the full stop of their sentence."""
    found = re.search(rf"{words} ([0-9.,e-]*[0-9])", text)
    assert found is not None, words
    return Fraction(found[1].replace(",", ""))


@pytest.mark.parametrize("name", BY_NOTIONS)
def test_what_a_page_says_of_a_notion_holds_for_all_answers_and_reports(name: str) -> None:
    notion = BY_NOTIONS[name]
    problem = lo.Problem([0.2, 0.3, 0.5], "identity", notion)
    page_text = html.unescape(re.sub(r"<[^>]+>", "", report(problem, budgets=False)))
    text = " ".join(page_text.split())
    column = column_of(lo.solve(problem).mechanism)

    def largest(pairs: Any, reports: Any = None) -> Fraction | float:
        ratios = [
            column.rows[x][y] / column.rows[other][y] if column.rows[other][y] else math.inf
            for x, other in pairs
            for y in (range(len(column.reports)) if reports is None else reports)
            if column.rows[x][y]
        ]
        return max(ratios, default=Fraction(0))

    def excess(x: int, other: int, a: Fraction) -> list[Fraction]:
        both = zip(column.rows[x], column.rows[other], strict=True)
        return [max(p - a * q, Fraction(0)) for p, q in both]

    if name in ("events", "entries"):
        a = numbers_after("for one answer is at most", text)
        delta = numbers_after("any other answer, plus", text)
        whole = sum if name == "events" else max
        assert all(whole(excess(x, other, a)) <= delta for x, other in column.pairs())
        assert all(  # reports that rule the other answer out
            whole(p for p, q in zip(column.rows[x], column.rows[other], strict=True) if not q)
            <= numbers_after("completely has a probability of at most", text)
            for x, other in column.pairs()
            if 0 in column.rows[other]
        )
        return
    factor = numbers_after("by a factor of at most", text)
    if name == "graph":
        assert largest([(0, 1), (1, 0), (1, 2), (2, 1)]) <= factor
        assert largest([(0, 2), (2, 0)]) <= factor**2
    elif name == "metric":
        for x, other in column.pairs():
            distance = float(notion.distance[x, other])
            assert float(largest([(x, other)])) <= float(factor) ** distance
        assert float(factor) ** 0.5 <= float(numbers_after("to the power d: by", text))
        assert largest([(0, 2), (2, 0)]) <= numbers_after("at distance 0.5,", text)
    elif name == "one-sided":
        assert largest([(0, 1), (0, 2)]) <= factor
    elif name == "utility-optimized":
        protected = [y for y, left in enumerate(column.sets) if 0 in left]
        assert largest(column.pairs(), protected) <= factor
        others = set(range(len(column.reports))) - set(protected)
        assert all(len(column.sets[y]) == 1 for y in others)
    else:
        assert largest(column.pairs()) <= factor


# Accounts.


def best_guess(rows: Any, times: int, pairs: Any = None) -> float:
    """How often the best guess between two answers is right, by all sequences of reports."""
    n = len(rows)
    best = 0.5
    for x, other in pairs or itertools.permutations(range(n), 2):
        total = Fraction(0)
        for reports in itertools.product(range(len(rows[0])), repeat=times):
            p = math.prod((Fraction(rows[x][y]) for y in reports), start=Fraction(1))
            q = math.prod((Fraction(rows[other][y]) for y in reports), start=Fraction(1))
            total += max(p, q) / 2
        best = max(best, float(total))
    return best


COMPARED = [name for name, rows in (PUBLISHED | OTHERS).items() if len(rows) > 1]


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("times", [1, 2])
def test_the_best_guess_is_never_better_than_the_sentence(name: str, times: int) -> None:
    mechanism = Mechanism((PUBLISHED | OTHERS)[name])
    text = compose([(mechanism, times)]).in_words
    shown = re.search(r"right at most ([0-9.]+) of 100", text)
    assert shown is not None
    assert 100 * best_guess(mechanism.channel.tolist(), times) <= float(shown[1]) + 1e-9
    assert ("one report" if times == 1 else "all 2 reports") in text
    assert "Not all pairs" not in text


@pytest.mark.parametrize(
    ("curve", "has", "lacks"),
    [
        (compose([np.eye(3)], pairs=[(0, 1)]), "only 0 and 1", "of some questions"),
        (compose([np.eye(2)], pairs=[(0, 1)]), "a person has right", "Not all pairs"),
        (compose([np.eye(2), Mechanism(np.eye(3))], pairs=[(0, 1), (1, 0)]), "Not all", ""),
        (compose([np.eye(2)], pairs=[(0, 1), (1, 0)]), "a person has right", "Not all pairs"),
        (
            compose([compose([np.eye(3)], pairs=[(0, 1)]), np.eye(2)]),
            "of some questions only 0 and 1",
            "",
        ),
        (compose([WARNER], group=3), "a group of 3 people has", "a person"),
        (compose([(compose([WARNER], group=2), 2)], group=2), "a group of 4 people", "a person"),
        (shuffled(WARNER, 50), "of each of 50 people, shuffled", "After one report"),
        pytest.param(
            shuffled(THREE, 50, pairs=[("no", "yes")]),
            "Not all pairs",
            "After one report",
            marks=pytest.mark.long,
        ),
        (compose([shuffled(WARNER, 50), WARNER]), "some are shuffled", "all 1 reports"),
        (permanent(WARNER, WARNER, 5), "all 5 reports", "one report"),
        (SURVEYS["fake data"][0].account(), "all 2 reports", "one report"),
        (SURVEYS["one question"][0].account(), "one report", "all 2"),
        (SURVEYS["two questions"][0].account(2), "all 4 reports", "Not all pairs"),
    ],
)
def test_an_account_says_whose_answers_reports_and_pairs_it_is_about(
    curve: Any, has: str, lacks: str
) -> None:
    assert has in curve.in_words
    assert not lacks or lacks not in curve.in_words
    is_partial = "Not all pairs" in curve.in_words
    assert curve.in_words.count("0 and 1") <= 1
    assert ("not all pairs of answers" in curve.facts().text(200)) == is_partial
    chosen = GUESS.chosen(GuessFacts.of(curve.sources, curve.group, curve.guess()))
    assert chosen is not None
    assert (chosen.name != "all pairs") == is_partial


# What a report means.


@pytest.mark.parametrize("name", PUBLISHED | OTHERS)
def test_the_codebook_lists_only_answers_that_give_the_report(name: str) -> None:
    mechanism = Mechanism((PUBLISHED | OTHERS)[name])
    rows = codebook(Survey({"q": mechanism}))
    for y, line in enumerate(rows):
        column = [int(mass) for mass in mechanism.masses[:, y]]
        listed = [int(text) for text in filter(None, line["likely"].split(", "))]
        assert all(column[x] > 0 for x in listed)
        if any(column):
            assert max(range(len(column)), key=column.__getitem__) == listed[0]
        if 0 in column and any(column):
            assert line["times"] == math.inf
            assert sorted(listed) == [x for x, mass in enumerate(column) if mass]


@pytest.mark.parametrize(("answers", "epsilon"), [(40, 1.0), (30, 3.0), (300, 0.5)])
def test_the_codebook_counts_how_often_a_set_has_an_answer(answers: int, epsilon: float) -> None:
    """Not the odds of a whole set, which are larger."""
    law = lo.design(lo.Workload.frequencies(answers), lo.PureLDP(epsilon)).randomizer
    assert isinstance(law, SubsetSelection)
    line = codebook(Survey({"q": lo.design(lo.Workload.frequencies(answers), lo.PureLDP(epsilon))}))
    n, k = answers, law.size
    with_both = Fraction(math.comb(n - 2, k - 2)) * law.p / math.comb(n - 1, k - 1)
    with_other = Fraction(math.comb(n - 2, k - 1)) * (1 - law.p) / math.comb(n - 1, k)
    assert math.isclose(line[0]["times"], law.p / (with_both + with_other), rel_tol=1e-12)


def test_the_codebook_counts_how_often_a_pattern_has_an_answer() -> None:
    survey = Survey({name: ["no", "yes"] for name in "abcd"}, epsilon=2.0, scheme="joint")
    (law,) = (question.randomizer for question in survey.asked.values())
    column = column_of(law)
    for number, line in enumerate(codebook(survey)):
        place, bit = divmod(number, 2)
        shares = [
            sum(
                p
                for p, (places, bits) in zip(row, column.reports, strict=True)
                if (place, bit) in zip(places, bits, strict=True)
            )
            for row in column.rows
        ]
        assert math.isclose(line["times"], max(shares) / min(shares), rel_tol=1e-12)
        likeliest = column.answers[shares.index(max(shares))]
        assert likeliest[place] == bit


@cases(200)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=5
        )
    ),
    st.integers(1, 4),
)
def test_what_reports_tell_is_found_by_enumeration(columns: list[list[int]], times: int) -> None:
    """Columns of weights; each answer gives some report."""
    weights = np.array(
        [*columns, [1 if not any(c[x] for c in columns) else 0 for x in range(len(columns[0]))]]
    )
    law = Mechanism((weights / weights.sum(axis=0)).T)
    found = revealed_by(law)
    column = column_of(law)
    world = World(Survey({"q": law}), times)
    assert found.rules_out == rules_out(world) or len(column.answers) == 1
    assert bool(found.tells) == tells_one(world)
    assert found.tells_within(times) == world.told(column, times)
    assert found.is_open == is_open(column)
    assert found.is_silent == is_silent(world)
    assert found.is_random == is_random(world)


@given(st.fractions(min_value=1, max_value=10**20))
def test_a_factor_is_rounded_up(number: Fraction) -> None:
    text = at_most_text(number)
    power = re.fullmatch(r"10\^(\d+)", text)
    shown = Fraction(10) ** int(power[1]) if power else Fraction(text.replace(",", ""))
    assert number <= shown <= number * (10 if power else Fraction(102, 100))


# Templates have no claims of their own.

CLAIM = re.compile(
    r"\b(no|nobody|never|nothing|every|everybody|any|anybody|all|only|each|certain|cannot|"
    r"proved|proves|protected|private|best|at most)\b",
    re.IGNORECASE,
)


def literal_sentences(path: Path) -> list[str]:
    """The text of a template outside of its expressions, in sentences."""
    text = re.sub(r"\{#.*?#\}", "", path.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "_", text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", "|", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<(?!/?(code|b)>)[^>]+>", "|", text)
    return [" ".join(part.split()) for part in text.split("|") if part.strip()]


PAGES = (
    "plotting/report/survey",
    "plotting/report/parts",
    "plotting/report/page",
    "fieldwork/page",
    "fieldwork/closed",
)
BY_SCHEME = "printed by the scheme of the survey, of which it is the definition"
BY_NOTION = "printed by the privacy notion, of which it is the definition; the audit has checked it"
BY_PROOF = "printed where there is a certificate"
IF_TRUE = "printed under the condition that it states"
NO_CLAIM = "no claim on reports or answers"
ALWAYS = {
    "_ These tables are for people who all follow the rules: a test sees only naive forgers, and "
    "invitations bound how many reports there are. Intervals for a stated share of false reports: "
    "<code>ldpopt survey estimate --liars</code>.": (
        "what no test sees is docs/theory/influence.md; the option exists for every survey"
    ),
    "How the reports on some questions are drawn: by a technique that people know, or by one of "
    "several mechanisms for each person, each with its own budget": "of such questions only",
    "_ _ to each person": NO_CLAIM,
    "What is asked, and the part of a person's privacy budget (epsilon) that each question "
    "takes": NO_CLAIM,
    "everybody has to answer; data with a missing answer are refused": "of missing = refuse only",
    "Each person sends one report on all questions together, with the whole budget.": BY_SCHEME,
    "(asked only if _)": NO_CLAIM,
    "Each person sends _ reports: questions that depend on each other share one; the parts of the "
    "budget add up.": BY_SCHEME,
    "Each person sends one report on all questions together, which depend on each "
    "other.": BY_SCHEME,
    "For each person one of the _ _ is drawn at random, and only this one is reported. "
    "The column of the report shows which one it was.": BY_SCHEME,
    "For each person one of the _ _ is drawn at random. _": BY_SCHEME,
    "Each person sends one report on every question; the parts of the budget add up.": BY_SCHEME,
    "Each person sends one report.": BY_SCHEME,
    "What each person risks": NO_CLAIM,
    "How far an estimate is from the truth at most, in 95 of 100 surveys, by the number of people "
    "who take part (head of each table), whatever their true answers are. Shares of people are in "
    "percentage points. _ _": "on precision, which is simulated elsewhere",
    "Groups of people, and how far the estimates of a group are from the truth at most, in 95 of "
    "100 surveys, if all of them answer: the largest of each question, of shares in percentage "
    "points": "on precision",
    "How often a guess about a person is right at most, of 100 times, after a report": NO_CLAIM,
    "The survey states no text on _": IF_TRUE,
    "Words <code>_</code>: what people read in all languages, which is the questions and answers "
    "as they are worded, the consent, the contact, how long reports are kept and the last day. "
    "Another word gives another fingerprint; the words of the program itself are not among "
    "them.": "of a digest, which is tried in the tests of the page",
    "Page <code>_</code>: every byte of the file on which people answer, with the words of the "
    "program and where it sends reports.": "of a digest, which is tried in the tests of the page",
    "The file of the page has a third one, of every byte: state where it sends reports "
    "(<code>--to</code>), and it is here.": NO_CLAIM,
    "Nothing can be estimated: _.": IF_TRUE,
    "A share that is known to ± 50 points or worse is not known at all. _": NO_CLAIM,
    "What is proved": NO_CLAIM,
    "_: it is proved that no other way to draw reports with this privacy gives results whose "
    "variance is smaller by more than _.": BY_PROOF,
    "For _ nothing is claimed about being the best.": IF_TRUE,
    "_, … , _ (_ in all)": NO_CLAIM,
    "the column <b>_</b> of survey weights, which stays as it is beside the reports of each "
    "person;": IF_TRUE,
    "what is kept as it is beside the reports of each person: <b>_</b>;": IF_TRUE,
    "This page was written by _. Anybody who has the same program can repeat the "
    "computation.": NO_CLAIM,
    "Each person has one true answer: _.": NO_CLAIM,
    "From the reports of all people together, _ _ estimated": NO_CLAIM,
    "Of all mechanisms with this privacy, whatever their reports are, the one below has the "
    "smallest variance of these estimates, _. This is proved, up to the gap given "
    "below.": BY_PROOF,
    "Each person sends one report: _.": NO_CLAIM,
    "A table gives the _ of each report for each true answer. Of all mechanisms with this privacy, "
    "the one below has _, _. This is proved, up to the gap given below.": BY_PROOF,
    "For any _: its probability for one answer is at most _ times its probability for any _ "
    "answer, plus _.": BY_NOTION,
    "_ that rules out _ answer completely has a probability of at most _.": BY_NOTION,
    "One report can change the odds between two neighboring answers by a factor of at most _, and "
    "between answers that are k steps apart by at most this factor to the power k.": BY_NOTION,
    "One report can change the odds between two answers at distance d by a factor of at most _ to "
    "the power d: by _ at distance 0.5, _ at distance 2. So close answers are hidden among each "
    "other, and distant ones can be told apart.": BY_NOTION,
    "Sensitive answers: _. One report can raise the odds of a sensitive answer against any other "
    "answer by a factor of at most _. A report may reveal that an answer is not "
    "sensitive.": BY_NOTION,
    "Sensitive answers: _. A protected report can change the odds between any two answers by a "
    "factor of at most _. Every other report reveals the answer, but only answers that are not "
    "sensitive lead to such a report.": BY_NOTION,
    "One report can change the odds between any two answers of this person by a factor of at most "
    "_, whatever the reader knew before, and however much the reader can compute.": BY_NOTION,
    "The definition of _ determines which answers are hidden from each other, and how well: it "
    "does not have to bound the odds between any two answers.": BY_NOTION,
    "Probability of each report (column) for each true answer (row)": NO_CLAIM,
    ". Reports are numbered; the numbers are only names": NO_CLAIM,
    "How far the estimate is from the truth at most, in 95 of 100 surveys, by the number of people "
    "who take part, if _. Shares are in percentage points. Last column: how many times as many "
    "people are needed as with true answers, for the same precision": "on precision",
    "It is proved that no other way to draw reports with this privacy serves the purpose below "
    "better (the proof leaves at most _).": BY_PROOF,
    "The same for other budgets, from more private to more precise. Choose epsilon:": NO_CLAIM,
    "The shares of the answers cannot be estimated from these reports, because different "
    "populations give the same distribution of reports. This mechanism is optimal for single "
    "reports. To estimate shares, state a workload and use <code>ldpopt design</code>.": IF_TRUE,
    ". Exact arithmetic proves that no mechanism with this privacy is better by more than _ of "
    "that value.": BY_PROOF,
}
"""Sentences with the words of a claim that stand in a template, and why no row is needed."""


def test_no_claim_stands_in_a_template() -> None:
    pages = [ROOT / f"{name}.html.j2" for name in PAGES]
    claims = {text for path in pages for text in literal_sentences(path) if CLAIM.search(text)}
    new = claims - set(ALWAYS)
    assert not new, f"make a row of the registry of each, with its condition: {sorted(new)}"
    assert set(ALWAYS) == claims, "these stand in no template any more"


INSTRUCTIONS = {  # what a person is asked to do, and names of buttons
    *("direction", "decimal", "percent", "untitled", "unready", "forgetful", "leaves", "language"),
    *("odds", "exact", "exact_drawn", "leave_out", "none", "several", "no_answer", "choose"),
    *("incomplete", "no_consent", "final", "final_offline", "send", "draw", "ready", "left"),
    *("sending", "sent", "unsent", "refused", "used", "closed", "offline", "waiting", "languages"),
    *("together", "no_report", "receipt_text", "bytes", "again", "copy", "download", "next"),
    *("fingerprint", "wording", "shares_of", "reported", "until", "ended", "needs_link", "unknown"),
    *("inconsistent", "asked_again"),
    *("too_long", "earlier", "needed", "open", "open_decline", "range", "range_step", "from_to"),
    *("not_asked", "page", "forward", "back", "shares_of_ticks", "tick_share", "others"),
    "choice",  # the question for an epsilon
}
OF_ANY_PAGE = {  # claims that are true of every survey that has a page: its odds are finite
    *("privacy", "leaves_text", "leaves_offline", "linked", "odds_text", "odds_set", "odds_joint"),
    *("may_leave_out", "may_decline", "reported_set", "reported_joint", "memory", "fields"),
    *("choice_option", "choice_sent"),  # there where people choose; numbers are exact
    *("chance", "certain"),  # parts of the sentences with bounds; chances are exact
}


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_every_word_of_the_page_for_respondents_is_a_row_or_no_claim(language: str) -> None:
    path = ROOT / "fieldwork" / "words" / f"{language}.toml"
    words = set(tomllib.loads(path.read_text("utf-8")))
    rows = {sentence.text for topic in OF_PROMISES for sentence in topic.sentences}
    assert words == rows | INSTRUCTIONS | OF_ANY_PAGE
    assert not rows & (INSTRUCTIONS | OF_ANY_PAGE)


def test_a_page_is_refused_where_its_promise_is_not_true() -> None:
    for survey, waves in SURVEYS.values():
        if has_page(survey):
            assert finite(World(survey, waves))


# The table.


def rows_of_the_table() -> list[tuple[str, str, str, bool]]:
    """Design, topic, sentence, and whether it is true there."""
    rows = []
    for name, (survey, waves) in SURVEYS.items():
        world = World(survey, waves)
        for topic in TOPICS:
            is_asked = IF.get(topic.name, lambda survey: True)(survey)
            if not is_asked or topic.name == "missing":
                continue
            if topic in OF_PROMISES and not has_page(survey):
                continue
            facts = facts_of(topic, survey, waves)
            if (sentence := topic.chosen(facts)) is not None:
                key = topic.name, sentence.name
                rows.append((name, *key, bool(TRUTHS[key](world, sentence.about(facts)))))
    return rows
