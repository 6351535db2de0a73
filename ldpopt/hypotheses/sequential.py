r"""Tests that look at reports one after the other and stop as soon as they are sure.

With :math:`\Lambda_N` the likelihood ratio of the first ``N`` reports, second over first, the test
stops when

.. math:: \Lambda_N \ge \frac{1}{\text{level}} \quad \text{(the first is rejected)} \qquad
          \text{or} \qquad \Lambda_N \le 1 - \text{power} \quad \text{(the second is rejected)} .

Under the first distribution :math:`\Lambda` is a martingale with mean 1, so that it ever reaches
``1 / level`` with probability at most ``level`` (Ville); under the second so is its inverse. Both
promises hold for any number of reports and any rule of looking. Wald's own bounds, ``power /
level`` and ``(1 - power) / (1 - level)``, only promise them in the sum.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.labels import is_hashable, nearest
from ldpopt.foundation.numbers import short_repr

ROUNDING = 1e-12  # a boundary is moved outward by so much for each report that was added up
Decision = Literal["first", "second"]


@dataclass(frozen=True)
class SequentialResult(HasFacts):
    """Where a sequential test stands after some reports.

    Attributes
    ----------
    decision : {"first", "second"} or None
        The distribution that is accepted; None if more reports are needed.
    n_reports : int
        Number of reports that were read; those after the decision were not.
    log_ratio : float
        Logarithm of their likelihood ratio, second over first, in nats.
    """

    decision: Decision | None
    n_reports: int
    log_ratio: float

    def facts(self) -> Facts:
        """The decision, the number of reports and their ratio."""
        accepted = "none yet: ask more people" if self.decision is None else self.decision
        facts: list[Any] = [
            ("accepted distribution", accepted),
            ("reports read", self.n_reports),
            ("log likelihood ratio", self.log_ratio),
        ]
        return Facts("Sequential test", facts)


@dataclass(frozen=True, eq=False)
class SequentialTest(HasFacts):
    """A test that stops as soon as the reports are clear; from `BinaryTest.sequential`.

    Looking at reports as they come costs no privacy: each is private by itself.

    Attributes
    ----------
    level : float
        Probability, at most, that the first distribution is ever rejected though it holds.
    power : float
        One minus the probability, at most, that the second is ever rejected though it holds.
    log_ratios : mapping report -> float
        Logarithm of each report's likelihood ratio, second over first.
    expected_people : tuple of float
        Mean number of reports until the decision if the first, and if the second distribution
        holds: Wald's approximation, which leaves out what is beyond a boundary when it is crossed.
    """

    level: float
    power: float
    log_ratios: dict[Hashable, float]
    expected_people: tuple[float, float]

    @property
    def boundaries(self) -> tuple[float, float]:
        """Log ratios at which the second, and at which the first is rejected."""
        return math.log1p(-self.power), -math.log(self.level)

    def decide(self, reports: Iterable[Any]) -> SequentialResult:
        """Read reports in the order in which they came, up to the decision.

        Parameters
        ----------
        reports : iterable of hashable
            Reports of the mechanism; an iterator is read no further than the decision.

        Raises
        ------
        StatementError
            If a report cannot come from the mechanism, or the reports are not in an order, such as
            counts by label.

        Notes
        -----
        O(N). The rounding of the sum delays a decision, and never brings one about.
        """
        if isinstance(reports, (str, bytes)) or hasattr(reports, "keys"):
            raise StatementError(
                f"a {type(reports).__name__} has no reports in the order in which they came",
                code="order",
                do="pass a list of reports; counts are for test()",
            )
        if not isinstance(reports, Iterable) or getattr(reports, "shape", (1,)) == ():
            raise StatementError(
                f"a {type(reports).__name__} is not a list of reports",
                code="list-of-reports",
                do="pass a list of reports",
            )
        low, high = self.boundaries
        total = 0.0
        number = 0
        for report in reports:
            total += self._log_ratio(report, number)
            number += 1
            beyond = ROUNDING * number
            if total >= high + beyond:
                return SequentialResult("second", number, total)
            if total <= low - beyond:
                return SequentialResult("first", number, total)
        return SequentialResult(None, number, total)

    def _log_ratio(self, report: Any, place: int) -> float:
        """The log ratio of a report."""
        known = self.log_ratios.get(report) if is_hashable(report) else None
        if known is None:
            raise StatementError(
                f"the mechanism has no such report {short_repr(report)}",
                code="unknown-report",
                where=f"entry {place}",
                do=nearest(report, list(self.log_ratios)),
            )
        return known

    def facts(self) -> Facts:
        """Promises, boundaries and the expected numbers of people."""
        low, high = self.boundaries
        first, second = self.expected_people
        facts: list[Any] = [
            ("level, at most", self.level),
            ("power, at least", self.power),
            ("stops at log ratios", f"{low:.4g} and {high:.4g}"),
            ("people, mean if the first holds", round(first)),
            ("people, mean if the second holds", round(second)),
        ]
        return Facts("Sequential test of two distributions", facts)


def expected_people(
    log_level: float, log_power: float, means: tuple[float, float]
) -> tuple[float, float]:
    r"""Wald's approximation of the mean number of reports under both hypotheses.

    With boundaries :math:`B < 0 < A` of the log ratio, which is at one of them at the end,

    .. math:: E_0 N \approx \frac{\alpha A + (1 - \alpha) B}{m_0}, \quad
              \alpha = \frac{1 - e^B}{e^A - e^B}, \qquad
              E_1 N \approx \frac{e^A \alpha A + (1 - e^A \alpha) B}{m_1} .
    """
    reached = -math.expm1(log_power) / (math.exp(log_level) - math.exp(log_power))
    numbers = []
    for share, mean in zip((reached, reached * math.exp(log_level)), means, strict=True):
        numbers.append((share * log_level + (1 - share) * log_power) / mean)
    return numbers[0], numbers[1]
