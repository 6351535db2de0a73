"""Mean protocols: arguments, reports, estimates, extreme budgets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from builders import refused
from ldpopt import PureLDP, mean
from ldpopt.errors import InfeasibleError, StatementError
from ldpopt.foundation.seeds import generator_of
from ldpopt.mean.designed import cells

KINDS = mean.NumberProtocol.PUBLISHED
OTHERS = {"Designed", "NoPrivacy"}
"""Protocols that are not made from a budget."""
EXTREMES = [1e-9, 1e-6, 1e-4, 0.00499, 0.00501, 0.02, 30.0, 100.0, 700.0, 10_000.0]


def test_every_protocol_is_published():
    public = {
        name
        for name in mean.__all__
        if mean.NumberProtocol in getattr(vars(mean)[name], "__mro__", ())[1:]
    }
    forgotten = public - OTHERS - {kind.__name__ for kind in KINDS}
    assert not forgotten, (
        f"write class {forgotten}(NumberProtocol, published=True): these tests use it then"
    )


@pytest.mark.parametrize("epsilon", EXTREMES)
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_budgets(kind, epsilon):
    protocol = kind(epsilon)
    low, high = protocol.domain
    audit = protocol.audit()
    assert (audit.verdict, audit.delta) == ("certified", 0.0)
    # Masses of 2**-53 cannot spend more than about 36 nats on a bit, or 64 on a band of one cell.
    assert min(epsilon, 36.0) * (1 - 1e-5) <= audit.epsilon <= epsilon
    assert 0 <= audit.delta_at(epsilon) < 1e-15 * max(1, epsilon)
    assert protocol.bias <= max(1e-9, 1e-9 / epsilon)
    assert 0 < audit.delta_at(0.0) <= 1
    assert np.isfinite(protocol.variance([low, (low + high) / 2, high])).all()
    assert protocol.worst_case_variance > 0
    reports = protocol.privatize(np.linspace(low, high, 1000), rng=1)
    assert np.isfinite(reports).all()
    assert abs(protocol.estimate(reports).values[0] - (low + high) / 2) < 6 * math.sqrt(
        protocol.worst_case_variance / 1000 + (high - low) ** 2 / 12 / 1000
    )


@pytest.mark.parametrize("kind", KINDS)
def test_variance_grows_like_one_over_epsilon_squared(kind):
    """Nothing cancels: at tiny budgets ``epsilon**2`` times the variance has a limit."""
    limits = [kind(e).worst_case_variance * e**2 for e in (1e-9, 1e-7, 1e-5)]
    assert limits[0] == pytest.approx(limits[1], rel=1e-5)
    assert limits[0] == pytest.approx(limits[2], rel=1e-4)


def test_square_wave_series_meets_the_formula():
    below = mean.SquareWave(0.005 * (1 - 1e-12))
    above = mean.SquareWave(0.005)
    assert below.width == pytest.approx(above.width, rel=1e-11)


@pytest.mark.parametrize("epsilon", [*EXTREMES, 0.1, 1.0, "log(3)"])
def test_bits_are_private_for_the_real_ratio(epsilon):
    protocol = mean.RandomCensoring(epsilon)
    low, high = protocol.counts
    ratio = protocol.epsilon.enclosure()[1]
    assert Fraction(high, low) <= ratio
    assert Fraction(2**53 - low, 2**53 - high) <= ratio
    assert protocol.mechanism.audit(PureLDP(epsilon)).verdict == "certified"
    assert mean.Duchi(epsilon).mechanism.audit(PureLDP(epsilon)).verdict == "certified"


def test_log_three_is_the_coin():
    assert mean.RandomCensoring("log(3)").mechanism.channel.tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("kind", KINDS)
def test_worst_case_is_the_largest_variance(kind):
    for epsilon in (0.2, 0.8, 3.0):
        protocol = kind(epsilon)
        grid = protocol.variance(np.linspace(*protocol.domain, 1001))
        assert protocol.worst_case_variance == pytest.approx(grid.max(), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_repeat_with_a_seed_and_only_with_it(kind):
    protocol = kind(1.0)
    x = np.full(100, 0.4)
    assert np.array_equal(protocol.privatize(x, rng=7), protocol.privatize(x, rng=7))
    assert np.array_equal(protocol.privatize(x, rng=7), protocol.privatize(x, rng=generator_of(7)))
    assert not np.array_equal(protocol.privatize(x), protocol.privatize(x))
    assert len(protocol.privatize([], rng=1)) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [[1.5], [-2.0], [math.nan], [0.1, math.inf], ["a"]])
def test_answers_outside_the_domain_are_refused(kind, x):
    with pytest.raises(StatementError):
        kind(1.0).privatize(x, rng=1)
    with pytest.raises(StatementError):
        kind(1.0).variance(x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reports", [[], [[1.0]], [math.nan], ["a"]])
def test_impossible_reports_are_refused(kind, reports):
    with pytest.raises(StatementError):
        kind(1.0).estimate(reports)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_a_vector(kind):
    for x in (0.5, [[0.5, 0.5]]):
        with refused("vector"):
            kind(1.0).privatize(x, rng=1)


def test_reports_of_another_budget_are_refused():
    with refused("reports"):
        mean.Duchi(2.0).estimate(mean.Duchi(1.0).privatize([0.0, 0.5], rng=1))
    with refused("report-values"):
        mean.Duchi(1.0).estimate([0.5])
    with refused("report-values"):
        mean.RandomCensoring(1.0).estimate([0.5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "x"])
def test_bad_budgets_are_refused(kind, epsilon):
    with pytest.raises(StatementError):
        kind(epsilon)


@pytest.mark.parametrize(
    "shifts", [(1.1, 0.0), (0.0, -1.1), (0.0, 2.0), (math.nan, 0.0), ("a", 0.0)]
)
def test_bad_intervals_are_refused(shifts):
    with pytest.raises(StatementError):
        mean.RandomCensoring(1.0, *shifts)


def test_an_asymmetric_private_interval_is_certified():
    protocol = mean.RandomCensoring(1.0, delta1=0.01, delta2=0.1)
    assert protocol.audit().verdict == "certified"
    assert protocol.mechanism.audit().epsilon <= 1.0


def test_standard_errors_of_one_report_and_of_equal_ones_are_the_worst_case():
    protocol = mean.RandomCensoring(1.0)
    assert protocol.estimate([1]).std_error[0] == pytest.approx(
        math.sqrt(protocol.worst_case_variance)
    )
    assert protocol.estimate([1, 1, 1, 1]).std_error[0] == pytest.approx(
        math.sqrt(protocol.worst_case_variance / 4)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind):
    protocol = kind(1.0)
    x = np.full(500, 0.4)
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        low, high = protocol.estimate(protocol.privatize(x, rng=rng), confidence=0.9).interval[0]
        hits += low <= 0.4 <= high
    assert 0.83 <= hits / 200 <= 0.96


class TestDesigned:
    @pytest.mark.parametrize("power", [1, 3])
    def test_cells_are_those_of_bisection(self, power):
        """On grids with equal steps, where they are computed, and with others."""
        for size in (2, 3, 7, 33, 1000):
            grid = np.linspace(-1, 1, size) ** power * 1.7
            near = np.concatenate(
                [grid, np.nextafter(grid, 9), np.nextafter(grid, -9), [-5.0, 5.0]]
            )
            x = np.concatenate([near, np.random.default_rng(size).uniform(-1.7, 1.7, 2000)])
            assert np.array_equal(
                cells(grid, x), np.clip(np.searchsorted(grid, x, side="right") - 1, 0, size - 2)
            )

    def test_too_short_outputs_are_infeasible(self):
        with pytest.raises(InfeasibleError):
            mean.designed([-1, 0, 1], [-2, 0, 2], 1.0)

    def test_two_outputs_are_duchi(self):
        size = mean.Duchi(1.0).size * (1 + 1e-9)
        made = mean.designed([-1, 0, 1], [-size, size], 1.0)
        assert made.grid_variance == pytest.approx(mean.Duchi(1.0).worst_case_variance, rel=1e-6)

    def test_order_of_the_answers_does_not_matter(self):
        outputs = np.linspace(-5, 5, 21)
        first = mean.designed([-1, 0, 1], outputs, 1.0, prior=[0.1, 0.2, 0.7], objective="expected")
        second = mean.designed(
            [1, -1, 0], outputs, 1.0, prior=[0.7, 0.1, 0.2], objective="expected"
        )
        assert first.variance(first.values) @ [0.1, 0.2, 0.7] == pytest.approx(
            second.variance([-1, 0, 1]) @ [0.1, 0.2, 0.7]
        )
        assert first.variance(first.values) @ [0.1, 0.2, 0.7] == pytest.approx(
            first.bound, rel=1e-9
        )
        worst = mean.designed([-1, 0, 1], outputs, 1.0)
        assert worst.grid_variance <= first.grid_variance + 1e-9
        assert first.bound <= worst.variance([-1, 0, 1]) @ [0.1, 0.2, 0.7] + 1e-9

    @pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 10.0, 30.0])
    def test_other_budgets(self, epsilon):
        size = 2 / math.tanh(epsilon / 2)
        made = mean.designed(np.linspace(-1, 1, 5), np.linspace(-size, size, 9), epsilon)
        assert made.audit().verdict == "certified"
        assert made.grid_variance <= mean.Duchi(epsilon).worst_case_variance * (1 + 1e-6)
        assert made.bias <= 1e-6 * size

    def test_bad_arguments(self):
        for values, outputs in (
            ([0], [-9, 9]),
            ([0, 0], [-9, 9]),
            ([0, 1], [9]),
            ([0, math.nan], [-9, 9]),
        ):
            with pytest.raises(StatementError):
                mean.designed(values, outputs, 1.0)
        with refused("worst-case-prior"):
            mean.designed([-1, 1], [-3, 3], 1.0, prior=[0.5, 0.5])
        made = mean.designed([-1, 1], [-3, 3], 1.0)
        with refused("report-values"):
            made.estimate([0.5])
        with refused("domain"):
            made.privatize([1.2])


class TestDistribution:
    @pytest.mark.parametrize("epsilon", [1.0, 4.0, 700.0, 760.0, 10_000.0])
    def test_shares_are_found(self, epsilon):
        rng = np.random.default_rng(4)
        shares = np.array([0.1, 0.4, 0.3, 0.2])
        x = (rng.choice(4, size=100_000, p=shares) + rng.random(100_000)) / 4
        wave = mean.SquareWave(epsilon)
        estimate = wave.estimate_distribution(wave.privatize(x, rng=1), bins=4)
        assert estimate.values.sum() == pytest.approx(1)
        assert np.all(np.abs(estimate.values - shares) < 5 * estimate.std_error)
        assert estimate.labels == (0.125, 0.375, 0.625, 0.875)

    @pytest.mark.parametrize("bins", [1, 2.5, True, 10_000])
    def test_bad_bins(self, bins):
        with pytest.raises(StatementError, match="bins"):
            mean.SquareWave(1.0).estimate_distribution([0.5], bins=bins)
