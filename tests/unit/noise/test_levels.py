"""Problems (5)-(7) of Wu, Xia and He: Theorem 1 where Lemma 3 holds, and the 35 points where
neither does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from builders import refused
from ldpopt.noise.layers import WordMetric, charnes_cooper, optimal_levels


def brute(m, q, epsilon):
    """All walks with steps of one; steps in between are never better."""
    best = np.inf
    for steps in itertools.product((-1, 1), repeat=len(m) - 1):
        u = np.exp(epsilon * np.concatenate([[0], np.cumsum(steps)]))
        best = min(best, (u @ q) / (u @ m))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_levels_against_all_walks_and_the_program(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    epsilon = float(rng.choice([0.05, 0.5, 1.0, 3.0, 8.0]))
    m = rng.integers(0, 4, count).astype(float)
    m[rng.integers(count)] += 1
    q = m * rng.random(count)
    found = optimal_levels(m, q, epsilon)
    assert found.value == pytest.approx(brute(m, q, epsilon), rel=1e-12)
    assert found.program_value == pytest.approx(found.value, abs=1e-7)
    assert found.levels[0] == 0
    assert (np.abs(np.diff(found.levels)) == 1).all()
    assert found.value <= found.descending_value * (1 + 1e-15)


def test_layer_means_may_exceed_the_floats():
    """A layer of almost no measure counts with its loss; its mean is not a float, and a warning is
    an error here."""
    found = optimal_levels([1.0, 1.0, 5e-324], [0.0, 1.0, 1.0], "log(2)")
    assert found.layer_means.tolist() == [0.0, 1.0, np.inf]
    assert found.levels.tolist() == [0, -1, -2]
    assert found.value == pytest.approx((1 / 2 + 1 / 4) / (1 + 1 / 2), rel=1e-15)
    assert found.program_value == pytest.approx(found.value, abs=1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_theorem_1_where_lemma_3_holds(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    m = rng.random(count) + 0.01
    q = m * np.sort(rng.random(count))
    for epsilon in (0.1, 1.0, 5.0):
        found = optimal_levels(m, q, epsilon)
        assert found.is_monotone
        assert found.is_descending


@pytest.mark.parametrize(
    "columns", [[1], [2, 3], [1, 10], [5, 6, 7], [*range(1, 3), *range(8, 13)], [9, 11]]
)
def test_lemma_3_on_integer_sets(columns):
    words = WordMetric(columns)
    m, q = ([of(t) for t in range(30)] for of in (words.size, words.moment))
    found = optimal_levels(m, q, 1.0)
    assert found.is_monotone
    assert found.is_descending
    assert found.levels.tolist() == [-t for t in range(30)]


def thirty_five(depth, base=1000, far=10**13):
    """Sizes and moments, in units of b', of the layers of b' + {sum x_i g_i : sum x <= 3} with tiny
    generic g."""
    tiny = [
        sum(x * base**k for k, x in enumerate(c))
        for c in itertools.product(range(4), repeat=4)
        if sum(c) <= 3
    ]
    assert len(tiny) == 35
    steps = np.array([far + t for t in tiny] + [-far - t for t in tiny])
    layers = [np.zeros(1, dtype=np.int64)]
    for _ in range(depth):
        fresh = np.unique(layers[-1][:, None] + steps)
        layers.append(np.setdiff1d(fresh, np.concatenate(layers[-2:])))
    return np.array([len(layer) for layer in layers], float), np.array(
        [np.abs(layer / far).sum() for layer in layers]
    )


def test_lemma_3_and_theorem_1_fail_on_35_points():
    m, q = thirty_five(5)
    assert m[:4].tolist() == [1, 70, 890, 4860]
    assert (q / m)[1:4] == pytest.approx([1.0001, 0.944, 1.589], abs=1e-3)
    m[0] = 0  # in the continuum, I_0 is a point: no measure
    found = optimal_levels(m, q, 8.0)
    assert not found.is_monotone
    assert not found.is_descending
    assert found.descending_value >= 0.9998
    # 0, -1, 0, -1, ... keeps Assumption 1 (the mode at the truth), and is already better.
    swing = np.exp(8.0 * np.array([0, -1, 0, -1, -2, -3]))
    assert found.value <= (swing @ q) / (swing @ m) <= 0.9577
    assert optimal_levels(m, q, 1.0).is_descending  # at moderate budgets Theorem 1 survives


def test_charnes_cooper_program_has_the_optimal_levels_as_its_optimum():
    program = charnes_cooper([1, 2, 2], [0, 2, 4], 1.0)
    v = np.full(3, 1 / (1 + 2 * np.exp(-1) + 2 * np.exp(-2)))
    assert program.residual(v) < 1e-12
    assert program.objective @ v == pytest.approx(optimal_levels([1, 2, 2], [0, 2, 4], 1.0).value)
    assert program.residual(v * [1, 0.9, 1]) > 0.01
    with refused("levels"):
        charnes_cooper([1, 2, 2], [0, 2, 4], 1.0, [0, 2, 1])


@pytest.mark.parametrize(
    ("m", "q", "epsilon", "code"),
    [
        ([1, 1], [0, 1], 0.0, "zero-budget"),
        ([1, 1], [0], 1.0, "shape"),
        ([0, 0], [0, 0], 1.0, "measures"),
        ([1, -1], [0, 1], 1.0, "measures"),
        ([1, 0], [0, 1], 1.0, "empty-layer"),
    ],
)
def test_wrong_layers_are_rejected(m, q, epsilon, code):
    with refused(code):
        optimal_levels(m, q, epsilon)
