"""Surveys stated in TOML: questions with their answers, shares of a person's budget, and missing answers."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ldpopt.designing.design import design
from ldpopt.designing.record import Design
from ldpopt.designing.subsets import FrequencyDesign
from ldpopt.errors import LdpoptError
from ldpopt.estimation.counts import source_of
from ldpopt.estimation.inversion import why_not_estimable
from ldpopt.foundation.budget import Budget, log_enclosure, round_down
from ldpopt.foundation.labels import nearest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.privatizing import Rule
from ldpopt.privacy import PureLDP
from ldpopt.problem.modelfile.page import Page
from ldpopt.problem.modelfile.schema import Label, Section, check
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import NAMED
from ldpopt.problem.workload import Workload
from ldpopt.solving.solve import solve
from ldpopt.surveys.files import read_question
from ldpopt.surveys.schemes import compare_schemes

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey

WORKLOADS = ("frequencies", "prefix", "ranges", "mean")
"""What may be estimated of a question, by name."""


class StatedQuestion(Section):
    """``[question.NAME]``: a mechanism's file, or labels and what is wanted."""

    labels: list[Label] | None = Field(default=None, min_length=2)
    prior: dict[str, float] | list[float] | None = None
    utility: str | None = None
    workload: str | None = None
    values: list[float] | None = None
    mechanism: str | None = None
    epsilon: float | str | None = None
    share: float | None = Field(default=None, gt=0, le=1)
    missing: Literal["refuse", "answer", "leave"] = "refuse"
    missing_label: Label | None = None


class StatedSurvey(Section):
    """A survey."""

    title: str = ""
    source: str = ""
    epsilon: float | str | None = None
    scheme: Literal["split", "one_question", "fake_data", "best"] = "split"
    weights: str | None = None
    question: dict[str, StatedQuestion] = Field(min_length=1)


@dataclass(frozen=True)
class SurveyStatement:
    """A survey before its mechanisms are found.

    Attributes
    ----------
    page : Page
        The file, for messages.
    stated : StatedSurvey
        What it says.
    scheme : str
        Which questions a person's reports are about; chosen where the file says ``"best"``.
    why : str
        The reason, where it was chosen.
    budgets : dict name -> Budget
        Epsilon of each question that has no mechanism yet.
    sources : dict name -> Mechanism or design
        Questions whose mechanism is given by a file.
    """

    page: Page
    stated: StatedSurvey
    scheme: Any
    why: str = ""
    budgets: dict[str, Budget] = field(default_factory=dict)
    sources: dict[str, Any] = field(default_factory=dict)

    def solve(self, survey: type[Survey]) -> Survey:
        """Find the best mechanism for each question, and put them together."""
        questions: dict[str, Any] = {}
        for name, asked in self.stated.question.items():
            with self.page.at("question", name):
                source = self.sources[name] if name in self.sources else self._solved(name, asked)
                questions[name] = (source, _rule(source, asked))
        stated = self.stated
        with self.page.at("epsilon"):
            return survey(
                questions, epsilon=stated.epsilon, scheme=self.scheme, title=stated.title, weights=stated.weights
            )

    def warnings(self, survey: Survey) -> list[str]:
        """What somebody has to know before the field work."""
        found = []
        for name, rule in survey.rules.items():
            drawn: Any = rule.mechanism
            useless = why_not_estimable(drawn) if name not in survey.designs else ""
            if useless:
                found.append(f"question {name}: {useless}")
        return found

    def _solved(self, name: str, asked: StatedQuestion) -> Mechanism | Design | FrequencyDesign:
        privacy, labels = PureLDP(self.budgets[name]), labels_of(asked)
        if asked.utility is not None:
            prior = [1 / len(labels)] * len(labels) if asked.prior is None else _prior(asked, labels)
            return solve(Problem(prior, asked.utility, privacy, inputs=labels)).mechanism
        weights = None if asked.prior is None else _prior(asked, labels)
        return design(_workload(asked, labels), privacy, weights=weights)


def read_survey(path: str | os.PathLike[str]) -> SurveyStatement:
    """Read a survey that is stated in TOML; messages name file, key and line."""
    page = Page(path)
    stated = check(page, StatedSurvey, page.data)
    for name, asked in stated.question.items():
        _require_one_way(page, name, asked)
    with page.at("epsilon"):
        total = None if stated.epsilon is None else Budget(stated.epsilon)
    scheme, why = stated.scheme, ""
    if scheme == "best":
        scheme, why = _best(page, stated, total)
    sources = {}
    for name, asked in stated.question.items():
        if asked.mechanism is not None:
            with page.at("question", name, "mechanism"):
                sources[name] = _of_file(page, name, asked.mechanism)
    budgets = _budgets(page, stated, total, scheme, sources)
    return SurveyStatement(page, stated, scheme, why, budgets, sources)


def labels_of(asked: StatedQuestion) -> list[Any]:
    """Answers of a question, with the one for what is missing."""
    labels: list[Any] = list(asked.labels if asked.labels is not None else asked.prior or ())
    extra = _missing_label(asked)
    return labels if extra is None or extra in labels else [*labels, extra]


def _missing_label(asked: StatedQuestion) -> Label | None:
    if asked.missing != "answer":
        return None
    return "no answer" if asked.missing_label is None else asked.missing_label


def _require_one_way(page: Page, name: str, asked: StatedQuestion) -> None:
    """Refuse a question that is stated twice, or not at all."""
    key = ("question", name)
    if asked.mechanism is not None:
        for other in ("labels", "prior", "utility", "workload", "values", "epsilon", "share"):
            if getattr(asked, other) is not None:
                raise page.error((*key, other), f"{other} has no effect together with a mechanism", f"remove {other}")
        return
    if asked.labels is None and not isinstance(asked.prior, dict):
        raise page.error((*key, "labels"), "the labels of the answers are missing", "state labels, or a mechanism")
    if asked.utility is not None and asked.workload is not None:
        raise page.error((*key, "workload"), "a question has a utility or a workload, not both", "remove one")
    if asked.epsilon is not None and asked.share is not None:
        raise page.error((*key, "share"), "a question has an epsilon or a share of it, not both", "remove one")
    if asked.missing_label is not None and asked.missing != "answer":
        do = 'state missing = "answer", or remove missing_label'
        raise page.error((*key, "missing_label"), "missing_label says nothing here", do)
    for kind, known in ((asked.utility, NAMED), (asked.workload, WORKLOADS)):
        if kind is not None and kind not in known:
            which = "utility" if known is NAMED else "workload"
            raise page.error((*key, which), f"unknown {which} {kind!r}", nearest(kind, known))
    if asked.values is not None and asked.workload != "mean":
        raise page.error((*key, "values"), "values are those of a mean", 'state workload = "mean", or remove them')


def _of_file(page: Page, name: str, path: str) -> Any:
    """The mechanism of a file, whose name is relative to the folder of the survey."""
    try:
        return read_question(Path(page.path).parent / path)
    except LdpoptError as error:
        raise page.error(("question", name, "mechanism"), f"{path}: {error.what}", error.do) from None


def _best(page: Page, stated: StatedSurvey, total: Budget | None) -> tuple[Any, str]:
    """Choose the scheme, and say why."""
    if total is None:
        raise page.error(("scheme",), "the best scheme depends on the budget of a person", "state epsilon at the top")
    for name, asked in stated.question.items():
        own = next((key for key in ("mechanism", "epsilon", "share") if getattr(asked, key) is not None), None)
        if own is not None:
            do = "remove it, or state a scheme"
            raise page.error(("question", name, own), f"a question with its own {own} fits one scheme only", do)
    labels = {name: labels_of(asked) for name, asked in stated.question.items()}
    priors = {name: _prior(asked, labels[name]) for name, asked in stated.question.items() if asked.prior is not None}
    with page.at("question"):
        found = compare_schemes(labels, total, priors=priors)
    return found.best, found.why


def _budgets(
    page: Page, stated: StatedSurvey, total: Budget | None, scheme: str, sources: dict[str, Any]
) -> dict[str, Budget]:
    """Budgets of the questions that are to be solved: stated, shares of the total, or equal parts of what is left."""
    asked = {name: one for name, one in stated.question.items() if name not in sources}
    found: dict[str, Budget] = {}
    for name, one in asked.items():
        with page.at("question", name, "epsilon"):
            if one.epsilon is not None:
                found[name] = Budget(one.epsilon)
        if one.share is not None and (total is None or scheme != "split"):
            what = "a share needs the epsilon of a person" if total is None else f"there are no shares in {scheme!r}"
            do = "state epsilon at the top" if total is None else "remove it: each question has the whole budget"
            raise page.error(("question", name, "share"), what, do)
    waiting = [name for name in asked if name not in found]
    if total is None:
        if waiting:
            do = "state epsilon there, or once at the top for all questions"
            raise page.error(("question", waiting[0], "epsilon"), "the budget of the question is missing", do)
        return found
    if scheme != "split":
        return found | dict.fromkeys(waiting, total)
    nats = _nats(total)
    shared = {name: nats * Fraction(share) for name in waiting if (share := asked[name].share) is not None}
    spent = sum((_nats(budget) for budget in found.values()), Fraction(0)) + sum(shared.values(), Fraction(0))
    spent += sum((Fraction(_law(source).audit().epsilon) for source in sources.values()), Fraction(0))
    rest = [name for name in waiting if name not in shared]
    if spent > nats or (rest and spent == nats):
        left = f"nothing is left for {', '.join(rest)}" if rest else f"epsilon is {float(total):.6g}"
        what = f"the questions take {float(spent):.9g}, and {left}"
        raise page.error(("epsilon",), what, "state a larger budget, or smaller ones for the questions")
    shared |= {name: (nats - spent) / len(rest) for name in rest}
    return found | {name: Budget(round_down(part)) for name, part in shared.items()}


def _nats(budget: Budget) -> Fraction:
    """A budget as a rational that is not above it."""
    return log_enclosure(budget.ratio)[0] if budget.ratio is not None else Fraction(budget.nats or 0)


def _law(source: Any) -> Any:
    """What draws the reports of a mechanism or design."""
    return source_of(source, "the survey").law


def _prior(asked: StatedQuestion, labels: list[Any]) -> Any:
    """Weights by label; keys of a TOML table are text."""
    if not isinstance(asked.prior, dict):
        return asked.prior
    found = {str(label): label for label in labels}
    return {found.get(key, key): weight for key, weight in asked.prior.items()}


def _workload(asked: StatedQuestion, labels: list[Any]) -> Workload:
    if asked.workload == "mean":
        values: Any = asked.values if asked.values is not None else labels
        return Workload.mean(values, inputs=labels)
    maker: Any = {"prefix": Workload.prefix, "ranges": Workload.ranges}.get(asked.workload or "", Workload.frequencies)
    found: Workload = maker(labels)
    return found


def _rule(source: Any, asked: StatedQuestion) -> Rule:
    missing: Any = "leave_out" if asked.missing == "leave" else "refuse"
    return Rule(_law(source), missing, _missing_label(asked))
