"""Surveys in TOML: questions with their answers, the division of a person's budget, and missing
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, Field

from ldpopt.designing.design import AnyDesign, design
from ldpopt.errors import StatementError
from ldpopt.estimation.report_model import ReportModel
from ldpopt.estimation.sample import Sample
from ldpopt.foundation.budget import Budget, decimal_of, log_enclosure
from ldpopt.foundation.files import FilePath
from ldpopt.foundation.labels import nearest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem.modelfile.page import Key, Page
from ldpopt.problem.modelfile.schema import (
    Label,
    OrderTable,
    Section,
    check,
    kinds_of,
    numbers_of_labels,
)
from ldpopt.problem.prior import PRIOR_TOLERANCE
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import NAMED
from ldpopt.problem.workload import Workload
from ldpopt.solving.solve import solve
from ldpopt.surveys.account import account_of
from ldpopt.surveys.form_words import FormWords
from ldpopt.surveys.joint import JointQuestion
from ldpopt.surveys.languages import Text
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.own_sources import (
    OWN,
    own_source,
    require_fitting_own,
    why_not_shown,
    with_behaviors,
)
from ldpopt.surveys.questionnaire import Kind, Questionnaire
from ldpopt.surveys.schemes import compare_schemes
from ldpopt.surveys.stated_words import FormSection, QuestionTexts, require_words
from ldpopt.surveys.technique import Technique
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

# names of the workloads that can be estimated for a question
WORKLOADS = (*kinds_of(OrderTable), "mean")
DEFINITIONS = ("labels", "ticks", "prior", "utility", "workload", "values")
OWN_SHARE = ("epsilon", "share")  # how a question has its part of the budget
OWN_BUDGET = (*OWN, *OWN_SHARE)


class QuestionSection(Section):
    """``[question.NAME]``: a mechanism's file, or labels and a utility or workload."""

    labels: list[Label] | None = Field(default=None, min_length=2)
    ticks: list[str] | dict[str, str] | None = None
    prior: dict[str, float] | list[float] | None = None
    utility: str | None = None
    workload: str | None = None
    values: list[float] | None = None
    mechanism: str | None = None
    technique: dict[str, Any] | None = None
    channel: str | None = None
    mechanisms: dict[str, str] | None = None
    assigned: bool = True
    behaviors: dict[str, Label | list[float | str] | dict[str, float | str]] | None = None
    edges: list[Annotated[float, AllowInfNan(True)]] | None = None
    epsilon: float | str | None = None
    share: float | None = Field(default=None, gt=0, le=1)
    missing: Literal["refuse", "answer", "leave"] = "refuse"
    missing_label: Label | None = None
    text: Text = ""
    answers: dict[str, Text] = Field(default_factory=dict)
    section: str = ""

    @property
    def missing_answer(self) -> Label | None:
        """The answer that stands for a missing one; None if there is none."""
        if self.missing != "answer":
            return None
        return "no answer" if self.missing_label is None else self.missing_label

    @property
    def inputs(self) -> list[Any]:
        """Labels of the answers, with the one for a missing answer."""
        if self.ticks is not None:
            return list(tick_workload(self.tick_names).inputs)
        labels: list[Any] = list(self.labels if self.labels is not None else self.prior or ())
        extra = self.missing_answer
        return labels if extra is None or extra in labels else [*labels, extra]

    @property
    def answered(self) -> tuple[list[Any], Label | None]:
        """Labels of those who answer, and the one for a missing answer, which may be taken for one
        of two answers.
        """
        missing = self.missing_answer
        labels = [label for label in self.inputs if label != missing]
        return (labels, missing) if len(labels) > 1 else (self.inputs, None)

    @property
    def numbers(self) -> Any:
        """Numbers of the answers of which a mean is estimated."""
        return numbers_of_labels(self.values, self.answered[0], "values")

    @property
    def tick_names(self) -> tuple[str, ...]:
        """Ticks, with the one for a missing answer."""
        return (
            *(self.ticks or ()),
            *([] if self.missing_answer is None else [str(self.missing_answer)]),
        )

    def question(self, source: Any) -> Question:
        """The question with what draws its reports."""
        missing: Any = "leave_out" if self.missing == "leave" else "refuse"
        if self.technique is not None or isinstance(source, ReportModel):
            named = None if self.technique is None else Technique.read(self.technique)
            answer = self.missing_answer
            return ModelQuestion(source, missing, answer, technique=named, edges=self.edges)
        if self.ticks is None:
            return Question(source, missing, self.missing_answer, edges=self.edges)
        columns = tuple(self.ticks.values()) if isinstance(self.ticks, dict) else ()
        return TicksQuestion(source, missing, self.missing_answer, self.tick_names, columns)

    @property
    def page_words(self) -> QuestionTexts:
        """Words of the question on the page for respondents."""
        return QuestionTexts(text=self.text, answers=self.answers, section=self.section)

    @property
    def weights(self) -> Any:
        """The prior by label; keys of a TOML table are text."""
        if not isinstance(self.prior, dict):
            return self.prior
        labels = {str(label): label for label in self.inputs}
        return {labels.get(key, key): weight for key, weight in self.prior.items()}


class WavesSection(Section):
    """``[waves]``: how often the same people answer, and what all their reports together have to
    keep.
    """

    count: int = Field(ge=1)
    epsilon: float | str
    delta: float = Field(default=0.0, ge=0, lt=1)


class SampleSection(Section):
    """``[sample]``: how people are drawn, see `ldpopt.Sample`."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    population: int | dict[str, int] | None = None
    margins: dict[str, dict[str, float]] | None = None


class SurveySection(Section):
    """The whole file."""

    title: Text = ""
    source: str = ""
    epsilon: float | str | None = None
    scheme: Literal["split", "one_question", "fake_data", "joint", "best"] = "split"
    weights: str | None = None
    sample: SampleSection | None = None
    waves: WavesSection | None = None
    form: FormSection = FormSection()
    question: dict[str, QuestionSection] = Field(min_length=1)

    @property
    def words(self) -> FormWords:
        """All texts of the file."""
        asked = {
            name: section.page_words.model_dump(exclude_defaults=True)
            for name, section in self.question.items()
        }
        words = self.form.model_dump(exclude_unset=True) | {"questions": asked}
        return FormWords.read(words, title=self.title)


@dataclass(frozen=True)
class UnsolvedSurvey:
    """A survey whose mechanisms are not computed yet: each question has a budget, or a source from
    its own file.
    """

    page: Page
    section: SurveySection
    scheme: Any
    why: str = ""
    budgets: dict[str, Budget] = field(default_factory=dict)
    sources: dict[str, Any] = field(default_factory=dict)
    joint: Any = None

    def solve(self, kind: type[Kind]) -> Kind:
        """Find the best mechanism for each question, and return the survey."""
        if self.section.waves is not None:
            return self._keep_promise(kind, self.section.waves)
        questions: Any = {}
        for name, section in self.section.question.items():
            with self.page.at("question", name):
                questions[name] = section.question(self._source(name, section))
            with self.page.at("question", name, "answers"):
                require_words(section.page_words, questions[name], self.section.words.languages)
        with self.page.at("epsilon"):
            if self.joint is not None:
                questions = JointQuestion.of(questions, self.joint.source)
            return kind(
                questions,
                epsilon=self.section.epsilon,
                scheme=self.scheme,
                title=self.section.title,
                weights=self.section.weights,
                sample=self.drawn,
                words=self.section.words.to_dict(),
            )

    @property
    def drawn(self) -> Sample | None:
        """How people are drawn, if the file says it."""
        if self.section.sample is None:
            return None
        with self.page.at("sample"):
            return Sample.read(Sample(**self.section.sample.model_dump()), self.section.weights)

    def _source(self, name: str, section: QuestionSection) -> Any:
        """What draws the reports of a question, or the workload of its part of a joint report."""
        if self.scheme == "joint":
            return _workload(section) if section.ticks is None else _shares_of_ticks(section)
        if name in self.sources:
            return self.sources[name]
        source = _solve(section, self.budgets[name])
        return with_behaviors(self.page, ("question", name), source, section.behaviors)

    def _keep_promise(self, kind: type[Kind], waves: WavesSection) -> Kind:
        """Return the survey with the largest budget of a wave, within 1 %, that keeps the promise
        over all waves.
        """
        with self.page.at("waves"):
            limit = Budget(waves.epsilon)

        def solved(epsilon: float) -> Kind:
            form = self.section.form.model_copy(
                update={"waves": self.section.form.waves or waves.count}
            )
            section = self.section.model_copy(
                update={"epsilon": epsilon, "waves": None, "form": form}
            )
            return _unsolved(self.page, section).solve(kind)

        low: float = limit.share(Fraction(1, waves.count))
        survey = solved(low)
        high = float(limit)
        while waves.delta and waves.count > 1 and high - low > 0.01 * low:
            middle = (low + high) / 2
            tried = solved(middle)
            if account_of(tried, waves.count).delta(limit) <= Fraction(waves.delta):
                low = middle
                survey = tried
            else:
                high = middle
        return survey

    def warnings(self, survey: Questionnaire) -> list[str]:
        """Return a warning for each question whose frequencies cannot be estimated."""
        reasons = {
            name: why_not_shown(question.source)
            for name, question in survey.questions.items()
            if isinstance(question.source, (Mechanism, ReportModel))
        }
        return [f"question {name}: {reason}" for name, reason in reasons.items() if reason]


def template() -> str:
    """Text of a survey file with comments."""
    return Path(__file__).with_name("template.toml").read_text(encoding="utf-8")


def read_survey(path: FilePath) -> UnsolvedSurvey:
    """Read a survey in TOML; messages name file, key and line."""
    page = Page(path)
    survey = check(page, SurveySection, page.data)
    for name, question in survey.question.items():
        _require_one_definition(page, name, question)
    _require_languages(page, survey)
    if survey.waves is not None and survey.form.waves not in (None, survey.waves.count):
        problem = f"[form] states {survey.form.waves} waves, and [waves] {survey.waves.count}"
        do = "state the same number, or remove it from [form]"
        raise page.error(("form", "waves"), problem, do, code="number-of-waves")
    if survey.waves is None:
        return _unsolved(page, survey)
    if survey.epsilon is not None:
        do = "remove this key: the budget of a wave follows from the promise"
        problem = "a survey with [waves] has no epsilon of its own"
        raise page.error(("epsilon",), problem, do, code="waves")
    with page.at("waves", "epsilon"):
        least = Budget(survey.waves.epsilon).share(Fraction(1, survey.waves.count))
    return replace(_unsolved(page, survey.model_copy(update={"epsilon": least})), section=survey)


def _require_languages(page: Page, survey: SurveySection) -> None:
    """Refuse texts that are not there in every language of the survey, and headings of nothing."""
    try:
        _ = survey.words
    except MisstatedError as error:
        raise page.error(_key_in_file(error.key), error.what, error.do, code=error.code) from None
    except StatementError as error:
        raise page.error(("form",), error.what, error.do, code=error.code) from None


def _key_in_file(key: Key) -> Key:
    """Where the file has a text that the words have under a key."""
    if key[0] == "questions":
        return ("question", *key[1:])
    return key if key[0] == "title" else ("form", *key)


def _unsolved(page: Page, survey: SurveySection) -> UnsolvedSurvey:
    """Divide the budget of a survey among its questions, and read the mechanisms that it names."""
    with page.at("epsilon"):
        total = None if survey.epsilon is None else Budget(survey.epsilon)
    scheme: str = survey.scheme
    why = ""
    joint = None
    if scheme == "best":
        scheme, why, joint = _best_scheme(page, survey, total)
    elif scheme == "joint":
        _require_total_budget(page, survey, total, "a joint report")
        _require_no_own(page, survey, "has no joint report", (*OWN_BUDGET, "behaviors", "utility"))
    stated = {name: own_source(page, name, each) for name, each in survey.question.items()}
    sources = {name: source for name, source in stated.items() if source is not None}
    budgets = _divide_budget(page, survey, total, scheme, sources)
    return UnsolvedSurvey(page, survey, scheme, why, budgets, sources, joint)


def _require_one_definition(page: Page, name: str, question: QuestionSection) -> None:
    """Refuse a question that is defined twice, or not at all."""
    key = ("question", name)
    require_fitting_own(page, name, question)
    if stated := [each for each in OWN if getattr(question, each) is not None]:
        kind = {"mechanisms": "several mechanisms"}.get(stated[0], f"a {stated[0]}")
        _require_none_of(page, key, question, (*DEFINITIONS, *OWN_SHARE), kind)
        return
    if question.ticks is not None:
        others = [other for other in DEFINITIONS if other != "ticks"]
        _require_none_of(page, key, question, others, "ticks")
        with page.at(*key, "ticks"):
            tick_workload(question.tick_names)
    elif question.labels is None and not isinstance(question.prior, dict):
        raise page.error(
            (*key, "labels"),
            "the labels of the answers are missing",
            "add labels, or a mechanism",
            code="labels",
        )
    if question.utility is not None and question.workload is not None:
        raise page.error(
            (*key, "workload"),
            "a question has a utility or a workload, not both",
            "remove one",
            code="utility-workload",
        )
    if question.epsilon is not None and question.share is not None:
        raise page.error(
            (*key, "share"),
            "a question has an epsilon or a share of it, not both",
            "remove one",
            code="epsilon-share",
        )
    _require_known_words(page, key, question)
    if isinstance(question.prior, list) and abs(sum(question.prior) - 1) > PRIOR_TOLERANCE:
        raise page.error(
            (*key, "prior"),
            f"the prior sums to {sum(question.prior):.6g}, not 1",
            "divide the numbers by their sum, or give weights by label: "
            "prior = { yes = 3, no = 1 }",
            code="prior",
        )
    if question.values is not None and question.workload != "mean":
        raise page.error(
            (*key, "values"),
            "values are for the workload mean",
            'set workload = "mean", or remove them',
            code="values",
        )
    if question.workload == "mean":
        with page.at(*key, "workload" if question.values is None else "values"):
            _ = question.numbers  # refused if there are none


def _require_none_of(
    page: Page, key: Key, question: QuestionSection, others: Iterable[str], kind: str
) -> None:
    """Refuse keys that have no effect together with another one."""
    for other in others:
        if getattr(question, other) is not None:
            raise page.error(
                (*key, other),
                f"{other} has no effect together with {kind}",
                f"remove {other}",
                code="no-effect",
            )


def _require_known_words(page: Page, key: Key, question: QuestionSection) -> None:
    """Refuse a label for missing answers that are none, and unknown utilities and workloads."""
    if question.missing_label is not None and question.missing != "answer":
        raise page.error(
            (*key, "missing_label"),
            "missing_label has no effect here",
            'set missing = "answer", or remove missing_label',
            code="missing-label",
        )
    for kind, name, known in (
        ("utility", question.utility, NAMED),
        ("workload", question.workload, WORKLOADS),
    ):
        if name is not None and name not in known:
            problem = f"unknown {kind} {name!r}"
            raise page.error((*key, kind), problem, nearest(name, known), code=kind)


def _require_total_budget(
    page: Page, survey: SurveySection, total: Budget | None, subject: str
) -> Budget:
    """Return the budget of a person; refuse a survey without it."""
    if total is None:
        raise page.error(
            ("scheme",),
            f"{subject} depends on the budget of a person",
            "set epsilon at the top",
            code="total-budget",
        )
    return total


def _require_no_own(page: Page, survey: SurveySection, reason: str, keys: Sequence[str]) -> None:
    """Refuse questions that have a mechanism, a budget or something else of their own."""
    for name, question in survey.question.items():
        for key in keys:
            if getattr(question, key) is not None:
                raise page.error(
                    ("question", name, key),
                    f"a question with its own {key} {reason}",
                    "remove it, or name another scheme",
                    code="own-budget",
                )


def _best_scheme(page: Page, survey: SurveySection, total: Budget | None) -> tuple[str, str, Any]:
    """Return the scheme of least variance, the reason for it, and the joint report if that is the
    best one.
    """
    budget = _require_total_budget(page, survey, total, "the best scheme")
    _require_no_own(page, survey, "fits one scheme only", (*OWN_BUDGET, "behaviors"))
    labels: dict[str, Any] = {
        name: question.inputs if question.ticks is None else _shares_of_ticks(question)
        for name, question in survey.question.items()
    }
    priors = {
        name: question.weights
        for name, question in survey.question.items()
        if question.prior is not None
    }
    with page.at("question"):
        comparison = compare_schemes(labels, budget, priors=priors)
    # The joint report that was compared is about frequencies; other numbers need their own.
    is_same = all(
        question.workload in (None, "frequencies") for question in survey.question.values()
    )
    joint = comparison.joint if comparison.best == "joint" and is_same else None
    return comparison.best, comparison.why, joint


def _divide_budget(
    page: Page, survey: SurveySection, total: Budget | None, scheme: str, sources: dict[str, Any]
) -> dict[str, Budget]:
    """Return the budgets of the questions to be solved: their own, shares of the total, or equal
    parts of what is left.
    """
    unsolved = {name: each for name, each in survey.question.items() if name not in sources}
    stated: dict[str, Budget] = {}
    for name, question in unsolved.items():
        with page.at("question", name, "epsilon"):
            if question.epsilon is not None:
                stated[name] = Budget(question.epsilon)
        if question.share is not None:
            _require_share_possible(page, name, total, scheme)
    waiting = [name for name in unsolved if name not in stated]
    if total is None:
        if waiting:
            raise page.error(
                ("question", waiting[0], "epsilon"),
                "the budget of the question is missing",
                "set epsilon there, or once at the top for all questions",
                code="budget",
            )
        return stated
    if scheme != "split":
        return stated | dict.fromkeys(waiting, total)
    nats = total.lower_nats
    shares = {name: unsolved[name].share for name in waiting}
    parts = {name: nats * decimal_of(share) for name, share in shares.items() if share is not None}
    fixed = [budget.lower_nats for budget in stated.values()]
    for name, source in sources.items():
        odds = source.randomizer.odds
        if odds is None:
            what = "this mechanism is not private for any epsilon"
            do = "name a mechanism with a finite epsilon, or remove the budget of a person"
            origin = next(key for key in OWN if getattr(survey.question[name], key) is not None)
            raise page.error(("question", name, origin), what, do, code="infinite-epsilon")
        fixed.append(log_enclosure(odds)[1])
    spent = sum((*fixed, *parts.values()), Fraction(0))
    others = [name for name in waiting if name not in parts]
    if spent > nats or (others and spent == nats):
        left = f"epsilon is {float(total):.6g}"
        if others:
            left = f"nothing is left for {', '.join(others)}"
        raise page.error(
            ("epsilon",),
            f"the questions take {float(spent):.9g}, and {left}",
            "set a larger budget, or smaller ones for the questions",
            code="spent",
        )
    parts |= {name: (nats - spent) / len(others) for name in others}
    return stated | {name: Budget(part) for name, part in parts.items()}


def _require_share_possible(page: Page, name: str, total: Budget | None, scheme: str) -> None:
    """Refuse a share of a budget that is not stated, or not divided."""
    key = ("question", name, "share")
    if total is None:
        problem = "a share needs the epsilon of a person"
        raise page.error(key, problem, "set epsilon at the top", code="share-budget")
    if scheme != "split":
        problem = f"there are no shares in {scheme!r}"
        do = "remove it: each question has the whole budget"
        raise page.error(key, problem, do, code="share")


def _solve(question: QuestionSection, epsilon: Budget) -> Mechanism | AnyDesign:
    """Return the best mechanism for the utility of a question, or the best design for its
    workload.
    """
    labels = question.inputs
    privacy = PureLDP(epsilon)
    if question.utility is not None:
        prior = [1 / len(labels)] * len(labels) if question.prior is None else question.weights
        return solve(Problem(prior, question.utility, privacy, inputs=labels)).mechanism
    return design(_workload(question), privacy, weights=question.weights)


def _shares_of_ticks(question: QuestionSection) -> Workload:
    """Return the share of each tick, without the shares of people who do not tick it."""
    both = tick_workload(question.tick_names)
    return Workload(both.matrix[1::2], both.inputs, question.tick_names)


def _workload(question: QuestionSection) -> Workload:
    """Return the numbers of a question that are estimated."""
    if question.ticks is not None:
        return tick_workload(question.tick_names)
    labels, missing = question.answered
    if question.workload == "mean":
        workload = Workload.mean(question.numbers, inputs=labels)
    else:
        workload = getattr(Workload, question.workload or "frequencies")(labels)
    if missing is None:
        return workload
    if workload.unit == 1:
        return Workload.frequencies(question.inputs)
    return workload.with_missing(missing).align(question.inputs)
