r"""Questions: what draws the reports of a column, how missing answers are treated, and whether all
persons report.

If one of ``d`` questions is drawn for each person, and the others get reports of uniform answers
(fake data), those of a column are distributed as

.. math:: \frac{1}{d} P(y \mid x) + \Big( 1 - \frac{1}{d} \Big) \frac{1}{n} \sum_{x'} P(y \mid x') .
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.edges import read_edges
from ldpopt.foundation.labels import is_among, nearest, text_of
from ldpopt.foundation.numbers import (
    Float,
    any_array,
    listed_items,
    require_choice,
    require_kind,
    require_text,
    short_repr,
    truth,
    whole_number,
)
from ldpopt.mechanism.codec import Randomizer
from ldpopt.mechanism.conditions import NOT_ASKED, filled_codes, readers_of
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.sampling import BITS, bit_source
from ldpopt.problem.workload import Workload
from ldpopt.tables.coding import (
    MISSING,
    TREATMENTS,
    Coder,
    Codes,
    Missing,
    MissingAnswers,
    read_codes,
)

# largest number of questions, and of answers to one: a product with 53 bits fits into 64
MOST = 2048
QUESTION_DRAW = hashlib.sha256(b"ldpopt: which question is asked").hexdigest()
# Used in place of a mechanism's digest, so that these keyed draws are independent of those of the
# reports
FAKE_ANSWER = hashlib.sha256(b"ldpopt: an answer that nobody gave").hexdigest()
INCONSISTENT = "inconsistent"  # the answer of whoever is asked twice and gives two that differ
SHARED, OWN = "shared", "own"  # reports of a question that depends on the answer to another one


@dataclass(frozen=True)
class Question:
    """How the answers of one column become reports.

    Parameters
    ----------
    source : Mechanism, design, Workload or sequence of hashable
        Draws the reports; its inputs are the possible answers. Of a workload, or of answers whose
        shares are wanted, the survey finds what draws the reports.
    missing : {"refuse", "leave_out"}
        What is done with a missing answer: refused, or left empty in the reports, which shows who
        did not answer. Default: ``"refuse"``.
    missing_answer : hashable, optional
        The input that stands for a missing answer; default: none.
    edges : sequence of float, optional
        Of answers that are classes of numbers, in their order: the ends of the classes, ascending,
        one more than there are classes; only the first and the last may be infinite. Quantiles are
        then numbers. Default: none.
    only_if : mapping question -> answer or list of answers, optional
        Earlier questions of the survey, and the answers to each of them, for all of which this one
        is asked; of ticks, any of these. Default: everybody is asked.
    otherwise : hashable, optional
        The answer that is meant where the question is not asked, as "none" for cigarettes a day;
        default: none, and estimates are among those who were asked.
    report : {"shared", "own"}
        Whether the question shares one report with those that it depends on, if they have at most
        64 possible combinations of answers, or has one of its own. Default: ``"shared"``.
    repeat : bool
        Whether people are asked twice, and the one report is about the common answer, or about two
        that differ: the survey then estimates the share of people who answer at random, and the
        numbers of all others. Default: ``False``.

    Raises
    ------
    StatementError
        If the treatment is unknown, the missing answer is not an input, the edges are not those of
        the answers, or the condition names no answers.
    """

    source: Any
    missing: Missing = "refuse"
    missing_answer: Hashable | None = None
    edges: Sequence[float] | None = field(default=None, kw_only=True)
    only_if: Mapping[str, Any] | None = field(default=None, kw_only=True)
    otherwise: Hashable | None = field(default=None, kw_only=True)
    report: Literal["shared", "own"] = field(default="shared", kw_only=True)
    repeat: bool = field(default=False, kw_only=True)
    # earlier questions that tell whether somebody is asked, filled in by a survey
    before: Mapping[str, Question] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    kind: ClassVar[str] = "answer"  # of an entry of the column, for messages

    def __post_init__(self) -> None:
        require_choice(self.missing, TREATMENTS, "missing")
        require_choice(self.report, (SHARED, OWN), "report")
        object.__setattr__(self, "repeat", truth(self.repeat, "repeat"))
        if isinstance(self.source, (list, tuple, range)):
            object.__setattr__(self, "source", Workload.frequencies(self.source))
        # a certificate has a randomizer too, but one that writes no reports in a column
        is_drawn = hasattr(getattr(self.source, "randomizer", None), "codec")
        if not isinstance(self.source, Workload) and not is_drawn:
            raise StatementError(
                f"a {type(self.source).__name__} cannot draw reports",
                code="randomizer",
                do="pass a mechanism, a design or a frequency protocol",
            )
        if self.missing_answer is not None and self.missing_code is None:
            problem = (
                f"the missing answer {short_repr(self.missing_answer)} is not an input of "
                "the mechanism"
            )
            do = nearest(self.missing_answer, self.inputs)
            raise StatementError(problem, code="missing-input", do=do)
        if self.edges is not None:
            self._require_order()
            classes = len(self.inputs) - len(self._without_answer)
            object.__setattr__(self, "edges", read_edges(self.edges, classes))
        self._read_condition()

    @property
    def _without_answer(self) -> set[int]:
        """Positions of the answers of people who did not answer, were not asked, or gave two
        answers that differ.
        """
        not_asked = self.place_of(NOT_ASKED) if self.only_if else None
        differing = self.place_of(INCONSISTENT) if self.repeat else None
        places = (self.missing_code, not_asked, differing)
        return {place for place in places if place is not None}

    def _read_condition(self) -> None:
        """Read of which answers the question depends; each earlier question gets a tuple."""
        if self.only_if is None:
            if self.otherwise is not None or self.report == OWN:
                name = "otherwise" if self.otherwise is not None else "report"
                raise StatementError(
                    f"{name} has no effect on a question that everybody is asked",
                    code="no-condition",
                    do="state only_if={question: answers}, or leave it out",
                )
            return
        if not isinstance(self.only_if, Mapping) or not self.only_if:
            raise StatementError(
                f"only_if = {short_repr(self.only_if)} names no question and its answers",
                code="condition",
                do='pass only_if={"smokes": "yes"}',
            )
        several = (list, tuple, set, frozenset)
        read: dict[str, tuple[Hashable, ...]] = {}
        for name, answers in self.only_if.items():
            read[name] = tuple(answers) if isinstance(answers, several) else (answers,)
            if not isinstance(name, str) or not read[name]:
                raise StatementError(
                    f"only_if names no answers to {short_repr(name)}",
                    code="condition",
                    do='pass only_if={"smokes": "yes"}, or a list of answers',
                )
        object.__setattr__(self, "only_if", read)
        if self.otherwise is not None and self.place_of(self.otherwise) is None:
            raise StatementError(
                f"{short_repr(self.otherwise)}, which is meant otherwise, is not an answer",
                code="otherwise",
                do=nearest(self.otherwise, self.inputs),
            )

    def _require_order(self) -> None:
        """Refuse edges of numbers from which no quantile follows."""
        source = self.source
        workload = source if isinstance(source, Workload) else getattr(source, "workload", None)
        if workload is None or workload.unit == 1:
            return
        away = self._without_answer
        answered = [place for place in range(len(self.inputs)) if place not in away]
        rows = np.asarray(workload.matrix)[:, answered]
        rows = rows[rows.any(axis=1)]  # without the share of missing answers
        n = len(answered)
        if not any(np.array_equal(rows, each) for each in (np.eye(n), np.tri(len(rows), n))):
            raise StatementError(
                "edges are of no use: no quantile follows from the numbers of this question",
                code="edges-workload",
                do='ask for the workload "frequencies" or "prefix", or leave the edges out',
            )

    @property
    def randomizer(self) -> Randomizer:
        """What draws the reports of the column."""
        if isinstance(self.source, Workload):
            problem = "a question of a joint survey has no report of its own"
            do = "use the joint report of the survey: survey.asked"
            raise StatementError(problem, code="joint-part", do=do)
        return self.source.randomizer  # type: ignore[no-any-return]

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The possible answers."""
        return self.source.inputs if isinstance(self.source, Workload) else self.randomizer.inputs

    @property
    def numbers(self) -> Any:
        """What estimates the question from its reports."""
        return self.source

    @property
    def parts(self) -> dict[str, Question]:
        """Questions by the columns of their answers, if one report is about several; else empty."""
        return {}

    @property
    def beside(self) -> dict[str, Any]:
        """What is read in clear columns that stay: which mechanism a person has; else empty."""
        choice = getattr(self.source, "choice", None)
        return {} if choice is None else {choice.column: choice}

    @property
    def given(self) -> Sequence[Hashable]:
        """The answers that people give; default: the inputs of what draws the reports."""
        return self.inputs

    @property
    def is_rounded(self) -> bool:
        """Whether answers are rounded at random to the inputs."""
        return False

    def placed(self, codes: Codes, source: Draws) -> Codes:
        """Positions of inputs for those of answers that people gave; default: the same."""
        return codes

    def input_shares(self, shares: Float) -> Float:
        """Shares of the inputs for those of the answers that people give; default: the same."""
        return shares

    def given_shares(self, shares: Float) -> Float:
        """Shares of the answers that people give for those of the inputs; default: the same."""
        return shares

    def columns_read(self, column: str) -> dict[str, Question]:
        """Questions by the columns that are read for the reports in a column: its own, and those on
        which it depends whether somebody is asked.
        """
        require_text(column, "column")
        if not self.before:
            return (self.parts or {column: self}) | self.beside
        return readers_of({column: self, **self.before}) | self.beside

    def of_table(self, columns: Iterable[Hashable]) -> Question:
        """The question for a table with these columns; default: the same."""
        return self

    def after(self, before: Mapping[str, Question]) -> Self:
        """The same question, with those that tell whether somebody is asked it."""
        require_kind(before, Mapping, "Question.after()", "pass {name: question}")
        question = copy(self)
        object.__setattr__(question, "before", dict(before))
        return question

    def combine(self, codes: Iterable[Codes]) -> Codes:
        """Combine the codes of the columns into those of the answers that are randomized."""
        columns = listed_items(codes, "codes", "pass the codes of the column")
        return read_codes(columns[0] if columns else [], len(self.inputs))

    def combine_rows(
        self, codes: Sequence[Codes], missing: Sequence[MissingAnswers], first_row: int = 0
    ) -> Codes:
        """`combine` for rows of a table: ``missing`` has for each column its place in messages, and
        counts the answers that are missing.
        """
        if (choice := getattr(self.source, "choice", None)) is not None:
            paired: Codes = choice.pairs(self.combine(codes[:-1]), codes[-1])
            return paired
        if not self.before:
            return self.combine(codes)
        # the first column is its own, and the last ones are of mechanisms that it may have
        names = ["", *self.before]
        filled = filled_codes(
            {**self.before, "": self},
            dict(zip(names, codes, strict=False)),
            dict(zip(names, missing, strict=False)),
            first_row,
        )
        return self.combine([filled[""], *codes[len(names) :]])

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the answers in a column of a table."""
        return Coder(self.inputs, "answer", as_text=truth(as_text, "as_text"))

    @property
    def epsilon(self) -> float:
        """Audited budget in nats; infinite if the randomizer is not private for any epsilon."""
        return self.randomizer.audit().epsilon

    def fill_missing(self, codes: Codes, missing: MissingAnswers, first_row: int = 0) -> Codes:
        """Replace missing answers by `missing_answer`; those that are to be refused are counted in
        ``missing``.
        """
        code = self.missing_code
        codes = any_array(codes, "codes")
        first_row = whole_number(first_row, "first_row")
        if code is not None:
            return np.where(codes == MISSING, code, codes)
        if self.missing == "refuse":
            require_kind(missing, MissingAnswers, "fill_missing()")
            missing.add(codes, first_row)
        return codes

    @property
    def missing_code(self) -> int | None:
        """Position of `missing_answer` among the inputs, by the label or else by its text; None if
        there is none.
        """
        return None if self.missing_answer is None else self.place_of(self.missing_answer)

    def place_of(self, answer: Hashable) -> int | None:
        """Position of an answer among the inputs, by the label or else by its text; None if it is
        no answer.
        """
        if is_among(answer, self.inputs):
            return self.inputs.index(answer)
        names = list(map(text_of, self.inputs))
        text = text_of(answer)
        return names.index(text) if text in names else None

    def missing_place(self, names: Sequence[Hashable]) -> int | None:
        """Position among estimated numbers of the share of `missing_answer`, if it is not another
        answer as well.
        """
        code = self.missing_code
        if code is None or len(self.inputs) < 3 or self.inputs[code] not in names:
            return None
        return list(names).index(self.inputs[code])

    def excluded_places(self, names: Sequence[Hashable]) -> tuple[int, ...]:
        """Positions among estimated numbers of the shares of people who did not answer, and of
        those who were not asked.
        """
        places = [self.missing_place(names)]
        if self.only_if is not None and self.otherwise is None and NOT_ASKED in names:
            places.append(list(names).index(NOT_ASKED))
        return tuple(place for place in places if place is not None)


@dataclass(frozen=True)
class OneQuestion:
    """One of ``count`` questions for each person; the others get no report, or with ``fake_data`` a
    random one.
    """

    count: int
    fake_data: bool

    def __post_init__(self) -> None:
        if not 2 <= self.count <= MOST:
            problem = f"one of {self.count} questions cannot be drawn"
            do = f"ask from 2 to {MOST}, or split the budget"
            raise StatementError(problem, code="question-count", do=do)

    def draw(self, size: int, source: Draws) -> Codes:
        """Draw the position of the question for each of ``size`` persons."""
        return _uniform(self.count, size, source, QUESTION_DRAW)

    def answers(self, codes: Codes, is_drawn: Any, inputs: int, source: Draws) -> Codes:
        """Keep the answers of those for whom the question was drawn; the others' become missing, or
        random ones.
        """
        if not self.fake_data:
            return np.where(is_drawn, codes, MISSING)
        if inputs > MOST:
            problem = f"fake answers are of at most {MOST} labels, not {inputs}"
            raise StatementError(problem, code="fake-answers", do="split the budget")
        return np.where(is_drawn, codes, _uniform(inputs, len(codes), source, FAKE_ANSWER))

    def randomizer(self, mechanism: Any) -> Any:
        """Return the channel from the answer to the report in the column: with fake data, a
        mixture.
        """
        if not self.fake_data:
            return mechanism
        channel = mechanism.counts / mechanism.denominator
        share = 1 / self.count
        mixed = share * channel + (1 - share) * channel.mean(axis=0)
        return type(mechanism)(
            mixed / mixed.sum(axis=1, keepdims=True), mechanism.inputs, mechanism.outputs
        )


def _uniform(count: int, size: int, source: Draws, purpose: str) -> Codes:
    """Draw numbers below ``count``, uniform up to ``2**-53``; privacy does not depend on their
    distribution.
    """
    if isinstance(source, KeyedDraws):
        words = source.words(purpose, np.zeros(size, dtype=np.int64))
    else:
        words = bit_source(source)(size)
    return ((words * np.uint64(count)) >> np.uint64(BITS)).astype(np.int64)
