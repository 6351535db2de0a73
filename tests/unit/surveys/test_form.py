"""The form of a survey: what a device draws with, its digest, and the words around it."""

import contextlib
import hashlib
import json
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from builders import refused
from ldpopt import Mechanism, Survey, UtilityOptimizedLDP, solve
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork import page
from ldpopt.mechanism.questions import Question
from ldpopt.problem.problem import Problem
from ldpopt.surveys.changed_words import first_difference
from ldpopt.surveys.form import form_difference, form_digest

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
TOML = """
title = "Absence"
epsilon = 2.0
[form]
language = "de"
consent = "Ich mache mit."
waves = 3
[question.absence]
labels = ["never", "once", "often"]
text = "Wie oft?"
answers = { never = "Nie" }
[question.branch]
labels = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]
missing = "answer"
workload = "frequencies"
[question.income]
labels = [1, 2]
missing = "leave"
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("form") / "survey.toml"
    path.write_text(TOML)
    return Survey.from_toml(path)


def test_a_form_has_the_audited_masses_and_the_texts_of_a_table(survey):
    form = survey.form()
    assert form["format"] == "ldpopt form 2"
    assert Fraction(form["odds"]) == survey.odds
    assert list(form["questions"]) == list(form["columns"]) == list(survey.questions)
    for name, column in form["columns"].items():
        law = survey.questions[name].randomizer
        assert (column["of"], column["missing"]) == ([name], survey.questions[name].missing)
        assert column["digest"] == law.digest
        assert column["reports"] == list(map(str, law.outputs))
        np.testing.assert_array_equal(np.array(column["masses"]), law.counts)
        assert "masses" not in form["questions"][name]
    assert form["questions"]["income"]["answers"] == ["1", "2"]
    assert form["questions"]["income"]["missing"] == "leave_out"
    assert form["questions"]["branch"]["missing_answer"] == "no answer"


def test_words_change_no_digest_and_a_wave_does(survey, tmp_path):
    path = tmp_path / "plain.toml"
    path.write_text(
        "\n".join(
            line for line in TOML.splitlines() if "text =" not in line and "answers =" not in line
        )
    )
    plain = Survey.from_toml(path)
    assert form_digest(plain.form()) == form_digest(survey.form()) == form_digest(survey.form(1))
    assert form_digest(survey.form(2)) != form_digest(survey.form())
    assert survey.form(2)["wave"] == 2
    assert len(form_digest(survey.form())) == 64


def test_words_are_kept_in_the_file_and_the_form_is_the_same(survey, tmp_path):
    survey.save(tmp_path / "survey.json")
    again = Survey.load(tmp_path / "survey.json")
    assert again.words == survey.words
    assert again.form() == survey.form() == json.loads(json.dumps(survey.form()))
    assert again.words.first.questions["absence"].answers == {"never": "Nie"}


ASKED = {"text": "Rauchen Sie?", "answers": {"no": "Nein", "yes": "Ja"}}
SAID = {
    "language": "de",
    "consent": "Ich mache mit.",
    "contact": "Institut",
    "until": "2027-03-31",
    "to": "https://a.example.org/reports",
    "words": {"send": "Ab die Post"},
    "questions": {"smokes": ASKED},
}


def test_the_digest_of_the_words_is_that_of_all_that_people_read():
    """By hand: SHA-256 of the words as JSON with sorted keys, without the address."""
    told = {key: value for key, value in SAID.items() if key != "to"}
    text = json.dumps(told, sort_keys=True, ensure_ascii=False).encode()
    survey = Survey({"smokes": COIN}, words=SAID)
    assert survey.words_digest == hashlib.sha256(text).hexdigest()
    assert Survey({"smokes": COIN}).words_digest == hashlib.sha256(b"{}").hexdigest()
    assert survey.form() == Survey({"smokes": COIN}).form()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"consent": "Ich mache gern mit."}, "Ich mache gern mit."),
        ({"contact": ""}, 'contact was "Institut", is not stated'),
        ({"until": "2027-04-30"}, "2027-04-30"),
        ({"words": {"send": "Los"}}, "words send"),
        ({"language": "fr"}, "language"),
        ({"questions": {"smokes": ASKED | {"text": "Trinken Sie?"}}},
         'question smokes: the text was "Rauchen Sie?", is "Trinken Sie?"'),
        ({"questions": {"smokes": ASKED | {"answers": {"no": "Ja", "yes": "Nein"}}}},
         'question smokes: the answer no was "Nein", is "Ja"'),
        ({"questions": {}}, "question smokes: the answer no"),
    ],
)  # fmt: skip
def test_any_changed_word_changes_the_digest_and_is_named(changes, named):
    survey = Survey({"smokes": COIN}, words=SAID)
    other = Survey({"smokes": COIN}, words=SAID | changes)
    assert other.words_digest != survey.words_digest
    assert form_digest(other.form()) == form_digest(survey.form())
    told, changed = (one.words.read_by_people for one in (survey, other))
    assert named in first_difference(told, changed)


def test_of_a_long_text_the_place_of_the_change_is_shown():
    told, changed = (
        {"consent": 300 * "I take part. " + f"I am {age} years old.\nYes." + 300 * " Really."}
        for age in (18, 21)
    )
    named = first_difference(told, changed)
    assert "I am 18 years old. Yes." in named
    assert "I am 21 years old. Yes." in named
    assert len(named.splitlines()) == 1
    assert len(named) < 200
    longer = {"consent": told["consent"] + " And you?"}
    assert "And you?" in first_difference(told, longer)


def test_where_reports_are_sent_and_words_that_say_nothing_are_not_in_the_digest(tmp_path):
    survey = Survey({"smokes": COIN}, words=SAID)
    assert Survey({"smokes": COIN}, words=SAID | {"to": ""}).words_digest == survey.words_digest
    nothing = {"questions": {"smokes": {"text": "", "answers": {}}}}
    empty = Survey({"smokes": COIN}, words=nothing)
    assert empty.words_digest == Survey({"smokes": COIN}).words_digest
    survey.save(tmp_path / "survey.json")
    assert Survey.load(tmp_path / "survey.json").words_digest == survey.words_digest


@pytest.mark.parametrize("until", ["2027-03-31", date(2027, 3, 31)])
def test_the_last_day_is_a_date(until, tmp_path):
    survey = Survey({"smokes": COIN}, words={"until": until})
    assert survey.words.until == "2027-03-31"
    day = until if isinstance(until, date) else f'"{until}"'
    stated = f'epsilon = 1\n[form]\nuntil = {day}\n[question.smokes]\nlabels = ["no", "yes"]\n'
    (tmp_path / "survey.toml").write_text(stated)
    assert Survey.from_toml(tmp_path / "survey.toml").words.until == "2027-03-31"


@pytest.mark.parametrize(
    "until", ["tomorrow", "2027-02-30", "2027-03-31T18:00", datetime(2027, 3, 31), 20270331]
)
def test_a_last_day_that_is_none_is_refused(until):
    with refused("word"):
        Survey({"smokes": COIN}, words={"until": until})


def test_the_wave_of_the_words_is_the_wave_of_the_form():
    survey = Survey({"smokes": COIN}, words={"wave": 2, "waves": 3})
    assert survey.form()["wave"] == 2
    assert "wave" not in survey.form(1)


@pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        ({"weights": "weight"}, "weights", "'weight'"),
        ({"words": {"questions": {"smoke": {}}}}, "question", "'smoke'"),
        (
            {"words": {"questions": {"smokes": {"answers": {"maybe": "Maybe"}}}}},
            "answer",
            "'maybe'",
        ),
        (
            {"words": {"questions": {"smokes": {"answers": {"no": "yes"}}}}},
            "same-words",
            "'yes'",
        ),
        ({"words": {"wave": 4, "waves": 3}}, "waves", "4 of 3"),
        ({"words": {"wave": 0}}, "word", "wave: "),
        ({"words": {"consent": "\ud800"}}, "word", "consent"),
        ({"words": {"langauge": "de"}}, "word", "langauge"),
        ({"words": [1]}, "mapping", ""),
    ],
)
def test_unusable_surveys_and_words_are_refused(options, code, shown):
    with refused(code) as error:
        Survey({"smokes": COIN}, **options).form()
    assert shown in str(error.value)


def test_laws_that_a_device_cannot_keep_are_refused_by_name():
    open_law = solve(
        Problem([0.5, 0.3, 0.2], "identity", UtilityOptimizedLDP(1.0, sensitive=[0, 1]))
    ).mechanism
    with refused("odds") as error:
        Survey({"smokes": COIN, "party": open_law}).form()
    assert " party " in error.value.what
    with refused("same-text"):
        Survey({"x": Mechanism(COIN.channel, inputs=[1, "1"])}).form()
    with refused("answer-count"):
        Survey({"x": Mechanism(np.full((501, 2), 0.5))}).form()
    with refused("masses"):
        Survey({"x": Mechanism(np.full((500, 500), 1 / 500))}).form()
    with refused("control-characters"):
        Survey({"x": Mechanism(COIN.channel, inputs=["a\nb", "c"])}).form()
    with pytest.raises(StatementError, match="wave = 0"):
        Survey({"smokes": COIN}).form(0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('never = "Nie"', 'nevver = "Nie"', "question.absence.answers"),
        ('language = "de"', 'language = "DE!"', "form.language"),
        ("waves = 3", "waves = 0", "form.waves"),
        ('consent = "', 'consnet = "', "form.consnet"),
    ],
)
def test_a_wrong_word_is_named_with_its_key(old, new, message, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(TOML.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        Survey.from_toml(path)


def test_two_numbers_of_waves_are_refused(tmp_path):
    path = tmp_path / "waves.toml"
    text = TOML.replace("epsilon = 2.0\n", "") + "[waves]\ncount = {count}\nepsilon = 2.0\n"
    path.write_text(text.replace("{count}", "2"))
    with refused("number-of-waves", ModelFileError) as caught:
        Survey.from_toml(path)
    assert "form" in caught.value.where
    path.write_text(text.replace("{count}", "3"))
    assert Survey.from_toml(path).words.waves == 3


def test_a_joint_report_is_one_column_of_all_questions():
    survey = Survey({"a": ["no", "yes"], "b": ["x", "y", "z"]}, epsilon=1.0, scheme="joint")
    form = survey.form()
    (column,) = form["columns"].values()
    assert list(form["columns"]) == ["joint report"]
    assert column["of"] == ["a", "b"]
    assert column["paths"] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert column["paths"] == list(map(list, survey.joint.paths))
    places = survey.joint.combine([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]])
    np.testing.assert_array_equal(places, range(6))
    assert np.shape(column["masses"]) == survey.joint.randomizer.counts.shape
    yes_no = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=1.0, scheme="joint")
    (column,) = yes_no.form()["columns"].values()
    assert column["of"] == ["a", "b"]
    assert column["patterns"]["questions"] == 2
    assert "paths" not in column


def test_what_differs_first_between_two_forms_is_said():
    other = Mechanism([[0.7, 0.3], [0.25, 0.75]], inputs=["no", "yes"])
    form = Survey({"a": COIN, "b": COIN}).form()
    cases = {
        "title is '', not 'A'": Survey({"a": COIN, "b": COIN}, title="A"),
        "scheme is 'split', not 'one_question'": Survey(
            {"a": COIN, "b": COIN}, scheme="one_question"
        ),
        "questions are a, b, not a": Survey({"a": COIN}),
        "question 'b' has other answers": Survey({"a": COIN, "b": Question(COIN, "leave_out")}),
        "column 'b' is drawn by another mechanism": Survey({"a": COIN, "b": other}),
    }
    assert {form_difference(form, one.form()): one for one in cases.values()} == cases


@pytest.mark.parametrize(
    ("answers", "language", "is_refused"),
    [
        ('labels = ["no", "yes", "No Answer "]', "en", True),
        ('labels = ["no", "yes"]\nanswers = { yes = "No answer" }', "en", True),
        ('ticks = ["beer", "No answer"]', "en", True),
        ('labels = ["no", "yes", "Keine Angabe"]', "de", True),
        ('labels = ["no", "yes", "Keine Angabe"]', "en", False),
        ('labels = ["no", "yes"]\nanswers = { "no answer" = "I do not say" }', "en", False),
        ('labels = ["no", "yes", "no answer"]\nmissing = "leave"', "en", False),
    ],
)
def test_no_answer_reads_like_the_one_for_missing_answers(
    tmp_path: Path, answers: str, language: str, is_refused: bool
) -> None:
    text = f'epsilon = 2\nmissing = "answer"\n[question.a]\n{answers}\n'
    (tmp_path / "s.toml").write_text(text)
    survey = Survey.from_toml(tmp_path / "s.toml")
    with refused("same-words") if is_refused else contextlib.nullcontext():
        page(survey, language=language)
