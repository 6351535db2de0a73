"""The form of a survey: what a device needs to draw the reports of one person."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import short_repr, whole_number
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.conditions import NOT_ASKED
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.choices import promises_of
from ldpopt.surveys.form_words import json_digest
from ldpopt.surveys.numbers import NumberQuestion
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.repeat import RepeatedQuestion
from ldpopt.surveys.shared import SharedQuestion
from ldpopt.surveys.stated_words import MAX_WAVES
from ldpopt.surveys.ticks import TicksQuestion
from ldpopt.tables.database import form_in_database, is_database, without_password

FORMAT = "ldpopt form 2"
MAX_ANSWERS = 500  # largest number of answers to a question: a longer menu is not read
MAX_MASSES = 200_000  # largest number of masses of a question: 3 MB of digits on a page
UNSHOWN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def form_of(survey: Questionnaire, wave: int | None = None) -> dict[str, Any]:
    """Return the form of a survey; see `Survey.form`."""
    _require_drawn_on_devices(survey)
    number = survey.words.wave if wave is None else whole_number(wave, "wave", 1, MAX_WAVES)
    form: dict[str, Any] = {
        "format": FORMAT,
        "title": survey.title,
        "scheme": survey.scheme if survey.joint or survey.one_question else "split",
        "odds": str(Fraction(survey.odds)),
        "questions": {
            name: _question_form(name, question) for name, question in survey.questions.items()
        },
        "columns": {name: _column_form(name, question) for name, question in survey.asked.items()},
    }
    if survey.choices:  # a form without them has no such key, and keeps its digest
        form["choices"] = [
            {"choice": name, "odds": str(odds)} for name, odds in promises_of(survey)
        ]
    fields = {name: list(values) for name, values in survey.fields.items()}
    return form | ({"fields": fields} if fields else {}) | ({} if number == 1 else {"wave": number})


def _require_drawn_on_devices(survey: Questionnaire) -> None:
    """Refuse a survey whose reports a device cannot draw, or cannot promise anything about."""
    if unknown := [name for name in survey.sample.columns if name not in survey.fields]:
        is_weight = unknown[0] == survey.weights
        what = "weight" if is_weight else "part of the sample"
        raise StatementError(
            f"a device does not know a person's {what}, column {unknown[0]!r}",
            code="weights" if is_weight else "sample-column",
            do=f"let it come with the link ([field.{unknown[0]}]), or leave it out of the survey "
            "and add it to the reports later",
        )
    if survey.channels and not survey.choices:
        raise StatementError(
            f"a device does not know which mechanism a person has, column {survey.channels[0]!r}",
            code="device-channel",
            do="make a survey for each mechanism, and add the column to the reports later",
        )
    if isinstance(survey.odds, float):
        unbounded = ", ".join(
            name for name, question in survey.asked.items() if question.randomizer.odds is None
        )
        raise StatementError(
            f"a report on {unbounded} can rule an answer out: the ratio of its probabilities "
            "is infinite",
            code="odds",
            do="use a mechanism that is private for some epsilon with delta = 0",
        )


def form_digest(form: Mapping[str, Any]) -> str:
    """SHA-256 of a form with sorted keys, 64 hexadecimal digits: the same for all languages and
    wordings, which have a digest of their own (`Survey.words_digest`).
    """
    return json_digest(form)


def form_difference(form: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """In what a form differs from another one first, in words."""
    for key, default in (("format", None), ("title", None), ("wave", 1), ("scheme", None)):
        value = form.get(key, default)
        if value != other.get(key, default):
            return f"{key} is {short_repr(value)}, not {short_repr(other.get(key, default))}"
    if form.get("choices", []) != other.get("choices", []):
        return "choices are others"
    if form.get("fields", {}) != other.get("fields", {}):
        return "fields that come with the link are others"
    names = list(form["questions"])
    if names != list(other["questions"]):
        return f"questions are {', '.join(names)}, not {', '.join(other['questions'])}"
    for name in names:
        if form["questions"][name] != other["questions"][name]:
            return f"question {name!r} has other answers"
    for name, column in form["columns"].items():
        if column != other["columns"].get(name):
            return f"column {name!r} is drawn by another mechanism"
    return f"columns are {', '.join(form['columns'])}, not {', '.join(other['columns'])}"


def require_form_of(survey: Questionnaire, table: Any, *, is_before: bool = False) -> None:
    """Refuse a database whose reports were drawn by another form; anything else passes, and so
    does an earlier wave of the same form if it is to be compared with.
    """
    address = os.fspath(table) if isinstance(table, (str, os.PathLike)) else ""
    if not isinstance(address, str) or not is_database(address):
        return
    kept = form_in_database(address)
    try:
        form = form_of(survey)
    except StatementError:
        return  # no device draws its reports; the origin tells whether they are of its mechanisms
    if kept is None or kept.get("format") != FORMAT:
        return  # so does it for a form of an earlier version
    if is_before and kept.get("wave", 1) < form.get("wave", 1):
        form = {**form, "wave": kept.get("wave", 1)}
        kept = {**kept, "wave": form["wave"]}
    if kept != form:
        raise ModelFileError(
            f"these are the reports of another survey or wave: its {form_difference(kept, form)}",
            code="form",
            where=without_password(address),
            do="name the database of this survey, or the survey of this database",
        )


def _question_form(name: str, question: Question) -> dict[str, Any]:
    """The texts of the answers to a question, and how missing ones are treated; of numbers that are
    rounded to a grid, the answers beside them.
    """
    points = _points(question)
    # the first inputs are the points of the grid, which are written as numbers
    answers = _texts(question.inputs[len(points) :], "answer", name)
    if len(answers) > MAX_ANSWERS:
        raise StatementError(
            f"question {name!r} has {len(answers):,} answers",
            code="answer-count",
            do=f"a form has room for {MAX_ANSWERS}: group answers, or ask two questions",
        )
    missing = question.missing_code
    missing_answer = None if missing is None else answers[missing - len(points)]
    form: dict[str, Any] = {"answers": answers, "missing": question.missing}
    form["missing_answer"] = missing_answer
    if isinstance(question, TicksQuestion):
        form["ticks"] = list(question.ticks)
    if isinstance(question, NumberQuestion):
        form["number"] = question.number.to_dict()
    if isinstance(question, RepeatedQuestion):
        form |= question.form
    return form | _condition_form(question)


def _condition_form(question: Question) -> dict[str, Any]:
    """For which answers to earlier questions a question is asked, and what its report is about
    otherwise; empty if everybody is asked.
    """
    if not question.only_if:
        return {}
    form: dict[str, Any] = {
        "only_if": {name: list(map(text_of, texts)) for name, texts in question.only_if.items()}
    }
    if question.otherwise is not None:
        form["otherwise"] = text_of(question.inputs[question.place_of(question.otherwise) or 0])
    elif question.place_of(NOT_ASKED) is not None:
        form["not_asked"] = NOT_ASKED
    return form


def _points(question: Question) -> list[int]:
    """The grid to which the numbers of a question are rounded; empty if there is none."""
    grid = question.grid if isinstance(question, NumberQuestion) else None
    return [] if grid is None else list(grid.points)


def _column_form(name: str, question: Question) -> dict[str, Any]:
    """Of which questions a column is, and what draws its reports."""
    form: dict[str, Any] = {"of": [name]}
    if isinstance(question, SharedQuestion):
        form["of"] = list(question.parts)
        form |= {"paths": list(map(list, question.paths))} if question.paths else {}
        grids = {key: points for key, part in question.parts.items() if (points := _points(part))}
        form |= {"grids": grids} if grids else {}
    elif points := _points(question):
        form["grid"] = points
    return form | {"missing": question.missing} | _law_form(name, question.randomizer)


def _law_form(name: str, law: Any) -> dict[str, Any]:
    """What a device draws with: integer masses over ``2**53``, or the law of sets or patterns."""
    digest = {"digest": law.digest}
    if isinstance(law, SubsetSelection):
        drawn = {"count": len(law.inputs), "size": law.size, "mass": law.distribution.mass}
        return digest | {"set": drawn}
    if isinstance(law, YesNoPatterns):
        return digest | {"patterns": asdict(law.pattern)}
    if isinstance(law, AssignedMechanisms):
        return digest | {"chosen": _laws_of_choices(name, law)}
    if not isinstance(law, Mechanism):
        raise StatementError(
            f"question {name!r} is drawn by a {type(law).__name__}, which a device does not have",
            code="law",
            do="use a mechanism or a design",
        )
    if law.counts.size > MAX_MASSES:
        raise StatementError(
            f"question {name!r} has {law.counts.size:,} masses",
            code="masses",
            do=f"a form has room for {MAX_MASSES:,}: use fewer answers or reports",
        )
    return digest | {"reports": _texts(law.outputs, "report", name), "masses": law.counts.tolist()}


def _laws_of_choices(name: str, laws: AssignedMechanisms) -> dict[str, Any]:
    """What a device draws with for each choice; they have room for as many masses as one law."""
    sizes = [law.counts.size for law in laws.mechanisms.values()]
    if sum(sizes) > MAX_MASSES:
        raise StatementError(
            f"question {name!r} has {sum(sizes):,} masses for all choices",
            code="masses-of-choices",
            do=f"a form has room for {MAX_MASSES:,}: use fewer answers, or fewer choices",
        )
    return {text_of(choice): _law_form(name, law) for choice, law in laws.mechanisms.items()}


def _texts(labels: Any, kind: str, name: str) -> list[str]:
    """Labels as in a table of text, where each must be another."""
    texts = list(map(text_of, labels))
    for text, count in Counter(texts).most_common(1):
        if count > 1:
            raise StatementError(
                f"question {name!r}: {count} {kind}s have the text {text!r}",
                code="same-text",
                do="rename one of them",
            )
    if any(UNSHOWN.search(text) for text in texts):
        raise StatementError(
            f"question {name!r}: the text of {'an' if kind == 'answer' else 'a'} {kind} has "
            "control characters",
            code="control-characters",
            do="use letters, digits, spaces and signs",
        )
    return texts
