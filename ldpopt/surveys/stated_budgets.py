"""The budgets of the questions of a survey file."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ldpopt.foundation.budget import Budget, decimal_of, log_enclosure
from ldpopt.problem.modelfile.page import Page
from ldpopt.surveys.own_sources import OWN
from ldpopt.surveys.sections import SurveySection


def divide_budget(
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
    if scheme == "fake_data":  # random reports make the odds of every mechanism smaller
        return stated | dict.fromkeys(waiting, total)
    odds = _odds_of_own(page, survey, sources)
    if scheme != "split":
        for name, ratio in odds.items():
            if ratio > total.enclosure()[0]:
                taken = float(log_enclosure(ratio)[1])
                raise page.error(
                    ("epsilon",),
                    f"the mechanism of {name} takes {taken:.9g}, and epsilon is {float(total):.6g}",
                    "set a larger budget, or name another mechanism",
                    code="spent",
                )
        return stated | dict.fromkeys(waiting, total)
    nats = total.lower_nats
    shares = {name: unsolved[name].share for name in waiting}
    parts = {name: nats * decimal_of(share) for name, share in shares.items() if share is not None}
    fixed = [budget.lower_nats for budget in stated.values()]
    fixed += [log_enclosure(ratio)[1] for ratio in odds.values()]
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


def _odds_of_own(page: Page, survey: SurveySection, sources: dict[str, Any]) -> dict[str, Fraction]:
    """The odds of the questions with mechanisms of their own; infinite ones are refused."""
    every = {name: source.randomizer.odds for name, source in sources.items()}
    for name, odds in every.items():
        if odds is None:
            what = "this mechanism is not private for any epsilon"
            do = "name a mechanism with a finite epsilon, or remove the budget of a person"
            origin = next(key for key in OWN if getattr(survey.question[name], key) is not None)
            raise page.error(("question", name, origin), what, do, code="infinite-epsilon")
    return every


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
