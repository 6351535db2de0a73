r"""Joint reports: one report of a person on all questions of a survey together, with the whole
budget.

Yes/no questions, of two answers each with frequencies to estimate, are reported by `YesNoPatterns`,
for any number of them. For other questions the report is that of the best design on all
combinations of answers that a person can give, whose workload has the numbers of every question.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ldpopt.certificate.design_certificate import DesignCertificate, certificate_from_dict
from ldpopt.certificate.yes_no_certificate import FORMAT, YesNoCertificate
from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import require_kind
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.conditions import count_paths, is_conditional
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload
from ldpopt.surveys.shared import MAX_PATHS, SharedQuestion, path_workload

JOINT = "joint report"  # the column of the reports
DESIGN_SECONDS = 20.0  # limit of the search for a design


@dataclass(frozen=True)
class JointQuestion(SharedQuestion):
    """All questions of a survey with one report; ``source`` draws it, and ``questions`` are of
    workloads.

    An answer that is missing and may be (``missing="leave_out"`` of its question) leaves the whole
    report out.
    """

    @classmethod
    def of(
        cls,
        questions: Mapping[str, Question],
        source: YesNoPatterns | Design,
        pairs: Sequence[tuple[str, str]] = (),
    ) -> JointQuestion:
        """The joint question of a source that was found before."""
        do = "use Survey(questions, epsilon=..., scheme='joint')"
        require_kind(questions, Mapping, "JointQuestion.of()", do)
        for question in questions.values():
            require_kind(question, Question, "JointQuestion.of()", do)
        require_kind(source, YesNoPatterns | Design, "JointQuestion.of()", do)
        may_miss = any(question.missing == "leave_out" for question in questions.values())
        missing: Any = "leave_out" if may_miss else "refuse"
        return cls(source, missing, None, dict(questions), pairs=tuple(pairs))


def joint_source(
    questions: Mapping[str, Question], epsilon: Budget, pairs: Sequence[tuple[str, str]] = ()
) -> YesNoPatterns | Design:
    """Return what draws the best joint report of questions, whose sources are workloads."""
    from ldpopt.designing.design import design

    require_joint(questions, pairs)
    if is_yes_no(questions) and not pairs:
        answers = {name: question.inputs for name, question in questions.items()}
        return YesNoPatterns(answers, YesNoCertificate.of(len(answers), Budget.positive(epsilon)))
    workload = joint_workload(questions, pairs)
    best = design(workload, PureLDP(epsilon), time_limit=DESIGN_SECONDS)
    if not isinstance(best, Design):
        raise no_joint_report()
    return best


def require_joint(questions: Mapping[str, Question], pairs: Sequence[tuple[str, str]] = ()) -> None:
    """Refuse a joint report on one question, or on too many combinations of answers."""
    if len(questions) < 2:
        raise no_joint_report()
    if is_yes_no(questions) and not pairs:
        return
    number = count_paths(questions)
    if number > MAX_PATHS:
        raise StatementError(
            f"there are {number:,} combinations of answers, more than {MAX_PATHS}",
            code="combinations",
            do="ask yes/no questions or fewer questions, or use the scheme 'one_question'",
        )


def no_joint_report() -> StatementError:
    """Return the error for a joint report on one question."""
    return StatementError(
        "one question has no joint report", code="joint", do="use the scheme 'split'"
    )


def is_yes_no(questions: Mapping[str, Question]) -> bool:
    """Whether all questions have two answers whose frequencies are estimated, with an answer that
    is meant where one is not asked.
    """
    return all(
        len(question.inputs) == 2
        and question.source.unit == 1
        and not (is_conditional(question, questions) and question.otherwise is None)
        for question in questions.values()
    )


def joint_workload(
    questions: Mapping[str, Question], pairs: Sequence[tuple[str, str]] = ()
) -> Workload:
    """The numbers of all questions: for all combinations of answers, or for those that a person can
    give if some questions depend on others.
    """
    if pairs or any(is_conditional(question, questions) for question in questions.values()):
        return path_workload(questions, pairs)
    return product_workload(questions)


def product_workload(questions: Mapping[str, Question]) -> Workload:
    """The numbers of all questions, for combinations of answers."""
    alphabets: dict[Hashable, Any] = {
        name: list(question.inputs) for name, question in questions.items()
    }
    if all(question.source.unit == 1 for question in questions.values()):
        return Workload.marginals(alphabets, 1)
    places = np.indices([len(answers) for answers in alphabets.values()]).reshape(
        len(alphabets), -1
    )
    sources = {name: question.source for name, question in questions.items()}
    rows = [source.matrix[:, place] for source, place in zip(sources.values(), places, strict=True)]
    names = [(name, number) for name, source in sources.items() for number in source.names]
    return Workload(np.vstack(rows), list(product(*alphabets.values())), names)


def read_joint(
    data: Any,
    questions: Mapping[str, Question],
    where: str,
    pairs: Sequence[tuple[str, str]] = (),
) -> YesNoPatterns | Design:
    """Read what draws a joint report from the data of its certificate."""
    if isinstance(data, dict) and data.get("format") == FORMAT:
        answers = {name: question.inputs for name, question in questions.items()}
        return YesNoPatterns(answers, YesNoCertificate.from_dict(data, where))
    claim = certificate_from_dict(data, where)
    if not isinstance(claim, DesignCertificate) or not same_workload(
        claim.workload, joint_workload(questions, pairs)
    ):
        raise StatementError(
            "the joint report is not about these questions",
            code="joint-questions",
            do="restore the file as it was saved",
        )
    if claim.flaws:
        raise StatementError(
            claim.flaws[0], code="changed-file", do="restore the file as it was saved"
        )
    return Design(claim)


def same_workload(left: Workload, right: Workload) -> bool:
    """Whether two workloads are of the same answers, names and numbers, in the same order."""
    if left.attributes and right.attributes:
        return left.attributes == right.attributes and left.tables == right.tables
    is_same = tuple(left.inputs) == tuple(right.inputs) and left.names == right.names
    return is_same and np.array_equal(left.matrix, right.matrix)
