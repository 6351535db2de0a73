"""Wu, Xia and He: their sets, layers by Algorithm 1 in rationals, and errata.

`wu_xia_he_figures.py` and `wu_xia_he_beyond.py` in `examples/papers` compare the printed numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from builders import refused
from ldpopt.noise import Laplace, NeighborPartition, Staircase, optimal_widening
from ldpopt.noise.intervals import difference, merge, minkowski_sum

V1 = [(0, 1), (1000, 1001)]
V2 = [(0, 100), (1000, 1001)]
V3 = [(0, 500), (1000, 1001)]
V4 = [(0, 1001)]
V5 = [(0, 1), (100, 101)]
V7 = [(0, 1), (2000, 2001)]
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)


@pytest.mark.long
@pytest.mark.parametrize(
    "intervals, widenings, rates",
    [
        (
            V1,
            "499.5 127.763 48.187 19.094 10.431 3.684",
            "1.000001 .985043 .909840 .682156 .465252 .207012",
        ),
        (V5, "49.5 49.5 14.616 5.865 3.244 1.161", "1 1.000340 .954899 .751573 .548788 .300312"),
    ],
)
def test_best_widenings(intervals, widenings, rates):
    found = [optimal_widening(intervals, epsilon) for epsilon in BUDGETS]
    assert [round(float(part.widening), 3) for part in found] == [
        float(d) for d in widenings.split()
    ]
    got = [round(part.noise(epsilon).rate, 6) for part, epsilon in zip(found, BUDGETS, strict=True)]
    assert got == [float(rate) for rate in rates.split()]


def test_steps_until_convergence():
    assert NeighborPartition(V1, 0.5).steps == 1000
    assert NeighborPartition(V7, 0.5).steps == 2000
    for intervals in (V1, V2, V3, V4, V5, V7):
        assert all(
            NeighborPartition(intervals, d).steps <= 2000 for d in (0.5, 1, 7.3, 100, 499.5, 2000)
        )


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 100.0])
def test_one_block_is_the_staircase(epsilon):
    part = NeighborPartition(V4, 1001 / (1 + math.exp(epsilon / 2)))
    assert part.noise(epsilon).rate == pytest.approx(1, abs=1e-12)
    stairs = Staircase(1001, epsilon)
    assert stairs.rate == pytest.approx(1, abs=1e-12)
    assert Laplace(1001, epsilon).rate >= 1


def slow_layers(intervals, d, last):
    """Algorithm 1 by its definition, in whole numbers over 2: every layer widened, all earlier ones
    subtracted."""
    steps = merge(
        [(0, 0)]
        + [(s * 2 * e[i], s * 2 * e[1 - i]) for e in intervals for s, i in ((1, 0), (-1, 1))]
    )
    width = int(2 * d)
    found = []
    core = [(0, 0)]
    inside = []
    for _ in range(last + 1):
        union = merge((low - width, high + width) for low, high in core)
        found.append(difference(union, inside))
        inside, core = union, minkowski_sum(core, steps)
    return found


@pytest.mark.parametrize(
    "intervals, d",
    [(V1, 450), (V2, 400), (V3, 200), (V4, 0.5), (V5, 10), (V5, 20.5), (V7, 950), (V4, 300)],
)
def test_normalizer_and_mean_against_slow_rational_construction(intervals, d):
    part = NeighborPartition(intervals, d)
    n = part.steps
    c = intervals[-1][1]
    x = Fraction(1, 3)
    layers = slow_layers(intervals, d, n + 1)
    end = max(high for _, high in layers[n - 1])
    assert layers[n] == [(-end - 2 * c, -end), (end, end + 2 * c)]
    measure = [sum((Fraction(b - a, 2) for a, b in layer), Fraction(0)) for layer in layers]
    first = [
        sum((abs(Fraction(b * abs(b) - a * abs(a), 8)) for a, b in layer), Fraction(0))
        for layer in layers
    ]
    z = sum(x**t * measure[t] for t in range(n + 1)) + 2 * c * x ** (n + 1) / (1 - x)
    a_n = Fraction(end, 2)
    tail = x**n * c * ((2 * a_n + c) * x / (1 - x) + 2 * c * x / (1 - x) ** 2)
    first[0] = Fraction(int(2 * d), 2) ** 2  # the one interval that holds 0
    mean = (sum(x**t * first[t] for t in range(n + 1)) + tail) / z
    noise = part.noise("log(3)")
    assert noise.normalizer == pytest.approx(float(z), rel=1e-12)
    assert noise.expected_abs == pytest.approx(float(mean), rel=1e-12)


@pytest.mark.parametrize("intervals", [V1, V2, V3, V5, V7])
def test_layers_at_the_smallest_widening(intervals):
    part = NeighborPartition(intervals, 0.5)
    layers = slow_layers(intervals, 0.5, 30)
    measure = np.array([sum(b - a for a, b in layer) / 2 for layer in layers])
    first = np.array([sum(abs(b * abs(b) - a * abs(a)) for a, b in layer) / 8 for layer in layers])
    first[0] = 0.25
    assert part.moments.measure[:31] == pytest.approx(measure, rel=1e-12)
    assert part.moments.first[:31] == pytest.approx(first, rel=1e-12)


def algorithm_2(part, epsilon, size, rng, first):
    """Levels that Algorithm 2 draws: layers 0 to n as they are, beyond them n + K with geometric K
    from `first` on."""
    x = math.exp(-epsilon)
    n = part.steps
    measure = np.array(part.moments.measure)
    weights = np.append(x ** np.arange(n + 1) * measure, measure[n] * x ** (n + 1) / (1 - x))
    drawn = rng.choice(n + 2, size, p=weights / weights.sum())
    return np.where(drawn <= n, drawn, n + rng.geometric(1 - x, size) - 1 + first)


def test_erratum_the_geometric_tail_starts_at_one():
    """A geometric tail on {0, 1, ...} draws layer n twice: its density falls by (1 + x) / x**2, a
    loss of 2.31 nats.

    The sampler and the density of the library agree with a tail on {1, 2, ...}.
    """
    part = NeighborPartition(V4, 0.5)
    x = math.exp(-1.0)
    size = 400_000
    n = part.steps
    rng = np.random.default_rng(7)
    printed, right = (algorithm_2(part, 1.0, size, rng, first) for first in (0, 1))
    ours = part.level(part.noise(1.0).sample(size, rng=11))
    last = n + 4
    tables = [
        np.bincount(np.minimum(levels, last), minlength=last + 1)
        for levels in (printed, right, ours)
    ]
    assert min(table.min() for table in tables) > 40
    assert chi2_contingency(tables[1:]).pvalue > 1e-6
    assert chi2_contingency([tables[0], tables[2]]).pvalue < 1e-12
    # Layers n and n + 1 are of one size, so counts compare densities.
    step = [table[n] / table[n + 1] for table in tables]
    assert step[0] == pytest.approx((1 + x) / x**2, rel=0.1)
    assert round(math.log((1 + x) / x**2), 2) == 2.31
    assert step[1:] == pytest.approx([math.e] * 2, rel=0.1)
    start = float(part.layers[n][0][0])
    density = part.noise(1.0).pdf([start + 0.25, start + 1001.25])
    assert density[0] / density[1] == pytest.approx(math.e, rel=1e-12)


def test_erratum_layers_need_not_become_intervals():
    with refused("layer-gap"):
        NeighborPartition([(0, 1), (10, 10)], 0.5)
    assert NeighborPartition([(0, 1), (10, 10)], 4.5).steps == 1
