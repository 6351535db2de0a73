"""Extreme points of small polytopes: published counts, an independent exact tool, audits, ranks,
linear programs."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction as F

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from builders import is_vertex, listed_channels, pairwise_rows, sample_or_all, thorough_or
from ldpopt.polytope.halfspaces import halfspaces
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.privacy.cones.double_description import enumerate_vertices, rank

RATIOS = ["log(3)", "log(7/2)"]
METRIC = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]

CASES = {
    "pure 2x2": (lambda e: PureLDP(e), 2, 2, 4),
    "pure 3x3": (lambda e: PureLDP(e), 3, 3, 33),
    "pure 2x5": (lambda e: PureLDP(e), 2, 5, 25),
    "pure 4x2": (lambda e: PureLDP(e), 4, 2, 16),
    "pure 4x3": (lambda e: PureLDP(e), 4, 3, 117),
    "pure 3x4": (lambda e: PureLDP(e), 3, 4, 88),
    "pure 1x3": (lambda e: PureLDP(e), 1, 3, 3),
    "entry 2x2": (lambda e: ApproximateLDP(e, 0.2, "entry"), 2, 2, 8),
    "event 2x2": (lambda e: ApproximateLDP(e, 0.2), 2, 2, 8),
    "entry 3x3": (lambda e: ApproximateLDP(e, 0.1, "entry"), 3, 3, 357),
    "event 3x3": (lambda e: ApproximateLDP(e, 0.1), 3, 3, 393),
    "event 3x2": (lambda e: ApproximateLDP(e, 0.1), 3, 2, 20),
    "path 3x3": (lambda e: GraphDP(e, nx.path_graph(3)), 3, 3, 27),
    "path 4x3": (lambda e: GraphDP(e, nx.path_graph(4)), 4, 3, 147),
    "cycle 3x3": (lambda e: GraphDP(e, nx.cycle_graph(3)), 3, 3, 33),
    "cycle 4x3": (lambda e: GraphDP(e, nx.cycle_graph(4)), 4, 3, 81),
    "star 4x3": (lambda e: GraphDP(e, nx.star_graph(3)), 4, 3, 81),
    "metric 3x3": (lambda e: MetricDP(e, METRIC), 3, 3, 39),
}


def by_ppl(polytope):
    """Vertices by the Parma Polyhedra Library, each once."""
    ppl = pytest.importorskip(
        "ppl", reason="pplpy, an exact tool to compare with, is not installed"
    )
    system = ppl.Constraint_System()
    for row, bound in zip(polytope.coefficients, polytope.bounds, strict=True):
        scale = np.lcm.reduce([int(v.denominator) for v in (*row, bound)])
        expression = ppl.Linear_Expression([-int(v * scale) for v in row], int(bound * scale))
        system.insert(expression >= 0)
    found = ppl.C_Polyhedron(system).minimized_generators()
    assert all(generator.is_point() for generator in found)
    points = [tuple(F(int(v), int(g.divisor())) for v in g.coefficients()) for g in found]
    # trailing zeros may be missing from a generator
    dimension = polytope.n * (polytope.m - 1)
    return {point + (F(0),) * (dimension - len(point)) for point in points}


@pytest.mark.parametrize("epsilon", thorough_or(RATIOS[:1], RATIOS))
@pytest.mark.parametrize("case", CASES)
def test_counts_agree_with_an_independent_tool(case, epsilon):
    privacy, n, m, count = CASES[case]
    polytope = halfspaces(privacy(epsilon), n, m)
    found, is_complete = enumerate_vertices(polytope.coefficients, polytope.bounds)
    assert is_complete
    assert len(found) == count
    assert len(set(found)) == len(found)
    assert set(found) == by_ppl(polytope)


@pytest.mark.parametrize(
    "privacy, n, m, count",
    [
        (GraphDP("log(2)", nx.star_graph(3)), 4, 3, 69),
        (GraphDP("log(11/10)", nx.star_graph(3)), 4, 3, 99),
        (ApproximateLDP("log(11/10)", 0.1, "entry"), 3, 3, 375),
        (ApproximateLDP("log(11/10)", 0.1), 3, 3, 393),
    ],
)
def test_some_counts_change_with_the_ratio(privacy, n, m, count):
    polytope = halfspaces(privacy, n, m)
    found, _ = enumerate_vertices(polytope.coefficients, polytope.bounds)
    assert len(found) == count
    assert set(found) == by_ppl(polytope)


@pytest.mark.long
def test_four_by_four_has_904():
    polytope = halfspaces(PureLDP("log(3)"), 4)
    channels = listed_channels(polytope)
    assert len(channels) == 904
    columns = Counter(
        sum(any(column) for column in zip(*channel, strict=True)) for channel in channels
    )
    assert columns == {1: 4, 2: 84, 3: 288, 4: 528}
    assert {polytope.point(channel) for channel in channels} == by_ppl(polytope)


@pytest.mark.parametrize("form", ["entry", "event"])
@pytest.mark.parametrize("alpha, delta", [(F(11, 10), F(1, 5)), (F(3), F(1, 10))])
def test_the_eight_binary_points(form, alpha, delta):
    """A..H of figure 5 of Zhou, Lu and Wu 2019 in the coordinates (P[0,0], P[1,1])."""
    one = F(1)
    d = (delta + alpha) / (alpha + 1)
    h = (1 - delta) / (alpha + 1)
    named = {
        (0, 1 - delta),
        (0, one),
        (delta, one),
        (d, d),
        (one, delta),
        (one, 0),
        (1 - delta, 0),
        (h, h),
    }
    privacy = ApproximateLDP(f"log({alpha})", float(delta), form)
    assert {(p[0][0], p[1][1]) for p in listed_channels(halfspaces(privacy, 2))} == named


def is_vertex_by_components(polytope, channel):
    """Second test of a vertex, for delta = 0: in each column connect the inputs of every tight tie.

    Each component of a column has one free scale. The channel is extreme if and only if the row
    sums determine all scales.
    """
    if min(polytope.slacks(channel)) < 0:
        return False
    components = []
    for column in zip(*channel, strict=True):
        graph = nx.Graph()
        graph.add_nodes_from(x for x in range(polytope.n) if column[x])
        graph.add_edges_from(
            (tie.first, tie.second)
            for tie in polytope.ties
            if column[tie.first] and column[tie.first] == tie.factor * column[tie.second]
        )
        components += [
            [entry if x in part else 0 for x, entry in enumerate(column)]
            for part in nx.connected_components(graph)
        ]
    return len(components) <= polytope.n and rank(components) == len(components)


def test_vertices_are_distinguished_from_other_points():
    polytope = halfspaces(PureLDP("log(3)"), 2)
    response = ((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4)))
    constant = ((1, 0), (1, 0))
    half = tuple(
        tuple((a + b) / 2 for a, b in zip(*rows, strict=True))
        for rows in zip(response, constant, strict=True)
    )
    for channel, expected in [
        (response, True),
        (constant, True),
        (half, False),
        (((1, 0), (0, 1)), False),
    ]:
        assert is_vertex(polytope, channel) is expected
        assert is_vertex_by_components(polytope, channel) is expected


def test_a_vertex_can_have_three_levels_in_a_column():
    """Eight inputs, four used outputs: an extreme point that is not a staircase."""
    rows = ["1331", "1113", "1113", "1312", "3311", "1113", "3112", "3131"]
    theta = [F(1, 9), F(1, 9), F(1, 9), F(2, 9)]
    channel = [[t * int(level) for t, level in zip(theta, row, strict=True)] for row in rows]
    polytope = halfspaces(PureLDP("log(3)"), 8, 4)
    assert is_vertex(polytope, channel)
    assert is_vertex_by_components(polytope, channel)


@pytest.mark.parametrize("case", CASES)
def test_every_vertex_is_private_and_has_full_rank(case):
    privacy, n, m, _ = CASES[case]
    notion = privacy("log(3)")
    polytope = halfspaces(notion, n, m)
    channels = listed_channels(polytope)
    for channel in sample_or_all(channels, 6):
        assert notion.audit(channel).verdict == "certified"
    for channel in channels[:: max(1, len(channels) // thorough_or(10, 40))]:
        assert is_vertex(polytope, channel)
        if not polytope.delta:
            assert is_vertex_by_components(polytope, channel)
    if len(channels) > 1:
        middle = [
            [(a + b) / 2 for a, b in zip(*rows, strict=True)]
            for rows in zip(*channels[:2], strict=True)
        ]
        assert not is_vertex(polytope, middle)


def definition(privacy, n, m):
    """Rows of the notion over all n m entries, written from its definition: every pair, every
    event."""
    alpha = float(privacy.epsilon.ratio)
    delta = getattr(privacy, "delta", 0.0)
    distance = np.ones((n, n))
    if isinstance(privacy, GraphDP):
        distance = np.array(nx.floyd_warshall_numpy(privacy.graph))
    if isinstance(privacy, MetricDP):
        distance = np.array(privacy.distance)
    return pairwise_rows(n, m, alpha**distance, delta, getattr(privacy, "form", "entry"))


@pytest.mark.parametrize("case", CASES)
def test_linear_programs_attain_their_maximum_at_a_listed_vertex(case):
    privacy, n, m, _ = CASES[case]
    notion = privacy("log(3)")
    channels = listed_channels(halfspaces(notion, n, m))
    rows, bounds = definition(notion, n, m)
    rng = np.random.default_rng(3)
    for _ in range(thorough_or(1, 3)):
        gain = [[F(int(v), 100) for v in row] for row in rng.integers(-100, 101, (n, m))]
        best = max(
            sum(g * p for gs, ps in zip(gain, c, strict=True) for g, p in zip(gs, ps, strict=True))
            for c in channels
        )
        cost = -np.array(gain, float).ravel()
        inequalities = (rows, bounds) if len(rows) else (None, None)
        found = linprog(
            cost,
            *inequalities,
            np.kron(np.eye(n), np.ones(m)),
            np.ones(n),
            bounds=(0, 1),
            method="highs",
        )
        assert found.status == 0
        assert -found.fun == pytest.approx(float(best), abs=1e-8)


def test_random_polytopes_agree_with_brute_force():
    """Every choice of as many rows as coordinates, solved; kept where it satisfies the others."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        box = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
        rows = np.concatenate([box, rng.integers(-3, 4, (5, 3))]).tolist()
        bounds = [2] * 6 + rng.integers(1, 5, 5).tolist()
        found, _ = enumerate_vertices(rows, bounds)
        expected = set()
        for chosen in itertools.combinations(range(len(rows)), 3):
            matrix = np.array([rows[i] for i in chosen])
            if round(np.linalg.det(matrix)):
                point = np.linalg.solve(matrix, [bounds[i] for i in chosen])
                if (np.array(rows) @ point <= np.array(bounds) + 1e-9).all():
                    expected.add(tuple(np.round(point, 9) + 0.0))
        assert {tuple(np.round([float(v) for v in p], 9) + 0.0) for p in found} == expected
