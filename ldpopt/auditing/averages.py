r"""Audit of comparisons of averages: the log ratio of two averages of rows, report by report.

The rows of a channel are averaged in integers. For an average ``V`` that is compared with an
average ``U``, both distributions of reports,

.. math:: \max_y \ln \frac{V(y)}{U(y)} \le \epsilon, \qquad
          H_\epsilon = \sum_y \max(V(y) - e^\epsilon U(y), 0) .

Where ``e**epsilon`` occurs, it is enclosed by rationals, as in `divergence`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.auditing.audits import ANSWERS, Audit, Verdict, Witness, verdict_of_ratio
from ldpopt.foundation.budget import Budget, round_up

EVERYONE = "everyone"
"""In a witness: the average over a prior."""


@dataclass(frozen=True)
class Odds:
    """Two distributions of reports, as integers over a common denominator, and the budget of their
    ratio.
    """

    over: Sequence[int]  # numerator of each report
    under: Sequence[int]
    denominator: int
    budget: Budget
    names: tuple[Any, Any]  # of the two averages, for a witness
    nouns: tuple[str, str] = ANSWERS  # what the names are

    def ratio(self) -> tuple[Fraction | float, int]:
        """The largest ratio of two probabilities of a report, at least 1, and the report; infinite
        over 0.
        """
        best: Fraction | float = Fraction(1)
        report = -1
        top = 1
        bottom = 1
        for y, (above, below) in enumerate(zip(self.over, self.under, strict=True)):
            if above * bottom <= top * below:
                continue
            if not below:
                return math.inf, y
            top, bottom, report = above, below, y
            best = Fraction(above, below)
        return best, report

    def excess(self, ratio: Fraction) -> Fraction:
        """``sum_y max(over - ratio under, 0)`` as a probability."""
        parts = (
            above * ratio.denominator - ratio.numerator * below
            for above, below in zip(self.over, self.under, strict=True)
        )
        total = sum(part for part in parts if part > 0)
        return Fraction(total, ratio.denominator * self.denominator)


def average_odds(odds: Iterable[Odds], reports: Sequence[Any], claim: str) -> Audit:
    """Audit of ``V(y) <= e**epsilon U(y)`` for several pairs of averages, each with a budget.

    The audit's epsilon is the largest log ratio of all pairs. With several budgets a claim can fail
    though this is below one of them; the witness of a claim that fails is the comparison that
    exceeds its budget by most. O(pairs x m) operations on integers.
    """
    listed = tuple(odds)
    measured = [_measure(pair) for pair in listed]
    verdicts = {part.verdict for part in measured}
    verdict: Verdict = next(
        (name for name in ("violated", "undecided") if name in verdicts), "certified"
    )
    witness: Witness | None = None
    nouns = ANSWERS
    if measured:
        # of a claim that fails, what exceeds its budget by most; else what has the largest ratio
        worst = max(
            range(len(measured)),
            key=lambda k: measured[k].over if verdict == "violated" else measured[k].epsilon,
        )
        if (report := measured[worst].report) >= 0:
            witness = (*listed[worst].names, reports[report])
        nouns = listed[worst].nouns

    def curve(at: Budget) -> float:
        budget = Budget(at)
        excesses = (pair.excess(budget.enclosure()[0]) for pair in listed)
        return round_up(max(excesses, default=Fraction(0)))

    delta = max((part.excess for part in measured), default=Fraction(0))
    epsilon = max((part.epsilon for part in measured), default=0.0)
    return Audit(epsilon, round_up(delta), witness, verdict, claim, curve, nouns)


@dataclass(frozen=True)
class _Measured:
    """One pair of averages: its epsilon, how far that is over the budget, the excess at the
    budget.
    """

    epsilon: float
    over: float
    verdict: Verdict
    report: int  # position of the report with the largest ratio, or -1
    excess: Fraction


def _measure(pair: Odds) -> _Measured:
    """The log ratio of a pair of averages, rounded up, and the verdict on its budget."""
    ratio, report = pair.ratio()
    epsilon, verdict = verdict_of_ratio(ratio, pair.budget)
    if verdict == "certified":
        return _Measured(epsilon, 0.0, verdict, report, Fraction(0))
    excess = pair.excess(pair.budget.enclosure()[0])
    return _Measured(epsilon, epsilon - float(pair.budget), verdict, report, excess)


def averaged(rows: Sequence[Sequence[int]], weights: Sequence[int]) -> list[int]:
    """Weighted sum of rows of integers, report by report."""
    total = [0] * len(rows[0])
    for row, weight in zip(rows, weights, strict=True):
        if weight:
            total = [t + weight * v for t, v in zip(total, row, strict=True)]
    return total
