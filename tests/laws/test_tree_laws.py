"""Laws of questions that depend on others, on random surveys: paths by their definition, exact odds
of all reports, estimates without bias."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Survey
from ldpopt.foundation.budget import Budget
from ldpopt.mechanism.conditions import count_paths, paths_of
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.trees import require_conditions, trees_of


@st.composite
def surveys(draw, most=5, answers=3):
    """Questions with conditions on some earlier ones, of which at least one has one."""
    size = draw(st.integers(2, most))
    questions = {}
    for place in range(size):
        labels = [f"{place}{letter}" for letter in "abcd"[: draw(st.integers(2, answers))]]
        only_if = {}
        for before in range(place):
            if draw(st.booleans()):
                inputs = questions[f"q{before}"].inputs
                chosen = st.lists(st.sampled_from(inputs), min_size=1, unique=True)
                only_if[f"q{before}"] = draw(chosen)
        missing = draw(st.booleans())
        if missing:
            labels.append("no answer")
        questions[f"q{place}"] = Question(
            labels, missing_answer="no answer" if missing else None, only_if=only_if or None
        )
    assume(any(each.only_if for each in questions.values()))
    return questions


def possible(questions):
    """All rows of answers in which a question is None exactly if its condition is false."""
    names = list(questions)
    rows = []
    for row in product(*([*each.inputs, None] for each in questions.values())):
        said = dict(zip(names, row, strict=True))
        fits = all(
            (said[name] is not None)
            == all(said[gate] in answers for gate, answers in (each.only_if or {}).items())
            for name, each in questions.items()
        )
        if fits:
            rows.append(row)
    return rows


@cases(60)
@given(surveys())
def test_paths_are_what_a_page_can_give(questions):
    rows = possible(questions)
    inputs = [each.inputs for each in questions.values()]
    labels = [{None: None} | dict(enumerate(each)) for each in inputs]
    found = [
        tuple(names[code] for names, code in zip(labels, path, strict=True))
        for path in paths_of(questions)
    ]
    assert sorted(found, key=str) == sorted(rows, key=str)
    assert len(set(found)) == len(found) == count_paths(questions)
    asked = [any(row[place] is not None for row in rows) for place in range(len(questions))]
    if all(asked):
        require_conditions(questions)
    else:
        with refused("never-asked"):
            require_conditions(questions)


@cases(60)
@given(surveys())
def test_trees_are_the_components_of_the_conditions(questions):
    linked = {name: {name} for name in questions}
    for name, question in questions.items():
        for gate in question.only_if or ():
            both = linked[name] | linked[gate]
            linked |= dict.fromkeys(both, both)
    trees = trees_of(questions)
    for first, names in trees.items():
        assert set(names) == linked[first]
        assert first == min(names, key=list(questions).index)
        assert len(possible({name: questions[name] for name in names})) <= 64
    for name, each in linked.items():
        if len(each) > 1 and not any(name in names for names in trees.values()):
            part = {key: question for key, question in questions.items() if key in each}
            assert count_paths(part) > 64


@cases(8)
@given(surveys(most=3), st.sampled_from(["split", "one_question", "fake_data", "joint"]), st.data())
def test_odds_are_exact_and_estimates_have_no_bias(questions, scheme, data):
    rows = possible(questions)
    assume(all(any(row[place] is not None for row in rows) for place in range(len(questions))))
    assume(count_paths(questions) <= 20)
    if scheme != "joint":
        questions = {**questions, "free": Question(["x", "y"])}
    survey = Survey(questions, epsilon=data.draw(st.sampled_from([0.5, 1.0, 3.0])), scheme=scheme)
    odds = Fraction(1)
    largest = Fraction(1)
    for column in survey.asked.values():
        masses = column.randomizer.counts
        ratio = max(Fraction(int(each.max()), int(each.min())) for each in masses.T)
        odds *= ratio
        largest = max(largest, ratio)
    assert survey.odds == (odds if survey.one_question is None else largest)
    assert survey.odds <= survey.limit.enclosure()[0]
    # the numbers of every path, from the exact probabilities of the reports on it
    for name, column in survey.asked.items():
        law = survey.randomizers[name]
        for part in column.parts:
            numbers = numbers_of(survey, part)
            values = np.array(numbers.estimator)
            scale = 1 + np.abs(values).max()
            for place in range(len(law.counts)):
                exact = [
                    sum(
                        Fraction(int(mass), law.denominator) * Fraction(value)
                        for mass, value in zip(law.counts[place], row, strict=True)
                    )
                    for row in values.tolist()
                ]
                wanted = map(Fraction, numbers.wanted[:, place].tolist())
                away = max(abs(e - w) for e, w in zip(exact, wanted, strict=True))
                assert away < 1e-9 * scale


@cases(20)
@given(surveys(most=3), st.integers(0, 99))
def test_the_report_of_a_row_is_that_of_its_path(questions, seed):
    rows = possible(questions)
    assume(all(any(row[place] is not None for row in rows) for place in range(len(questions))))
    assume(count_paths(questions) <= 12)
    survey = Survey(questions, epsilon=1)
    rng = np.random.default_rng(seed)
    chosen = [rows[place] for place in rng.integers(len(rows), size=40)]
    table = pd.DataFrame(dict(zip(questions, zip(*chosen, strict=True), strict=True)), dtype=object)
    table = table.replace({"no answer": None}) if rng.random() < 0.5 else table
    for column in survey.asked.values():
        if not column.parts:
            continue
        names = list(column.parts)
        codes = [
            np.array([-1 if value is None else part.place_of(value) for value in table[name]])
            for name, part in column.parts.items()
        ]
        places = column.combine(codes)
        for row, place in zip(chosen, places.tolist(), strict=True):
            said = dict(zip(questions, row, strict=True))
            path = tuple(
                None if said[name] is None else column.parts[name].place_of(said[name])
                for name in names
            )
            assert column.paths[place] == path
    assert Budget(1).enclosure()[0] >= survey.odds
