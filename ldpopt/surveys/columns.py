"""The columns of reports of a survey: which questions have one together, and what draws each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.mechanism.conditions import NOT_ASKED
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload
from ldpopt.surveys.numbers import require_not_rounded
from ldpopt.surveys.ticks import TicksQuestion, tick_workload
from ldpopt.surveys.trees import (
    TreeQuestion,
    Trees,
    ancestors,
    as_part,
    require_conditions,
    tree_source,
    trees_of,
)

Pairs = tuple[tuple[str, str], ...]


def read_pairs(pairs: Any, names: Sequence[str]) -> Pairs:
    """Read pairs of questions of which a table is wanted."""
    read = []
    for pair in listed_items(pairs, "pairs", "pass a list of pairs of questions"):
        two = tuple(listed_items(pair, "a pair", "pass two questions"))
        if len(two) != 2 or two[0] == two[1]:
            raise StatementError(
                f"{short_repr(pair)} is no pair of questions",
                code="two-questions",
                do='pass pairs=[("smokes", "drinks")]',
            )
        for name in two:
            if name not in names:
                raise StatementError(
                    f"{short_repr(name)}, of which a table is wanted, is no question",
                    code="question",
                    do=nearest(name, names),
                )
        read.append(two)
    return tuple(read)


def with_trees(stated: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, TreeQuestion]]:
    """The questions with those of trees that were found before in their places, and these trees."""
    trees = {name: each for name, each in stated.items() if isinstance(each, TreeQuestion)}
    parts = {name: part for tree in trees.values() for name, part in tree.parts.items()}
    questions: dict[str, Any] = {}
    for name, question in stated.items():
        questions[name] = parts.get(name, question)
        for other in trees[name].parts if name in trees else ():
            if other not in stated:
                questions[other] = parts[other]
    return questions, trees


def columns_of(
    questions: Mapping[str, Question],
    known: Mapping[str, TreeQuestion],
    limit: Budget | None,
    scheme: str,
    pairs: Pairs = (),
) -> tuple[dict[str, Question], dict[str, Question]]:
    """The questions with what draws their reports, and those with a column: a tree has that of its
    first question. ``known`` trees were solved before; the others that have only a workload share
    what they leave of the limit.
    """
    require_conditions(questions)
    trees = trees_of(questions)
    _require_found(trees, known, pairs)
    require_together(pairs, trees)
    for name in (each for pair in pairs for each in pair):
        require_not_rounded(name, questions[name])
    first = {name: root for root, names in trees.items() for name in names}
    waiting = [
        name
        for name, question in questions.items()
        if isinstance(question.source, Workload) and first.get(name, name) not in known
    ]
    fixed = [
        known.get(name, question) for name, question in questions.items() if name not in waiting
    ]
    fixed = [each for each in fixed if not isinstance(each.source, Workload)]
    budgets = _budgets(waiting, fixed, limit, scheme)
    asked: dict[str, Question] = {}
    solved: dict[str, Question] = {}
    for name in questions:
        if first.get(name, name) == name:
            names = trees.get(name, (name,))
            asked[name] = known[name] if name in known else solved_column(
                {each: questions[each] for each in names},
                budget_of([budgets[each] for each in names if each in budgets], scheme),
                pairs=pairs,
            )  # fmt: skip
            solved |= dict(asked[name].parts) if name in trees else {name: asked[name]}
    ordered = {name: solved[name] for name in questions}
    return with_before(ordered, asked, trees)


def with_before(
    questions: Mapping[str, Question], asked: Mapping[str, Question], trees: Trees
) -> tuple[dict[str, Question], dict[str, Question]]:
    """The questions and the columns, each with the questions of other columns on which it depends
    whether somebody is asked.
    """
    columns: dict[str, Question] = {}
    for name, question in asked.items():
        if name not in trees and question.only_if and question.otherwise is None:
            _require_not_asked(name, question)
        names = trees.get(name, (name,))
        before = {each for part in names for each in ancestors(part, questions)} - set(names)
        columns[name] = question
        if before:
            columns[name] = question.after(
                {each: questions[each] for each in questions if each in before}
            )
    alone = {name: columns[name] for name in questions if name in columns and name not in trees}
    return {name: alone.get(name, question) for name, question in questions.items()}, columns


def solved_column(
    parts: Mapping[str, Question],
    epsilon: Budget | None,
    priors: Mapping[str, Any] | None = None,
    pairs: Pairs = (),
) -> Question:
    """What draws the best reports of a tree, or of one question that is stated by its numbers."""
    parts = {name: as_part(question, parts) for name, question in parts.items()}
    (name, question), *others = parts.items()
    if others:
        assert epsilon is not None
        tables = tuple(pair for pair in pairs if set(pair) <= set(parts))
        return TreeQuestion.of(parts, tree_source(parts, epsilon, priors, tables), tables)
    if not isinstance(question.source, Workload):
        return question
    from ldpopt.designing.design import design

    assert epsilon is not None
    workload = question.source
    if isinstance(question, TicksQuestion):
        workload = tick_workload(question.ticks)
    prior = None if priors is None else priors.get(name)
    if prior is not None and len(prior) < workload.shape[1]:  # as many people are not asked
        prior = np.append(prior, prior.sum())
    return replace(question, source=design(workload, PureLDP(epsilon), weights=prior))


def _budgets(
    waiting: Sequence[str], fixed: Sequence[Question], limit: Budget | None, scheme: str
) -> dict[str, Budget]:
    """The budget of each question whose mechanism is to be found: equal parts of what is left."""
    if not waiting:
        return {}
    if limit is None:
        raise StatementError(
            f"question {waiting[0]!r} has answers, and no mechanism",
            code="mechanism",
            do="pass a mechanism or design, or epsilon= for the budget of a person",
        )
    if scheme in ("one_question", "fake_data"):
        return dict.fromkeys(waiting, limit)
    nats = limit.lower_nats
    for question in fixed:
        odds = question.randomizer.odds
        if odds is None:
            raise StatementError(
                "a mechanism is not private for any epsilon, and leaves no budget for "
                f"{waiting[0]!r}",
                code="infinite-epsilon",
                do="name mechanisms with a finite epsilon",
            )
        nats -= log_enclosure(odds)[1]
    if nats <= 0:
        raise StatementError(
            f"the other questions spend the epsilon of {float(limit):.6g}, and nothing is left for "
            f"{waiting[0]!r}",
            code="spent",
            do="pass a larger epsilon",
        )
    return dict.fromkeys(waiting, Budget(nats / len(waiting)))


def budget_of(budgets: Sequence[Budget], scheme: str) -> Budget | None:
    """The budget of a column: the sum over its questions, or that of each if one is drawn."""
    if not budgets:
        return None
    if scheme in ("one_question", "fake_data") or len(budgets) == 1:
        return budgets[0]
    return Budget(sum((each.lower_nats for each in budgets), Fraction(0)))


def _require_found(trees: Trees, known: Mapping[str, TreeQuestion], pairs: Pairs) -> None:
    """Refuse a tree that was found for other questions than depend on each other, or without a
    table that is wanted.
    """
    for name, tree in known.items():
        tables = tuple(pair for pair in pairs if set(pair) <= set(tree.parts))
        if trees.get(name) != tuple(tree.parts) or tree.pairs != tables:
            raise StatementError(
                f"the report of {name!r} is not about the questions that depend on each other",
                code="tree-questions",
                do="use Survey(questions, epsilon=...), which finds it",
            )


def _require_not_asked(name: str, question: Question) -> None:
    """Refuse a mechanism that has no answer for people who are not asked."""
    if question.place_of(NOT_ASKED) is None:
        raise StatementError(
            f"the mechanism of {name!r} has no answer {NOT_ASKED!r}",
            code="no-answer-otherwise",
            do="add this answer to its inputs, or state otherwise=, the answer that is meant",
        )


def require_together(pairs: Pairs, trees: Trees) -> None:
    """Refuse a table of two questions that have no report together."""
    for pair in pairs:
        if not any(set(pair) <= set(names) for names in trees.values()):
            raise StatementError(
                f"{pair[0]!r} and {pair[1]!r} have no report together",
                code="apart",
                do="leave the pair out: the table of two reports needs no preparation",
            )
