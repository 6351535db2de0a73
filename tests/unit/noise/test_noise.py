"""Noise for linear queries: wrong arguments, and small cases computed by hand."""

from __future__ import annotations

import inspect
import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from builders import refused, sample_or_all
from ldpopt import noise
from ldpopt import noise as public
from ldpopt.errors import CertificateError, StatementError
from ldpopt.noise import Geometric, Laplace, NeighborPartition, Noise, Staircase, optimal_widening
from ldpopt.noise.intervals import difference, is_inside, merge, minkowski_sum, read_intervals
from ldpopt.privacy import GraphDP


def test_interval_arithmetic():
    assert merge([(3, 4), (0, 1), (1, 2)]) == [(0, 2), (3, 4)]
    assert minkowski_sum([(0, 1), (10, 10)], [(-1, 1)]) == [(-1, 2), (9, 11)]
    assert difference([(0, 5)], [(0, 1), (2, 3)]) == [(1, 2), (3, 5)]
    assert is_inside([(1, 2), (4, 4)], [(0, 2), (3, 4)])
    assert not is_inside([(1, 3)], [(0, 2), (3, 4)])


def test_sets_are_read_by_absolute_value():
    assert read_intervals([(-3, -2)])[0] == [(0, 0), (2, 3)]
    assert read_intervals([(-3, 1)])[0] == [(0, 3)]
    assert read_intervals({-2, 1})[0] == [(0, 2)]


@pytest.mark.parametrize(
    "intervals, widening, code",
    [
        ([(0, 1), (10, 10)], 1.0, "layer-gap"),
        ([(0, 0)], 1.0, "members"),
        ([], 1.0, "members"),
        ([(2, 1)], 1.0, "ends"),
        ([(0, math.inf)], 1.0, "interval"),
        (["ab"], 1.0, "interval"),
        ([(0, 1)], 0.0, "zero-widening"),
        ([(0, 1)], Fraction(1, 10**400), "zero-widening"),
        ([(0, 1e-300)], 1.0, "range"),
        ({1, 2}, 0.5, "whole-number"),
        ({4, 6}, 0, "divisor"),
        ({1}, 2**53 + 1, "table-size"),
        ({1}, 1.152921504606847e18, "table-size"),
        ({1, 2**64}, 0, "table-size"),
    ],
)
def test_wrong_sets_and_widenings_are_rejected(intervals, widening, code):
    with refused(code):
        NeighborPartition(intervals, widening).steps  # noqa: B018


@pytest.mark.parametrize(
    "intervals, widening, name",
    [
        ([(0, 1)], "wide", "widening = 'wide'"),
        ([(0, 1)], "1", "widening = '1'"),
        ([(0, 1)], 6.5e102, r"widening = 6\.5e\+102"),
        ([(0, 1)], Fraction(10**400), "widening"),
        ([(0, 10**400)], 1.0, "sensitivity"),
    ],
)
def test_what_is_no_number_is_rejected(intervals, widening, name):
    with pytest.raises(StatementError, match=name):
        NeighborPartition(intervals, widening).steps  # noqa: B018


SCALED = [
    kind
    for name in public.__all__
    if inspect.isclass(kind := getattr(public, name))
    and issubclass(kind, Noise)
    and not inspect.isabstract(kind)
    if [*inspect.signature(kind).parameters][:2] == ["sensitivity", "epsilon"]
]
"""Noises that are made from a sensitivity and a budget."""


@pytest.mark.parametrize("noise", SCALED)
def test_parameters_are_checked(noise):
    for wrong in ((0, 1), (-1, 1), (1, 0), (1, math.inf), ("x", 1), (math.nan, 1)):
        with pytest.raises(StatementError):
            noise(*wrong)
    with pytest.raises(StatementError):
        noise(1, 1).sample(-1)
    with pytest.raises(StatementError):
        noise(1, 1).sample(3, rng="seed")


def test_rows_of_a_frame_are_intervals():
    frame = pd.DataFrame([[0, 3], [7, 9]])
    assert NeighborPartition(frame, 1.0).blocks == NeighborPartition([(0, 3), (7, 9)], 1.0).blocks


def test_wide_innermost_layers_of_whole_numbers():
    """The search starts near the border of the innermost layer only."""
    part = NeighborPartition({1, 3}, 2_000_000)
    assert part.level([2_000_000, 2_000_001, 2_000_003, 2_000_004]).tolist() == [0, 1, 1, 2]
    assert part.noise(1.0).expected_abs == pytest.approx(1e6, rel=1e-5)


@pytest.mark.parametrize("unit", [1e-98, 1.0, 9e97])
@pytest.mark.parametrize("epsilon", [1e-100, 1e-3, 1.0, 700.0])
def test_extreme_units_and_budgets_do_not_overflow(unit, epsilon):
    noise = NeighborPartition([(0, unit)], unit / 2).noise(epsilon)
    plain = NeighborPartition([(0, 1)], 0.5).noise(epsilon)
    assert noise.normalizer / unit == pytest.approx(plain.normalizer, rel=1e-12)
    assert noise.expected_abs / unit == pytest.approx(plain.expected_abs, rel=1e-12)
    assert (
        noise.variance / unit / unit == pytest.approx(plain.variance, rel=1e-12)
        or noise.variance == math.inf
    )


def test_other_wrong_arguments_are_rejected():
    for call in (
        lambda: Staircase(1, 1, gamma=1.5),
        lambda: Staircase(1, 1, loss="l3"),
        lambda: Geometric(1.5, 1),
        lambda: Geometric(1, 1).on_grid(0.5),
        lambda: Geometric(1, 1).truncated(1),
        lambda: NeighborPartition({1}, 0).level(0.5),
        lambda: NeighborPartition([(0, 0), (1, 1 + 1e-12)], 0.1).level(1e11),
        lambda: NeighborPartition([(0, 1)], 1).noise(1).on_grid(1e-9),
        lambda: NeighborPartition([(0, 1)], 1).level(math.nan),
        lambda: NeighborPartition({1}, 0).noise(1).on_grid(2),
        lambda: NeighborPartition([(0, 1)], 1).noise(0),
        lambda: optimal_widening({1, 2}, 1),
        lambda: optimal_widening([(0, 1), (10, 10)], 0),
    ):
        with pytest.raises(StatementError):
            call()


def test_layers_by_hand():
    part = NeighborPartition([(0, 1), (4, 6)], 0.5)
    assert part.steps == 3
    assert part.layers[1] == ((Fraction(1, 2), Fraction(3, 2)), (Fraction(7, 2), Fraction(13, 2)))
    assert part.level([0.4, 1.0, 2.0, 5.0, 7.0, -7.0]).tolist() == [0, 1, 2, 1, 2, 2]
    whole = NeighborPartition({1, 5}, 0)
    assert whole.level([0, 1, 2, 3, 4, 5, 6, -8]).tolist() == [0, 1, 2, 3, 2, 1, 2, 4]
    assert whole.layers[1] == ((1, 1), (5, 5))


def test_wrong_layers_are_not_certified():
    part = NeighborPartition([(0, 1), (20, 21)], 0.5)
    part.neighbor_layers.gaps_closed_at = 4  # too few steps
    with refused("convergence", CertificateError):
        part.certify()
    part = NeighborPartition([(0, 1), (7, 9), (20, 21)], 0.5)
    part.neighbor_layers.widened[0][2].pop()
    with refused("inclusion", CertificateError):
        part.certify()
    part = NeighborPartition({1, 5}, 0)
    table = part.neighbor_layers.table
    table[table == 3] = 4
    with refused("level-step", CertificateError):
        part.certify()


def test_moments_match_the_layers():
    for part in (
        NeighborPartition([(0, 1), (30, 32)], 0.7),
        NeighborPartition([(0, 1), (7, 9), (30, 32)], 0.3),
        NeighborPartition([(5, 6)], 0.1),
    ):
        exact = [2 * sum(high - low for low, high in layer) for layer in part.layers]
        first = [sum(high**2 - low**2 for low, high in layer) for layer in part.layers]
        assert part.moments.measure == pytest.approx([float(v) for v in exact], rel=1e-12)
        assert part.moments.first == pytest.approx([float(v) for v in first], rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_default_gamma_minimizes_the_loss(epsilon):
    for loss, value in (("l1", "expected_abs"), ("l2", "variance")):
        best = minimize_scalar(
            lambda g, value=value: getattr(Staircase(1.0, epsilon, g), value),
            bounds=(1e-6, 1 - 1e-6),
            method="bounded",
            options={"xatol": 1e-9},
        )
        found = Staircase(1.0, epsilon, loss=loss)
        assert found.gamma == pytest.approx(best.x, abs=1e-3)
        assert getattr(found, value) <= best.fun * (1 + 1e-9)


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_truncated_geometric_is_certified(sensitivity):
    import networkx as nx

    mechanism = Geometric(sensitivity, 1.0).truncated(6)
    graph = nx.Graph((x, y) for x in range(6) for y in range(x) if x - y <= sensitivity)
    assert mechanism.audit(GraphDP(1.0, graph)).verdict == "certified"
    if sensitivity == 1:
        assert mechanism.channel[0, 0] == pytest.approx(math.e / (1 + math.e), abs=1e-12)


SETS = [[(0, 1), (100, 101)], [(0, 1), (20, 21)], [(0, 5), (12, 14), (30, 31)]]


def test_supersets_are_never_worse_than_the_staircase():
    for epsilon, intervals in sample_or_all(itertools.product((0.1, 0.5, 1.0, 4.0), SETS), 3):
        part = optimal_widening(intervals, epsilon, supersets=True)
        assert part.noise(epsilon).rate <= 1 + 1e-12
        assert part.certify()
    assert optimal_widening([(0, 1), (10, 10)], 1.0, supersets=True).noise(1.0).rate <= 1 + 1e-12


@pytest.mark.parametrize("epsilon", [40.0, 200.0, 700.0])
def test_large_budgets_have_a_limit(epsilon):
    part = optimal_widening([(0, 1), (100, 101)], epsilon)
    assert part.noise(epsilon).rate == pytest.approx(math.sqrt(1 + 101**2 - 100**2) / 101, rel=1e-6)


def test_noise_on_a_grid_covers_rounded_answers():
    part = NeighborPartition([(0, 0.3), (2.2, 2.5)], 0.5).noise(1.0).on_grid(0.25).partition
    assert part.blocks == [(0, 2), (8, 10)]
    assert part.widening == 2
    assert Laplace(1.0, 1.0).on_grid(0.3).sensitivity == 4


def test_moments_are_computed_once_for_all_budgets():
    part = NeighborPartition([(0, 1), (20, 21)], 1.0)
    moments = part.moments
    assert part.noise(1.0).partition.moments is moments
    assert np.all(np.diff([part.noise(e).expected_abs for e in np.linspace(0.1, 5, 20)]) < 0)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
def test_tiny_budgets_are_drawn(epsilon):
    """Mean size is 1 / epsilon, within six deviations."""
    drawn = np.abs(noise.Geometric(1, epsilon).sample(20_000, rng=3)).astype(float)
    assert abs(drawn.mean() * epsilon - 1) < 6 / np.sqrt(20_000)
