"""What each person risks in a survey: facts from the masses, and the sentences that follow from
them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ldpopt.accounting.curve import PrivacyCurve
from ldpopt.foundation.display import label
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.sentences import Sentence, Topic, at_most_text
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.revealing import Revealing, revealed_by, revealed_by_any
from ldpopt.surveys.account import account_of
from ldpopt.surveys.questionnaire import Questionnaire

MAX_LISTED = 6  # largest number of reports or answers of a question that a sentence names
MAX_EXACT_NATS = 700.0  # a power of the odds with more nats is written as a power of ten


@dataclass(frozen=True, eq=False)
class Risks:
    """What the reports of a person tell, if the survey is asked ``waves`` times.

    If the reports on some questions are random answers (fake data), this is about the question that
    is drawn, as somebody sees it who knows which one that is.
    """

    survey: Questionnaire
    waves: int = 1

    @cached_property
    def columns(self) -> dict[str, Revealing]:
        """What the reports of each column tell for certain."""
        return {name: revealed_by_any(list(each.values())) for name, each in self.laws.items()}

    @cached_property
    def laws(self) -> dict[str, dict[str, Revealing]]:
        """The same for each mechanism of a column, by the words that name it; of one mechanism
        there are none.
        """
        laws = {}
        for name, question in self.survey.asked.items():
            law = question.randomizer
            if isinstance(law, AssignedMechanisms):
                (clear,) = question.beside
                named = law.mechanisms.items()
                laws[name] = {f"{clear} {text_of(key)}": revealed_by(each) for key, each in named}
            else:
                laws[name] = {"": revealed_by(law)}
        return laws

    @property
    def count(self) -> int:
        """Number of questions."""
        return len(self.survey.questions)

    @property
    def required(self) -> tuple[str, ...]:
        """Questions that have to be answered."""
        return tuple(
            name
            for name, question in self.survey.questions.items()
            if question.missing == "refuse" and question.missing_answer is None
        )

    @property
    def required_text(self) -> str:
        """Questions that have to be answered, in quotes."""
        return self._quoted(self.required)

    @property
    def has_choice(self) -> bool:
        """Whether every question has two answers at least."""
        return all(len(question.inputs) > 1 for question in self.survey.questions.values())

    @property
    def is_silent(self) -> bool:
        """Whether no report depends on an answer."""
        return all(column.is_silent for column in self.columns.values())

    @property
    def is_random(self) -> bool:
        """Whether all reports on all questions are drawn at random."""
        return all(column.is_random for column in self.columns.values())

    @property
    def rules_out(self) -> bool:
        """Whether a report is impossible under an answer to its question."""
        return any(column.rules_out for column in self.columns.values())

    @property
    def tells(self) -> bool:
        """Whether a report is possible under one answer only."""
        return any(column.tells for column in self.columns.values())

    @property
    def tells_in_all(self) -> bool:
        """Whether reports of several times may leave one answer to a question."""
        return any(column.tells_within(self.waves) for column in self.columns.values())

    @property
    def tells_part(self) -> bool:
        """Whether a report may tell a part of an answer, such as one tick of several.

        An answer of parts that is ruled out may leave others that have a part in common.
        """
        return any(
            self.columns[name].rules_out and (bool(question.parts) or hasattr(question, "ticks"))
            for name, question in self.survey.asked.items()
        )

    @property
    def is_open(self) -> bool:
        """Whether every report on every question tells the answer."""
        return all(column.is_open for column in self.columns.values())

    @property
    def is_finite(self) -> bool:
        """Whether there is an epsilon: no report rules an answer out."""
        return not isinstance(self.survey.odds, float)

    @property
    def has_fake_data(self) -> bool:
        """Whether some of the reports of a person are drawn from random answers."""
        return self.survey.has_fake_data

    @property
    def has_epsilons(self) -> bool:
        """Whether each person chooses an epsilon."""
        return bool(self.survey.choices)

    @property
    def is_joint(self) -> bool:
        """Whether there is one report on all questions."""
        return self.survey.joint is not None

    @property
    def is_one_question(self) -> bool:
        """Whether only the question that is drawn has a report."""
        return not self.survey.has_all_reports

    @property
    def unanswered(self) -> str:
        """Questions whose reports show who did not answer."""
        return ", ".join(map(label, self.survey.unprotected))

    @property
    def parts(self) -> str:
        """The budget of each question, of those with one report together."""
        trees = self.survey.trees
        inside = {name for names in trees.values() for name in names[1:]}
        return ", ".join(
            f"{' and '.join(map(label, trees.get(name, (name,))))} {budget:.4g}"
            for name, budget in self.survey.budgets.items()
            if name not in inside
        )

    @cached_property
    def factor(self) -> str:
        """The largest factor by which all reports of a person change the odds, rounded up."""
        odds = self.survey.odds
        if isinstance(odds, float):
            return "infinity"
        if self.waves * math.log(odds) > MAX_EXACT_NATS:
            return f"10^{math.floor(self.waves * math.log10(odds)) + 1}"
        return at_most_text(Fraction(odds) ** self.waves)

    @cached_property
    def curve(self) -> PrivacyCurve:
        """What all reports of a person reveal together."""
        return account_of(self.survey, self.waves)

    @property
    def open_questions(self) -> str:
        """Questions all of whose reports tell the answer."""
        return self._quoted(name for name, column in self.columns.items() if column.is_open)

    @property
    def is_partly_open(self) -> bool:
        """Whether every report on some question tells the answer."""
        return any(column.is_open for column in self.columns.values())

    @property
    def reports_that_tell(self) -> str:
        """A sentence for each report that only one answer can give, with the answer that it tells;
        questions with open answers, which tell all of them, are left out.
        """
        return " ".join(
            self._of_column(name, column, who)
            for name, laws in self.laws.items()
            for who, column in laws.items()
            if column.tells and (self.has_fake_data or not self.columns[name].is_open)
        )

    def _of_column(self, name: str, column: Revealing, who: str) -> str:
        """Whose answer is told by which report, of one question and mechanism."""
        question = self._question_text(name)
        listed = column.tells[:MAX_LISTED]
        cases = [
            f"the report “{text_of(report)}” can only come from the answer "
            f"“{self._shown(name, answer)}”"
            for report, answer in listed
        ]
        if len(column.tells) > len(listed):
            cases.append(f"{len(column.tells) - len(listed):,} more reports from one answer each")
        risks = [
            f"“{self._shown(name, answer)}” with probability {_probability(chance)}"
            for answer, chance in column.chances[:MAX_LISTED]
        ]
        if len(column.chances) > MAX_LISTED:
            risks.append(f"{len(column.chances) - MAX_LISTED:,} more answers")
        told = {answer for answer, _ in column.chances}
        inputs = self.survey.asked[name].inputs
        spared = [self._shown(name, answer) for answer in inputs if answer not in told]
        which = "If the question that is drawn is" if self.has_fake_data else "On"
        each = "each time " if self.waves > 1 else ""
        whose = f", people of {who}" if who else ""
        text = (
            f"{which} “{question}”{whose}: {', '.join(cases)}. Told for certain is {each}the "
            f"answer {', '.join(risks)}."
        )
        if spared and self.waves == 1 and not who:
            text += f" No single report tells {_few(f'“{answer}”' for answer in spared)}."
        return text

    def _shown(self, name: str, answer: Hashable) -> str:
        """An answer in the words of the survey."""
        words = self.survey.words.first.questions.get(name)
        text = text_of(answer)
        return text if words is None else words.answers.get(text, text)

    def _question_text(self, name: str) -> str:
        """A question as it is asked, or its name."""
        words = self.survey.words.first.questions.get(name)
        return (words.text if words is not None else "") or name

    def _quoted(self, names: Iterable[str]) -> str:
        """Questions in quotes."""
        return _few(f"“{self._question_text(name)}”" for name in names)


@dataclass(frozen=True)
class Asked:
    """Which of the questions of a survey that is not solved have to be answered."""

    required: tuple[str, ...]
    count: int

    @property
    def required_text(self) -> str:
        """Questions that have to be answered, in quotes."""
        return _few(f"“{name}”" for name in self.required)


def _few(texts: Iterator[str] | Iterable[str]) -> str:
    """Some texts one by one, and the number of all others."""
    listed = list(texts)
    more = len(listed) - MAX_LISTED
    shown = ", ".join(listed[:MAX_LISTED])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _probability(chance: Fraction) -> str:
    """A probability with three digits that is not below the exact one."""
    if chance == 1:
        return "1"
    exponent = math.floor(math.log10(chance)) - 2
    unit = Fraction(10) ** exponent
    return f"{float(math.ceil(chance / unit) * unit):.3g}"


CERTAIN = Topic(
    "certain",
    (
        Sentence(
            "silent",
            lambda facts: facts.is_silent,
            "No report says anything about a person: no report depends on an answer.",
        ),
        Sentence(
            "any",
            lambda facts: not facts.rules_out and facts.has_choice and facts.is_random,
            "No report tells for certain what a person answered: every report is drawn at random, "
            "and could have come from any answer.",
        ),
        Sentence(
            "possible",
            lambda facts: not facts.rules_out,
            "No report rules an answer out: every report could have come from any answer to its "
            "question.",
        ),
        Sentence(
            "tells, fake data",
            lambda facts: facts.has_fake_data and facts.tells_in_all,
            "Somebody who knows which question was drawn for a person may know the answer to it "
            "for certain.",
        ),
        Sentence(
            "rules out, fake data",
            lambda facts: facts.has_fake_data,
            "Somebody who knows which question was drawn for a person may rule answers to it out "
            "for certain.",
        ),
        Sentence(
            "open",
            lambda facts: facts.is_open,
            "The answers are not protected: every report tells for certain what a person answered.",
        ),
        Sentence(
            "some open",
            lambda facts: facts.is_partly_open,
            "The answers to {facts.open_questions} are not protected: every report on them tells "
            "for certain what a person answered.",
        ),
        Sentence(
            "tells",
            lambda facts: facts.tells,
            "Some reports tell for certain what a person answered. {facts.reports_that_tell}",
        ),
        Sentence(
            "together",
            lambda facts: facts.tells_in_all,
            "No single report tells for certain what a person answered, and the reports of all "
            "{facts.waves:,} times together may tell it: each of them can rule answers out.",
        ),
        Sentence(
            "part",
            lambda facts: facts.tells_part,
            "Some reports rule an answer out for certain, and so may tell a part of it.",
        ),
        Sentence(
            "several",
            lambda facts: facts.has_choice,
            "No report tells for certain what a person answered, and some reports rule an answer "
            "out for certain: every report could have come from several answers, and not every "
            "report from any answer.",
        ),
        Sentence(
            "rules out",
            lambda facts: facts.rules_out,
            "Some reports rule an answer out for certain.",
        ),
    ),
)
"""The first sentence of a page: whether a report tells an answer for certain, and whose."""

WHO = Topic(
    "who",
    (
        Sentence(
            "who",
            lambda facts: (
                bool(facts.reports_that_tell) and (facts.is_partly_open or facts.has_fake_data)
            ),
            "{facts.reports_that_tell}",
        ),
    ),
)
"""Whose answers are told by which report."""

ODDS = Topic(
    "odds",
    (
        Sentence(
            "finite, one",
            lambda facts: facts.is_finite and facts.count == 1 and facts.waves == 1,
            "The report of a person can change the odds between any two answers by a factor of at "
            "most {facts.factor}, whatever the reader knew before, and however much the reader can "
            "compute. Odds of 2 between two answers mean that one is thought twice as likely as "
            "the other.",
        ),
        Sentence(
            "finite, one, waves",
            lambda facts: facts.is_finite and facts.count == 1,
            "All reports of a person together, of all times, can change the odds between any two "
            "answers by a factor of at most {facts.factor}, whatever the reader knew before, and "
            "however much the reader can compute. Odds of 2 between two answers mean that one is "
            "thought twice as likely as the other.",
        ),
        Sentence(
            "finite, several",
            lambda facts: facts.is_finite and facts.waves == 1,
            "All reports of a person together can change the odds between any two answers (to one "
            "question, or to all of them) by a factor of at most {facts.factor}, whatever the "
            "reader knew before, and however much the reader can compute. Odds of 2 between two "
            "answers mean that one is thought twice as likely as the other.",
        ),
        Sentence(
            "finite, several, waves",
            lambda facts: facts.is_finite,
            "All reports of a person together, of all times, can change the odds between any two "
            "answers (to one question, or to all of them) by a factor of at most {facts.factor}, "
            "whatever the reader knew before, and however much the reader can compute. Odds of 2 "
            "between two answers mean that one is thought twice as likely as the other.",
        ),
        Sentence(
            "infinite, fake data",
            lambda facts: facts.has_fake_data,
            "To somebody who knows which question was drawn, some reports can rule an answer out "
            "completely, since a mechanism of this survey gives them with probability 0 for it: "
            "no factor bounds the odds, and no epsilon is large enough.",
        ),
        Sentence(
            "infinite",
            lambda facts: facts.rules_out,
            "Some reports can rule an answer out completely, since a mechanism of this survey "
            "gives them with probability 0 for it: no factor bounds the odds, and no epsilon is "
            "large enough.",
        ),
    ),
)
"""By how much the reports of a person change the odds of two answers."""

UNANSWERED_NOTE = Topic(
    "note: unanswered",
    (
        Sentence(
            "joint",
            lambda facts: facts.is_joint and len(facts.survey.unprotected) > 1,
            "the reports reveal who left out one of these questions, and not which: "
            "{facts.unanswered}",
        ),
        Sentence(
            "one question",
            lambda facts: bool(facts.unanswered) and facts.is_one_question,
            "the reports reveal who did not answer the question that was drawn, if it is one of "
            "these: {facts.unanswered}",
        ),
        Sentence(
            "own",
            lambda facts: bool(facts.unanswered),
            "the reports reveal who did not answer {facts.unanswered}",
        ),
    ),
)
"""What is seen of missing answers, when reports are drawn."""

SPENT = Topic(
    "note: spent",
    (
        Sentence(
            "chosen",
            lambda facts: facts.is_finite and bool(facts.survey.choices),
            "each person spends the epsilon that was chosen, at most "
            "{facts.survey.epsilon:.6g} ({facts.survey.scheme}: {facts.parts})",
        ),
        Sentence(
            "finite",
            lambda facts: facts.is_finite,
            "each person spends epsilon {facts.survey.epsilon:.6g} ({facts.survey.scheme}: "
            "{facts.parts})",
        ),
        Sentence(
            "infinite",
            lambda facts: not facts.is_finite,
            "these reports have no finite epsilon: some rule an answer out ({facts.survey.scheme}: "
            "{facts.parts})",
        ),
    ),
)
"""The budget of a person, when reports are drawn."""

MUST_ANSWER = Topic(
    "must answer",
    (
        Sentence(
            "all",
            lambda facts: len(facts.required) == facts.count,
            "The page lets nobody pass without an answer: whoever does not want to answer leaves "
            "it, or answers something else.",
        ),
        Sentence(
            "some",
            lambda facts: bool(facts.required),
            "The page lets nobody pass without an answer to {facts.required_text}: whoever does "
            "not want to answer leaves it, or answers something else.",
        ),
    ),
)
"""Where the page has no way to give no answer, which is a warning."""

TOPICS = (CERTAIN, WHO, ODDS, UNANSWERED_NOTE, SPENT, MUST_ANSWER)
