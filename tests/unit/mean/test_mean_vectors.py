"""Mean protocols for vectors: sampled attributes, several of them, and all in one report."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from builders import refused
from ldpopt import mean
from ldpopt.errors import StatementError

TOTAL = 2**53


class TestSampled:
    def test_horvitz_thompson_and_ratio_agree_on_the_mean(self):
        x = np.random.default_rng(1).random((200_000, 4))
        for method in ("ratio", "horvitz_thompson"):
            protocol = mean.sampled(mean.RandomCensoring(2.0), attributes=4, method=method)
            estimate = protocol.estimate(protocol.privatize(x, rng=2))
            assert np.all(np.abs(estimate.values - x.mean(axis=0)) < 5 * estimate.std_error)
            assert estimate.n_reports == 200_000

    def test_an_attribute_without_reports_is_nan(self):
        protocol = mean.sampled(mean.Duchi(1.0), attributes=50)
        estimate = protocol.estimate(protocol.privatize(np.zeros((2, 50)), rng=1))
        assert np.isnan(estimate.values).sum() >= 48

    @pytest.mark.parametrize("method", ["ratio", "horvitz_thompson"])
    def test_worst_case(self, method):
        size = 2 / math.tanh(0.5)
        made = mean.designed(np.linspace(-1, 1, 5), np.linspace(-size, size, 9), 1.0)
        for inner in (mean.SquareWave(1.0), mean.RandomCensoring(3.0), made):
            protocol = mean.sampled(inner, attributes=7, method=method)
            grid = protocol.variance(np.linspace(*protocol.domain, 2001))
            assert protocol.worst_case_variance == pytest.approx(grid.max(), rel=1e-5)
            assert protocol.worst_case_variance >= grid.max() * (1 - 1e-12)

    def test_the_ratio_is_better_on_bits(self):
        bits = mean.RandomCensoring(1.0)
        ratio, plain = (
            mean.sampled(bits, attributes=36, method=m) for m in ("ratio", "horvitz_thompson")
        )
        assert 1.3 < math.sqrt(plain.variance(0.5) / ratio.variance(0.5)) < math.sqrt(2)

    def test_bad_arguments(self):
        protocol = mean.sampled(mean.Duchi(1.0), attributes=3)
        for x in (np.zeros(3), np.zeros((2, 4)), np.full((2, 3), 1.5), np.full((2, 3), math.nan)):
            with pytest.raises(StatementError):
                protocol.privatize(x, rng=1)
        for attributes in (0, 1.5, True):
            with pytest.raises(StatementError):
                mean.sampled(mean.Duchi(1.0), attributes=attributes)
        with pytest.raises(StatementError, match="method"):
            mean.sampled(mean.Duchi(1.0), attributes=2, method="best")
        with refused("fields"):
            protocol.estimate(np.zeros(3))
        reports = protocol.privatize(np.zeros((5, 3)), rng=1)
        reports["attribute"][0] = 3
        with refused("attribute"):
            protocol.estimate(reports)


class TestSeveral:
    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_sets_of_attributes_are_distinct_and_equally_likely(self, k):
        protocol = mean.sampled(mean.Duchi(1.0), attributes=4, chosen=k)
        reports = protocol.privatize(np.zeros((12_000, 4)), rng=1)["attribute"].reshape(-1, k)
        sets = [tuple(sorted(row)) for row in reports.tolist()]
        assert all(len(set(row)) == k for row in sets)
        counts = [sets.count(choice) for choice in itertools.combinations(range(4), k)]
        assert sum(counts) == 12_000
        assert chisquare(counts).pvalue > 1e-6 if k < 4 else counts == [12_000]

    @pytest.mark.parametrize("method", ["ratio", "horvitz_thompson"])
    def test_errors_are_the_predicted_ones(self, method):
        protocol = mean.sampled(mean.Piecewise(1.5), attributes=5, method=method, chosen=3)
        x = np.array([-1.0, -0.5, 0.0, 0.2, 1.0])
        users = 500
        runs = 300
        rng = np.random.default_rng(5)
        found = [
            protocol.estimate(protocol.privatize(np.tile(x, (users, 1)), rng=rng))
            for _ in range(runs)
        ]
        values = np.array([f.values for f in found])
        variance = protocol.variance(x) / users
        assert np.all(np.abs(values.mean(axis=0) - x) < 5 * np.sqrt(variance / runs))
        assert np.allclose(values.var(axis=0) / variance, 1, atol=5 * math.sqrt(2 / runs))
        assert np.allclose(
            np.array([f.std_error for f in found]).mean(axis=0) ** 2 / variance, 1, atol=0.1
        )

    @pytest.mark.parametrize(
        "kind", [mean.Duchi, mean.Piecewise, mean.Hybrid, mean.SquareWave, mean.RandomCensoring]
    )
    def test_the_joint_audit_is_that_of_independent_reports(self, kind):
        alone = kind(0.8)
        k = 3
        joint = mean.sampled(alone, attributes=5, chosen=k).audit()
        assert joint.epsilon == pytest.approx(k * 0.8, rel=1e-9)
        # Masses of the events "in the band of the one", "of the other", "elsewhere", from the
        # single curve.
        likely = alone.audit().delta_at(0.0) / -math.expm1(-0.8)
        masses = np.array([likely, likely * math.exp(-0.8), 1 - likely * (1 + math.exp(-0.8))])
        other = masses[[1, 0, 2]]
        for budget in (0.0, 0.5, 1.5, 2.3):
            excess = sum(
                max(0.0, math.prod(masses[list(c)]) - math.exp(budget) * math.prod(other[list(c)]))
                for c in itertools.product(range(3), repeat=k)
            )
            assert joint.delta_at(budget) == pytest.approx(excess, rel=1e-9, abs=1e-15)

    def test_composition_bounds_the_rest(self):
        joint = mean.sampled(mean.Laplace(1.0), attributes=3, chosen=2).audit()
        assert (joint.verdict, joint.delta) == ("certified", 0.0)
        assert mean.Laplace(1.0).audit().delta_at(0.2) < joint.delta_at(0.4) < 1
        broken = mean.sampled(mean.rcp_opt(1.0), attributes=3, chosen=2).audit()
        assert (broken.epsilon, broken.verdict) == (math.inf, "violated")
        assert broken.delta_at(5.0) == pytest.approx(1 - math.exp(-2))

    @pytest.mark.parametrize(
        "epsilon, m, k", [(1.0, 36, 1), (5.0, 36, 2), (10.0, 36, 4), (10.0, 3, 3), ("log(9)", 9, 1)]
    )
    @pytest.mark.parametrize("make", [mean.piecewise_vector, mean.hybrid_vector])
    def test_wang_et_al_choose_that_many(self, make, epsilon, m, k):
        protocol = make(epsilon, m)
        assert protocol.chosen == k
        assert protocol.audit().verdict == "certified"
        assert protocol.audit().epsilon == pytest.approx(
            float(mean.Duchi(epsilon).epsilon), rel=1e-9
        )
        assert (
            protocol.protocol.epsilon.enclosure(k)[0] <= mean.Duchi(epsilon).epsilon.enclosure()[1]
        )

    def test_names(self):
        for make in (mean.harmony, mean.rcp_multiple):
            assert make(1.0, 4).audit().verdict == "certified"
        assert mean.rcp_multiple_opt(1.0, 4).audit().epsilon == math.inf

    @pytest.mark.parametrize("chosen", [0, 4, 1.5, True])
    def test_bad_numbers(self, chosen):
        with pytest.raises(StatementError, match="chosen"):
            mean.sampled(mean.Duchi(1.0), attributes=3, chosen=chosen)

    def test_rows_may_lie_in_any_order(self):
        x = np.random.default_rng(1).random((1000, 3))
        protocol = mean.sampled(mean.SquareWave(1.0), attributes=3)
        assert np.array_equal(
            protocol.privatize(x, rng=1), protocol.privatize(np.asfortranarray(x), rng=1)
        )
        assert len(protocol.privatize(x.astype(np.float32), rng=1)) == 1000


def signs(m):
    return np.array(list(itertools.product([-1, 1], repeat=m)))


def corner_rows(protocol):
    """Probabilities of the reports of each corner: a share for the open half-space, the rest for
    all."""
    share = Fraction(protocol.levels.mass, TOTAL)
    corners = signs(protocol.attributes)
    near = int(np.count_nonzero(corners @ corners[0] > 0))
    return [
        [share / near * bool(z @ v > 0) + (1 - share) / len(corners) for z in corners]
        for v in corners
    ]


class TestDuchiVector:
    @pytest.mark.parametrize("epsilon", [0.5, "log(3)", 3.0])
    @pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
    def test_audit_and_mean(self, m, epsilon):
        protocol = mean.DuchiVector(epsilon, m)
        rows = corner_rows(protocol)
        corners = signs(m)
        audit = protocol.audit()
        assert all(sum(row) == 1 for row in rows)
        ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
        assert ratio <= protocol.epsilon.enclosure()[0]
        assert audit.verdict == "certified"
        assert audit.epsilon == pytest.approx(math.log(ratio), rel=1e-12)
        table = np.array([[float(mass) for mass in row] for row in rows])
        assert np.allclose(protocol.size * table @ corners, corners)
        for budget in (0.0, 0.2, 0.45):
            excess = [
                np.maximum(p - math.exp(budget) * q, 0).sum()
                for p, q in itertools.permutations(table, 2)
            ]
            assert audit.delta_at(budget) == pytest.approx(max(excess), rel=1e-9, abs=1e-15)

    @pytest.mark.parametrize("m", [1, 2, 3, 4])
    def test_draws_follow_the_distribution(self, m):
        protocol = mean.DuchiVector(1.0, m)
        n = 40_000
        for v, row in zip(signs(m), corner_rows(protocol), strict=True):
            reports = protocol.privatize(np.tile(v, (n, 1)), rng=3)
            codes = (reports == 1) @ (1 << np.arange(m))[::-1]
            assert (
                chisquare(
                    np.bincount(codes, minlength=2**m), [float(mass) * n for mass in row]
                ).pvalue
                > 1e-6
            )

    def test_one_attribute_is_duchi(self):
        assert mean.DuchiVector(1.0, 1).size == pytest.approx(mean.Duchi(1.0).size, rel=1e-15)
        assert mean.DuchiVector(1.0, 1).variance(0.3) == pytest.approx(
            mean.Duchi(1.0).variance(0.3)
        )

    @pytest.mark.parametrize("m", [2, 7, 36])
    def test_mean_and_variance(self, m):
        protocol = mean.DuchiVector(2.0, m)
        n = 40_000
        rng = np.random.default_rng(m)
        x = np.linspace(-1, 1, m)
        found = protocol.estimate(protocol.privatize(np.tile(x, (n, 1)), rng=rng))
        assert np.all(np.abs(found.values - x) < 5 * np.sqrt(protocol.variance(x) / n))
        assert np.allclose(found.std_error**2 * n / protocol.variance(x), 1, atol=0.1)
        assert protocol.worst_case_variance == pytest.approx(protocol.variance(0.0))

    @pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 30.0, 700.0, 10_000.0])
    @pytest.mark.parametrize("m", [1, 2, 36])
    def test_extreme_budgets(self, m, epsilon):
        protocol = mean.DuchiVector(epsilon, m)
        audit = protocol.audit()
        assert audit.verdict == "certified"
        assert min(epsilon, 36.0) * (1 - 1e-4) <= audit.epsilon <= epsilon
        assert 0 <= audit.delta_at(epsilon) < 1e-15 < audit.delta_at(0.0) <= 1
        found = protocol.estimate(protocol.privatize(np.full((1000, m), 0.5), rng=1))
        assert np.all(np.abs(found.values - 0.5) <= 6 * np.sqrt(protocol.variance(0.5) / 1000))

    def test_thousands_of_attributes(self):
        protocol = mean.DuchiVector(1.0, 3000)
        # 4**h / binom(2h, h) is near sqrt(pi h), and the share on the border is its inverse.
        assert protocol.size * math.tanh(0.5) == pytest.approx(
            math.sqrt(math.pi * 1500) - math.tanh(0.5), rel=1e-3
        )
        assert protocol.privatize(np.zeros((50, 3000)), rng=1).shape == (50, 3000)

    def test_bad_arguments(self):
        protocol = mean.DuchiVector(1.0, 2)
        for x in (np.zeros(2), np.zeros((3, 3)), [[0.0, 1.5]], [[0.0, math.nan]]):
            with pytest.raises(StatementError):
                protocol.privatize(x, rng=1)
        for reports in (
            np.zeros((0, 2)),
            np.ones((3, 3)),
            np.zeros((3, 2)),
            [["a", "b"]],
            np.ones(2),
        ):
            with pytest.raises(StatementError):
                protocol.estimate(reports)
        for attributes in (0, 1.5, True):
            with pytest.raises(StatementError, match="attributes"):
                mean.DuchiVector(1.0, attributes)
        assert "attributes=2" in repr(protocol)


@pytest.mark.parametrize("m", [2, 4])
def test_a_border_makes_the_uncorrected_mechanism_less_private_for_even_numbers(m):
    """Half-spaces chosen with odds exp(epsilon): the border in both costs ln(E + 1), in one ln(E
    (1+t) / (1-t))."""
    epsilon = 1.0
    corners = signs(m)
    border = math.comb(m, m // 2) / 2**m
    product = corners @ corners.T
    big = math.exp(epsilon)
    for near, expected in (
        (product >= 0, big + 1),
        (product > 0, big * (1 + border) / (1 - border)),
    ):
        sides = ((big / (big + 1), near), (1 / (big + 1), product <= 0))
        masses = sum(p * side / side.sum(axis=1, keepdims=True) for p, side in sides)
        assert np.allclose(masses.sum(axis=1), 1)
        assert (masses.max(axis=0) / masses.min(axis=0)).max() == pytest.approx(expected)
    assert mean.DuchiVector(epsilon, m).audit().epsilon <= epsilon
