"""The promise on the page for respondents: which of its words are true of a survey.

The text of a sentence is the key of the words of a language.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ldpopt.errors import LdpoptError
from ldpopt.foundation.sentences import Sentence, Topic
from ldpopt.surveys.precision import precision_of
from ldpopt.surveys.risks import Risks


@dataclass(frozen=True, eq=False)
class PromiseFacts(Risks):
    """What the promise depends on. A survey with a page has finite odds."""

    @property
    def odds(self) -> Fraction:
        """Largest odds of the reports on one question, or of the joint report."""
        asked = self.survey.asked.values()
        return max(Fraction(question.randomizer.odds or 0) for question in asked)

    @property
    def total(self) -> Fraction:
        """Odds of all reports of a person in one wave."""
        return Fraction(self.survey.odds)

    @property
    def scheme(self) -> str:
        """How a person's budget is used; of one question all is the same."""
        one = self.survey.one_question
        return "split" if one is None and self.survey.joint is None else self.survey.scheme

    @cached_property
    def is_estimable(self) -> bool:
        """Whether something can be estimated for every question."""
        try:
            for name in self.survey.questions:
                precision_of(self.survey, name, 0.95)
        except LdpoptError:
            return False
        return True

    @cached_property
    def has_all_shares(self) -> bool:
        """Whether the shares of all answers to every question are estimated."""
        if self.survey.joint is not None:
            sources = [question.source for question in self.survey.questions.values()]
            return all(source.names == source.inputs for source in sources)
        estimates = [
            (precision_of(self.survey, name, 0.95).names, question)
            for name, question in self.survey.questions.items()
        ]
        return all(
            tuple(names) == tuple(getattr(question, "ticks", ()) or question.inputs)
            for names, question in estimates
        )


RANDOM = Topic(
    "promise: random",
    (
        Sentence("silent", lambda facts: facts.is_silent, "silent"),
        Sentence(
            "every answer",
            lambda facts: facts.has_choice and facts.is_random and not facts.rules_out,
            "random",
        ),
        Sentence("possible", lambda facts: not facts.rules_out, "possible"),
    ),
)

SCHEME = Topic(
    "promise: scheme",
    (
        Sentence("one question", lambda facts: facts.scheme == "one_question", "one_question"),
        Sentence("fake data", lambda facts: facts.scheme == "fake_data", "fake_data"),
    ),
)

CHOICE = Topic(
    "promise: choice",
    (Sentence("choice", lambda facts: facts.has_epsilons, "choice_given"),),
)

WARNING = Topic(
    "promise: warning",
    (Sentence("choice", lambda facts: facts.has_epsilons, "choice_warning"),),
)

BOUND = Topic(
    "promise: bound",
    (
        Sentence("joint", lambda facts: facts.scheme == "joint", "bound_joint"),
        Sentence("fake data", lambda facts: facts.scheme == "fake_data", "bound_fake"),
        Sentence(
            "one report",
            lambda facts: facts.count == 1 or facts.scheme == "one_question",
            "bound_one",
        ),
        Sentence("all", lambda facts: facts.is_finite, "bound_all"),
    ),
)

WAVES = Topic(
    "promise: waves",
    (Sentence("waves", lambda facts: facts.is_finite and facts.waves > 1, "waves"),),
)

ESTIMATES = Topic(
    "promise: estimates",
    (
        Sentence("shares", lambda facts: facts.is_estimable and facts.has_all_shares, "estimates"),
        Sentence("numbers", lambda facts: facts.is_estimable, "estimates_numbers"),
    ),
)

UNANSWERED = Topic(
    "promise: unanswered",
    (
        Sentence(
            "joint",
            lambda facts: facts.scheme == "joint" and len(facts.survey.unprotected) > 1,
            "unprotected_joint",
        ),
        Sentence(
            "joint, one",
            lambda facts: facts.scheme == "joint" and len(facts.survey.unprotected) == 1,
            "unprotected",
        ),
        Sentence("own", lambda facts: facts.scheme in ("split", "one_question"), "unprotected"),
    ),
)

TWICE = Topic(
    "promise: twice",
    (
        Sentence(
            "repeated",
            lambda facts: any(each.repeat for each in facts.survey.questions.values()),
            "twice",
        ),
    ),
)

TOPICS = (RANDOM, SCHEME, TWICE, CHOICE, WARNING, BOUND, WAVES, ESTIMATES, UNANSWERED)
"""All topics of the promise; ``may_decline`` and the like are true of all surveys with a page."""
