r"""Trees: a question and all that depend on it by ``only_if`` are one question with one report.

Its answers are the paths, all that the page can give: ``no``, ``yes / few``, ``yes / many``. A
mechanism :math:`P(y \mid v) \le e^\varepsilon P(y \mid v')` for all paths protects which question
was asked as it protects the answers. A question with a report of its own, or with an answer that is
meant where it is not asked, begins a tree of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ldpopt.certificate.design_certificate import DesignCertificate, certificate_from_dict
from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.mechanism.conditions import (
    NOT_ASKED,
    count_paths,
    never_asked,
    path_shares,
    paths_of,
    places_of,
)
from ldpopt.mechanism.questions import OWN, Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload
from ldpopt.surveys.joint import DESIGN_SECONDS, same_workload
from ldpopt.surveys.shared import MAX_PATHS, SharedQuestion, path_workload
from ldpopt.surveys.ticks import LISTED_TICKS, TicksQuestion, tick_workload

Trees = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class TreeQuestion(SharedQuestion):
    """Questions that depend on each other, with one report; ``source`` is a design for their
    numbers on the paths.
    """

    @classmethod
    def of(
        cls,
        questions: Mapping[str, Question],
        source: Design,
        pairs: Sequence[tuple[str, str]] = (),
    ) -> TreeQuestion:
        """The tree of a design that was found before."""
        do = "use Survey(questions, epsilon=...)"
        require_kind(questions, Mapping, "TreeQuestion.of()", do)
        require_kind(source, Design, "TreeQuestion.of()", do)
        return cls(source, "refuse", None, dict(questions), pairs=tuple(pairs))


def require_conditions(questions: Mapping[str, Question]) -> None:
    """Refuse conditions on other than earlier questions and their answers, those that nobody
    meets, and questions that would show who was asked.
    """
    earlier: dict[str, Question] = {}
    for name, question in questions.items():
        require_condition(name, question, earlier, questions)
        earlier[name] = question
    for name in questions:
        if questions[name].only_if:
            chain = {each: questions[each] for each in ancestors(name, questions)}
            if never_asked(chain | {name: questions[name]}) == name:
                raise StatementError(
                    f"nobody can be asked {name!r}: no answers meet its condition",
                    code="never-asked",
                    do="correct only_if",
                )


def require_condition(
    name: str,
    question: Question,
    earlier: Mapping[str, Question],
    questions: Mapping[str, Any],
) -> None:
    """Refuse a condition on another question than the earlier ones, or that shows who is asked."""
    for gate, answers in (question.only_if or {}).items():
        if gate not in earlier:
            is_later = gate in questions
            raise StatementError(
                f"question {name!r} depends on {short_repr(gate)}, which is "
                f"{'not before it' if is_later else 'no question'}",
                code="later-question" if is_later else "question",
                do="put it after the questions that it depends on"
                if is_later
                else nearest(gate, earlier),
            )
        places_of(earlier[gate], answers, f"only_if of question {name!r}")
        for key, each in ((name, question), (gate, earlier[gate])):
            _require_protected(key, each)
    if question.otherwise is not None and question.missing_code is None:
        _require_all_answer(name, question, earlier)
    if _is_shared(question, earlier) and NOT_ASKED in map(text_of, question.inputs):
        raise StatementError(
            f"question {name!r} has an answer {NOT_ASKED!r} of its own",
            code="not-asked-label",
            do="rename it: this is the answer of people who are not asked",
        )


def _require_protected(name: str, question: Question) -> None:
    """Refuse a question whose column would show who was asked, or is not one column."""
    if question.missing == "leave_out":
        raise StatementError(
            f"question {name!r} leaves missing answers out, which shows who was asked",
            code="leave-in-tree",
            do='set missing = "answer" (missing_answer=...) for questions with only_if and those '
            "that they depend on",
        )
    if question.repeat:
        raise StatementError(
            f"question {name!r} is repeated, and another question depends on it",
            code="repeated-gate",
            do="ask one of them alone, or leave repeat out",
        )
    if getattr(question, "columns", ()):
        raise StatementError(
            f"the ticks of {name!r} have columns, and another question depends on them",
            code="gate-columns",
            do="name the ticks in one column",
        )


def _require_all_answer(name: str, question: Question, earlier: Mapping[str, Question]) -> None:
    """Refuse an answer that is meant otherwise for people who did not say whether they are asked:
    everybody who declines to answer would have it.
    """
    for gate in ancestors(name, {**earlier, name: question}):
        if earlier[gate].missing_code is not None:
            raise StatementError(
                f"{gate!r} may be left open, and then it is open whether {name!r} is "
                f"{short_repr(question.otherwise)}",
                code="otherwise-missing",
                do=f'set missing = "answer" (missing_answer=...) for {name!r}, too',
            )


def ancestors(name: str, questions: Mapping[str, Question]) -> list[str]:
    """All questions on whose answers it depends whether one is asked, in their order."""
    before: set[str] = set()
    waiting = [name]
    while waiting:
        new = set(questions[waiting.pop()].only_if or ()) - before
        before |= new
        waiting += new
    return [each for each in questions if each in before]


def trees_of(questions: Mapping[str, Question]) -> Trees:
    """The questions that share a report, by the first of them: components of those that depend on
    each other and have at most 64 paths.
    """
    shared = {name for name, question in questions.items() if _is_shared(question, questions)}
    trees = _components(questions, shared)
    few: Trees = {}
    for first, names in trees.items():
        if count_paths(_alone(names, questions)) <= MAX_PATHS:
            few[first] = names
    return few


def _is_shared(question: Question, questions: Mapping[str, Question]) -> bool:
    """Whether a question has a report together with those that it depends on: none of them has a
    mechanism.
    """
    if not question.only_if or question.report == OWN or question.otherwise is not None:
        return False
    together = [question, *(questions[gate] for gate in question.only_if)]
    return all(isinstance(each.source, Workload) for each in together)


def _components(questions: Mapping[str, Question], shared: set[str]) -> Trees:
    """Components of more than one question, in the order of the questions."""
    first = {name: name for name in questions}
    for name in shared:
        linked = {first[each] for each in (name, *(questions[name].only_if or ()))}
        to = min(linked, key=list(questions).index)
        first = {each: to if root in linked else root for each, root in first.items()}
    trees: dict[str, list[str]] = {}
    for name, root in first.items():
        trees.setdefault(root, []).append(name)
    return {root: tuple(names) for root, names in trees.items() if len(names) > 1}


def _alone(names: Sequence[str], questions: Mapping[str, Question]) -> dict[str, Question]:
    """The questions of a tree, with the answers that they have in it."""
    parts = {name: questions[name] for name in names}
    return {name: as_part(question, parts) for name, question in parts.items()}


def as_part(question: Question, parts: Mapping[str, Any]) -> Question:
    """A question as part of a tree: one that depends on others has "not asked" as an answer."""
    if (
        not question.only_if
        or set(question.only_if) <= set(parts)
        or question.otherwise is not None
    ):
        return question
    return with_not_asked(question)


def with_not_asked(question: Question) -> Question:
    """A question of a workload with the answer "not asked", and its share."""
    if NOT_ASKED in question.inputs or not isinstance(question.source, Workload):
        return question
    if isinstance(question, TicksQuestion):
        ticks = (*question.ticks, NOT_ASKED)
        _require_listed(ticks)
        both = tick_workload(ticks)
        shares = Workload(both.matrix[1::2], both.inputs, ticks)
        return replace(question, source=shares, ticks=ticks)
    return replace(question, source=question.source.with_missing(NOT_ASKED))


def _require_listed(ticks: Sequence[str]) -> None:
    """Refuse ticks whose sets are not listed."""
    if len(ticks) > LISTED_TICKS:
        raise StatementError(
            f"a question of {len(ticks)} ticks, with those of people who are not asked or do not "
            "answer, cannot depend on others",
            code="conditional-ticks",
            do=f"ask at most {LISTED_TICKS}, or several questions",
        )


def tree_source(
    parts: Mapping[str, Question],
    epsilon: Budget,
    priors: Mapping[str, Any] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
) -> Design:
    """The best design for the numbers of a tree's questions, whose certificate has the gap that is
    left; ``priors`` are guesses of the shares among those who are asked.
    """
    from ldpopt.designing.design import design

    workload = path_workload(parts, pairs)
    weights = path_shares(parts, paths_of(parts), priors) if priors else None
    best = design(workload, PureLDP(epsilon), weights=weights, time_limit=DESIGN_SECONDS)
    assert isinstance(best, Design)
    return best


def read_tree(
    data: Any,
    questions: Mapping[str, Question],
    where: str,
    pairs: Sequence[tuple[str, str]] = (),
) -> TreeQuestion:
    """Read the report of a tree from the data of its certificate."""
    claim = certificate_from_dict(data, where)
    do = "restore the file as it was saved"
    if not isinstance(claim, DesignCertificate) or not same_workload(
        claim.workload, path_workload(questions, pairs)
    ):
        problem = "the report is not about these questions"
        raise StatementError(problem, code="tree-questions", do=do)
    if claim.flaws:
        raise StatementError(claim.flaws[0], code="changed-file", do=do)
    return TreeQuestion.of(questions, Design(claim), pairs)
