"""The page for respondents: its policy, its promise, its words, and the same bytes for the same
survey."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import tomllib
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused
from ldpopt import Mechanism, Survey
from ldpopt.fieldwork import page
from ldpopt.fieldwork.form_page import HERE, SCRIPTS, closed_page
from ldpopt.fieldwork.frame_words import (
    LANGUAGES,
    OF_CHOICES,
    OF_REPEATED,
    OF_STAGES,
    PLACE,
    chance_text,
)
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
TO = "https://collect.example.org/reports"
WORDS = {
    code: tomllib.loads((HERE / "words" / f"{code}.toml").read_text("utf-8")) for code in LANGUAGES
}


TEMPLATES = ("page.html.j2", "closed.html.j2")
PROGRAMS = ("form_page.py", "page_data.py", "frame_words.py", "sentences.py")


class Reader(HTMLParser):
    """The texts of a page by tag and id, and every tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: dict[str, str] = {}
        self.key = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.key = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self.key = ""

    def handle_data(self, data: str) -> None:
        self.texts[self.key] = self.texts.get(self.key, "") + data


def test_the_same_survey_gives_the_same_bytes() -> None:
    assert page(Survey({"smokes": COIN}), TO) == page(Survey({"smokes": COIN}), TO)
    assert page(Survey({"smokes": COIN}), TO) != page(Survey({"smokes": COIN}))


@pytest.mark.parametrize(
    ("to", "source"),
    [
        (TO, TO),
        ("http://localhost:8000/reports?key=1", "http://localhost:8000/reports"),
        ("reports", "'self'"),
        ("/survey/reports", "'self'"),
        ("./reports.php", "'self'"),
        ("../v1.2/reports", "'self'"),
        ("/v1.2/reports", "'self'"),
        ("", "'none'"),
    ],
)
def test_the_policy_admits_the_script_the_style_and_one_address(to: str, source: str) -> None:
    found = Reader(page(Survey({"smokes": COIN}), to))
    policy = next(attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv"))
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(found.texts[kind].encode()).digest()).decode()
        assert parts[f"{kind}-src"] == f"'sha256-{digest}'"
    assert parts["connect-src"] == source
    assert parts["default-src"] == parts["form-action"] == parts["base-uri"] == "'none'"
    assert json.loads(found.texts["data"])["to"] == to


def test_a_page_shows_what_it_is_a_page_of() -> None:
    survey = Survey({"smokes": COIN}, words={"until": "2027-03-31", "consent": "I take part."})
    text = page(survey, TO)
    data = json.loads(Reader(text).texts["data"])
    assert data["wording"] == survey.words_digest
    assert text.count(survey.words_digest) == 2  # for the script, and for whoever reads it
    assert "open until 2027-03-31" in text
    assert "open until" not in page(Survey({"smokes": COIN}), TO)
    assert (
        data["invited"],
        json.loads(Reader(page(survey, TO, invited=True)).texts["data"])["invited"],
    ) == (False, True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_closed_page_has_neither_questions_nor_scripts(language: str) -> None:
    words = {"language": language, "contact": "Institute"}
    survey = Survey({"smokes": COIN}, title="Habits", words=words)
    text = closed_page(survey)
    tags = [tag for tag, _ in Reader(text).tags]
    assert not {"form", "input", "script", "button", "select"} & set(tags)
    for shown in (WORDS[language]["ended"], "Habits", "Institute", survey.words_digest):
        assert shown in text


SEVERAL = {
    "languages": ["en", "de"],
    "consent": {"en": "I take part.", "de": "Ich mache mit."},
    "retention": {"en": "Kept until 2030.", "de": "Bis 2030 aufbewahrt."},
    "until": "2027-03-31",
    "sections": {"habits": {"en": "Habits", "de": "Gewohnheiten"}},
    "matrices": {"use": {"en": "How often?", "de": "Wie oft?"}},
    "questions": {
        "old": {"text": "Adult?", "answers": {"yes": {"en": "Yes", "de": "Ja"}}},
        "beer": {"section": "habits", "matrix": "use", "row": {"en": "Beer", "de": "Bier"}},
        "wine": {"matrix": "use"},
    },
}


def test_a_page_in_several_languages_has_all_texts_of_each() -> None:
    title = {"en": "Drinks", "de": "Getränke"}
    survey = Survey({"old": COIN, "beer": COIN, "wine": COIN}, title=title, words=SEVERAL)
    text = page(survey, TO)
    data = json.loads(Reader(text).texts["data"])
    assert list(data["languages"]) == ["en", "de"]
    german = data["languages"]["de"]["texts"]
    assert {key: german[key] for key in ("title", "consent", "retention", "until")} == {
        "title": "Getränke",
        "consent": "Ich mache mit.",
        "retention": "Bis 2030 aufbewahrt.",
        "until": "Diese Umfrage ist offen bis 2027-03-31.",
    }
    assert german["sections"] == {"habits": "Gewohnheiten"}
    assert german["questions"]["beer"] == {
        "text": "Wie oft? Bier",
        "heading": "Wie oft?",
        "row": "Bier",
    }
    assert german["questions"]["old"]["answers"] == {"yes": "Ja"}
    assert any("höchstens 75 von 100" in line for line in german["promise"])
    assert data["questions"] == [
        {"name": "old"},
        {"name": "beer", "section": "habits", "matrix": "use"},
        {"name": "wine", "section": "habits", "matrix": "use"},
    ]
    template = (HERE / "page.html.j2").read_text("utf-8")
    of_frame = set(re.findall(r'data-word="(\w+)"', template))
    assert len(of_frame) > 15
    for language in ("en", "de"):
        words = data["languages"][language]["words"]
        assert of_frame <= set(words)
        assert words.items() <= WORDS[language].items()
    # what is read without a script is in the first language
    assert '<h1 id="title" tabindex="-1" dir="auto" data-text="title">Drinks</h1>' in text
    assert "Kept until 2030." in text


def test_a_page_in_one_language_of_several_has_no_other() -> None:
    questions = {"old": COIN, "beer": COIN, "wine": COIN}
    survey = Survey(questions, title={"en": "A", "de": "B"}, words=SEVERAL)
    text = page(survey, TO, language="de")
    assert list(json.loads(Reader(text).texts["data"])["languages"]) == ["de"]
    assert "I take part" not in text
    assert "Ich mache mit." in text
    with refused("language"):
        page(survey, TO, language="fr")


def test_the_closed_page_says_so_in_every_language() -> None:
    questions = {"old": COIN, "beer": COIN, "wine": COIN}
    survey = Survey(questions, title={"en": "A", "de": "B"}, words=SEVERAL)
    text = closed_page(survey)
    for code in ("en", "de"):
        assert f'<p class="warning" lang="{code}" dir="ltr">{WORDS[code]["ended"]}</p>' in text


def test_what_the_page_says_before_the_script_runs_is_in_its_words() -> None:
    """Every text of the frame that a script changes has the word that it begins with."""
    text = page(Survey({"smokes": COIN}), TO)
    shown = re.findall(r'<(\w+)[^>]* data-word="(\w+)"[^>]*>([^<]*)</', text)
    assert len(shown) > 15
    for _, key, said in shown:
        assert html.unescape(said) == WORDS["en"][key]


def test_nothing_is_loaded_and_no_answer_has_a_handler() -> None:
    found = Reader(page(Survey({"smokes": COIN}), TO))
    assert not [attrs for _, attrs in found.tags if {"src", "style", "action"} & set(attrs)]
    assert not [key for _, attrs in found.tags for key in attrs if key.startswith("on")]


@pytest.mark.parametrize(
    "to",
    [
        "https://collect.example.org/x y",
        "javascript:alert(1)",
        "https://a.org/;x",
        "//a.org",
        "ftp://a",
    ],
)
def test_other_addresses_are_refused(to: str) -> None:
    with refused("address"):
        page(Survey({"smokes": COIN}), to)


@pytest.mark.parametrize("path", ["", "/", "/reports", "/a/b"])
@pytest.mark.parametrize(
    "host",
    [
        "collect.example.org",
        "example.org",
        "localhost",
        "LOCALHOST",
        "localhost:8000",
        "192.168.0.5",
        "192.168.0.5:8000",
        "a-b.example.org:443",
        "example.org.",
    ],
)
def test_an_address_without_its_scheme_is_no_path(host: str, path: str) -> None:
    with refused("address-scheme") as caught:
        page(Survey({"smokes": COIN}), host + path)
    assert f"https://{host}{path}" in str(caught.value)
    with refused("address-scheme"):
        page(Survey({"smokes": COIN}, words={"to": host + path}))


def test_labels_and_words_cannot_leave_their_place() -> None:
    bad = "</script><script>alert(1)</script><b>'\"&"
    law = Mechanism(COIN.channel, inputs=[bad, "yes"])
    words = {
        "consent": bad,
        "contact": bad,
        "questions": {bad: {"text": bad, "answers": {"yes": bad + "!"}}},
    }
    found = Reader(page(Survey({bad: law}, title=bad, words=words), TO))
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert "b" not in {tag for tag, _ in found.tags}
    assert json.loads(found.texts["data"])["form"]["questions"][bad]["answers"] == [bad, "yes"]


def test_the_promise_is_computed_from_the_odds() -> None:
    half = Mechanism([[0.6, 0.4], [0.4, 0.6]])
    text = page(Survey({"a": COIN, "b": half}))
    assert "on that question it is right in at most 75 of 100 cases" in text  # odds 3
    assert "With all your reports it is right in at most 81.9 of 100 cases" in text  # odds 4.5
    assert "1 of 100 cases, it is right in at most 3 of 100" in text  # 3 / 102
    assert "1 of 100 cases, it is right in at most 4.4 of 100" in text  # 4.5 / 103.5
    one = page(Survey({"a": COIN, "b": half}, scheme="one_question"))
    assert "at most 75 of 100" in one
    assert "at most 81.9" not in one
    waves = page(Survey({"a": COIN}, words={"waves": 2, "wave": 2}))
    assert "number 2 of 2. " in waves
    assert "With all your reports it is right in at most 90 of 100 cases." in waves  # odds 9
    assert "höchstens 81,9 von 100" in page(Survey({"a": COIN, "b": half}), language="de")
    left = page(Survey({"a": Question(COIN, "leave_out")}))
    assert "Whether you answer “a” is not protected" in left


@pytest.mark.parametrize(
    ("epsilon", "half", "few"),
    [(0.5, "62.3", "1.7"), (1.0, "73.2", "2.7"), (2.0, "88.1", "7"), (4.0, "98.3", "35.6")],
)
def test_chances_are_those_of_the_odds(epsilon: float, half: str, few: str) -> None:
    """By hand: e^epsilon p / (1 - p + e^epsilon p), rounded up."""
    odds = Fraction(math.exp(epsilon))
    for prior, number in ((Fraction(1, 2), half), (Fraction(1, 100), few)):
        said = chance_text(odds, prior, WORDS["en"])
        assert said == f"it is right in at most {number} of 100 cases"


@given(
    st.fractions(min_value=1, max_value=10**9), st.sampled_from([Fraction(1, 2), Fraction(1, 100)])
)
def test_a_shown_chance_is_never_too_small_and_close(odds: Fraction, prior: Fraction) -> None:
    chance = 100 * odds * prior / (1 - prior + odds * prior)
    english = chance_text(odds, prior, WORDS["en"])
    german = chance_text(odds, prior, WORDS["de"])
    if chance > Fraction(995, 10):
        assert (english, german) == (WORDS["en"]["certain"], WORDS["de"]["certain"])
        return
    (number,) = re.findall(r"at most ([0-9.]+) of", english)
    assert chance <= Fraction(number) < chance + Fraction(1, 10)
    assert f"höchstens {number.replace('.', ',')} von" in german


def test_every_language_has_the_same_words_with_the_same_places() -> None:
    for words in WORDS.values():
        assert {key: set(PLACE.findall(text)) for key, text in words.items()} == {
            key: set(PLACE.findall(text)) for key, text in WORDS["en"].items()
        }


def test_every_word_is_used() -> None:
    used = "".join((HERE / name).read_text("utf-8") for name in (*SCRIPTS, *TEMPLATES, *PROGRAMS))
    named = {name for pair in re.findall(r'words(?:\(\))?\.(\w+)|"(\w+)"', used) for name in pair}
    schemes = {"one_question", "fake_data"}
    assert set(WORDS["en"]) - named - schemes == set()


def test_a_survey_brings_its_own_words_and_language() -> None:
    own = {"language": "de", "words": {"send": "Ab die Post"}}
    assert "Ab die Post" in page(Survey({"a": COIN}, words=own), TO)
    assert "Ab die Post" not in page(Survey({"a": COIN}, words=own), TO, language="en")
    braces = {"words": {"bound_one": "{ {half} {few} }}", "chance": "{number}", "estimates": "{}"}}
    assert "<p>{ 75 3 }}</p>" in page(Survey({"a": COIN}, words=braces))
    other = Survey({"a": COIN}, words={"language": "la", "words": WORDS["en"] | {"send": "Mitte"}})
    assert "Mitte" in page(other, TO)
    assert 'lang="la"' in page(other, TO)
    assert 'lang="de-AT"' in page(Survey({"a": COIN}), language="de-AT")


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        (OF_CHOICES, {"choices": [0.5, 1.0]}),
        (OF_REPEATED, {"epsilon": 1.0}),
        (OF_STAGES, None),
    ],
)
def test_a_language_of_its_own_needs_the_words_that_are_shown(
    keys: tuple[str, ...], more: dict[str, Any] | None
) -> None:
    own = {key: text for key, text in WORDS["en"].items() if key not in keys}
    words = {"language": "la", "words": own}
    assert 'lang="la"' in page(Survey({"a": COIN}, words=words))
    if more is None:  # a second stage is made by `adapt`
        return
    question = Question(["no", "yes"], repeat=keys == OF_REPEATED)
    with refused("language"):
        page(Survey({"a": question}, words=words, **more))


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        ({"language": "la"}, "language", "'la'"),
        ({"words": {"sendd": "x"}}, "word", "'sendd'"),
        ({"words": {"bound_one": "Safe."}}, "place", "'bound_one'"),
    ],
)
def test_unknown_words_and_promises_without_numbers_are_refused(
    words: Any, code: str, shown: str
) -> None:
    with refused(code) as error:
        page(Survey({"a": COIN}, words=words))
    assert shown in error.value.what


def test_a_joint_report_has_one_bound_and_its_own_module() -> None:
    text = page(
        Survey({"a": ["no", "yes"], "b": ["x", "y", "z"]}, epsilon="log(3)", scheme="joint"), TO
    )
    assert "There is one report on all questions together" in text
    assert "With your report it is right in at most 75 of 100 cases" in text
    assert "choosePattern" not in text
    text = page(Survey({"a": ["no", "yes"], "b": ["x", "y"]}, epsilon="log(3)", scheme="joint"), TO)
    assert "choosePattern(patterns, codes, words)" in text
    patterns = Reader(text)
    assert 0.5 < json.loads(patterns.texts["data"])["agreement"] / 2**53 <= 0.75
    assert "choosePattern" not in page(Survey({"a": COIN}), TO)


def test_no_function_of_the_page_hides_another() -> None:
    """All modules are one script, where the last function of a name would be that of all."""
    modules = ("draw.js", "joint.js", *SCRIPTS)
    text = "\n".join((HERE / name).read_text("utf-8") for name in modules)
    names = re.findall(r"^(?:export )?(?:async )?(?:function|const|let) (\w+)", text, flags=re.M)
    assert len(names) > 60
    assert [name for name in set(names) if names.count(name) > 1] == []
