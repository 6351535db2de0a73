"""The codebook of a survey: what each report in a table means."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.questionnaire import Questionnaire

Meaning = tuple[Any, str, float]  # report, the answers that give it most often, how much more often


def codebook(survey: Questionnaire) -> list[dict[str, Any]]:
    """Rows: a column, a report (or a number of one), the answers that give it most often, and how
    much more often.
    """
    return [
        {"column": column, "report": text_of(report), "likely": answers, "times": times}
        for column, law in laws_of(survey)
        for report, answers, times in _meanings(law)
    ]


def matrix_of(survey: Questionnaire) -> list[dict[str, Any]]:
    """Rows: a column, an answer, the code of a report from 1 on, the report, and its probability
    under the answer, exactly: the design matrix of other programs for randomized response.

    Raises
    ------
    StatementError
        If a column has sets of answers as reports, which are too many to list.
    """
    rows = []
    for column, law in laws_of(survey):
        if not isinstance(law, Mechanism):
            raise StatementError(
                f"the reports of {column!r} are sets of answers, too many to list their "
                "probabilities",
                code="unlisted",
                do="use the estimates of ldpopt, or its values of single reports (survey values)",
            )
        for x, answer in enumerate(law.inputs):
            for y, report in enumerate(law.outputs):
                row = {"column": column, "answer": text_of(answer), "code": y + 1}
                probability = int(law.counts[x, y]) / law.denominator
                rows.append(row | {"report": text_of(report), "probability": probability})
    return rows


def laws_of(survey: Questionnaire) -> Iterator[tuple[str, Any]]:
    """What draws each column of reports, or the reports of people with each of its mechanisms."""
    for column, law in survey.randomizers.items():
        if not isinstance(law, AssignedMechanisms):
            yield column, law
            continue
        # the column, not protected, that says which mechanism a person has
        (clear,) = survey.asked[column].beside
        for name, each in law.mechanisms.items():
            yield f"{column} ({clear} {text_of(name)})", each


def _meanings(law: Any) -> list[Meaning]:
    """What each report of a mechanism means, or each number in the reports of a protocol."""
    if isinstance(law, Mechanism):
        return _meanings_of_outputs(law)
    is_pattern = isinstance(law, YesNoPatterns)
    times = (1 + law.bias) / (1 - law.bias) if is_pattern else float(_times_in_set(law))
    names = [
        ": ".join(map(text_of, label)) if isinstance(label, tuple) else text_of(label)
        for label in law.inputs
    ]
    return [(number, f"the list has {name}", times) for number, name in enumerate(names)]


def _times_in_set(law: SubsetSelection) -> Fraction:
    """How many times as often a set has the true answer as another one.

    A set with one answer and not the other has larger odds: those of the whole report.
    """
    others = law.p * (law.size - 1) + (1 - law.p) * law.size  # expected number in the set
    return law.p * (len(law.inputs) - 1) / others


def _meanings_of_outputs(law: Mechanism) -> list[Meaning]:
    """What each output of a mechanism means."""
    likely = likely_answers(np.asarray(law.counts / law.denominator))
    return [
        (report, ", ".join(text_of(law.inputs[x]) for x in places), times)
        for report, (places, times) in zip(law.outputs, likely, strict=True)
    ]


def likely_answers(channel: Float) -> list[tuple[list[int], float]]:
    """Of each column of probabilities: the answers nearer to the most likely one than to the least,
    the most likely ones first, and how many times as often the first of all gives it as the last.

    An answer that never gives the output is far from all others: if there is one, those that can
    give it are all near.
    """
    most = channel.max(axis=0)
    least = channel.min(axis=0)
    is_likely = (channel >= np.sqrt(most * least) * (1 - 1e-12)) & (channel > 0)
    falling = np.argsort(-channel, axis=0, kind="stable")
    answers = [
        [int(x) for x in order if column[x]]
        for order, column in zip(falling.T, is_likely.T, strict=True)
    ]
    # no answer gives an output that never occurs, and none more often than another
    ratios = np.divide(most, least, out=np.where(most > 0, np.inf, 1.0), where=least > 0)
    return list(zip(answers, ratios.tolist(), strict=True))
