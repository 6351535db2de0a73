"""Screening by largest ratios keeps all pairs that may decide an audit, and few others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt.auditing import row_ratios
from ldpopt.auditing.audits import Pairs
from ldpopt.auditing.exact_matrices import ULPS, ExactChannel, exact
from ldpopt.auditing.row_ratios import factors_above, pairs_near_bound, pairs_near_worst
from ldpopt.foundation.budget import Budget

UNIT = 2.0**-52


def pairs_of(*pairs):
    """Pairs ``(x, x', distance)``."""
    first, second, distance = zip(*pairs, strict=True)
    return Pairs(np.array(first), np.array(second), np.array(distance, dtype=float))


def table(pairs, values):
    """Ratios of some pairs; those of all others are 1."""
    ratios = np.ones((9, 9))
    ratios[pairs.first, pairs.second] = values
    return ratios


def listed(pairs):
    return list(
        zip(pairs.first.tolist(), pairs.second.tolist(), pairs.distance.tolist(), strict=True)
    )


@pytest.fixture
def without_threshold(monkeypatch):
    monkeypatch.setattr(row_ratios, "MIN_ENTRIES", 0)


def test_ratios_are_the_largest_of_every_two_rows(without_threshold):
    rng = np.random.default_rng(2)
    channel = rng.random((5, 7)) * rng.choice([0.0, 1.0], p=[0.1, 0.9], size=(5, 7))
    channel /= channel.sum(axis=1, keepdims=True)
    found = row_ratios.row_ratios(exact(channel), pairs_of((0, 1, 1.0)))
    assert np.isinf(found).any()
    for x, over in enumerate(channel):
        for k, under in enumerate(channel):
            terms = [(u, v) for u, v in zip(over, under, strict=True) if u]
            if any(not v for _, v in terms):
                assert found[x, k] == math.inf
            else:
                plain = max(Fraction(u) / Fraction(v) for u, v in terms)
                assert abs(Fraction(found[x, k]) / plain - 1) <= UNIT


def test_ratios_are_computed_only_for_many_pairs_and_entries(monkeypatch):
    matrix = exact(np.full((10, 4), 0.25))
    one = pairs_of((0, 1, 1.0))
    two = pairs_of((0, 1, 1.0), (1, 0, 1.0))
    for share, entries, pairs, is_computed in (
        (0.02, 8, two, True),
        (0.02, 0, one, False),
        (0.02, 9, two, False),
        (0.01, 4, one, True),
    ):
        monkeypatch.setattr(row_ratios, "MIN_SHARE", share)
        monkeypatch.setattr(row_ratios, "MIN_ENTRIES", entries)
        assert (row_ratios.row_ratios(matrix, pairs) is not None) == is_computed


def test_no_ratios_with_entries_too_small_for_an_inverse(without_threshold):
    least = 2.0**-1000
    for entry, is_compared in ((0.0, True), (least, True), (np.nextafter(least, 0), False)):
        found = row_ratios.row_ratios(exact([[0.5, 0.5], [1.0, entry]]), pairs_of((0, 1, 1.0)))
        assert (found is not None) == is_compared
    lost = ExactChannel(
        np.array([[1, 1], [1, 1]]), 2, np.array([[0.5, 0.5], [1.0, 0.0]]), (0, 1), (0, 1), True
    )
    assert row_ratios.row_ratios(lost, pairs_of((0, 1, 1.0))) is None


@pytest.mark.parametrize(
    "bound, budget, distance", [(4.0, "log(2)", 2.0), (2.0**90, "log(2)", 90.0)]
)
def test_pairs_that_may_violate_the_claim_are_kept(bound, budget, distance):
    pairs = pairs_of(*((0, k, distance) for k in range(1, 7)))
    # A product of rounded entries is off by less than 3 units, its bound by 1 and as many as there
    # are nats.
    room = 2**-50 * (4 + math.log(bound))
    values = [
        bound,
        bound * (1 + UNIT),
        bound * (1 - room / 4),
        bound * (1 - 2 * room),
        bound / 2,
        math.inf,
    ]
    near = pairs_near_bound(table(pairs, values), Budget(budget), pairs)
    assert listed(near) == [(0, k, distance) for k in (1, 2, 3, 6)]


def test_infinite_ratios_are_always_kept():
    pairs = pairs_of((0, 1, 1e9), (1, 0, 1e9))
    near = pairs_near_bound(table(pairs, [math.inf, 2.0**1000]), Budget(1.0), pairs)
    assert listed(near) == [(0, 1, 1e9)]


def worst(pairs, values, rounding=0.0, most=9):
    found, bound = pairs_near_worst(table(pairs, values), pairs, rounding, most)
    return [(x, k) for x, k, _ in listed(found)], bound


def test_all_pairs_that_may_be_the_worst_are_found():
    pairs = pairs_of((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0))
    near = 1 - UNIT
    far = 1 - 2.0**-47
    assert worst(pairs, [1.5, 1.5 * near, 1.5 * far, 1.1]) == ([(0, 1), (1, 2)], 0.0)
    assert worst(pairs, [1.1, 1.5 * far, 1.5, 1.5 * near]) == ([(2, 3), (3, 4)], 0.0)
    assert worst(pairs, [1.0, 1.0 + UNIT, 1.0, 1.1])[0] == [(3, 4)]


def test_losses_that_may_be_equal_are_kept_together():
    pairs = pairs_of((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0))
    assert worst(pairs, [1.0, 1.0 + 2 * UNIT, 1.0]) == ([(0, 1), (1, 2), (2, 3)], 0.0)
    # Rounded entries add their own error to that of the product.
    values = [1.0 + 36 * UNIT, 1.0, 1.0 + 50 * UNIT]
    assert worst(pairs, values)[0] == [(2, 3)]
    assert worst(pairs, values, rounding=2.0**-49)[0] == [(0, 1), (2, 3)]


def test_large_losses_may_be_equal_up_to_their_rounding():
    pairs = pairs_of((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0))
    loss = 900 * math.log(2)
    assert worst(pairs, 2.0**900 * np.array([1.0, 1 - loss * 2.0**-51, 1 - loss * 2.0**-46])) == (
        [(0, 1), (1, 2)],
        0.0,
    )


def test_losses_are_divided_by_distance():
    pairs = pairs_of((0, 1, 1.0), (1, 2, 2.0), (2, 3, 8.0))
    assert worst(pairs, [2.0, 4.0, 200.0])[0] == [(0, 1), (1, 2)]
    assert worst(pairs, [1.9, 4.0, 200.0])[0] == [(1, 2)]


def test_an_infinite_loss_is_the_worst():
    pairs = pairs_of((0, 1, 1.0), (1, 2, 1.0))
    assert worst(pairs, [2.0, math.inf]) == ([(1, 2)], 0.0)
    assert worst(pairs, [math.inf, 2.0]) == ([(0, 1)], 0.0)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_with_too_many_worst_pairs_the_bound_is_an_upper_bound(order):
    pairs = pairs_of((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0))
    values = np.array([1.5, 1.5 * (1 - UNIT), 1.5 * (1 - 2 * UNIT), 1.1])[[*order, 3]]
    assert worst(pairs, values, most=3) == ([(0, 1), (1, 2), (2, 3)], 0.0)
    for most in (1, 2):
        found, bound = worst(pairs, values, most=most)
        assert found == [(0, 1), (1, 2), (2, 3)][:most]
        # More than the largest loss, by the error of the product.
        assert math.log(1.5) + 2.0**-50 <= bound <= math.log(1.5) * (1 + 2.0**-47) + 2.0**-49


@cases(100)
@given(
    st.floats(0, 800) | st.sampled_from([0.0, 5e-324, 700.0, 745.2]),
    st.sampled_from([1.0, 0.1, 1e-300, 1e300]),
)
def test_screening_factors_are_too_large_by_a_few_ulps(exponent, distance):
    budget = Budget(min(exponent / distance, 1e4))
    found = Fraction(float(factors_above(budget, np.array([distance]))[0]))
    exactly = Fraction(distance) * budget.nats
    capped = min(exactly, Fraction(700))
    low, high = Budget(1.0).enclosure(capped)
    assert (
        (1 + Fraction(3) * Fraction(ULPS)) / low
        < found
        < (1 + (5 + 2 * capped) * Fraction(ULPS)) / high
    )
