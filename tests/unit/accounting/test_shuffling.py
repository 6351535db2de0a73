"""Shuffled reports: enumeration of all data sets in rationals, measured figures, and formulas that
are not bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused, thorough_or
from ldpopt import accounting
from ldpopt.accounting import compose, shuffled, shuffling, target
from ldpopt.accounting.blanket import Blanket
from ldpopt.accounting.curve import compared
from ldpopt.accounting.lattice import positive_part
from ldpopt.accounting.privacy_loss import ChannelSource, all_pairs
from ldpopt.accounting.rough_blanket import FINENESS, rough_excess
from ldpopt.accounting.shuffled_reports import Shuffled
from ldpopt.accounting.two_reports import LargestExcess, rough_largest


def rows_of(mechanism):
    return [[Fraction(int(p), 1 << 53) for p in row] for row in mechanism.counts]


def histogram(rows):
    """Distribution of the numbers of all reports, one row a person."""
    masses = {(0,) * len(rows[0]): Fraction(1)}
    for row in rows:
        found = {}
        for numbers, mass in masses.items():
            for y, p in enumerate(row):
                key = (*numbers[:y], numbers[y] + 1, *numbers[y + 1 :])
                found[key] = found.get(key, Fraction(0)) + mass * p
        masses = found
    return masses


def enumerated(table, n, a, pairs=None):
    """Largest excess over two answers of one person and the answers of all others."""
    best = Fraction(0)
    for others in itertools.combinations_with_replacement(range(len(table)), n - 1):
        rows = [histogram([*(table[z] for z in others), row]) for row in table]
        for x, k in pairs or itertools.permutations(range(len(table)), 2):
            best = max(best, sum(max(p - a * rows[k][key], 0) for key, p in rows[x].items()))
    return best


def response(n, epsilon):
    return lo.closed_forms.top_k(np.full(n, 1 / n), epsilon).mechanism


@pytest.mark.parametrize("seed", range(thorough_or(5, 30)))
def test_the_bounds_enclose_every_small_case(seed):
    rng = np.random.default_rng(seed)
    n, m, people = [(2, 2, 5), (2, 3, 4), (3, 2, 4), (3, 3, 3), (2, 2, 3)][seed % 5]
    values = rng.dirichlet(np.ones(m), n)
    if seed % 3 == 0:
        values[0, 0] = 0.0
    channel = lo.Mechanism(values / values.sum(axis=1, keepdims=True))
    pairs = [(0, 1)] if seed % 4 == 0 else None
    curve = shuffled(channel, people, pairs=pairs)
    for epsilon in (0.0, 0.2, 0.9):
        a = lo.Budget(epsilon).enclosure()[1]
        exact = enumerated(rows_of(channel), people, a, pairs)
        assert curve.delta(epsilon) >= exact
        assert curve.delta_lower(epsilon) <= exact
        if curve.is_attained:
            assert float(curve.delta(epsilon)) == pytest.approx(float(exact), rel=1e-12)
            assert curve.delta_lower(epsilon) == pytest.approx(float(exact), rel=1e-12)
    assert curve.sources[0][0].losses[0].excess(Fraction(5, 4)) >= enumerated(
        rows_of(channel), people, Fraction(5, 4), pairs
    )


@pytest.mark.parametrize(
    "answers, n, upper, lower",
    [
        (5, 100, 0.3636, 0.3605),
        pytest.param(2, 100, 0.4837, 0.4837, marks=pytest.mark.long),
        pytest.param(10, 100, 0.2693, 0.2681, marks=pytest.mark.long),
        pytest.param(5, 1000, 0.1080, 0.1080, marks=pytest.mark.long),
    ],
)
def test_measured_figures_at_one_in_a_million(answers, n, upper, lower):
    curve = shuffled(response(answers, 1.0), n)
    found = curve.epsilon(1e-6)
    assert round(found, 4) == upper
    assert curve.delta(found) <= Fraction(1e-6)
    assert curve.delta_lower(lower - 1.5e-3 * lower) > 1e-6


@pytest.mark.long
def test_ten_thousand_people_are_certified():
    curve = shuffled(response(5, 1.0), 10_000)
    assert 1.0025e-6 * 0.995 < curve.delta_lower(0.0314) <= float(curve.delta(0.0314)) < 1.0065e-6


def test_the_positive_part_of_a_sum_is_above_the_exact_one():
    values = [Fraction(7, 3), Fraction(-5, 2)]
    masses = [Fraction(1, 5), Fraction(2, 5)]
    n = 12
    sums = {Fraction(0): Fraction(1)}
    for _ in range(n):
        found = {}
        for total, mass in sums.items():
            for value, p in [
                (values[0], masses[0]),
                (values[1], masses[1]),
                (Fraction(0), Fraction(2, 5)),
            ]:
                found[total + value] = found.get(total + value, Fraction(0)) + mass * p
        sums = found
    exact = sum(total * mass for total, mass in sums.items() if total > 0)
    for fineness in (2, 16, 64):
        found = positive_part(values, masses, n, fineness)
        assert exact <= found <= exact * (1 + Fraction(1, 2 * fineness))


def test_a_sum_on_a_coarser_lattice_is_above_the_exact_one_and_close():
    n = 400  # coins whose sum is known exactly, and has more than 1000 places to a deviation
    p = Fraction(5, 8)
    values = [Fraction(100, 97), Fraction(-171, 89)]
    exact = Fraction(0)
    for k in range(n + 1):
        total = k * values[0] + (n - k) * values[1]
        exact += math.comb(n, k) * p**k * (1 - p) ** (n - k) * max(total, 0)
    found = [positive_part(values, [p, 1 - p], n, 64, places=each) for each in (1 << 20, 32, 8)]
    assert exact <= found[0] < found[1] < found[2] < exact * Fraction(21, 20)
    assert found[1] < exact * Fraction(1005, 1000)


def noisy_design(seed):
    """A channel whose pairs of answers differ by units of the masses only: two of 10 answers are
    reported, and some of these sets by two reports of equal ratios."""
    rng = np.random.default_rng(seed)
    sets = [*itertools.combinations(range(10), 2), (0, 1), (4, 7)]
    weights = [0.5 if each in [(0, 1), (4, 7)] else 1.0 for each in sets]
    likely = [[3.0 if x in each else 1.0 for each in sets] for x in range(10)]
    counts = (np.array(likely) * weights / 63 * 2.0**53).astype(np.int64)
    counts += rng.integers(-6, 7, counts.shape)
    counts[:, 0] += (1 << 53) - counts.sum(axis=1)
    return ChannelSource(counts, *all_pairs(10))


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_differ_by_the_rounding_of_masses_are_one_pair(seed):
    channel = noisy_design(seed)
    assert len(Blanket(channel, 5000).rows) == 1
    counts = channel.counts.tolist()
    least = channel.counts.min(axis=0).tolist()
    unit = 1 << 53
    a = Fraction(11, 10)
    found = Blanket(channel, 2).excess(a)
    for x, z in [(0, 1), (4, 7), (3, 8)]:
        values = [
            ((p - a * q) / m, Fraction(m, unit))
            for p, q, m in zip(counts[x], counts[z], least, strict=True)
        ]
        values.append((Fraction(0), 1 - sum(mass for _, mass in values)))
        exact = sum(
            max(first + second, 0) * mass * other
            for (first, mass), (second, other) in itertools.product(values, repeat=2)
        )
        assert exact / 2 <= found <= exact / 2 * (1 + Fraction(1, 20))


def test_pairs_of_other_ratios_stay_apart():
    table = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    assert len(Blanket(compared(table, None), 1000).rows) == 3  # three more by the symmetry


def variation_ratio(e, n, k, a):
    """The formula of the variation ratio for k-ary randomized response, exactly (Wang et al.
    2023)."""
    beta = Fraction(e - 1, e + k - 1)
    share = beta / (e - 1)
    mine = [e * share, share, 1 - (e + 1) * share]
    others = [share, share, 1 - 2 * share]
    total = Fraction(0)
    for numbers in itertools.product(range(n + 1), repeat=2):
        if sum(numbers) <= n:
            counts = [*numbers, n - sum(numbers)]
            ways = math.factorial(n) // math.prod(map(math.factorial, counts))
            mass = ways * math.prod(
                (w**c for w, c in zip(others, counts, strict=True)), start=Fraction(1)
            )
            gains = [mine[0] - a * mine[1], mine[1] - a * mine[0], (1 - a) * mine[2]]
            if others[2] or not counts[2]:
                value = sum(g * c / w for g, c, w in zip(gains, counts, others, strict=True) if w)
                total += mass * max(value, 0)
    return total / n


@pytest.mark.parametrize(
    "e, a, formula, truth", [(3, "3/2", 0.07497428, 0.07529578), (9, "3", 0.27842882, 0.27846901)]
)
def test_the_variation_ratio_is_no_upper_bound_for_randomized_response(e, a, formula, truth):
    a, k, n = Fraction(a), 4, 5
    table = [[Fraction(e if x == y else 1, e + k - 1) for y in range(k)] for x in range(k)]
    exact = enumerated(table, n, a, [(0, 1)])
    claimed = variation_ratio(e, n, k, a)
    assert float(exact) == pytest.approx(truth, abs=5e-9)
    assert float(claimed) == pytest.approx(formula, abs=5e-9)
    assert claimed < exact
    floats = np.array([[float(p) for p in row] for row in table])
    curve = shuffled(lo.Mechanism(floats / floats.sum(axis=1, keepdims=True)), n)
    assert float(curve.upper.excess(a)) >= float(exact) * (1 - 1e-12)


def test_shuffled_waves_and_divergences():
    curve = shuffled(response(3, 1.0), 30)
    twice = compose([(curve, 2)])
    assert curve.delta(0.3) < twice.delta(0.3) < 1
    assert not twice.is_attained
    assert curve.epsilon(0.0) == pytest.approx(1.0)
    assert 0.5 < curve.guess() < twice.guess() < response(3, 1.0).audit().epsilon
    assert 0 < curve.renyi(1) < curve.renyi(2) < curve.renyi(8) < 1.0
    assert curve.tradeoff()[:, 1] == pytest.approx(np.sort(curve.tradeoff()[:, 1])[::-1])


def test_the_target_keeps_the_promise_and_is_the_largest():
    for people, answers in [(thorough_or(12, 30), 3), (thorough_or(30, 100), 2)]:
        found = target(people, 0.5, 1e-3, answers)
        assert shuffled(response(answers, found), people).delta(0.5) <= Fraction(1e-3)
        assert shuffled(response(answers, found * 1.002), people).delta(0.5) > Fraction(1e-3)
    assert target(50, 5.0, 0.5, most=0.1) == 0.1
    pure = target(20, 0.5, 0.0)  # nobody can hide among equal reports
    assert pure == 0.5
    assert shuffled(response(2, pure * 1.01), 20).delta(0.5) > 0


def twice(epsilon):
    """Two questions with this epsilon each, in one message."""
    coin = response(2, epsilon).channel
    return lo.Mechanism(np.kron(coin, coin))


def far_more(epsilon):
    """Two questions with an epsilon that is not in proportion."""
    return twice(10 * epsilon**2)


@pytest.mark.parametrize(
    ("people", "epsilon", "delta"),
    [(thorough_or(8, 20), 1.0, 1e-6), (thorough_or(3, 5), 1.0, 0.0), (5, 0.0, 1e-3)],
)
def test_the_target_of_a_family_is_tested_also_below_the_promise(people, epsilon, delta):
    for family in thorough_or((far_more if epsilon else twice,), (twice, far_more)):
        found = target(people, epsilon, delta, family)
        assert shuffled(family(found), people).delta(epsilon) <= Fraction(delta)
        assert shuffled(family(found * 1.002 + 1e-9), people).delta(epsilon) > Fraction(delta)


@pytest.mark.parametrize(
    ("people", "rough"), [(20, "rough_largest"), (thorough_or(201, 1000), "rough_excess")]
)
def test_floats_that_find_too_little_prove_nothing(people, rough, monkeypatch):
    usual = getattr(shuffling, rough)
    monkeypatch.setattr(shuffling, rough, lambda *args: 0.9 * usual(*args))
    found = target(people, 0.5, 1e-3)
    assert shuffled(response(2, found), people).delta(0.5) <= Fraction(1e-3)


@cases(6)
@given(st.integers(1, 6), st.floats(0, 3), st.sampled_from([0.0, 1e-9, 1e-3, 0.3]), st.data())
def test_every_target_keeps_its_promise(people, epsilon, delta, data):
    factor = data.draw(st.floats(0.1, 20))
    answers = data.draw(st.integers(2, 3))
    most = data.draw(st.sampled_from([0.3, 1.0, 5.0]))

    def family(local):
        return response(answers, factor * local)

    found = target(people, epsilon, delta, family, most=most)
    assert 0 <= found <= most
    assert shuffled(family(found), people).delta(epsilon) <= Fraction(delta)
    found = target(people, epsilon, delta, answers, most=most)
    assert shuffled(response(answers, found), people).delta(epsilon) <= Fraction(delta)


def test_a_family_that_never_keeps_the_promise_is_refused():
    with refused("promise"):
        target(20, 1.0, 1e-3, lambda local: np.eye(2))
    with refused("promise"):
        target(20, 0.0, 0.0, lambda local: response(2, 1.0 + local))


@pytest.mark.parametrize(
    "call",
    [
        lambda: shuffled(response(2, 1.0), 0),
        lambda: target(10, 1.0, 2.0),
        lambda: target(10, 1.0, 0.1, most=-1.0),
        lambda: target(10, 1.0, 0.1, most=float("nan")),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(lo.errors.StatementError):
        call()


@pytest.mark.parametrize("people", [1, 2, 5, 300])
@pytest.mark.parametrize(
    "table", [np.eye(2), np.eye(3), [[1.0, 0.0], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]]
)
def test_certain_and_constant_reports_are_between_0_and_1(people, table):
    curve = shuffled(table, people)
    together = compose([curve, response(2, 1.0)])
    for epsilon in (0.0, 0.5, 2.0):
        assert 0 <= curve.delta_lower(epsilon) <= curve.delta(epsilon) <= 1
        assert 0 <= together.delta_lower(epsilon) <= together.delta(epsilon) <= 1
    for found in (curve, together):
        assert found.tradeoff().min() >= 0
        assert found.renyi(1) <= found.renyi(2) <= found.renyi(1000)


@pytest.mark.parametrize(
    "people, answers, local",
    [
        *((3, 3, 1.0), (40, 4, 2.0), (50, 2, 1.0)),
        *thorough_or([], [(500, 4, 1.0), (3000, 5, 1.0), (5000, 3, 0.5)]),
    ],
)
def test_floats_find_what_is_proved(people, answers, local):
    """The blanket by one transform is next to the certified one. Two places of a lattice in place
    of a value raise the variance by at most a quarter of a squared step, and the deviation by a
    share of ``1 / (8 FINENESS**2)``: far in the tail that is much of delta, but little of epsilon.
    """
    source = compared(response(answers, local), None)
    blanket = Blanket(source, people)
    raised = 1 + 1 / (8 * FINENESS**2)
    for share in (0.25, 1.0, 4.0):
        epsilon = share / math.sqrt(people)
        rough = rough_excess(blanket, math.exp(epsilon))
        proved = float(blanket.excess(Fraction(math.exp(epsilon))))
        wider = raised * float(blanket.excess(Fraction(math.exp(epsilon / raised))))
        assert proved * (1 - 1e-3) <= rough <= wider


@pytest.mark.parametrize("people", [1, 2, thorough_or(30, 100)])
@pytest.mark.parametrize("pairs", [None, [(1, 0)]])
def test_floats_find_what_is_proved_of_all_data_sets(people, pairs):
    source = compared(np.array([[0.8, 0.2], [0.3, 0.7]]), pairs)
    for a in (0.7, 1.0, 1.3, 2.5):
        proved = float(LargestExcess(source, people).excess(Fraction(a)))
        assert rough_largest(source, people, a) == pytest.approx(proved, rel=1e-10, abs=1e-15)


def test_the_bound_below_1_follows_from_that_above_1():
    source = Shuffled(compared(response(4, 1.0), None), 25)
    for a in (Fraction(4, 5), Fraction(19, 20)):
        direct = source.upper.excess(a)
        assert float(source._excess(a)) == pytest.approx(float(direct), rel=1e-3)
    one_sided = Shuffled(compared(response(4, 1.0), [(0, 1)]), 25)
    assert one_sided._excess(Fraction(4, 5)) == one_sided._interpolated.excess(Fraction(4, 5))


def test_an_epsilon_of_shuffled_reports_has_a_lower_side():
    curve = shuffled(response(3, 1.0), 30)
    found = curve.epsilon(1e-3)
    assert curve.delta(found) <= Fraction(1e-3) < curve.delta(found * (1 - 1e-4))
    lower = curve.epsilon_lower(1e-3)
    assert 0 < lower <= found
    assert curve.delta_lower(lower) > 1e-3
    assert curve.looseness(1e-3) == pytest.approx((found - lower) / found)
    assert curve.looseness(0.0) < 1e-12
    assert "at least" not in curve.facts().text()


def test_questions_with_the_same_probabilities_are_bounded_once():
    coin = response(2, 1.0)
    survey = lo.Survey({"a": coin, "b": coin, "c": response(3, 1.0)})
    sources = [source for source, _ in survey.account(people=20).sources]
    assert sources[0] is sources[1] is not sources[2]


@pytest.mark.long
def test_the_target_of_ten_thousand_people():
    found = target(10_000, 1.0, 1e-6, 10)
    assert found == pytest.approx(5.508, rel=1e-3)
    assert shuffled(response(10, found), 10_000).delta(1.0) <= Fraction(1e-6)
    assert shuffled(response(10, found * 1.002), 10_000).delta(1.0) > Fraction(1e-6)


def delta_of_response(n: int, local: float, people: int, epsilon: float) -> float:
    """The blanket's bound for randomized response, by enumeration of how many of the people give
    each of two answers, or another one, whatever they think.
    """
    from scipy.stats import binom

    a, b = math.exp(local), math.exp(epsilon)
    q = 1 / (a + n - 1)
    first, second = np.indices((90, 90))
    chances = binom.pmf(first, people, q) * binom.pmf(second, people - first, q / (1 - q))
    gains = first * (a - b) + second * (1 - a * b)
    total = 0.0
    for i, j in np.argwhere((gains > 0) & (chances >= 1e-30)):
        rest = people - i - j
        others = np.arange(rest + 1)
        masses = binom.pmf(others, rest, (n - 2) * q / (1 - 2 * q))
        total += chances[i, j] * float(np.maximum(gains[i, j] + others * (1 - b), 0) @ masses)
    return total / people


@pytest.mark.parametrize(
    ("answers", "people"), [(8, 300), pytest.param(100, 1000, marks=pytest.mark.long)]
)
def test_a_target_of_frequencies_takes_single_answers(answers: int, people: int) -> None:
    """The bound at what is found is just below the promise, by enumeration apart."""
    budget, mechanism = accounting.target(people, 0.3, 1e-6, "frequencies", answers=answers)
    assert mechanism is budget.mechanism
    assert len(mechanism.outputs) == answers  # sets of one
    found = delta_of_response(answers, float(budget), people, 0.3)
    assert 0.98e-6 <= found <= 1e-6


def test_other_mechanisms_of_that_budget_say_so() -> None:
    people = thorough_or(250, 1000)
    budget, mechanism = accounting.target(people, 0.1, 1e-6, "frequencies", answers=10)
    assert float(budget) == pytest.approx(accounting.target(people, 0.1, 1e-6, 10), rel=1e-3)
    notion = lo.PureLDP(budget)
    pairs = lo.design(lo.Workload.frequencies(10), notion)  # takes pairs of answers
    assert any("shuffled" in note for note in pairs.notes)
    assert float(accounting.shuffled(pairs.mechanism, people).delta_lower(0.1)) > 1e-6
    assert accounting.shuffled(mechanism, people).delta(0.1) <= 1e-6
    unlisted = lo.design(lo.Workload.frequencies(100), notion)  # whose reports are not listed
    assert any("shuffled" in note for note in unlisted.notes)
    plain = lo.design(lo.Workload.frequencies(10), lo.PureLDP(float(budget)))
    assert not any("shuffled" in note for note in plain.notes)


def test_what_a_target_of_frequencies_refuses() -> None:
    with refused("answers"):
        accounting.target(100, 1.0, 1e-3, answers=4)  # type: ignore[call-overload]
    with refused("choice"):
        accounting.target(100, 1.0, 1e-3, "means", answers=4)  # type: ignore[call-overload]
    with refused("whole-number"):
        accounting.target(100, 1.0, 1e-3, "frequencies")  # type: ignore[call-overload]
