"""Sentences of a page: the question, and what a person risks, for each privacy notion."""

from __future__ import annotations

import math
from typing import Any

from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, OneSided, UtilityOptimizedLDP
from ldpopt.statement.design_problem import DesignProblem
from ldpopt.statement.problem import Problem

MOST_NAMED = 12
"""Most labels that a sentence lists."""


def named(labels: Any) -> str:
    """Labels in a sentence."""
    names = [str(label) for label in labels]
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:4])}, … , {names[-1]} ({len(names):,} in all)"


def question(asked: Problem | DesignProblem) -> list[str]:
    """What is asked and what the mechanism is to be good at."""
    if isinstance(asked, DesignProblem):
        k = asked.workload.shape[0]
        whom = "on average over the answers" if asked.objective == "average" else "for the answer where it is largest"
        return [
            f"Each person has one true answer: {named(asked.workload.inputs)}.",
            f"From everybody's reports {k:,} {'numbers are' if k > 1 else 'number is'} estimated: "
            f"{named(asked.workload.names)}.",
            f"Of all mechanisms that are this private, with any number of different reports, the one below has the "
            f"smallest variance of these estimates, {whom}, up to the gap that is proved.",
        ]
    gain = asked.utility.sense == "gain"
    what = "the largest gain" if gain else "the smallest loss"
    whom = "on average over the assumed distribution" if asked.objective == "expected" else "for the worst answer"
    return [
        f"Each person has one true answer: {named(asked.inputs)}.",
        f"Each person sends one report: {named(asked.outputs)}.",
        f"A table says what each report is worth for each true answer. Of all mechanisms that are this private, this "
        f"one has {what}, {whom}, up to the gap that is proved.",
    ]


def risk(privacy: Any, factor: float) -> list[str]:
    """What one report can tell about a person, whoever reads it and whatever they knew before."""
    odds = f"{factor:,.3g}"
    if isinstance(privacy, ApproximateLDP) and privacy.delta:
        return [
            f"Except with probability {privacy.delta:g}, a report multiplies the odds between any two answers of this "
            f"person by at most {float(privacy.epsilon):.4g} nats, a factor of {_factor(privacy)}.",
            f"With probability at most {privacy.delta:g} it may tell more.",
        ]
    if isinstance(privacy, GraphDP):
        return [
            f"A report multiplies the odds between two neighboring answers by at most {odds}, and between answers that "
            f"are k steps apart by at most that factor to the power k."
        ]
    if isinstance(privacy, MetricDP):
        return [
            f"A report multiplies the odds between two answers at distance d by at most {_factor(privacy)} to the "
            f"power d: near answers are hidden among each other, far ones may be told apart."
        ]
    if isinstance(privacy, OneSided):
        return [
            f"Sensitive answers: {named(privacy.sensitive)}. A report raises the odds of a sensitive answer against "
            f"any other answer by at most {odds}. That a person's answer is not sensitive may be told."
        ]
    if isinstance(privacy, UtilityOptimizedLDP):
        return [
            f"Sensitive answers: {named(privacy.sensitive)}. A protected report multiplies the odds between any two "
            f"answers by at most {odds}. Other reports tell the answer; only answers that are not sensitive give them."
        ]
    return [
        f"A report multiplies the odds between any two answers of this person by at most {odds}, whatever the reader "
        f"knew before and however much they can compute."
    ]


def has_one_factor(privacy: Any) -> bool:
    """Whether one factor bounds the odds of all pairs of answers."""
    return not isinstance(privacy, (MetricDP, GraphDP, OneSided, UtilityOptimizedLDP)) and not getattr(
        privacy, "delta", 0.0
    )


def _factor(privacy: Any) -> str:
    return f"{math.exp(min(float(privacy.epsilon), 700.0)):,.3g}"
