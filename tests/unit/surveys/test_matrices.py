"""Survey files: a matrix is its rows as questions, defaults hold for all of them, fields come with
the link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import cli_json, cli_output, refused, run_cli
from ldpopt import Mechanism, Survey
from ldpopt.errors import ModelFileError
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.statement import read_survey

MATRIX = """
title = "Trust"
epsilon = 2.0
[question.age]
labels = ["young", "old"]
[matrix.trust]
text = { en = "How much do you trust", de = "Wie sehr vertrauen Sie" }
rows = { police = { en = "the police", de = "der Polizei" }, courts = "ARD" }
labels = ["none", "some", "much"]
answers = { none = { en = "Not at all", de = "Gar nicht" } }
workload = "prefix"
missing = "answer"
section = "country"
share = 0.25
[question.votes]
labels = ["no", "yes"]
[form]
languages = ["en", "de"]
[field.region]
labels = ["North", "South", 3]
text = { en = "Region", de = "Gegend" }
answers = { North = { en = "The north", de = "Norden" } }
[field.weight]
"""
ROW = """
labels = ["none", "some", "much"]
answers = { none = { en = "Not at all", de = "Gar nicht" } }
workload = "prefix"
missing = "answer"
section = "country"
share = 0.25
"""
BY_HAND = f"""
title = "Trust"
epsilon = 2.0
[question.age]
labels = ["young", "old"]
[question."trust.police"]{ROW}
[question."trust.courts"]{ROW}
[question.votes]
labels = ["no", "yes"]
[form]
languages = ["en", "de"]
"""


def of(folder: Path, text: str) -> Survey:
    (folder / "survey.toml").write_text(text)
    return Survey.from_toml(folder / "survey.toml")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return of(tmp_path_factory.mktemp("matrix"), MATRIX)


def test_a_matrix_is_the_same_as_its_rows_by_hand(survey: Survey, tmp_path: Path) -> None:
    other = of(tmp_path, BY_HAND)
    assert list(survey.questions) == ["age", "trust.police", "trust.courts", "votes"]
    assert list(other.questions) == list(survey.questions)
    assert survey.budgets == other.budgets
    for name, question in survey.questions.items():
        twin = other.questions[name]
        assert question.randomizer.digest == twin.randomizer.digest
        assert (question.missing, question.missing_answer) == (twin.missing, twin.missing_answer)
    forms = [one.form() for one in (survey, other)]
    del forms[0]["fields"]
    assert forms[0] == forms[1]
    for code in ("en", "de"):
        pairs = [one.words.in_language(code).questions["trust.courts"] for one in (survey, other)]
        assert pairs[0].answers == pairs[1].answers != {}
        assert (pairs[0].section, pairs[1].section) == ("country", "country")


def test_rows_have_the_words_of_their_matrix(survey: Survey) -> None:
    words = survey.words.in_language("de").questions
    first, second = words["trust.police"], words["trust.courts"]
    assert (first.matrix, first.heading, first.row) == (
        "trust", "Wie sehr vertrauen Sie", "der Polizei"
    )  # fmt: skip
    assert first.text == "Wie sehr vertrauen Sie: der Polizei"
    assert (second.row, second.matrix) == ("ARD", "trust")
    assert (words["votes"].matrix, words["age"].matrix) == ("", "")


@pytest.mark.parametrize("text", ["", 'text = "Do you own:"\n'])
def test_rows_may_be_a_list_of_their_words(text: str, tmp_path: Path) -> None:
    matrix = f'epsilon = 2.0\n[matrix.own]\n{text}rows = ["a car", "a bike"]\nlabels = [0, 1]\n'
    words = of(tmp_path, matrix).words.first.questions
    assert [words[name].row for name in ("own.a car", "own.a bike")] == ["a car", "a bike"]
    assert words["own.a car"].text == ("Do you own: a car" if text else "a car")


def test_the_order_is_that_of_the_file(tmp_path: Path) -> None:
    parts = [f'[question.q{k}]\nlabels = ["a", "b"]\n' for k in range(3)]
    matrices = [
        f'[matrix.m{k}]\nrows = {{ x = "x", y = "y" }}\nlabels = ["a", "b"]\n' for k in range(2)
    ]
    text = "epsilon = 2.0\n# [matrix.m0]\n"
    text += matrices[1] + parts[0] + parts[1] + matrices[0] + parts[2]
    names = ["m1.x", "m1.y", "q0", "q1", "m0.x", "m0.y", "q2"]
    assert list(of(tmp_path, text).questions) == names


def test_ticks_and_edges_in_a_matrix(tmp_path: Path) -> None:
    text = """
    epsilon = 4.0
    [matrix.used]
    rows = { now = "Now", then = "Then" }
    ticks = ["beer", "wine"]
    [matrix.hours]
    rows = { work = "Work", sleep = "Sleep" }
    labels = ["0-4", "5-24"]
    edges = [-inf, 5, inf]
    """
    survey = of(tmp_path, text)
    assert survey.questions["used.then"].ticks == ("beer", "wine")
    assert tuple(survey.questions["hours.sleep"].edges)[1] == 5


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        (', courts = "ARD" }', " }", "matrix", ""),
        ('labels = ["none", "some", "much"]\n', "", "labels", ":6: matrix.trust"),
        ('workload = "prefix"', 'workload = "prefixes"', "workload", ":11: matrix.trust.workload"),
        (', de = "der Polizei"', "", "translation", ":8: matrix.trust.rows.police"),
        (', de = "Wie sehr vertrauen Sie"', "", "translation", ":7: matrix.trust.text"),
        (', de = "Gar nicht"', "", "translation", ":10: matrix.trust.answers.none"),
        ("{ none = {", "{ some = { en = 'much', de = 'x' }, none = {", "same-words",
         ":10: matrix.trust.answers"),
        ("rows = {", "row = {", "unknown-key", ":8: matrix.trust.row"),
        ("rows = {", "rows = [] # {", "type", ":8: matrix.trust.rows"),
        ("share = 0.25", "epsilon = -1", "negative-epsilon", ":14: matrix.trust.epsilon"),
        ("[question.age]", '[question."trust.police"]', "same-question", "matrix.trust"),
        ("[field.region]", "[field.votes]", "field-column", "field.votes"),
        ("[field.region]", "[field.id]", "reserved-field", "field.id"),
        ('"North", "South", 3]', '"North", "North"]', "same-value", "field.region.labels"),
        (', de = "Norden"', "", "translation", ":22: field.region.answers.North"),
        ("{ North = {", "{ Norht = {", "label", "field.region.answers"),
        ("[field.region]", "[field.region]\nvalues = []", "unknown-key", "field.region.values"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_matrix_or_a_field_is_named_with_its_place(
    old: str, new: str, code: str, where: str, tmp_path: Path
) -> None:
    assert old in MATRIX
    if code == "matrix":  # one row is a matrix, too
        assert len(of(tmp_path, MATRIX.replace(old, new)).questions) == 3
        return
    with refused(code, ModelFileError) as caught:
        of(tmp_path, MATRIX.replace(old, new))
    assert where in caught.value.where


def test_a_survey_without_questions_is_refused(tmp_path: Path) -> None:
    with refused("missing-key", ModelFileError):
        of(tmp_path, "epsilon = 1.0\n")


def test_fields_of_a_file_come_with_the_link(survey: Survey, tmp_path: Path) -> None:
    assert survey.fields == {"region": ("North", "South", "3"), "weight": ()}
    assert survey.form()["fields"] == {"region": ["North", "South", "3"], "weight": []}
    assert survey.words.in_language("de").fields == {
        "region": {"": "Gegend", "North": "Norden", "South": "South", "3": "3"},
        "weight": {"": "weight"},
    }
    survey.save(tmp_path / "survey.json")
    again = Survey.load(tmp_path / "survey.json")
    assert (again.fields, again.words, again.form()) == (survey.fields, survey.words, survey.form())
    assert again.words_digest == survey.words_digest


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"fields": {"regoin": {"text": "Region"}}}, "unknown-field"),
        ({"fields": {"region": {"answers": {"West": "The west"}}}}, "label"),
        ({"fields": {"region": {"answers": {"North": "South"}}}}, "same-words"),
        ({"fields": {"region": {"section": "a"}}}, "word"),
    ],
)
def test_words_for_another_field_are_refused(words: Any, code: str) -> None:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    with refused(code):
        Survey({"a": coin}, fields={"region": ["North", "South"]}, words=words)


DEFAULTS = """
epsilon = 2.0
missing = "{missing}"
[question.a]
labels = ["no", "yes"]
[question.b]
labels = ["no", "yes"]
missing = "leave"
[question.c]
mechanism = "coin.json"
[question.d]
ticks = ["x", "y"]
[matrix.m]
rows = {{ one = "1", two = "2" }}
labels = [1, 2]
[matrix.n]
rows = {{ one = "1" }}
labels = [1, 2]
missing = "answer"
missing_label = "pass"
"""


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("answer", dict.fromkeys(("a", "d", "m.one", "m.two"), "no answer")),
        ("refuse", {}),
        ("leave", {}),
    ],
)
def test_the_treatment_of_missing_answers_is_that_of_the_survey_where_none_is_stated(
    missing: str, expected: dict[str, str], tmp_path: Path
) -> None:
    coin = Mechanism([[0.6, 0.4], [0.4, 0.6]], inputs=["no", "yes"])
    coin.save(tmp_path / "coin.json")
    survey = of(tmp_path, DEFAULTS.format(missing=missing))
    answers = {
        name: question.missing_answer
        for name, question in survey.questions.items()
        if question.missing_answer is not None
    }
    assert answers == {**expected, "n.one": "pass"}
    leaves = {name for name in "acd" if missing == "leave"} | {"b"}
    leaves |= {"m.one", "m.two"} if missing == "leave" else set()
    assert set(survey.unprotected) == leaves


def test_too_many_ticks_have_no_answer_more_by_default(tmp_path: Path) -> None:
    for count, answer in ((7, "no answer"), (8, None)):
        ticks = json.dumps([f"t{k}" for k in range(count)])
        (tmp_path / "s.toml").write_text(
            f'epsilon = 2.0\nmissing = "answer"\n[question.a]\nticks = {ticks}\n'
        )
        section = read_survey(tmp_path / "s.toml").section
        assert section.question["a"].missing_answer == answer


def test_check_warns_where_the_page_lets_nobody_pass(tmp_path: Path) -> None:
    text = 'epsilon = 2.0\n{}[question.a]\nlabels = ["no", "yes"]\ntext = "Do you?"\n' + (
        '[question.b]\nlabels = ["no", "yes"]\nmissing = "leave"\n'
    )
    path = tmp_path / "survey.toml"
    solved = tmp_path / "survey.json"
    for missing, shown in (("", "“Do you?”"), ('missing = "answer"\n', "")):
        path.write_text(text.format(missing))
        cli_output("survey", "solve", path, "-o", solved)
        for file in (path, solved):
            warning = cli_json("survey", "check", file)["warning"]
            assert (shown in warning) if shown else not warning
            done = run_cli("survey", "check", file)
            assert ("warning: " in done.stderr) == bool(shown)
            assert shown in done.stderr
    with_both = text.format("").replace('missing = "leave"\n', "")
    path.write_text(with_both)
    assert "“" not in cli_json("survey", "check", path)["warning"]  # of all questions
    assert "nobody" in cli_json("survey", "check", path)["warning"]


def test_a_survey_wide_default_says_nothing_new_where_it_is_stated(tmp_path: Path) -> None:
    text = 'epsilon = 2.0\n{}[question.a]\nlabels = ["no", "yes"]\n{}'
    whole, each, none = (
        of(tmp_path, text.format(*parts))
        for parts in (('missing = "answer"\n', ""), ("", 'missing = "answer"\n'), ("", ""))
    )
    assert form_digest(whole.form()) == form_digest(each.form()) != form_digest(none.form())
    with refused("type", ModelFileError):
        of(tmp_path, text.format('missing = "answers"\n', ""))
