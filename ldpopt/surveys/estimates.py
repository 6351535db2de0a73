"""Estimates of a survey: one for each question, and for each group of people; tables of two
questions.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ldpopt.errors import StatementError, UnknownQuestionError
from ldpopt.estimation.answered import ANSWERED, among_answered
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.chosen_answered import ChosenRatioBand
from ldpopt.estimation.counts import Counts, MechanismSource, source_of
from ldpopt.estimation.estimate import NO_ERROR, Estimate, cost_of_weights
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.estimation.liars import liars_in_words, plain_band, read_liars, stated
from ldpopt.estimation.options import Reading
from ldpopt.estimation.report_model import ReportModel
from ldpopt.estimation.reports import ALL
from ldpopt.estimation.sample import Sample
from ldpopt.estimation.significance import Significance
from ldpopt.estimation.strata import StrataBand
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Table, label
from ldpopt.foundation.labels import is_among, label_numbers, nearest, text_of
from ldpopt.foundation.numbers import require_kind, require_text, short_repr, truth
from ldpopt.frequencies.yes_no import YesNoPatterns
from ldpopt.mechanism.conditions import NOT_ASKED
from ldpopt.surveys.asked_twice import AskedTwice, asked_twice
from ldpopt.surveys.choices import POOLED, STRATA, SameChoices, same_for_all_choices
from ldpopt.surveys.comparisons import (
    SurveyDifferences,
    consistent,
    differences_of_groups,
    differences_of_waves,
    excluded_of,
    independence_of_groups,
    quantiles_of,
)
from ldpopt.surveys.count import counts_of_table
from ldpopt.surveys.models import behaviors_of
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.second_stage import SecondStage
from ldpopt.surveys.shared import SharedQuestion

FEW = 100  # number of reports below which a table says that a group is small
LABELS = ("group", "question", "answer")  # columns of a table of estimates that are no numbers
LARGEST_SHARE = 1 - 2.0**-53  # of liars among the reports of one question
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
    edges : dict name -> tuple of float
        Ends of the classes of numbers that answers stand for, of the questions that have them.
    behaviors : dict name -> tuple of str
        Names of the behaviors of people who do not follow the rule, of the questions with some.
    asked_twice : tuple of AskedTwice
        Of each question with a report of its own that not everybody is asked: the share of those
        who are, by its reports less by those that it depends on, a test of the page's logic.
    repeated : tuple of str
        Questions that people are asked twice: their numbers are those of the people who repeat
        their answer, with the share of careless ones.
    same_choices : tuple of SameChoices
        Where people chose their epsilon: of each question a test of whether its numbers are the
        same for all choices, on which no estimate depends.
    stage : SecondStage or None
        What the second stage of a survey estimates; None for any other survey.

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
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    behaviors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asked_twice: tuple[AskedTwice, ...] = ()
    repeated: tuple[str, ...] = ()
    same_choices: tuple[SameChoices, ...] = ()
    stage: SecondStage | None = None

    def __getitem__(self, name: str) -> Estimate:
        if not isinstance(name, str) or name not in self.questions:
            is_group = is_among(name, self.groups)
            group = f"it is a group: take .groups[{short_repr(name)}]; " if is_group else ""
            raise UnknownQuestionError(
                f"unknown question {short_repr(name)}",
                code="question",
                do=group + nearest(name, self.questions),
            )
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
        """Rows of the table: group (with ``by``), question, answer, estimate, its standard error
        (None if none is known) and interval, the nearest distribution if a question has one, and
        number of reports.
        """
        has_nearest = any(estimate.nearest_shares is not None for estimate in self.values())
        wider = {"liars": self.liars} if self.liars else {}
        entries = []
        for group, estimates in self._tables.items():
            for name, estimate in estimates.items():
                values, low, high = estimate.shown
                columns: dict[str, Any] = {"answer": estimate.labels or (), "estimate": values}
                columns |= {"std_error": estimate.shown_errors, "low": low, "high": high}
                if has_nearest:
                    nothing = [None] * len(estimate.values)
                    columns["norm_sub"] = estimate.nearest_shares or nothing
                place = ({} if self.by is None else {"group": group}) | {"question": name}
                entries += [
                    place
                    | dict(zip(columns, row, strict=True))
                    | wider
                    | {"n_reports": estimate.n_reports}
                    for row in zip(*columns.values(), strict=True)
                ]
        return entries

    @property
    def liars(self) -> float:
        """Share of liars for which the intervals are widened; 0 if they are not."""
        return max((each.liars for each in self.questions.values()), default=0.0)

    @property
    def _tables(self) -> dict[Any, dict[str, Estimate]]:
        """The estimates of each group, or of all people."""
        return {ALL: self.questions} if self.by is None else self.groups

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a long table with a row for each group, question and answer."""
        return optional.pandas.DataFrame(self.entries())

    def notes(self) -> list[str]:
        """What a reader of the table has to know: shares among those who answered, groups with few
        reports, what unequal weights cost.
        """
        notes = liars_in_words(self.liars, has_groups=self.by is not None)
        notes += _notes_on_behaviors(self)
        notes += [] if self.stage is None else [self.stage.in_words]
        notes += _notes_on_repeated(self)
        answered = [name for name in self.answered if name not in self.repeated]
        if answered:
            notes += _notes_on_answered(self, answered)
        notes += [each.in_words for each in self.asked_twice]
        notes += _notes_on_choices(self)
        notes += _notes_on_sample(self)
        numbers = {
            text_of(group): min((each.n_reports for each in estimates.values()), default=0)
            for group, estimates in self.groups.items()
        }
        small = [f"{label(group)} {n}" for group, n in numbers.items() if n < FEW]
        if small:
            shown = ", ".join(small[:5])
            notes.append(
                f"groups of fewer than {FEW} reports say little: "
                f"{shown}{', ...' if len(small) > 5 else ''}"
            )
        all_shown = [each for table in self._tables.values() for each in table.values()]
        if any(None in each.shown_errors for each in all_shown if each.scale is None):
            notes.append(NO_ERROR)
        notes += cost_of_weights(self.questions)
        if self.by is not None:
            notes.append(
                f"{self.by} is not protected: the groups are those of the table as it was collected"
            )
        return notes

    @property
    def answered(self) -> tuple[str, ...]:
        """Questions with shares among those who answered; those among the people who follow a rule
        are not.
        """
        return tuple(
            name
            for name in self
            if self[name].method == ANSWERED
            and (self[name].labels or ("",))[-1] not in self.left_out(name)
        )

    def left_out(self, name: str) -> tuple[Hashable, ...]:
        """Behaviors of a question, and the name of several of them together."""
        require_text(name, "the name of a question")
        behaviors = self.behaviors.get(name, ())
        return (*behaviors, "behaviors") if behaviors else ()

    def differences(self, base: Hashable | None = None) -> SurveyDifferences:
        r"""Return the differences between groups, each with an interval and a p-value.

        Parameters
        ----------
        base : hashable, optional
            The group with which all others are compared; default: every pair.

        Returns
        -------
        SurveyDifferences
            By pair of groups and question; see `Estimate.__sub__` for the intervals. Of several
            rows the table has Holm's p-value, too.

        Raises
        ------
        StatementError
            If there are no groups, or the base is not one of them.
        """
        return differences_of_groups(self, base)

    def __sub__(self, other: Any) -> SurveyDifferences:
        """Changes from another wave, of other people, to this one.

        Raises
        ------
        StatementError
            If no question is in both, or a question does not have the same numbers.
        """
        if not isinstance(other, SurveyEstimate):
            raise StatementError(
                f"a {type(other).__name__} is not the estimate of a survey",
                code="not-an-estimate",
                do="subtract what survey.estimate() returned for the other wave",
            )
        return differences_of_waves(self, other)

    def quantile(self, p: float) -> SurveyEstimate:
        """Estimate a quantile of each question whose answers are ordered, for all people and each
        group; see `Estimate.quantile`.

        These are questions with edges, questions of the workload "prefix", and frequencies of
        answers that are numbers; others are left out, since nothing says that their answers are in
        order: of one whose are, call `Estimate.quantile`. Values are numbers between the edges of
        a question, or else positions in `Estimate.scale`, the answers. If a question has an answer
        for missing ones, quantiles are among the people who answered.

        Raises
        ------
        StatementError
            If ``p`` is not between 0 and 1, the survey is a second stage, which estimates one
            number, or a question with edges has behaviors, and its shares are not of those who
            follow the rule.
        """
        return quantiles_of(self, p)

    def independence(self, question: str) -> Significance:
        """Test whether the answers to a question are the same in all groups; see
        `ldpopt.estimation.significance`.

        Raises
        ------
        StatementError
            If there are no groups, the question is unknown, or its protocol keeps no table of
            reports.
        """
        return independence_of_groups(self, question)

    def consistent(self) -> SurveyEstimate:
        r"""Return shares without negative ones, of groups that add up to those of all people.

        .. math:: \min \sum_g N_g |v_g - \hat t_g|^2, \quad v_g \in \text{simplex}, \quad
                  \sum_g (N_g / N) v_g = v

        with ``v`` the nearest distribution to the total (Norm-Sub). Values are biased; standard
        errors are those of the unbiased estimates, intervals theirs clipped to [0, 1].

        Raises
        ------
        StatementError
            If there are no groups.
        """
        return consistent(self)

    def facts(self) -> Facts:
        """The table and its notes."""
        confidence = next(iter(self.questions.values())).confidence
        entries = self.entries()
        names = {"group": label(self.by), "n_reports": "reports"}
        for entry in entries:
            entry.pop("liars", None)  # a note says it
        rows = [
            [label(cell) if key in LABELS else cell for key, cell in entry.items()]
            for entry in entries
        ]
        headings = [names.get(key, key.replace("_", " ")) for key in entries[0]] if entries else []
        table = Table(headings, rows, words=["question", "answer"], digits=5)
        return Facts(
            f"{self.title or 'survey'}: {100 * confidence:g} % intervals", [table, *self.notes()]
        )


def _notes_on_answered(estimates: SurveyEstimate, names: Sequence[str]) -> list[str]:
    """Of whom the shares are, of questions that some people did not answer or were not asked."""
    notes = []
    last = {}
    for name in names:
        estimate = estimates[name]
        last[name] = list(map(text_of, (estimate.labels or ())[-excluded_of(estimate) :]))
    for is_skipped in (False, True):
        some = [name for name in names if (NOT_ASKED in last[name]) == is_skipped]
        if not some:
            continue
        labels = sorted({repr(text) for name in some for text in last[name]})
        whose = "were asked and answered" if is_skipped else "answered"
        notes.append(
            f"{', '.join(some)}: shares among those who {whose}; {' or '.join(labels)} is a share "
            "of all people"
        )
    return notes


def _notes_on_repeated(estimates: SurveyEstimate) -> list[str]:
    """Of whom the shares are, of questions that people were asked twice."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name in estimates.repeated:
        if name in estimates and estimates[name].method == ANSWERED:
            labels = (estimates[name].labels or ())[-excluded_of(estimates[name]) :]
            names.setdefault(tuple(map(text_of, labels)), []).append(name)
    return [
        f"{', '.join(some)}: asked twice; shares among those who answer carefully: they repeat "
        "their answer; careless people draw both at random; "
        f"{' and '.join(map(repr, last))} {'is a share' if len(last) == 1 else 'are shares'} of "
        "all people"
        for last, some in names.items()
    ]


def _notes_on_behaviors(estimates: SurveyEstimate) -> list[str]:
    """Of whom the shares are, of questions with people who do not follow the rule."""
    notes = []
    for name, behaviors in estimates.behaviors.items():
        names = ", ".join(map(label, behaviors))
        if estimates[name].scale is not None or estimates[name].method == "quantile":
            continue
        if estimates[name].method == ANSWERED and name not in estimates.answered:
            last = label((estimates[name].labels or ("",))[-1])
            whose = f"shares among those who follow the rule; {last} is a share of all people"
        else:
            whose = f"with people who do not follow the rule: {names}"
        notes.append(f"{name}: {whose}")
    return notes


def _notes_on_choices(estimates: SurveyEstimate) -> list[str]:
    """By which weights people with several choices count, and whether their answers differ."""
    bands = [plain_band(each.bounds) for each in estimates.values()]
    if not any(isinstance(getattr(band, "of_all", band), StrataBand) for band in bands):
        return []
    is_pooled = any(each.method.startswith("pooled") for each in estimates.values())
    return [POOLED if is_pooled else STRATA, *(each.in_words for each in estimates.same_choices)]


def _notes_on_sample(estimates: SurveyEstimate) -> list[str]:
    """Questions of which the size of the population is not used."""
    bands = {name: getattr(estimates[name].bounds, "of_sample", None) for name in estimates}
    names = [name for name, band in bands.items() if band and band.ignores_population]
    if not names:
        return []
    return [
        f"{', '.join(names)}: the population counts as very large, since the reports do not show "
        "all answers, and so not how much of the error is noise"
    ]


def in_order(groups: Mapping[Hashable, Any]) -> list[Hashable]:
    """Names of groups in the order of their numbers, or else of their texts."""
    names = list(groups)
    keys: list[Any] = label_numbers(names) or list(map(text_of, names))
    return [names[place] for place in sorted(range(len(names)), key=keys.__getitem__)]


def estimate_survey(
    survey: Questionnaire,
    table: Any,
    weights: Any,
    by: str | None,
    reading: Reading,
    sample: Sample | None = None,
    followers: bool = False,
    pooled: bool = False,
) -> SurveyEstimate:
    """Estimate every question from a table of reports or their counts; see `Survey.estimate`.

    The fit of the reports is checked for all people together.
    """
    behaviors = behaviors_of(survey.questions)
    if truth(followers, "followers") and not behaviors:
        raise StatementError(
            "no question has behaviors: everybody follows the rule",
            code="no-behaviors",
            do="leave followers out",
        )
    _require_choices(survey, pooled)
    counts = counts_of_table(survey, table, weights, by, survey.drawn(sample))
    in_group = replace(reading, check_fit=False)
    of_all: dict[str, Estimate] = {}
    groups: dict[Hashable, dict[str, Estimate]] = {
        group: {} for by_group in counts.values() for group in by_group if by
    }
    for name in survey.questions:
        by_group = counts[survey.column_of(name)]
        total: Any = sum(by_group.values())
        times = _times_drawn(survey, counts, by_group)
        of_all[name] = estimate_question(
            survey, name, total, reading, followers, times, pooled=pooled
        )
        for group in groups:
            if group in by_group and by_group[group].total > 0:
                times = _times_drawn(survey, counts, by_group, [group])
                groups[group][name] = estimate_question(
                    survey, name, by_group[group], in_group, followers, times, pooled=pooled
                )
    ordered = {group: groups[group] for group in in_order(groups)}
    edges = {
        name: question.edges
        for name, question in survey.questions.items()
        if question.edges is not None
    }
    sources = {name: numbers_of(survey, name) for name in survey.questions}
    sums: Any = {column: sum(by_group.values()) for column, by_group in counts.items()}
    twice = tuple(asked_twice(survey, of_all, sources, sums))
    repeated = tuple(name for name, each in survey.questions.items() if each.repeat)
    same = tuple(
        test
        for name in survey.questions
        if (test := same_for_all_choices(name, sources[name], sums[survey.column_of(name)]))
    )
    more = (edges, behaviors, twice, repeated, same, survey.stage)
    return SurveyEstimate(of_all, by, ordered, survey.title, *more)


def _require_choices(survey: Questionnaire, pooled: bool) -> None:
    """Refuse pooled estimates of a survey in which everybody has the same epsilon."""
    if truth(pooled, "pooled") and not survey.choices:
        raise StatementError(
            "there are no choices to pool: everybody has the same epsilon",
            code="no-choices",
            do="leave pooled out",
        )


def _times_drawn(
    survey: Questionnaire,
    counts: Mapping[str, Any],
    of_column: Mapping[Any, Counts],
    groups: Collection[Hashable] | None = None,
) -> float:
    """How many times their share of the people of some groups, by default all, liars can have among
    the reports of one column: they choose which question is drawn.

    ``counts`` are by column, then by group.
    """
    if survey.times_drawn == 1:
        return 1.0
    if groups is None:
        # in the order of the counts, and not of a set: sums of weights have the same last digit
        groups = dict.fromkeys(each for by_group in counts.values() for each in by_group)
    reports = [
        by_group[each].total for by_group in counts.values() for each in groups if each in by_group
    ]
    own = sum(of_column[each].total for each in groups if each in of_column)
    return float(sum(reports) / own) if own > 0 else survey.times_drawn


def numbers_of(survey: Questionnaire, name: str) -> Any:
    """What estimates the numbers of a question."""
    column = survey.column_of(name)
    asked = survey.asked[column]
    if not isinstance(asked, SharedQuestion):
        return source_of(survey.sources[column], name)
    numbers = asked.numbers_of(name)
    if survey.one_question is not None and survey.has_fake_data:
        numbers = numbers.among_fakes(survey.randomizers[column], survey.one_question.count)
    return numbers if isinstance(numbers, YesNoPatterns) else source_of(numbers, name)


def estimate_question(
    survey: Questionnaire,
    name: str,
    counts: Counts,
    reading: Reading,
    followers: bool = False,
    times: float | None = None,
    *,
    pooled: bool = False,
) -> Estimate:
    """Estimate one question, and of one with an answer for missing ones the shares among those who
    answered; with behaviors those of all people, or of those who follow the rule.

    Liars have ``times`` their share of all people among the reports; default: as is expected.
    """
    if survey.stage is not None:
        survey.require(name)
        return survey.stage.estimate(survey.questions[name], counts, reading)
    times = survey.times_drawn if times is None else times
    reading, of_all_people = among_drawn(reading, times), reading
    source = numbers_of(survey, name)
    if isinstance(source, YesNoPatterns):
        require_kind(counts, Counts, "estimate_question()", "pass what survey.count returned")
        estimate: Any = partial(source.estimate_one, name)
    elif isinstance(source, MechanismSource):
        estimate = partial(estimate_frequencies, source.mechanism)
    elif isinstance(source, ChosenSource):
        estimate = partial(source.estimate, pooled=pooled)
    elif isinstance(source, ReportModel) and followers and source.behaviors:
        _require_nobody_missing(survey, name)
        estimate = partial(source.estimate, followers=True)
    else:
        estimate = source.estimate
    with of_question(name):
        estimates: Estimate = estimate(counts, **vars(reading))
    excluded = survey.questions[name].excluded_places(estimates.labels or ())
    if excluded and estimates.method != ANSWERED:
        source = source.at(counts) if isinstance(source, ReportModel) else source
        kind = ChosenRatioBand if isinstance(source, ChosenSource) else None
        estimates = among_answered(
            estimates, source, counts, excluded, simultaneous=reading.simultaneous, kind=kind
        )
    return stated(estimates, of_all_people.liars)


def among_drawn(reading: Reading, times: float) -> Reading:
    """The same for reports among which liars have so many times their share; not all are lies."""
    share = read_liars(reading.liars) * times
    return replace(reading, liars=min(share, LARGEST_SHARE))


def _require_nobody_missing(survey: Questionnaire, name: str) -> None:
    """Refuse shares that would be among those who answered, and among those who follow the rule."""
    if survey.questions[name].missing_place(survey.questions[name].inputs) is not None:
        raise StatementError(
            "shares are among those who answered already, and not among those who follow the rule",
            code="followers-who-answered",
            where=f"question {name!r}",
            do="leave followers out: the behaviors have shares of their own",
        )


@contextmanager
def of_question(name: str) -> Iterator[None]:
    """Name the question whose frequencies cannot be estimated."""
    try:
        yield
    except StatementError as error:
        if error.code not in ("rank", "silent"):
            raise
        raise error.restated(StatementError, where=f"question {name!r}") from None
