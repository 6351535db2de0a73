"""The form of a survey: what a device needs to draw the reports of one person, and the words of the
page around it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import whole_number
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.problem.modelfile.schema import Section
from ldpopt.surveys.joint import JOINT

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey

FORMAT = "ldpopt form 1"
MAX_ANSWERS = 500  # largest number of answers to a question: a longer menu is not read
MAX_MASSES = 200_000  # largest number of masses of a question: 3 MB of digits on a page
MAX_WAVES = 1000  # largest number of repetitions of a survey
UNSHOWN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


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
            found = cls.model_validate(dict(words))
        except (ValidationError, TypeError, ValueError) as error:
            if not isinstance(error, ValidationError):
                raise StatementError(
                    "words are a mapping", do='pass {"questions": {name: {"text": ...}}}'
                ) from None
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "words"
            do = "see the page `Fieldwork` in the documentation"
            raise StatementError(f"{place}: {first['msg']}", where="words", do=do) from None
        if found.waves is not None and found.waves < found.wave:
            what = f"wave {found.wave} of {found.waves} waves"
            raise StatementError(
                what, where="words", do="state at least as many waves as the number of this wave"
            )
        for name, asked in found.questions.items():
            if name not in questions:
                what = f"there are words for {name!r}, which is not a question"
                raise StatementError(what, do=nearest(name, questions))
            require_words(asked, questions[name])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything that is not the default, as JSON data."""
        return self.model_dump(exclude_defaults=True)


def require_words(words: QuestionWords, question: Question) -> None:
    """Refuse words for labels that are not answers, and the same words for two answers."""
    texts = list(map(text_of, getattr(question, "ticks", question.inputs)))
    for label in words.answers:
        if label not in texts:
            raise StatementError(
                f"there are words for {label!r}, which is not an answer", do=nearest(label, texts)
            )
    shown, count = Counter(words.answers.get(text, text) for text in texts).most_common(1)[0]
    if count > 1:
        raise StatementError(
            f"{count} answers have the words {shown!r}", do="give each answer words of its own"
        )


def form_of(survey: Survey, wave: int | None = None) -> dict[str, Any]:
    """Return the form of a survey; see `Survey.form`."""
    if survey.weights is not None:
        what = f"a device does not know a person's weight, column {survey.weights!r}"
        raise StatementError(
            what, do="leave weights out of the survey, and weight the reports later"
        )
    if isinstance(survey.odds, float):
        unbounded = ", ".join(
            name for name, question in survey.asked.items() if question.randomizer.odds is None
        )
        what = (
            f"a report on {unbounded} can rule an answer out: the ratio of its probabilities "
            "is infinite"
        )
        raise StatementError(
            what, do="use a mechanism that is private for some epsilon with delta = 0"
        )
    number = survey.words.wave if wave is None else whole_number(wave, "wave", 1, MAX_WAVES)
    asked = {name: _answers_form(name, question) for name, question in survey.questions.items()}
    scheme = "split" if survey.one_question is None else survey.scheme
    joint = {}
    if survey.joint is None:
        asked = {
            name: form | _law_form(name, survey.questions[name].randomizer)
            for name, form in asked.items()
        }
    else:
        about = {"column": JOINT, "order": list(asked), "missing": survey.joint.missing}
        scheme = "joint"
        joint = {"joint": about | _law_form(JOINT, survey.joint.randomizer)}
    form = {
        "format": FORMAT,
        "title": survey.title,
        "scheme": scheme,
        "odds": str(Fraction(survey.odds)),
    }
    return form | {"questions": asked} | joint | ({} if number == 1 else {"wave": number})


def columns_of(form: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a form has for each column of reports: the questions, or the joint report."""
    joint = form.get("joint")
    return form["questions"] if joint is None else {joint["column"]: joint}


def form_digest(form: Mapping[str, Any]) -> str:
    """SHA-256 of a form with sorted keys, 64 hexadecimal digits: the same for all languages and
    wordings.
    """
    return hashlib.sha256(json.dumps(form, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _answers_form(name: str, question: Question) -> dict[str, Any]:
    """The texts of the answers to a question, and how missing ones are treated."""
    answers = _texts(question.inputs, "answer", name)
    if len(answers) > MAX_ANSWERS:
        what = f"question {name!r} has {len(answers):,} answers"
        raise StatementError(
            what, do=f"a form has room for {MAX_ANSWERS}: group answers, or ask two questions"
        )
    missing = question.missing_code
    missing_answer = None if missing is None else answers[missing]
    return {"answers": answers, "missing": question.missing, "missing_answer": missing_answer}


def _law_form(name: str, law: Any) -> dict[str, Any]:
    """What a device draws with: integer masses over ``2**53``, or the law of sets or patterns."""
    found = {"digest": law.digest}
    if isinstance(law, SubsetSelection):
        return found | {
            "set": {"count": len(law.inputs), "size": law.size, "mass": law.distribution.mass}
        }
    if isinstance(law, YesNoPatterns):
        return found | {"patterns": asdict(law.pattern)}
    if not isinstance(law, Mechanism):
        what = f"question {name!r} is drawn by a {type(law).__name__}, which a device does not have"
        raise StatementError(what, do="use a mechanism or a design")
    if law.counts.size > MAX_MASSES:
        what = f"question {name!r} has {law.counts.size:,} masses"
        raise StatementError(
            what, do=f"a form has room for {MAX_MASSES:,}: use fewer answers or reports"
        )
    return found | {"reports": _texts(law.outputs, "report", name), "masses": law.counts.tolist()}


def _texts(labels: Any, kind: str, name: str) -> list[str]:
    """Labels as in a table of text, where each must be another."""
    texts = list(map(text_of, labels))
    for text, count in Counter(texts).most_common(1):
        if count > 1:
            raise StatementError(
                f"question {name!r}: {count} {kind}s have the text {text!r}",
                do="rename one of them",
            )
    if any(UNSHOWN.search(text) for text in texts):
        what = (
            f"question {name!r}: the text of {'an' if kind == 'answer' else 'a'} {kind} has "
            "control characters"
        )
        raise StatementError(what, do="use letters, digits, spaces and signs")
    return texts
