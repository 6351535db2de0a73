"""Designs for more than 20 answers: proved, near the bound, refused where anything was changed."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt_check
from builders import thorough_or
from ldpopt import DesignLimits, PureLDP, Workload, design
from ldpopt.designing import column_generation

N = thorough_or(21, 30)
"""Answers: more than can be listed."""


def rechecked(made):
    assert made.certificate.recheck() == ()
    assert made.mechanism.audit(made.privacy).verdict == "certified"
    assert np.allclose(
        made.estimator @ made.mechanism.channel.T,
        made.workload.matrix,
        atol=1e-8 * np.sqrt(made.value),
    )
    return made


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("epsilon", thorough_or([1.0], [0.5, 1.0, 2.0]))
def test_near_the_bound(kind, epsilon):
    gap = thorough_or(3e-3, 2e-3)
    made = rechecked(design(getattr(Workload, kind)(N), PureLDP(epsilon), gap=gap))
    assert made.relative_gap <= gap
    assert made.certificate.multipliers.shift is not None


@pytest.mark.long
@pytest.mark.parametrize("n, epsilon, gap", [(40, 1.0, 2e-5), (64, 0.5, 1e-5), (64, 1.0, 1e-5)])
def test_columns_are_found_where_the_bound_is_tight(n, epsilon, gap):
    """Sets that differ from others by one exchange of a single answer left gaps of 2.4e-4, 8.9e-5
    and 1.3e-4."""
    assert rechecked(design(Workload.prefix(n), PureLDP(epsilon), gap=gap)).relative_gap <= gap


@pytest.mark.parametrize("weights", [1.0 / np.arange(1, N + 1), np.r_[np.zeros(4), np.ones(N - 4)]])
def test_weights_that_are_not_equal(weights):
    gap = thorough_or(1e-2, 3e-3)
    made = rechecked(design(Workload.prefix(N), PureLDP(1.0), weights=weights, gap=gap))
    assert made.relative_gap <= gap


@pytest.mark.parametrize("epsilon", thorough_or([1e-3, 4.0], [1e-3, 0.05, 4.0]))
def test_small_and_large_budgets(epsilon):
    gap = thorough_or(2e-2, 5e-3)
    made = rechecked(design(Workload.prefix(N), PureLDP(epsilon), gap=gap))
    assert made.relative_gap <= gap


@pytest.mark.parametrize("limit", [1e-3, thorough_or(0.1, 0.3)])
def test_a_time_limit_leaves_a_proved_design(limit):
    made = rechecked(design(Workload.prefix(32), PureLDP(1.0), gap=1e-9, time_limit=limit))
    assert 0 <= made.bound <= made.value


def test_a_larger_bound_is_proved_by_the_inequalities():
    """With a large budget sets are small, and that two answers are never both out of few is what
    the bound needs."""
    made = design(Workload.prefix(32), PureLDP(2.0), gap=2e-3)
    assert made.certificate.multipliers.inequalities.pairs.max() > 0
    assert made.relative_gap <= 2e-3


def test_the_worst_case_of_many_answers_is_the_largest_average():
    made = design(Workload.prefix(22), PureLDP(1.0), objective="worst_case", gap=5e-3)
    assert made.relative_gap <= 6e-3
    assert made.variance().max() == pytest.approx(made.value, rel=1e-9)
    assert (
        made.bound
        <= design(Workload.prefix(22), PureLDP(1.0), weights=made.weights, gap=2e-2).value
    )
    rechecked(made)


@pytest.mark.long
@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_up_to_32_answers_the_gap_asked_for_is_reached(objective, tmp_path):
    made = rechecked(
        design(Workload.prefix(21), PureLDP(2.0), objective=objective, gap=1e-6, time_limit=150)
    )
    assert made.relative_gap <= 1e-6
    assert made.certificate.multipliers.shift is None
    made.save(tmp_path / "design.json")
    assert ldpopt_check.main([tmp_path / "design.json"]) == 0


def test_column_generation_that_ends_early_leaves_the_bound_of_the_relaxation(monkeypatch):
    monkeypatch.setattr(column_generation, "ROUNDS", 2)
    unlisted = DesignLimits(listed_answers=10)
    made = rechecked(design(Workload.prefix(thorough_or(12, 22)), PureLDP(1.0), limits=unlisted))
    assert 1e-6 < made.relative_gap <= 5e-3
    assert made.certificate.multipliers.shift is not None
