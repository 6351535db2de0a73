"""Simulated surveys: errors and coverage of every estimate, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import Float, require_kind, whole_number
from ldpopt.foundation.seeds import Purpose, Random, generator_of
from ldpopt.mechanism.questions import Question
from ldpopt.problem.prior import read_prior
from ldpopt.surveys.estimates import true_numbers
from ldpopt.surveys.survey import Survey
from ldpopt.surveys.ticks import TicksQuestion


def simulate_survey(
    survey: Survey,
    people: int,
    *,
    shares: Mapping[str, Any] | None = None,
    repeats: int = 200,
    confidence: float = 0.95,
    rng: Random = None,
) -> optional.pandas.DataFrame:
    """Draw the answers of people again and again, privatize, estimate, and compare with the truth.

    Parameters
    ----------
    survey : Survey
        The survey; answers to several questions are drawn independently.
    people : int
        How many people answer.
    shares : mapping question -> shares of the answers, or of each tick, optional
        Default: the guess (prior) of a design, else equal shares.
    repeats : int
        Number of surveys; default: ``200``.
    confidence : float
        Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
    rng : Generator, SeedSequence or int, optional
        Makes the draws repeatable; default: not repeatable.

    Returns
    -------
    DataFrame
        For each question and answer ``truth``, ``rmse`` (root mean squared error), ``coverage`` of
        the intervals and their mean ``half_width``. O(repeats people) time.

    Raises
    ------
    StatementError
        If there are shares of another question, or they do not fit.
    """
    require_kind(survey, Survey, "simulate_survey()")
    priors = supposed_shares(survey, shares)
    size = whole_number(people, "people", 1)
    draws = generator_of(rng, Purpose.SURVEYS)
    estimates = []
    for _ in range(whole_number(repeats, "repeats", 1)):
        table: dict[str, Any] = {}
        for name, question in survey.questions.items():
            codes = draws.choice(len(question.inputs), size, p=priors[name])
            if isinstance(question, TicksQuestion) and question.columns:
                table |= question.columns_of(codes)
            else:
                table[name] = [question.inputs[code] for code in codes.tolist()]
        reports = survey.privatize(optional.pandas.DataFrame(table), rng=draws)
        estimates.append(
            survey.estimate(reports, weights=np.ones(size), confidence=confidence, check_fit=False)
        )
    first = estimates[0]
    numbers = np.stack([each.to_frame()[["estimate", "low", "high"]] for each in estimates])
    truth = np.array(
        [
            true
            for name, each in first.items()
            for true in true_numbers(survey, name, priors[name], each)
        ]
    )
    values, low, high = np.moveaxis(numbers, -1, 0)
    rows = first.to_frame()[["question", "answer"]].assign(truth=truth)
    rows["rmse"] = np.sqrt(((values - truth) ** 2).mean(axis=0))
    rows["coverage"] = ((low <= truth) & (truth <= high)).mean(axis=0)
    return rows.assign(half_width=((high - low) / 2).mean(axis=0))


def supposed_shares(survey: Survey, shares: Mapping[str, Any] | None) -> dict[str, Float]:
    """Frequencies of the answers to each question in a simulation: given ones, those of a design,
    or equal ones.
    """
    if shares is not None:
        require_kind(shares, Mapping, "shares=", "pass {question: shares, ...}")
    if unknown := set(shares or {}) - set(survey.questions):
        name = min(unknown, key=str)
        raise StatementError(
            f"shares of {name!r}, which is not a question",
            code="unknown-question",
            do=nearest(name, survey.questions),
        )
    return {
        name: _prior(question, (shares or {}).get(name))
        for name, question in survey.questions.items()
    }


def _prior(question: Question, shares: Any) -> Float:
    """Frequencies of the answers to a question; shares of single ticks make ticks independent."""
    inputs = tuple(question.inputs)
    if isinstance(question, TicksQuestion) and (
        shares is None or set(shares) <= set(question.ticks)
    ):
        return question.prior({} if shares is None else shares, 0.5 if shares is None else 0.0)
    if shares is None:
        weights = (
            question.source.weights if isinstance(question.source, Design) else np.ones(len(inputs))
        )
        return np.asarray(weights / weights.sum())
    if isinstance(shares, Mapping):
        texts = {text_of(label): label for label in inputs}
        shares = {texts.get(str(label), label): share for label, share in shares.items()}
    return read_prior(shares, inputs)[0]
