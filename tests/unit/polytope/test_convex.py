"""Convex utilities: the program over staircase patterns, its bound, and the two regimes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import refused
from ldpopt import PureLDP
from ldpopt.errors import StatementError
from ldpopt.polytope.convex import best_channel, best_listed, f_divergence, mutual_information
from ldpopt.polytope.vertices import extreme_points

KINDS = ("kl", "total_variation", "chi_square", "squared_hellinger")


def hypotheses(n, seed=1):
    return np.random.default_rng(seed).dirichlet(np.full(n, 2.0), 2)


def utilities(n):
    first, second = hypotheses(n)
    prior = np.arange(1, n + 1) / (n * (n + 1) / 2)
    return [mutual_information(prior), *(f_divergence(first, second, kind) for kind in KINDS)]


def test_formulas_of_the_divergences():
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.ones(4), 3)
    first, second = rng.dirichlet(np.ones(3), 2)
    p = first @ channel
    q = second @ channel
    expected = {
        "kl": (p * np.log(p / q)).sum(),
        "total_variation": np.abs(p - q).sum() / 2,
        "chi_square": ((p - q) ** 2 / q).sum(),
        "squared_hellinger": ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
    }
    for kind, value in expected.items():
        assert f_divergence(first, second, kind).value(channel) == pytest.approx(value, rel=1e-12)
    joint = first[:, None] * channel
    information = (joint * np.log(channel / p)).sum()
    assert mutual_information(first).value(channel) == pytest.approx(information, rel=1e-12)
    stack = np.stack([channel, channel[:, ::-1]])
    assert mutual_information(first).value(stack) == pytest.approx([information] * 2)


@pytest.mark.parametrize("least", [1e-160, 1e-300, 2.3e-308])
def test_ratios_whose_squares_overflow(least):
    """The value is the definition's; a warning on the way would be an error here."""
    half = np.array([0.5, 0.5])
    whole = np.eye(2)
    expected = 0.5 * (math.log(0.5) - math.log(least)) + 0.5 * math.log(0.5)
    assert f_divergence(half, [least, 1.0], "kl").value(whole) == pytest.approx(expected, rel=1e-12)
    assert f_divergence([least, 1.0], half, "kl").value(whole) == pytest.approx(
        math.log(2), rel=1e-12
    )
    assert f_divergence(half, [least, 1.0], "chi_square").value(whole) == pytest.approx(
        0.25 / least, rel=1e-12
    )
    hellinger = f_divergence(half, [least, 1.0], "squared_hellinger").value(whole)
    assert hellinger == pytest.approx(0.5 + (1 - math.sqrt(0.5)) ** 2, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_float_counts_as_zero(kind):
    """Ratios to it are not floats; under a budget of 1 all entries of a report's column are equal
    for every prior."""
    near, none = (f_divergence([0.5, 0.5], [least, 1.0], kind) for least in (5e-324, 0.0))
    assert math.isfinite(best_channel(near, 1.0).bound)
    assert best_channel(near, 1.0).bound == pytest.approx(best_channel(none, 1.0).bound, rel=1e-12)
    assert near.value(np.eye(2)) >= near.value(np.full((2, 2), 0.5)) == 0


def test_no_cancellation_near_equality():
    """Second order in epsilon: p (1 - p) epsilon**2 / 2 for a prior p."""
    for epsilon in (1e-3, 1e-5, 1e-7):
        found = best_channel(mutual_information([0.3, 0.7]), epsilon)
        assert found.bound / epsilon**2 == pytest.approx(0.21 / 2, rel=2 * epsilon + 1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, "log(3)", 3.0, 10.0, 60.0])
def test_value_meets_bound_and_mechanism_is_private(n, epsilon):
    for utility in utilities(n):
        found = best_channel(utility, epsilon)
        assert abs(found.gap) <= 1e-9 * found.bound
        assert found.mechanism.audit(PureLDP(epsilon)).verdict == "certified"
        assert len(found.patterns) == len(found.weights) <= n
        assert max(found.binary, found.randomized_response) <= found.bound * (1 + 1e-12)


@pytest.mark.parametrize("n", [3, 4])
def test_binary_for_small_and_randomized_response_for_large_epsilon(n):
    first, second = hypotheses(n)
    prior = np.array([0.5, 0.3, 0.2]) if n == 3 else np.array([0.42, 0.31, 0.17, 0.1])
    # The set of inputs that the first output stands for, as they prove it.
    half = (0,) if n == 3 else (0, 3)
    ahead = tuple(np.flatnonzero(first >= second).tolist())
    for utility, chosen in (
        (mutual_information(prior), half),
        *(
            (f_divergence(first, second, kind), ahead)
            for kind in ("kl", "chi_square", "squared_hellinger")
        ),
    ):
        small = best_channel(utility, 0.001)
        large = best_channel(utility, 30.0)
        assert small.regime == "binary"
        assert chosen in small.patterns
        assert len(small.patterns) == 2
        assert large.regime == "randomized response"
        assert sorted(large.patterns) == [(x,) for x in range(n)]


def test_tied_halves_need_more_than_two_outputs():
    """Three equal answers: no set alone is nearest to one half, and randomized response wins at
    every epsilon."""
    for epsilon in (0.01, 0.1, 1.0, 5.0):
        found = best_channel(mutual_information(np.full(3, 1 / 3)), epsilon)
        assert found.regime == "randomized response"
        assert found.binary < found.bound * (1 - 0.1 * min(epsilon, 1.0))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_total_variation_is_always_binary(n, epsilon):
    first, second = hypotheses(n)
    found = best_channel(f_divergence(first, second, "total_variation"), epsilon)
    assert found.regime == "binary"
    assert found.bound == pytest.approx(
        math.tanh(epsilon / 2) * np.abs(first - second).sum() / 2, rel=1e-10
    )


def test_at_most_ten_inputs():
    weights = np.random.default_rng(3).dirichlet(np.ones(10))
    found = best_channel(mutual_information(weights), 2.0, inputs=list("abcdefghij"))
    assert abs(found.gap) < 1e-9
    assert found.mechanism.inputs == tuple("abcdefghij")
    with refused("many-inputs"):
        best_channel(mutual_information(np.full(11, 1 / 11)), 1.0)


def test_best_of_listed_points_takes_any_convex_function():
    points = extreme_points(PureLDP("log(3)"), 3)
    found = best_listed(points, lambda stack: (stack**2).sum(axis=(1, 2)))
    assert found.value == pytest.approx(3.0)
    assert found.count == 3
    with refused("function"):
        best_listed(points, lambda stack: stack)


def test_wrong_arguments_are_rejected():
    with pytest.raises(StatementError, match="epsilon = 0"):
        best_channel(mutual_information([0.5, 0.5]), 0.0)
    with refused("sum"):
        mutual_information([0.5, 0.6])
    with pytest.raises(StatementError, match="kind = 'renyi'"):
        f_divergence([1.0], [1.0], "renyi")  # type: ignore[arg-type]
    with refused("hypotheses"):
        f_divergence([0.5, 0.5], [0.2, 0.3, 0.5])
    with refused("shape"):
        mutual_information([0.5, 0.5]).value(np.eye(3))
    with refused("infinite-value"):
        best_channel(f_divergence([0.5, 0.5], [1.0, 0.0]), 9000.0)


@pytest.mark.parametrize("epsilon", [40.0, 100.0, 700.0])
def test_a_hellinger_distance_at_a_large_budget_has_a_bound_without_a_warning(epsilon):
    found = best_channel(f_divergence([1.0, 0.0], [0.0, 1.0], "squared_hellinger"), epsilon)
    assert 1.99999 < found.value <= 2
    assert float(found.bound) >= 2
