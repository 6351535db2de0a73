"""Half-spaces of notions: coefficients, exactness, errors."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, permutations, product

import networkx as nx
import pytest

from builders import listed_channels, refused
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.polytope.halfspaces import exact_power, halfspaces
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.privacy.cones.double_description import (
    enumerate_vertices,
    extreme_rays,
    primitive_integers,
    rank,
)

PATH = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_slacks_are_those_of_the_definition():
    """A row for each ordered pair of inputs and each event, and one for each entry."""
    channel = ((F(1, 2), F(1, 3), F(1, 6)), (F(1, 5), F(1, 5), F(3, 5)))
    events = [event for size in (1, 2) for event in combinations(range(3), size)]
    expected = [
        F(7, 2) * sum(other[y] for y in event) + F(1, 10) - sum(one[y] for y in event)
        for one, other in permutations(channel)
        for event in events
    ]
    slacks = halfspaces(ApproximateLDP("log(7/2)", 0.1), 2, 3).slacks(channel)
    assert sorted(slacks) == sorted([*expected, *channel[0], *channel[1]])


@pytest.mark.parametrize(
    "privacy, n, m, rows",
    [
        (PureLDP("log(3)"), 3, 3, 18),
        (PureLDP("log(3)"), 1, 3, 3),
        (PureLDP("log(3)"), 3, 1, 6),
        (ApproximateLDP("log(3)", 0.0), 3, 4, 24),
        (ApproximateLDP("log(3)", 0.1, "entry"), 3, 3, 27),
        (ApproximateLDP("log(3)", 0.1), 3, 3, 45),
        (ApproximateLDP("log(3)", 0.1), 3, 2, 18),
        (GraphDP("log(3)", nx.path_graph(4)), 4, 3, 18),
        (GraphDP("log(3)", nx.cycle_graph(4)), 4, 4, 32),
        (MetricDP("log(3)", PATH), 3, 3, 12),
        (MetricDP("log(3)", [[0, 2, 3], [2, 0, 2], [3, 2, 0]]), 3, 3, 18),
    ],
)
def test_number_of_rows(privacy, n, m, rows):
    polytope = halfspaces(privacy, n, m)
    assert len(polytope.bounds) == len(polytope.coefficients) == rows
    assert all(len(row) == n * (m - 1) for row in polytope.coefficients)


def test_delta_is_read_as_the_decimal_that_it_prints():
    assert halfspaces(ApproximateLDP("log(3)", 0.1), 2).delta == F(1, 10)
    assert halfspaces(ApproximateLDP("log(3)", 1e-9, "entry"), 2).delta == F(1, 10**9)


def test_a_decimal_above_its_float_is_private_at_the_next_float():
    """3/10 exceeds the float 0.3 by 1e-17, which the exact audit of a vertex sees."""
    channels = listed_channels(halfspaces(ApproximateLDP("log(3)", 0.3), 2))
    wider = ApproximateLDP("log(3)", math.nextafter(0.3, 1))
    assert all(wider.audit(channel).verdict == "certified" for channel in channels)


def test_path_graph_equals_its_metric():
    path = halfspaces(GraphDP("log(3)", nx.path_graph(3)), 3)
    assert path.coefficients == halfspaces(MetricDP("log(3)", PATH), 3).coefficients


def test_powers_of_the_ratio():
    polytope = halfspaces(MetricDP("log(9/4)", [[0, 1.5, 2], [1.5, 0, 0.5], [2, 0.5, 0]]), 3)
    assert {tie.factor for tie in polytope.ties} == {F(27, 8), F(3, 2)}
    assert exact_power(Budget("log(2)"), F(100)) == 2**100
    assert exact_power(Budget("log(1024)"), F(1, 10)) == 2
    big = (10**40 + 7) ** 3
    assert exact_power(Budget(f"log({big})"), F(1, 3)) == 10**40 + 7
    with pytest.raises(NotRepresentableError):
        exact_power(Budget(f"log({big + 1})"), F(1, 3))


def test_channel_and_point_are_inverse():
    polytope = halfspaces(PureLDP("log(3)"), 3, 4)
    point = tuple(F(k, 100) for k in range(9))
    assert polytope.point(polytope.channel(point)) == point
    assert all(sum(row) == 1 for row in polytope.channel(point))


@pytest.mark.parametrize(
    "privacy, code, kind, value",
    [
        (PureLDP(1.0), "rational", NotRepresentableError, "log(p/q)"),
        (
            MetricDP("log(3)", [[0, 0.5], [0.5, 0]]),
            "rational",
            NotRepresentableError,
            "power 1/2",
        ),
        (PureLDP(0), "interior", StatementError, "epsilon = delta = 0"),
        (GraphDP("log(3)", nx.path_graph(3)), "labels", StatementError, "3 labels for 2"),
    ],
)
def test_wrong_arguments_are_rejected(privacy, code, kind, value):
    with refused(code, kind) as caught:
        halfspaces(privacy, n=2)
    assert value in str(caught.value)


def test_notions_without_ties_and_too_many_rows_are_rejected():
    class Silent:
        def rows(self, inputs, n_outputs):
            raise NotImplementedError

        def audit(self, channel):
            raise NotImplementedError

    with refused("notion"):
        halfspaces(Silent(), 2)
    for m in (15, 40):
        with pytest.raises(NotRepresentableError, match="rows"):
            halfspaces(ApproximateLDP("log(3)", 0.1), 4, m)


def test_epsilon_zero_with_delta_has_an_interior():
    assert len(listed_channels(halfspaces(ApproximateLDP(0, 0.5), 2))) == 6


class TestDoubleDescription:
    def test_a_cube(self):
        unit = [[int(i == k) for k in range(4)] for i in range(4)]
        cube, _ = enumerate_vertices(unit + [[-v for v in row] for row in unit], [1] * 4 + [0] * 4)
        assert cube == list(product((0, 1), repeat=4))

    def test_many_rows_through_one_vertex(self):
        """A pyramid over a hexagon: the apex lies on six facets."""
        sides = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]
        pyramid, _ = enumerate_vertices(
            [[*side, 1] for side in sides] + [[0, 0, -1]], [1] * 6 + [0]
        )
        corners = [(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]
        assert set(pyramid) == {(0, 0, 1), *((*corner, 0) for corner in corners)}

    def test_large_numbers_are_exact(self):
        huge = 10**30
        assert enumerate_vertices([[huge], [-1]], [1, 0])[0] == [(F(0),), (F(1, huge),)]
        triangle, _ = enumerate_vertices([[huge, 1], [-1, 0], [0, -1]], [huge + 1, 0, 0])
        assert triangle == [(F(0), F(0)), (F(0), F(huge + 1)), (F(huge + 1, huge), F(0))]

    def test_flat_and_empty_polytopes(self):
        assert enumerate_vertices([[1, 1], [-1, -1], [-1, 0], [0, -1]], [1, -1, 0, 0])[0] == [
            (0, 1),
            (1, 0),
        ]
        assert enumerate_vertices([[1], [-1]], [0, -1])[0] == []

    @pytest.mark.parametrize("rows, bounds", [([[1, 0], [0, 1]], [1, 1]), ([[-1]], [0]), ([], [])])
    def test_unbounded_polytopes_are_rejected(self, rows, bounds):
        with refused("unboundedness"):
            enumerate_vertices(rows, bounds)

    def test_cones_with_a_line_are_rejected(self):
        with refused("unboundedness"):
            extreme_rays([[1, 0]])

    def test_limit_of_the_rays(self):
        polytope = halfspaces(PureLDP("log(3)"), 3)
        assert len(listed_channels(polytope)) == 33
        with refused("rays", NotRepresentableError):
            enumerate_vertices(polytope.coefficients, polytope.bounds, most=20)

    def test_primitive_integers_and_rank(self):
        assert primitive_integers([F(1, 2), F(-1, 3)]) == [3, -2]
        assert primitive_integers([0, 0]) == [0, 0]
        assert rank([[F(1, 2), 1], [1, 2], [0, 0]]) == 1
        assert rank([]) == 0
