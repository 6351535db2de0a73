"""The result of a test between two distributions."""

from __future__ import annotations

from dataclasses import dataclass

from ldpopt.estimation.significance import Significance
from ldpopt.foundation.display import Facts


@dataclass(frozen=True)
class TwoHypothesesResult(Significance):
    """The result of a test of a first distribution against a second one, from `BinaryTest.test`.

    Attributes
    ----------
    statistic : float
        Logarithm of the likelihood ratio of all reports, second over first, in nats; infinite if a
        report is impossible under one of them.
    freedom : None
        There are no degrees of freedom: the law of the sum is computed.
    p_value : float
        Probability of such a ratio or a larger one under the first distribution, rounded up.
    hypothesis : str
        What was tested, in words.
    level : float
        Level for which the power is stated.
    power : float
        Probability that as many reports of the second distribution are significant at this level,
        rounded down.

    Examples
    --------
    >>> TwoHypothesesResult(2.5, None, 0.03, "the first", 0.05, 0.9).is_significant
    True
    """

    level: float = 0.05
    power: float = 0.0

    @property
    def is_significant(self) -> bool:
        """Whether the first distribution is rejected at the level: the p-value is at most it."""
        return self.p_value <= self.level

    def facts(self) -> Facts:
        """The hypothesis, the log ratio, the p-value and the power."""
        facts = [
            ("log likelihood ratio", self.statistic),
            ("p-value", self.p_value),
            ("level", self.level),
            ("power of so many people", self.power),
            ("the first distribution", "rejected" if self.is_significant else "not rejected"),
        ]
        return Facts(f"test: {self.hypothesis}", facts)
