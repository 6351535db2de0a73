"""Designs for marginals and for a single mean: sets with all their images, bounds by the scheme and
by roots."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import DesignLimits, DesignProblem, PureLDP, Workload, design, mean, plan_design
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.methods.product.method import information
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
    found = (
        variance.max()
        if made.objective == "worst_case"
        else made.weights @ variance / made.weights.sum()
    )
    assert found == pytest.approx(made.value, rel=1e-8)
    assert made.certificate.recheck() == ()


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 8, 9])
def test_values_are_moved_by_a_doubly_transitive_group(size):
    pair = np.zeros((size, size))
    pair[0, 1] = 1
    moves = [np.add.outer(size * order, order).ravel() for order in value_generators(size)]
    assert len(orbit(pair.ravel(), moves, 10**4)) == size * (size - 1)


@pytest.mark.parametrize(
    "sizes, k, epsilon",
    [((2, 2, 2), 2, 1.0), ((2, 2, 2), 1, 0.5), ((2, 3, 2), 2, "log(3)"), ((3, 3), 1, 2.0)],
)
def test_marginals_are_those_of_the_listed_method(sizes, k, epsilon):
    workload = Workload.marginals(sizes, k)
    listed = design(workload, PureLDP(epsilon), gap=1e-7)
    made = design(workload, PureLDP(epsilon), limits=STRUCTURED)
    assert made.value == pytest.approx(listed.value, rel=2e-6)
    assert made.bound <= listed.value
    check(made)


def test_pairs_of_attributes_reach_the_bound_at_log_3():
    """At log(3) pairs of attributes and parities of three have all that two-way marginals need, at
    the best size."""
    made = design(Workload.marginals((2,) * 6, 2), PureLDP("log(3)"))
    assert made.relative_gap <= 1e-6
    check(made)


@pytest.mark.parametrize(
    "sizes, k, gap",
    [((3, 4, 5), 2, 1e-3), *thorough_or([], [((4, 4, 4), 2, 5e-3), ((2,) * 6, 3, 0.02)])],
)
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


@pytest.mark.long
def test_the_worst_case_of_marginals_is_their_average():
    workload = Workload.marginals((2,) * 5, 2)
    # At this gap both end with the product's own design
    average, worst = (
        design(workload, PureLDP(1.0), objective=name, gap=0.01)
        for name in ("average", "worst_case")
    )
    assert worst.value == pytest.approx(average.value, rel=1e-12)
    assert worst.objective == "worst_case"
    check(worst)


def test_sums_of_marginals_stay_in_the_scheme_and_weights_do_not():
    both = Workload.marginals((2,) * 5, 1) + 2 * Workload.marginals((2,) * 5, 2)
    assert design(both, PureLDP(1.0), gap=0.05).certificate.multipliers.kind == "product"
    assert "product" not in methods_for(both, weights=np.arange(1, 33))


def images_of(sizes, members):
    """All images of a set under permutations of the values of each attribute."""
    answers = list(np.ndindex(*sizes))
    found = {
        tuple(
            tuple(order[value] for order, value in zip(orders, answer, strict=True)) in members
            for answer in answers
        )
        for orders in itertools.product(
            *(list(itertools.permutations(range(size))) for size in sizes)
        )
    }
    return [[int(inside) for inside in part] for part in sorted(found)]


def masses_of(sizes, sets):
    """Columns with a high and a low mass, in an odd order, without regard to the sums of rows."""
    rows = [
        [low + (high - low) * x for x in part]
        for high, low, members in sets
        for part in images_of(sizes, members)
    ]
    return np.array(rows[::2] + rows[1::2], dtype=np.int64).T


SETS = [
    (9 << 44, 2 << 44, {(0, 0), (0, 1), (1, 2)}),
    (5 << 44, 3 << 44, {(0, 0)}),
    (8 << 44, 2 << 44, {(1, 1)}),
]


@pytest.mark.parametrize(
    "sizes, sets",
    [
        ((2, 3), SETS),
        ((2, 3), SETS[1:]),
        ((2, 3), [*SETS, (7 << 44, 7 << 44, {(0, 0)})]),
        ((2, 3), [(9 << 44, 2 << 44, {(0, 0)}), SETS[0]]),
        ((2, 2, 2), [(9 << 44, 2 << 44, {(0, 0, 0), (0, 1, 1)})]),
    ],
)
def test_information_is_that_of_the_definition(sizes, sets):
    """``n sum_a c_a c_a^T / 1.c_a`` in every eigenspace but that of constants."""
    scheme = Scheme(sizes)
    masses = masses_of(sizes, sets)
    found = information(scheme, masses)
    shares = np.ldexp(masses.astype(float), -53)
    whole = sum(scheme.n * np.outer(c, c) / c.sum() for c in shares.T)
    assert len(found) == 2 ** len(sizes)
    for kept, have in zip(np.ndindex(*scheme.shape), found, strict=True):
        one = np.zeros(scheme.shape)
        one[kept] = 1
        part = scheme.matrix(one)
        assert not any(kept) or np.allclose(
            part @ whole, float(have) * part, rtol=1e-12, atol=1e-15
        )


def test_information_outside_the_scheme_is_refused():
    masses = masses_of((2, 3), SETS)
    assert information(Scheme((3, 2)), masses) is None
    assert information(Scheme((2, 3)), masses[:, 1:]) is None
    masses[0, 0] += 1
    assert information(Scheme((2, 3)), masses) is None


# A single mean.


@pytest.mark.parametrize("objective", ["average", "worst_case"])
@pytest.mark.parametrize(
    "numbers, epsilon", [(np.arange(thorough_or(4, 8)), 1.0), ([0.1, 0.25, 0.7, 0.71, 3.0], 2.0)]
)
def test_means_are_those_of_the_listed_method(numbers, epsilon, objective):
    workload = Workload.mean(numbers)
    listed = design(workload, PureLDP(epsilon), objective=objective, gap=1e-6)
    made = design(workload, PureLDP(epsilon), objective=objective, limits=STRUCTURED)
    assert made.value == pytest.approx(listed.value, rel=3e-6)
    check(made)


def test_the_mean_design_is_the_limit_of_finer_grids():
    """`mean.designed` has given outputs: its variance is never below, and nears it as they are
    refined."""
    numbers = np.linspace(-1, 1, 24)
    epsilon = 1.0
    made = design(Workload.mean(numbers), PureLDP(epsilon), objective="worst_case", gap=1e-4)
    assert made.relative_gap <= 1e-4
    coarse, fine = (
        mean.designed(numbers, np.linspace(-3, 3, m), epsilon).grid_variance
        for m in thorough_or((13, 25), (25, 97))
    )
    assert made.bound <= fine <= coarse
    assert fine <= made.value * 1.01


OFTEN = 1 / np.arange(1, thorough_or(24, 31))


@pytest.mark.parametrize("weights", [None, OFTEN])
def test_a_mean_of_many_numbers(weights):
    made = design(
        Workload.mean(np.sqrt(np.arange(len(OFTEN)))), PureLDP(1.0), weights=weights, gap=1e-4
    )
    assert made.certificate.multipliers.kind == "mean"
    assert made.relative_gap <= 1e-4
    check(made)


def test_means_are_unbiased_up_to_a_proved_bias():
    made = design(Workload.mean(np.arange(24) / 10), PureLDP(0.5), gap=1e-3)
    assert 0 < made.certificate.bias < 1e-14
    values = [Fraction(value) for value in made.estimator[0].tolist()]
    for number, row in zip(np.arange(24) / 10, made.mechanism.counts.tolist(), strict=True):
        mean = (
            sum((count * value for count, value in zip(row, values, strict=True)), Fraction(0))
            / 2**53
        )
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


@pytest.mark.parametrize(
    "objective", ["average", pytest.param("worst_case", marks=pytest.mark.long)]
)
def test_a_rough_gap_at_a_small_budget_does_not_cost_the_exact_means(objective):
    """Masses for exact means need a precise solution of the last program, however large the gap may
    be."""
    for numbers in (np.arange(60.0), np.append(np.arange(30.0), 100.0)):
        made = design(Workload.mean(numbers), PureLDP(0.05), objective=objective, gap=1e-3)
        assert made.certificate.multipliers.kind == "mean"
        assert made.relative_gap <= 1e-3


@pytest.mark.long
def test_a_mean_at_a_large_budget_takes_many_rounds():
    made = design(Workload.mean(np.sqrt(np.arange(40.0))), PureLDP(4.0), gap=1e-3)
    assert [step.method.name for step in made.steps] == ["single mean"]
    assert made.relative_gap <= 1e-3
