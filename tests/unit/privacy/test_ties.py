"""Ties: rows are rounded so that no private channel is excluded, by a few ulps only; wrong arrays
are refused."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.privacy import Ties
from ldpopt.privacy.ties import TableTies

EPSILONS = [0.0, 1e-12, 0.1, 1.0, "log(3)", f"log({7 - Fraction(1, 10**90)})", 30.0, 700.0]
DISTANCES = np.array([2.0**-20, 0.1, 1.0, 1.7, 3.0, 40.0])


def ratios(budget, distance):
    """Ends of ``exp(-epsilon d)``."""
    low, high = budget.enclosure(Fraction(distance))
    return 1 / high, 1 / low


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_ratios_are_rounded_to_the_safe_side_by_a_few_ulps(epsilon):
    budget = Budget(epsilon)
    pairs = np.zeros(len(DISTANCES), np.int64)
    ties = Ties(budget, 2, pairs, pairs + 1, DISTANCES)
    down = ties.ratio(up=False)
    up = ties.ratio(up=True)
    for low, high, d in zip(down.tolist(), up.tolist(), DISTANCES.tolist(), strict=True):
        least, most = ratios(budget, d)
        assert Fraction(low) <= least <= most <= Fraction(high) <= 1 or float(budget) * d > 700
        assert high - low <= 2.0**-48 * (4 + float(budget) * d) * high
    alike = Ties(budget, 2)
    least, most = ratios(budget, 1.0)
    assert (
        Fraction(float(alike.ratio(up=False)))
        <= least
        <= most
        <= Fraction(float(alike.ratio(up=True)))
        <= 1
    )
    assert float(alike.ratio(up=True)) <= math.nextafter(float(alike.ratio(up=False)), 1)


@pytest.mark.parametrize("delta", [0.0, 0.1, 2.0**-60, 1.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_slack_is_rounded_up_by_an_ulp(epsilon, delta):
    budget = Budget(epsilon)
    pair = np.array([0]), np.array([1])
    blocks = [
        Ties(budget, 2, delta=delta).rows(2),
        Ties(budget, 2, delta=delta).rows_of_events(*pair, np.eye(2)[:1]),
    ]
    for block in blocks:
        for row in range(len(block)):
            b, least = block.coefficient[block.row == row]
            side = Fraction(float(block.upper[row]))
            assert least == -1
            assert Fraction(float(b)) <= ratios(budget, 1)[0]
            assert side >= Fraction(float(b)) * Fraction(delta)
            assert float(block.upper[row]) <= math.nextafter(math.nextafter(b * delta, 1), 1)
            assert bool(side) == bool(delta)


def test_pairs_outputs_and_rows_of_ties():
    assert not Ties(1.0, 3).is_shared
    assert [end.tolist() for end in Ties(1.0, 3).pairs()] == [
        [0, 0, 1, 1, 2, 2],
        [1, 2, 0, 2, 0, 1],
    ]
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
        return Ties(
            1.0,
            3,
            np.array(first),
            np.array(second),
            None if distance is None else np.array(distance),
        )

    assert along([0, 1, 1, 2], [1, 0, 2, 1]).is_mutual
    assert not along([0, 1, 1], [1, 0, 2]).is_mutual
    assert along([0, 1], [1, 0], [2.0, 2.0]).is_mutual
    assert not along([0, 1], [1, 0], [2.0, 1.0]).is_mutual
    assert Ties(1.0, 3).is_mutual
    assert not Ties(1.0, 3, owner=np.array([-1, 0])).is_mutual
    assert not Ties(1.0, 3, capped=np.array([True, False, False])).is_mutual
    assert Ties(1.0, 3, capped=np.array([True, True, True])).is_mutual


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": -1e-9},
        {"delta": 1.1},
        {"delta": math.nan},
        {"first": np.array([0])},
        {"distance": np.array([1.0])},
        {"first": np.array([0]), "second": np.array([1, 2])},
        {"first": np.array([0]), "second": np.array([1]), "distance": np.array([1.0, 1.0])},
        {"first": np.array([0]), "second": np.array([3])},
        {"first": np.array([-1]), "second": np.array([1])},
        {"first": np.array([0, 1]), "second": np.array([1, 1])},
        {"first": np.array([0, 1]), "second": np.array([1, 0]), "distance": np.array([1.0, 0.0])},
        {"first": np.array([0, 1]), "second": np.array([1, 0]), "distance": np.array([1.0, -1.0])},
        {
            "first": np.array([0, 1]),
            "second": np.array([1, 0]),
            "distance": np.array([1.0, math.inf]),
        },
        {"capped": np.ones(2, bool)},
        {"owner": np.array([-1, 0, 3])},
        {"owner": np.array([-2, 0, 1])},
    ],
)
def test_ties_that_are_almost_right_are_refused(changes: Any) -> None:
    with pytest.raises(StatementError) as caught:
        replace(Ties(1.0, 3), **changes)
    assert caught.value.where == "the ties of a privacy notion"


def test_ties_that_are_just_right_are_taken() -> None:
    ends = np.array([0, 2]), np.array([2, 0])
    assert Ties(1.0, 3, *ends, np.array([2.0, 2.0])).pairs() == ends
    assert len(Ties(1.0, 3, np.zeros(0, np.int64), np.zeros(0, np.int64)).pairs()[0]) == 0
    assert Ties(1.0, 3, capped=np.ones(3, bool), owner=np.array([-1, 0, 2]), delta=1.0).is_compact


def test_ties_take_lists_and_plain_numbers():
    ties = Ties(1.0, 3, [0, 1], [1, 0], [1, 1])
    assert ties.budget == Budget(1.0)
    assert ties.rows(2).violation(np.full((3, 2), 0.5)).max() == 0


@pytest.mark.parametrize("n", [1, 2, 7])
def test_ties_of_a_table_are_those_of_its_lists(n):
    table = np.random.default_rng(n).uniform(1.0, 2.0, (n, n))
    np.fill_diagonal(table, 0.0)
    some = TableTies(Budget(0.7), table)
    same = replace(some, delta=0.0)
    assert type(same) is Ties
    for name in ("first", "second", "distance", "table"):
        assert np.array_equal(getattr(some, name), getattr(same, name))
    for name in (
        "n",
        "number",
        "distance_range",
        "is_compact",
        "is_complete",
        "is_mutual",
        "has_all_pairs",
    ):
        assert getattr(some, name) == getattr(same, name), name
    for up in (True, False):
        assert np.array_equal(some.ratio(up=up), same.ratio(up=up))
        assert np.array_equal(some.ratio_table(up=up), same.ratio_table(up=up))
    channel = np.random.default_rng(0).dirichlet(np.ones(3), n)
    assert np.array_equal(some.rows(3).violation(channel), same.rows(3).violation(channel))
    assert np.array_equal(pickle.loads(pickle.dumps(some)).table, table)
    assert replace(some, delta=0.5).delta == 0.5


def test_a_large_metric_has_no_lists_of_pairs():
    notion = lo.MetricDP.of_points(1.0, np.random.default_rng(0).random((160, 2)))
    ties = notion.ties(range(160))
    assert ties.table is notion.distance
    problem = lo.Problem(np.full(160, 1 / 160), lo.Utility(notion.distance, "loss"), notion)
    lo.certify(lo.solve(problem, gap=5e-2, limits=lo.Limits(graph_numbers=1.0)))
    assert not {"first", "second", "distance"} & set(vars(problem.ties()))
