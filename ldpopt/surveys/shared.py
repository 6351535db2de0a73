r"""Questions with one report together: what a column of reports of several questions has.

Its report is about the *paths*, all that the answers to its questions together can be. A number of
one question is a row over the paths, 0 where the question is not asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.certificate.yes_no_certificate import YesNoCertificate
from ldpopt.errors import StatementError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.linear import is_partition
from ldpopt.estimation.planning import Precision, ratio_variances
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import Float, listed_items, require_kind, shaped_array, short_repr
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.conditions import (
    NOT_ASKED,
    SKIPPED,
    Path,
    filled_codes,
    is_conditional,
    path_shares,
    paths_of,
    readers_of,
)
from ldpopt.mechanism.questions import Question
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.problem.workload_matrices import unique_names
from ldpopt.tables.coding import MISSING, Codes, MissingAnswers, read_codes

MAX_PATHS = 64  # largest number of combinations of answers for which a channel is designed
ASKED = "asked"  # the number of a question with the share of those who are asked it
SEPARATOR = " / "  # between the answers of a path


@dataclass(frozen=True)
class SharedQuestion(Question):
    """Several questions with one report; ``source`` draws it, and ``questions`` are of workloads.

    ``pairs`` are the pairs of questions of which the workload has the table.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

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
    def paths(self) -> tuple[Path, ...]:
        """Codes of the answers to the questions for each row of the channel, None where one is not
        asked; empty for yes/no questions, whose reports have no channel.
        """
        return () if isinstance(self.source, YesNoPatterns) else paths_of(self.questions)

    def columns_read(self, column: str) -> dict[str, Question]:
        """The columns of all questions, and those on which it depends whether somebody is asked."""
        return readers_of({**self.questions, **self.before})

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Rows of answers of shape (N, d) to yes/no questions, else positions of paths, shape (N,).

        Raises
        ------
        StatementError
            If there are not as many columns as questions, a code is not a position, or somebody
            who is not asked has an answer.
        """
        read = listed_items(codes, "codes", "pass the codes of each column")
        missing = [MissingAnswers(f"column {name!r}", self.kind) for name in self.questions]
        combined = self.combine_rows(read, missing)
        for each in missing:
            each.require_none()
        return combined

    def combine_rows(
        self, codes: Sequence[Codes], missing: Sequence[MissingAnswers], first_row: int = 0
    ) -> Codes:
        """`combine` for rows of a table."""
        codes = listed_items(codes, "codes", "pass the codes of each column")
        names = [*self.questions, *self.before]
        if len(codes) != len(names):
            raise StatementError(
                f"{len(codes)} columns of answers for {len(names)} questions",
                code="column-count",
                do="pass the codes of each question",
            )
        questions = {**self.before, **self.questions}
        read = {
            name: read_codes(column, len(questions[name].inputs))
            for name, column in zip(names, codes, strict=True)
        }
        places = dict(zip(names, missing, strict=True))
        filled = filled_codes(questions, read, places, first_row)
        columns = [filled[name] for name in self.questions]
        if isinstance(self.source, YesNoPatterns):
            rows = np.stack([column.astype(np.int8) for column in columns], axis=1)
            rows[(rows == MISSING).any(axis=1)] = MISSING
            return rows  # type: ignore[return-value]
        return self._places(columns)

    def _places(self, columns: Sequence[Codes]) -> Codes:
        """Positions of the paths of some codes."""
        place = np.zeros(len(columns[0]), dtype=np.int64)
        for table, codes in zip(self._steps, columns, strict=True):
            is_missing = (place == MISSING) | (codes == MISSING)
            code = np.where(codes == SKIPPED, table.shape[1] - 1, np.maximum(codes, 0))
            place = np.where(is_missing, MISSING, table[np.maximum(place, 0), code])
        return place

    @cached_property
    def _steps(self) -> list[Codes]:
        """For each question the beginning of a path that follows another one with each answer, and
        last without one.
        """
        tables = []
        before: dict[Path, int] = {(): 0}
        for depth, question in enumerate(self.questions.values()):
            after: dict[Path, int] = {}
            table = np.full((len(before), len(question.inputs) + 1), MISSING)
            for path in self.paths:
                code = path[depth]
                place = after.setdefault(path[: depth + 1], len(after))
                table[before[path[:depth]], -1 if code is None else code] = place
            tables.append(table)
            before = after
        return tables

    def numbers_of(self, name: str) -> Any:
        """What estimates one question."""
        self.part(name)
        return self.source if isinstance(self.source, YesNoPatterns) else self._numbers[name]

    def part(self, name: Any) -> Question:
        """The question of a name; any other name is refused."""
        if not isinstance(name, str) or name not in self.questions:
            raise StatementError(
                f"unknown question {short_repr(name)}",
                code="question",
                do=nearest(name, self.questions),
            )
        return self.questions[name]

    def is_skipped(self, name: str) -> bool:
        """Whether some people are not asked a question, and no answer is meant then."""
        question = self.part(name)
        return is_conditional(question, self.questions) and question.otherwise is None

    @cached_property
    def _numbers(self) -> dict[str, JointNumbers]:
        """What estimates each question: its numbers, and for one that not everybody is asked last
        the share of those who are not.
        """
        numbers = {}
        for name, rows in rows_of(self.questions).items():
            scales = scales_of(self.questions, self.pairs)[name]
            wanted = self.source.wanted[rows] * scales
            estimator = self.source.estimator[rows] * scales
            names = tuple(self.questions[name].source.names)
            own_answers = None
            if self.is_skipped(name):
                count = len(names)
                asked = slice(count, None) if len(wanted) > count else slice(0, count)
                others = [1 - each[asked].sum(axis=0) for each in (wanted, estimator)]
                wanted, estimator = (
                    np.vstack([each[:count], other])
                    for each, other in zip((wanted, estimator), others, strict=True)
                )
                names = (*names, NOT_ASKED)
                inputs = enumerate(self.questions[name].inputs)
                missing = self.questions[name].missing_code
                own_answers = tuple(answer for code, answer in inputs if code != missing)
            numbers[name] = JointNumbers(self.source, names, wanted, estimator)
            numbers[name].own_answers = own_answers
        return numbers

    def precision(
        self,
        name: str,
        confidence: float,
        prior: Any = None,
        others: Mapping[str, Any] | None = None,
        numbers: Any = None,
    ) -> Precision:
        """Variances of the numbers of a question; a prior is for its own answers, and ``others``
        for those of other questions, by name. Other ones have equally common answers.

        Of a question that not everybody is asked they are those of the numbers among the people who
        were asked and answered. ``numbers`` estimates them; default: from true reports.
        """
        if others is not None:
            require_kind(others, Mapping, "others", "pass {question: guess}")
        answers = tuple(self.part(name).inputs)
        names: Sequence[Hashable] = answers
        spans = np.ones(len(answers))
        numbers = self.numbers_of(name) if numbers is None else numbers
        if not isinstance(self.source, YesNoPatterns):
            names, spans = numbers.names, numbers.spans
        stated = read_priors(self.questions, {**(others or {}), name: prior})
        variances = self._variances(name, numbers, stated)
        z = interval_quantile(confidence, len(variances), False)
        return Precision(tuple(names), variances, z, spans)

    def variances(self, name: str, priors: Sequence[Float] | None) -> Float:
        """Variances of the numbers of a question, for answers that are independent where they are
        asked for; default: at the worst distribution.
        """
        self.part(name)
        if priors is None:
            return self._variances(name, self.numbers_of(name), {})
        read = listed_items(priors, "priors")
        if len(read) != len(self.questions):
            raise StatementError(
                f"{len(read)} priors for {len(self.questions)} questions",
                code="prior-count",
                do="give one prior for each question",
            )
        named = {
            key: shaped_array(prior, "prior", len(question.inputs))
            for prior, (key, question) in zip(read, self.questions.items(), strict=True)
        }
        return self._variances(name, self.numbers_of(name), named)

    def _variances(self, name: str, numbers: Any, priors: Mapping[str, Float]) -> Float:
        """Variances of the numbers of a question, at priors of some questions."""
        prior = priors.get(name)
        if isinstance(self.source, YesNoPatterns):
            return self.source.variances_at(np.full(2, 0.5) if prior is None else prior)
        is_skipped = self.is_skipped(name)
        if prior is None and not is_skipped:
            return numbers.variances(None)  # type: ignore[no-any-return]
        if not is_skipped:
            shares = path_shares(self.questions, self.paths, priors)
            return numbers.variances(shares)  # type: ignore[no-any-return]
        size = len(self.questions[name].inputs)
        missing = self.questions[name].missing_code  # of a worst case nobody leaves it open
        codes = [code for code in range(size) if prior is not None or code != missing]
        rows = np.eye(size)[codes]
        each = np.stack(
            [path_shares(self.questions, self.paths, {**priors, name: row}) for row in rows]
        )
        excluded = self.questions[name].excluded_places(numbers.names)
        return ratio_variances(numbers, excluded, each, prior)


class JointNumbers(ListedSource):
    """Some numbers that are estimated from the reports of a design: those of a question, or the
    table of two.
    """

    names: tuple[Hashable, ...] = ()
    wanted: Any = None
    left_inverse: Any = None
    own_answers: tuple[Hashable, ...] | None = None  # to a question that not everybody is asked

    def __init__(
        self, source: Any, names: Sequence[Hashable], wanted: Float, estimator: Float
    ) -> None:
        self.mechanism = source.mechanism
        self.names = tuple(names)
        self.wanted = wanted
        self.estimator = estimator
        self.left_inverse = source.left_inverse

    def among_fakes(self, mixture: Any, count: int) -> JointNumbers:
        r"""The same numbers from reports of which one of ``count`` is true and the others are of
        uniform answers: their values are :math:`d v - (d - 1) \frac{1}{n} \sum_x w_x`.
        """
        others = count - 1
        numbers = JointNumbers(self, self.names, self.wanted, self.estimator)
        numbers.mechanism = mixture
        numbers.own_answers = self.own_answers
        numbers.estimator = count * self.estimator - others * self.wanted.mean(axis=1)[:, None]
        numbers.left_inverse = count * self.left_inverse - others / len(self.left_inverse)
        return numbers

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate the numbers from reports or `Counts`, without bias."""
        liars = read_liars(liars)
        counts = self.count(reports).require_some()
        fit = checked_fit(self, counts, check_fit)
        estimate = Estimate.of_band(
            self.band(counts, is_exact=simultaneous and len(self.names) > 1),
            counts,
            confidence,
            simultaneous=simultaneous,
            method="design",
            labels=self.names,
            fit=fit,
            is_distribution=is_partition(self.wanted),
        )
        return widened(estimate, liars, lambda: self.reach)

    def band(self, counts: Counts, **fields: Any) -> ScoreBand:
        """The band of the numbers that some counts give."""
        matrices = (self.estimator, self.wanted, self.mechanism.channel, self.left_inverse)
        return ScoreBand.of(counts, *matrices, **fields)


def read_priors(questions: Mapping[str, Question], stated: Mapping[str, Any]) -> dict[str, Float]:
    """Read guesses of the answers to some questions, by name; None is no guess.

    A guess of a question that not everybody is asked has the answers of those who are.
    """
    priors = {}
    for name, prior in stated.items():
        if name not in questions:
            raise StatementError(
                f"a guess of the answers to {short_repr(name)}, on which nothing depends here",
                code="prior-question",
                do=nearest(name, questions),
            )
        inputs = tuple(questions[name].inputs)
        if prior is not None and is_conditional(questions[name], questions):
            asked = [answer for answer in inputs if answer != NOT_ASKED]
            shares = iter(read_prior(prior, tuple(asked))[0].tolist())
            priors[name] = np.array([0.0 if each == NOT_ASKED else next(shares) for each in inputs])
        elif prior is not None:
            priors[name] = read_prior(prior, inputs)[0]
    return priors


def rows_of(questions: Mapping[str, Question]) -> dict[str, slice]:
    """The rows of each question in the workload of all: its numbers, and the share of those who are
    asked it, if no other numbers of it have this sum.
    """
    rows = {}
    start = 0
    for name, question in questions.items():
        count = question.source.shape[0] + has_asked(question, questions)
        rows[name] = slice(start, start := start + count)
    return rows


def scales_of(
    questions: Mapping[str, Question], pairs: Sequence[tuple[str, str]] = ()
) -> dict[str, Float]:
    """By what the rows of each question are divided in the workload of paths, shape (k, 1): the
    largest number in a row, so that a mean counts as much as a share.
    """
    is_plain = not pairs and not any(is_conditional(each, questions) for each in questions.values())
    scales = {}
    for name, question in questions.items():
        most = np.ones(question.source.shape[0] + has_asked(question, questions))
        if not is_plain and question.source.unit != 1:
            matrix = np.abs(question.source.matrix)
            most[: len(matrix)] = np.where(matrix.any(axis=1), matrix.max(axis=1), 1.0)
        scales[name] = most[:, None]
    return scales


def has_asked(question: Question, questions: Mapping[str, Question]) -> bool:
    """Whether the workload has the share of those who are asked as a number of its own."""
    is_part = is_conditional(question, questions) and question.otherwise is None
    return is_part and question.source.unit != 1


def path_workload(
    questions: Mapping[str, Question], pairs: Sequence[tuple[str, str]] = ()
) -> Workload:
    """The numbers of some questions, of which some depend on others, for all paths; and the tables
    of some pairs.
    """
    paths = paths_of(questions)
    rows: list[Float] = []
    names: list[Hashable] = []
    for place, (name, question) in enumerate(questions.items()):
        codes = np.array([len(question.inputs) if path[place] is None else path[place]
                          for path in paths])  # fmt: skip
        matrix = np.hstack([question.source.matrix, np.zeros((question.source.shape[0], 1))])
        scales = scales_of(questions, pairs)[name][: len(matrix)]
        rows.append(matrix[:, codes] / scales)
        names += [(name, number) for number in question.source.names]
        if has_asked(question, questions):
            rows.append((codes < len(question.inputs))[None].astype(float))
            names.append((name, ASKED))
    for pair in pairs:
        cells, wanted = cells_of(questions, paths, *pair)
        possible = np.asarray(wanted.any(axis=1))
        rows.append(wanted[possible])
        names += [(*pair, *cell) for cell, there in zip(cells, possible, strict=True) if there]
    return Workload(np.vstack(rows), path_labels(questions, paths), names)


def path_labels(questions: Mapping[str, Question], paths: Iterable[Path]) -> tuple[str, ...]:
    """The answers of each path that are asked for, one after the other."""
    inputs = [question.inputs for question in questions.values()]
    texts = (
        SEPARATOR.join(
            text_of(answers[code])
            for answers, code in zip(inputs, path, strict=True)
            if code is not None
        )
        for path in paths
    )
    return tuple(map(str, unique_names(texts)))


def cells_of(
    questions: Mapping[str, Question], paths: Sequence[Path], name: str, other: str
) -> tuple[list[tuple[Hashable, Hashable]], Float]:
    """The cells of the table of two questions, and which paths are in each, shape (cells, n)."""
    places = [list(questions).index(each) for each in (name, other)]
    answers = [
        [
            *questions[each].inputs,
            *([NOT_ASKED] if any(path[place] is None for path in paths) else []),
        ]
        for each, place in zip((name, other), places, strict=True)
    ]
    first, second = (
        np.array([len(texts) - 1 if path[place] is None else path[place] for path in paths])
        for texts, place in zip(answers, places, strict=True)
    )
    cells = [(one, two) for one in answers[0] for two in answers[1]]
    return cells, np.eye(len(cells))[:, first * len(answers[1]) + second]
