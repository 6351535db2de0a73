"""The claims of the page of a survey and of a model: each topic has the true sentence for the
masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ldpopt.foundation.labels import text_of
from ldpopt.foundation.sentences import Sentence, Topic
from ldpopt.plotting.report import guesses, people
from ldpopt.plotting.report.people import AskedFacts
from ldpopt.surveys import risks


@dataclass(frozen=True, eq=False)
class PageFacts(AskedFacts):
    """What the sentences of a page depend on: what a person risks, how a survey is asked, and what
    is estimated.
    """

    rows: Sequence[dict[str, Any]] = field(default=())  # of all estimates

    @property
    def is_estimable(self) -> bool:
        """Whether something can be estimated."""
        return bool(self.rows)

    @property
    def has_shares_only(self) -> bool:
        """Whether all estimates are shares of people."""
        return all(row["in_points"] for row in self.rows)

    @property
    def can_draw_on_device(self) -> bool:
        """Whether there is a page for respondents."""
        known = all(name in self.survey.fields for name in self.survey.sample.columns)
        is_chosen = bool(self.survey.choices)  # the page asks for it
        return self.is_finite and known and (is_chosen or not self.survey.channels)

    @property
    def epsilons(self) -> str:
        """The budgets from which each person chooses."""
        names = list(map(text_of, self.survey.choices))
        return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

    @property
    def total_epsilon(self) -> float:
        """The budget of a person for all times together."""
        return self.waves * self.survey.epsilon

    @property
    def in_both_stages(self) -> float:
        """What somebody spends who is in both stages of a survey."""
        first = 0.0 if self.survey.stage is None else self.survey.stage.epsilon
        return first + self.survey.epsilon

    @property
    def has_proofs(self) -> bool:
        """Whether a column of reports has a certificate."""
        return bool(self.survey.certificates)


BUDGET = Topic(
    "budget",
    (
        Sentence(
            "chosen",
            lambda facts: facts.has_epsilons and facts.waves == 1,
            "The largest budget that a person can choose is epsilon = {facts.survey.epsilon:.4g}.",
        ),
        Sentence(
            "chosen, waves",
            lambda facts: facts.has_epsilons,
            "The largest budget that a person can choose is epsilon = {facts.survey.epsilon:.4g} "
            "each time, {facts.total_epsilon:.4g} over all {facts.waves:,} times.",
        ),
        Sentence(
            "once",
            lambda facts: facts.is_finite and facts.waves == 1,
            "The budget of a person is epsilon = {facts.survey.epsilon:.4g}.",
        ),
        Sentence(
            "waves",
            lambda facts: facts.is_finite,
            "The budget of a person is epsilon = {facts.survey.epsilon:.4g} each time, "
            "{facts.total_epsilon:.4g} over all {facts.waves:,} times.",
        ),
        Sentence(
            "infinite",
            lambda facts: not facts.is_finite,
            "No budget of a person, epsilon, is large enough for these reports.",
        ),
    ),
)

CHOICE = Topic(
    "choice",
    (
        Sentence(
            "epsilons",
            lambda facts: facts.has_epsilons,
            "Each person chooses the budget: epsilon {facts.epsilons}. The report multiplies the "
            "odds of two answers by at most e^(the epsilon that was chosen), given the choice; the "
            "choice itself is seen. Whoever has something to hide may choose less, so the choice "
            "can tell something by itself.",
        ),
    ),
)

DRAWN = Topic(
    "drawn",
    (
        Sentence(
            "hidden",
            lambda facts: not facts.rules_out,
            "To the others the report of a random answer is sent, so that nobody can see which "
            "question was drawn.",
        ),
        Sentence(
            "not said",
            lambda facts: facts.rules_out,
            "To the others the report of a random answer is sent; which question was drawn is not "
            "sent.",
        ),
    ),
)

PUBLISHED = Topic(
    "published",
    (
        Sentence(
            "nothing",
            lambda facts: not facts.is_estimable,
            "Nothing can be estimated from these reports.",
        ),
        Sentence(
            "shares",
            lambda facts: facts.has_shares_only,
            "What is published are shares of all people, each with its uncertainty.",
        ),
        Sentence(
            "numbers",
            lambda facts: facts.is_estimable,
            "What is published are numbers about all people, each with its uncertainty.",
        ),
    ),
)

SINGLE = Topic(
    "single",
    (
        Sentence(
            "random",
            lambda facts: facts.is_random and not facts.rules_out,
            "The result for each person is nothing but a random report; only the shares of all "
            "people, or of large groups, mean something.",
        ),
        Sentence(
            "silent",
            lambda facts: facts.is_silent,
            "The result for each person does not depend on the answer, and means nothing.",
        ),
        Sentence(
            "possible",
            lambda facts: not facts.rules_out,
            "Only the shares of all people, or of large groups, mean something.",
        ),
        Sentence(
            "telling",
            lambda facts: facts.rules_out,
            "The result for a person can tell something for certain, as stated above: whoever has "
            "the reports of single persons has to keep them as answers are kept.",
        ),
    ),
)

MISSING = Topic(
    "missing",
    (
        Sentence(
            "protected",
            lambda facts: not facts["column"].rules_out,
            "“{facts[missing_answer]}” counts as an answer, protected like the others",
        ),
        Sentence(
            "counted",
            lambda facts: facts["column"].rules_out,
            "“{facts[missing_answer]}” counts as an answer; below is whose answers are told",
        ),
    ),
)

LEFT_OUT = Topic(
    "left out",
    (
        Sentence(
            "joint",
            lambda facts: facts.is_joint,
            "no report at all: it can be seen that the person left a question out",
        ),
        Sentence(
            "one question",
            lambda facts: facts.is_one_question,
            "no report, if the question is drawn: it can be seen that the person did not answer it",
        ),
        Sentence(
            "own",
            lambda facts: not facts.is_joint,
            "no report: it can be seen that the person did not answer",
        ),
    ),
)

UNANSWERED = Topic(
    "unanswered",
    (
        Sentence(
            "joint",
            lambda facts: facts.is_joint and len(facts.survey.unprotected) > 1,
            "It can also be seen who left out one of these questions, and not which: "
            "{facts.unanswered}.",
        ),
        Sentence(
            "one question",
            lambda facts: facts.unanswered and facts.is_one_question,
            "It can also be seen who did not answer the question that was drawn, if it is one of "
            "these: {facts.unanswered}.",
        ),
        Sentence(
            "own",
            lambda facts: bool(facts.unanswered),
            "It can also be seen who did not answer these questions: {facts.unanswered}.",
        ),
    ),
)

PROTECTED = Topic(
    "protected",
    (
        Sentence(
            "one",
            lambda facts: not facts.rules_out and facts.count == 1,
            "Only the answers to this question are protected. Not protected:",
        ),
        Sentence(
            "several",
            lambda facts: not facts.rules_out,
            "Only the answers to the questions above are protected. Not protected:",
        ),
        Sentence(
            "open",
            lambda facts: facts.is_open and not facts.has_fake_data,
            "Nothing is protected, neither the answers nor",
        ),
        Sentence(
            "partly",
            lambda facts: facts.rules_out,
            "The answers are protected as far as is stated above, where reports tell an answer or "
            "rule one out. Not protected:",
        ),
    ),
)

HIDES = Topic(
    "hides",
    (
        Sentence(
            "hides",
            lambda facts: not facts.rules_out,
            "what others tell or know about a person, and anything that the results say about all "
            "people: a report hides what one person adds to them, not the results.",
        ),
        Sentence(
            "results",
            lambda facts: facts.rules_out,
            "what others tell or know about a person, and anything that the results say about all "
            "people.",
        ),
    ),
)

DEVICE = Topic(
    "device",
    (
        Sentence(
            "possible",
            lambda facts: facts.can_draw_on_device,
            "On each person's own device, by the page of ldpopt survey form or ldpopt survey "
            "collect. The answers never leave the device; nobody has to be trusted with them but "
            "those who serve the page.",
        ),
        Sentence(
            "mechanisms",
            lambda facts: facts.is_finite and bool(facts.survey.channels),
            "On each person's own device, by a page other than that of ldpopt survey form: a "
            "device does not know which mechanism a person has.",
        ),
        Sentence(
            "weights",
            lambda facts: facts.is_finite,
            "On each person's own device, by a page other than that of ldpopt survey form: a "
            "device does not know a person's weight.",
        ),
        Sentence(
            "open",
            lambda facts: not facts.is_finite,
            "On each person's own device, by a page other than that of ldpopt survey form, which "
            "refuses reports that can rule an answer out.",
        ),
    ),
)

CHECKED = Topic(
    "checked",
    (
        Sentence(
            "finite",
            lambda facts: facts.is_finite,
            "The privacy was checked in exact integer arithmetic, for the very probabilities with "
            "which reports are drawn, and the sum over all reports of a person too.",
        ),
        Sentence(
            "infinite",
            lambda facts: not facts.is_finite,
            "What the reports tell was computed in exact integer arithmetic, from the very "
            "probabilities with which reports are drawn.",
        ),
    ),
)

FILE = Topic(
    "file",
    (
        Sentence(
            "proofs",
            lambda facts: facts.has_proofs,
            "The file of the survey has all probabilities and proofs. Anybody can check them "
            "again:",
        ),
        Sentence(
            "probabilities",
            lambda facts: not facts.has_proofs,
            "The file of the survey has all probabilities. Anybody can check them again:",
        ),
    ),
)

STAGE = Topic(
    "stage",
    (
        Sentence(
            "second",
            lambda facts: facts.survey.stage is not None and facts.is_finite,
            "This is the second stage of a survey. Its probabilities were chosen by the reports of "
            "the first stage, never by answers, and what a person risks is the same whatever these "
            "reports were. Who is in which stage has to be drawn before the first one, without "
            "regard to answers. Nobody may be in both: whoever is spends epsilon = "
            "{facts.survey.stage.epsilon:.4g} in the first and {facts.survey.epsilon:.4g} in the "
            "second, {facts.in_both_stages:.4g} in all.",
        ),
    ),
)
TOPICS = (
    *risks.TOPICS,
    *guesses.TOPICS,
    *people.TOPICS,
    *(CHOICE, BUDGET, DRAWN, PUBLISHED, SINGLE, MISSING, LEFT_OUT, UNANSWERED),
    *(PROTECTED, HIDES, DEVICE, CHECKED, FILE, STAGE),
)
"""All topics of the page, which a template names."""

BY_NAME = {topic.name: topic for topic in TOPICS}


def say(name: str, facts: Any) -> str:
    """The true sentence of a topic; empty if there is none."""
    return BY_NAME[name].say(facts)
