"""The page of a survey: what all questions together cost a person, and what the people who take
part give.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError
from ldpopt.fieldwork.form_page import page
from ldpopt.foundation.display import filled
from ldpopt.foundation.labels import text_of
from ldpopt.mechanism.questions import Question
from ldpopt.plotting.report.people import group_rows, require_kept, told
from ldpopt.plotting.report.sentences import PageFacts, say
from ldpopt.plotting.report.words import MIN_HALF_WIDTH, is_share, number_in_words
from ldpopt.problem.workload import Workload
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.groups import Group
from ldpopt.surveys.influence import influence_in_words
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.numbers import NumberQuestion
from ldpopt.surveys.overview import mechanisms_of
from ldpopt.surveys.survey import Survey

MAX_ROWS = 12  # largest number of estimates of a question in its table


def survey_page(
    survey: Survey,
    sizes: Sequence[int],
    waves: int,
    groups: Sequence[Group] | None = None,
    to: str | None = None,
    **words: Any,
) -> str:
    """The page of a survey as HTML; see `report`."""
    questions = [_question(survey, name, sizes) for name in survey.questions]
    beside = tuple(dict.fromkeys((*survey.kept(words["keep"]), *survey.fields)))
    strata = tuple(group for group in groups or () if group.fields)
    require_kept(strata, beside)
    has_links = True if survey.fields else None  # fields come with a link
    if groups is not None and not strata:
        has_links = bool(groups)
    page_facts = PageFacts(
        survey,
        waves,
        where=words["where"],
        beside=beside,
        groups=strata,
        has_links=has_links,
        rows=[row for question in questions for row in question["rows"]],
    )
    words["keep"] = [name for name in beside if name != survey.weights]
    for question in questions:
        question["column"] = page_facts.columns[survey.column_of(question["name"])]
    factor = (
        math.inf if math.isinf(survey.odds) else math.exp(min(waves * math.log(survey.odds), 700.0))
    )
    after = [survey.account(times).in_words for times in sorted({1, waves})]
    facts = {
        "survey": survey,
        "questions": questions,
        "mechanisms": [law for law in mechanisms_of(survey) if law["channel"] or law["technique"]],
        "sizes": sizes,
        "waves": waves,
        "factor": factor,
        "after": after,
        "fingerprints": _fingerprints(survey, to, bool(has_links)),
        "told": told(survey),
        "strata": group_rows(survey, strata),
        "in_points": {
            question["name"]: all(row["in_points"] for row in question["rows"])
            for question in questions
        },
        "influence": influence_in_words(survey),
        "facts": page_facts,
        "say": say,
    }
    return filled(Path(__file__).parent, "survey", **facts, **words)


def _notes(survey: Survey, question: Question) -> list[str]:
    """What a reader of the rows of a question has to know."""
    notes = []
    if isinstance(question, ModelQuestion):
        if question.technique is not None:
            notes.append(
                f"The report is that of the technique {question.technique.in_words}, which people "
                "can draw themselves, without a device."
            )
        if question.channel is not None:
            notes.append(
                f"Each person has one of {len(question.mechanisms)} mechanisms, which the column "
                f"{question.channel} names, and the numbers below are for as many people with each."
            )
        if question.model is not None and not question.model.assigned:
            notes.append("People choose their mechanism, and answers may be related to the choice.")
        if question.behaviors:
            names = ", ".join(f"“{name}”" for name in question.behaviors)
            notes.append(
                f"Some people may not follow the rule: their share is estimated too, as {names}."
            )
    if survey.stage is not None:
        notes.append(survey.stage.on_page)
    if question.edges is not None:
        edges = ", ".join(f"{edge:g}" for edge in question.edges)
        notes.append(f"The answers are classes of numbers, with the ends {edges}.")
    return notes


def _fingerprints(survey: Survey, to: str | None, invited: bool) -> dict[str, str]:
    """Digests of form, words and, if it is known where reports are sent, of the page; none if no
    device can draw the reports.
    """
    try:
        digests = {"form": form_digest(survey.form()), "words": survey.words_digest}
    except LdpoptError:
        if to is not None:
            raise
        return {}
    address = survey.words.to if to is None else to
    if not address:
        return digests
    try:
        text = page(survey, address, invited=invited)
    except LdpoptError:
        if to is not None:
            raise
        return digests  # such as of a language for which the page has no words
    digests["page"] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def _condition(survey: Survey, question: Question) -> str:
    """When a question is asked, in words; empty if always."""
    parts = []
    for name, answers in (question.only_if or {}).items():
        words = survey.words.first.questions.get(name)
        texts = [
            text_of(each) if words is None else words.answers.get(text_of(each), text_of(each))
            for each in answers
        ]
        parts.append(f"{name} is {' or '.join(texts)}")
    return ", and ".join(parts)


def _row_of(
    workload: Workload | None,
    place: int,
    names: Sequence[Hashable],
    inputs: Sequence[Hashable],
) -> Any:
    """The row of a workload for a number; None for the share of an answer, also of "not asked"."""
    if workload is None or names == inputs or place >= len(workload.names):
        return None
    is_same = workload.names[place] == names[place]
    return np.asarray(workload.matrix[place]) if is_same else None


def _question(survey: Survey, name: str, sizes: Sequence[int]) -> dict[str, Any]:
    """What the page has about a question; a row has words, half-widths by size, and how many open
    answers equal one.
    """
    question = survey.questions[name]
    words = survey.words.first.questions.get(name)

    def shown(label: Hashable) -> str:
        return (
            text_of(label) if words is None else words.answers.get(text_of(label), text_of(label))
        )

    source, missing = question.source, question.missing_answer
    workload = source if isinstance(source, Workload) else getattr(source, "workload", None)
    ticks = getattr(question, "ticks", ())
    facts: dict[str, Any] = {
        "name": name,
        "text": "" if words is None else words.text,
        "missing": question.missing,
    }
    answers = list(map(shown, ticks or question.inputs))
    if isinstance(question, NumberQuestion):
        answers = list(question.in_words)
    facts |= {"answers": answers, "has_ticks": bool(ticks)}
    facts["condition"] = _condition(survey, question)
    facts |= {
        "missing_answer": missing and shown(missing),
        "rows": [],
        "notes": _notes(survey, question),
    }
    try:
        precision = survey.precision(name)
    except LdpoptError as error:
        return facts | {"why_not": error.what}
    parameter = None if survey.stage is None else survey.stage.openly(question)
    kept = [place for place, width in enumerate(precision.half_width(1)) if width >= MIN_HALF_WIDTH]
    for place in kept[:MAX_ROWS]:
        row = _row_of(workload, place, precision.names, question.inputs)
        widths = [float(precision.half_width(size)[place]) for size in sizes]
        # of the largest open variance
        openly = float(precision.spans[place] ** 2 / 4 / precision.variances[place])
        openly = openly if parameter is None else parameter
        number = precision.names[place]
        is_label = bool(ticks) or parameter is not None
        text = shown(number) if is_label else number_in_words(number, row, question.inputs, shown)
        in_points = is_share(row) and parameter is None
        facts["rows"].append(
            {"text": text, "in_points": in_points, "widths": widths, "openly": openly}
        )
    return facts | {"why_not": "", "more": len(kept) - len(facts["rows"])}
