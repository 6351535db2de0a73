"""Questions whose reports follow a `ReportModel` or a technique: people with one of several
mechanisms, people who do not follow the rule, designs of practitioners by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.channel_counts import ChannelCoder
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.keyed import Draws
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.technique import Technique
from ldpopt.tables.coding import MISSING, Coder, Codes, MissingAnswers, read_codes


@dataclass(frozen=True)
class ModelQuestion(Question):
    """A question with a model of its reports, or whose mechanism is a technique by name.

    If people have one of several mechanisms, the column of the model says which; it is clear, and
    stays beside the reports.
    """

    technique: Technique | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.beside  # refused without the name of a column

    @property
    def model(self) -> ReportModel | None:
        """The model of the reports; None if everybody has one mechanism and follows the rule."""
        return self.source if isinstance(self.source, ReportModel) else None

    @property
    def mechanisms(self) -> dict[Any, Mechanism]:
        """The mechanisms by name, if people have one of several; else empty."""
        if self.model is None or self.model.is_one:
            return {}
        return {part.name: part.mechanism for part in self.model.parts}

    @property
    def behaviors(self) -> tuple[str, ...]:
        """Names of the behaviors of people who do not follow the rule."""
        return () if self.model is None else self.model.behaviors

    @property
    def channel(self) -> str | None:
        """The column that says which mechanism a person has."""
        return None if self.model is None else self.model.beside

    @property
    def beside(self) -> dict[str, Any]:
        """The column of the mechanisms, and what reads it."""
        if self.model is None or self.channel is None:
            return {}
        return {self.channel: ChannelNames(self.model)}

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Positions of pairs of mechanism and answer."""
        if self.channel is None:
            return super().combine(codes)
        answers, channels = codes
        answers = read_codes(answers, len(self.inputs))
        pairs = channels * len(self.inputs) + answers
        return np.where(answers == MISSING, MISSING, pairs)


@dataclass(frozen=True)
class ChannelNames:
    """The column of a table that says which mechanism a person has."""

    model: ReportModel

    kind: ClassVar[str] = "mechanism"
    is_rounded: ClassVar[bool] = False

    def placed(self, codes: Codes, source: Draws) -> Codes:
        """The codes."""
        return codes

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the names of the mechanisms."""
        return ChannelCoder(self.model, as_text)

    def fill_missing(self, codes: Codes, missing: MissingAnswers, first_row: int = 0) -> Codes:
        """The codes; somebody without a mechanism is refused."""
        if (codes == MISSING).any():
            row = first_row + int(np.argmax(codes == MISSING))
            raise StatementError(
                "somebody has no mechanism: the name is missing",
                code="missing-channel",
                where=f"{missing.where}, row {row}",
                do="fill in which mechanism each person has",
            )
        return codes


def question_of(source: Any, stated: Question | None = None) -> Question:
    """The question of a source, with the treatment of missing answers of another one."""
    known = {} if stated is None else vars(stated)
    fields = {key: known[key] for key in ("missing", "missing_answer", "edges") if key in known}
    kind = ModelQuestion if isinstance(source, ReportModel) else Question
    return kind(source, **fields)


def channels_of(questions: Mapping[str, Question]) -> tuple[str, ...]:
    """The clear columns that say which mechanism a person has, each once."""
    columns = [name for question in questions.values() for name in question.beside]
    return tuple(dict.fromkeys(columns))


def behaviors_of(questions: Mapping[str, Question]) -> dict[str, tuple[str, ...]]:
    """The behaviors of each question that has some."""
    named = {
        name: question.behaviors
        for name, question in questions.items()
        if isinstance(question, ModelQuestion)
    }
    return {name: behaviors for name, behaviors in named.items() if behaviors}


def require_no_model(questions: Mapping[str, Question], reason: str, do: str) -> None:
    """Refuse questions with several mechanisms or behaviors."""
    for name, question in questions.items():
        if isinstance(question, ModelQuestion) and question.model is not None:
            has = "several mechanisms" if question.mechanisms else "behaviors"
            raise StatementError(
                f"question {short_repr(name)} has {has}, and {reason}", code="model", do=do
            )
