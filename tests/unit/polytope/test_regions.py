"""Regions: exact cells of the prior simplex, and exact breakpoints in epsilon."""

from __future__ import annotations

import math
from fractions import Fraction as F

import networkx as nx
import numpy as np
import pytest

from builders import refused
from ldpopt import ApproximateLDP, GraphDP, PureLDP, closed_forms
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.polytope.regions import epsilon_breakpoints, exact_prior, prior_regions
from ldpopt.polytope.vertices import extreme_points


@pytest.mark.parametrize("ratio", [F(3), F(7, 2), F(11, 10), F(100)])
@pytest.mark.parametrize("delta", [0, 0.125, 0.5])
def test_binary_breakpoints_are_those_of_the_paper(ratio, delta):
    privacy = ApproximateLDP(f"log({ratio})", delta) if delta else PureLDP(f"log({ratio})")
    first, last, middle = prior_regions(privacy, 2)
    low = 1 / (ratio + 1)
    high = ratio / (ratio + 1)
    assert [corner[0] for corner in first.corners] == [high, 1]
    assert [corner[0] for corner in middle.corners] == [low, high]
    assert [corner[0] for corner in last.corners] == [0, low]
    truth = (ratio + F(delta)) / (ratio + 1)
    assert middle.utilities == (truth, truth)
    assert first.utilities == (1, F(delta))
    assert (first.share, middle.share) == (low, high - low)


@pytest.mark.parametrize("ratio", [F(3), F(3, 2), F(12)])
def test_ternary_cells_cover_the_triangle(ratio):
    regions = prior_regions(PureLDP(f"log({ratio})"), 3)
    assert [region.label for region in regions] == [
        "top-1: 0",
        "top-1: 1",
        "top-1: 2",
        "top-2: 0, 1",
        "top-2: 0, 2",
        "top-2: 1, 2",
        "RR",
    ]
    assert sum(region.share for region in regions) == 1
    # Corners of RR's cell: two answers at the least weight that still pays, pi_(3) (alpha + 1) =
    # pi_(1) + pi_(2).
    assert sorted(regions[-1].corners[0]) == [1 / (ratio + 2), 1 / (ratio + 2), ratio / (ratio + 2)]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_cell_for_each_set_of_answers(n):
    regions = prior_regions(PureLDP("log(7/2)"), n)
    assert len({region.members for region in regions}) == len(regions) == 2**n - 1


def test_vertices_with_the_same_utilities_are_counted():
    regions = prior_regions(PureLDP("log(3)"), 3)
    assert [region.merged for region in regions] == [1, 1, 1, 2, 2, 2, 1]


def test_extreme_points_may_be_given():
    points = extreme_points(PureLDP("log(3)"), 3)
    for mine, other in zip(prior_regions(points), prior_regions(points.privacy, 3), strict=True):
        assert mine.corners == other.corners


def test_borders_belong_to_both_sides():
    first, last, middle = prior_regions(PureLDP("log(3)"), 2)
    border = [F(3, 4), F(1, 4)]
    assert first.contains(border)
    assert middle.contains(border)
    assert not last.contains(border)
    assert middle.contains([0.75, 0.25])
    assert not first.contains([F(3, 4) - F(1, 10**30), F(1, 4) + F(1, 10**30)])


def test_other_utilities_and_losses():
    regions = prior_regions(PureLDP("log(3)"), 3, "absolute_error")
    assert [region.label for region in regions][:4] == [
        "reports 0",
        "reports 1",
        "reports 2",
        "reports 0, 1",
    ]
    assert regions[0].utilities == (0, 1, 2)
    assert sum(region.share for region in regions) == 1
    (single,) = prior_regions(PureLDP("log(3)"), 2, [[1.0], [0.5]])
    assert single.corners == ((0, 1), (1, 0))


def test_cells_are_named_top_k_only_if_the_theorem_holds():
    regions = prior_regions(GraphDP("log(3)", nx.path_graph(3)), 3)
    assert all(region.members is None for region in regions)
    assert sum(region.share for region in regions) == 1


def test_wrong_arguments_are_rejected():
    with refused("inputs"):
        prior_regions(PureLDP(1.0))
    with refused("shape"):
        prior_regions(extreme_points(PureLDP(1.0), 3), 4)
    region = prior_regions(PureLDP("log(3)"), 2)[0]
    with refused("entries"):
        region.contains([0.2, 0.3, 0.5])
    with pytest.raises(NotRepresentableError):
        _ = prior_regions(PureLDP("log(3)"), 4)[0].share
    for bad in ([F(-1), F(2)], [0, 0]):
        with pytest.raises(StatementError):
            exact_prior(bad)


def test_epsilon_ranges_are_the_thresholds():
    prior = [0.5, 0.25, 0.125, 0.125, 0.0]
    ranges = epsilon_breakpoints(prior)
    assert [(r.k, r.ratios) for r in ranges] == [(1, (1, 2)), (2, (2, 5)), (4, (5, None))]
    assert ranges[0].epsilons == (0.0, math.log(2))
    assert ranges[-1].epsilons == (math.log(5), math.inf)
    assert ranges[-1].members == (0, 1, 2, 3)
    form = closed_forms.top_k(prior, 1.0)
    assert form.thresholds[:4].tolist() == [1, 2, 5, 5]
    assert epsilon_breakpoints({"a": 2, "b": 1, "c": 0.5, "d": 0.5}, delta=0.5) == ranges
    with pytest.raises(StatementError):
        epsilon_breakpoints(prior, delta=1)


def test_ranges_have_the_members_of_top_k():
    rng = np.random.default_rng(5)
    for _ in range(20):
        prior = rng.dirichlet(np.ones(5))
        for found in epsilon_breakpoints(prior):
            low, high = found.ratios
            inside = (low + (low + 1 if high is None else high)) / 2
            form = closed_forms.top_k(prior, f"log({inside})")
            assert (form.k, tuple(form.members.tolist())) == (found.k, found.members)
