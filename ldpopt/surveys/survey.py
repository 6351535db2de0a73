"""A survey: questions by name, each with its mechanism, and the budget of a person."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from ldpopt.accounting.curve import PrivacyCurve, compose
from ldpopt.accounting.privacy_loss import OneOf
from ldpopt.accounting.shuffling import shuffled
from ldpopt.designing.record import Design, FormulaDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, ReportSource, source_of
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.planning import Precision, precision
from ldpopt.estimation.reports import ALL, count_file, count_frame
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import require_choice, short_repr, whole_number
from ldpopt.mechanism.files import epsilon_of_odds, odds_of_person
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.privatizing import privatize_file, privatize_frame
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.mechanism.sampling import Random
from ldpopt.problem.problem import Problem
from ldpopt.problem.workload import Workload
from ldpopt.solving.solve import solve
from ldpopt.surveys.estimates import (
    SurveyEstimate,
    estimate_pair,
    estimate_question,
    estimate_survey,
)
from ldpopt.surveys.files import read_survey_file, write_survey_file
from ldpopt.surveys.form import FormWords, form_of
from ldpopt.surveys.joint import JOINT, JointQuestion, joint_source
from ldpopt.surveys.schemes import SCHEMES
from ldpopt.tables.coding import Missing

DESIGNS = (Design, FormulaDesign)
Scheme = Literal["split", "one_question", "fake_data", "joint"]


class Survey:
    r"""Several questions to the same people.

    With ``scheme="split"`` each person answers all questions, and the budgets add up,

    .. math:: \epsilon = \sum_i \epsilon_i ;

    if one question is drawn for each person, it is :math:`\epsilon = \max_i \epsilon_i`. With
    ``"one_question"`` the other questions get no report; with ``"fake_data"`` they get the report
    of a random answer, so that nobody sees which question was drawn. With ``"joint"`` a person has
    one report on all questions together, drawn by the mechanism that is best for all of them, in
    the column ``joint report``. Theory: docs, "Surveys".

    Parameters
    ----------
    questions : mapping name -> Mechanism, design, Problem or Question
        By the name of the column. A problem is solved. A `Question` also defines what is done with
        missing answers, which are refused by default. For a joint report, the answers: labels,
        their number, or a `Workload`.
    epsilon : float or str, optional
        Largest budget of a person, in nats; default: the one that the questions need. A joint
        report needs it.
    scheme : {"split", "one_question", "fake_data", "joint"}
        Which questions a person's reports are about. Default: ``"split"``.
    title : str
        What the survey is about; default: ``""``.
    weights : str, optional
        Column of survey weights, which is kept in files of reports, unprotected; default: none.
    words : mapping, optional
        Words of the page for respondents, with the keys of ``[form]`` in a survey file, and
        ``{"questions": {name: {"text": ..., "answers": {label: words}}}}``; default: none.

    Attributes
    ----------
    questions : dict name -> Question
        Mechanism or design of each question, and how missing answers are treated.
    joint : JointQuestion or None
        The joint report, with its ``certificate``; None for other schemes.

    Raises
    ------
    StatementError
        If there are no questions, a name is not text, a question is of another type, or a person
        would spend more than ``epsilon``.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin, "drinks": coin})
    >>> drawn = Survey({"smokes": coin, "drinks": coin}, scheme="one_question")
    >>> round(survey.epsilon, 6), round(drawn.epsilon, 6)
    (2.197225, 1.098612)
    """

    def __init__(
        self,
        questions: Mapping[str, Any],
        *,
        epsilon: float | str | None = None,
        scheme: Scheme = "split",
        title: str = "",
        weights: str | None = None,
        words: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(questions, (Mapping, JointQuestion)) or not questions:
            raise StatementError("a survey needs questions", do='pass {"name": mechanism, ...}')
        require_choice(scheme, SCHEMES, "scheme")
        for what, text in (("title", title), ("weights", weights)):
            if not isinstance(text, (str, type(None))):
                do = "pass text" if what == "title" else "name the column of the weights"
                raise StatementError(f"{what} = {short_repr(text)} is not text", do=do)
        self.title, self.scheme, self.weights = title, scheme, weights
        self.limit = None if epsilon is None else Budget(epsilon)
        self.joint = _read_joint(questions, self.limit) if scheme == "joint" else None
        parts = questions if self.joint is None else self.joint.parts
        self.questions = {name: _read_question(name, question) for name, question in parts.items()}
        if weights in self.questions or weights in self.asked:
            raise StatementError(
                f"the column {weights!r} of the weights is a question", do="name another column"
            )
        self.one_question: OneQuestion | None = None
        if scheme in ("one_question", "fake_data") and len(self.questions) > 1:
            self.one_question = OneQuestion(len(self.questions), scheme == "fake_data")
            self._require_fake_data_possible()
        self.words = FormWords.read(words or {}, self.questions)
        if not self._fits:
            raise _overspent(self)

    def _require_fake_data_possible(self) -> None:
        """Refuse questions to which no fake data can be added, if the scheme adds them."""
        for name, question in self.questions.items() if self.scheme == "fake_data" else ():
            source, why = question.source, ""
            if question.randomizer.codec.form != "labels":
                why = "its reports are sets"
            elif question.missing == "leave_out":
                why = "people without an answer are left out"
            elif isinstance(source, Design) and source.workload.names != question.inputs:
                why = "its design is for other numbers than frequencies"
            if why:
                do = "draw one question without fake data, or split the budget"
                raise StatementError(f"there is no fake data for question {name!r}: {why}", do=do)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Survey:
        """Read a survey in TOML, and find the best mechanism for each question.

        Raises
        ------
        ModelFileError
            If the file is invalid; the message names file, key and line.
        """
        from ldpopt.surveys.statement import read_survey

        return read_survey(path).solve(cls)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Survey:
        """Read a file of `save` or ``ldpopt survey solve``.

        Raises
        ------
        ModelFileError
            If the file is missing, does not contain a survey, or was changed.
        """
        return read_survey_file(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write questions, mechanisms and budgets as JSON; atomic.

        Raises
        ------
        StatementError
            If a label is neither text nor a number nor a tuple of them.
        ModelFileError
            If the file cannot be written.
        """
        write_survey_file(self, path)

    def form(self, wave: int | None = None) -> dict[str, Any]:
        r"""Return what a respondent's device needs to draw the reports, as JSON data.

        .. math:: P(y \mid x) = K_{xy} / 2^{53}, \qquad K_{xy} \text{ the audited masses}

        Neither the proof nor the estimator is part of it; O(answers times reports). Source: docs,
        "Fieldwork".

        Parameters
        ----------
        wave : int, optional
            Number of this repetition of the survey, ``1 <= wave <= 1000``; default: that of its
            words, else 1.

        Returns
        -------
        dict
            ``format``, ``title``, ``scheme``, ``odds`` (the exact ratio as text), ``wave`` from 2
            on, and for each question its ``answers`` and ``reports`` as in a table of text with
            ``masses``, or the law of a ``set``.

        Raises
        ------
        StatementError
            If the odds are infinite, the survey has weights, or a question has more than 500
            answers, more than 200,000 masses, or two answers with the same text.

        Examples
        --------
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> form = Survey({"smokes": coin}).form()
        >>> form["odds"], form["questions"]["smokes"]["masses"][0]
        ('3', [6755399441055744, 2251799813685248])
        """
        return form_of(self, wave)

    def __repr__(self) -> str:
        scheme = "" if self.one_question is None and self.joint is None else f", {self.scheme}"
        return f"Survey({', '.join(self.questions)}: epsilon {self.epsilon:.6g}{scheme})"

    @property
    def asked(self) -> dict[str, Question]:
        """Questions by the columns of their reports: the joint one, or all."""
        return self.questions if self.joint is None else {JOINT: self.joint}

    @cached_property
    def epsilon(self) -> float:
        """Audited budget of a person in nats: the sum over the reports, or the largest if one
        question is drawn.
        """
        found = epsilon_of_odds(self.odds)
        if self.limit is None or not self._fits:
            return found
        return min(found, self.limit.above)

    @property
    def _fits(self) -> bool:
        """Whether a person spends at most the budget that is allowed, in exact arithmetic."""
        return self.limit is None or self.odds <= self.limit.enclosure()[0]

    @cached_property
    def odds(self) -> Fraction | float:
        """Largest ratio of the probabilities of a person's reports under other answers, exactly;
        perhaps infinite.
        """
        return odds_of_person(self.asked.values(), self.one_question)

    @cached_property
    def budgets(self) -> dict[str, float]:
        """Audited epsilon of each question; infinite if its mechanism is not private for any
        epsilon.

        Of a joint report, that of all questions together.
        """
        return {name: (self.joint or question).epsilon for name, question in self.questions.items()}

    @cached_property
    def randomizers(self) -> dict[str, Any]:
        """What draws the reports of each column: with fake data, a mixture of the mechanism and
        random reports.
        """
        drawn: dict[str, Any] = {name: question.randomizer for name, question in self.asked.items()}
        one = self.one_question
        return (
            drawn if one is None else {name: one.randomizer(each) for name, each in drawn.items()}
        )

    def account(self, waves: int = 1, *, people: int | None = None) -> PrivacyCurve:
        """What all reports of a person reveal together, if the survey is repeated with fresh
        reports.

        Parameters
        ----------
        waves : int
            How often each person answers; default: ``1``.
        people : int, optional
            Number of people, if a trusted party shuffles the reports of each column on its own.
            Default: not shuffled.

        Returns
        -------
        PrivacyCurve
            If one question is drawn, that of a reader who knows which one it was.
        """
        waves, drawn = (
            whole_number(waves, "waves", 1),
            [question.randomizer for question in self.asked.values()],
        )
        if people is not None:
            if self.one_question is not None:
                do = "shuffle the reports of a survey in which everybody answers all questions"
                raise StatementError(
                    "nobody knows how many people answer a question that is drawn", do=do
                )
            unlisted = [
                name for name, one in self.asked.items() if not hasattr(one.randomizer, "counts")
            ]
            if unlisted:
                what = (
                    f"the probabilities of the reports on {unlisted[0]!r} are not listed, which "
                    "the bound needs"
                )
                raise StatementError(
                    what, do="leave `people` out: the curve of reports that are not shuffled holds"
                )
            return compose([(shuffled(each, people), waves) for each in drawn])
        sources = [source for each in drawn for source, _ in compose([each]).sources]
        if self.one_question is not None:
            sources = [OneOf(tuple(sources), is_attained=not self.one_question.fake_data)]
        return compose([(source, waves) for source in sources])

    @property
    def sources(self) -> dict[str, Any]:
        """The mechanism or design by which each column is estimated; with fake data always a
        mechanism.
        """
        if self.joint is not None:
            return {JOINT: self.joint.source}
        is_mixed = self.one_question is not None and self.one_question.fake_data
        return {
            name: question.numbers
            if isinstance(question.source, DESIGNS) and not is_mixed
            else self.randomizers[name]
            for name, question in self.questions.items()
        }

    @property
    def certificates(self) -> dict[str, Any]:
        """The certificate of each column of reports; a mechanism without a design has none."""
        found = {
            name: getattr(question.source, "certificate", None)
            for name, question in self.asked.items()
        }
        return {name: certificate for name, certificate in found.items() if certificate is not None}

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Questions whose reports show who did not answer."""
        return tuple(
            name for name, question in self.questions.items() if question.missing == "leave_out"
        )

    @property
    def columns(self) -> dict[str, tuple[ReportSource, Missing]]:
        """What drew each column, and how missing reports are treated: left out if not all questions
        are drawn.
        """
        if self.joint is not None:
            return {JOINT: (self.joint.source, self.joint.missing)}
        has_all_reports = self.one_question is None or self.one_question.fake_data
        return {
            name: (
                source_of(self.randomizers[name], name),
                question.missing if has_all_reports else "leave_out",
            )
            for name, question in self.questions.items()
        }

    def precision(self, name: str, *, confidence: float = 0.95, prior: Any = None) -> Precision:
        """Variance of one person's contribution to each number of a question; `Precision` plans a
        sample from it.

        Parameters
        ----------
        name : str
            The question.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        prior : array_like or mapping, optional
            A guess of the distribution of answers; default: for each number the worst one.
        """
        if self.joint is not None:
            return self.joint.precision(self.require(name), confidence, prior)
        found = precision(self.sources[self.column_of(name)], confidence=confidence, prior=prior)
        if self.one_question is None or self.one_question.fake_data:
            return found
        return replace(found, variances=found.variances * self.one_question.count)

    def privatize(
        self,
        table: Any,
        *,
        rng: Random = None,
        key: Any = None,
        id: Any = None,
        again: bool = False,
    ) -> Any:
        """Replace the columns of all questions in a dataframe by reports; other columns stay,
        unprotected.

        Parameters
        ----------
        table : dataframe of pandas, polars or pyarrow
            One row for each person.
        rng, key, id : optional
            As in `Mechanism.privatize`; each question draws from a spawned generator.
        again : bool
            Whether columns that are reports already may be privatized once more; default:
            ``False``.

        Returns
        -------
        dataframe
            Of the same library, with the same index.

        Raises
        ------
        StatementError
            If a column is not there, an entry is not an answer, or an answer is missing that must
            not be.
        """
        return privatize_frame(
            table, self.asked, rng, Keyed.read(key, id, rng), self.one_question, again
        )

    def privatize_file(
        self,
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        keep: Sequence[str] = (),
        rng: Random = None,
        key: Any = None,
        id: str | None = None,
        again: bool = False,
    ) -> int:
        """Write the reports of a file of answers, CSV or Parquet, in one pass; return the number of
        rows.

        All columns but the questions, ``keep`` and the weights are dropped; see
        `Mechanism.privatize` for the other arguments. A column that has reports already, by the
        origin of its file, is refused unless ``again`` is true.
        """
        how: dict[str, Any] = {
            "keep": self.kept(keep),
            "rng": rng,
            "keyed": Keyed.read(key, id, rng),
            "again": again,
        }
        return privatize_file(source, target, self.asked, one_question=self.one_question, **how)

    def kept(self, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the unprotected columns of a file of reports: ``keep`` and the weights."""
        return (*keep, *(() if self.weights is None or self.weights in keep else (self.weights,)))

    def count(self, table: Any, *, weights: Any = None) -> dict[str, Counts]:
        """Count the reports in each column of a dataframe or file: those of a question, or joint
        reports.

        Parameters
        ----------
        table : dataframe, path of a CSV or Parquet file, or address of a database
            Reports, as `privatize` returned or wrote them, or as a `fieldwork.Store` keeps them,
            such as ``"sqlite:///reports.db"``.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the survey, else all 1.

        Raises
        ------
        StatementError
            If a column is not there, or an entry is not a report of its question.
        """
        return {
            name: found[ALL]
            for name, found in self.counts_by_group(self.columns, table, weights).items()
        }

    def counts_by_group(
        self,
        columns: Mapping[str, tuple[ReportSource, Missing]],
        table: Any,
        weights: Any,
        by: str | None = None,
    ) -> dict[str, dict[Hashable, Counts]]:
        """Count the reports in columns of a dataframe or file, by the groups of another column; see
        `count`.
        """
        weights = self.weights if weights is None else weights
        if by is not None and by in self.asked and by in columns:
            do = "name another column, or estimate_pair for the table of two questions"
            raise StatementError(f"the column {by!r} has reports, not groups", do=do)
        if isinstance(weights, str) and weights in columns:
            raise StatementError(
                f"the column {weights!r} has reports, not weights", do="name another column"
            )
        if isinstance(table, (str, os.PathLike)):
            if weights is not None and not isinstance(weights, str):
                raise StatementError(
                    "weights of a file are a column of it", do="pass weights= by name"
                )
            return count_file(os.fspath(table), columns, weights, by)
        return {
            name: count_frame(one, table, name, weights, missing, by)
            for name, (one, missing) in columns.items()
        }

    def estimate(
        self,
        table: Any,
        *,
        weights: Any = None,
        by: str | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        check_fit: bool = True,
    ) -> SurveyEstimate:
        r"""Estimate every question: frequencies of the answers, or the numbers that a design is
        for.

        If a question has an answer that stands for a missing one, with the share ``f``, the other
        shares are those among the people who answered, the ratios of two estimates,

        .. math:: \hat t = \frac{\hat a}{1 - \hat f},

        with score intervals (Fieller); the missing answer's own share is of all people, in the last
        row.

        Parameters
        ----------
        table : dataframe, path of a file, address of a database, or mapping name -> Counts
            Reports, or their counts.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the survey, else all 1.
        by : str, optional
            Column of groups, such as a region, for each of which everything is estimated; default:
            none.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        simultaneous : bool
            Whether the intervals of one question hold at once (Bonferroni); default: ``False``.
        check_fit : bool
            Whether reports that hardly come from their mechanism cause a warning (p-value below
            1e-3) or an error (below 1e-6); see `Estimate.fit`. Default: ``True``.

        Returns
        -------
        SurveyEstimate
            A mapping name -> `Estimate`, with a table, a plot, and the estimates of each group. If
            missing answers are left out, estimates are among those who answered.

        Raises
        ------
        StatementError
            If a question is missing, counts are of another mechanism, or there are more than 1000
            groups.
        """
        if isinstance(table, Mapping):
            if by is not None:
                raise StatementError(
                    "counts do not show who is in a group", do="pass the table of the reports"
                )
            counts: Any = {name: {ALL: found} for name, found in self._counts(table).items()}
        else:
            counts = self.counts_by_group(self.columns, table, weights, by)
        return estimate_survey(
            self, counts, by, check_fit, confidence=confidence, simultaneous=simultaneous
        )

    def column_of(self, name: str) -> str:
        """Return the column with the reports on a question."""
        name = self.require(name)
        return name if self.joint is None else JOINT

    def estimate_question(
        self,
        name: str,
        counts: Counts,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
    ) -> Estimate:
        """Estimate one question from the counts of its reports; see `estimate`."""
        return estimate_question(
            self, name, counts, confidence, simultaneous=simultaneous, check_fit=check_fit
        )

    def estimate_pair(
        self,
        table: Any,
        name: str,
        other: str,
        *,
        weights: Any = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        check_fit: bool = True,
    ) -> Estimate:
        """Estimate the table of two questions: the share of each pair of answers.

        Each person has to report on both: in one joint report, or in two reports (``"split"``). For
        a group, pass its rows, such as ``table[table["region"] == "North"]``.

        Parameters
        ----------
        table : dataframe, or path of a file
            Reports, as `privatize` returned or wrote them.
        name, other : str
            The questions.
        weights : array_like, Series or column name, optional
            As in `estimate`, also what follows; default: those of the survey, else all 1.
        confidence, simultaneous, check_fit : float and bool
            Default: ``0.95`` and ``False`` and ``True``.

        Returns
        -------
        Estimate
            For each answer to the first question in turn, all answers to the second. For small
            budgets the best report is about one question: if it does not show how two answers
            depend on each other, this is an error.

        Examples
        --------
        >>> import pandas
        >>> survey = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
        >>> answers = pandas.DataFrame({"a": ["no", "yes"] * 500, "b": ["no", "no"] * 500})
        >>> reports = survey.privatize(answers, rng=1)
        >>> (survey.estimate_pair(reports, "a", "b").values > 0.3).tolist()
        [True, False, True, False]
        """
        how: dict[str, Any] = {
            "confidence": confidence,
            "simultaneous": simultaneous,
            "check_fit": check_fit,
        }
        if self.joint is None:
            return estimate_pair(self, table, (name, other), weights, **how)
        source = self.joint.pair(self.require(name), self.require(other))
        counts = self.counts_by_group({JOINT: (source, self.joint.missing)}, table, weights)[JOINT][
            ALL
        ]
        return source.estimate(counts, **how)  # type: ignore[no-any-return]

    def require(self, name: str) -> str:
        """Return the name of a question; any other name is refused."""
        if name not in self.questions:
            raise StatementError(
                f"unknown question {short_repr(name)}", do=nearest(name, self.questions)
            )
        return name

    def _counts(self, counts: Mapping[str, Any]) -> dict[str, Counts]:
        """Return counts of each question after checking that they are of its mechanism."""
        for name in counts:
            if name not in self.asked:
                raise StatementError(
                    f"counts of {name!r}, which is not a question", do=nearest(name, self.asked)
                )
        for name, randomizer in self.randomizers.items():
            if not isinstance(counts.get(name), Counts):
                raise StatementError(
                    f"there are no counts of question {name!r}",
                    do="pass what survey.count returned",
                )
            counts[name].require(randomizer.digest)
        return dict(counts)


def _read_question(name: Any, given: Any) -> Question:
    """Return the question of a mechanism, design, problem, or anything that has a mechanism."""
    if not isinstance(name, str):
        raise StatementError(f"the name {name!r} of a question is not text", do="name the column")
    if isinstance(given, Question):
        return given
    if isinstance(given, (Workload, list, tuple, range)):
        what = f"question {name!r} has answers, and no mechanism"
        do = "pass a mechanism or design, or scheme='joint'"
        raise StatementError(what, do=do)
    source = solve(given) if isinstance(given, Problem) else given
    if not isinstance(source, DESIGNS) and not isinstance(source, Mechanism):
        source = getattr(source, "mechanism", None)
    if source is None:
        what = f"question {name!r} is a {type(given).__name__}"
        raise StatementError(what, do="pass a mechanism, a design, a problem or a Question")
    return Question(source)


def _overspent(survey: Survey) -> StatementError:
    """The error of a survey whose questions take more than the budget of a person."""
    each = ", ".join(f"{name} {part:.6g}" for name, part in survey.budgets.items())
    spent = f"{survey.epsilon:.9g}"
    # a difference beyond nine digits
    if survey.limit is not None and float(spent) <= survey.limit:
        spent = repr(survey.epsilon)
    return StatementError(
        f"a person would spend epsilon {spent}, more than the {survey.limit!r} allowed ({each})",
        code="budget",
        do="allow a larger budget, or give the questions smaller ones",
    )


def _read_joint(questions: Any, epsilon: Budget | None) -> JointQuestion:
    """Return the joint report on questions that are given by their answers, or one that was found
    before.
    """
    if isinstance(questions, JointQuestion):
        return questions
    if epsilon is None:
        raise StatementError("a joint report needs the budget of a person", do="pass epsilon=")
    if len(questions) < 2:
        raise StatementError("one question has no joint report", do="use the scheme 'split'")
    parts = {}
    for name, given in questions.items():
        answers, policy = (given.source, given) if isinstance(given, Question) else (given, None)
        if not isinstance(name, str) or name == JOINT or bool(getattr(given, "columns", None)):
            what = f"question {name!r} is not possible in a joint report"
            raise StatementError(
                what, do="name one column of answers, other than the column of the reports"
            )
        if hasattr(answers, "randomizer") or isinstance(answers, Problem):
            what = f"question {name!r} has a mechanism of its own"
            raise StatementError(
                what,
                do="pass its answers or a Workload: the joint report is found for all questions",
            )
        workload = answers if isinstance(answers, Workload) else Workload.frequencies(answers)
        parts[name] = Question(workload) if policy is None else replace(policy, source=workload)
    return JointQuestion.of(parts, joint_source(parts, epsilon))
