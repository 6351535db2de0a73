"""Properties of additive noise: exact levels, moments, densities and draws."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from builders import thorough_or
from ldpopt import noise as public
from ldpopt.noise import (
    Geometric,
    IntegerLevelNoise,
    Laplace,
    LevelNoise,
    NeighborPartition,
    Noise,
    Staircase,
)
from ldpopt.noise.intervals import is_inside, merge, minkowski_sum, symmetric


def random_sets(seed, count):
    """Blocks with whole ends, widenings in halves: floats are exact on them."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        blocks = 1 + i % 4
        ends = np.sort(rng.choice(np.arange(0, 20 * blocks), 2 * blocks, replace=False)).tolist()
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        if blocks == 2 and i % 3:
            pairs[0] = (0, pairs[0][1])
        yield pairs, int(rng.integers(1, 12)) / 2, rng


def slow_unions(pairs, d, last):
    """``B_0, B_1, ...`` widened, in quarters."""
    steps = symmetric(merge((4 * a, 4 * b) for a, b in pairs))
    core = [(0, 0)]
    found = []
    for _ in range(last + 1):
        found.append(merge((low - int(4 * d), high + int(4 * d)) for low, high in core))
        core = minkowski_sum(core, steps)
    return found, steps


def slow_level(found, point):
    return next(t for t, union in enumerate(found) if any(a <= point <= b for a, b in union))


def test_neighbors_differ_by_one_level_at_most_on_random_sets():
    for pairs, d, rng in random_sets(1, thorough_or(100, 400)):
        part = NeighborPartition(pairs, d)
        assert part.certify()
        n = part.steps
        c = max(b for _, b in pairs)
        found, steps = slow_unions(pairs, d, n + 3)
        for before, now in pairwise(found):
            assert is_inside(minkowski_sum(before, steps), now)
        end = found[n - 1][0][1]
        assert [len(u) for u in found[n - 1 :]] == [1] * 5
        assert [u[0][1] for u in found[n - 1 :]] == [end + 4 * j * c for j in range(5)]
        assert n == 1 or len(found[n - 2]) > 1 or n == 2  # one layer less would not do
        # Odd eighths lie on no border: the level function is exact there.
        points = rng.integers(-8 * (end // 4 + 2 * c), 8 * (end // 4 + 2 * c), 40) * 2 + 1
        levels = [slow_level(found, Fraction(int(p), 4)) for p in points]
        assert part.level(points / 16).tolist() == levels
        moves = np.array([rng.integers(8 * a, 8 * b + 1) / 8 for a, b in pairs])
        for v in moves:
            assert (
                np.abs(part.level(points / 16 + v + 1 / 64) - part.level(points / 16 + 1 / 64)) <= 1
            ).all()


def test_integer_levels_against_search():
    rng = np.random.default_rng(5)
    for _ in range(60):
        values = set(rng.integers(1, 14, rng.integers(1, 5)).tolist()) | {1}
        values = (
            values - {1} if rng.random() < 0.5 and math.gcd(*(values - {1} or {2})) == 1 else values
        )
        d = int(rng.integers(0, 3))
        part = NeighborPartition(values, d)
        assert part.certify()
        c = max(values)
        n = part.steps
        steps = [*values, *(-v for v in values)]
        now = set(range(-d, d + 1))
        level = {}
        for t in range(n + 3 + 2 * c):
            level |= dict.fromkeys(now - level.keys(), t)
            now = now | {k + s for k in now for s in steps}
        wide = (n + 2) * c
        assert all(
            level.get(k, 10**6) == t
            for k, t in enumerate(part.level(np.arange(wide)))
            if t < n + 2 * c
        )
        layer = [{k for k, t in level.items() if t == s and k >= 0} for s in range(n + 3)]
        assert {k + c for k in layer[n]} == layer[n + 1]
        assert {k + c for k in layer[n + 1]} == layer[n + 2]
        noise = part.noise("log(2)")
        z = sum(Fraction(1, 2) ** int(t) for k, t in level.items() if t < n)
        z += sum(1 for t in level.values() if t == n) * Fraction(1, 2) ** (n - 1)
        assert noise.normalizer == pytest.approx(float(z), rel=1e-12)


CONTINUOUS = [
    NeighborPartition([(0, 1), (20, 21)], 1.0).noise(0.7),
    NeighborPartition([(0, 1), (7, 9), (20, 21)], 0.5).noise(1.3),
    NeighborPartition([(3, 4)], 0.25).noise(0.4),
    Staircase(2.0, 1.5),
    Laplace(3.0, 0.8),
]
WHOLE = [
    NeighborPartition({1, 2, 9}, 0).noise(0.8),
    NeighborPartition({1, 2, 9}, 2).noise(1.5),
    NeighborPartition({1, 10}, 0).noise("log(3)"),
    NeighborPartition([(0, 1), (20, 21)], 1.0).noise(1.0).on_grid(0.5),
    Geometric(1, "log(3)"),
    Laplace(2.0, 1.0).on_grid(0.5),
]
CLASSES = [
    kind
    for name in public.__all__
    if inspect.isclass(kind := getattr(public, name)) and issubclass(kind, Noise)
]

BY_SENSITIVITY = [
    kind
    for kind in CLASSES
    if not inspect.isabstract(kind) and kind not in (LevelNoise, IntegerLevelNoise)
]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if not inspect.isabstract(kind)])
def test_every_noise_is_among_the_examples(kind):
    assert kind in map(type, CONTINUOUS + WHOLE), f"add a {kind.__name__} to CONTINUOUS or WHOLE"


def changes(noise, rng):
    """Some changes of the answer between neighbors, of both signs, with the ends of the neighbor
    set."""
    blocks = noise.partition.blocks if hasattr(noise, "partition") else [(0, noise.sensitivity)]
    found = [
        float(low + (high - low) * share)
        for low, high in blocks
        for share in (0, *rng.random(4), 1)
    ]
    return [sign * size for size in found for sign in (-1, 1)]


@pytest.mark.parametrize("noise", CONTINUOUS, ids=repr)
def test_neighbors_have_similar_densities(noise):
    rng = np.random.default_rng(0)
    r = rng.uniform(-6 * noise.sensitivity, 6 * noise.sensitivity, 4000)
    for change in changes(noise, rng):
        assert (noise.pdf(r) <= math.exp(noise.epsilon) * noise.pdf(r + change) * (1 + 1e-9)).all()


@pytest.mark.parametrize("noise", WHOLE, ids=repr)
def test_neighbors_have_similar_exact_masses(noise):
    alpha = noise.epsilon.enclosure()[1]
    far = 6 * int(noise.sensitivity)
    masses = [noise.mass(k) for k in range(-far, far + 1)]
    for change in {abs(round(change)) for change in changes(noise, np.random.default_rng(0))}:
        assert all(
            a <= alpha * b and b <= alpha * a for a, b in zip(masses, masses[change:], strict=False)
        )


@pytest.mark.parametrize("noise", CONTINUOUS, ids=repr)
def test_density_distribution_and_moments_agree(noise):
    # A grid of 1/8 meets every border of the sets of levels: only there the sums are exact.
    parts = 8 if type(noise) is LevelNoise else 64
    far = 32 * noise.sensitivity / float(noise.epsilon)
    while noise.cdf(-far) > 1e-10:  # wide tails
        far *= 2
    edges = np.arange(0, math.ceil(far) * parts) / parts
    middle = (edges[1:] + edges[:-1]) / 2
    tolerance = 1e-9 if type(noise) is LevelNoise else 1e-3
    density = noise.pdf(middle)
    assert 2 * density.sum() / parts == pytest.approx(1, abs=tolerance)
    assert 2 * (density * middle).sum() / parts == pytest.approx(noise.expected_abs, rel=tolerance)
    assert 2 * (density * (middle**2 + 1 / (12 * parts**2))).sum() / parts == pytest.approx(
        noise.variance, rel=tolerance
    )
    below = 0.5 + np.concatenate(([0], np.cumsum(density))) / parts
    assert noise.cdf(edges) == pytest.approx(below, abs=tolerance)
    assert noise.cdf(-edges) == pytest.approx(1 - below, abs=tolerance)
    assert noise.pdf(0) == pytest.approx(1 / noise.normalizer)


@pytest.mark.parametrize("noise", CONTINUOUS, ids=repr)
def test_simulated_values_follow_the_distribution(noise):
    r = noise.sample(100_000, rng=3)
    u = noise.cdf(r)
    assert stats.kstest(u, "uniform").pvalue > 1e-6
    assert (noise.sample(10, rng=3) == noise.sample(10, rng=3)).all()
    assert noise.sample(5).shape == (5,)


@pytest.mark.parametrize(
    "intervals, d, epsilon",
    [([(0, 1), (20, 21)], 1.0, 0.5), ([(0, 1), (7, 9), (20, 21)], 0.5, 1.0)],
)
def test_chi_square_over_levels(intervals, d, epsilon):
    part = NeighborPartition(intervals, d)
    noise = part.noise(epsilon)
    drawn = thorough_or(10**5, 10**6)
    seen = np.bincount(part.level(noise.sample(drawn, rng=8)))
    m = part.moments.measure
    t = np.arange(len(seen))
    expected = drawn * m[np.minimum(t, part.steps)] * np.exp(-epsilon * t) / noise.normalizer
    assert compare(seen, expected) > 1e-6


def compare(seen, expected):
    """P value of Pearson's test, the cells that expect less than 10 put together."""
    rest = expected < 10
    others = seen[rest].sum()
    kept = np.append(expected[~rest], seen.sum() - expected[~rest].sum())
    return stats.chisquare(np.append(seen[~rest], others), kept).pvalue


@pytest.mark.parametrize("noise", WHOLE, ids=repr)
def test_exact_samplers(noise):
    r = noise.sample(100_000, rng=4)
    assert r.dtype == np.int64
    k = np.arange(-40, 41)
    seen = np.bincount(np.clip(r, -41, 41) + 41, minlength=83)
    expected = 1e5 * np.concatenate((noise.cdf([-41]), noise.pdf(k), 1 - noise.cdf([40])))
    assert expected.sum() == pytest.approx(1e5, rel=1e-9)
    assert compare(seen, expected) > 1e-6
    assert noise.cdf(k[1:]) - noise.cdf(k[:-1]) == pytest.approx(noise.pdf(k[1:]), abs=1e-12)
    masses = [noise.mass(int(j)) for j in k]
    assert np.array(masses, dtype=float) == pytest.approx(noise.pdf(k), rel=1e-9)
    assert (
        noise.decay ** int(noise.sensitivity if isinstance(noise, Geometric) else 1)
        >= 1 / noise.epsilon.enclosure()[1]
    )
    wide = np.arange(-3000, 3001)
    assert noise.expected_abs == pytest.approx(np.abs(wide) @ noise.pdf(wide), rel=1e-9)
    assert noise.variance == pytest.approx(wide**2 @ noise.pdf(wide), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 50.0, 700.0])
def test_extreme_budgets(epsilon):
    part = NeighborPartition([(0, 1), (20, 21)], 0.5)
    for noise in (part.noise(epsilon), *(kind(1, epsilon) for kind in BY_SENSITIVITY)):
        values = noise.expected_abs, noise.variance, noise.normalizer, noise.rate
        assert np.isfinite(values).all()
        assert min(values) > 0
    # Beyond 1400 nats a staircase is narrower than any float; nothing fails.
    assert part.noise(10_000).rate == math.inf
    # With almost no privacy, the noise is uniform on the innermost interval; with almost all, it
    # spreads as Laplace's.
    if epsilon >= 50:
        assert part.noise(epsilon).expected_abs == pytest.approx(0.25, rel=1e-9)
    if epsilon == 1e-6:
        assert part.noise(epsilon).expected_abs * epsilon / 21 == pytest.approx(1, rel=1e-4)
