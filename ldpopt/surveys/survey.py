"""A questionnaire: questions by name, each with its mechanism, and the budget of a person."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.designing.record import Design
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, ReportSource, source_of
from ldpopt.estimation.inversion import Estimate, estimate_frequencies
from ldpopt.estimation.planning import Precision, precision
from ldpopt.estimation.reports import count_file
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.mechanism.asking import Asking
from ldpopt.mechanism.keyed import Keyed
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.origins import budget_of_person
from ldpopt.mechanism.privatizing import Rule, privatize_file, privatize_frame
from ldpopt.mechanism.sampling import Random
from ldpopt.problem.problem import Problem
from ldpopt.solving.solve import solve
from ldpopt.tables.coding import Missing

Scheme = Literal["split", "one_question", "fake_data"]

SCHEMES: tuple[Scheme, ...] = ("split", "one_question", "fake_data")


class Survey:
    r"""Several questions to the same people.

    With ``scheme="split"`` each person answers all questions, and the budgets add up,

    .. math:: \epsilon = \sum_i \epsilon_i ;

    where one question is drawn for each person, it is :math:`\epsilon = \max_i \epsilon_i`. With ``"one_question"`` the
    other questions get no report; with ``"fake_data"`` they get the report of a random answer, so that nobody sees
    which question was asked. Theory: docs, "Surveys".

    Parameters
    ----------
    questions : mapping name -> Mechanism, design, Problem or Rule
        The name is that of the column. A problem is solved. A `Rule` states, besides the mechanism, what is done where
        an answer is missing; by default it is refused.
    epsilon : float or str, optional
        Most that a person may spend, in nats; default: not stated, whatever the questions take.
    scheme : {"split", "one_question", "fake_data"}
        Which questions a person's reports are about. Default: ``"split"``.
    title : str
        What the survey is about; default: ``""``.
    weights : str, optional
        Column of survey weights, which is kept in files of reports, unprotected; default: none.

    Attributes
    ----------
    rules : dict name -> Rule
        Mechanism and treatment of missing answers of each question.
    designs : dict name -> Design or FrequencyDesign
        Designs among them, which have their own estimators.

    Raises
    ------
    StatementError
        If there are no questions, a name is no text, a question is none of these, or a person would spend more than the
        stated budget.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin, "drinks": coin})
    >>> round(survey.epsilon, 6), round(Survey({"smokes": coin, "drinks": coin}, scheme="one_question").epsilon, 6)
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
    ) -> None:
        if not isinstance(questions, Mapping) or not questions:
            raise StatementError("a survey needs questions", do='pass {"name": mechanism, ...}')
        if scheme not in SCHEMES:
            raise StatementError(f"unknown scheme {short_repr(scheme)}", do=nearest(scheme, SCHEMES))
        self.title, self.scheme, self.weights = title, scheme, weights
        self.rules: dict[str, Rule] = {}
        self.designs: dict[str, Design | FrequencyDesign] = {}
        for name, question in questions.items():
            if not isinstance(name, str):
                raise StatementError(f"the name {name!r} of a question is not text", do="name the column")
            source, self.rules[name] = question if isinstance(question, tuple) else (question, _rule(name, question))
            if isinstance(source, (Design, FrequencyDesign)):
                self.designs[name] = source
        if weights in self.rules:
            raise StatementError(f"the column {weights!r} of the weights is a question", do="name another column")
        self.asking = None if scheme == "split" or len(self.rules) == 1 else self._asking()
        self.stated = None if epsilon is None else Budget(epsilon)
        self._require_budget()

    def _asking(self) -> Asking:
        """How the question of a person is drawn."""
        if self.scheme == "fake_data":
            for name, rule in self.rules.items():
                best, why = self.designs.get(name), ""
                if rule.mechanism.codec.form == "sets":
                    why = "its reports are sets"
                elif rule.missing == "leave_out":
                    why = "its missing answers are left out"
                elif best is not None and best.workload.names != rule.mechanism.inputs:
                    why = "its design is for other numbers than frequencies"
                if why:
                    do = "draw one question without fake data, or split the budget"
                    raise StatementError(f"there is no fake data for question {name!r}: {why}", do=do)
        return Asking(len(self.rules), self.scheme == "fake_data")

    def _require_budget(self) -> None:
        """Refuse questions that take more than the stated budget, exactly."""
        if self.stated is None:
            return
        if not self.odds <= self.stated.enclosure()[0]:
            parts = ", ".join(f"{name} {spent:.6g}" for name, spent in self.budgets.items())
            what = f"a person would spend epsilon {self.epsilon:.9g}, more than the {self.stated!r} stated ({parts})"
            raise StatementError(what, do="state a larger budget, or smaller ones for the questions")

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Survey:
        """Read a survey that is stated in TOML, and find the best mechanism for each question.

        Raises
        ------
        ModelFileError
            If the file is invalid; the message names file, key and line.
        """
        from ldpopt.surveys.statement import read_survey

        return read_survey(path).solve(cls)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Survey:
        """Read what `save` or ``ldpopt survey solve`` wrote.

        Raises
        ------
        ModelFileError
            If the file is missing, no survey, or was changed.
        """
        from ldpopt.surveys.files import load

        return load(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write questions, mechanisms and budgets as JSON; atomic.

        Raises
        ------
        MechanismError
            If a label is neither text nor a number nor a tuple of them.
        ModelFileError
            If the file cannot be written.
        """
        from ldpopt.surveys.files import save

        save(self, path)

    def __repr__(self) -> str:
        """Questions and budget."""
        return f"Survey({', '.join(self.rules)}: epsilon {self.epsilon:.6g}{self._told()})"

    def _told(self) -> str:
        return "" if self.asking is None else f", {self.scheme}"

    @cached_property
    def epsilon(self) -> float:
        """Budget in nats of a person: the audited ones of all questions added up, or the largest if one is asked."""
        return budget_of_person(self.budgets.values(), self.asking)

    @cached_property
    def odds(self) -> Fraction | float:
        """Largest ratio of the probabilities of a person's reports under other answers, exactly; perhaps infinite."""
        each = [rule.mechanism.odds for rule in self.rules.values()]
        if any(ratio is None for ratio in each):
            return math.inf
        found = [ratio for ratio in each if ratio is not None]
        return math.prod(found) if self.asking is None else max(found)

    @cached_property
    def budgets(self) -> dict[str, float]:
        """Audited epsilon of each question; infinite where a mechanism is not pure."""
        return {name: rule.budget for name, rule in self.rules.items()}

    @cached_property
    def laws(self) -> dict[str, Any]:
        """What the reports in each column are drawn by: with fake data not the mechanism of the question alone."""
        drawn: dict[str, Any] = {name: rule.mechanism for name, rule in self.rules.items()}
        return drawn if self.asking is None else {name: self.asking.law(one) for name, one in drawn.items()}

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Questions of which the reports show who did not answer."""
        return tuple(name for name, rule in self.rules.items() if rule.missing == "leave_out")

    @property
    def columns(self) -> dict[str, tuple[ReportSource, Missing]]:
        """What is counted in each column; a question that a person was not asked has no report there."""
        all_asked = self.asking is None or self.asking.fake
        return {
            name: (source_of(self.laws[name], name), rule.missing if all_asked else "leave_out")
            for name, rule in self.rules.items()
        }

    def precision(self, name: str, *, confidence: float = 0.95, prior: Any = None) -> Precision:
        """Variance of what one person contributes to each number of a question; `Precision` plans a sample from it.

        Parameters
        ----------
        name : str
            The question.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        prior : array_like or mapping, optional
            A guess of the distribution of answers; default: for each number the worst one.
        """
        fake = self.asking is not None and self.asking.fake
        source: Any = self.laws[name] if fake else self.designs.get(name) or self.rules[name].mechanism
        found = precision(source, confidence=confidence, prior=prior)
        if self.asking is None or fake:
            return found
        return Precision(found.names, found.variances * self.asking.questions, found.quantile)

    def privatize(self, table: Any, *, rng: Random = None, key: Any = None, id: Any = None, again: bool = False) -> Any:
        """Replace the columns of all questions in a dataframe by reports; other columns stay, unprotected.

        Parameters
        ----------
        table : dataframe of pandas, polars or pyarrow
            One row for each person.
        rng : numpy.random.Generator, SeedSequence or int, optional
            Makes the draws repeatable; each question draws from a spawned generator. Default: the operating system's
            generator.
        key : SecretKey or bytes, optional
            Makes the draws repeatable person by person; see `Mechanism.privatize`. Default: none.
        id : label, optional
            Column of the ids, with ``key``.
        again : bool
            Whether columns whose table says that they are reports may be privatized once more; default: ``False``.

        Returns
        -------
        dataframe
            Of the same library, with the same index.

        Raises
        ------
        StatementError
            If a column is not there, an entry is no answer, or an answer is missing and must not be.
        """
        return privatize_frame(table, self.rules, rng, Keyed.read(key, id, rng), self.asking, again)

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
        """Write the reports of a file of answers, CSV or Parquet, in one pass; return the number of rows.

        All columns but the questions, ``keep`` and the weights are dropped; see `Mechanism.privatize` for the other
        arguments. A column that is a report already, as its file says, is refused unless ``again`` is stated.
        """
        keyed = Keyed.read(key, id, rng)
        how: dict[str, Any] = {"keep": self.kept(keep), "rng": rng, "keyed": keyed, "asking": self.asking}
        how["again"] = again
        return privatize_file(source, target, self.rules, **how)

    def kept(self, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Columns that files of reports have besides the questions, unprotected: those asked for, and the weights."""
        return (*keep, *(() if self.weights is None or self.weights in keep else (self.weights,)))

    def count(self, table: Any, *, weights: Any = None) -> dict[str, Counts]:
        """Count the reports of each question in a dataframe or file.

        Parameters
        ----------
        table : dataframe, or path of a CSV or Parquet file
            What `privatize` gave.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the survey, else all 1.

        Raises
        ------
        StatementError
            If a column is not there, or an entry is no report of its question.
        """
        weights = self.weights if weights is None else weights
        if isinstance(table, (str, os.PathLike)):
            if weights is not None and not isinstance(weights, str):
                raise StatementError("weights of a file are a column of it", do="state weights= by name")
            return count_file(os.fspath(table), self.columns, weights)
        return {
            name: Counts.of(source, table, column=name, weights=weights, missing=missing)
            for name, (source, missing) in self.columns.items()
        }

    def estimate(
        self, table: Any, *, weights: Any = None, confidence: float = 0.95, simultaneous: bool = False
    ) -> dict[str, Estimate]:
        """Estimate every question: frequencies of the answers, or the numbers that a design is for.

        Parameters
        ----------
        table : dataframe, path of a file, or mapping name -> Counts
            Reports, or their counts.
        weights : array_like, Series or column name, optional
            Weight of each person; default: those of the survey, else all 1.
        confidence : float
            Coverage of the intervals, ``0 < confidence < 1``; default: ``0.95``.
        simultaneous : bool
            Whether the intervals of one question hold at once (Bonferroni); default: ``False``.

        Returns
        -------
        dict name -> Estimate
            Among those who answered, where missing answers are left out.

        Raises
        ------
        StatementError
            If a question is missing, or counts are of another mechanism.
        """
        counts = self._counts(table) if isinstance(table, Mapping) else self.count(table, weights=weights)
        return {
            name: self.estimate_question(name, counts[name], confidence, simultaneous=simultaneous)
            for name in self.rules
        }

    def estimate_question(
        self, name: str, counts: Counts, confidence: float = 0.95, *, simultaneous: bool = False
    ) -> Estimate:
        """Estimate one question from the counts of its reports; see `estimate`."""
        best = self.designs.get(name)
        if best is None or (self.asking is not None and self.asking.fake):
            return estimate_frequencies(self.laws[name], counts, confidence=confidence, simultaneous=simultaneous)
        return best.estimate(counts, confidence, simultaneous=simultaneous)

    def _counts(self, counts: Mapping[str, Any]) -> dict[str, Counts]:
        """Counts of each question, checked to be of its mechanism."""
        for name in counts:
            if name not in self.rules:
                raise StatementError(f"counts of {name!r}, which is not a question", do=nearest(name, self.rules))
        for name, law in self.laws.items():
            if not isinstance(counts.get(name), Counts):
                raise StatementError(f"there are no counts of question {name!r}", do="pass what survey.count gave")
            counts[name].require(law.digest)
        return dict(counts)


def _rule(name: str, question: Any) -> Rule:
    """How a question is asked."""
    if isinstance(question, Rule):
        return question
    if isinstance(question, Problem):
        question = solve(question)
    found = question.law if isinstance(question, ReportSource) else getattr(question, "mechanism", question)
    if not isinstance(found, (Mechanism, ReportSource)):
        what = f"question {name!r} is a {type(question).__name__}"
        raise StatementError(what, do="pass a mechanism, a design, a problem or a Rule")
    law: Any = found
    return Rule(law)
