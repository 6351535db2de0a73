r"""People choose their epsilon: a survey offers several, with the best mechanisms for each.

The choice is public: it is asked first, and a table of reports has it in the column ``choice``.
Given the choice, a report multiplies the odds of two answers by at most
:math:`e^{\epsilon}` for the epsilon that was chosen; the choice itself is seen, and whoever has
something to hide may choose less. Estimates are by strata of the choice, and so right whatever it
has to do with the answers. Theory: docs, "Choices".
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.identified import independent_numbers
from ldpopt.estimation.intervals import norm_sub
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.mechanism.files import odds_of_person
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.surveys.models import ModelQuestion

if TYPE_CHECKING:
    from ldpopt.surveys.questionnaire import Questionnaire

MOST_CHOICES = 10  # largest number of choices: a longer menu is not read
SCHEMES = ("split", "one_question")  # with which people can choose
POOLED = (
    "pooled over the choices: right only if the choice tells nothing of the answers, as where the "
    "budget of each person was drawn"
)
STRATA = (
    "by strata of the choice: right whatever the choice has to do with the answers; the numbers of "
    "people who made each choice are taken as they are"
)


@dataclass(frozen=True)
class SameChoices:
    """Whether the numbers of a question are the same for all choices: a chi-square test, which
    decides nothing.
    """

    question: str
    statistic: float
    freedom: int
    p_value: float

    @property
    def in_words(self) -> str:
        """A note for readers of the table."""
        degrees = "degree" if self.freedom == 1 else "degrees"
        return (
            f"{self.question}: the same answers for all choices? chi-square {self.statistic:.4g} "
            f"with {self.freedom} {degrees} of freedom, p-value {self.p_value:.2g}; the estimate "
            "does not depend on it"
        )


def read_choices(choices: Any, epsilon: Any, scheme: str) -> tuple[Any, ...]:
    """The budgets from which each person chooses, ascending; none if there is no choice."""
    if choices is None:
        return ()
    budgets: dict[Hashable, Budget] = {}
    for choice in listed_items(choices, "choices", "pass a list of budgets"):
        is_whole = isinstance(choice, float) and choice.is_integer()
        label = int(choice) if is_whole else choice
        budgets[label] = Budget(choice)
    values = [budget.enclosure() for budget in budgets.values()]
    if len(set(values)) < len(listed_items(choices, "choices")) or len(budgets) < 2:
        raise StatementError(
            f"choices = {short_repr(choices)} are not different budgets, two or more",
            code="menu",
            do="pass different ones, such as choices=[0.5, 1.0, 2.0, 4.0]",
        )
    if len(budgets) > MOST_CHOICES:
        raise StatementError(
            f"there are {len(budgets)} choices",
            code="choice-count",
            do=f"offer at most {MOST_CHOICES}: few people weigh more of them",
        )
    if epsilon is not None:
        raise StatementError(
            "a survey has an epsilon, or choices of it, not both",
            code="choices-epsilon",
            do="leave one of them out",
        )
    if scheme not in SCHEMES:
        raise StatementError(
            f"people cannot choose their epsilon with the scheme {scheme!r}",
            code="choices-scheme",
            do="use the scheme 'split' or 'one_question'",
        )
    return tuple(sorted(budgets, key=lambda label: budgets[label].enclosure()))


def chosen_questions(
    stated: Mapping[str, Any], each: Mapping[Hashable, Questionnaire]
) -> dict[str, Question]:
    """The questions with what draws their reports for each choice; ``each`` has a questionnaire of
    its own for each choice.
    """
    first = next(iter(each.values()))
    questions: dict[str, Question] = {}
    for name in stated:
        question = first.questions[name]
        require_possible(name, question)
        sources = {choice: source_of(one.asked[name].source, name) for choice, one in each.items()}
        try:
            questions[name] = replace(question, source=ChosenSource(sources))
        except StatementError as error:
            raise error.restated(StatementError, where=f"question {name!r}") from None
    return questions


def require_possible(name: str, question: Question) -> None:
    """Refuse a question that has no choices yet."""
    reason = ""
    if question.only_if:
        reason = "depends on the answer to another one"
    elif isinstance(question, ModelQuestion):
        reason = "has a technique, several mechanisms or behaviors"
    elif question.repeat:
        reason = "is asked twice"
    if reason:
        raise StatementError(
            f"question {name!r} {reason}, and people choose their epsilon",
            code="choices-question",
            do="ask it in a survey with one epsilon",
        )


def are_chosen(questions: Any, choices: Sequence[Hashable]) -> bool:
    """Whether all questions have their mechanisms for these choices already."""
    if not isinstance(questions, Mapping):  # a joint report
        return False
    sources = [getattr(question, "source", None) for question in questions.values()]
    found = [isinstance(source, ChosenSource) for source in sources]
    if not any(found):
        return False
    wrong = [source for source in sources if getattr(source, "choices", None) != tuple(choices)]
    if wrong or not choices:
        raise StatementError(
            "some questions have mechanisms for other choices than the survey",
            code="choices-of-questions",
            do="pass the answers of all questions, and choices=",
        )
    return True


def odds_by_choice(
    questions: Mapping[str, Question], one_question: OneQuestion | None
) -> dict[Hashable, Fraction | float]:
    """Largest ratio of the probabilities of a person's reports, exactly, for each choice."""
    sources = [question.source for question in questions.values()]
    choices = sources[0].choices if sources else ()
    return {
        choice: odds_of_person([Question(source.source_of(choice)) for source in sources],
                               one_question)
        for choice in choices
    }  # fmt: skip


def exceeding(survey: Questionnaire) -> Hashable | None:
    """A choice for which a person would spend more than was chosen, in exact arithmetic."""
    for choice, odds in odds_by_choice(survey.asked, survey.one_question).items():
        if isinstance(odds, float) and isinf(odds):
            return choice
        if odds > Budget(choice).enclosure()[0]:  # type: ignore[arg-type]
            return choice
    return None


def of_choice(survey: Questionnaire, choice: Any) -> dict[str, Any]:
    """What draws the reports of each column for the people with a choice; any other one is
    refused.
    """
    names = {text_of(known): known for known in survey.choices}
    is_whole = isinstance(choice, float) and choice.is_integer()
    text = text_of(int(choice)) if is_whole else text_of(choice)
    if text not in names:
        known = ", ".join(names) or "none: everybody has the same epsilon"
        raise StatementError(
            f"{short_repr(choice)} is not one of the choices",
            code="unknown-choice",
            do=f"name one of {known}",
        )
    return {
        column: question.source.source_of(names[text]) for column, question in survey.asked.items()
    }


def require_no_choices(survey: Questionnaire, reason: str, do: str) -> None:
    """Refuse a survey in which people choose their epsilon."""
    if survey.choices:
        raise StatementError(
            f"people choose their epsilon, and {reason}", code="choices-given", do=do
        )


def promises_of(survey: Questionnaire) -> list[tuple[str, Fraction]]:
    """Each choice as text, with the exact odds of a person who made it."""
    odds = odds_by_choice(survey.asked, survey.one_question)
    return [(text_of(choice), Fraction(each)) for choice, each in odds.items()]


def same_for_all_choices(name: str, source: Any, counts: Counts) -> SameChoices | None:
    r"""Test whether the numbers of a question are the same for all choices.

    With the estimates :math:`\hat t_g`, their covariances :math:`C_g` at the common law and the
    mean :math:`\bar t` of weights :math:`C_g^{-1}`, the statistic

    .. math:: \sum_g (\hat t_g - \bar t)^T C_g^{-1} (\hat t_g - \bar t)

    is chi-square with ``(G - 1) r`` degrees of freedom; ``r`` of the numbers are independent, and
    the statistic is of these. None of a sample, and if less than two choices were made.
    """
    if not isinstance(source, ChosenSource) or counts.sampled is not None:
        return None
    chosen = source.counts_by_choice(counts)
    rows = independent_numbers(source.wanted)
    if len(chosen) < 2 or not len(rows):
        return None
    from scipy.stats import chi2

    band = source.band(counts, pooled=True)
    laws = np.stack([each.frequencies for each in band.bands])
    common = norm_sub(band.shares @ laws)
    middle = source.wanted[rows] @ common
    moved = []
    precise = []
    for (_, part, seen), each in zip(chosen, band.bands, strict=True):
        values = part.source.estimator[rows]
        expected = common @ part.source.channel
        spread = (values * expected) @ values.T - np.outer(middle, middle)
        precise.append(np.linalg.pinv(spread * seen.scale))
        moved.append(each.values[rows])
    each_moved = np.stack(moved)
    weights = np.stack(precise)
    mean = np.linalg.solve(weights.sum(axis=0), np.einsum("gij,gj->i", weights, each_moved))
    apart = each_moved - mean
    statistic = float(np.einsum("gi,gij,gj->", apart, weights, apart))
    freedom = (len(chosen) - 1) * len(rows)
    return SameChoices(name, statistic, freedom, float(chi2.sf(statistic, freedom)))
