r"""The share of the people who are asked a question, which its own reports show, and those on the
question that it depends on: a test of the logic of a page.

With :math:`\hat p` and :math:`\hat p'` both estimates of the share ``p``, the difference has the
variance

.. math:: \sigma^2 + \sigma'^2 - 2 c / N, \qquad c = E[v v'] - p^2,

where ``c`` is :math:`p (1 - p)` if everybody reports on both, and 0 if one question is drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ldpopt.estimation.answered import RatioBand
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.conditions import NOT_ASKED
from ldpopt.surveys.questionnaire import Questionnaire


@dataclass(frozen=True)
class AskedTwice:
    """The share of people who are asked a question by its reports, less that by those that it
    depends on, and the standard error of this difference.
    """

    question: str
    gate: str
    difference: float
    std_error: float

    @property
    def in_words(self) -> str:
        """A note for readers of the table."""
        return (
            f"the share of people who are asked {self.question} is there twice, by its reports and "
            f"those on {self.gate}: the difference is {self.difference:.2g}, or "
            f"{self.difference / self.std_error:.2g} standard errors"
        )


def asked_twice(
    survey: Questionnaire,
    estimates: Mapping[str, Estimate],
    sources: Mapping[str, Any],
    counts: Mapping[str, Counts],
) -> Iterator[AskedTwice]:
    """The differences for all questions with a report of their own that depend on the answers to
    one question whose shares are estimated; ``counts`` are by column.
    """
    for name, question in survey.questions.items():
        gates = tuple(question.only_if or ())
        before = survey.asked[survey.column_of(name)].before
        if len(gates) != 1 or gates[0] not in before or question.otherwise is not None:
            continue
        (gate,) = gates
        answers = (question.only_if or {})[gate]
        row = _row_of_gate(survey, gate, sources[gate], answers)
        seen = counts[survey.column_of(name)]
        if row is None or seen.sampled is not None or not seen.total > 0:
            continue
        names = tuple(sources[name].names)
        last = -np.array([float(number == NOT_ASKED) for number in names])
        pair = [(1.0, last, name), (0.0, row, gate)]
        values: list[float] = []
        errors: list[float] = []
        fakes: list[float] = []
        for constant, numbers, each in pair:
            band: Any = estimates[each].bounds
            band = band.of_all if isinstance(band, RatioBand) else band
            sums = band.contrast(numbers[None])
            values.append(constant + float(sums.values[0]))
            errors.append(float(sums.errors[0]))
            fakes.append(constant + float(numbers @ sources[each].wanted.mean(axis=1)))
        shared = _covariance(survey, float(np.clip(np.mean(values), 0, 1)), *fakes) * seen.scale
        variance = errors[0] ** 2 + errors[1] ** 2 - 2 * shared
        if variance > 0:  # the same reports need not have a standard error
            yield AskedTwice(name, gate, values[0] - values[1], sqrt(variance))


def _covariance(survey: Questionnaire, share: float, fake: float, other: float) -> float:
    """Covariance of one person's values for the share that is asked, from two columns."""
    if survey.one_question is None:
        return share * (1 - share)
    if not survey.has_fake_data:
        return 0.0
    d = survey.one_question.count
    true = (d * share - (d - 1) * fake) * other + (d * share - (d - 1) * other) * fake
    return true / d + (1 - 2 / d) * fake * other - share**2


def _row_of_gate(
    survey: Questionnaire, gate: str, source: Any, answers: tuple[Hashable, ...]
) -> Float | None:
    """Which numbers of a question add up to the share of some answers; None if none do."""
    question = survey.questions[gate]
    ticks = getattr(question, "ticks", ())
    if isinstance(source, ReportModel) or not hasattr(source, "names"):
        return None
    names = list(source.names)
    if ticks:
        texts = list(answers) if len(answers) == 1 else [None]
    else:
        texts = [question.inputs[question.place_of(answer) or 0] for answer in answers]
    if not set(texts) <= set(names):
        return None
    return np.array([float(number in texts) for number in names])
