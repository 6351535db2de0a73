"""A survey: questions by name, each with its mechanism, and the budget of a person."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.liars import read_liars
from ldpopt.estimation.options import Reading
from ldpopt.estimation.sample import Sample
from ldpopt.estimation.significance import Significance
from ldpopt.foundation.display import Described, Facts
from ldpopt.foundation.files import FilePath
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.sampling import Random
from ldpopt.surveys.count import Columns, counts_by_group, counts_of_all
from ldpopt.surveys.estimates import (
    SurveyEstimate,
    estimate_question,
    estimate_survey,
)
from ldpopt.surveys.files import read_survey_file, write_survey_file
from ldpopt.surveys.questionnaire import Questionnaire

if TYPE_CHECKING:
    from ldpopt.accounting.curve import PrivacyCurve
    from ldpopt.estimation.influence import Influence
    from ldpopt.estimation.planning import Precision
    from ldpopt.estimation.regression.problem import Kind
    from ldpopt.estimation.regression.result import Regression
    from ldpopt.tables.coding import Missing


class Survey(Questionnaire, Described):
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
    questions : mapping name -> Mechanism, design, ReportModel, Problem or Question
        By the name of the column. A problem is solved. A `Question` also defines what is done with
        missing answers, which are refused by default, and of which earlier answers it depends
        whether the question is asked. Also the answers: labels, their number, or a `Workload`;
        what draws their reports is then found, with equal parts of what is left of ``epsilon``.
    epsilon : float or str, optional
        Largest budget of a person, in nats; default: the one that the questions need. A joint
        report needs it.
    scheme : {"split", "one_question", "fake_data", "joint"}
        Which questions a person's reports are about. Default: ``"split"``.
    title : str or dict language -> str
        What the survey is about; default: ``""``. The attribute is that of the first language.
    weights : str, optional
        Column of survey weights, which is kept in files of reports, unprotected; default: none.
    sample : Sample, optional
        How people are drawn: strata, clusters, the population, margins; its columns are kept in
        files of reports, unprotected. Default: one by one, with the weights.
    words : mapping, optional
        Words of the page for respondents, with the keys of ``[form]`` in a survey file, and
        ``{"questions": {name: {"text": ..., "answers": {label: words}}}}``, with the same for
        ``"fields"``; default: none. A text is one, or ``{language: text}`` for all of
        ``languages``.
    fields : mapping name -> sequence of str, optional
        What comes with a person's link, and is sent beside the reports, unprotected: the values of
        each field, such as the regions; none for a weight. Default: no fields.
    choices : sequence of float or str, optional
        Budgets from which each person chooses, in nats, in place of ``epsilon``: every question has
        the best mechanism for each of them. A table has each person's choice, unprotected, in the
        column ``choice``. Default: everybody has the same budget.
    pairs : sequence of pairs of str, optional
        Questions with one report of which a table is wanted: of two that depend on the same answer
        reports need not show it otherwise; default: ``()``.
    stage : SecondStage, optional
        What is estimated, if this is the second stage of a survey, as `adapt` makes it; default:
        it is not.

    Attributes
    ----------
    questions : dict name -> Question
        Mechanism or design of each question, and how missing answers are treated.
    joint : JointQuestion or None
        The joint report, with its ``certificate``; None for other schemes.
    trees : dict column -> tuple of str
        The questions that depend on each other and have one report, by the name of the first: it is
        about all that their answers together can be, at most 64 combinations.
    fields : dict name -> tuple of str
        The values of each field, none for a weight.
    choices : tuple
        The budgets from which each person chooses, ascending; empty if there is no choice.
    stage : SecondStage or None
        What the second stage of a survey estimates; None for any other survey.
    words_digest : str
        SHA-256 of the words in all languages, 64 hexadecimal digits: texts, answers, consent,
        contact, all but where reports are sent. A changed text changes it, and not the digest of
        the form.

    Raises
    ------
    StatementError
        If there are no questions, a name is not text, a question is of another type or depends on
        others than earlier answers, a field has the name of a question, or a person would spend
        more than ``epsilon``.

    Examples
    --------
    >>> import ldpopt
    >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin, "drinks": coin})
    >>> drawn = Survey({"smokes": coin, "drinks": coin}, scheme="one_question")
    >>> round(survey.epsilon, 6), round(drawn.epsilon, 6)
    (2.197225, 1.098612)
    """

    @classmethod
    def from_toml(cls, path: FilePath) -> Survey:
        """Read a survey in TOML, and find the best mechanism for each question.

        Raises
        ------
        ModelFileError
            If the file is invalid; the message names file, key and line.
        """
        from ldpopt.surveys.statement import read_survey  # 10 ms, for files only

        return read_survey(path).solve(cls)

    @classmethod
    def load(cls, path: FilePath) -> Survey:
        """Read a file of `save` or ``ldpopt survey solve``.

        Raises
        ------
        ModelFileError
            If the file is missing, does not contain a survey, or was changed.
        """
        return read_survey_file(path, cls)

    def save(self, path: FilePath) -> None:
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
            on, ``fields`` if there are any, the ``questions`` with their ``answers`` as in a table
            of text, and the ``columns`` of reports: a column is ``of`` some questions, and its row
            is the place of their codes in ``paths``, or the code of its one question. It has
            ``reports`` with ``masses``, or the law of a ``set`` or of ``patterns``. Where people
            choose their epsilon there are ``choices``, each with its ``odds``, and a column has in
            ``chosen`` its reports and masses once for each choice.

        Raises
        ------
        StatementError
            If the odds are infinite, the survey has weights that are no field, or a question has
            more than 500 answers, more than 200,000 masses, or two answers with the same text.

        Examples
        --------
        >>> import ldpopt
        >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> form = Survey({"smokes": coin}).form()
        >>> form["odds"], form["columns"]["smokes"]["masses"][0]
        ('3', [6755399441055744, 2251799813685248])
        """
        from ldpopt.surveys.form import form_of

        return form_of(self, wave)

    def __repr__(self) -> str:
        scheme = "" if self.one_question is None and self.joint is None else f", {self.scheme}"
        return f"Survey({', '.join(self.questions)}: epsilon {self.epsilon:.6g}{scheme})"

    def facts(self) -> Facts:
        """Answers, audited budget and treatment of missing answers of each question."""
        from ldpopt.surveys.overview import facts_of

        return facts_of(self)

    def account(
        self, waves: int = 1, *, people: int | None = None, choice: Any = None
    ) -> PrivacyCurve:
        """What all reports of a person reveal together, if the survey is repeated with fresh
        reports.

        Parameters
        ----------
        waves : int
            How often each person answers; default: ``1``.
        people : int, optional
            Number of people, if a trusted party shuffles the reports of each column on its own.
            Default: not shuffled.
        choice : float or str, optional
            Of a person who chose this epsilon; default: whatever was chosen, the largest one.

        Returns
        -------
        PrivacyCurve
            If one question is drawn, that of a reader who knows which one it was.

        Raises
        ------
        StatementError
            If a number is not whole or below 1, or there is no bound for shuffled reports: one
            question is drawn, or the probabilities of some reports are not listed.
        """
        from ldpopt.surveys.account import account_of

        return account_of(self, waves, people, choice)

    def precision(
        self,
        name: str,
        *,
        confidence: float = 0.95,
        prior: Any = None,
        others: Mapping[str, Any] | None = None,
    ) -> Precision:
        """Variance of one person's contribution to each number of a question; `Precision` plans a
        sample from it.

        Parameters
        ----------
        name : str
            The question.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        prior : array_like or mapping, optional
            A guess of the distribution of answers, of those who are asked; default: for each number
            the worst one, and of a number among those who are asked the worst found for mixtures
            of two answers.
        others : mapping question -> prior, optional
            Guesses of the answers to the questions on which it depends whether somebody is asked;
            default: equally common ones.

        Raises
        ------
        StatementError
            If a question is unknown, nobody is asked it, or the confidence or a guess does not fit.

        Notes
        -----
        A number ``t = a / D`` among the share ``D`` of people who were asked and answered has the
        variance of ``(v_a - t v_D) / D`` with the values ``v`` of one report.
        """
        from ldpopt.surveys.precision import precision_of

        return precision_of(self, name, confidence, prior, others)

    def influence(self, name: str) -> Influence:
        """How far one report in place of a true one can move each number of a question, among all
        people.

        Where a device draws the question, forgers choose it: of ``d`` questions of which one is
        drawn, a share of liars among all people may be ``d`` times that share among the reports of
        one question, and so may the influence.

        Parameters
        ----------
        name : str
            The question.

        Returns
        -------
        Influence
            Of the numbers that `estimate` shows, with the share of missing answers.

        Raises
        ------
        StatementError
            If the question is unknown, or its reports do not show the frequencies of all answers.

        Examples
        --------
        >>> import ldpopt
        >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> drawn = Survey({"smokes": coin, "drinks": coin}, scheme="one_question")
        >>> round(drawn.influence("smokes").largest, 6)
        3.0
        """
        from ldpopt.surveys.influence import influence_of_question

        return influence_of_question(self, name)

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
        table : dataframe of pandas, polars, pyarrow, Dask or Spark
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
        from ldpopt.surveys.randomize import randomize_frame

        return randomize_frame(self, table, rng, Keyed.read(key, id, rng), again)

    def privatize_file(
        self,
        source: FilePath,
        target: FilePath,
        *,
        keep: Sequence[str] = (),
        rng: Random = None,
        key: Any = None,
        id: str | None = None,
        again: bool = False,
    ) -> int:
        """Write the reports of a file of answers, CSV or Parquet, in one pass; return the number of
        rows.

        All columns but the questions, ``keep`` and those of the sample are dropped; see
        `Mechanism.privatize` for the other arguments. A column that has reports already, by the
        origin of its file, is refused unless ``again`` is true.
        """
        from ldpopt.surveys.randomize import randomize_file

        keyed = Keyed.read(key, id, rng)
        return randomize_file(self, source, target, keep, rng=rng, keyed=keyed, again=again)

    def adapt(
        self,
        table: Any,
        *,
        quantile: float | None = None,
        normal: float | None = None,
        rate: bool = False,
        between: tuple[float, float] | None = None,
        epsilon: float | str | None = None,
        missing: Missing | None = None,
        until: str = "",
    ) -> Survey:
        r"""Make the second stage of this survey, whose reports are those of a pilot.

        For a quantile it asks by the design of `stages.quantile`, for a parameter by the mechanism
        with the most information at the pilot's value, `stages.optimum`. `estimate` of the second
        stage gives the quantile or parameter from its own reports alone. Each person has epsilon,
        given everything else, if nobody is in both stages; who is in which has to be drawn before
        the pilot. Theory: docs, "Two stages".

        Parameters
        ----------
        table : dataframe, path of a file or folder, or address of a database
            Reports of the pilot, of this survey.
        quantile : float, optional
            Share of the quantile, ``0 < quantile < 1``: 0.5 for the median. State this, ``normal``
            or ``rate``; default: none.
        normal : float, optional
            Standard deviation of numbers with a normal distribution, whose mean is to be estimated,
            in their unit; default: none. Whole numbers are rounded ones: the mean is that of the
            numbers as they are given, as in the first stage.
        rate : bool
            Whether numbers of events have a Poisson distribution, whose rate is to be estimated;
            default: ``False``.
        between : tuple of float, optional
            Least and largest value of the mean or rate; default: from the first to the last finite
            end of the classes, of a rate from 0.01.
        epsilon : float or str, optional
            Largest budget of a person of the second stage, in nats; default: that of this survey.
        missing : {"refuse", "leave_out"}, optional
            What is done with missing answers in the second stage; default: as in this survey. A
            parameter has no answer for missing ones, so that such a survey has to state it.
        until : str
            The last day of the second stage, as ``"2027-03-31"``; that of the pilot is left out.
            Default: ``""``.

        Returns
        -------
        Survey
            Of the same question and words, with a ``stage``; its page asks people of the pilot not
            to answer again.

        Raises
        ------
        StatementError
            If there is not one goal, the answers have no order or are classes of no numbers; if the
            survey has several questions, a joint report, weights, a technique or ticks, or is a
            second stage already; or if the reports are not of this survey.

        Examples
        --------
        >>> import ldpopt, pandas
        >>> ages = ldpopt.design(ldpopt.Workload.prefix(range(8)), ldpopt.PureLDP(2.0))
        >>> pilot = Survey({"age": ages}).privatize(pandas.DataFrame({"age": [3, 4] * 500}), rng=1)
        >>> Survey({"age": ages}).adapt(pilot, quantile=0.5).stage.label
        'quantile 0.5'
        """
        from ldpopt.surveys.adapt import Goal, adapt_survey

        goal = Goal.read(quantile, normal, rate, between)
        stated: dict[str, Any] = {"epsilon": epsilon, "missing": missing, "until": until}
        return adapt_survey(self, table, type(self), goal, **stated)

    def count(self, table: Any, *, weights: Any = None) -> dict[str, Counts]:
        """Count the reports in each column of a dataframe or file: those of a question, or joint
        reports.

        Parameters
        ----------
        table : dataframe, path of a file or folder of CSV or Parquet, or address of a database
            Reports, as `privatize` returned or wrote them, or as a `fieldwork.Store` keeps them,
            such as ``"sqlite:///reports.db"``.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the survey, else all 1.

        Raises
        ------
        StatementError
            If a column is not there, or an entry is not a report of its question.
        ModelFileError
            If it is the database of another survey or wave.
        """
        from ldpopt.surveys.form import require_form_of

        require_form_of(self, table)
        return counts_of_all(self, self.columns, table, weights)

    def counts_by_group(
        self, columns: Columns, table: Any, weights: Any, by: str | None = None
    ) -> dict[str, dict[Hashable, Counts]]:
        """Count the reports in columns of a dataframe or file, by the groups of another column; see
        `count`.
        """
        return counts_by_group(self, columns, table, weights, by)

    def estimate(
        self,
        table: Any,
        *,
        weights: Any = None,
        sample: Sample | None = None,
        by: str | None = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        check_fit: bool = True,
        followers: bool = False,
        liars: float = 0.0,
        pooled: bool = False,
    ) -> SurveyEstimate:
        r"""Estimate every question: frequencies of the answers, or the numbers that a design is
        for.

        If a question has an answer that stands for a missing one, with the share ``f``, the other
        shares are those among the people who answered, the ratios of two estimates,

        .. math:: \hat t = \frac{\hat a}{1 - \hat f},

        with score intervals (Fieller); the missing answer's own share is of all people, in the last
        row. Of a question that not everybody is asked the shares are those among the people who
        were asked and answered, and the last rows are "no answer" and "not asked".

        Parameters
        ----------
        table : dataframe, path of a file or folder, address of a database, or mapping
            Reports, or their counts by name; with ``by`` by name and group, as ``count_folder``
            returns them.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the sample, else of the survey, else all 1.
        sample : Sample, optional
            How the people were drawn; default: as the survey says. Groups are parts of the sample,
            also where no group is in all of its clusters.
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
        followers : bool
            Whether the shares of questions with behaviors are among those who follow the rule; see
            `ReportModel.estimate`. Default: ``False``.
        liars : float
            Share of people who may have sent anything, of the weight of each group: intervals are
            widened by what they can do, see `influence`. All of them may be in one group, and where
            one question is drawn have drawn the same; a difference of groups is widened for both.
            Default: ``0.0``.
        pooled : bool
            Whether people who chose a larger epsilon count more, by the variance of their reports
            at equally common answers. That is right only if the choice tells nothing of the
            answers, as where the researcher drew the budget of each person; else the estimate is
            biased, and its interval says nothing. Default: ``False``: by strata of the choice,
            which is right whatever it has to do with the answers.

        Returns
        -------
        SurveyEstimate
            A mapping name -> `Estimate`, with a table, a plot, and the estimates of each group. If
            missing answers are left out, estimates are among those who answered.

        Raises
        ------
        StatementError
            If a question is missing, counts are of another mechanism, there are more than 1000
            groups, or the table does not fit the sample: a stratum has a single unit, or a margin
            other categories.
        ModelFileError
            If it is the database of another survey or wave.

        Examples
        --------
        >>> import ldpopt, pandas
        >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> reports = pandas.DataFrame({"q": ["no", "yes", "yes"] * 4, "class": [*range(6)] * 2})
        >>> classes = ldpopt.Sample(clusters="class")
        >>> Survey({"q": coin}).estimate(reports, sample=classes)["q"].std_error.round(3)
        array([0.422, 0.422])
        """
        from ldpopt.surveys.form import require_form_of

        reading = Reading(confidence, simultaneous, check_fit, read_liars(liars))
        require_form_of(self, table)
        return estimate_survey(self, table, weights, by, reading, sample, followers, pooled)

    def estimate_question(
        self,
        name: str,
        counts: Counts,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate one question from the counts of its reports; see `estimate`."""
        reading = Reading(confidence, simultaneous, check_fit, read_liars(liars))
        return estimate_question(self, name, counts, reading)

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
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate the table of two questions: the share of each pair of answers.

        Each person has to report on both: in one joint report or that of a tree, or in two reports
        (``"split"``). For
        a group, pass its rows, such as ``table[table["region"] == "North"]``.

        Parameters
        ----------
        table : dataframe, or path of a file or folder
            Reports, as `privatize` returned or wrote them.
        name, other : str
            The questions.
        weights : array_like, Series or column name, optional
            As in `estimate`, also what follows; default: those of the survey, else all 1.
        confidence, simultaneous, check_fit, liars : float and bool
            Default: ``0.95`` and ``False`` and ``True`` and ``0.0``.

        Returns
        -------
        Estimate
            For each answer to the first question in turn, all answers to the second. Standard
            errors are those of the estimator at the most likely frequencies of the answers.

        Raises
        ------
        StatementError
            If the reports do not show how the answers go together: for small budgets the best joint
            report is about one question, or only reports that practically nobody gives are about
            two. The message has a budget at which joint reports of as many people show it. Or if a
            question has answers with linearly dependent rows, or too many answers.

        Examples
        --------
        >>> import pandas
        >>> survey = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
        >>> answers = pandas.DataFrame({"a": ["no", "yes"] * 500, "b": ["no", "no"] * 500})
        >>> reports = survey.privatize(answers, rng=1)
        >>> (survey.estimate_pair(reports, "a", "b").values > 0.3).tolist()
        [True, False, True, False]
        """
        from ldpopt.surveys.form import require_form_of
        from ldpopt.surveys.pair_estimates import estimate_pair

        reading = Reading(confidence, simultaneous, check_fit, read_liars(liars))
        require_form_of(self, table)
        return estimate_pair(self, table, (name, other), weights, reading)

    def values(self, table: Any, *, questions: Sequence[str] | None = None) -> Any:
        r"""Return unbiased values of the reports: their means over people estimate the numbers of
        the questions.

        Of a question that not everybody answers, or that is asked twice, they estimate the shares
        of all people; `estimate` has those among the people who were asked and answered
        (carefully): these over 1 less the means of the columns of the others.

        Any other program can average them by group, weight them, or take them as the outcome of a
        linear regression.

        Parameters
        ----------
        table : dataframe, path of a file, or address of a database
            Reports, as `privatize` returned or wrote them.
        questions : sequence of str, optional
            Some of the questions; default: all.

        Returns
        -------
        DataFrame of pandas
            A row for each person and a column ``"question: answer"`` for each number; nan where
            somebody has no report.

        Raises
        ------
        StatementError
            If a question is unknown, an entry is not a report, or the values of a question are not
            listed.

        Examples
        --------
        >>> import ldpopt, pandas
        >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> reports = pandas.DataFrame({"smokes": ["no", "yes"]})
        >>> Survey({"smokes": coin}).values(reports)["smokes: yes"].round(12).tolist()
        [-0.5, 1.5]
        """
        from ldpopt.surveys.values import values_of_survey

        return values_of_survey(self, table, questions)

    def independence(
        self,
        table: Any,
        one: str,
        two: str,
        *,
        weights: Any = None,
        sample: Sample | None = None,
    ) -> Significance:
        """Test whether the answers to two questions are independent.

        They are exactly if the two reports of a person are; see `ldpopt.estimation.significance`.

        Parameters
        ----------
        table : dataframe, or path of a file
            Reports, as `privatize` returned or wrote them.
        one, two : str
            The questions.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the sample, else of the survey, else all 1.
        sample : Sample, optional
            How the people were drawn; default: as the survey says.

        Raises
        ------
        StatementError
            If a person does not report on both questions in two reports, or the questions have too
            many answers.
        """
        from ldpopt.surveys.pair_estimates import independence_of

        return independence_of(self, table, (one, two), weights, sample)

    def regress(
        self,
        formula: str,
        table: Any,
        *,
        kind: Kind = "logit",
        sample: Any = None,
        confidence: float = 0.95,
        missing: Literal["refuse", "leave_out"] = "refuse",
    ) -> Regression:
        """Regress answers on covariates, from reports; see `ldpopt.regress`.

        Parameters
        ----------
        formula : str
            As ``"smokes ~ age + C(region)"``. The questions of the survey are protected columns.
        table : dataframe, or path of a file or folder
            Reports, as `privatize` returned or wrote them, with clear columns beside them. Columns
            of a folder are numbers where all their texts are, as in CSV.
        sample : Sample, optional
            How the people were drawn; default: as the survey says, with its weights.
        kind, confidence, missing
            As in `ldpopt.regress`; default: ``"logit"`` and ``0.95`` and ``"refuse"``.

        Raises
        ------
        StatementError
            If all questions have one joint report, if each person answers one question and the
            formula has two, or as `ldpopt.regress`.
        LimitReachedError
            If the likelihood has no maximum.
        """
        from ldpopt.surveys.regressions import regress_survey

        options = {"kind": kind, "sample": sample, "confidence": confidence, "missing": missing}
        return regress_survey(self, formula, table, **options)
