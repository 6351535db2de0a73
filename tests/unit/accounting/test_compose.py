"""Composition: exact enumeration of adaptive people, printed and measured figures, every way to add
up atoms."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused
from ldpopt.accounting import compose, product


def channel(rng, n, m, zeros=False):
    values = rng.dirichlet(np.ones(m), n)
    if zeros:
        values[rng.random((n, m)) < 0.3] = 0.0
        values[:, 0] += 0.1
    return lo.Mechanism(values / values.sum(axis=1, keepdims=True))


def rows(mechanism):
    return [[Fraction(int(p), 1 << 53) for p in row] for row in mechanism.counts]


def pairs_of(mechanism, pairs):
    n = len(mechanism.inputs)
    return [(x, k) for x in range(n) for k in range(n) if x != k] if pairs is None else pairs


def adaptive(channels, a, pairs=None):
    """Largest excess of people who may choose what is asked next, and each pair of answers, after
    all earlier reports, by the definition."""
    if not channels:
        return max(1 - a, Fraction(0))
    best = Fraction(0)
    for i, first in enumerate(channels):
        rest = channels[:i] + channels[i + 1 :]
        table = rows(first)
        for x, k in pairs_of(first, pairs):
            total = Fraction(0)
            for p, q in zip(table[x], table[k], strict=True):
                if p:
                    total += p * adaptive(rest, a * q / p, pairs)
            best = max(best, total)
    return best


def excess_of_product(channels, chosen, a):
    """Excess of one pair of answers to each question."""
    tables = [rows(one) for one in channels]
    total = Fraction(0)
    for outcome in itertools.product(*(range(len(table[0])) for table in tables)):
        p = math.prod(
            (table[x][y] for table, (x, _), y in zip(tables, chosen, outcome, strict=True)),
            start=Fraction(1),
        )
        q = math.prod(
            (table[k][y] for table, (_, k), y in zip(tables, chosen, outcome, strict=True)),
            start=Fraction(1),
        )
        total += max(p - a * q, Fraction(0))
    return total


@cases(60)
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_curve_lies_above_every_adaptive_person_and_the_lower_one_is_attained(
    seed, count, zeros, one_sided
):
    rng = np.random.default_rng(seed)
    shapes = [(2, 3), (3, 2), (2, 2), (3, 3)] if count < 3 else [(2, 2), (2, 3)]
    channels = [channel(rng, *shapes[int(rng.integers(len(shapes)))], zeros) for _ in range(count)]
    pairs = [(0, 1)] if one_sided else None
    curve = compose(channels, pairs=pairs)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        a = lo.Budget(epsilon).enclosure()[1]
        exact = adaptive(channels, a, pairs)
        attained = max(
            excess_of_product(channels, chosen, a)
            for chosen in itertools.product(*(pairs_of(one, pairs) for one in channels))
        )
        assert curve.delta(epsilon) >= exact >= attained
        assert curve.delta_lower(epsilon) <= exact
        if curve.is_attained:
            assert float(curve.delta(epsilon)) == pytest.approx(float(exact), rel=1e-9, abs=1e-13)
            assert curve.delta_lower(epsilon) == pytest.approx(float(exact), rel=1e-9, abs=1e-13)
    assert curve.guess() >= float((1 + adaptive(channels, Fraction(1), pairs)) / 2) - 1e-15


def response(n, epsilon):
    return lo.closed_forms.top_k(np.full(n, 1 / n), epsilon).mechanism


@pytest.mark.parametrize(
    "n, epsilon, times, printed",
    [
        (10, 0.5, 5, "2.489"),
        (10, 0.5, 10, "3.898"),
        (10, 0.5, 30, "7.07"),
        (10, 0.5, 100, "14.4"),
        (4, 1.0, 10, "9.998"),
        (10, 1.0, 30, "17.94"),
    ],
)
def test_randomized_response_has_the_exact_epsilon(n, epsilon, times, printed):
    curve = compose([(response(n, epsilon), times)])
    found = curve.epsilon(1e-6)
    assert f"{found:.{len(printed.partition('.')[2])}f}" == printed
    assert curve.delta(found) <= Fraction(1e-6)
    assert curve.delta(found * (1 - 1e-9)) > Fraction(1e-6)
    # The reports of n answers are three ratios, and their numbers are multinomial.
    e = math.exp(epsilon)
    shares = np.array([math.exp(epsilon), 1.0, n - 2.0]) / (math.exp(epsilon) + n - 1)
    exact = 0.0
    for ups in range(times + 1):
        for downs in range(times + 1 - ups):
            others = times - ups - downs
            ways = math.factorial(times) / (
                math.factorial(ups) * math.factorial(downs) * math.factorial(others)
            )
            mass = ways * shares[0] ** ups * shares[1] ** downs * shares[2] ** others
            exact += mass * max(1 - math.exp(found) / e ** (ups - downs), 0.0)
    assert float(curve.delta(found)) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(
    "n, times, printed", [(2, 3, 0.822), (4, 5, 0.806), (10, 1, 0.573), (10, 30, 0.929)]
)
def test_guesses_after_several_reports(n, times, printed):
    assert compose([(response(n, 1.0), times)]).guess() == pytest.approx(printed, abs=5e-4)


def test_a_tiny_delta_keeps_its_relative_precision():
    p = Fraction(5606615224107911, 1 << 53)  # randomized response at epsilon .5
    curve = compose([([[float(p), float(1 - p)], [float(1 - p), float(p)]], 40)])
    ratio = p / (1 - p)
    for epsilon in (19.0, 19.99):
        a = lo.Budget(epsilon).enclosure()[0]
        exact = sum(
            math.comb(40, k) * p ** (40 - k) * (1 - p) ** k * max(1 - a / ratio ** (40 - 2 * k), 0)
            for k in range(41)
        )
        assert 0 <= curve.delta(epsilon) / exact - 1 < 1e-10
    small = compose([(lo.Mechanism([[1 - 2.0**-40, 2.0**-40], [2.0**-40, 1 - 2.0**-40]]), 20)])
    assert small.delta(1.0) > Fraction(99, 100)
    rare = compose(
        [(lo.Mechanism([[2.0**-20, 1 - 2.0**-20], [2.0**-21, 1 - 2.0**-21]]), 17)], pairs=[(0, 1)]
    )
    exact = Fraction(1, 2**340) * (1 - Fraction(1, 2))
    # 1e-102, and reports of less than all ratios
    assert 1 <= float(rare.delta(16 * math.log(2)) / exact) < 1 + 1e-4


def test_every_way_to_add_up_atoms_bounds_the_same_curve(monkeypatch):
    rng = np.random.default_rng(3)
    channels = [channel(rng, 2, 3) for _ in range(3)]
    exact = compose(channels)
    assert len(exact.upper.left) > 1
    assert exact.delta(0.5) >= exact.delta_lower(0.5)  # both are computed before the limit changes
    monkeypatch.setattr(product, "MAX_PRODUCTS", 1)
    fine = compose(channels)
    assert fine.upper.is_on_levels
    for epsilon in (0.0, 0.5, 2.0):
        assert (
            exact.delta(epsilon)
            <= fine.delta(epsilon)
            <= exact.delta(epsilon) * (1 + Fraction(1, 1000))
        )
        assert fine.delta_lower(epsilon) <= exact.delta_lower(epsilon)
    assert exact.tradeoff()[:, 1] == pytest.approx(np.sort(exact.tradeoff()[:, 1])[::-1])


def test_thousands_of_reports_are_as_exact_as_few(monkeypatch):
    curves = []
    for most in (product.MAX_PRODUCTS, 1):
        monkeypatch.setattr(product, "MAX_PRODUCTS", most)
        curves.append(compose([(response(10, 0.5), 60), (response(3, 1.0), 2)]))
        curves[-1].delta_lower(0.0)
    for epsilon in (0.0, 5.0, 20.0, 31.9):
        assert float(curves[1].delta(epsilon)) == pytest.approx(
            float(curves[0].delta(epsilon)), rel=1e-9
        )
        assert curves[1].delta_lower(epsilon) == pytest.approx(
            float(curves[0].delta(epsilon)), rel=1e-9
        )


def test_an_epsilon_above_all_powers_in_floats():
    curve = compose([(response(2, 4.0), 200)])
    found = curve.epsilon(0.5)
    assert 700 < found < curve.epsilon(0.0)
    assert curve.delta(found) <= Fraction(1, 2) < curve.delta(found * (1 - 1e-9))


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr("ldpopt.accounting.pairs.MAX_ENTRIES", 10)
    with refused("many-pairs") as caught:
        compose([response(3, 1.0)])
    assert "6 pairs of 3 answers with 3 reports" in str(caught.value)


def test_a_household_is_as_many_reports():
    coin = response(2, 1.0)
    assert compose([coin], group=3).delta(1.0) == compose([(coin, 3)]).delta(1.0)


def test_tests_and_divergences_of_one_coin():
    curve = compose([lo.Mechanism([[0.75, 0.25], [0.25, 0.75]])])
    assert curve.epsilon(0) == pytest.approx(math.log(3), abs=1e-12)
    assert curve.delta("log(3)") == 0
    assert (
        compose([(lo.Mechanism([[0.75, 0.25], [0.25, 0.75]]), 30)]).delta(30 * math.log(3) + 1e-9)
        == 0
    )
    assert curve.tradeoff() == pytest.approx(np.array([[0, 1], [0.25, 0.25], [1, 0]]))
    assert curve.renyi(1) == pytest.approx(0.5 * math.log(3))
    assert curve.renyi(2) == pytest.approx(math.log(0.75**2 / 0.25 + 0.25**2 / 0.75))
    assert curve.renyi(math.inf) == pytest.approx(math.log(3))
    assert curve.epsilon(1.0) == 0.0
    assert "best guess" in curve.facts().text()


def test_reports_that_are_impossible_under_another_answer_have_an_infinite_epsilon():
    curve = compose([([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]], 2)])
    assert curve.epsilon(0.5) == math.inf
    assert float(curve.delta(3.0)) == pytest.approx(1 - 0.1**2)
    assert curve.epsilon(0.995) == 0.0
    alone = compose([np.ones((3, 1))])
    assert (alone.delta(0), alone.epsilon(0), alone.guess()) == (0, 0.0, 0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: compose([]),
        lambda: compose([(response(2, 1.0), 1.5)]),
        lambda: compose([response(2, 1.0)], group=0),
        lambda: compose([response(2, 1.0)], pairs=[(0, 7)]),
        lambda: compose([response(2, 1.0)], pairs=["ab", 3]),
        lambda: compose([response(2, 1.0)]).guess(1.0),
        lambda: compose([response(2, 1.0)]).epsilon(-0.1),
        lambda: compose([response(2, 1.0)]).renyi(0.5),
        lambda: compose([response(2, 1.0)]).delta("x"),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(lo.errors.LdpoptError):
        call()


CHANNELS = (
    np.eye(2),
    np.eye(3),
    [[0.75, 0.25], [0.25, 0.75]],
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]],
    [[0.5, 0.5], [0.5, 0.5]],
    [[1.0, 0.0], [0.9, 0.1]],
    [[0.1, 0.9, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]],
)


@cases(40)
@given(
    st.lists(st.tuples(st.sampled_from(CHANNELS), st.integers(1, 3)), min_size=1, max_size=3),
    st.floats(0, 5),
    st.integers(0, 2**32 - 1),
)
def test_what_a_pair_attains_is_at_most_the_curve_and_both_at_most_1(chosen, epsilon, seed):
    drawn = channel(np.random.default_rng(seed), 3, 3, zeros=True)
    for channels in (chosen, [*chosen, (drawn, 1)]):
        curve = compose(channels)
        assert 0 <= curve.delta_lower(epsilon) <= curve.delta(epsilon) <= 1
        assert curve.delta(epsilon) <= curve.delta(0.0)
        for prior in (0.2, 0.9):
            assert max(prior, 1 - prior) - 1e-15 <= curve.guess(prior) <= 1
        table = curve.tradeoff()
        assert table[-1].tolist() == [1.0, 0.0]
        assert table.min() >= 0
        assert table.sum(axis=1).max() <= 1 + 1e-9
        assert curve.epsilon(0.5) <= curve.epsilon(0.0)


def test_one_certain_question_makes_all_reports_certain():
    curve = compose([np.eye(2), [[0.75, 0.25], [0.25, 0.75]]])
    assert curve.delta_lower(0.5) == curve.delta(0.5) == 1
    assert curve.tradeoff().tolist() == [[0.0, 0.0], [1.0, 0.0]]
    with refused("no-pairs"):  # one answer has no pair
        compose([[[1.0]], [[0.75, 0.25], [0.25, 0.75]]])


def renyi_of(mechanism, order):
    """By the definition, with 400 digits."""
    best = mpmath.mpf(0)
    for p, q in itertools.permutations(mechanism.counts.tolist(), 2):
        used = [(x, z) for x, z in zip(p, q, strict=True) if x]
        if not all(z for _, z in used):
            return mpmath.inf
        pairs = [(mpmath.mpf(x) / 2**53, mpmath.mpf(x) / z) for x, z in used]
        if order == 1:
            found = mpmath.fsum(x * mpmath.log(ratio) for x, ratio in pairs)
        else:
            t = mpmath.mpf(order) - 1
            found = mpmath.log(mpmath.fsum(x * ratio**t for x, ratio in pairs)) / t
        best = max(best, found)
    return best


ORDERS = (1.0, 1 + 1e-15, 1 + 1e-12, 1 + 1e-9, 1.001, 1.5, 2.0, 33.0, 1000.0, 1e4, 1e6)


@cases(60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0]),
    st.one_of(st.sampled_from(ORDERS), st.floats(1, 1e6)),
    st.integers(2, 4),
)
def test_renyi_is_the_truth_rounded_up_without_a_warning(seed, width, order, m):
    rng = np.random.default_rng(seed)
    values = np.exp(width * rng.uniform(-1, 1, (2, m))) * rng.dirichlet(np.ones(m))
    drawn = lo.Mechanism(values / values.sum(axis=1, keepdims=True))
    with warnings.catch_warnings(), mpmath.workdps(400):
        warnings.simplefilter("error")
        truth = renyi_of(drawn, order)
        one = compose([drawn]).renyi(order)
        loss = compose([drawn]).sources[0][0].losses[0].renyi(order)
        assert mpmath.isinf(truth) or math.isfinite(one)
        assert one >= truth
        assert loss >= truth * (1 - mpmath.mpf(10) ** -12)
        if not mpmath.isinf(truth):
            # close rows have a divergence of the square of their distance, and lose that in floats
            assert one <= truth * (1 + mpmath.mpf(10) ** -9) + 1e-14 * width


def test_renyi_of_large_orders_and_of_zeros():
    coin = [[0.75, 0.25], [0.25, 0.75]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compose([coin]).renyi(1000) == pytest.approx(1.0983243, abs=1e-7)
        assert compose([coin]).renyi(1e6) <= compose([coin]).epsilon(0.0)
        assert compose([np.eye(2)]).renyi(2) == math.inf
        assert compose([coin]).renyi(1) == pytest.approx(0.5 * math.log(3))
        assert compose([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]]).renyi(2) < 0.3
        assert compose([[[0.5, 0.5], [0.5, 0.5]]]).renyi(1.5) == 0


def test_repeated_reports_are_the_same_however_they_are_listed():
    coin = response(2, 1.0)
    whole = compose([(coin, 4)])
    twice = compose([(coin, 2)])
    for listed in ([coin] * 4, [(coin, 1), (coin, 3)], [(twice, 2)], [twice, coin, coin]):
        same = compose(listed)
        assert same.epsilon(0.0) == whole.epsilon(0.0)
        assert same.delta(1.5) == whole.delta(1.5)
