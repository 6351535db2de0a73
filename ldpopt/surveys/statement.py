"""Surveys in TOML: questions with their answers, the division of a person's budget, and missing
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ldpopt.designing.design import design
from ldpopt.designing.design_form import require_budget
from ldpopt.designing.saved import AnyDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.chosen import CHOICE
from ldpopt.estimation.report_model import ReportModel
from ldpopt.estimation.sample import Sample
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.files import FilePath
from ldpopt.foundation.labels import check_labels, nearest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.problem.modelfile.page import Key, Page
from ldpopt.problem.prior import PRIOR_TOLERANCE
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import NAMED
from ldpopt.problem.workload import Workload
from ldpopt.solving.solve import solve
from ldpopt.surveys.account import account_of
from ldpopt.surveys.choices import chosen_questions, read_choices
from ldpopt.surveys.column_names import require_own_columns
from ldpopt.surveys.columns import budget_of, read_pairs, require_together, solved_column
from ldpopt.surveys.expanded import read_sections
from ldpopt.surveys.joint import JointQuestion, require_joint
from ldpopt.surveys.models import channels_of
from ldpopt.surveys.numbers import many_masses, require_number
from ldpopt.surveys.own_sources import (
    OWN,
    own_source,
    require_fitting_own,
    why_not_shown,
    with_behaviors,
)
from ldpopt.surveys.questionnaire import Kind, Questionnaire
from ldpopt.surveys.repeat import (
    IN_JOINT,
    read_weights,
    repeated,
    require_no_repeat,
    require_repeat,
)
from ldpopt.surveys.schemes import compare_schemes
from ldpopt.surveys.sections import (
    DEFINITIONS,
    OWN_BUDGET,
    OWN_SHARE,
    WORKLOADS,
    QuestionSection,
    SurveySection,
    WavesSection,
)
from ldpopt.surveys.stated_budgets import divide_budget
from ldpopt.surveys.stated_words import require_words
from ldpopt.surveys.ticks import tick_workload
from ldpopt.surveys.trees import Trees, require_condition, require_conditions, trees_of

StatedQuestions = dict[str, Question]
NOT_CHOSEN = ("technique", "mechanisms", "behaviors", "only_if", "repeat")  # keys without choices
COLUMNS_IN_FILE = {  # the tables that name a column, by the code of what is wrong with it
    "weights": "weights",
    "channel-weights": "weights",
    "sample-column": "sample",
    "field-column": "field",
}


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
    stated: StatedQuestions = field(default_factory=dict)

    def solve(self, kind: type[Kind]) -> Kind:
        """Find the best mechanism for each question, and return the survey."""
        if self.section.waves is not None:
            return self._keep_promise(kind, self.section.waves)
        if self.section.choices is not None:
            return self._for_each_choice(kind, self.section.choices)
        questions: Any = {}
        for name, section in self.section.question.items():
            with self.page.at("question", name):
                questions[name] = self._question(name, section)
        with self.page.at("epsilon"):
            if self.joint is not None:
                questions = JointQuestion.of(questions, self.joint.source)
            for names in self.trees.values():
                parts = {name: self.stated[name] for name in names}
                questions[names[0]] = self._solved(parts)
            return kind(
                questions,
                epsilon=self.section.epsilon,
                pairs=[(one, other) for one, other in self.section.pairs],
                **self._named(),
            )

    def _for_each_choice(self, kind: type[Kind], choices: Sequence[float | str]) -> Kind:
        """Return the survey with the best mechanisms for each epsilon that people can choose."""
        with self.page.at("choices"):
            labels = read_choices(choices, self.section.epsilon, self.scheme)
        each = {
            choice: _unsolved(self.page, _with_epsilon(self.section, choice)).solve(kind)
            for choice in labels
        }
        with self.page.at("choices"):
            return kind(
                chosen_questions(self.section.question, each),
                choices=list(labels),
                **self._named(),
            )

    def _named(self) -> dict[str, Any]:
        """What the file says beside questions and budgets."""
        return {
            "scheme": self.scheme,
            "title": self.section.title,
            "weights": self.section.weights,
            "sample": self.drawn,
            "fields": self.section.fields,
            "words": self.section.words.to_dict(),
        }

    @property
    def drawn(self) -> Sample | None:
        """How people are drawn, if the file says it."""
        if self.section.sample is None:
            return None
        with self.page.at("sample"):
            return Sample.read(Sample(**self.section.sample.model_dump()), self.section.weights)

    @property
    def trees(self) -> Trees:
        """The questions of each report of several questions that depend on each other."""
        return {} if self.scheme == "joint" else trees_of(self.stated)

    def require_columns(self, others: Sequence[str] = ()) -> None:
        """Refuse a column that is needed twice, a joint report that is too large, and a table of
        questions with two reports; other columns say which mechanism a person has.
        """
        channels = (*channels_of(self.stated), *others)
        sample = Sample.read(self.drawn, self.section.weights)
        try:
            require_own_columns(self.stated, self.stated, channels, self.section.fields, sample)
        except StatementError as error:
            with self.page.at(COLUMNS_IN_FILE.get(error.code, "question")):
                raise
        pairs = read_pairs(self.section.pairs, list(self.stated))
        if self.scheme == "joint":
            with self.page.at("scheme"):
                require_joint(self.stated, pairs)
        else:
            with self.page.at("pairs"):
                require_together(pairs, self.trees)

    def _question(self, name: str, section: QuestionSection) -> Question:
        """A question with what draws its reports, or with its numbers if it is part of a joint
        report or a tree.
        """
        in_tree = any(name in names for names in self.trees.values())
        if self.scheme == "joint" or in_tree or name in self.sources:
            return self.stated[name]
        if section.repeat or (section.only_if is not None and section.utility is None):
            return self._solved({name: self.stated[name]})
        source = _solve(section, self.budgets[name])
        return section.question(
            with_behaviors(self.page, ("question", name), source, section.behaviors)
        )

    def _solved(self, parts: StatedQuestions) -> Question:
        """What draws the reports of some questions that depend on others."""
        priors = {}
        for name, question in parts.items():
            section = self.section.question[name]
            if section.prior is not None:
                priors[name] = read_weights(question, section.weights)
        budget = budget_of([self.budgets[name] for name in parts], self.scheme)
        pairs = read_pairs(self.section.pairs, list(self.section.question))
        return solved_column(parts, budget, priors, pairs)

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
        large = {name: many_masses(question) for name, question in survey.questions.items()}
        every = (*reasons.items(), *large.items())
        return [f"question {name}: {reason}" for name, reason in every if reason]


def template() -> str:
    """Text of a survey file with comments."""
    return Path(__file__).with_name("template.toml").read_text(encoding="utf-8")


def read_survey(path: FilePath) -> UnsolvedSurvey:
    """Read a survey in TOML; messages name file, key and line."""
    page = Page(path, "a survey in TOML", "`ldpopt survey init FILE` begins a survey")
    survey = read_sections(page)
    for name, question in survey.question.items():
        _require_one_definition(page, name, question)
    if survey.waves is not None and survey.form.waves not in (None, survey.waves.count):
        problem = f"[form] states {survey.form.waves} waves, and [waves] {survey.waves.count}"
        do = "state the same number, or remove it from [form]"
        raise page.error(("form", "waves"), problem, do, code="number-of-waves")
    if survey.choices is not None:
        return _of_choices(page, survey)
    if survey.waves is None:
        return _unsolved(page, survey)
    if survey.epsilon is not None:
        do = "remove this key: the budget of a wave follows from the promise"
        problem = "a survey with [waves] has no epsilon of its own"
        raise page.error(("epsilon",), problem, do, code="waves")
    with page.at("waves", "epsilon"):
        least = Budget(survey.waves.epsilon).share(Fraction(1, survey.waves.count))
    page.aliases["epsilon",] = ("waves", "epsilon")
    return replace(_unsolved(page, survey.model_copy(update={"epsilon": least})), section=survey)


def _of_choices(page: Page, survey: SurveySection) -> UnsolvedSurvey:
    """Read a survey in which people choose their epsilon; budgets are those of the largest one."""
    with page.at("choices"):
        labels = read_choices(survey.choices, survey.epsilon, survey.scheme)
    if survey.waves is not None or survey.pairs:
        key = "pairs" if survey.pairs else "waves"
        problem = f"a survey in which people choose their epsilon has no {key}"
        raise page.error((key,), problem, f"remove {key}, or choices", code="choices-beside")
    for name, question in survey.question.items():
        for key in ("epsilon", *NOT_CHOSEN):
            if getattr(question, key) not in (None, False):
                problem = f"a question with {key} has no choices of an epsilon"
                do = f"remove {key}, or ask it in a survey with one epsilon"
                raise page.error(("question", name, key), problem, do, code="choices-question")
    page.aliases["epsilon",] = ("choices",)
    each = [_unsolved(page, _with_epsilon(survey, label)) for label in labels]
    each[-1].require_columns([CHOICE])
    return replace(each[-1], section=survey)


def _with_epsilon(survey: SurveySection, choice: Any) -> SurveySection:
    """The same survey for the people who chose an epsilon."""
    return survey.model_copy(update={"epsilon": choice, "choices": None})


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
        for name, question in survey.question.items():
            with page.at("question", name, "repeat"):
                require_no_repeat({name: question}, *IN_JOINT)
    stated = {name: own_source(page, name, each) for name, each in survey.question.items()}
    sources = {name: source for name, source in stated.items() if source is not None}
    budgets = divide_budget(page, survey, total, scheme, sources)
    for name, budget in budgets.items():
        question = survey.question[name]
        if question.utility is None:  # else a constant report may be meant
            own = () if question.epsilon is None else ("question", name)
            with page.at(*own, "epsilon"):
                require_budget(budget)
    asked = _stated_questions(page, survey, sources)
    unsolved = UnsolvedSurvey(page, survey, scheme, why, budgets, sources, joint, asked)
    unsolved.require_columns()
    return unsolved


def _stated_questions(
    page: Page, survey: SurveySection, sources: dict[str, Any]
) -> StatedQuestions:
    """The questions with their own mechanisms, or else with the numbers that are estimated;
    conditions on other than earlier questions and their answers are refused.
    """
    asked: StatedQuestions = {}
    for name, section in survey.question.items():
        source = sources.get(name)
        if source is None:
            source = _workload(section) if section.ticks is None else _shares_of_ticks(section)
        with page.at("question", name):
            question = section.question(source)
            if question.repeat:  # its second answers have a column, too
                question = repeated(question, name)
        for gate, answers in (question.only_if or {}).items():
            with page.at("question", name, "only_if", gate):
                alone = replace(question, only_if={gate: answers})
                require_condition(name, alone, asked, survey.question)
        with page.at("question", name, "answers"):
            require_words(section.page_words, question, survey.words.languages)
        if section.prior is not None:
            with page.at("question", name, "prior"):
                read_weights(question, section.weights)
        asked[name] = question
    with page.at("question"):
        require_conditions(asked)
    with page.at("pairs"):
        read_pairs(survey.pairs, list(asked))
    return asked


def _require_one_definition(page: Page, name: str, question: QuestionSection) -> None:
    """Refuse a question that is defined twice, or not at all."""
    key = ("question", name)
    if question.number is not None:
        require_number(page, key, question)
    if question.repeat:
        require_repeat(page, key, question)
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
    elif (
        question.labels is None and question.number is None and not isinstance(question.prior, dict)
    ):
        raise page.error(
            (*key, "labels"),
            "the labels of the answers are missing",
            "add labels, or a mechanism",
            code="labels",
        )
    if question.utility is not None and question.only_if is not None:
        raise page.error(
            (*key, "utility"),
            "a question that not everybody is asked has a workload, no utility",
            "remove one of utility and only_if",
            code="utility-only-if",
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
    if question.labels is not None:
        with page.at(*key, "labels"):
            check_labels(question.labels, None, "answer", StatementError)
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
        name: question.reduced if question.ticks is None else _shares_of_ticks(question)
        for name, question in survey.question.items()
    }
    priors = {
        name: question.weights
        for name, question in survey.question.items()
        if question.prior is not None and not question.repeat
    }
    is_tree = any(question.only_if for question in survey.question.values())
    if is_tree:
        labels = dict(_stated_questions(page, survey, {}))
    with page.at("question"):
        comparison = compare_schemes(labels, budget, priors=priors)
    if any(question.repeat for question in survey.question.values()):
        comparison = comparison.without_joint
    # The joint report that was compared is about frequencies; other numbers need their own.
    is_same = is_tree or all(
        question.workload in (None, "frequencies") for question in survey.question.values()
    )
    joint = comparison.joint if comparison.best == "joint" and is_same else None
    return comparison.best, comparison.why, joint


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
