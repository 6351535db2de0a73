"""The words of the page around a form: questions and answers as they are shown, and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.mechanism.questions import Question
from ldpopt.problem.modelfile.schema import Section

MAX_WAVES = 1000  # largest number of repetitions of a survey


class FormSection(Section):
    """``[form]``: words and settings of the page for respondents."""

    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    consent: str = ""
    contact: str = ""
    to: str = ""
    wave: int = Field(default=1, ge=1, le=MAX_WAVES)
    waves: int | None = Field(default=None, ge=1, le=MAX_WAVES)
    shared: bool = False
    words: dict[str, str] = Field(default_factory=dict)


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
        return self.model_dump(exclude_defaults=True)


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
