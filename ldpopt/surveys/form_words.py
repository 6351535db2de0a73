"""The words of the page around a form: questions and answers as they are shown, and settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from pydantic import Field, ValidationError, field_validator

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.questions import Question
from ldpopt.problem.modelfile.schema import Section

SURROGATE = re.compile(r"[\ud800-\udfff]")
SHOWN = 60  # most characters of a text in a message
MAX_WAVES = 1000  # largest number of repetitions of a survey


class FormSection(Section):
    """``[form]``: words and settings of the page for respondents."""

    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    consent: str = ""
    contact: str = ""
    to: str = ""
    wave: int = Field(default=1, ge=1, le=MAX_WAVES)
    waves: int | None = Field(default=None, ge=1, le=MAX_WAVES)
    until: str = ""  # the last day, as 2027-03-31
    shared: bool = False
    words: dict[str, str] = Field(default_factory=dict)

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


class QuestionWords(Section):
    """The question as it is asked, and words for the labels of its answers."""

    text: str = ""
    answers: dict[str, str] = Field(default_factory=dict)


class FormWords(FormSection):
    """``[form]``, and the words of each question by its name."""

    questions: dict[str, QuestionWords] = Field(default_factory=dict)

    @classmethod
    def read(cls, words: Mapping[str, Any], questions: Mapping[str, Question]) -> FormWords:
        """Check words, as a survey file has them, against the questions that they are for."""
        try:
            checked = cls.model_validate(dict(words))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "words"
            raise StatementError(
                f"{place}: {first['msg']}",
                code="word",
                where="words",
                do="see the page `Fieldwork` in the documentation",
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
        for keys, text in _texts(checked.to_dict()):
            if any(map(SURROGATE.search, (*keys, str(text)))):
                raise StatementError(
                    f"{short_repr('.'.join(keys))} has half a character, which no page can show",
                    code="word",
                    where="words",
                    do="write the text in UTF-8",
                )
        for name, asked in checked.questions.items():
            if name not in questions:
                raise StatementError(
                    f"there are words for {name!r}, which is not a question",
                    code="question",
                    do=nearest(name, questions),
                )
            require_words(asked, questions[name])
        return checked

    def to_dict(self) -> dict[str, Any]:
        """Everything that is not the default, as JSON data."""
        data = self.model_dump(exclude_defaults=True)
        questions = {name: asked for name, asked in data.pop("questions", {}).items() if asked}
        return data | ({"questions": questions} if questions else {})

    @property
    def read_by_people(self) -> dict[str, Any]:
        """All that people are told, as JSON data; where reports are sent is not part of it."""
        return {key: value for key, value in self.to_dict().items() if key != "to"}

    @property
    def digest(self) -> str:
        """SHA-256 of the words in all languages, 64 hexadecimal digits: another one if any is
        changed.
        """
        return json_digest(self.read_by_people)


def json_digest(data: Any) -> str:
    """SHA-256 of JSON data with sorted keys, 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def first_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Where two sets of words, as `FormWords.read_by_people`, differ first, in a sentence."""
    old = dict(_texts(before))
    new = dict(_texts(now))
    place = next(place for place in sorted({*old, *new}) if old.get(place) != new.get(place))
    both = [str(texts.get(place, "")) for texts in (old, new)]
    places = (number for number, (a, b) in enumerate(zip(*both, strict=False)) if a != b)
    start = next(places, min(map(len, both)))
    was, now_is = (
        _excerpt(str(texts[place]), start) if place in texts else "not stated"
        for texts in (old, new)
    )
    if place[0] != "questions":
        return f"{' '.join(place)} was {was}, is {now_is}"
    kind = "text" if place[2] == "text" else f"answer {place[3]}"
    return f"question {place[1]}: the {kind} was {was}, is {now_is}"


def _excerpt(text: str, start: int) -> str:
    """A text in quotes; of a long one what stands around a place."""
    first = max(0, start - SHOWN // 2) if len(text) > SHOWN else 0
    part = text[first : first + SHOWN]
    ends = ("... " if first else "", " ..." if first + SHOWN < len(text) else "")
    return f'"{ends[0]}{" ".join(part.split())}{ends[1]}"'


def _texts(words: Mapping[str, Any], *place: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every text or number of words, by the keys that lead to it."""
    for key, value in words.items():
        if isinstance(value, Mapping):
            yield from _texts(value, *place, key)
        else:
            yield (*place, key), value


def require_words(words: QuestionWords, question: Question) -> None:
    """Refuse words for labels that are not answers, and the same words for two answers."""
    texts = list(map(text_of, getattr(question, "ticks", question.inputs)))
    for label in words.answers:
        if label not in texts:
            raise StatementError(
                f"there are words for {label!r}, which is not an answer",
                code="answer",
                do=nearest(label, texts),
            )
    shown, count = Counter(words.answers.get(text, text) for text in texts).most_common(1)[0]
    if count > 1:
        raise StatementError(
            f"{count} answers have the words {shown!r}",
            code="same-words",
            do="give each answer words of its own",
        )
