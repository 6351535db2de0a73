"""Surveys in several languages: a text is one or one for each language, and none may be missing."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from builders import refused
from ldpopt import Mechanism, Survey
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.surveys.changed_words import first_difference
from ldpopt.surveys.form import form_digest

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
YES = {"en": "Yes", "de": "Ja"}
SAID: dict[str, Any] = {
    "languages": ["en", "de"],
    "consent": {"en": "I take part.", "de": "Ich mache mit."},
    "contact": "Institute",
    "retention": {"en": "Kept until 2030.", "de": "Bis 2030 aufbewahrt."},
    "sections": {"habits": {"en": "Habits", "de": "Gewohnheiten"}},
    "words": {"send": "Off it goes", "de": {"send": "Ab die Post"}},
    "questions": {
        "smokes": {"text": {"en": "Do you smoke?", "de": "Rauchen Sie?"}, "answers": {"yes": YES}},
        "drinks": {"text": "Alcohol?", "section": "habits"},
    },
}
TITLE = {"en": "Health", "de": "Gesundheit"}
TOML = """
title = { en = "Health", de = "Gesundheit" }
epsilon = 2.0
[form]
languages = ["en", "de"]
consent = { en = "I take part.", de = "Ich mache mit." }
contact = "Institute"
retention = { en = "Kept until 2030.", de = "Bis 2030 aufbewahrt." }
[form.sections]
habits = { en = "Habits", de = "Gewohnheiten" }
[form.words]
send = "Off it goes"
[form.words.de]
send = "Ab die Post"
[question.smokes]
labels = ["no", "yes"]
text = { en = "Do you smoke?", de = "Rauchen Sie?" }
answers = { yes = { en = "Yes", de = "Ja" } }
[question.drinks]
labels = ["no", "yes"]
text = "Alcohol?"
section = "habits"
"""


def survey(**changes: Any) -> Survey:
    return Survey({"smokes": COIN, "drinks": COIN}, title=TITLE, words=SAID | changes)


@pytest.fixture(scope="module")
def of_file(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    path = tmp_path_factory.mktemp("languages") / "survey.toml"
    path.write_text(TOML)
    return Survey.from_toml(path)


def test_each_language_has_its_texts_and_the_common_ones(of_file: Survey) -> None:
    assert of_file.words == survey().words
    assert of_file.words.languages == ("en", "de")
    assert of_file.title == of_file.form()["title"] == "Health"
    words = of_file.words.in_language("de")
    assert (words.title, words.consent, words.contact, words.retention) == (
        "Gesundheit",
        "Ich mache mit.",
        "Institute",
        "Bis 2030 aufbewahrt.",
    )
    assert words.sections == {"habits": "Gewohnheiten"}
    assert words.questions["smokes"].text == "Rauchen Sie?"
    assert words.questions["smokes"].answers == {"yes": "Ja"}
    assert (words.questions["smokes"].section, words.questions["drinks"].section) == ("", "habits")
    assert words.questions["drinks"].text == "Alcohol?"
    assert words.words == {"send": "Ab die Post"}
    first = of_file.words.first
    assert first == of_file.words.in_language("en")
    assert (first.title, first.words) == ("Health", {"send": "Off it goes"})


def test_a_file_keeps_all_languages(of_file: Survey, tmp_path: Any) -> None:
    of_file.save(tmp_path / "survey.json")
    again = Survey.load(tmp_path / "survey.json")
    assert (again.words, again.title) == (of_file.words, "Health")
    assert again.words_digest == of_file.words_digest
    assert again.form() == of_file.form()
    data = json.loads((tmp_path / "survey.json").read_text())
    assert data["words"]["title"] == TITLE


def test_the_digest_is_that_of_the_texts_and_not_of_how_they_are_written() -> None:
    """By hand: SHA-256 of the texts as JSON with sorted keys, a text once if it is the same."""
    told = {**SAID, "title": TITLE} | {
        "words": {"en": {"send": "Off it goes"}, "de": {"send": "Ab die Post"}}
    }
    text = json.dumps(told, sort_keys=True, ensure_ascii=False).encode()
    assert survey().words_digest == hashlib.sha256(text).hexdigest()
    both = {"en": "Institute", "de": "Institute"}
    assert survey(contact=both).words_digest == survey().words_digest
    order = {"consent": {"de": "Ich mache mit.", "en": "I take part."}}
    assert survey(**order).words_digest == survey().words_digest
    one = {"language": "de", "contact": "Institut"}
    listed = {"languages": ["de"], "contact": {"de": "Institut"}}
    a, b = (Survey({"smokes": COIN}, words=words) for words in (one, listed))
    assert (a.words, a.words_digest) == (b.words, b.words_digest)


SMOKES = SAID["questions"]["smokes"]


def asked(**changes: Any) -> dict[str, Any]:
    return {"questions": SAID["questions"] | {"smokes": SMOKES | changes}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"consent": {"en": "I take part.", "de": "Ja."}}, 'consent in de was "Ich mache mit."'),
        ({"contact": "Us"}, 'contact in de was "Institute", is "Us"'),
        ({"retention": ""}, 'retention in de was "Bis 2030 aufbewahrt.", is not stated'),
        ({"sections": {"habits": "Habits"}},
         'section habits: the heading in de was "Gewohnheiten", is "Habits"'),
        ({"words": {"en": {"send": "Off it goes"}}}, 'words send in de was "Ab die Post", is not'),
        (asked(text={"en": "Do you smoke?", "de": "Trinken Sie?"}),
         'question smokes: the text in de was "Rauchen Sie?", is "Trinken Sie?"'),
        (asked(answers={"yes": {"en": "Yes", "de": "Jawohl"}}),
         'question smokes: the answer yes in de was "Ja", is "Jawohl"'),
        ({"languages": ["de", "en"], "words": {}}, "languages were en, de, are de, en"),
    ],
)  # fmt: skip
def test_a_text_that_is_changed_in_one_language_is_named_with_it(changes: Any, named: str) -> None:
    before, after = survey(), survey(**changes)
    assert before.words_digest != after.words_digest
    if "languages" not in changes:
        assert form_digest(before.form()) == form_digest(after.form())
    told, changed = (one.words.read_by_people for one in (before, after))
    assert named in first_difference(told, changed)


def test_a_title_in_another_language_is_no_part_of_the_form() -> None:
    other = Survey({"smokes": COIN, "drinks": COIN}, title=TITLE | {"de": "Leben"}, words=SAID)
    assert form_digest(other.form()) == form_digest(survey().form())
    named = first_difference(survey().words.read_by_people, other.words.read_by_people)
    assert named == 'title in de was "Gesundheit", is "Leben"'


@pytest.mark.parametrize(
    ("changes", "code", "where"),
    [
        ({"consent": {"en": "Yes."}}, "translation", "words.consent"),
        ({"consent": {"en": "Yes.", "de": ""}}, "translation", "words.consent"),
        ({"consent": {}}, "translation", "words.consent"),
        ({"consent": {"en": "Yes.", "de": "Ja.", "fr": "Oui."}}, "language", "words.consent.fr"),
        (asked(text={"de": "Rauchen Sie?"}), "translation", "words.questions.smokes.text"),
        (asked(answers={"yes": {"en": "Yes"}}), "translation",
         "words.questions.smokes.answers.yes"),
        (asked(answers={"yes": {"en": "Yes", "de": "no"}}), "same-words",
         "words.questions.smokes.answers"),
        ({"words": {"fr": {"send": "Va"}}}, "language", "words.words.fr"),
        ({"words": {"send": "A", "en": {"send": "B"}}}, "word-twice", "words.words.en"),
        ({"words": {"de": {"direction": "up"}}}, "direction", "words.words.de"),
        ({"language": "de"}, "language-list", "words.language"),
        ({"languages": ["en", "de", "en"]}, "language-twice", "words.languages"),
        ({"languages": ["en", "DE!"]}, "word", "words"),
        ({"sections": {"habit": "Habits"}}, "section", "words.sections.habit"),
        ({"sections": {"habits": "Habits"}, **asked(section="habit")}, "heading",
         "words.questions.smokes.section"),
        ({"matrices": {"trust": "Trust"}}, "matrix", "words.matrices.trust"),
        (asked(row="the police"), "row-of-no-matrix", "words.questions.smokes.row"),
        ({"questions": {"smokes": {"matrix": "m"}, "drinks": {"matrix": "m", "section": "a"}},
          "sections": {}}, "matrix-rows", "words.questions.drinks"),
        ({"questions": {"smokes": {"matrix": "m"}, "drinks": {"matrix": "m", "answers": {"no": "0"}}
                        }, "sections": {}}, "matrix-rows", "words.questions.drinks"),
        ({"title": {"en": "Life", "de": "Leben"}}, "title", ""),
    ],
)  # fmt: skip
def test_a_missing_or_misplaced_text_is_refused_with_its_place(
    changes: Any, code: str, where: str
) -> None:
    with refused(code) as caught:
        survey(**changes)
    assert caught.value.where == where


def test_rows_of_a_matrix_are_asked_one_after_the_other() -> None:
    rows = {name: {"matrix": "trust"} for name in ("a", "c")}
    with refused("matrix-order") as caught:
        Survey(dict.fromkeys("abc", COIN), words={"questions": rows})
    assert caught.value.where == "words.questions.c.matrix"


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        (', de = "Ich mache mit."', "", "translation", ": form.consent"),
        ('languages = ["en", "de"]', 'languages = ["en", "fr"]', "language", ": title.de"),
        (', de = "Gesundheit"', "", "translation", ":2: title"),
        (', de = "Rauchen Sie?"', "", "translation", ":17: question.smokes.text"),
        (', de = "Ja"', "", "translation", ":18: question.smokes.answers.yes"),
        ('section = "habits"', 'section = "habit"', "section", ":10: form.sections.habits"),
        ("[form.words.de]", "[form.words.fr]", "language", ":13: form.words.fr"),
        ('de = "Gewohnheiten"', "de = 3", "type", "form.sections.habits"),
    ],
)
def test_a_file_that_lacks_a_text_is_refused_with_key_and_line(
    old: str, new: str, code: str, where: str, tmp_path: Any
) -> None:
    assert old in TOML
    (tmp_path / "survey.toml").write_text(TOML.replace(old, new))
    with refused(code, ModelFileError) as caught:
        Survey.from_toml(tmp_path / "survey.toml")
    assert where in caught.value.where


def test_only_a_survey_in_one_language_is_shown_in_another() -> None:
    with refused("language", StatementError) as caught:
        survey().words.in_language("fr")
    assert "en, de" in caught.value.do
    alone = Survey({"smokes": COIN}, words={"contact": "Institute", "words": {"send": "Go"}})
    found = alone.words.in_language("fr")
    assert (found.contact, found.words) == ("Institute", {})
    assert alone.words.first.words == {"send": "Go"}


def test_a_row_stands_alone_with_the_heading_of_its_matrix() -> None:
    rows = {name: {"matrix": "trust", "row": f"the {name}"} for name in ("police", "courts")}
    words = {"matrices": {"trust": "How much do you trust"}, "questions": rows}
    found = Survey({"police": COIN, "courts": COIN}, words=words).words.first.questions["courts"]
    assert (found.matrix, found.heading, found.row) == (
        "trust", "How much do you trust", "the courts"
    )  # fmt: skip
    assert found.text == "How much do you trust: the courts"


def test_questions_after_a_section_begin_another_page_only_by_naming_one() -> None:
    named = {"b": {"section": "two"}, "d": {"section": "three"}}
    words = Survey(dict.fromkeys("abcde", COIN), words={"questions": named}).words.first
    assert [words.questions[name].section for name in "abcde"] == [
        "",
        "two",
        "two",
        "three",
        "three",
    ]
    assert words.sections == {"two": "two", "three": "three"}
