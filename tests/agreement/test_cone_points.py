"""Extreme points under notions that compare averages."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import notions_of_averages, refused, thorough_or
from ldpopt import (
    PML,
    ApproximateLDP,
    GraphDP,
    OneSided,
    PairwiseLDP,
    Problem,
    PureLDP,
    Utility,
    UtilityOptimizedLDP,
    solve,
)
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.polytope.vertices import ComparedPoints, extreme_points

THREE = {
    name: privacy
    for name, privacy in notions_of_averages(3).items()
    if name not in ("pure 1", "path")
}


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", THREE)
def test_the_best_point_is_the_optimum_of_a_program(name, m):
    """Gains that are drawn, so that the optimum of each is one point."""
    privacy = THREE[name]
    points = extreme_points(privacy, 3, m)
    assert isinstance(points, ComparedPoints)
    rng = np.random.default_rng(m)
    for _ in range(thorough_or(1, 3)):
        problem = Problem([0.5, 0.3, 0.2], Utility(rng.random((3, m))), privacy)
        best = points.best(problem)
        assert float(best.value) == pytest.approx(solve(problem).value, abs=1e-9)
        assert len(best.vertices) == 1
        assert best.mechanism.audit(privacy).verdict == "certified"


@pytest.mark.parametrize("name", THREE)
def test_every_point_is_private_and_a_vertex(name):
    """The audit is exact; the tight rows determine the point."""
    privacy = THREE[name]
    points = extreme_points(privacy, 3, 2)
    listed = list(points)
    assert len({tuple(point.flat) for point in listed}) == len(listed) == points.count
    spaces = points.spaces_at(points.ratio)
    for point in listed:
        assert all(sum(row) == 1 for row in point.tolist())
        assert privacy.audit(point).verdict == "certified"
        tight = [
            [float(a) for a in row]
            for row, slack in zip(spaces.coefficients, spaces.slacks(point), strict=True)
            if not slack
        ]
        assert np.linalg.matrix_rank(tight, tol=1e-9) == 3


def test_columns_inside_a_face_occur():
    """Under PML 1 of three answers and two reports no extreme point but the constant ones consists
    of two extreme rays."""
    from ldpopt.privacy.cones.rays import rays_of

    privacy = PML(1.0, {0: 3, 1: 2, 2: 1})
    rays = rays_of(privacy, range(3)).columns.vectors
    for point in extreme_points(privacy, 3, 2):
        channel = point.astype(float)
        if (channel > 0).all(axis=0).all() and np.ptp(channel) > 0:
            columns = (channel / channel.max(axis=0)).T
            near = [np.abs(rays - column).max(axis=1).min() < 1e-9 for column in columns]
            assert not all(near)


def test_one_way_pairs():
    """Of two answers with a bound one way: the triangle or trapezoid between it and the corners."""
    points = extreme_points(PairwiseLDP({("a", "b"): "log(3)"}), 2, inputs=["a", "b"])
    corners = {(point[0, 0], point[1, 0]) for point in points}
    zero = Fraction(0)
    one = Fraction(1)
    third = Fraction(1, 3)
    assert corners == {(zero, zero), (one, one), (one, third), (zero, 1 - third)}
    assert extreme_points(OneSided("log(3)", ["a"]), 2, inputs=["a", "b"]).count == 4


def test_symmetries_of_orbits():
    """Of alike answers all orders count as one."""
    points = extreme_points(PML("log(6/5)", {0: 1, 1: 1, 2: 1}), 3, 2)
    assert sum(orbit.size for orbit in points.orbits) == points.count
    assert len(points.orbits) < points.count
    assert "extreme points" in repr(points)


class TestRefusals:
    def test_another_notion(self):
        points = extreme_points(PML(0.5, {0: 1, 1: 2}), 2)
        with refused("notion"):
            points.best(Problem([0.5, 0.5], "identity", PML(0.6, {0: 1, 1: 2})))
        with refused("notion"):
            points.best(Problem([0.5, 0.5], "identity", PureLDP(0.5)))

    @pytest.mark.parametrize(
        "privacy",
        [
            UtilityOptimizedLDP(1.0, [0]),
            ApproximateLDP(1.0, 0.1) & GraphDP(0.5, nx.path_graph(3)),
        ],
    )
    def test_a_condition_that_is_not_that_of_every_report(self, privacy):
        with refused("one-condition", NotRepresentableError):
            extreme_points(privacy, 3)

    def test_formulas(self):
        point = extreme_points(PML(0.5, {0: 1, 1: 2}), 2)[1]
        with pytest.raises(StatementError):
            extreme_points(PML(0.5, {0: 1, 1: 2}), 3)
        assert "a" not in point.formula
