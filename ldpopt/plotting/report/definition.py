"""What the definition of a notion without a single epsilon promises, in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.foundation.normal import normal_cdf, probit
from ldpopt.foundation.sentences import Sentence, Topic, above_text
from ldpopt.privacy import GaussianLDP
from ldpopt.privacy.sentences import bounds_text


@dataclass(frozen=True, eq=False)
class PrivacyFacts:
    """What the definition of a notion without a single epsilon promises."""

    privacy: Any

    @property
    def is_gaussian(self) -> bool:
        """Whether the curve is that of two normal distributions."""
        return isinstance(self.privacy, GaussianLDP)

    @property
    def bounds(self) -> str:
        """The factor and the addition of each point of a curve, rounded up."""
        return bounds_text(self.privacy.points)

    @property
    def power(self) -> str:
        """Largest probability of a set of reports that has 5 % under another answer, in percent."""
        mu = Fraction(self.privacy.mu.nats)
        most = normal_cdf(probit(Fraction(1, 20))[1] + mu)[1]
        return above_text(100 * most, 4)


DEFINITION = Topic(
    "definition",
    (
        Sentence(
            "gaussian",
            lambda facts: facts.is_gaussian,
            "Two answers are as hard to tell apart by one report as two normal distributions whose "
            "means are {facts.privacy.mu} standard deviations apart: a set of reports that has "
            "the probability 5 % for one answer has at most {facts.power} % for any other answer. "
            "No report rules out an answer, but no factor of the odds is promised.",
        ),
        Sentence(
            "curve",
            lambda facts: not facts.is_gaussian,
            "For any set of reports: its probability for one answer is at most {facts.bounds}.",
        ),
    ),
)

TOPICS = (DEFINITION,)
"""What the page of a model says of a curve of budgets and of Gaussian privacy."""
