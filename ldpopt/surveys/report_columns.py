"""Columns of reports as other programs have them: codes from 1 on, each with what it means."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.estimation.chosen import CHOICE
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.codebook import likely_answers
from ldpopt.surveys.form_words import QuestionWords
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.shared import SEPARATOR, SharedQuestion

WARNING = "RANDOM REPORT, not the answer: "  # the beginning of the label of each variable
MAX_NAMED = 4  # most answers that the label of a report names


@dataclass(frozen=True)
class ReportColumn:
    """A column of reports: labels with codes, or sets whose members have columns of their own.

    Attributes
    ----------
    name, text : str
        The column, and the question in words.
    reports : tuple
        The labels in the order of their codes; of sets none.
    meanings : tuple of str
        What each report, or member of a set, means.
    digest : str
        That of the mechanism; empty if it is not known.
    """

    name: str
    text: str
    reports: tuple[Hashable, ...]
    meanings: tuple[str, ...]
    digest: str = ""

    @property
    def label(self) -> str:
        """What the variable is, in words."""
        return WARNING + (self.text or self.name)

    @property
    def is_set(self) -> bool:
        """Whether reports are sets of the members that ``meanings`` names."""
        return not self.reports

    @property
    def codes(self) -> dict[int, str]:
        """The label of each code, from 1 on."""
        count = len(self.reports)
        return {
            code: f"report {code} of {count}: {meaning}"
            for code, meaning in enumerate(self.meanings, 1)
        }


def columns_of_survey(survey: Questionnaire) -> list[ReportColumn]:
    """The columns of reports of a survey."""
    columns = list[ReportColumn]()
    for column, law in survey.randomizers.items():
        of = questions_of(survey, column)
        text = _text_of(survey, of[0]) if len(of) == 1 else _several(of)
        names = _names_of_answers(survey, column, of, law.inputs)
        if isinstance(law, AssignedMechanisms):
            (clear,) = survey.asked[column].beside
            meanings = tuple(f"{text_of(report)}, by {clear}" for report in law.outputs)
            columns.append(ReportColumn(column, text, law.outputs, meanings, law.digest))
        elif isinstance(law, Mechanism):
            meanings = _meanings(np.asarray(law.counts / law.denominator), names)
            columns.append(ReportColumn(column, text, tuple(law.outputs), meanings, law.digest))
        else:
            columns.append(ReportColumn(column, text, (), tuple(names), law.digest))
    return columns


def questions_of(survey: Questionnaire, column: str) -> list[str]:
    """The questions that the reports of a column are about."""
    question = survey.asked[column]
    return list(question.parts) if isinstance(question, SharedQuestion) else [column]


def columns_of_form(
    form: Mapping[str, Any], asked: Mapping[str, QuestionWords]
) -> list[ReportColumn]:
    """The columns of reports of a form, with the words under which people answered."""
    columns = list[ReportColumn]()
    for column, stated in form["columns"].items():
        of = stated["of"]
        text = asked.get(of[0], QuestionWords()).text if len(of) == 1 else _several(of)
        names = _names_of_rows(form, stated, asked)
        digest = stated["digest"]
        if "chosen" in stated:
            every = [y for law in stated["chosen"].values() for y in law["reports"]]
            reports = tuple(dict.fromkeys(every))
            meanings = tuple(f"{report}, by {CHOICE}" for report in reports)
            columns.append(ReportColumn(column, text, reports, meanings, digest))
            continue
        if "reports" not in stated:
            columns.append(ReportColumn(column, text, (), tuple(names), digest))
            continue
        masses = np.array(stated["masses"], dtype=np.int64)
        channel = masses / masses[0].sum()
        if form["scheme"] == "fake_data":
            channel = channel + (len(form["columns"]) - 1) * channel.mean(axis=0)
        meanings = _meanings(channel, names)
        columns.append(ReportColumn(column, text, tuple(stated["reports"]), meanings, digest))
    return columns


def _names_of_rows(
    form: Mapping[str, Any], stated: Mapping[str, Any], asked: Mapping[str, QuestionWords]
) -> list[str]:
    """The rows of a column of a form in words: answers, paths, numbers of a grid, or the answers
    that a pattern names.
    """
    of = stated["of"]
    shown = [
        [
            asked.get(name, QuestionWords()).answers.get(text) or text
            for text in form["questions"][name]["answers"]
        ]
        for name in of
    ]
    if "patterns" in stated:
        return [
            f"{name}: {answer}"
            for name, answers in zip(of, shown, strict=True)
            for answer in answers
        ]
    if "paths" in stated:
        return [_path_in_words(path, shown) for path in stated["paths"]]
    if "grid" in stated:
        rest = len(stated.get("masses", stated["grid"])) - len(stated["grid"])
        return [*map(text_of, stated["grid"]), *["no answer"] * rest]
    return shown[0]


def _several(names: Sequence[str]) -> str:
    """What a report on several questions is about."""
    return f"{', '.join(names)} (together)"


def _meanings(channel: Float, names: Sequence[str]) -> tuple[str, ...]:
    """What each report means: the answers that give it most often."""
    meanings = []
    for places, times in likely_answers(channel):
        few = ", ".join(names[place] for place in places[:MAX_NAMED])
        more = f" and {len(places) - MAX_NAMED:,} more" if len(places) > MAX_NAMED else ""
        if not places:
            meanings.append("never drawn")
        elif times == 1:
            meanings.append("as often from every answer")
        else:
            meanings.append(f"{'only' if times == np.inf else 'mostly'} {few}{more}")
    return tuple(meanings)


def _text_of(survey: Questionnaire, name: str) -> str:
    """A question as it is asked."""
    words = survey.words.first.questions.get(name)
    return "" if words is None else words.text


def _names_of_answers(
    survey: Questionnaire, column: str, of: Sequence[str], inputs: Sequence[Hashable]
) -> list[str]:
    """What the reports of a column are about, in words: answers, paths of answers, or the answers
    that a pattern names.
    """
    question = survey.asked[column]
    if not isinstance(question, SharedQuestion):
        return [_in_words(survey, column, answer) for answer in inputs]
    if not question.paths:
        return [f"{name}: {_in_words(survey, name, answer)}" for name, answer in _pairs_in(inputs)]
    shown = [
        [_in_words(survey, name, answer) for answer in question.parts[name].inputs] for name in of
    ]
    return [_path_in_words(path, shown) for path in question.paths]


def _pairs_in(inputs: Sequence[Any]) -> list[tuple[str, Hashable]]:
    """The question and the answer of each input of a pattern."""
    return [(str(name), answer) for name, answer in inputs]


def _path_in_words(path: Sequence[int | None], shown: Sequence[Sequence[str]]) -> str:
    """The answers of a path, without the questions that are not asked."""
    each = zip(shown, path, strict=True)
    return SEPARATOR.join(answers[code] for answers, code in each if code is not None)


def _in_words(survey: Questionnaire, name: str, answer: Hashable) -> str:
    """One answer to one question in words."""
    words = survey.words.first.questions.get(name)
    text = text_of(answer)
    return text if words is None else (words.answers.get(text) or text)
