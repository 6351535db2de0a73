"""Simulated surveys: errors and coverage of every estimate, before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.estimation.chosen import CHOICE
from ldpopt.foundation import optional
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import Float, require_kind, whole_number
from ldpopt.foundation.seeds import Purpose, Random, generator_of
from ldpopt.mechanism.conditions import NOT_ASKED, Conditions
from ldpopt.mechanism.questions import Question
from ldpopt.problem.prior import read_prior
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.precision import true_numbers
from ldpopt.surveys.repeat import RepeatedQuestion, read_weights
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
        The survey; answers to several questions are drawn independently, where they are asked.
    people : int
        How many people answer.
    shares : mapping question -> shares of the answers, or of each tick, optional
        With behaviors also those of people who do not follow the rule; of a question that not
        everybody is asked, shares among those who are. Default: the guess (prior)
        of a design, else equal shares, and nobody who does not follow the rule.
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
        reports = _drawn(survey, size, priors, draws)
        estimates.append(
            survey.estimate(reports, weights=np.ones(size), confidence=confidence, check_fit=False)
        )
    first = estimates[0]
    numbers = np.stack([each.to_frame()[["estimate", "low", "high"]] for each in estimates])
    known = {name: each.input_shares(priors[name]) for name, each in survey.questions.items()}
    truth = np.array(
        [true for name, each in first.items() for true in true_numbers(survey, name, known, each)]
    )
    values, low, high = np.moveaxis(numbers, -1, 0)
    rows = first.to_frame()[["question", "answer"]].assign(truth=truth)
    rows["rmse"] = np.sqrt(((values - truth) ** 2).mean(axis=0))
    rows["coverage"] = ((low <= truth) & (truth <= high)).mean(axis=0)
    return rows.assign(half_width=((high - low) / 2).mean(axis=0))


def _drawn(survey: Survey, size: int, priors: Mapping[str, Float], draws: Any) -> Any:
    """Draw the answers of people and their reports."""
    table: dict[str, Any] = {
        column: _equal_parts(names, size, draws) for column, names in _channels(survey).items()
    }
    behaving: dict[str, Any] = {}
    conditions = Conditions(survey.questions)
    for name, question in survey.questions.items():
        codes = draws.choice(len(priors[name]), size, p=priors[name])
        if len(priors[name]) > len(question.given):
            behaving[name] = codes - len(question.given)
            codes = np.where(behaving[name] < 0, codes, 0)  # others give no answer
        if isinstance(question, TicksQuestion) and question.columns:
            table |= question.columns_of(codes)
        else:
            given = question.given
            asked = conditions.asked(name, codes).tolist()
            answers = [given[code] for code in codes.tolist()]
            people = zip(answers, asked, strict=True)
            table[name] = [answer if is_asked else None for answer, is_asked in people]
    reports = survey.privatize(optional.pandas.DataFrame(table), rng=draws)
    for name, kinds in behaving.items():
        _put_behaviors(reports, name, survey.questions[name], kinds, draws)
    return reports


def _channels(survey: Survey) -> dict[str, list[Any]]:
    """The names of the mechanisms by their clear columns."""
    columns: dict[str, list[Any]] = {}
    if survey.choices:  # one column for all questions
        return {CHOICE: list(survey.choices)}
    for question in survey.questions.values():
        if isinstance(question, ModelQuestion) and question.channel is not None:
            names = list(question.mechanisms)
            if columns.setdefault(question.channel, names) != names:
                raise StatementError(
                    f"two questions have other mechanisms in the column {question.channel!r}",
                    code="other-channels",
                    do="give both the same names, or columns of their own",
                )
    return columns


def _equal_parts(names: Sequence[Any], size: int, draws: Any) -> list[Any]:
    """Names for some people, as many people for each, at random."""
    return [names[place % len(names)] for place in draws.permutation(size).tolist()]


def _put_behaviors(reports: Any, name: str, question: Question, kinds: Any, draws: Any) -> None:
    """Replace the reports of people who do not follow the rule: ``kinds`` has the place of the
    behavior of each person, below 0 for those who do.
    """
    assert isinstance(question, ModelQuestion)
    assert question.model is not None
    column = reports[name].to_numpy(dtype=object, copy=True)
    channels = None if question.channel is None else reports[question.channel].to_numpy()
    for part in question.model.parts:
        is_part = np.ones(len(kinds), bool) if channels is None else channels == part.name
        for place, row in enumerate(part.behaviors):
            # of a question that is not drawn for a person there is no report to replace
            people = np.flatnonzero(is_part & (kinds == place) & reports[name].notna().to_numpy())
            codes = draws.choice(len(row), len(people), p=np.array(row, dtype=float))
            for person, code in zip(people.tolist(), codes.tolist(), strict=True):
                column[person] = part.mechanism.outputs[code]
    reports[name] = column


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
    """Frequencies of the answers to a question, and of the behaviors of a model that are named.

    Shares of single ticks make ticks independent. Without shares the answers are equally common, or
    as the design weights them, and everybody is asked.
    """
    inputs = tuple(question.given)
    if isinstance(question, TicksQuestion) and (
        shares is None or set(shares) <= set(question.ticks)
    ):
        return question.prior({} if shares is None else shares, 0.5 if shares is None else 0.0)
    if shares is None:
        weights = np.ones(len(inputs))
        if isinstance(question.source, Design) and np.ptp(question.source.weights) > 0:
            weights = question.given_shares(question.source.weights)
        if question.only_if:
            weights = np.where([answer == NOT_ASKED for answer in inputs], 0.0, weights)
        if isinstance(question, RepeatedQuestion):
            weights = np.where(np.arange(len(inputs)) == question.inconsistent_code, 0.0, weights)
        return np.asarray(weights / weights.sum())
    if isinstance(question, ModelQuestion):
        # a mapping without behaviors is about the answers alone
        is_of_answers = isinstance(shares, Mapping) and not set(shares) & set(question.behaviors)
        inputs = inputs if is_of_answers else (*inputs, *question.behaviors)
    if isinstance(shares, Mapping):
        # keys of files are text
        texts = {text_of(label): label for label in inputs}
        shares = {texts.get(str(label), label): share for label, share in shares.items()}
        if question.only_if and NOT_ASKED in inputs:
            shares = {NOT_ASKED: 0.0} | shares
    if isinstance(question, RepeatedQuestion):
        return read_weights(question, shares)
    return read_prior(shares, inputs)[0]
