r"""How often a guess about a person is right after the reports, which people judge more easily than
a factor of odds.

A guess that was right with probability :math:`p` is right with at most

.. math:: \frac{a p}{1 - p + a p}, \qquad a = e^\varepsilon,

since every other answer gives the reports at most :math:`a` times less often.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.sentences import Sentence, Topic, guess_after, hundredths_text
from ldpopt.surveys.report_columns import questions_of
from ldpopt.surveys.risks import Risks

HALF = Fraction(1, 2)  # how often a guess was right before
RARE = Fraction(1, 100)
LARGE = Fraction(10) ** 12  # odds after which both guesses are nearly certain
LITTLE = 4  # the budget above which reports are said to protect little
ALONE = 2  # the budget up to which a report is said to protect by itself


def guess_text(share: Fraction, odds: Fraction | None) -> str:
    """How often such a guess is right at most, of 100 times, with a digit that is rounded up; None:
    no number bounds the odds.
    """
    if odds is None:
        return "no bound"
    return hundredths_text(guess_after(share, odds)) or "nearly certain"


def _phrase(share: Fraction, odds: Fraction | None) -> str:
    """The end of a sentence on such a guess."""
    text = guess_text(share, odds)
    return "is nearly certain" if text[0] == "n" else f"is right at most {text} of 100 times"


@dataclass(frozen=True, eq=False)
class RightGuesses(Risks):
    """What guesses about a person are worth after one report, and after all."""

    @cached_property
    def each(self) -> dict[str, Fraction | None]:
        """Largest odds of one report, by column; None if they are unbounded."""
        return {name: question.randomizer.odds for name, question in self.survey.asked.items()}

    @cached_property
    def together(self) -> Fraction | None:
        """Largest odds of all reports of a person; a number beyond `LARGE` stands for all of them.
        None if they are unbounded.
        """
        odds = self.survey.odds
        if isinstance(odds, float):
            return None
        power = Fraction(1)
        for _ in range(self.waves if odds > 1 else 0):
            power *= odds
            if power > LARGE:
                break
        return power

    @property
    def has_one_report(self) -> bool:
        """Whether a person's reports are about one question, once."""
        is_single = len(self.each) == 1 or not self.survey.has_all_reports
        return self.waves == 1 and is_single

    @property
    def is_little(self) -> bool:
        """Whether all reports together have more than the budget `LITTLE`."""
        return self.together is not None and self.together > Budget(LITTLE).enclosure()[1]

    @property
    def is_apart(self) -> bool:
        """Whether each report alone has at most the budget `ALONE`."""
        most = Budget(ALONE).enclosure()[0]
        return all(odds is not None and odds <= most for odds in self.each.values())

    @property
    def half(self) -> str:
        """What becomes of a guess that was right 50 of 100 times, after all reports."""
        return _phrase(HALF, self.together)

    @property
    def rare(self) -> str:
        """What becomes of a guess that was right once in 100 times, after all reports."""
        return _phrase(RARE, self.together)

    @property
    def half_alone(self) -> str:
        """What becomes of a guess that was right 50 of 100 times, after one report."""
        finite = [odds for odds in self.each.values() if odds is not None]
        return _phrase(HALF, max(finite, default=None))

    @property
    def rows_of_guesses(self) -> list[tuple[str, str, str]]:
        """Each report and all together: its name, and how right guesses become that were right 50
        and 1 of 100 times.
        """
        asked = {name: questions_of(self.survey, name) for name in self.each}
        named = {name: ", ".join(map(self._question_text, of)) for name, of in asked.items()}
        rows = [
            (named[name], guess_text(HALF, odds), guess_text(RARE, odds))
            for name, odds in self.each.items()
        ]
        if self.has_one_report and len(rows) == 1:
            return rows
        times = f", of all {self.waves:,} times" if self.waves > 1 else ""
        together = [guess_text(share, self.together) for share in (HALF, RARE)]
        return [*rows, (f"all reports of a person together{times}", together[0], together[1])]


GUESS = Topic(
    "guess",
    (
        Sentence(
            "silent",
            lambda facts: facts.is_silent,
            "No report makes a guess about a person better.",
        ),
        Sentence(
            "finite, one",
            lambda facts: facts.is_finite and facts.has_one_report,
            "A guess about a person that was right 50 of 100 times {facts.half} after the report; "
            "one that was right 1 of 100 times {facts.rare}.",
        ),
        Sentence(
            "finite",
            lambda facts: facts.is_finite,
            "A guess about a person that was right 50 of 100 times {facts.half} after all reports "
            "of the person; one that was right 1 of 100 times {facts.rare}.",
        ),
        Sentence(
            "infinite",
            lambda facts: facts.rules_out,
            "Where a report rules an answer out, no number bounds how right a guess becomes.",
        ),
    ),
)
"""How right a guess about a person becomes."""

JUDGMENT = Topic(
    "judgment",
    (
        Sentence(
            "one",
            lambda facts: facts.is_little and facts.has_one_report,
            "The report protects little: a guess that was right 50 of 100 times {facts.half} after "
            "it.",
        ),
        Sentence(
            "apart",
            lambda facts: facts.is_little and facts.is_apart,
            "Taken together the reports protect little: a guess that was right 50 of 100 times "
            "{facts.half} after all of them. What protects is that answers are reported apart: "
            "after one report alone such a guess {facts.half_alone}.",
        ),
        Sentence(
            "together",
            lambda facts: facts.is_little,
            "Taken together the reports protect little: a guess that was right 50 of 100 times "
            "{facts.half} after all of them. After the one that says most, by itself, such a guess "
            "{facts.half_alone}.",
        ),
    ),
)
"""Whether reports are said to protect little."""

TOPICS = (GUESS, JUDGMENT)
