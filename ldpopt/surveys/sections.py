"""The tables of a survey file: their keys, and what they say about a question, a matrix or a
field.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, Field, field_validator

from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.questions import INCONSISTENT, SHARED, Question
from ldpopt.problem.modelfile.schema import (
    Label,
    OrderTable,
    Section,
    kinds_of,
    numbers_of_labels,
    wrong_value,
)
from ldpopt.surveys.form import MAX_ANSWERS
from ldpopt.surveys.form_words import FormWords
from ldpopt.surveys.languages import Text
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.numbers import NumberQuestion, Numbers
from ldpopt.surveys.own_sources import ORDERED, OWN
from ldpopt.surveys.repeat import repeated
from ldpopt.surveys.risks import Asked
from ldpopt.surveys.stated_words import FieldTexts, FormSection, QuestionTexts
from ldpopt.surveys.technique import Technique
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

# names of the workloads that can be estimated for a question
WORKLOADS = (*kinds_of(OrderTable), "mean")
# keys by which a question says what is asked and estimated, in place of a mechanism of its own
DEFINITIONS = ("labels", "number", "ticks", "prior", "utility", "workload", "values")
OWN_SHARE = ("epsilon", "share")  # how a question has its part of the budget
OWN_BUDGET = (*OWN, *OWN_SHARE)
# of a missing answer: it is an error, it counts as an answer, or nothing is reported
Treatment = Literal["refuse", "answer", "leave"]


class QuestionSection(Section):
    """``[question.NAME]``: a mechanism's file, or labels and a utility or workload.

    `labels`, `number`, `ticks` or the keys of `prior` state the answers; `mechanism`, `technique`,
    `channel` or `mechanisms` state what draws the reports, with its own answers.
    """

    labels: list[Label] | None = Field(default=None, min_length=2)
    number: dict[str, Any] | None = None
    ticks: list[str] | dict[str, str] | None = None
    prior: dict[str, float] | list[float] | None = None
    utility: str | None = None
    workload: str | None = None
    values: list[float] | None = None
    mechanism: str | None = None
    technique: dict[str, Any] | None = None
    channel: str | None = None
    mechanisms: dict[str, str] | None = None
    assigned: bool = True
    behaviors: dict[str, Label | list[float | str] | dict[str, float | str]] | None = None
    edges: list[Annotated[float, AllowInfNan(True)]] | None = None
    epsilon: float | str | None = None
    share: float | None = Field(default=None, gt=0, le=1)
    missing: Treatment = "refuse"
    missing_label: Label | None = None
    only_if: dict[str, Label | list[Label]] | None = None
    otherwise: Label | None = None
    report: Literal["own"] | None = None
    repeat: bool = False
    text: Text = ""
    answers: dict[str, Text] = Field(default_factory=dict)
    section: str = ""

    @field_validator("answers", mode="before")
    @classmethod
    def _refuse_labels(cls, value: Any) -> Any:
        """A list is probably meant to be the labels; the key is for what the page shows instead."""
        if isinstance(value, list):
            raise wrong_value(
                "answers is a table: the text on the page for each label",
                f"write labels = {short_repr(value)}" if len(value) < 9 else "write labels = [...]",
                code="labels-as-answers",
            )
        return value

    @property
    def missing_answer(self) -> Label | None:
        """The answer that stands for a missing one; None if there is none."""
        if self.missing != "answer":
            return None
        return "no answer" if self.missing_label is None else self.missing_label

    @property
    def inputs(self) -> list[Any]:
        """Labels of the answers, with the one for a missing answer."""
        if self.ticks is not None:
            return list(tick_workload(self.tick_names).inputs)
        labels: list[Any] = list(self.labels if self.labels is not None else self.prior or ())
        if self.repeat and self.labels is None:
            labels = [label for label in labels if label != INCONSISTENT]
        if self.asked_number is not None:
            labels = list(self.asked_number.inputs(self.workload, self.otherwise))
        extra = self.missing_answer
        return labels if extra is None or extra in labels else [*labels, extra]

    @property
    def reduced(self) -> list[Any]:
        """Labels of what a report is about: if the question is repeated, also "inconsistent"."""
        return [*self.inputs, INCONSISTENT] if self.repeat else self.inputs

    @cached_property
    def asked_number(self) -> Numbers | None:
        """The numbers that people can give; None if the question asks for no number."""
        return None if self.number is None else Numbers.read(self.number)

    @property
    def answer_count(self) -> int:
        """Number of different answers that people can give."""
        number = self.asked_number
        if number is None:
            return len(self.inputs)
        return len(number.labels) + (self.missing_answer is not None)

    @property
    def answered(self) -> tuple[list[Any], Label | None]:
        """Labels of those who answer, and the one for a missing answer, which may be taken for one
        of two answers.
        """
        missing = self.missing_answer
        labels = [label for label in self.inputs if label != missing]
        return (labels, missing) if len(labels) > 1 else (self.inputs, None)

    @property
    def numbers(self) -> Any:
        """Numbers of the answers of which a mean is estimated."""
        return numbers_of_labels(self.values, self.answered[0], "values")

    @property
    def tick_names(self) -> tuple[str, ...]:
        """Ticks, with the one for a missing answer."""
        return (
            *(self.ticks or ()),
            *([] if self.missing_answer is None else [str(self.missing_answer)]),
        )

    def question(self, source: Any) -> Question:
        """The question with what draws its reports."""
        missing: Any = "leave_out" if self.missing == "leave" else "refuse"
        asked: dict[str, Any] = {"only_if": self.only_if, "otherwise": self.otherwise}
        asked |= {"report": self.report or SHARED, "edges": self.edges, "repeat": self.repeat}
        if self.technique is not None or isinstance(source, ReportModel):
            named = None if self.technique is None else Technique.read(self.technique)
            answer = self.missing_answer
            return ModelQuestion(source, missing, answer, technique=named, **asked)
        if self.asked_number is not None:
            if self.utility is None and self.workload in ORDERED:
                asked["edges"] = self.asked_number.edges
            asked["number"] = self.asked_number
        if self.repeat:
            kind = Question if self.asked_number is None else NumberQuestion
            return repeated(kind(source, missing, self.missing_answer, **asked))
        if self.asked_number is not None:
            return NumberQuestion(source, missing, self.missing_answer, **asked)
        if self.ticks is None:
            return Question(source, missing, self.missing_answer, **asked)
        columns = tuple(self.ticks.values()) if isinstance(self.ticks, dict) else ()
        ticks = self.tick_names
        return TicksQuestion(source, missing, self.missing_answer, ticks, columns, **asked)

    def treating(self, missing: Treatment) -> QuestionSection:
        """The question with the treatment of missing answers of the whole survey, where it states
        none and can have it: a mechanism of its own has its answers, and many ticks no other one.
        """
        has_answer = all(getattr(self, key) is None for key in OWN)
        has_answer &= 2 ** (len(self.ticks or ()) + 1) <= MAX_ANSWERS
        if "missing" in self.model_fields_set or (missing == "answer" and not has_answer):
            return self
        return self.model_copy(update={"missing": missing})

    @property
    def page_words(self) -> QuestionTexts:
        """Words of the question on the page for respondents."""
        return QuestionTexts(text=self.text, answers=self.answers, section=self.section)

    @property
    def weights(self) -> Any:
        """The prior by label; keys of a TOML table are text."""
        if not isinstance(self.prior, dict):
            return self.prior
        labels = {str(label): label for label in self.inputs}
        if self.repeat:
            labels[INCONSISTENT] = INCONSISTENT
        return {labels.get(key, key): weight for key, weight in self.prior.items()}


class RowSection(QuestionSection):
    """A row of a matrix, which is a question; a file states the matrix."""

    matrix: str = ""
    row: Text = ""

    @property
    def page_words(self) -> QuestionTexts:
        """Words of the row; those of the matrix are beside it."""
        return QuestionTexts(
            answers=self.answers, section=self.section, matrix=self.matrix, row=self.row
        )


class MatrixSection(QuestionSection):
    """``[matrix.NAME]``: the keys of a question, and rows that are asked with the same answers."""

    rows: list[str] | dict[str, Text] = Field(min_length=1)

    def questions(self, name: str) -> dict[str, RowSection]:
        """A question ``NAME.ROW`` for each row."""
        keys = {key: getattr(self, key) for key in QuestionSection.model_fields if key != "text"}
        stated = self.model_fields_set & keys.keys()
        texts = self.rows if isinstance(self.rows, dict) else {row: row for row in self.rows}
        return {
            f"{name}.{row}": RowSection.model_construct(stated, **keys, matrix=name, row=text)
            for row, text in texts.items()
        }


class FieldSection(FieldTexts):
    """``[field.NAME]``: what comes with a person's link; without labels it is a weight."""

    labels: list[Label] = Field(default_factory=list)


class WavesSection(Section):
    """``[waves]``: how often the same people answer, and what all their reports together have to
    keep.
    """

    count: int = Field(ge=1)
    epsilon: float | str
    delta: float = Field(default=0.0, ge=0, lt=1)


class SampleSection(Section):
    """``[sample]``: how people are drawn, see `ldpopt.Sample`."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    population: int | dict[str, int] | None = None
    margins: dict[str, dict[str, float]] | None = None


class SurveySection(Section):
    """The whole file."""

    title: Text = ""
    source: str = ""
    epsilon: float | str | None = None
    choices: list[float | str] | None = None
    missing: Treatment | None = None
    scheme: Literal["split", "one_question", "fake_data", "joint", "best"] = "split"
    weights: str | None = None
    sample: SampleSection | None = None
    waves: WavesSection | None = None
    pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list
    )
    form: FormSection = FormSection()
    question: dict[str, QuestionSection] = Field(default_factory=dict)
    matrix: dict[str, MatrixSection] = Field(default_factory=dict)
    field: dict[str, FieldSection] = Field(default_factory=dict)

    @property
    def asked(self) -> Asked:
        """Which questions have to be answered, by their texts in the first language."""
        texts = self.words.first.questions
        required = [
            texts[name].text or name
            for name, section in self.question.items()
            if section.missing == "refuse"
        ]
        return Asked(tuple(required), len(self.question))

    @property
    def fields(self) -> dict[str, list[str]]:
        """What comes with a link, and its values as texts."""
        return {name: list(map(text_of, each.labels)) for name, each in self.field.items()}

    @property
    def words(self) -> FormWords:
        """All texts of the file."""
        asked = {
            name: section.page_words.model_dump(exclude_defaults=True)
            for name, section in self.question.items()
        }
        words = self.form.model_dump(exclude_unset=True) | {
            "questions": asked,
            "matrices": {name: each.text for name, each in self.matrix.items() if each.text},
            "fields": {
                name: section.model_dump(include={"text", "answers"}, exclude_defaults=True)
                for name, section in self.field.items()
            },
        }
        return FormWords.read(words, title=self.title, fields=self.fields)
