"""The sentences of an account: what the best adversary guesses after some reports, which pairs of
answers this is about, and what is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil

from ldpopt.accounting.excess import Answers, Sources
from ldpopt.accounting.privacy_loss import Source
from ldpopt.accounting.shuffled_reports import Shuffled
from ldpopt.foundation.display import label
from ldpopt.foundation.sentences import Sentence, Topic

# Rounding errors of a guess, in times of 100: a guess by so little above 51 is shown as 51, not 52
ROUNDING = Fraction(1, 10**9)
SHOWN_PAIRS = 3  # of answers in a sentence


@dataclass(frozen=True)
class GuessFacts:
    """What the sentence depends on; ``guess`` is a probability, rounded up."""

    reports: int
    people: int  # whose reports are shuffled; 0 if nobody's are
    is_all_shuffled: bool
    compares_all: bool
    compares_none_fully: bool  # whether only some pairs of answers to each question are compared
    pairs: str  # those that are compared, of questions for which not all are
    group: int  # number of people whose answers are told apart together
    guess: float
    answers: Answers = "adaptive"

    @classmethod
    def of(
        cls, sources: Sources, group: int, guess: float, answers: Answers = "adaptive"
    ) -> GuessFacts:
        """The facts of some sources with their repetitions."""
        used = [source for source, times in sources if times]
        shuffles = [source.n for source in used if isinstance(source, Shuffled)]
        return cls(
            sum(times * source.reports for source, times in sources),
            min(shuffles, default=0),
            len(shuffles) == len(used),
            not any(source.leaves_out for source in used),
            all(source.leaves_out for source in used),
            pairs_text(used),
            group,
            guess,
            answers,
        )

    @property
    def after(self) -> str:
        """After which reports, and what is assumed of the answers to several."""
        if self.answers == "fixed" and self.reports > 1:
            return f"{self._reports.rstrip(',')}, on answers given before anybody saw a report,"
        return self._reports

    @property
    def _reports(self) -> str:
        """Which reports."""
        if not self.people:
            return "one report" if self.reports == 1 else f"all {self.reports} reports"
        if not self.is_all_shuffled:
            return f"all {self.reports} reports, of which some are shuffled among others,"
        numbers = "the report" if self.reports == 1 else f"all {self.reports} reports"
        return f"{numbers} of each of {self.people:,} people, shuffled by somebody who is trusted,"

    @property
    def owner(self) -> str:
        """Who has the answers."""
        return "a person has" if self.group == 1 else f"a group of {self.group:,} people has"

    @property
    def times(self) -> str:
        """How often of 100 times the guess is right, rounded up."""
        times = 100 * Fraction(self.guess) - ROUNDING
        return f"{ceil(times)}" if times <= 99 else f"{ceil(100 * times) / 100:g}"


GUESS = Topic(
    "guess",
    (
        Sentence(
            "all pairs",
            lambda facts: facts.compares_all,
            "After {facts.after} the best possible adversary guesses which of two equally likely "
            "answers {facts.owner} right at most {facts.times} of 100 times (50 without reports).",
        ),
        Sentence(
            "some pairs",
            lambda facts: facts.compares_none_fully,
            "After {facts.after} the best possible adversary guesses which of two equally likely "
            "answers {facts.owner}, of those pairs that are compared, right at most {facts.times} "
            "of 100 times (50 without reports). Not all pairs of answers are compared, only "
            "{facts.pairs}: others may be told apart better.",
        ),
        Sentence(
            "some pairs of some questions",
            lambda facts: not facts.compares_all,
            "After {facts.after} the best possible adversary guesses which of two equally likely "
            "answers {facts.owner}, of those pairs that are compared, right at most {facts.times} "
            "of 100 times (50 without reports). Not all pairs of answers are compared, of some "
            "questions only {facts.pairs}: others may be told apart better.",
        ),
    ),
)
"""How well two answers are told apart after all reports."""

COMPARED = Topic(
    "compared",
    (
        Sentence(
            "all",
            lambda sources: all(source.compares_all for source, _ in sources),
            "all pairs of answers",
        ),
        Sentence(
            "one order",
            lambda sources: not any(source.leaves_out for source, _ in sources),
            "all pairs of answers, some in one order only",
        ),
        Sentence(
            "some",
            lambda sources: all(source.leaves_out for source, _ in sources),
            "not all pairs of answers: others may be told apart better",
        ),
        Sentence(
            "some of some questions",
            lambda sources: True,
            "not all pairs of answers to all questions: others may be told apart better",
        ),
    ),
)
"""Which pairs of answers the numbers of an account are about."""

ATTAINED = Topic(
    "attained",
    (
        Sentence(
            "perhaps not",
            lambda curve: not curve.is_attained,
            "an upper bound: it is not known whether one pair of answers attains it everywhere",
        ),
    ),
)
"""Whether the numbers of an account are sharp."""

ANSWERS = Topic(
    "answers",
    (
        Sentence(
            "fixed",
            lambda curve: curve.answers == "fixed",
            "fixed: all are given before anybody sees a report, be it the person or whoever asks; "
            "answers that are chosen by earlier reports may reveal more",
        ),
        Sentence(
            "adaptive",
            lambda curve: sum(times * source.reports for source, times in curve.sources) > 1,
            "adaptive: the numbers hold for answers and questions that are chosen by earlier "
            "reports, too",
        ),
    ),
)
"""What an account assumes of the answers to several questions."""

TOPICS = (GUESS, COMPARED, ATTAINED, ANSWERS)


def pairs_text(sources: Iterable[Source]) -> str:
    """The pairs that are compared, of sources that do not compare all."""
    named = dict.fromkeys(
        pair for source in sources if source.leaves_out for pair in source.named_pairs
    )
    shown = [" and ".join(map(label, pair)) for pair in islice(named, SHOWN_PAIRS)]
    more = [f"{len(named) - SHOWN_PAIRS} more"] if len(named) > SHOWN_PAIRS else []
    return ", or ".join([*shown, *more])
