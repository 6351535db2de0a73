"""Laws of designs: what is proved holds for every private channel, and only what is asked decides.

Two designs with the same optimum are compared by their intervals from bound to value, which are
proved: they overlap.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import cases, thorough_or
from ldpopt import PureLDP, Workload, design
from ldpopt.certificate.design_statement import Statement, value_of

ROUNDING = 1e-9
"""Relative size of what floats may add to a number that is compared with a proved one."""

EPSILONS = st.one_of(st.floats(0.1, 5.0), st.sampled_from(["log(2)", "log(3)", 1e-3, 8.0]))


@st.composite
def workloads(draw, most=5):
    """Small whole numbers or real ones, of few rows: also rank-deficient ones and columns that are
    alike."""
    n = draw(st.integers(2, most))
    k = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = (
        rng.integers(-2, 3, (k, n)).astype(float)
        if draw(st.booleans())
        else rng.standard_normal((k, n))
    )
    assume(np.ptp(rows, axis=1).max() > 0)
    return rows


@st.composite
def questions(draw, most=5):
    """A workload and weights of its answers, perhaps zeros."""
    rows = draw(workloads(most))
    weights = np.array(
        draw(
            st.lists(
                st.sampled_from([0, 1, 1, 2, 5]), min_size=rows.shape[1], max_size=rows.shape[1]
            )
        )
    )
    assume(weights.any())
    return rows, weights


def best(rows, epsilon, weights=None, **options):
    """The design, with a gap that makes the comparisons sharp."""
    made = design(rows, PureLDP(epsilon), weights=weights, gap=1e-7, **options)
    assert 0 <= made.relative_gap <= 1e-6
    return made


def overlap(one, other, factor=1.0):
    """Whether ``factor * one`` and the other may have the same optimum."""
    above = factor * one.value >= other.bound * (1 - ROUNDING)
    return above and other.value >= factor * one.bound * (1 - ROUNDING)


def brute_force(channel, estimator, rows):
    """Variance of one report for every answer, by the definition."""
    n, m = channel.shape
    found = []
    for x in range(n):
        means = sum(channel[x, y] * estimator[:, y] for y in range(m))
        found.append(sum(channel[x, y] * np.sum((estimator[:, y] - means) ** 2) for y in range(m)))
    return np.array(found)


def private_channel(n, m, epsilon, rng):
    """Any channel whose entries differ by at most half the budget before its rows are scaled."""
    half = float(PureLDP(epsilon).epsilon) / 2
    channel = np.exp(
        half * rng.choice([rng.random((n, m)), rng.integers(0, 2, (n, m))]) * rng.random((1, m))
    )
    return channel / channel.sum(axis=1, keepdims=True)


@cases(3)
@given(questions(), EPSILONS)
def test_proved_private_unbiased(question, epsilon):
    rows, weights = question
    made = best(rows, epsilon, weights)
    assert made.bound <= made.value
    assert made.certificate.recheck() == ()
    assert made.mechanism.audit(made.privacy).verdict == "certified"
    n = rows.shape[1]
    channel = made.mechanism.channel
    assert made.n_reports <= n * (n + 1) // 2
    scale = np.abs(made.estimator).max()
    assert np.allclose(made.estimator @ channel.T, rows, atol=1e-12 * scale)
    variance = brute_force(channel, made.estimator, rows)
    assert made.variance() == pytest.approx(variance, rel=1e-7, abs=1e-9 * scale**2)
    assert variance @ weights / weights.sum() == pytest.approx(made.value, rel=1e-6)


@cases(3)
@given(questions(4), st.floats(0.1, 5.0))
def test_value_and_bias_are_those_of_the_estimator_in_use(question, epsilon):
    """In rationals, of ``w_1 + sum_x (w_x - w_1) X[x, y]`` as a report counts; the estimator in
    floats is near."""
    rows, weights = question
    made = best(rows, epsilon, weights)
    channel = exact(made.mechanism.channel)
    asked = exact(rows)
    moved = asked - asked[:, :1]
    estimator = asked[:, :1] + moved[:, 1:] @ exact(made.certificate.left_inverse)[1:]
    n, m = channel.shape
    errors = [
        sum(channel[x, y] * ((estimator[:, y] - asked[:, x]) ** 2).sum() for y in range(m))
        for x in range(n)
    ]
    biases = [((estimator @ channel[x] - asked[:, x]) ** 2).sum() for x in range(n)]
    r = exact(made.certificate.weights)
    assert made.certificate.achieved == sum(r * np.array(errors)) / r.sum()
    assert max(biases) <= made.certificate.bias**2 <= max(biases) * Fraction(10**9 + 1, 10**9)
    off = np.abs((exact(made.estimator) - estimator).astype(float)).max()
    assert off <= 1e-13 * (1 + np.abs(made.estimator).max())
    worst = value_of(
        Statement.of(rows, weights),
        made.mechanism.channel,
        made.certificate.left_inverse,
        "worst_case",
    )
    assert worst.achieved == max(errors)


@cases(3)
@given(questions(4), st.floats(0.1, 5.0), st.integers(-(2**20), 2**20))
def test_constants_added_to_a_workload_change_nothing(question, epsilon, constant):
    """The rows are on a grid, so that the sums are exact."""
    rows, weights = question
    rows = np.round(rows * 64) / 64
    assume(np.ptp(rows, axis=1).max() > 0)
    made = best(rows, epsilon, weights).certificate
    moved = Workload(
        rows + float(constant) * np.arange(1, len(rows) + 1)[:, None], made.workload.inputs
    )
    other = replace(made, workload=moved)
    assert other.recheck() == ()
    for factor in (Fraction(10**15 - 1, 10**15), Fraction(10**15, 10**15 - 1)):
        claims = (
            {"achieved": made.achieved * factor} if factor < 1 else {"bound": made.bound * factor}
        )
        assert replace(made, **claims).recheck() == replace(other, **claims).recheck()


def exact(array):
    """Floats as they read."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, float))


@cases(3)
@given(questions(), EPSILONS, st.integers(2, 12), st.integers(0, 10**6))
def test_no_private_channel_is_better(question, epsilon, m, seed):
    """Whatever its number of reports; and merging reports at random does not help either."""
    rows, weights = question
    rng = np.random.default_rng(seed)
    n = rows.shape[1]
    made = best(rows, epsilon, weights)
    lumped = np.eye(max(1, made.n_reports - 1))[
        rng.integers(0, max(1, made.n_reports - 1), made.n_reports)
    ]
    for channel in (private_channel(n, m, epsilon, rng), made.mechanism.channel @ lumped):
        assert least_variance(rows, channel, weights) >= made.bound * (1 - 1e-6)


def least_variance(rows, channel, weights):
    """Average variance of the best unbiased estimator, by pseudo-inverse; infinite where there is
    none."""
    r = weights / weights.sum()
    q = r @ channel
    told = (channel[:, q > 0] / q[q > 0]) @ channel[:, q > 0].T
    inverse = np.linalg.pinv(told, rcond=1e-10)
    if not np.allclose(rows @ inverse @ told, rows, atol=1e-6):
        return np.inf
    return float(np.trace(rows @ inverse @ rows.T) - r @ (rows**2).sum(axis=0))


@cases(3)
@given(questions(), EPSILONS, st.integers(0, 10**6))
def test_the_design_depends_on_the_gram_matrix_only(question, epsilon, seed):
    """The order of the answers and a rotation of the rows do not, nor does a constant; a factor
    counts squared."""
    rows, weights = question
    rng = np.random.default_rng(seed)
    plain = best(rows, epsilon, weights)
    order = rng.permutation(rows.shape[1])
    assert overlap(plain, best(rows[:, order], epsilon, weights[order]))
    rotation = np.linalg.qr(rng.standard_normal((len(rows) + 1, len(rows))))[0]
    assert overlap(plain, best(rotation @ rows, epsilon, weights))
    assert overlap(plain, best(rows + rng.integers(-5, 6, (len(rows), 1)), epsilon, weights))
    assert overlap(plain, best(-3 * rows, epsilon, weights), 9.0)
    assert overlap(plain, best(rows, epsilon, 7 * weights))


@cases(3)
@given(questions(), st.floats(0.1, 4.0), st.floats(0.01, 1.0))
def test_a_larger_budget_is_never_worse(question, epsilon, more):
    rows, weights = question
    assert best(rows, epsilon + more, weights).bound <= best(rows, epsilon, weights).value


@cases(3)
@given(questions(thorough_or(4, 5)), workloads(), EPSILONS)
def test_a_larger_workload_has_a_larger_variance(question, others, epsilon):
    """Two questions to the same people cost at least what each costs alone; the same one twice
    costs it twice."""
    rows, weights = question
    n = rows.shape[1]
    others = np.resize(others, (2, n))
    assume(np.ptp(others, axis=1).max() > 0)
    first = best(rows, epsilon, weights)
    second = best(others, epsilon, weights)
    both = best(Workload(rows) + Workload(others), epsilon, weights)
    assert both.value >= (first.bound + second.bound) * (1 - ROUNDING)
    assert overlap(first, best(Workload(rows) + Workload(rows), epsilon, weights), 2.0)


@cases(3)
@given(questions(), EPSILONS, st.integers(0, 10**6))
def test_answers_that_the_workload_does_not_distinguish_count_as_one(question, epsilon, seed):
    rows, weights = question
    twin = np.random.default_rng(seed).integers(rows.shape[1])
    doubled = np.hstack([rows, rows[:, [twin]]])
    split = np.concatenate([weights, [weights[twin]]])
    merged = weights.copy()
    merged[twin] *= 2
    made = best(doubled, epsilon, split)
    assert overlap(best(rows, epsilon, merged), made)
    assert np.array_equal(made.mechanism.channel[twin], made.mechanism.channel[-1])


@cases(3)
@given(questions(), EPSILONS)
def test_leaving_out_an_answer_of_weight_zero_does_not_raise_the_variance(question, epsilon):
    """Leaving out an answer of weight 0 leaves fewer demands."""
    rows, weights = question
    assume(rows.shape[1] > 2 and not weights.all())
    left = np.delete(rows, int(np.argmin(weights)), axis=1)
    assume(np.ptp(left, axis=1).max() > 0)
    fewer = best(left, epsilon, np.delete(weights, int(np.argmin(weights))))
    assert fewer.bound <= best(rows, epsilon, weights).value * (1 + ROUNDING)


@cases(3)
@given(questions(), EPSILONS, st.integers(0, 10**6))
def test_uncertain_weights_are_no_easier_than_the_average(question, epsilon, seed):
    """The least average variance is a minimum of linear functions of the weights: concave."""
    rows, weights = question
    first = weights / weights.sum()
    second = np.random.default_rng(seed).dirichlet(np.ones(len(weights)))
    middle = best(rows, epsilon, (first + second) / 2)
    ends = (best(rows, epsilon, first).bound + best(rows, epsilon, second).bound) / 2
    assert middle.value >= ends * (1 - ROUNDING)


@cases(3)
@given(workloads(), st.floats(0.1, 4.0), st.integers(0, 10**6))
def test_worst_case_is_the_largest_average(rows, epsilon, seed):
    worst = best(rows, epsilon, objective="worst_case")
    assert worst.certificate.recheck() == ()
    channel = worst.mechanism.channel
    assert brute_force(channel, worst.estimator, rows).max() == pytest.approx(worst.value, rel=1e-6)
    assert overlap(worst, best(rows, epsilon, worst.weights))
    other = np.random.default_rng(seed).dirichlet(np.ones(rows.shape[1]))
    assert best(rows, epsilon, other).bound <= worst.value
    assert worst.bound <= best(rows, epsilon).worst_variance * (1 + ROUNDING)
