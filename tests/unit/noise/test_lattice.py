"""Noise on the integer lattice: word metric, polynomial tails, and exact draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from builders import refused
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.noise import NeighborPartition
from ldpopt.noise.layers import LatticeNoise, WordMetric, bfs_mechanism, words

LINES = [[1], [7], [2, 3], [4, 6, 9], [1, 50], [30, 31, 33]]
PLANES = [
    [(1, 0), (0, 1)],
    [(1, 0), (0, 1), (1, 1)],
    [(2, 0), (0, 3)],
    [(1, 2), (2, -1)],
    [(1, 0), (0, 1), (3, 4)],
    [(1, 1), (2, 2)],
]
SPACES = [[(1, 0, 0), (0, 1, 0), (0, 0, 1)], [(1, 0, 1), (0, 2, 0), (1, 1, 0)]]
BALLS = [
    ([7], 3, 2),
    ([2, 9], 1.5, 1),
    ([4, 6, 9], 2, math.inf),
    (PLANES[0], 2, 1),
    (PLANES[2], 1.5, 2),
    (PLANES[4], Fraction(5, 2), 2),
    ([(3, 0), (0, 3)], 1, math.inf),
    (SPACES[0], 1, 1),
    (SPACES[1], 1.5, 2),
]


def layers_by_sets(columns, depth, widening=0, norm=2):
    """Layers by sets of tuples."""
    columns = [c if isinstance(c, tuple) else (c,) for c in columns]
    steps = [tuple(s * part for part in c) for c in columns for s in (1, -1)]
    cube = itertools.product(range(-4, 5), repeat=len(columns[0]))
    layers = [{point for point in cube if np.linalg.norm(point, norm) <= float(widening)}]
    seen = set(layers[0])
    for _ in range(depth):
        reached = {
            tuple(map(sum, zip(p, s, strict=True))) for p, s in itertools.product(layers[-1], steps)
        }
        layers.append(reached - seen)
        seen |= reached
    return layers


@pytest.mark.parametrize(
    "case", [*((columns, 0, 2) for columns in LINES + PLANES + SPACES), *BALLS]
)
def test_layers_against_sets(case):
    columns, widening, norm = case
    metric = WordMetric(columns, widening, norm)
    for number, layer in enumerate(
        layers_by_sets(columns, 7 if columns in SPACES else 12, widening, norm)
    ):
        assert {tuple(p) for p in metric.layer(number).tolist()} == layer
        assert metric.size(number) == len(layer)
        assert metric.moment(number) == sum(sum(map(abs, p)) for p in layer)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, "log(3)", 6.0])
@pytest.mark.parametrize("columns", LINES + PLANES)
def test_normalizer_and_mean_against_long_sums(columns, epsilon):
    noise = LatticeNoise(columns, epsilon)
    depth = int(45 / float(noise.epsilon)) + 5
    x = math.exp(-float(noise.epsilon))
    total = math.fsum(x**t * noise.words.size(t) for t in range(depth))
    mean = math.fsum(x**t * noise.words.moment(t) for t in range(depth)) / total
    assert noise.normalizer == pytest.approx(total, rel=1e-12)
    assert noise.expected_l1 == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("columns", "widening", "norm"), BALLS + [(columns, 0, 2) for columns in SPACES]
)
def test_tails_of_widened_layers(columns, widening, norm):
    noise = LatticeNoise(columns, 1.0, widening, norm)
    sizes = [noise.words.size(t) for t in range(noise.tail.start + 25)]
    assert [noise.size(t) for t in range(len(sizes))] == sizes
    total = math.fsum(math.exp(-t) * noise.size(t) for t in range(60))
    assert noise.normalizer == pytest.approx(total, rel=1e-12)
    assert all(
        noise.size(t)
        <= noise._acceptance_bound * math.comb(t + noise.dimension - 1, noise.dimension - 1)
        for t in range(2000)
    )
    assert noise.expected_norm(1) == pytest.approx(noise.expected_l1, rel=1e-10)
    assert noise.expected_norm(math.inf) <= noise.expected_norm(2) <= noise.expected_norm(1)


@pytest.mark.parametrize(("members", "widening"), [([7], 3), ([1, 2, 9], 0), ([3, 20, 21], 2)])
def test_on_the_line_a_ball_is_the_widening_of_a_neighbor_partition(members, widening):
    line = NeighborPartition(members, widening).noise("log(2)")
    noise = LatticeNoise(members, "log(2)", widening)
    k = np.arange(-80, 81)
    assert noise.pmf(k) == pytest.approx(line.pdf(k), rel=1e-12)
    assert noise.expected_l1 == pytest.approx(line.expected_abs, rel=1e-12)


def test_known_values():
    assert LatticeNoise([1], "log(3)").normalizer == pytest.approx((3 + 1) / (3 - 1))
    x = math.exp(-0.5)  # two columns: the sum of |R_t| x^t is the square of the line's
    assert LatticeNoise([(1, 0), (0, 1)], 0.5).normalizer == pytest.approx(((1 + x) / (1 - x)) ** 2)
    assert LatticeNoise([1], 1.0).tail.is_proved
    assert not LatticeNoise(PLANES[0], 1.0).tail.is_proved


@pytest.mark.parametrize(
    "case", [*((columns, 0, 2) for columns in LINES + PLANES + SPACES), *BALLS]
)
def test_one_step_changes_the_level_by_at_most_one(case):
    metric = WordMetric(*case)
    points = np.concatenate([metric.layer(t) for t in range(7)])
    here = metric.level(points)
    for column in metric.columns:
        assert np.abs(metric.level(points + column) - here).max() <= 1


def test_pmf_is_that_of_a_large_cyclic_group():
    """Near 0 a large cyclic group has the distances of the line."""
    n = 60
    noise = LatticeNoise([2, 3], 1.0)
    ring = nx.Graph([(x, (x + s) % n) for x in range(n) for s in (2, 3)])
    row = bfs_mechanism(ring, 1.0, repair="none").mechanism
    probabilities = dict(zip(row.outputs, row.channel[row.inputs.index(0)], strict=True))
    assert noise.pmf([0, 1, -5, 7]) == pytest.approx(
        [probabilities[x] for x in (0, 1, 55, 7)], rel=1e-3
    )


@pytest.mark.parametrize(
    ("columns", "epsilon", "widening"),
    [
        ([2, 3], 0.7, 0),
        ([1, 8], 2.0, 0),
        (PLANES[1], 0.8, 0),
        (PLANES[3], 1.5, 0),
        (PLANES[4], 1.5, 2),
        (SPACES[0], 1.5, 1),
    ],
)
def test_draws_follow_the_distribution(columns, epsilon, widening):
    noise = LatticeNoise(columns, epsilon, widening)
    draws = noise.sample(60_000, rng=7)
    levels = noise.words.level(draws)
    masses = (
        np.array([math.exp(-epsilon * t) * noise.size(t) for t in range(60)]) / noise.normalizer
    )
    last = int(np.flatnonzero(masses * len(draws) >= 10)[-1])
    seen = np.bincount(np.minimum(levels, last + 1), minlength=last + 2)
    assert (
        stats.chisquare(
            seen, len(draws) * np.append(masses[: last + 1], 1 - masses[: last + 1].sum())
        ).pvalue
        > 1e-6
    )
    layer = [tuple(p) for p in noise.words.layer(1).tolist()]
    inside = [tuple(np.atleast_1d(p)) for p in draws[levels == 1]]
    assert stats.chisquare([inside.count(p) for p in layer]).pvalue > 1e-6
    assert np.array_equal(draws, noise.sample(60_000, rng=7))


def test_shapes_of_draws():
    noise = LatticeNoise([(1, 0), (0, 1)], 1.0)
    assert noise.sample(5).shape == (5, 2)
    assert noise.sample(0, rng=1).shape == (0, 2)
    assert LatticeNoise([3], 1.0).sample(4).shape == (4,)


def test_the_slope_of_the_tail_is_the_area_of_the_hull():
    """Sizes that happen to be steady before the far column joins are not taken for the tail."""
    noise = LatticeNoise([(1, 0), (0, 1), (5, 7)], 1.0)
    assert noise.tail.sizes[1] == noise.words.size(60) - noise.words.size(59) == noise.words.growth
    assert noise.size(60) == noise.words.size(60)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ([0, 0], "zero-columns"),
        ([0.5], "integers"),
        ([(1, 2, 3, 4)], "dimension"),
        ([], "integers"),
        ([1 << 20], "large-column"),
    ],
)
def test_wrong_columns_are_rejected(columns, code):
    with refused(code):
        LatticeNoise(columns, 1.0)


def test_wrong_balls_are_rejected():
    for widening in (-1, float("nan")):
        with pytest.raises(StatementError, match="widening"):
            LatticeNoise([(1, 0), (0, 1)], 1.0, widening)
    for widening, norm, code in ((1, 3, "norm"), (10**5, 2, "radius")):
        with refused(code):
            LatticeNoise([(1, 0), (0, 1)], 1.0, widening, norm)
    with refused("plane", NotRepresentableError):
        LatticeNoise([(1, 2, 3), (1, 0, 0)], 1.0)


def test_endless_searches_are_rejected(monkeypatch):
    with refused("small-budget"):
        LatticeNoise([1], 0.0)
    with pytest.raises(StatementError, match="size = -1"):
        LatticeNoise([1], 1.0).sample(-1)
    monkeypatch.setattr(words, "MAX_POINTS", 2000)
    with refused("tail", NotRepresentableError):
        WordMetric([2]).level([1])
    with refused("tail", NotRepresentableError):
        LatticeNoise([(10, 0), (0, 10), (1, 0), (0, 1)], 1.0)
