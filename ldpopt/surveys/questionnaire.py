"""The facts of a survey: its questions, its scheme, its budgets and the columns of its reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeVar

from ldpopt.designing.record import Design, FormulaDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.counts import ReportSource, source_of
from ldpopt.estimation.report_model import ReportModel
from ldpopt.estimation.sample import Sample
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import nearest, text_of
from ldpopt.foundation.numbers import listed_items, require_choice, require_text, short_repr
from ldpopt.mechanism.files import epsilon_of_odds, odds_of_person
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import OWN, OneQuestion, Question
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem.modelfile.page import dotted
from ldpopt.problem.problem import Problem
from ldpopt.problem.workload import Workload
from ldpopt.surveys.choices import (
    are_chosen,
    chosen_questions,
    exceeding,
    odds_by_choice,
    read_choices,
)
from ldpopt.surveys.column_names import require_own_columns
from ldpopt.surveys.columns import Pairs, columns_of, read_pairs, with_trees
from ldpopt.surveys.fields import read_fields
from ldpopt.surveys.form_words import FormWords
from ldpopt.surveys.joint import JOINT, JointQuestion, joint_source, no_joint_report
from ldpopt.surveys.models import channels_of, question_of, require_no_model
from ldpopt.surveys.repeat import IN_JOINT, RepeatedQuestion, repeated, require_no_repeat
from ldpopt.surveys.schemes import SCHEMES
from ldpopt.surveys.second_stage import SecondStage, read_stage
from ldpopt.surveys.shared import JointNumbers, SharedQuestion
from ldpopt.surveys.trees import TreeQuestion, require_conditions
from ldpopt.tables.coding import Missing

DESIGNS = (Design, FormulaDesign)
MODELED = (*DESIGNS, ReportModel, ChosenSource)  # sources that estimate other numbers than shares
Scheme = Literal["split", "one_question", "fake_data", "joint"]
Kind = TypeVar("Kind", bound="Questionnaire")


class Questionnaire:
    """Questions by name, the scheme that divides a person's budget, and what follows from both.

    It has facts only: what draws each column of reports, what estimates it, and what a person
    spends. The functions beside it act on a questionnaire (`randomize`, `count`, `estimates`,
    `form`), and so need no `Survey`, which has them all as methods.

    Parameters
    ----------
    questions : mapping name -> Mechanism, design, ReportModel, Problem or Question
        By the name of the column; this and all others as those of `Survey`.
    epsilon : float or str, optional
        Largest budget of a person, in nats; default: the one that the questions need.
    scheme : {"split", "one_question", "fake_data", "joint"}
        Which questions a person's reports are about. Default: ``"split"``.
    title : str or dict language -> str
        What the survey is about; default: ``""``.
    weights : str, optional
        Column of survey weights; default: none.
    sample : Sample, optional
        How people are drawn; default: one by one.
    words : mapping, optional
        Words of the page for respondents; default: none.
    fields : mapping name -> sequence of str, optional
        What comes with a person's link; default: no fields.
    choices : sequence of float or str, optional
        Budgets from which each person chooses, in nats; default: everybody has the same.
    pairs : sequence of pairs of str, optional
        Questions with one report of which a table is wanted; default: ``()``.
    stage : SecondStage, optional
        What is estimated, if this is the second stage of a survey; default: it is not.

    Raises
    ------
    StatementError
        As `Survey`.
    """

    def __init__(
        self,
        questions: Mapping[str, Any],
        *,
        epsilon: float | str | None = None,
        scheme: Scheme = "split",
        title: str | Mapping[str, str] = "",
        weights: str | None = None,
        sample: Sample | None = None,
        words: Mapping[str, Any] | None = None,
        pairs: Sequence[tuple[str, str]] = (),
        fields: Mapping[str, Sequence[str]] | None = None,
        choices: Sequence[float | str] | None = None,
        stage: SecondStage | None = None,
    ) -> None:
        if not isinstance(questions, (Mapping, JointQuestion)) or not questions:
            raise StatementError(
                "a survey needs questions", code="no-question", do='pass {"name": mechanism, ...}'
            )
        require_choice(scheme, SCHEMES, "scheme")
        if not isinstance(title, Mapping):
            _require_text("title", title, "pass text, or a table of texts by language")
        _require_text("weights", weights, "name the column of the weights")
        self.scheme = scheme
        self.sample = Sample.read(sample, weights)
        self.fields = read_fields(fields, self.weights)
        self.choices = read_choices(choices, epsilon, scheme)
        self.limit = None if epsilon is None else Budget(epsilon)
        if self.choices or are_chosen(questions, ()):
            questions = self._for_each_choice(questions, pairs)
        self.joint = _read_joint(questions, self.limit, pairs) if scheme == "joint" else None
        self._read_columns(questions, pairs)
        require_own_columns(self.asked, self.questions, self.channels, self.fields, self.sample)
        self.one_question: OneQuestion | None = None
        if scheme in ("one_question", "fake_data") and len(self.asked) > 1:
            self.one_question = OneQuestion(len(self.asked), scheme == "fake_data")
        if self.has_fake_data:
            self._require_fake_data_possible()
        try:
            self.words = FormWords.read(
                {} if words is None else words, self.questions, title, self.fields
            )
        except MisstatedError as error:
            raise error.restated(StatementError, where=dotted(("words", *error.key))) from None
        self.title = self.words.first.title
        self._require_budget_kept()
        self.stage = read_stage(stage, self.questions)

    def _for_each_choice(self, stated: Mapping[str, Any], pairs: Any) -> Mapping[str, Any]:
        """The questions with a mechanism for each choice."""
        if listed_items(pairs, "pairs", "pass a list of pairs of questions"):
            raise StatementError(
                "people choose their epsilon, and no report is about a pair of questions",
                code="choices-pairs",
                do="leave pairs out",
            )
        if are_chosen(stated, self.choices):
            return stated
        each = {
            choice: Questionnaire(stated, epsilon=choice, scheme=self.scheme)
            for choice in self.choices
        }
        return chosen_questions(stated, each)

    def _read_columns(self, stated: Any, pairs: Any) -> None:
        """Read the questions and what draws their columns of reports."""
        if self.joint is not None:
            self.questions = self.joint.questions
            self.pairs: Pairs = self.joint.pairs
            self.asked: dict[str, Question] = {JOINT: self.joint}
            return
        questions, trees = with_trees(stated)
        read = {name: _read_question(name, question) for name, question in questions.items()}
        known = [pair for tree in trees.values() for pair in tree.pairs]
        self.pairs = read_pairs(pairs, list(read)) or tuple(known)
        self.questions, self.asked = columns_of(read, trees, self.limit, self.scheme, self.pairs)

    def _require_budget_kept(self) -> None:
        """Refuse a survey that spends more than its limit."""
        if self.choices and (choice := exceeding(self)) is not None:
            raise StatementError(
                f"a person who chooses {choice} would spend more than epsilon {choice}",
                code="choice-budget",
                do="give the questions smaller budgets",
            )
        if self._fits:
            return
        each = ", ".join(f"{name} {spent:.6g}" for name, spent in self.budgets.items())
        total = f"{self.epsilon:.9g}"
        if float(total) <= float(self.limit or 0.0):  # a difference beyond nine digits
            total = repr(self.epsilon)
        raise StatementError(
            f"a person would spend epsilon {total}, more than the {self.limit!r} allowed ({each})",
            code="budget",
            do="allow a larger budget, or give the questions smaller ones",
        )

    def _require_fake_data_possible(self) -> None:
        """Refuse questions to which no fake data can be added."""
        without = "there is no fake data for it"
        require_no_model(self.questions, without, "split the budget, or draw one question")
        for name, question in self.asked.items():
            code = reason = ""
            if question.randomizer.codec.form != "labels":
                code = "fake-sets"
                reason = "its reports are sets"
            elif question.missing == "leave_out":
                code = "fake-missing"
                reason = "people without an answer are left out"
            if reason:
                raise StatementError(
                    f"there is no fake data for question {name!r}: {reason}",
                    code=code,
                    do="draw one question without fake data, or split the budget",
                )

    @property
    def weights(self) -> str | None:
        """Column of the weights."""
        return self.sample.weights

    @property
    def channels(self) -> tuple[str, ...]:
        """Clear columns that say which of several mechanisms a person has."""
        return channels_of(self.questions)

    def drawn(self, sample: Sample | None) -> Sample:
        """How the people of a table were drawn: by a sample, or else as the survey says."""
        return self.sample if sample is None else Sample.read(sample)

    @property
    def has_fake_data(self) -> bool:
        """Whether the questions that are not drawn get the reports of random answers."""
        return self.one_question is not None and self.one_question.fake_data

    @property
    def has_all_reports(self) -> bool:
        """Whether every person has a report in every column."""
        return self.one_question is None or self.one_question.fake_data

    @property
    def trees(self) -> dict[str, tuple[str, ...]]:
        """The questions of each tree, by its column; empty if no questions share a report in this
        way.
        """
        return {
            name: tuple(question.parts)
            for name, question in self.asked.items()
            if isinstance(question, TreeQuestion)
        }

    @property
    def times_drawn(self) -> float:
        """How many times their share of all people liars can have among the reports of one
        question: they choose which one is drawn, unless all people have a report in every column.
        """
        if self.one_question is None or self.has_all_reports:
            return 1.0
        return float(self.one_question.count)

    @cached_property
    def epsilon(self) -> float:
        """Audited budget of a person in nats: the sum over the reports, or the largest if one
        question is drawn.
        """
        spent = epsilon_of_odds(self.odds)
        if self.limit is None or not self._fits:
            return spent
        return min(spent, self.limit.above)

    @property
    def _fits(self) -> bool:
        """Whether a person spends at most the budget that is allowed, in exact arithmetic."""
        return self.limit is None or self.odds <= self.limit.enclosure()[0]

    @cached_property
    def odds(self) -> Fraction | float:
        """Largest ratio of the probabilities of a person's reports under other answers, exactly;
        perhaps infinite.
        """
        if self.choices:
            return max(odds_by_choice(self.asked, self.one_question).values())
        return odds_of_person(self.asked.values(), self.one_question)

    @property
    def words_digest(self) -> str:
        """SHA-256 of all words that people read, 64 hexadecimal digits."""
        return self.words.digest

    @cached_property
    def budgets(self) -> dict[str, float]:
        """Audited epsilon of each question; infinite if its mechanism is not private for any
        epsilon.

        Of a joint report, that of all questions together, and so of a tree.
        """
        return {name: self.asked[self.column_of(name)].epsilon for name in self.questions}

    @cached_property
    def randomizers(self) -> dict[str, Any]:
        """What draws the reports of each column: with fake data, a mixture of the mechanism and
        random reports.
        """
        laws: dict[str, Any] = {name: question.randomizer for name, question in self.asked.items()}
        if self.one_question is None:
            return laws
        return {name: self.one_question.randomizer(law) for name, law in laws.items()}

    @property
    def sources(self) -> dict[str, Any]:
        """The mechanism or design by which each column is estimated; with fake data the mixture, or
        the numbers of a design from its reports.
        """
        return {name: self._source(name, question) for name, question in self.asked.items()}

    def _source(self, name: str, question: Question) -> Any:
        """What a column is estimated by."""
        source = question.source
        if isinstance(question, SharedQuestion) and not self.has_fake_data:
            return source
        if isinstance(question, RepeatedQuestion):
            if self.one_question is None or not self.has_fake_data:
                return question.numbers
            return question.numbers.among_fakes(self.randomizers[name], self.one_question.count)
        if not isinstance(source, MODELED) or isinstance(question, SharedQuestion):
            return self.randomizers[name]
        if self.one_question is None or not self.has_fake_data:
            return question.numbers
        if isinstance(source, Design) and source.workload.names != question.inputs:
            numbers: Any = question.numbers
            if numbers is source:
                numbers = JointNumbers(source, source.names, source.wanted, source.estimator)
            return numbers.among_fakes(self.randomizers[name], self.one_question.count)
        return self.randomizers[name]

    @property
    def certificates(self) -> dict[str, Any]:
        """The certificate of each column of reports; a mechanism without a design has none."""
        sources = {name: question.source for name, question in self.asked.items()}
        if self.choices:  # the design of each choice is a claim of its own
            sources = {
                f"{name} ({source.column} {text_of(part.name)})": part.source
                for name, source in sources.items()
                for part in source.parts
            }
        return {
            name: source.certificate
            for name, source in sources.items()
            if getattr(source, "certificate", None) is not None
        }

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
        return {
            name: (
                question.source
                if isinstance(question.source, (ReportModel, ChosenSource))
                else source_of(self.randomizers[name], name),
                question.missing if self.has_all_reports else "leave_out",
            )
            for name, question in self.asked.items()
        }

    def kept(self, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the unprotected columns of a file of reports: ``keep``, those of the sample, and
        those of the mechanisms of each person.
        """
        keep = listed_items(keep, "keep", "pass a list of columns")
        for column in keep:
            require_text(column, "a column of keep")
        return tuple(dict.fromkeys((*keep, *self.sample.columns, *self.channels)))

    def require(self, name: str) -> str:
        """Return the name of a question; any other name is refused."""
        if not isinstance(name, str) or name not in self.questions:
            raise StatementError(
                f"unknown question {short_repr(name)}",
                code="question",
                do=nearest(name, self.questions),
            )
        return name

    def column_of(self, name: str) -> str:
        """Return the column with the reports on a question."""
        name = self.require(name)
        if self.joint is not None:
            return JOINT
        return next((column for column, names in self.trees.items() if name in names), name)


def _require_text(name: str, text: object, do: str) -> None:
    """Refuse a title or a name of a column that is not text."""
    if not isinstance(text, (str, type(None))):
        raise StatementError(f"{name} = {short_repr(text)} is not text", code="text", do=do)


def _read_question(name: Any, stated: Any) -> Question:
    """Return the question of a mechanism, design, problem, or anything that has a mechanism."""
    if not isinstance(name, str):
        raise StatementError(
            f"the name {name!r} of a question is not text", code="name", do="name the column"
        )
    if isinstance(stated, Question) and stated.repeat:
        return repeated(stated, name)
    if isinstance(stated, Question):
        is_plain = type(stated) is Question and isinstance(stated.source, ReportModel)
        return question_of(stated.source, stated) if is_plain else stated
    if isinstance(stated, ReportModel):
        return question_of(stated)
    if isinstance(stated, (Workload, list, tuple, range)):
        return Question(stated)
    source = stated
    if isinstance(stated, Problem):
        from ldpopt.solving.solve import solve

        source = solve(stated)
    if not isinstance(source, DESIGNS) and not isinstance(source, Mechanism):
        source = getattr(source, "mechanism", None)
    if source is None:
        raise StatementError(
            f"question {name!r} is a {type(stated).__name__}",
            code="type",
            do="pass a mechanism, a design, a ReportModel, a problem or a Question",
        )
    return Question(source)


def _read_joint(questions: Any, epsilon: Budget | None, pairs: Any) -> JointQuestion:
    """Return the joint report on questions that are stated by their answers, or one that was found
    before.
    """
    if isinstance(questions, JointQuestion):
        return questions
    if epsilon is None:
        raise StatementError(
            "a joint report needs the budget of a person", code="joint-budget", do="pass epsilon="
        )
    if len(questions) < 2:
        raise no_joint_report()
    parts = {name: _read_part(name, stated) for name, stated in questions.items()}
    require_conditions(parts)
    tables = read_pairs(pairs, list(parts))
    return JointQuestion.of(parts, joint_source(parts, epsilon, tables), tables)


def _read_part(name: Any, stated: Any) -> Question:
    """Return a question of a joint report, whose source is the workload of its numbers."""
    if not isinstance(name, str) or name == JOINT or bool(getattr(stated, "columns", None)):
        raise StatementError(
            f"question {name!r} is not possible in a joint report",
            code="joint-column",
            do="name one column of answers, other than the column of the reports",
        )
    if isinstance(stated, Question) and stated.report == OWN:
        raise StatementError(
            f"question {name!r} has a report of its own, and all questions have one together",
            code="own-report",
            do="leave report out, or use the scheme 'split'",
        )
    if isinstance(stated, Question):
        require_no_repeat({name: stated}, *IN_JOINT)
    answers = stated.source if isinstance(stated, Question) else stated
    if hasattr(answers, "randomizer") or isinstance(answers, Problem):
        raise StatementError(
            f"question {name!r} has a mechanism of its own",
            code="joint-mechanism",
            do="pass its answers or a Workload: the joint report is found for all questions",
        )
    workload = answers if isinstance(answers, Workload) else Workload.frequencies(answers)
    if isinstance(stated, Question):
        return replace(stated, source=workload)
    return Question(workload)
