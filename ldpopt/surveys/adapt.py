"""The second stage of a survey, from the reports of its first stage; see `Survey.adapt`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.answered import ANSWERED
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.options import Reading
from ldpopt.foundation.labels import label_numbers, text_of
from ldpopt.foundation.numbers import inner_share, real_number, require_choice, short_repr, truth
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.privacy.pure import PureLDP
from ldpopt.stages.families import AnswerFamily
from ldpopt.stages.maximum import estimate as most_likely
from ldpopt.stages.maximum import nearest_value
from ldpopt.stages.parameter import optimum
from ldpopt.stages.quantiles import quantile as bracket
from ldpopt.surveys.estimates import estimate_question, numbers_of
from ldpopt.surveys.form import MAX_ANSWERS
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.numbers import NumberQuestion
from ldpopt.surveys.questionnaire import Kind, Questionnaire
from ldpopt.surveys.second_stage import LEAST_RATE, SecondStage, ends_of_classes, is_ordered
from ldpopt.surveys.ticks import TicksQuestion
from ldpopt.tables.coding import TREATMENTS

ALONE = "make a survey of this question alone, with a report of its own"


@dataclass(frozen=True)
class Goal:
    """What a second stage is to estimate: one of a quantile, a normal mean and a rate."""

    quantile: float | None
    normal: float | None
    rate: bool
    between: Any

    @classmethod
    def read(cls, quantile: Any, normal: Any, rate: Any, between: Any) -> Goal:
        """Read what is stated; anything but one goal is refused."""
        stated = [quantile is not None, normal is not None, truth(rate, "rate")]
        if sum(stated) != 1:
            raise StatementError(
                f"{sum(stated)} of quantile, normal and rate are stated",
                code="goal",
                do="state one: quantile=0.5 for the median, normal= the standard deviation, or "
                "rate=True",
            )
        if between is not None and quantile is not None:
            raise StatementError(
                "between has no effect on a quantile",
                code="no-effect",
                do="leave it out: the reports alone say where a quantile is",
            )
        if quantile is not None:
            quantile = inner_share(quantile, "quantile", do="pass 0.5 for the median")
        if normal is not None:
            normal = real_number(normal, "normal", 0.0, 1e150)
        return cls(quantile, normal, bool(rate), between)

    def at(self, first: Questionnaire, edges: Any, value: float, reports: int) -> SecondStage:
        """The second stage at the value that a first one found."""
        (name, question) = next(iter(first.questions.items()))
        kind: Any = "rate" if self.rate else "quantile" if self.normal is None else "normal"
        return SecondStage(
            kind,
            self.quantile,
            self.normal,
            None if self.quantile is not None else self._domain(edges),
            edges,
            value if isfinite(value) else None,
            reports,
            first.budgets[name],
            str(question.randomizer.digest),
        )

    def _domain(self, edges: Any) -> tuple[float, float]:
        """The least and the largest value of the parameter; by default those of the classes."""
        if self.between is not None:
            return tuple(self.between) if isinstance(self.between, list) else self.between
        ends = [end for end in edges if isfinite(end)]
        return (LEAST_RATE if self.rate else ends[0], ends[-1])


def adapt_survey(
    first: Questionnaire,
    table: Any,
    kind: type[Kind],
    goal: Goal,
    *,
    epsilon: Any = None,
    missing: str | None = None,
    until: str = "",
) -> Kind:
    """Make the second stage of a survey; see `Survey.adapt`."""
    name, question = _only_question(first)
    if missing is not None:
        require_choice(missing, TREATMENTS, "missing")
    counts = first.count(table)[name]  # type: ignore[attr-defined]
    budget = _budget(first, epsilon)
    if goal.quantile is not None:
        stage, source = _quantile(first, goal, counts, missing, budget)
    else:
        stage, source = _parameter(first, goal, counts, missing, budget)
    instead = question.missing_answer if missing is None else None
    treatment: Any = question.missing if missing is None else missing
    if isinstance(question, NumberQuestion):
        asked: Question = NumberQuestion(source, treatment, instead, number=question.number)
    else:
        asked = Question(source, treatment, instead)
    words = first.words.to_dict()
    words.pop("until", None)
    if until:
        words["until"] = until
    _leave_out(words, name, question if instead is None else None)
    return kind(
        {name: asked},
        epsilon=epsilon if epsilon is not None or first.limit is None else first.limit.exact_text,
        title=first.title,
        words=words,
        fields=first.fields,
        stage=stage,
    )


def _only_question(first: Questionnaire) -> tuple[str, Question]:
    """The question of a survey, or the reason why it has no second stage."""
    name, question = next(iter(first.questions.items()))
    plain = "draw people one by one, with equal weights"
    ordered = "ask for a number, or for ordered answers"
    alone = "ask it with one mechanism of its own"
    third = "adapt the survey of the first stage"
    one_budget = "ask the first stage with one epsilon for everybody"
    once = "ask the question once in the first stage"
    weighted = not first.sample.is_plain or first.weights is not None
    reasons = (
        (first.stage is not None, "stage", "this is a second stage already", third),
        (first.joint is not None, "joint-stage", "the questions have one joint report", ALONE),
        (bool(first.trees), "tree-stage", "a report is on several questions", ALONE),
        (len(first.questions) > 1, "question-count", "the survey has several questions", ALONE),
        (bool(first.choices), "choices-stage", "people chose their epsilon", one_budget),
        (question.repeat, "repeated-stage", "it is asked twice", once),
        (weighted, "weights", "the survey has weights or a sample", plain),
        (isinstance(question, TicksQuestion), "ticks", "ticks have no order", ordered),
        (isinstance(question, ModelQuestion), "model", "it has a technique or a model", alone),
    )
    for is_so, code, problem, do in reasons:
        if is_so:
            problem = f"there is no second stage of {short_repr(name)}: {problem}"
            raise StatementError(problem, code=code, do=do)
    return name, question


def _budget(first: Questionnaire, epsilon: Any) -> PureLDP:
    """The budget of the second stage: that of the first one if none is stated."""
    if epsilon is not None:
        return PureLDP(epsilon)
    if first.limit is not None:
        return PureLDP(first.limit.exact_text)
    if not isfinite(first.epsilon):
        raise StatementError(
            "the first stage is not private for any epsilon",
            code="epsilon",
            do="state the epsilon of the second stage",
        )
    return PureLDP(first.epsilon)


def _quantile(
    first: Questionnaire, goal: Goal, counts: Any, missing: Any, budget: PureLDP
) -> tuple[SecondStage, Any]:
    """The second stage for a quantile, and the design of its reports."""
    name, question = next(iter(first.questions.items()))
    if not is_ordered(question):
        raise StatementError(
            f"the answers to {short_repr(name)} have no order that is stated",
            code="order",
            do='ask for a number, state edges, or ask with workload = "prefix"',
        )
    if not isinstance(question.randomizer, Mechanism):
        raise StatementError(
            f"the reports on {short_repr(name)} are sets of answers, and the errors of the shares "
            "up to each answer are not known",
            code="set-reports",
            do='ask the first stage with workload = "prefix"',
        )
    assert goal.quantile is not None
    edges = ends_of_classes(question)
    pilot = estimate_question(first, name, counts, Reading())
    instead = question.inputs[question.missing_code or 0] if pilot.method == ANSWERED else None
    source = bracket(pilot, goal.quantile, budget, missing=instead if missing is None else None)
    value = float(pilot.quantile(goal.quantile, edges=edges).values[0])
    return goal.at(first, edges, value, pilot.n_reports), source


def _parameter(
    first: Questionnaire, goal: Goal, counts: Any, missing: Any, budget: PureLDP
) -> tuple[SecondStage, Mechanism]:
    """The second stage for the parameter of a family, and its mechanism."""
    name, question = next(iter(first.questions.items()))
    if question.missing_answer is not None and missing is None:
        raise StatementError(
            f"{short_repr(name)} has an answer for missing ones, about which a family says nothing",
            code="missing-of-family",
            do='state missing: "refuse", and everybody has to answer in the second stage, or '
            '"leave_out", and reports show who did not',
        )
    inputs = _answers(question)
    edges = ends_of_classes(question)
    if goal.normal is not None and isinstance(question, NumberQuestion):
        # a normal number is rounded to the nearest one that can be given: the mean is that of the
        # numbers as they are given, as in the first stage
        edges = tuple(edge - question.number.step / 2 for edge in edges or ())
    numbers = label_numbers(inputs)
    if edges is None and numbers is not None and goal.rate:
        edges = (*map(float, numbers), inf)
    if edges is None:
        raise StatementError(
            f"nothing says of which numbers the answers to {short_repr(name)} are classes",
            code="order",
            do="ask for a number, or state edges",
        )
    starts = edges[:-1]
    if goal.rate and (starts[0] != 0 or sorted(starts) != [*starts] or starts != _whole(starts)):
        raise StatementError(
            f"the classes of {short_repr(name)} are not those of a number of events from 0 on",
            code="event-classes",
            do="ask for a number with least = 0, or classes with whole ends from 0 on",
        )
    if len(inputs) > MAX_ANSWERS:
        raise StatementError(
            f"{short_repr(name)} has {len(inputs):,} numbers",
            code="number-count",
            do="state classes of the number: starts, in a new first stage",
        )
    stage = goal.at(first, edges, 0.0, 0)
    family = stage.family(inputs)
    pilot = estimate_question(first, name, counts, Reading())
    value = _value(first, family, pilot, counts)
    chosen = optimum(family, value, budget)
    return replace(stage, value=value, reports=pilot.n_reports), chosen.mechanism


def _whole(starts: Any) -> Any:
    """Numbers without what is behind the point."""
    return tuple(np.floor(starts).tolist())


def _answers(question: Question) -> tuple[Any, ...]:
    """The answers of people who answer, all numbers of one that is rounded."""
    if isinstance(question, NumberQuestion):
        return question.number.labels
    code = question.missing_code
    return tuple(each for place, each in enumerate(question.inputs) if place != code)


def _value(first: Questionnaire, family: AnswerFamily, pilot: Estimate, counts: Any) -> float:
    """The parameter as the first stage found it.

    It is the most likely one; of a rounded number its mean, and of reports that are sets, or with
    an answer for missing ones, the one whose numbers are nearest to the estimated ones.
    """
    name, question = next(iter(first.questions.items()))
    law = question.randomizer
    if isinstance(question, NumberQuestion) and question.is_rounded:
        return family.read(pilot.values[0])
    if isinstance(law, Mechanism) and tuple(law.inputs) == family.inputs:
        return float(most_likely(family, law, counts, check_fit=False).values[0])
    bounds: Any = pilot.bounds
    wanted = bounds.answered if pilot.method == ANSWERED else numbers_of(first, name).wanted
    return nearest_value(family, pilot.values[: len(wanted)], wanted)


def _leave_out(words: dict[str, Any], name: str, question: Question | None) -> None:
    """Leave out the words of an answer for missing ones that is no answer any more."""
    if question is None or question.missing_answer is None:
        return
    answers = words.get("questions", {}).get(name, {}).get("answers", {})
    answers.pop(text_of(question.missing_answer), None)
