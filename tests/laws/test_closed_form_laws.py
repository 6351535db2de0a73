"""Properties of the closed forms, for random priors and budgets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt.closed_forms import (
    bins,
    least_epsilon,
    path_graph,
    top_k,
    worst_prior,
    worst_prior_in_ball,
)
from ldpopt.closed_forms.form import ResponseSampler
from ldpopt.foundation.budget import Budget

budgets = st.one_of(
    st.floats(0, 12),
    st.sampled_from(
        [0.0, 1e-300, 1e-17, 1e-9, 36.7, 40.0, 700.0, 800.0, 1e4, "log(3)", "log(7/2)"]
    ),
)
deltas = st.one_of(st.just(0.0), st.floats(0, 1))
whole = st.lists(st.integers(0, 12), min_size=1, max_size=7).filter(any)
ragged = st.lists(st.floats(0, 1, allow_subnormal=True), min_size=1, max_size=7).filter(
    lambda w: sum(w) > 1e-3
)
priors = st.one_of(whole, ragged).map(
    lambda w: np.array(w, dtype=float) / np.sum(np.array(w, dtype=float))
)


def best_ratio(prior, alpha):
    """The theorem without any thought: the maximum over all k, in rationals."""
    ranked = sorted((Fraction(float(w)) for w in prior), reverse=True)
    sums = list(itertools.accumulate(ranked))
    return [alpha * total / (alpha + k) for k, total in enumerate(sums)]


@given(priors, budgets, deltas)
def test_value_is_the_maximum_over_k(prior, epsilon, delta):
    form = top_k(prior, epsilon, delta)
    total = sum(Fraction(float(w)) for w in prior)
    share = Fraction(delta)
    low, high = (
        share * total + (1 - share) * max(best_ratio(prior, a)) for a in form.epsilon.enclosure()
    )
    assert form.exact_value() == (low, high)
    assert abs(form.value - float(low)) <= 2e-16


@given(priors, budgets)
def test_k_is_the_largest_optimal_number_of_letters_that_occur(prior, epsilon):
    form = top_k(prior, epsilon)
    ratios = best_ratio(prior, form.epsilon.enclosure()[0])
    support = int(np.count_nonzero(prior))
    assert form.k == max(k for k in range(1, support + 1) if ratios[k - 1] == max(ratios))


@given(priors, budgets)
def test_the_ratios_rise_and_then_fall(prior, epsilon):
    ratios = best_ratio(prior, Budget(epsilon).enclosure()[0])
    rises = [b >= a for a, b in itertools.pairwise(ratios)]
    assert rises == sorted(rises, reverse=True)


@given(priors)
def test_thresholds_never_fall(prior):
    thresholds = top_k(prior, 1.0).thresholds
    assert thresholds[0] == 1
    assert (thresholds[1:] >= thresholds[:-1]).all()
    assert (np.isinf(thresholds) | (np.sort(prior)[::-1] > 0)).all()


@given(priors, st.floats(0, 12), st.floats(0, 12), deltas)
def test_value_rises_with_the_budget(prior, one, other, delta):
    small, large = sorted([one, other])
    assert (
        top_k(prior, small, delta).exact_value()[0] <= top_k(prior, large, delta).exact_value()[0]
    )


@given(priors, budgets, deltas, deltas)
def test_value_rises_with_delta(prior, epsilon, one, other):
    small, large = sorted([one, other])
    assert (
        top_k(prior, epsilon, small).exact_value()[0]
        <= top_k(prior, epsilon, large).exact_value()[0]
    )


@given(priors, st.one_of(st.just(Fraction(1)), st.fractions(1, 50)), deltas)
def test_the_dual_certificate_is_feasible_and_tight(prior, alpha, delta):
    """0 <= alpha lambda_ij <= y_i and y_j + sum_i lambda_ij = pi_j, all in rationals."""
    form = top_k(prior, f"log({alpha})", delta)
    y = form.exact_dual()
    weights = [Fraction(float(w)) for w in prior]
    pure = sum(y)
    members = set(form.members.tolist())
    assert min(y) >= 0
    bound = pure
    for j, weight in enumerate(weights):
        factor = 1 / alpha if j in members else weight / pure
        column = [share * factor if i != j else Fraction(0) for i, share in enumerate(y)]
        assert all(0 <= alpha * multiplier <= y[i] for i, multiplier in enumerate(column))
        assert y[j] + sum(column) == weight
        bound += Fraction(delta) * sum(column)
    assert bound == form.exact_value()[0] == form.exact_value()[1]


@given(priors, st.one_of(st.floats(1e-9, 30), st.just(900.0)))
def test_the_float_dual_is_the_exact_one(prior, epsilon):
    form = top_k(prior, epsilon)
    exact = np.array([float(v) for v in form.exact_dual()])
    assert np.abs(form.dual - exact).max() <= 1e-12


@given(priors, budgets, deltas)
def test_the_channel_reaches_the_value_and_is_private(prior, epsilon, delta):
    form = top_k(prior, epsilon, delta)
    channel = form.channel
    assert np.abs(channel.sum(axis=1) - 1).max() <= 1e-12
    assert abs(prior @ channel.diagonal() - form.value) <= 1e-12
    b = form.epsilon.b
    for i, k in itertools.permutations(range(len(prior)), 2):
        assert np.maximum(b * channel[i] - channel[k], 0).sum() <= b * delta + 1e-15


@given(priors, budgets, deltas)
def test_the_sampler_is_exactly_private_and_nearly_optimal(prior, epsilon, delta):
    form = top_k(prior, epsilon, delta)
    alpha = form.epsilon.enclosure()[0]
    laws = [form.sampler.probabilities(x) for x in range(len(prior))]
    assert all(sum(law.values()) == 1 for law in laws)
    for one, other in itertools.permutations(laws, 2):
        excess = sum(
            (max(Fraction(0), p - alpha * other.get(y, Fraction(0))) for y, p in one.items()),
            Fraction(0),
        )
        assert excess <= Fraction(delta)
    reached = sum(Fraction(float(w)) * laws[x].get(x, Fraction(0)) for x, w in enumerate(prior))
    assert 0 <= form.exact_value()[1] - reached <= Fraction(1, 2**50)


@given(st.integers(1, 400), budgets)
def test_randomized_response_is_private_for_any_size(n, epsilon):
    letters = np.arange(n)
    budget = Budget(epsilon)
    law = ResponseSampler(range(n), letters, letters, budget).probabilities(0)
    assert sum(law.values()) == 1
    if n > 1:
        assert law[1] <= law[0] <= budget.enclosure()[0] * law[1]


@given(priors, st.floats(0, 1), deltas)
def test_least_epsilon_reaches_the_value_and_no_smaller_budget_does(prior, value, delta):
    epsilon = least_epsilon(prior, value, delta)
    if math.isinf(epsilon):
        assert top_k(prior, 10_000, delta).value >= value - 1e-9 or value > max(
            1 - 1e-12, prior.sum() - 1e-12
        )
        assert value >= min(1, prior.sum()) - 1e-12
        return
    assert top_k(prior, epsilon, delta).exact_value()[0] >= Fraction(value) * Fraction(
        1 - Fraction(1, 2**50)
    )
    if epsilon > 0:
        assert top_k(prior, epsilon, delta).exact_value()[0] >= Fraction(value)
        assert top_k(prior, epsilon * (1 - 1e-15), delta).exact_value()[0] < Fraction(value)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda w: sum(w) > 0.1),
    st.floats(0, 1),
)
def test_the_worst_prior_in_a_ball_is_majorized_by_the_center(weights, radius):
    center = np.array(weights) / sum(weights)
    flat = worst_prior_in_ball(center, radius)
    assert abs(flat.sum() - center.sum()) <= 1e-12
    assert np.abs(flat - center).sum() / 2 <= radius + 1e-12
    assert (np.cumsum(np.sort(flat)[::-1]) <= np.cumsum(np.sort(center)[::-1]) + 1e-12).all()


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=8),
    st.integers(0, 10**6),
)
def test_the_worst_prior_of_a_box_is_majorized_by_all_others(box, seed):
    low = np.array([min(pair) for pair in box]) / len(box)
    high = np.array([max(pair) for pair in box]) + 1 / len(box)
    flat = worst_prior(low, high)
    assert abs(flat.sum() - 1) <= 1e-12
    assert ((low - 1e-15 <= flat) & (flat <= high + 1e-15)).all()
    # Another prior of the box: fill the letters up in random order.
    other = low.copy()
    rest = 1 - low.sum()
    for letter in np.random.default_rng(seed).permutation(len(box)):
        step = min(rest, high[letter] - low[letter])
        other[letter], rest = other[letter] + step, rest - step
    assert (np.cumsum(np.sort(flat)[::-1]) <= np.cumsum(np.sort(other)[::-1]) + 1e-12).all()


@cases(40)
@given(priors, budgets)
def test_the_path_has_a_larger_value_than_the_complete_graph_and_a_private_sampler(prior, epsilon):
    form = path_graph(prior, epsilon)
    low, high = form.exact_value()
    assert low <= high <= low * (1 + Fraction(1, 2**150)) + Fraction(1, 2**1000)
    assert abs(form.value - float(low)) <= 1e-14
    assert high >= top_k(prior, epsilon).exact_value()[0]
    alpha = form.epsilon.enclosure()[0]
    laws = [form.sampler.probabilities(x) for x in range(len(prior))]
    assert all(sum(law.values()) == 1 for law in laws)
    for one, other in itertools.pairwise(laws):
        for y in {*one, *other}:
            assert one.get(y, 0) <= alpha * other.get(y, 0)
            assert other.get(y, 0) <= alpha * one.get(y, 0)


@cases(40)
@given(priors, st.floats(0, 12), st.floats(0, 12))
def test_the_loss_on_bins_falls_with_the_budget(prior, one, other):
    small, large = sorted([one, other])
    values = np.arange(len(prior), dtype=float)
    loose = bins(prior, values, large)
    tight = bins(prior, values, small)
    assert loose.value <= tight.value + 1e-12
    assert abs((prior[:, None] * loose.loss * loose.channel).sum() - loose.value) <= 1e-12
