"""Designs that use structure: marginals by their scheme, means by roots, the worst case of many answers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import thorough_or
from ldpopt import DesignLimits, DesignProblem, PureLDP, Workload, design, mean, plan_design
from ldpopt.certificate.design_bound_mean import _holds, _sign
from ldpopt.certificate.design_statement import Statement, least_ratio
from ldpopt.certificate.integers import Rationals
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.sets import orbit, value_generators

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


# Product alphabets.


@pytest.mark.parametrize("sizes", [(2, 3, 4), (2, 2, 3), (5,)])
def test_eigenvalues_and_energies_are_those_of_the_projections(sizes):
    scheme, n = Scheme(sizes), int(np.prod(sizes))
    rng = np.random.default_rng(0)
    values = rng.random(scheme.shape)
    form = scheme.matrix(values)
    assert np.allclose(scheme.eigenvalues(form), values)
    assert np.trace(form) == pytest.approx(np.sum(values * scheme.ranks))
    functions = rng.random((3, n))
    energies = scheme.energies(functions)
    for part in itertools.product((0, 1), repeat=len(sizes)):
        one = np.zeros(scheme.shape)
        one[part] = 1
        projection = scheme.matrix(one)
        assert np.allclose(projection @ projection, projection)
        assert np.allclose(
            np.einsum("ax,xy,ay->a", functions, projection, functions) / n, energies[(slice(None), *part)]
        )
    assert scheme.eigenvalues(form + np.diag(np.arange(n))) is None


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 8, 9])
def test_values_are_moved_by_a_doubly_transitive_group(size):
    pair = np.zeros((size, size))
    pair[0, 1] = 1
    moves = [np.add.outer(size * order, order).ravel() for order in value_generators(size)]
    assert len(orbit(pair.ravel(), moves, 10**4)) == size * (size - 1)


@pytest.mark.parametrize(
    "sizes, k, epsilon", [((2, 2, 2), 2, 1.0), ((2, 2, 2), 1, 0.5), ((2, 3, 2), 2, "log(3)"), ((3, 3), 1, 2.0)]
)
def test_marginals_are_those_of_the_listed_method(sizes, k, epsilon):
    workload = Workload.marginals(sizes, k)
    listed = design(workload, PureLDP(epsilon), gap=1e-7)
    made = design(workload, PureLDP(epsilon), limits=STRUCTURED)
    assert made.value == pytest.approx(listed.value, rel=2e-6)
    assert made.bound <= listed.value
    check(made)


def test_ands_of_two_attain_the_bound():
    """At log(3) pairs of attributes and parities of three have all that two-way marginals need, at the best size."""
    made = design(Workload.marginals((2,) * 6, 2), PureLDP("log(3)"))
    assert made.relative_gap <= 1e-6
    check(made)


@pytest.mark.parametrize("sizes, k, gap", [((3, 4, 5), 2, 1e-3), ((4, 4, 4), 2, 5e-3), ((2,) * 6, 3, 0.02)])
def test_larger_marginals(sizes, k, gap):
    made = design(Workload.marginals(sizes, k), PureLDP(1.0))
    assert made.certificate.multipliers.kind == "product"
    assert made.relative_gap <= gap
    check(made)


@pytest.mark.skipif(not thorough_or(0, 1), reason="a longer test")
def test_two_way_marginals_of_many_attributes():
    made = design(Workload.marginals((2,) * 8, 2), PureLDP(1.0))
    assert made.relative_gap <= 3e-3
    check(made)


def test_the_worst_case_of_marginals_is_their_average():
    workload = Workload.marginals((2,) * 5, 2)
    average, worst = (design(workload, PureLDP(1.0), objective=name) for name in ("average", "worst_case"))
    assert worst.value == pytest.approx(average.value, rel=1e-12)
    assert worst.objective == "worst_case"
    check(worst)


def test_sums_of_marginals_stay_in_the_scheme_and_weights_do_not():
    both = Workload.marginals((2,) * 5, 1) + 2 * Workload.marginals((2,) * 5, 2)
    assert design(both, PureLDP(1.0)).certificate.multipliers.kind == "product"
    assert "product" not in methods_for(both, weights=np.arange(1, 33))


# Means.


def test_signs_of_sums_of_roots():
    rng = np.random.default_rng(1)
    for a, b, d, c, e in rng.integers(-9, 10, (2000, 5)).tolist():
        d, e = abs(d), abs(e)
        true = a + b * d**0.5 + c * e**0.5
        found = _sign(a, b, d, c, e)
        if abs(true) > 1e-9:
            assert found == np.sign(true)
        else:
            assert found == 0


@given(st.integers(0, 10**6), st.integers(2, 7))
def test_costs_of_a_slope_hold_where_they_hold_for_every_set(seed, n):
    rng = np.random.default_rng(seed)
    k, y, r = rng.integers(-6, 7, n), rng.integers(-2, 12, n), rng.integers(0, 5, n)
    r[0] += 1
    base = Fraction(int(rng.integers(1, 9)), 10)
    sets = itertools.product((base, 1), repeat=n)
    true = all(
        np.dot(y, v) >= 0 and np.dot(k, v) ** 2 <= np.dot(y, v) * np.dot(r, v) for v in (np.array(s) for s in sets)
    )
    whole = [Rationals.of(part.astype(float)).whole for part in (k, y, r)]
    assert _holds(*whole, base) == true


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


# Certificates.


def test_a_claim_above_the_proof_is_refused():
    proof = design(Workload.marginals((2,) * 5, 2), PureLDP(1.0)).certificate
    assert replace(proof, bound=proof.bound * Fraction(10001, 10000)).recheck() != ()
    assert replace(proof, achieved=proof.achieved * Fraction(9999, 10000)).recheck() != ()
    other = Statement.of(Workload.prefix(32).matrix, np.ones(32))
    assert not proof.multipliers.holds(other, least_ratio(proof.privacy.epsilon))


# The worst case.


def test_the_worst_case_of_many_answers_is_the_largest_average():
    made = design(Workload.prefix(22), PureLDP(1.0), objective="worst_case", gap=5e-3)
    assert made.relative_gap <= 6e-3
    assert made.variance().max() == pytest.approx(made.value, rel=1e-9)
    assert made.bound <= design(Workload.prefix(22), PureLDP(1.0), weights=made.weights, gap=2e-2).value
    check(made)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_small_budgets_lose_no_digits(epsilon):
    for workload in (Workload.frequencies(5), Workload.prefix(5)):
        for objective in ("average", "worst_case"):
            made = design(workload, PureLDP(epsilon), objective=objective)
            assert made.relative_gap <= 2e-6


def test_large_budgets_say_why_the_gap_stays():
    made = design(Workload.prefix(4), PureLDP(40.0))
    assert made.relative_gap > 1e-6
    assert "2**-53" in made.notes[-1]


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
