"""Closed forms of every mean protocol against 50-digit integrals of their densities, and against
simulation."""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from builders import thorough_or
from ldpopt import mean

# a hybrid is Duchi's up to 0.609
EPSILONS = thorough_or([0.1, 0.6, 10.0], [0.1, 0.6, 0.7, 1.0, 3.0, 10.0])
KINDS = mean.NumberProtocol.PUBLISHED


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(50):
        yield


class Distribution:
    """Atoms and a density with its break points, written from the definition in the paper."""

    def __init__(self, atoms=(), density=None, breaks=()):
        self.atoms = dict(atoms)
        self.density = density
        self.breaks = sorted(breaks)

    def integral(self, function):
        total = sum(function(y) * p for y, p in self.atoms.items())
        if self.density:
            total += mp.quad(lambda y: function(y) * self.density(y), self.breaks)
        return total

    def excess(self, other, ratio):
        """Hockey-stick divergence at ``ratio``."""
        total = sum(
            max(mpf(0), p - ratio * other.atoms.get(y, mpf(0))) for y, p in self.atoms.items()
        )
        if self.density:
            ends = sorted({*self.breaks, *other.breaks})
            for left, right in itertools.pairwise(ends):
                total += mp.quad(
                    lambda y: max(mpf(0), self.density(y) - ratio * other.density(y)), [left, right]
                )
        return total


def distribution(kind, epsilon, x):
    e, x = mpf(epsilon), mpf(x)
    big = mp.exp(e)
    s = mp.exp(e / 2)
    if kind is mean.Duchi:
        c = (big + 1) / (big - 1)
        return Distribution({c: (c + x) / (2 * c), -c: (c - x) / (2 * c)})
    if kind is mean.RandomCensoring:
        one = ((big - 1) * x + 1) / (big + 1)
        return Distribution({1: one, 0: 1 - one})
    if kind is mean.Laplace:
        # beyond: exp(-75)
        ends = [x + sign * reach / e for sign in (-1, 1) for reach in (0, 10, 40, 150)]
        return Distribution((), lambda y: e / 4 * mp.exp(-abs(y - x) * e / 2), set(ends))
    if kind is mean.SquareWave:
        w = (e * big - big + 1) / (2 * big * (big - 1 - e))
        q = 1 / (2 * w * big + 1)
        return Distribution(
            (), lambda y: q * big if abs(y - x) <= w else q, {-w, x - w, x + w, 1 + w}
        )
    c = (s + 1) / (s - 1)
    left = (c + 1) / 2 * x - (c - 1) / 2
    high = s / (s + 1) / (c - 1)
    low = (1 / (s + 1)) / (c + 1)
    assert kind in (mean.Piecewise, mean.Hybrid), (
        f"distribution() does not define {kind.__name__}: add its definition"
    )
    inside = lambda y: left <= y <= left + c - 1  # noqa: E731
    breaks = {-c, left, left + c - 1, c}
    if kind is mean.Piecewise:
        return Distribution((), lambda y: high if inside(y) else low, breaks)
    two = distribution(mean.Duchi, epsilon, x)
    if e <= mpf("0.6093525"):
        return two
    return Distribution(
        {y: p / s for y, p in two.atoms.items()},
        lambda y: (1 - 1 / s) * (high if inside(y) else low),
        breaks,
    )


def places(protocol):
    low, high = protocol.domain
    return [low, low + 0.3 * (high - low), (low + high) / 2, high]


@pytest.mark.parametrize(
    "kind, epsilon",
    [
        (kind, epsilon)
        for kind, epsilon in itertools.product(KINDS, EPSILONS)
        # its integrals take half a second each
        if kind is not mean.Laplace or thorough_or(False, True)
    ],
)
def test_mean_and_variance(kind, epsilon):
    protocol = kind(epsilon)
    for x in places(protocol):
        exact = distribution(kind, epsilon, x)
        assert abs(exact.integral(lambda y: mpf(1)) - 1) < 1e-20
        first = exact.integral(lambda y: y)
        assert float(first) == pytest.approx(
            protocol.offset + protocol.slope * x, rel=1e-9, abs=1e-12
        )
        spread = exact.integral(lambda y, m=first: (y - m) ** 2)
        assert protocol.variance(x) == pytest.approx(float(spread) / protocol.slope**2, rel=1e-9)


@pytest.mark.parametrize("epsilon", thorough_or([4.0], [0.1, 1.0, 4.0, 10.0]))
@pytest.mark.parametrize("kind", [k for k in KINDS if k is not mean.Laplace])
def test_epsilon_and_delta(kind, epsilon):
    protocol = kind(epsilon)
    audit = protocol.audit()
    rows = [distribution(kind, epsilon, x) for x in places(protocol)]
    assert audit.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert audit.epsilon <= epsilon
    assert max(a.excess(b, mp.exp(mpf(epsilon))) for a in rows for b in rows) < 1e-30
    for budget in (0.0, epsilon / 2, 0.999 * epsilon):
        worst = max(a.excess(b, mp.exp(mpf(budget))) for a in rows for b in rows)
        assert worst > 0
        assert audit.delta_at(budget) == pytest.approx(float(worst), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_delta_of_laplace(epsilon, share):
    """Between -1 and 1 the densities have the ratio ``exp(budget)`` at one point: the event lies
    above it."""
    e = mpf(epsilon)
    cut = mpf(share)
    from_high = 1 - mp.exp(-(1 - cut) * e / 2) / 2
    from_low = mp.exp(-(cut + 1) * e / 2) / 2
    exact = from_high - mp.exp(e * share) * from_low
    assert mean.Laplace(epsilon).audit().delta_at(epsilon * share) == pytest.approx(
        float(exact), rel=1e-9
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_random_censoring_with_any_shifts(epsilon):
    big = mp.exp(mpf(epsilon))
    for delta1, delta2 in [
        (0.5, 0.2),
        (0.99, 0.5),
        (-0.3, 0.4),
        (0.0, 0.05),
        (1.0, math.exp(-epsilon)),
        (0.0, -0.5),
    ]:
        if delta2 - delta1 >= math.expm1(epsilon):
            continue
        protocol = mean.RandomCensoring(epsilon, delta1, delta2)
        c = (1 + mpf(delta2)) / (big + 1)
        top = (big + mpf(delta1)) / (big + 1)
        ratios = [top / c, (1 - c) / (1 - top) if top < 1 else mp.inf]
        assert protocol.audit().epsilon == pytest.approx(float(mp.log(max(ratios))), rel=1e-9)
        for budget in (0.0, epsilon / 2, epsilon, 2 * epsilon):
            a = mp.exp(mpf(budget))
            exact = max(mpf(0), top - a * c, (1 - c) - a * (1 - top))
            assert protocol.audit().delta_at(budget) == pytest.approx(
                float(exact), rel=1e-9, abs=1e-15
            )
        for x in (0.0, 0.3, 1.0):
            p = c + (top - c) * mpf(x)
            assert protocol.variance(x) == pytest.approx(
                float(p * (1 - p) / (top - c) ** 2), rel=1e-9
            )


@pytest.mark.parametrize("epsilon", thorough_or([0.7], [0.1, 0.7, 3.0, 10.0]))
@pytest.mark.parametrize("kind", [*KINDS, "designed", "opt"])
def test_simulation(kind, epsilon):
    if kind == "designed":
        size = 2 / math.tanh(epsilon / 2)
        protocol = mean.designed(np.linspace(-1, 1, 5), np.linspace(-size, size, 21), epsilon)
    elif kind == "opt":
        protocol = mean.RandomCensoring(epsilon, 1.0, math.exp(-epsilon))
    else:
        protocol = kind(epsilon)
    low, high = protocol.domain
    n = 100_000
    for x in (low, low + 0.37 * (high - low), high):
        reports = protocol.privatize(np.full(n, x), rng=12)
        values = (reports - protocol.offset) / protocol.slope
        variance = protocol.variance(x)
        assert abs(values.mean() - x) <= 5 * math.sqrt(variance / n) + 1e-12
        fourth = ((values - x) ** 2).var()
        assert (
            abs(((values - x) ** 2).mean() - variance)
            <= 5 * math.sqrt(fourth / n) + 1e-9 * variance + 1e-20
        )
        assert protocol.estimate(reports).values[0] == pytest.approx(values.mean())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_designed_is_better_than_all_on_the_same_grid(epsilon):
    """The grid has Duchi's two points; between its values the whole domain's worst case is still
    below the others."""
    size = 1 / math.tanh(epsilon / 2)
    best = mean.designed(np.linspace(-1, 1, 9), np.linspace(-2 * size, 2 * size, 41), epsilon)
    assert best.audit().verdict == "certified"
    assert best.certificate.relative_gap < 1e-9
    assert best.bias < 1e-9
    assert best.grid_variance == pytest.approx(best.bound, rel=1e-9)
    assert best.worst_case_variance <= best.grid_variance + 0.25**2 / 4 + 1e-9
    for rival in (mean.Duchi(epsilon), mean.Piecewise(epsilon), mean.Hybrid(epsilon)):
        assert best.grid_variance <= rival.variance(best.values).max() * (1 + 1e-9)
        assert best.worst_case_variance <= rival.worst_case_variance


@pytest.mark.parametrize("m", [1, 2, 5, 36, 101])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_all_attributes_in_one_report(epsilon, m):
    """Size, variance and delta from the published formulas (Nguyen et al. 2016), in binomials."""
    big = mp.exp(mpf(epsilon))
    protocol = mean.DuchiVector(epsilon, m)
    near = mpf(2) ** (m - 1) - (mp.binomial(m, m // 2) / 2 if m % 2 == 0 else 0)
    weight = 1 / (near * (big - 1) + mpf(2) ** m)
    size = 1 / (weight * (big - 1) * mp.binomial(m - 1, m // 2))
    assert protocol.size == pytest.approx(float(size), rel=1e-9)
    assert protocol.variance(0.3) == pytest.approx(float(size**2 - mpf(0.3) ** 2), rel=1e-9)
    assert protocol.audit().epsilon == pytest.approx(epsilon, rel=1e-9)
    for share in (0.0, 0.5, 0.999):
        exact = near * weight * (big - mp.exp(mpf(epsilon) * share))
        assert protocol.audit().delta_at(epsilon * share) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("method", ["ratio", "horvitz_thompson"])
@pytest.mark.parametrize("kind", [mean.Duchi, mean.RandomCensoring, mean.SquareWave])
def test_sampled_error_is_the_predicted_one(kind, method):
    protocol = mean.sampled(kind(1.0), attributes=3, method=method)
    low, high = protocol.domain
    x = np.array([low, low + 0.4 * (high - low), high])
    users, runs = 2000, thorough_or(50, 200)
    rng = np.random.default_rng(5)
    found = [
        protocol.estimate(protocol.privatize(np.tile(x, (users, 1)), rng=rng)) for _ in range(runs)
    ]
    values = np.array([f.values for f in found])
    variance = np.array([protocol.variance(v) for v in x]) / users
    assert np.all(np.abs(values.mean(axis=0) - x) < 5 * np.sqrt(variance / runs))
    assert np.allclose(values.var(axis=0) / variance, 1, atol=5 * math.sqrt(2 / runs))
    errors = np.array([f.std_error for f in found]).mean(axis=0)
    assert np.allclose(errors**2 / variance, 1, atol=0.1)
