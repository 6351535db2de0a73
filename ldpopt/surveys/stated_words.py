"""The words of a survey as a file states them, in every language, and what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pydantic import Field, field_validator

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.questions import Question
from ldpopt.privacy.plain import MisstatedError, at_key
from ldpopt.problem.modelfile.schema import Section
from ldpopt.surveys.languages import Tag, Text, texts_of

SURROGATE = re.compile(r"[\ud800-\udfff]")
MAX_WAVES = 1000  # largest number of repetitions of a survey


class FormSection(Section):
    """``[form]``: words and settings of the page for respondents."""

    language: Tag = "en"
    languages: list[Tag] = Field(default_factory=list)
    consent: Text = ""
    contact: Text = ""
    retention: Text = ""
    to: str = ""
    wave: int = Field(default=1, ge=1, le=MAX_WAVES)
    waves: int | None = Field(default=None, ge=1, le=MAX_WAVES)
    until: str = ""  # the last day, as 2027-03-31
    shared: bool = False
    sections: dict[str, Text] = Field(default_factory=dict)
    words: dict[str, str | dict[str, str]] = Field(default_factory=dict)

    @field_validator("until", mode="before")
    @classmethod
    def _day(cls, until: Any) -> Any:
        """The text of a day, which TOML has as a date; a moment has no place on the page."""
        if until == "" or type(until) is date:
            return str(until)
        try:
            return date.fromisoformat(until).isoformat()
        except (TypeError, ValueError):
            raise ValueError("the last day is a date such as 2027-03-31") from None


class FieldTexts(Section):
    """What a field that comes with the link is called, and words for its labels."""

    text: Text = ""
    answers: dict[str, Text] = Field(default_factory=dict)


class QuestionTexts(FieldTexts):
    """The question as it is asked, words for the labels of its answers, and where it stands: in a
    section, or as a row of a matrix.
    """

    section: str = ""
    matrix: str = ""
    row: Text = ""


class StatedWords(FormSection):
    """``[form]``, and the words of everything else by its name."""

    title: Text = ""
    matrices: dict[str, Text] = Field(default_factory=dict)
    questions: dict[str, QuestionTexts] = Field(default_factory=dict)
    fields: dict[str, FieldTexts] = Field(default_factory=dict)


def require_whole_characters(data: Mapping[str, Any]) -> None:
    """Refuse half a character, which no page can show."""
    for keys, text in texts_of(data):
        if any(map(SURROGATE.search, (*keys, str(text)))):
            raise StatementError(
                f"{short_repr('.'.join(keys))} has half a character, which no page can show",
                code="word",
                where="words",
                do="write the text in UTF-8",
            )


def require_headings(words: StatedWords) -> None:
    """Refuse headings of no question, questions in sections that have none, and rows of no
    matrix.
    """
    asked = words.questions
    for kind, key in (("section", "sections"), ("matrix", "matrices")):
        headings = getattr(words, key)
        named = {one: name for name, texts in asked.items() if (one := getattr(texts, kind))}
        if unused := [name for name in headings if name not in named]:
            raise MisstatedError(
                f"no question is in the {kind} {unused[0]!r}",
                *(key, unused[0]),
                code=kind,
                do=nearest(unused[0], named),
            )
        unknown = [name for name in named if name not in headings and kind == "section"]
        if headings and unknown:
            raise MisstatedError(
                f"the section {unknown[0]!r} has no heading",
                *("questions", named[unknown[0]], kind),
                code="heading",
                do=nearest(unknown[0], headings),
            )
    if rows := [name for name, texts in asked.items() if texts.row and not texts.matrix]:
        raise MisstatedError(
            f"{rows[0]!r} has the words of a row, and is in no matrix",
            *("questions", rows[0], "row"),
            code="row-of-no-matrix",
            do="name its matrix, or write them as text",
        )


def require_questions(
    asked: Mapping[str, QuestionTexts],
    questions: Mapping[str, Question],
    languages: Sequence[str],
) -> None:
    """Refuse words that are not for these questions."""
    for name, texts in asked.items():
        if name not in questions:
            raise MisstatedError(
                f"there are words for {name!r}, which is not a question",
                *("questions", name),
                code="question",
                do=nearest(name, questions),
            )
        with at_key("questions", name, "answers"):
            require_words(texts, questions[name], languages)
    last: tuple[str, str] = ("", "")  # the question before, and its matrix
    ended: set[str] = set()
    for name in questions:
        matrix = asked[name].matrix if name in asked else ""
        if matrix and matrix == last[1]:
            _require_same_columns(matrix, last[0], name, asked, questions)
        elif matrix in ended:
            raise MisstatedError(
                f"{name!r} is in the matrix {matrix!r}, and {last[0]!r} before it is not",
                *("questions", name, "matrix"),
                code="matrix-order",
                do="ask the rows of a matrix one after the other",
            )
        ended |= {matrix} if matrix else set()
        last = (name, matrix)


def require_fields(
    stated: Mapping[str, FieldTexts], fields: Mapping[str, Sequence[str]], languages: Sequence[str]
) -> None:
    """Refuse words that are not for these fields."""
    for name, texts in stated.items():
        if name not in fields:
            raise MisstatedError(
                f"there are words for {name!r}, which is not a field",
                *("fields", name),
                code="unknown-field",
                do=nearest(name, fields),
            )
        if texts.answers:
            with at_key("fields", name, "answers"):
                require_different(texts.answers, fields[name], languages, "label")


def _require_same_columns(
    matrix: str,
    first: str,
    name: str,
    asked: Mapping[str, QuestionTexts],
    questions: Mapping[str, Question],
) -> None:
    """Refuse rows of a matrix that have other answers, or are on other pages."""
    rows = [(asked[one], questions[one]) for one in (first, name)]
    columns = [
        (answers_of(question), question.missing, question.missing_answer, texts.answers)
        for texts, question in rows
    ]
    if columns[0] != columns[1] or rows[1][0].section not in ("", rows[0][0].section):
        raise MisstatedError(
            f"{first!r} and {name!r} are rows of the matrix {matrix!r}, and have other answers, "
            "other words for them, or another section",
            *("questions", name),
            code="matrix-rows",
            do="give all rows the same, or ask them apart",
        )


def answers_of(question: Question) -> list[str]:
    """The labels that a person chooses from, as text."""
    return list(map(text_of, getattr(question, "ticks", question.inputs)))


def require_words(texts: FieldTexts, question: Question, languages: Sequence[str]) -> None:
    """Refuse words for labels that are not answers, and the same words for two answers."""
    require_different(texts.answers, answers_of(question), languages, "answer")


def require_different(
    words: Mapping[str, Text], labels: Sequence[str], languages: Sequence[str], kind: str
) -> None:
    """Refuse words for labels that are none, and labels with the same words in a language."""
    for label in words:
        if label not in labels:
            raise StatementError(
                f"there are words for {label!r}, which is not {'an' if kind == 'answer' else 'a'} "
                f"{kind}",
                code=kind,
                do=nearest(label, labels),
            )
    for code in languages:
        texts = [words.get(label, label) for label in labels]
        counts = Counter(text if isinstance(text, str) else text[code] for text in texts)
        shown, count = counts.most_common(1)[0]
        if count > 1:
            of_language = f" in {code}" if len(languages) > 1 else ""
            raise StatementError(
                f"{count} {kind}s have the words {shown!r}{of_language}",
                code="same-words",
                do=f"give each {kind} words of its own",
            )
