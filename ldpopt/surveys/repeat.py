r"""Questions that are asked twice: a report is about the answer that was repeated, or about two
that differ, and shows how many people answer at random.

Of the two answers one is kept on the device: the common one, or "inconsistent". Careless people, a
share ``c``, draw both among ``n`` answers at random. Their reports are those of the shares

.. math:: s_\text{inc} = c \Big( 1 - \frac{1}{n} \Big), \qquad
          s_x = (1 - c) \, p_x + \frac{c}{n^2},

so that with ``w`` the values of a number :math:`w \cdot p` of those who answer carefully

.. math:: c = \frac{n}{n - 1} s_\text{inc}, \qquad
          w \cdot p = \frac{w \cdot s - s_\text{inc} \sum_x w_x / (n (n - 1))}{1 - c} .

Both sides of the fraction are linear in the shares: a ratio, as that of those who answered. Source:
docs, "Careless answers".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import ListedSource, source_of
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.estimation.linear import linear_variances
from ldpopt.estimation.planning import Precision, ratio_variances
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.mechanism.questions import INCONSISTENT, Question
from ldpopt.problem.modelfile.page import Key, Page
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.numbers import NumberQuestion, Numbers
from ldpopt.surveys.shared import JointNumbers
from ldpopt.surveys.ticks import TicksQuestion
from ldpopt.tables.coding import MISSING, Codes

CARELESS = "careless"  # the number that is the share of careless people
AGAIN = " again"  # what the name of the column of second answers ends with
MOST_ANSWERS = 19  # of a repeated question; the values of the reports on more are not listed
IN_JOINT = (
    "all questions have one report together",
    "leave repeat out, or use the scheme 'split'",
)
PLAIN = ("source", "missing", "missing_answer", "edges", "repeat")  # fields that are kept


def careless_values(n: int) -> tuple[Fraction, Fraction]:
    """What one in the share of inconsistent answers adds to the share of careless people, and what
    it takes from each answer's share, for a question of ``n`` answers.
    """
    return Fraction(n, n - 1), Fraction(1, n * (n - 1))


@dataclass(frozen=True)
class RepeatedQuestion(Question):
    """A question that is asked twice; its answers are those that can be repeated, and
    "inconsistent".

    ``column`` has the first answers of a table, and the column with " again" behind its name the
    second ones; a table without that column has what remains of both.
    """

    column: str = field(default="", kw_only=True)
    number: Numbers | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.place_of(INCONSISTENT) is None:
            raise StatementError(
                f"the mechanism of a repeated question has no answer {INCONSISTENT!r}",
                code="no-inconsistent",
                do="add this answer to its inputs, or pass the answers alone",
            )
        _require_labels(self.first)
        if not isinstance(self.source, Workload):
            _ = self.numbers  # refused if they do not follow from the reports
        elif self.source.unit is not None and len(self.inputs) > MOST_ANSWERS + 1:
            raise self._not_listed()  # its design draws sets

    @property
    def inconsistent_code(self) -> int:
        """Position of "inconsistent" among the inputs."""
        return self.place_of(INCONSISTENT) or 0

    @property
    def careful_codes(self) -> list[int]:
        """Positions of the answers that careless people draw."""
        away = self._without_answer
        return [code for code in range(len(self.inputs)) if code not in away]

    @cached_property
    def first(self) -> Question:
        """The question as it is asked each time, without anything that draws reports."""
        labels = [x for place, x in enumerate(self.inputs) if place != self.inconsistent_code]
        policy: Any = self.missing
        missing = None if self.missing_code is None else self.inputs[self.missing_code]
        if self.number is not None:
            source = Workload.frequencies(labels)
            return NumberQuestion(source, policy, missing, number=self.number)
        return Question(Workload.frequencies(labels), policy, missing)

    @property
    def form(self) -> dict[str, Any]:
        """Keys of a form for a question that is asked twice: ``repeat``, the label that is
        reported if the two answers differ, and ``number``, if it asks for one.
        """
        number = {} if self.number is None else {"number": self.number.to_dict()}
        return {"repeat": text_of(self.inputs[self.inconsistent_code])} | number

    @property
    def parts(self) -> dict[str, Question]:
        """The question by the columns of the first and the second answers."""
        return {self.column: self.first, self.column + AGAIN: self.first}

    def of_table(self, columns: Iterable[Hashable]) -> Question:
        """The question for a table with these columns: without one of second answers, the first
        one has what remains of both.
        """
        if self.column + AGAIN in list(columns):
            return self
        return Question(self.source, self.missing, self.missing_answer)

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Positions of the common answer, or of "inconsistent"; if one of two is missing, the whole
        answer is.
        """
        columns = list(codes)
        if len(columns) != 2:
            return super().combine(columns)
        first, second = map(np.asarray, columns)
        left_out = self.first.missing_code
        is_missing = (first == MISSING) | (second == MISSING)
        if left_out is not None:
            is_missing |= (first == left_out) | (second == left_out)
        places = np.delete(np.arange(len(self.inputs)), self.inconsistent_code)
        common = np.where(first == second, places[first], self.inconsistent_code)
        missing = MISSING if self.missing_code is None else self.missing_code
        return np.where(is_missing, missing, common)

    @cached_property
    def numbers(self) -> JointNumbers:
        """What estimates the numbers of careful people times their share, the share of missing
        answers, and last that of careless people.
        """
        source = source_of(self.source, "Question(repeat=True)")
        if not isinstance(source, ListedSource):
            raise self._not_listed()
        names = list(source.names)
        place = next((k for k, name in enumerate(names) if text_of(name) == INCONSISTENT), None)
        if place is None:
            raise StatementError(
                f"the design does not estimate the share of {INCONSISTENT!r}",
                code="no-share-of-inconsistent",
                do="pass the answers or a workload, and the design is found",
            )
        missing = self.missing_place(names)
        others = [k for k in range(len(names)) if k not in (place, missing)]
        kept = [*others, *([] if missing is None else [missing])]
        more, less = careless_values(len(self.careful_codes))
        matrix = np.eye(len(names))[[*kept, place]]
        sums = np.asarray(source.wanted)[others][:, self.careful_codes].sum(axis=1)
        matrix[: len(others), place] = -sums * float(less)
        matrix[-1, place] = float(more)
        labels = [*(names[k] for k in kept), CARELESS]
        return JointNumbers(source, labels, matrix @ source.wanted, matrix @ source.estimator)

    def _not_listed(self) -> StatementError:
        """Error for a question of so many answers that its reports are sets."""
        return StatementError(
            f"a repeated question of {len(self.inputs) - 1} answers: the values of its reports "
            "are not listed",
            code="repeated-answers",
            do=f"ask for at most {MOST_ANSWERS} answers, with the missing one",
        )

    def excluded_places(self, names: Sequence[Hashable]) -> tuple[int, ...]:
        """Positions among estimated numbers of the shares of missing answers and of careless
        people.
        """
        careless = [k for k, name in enumerate(names) if name == CARELESS]
        return (*super().excluded_places(names), *careless)

    def precision(self, numbers: Any, confidence: float, prior: Any) -> Precision:
        """Variances of the shares of careful people, and of the share of careless ones; by default
        at the worst answers if nobody is careless.
        """
        rows = np.eye(len(self.inputs))
        weights = None if prior is None else read_weights(self, prior)
        if weights is None:
            rows = rows[self.careful_codes]
        names = tuple(numbers.names)
        excluded = self.excluded_places(names)
        variances = ratio_variances(numbers, excluded, rows, weights)
        if weights is None:
            variances[-1:] = linear_variances(
                numbers.channel[self.careful_codes],
                numbers.estimator[-1:],
                numbers.wanted[-1:, self.careful_codes],
                None,
            )
        spans = np.ptp(np.asarray(numbers.wanted)[:, self.careful_codes], axis=1)
        spans[list(excluded)] = 1.0
        z = interval_quantile(confidence, len(variances), False)
        return Precision(names, variances, z, spans)


def _require_labels(question: Question) -> None:
    """Refuse a question with an answer that stands for something else where it is repeated, or with
    fewer than two answers.
    """
    for label in question.inputs:
        if text_of(label) in (INCONSISTENT, CARELESS):
            raise _taken(label)
    if (count := len(question.inputs) - (question.missing_code is not None)) < 2:
        raise StatementError(
            f"a repeated question has two answers or more, not {count}",
            code="repeated-one-answer",
            do="let a missing answer be none of them: missing_label",
        )


def _taken(label: Hashable) -> StatementError:
    """Error for an answer with a name that is needed."""
    return StatementError(
        f"a repeated question has the answer {short_repr(label)}, which stands for people "
        "whose two answers differ",
        code="repeated-label",
        do="rename the answer",
    )


def read_weights(question: Question, shares: Any) -> Float:
    """Read a guess of the shares of the answers; of a repeated question nobody is inconsistent
    unless it says so.
    """
    inputs = tuple(question.inputs)
    if isinstance(question, RepeatedQuestion):
        place = question.inconsistent_code
        if isinstance(shares, Mapping):
            shares = {inputs[place]: 0.0, **shares}
        elif np.shape(shares) == (len(inputs) - 1,):
            shares = np.insert(np.asarray(shares, dtype=np.float64), place, 0.0)
    return read_prior(shares, inputs)[0]


def repeated(question: Question, column: str = "") -> RepeatedQuestion:
    """A question that is stated with ``repeat=True``: its workload gets the answer
    "inconsistent".
    """
    if isinstance(question, RepeatedQuestion):
        kept = {each.name: getattr(question, each.name) for each in fields(question) if each.init}
        return RepeatedQuestion(**kept | {"column": column})
    _require_repeatable(question)
    kept = {name: getattr(question, name) for name in PLAIN}
    if isinstance(question.source, Workload):
        for label in question.inputs:
            if text_of(label) in (INCONSISTENT, CARELESS):
                raise _taken(label)
        kept["source"] = question.source.with_missing(INCONSISTENT)
    number = question.number if isinstance(question, NumberQuestion) else None
    return RepeatedQuestion(**kept, column=column, number=number)


def _require_repeatable(question: Question) -> None:
    """Refuse questions that cannot be repeated."""
    reason = do = ""
    code = "repeated"
    if isinstance(question, TicksQuestion):
        code, reason = "repeated-ticks", "several answers may be ticked"
        do = "ask for each tick in a question of its own"
    elif isinstance(question, ModelQuestion) or isinstance(question.source, ReportModel):
        code, reason = "repeated-model", "its reports follow a model or a technique"
        do = "pass its answers, and the mechanism is found"
    elif question.only_if:
        code, reason = "repeated-condition", "not everybody is asked"
        do = "ask everybody, with an answer for those whom it does not concern"
    elif question.is_rounded:
        code, reason = "repeated-number", "its numbers are rounded at random to a grid"
        do = "state classes: number = { starts = [18, 30, 45, 65], most = 99 }"
    if reason:
        raise StatementError(
            f"a question cannot be repeated if {reason}", code=code, do=f"{do}; or leave repeat out"
        )


def require_no_repeat(questions: Mapping[str, Any], what: str, do: str) -> None:
    """Refuse questions that are asked twice."""
    for name, question in questions.items():
        if question.repeat:
            raise StatementError(
                f"question {short_repr(name)} is repeated, and {what}",
                code="repeated-question",
                do=do,
            )


def require_repeat(page: Page, key: Key, section: Any) -> None:
    """Refuse keys of a survey file that a repeated question does not have."""
    others = ("ticks", "only_if", "utility", "technique", "mechanisms", "behaviors")
    for other in others:
        if getattr(section, other) is not None:
            raise page.error(
                (*key, "repeat"),
                f"a question with {other} cannot be repeated",
                f"remove repeat, or {other}",
                code="repeated-key",
            )
