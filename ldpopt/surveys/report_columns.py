"""Columns of reports as other programs have them: codes from 1 on, each with what it means."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.foundation.labels import text_of
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.codebook import likely_answers
from ldpopt.surveys.questionnaire import Questionnaire

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
        text = "all questions" if column not in survey.questions else _text_of(survey, column)
        names = [_shown(survey, column, answer) for answer in law.inputs]
        if isinstance(law, AssignedMechanisms):
            (clear,) = survey.asked[column].beside
            meanings = tuple(f"{text_of(report)}, by {clear}" for report in law.outputs)
            columns.append(ReportColumn(column, text, law.outputs, meanings, law.digest))
        elif isinstance(law, Mechanism):
            meanings = _meanings(law.counts, law.denominator, names)
            columns.append(ReportColumn(column, text, tuple(law.outputs), meanings, law.digest))
        else:
            columns.append(ReportColumn(column, text, (), tuple(names), law.digest))
    return columns


def columns_of_form(form: Mapping[str, Any], words: Mapping[str, Any]) -> list[ReportColumn]:
    """The columns of reports of a form, with the words under which people answered."""
    asked = words.get("questions", {})
    columns = list[ReportColumn]()
    for column, stated in form["columns"].items():
        of = stated["of"]
        text = _any_text(asked.get(of[0], {}).get("text", "")) if len(of) == 1 else "all questions"
        names = _names_of_rows(form, stated, asked)
        digest = stated["digest"]
        if "reports" not in stated:
            columns.append(ReportColumn(column, text, (), tuple(names), digest))
            continue
        masses = np.array(stated["masses"], dtype=object)
        meanings = _meanings(masses, int(masses[0].sum()), names)
        columns.append(ReportColumn(column, text, tuple(stated["reports"]), meanings, digest))
    return columns


def _names_of_rows(
    form: Mapping[str, Any], stated: Mapping[str, Any], asked: Mapping[str, Any]
) -> list[str]:
    """The rows of a column of a form in words: answers, paths, numbers of a grid, or the answers
    that a pattern names.
    """
    of = stated["of"]
    shown = [
        [_answer_in_words(asked.get(name, {}), text) for text in form["questions"][name]["answers"]]
        for name in of
    ]
    if "patterns" in stated:
        return [
            f"{name}: {answer}"
            for name, answers in zip(of, shown, strict=True)
            for answer in answers
        ]
    if "paths" in stated:
        return [
            ", ".join(
                answers[code] for answers, code in zip(shown, path, strict=True) if code is not None
            )
            for path in stated["paths"]
        ]
    if "grid" in stated:
        rest = len(stated.get("masses", stated["grid"])) - len(stated["grid"])
        return [*map(text_of, stated["grid"]), *["no answer"] * rest]
    return shown[0]


def _answer_in_words(asked: Mapping[str, Any], text: str) -> str:
    """An answer as it is worded."""
    return _any_text(asked.get("answers", {}).get(text, "")) or text


def _any_text(text: Any) -> str:
    """A text, or that of the first language."""
    return str(next(iter(text.values()), "")) if isinstance(text, Mapping) else str(text)


def _meanings(counts: Any, denominator: int, names: Sequence[str]) -> tuple[str, ...]:
    """What each report means: the answers that give it most often."""
    meanings = []
    for places, times in likely_answers(counts, denominator):
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


def _shown(survey: Questionnaire, column: str, answer: Hashable) -> str:
    """An answer in the words of the survey; of a joint report the answers to its questions, of a
    pattern a question and its answer.
    """
    parts = list(survey.asked[column].parts) if column not in survey.questions else []
    if not isinstance(answer, tuple):
        return _in_words(survey, column, answer)
    if len(answer) == 2 and answer[0] in parts:
        return f"{answer[0]}: {_in_words(survey, str(answer[0]), answer[1])}"
    pairs = zip(parts or [column] * len(answer), answer, strict=False)
    return ", ".join(_in_words(survey, name, each) for name, each in pairs if each is not None)


def _in_words(survey: Questionnaire, name: str, answer: Hashable) -> str:
    """One answer to one question in words."""
    words = survey.words.first.questions.get(name)
    text = text_of(answer)
    return text if words is None else (words.answers.get(text) or text)
