"""The words of the page around a form: questions and answers as they are shown, in one language or
several, and settings.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.questions import Question
from ldpopt.privacy.plain import MisstatedError
from ldpopt.surveys.languages import (
    NAMED,
    Text,
    in_language,
    one_way_of_writing,
    words_by_language,
)
from ldpopt.surveys.stated_words import (
    StatedWords,
    require_fields,
    require_headings,
    require_questions,
    require_whole_characters,
)


@dataclass(frozen=True)
class QuestionWords:
    """A question in one language. ``text`` is the question as it stands alone: of a row of a
    matrix, the ``heading`` of the matrix and the ``row``. A question that states no section is in
    that of the question before it.
    """

    text: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    section: str = ""
    matrix: str = ""
    heading: str = ""
    row: str = ""


@dataclass(frozen=True)
class LanguageWords:
    """All texts in one language. ``questions`` has every question of the survey, ``sections`` the
    headings in the order of the questions, ``fields`` the texts of labels, and by the label ``""``
    that of the field; ``words`` are those of the page that the survey states itself.
    """

    language: str
    title: str = ""
    consent: str = ""
    contact: str = ""
    retention: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    questions: dict[str, QuestionWords] = field(default_factory=dict)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FormWords:
    """The words of a survey in all its languages, the first one for whoever asks for none of them.

    ``data`` has what is not the default, in the only way in which it can be written: one text where
    all languages have the same.
    """

    stated: StatedWords
    languages: tuple[str, ...]
    data: dict[str, Any]
    names: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        words: Mapping[str, Any],
        questions: Mapping[str, Question] | None = None,
        title: str | Mapping[str, str] = "",
        fields: Mapping[str, Sequence[str]] | None = None,
    ) -> FormWords:
        """Check words, as a survey file has them, perhaps against the questions and fields that
        they are for.
        """
        stated = _checked(words)
        languages = _languages(stated)
        if title and stated.title:
            _require_same_title(title, stated.title, languages[0])
        elif title:
            stated = _checked({**words, "title": title})
        data = stated.model_dump(exclude_defaults=True, exclude={"language", "languages", "words"})
        data = one_way_of_writing(data, languages)
        if shown := words_by_language(stated.words, languages):
            data["words"] = shown if len(languages) > 1 else shown[languages[0]]
        if len(languages) > 1:
            data["languages"] = list(languages)
        elif languages[0] != "en":
            data["language"] = languages[0]
        for key in NAMED:
            data[key] = {name: asked for name, asked in data.get(key, {}).items() if asked}
        data = {key: value for key, value in data.items() if value not in ({}, "")}
        require_whole_characters(data)
        require_headings(stated)
        if questions is not None:
            require_questions(stated.questions, questions, languages)
        if fields is not None:
            require_fields(stated.fields, fields, languages)
        labels = {name: tuple(labels) for name, labels in (fields or {}).items()}
        return cls(stated, languages, data, tuple(questions or stated.questions), labels)

    def __eq__(self, other: object) -> bool:
        """Whether other words say the same."""
        return isinstance(other, FormWords) and self.data == other.data

    @property
    def language(self) -> str:
        """The first language."""
        return self.languages[0]

    @property
    def to(self) -> str:
        """Where reports are sent."""
        return self.stated.to

    @property
    def wave(self) -> int:
        """The number of this wave."""
        return self.stated.wave

    @property
    def waves(self) -> int | None:
        """The number of all waves, if it is stated."""
        return self.stated.waves

    @property
    def until(self) -> str:
        """The last day, or nothing."""
        return self.stated.until

    @property
    def shared(self) -> bool:
        """Whether several persons use one device."""
        return self.stated.shared

    @cached_property
    def first(self) -> LanguageWords:
        """The words in the first language."""
        return self.in_language(self.language)

    def in_language(self, code: str) -> LanguageWords:
        """The words in a language of the survey. A survey in one language has the same texts in any
        other, but no words of its own for the page.
        """
        if code not in self.languages and len(self.languages) > 1:
            raise StatementError(
                f"the survey has no language {short_repr(code)}",
                code="language",
                do=nearest(code, self.languages),
            )
        data = in_language(self.data, code)
        shown = data.get("words", {})
        shown = shown.get(code, {}) if len(self.languages) > 1 else shown
        questions = _questions(data, self.names)
        sections = dict.fromkeys(asked.section for asked in questions.values() if asked.section)
        headings = data.get("sections", {})
        return LanguageWords(
            code,
            **{key: data.get(key, "") for key in ("title", "consent", "contact", "retention")},
            sections={name: headings.get(name, name) for name in sections},
            questions=questions,
            fields={
                name: _field(name, labels, data.get("fields", {}).get(name, {}))
                for name, labels in self.labels.items()
            },
            words=shown if code in self.languages else {},
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything that is not the default, as JSON data; a title in one language is that of the
        survey.
        """
        return {
            key: value
            for key, value in self.data.items()
            if key != "title" or not isinstance(value, str)
        }

    @property
    def read_by_people(self) -> dict[str, Any]:
        """All that people are told, as JSON data; where reports are sent is not part of it."""
        return {key: value for key, value in self.data.items() if key != "to"}

    @property
    def digest(self) -> str:
        """SHA-256 of the words in all languages, 64 hexadecimal digits: another one if any is
        changed.
        """
        return json_digest(self.read_by_people)


def _checked(words: Any) -> StatedWords:
    """Words of the right types with known keys, and with the number of this wave."""
    try:
        checked = StatedWords.model_validate(dict(words))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        refusal = first.get("ctx", {})
        place = ".".join(map(str, first["loc"])) or "words"
        raise StatementError(
            f"{place}: {refusal.get('what', first['msg'])}",
            code="word",
            where="words",
            do=refusal.get("do", "see the page `Fieldwork` in the documentation"),
        ) from None
    except (TypeError, ValueError):
        raise StatementError(
            "words are a mapping",
            code="mapping",
            do='pass {"questions": {name: {"text": ...}}}',
        ) from None
    if checked.waves is not None and checked.waves < checked.wave:
        raise StatementError(
            f"wave {checked.wave} of {checked.waves} waves",
            code="waves",
            where="words",
            do="state at least as many waves as the number of this wave",
        )
    return checked


def _require_same_title(title: Text | Mapping[str, str], stated: Text, first: str) -> None:
    """Refuse another title than that among the words."""
    shown = stated if isinstance(title, Mapping) or isinstance(stated, str) else stated.get(first)
    if title != shown:
        raise StatementError(
            f"the title is {short_repr(title)}, and in the words {short_repr(shown)}",
            code="title",
            do="state it once",
        )


def _languages(stated: StatedWords) -> tuple[str, ...]:
    """The languages of a survey: those that are listed, or else the one."""
    if not stated.languages:
        return (stated.language,)
    if "language" in stated.model_fields_set:
        raise MisstatedError(
            "language and languages are stated",
            "language",
            code="language-list",
            do=f"name {stated.language!r} first in languages, and remove language",
        )
    if twice := [code for code, times in Counter(stated.languages).items() if times > 1]:
        raise MisstatedError(
            f"the language {twice[0]!r} is named twice",
            "languages",
            code="language-twice",
            do="name each language once",
        )
    return tuple(stated.languages)


def _questions(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, QuestionWords]:
    """The questions of a survey in one language, in their order."""
    stated = data.get("questions", {})
    headings = data.get("matrices", {})
    questions = {}
    section = ""
    for name in names:
        asked = stated.get(name, {})
        section = asked.get("section", section)
        matrix = asked.get("matrix", "")
        heading = headings.get(matrix, "")
        row = asked.get("row", name if matrix else "")
        text = asked.get("text", "") or _joined(heading, row)
        questions[name] = QuestionWords(
            text, asked.get("answers", {}), section, matrix, heading, row
        )
    return questions


def _field(name: str, labels: Sequence[str], stated: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a field and of its labels in one language."""
    answers = stated.get("answers", {})
    return {"": stated.get("text", name)} | {label: answers.get(label, label) for label in labels}


def _joined(heading: str, row: str) -> str:
    """A row of a matrix with its heading, as one text."""
    if not heading:
        return row
    return f"{heading}: {row}" if heading[-1].isalnum() else f"{heading} {row}"


def json_digest(data: Any) -> str:
    """SHA-256 of JSON data with sorted keys, 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
