"""The page of a survey: what all questions together cost a person, and what the people who take part give."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ldpopt.errors import LdpoptError
from ldpopt.foundation.display import filled
from ldpopt.foundation.labels import text_of
from ldpopt.plotting.report.words import (
    MIN_HALF_WIDTH,
    gap_in_words,
    half_width_in_words,
    is_share,
    number_in_words,
    odds_in_words,
    program,
)
from ldpopt.problem.workload import Workload
from ldpopt.surveys.survey import Survey

MAX_ROWS = 12  # largest number of estimates of a question in its table
CONFIDENCE = 0.95
MOST_SHOWN = 1e6  # odds from which a picture shows nothing

Where = Literal["device", "office"]


def survey_page(
    survey: Survey,
    *,
    source: str,
    title: str,
    sizes: Sequence[int],
    people: int | None,
    waves: int,
    where: Where | None,
    keep: Sequence[str],
    belief_ranges: Callable[[float], Any],
) -> str:
    """The page of a survey as HTML; see `report`."""
    questions = [_question(survey, name, sizes, people) for name in survey.questions]
    is_bounded = not math.isinf(survey.odds)
    factor = math.exp(min(waves * math.log(survey.odds), 700.0)) if is_bounded else math.inf
    proofs = survey.certificates
    points = [width for one in questions for width in one["points"]]
    return filled(
        Path(__file__).parent,
        "survey",
        title=survey.title or title,
        questions=questions,
        scheme="split" if survey.joint is None and survey.one_question is None else survey.scheme,
        epsilon=survey.epsilon,
        waves=waves,
        after=[survey.account(times).in_words for times in sorted({1, waves})],
        is_bounded=is_bounded,
        factor=odds_in_words(factor) if is_bounded else "",
        ranges=belief_ranges(factor) if factor < MOST_SHOWN else [],
        where=where,
        keep=[name for name in keep if name != survey.weights],
        weights=survey.weights,
        shows_missing=survey.unprotected,
        sizes=sizes,
        people=people,
        coarse=[half_width_in_words(width, True) for width in (min(points), max(points))] if points else None,
        confidence=round(100 * CONFIDENCE),
        proved=list(proofs),
        gap=gap_in_words(max((proof.relative_gap for proof in proofs.values()), default=0.0)),
        unproved=[name for name in survey.asked if name not in proofs],
        source=source,
        program=program(),
    )


def _question(survey: Survey, name: str, sizes: Sequence[int], people: int | None) -> dict[str, Any]:
    """What the page has about a question; ``points`` are the half-widths of its shares for the number of people."""
    question, words = survey.questions[name], survey.words.questions.get(name)

    def shown(label: Hashable) -> str:
        text = text_of(label)
        return words.answers.get(text, text) if words is not None else text

    answer = None if question.missing_answer is None else shown(question.missing_answer)
    found: dict[str, Any] = {"name": name, "text": words.text if words is not None else "", "missing_answer": answer}
    found |= {"answers": list(map(shown, question.inputs)), "missing": question.missing}
    found |= {"epsilon": survey.budgets[name], "rows": [], "points": [], "more": 0, "why_not": "", "has_shares": True}
    try:
        precision = survey.precision(name, confidence=CONFIDENCE)
    except LdpoptError as error:
        return found | {"why_not": error.what}
    workload = question.source if isinstance(question.source, Workload) else getattr(question.source, "workload", None)
    for place, number in enumerate(precision.names):
        if precision.half_width(1)[place] < MIN_HALF_WIDTH:
            continue
        if len(found["rows"]) == MAX_ROWS:
            found["more"] = len(precision.names) - place
            break
        row = None if workload is None or precision.names == question.inputs else np.asarray(workload.matrix[place])
        widths = [float(precision.half_width(size)[place]) for size in sizes]
        found["has_shares"] &= is_share(row)
        if people is not None and is_share(row):
            found["points"].append(widths[list(sizes).index(people)])
        shown_widths = [half_width_in_words(width, is_share(row)) for width in widths]
        openly = float(precision.spans[place]) ** 2 / 4 / float(precision.variances[place])  # largest open variance
        found["rows"].append(
            (number_in_words(number, row, question.inputs, shown), shown_widths, max(1, round(openly * (people or 0))))
        )
    return found
