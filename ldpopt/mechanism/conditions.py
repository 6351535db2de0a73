r"""Questions that depend on the answers to earlier ones: who is asked, and what the answers to
several questions together can be.

With ``x_j`` the answer to question ``j``, and ``c_j`` its condition, a page can give the answers

.. math:: V = \{ x : x_j = \text{not asked exactly if } c_j(x) \text{ is false} \} ,

the *paths*. A condition is false by answers that were given; where somebody did not answer what it
depends on, the question is not asked either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import Int, short_repr
from ldpopt.mechanism.keyed import Draws
from ldpopt.tables.coding import MISSING, UNKNOWN, Coder, Codes, MissingAnswers

NOT_ASKED = "not asked"  # the answer, in a report of its own, of people who are not asked
SKIPPED = -3  # code of a question that a person is not asked
MAX_STATES = 1 << 20  # largest number of combinations of answers that are counted one by one
Path = tuple[int | None, ...]  # codes of the answers, None where a question is not asked
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class UnfilledAnswers:
    """The column of a question that not everybody is asked: empty cells stay, until the answers
    that it depends on are known.
    """

    question: Any

    kind: ClassVar[str] = "answer"

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the answers that people give."""
        return _GivenAnswers(self.question.coder(as_text=as_text), self.question)

    @property
    def is_rounded(self) -> bool:
        """Whether the numbers of the question are rounded at random."""
        return bool(self.question.is_rounded)

    def placed(self, codes: Codes, source: Draws) -> Codes:
        """Positions of inputs for those of answers that people gave."""
        placed: Codes = self.question.placed(codes, source)
        return placed

    def fill_missing(self, codes: Codes, missing: MissingAnswers, first_row: int = 0) -> Codes:
        """The codes."""
        return codes


class _GivenAnswers(Coder):
    """Converts answers that people give: nobody says that a question was not asked."""

    def __init__(self, coder: Coder, question: Any) -> None:
        self._coder = coder
        place = question.place_of(NOT_ASKED)
        # numbers that are rounded to inputs are read before them
        more = len(question.given) - len(question.inputs)
        self._not_asked = None if place is None else place + more
        self.kind, self.as_text, self.alphabet = coder.kind, coder.as_text, coder.alphabet

    def code(self, value: Any) -> int:
        """Position of an answer."""
        code = self._coder.code(value)
        return UNKNOWN if code == self._not_asked else code

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is not an answer."""
        return self._coder.unknown(value, where)


def readers_of(questions: Mapping[str, Any]) -> dict[str, Any]:
    """What reads the columns of questions, of which some depend on others."""
    return {
        name: UnfilledAnswers(question) if is_conditional(question, questions) else question
        for name, question in questions.items()
    }


def is_conditional(question: Any, questions: Mapping[str, Any]) -> bool:
    """Whether the answers to some questions tell whether another one is asked."""
    return bool(question.only_if) and set(question.only_if) <= set(questions)


def places_of(gate: Any, answers: Iterable[Hashable], where: str) -> list[int]:
    """Positions of the answers to a question for which another one is asked; of ticks, those of
    all sets with any of them.
    """
    ticks = getattr(gate, "ticks", ())
    if gate.is_rounded:
        raise StatementError(
            "a question cannot depend on a number whose mean is reported",
            code="condition-number",
            where=where,
            do="state classes of the number: number = { starts = [18, 30, 45], most = 99 }",
        )
    known = ticks or gate.inputs
    places: set[int] = set()
    for answer in answers:
        place = gate.place_of(answer) if not ticks else None
        if answer in ticks:
            bit = len(ticks) - 1 - ticks.index(answer)
            places |= {code for code in range(len(gate.inputs)) if code >> bit & 1}
        elif place is None:
            raise StatementError(
                f"{short_repr(answer)} is no {'tick' if ticks else 'answer'} there",
                code="condition-answer",
                where=where,
                do=nearest(answer, list(map(text_of, known))),
            )
        else:
            places.add(place)
    return sorted(places)


def is_asked(
    question: Any,
    questions: Mapping[str, Any],
    codes: Mapping[str, Codes],
    known: Mapping[str, Any],
) -> tuple[Bools, Bools]:
    """Which people are asked a question, and of whom answers that were given say that they are not;
    ``known`` has for each earlier question who gave an answer.
    """
    size = len(next(iter(codes.values())))
    asked = np.ones(size, dtype=bool)
    is_false = np.zeros(size, dtype=bool)
    for name, answers in question.only_if.items():
        places = places_of(questions[name], answers, f"only_if of {name!r}")
        holds = np.isin(codes[name], places)
        asked &= holds
        is_false |= ~holds & known[name]
    return asked, is_false


def codes_otherwise(question: Any, is_false: Bools) -> Codes:
    """Codes for people who are not asked: "not asked", or the answer that is meant; if they did not
    answer what the question depends on, no answer.
    """
    if question.otherwise is None:
        place = question.place_of(NOT_ASKED)
        return np.full(len(is_false), SKIPPED if place is None else place)
    missing = MISSING if question.missing_code is None else question.missing_code
    return np.where(is_false, question.place_of(question.otherwise), missing)


class Conditions:
    """Who is asked the questions of a survey, as the answers to one after the other are known."""

    def __init__(self, questions: Mapping[str, Any]) -> None:
        self.questions = questions
        self.codes: dict[str, Codes] = {}
        self.known: dict[str, Bools] = {}

    def asked(self, name: str, codes: Codes) -> Bools:
        """Which people are asked the next question, of codes that they would say."""
        question = self.questions[name]
        asked = np.ones(len(codes), dtype=bool)
        self.codes[name] = codes
        self.known[name] = codes != question.missing_code
        if is_conditional(question, self.questions):
            asked, is_false = is_asked(question, self.questions, self.codes, self.known)
            self.codes[name] = np.where(asked, codes, codes_otherwise(question, is_false))
            self.known[name] = np.where(asked, self.known[name], is_false)
        return asked


def filled_codes(
    questions: Mapping[str, Any],
    codes: Mapping[str, Codes],
    missing: Mapping[str, MissingAnswers],
    first_row: int = 0,
) -> dict[str, Codes]:
    """Codes of the answers of people to some questions and all that these depend on, with those
    that follow from the conditions filled in.

    An answer to a question that somebody is not asked is refused with its row. Missing answers
    are counted.
    """
    filled: dict[str, Codes] = {}
    known: dict[str, Bools] = {}
    for name, question in questions.items():
        given = codes[name]
        known[name] = (given != MISSING) & (given != question.missing_code)
        if not is_conditional(question, questions):
            code = question.missing_code
            filled[name] = given if code is None else np.where(given == MISSING, code, given)
            continue
        asked, is_false = is_asked(question, questions, filled, known)
        gates = np.stack([filled[gate] for gate in question.only_if])
        is_open = (gates == MISSING).any(axis=0)  # an answer before is missing, and refused
        is_wrong = ~asked & ~is_open & (given != MISSING)
        if is_wrong.any():
            row = first_row + int(np.argmax(is_wrong))
            raise _not_asked(question, f"{missing[name].where}, row {row}")
        there = question.fill_missing(np.where(asked, given, SKIPPED), missing[name], first_row)
        filled[name] = np.where(asked, there, codes_otherwise(question, is_false))
        filled[name][is_open] = MISSING
        known[name] = np.where(asked, known[name], is_false)
    return filled


def _not_asked(question: Any, where: str) -> StatementError:
    """The error for an answer of somebody who is not asked."""
    texts = [f"{gate} is {in_words(answers)}" for gate, answers in question.only_if.items()]
    return StatementError(
        f"there is an answer of somebody who is not asked: only if {' and '.join(texts)} is the "
        "question asked",
        code="not-asked",
        where=where,
        do="leave the cell empty, or correct the answers before it",
    )


def in_words(answers: Iterable[Hashable]) -> str:
    """Answers with "or" between them."""
    return " or ".join(repr(text_of(answer)) for answer in answers)


def paths_of(questions: Mapping[str, Any]) -> tuple[Path, ...]:
    """All that the answers to some questions together can be, in the order of the answers."""
    columns: dict[str, Codes] = {}
    for step in _steps(questions, is_counted=False):
        columns = step.codes
    table = np.stack(list(columns.values()), axis=1).tolist()
    return tuple(tuple(None if code == SKIPPED else code for code in row) for row in table)


def count_paths(questions: Mapping[str, Any]) -> int:
    """The number of paths, without a list of them."""
    number = 1
    for step in _steps(questions, is_counted=True):
        number = int(step.numbers.sum())
    return number


def never_asked(questions: Mapping[str, Any]) -> str | None:
    """The first question that nobody can be asked; None if there is none."""
    steps = _steps(questions, is_counted=True)
    return next((step.name for step in steps if not step.is_asked.any()), None)


@dataclass
class _Step:
    """The combinations of answers up to a question: their codes, which of them are answers that
    were given, how many there are of each, and who is asked the question.
    """

    name: str
    codes: dict[str, Codes]
    known: dict[str, Bools]
    numbers: Any
    is_asked: Bools

    def next(self, name: str, questions: Mapping[str, Any], is_counted: bool) -> _Step:
        """The combinations with the answers to the next question."""
        question = questions[name]
        size = len(self.numbers)
        asked = np.ones(size, dtype=bool)
        is_false = asked
        otherwise = np.full(size, SKIPPED)
        if is_conditional(question, questions):
            asked, is_false = is_asked(question, questions, self.codes, self.known)
            otherwise = codes_otherwise(question, is_false)
        answers, numbers = _classes(name, questions, is_counted)
        if is_conditional(question, questions):  # nobody says it who is asked
            is_said = answers != question.place_of(NOT_ASKED)
            answers = answers[is_said]
            numbers = numbers[is_said]
        times = np.where(asked, len(answers), 1)
        if (total := int(times.sum())) > MAX_STATES:
            raise too_many(f"more than {MAX_STATES:,}")
        rows = np.repeat(np.arange(size), times)
        place = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
        is_given = asked[rows]
        place = np.where(is_given, place, 0)
        codes = {each: column[rows] for each, column in self.codes.items()}
        known = {each: column[rows] for each, column in self.known.items()}
        codes[name] = np.where(is_given, answers[place], otherwise[rows])
        is_known = answers[place] != question.missing_code
        known[name] = np.where(is_given, is_known, is_false[rows])
        numbers = self.numbers[rows] * np.where(is_given, numbers[place], 1)
        return _Step(name, codes, known, numbers, is_given)

    def without(self, kept: Iterable[str]) -> _Step:
        """The same of some questions only, with the sums of the numbers of others."""
        kept = list(kept)
        columns = [*(self.codes[name] for name in kept), *(self.known[name] for name in kept)]
        table = np.stack(columns) if kept else np.zeros((1, len(self.numbers)), dtype=np.int64)
        _, first, place = np.unique(table, axis=1, return_index=True, return_inverse=True)
        sums = np.zeros(len(first), dtype=object)
        np.add.at(sums, place.ravel(), self.numbers)
        codes = {name: self.codes[name][first] for name in kept}
        known = {name: self.known[name][first] for name in kept}
        return _Step(self.name, codes, known, sums, self.is_asked)


def _steps(questions: Mapping[str, Any], *, is_counted: bool) -> Iterator[_Step]:
    """The combinations of answers up to each question.

    If they are counted only, answers that differ in no condition are one, and those on which
    nothing depends any more are left out.
    """
    names = list(questions)
    step = _Step("", {}, {}, np.ones(1, dtype=object), np.ones(1, dtype=bool))
    for place, name in enumerate(names):
        step = step.next(name, questions, is_counted)
        yield step
        if is_counted:
            used = {gate for later in names[place + 1 :] for gate in questions[later].only_if or ()}
            step = step.without(each for each in step.codes if each in used)


def asked_on(questions: Mapping[str, Any], paths: Iterable[Path]) -> Bools:
    """Which questions are asked on each path, shape (paths, questions): an answer that is meant
    otherwise is not asked for.
    """
    table = np.array([[SKIPPED if code is None else code for code in path] for path in paths])
    conditions = Conditions(questions)
    columns = [
        conditions.asked(name, codes) for name, codes in zip(questions, table.T, strict=True)
    ]
    return np.stack(columns, axis=1)


def path_shares(
    questions: Mapping[str, Any], paths: Iterable[Path], priors: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Frequencies of paths, if answers are independent where they are asked for; answers without a
    prior are equally common.
    """
    listed = list(paths)
    shares = np.ones(len(listed))
    asked = asked_on(questions, listed)
    for place, (name, question) in enumerate(questions.items()):
        size = len(question.inputs)
        prior = priors.get(name)
        if prior is None:
            said = np.arange(size) != question.place_of(NOT_ASKED)
            said |= not is_conditional(question, questions)
            prior = said / said.sum()
        codes = np.array([path[place] or 0 for path in listed])
        shares *= np.where(asked[:, place], np.asarray(prior)[codes], 1.0)
    return shares


def share_asked(name: str, questions: Mapping[str, Any], priors: Mapping[str, Any]) -> float:
    """Share of the people who are asked a question, at priors of the answers to those before it."""
    paths = paths_of(questions)
    place = list(questions).index(name)
    shares = path_shares(questions, paths, priors)
    return float(shares[asked_on(questions, paths)[:, place]].sum())


def _classes(name: str, questions: Mapping[str, Any], is_counted: bool) -> tuple[Int, Any]:
    """One code of each class of answers to a question, and how many there are in it: those that
    differ in no condition, or all.
    """
    question = questions[name]
    size = len(question.inputs)
    if not is_counted:
        return np.arange(size), np.ones(size, dtype=object)
    signs: list[Any] = [np.arange(size) == question.missing_code]
    for other in questions.values():
        if name in (other.only_if or {}):
            places = places_of(question, other.only_if[name], f"only_if of {name!r}")
            signs.append(np.isin(np.arange(size), places))
    signs.append(np.arange(size) == question.place_of(NOT_ASKED))
    _, first, counts = np.unique(np.stack(signs), axis=1, return_index=True, return_counts=True)
    return first, np.array(counts.tolist(), dtype=object)


def too_many(number: str) -> StatementError:
    """The error for questions whose answers have too many combinations."""
    return StatementError(
        f"the answers have {number} combinations",
        code="combinations",
        do="ask fewer questions, or fewer answers, that depend on each other",
    )
