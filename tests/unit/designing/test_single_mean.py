"""Designs for a single mean: exact means of the masses, and a bound by roots."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import DesignLimits, DesignProblem, PureLDP, Workload, design, mean, plan_design

STRUCTURED = DesignLimits(listed_answers=1, second_answers=0)
"""Limits by which structured methods are used for few answers too, and alone."""


def methods_for(workload, **how):
    return [step.method.name for step in plan_design(DesignProblem(workload, PureLDP(1.0), **how))]


def check(made, atol=1e-9):
    """Private, unbiased, and as good as it says, from channel and estimator alone."""
    channel, estimator = made.mechanism.channel, made.estimator
    assert made.mechanism.audit(made.privacy).verdict == "certified"
    size = np.abs(estimator).max()
    assert np.allclose(estimator @ channel.T, made.workload.matrix, atol=atol * size)
    variance = channel @ (estimator**2).sum(axis=0) - (made.workload.matrix**2).sum(axis=0)
    found = variance.max() if made.objective == "worst_case" else made.weights @ variance / made.weights.sum()
    assert found == pytest.approx(made.value, rel=1e-8)
    assert made.certificate.recheck() == ()


@pytest.mark.parametrize("objective", ["average", "worst_case"])
@pytest.mark.parametrize("numbers, epsilon", [(np.arange(thorough_or(6, 8)), 1.0), ([0.1, 0.25, 0.7, 0.71, 3.0], 2.0)])
def test_means_are_those_of_the_listed_method(numbers, epsilon, objective):
    workload = Workload.mean(numbers)
    listed = design(workload, PureLDP(epsilon), objective=objective, gap=1e-6)
    made = design(workload, PureLDP(epsilon), objective=objective, limits=STRUCTURED)
    assert made.value == pytest.approx(listed.value, rel=3e-6)
    check(made)


def test_the_mean_design_is_the_limit_of_finer_grids():
    """`mean.designed` has given outputs: its variance is never below, and nears it as they are refined."""
    numbers, epsilon = np.linspace(-1, 1, 24), 1.0
    made = design(Workload.mean(numbers), PureLDP(epsilon), objective="worst_case", gap=1e-4)
    assert made.relative_gap <= 1e-4
    coarse, fine = (
        mean.designed(numbers, np.linspace(-3, 3, m), epsilon).grid_variance for m in thorough_or((13, 25), (25, 97))
    )
    assert made.bound <= fine <= coarse
    assert fine <= made.value * 1.01


@pytest.mark.parametrize("weights", [None, 1 / np.arange(1, 31)])
def test_a_mean_of_many_numbers(weights):
    made = design(Workload.mean(np.sqrt(np.arange(30))), PureLDP(1.0), weights=weights, gap=1e-4)
    assert made.certificate.multipliers.kind == "mean"
    assert made.relative_gap <= 1e-4
    check(made)


def test_means_are_unbiased_up_to_a_proved_bias():
    made = design(Workload.mean(np.arange(24) / 10), PureLDP(0.5), gap=1e-3)
    assert 0 < made.certificate.bias < 1e-14
    values = [Fraction(value) for value in made.estimator[0].tolist()]
    for number, row in zip(np.arange(24) / 10, made.mechanism.counts.tolist(), strict=True):
        mean = sum((count * value for count, value in zip(row, values, strict=True)), Fraction(0)) / 2**53
        assert abs(mean - Fraction(number)) < 1e-14


def test_multiples_of_one_mean_count_as_one():
    numbers = np.arange(24.0)
    one = design(Workload.mean(numbers), PureLDP(1.0), gap=1e-3)
    both = design(Workload([numbers, 2 * numbers + 1, np.ones(24)]), PureLDP(1.0), gap=1e-3)
    assert both.certificate.multipliers.kind == "mean"
    assert both.value == pytest.approx(5 * one.value, rel=1e-6)
    assert both.certificate.recheck() == ()
    other = Workload([numbers, np.sqrt(numbers)])
    assert "single mean" not in methods_for(other)


@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_a_rough_gap_at_a_small_budget_does_not_cost_the_exact_means(objective):
    """Masses for exact means need a precise solution of the last program, however large the gap may be."""
    for numbers in (np.arange(60.0), np.append(np.arange(30.0), 100.0)):
        made = design(Workload.mean(numbers), PureLDP(0.05), objective=objective, gap=1e-3)
        assert made.certificate.multipliers.kind == "mean"
        assert made.relative_gap <= 1e-3


def test_a_mean_at_a_large_budget_takes_many_rounds():
    made = design(Workload.mean(np.sqrt(np.arange(40.0))), PureLDP(4.0), gap=1e-3)
    assert [step.method.name for step in made.steps] == ["single mean"]
    assert made.relative_gap <= 1e-3
