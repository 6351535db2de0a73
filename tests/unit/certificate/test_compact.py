"""Prices of outputs and the bound in the compact form: floats, 64-bit integers and Python's
integers agree."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases
from ldpopt.certificate import bound
from ldpopt.certificate import program_bound as duals
from ldpopt.certificate.compact import coarse_integers, columns_bound
from ldpopt.foundation.budget import Budget
from ldpopt.privacy.ties import Ties
from ldpopt.solving.certify import multipliers_of
from ldpopt.solving.exact.optimum import exact_optimum
from ldpopt.solving.interior.pricing import OutputSums, best_bound

EPSILONS = [1e-12, 1e-6, 0.1, 1.0, 5.0, 30.0, 700.0, 1000.0]
DELTAS = [0.0, 1e-300, 1e-9, 0.1, 1.0]


def statement(seed, epsilon, delta=0.0, shape=(3, 4), scale=1.0, sense="gain"):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 3, shape).astype(float) if seed % 3 == 0 else rng.normal(size=shape)
    weights = (
        rng.dirichlet(np.ones(shape[0])) if seed % 2 else 10.0 ** rng.uniform(-30, 0, shape[0])
    )
    notion = lo.ApproximateLDP(epsilon, delta, form="entry") if delta else lo.PureLDP(epsilon)
    return lo.Problem(weights / weights.sum(), lo.Utility(matrix * scale, sense), notion)


def in_words(problem, multipliers):
    """The bound in 64-bit integers, whatever the size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duals, "MIN_COARSE_ENTRIES", 1)
        return bound(problem, multipliers)


def stake(problem):
    return max(
        Fraction(float(abs(v))) for v in (problem.prior[:, None] * problem.utility.matrix).flat
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_bounds_in_64_bits_are_near_those_in_integers(epsilon, delta, sense):
    sign = 1 if sense == "gain" else -1
    for seed in range(2):
        problem = statement(seed, epsilon, delta, (4, 5), sense=sense)
        good = multipliers_of(lo.solve(problem, solver="highs"))
        rng = np.random.default_rng(seed)
        for rough in (0.0, 1e-6, 1.0):
            given = replace(good, row_sums=good.row_sums + rough * rng.normal(size=4))
            fine = bound(problem, given)
            found = in_words(problem, given)
            assert abs(found - fine) <= stake(problem) * Fraction(1 + 10 * rough) / 2**42
            assert sign * found >= sign * bound(problem, good) - stake(problem) / 2**42


@cases(15)
@given(
    st.integers(0, 2**16),
    st.sampled_from(EPSILONS[:6]),
    st.sampled_from(DELTAS),
    st.sampled_from([1e-200, 1e-100, 1.0, 1e100, 1e300]),
    st.sampled_from(["gain", "loss"]),
)
def test_bounds_in_64_bits_are_never_below_the_exact_optimum(seed, epsilon, delta, scale, sense):
    problem = statement(seed, epsilon, delta, (3, 3), scale, sense)
    sign = 1 if sense == "gain" else -1
    least, most = exact_optimum(problem)
    optimum = least if sign > 0 else most
    good = multipliers_of(lo.solve(problem, solver="highs"))
    assert sign * in_words(problem, good) >= sign * optimum
    assert abs(in_words(problem, good) - optimum) <= max(stake(problem), abs(optimum)) / 10**9
    rng = np.random.default_rng(seed)
    for size in (0.0, 1e-300, 1.0, 1e10, 1e300):
        bad = replace(good, row_sums=size * rng.normal(size=3))
        assert sign * in_words(problem, bad) >= sign * optimum


@pytest.mark.parametrize("shape", [(2, 2), (40, 3), (700, 2)])
@pytest.mark.parametrize("scale", [1e-322, 1e-300, 1e-9, 1.0, 1e300])
def test_coarse_costs_are_above_and_leave_room(shape, scale):
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(shape[0]))
    worth = rng.normal(size=shape) * scale
    worth[0, 0] = 0.0
    given = rng.normal(size=shape[0]) * scale
    costs, rounded, bits = coarse_integers(weights, worth, given)
    unit = Fraction(2) ** -bits
    for x, y in np.ndindex(shape):
        over = int(costs[x, y]) * unit - Fraction(float(weights[x])) * Fraction(float(worth[x, y]))
        rounding = abs(int(costs[x, y])) * unit / 2**51
        assert 0 <= over <= 3 * unit / 2 + rounding
    assert costs[0, 0] == 0
    assert all(
        abs(int(v) * unit - Fraction(float(y))) <= unit / 2
        for v, y in zip(rounded, given, strict=True)
    )
    assert shape[0] * 4 * max(int(np.abs(costs).max()), int(np.abs(rounded).max())) < 2**63


def test_the_bound_of_a_zero_utility_is_zero():
    problem = lo.Problem(
        np.full(3, 1 / 3), np.zeros((3, 4)), lo.ApproximateLDP(1.0, 0.1, form="entry")
    )
    assert in_words(problem, multipliers_of(lo.solve(problem, solver="highs"))) == 0


def plain_bound(costs, given, b, beta, delta):
    """Least shift by bisection, output by output."""

    def feasible(shift):
        over = costs - given[:, None] - shift
        return (beta * np.maximum(over, 0).sum(axis=0) + b * over.sum(axis=0) <= 0).all()

    low = -1e3
    high = 1e3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    shift = max(high, 0.0) if delta else high
    return (
        given.sum()
        + len(given) * shift
        + delta * np.maximum(costs - given[:, None] - shift, 0).sum()
    )


@pytest.mark.parametrize("b", [0.0, 1e-300, 1e-16, 1e-3, 0.4, 0.999])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_best_shift_is_found(b, delta):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        costs = rng.normal(size=(6, 9)) if seed % 2 else rng.integers(0, 2, (6, 9)).astype(float)
        given = rng.normal(size=6)
        expected = plain_bound(costs, given, b, 1 - b, delta)
        assert best_bound(costs, given, b, 1 - b, delta) == pytest.approx(expected, abs=1e-10)


def test_moves_below_the_rounding_of_the_multipliers_end_the_search(monkeypatch):
    # multipliers beside whose last digits the least shift is small
    costs = np.array([[6.551727714022265e-07, 1.69e-07], [1.9023021399917656e-07, 4.75e-08]])
    given = np.array([6.551727714023677e-07, 1.902302139991546e-07])
    sums = iter(range(100))
    price = OutputSums.of

    def counted(*arrays):
        assert next(sums, None) is not None, "the search does not end"
        return price(*arrays)

    monkeypatch.setattr(OutputSums, "of", counted)
    b = 1 / 3
    beta = 1 - b  # with 2 / 3, which is the next lower float, it always ended
    expected = plain_bound(costs, given, b, beta, 0.0)
    assert best_bound(costs, given, b, beta) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_bound_in_floats_is_the_certified_one(epsilon, delta):
    problem = statement(1, epsilon, delta, (5, 6))
    multipliers = multipliers_of(lo.solve(problem, solver="highs"))
    budget = problem.privacy.epsilon
    costs = problem.prior[:, None] * problem.utility.matrix
    found = best_bound(costs, multipliers.row_sums, budget.b, budget.beta, delta)
    assert found == pytest.approx(float(bound(problem, multipliers)), abs=1e-13)


def test_prices_are_summed_in_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    costs = rng.normal(size=(50, 7))
    given = rng.normal(size=50)
    whole = OutputSums.of(costs, given)
    monkeypatch.setattr("ldpopt.certificate.compact.CHUNK", 20)
    parts = OutputSums.of(costs, given)
    over = costs - given[:, None]
    assert (parts.count == (over > 0).sum(axis=0)).all()
    assert (whole.count == parts.count).all()
    np.testing.assert_allclose(parts.positive, np.maximum(over, 0).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(parts.gains(0.3, 0.7), whole.gains(0.3, 0.7), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 1.0, 30.0, 800.0])
@pytest.mark.parametrize("delta", [0.0, 0.1, 2.0**-400])
@pytest.mark.parametrize("seed", range(4))
def test_the_shift_of_the_multipliers_is_the_least_integer(epsilon, delta, seed):
    rng = np.random.default_rng(seed)
    n, m = 3, 4
    costs = rng.integers(-50, 50, (n, m)).astype(object)
    given = rng.integers(-30, 90 if seed % 2 else 10, n).astype(object)
    budget = Budget(epsilon)
    ties = Ties(epsilon, n, delta=delta)
    b = Fraction(budget.b)
    beta = Fraction(budget.beta)
    if not delta and epsilon == 800.0:
        b = Fraction(0)

    def feasible(shift):
        over = costs - given[:, None] - shift
        return all(
            beta * sum(v for v in column if v > 0) + b * sum(column) <= 0 for column in over.T
        )

    least = next(shift for shift in range(0 if delta else -200, 400) if feasible(shift))
    total = columns_bound(costs, given, ties)
    slack = sum(v for row in costs - given[:, None] - least for v in row if v > 0)
    if b or delta:
        assert total == sum(given) + n * least + math.ceil(slack * Fraction(delta))
    else:
        assert total <= sum(given) + n * least


def test_negative_coarse_costs_do_not_overflow():
    costs, given, bits = coarse_integers(np.full(5, 0.2), np.full((5, 2), -3.0), np.zeros(5))
    assert 5 * 4 * int(np.abs(costs).max()) < 2**63
    assert int(np.abs(costs).max()) > 2**50
    assert not given.any()
    assert Fraction(int(costs[0, 0]), 1) * Fraction(2) ** -bits >= Fraction(0.2) * -3
    nothing = coarse_integers(np.full(2, 0.5), np.zeros((2, 2)), np.zeros(2))
    assert (nothing[0].tolist(), nothing[1].tolist(), nothing[2]) == ([[0, 0], [0, 0]], [0, 0], 0)
