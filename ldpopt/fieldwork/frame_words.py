"""The words of the page itself, by language: those of the package, and those of the survey."""

import re
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_text, short_repr
from ldpopt.foundation.sentences import guess_after, hundredths_text
from ldpopt.surveys.survey import Survey

FOLDER = Path(__file__).parent / "words"
LANGUAGES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
PLACE = re.compile(r"\{(\w+)\}")
OF_REPEATED = ("twice", "inconsistent", "asked_again")  # words for questions that are asked twice
OF_CHOICES = ("choice", "choice_option", "choice_given", "choice_warning", "choice_sent")
OF_STAGES = ("second_stage",)
Words = dict[str, str]


def read_words(language: str, survey: Survey) -> Words:
    """Return the words of a language, with those of the survey if it is in this language."""
    require_text(language, "language")
    names = (language, language.split("-")[0])
    known = next((name for name in names if name in LANGUAGES), None)
    reference = words_of_language("en")
    words = {} if known is None else dict(words_of_language(known))
    stated = survey.words.in_language(language).words
    for key, text in stated.items():
        _require_word(key, text, reference)
    words |= stated
    is_repeated = any(question.repeat for question in survey.questions.values())
    shown = [is_repeated, bool(survey.choices), survey.stage is not None]
    for keys, is_shown in zip((OF_REPEATED, OF_CHOICES, OF_STAGES), shown, strict=True):
        if not is_shown:
            words = dict.fromkeys(keys, "") | words
    if missing := [key for key in reference if key not in words]:
        raise StatementError(
            f"the page has no language {short_repr(language)}: {len(missing)} words are "
            f"missing, as {missing[0]!r}",
            code="language",
            do=f"use {', '.join(LANGUAGES)}, or give all words in [form.words]",
        )
    return words


def _require_word(key: str, text: str, reference: Words) -> None:
    """Refuse a word that the page does not have, or without the places for its numbers."""
    if key not in reference:
        raise StatementError(
            f"the page has no word {key!r}",
            code="word",
            where="form.words",
            do=nearest(key, reference),
        )
    places = PLACE.findall(reference[key])
    if set(PLACE.findall(text)) != set(places):
        shown = " ".join(f"{{{place}}}" for place in places) or "no places in braces"
        raise StatementError(
            f"the word {key!r} lacks a place for a number, or has another",
            code="place",
            where="form.words",
            do=f"use {shown}",
        )


@cache
def words_of_language(language: str) -> Words:
    """Return the words of the page in a language of the package, by key."""
    return tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))


def fill(text: str, **values: object) -> str:
    """Replace the places of a text, such as ``{half}``; other braces stay."""
    return PLACE.sub(lambda place: str(values[place[1]]), text)


def chance_text(odds: Fraction, prior: Fraction, words: Words) -> str:
    """What a guess that is right with a probability becomes at most by reports with some odds."""
    number = hundredths_text(guess_after(prior, odds), words["decimal"])
    return words["certain"] if number is None else fill(words["chance"], number=number)
