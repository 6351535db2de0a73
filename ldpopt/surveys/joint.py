r"""Joint reports: one report of a person on all questions of a survey together, with the whole
budget.

Yes/no questions, of two answers each with frequencies to estimate, are reported by `YesNoPatterns`,
for any number of them. For other questions the report is that of the best design on all
combinations of answers, whose workload has the numbers of every question.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ldpopt.certificate.design_certificate import DesignCertificate, certificate_from_dict
from ldpopt.certificate.yes_no_certificate import FORMAT, YesNoCertificate
from ldpopt.designing.design import design
from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.estimation.linear import is_partition
from ldpopt.estimation.planning import Precision
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import (
    Float,
    listed_items,
    require_kind,
    shaped_array,
    short_repr,
)
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.tables.coding import MISSING, Codes, read_codes

JOINT = "joint report"  # the column of the reports
MAX_COMBINATIONS = 64  # largest number of combinations of answers for which a channel is designed
DESIGN_SECONDS = 20.0  # limit of the search for it


@dataclass(frozen=True)
class JointQuestion(Question):
    """Several questions with one report; ``source`` draws it, and ``questions`` are of workloads.

    An answer that is missing and may be (``missing="leave_out"`` of its question) leaves the whole
    report out.
    """

    questions: dict[str, Question] = field(default_factory=dict)

    @classmethod
    def of(cls, questions: Mapping[str, Question], source: YesNoPatterns | Design) -> JointQuestion:
        """The joint question of a source that was found before."""
        do = "use Survey(questions, epsilon=..., scheme='joint')"
        require_kind(questions, Mapping, "JointQuestion.of()", do)
        for question in questions.values():
            require_kind(question, Question, "JointQuestion.of()", do)
        require_kind(source, YesNoPatterns | Design, "JointQuestion.of()", do)
        may_miss = any(question.missing == "leave_out" for question in questions.values())
        return cls(source, "leave_out" if may_miss else "refuse", None, dict(questions))

    @property
    def parts(self) -> dict[str, Question]:
        """The questions by name."""
        return self.questions

    @property
    def certificate(self) -> YesNoCertificate | DesignCertificate:
        """Value and bound, the total variance of the numbers of all questions; ``recheck`` computes
        both again.
        """
        return self.source.certificate  # type: ignore[no-any-return]

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """Codes of the answers to the questions for each row of the channel; empty for yes/no
        questions, whose reports have no channel.
        """
        if isinstance(self.source, YesNoPatterns):
            return ()
        return tuple(product(*(range(len(each.inputs)) for each in self.questions.values())))

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Rows of answers of shape (N, d) to yes/no questions, else positions of combinations,
        shape (N,).
        """
        codes = listed_items(codes, "codes", "pass the codes of each column")
        if len(codes) != len(self.questions):
            raise StatementError(
                f"{len(codes)} columns of answers for {len(self.questions)} questions",
                code="column-count",
                do="pass the codes of each question",
            )
        codes = [
            read_codes(column, len(question.inputs))
            for column, question in zip(codes, self.questions.values(), strict=True)
        ]
        if isinstance(self.source, YesNoPatterns):
            rows = np.stack([column.astype(np.int8) for column in codes], axis=1)
            rows[(rows == MISSING).any(axis=1)] = MISSING
            return rows  # type: ignore[return-value]
        columns = np.stack(list(codes))
        sizes = [len(question.inputs) for question in self.questions.values()]
        places = np.ravel_multi_index(tuple(np.maximum(columns, 0)), sizes)
        return np.where((columns == MISSING).any(axis=0), MISSING, places)

    def numbers_of(self, name: str) -> Any:
        """What estimates one question."""
        self._question(name)
        return self.source if isinstance(self.source, YesNoPatterns) else self._numbers[name]

    def precision(self, name: str, confidence: float, prior: Any = None) -> Precision:
        """Variances of the numbers of a question; a prior is for its own answers, beside equally
        common other ones.
        """
        answers = tuple(self._question(name).inputs)
        names = answers
        spans = np.ones(len(answers))
        if not isinstance(self.source, YesNoPatterns):
            names, spans = self._numbers[name].names, self._numbers[name].spans
        priors = None
        if prior is not None:
            sizes = [len(question.inputs) for question in self.questions.values()]
            priors = [np.full(size, 1 / size) for size in sizes]
            priors[list(self.questions).index(name)] = read_prior(prior, answers)[0]
        variances = self.variances(name, priors)
        z = interval_quantile(confidence, len(variances), False)
        return Precision(names, variances, z, spans)

    def variances(self, name: str, priors: Sequence[Float] | None) -> Float:
        """Variances of the numbers of a question, for independent answers; default: at the worst
        distribution.
        """
        self._question(name)
        if priors is not None:
            priors = [
                shaped_array(prior, "prior", len(question.inputs))
                for prior, question in zip(
                    listed_items(priors, "priors"), self.questions.values(), strict=False
                )
            ]
            if len(priors) != len(self.questions):
                raise StatementError(
                    f"{len(priors)} priors for {len(self.questions)} questions",
                    code="prior-count",
                    do="give one prior for each question",
                )
        if not isinstance(self.source, YesNoPatterns):
            return self._numbers[name].variances(
                None if priors is None else reduce(np.multiply.outer, priors).ravel()
            )
        return self.source.variances_at(
            np.full(2, 0.5) if priors is None else priors[self.source.place(name)]
        )

    def _question(self, name: Any) -> Question:
        """The question of a name; any other name is refused."""
        if not isinstance(name, str) or name not in self.questions:
            raise StatementError(
                f"unknown question {short_repr(name)}",
                code="question",
                do=nearest(name, self.questions),
            )
        return self.questions[name]

    @cached_property
    def _numbers(self) -> dict[str, JointNumbers]:
        """What estimates each question."""
        numbers = {}
        start = 0
        for name, question in self.questions.items():
            rows = slice(start, start := start + question.source.shape[0])
            wanted = self.source.wanted[rows]
            estimator = self.source.estimator[rows]
            numbers[name] = JointNumbers(self.source, question.source.names, wanted, estimator)
        return numbers


class JointNumbers(ListedSource):
    """Some numbers that are estimated from the reports of a design: those of a question, or the
    table of two.
    """

    names: tuple[Hashable, ...] = ()
    wanted: Any = None
    left_inverse: Any = None

    def __init__(
        self, source: Design, names: Sequence[Hashable], wanted: Float, estimator: Float
    ) -> None:
        self.mechanism = source.mechanism
        self.names = tuple(names)
        self.wanted = wanted
        self.estimator = estimator
        self.left_inverse = source.left_inverse

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
    ) -> Estimate:
        """Estimate the numbers from reports or `Counts`, without bias."""
        counts = self.count(reports).require_some()
        fit = checked_fit(self, counts, check_fit)
        return Estimate.of_band(
            self.band(counts, is_exact=simultaneous and len(self.names) > 1),
            counts,
            confidence,
            simultaneous=simultaneous,
            method="design",
            labels=self.names,
            fit=fit,
            is_distribution=is_partition(self.wanted),
        )

    def band(self, counts: Counts, **fields: Any) -> ScoreBand:
        """The band of the numbers that some counts give."""
        matrices = (self.estimator, self.wanted, self.mechanism.channel, self.left_inverse)
        return ScoreBand.of(counts, *matrices, **fields)


def joint_source(questions: Mapping[str, Question], epsilon: Budget) -> YesNoPatterns | Design:
    """Return what draws the best joint report of questions, whose sources are workloads."""
    if is_yes_no(questions):
        pairs = {name: question.inputs for name, question in questions.items()}
        return YesNoPatterns(pairs, YesNoCertificate.of(len(pairs), Budget.positive(epsilon)))
    number = prod(len(question.inputs) for question in questions.values())
    if number > MAX_COMBINATIONS:
        raise StatementError(
            f"there are {number:,} combinations of answers, more than {MAX_COMBINATIONS}",
            code="combinations",
            do="ask yes/no questions or fewer questions, or use the scheme 'one_question'",
        )
    best = design(product_workload(questions), PureLDP(epsilon), time_limit=DESIGN_SECONDS)
    if not isinstance(best, Design):
        raise no_joint_report()
    return best


def no_joint_report() -> StatementError:
    """Return the error for a joint report on one question."""
    return StatementError(
        "one question has no joint report", code="joint", do="use the scheme 'split'"
    )


def is_yes_no(questions: Mapping[str, Question]) -> bool:
    """Whether all questions have two answers whose frequencies are estimated."""
    return all(
        len(question.inputs) == 2 and question.source.unit == 1 for question in questions.values()
    )


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


def read_joint(data: Any, questions: Mapping[str, Question], where: str) -> YesNoPatterns | Design:
    """Read what draws a joint report from the data of its certificate."""
    if isinstance(data, dict) and data.get("format") == FORMAT:
        pairs = {name: question.inputs for name, question in questions.items()}
        return YesNoPatterns(pairs, YesNoCertificate.from_dict(data, where))
    claim = certificate_from_dict(data, where)
    if not isinstance(claim, DesignCertificate) or not same_workload(
        claim.workload, product_workload(questions)
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
