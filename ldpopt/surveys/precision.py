"""What is known before anybody is asked: variances of the numbers of a survey, and the numbers
that an estimate is about if the answers are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.planning import Precision, precision
from ldpopt.foundation.numbers import Float, require_kind
from ldpopt.mechanism.conditions import (
    path_shares,
    paths_of,
)
from ldpopt.mechanism.questions import Question
from ldpopt.problem.workload import Workload
from ldpopt.surveys.estimates import numbers_of
from ldpopt.surveys.own_columns import precision_among_asked
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.repeat import RepeatedQuestion
from ldpopt.surveys.shared import SharedQuestion
from ldpopt.surveys.trees import ancestors


def precision_of(
    survey: Questionnaire,
    name: str,
    confidence: float,
    prior: Any = None,
    others: Mapping[str, Any] | None = None,
) -> Precision:
    """Variances of the numbers of a question; see `Survey.precision`."""
    if others is not None:
        require_kind(others, Mapping, "others", "pass {question: guess}")
    column = survey.column_of(name)
    asked = survey.asked[column]
    numbers = numbers_of(survey, name)
    if isinstance(asked, SharedQuestion):
        plan = asked.precision(name, confidence, prior, others, numbers)
    elif isinstance(asked, RepeatedQuestion):
        plan = asked.precision(numbers, confidence, prior)
    elif asked.excluded_places(numbers.names) and asked.before:
        plan = precision_among_asked(
            name, asked, numbers, confidence, {**(others or {}), name: prior}
        )
    else:
        plan = precision(survey.sources[column], confidence=confidence, prior=prior)
    if survey.has_all_reports:
        return plan
    return replace(plan, variances=plan.variances * len(survey.asked))


def true_numbers(
    survey: Questionnaire, name: str, priors: Mapping[str, Float], estimate: Estimate
) -> list[float]:
    """The numbers of a question that an estimate is about, if the answers to all questions have
    these frequencies, of one that not everybody is asked among those who are.
    """
    names = estimate.labels or ()
    excluded = [names[place] for place in survey.questions[name].excluded_places(names)]
    numbers = _numbers_among_all(survey, name, priors)
    answered = 1 - sum(numbers[each] for each in excluded)
    return [numbers[each] / (1.0 if each in excluded else answered) for each in names]


def _numbers_among_all(
    survey: Questionnaire, name: str, priors: Mapping[str, Float]
) -> dict[Any, float]:
    """The numbers of a question among all people."""
    question = survey.questions[name]
    asked = survey.asked[survey.column_of(name)]
    prior = shares_of_answers(survey.questions, name, priors)
    if isinstance(asked, SharedQuestion) and asked.is_skipped(name):
        source = asked.numbers_of(name)
        known = {each: shares_of_answers(survey.questions, each, priors) for each in asked.parts}
        known |= {each: priors[each] for each in asked.parts if asked.is_skipped(each)}
        values = source.wanted @ path_shares(asked.questions, asked.paths, known)
        return dict(zip(source.names, values.tolist(), strict=True))
    source = question.source
    wanted = source.matrix if isinstance(source, Workload) else None
    if wanted is None:
        source = numbers_of(survey, name)
        wanted = source.wanted
    if len(prior) < wanted.shape[1]:  # nobody has a behavior
        prior = np.append(prior, np.zeros(wanted.shape[1] - len(prior)))
    return dict(zip(source.names, (wanted @ prior).tolist(), strict=True))


def shares_of_answers(
    questions: Mapping[str, Question], name: str, priors: Mapping[str, Float]
) -> Float:
    """Frequencies of the answers to a question among all people, with the one for those who are not
    asked; these have none if it is part of a tree.
    """
    before = ancestors(name, questions)
    if not before:
        return priors[name]
    chain = {each: questions[each] for each in (*before, name)}
    paths = paths_of(chain)
    shares = path_shares(chain, paths, priors)
    size = len(questions[name].inputs)
    codes = [size if path[-1] is None else path[-1] for path in paths]
    return np.asarray(np.bincount(codes, shares, minlength=size + 1)[:size], dtype=np.float64)
