"""Estimates of a survey: one for each question, and for each group of people; tables of two
questions.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.answered import ANSWERED, among_answered
from ldpopt.estimation.counts import Counts, MechanismSource, source_of
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.estimation.reports import ALL, NO_GROUP
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.labels import label_numbers, text_of
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.tables.coding import Coder

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey

FEW = 100  # number of reports below which a table says that a group is small
MAX_PAIRS = 1 << 22  # largest number of entries of the channel of two reports


@dataclass(frozen=True, eq=False)
class SurveyEstimate(Mapping[str, Estimate], HasFacts):
    """Estimates of the questions of a survey, a mapping name -> `Estimate` of all people; made by
    `Survey.estimate`.

    Attributes
    ----------
    questions : dict name -> Estimate
        Of all people.
    by : str or None
        Column of the groups; default: ``None``.
    groups : dict group -> dict name -> Estimate
        Of each group in which somebody reported on the question; empty without ``by``.
    title : str
        Of the survey; default: ``""``.

    Examples
    --------
    >>> coin = Estimate([0.4, 0.6], [0.1, 0.1], 90, labels=("no", "yes"))
    >>> by_region = SurveyEstimate({"smokes": coin}, "region", {"north": {"smokes": coin}})
    >>> by_region.to_frame()["estimate"].tolist()
    [0.4, 0.6]
    """

    questions: dict[str, Estimate]
    by: str | None = None
    groups: dict[Hashable, dict[str, Estimate]] = field(default_factory=dict)
    title: str = ""

    def __getitem__(self, name: str) -> Estimate:
        return self.questions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def __repr__(self) -> str:
        groups = "" if self.by is None else f", {len(self.groups)} groups by {self.by!r}"
        return f"SurveyEstimate({', '.join(self.questions)}{groups})"

    def __str__(self) -> str:
        return self.summary()

    def entries(self) -> list[dict[str, Any]]:
        """Rows of the table: group (with ``by``), question, answer, estimate, its interval and
        number of reports.
        """
        tables: dict[Any, dict[str, Estimate]] = (
            {ALL: self.questions} if self.by is None else self.groups
        )
        return [
            ({} if self.by is None else {"group": group})
            | {"question": name, "answer": answer, "estimate": float(one.values[place])}
            | {"std_error": float(one.std_error[place]), "low": float(low), "high": float(high)}
            | {"n_reports": one.n_reports}
            for group, found in tables.items()
            for name, one in found.items()
            for place, (answer, (low, high)) in enumerate(
                zip(one.labels or (), one.interval, strict=True)
            )
        ]

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a long table with a row for each group, question and answer."""
        return optional.pandas.DataFrame(self.entries())

    def notes(self) -> list[str]:
        """What a reader of the table has to know: shares among those who answered, groups with few
        reports.
        """
        found = []
        if answered := [name for name, one in self.questions.items() if one.method == ANSWERED]:
            last = " or ".join(
                sorted({repr(text_of((self[name].labels or ("",))[-1])) for name in answered})
            )
            found.append(
                f"{', '.join(answered)}: shares among those who answered; {last} is a share of "
                "all people"
            )
        small = {
            text_of(group): number
            for group, own in self.groups.items()
            if (number := min((one.n_reports for one in own.values()), default=0)) < FEW
        }
        if small:
            shown = ", ".join(
                f"{label(group)} {number}" for group, number in list(small.items())[:5]
            )
            found.append(
                f"groups of fewer than {FEW} reports say little: "
                f"{shown}{', ...' if len(small) > 5 else ''}"
            )
        if self.by is not None:
            found.append(
                f"{self.by} is not protected: the groups are those of the table as it was collected"
            )
        return found

    def facts(self) -> Facts:
        """The table and its notes."""
        confidence = next(iter(self.questions.values())).confidence
        headings = [
            *([] if self.by is None else [self.by]),
            "question",
            "answer",
            "estimate",
            "std error",
        ]
        rows = [
            [
                cell if isinstance(cell, (int, float)) and key != "group" else label(cell)
                for key, cell in entry.items()
            ]
            for entry in self.entries()
        ]
        table = Table(
            [*headings, "low", "high", "reports"], rows, words=["question", "answer"], digits=5
        )
        return Facts(
            f"{self.title or 'survey'}: {100 * confidence:g} % intervals", [table, *self.notes()]
        )


def in_order(groups: Mapping[Hashable, Any]) -> list[Hashable]:
    """Names of groups in the order of their numbers, or else of their texts."""
    names = list(groups)
    numbers = label_numbers(names)
    return [
        names[place]
        for place in sorted(
            range(len(names)), key=(numbers or list(map(text_of, names))).__getitem__
        )
    ]


def estimate_survey(
    survey: Survey,
    counts: Mapping[str, Mapping[Hashable, Counts]],
    by: str | None,
    check_fit: bool,
    **how: Any,
) -> SurveyEstimate:
    """Estimate from counts by column and group; the fit of the reports is checked for all people
    together.
    """
    whole: dict[str, Estimate] = {}
    groups: dict[Hashable, dict[str, Estimate]] = {
        group: {} for own in counts.values() for group in own if by
    }
    for name in survey.questions:
        own = counts[survey.column_of(name)]
        total: Any = sum(own.values())
        whole[name] = survey.estimate_question(name, total, check_fit=check_fit, **how)
        for group in groups:
            if group in own and own[group].total > 0:
                groups[group][name] = survey.estimate_question(
                    name, own[group], check_fit=False, **how
                )
    return SurveyEstimate(
        whole, by, {group: groups[group] for group in in_order(groups)}, survey.title
    )


def numbers_of(survey: Survey, name: str) -> Any:
    """What estimates the numbers of a question."""
    column = survey.column_of(name)
    found = survey.sources[column] if survey.joint is None else survey.joint.numbers_of(name)
    return found if isinstance(found, YesNoPatterns) else source_of(found, name)


def estimate_question(
    survey: Survey, name: str, counts: Counts, confidence: float, **how: Any
) -> Estimate:
    """Estimate one question, and of one with an answer for missing ones the shares among those who
    answered.
    """
    source = numbers_of(survey, name)
    if isinstance(source, YesNoPatterns):
        found = source.estimate_one(name, counts, confidence, **how)
    elif isinstance(source, MechanismSource):
        found = estimate_frequencies(source.mechanism, counts, confidence=confidence, **how)
    else:
        found = source.estimate(counts, confidence, **how)
    missing = survey.questions[name].missing_place(found.labels or ())
    if missing is None:
        return found
    return among_answered(
        found, source, counts, missing, simultaneous=how.get("simultaneous", False)
    )


def true_numbers(survey: Survey, name: str, prior: Any, found: Estimate) -> list[float]:
    """The numbers of a question that an estimate is about, if the answers have these
    frequencies.
    """
    names = found.labels or ()
    question = survey.questions[name]
    missing = question.missing_place(names)
    joint = question.source if survey.joint is not None else None
    # a workload about the answers to this question alone
    source = numbers_of(survey, name) if joint is None else joint
    wanted = source.wanted if joint is None else joint.matrix
    numbers = dict(zip(source.names, (wanted @ prior).tolist(), strict=True))
    rest = 1.0 if missing is None else 1 - numbers[names[missing]]
    return [numbers[key] / (1.0 if place == missing else rest) for place, key in enumerate(names)]


def estimate_pair(
    survey: Survey, table: Any, names: tuple[str, str], weights: Any, **how: Any
) -> Estimate:
    """Estimate the table of two questions from their two reports, which are independent given the
    answers.
    """
    drawn = [survey.randomizers[survey.require(name)] for name in names]
    why = ""
    one, two = drawn
    if survey.one_question is not None:
        why = f"in the scheme {survey.scheme!r} no report is about two questions"
    elif names[0] == names[1]:
        why = f"a table of {names[0]!r} and itself"
    elif (
        not all(isinstance(each, Mechanism) for each in drawn)
        or one.counts.size * two.counts.size > MAX_PAIRS
    ):
        why = "the questions have too many answers for a table"
    if why:
        raise StatementError(
            why, do="use the scheme 'joint', or 'split' and two questions of few answers"
        )
    # The counts of one report in the groups of the other one are those of pairs.
    if isinstance(table, (str, os.PathLike)):
        require_drawn_by(os.fspath(table), names[1], two.digest)
    source, own = survey.columns[names[0]]
    groups = survey.counts_by_group({names[0]: (source, own)}, table, weights, names[1])[names[0]]
    if survey.columns[names[1]][1] == "leave_out":
        groups.pop(NO_GROUP, None)
    coder = Coder(two.outputs, "report", as_text=True)
    none = source.counts_of_array(source.codec.no_reports)
    by_code = {coder.code(text_of(group)): found for group, found in groups.items()}
    if min(by_code, default=0) < 0:
        what = f"column {names[1]!r} has an entry that is not a report of its question"
        raise StatementError(what, do="pass what `privatize` returned or wrote")
    cells = [by_code.get(code, none) for code in range(len(two.outputs))]
    parts = ([cell[key] for cell in map(vars, cells)] for key in ("values", "squares"))
    values, squares = (np.stack(part, axis=1).ravel() for part in parts)
    channel = np.kron(one.counts / one.denominator, two.counts / two.denominator)
    pairs = Mechanism(
        channel, list(product(one.inputs, two.inputs)), list(product(one.outputs, two.outputs))
    )
    sums = (float(values.sum()), float(squares.sum()), sum(cell.n_reports for cell in cells))
    return estimate_frequencies(
        pairs, Counts(pairs.digest, pairs.outputs, values, squares, *sums), **how
    )
