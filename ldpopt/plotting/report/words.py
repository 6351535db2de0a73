"""Sentences of a page: the question, and what a person risks, for each privacy notion."""

from __future__ import annotations

import math
from typing import Any

from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, OneSided, UtilityOptimizedLDP
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.problem import Problem

MOST_NAMED = 12
"""Most labels that a sentence lists."""


def named(labels: Any) -> str:
    """Labels in a sentence."""
    names = [str(label) for label in labels]
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:4])}, … , {names[-1]} ({len(names):,} in all)"


NOTIONS = {
    "pure": "Local differential privacy",
    "approximate": "Approximate local differential privacy",
    "graph": "Privacy between neighboring answers",
    "metric": "Metric privacy",
    "one_sided": "One-sided privacy",
    "utility_optimized": "Utility-optimized privacy",
}
"""Notions in words; others by their class."""

PROVED = "This is proved, up to the gap stated above."
ODDS = "Odds of 2 between two answers mean that one is thought twice as likely as the other."


def notion(privacy: Any) -> str:
    """A privacy notion in words."""
    return NOTIONS.get(str(getattr(privacy, "kind", "")), type(privacy).__name__)


def question(asked: Problem | DesignProblem) -> list[str]:
    """What is asked and what the mechanism is to be good at."""
    if isinstance(asked, DesignProblem):
        k = asked.workload.shape[0]
        whom = "on average over the answers" if asked.objective == "average" else "for the answer where it is largest"
        return [
            f"Each person has one true answer: {named(asked.workload.inputs)}.",
            f"From the reports of all people together, {k:,} {'numbers are' if k > 1 else 'number is'} estimated: "
            f"{named(asked.workload.names)}.",
            f"Of all mechanisms with this privacy, whatever their reports are, the one below has the smallest variance "
            f"of these estimates, {whom}. {PROVED}",
        ]
    gain = asked.utility.sense == "gain"
    what = "the largest gain" if gain else "the smallest loss"
    whom = (
        "on average over the assumed distribution of answers"
        if asked.objective == "expected"
        else "for the worst answer"
    )
    return [
        f"Each person has one true answer: {named(asked.inputs)}.",
        f"Each person sends one report: {named(asked.outputs)}.",
        f"A table states the {asked.utility.sense} of each report for each true answer. Of all mechanisms with this "
        f"privacy, the one below has {what}, {whom}. {PROVED}",
    ]


def risk(privacy: Any, factor: float) -> list[str]:
    """What one report can tell about a person, whoever reads it and whatever they knew before.

    `privacy` has the budget that is shown, and `factor` is ``e**epsilon`` of the audit.
    """
    odds = f"{factor:,.3g}"
    if isinstance(privacy, ApproximateLDP) and privacy.delta:
        sets, each = ("single report", "Each report") if privacy.form == "entry" else ("set of reports", "A report")
        return [
            f"For any {sets}: its probability for one answer is at most {_power(privacy)} times its probability for "
            f"any other answer, plus {privacy.delta:g}.",
            f"{each} that rules out another answer completely has a probability of at most {privacy.delta:g}.",
        ]
    if isinstance(privacy, GraphDP):
        return [
            f"One report can change the odds between two neighboring answers by a factor of at most {odds}, and "
            f"between answers that are k steps apart by at most this factor to the power k.",
            ODDS,
        ]
    if isinstance(privacy, MetricDP):
        return [
            f"One report can change the odds between two answers at distance d by a factor of at most "
            f"{_power(privacy)} to the power d: by {_power(privacy, 0.5)} at distance 0.5, {_power(privacy, 2)} at "
            f"distance 2. So close answers are hidden among each other, and distant ones can be told apart.",
            ODDS,
        ]
    if isinstance(privacy, OneSided):
        return [
            f"Sensitive answers: {named(privacy.sensitive)}. One report can raise the odds of a sensitive answer "
            f"against any other answer by a factor of at most {odds}. A report may reveal that an answer is not "
            f"sensitive.",
            ODDS,
        ]
    if isinstance(privacy, UtilityOptimizedLDP):
        return [
            f"Sensitive answers: {named(privacy.sensitive)}. A protected report can change the odds between any two "
            f"answers by a factor of at most {odds}. Every other report reveals the answer, but only answers that are "
            f"not sensitive lead to such a report.",
            ODDS,
        ]
    return [
        f"One report can change the odds between any two answers of this person by a factor of at most {odds}, "
        f"whatever the reader knew before, and however much the reader can compute.",
        ODDS,
    ]


def has_one_factor(privacy: Any) -> bool:
    """Whether one factor bounds the odds of all pairs of answers."""
    return not isinstance(privacy, (MetricDP, GraphDP, OneSided, UtilityOptimizedLDP)) and not getattr(
        privacy, "delta", 0.0
    )


def _power(privacy: Any, distance: float = 1.0) -> str:
    return f"{math.exp(min(float(privacy.epsilon) * distance, 700.0)):,.3g}"
