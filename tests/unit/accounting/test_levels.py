"""Products on levels: enumeration in rationals from both sides, right values of up to a million
reports, warnings where levels are too few."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from ldpopt.accounting import compose, product
from ldpopt.accounting.on_levels import LevelProduct
from ldpopt.accounting.privacy_loss import PrivacyLoss


def response(n, epsilon):
    return lo.closed_forms.top_k(np.full(n, 1 / n), epsilon).mechanism


def law_of(rng):
    """Pairs of masses of the reports under two answers, in rationals."""
    m = int(rng.integers(1, 5))
    unit = int(rng.choice([7, 16, 40, 97]))
    first, second = (rng.multinomial(unit, rng.dirichlet(np.ones(m))) for _ in range(2))
    kind = rng.integers(5)
    if kind == 0:  # a report that is impossible under the other answer
        second = np.append(second[1:], second[0]) * (np.arange(m) > 0)
        second[-1] += unit - second.sum()
    if kind == 1:  # losses on a lattice
        first, second = np.array([[3, 3, 1], [1, 3, 3]])
        unit = 7
    if kind == 2:  # nothing in common
        first, second, unit = np.array([1, 0]), np.array([0, 1]), 1
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return [(Fraction(p, unit), Fraction(q, unit)) for p, q in pairs if p or q]


def enumerated(laws):
    """How often all reports together have a pair of masses; both masses are multiples of one unit,
    and integers are much faster than fractions.
    """
    numbers = {(1, 1): 1}
    unit = 1
    for law, times in laws:
        own = math.lcm(*(each.denominator for pair in law for each in pair))
        atoms = [(int(p * own), int(q * own)) for p, q in law]
        for _ in range(times):
            unit *= own
            more: dict[tuple[int, int], int] = {}
            for ((p, q), n), (r, s) in itertools.product(numbers.items(), atoms):
                key = (p * r, q * s)
                more[key] = more.get(key, 0) + n
            more.pop((0, 0), None)
            numbers = more
    return numbers, unit


def excess_of(numbers, unit, a):
    """What the first masses have above ``a`` times the second ones, in sum."""
    up, down = a.as_integer_ratio()
    above = (n * (p * down - q * up) for (p, q), n in numbers.items() if p * down > q * up)
    return Fraction(sum(above), unit * down)


def loss_of_pairs(law):
    atoms = [(p / q, p) for p, q in law if p and q]
    return PrivacyLoss.of(atoms, sum((p for p, q in law if not q), Fraction(0)))


def drawn_laws(rng):
    """Up to three questions, asked up to four times each, that can be enumerated."""
    while True:
        laws = [(law_of(rng), int(rng.integers(1, 5))) for _ in range(int(rng.integers(1, 4)))]
        if math.prod(len(law) ** times for law, times in laws) <= 20_000:
            return laws


@pytest.mark.parametrize("seed", thorough_or([0, 2, 3, 4, 6, 7], range(80)))
def test_both_sides_enclose_the_enumeration_in_rationals(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    laws = drawn_laws(rng)
    questions = [(loss_of_pairs(law), times) for law, times in laws]
    exact, unit = enumerated(laws)
    monkeypatch.setattr(product, "MAX_PRODUCTS", 0)  # nothing is listed
    levels = int(rng.choice([16, 100, 1000, 1 << 16]))
    upper = product.product(questions, is_upper=True, levels=levels)
    lower = product.product(questions, is_upper=False, levels=levels)
    ratios = sorted(Fraction(p, q) for p, q in exact if p and q) or [Fraction(1)]
    points = [
        Fraction(0),
        Fraction(1, 50),
        Fraction(1),
        Fraction(13, 10),
        Fraction(17, 2),
        ratios[-1],
    ]
    points += [ratios[int(rng.integers(len(ratios)))] for _ in range(3)]
    for a in points:
        excess = excess_of(exact, unit, a)
        assert lower.excess(a) <= excess <= upper.excess(a)


@pytest.mark.parametrize("tail", [4, 10])
def test_tails_that_are_large_stay_on_their_sides(tail, monkeypatch):
    from ldpopt.accounting import on_levels
    from ldpopt.accounting.window import Resolution

    coarse = (Resolution(20, tail, Fraction(0)),)
    monkeypatch.setattr(on_levels, "RESOLUTIONS", coarse)
    monkeypatch.setattr(product, "MAX_PRODUCTS", 0)
    for seed in range(thorough_or(10, 100)):
        rng = np.random.default_rng(1000 + seed)
        laws = drawn_laws(rng)
        questions = [(loss_of_pairs(law), times) for law, times in laws]
        exact, unit = enumerated(laws)
        upper = product.product(questions, is_upper=True, levels=64)
        lower = product.product(questions, is_upper=False, levels=64)
        for a in (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(40)):
            excess = excess_of(exact, unit, a)
            assert lower.excess(a) <= excess <= upper.excess(a)


OFF = [(2 + i % 7, (i + 1) ** 0.5 / 5) for i in range(20)]
ON = [(2 + i % 7, round(0.1 + 0.05 * i, 10)) for i in range(20)]


# sums of trinomial powers in 60 digits; a tilted transform at three tilts; a contour integral
@pytest.mark.parametrize(
    "asked, times, right, share",
    [
        ([(10, 0.5)], 10, 4.864948886, 1e-9),
        ([(10, 0.5)], 1000, 76.905982455, 1e-9),
        ([(10, 0.5)], 10_000, 452.365537835, 1e-9),
        ([(10, 0.5)], 20_000, 818.413121365, 1e-9),
        ([(10, 0.5)], 100_000, 3514.670706871, 1e-9),
        ([(10, 0.5)], 1_000_000, 31943.724850, 1e-9),
        pytest.param(ON, 1000, 2586.546114722, 1e-9, marks=pytest.mark.long),
        pytest.param(OFF, 1000, 2632.860082141, 1e-6, marks=pytest.mark.long),
    ],
)
def test_the_right_epsilon_of_many_reports(asked, times, right, share):
    curve = compose([(response(*each), times) for each in asked])
    digits = 10 ** -len(str(right).partition(".")[2])  # to which it is known
    found = curve.epsilon(1e-9)
    assert right - digits <= found <= right * (1 + share) + digits
    assert right * (1 - 1e-6) - digits <= curve.epsilon_lower(1e-9) <= right + digits
    assert curve.delta(found) <= Fraction(1e-9)
    assert curve.delta_lower(curve.epsilon_lower(1e-9)) >= 1e-9
    assert curve.looseness(1e-9) <= 2 * share


@pytest.mark.parametrize("delta", [1e-3, 1e-20, 1e-60, 1e-120])
def test_digits_follow_the_delta_that_is_asked(delta):
    curve = compose([(response(10, 0.5), 2000)])
    assert curve.looseness(delta) <= 1e-9
    assert curve.epsilon(delta) < curve.epsilon(0.0) == pytest.approx(1000)


def solved(n, epsilon, alpha):
    """The optimum to guess an answer, for a prior that is drawn: skewed if ``alpha`` is small."""
    prior = np.random.default_rng([n, alpha]).dirichlet(np.full(n, alpha))
    return lo.solve(lo.Problem(prior, "identity", lo.PureLDP(epsilon))).mechanism


SOLVED = [(n, e, alpha) for n, e in ((3, 0.4), (6, 0.8), (10, 0.5)) for alpha in (1, 3, 10, 1000)]


# two of them take as long as all others: one of these is in the usual set
@pytest.mark.parametrize(
    "n, epsilon, alpha",
    [pytest.param(*each, marks=[pytest.mark.long] * (each == (10, 0.5, 10))) for each in SOLVED],
)
def test_solved_mechanisms_have_both_sides_too(n, epsilon, alpha):
    """Their masses over 2**53 are not exactly on a lattice. If the prior is so skewed that the most
    likely answer is always guessed, all rows are equal, and both sides are 0.
    """
    mechanism = solved(n, epsilon, alpha)
    curve = compose([(mechanism, thorough_or(600, 5000))])
    upper = curve.epsilon(1e-9)
    lower = curve.epsilon_lower(1e-9)
    if (mechanism.counts == mechanism.counts[0]).all():
        assert lower == upper == 0
        return
    assert curve.is_attained
    assert 0 < upper * (1 - 1e-9) <= lower <= upper


def test_few_of_the_solved_mechanisms_are_constant():
    constant = [(m.counts == m.counts[0]).all() for m in itertools.starmap(solved, SOLVED)]
    assert 0 < sum(constant) <= 3


@pytest.mark.parametrize("n, epsilon", [(3, 0.4), (10, 0.5), (6, 0.8)])
def test_a_solved_mechanism_of_two_reports_is_enclosed_by_its_binomial_sums(
    n, epsilon, monkeypatch
):
    prior = np.array([0.4, 0.39, *np.full(n - 2, 0.21 / (n - 2))])  # the others are never guessed
    mechanism = lo.solve(lo.Problem(prior, "identity", lo.PureLDP(epsilon))).mechanism
    counts = mechanism.counts[:, (mechanism.counts > 0).any(axis=0)].astype(object)
    i = int(counts[:, 0].argmax())
    j = int(counts[:, 0].argmin())
    first = counts[i]
    second = counts[j]
    assert counts.shape[1] == 2
    assert first[0] > second[0]
    times = 200
    monkeypatch.setattr(product, "MAX_PRODUCTS", 0)  # nothing is listed
    pair = (mechanism.inputs[i], mechanism.inputs[j])
    curve = compose([(mechanism, times)], pairs=[pair])
    assert curve.upper.is_on_levels
    unit = int(first.sum()) ** times
    sums = [
        [
            math.comb(times, k) * int(row[0]) ** k * int(row[1]) ** (times - k)
            for row in (first, second)
        ]
        for k in range(times + 1)
    ]
    for a in (Fraction(1), Fraction(3, 2), Fraction(20), Fraction(10**6)):
        excess = sum(max(p - a * q, Fraction(0)) for p, q in sums) / unit
        assert curve.lower.excess(a) <= excess <= curve.upper.excess(a)
        assert float(curve.lower.excess(a)) == pytest.approx(float(excess), rel=1e-9)


def test_a_curve_that_is_loose_warns_and_says_how_much():
    curve = compose([(response(10, 0.5), 10_000)], levels=256)
    with pytest.warns(UserWarning, match="1e-09 .*upper bound"):
        assert curve.epsilon(1e-9) > 452.365537835
    assert curve.epsilon_lower(1e-9) < 452.365537835
    assert curve.looseness(1e-9) > 1e-3
    with pytest.warns(UserWarning, match="upper bound"):
        assert "at least" in curve.facts().text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(curve).startswith("PrivacyCurve(10000 reports, epsilon 5000")
        compose([(response(10, 0.5), 20_000)]).facts()


def test_reports_off_every_lattice_are_enclosed_closely():
    rng = np.random.default_rng(2)
    mechanism = lo.Mechanism(rng.dirichlet(np.ones(5) * 4, 2))
    levels, share = thorough_or((1 << 13, 1e-3), (1 << 16, 1e-4))
    curve = compose([(mechanism, 300)], pairs=[(0, 1)], levels=levels)
    assert curve.upper.is_on_levels
    assert curve.looseness(1e-6) < share
    finer = compose([(mechanism, 300)], pairs=[(0, 1)], levels=2 * levels)
    assert finer.epsilon(1e-6) <= curve.epsilon(1e-6)
    assert finer.epsilon_lower(1e-6) >= curve.epsilon_lower(1e-6)


def test_epsilons_beyond_those_of_a_budget():
    curve = compose([(response(10, 5.0), 5000)])
    found = curve.epsilon(1e-9)
    assert found > 10_000
    assert 0 < curve.delta(found) <= Fraction(1e-9)
    assert curve.delta(30_000.0) == 0
    assert curve.delta_lower(30_000.0) == 0
    with refused("large-epsilon"):
        curve.delta(1e9)


def test_impossible_reports_of_very_many():
    curve = compose([([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], 5000)])
    assert curve.epsilon(0.5) == math.inf == curve.epsilon_lower(0.5)
    assert curve.looseness(0.5) == 0.0
    rare = [[1 - 2.0**-30, 2.0**-30, 0.0], [1 - 2.0**-30, 0.0, 2.0**-30]]
    exact = -math.expm1(100_000 * math.log1p(-(2.0**-30)))
    assert float(compose([(rare, 100_000)]).delta(1.0)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("levels", [0, 15, 2.5, 1 << 25, None, "many"])
def test_a_number_of_levels_out_of_range_is_refused(levels):
    with pytest.raises(lo.errors.StatementError):
        compose([response(2, 1.0)], levels=levels)


def test_each_product_is_made_once(monkeypatch):
    curve = compose([(response(10, 0.5), 2000)])
    made = []
    make = LevelProduct._made

    def counted(self, resolution):
        made.append((self.is_upper, resolution.bits))
        return make(self, resolution)

    monkeypatch.setattr(LevelProduct, "_made", counted)
    for delta in (1e-3, 1e-6, 1e-9, 1e-30):
        curve.epsilon(delta)
        curve.looseness(delta)
    assert sorted(made) == sorted(set(made))
    assert len(made) == 4
