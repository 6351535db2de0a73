"""Comparison of the schemes of a survey in which some questions depend on others: a tree is one of
the reports that share a budget, or one of those of which one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.estimation.counts import source_of
from ldpopt.estimation.planning import precision
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.conditions import NOT_ASKED, count_paths
from ldpopt.mechanism.questions import OWN, Question
from ldpopt.surveys.columns import solved_column, with_before
from ldpopt.surveys.joint import JointQuestion, is_yes_no, joint_source
from ldpopt.surveys.own_columns import precision_among_asked
from ldpopt.surveys.shared import MAX_PATHS, SharedQuestion, read_priors
from ldpopt.surveys.trees import Trees, require_conditions, trees_of

Variances = dict[str, float]


def compare_columns(
    questions: Mapping[str, Question], budget: Budget, stated: Mapping[str, Any]
) -> tuple[dict[str, Variances], JointQuestion | None]:
    """Average variances of the numbers of each question by scheme, and the joint report.

    Fake data are left out: they are never better than one question. Numbers of a question that not
    everybody is asked are those among the people who are.
    """
    require_conditions(questions)
    trees = trees_of(questions)
    priors = read_priors(questions, stated)
    count = len(questions)
    columns = count - sum(len(names) - 1 for names in trees.values())
    part = budget.share(Fraction(1, count))
    nats = budget.lower_nats / count
    shares = {name: Budget(nats * len(names)) for name, names in trees.items()}
    split = _solved(questions, trees, {name: shares.get(name, part) for name in questions})
    whole = _solved(questions, trees, dict.fromkeys(questions, budget))
    variances = {
        "split": _variances(questions, trees, split, priors),
        "one_question": {
            name: columns * variance
            for name, variance in _variances(questions, trees, whole, priors).items()
        },
    }
    joint = None
    is_possible = count > 1 and not any(each.report == OWN for each in questions.values())
    if is_possible and (is_yes_no(questions) or count_paths(questions) <= MAX_PATHS):
        joint = JointQuestion.of(questions, joint_source(questions, budget))
        variances["joint"] = {name: _of_shared(joint, name, priors) for name in questions}
    return variances, joint


def _solved(
    questions: Mapping[str, Question], trees: Trees, budgets: Mapping[str, Budget]
) -> dict[str, Question]:
    """The best report of each column."""
    inside = {name for names in trees.values() for name in names[1:]}
    asked = {}
    for name in questions:
        if name not in inside:
            parts = {each: questions[each] for each in trees.get(name, (name,))}
            asked[name] = solved_column(parts, budgets[name])
    solved = {
        part: each
        for name in asked
        for part, each in (asked[name].parts or {name: asked[name]}).items()
    }
    return with_before({name: solved[name] for name in questions}, asked, trees)[1]


def _variances(
    questions: Mapping[str, Question],
    trees: Trees,
    asked: Mapping[str, Question],
    priors: Mapping[str, Float],
) -> Variances:
    """Average variance of the numbers of each question."""
    column = {each: name for name, names in trees.items() for each in names}
    return {name: _variance(name, asked[column.get(name, name)], priors) for name in questions}


def _variance(name: str, asked: Question, priors: Mapping[str, Float]) -> float:
    """Average variance of the numbers of a question, from the reports of its column."""
    if isinstance(asked, SharedQuestion):
        return _of_shared(asked, name, priors)
    numbers = source_of(asked.numbers, name)
    chain = {**asked.before, name: asked}
    known = {each: priors.get(each) for each in chain}
    if asked.before and asked.excluded_places(numbers.names):
        prior = known[name]
        stated: dict[str, Any] = {each: guess for each, guess in known.items() if each != name}
        size = sum(answer != NOT_ASKED for answer in asked.inputs)
        stated[name] = np.full(size, 1 / size) if prior is None else prior[:size]
        plan = precision_among_asked(name, asked, numbers, 0.95, stated)
        return float(plan.variances.mean())
    size = len(asked.inputs)
    guess = known[name]
    shares = np.full(size, 1 / size) if guess is None else guess
    return float(precision(numbers, prior=shares).variances.mean())


def _of_shared(asked: SharedQuestion, name: str, priors: Mapping[str, Float]) -> float:
    """Average variance of the numbers of a question from a report on several."""
    guesses = []
    for each, part in asked.parts.items():
        size = len(part.inputs)
        guesses.append(priors.get(each, np.full(size, 1 / size)))
    return float(asked.variances(name, guesses).mean())
