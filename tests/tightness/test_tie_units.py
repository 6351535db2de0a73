"""Rows of ties: rounded so that no private channel is cut off, and by a few ulps only."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpopt.foundation.budget import Budget
from ldpopt.privacy import Ties

EPSILONS = [0.0, 1e-12, 0.1, 1.0, "log(3)", f"log({7 - Fraction(1, 10**90)})", 30.0, 700.0]
DISTANCES = np.array([2.0**-20, 0.1, 1.0, 1.7, 3.0, 40.0])


def ratios(budget, distance):
    """Ends of ``exp(-epsilon d)``."""
    low, high = budget.enclosure(Fraction(distance))
    return 1 / high, 1 / low


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_ratios_are_on_their_sides_and_near(epsilon):
    budget = Budget(epsilon)
    pairs = np.zeros(len(DISTANCES), np.int64)
    ties = Ties(budget, 2, pairs, pairs + 1, DISTANCES)
    down, up = ties.ratio(up=False), ties.ratio(up=True)
    for low, high, d in zip(down.tolist(), up.tolist(), DISTANCES.tolist(), strict=True):
        least, most = ratios(budget, d)
        assert Fraction(low) <= least <= most <= Fraction(high) <= 1 or float(budget) * d > 700
        assert high - low <= 2.0**-48 * (4 + float(budget) * d) * high
    alike = Ties(budget, 2)
    least, most = ratios(budget, 1.0)
    assert Fraction(float(alike.ratio(up=False))) <= least <= most <= Fraction(float(alike.ratio(up=True))) <= 1
    assert float(alike.ratio(up=True)) <= math.nextafter(float(alike.ratio(up=False)), 1)


@pytest.mark.parametrize("delta", [0.0, 0.1, 2.0**-60, 1.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_slack_of_a_row_is_rounded_up_by_an_ulp(epsilon, delta):
    budget = Budget(epsilon)
    pair = np.array([0]), np.array([1])
    blocks = [Ties(budget, 2, delta=delta).rows(2), Ties(budget, 2, delta=delta).rows_of_events(*pair, np.eye(2)[:1])]
    for block in blocks:
        for row in range(len(block)):
            b, least = block.coefficient[block.row == row]
            side = Fraction(float(block.upper[row]))
            assert least == -1
            assert Fraction(float(b)) <= ratios(budget, 1)[0]
            assert side >= Fraction(float(b)) * Fraction(delta)
            assert float(block.upper[row]) <= math.nextafter(math.nextafter(b * delta, 1), 1)
            assert bool(side) == bool(delta)


def test_who_is_tied_to_whom():
    assert not Ties(1.0, 3).is_shared
    assert [end.tolist() for end in Ties(1.0, 3).pairs()] == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    capped = Ties(1.0, 3, capped=np.array([False, True, False]), owner=np.array([-1, 2]))
    assert [end.tolist() for end in capped.pairs()] == [[1, 1], [0, 2]]
    assert capped.tied_outputs(2).tolist() == [True, False]
    assert capped.allowed(2).tolist() == [[True, False], [True, False], [True, True]]
    assert capped.is_compact
    assert not capped.is_complete
    block = capped.rows(2)
    assert len(block) == 4
    assert block.x.tolist() == [1, 0, 1, 2, 0, 1]
    assert block.y.tolist() == [0, 0, 0, 0, 1, 1]
    assert block.upper.tolist() == [0.0] * 4
    assert block.lower.tolist() == [-math.inf] * 4


def test_mutual_ties_have_the_same_distance_both_ways():
    def along(first, second, distance=None):
        return Ties(1.0, 3, np.array(first), np.array(second), None if distance is None else np.array(distance))

    assert along([0, 1, 1, 2], [1, 0, 2, 1]).is_mutual
    assert not along([0, 1, 1], [1, 0, 2]).is_mutual
    assert along([0, 1], [1, 0], [2.0, 2.0]).is_mutual
    assert not along([0, 1], [1, 0], [2.0, 1.0]).is_mutual
    assert Ties(1.0, 3).is_mutual
    assert not Ties(1.0, 3, owner=np.array([-1, 0])).is_mutual
    assert not Ties(1.0, 3, capped=np.array([True, False, False])).is_mutual
    assert Ties(1.0, 3, capped=np.array([True, True, True])).is_mutual
