"""Extreme rays of cones of columns against plain ways to find them, and designs over them against a
conic solver."""

from __future__ import annotations

import itertools
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, thorough_or
from ldpopt import GraphDP, MetricDP, OneSided, PureLDP, Workload, design
from ldpopt.privacy.cones.rays import ZERO, rays_of
from ldpopt.privacy.cones.vertices import lengths_of, vertices


def by_all_trees(distance):
    """Extreme rays as points of the cone whose tight ties are a spanning tree, by trying all of
    them."""
    n = len(distance)
    pairs = [(x, z) for x in range(n) for z in range(n) if x != z]
    found = set()
    for tree in itertools.combinations(pairs, n - 1):
        graph = nx.Graph(tree)
        if (
            graph.number_of_nodes() < n
            or graph.number_of_edges() < n - 1
            or not nx.is_connected(graph)
        ):
            continue
        matrix = np.zeros((n, n), int)
        right = np.zeros(n, int)
        for k, (x, z) in enumerate(tree):
            matrix[k, x], matrix[k, z], right[k] = 1, -1, distance[x][z]
        matrix[n - 1, 0] = 1
        point = np.round(np.linalg.solve(matrix, right)).astype(int)
        if all(point[x] - point[z] <= distance[x][z] for x, z in pairs):
            found.add(tuple(int(size) for size in point.max() - point))
    return found


def closed(distance):
    """Shortest chains."""
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, [k]] + distance[[k]])
    return distance


@st.composite
def whole_metrics(draw, most):
    n = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, most), min_size=n * n, max_size=n * n))
    square = np.triu(np.array(sizes).reshape(n, n), 1)
    return closed(square + square.T)


@cases(25)
@given(whole_metrics(most=5))
def test_rays_are_those_of_all_trees(distance):
    """Small whole distances have many ties, so that most cases are degenerate."""
    n = len(distance)
    ties = lengths_of(MetricDP(1.0, distance).definition(range(n)))
    step = int(ties.unit)
    assert {tuple(step * int(size) for size in row) for row in vertices(ties)} == by_all_trees(
        distance
    )


@cases(25)
@given(whole_metrics(most=3))
def test_rays_are_those_of_the_double_description(distance):
    """With e**epsilon = 2 the cone is rational: the Parma Polyhedra Library lists its rays."""
    ppl = pytest.importorskip(
        "ppl", reason="pplpy, an exact tool to compare with, is not installed"
    )
    n = len(distance)
    system = ppl.Constraint_System()
    for x, z in itertools.permutations(range(n), 2):
        system.insert(2 ** int(distance[x, z]) * ppl.Variable(z) - ppl.Variable(x) >= 0)
    found = set()
    for generator in ppl.C_Polyhedron(system).minimized_generators():
        if generator.is_ray():
            ray = [int(size) for size in generator.coefficients()]
            found.add(tuple(max(ray) // size for size in ray))
    rays = rays_of(MetricDP("log(2)", distance), range(n))
    assert {tuple(2 ** (int(rays.unit) * int(size)) for size in row) for row in rays.below} == found


@pytest.mark.parametrize("n", [3, 5, 7])
def test_numbers_of_rays(n):
    """Paths: each tie one way or the other; complete graphs: sets; even cycles: middle sets;
    general points."""

    def count(privacy):
        return len(rays_of(privacy, range(n)).below)

    assert count(GraphDP(1.0, nx.path_graph(n))) == 2 ** (n - 1)
    assert count(GraphDP(1.0, nx.complete_graph(n))) == 2**n - 2
    even = rays_of(GraphDP(1.0, nx.cycle_graph(n + 1)), range(n + 1))
    assert len(even.below) == comb(n + 1, (n + 1) // 2)
    places = np.random.default_rng(n).random((n, 3))
    assert count(MetricDP(1.0, np.sqrt(((places[:, None] - places) ** 2).sum(2)))) == comb(
        2 * n - 2, n - 1
    )
    line = 0.1 * np.arange(n)
    assert count(MetricDP(1.0, np.abs(line[:, None] - line))) == 2 ** (n - 1)


def grid(rows, columns):
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))


CASES = {
    "path": (GraphDP(1.0, nx.path_graph(5)), Workload.prefix(5)),
    "star": (GraphDP(0.5, nx.star_graph(4)), Workload.frequencies(5)),
    "grid": (GraphDP(1.5, grid(2, 3)), Workload.ranges(6)),
    "line": (
        MetricDP(0.7, np.abs(np.subtract.outer([0, 1, 3, 4], [0, 1, 3, 4]))),
        Workload.frequencies(4),
    ),
    "mean": (
        MetricDP(0.7, np.abs(np.subtract.outer([0, 1, 3, 4], [0, 1, 3, 4]))),
        Workload.mean([0, 1, 3, 4]),
    ),
    "parts": (
        GraphDP(1.0, nx.Graph([(0, 1), (2, 3), (3, 4)]), parts="separate"),
        Workload.frequencies(5),
    ),
    "one-sided": (OneSided(1.0, [0, 2]), Workload.prefix(5)),
    "all sensitive": (OneSided(1.0, range(4)), Workload.prefix(4)),
}


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(
    ("case", "objective"),
    thorough_or(
        # each with one objective
        list(zip(CASES, itertools.cycle(["average", "worst_case"]), strict=False)),
        list(itertools.product(CASES, ["average", "worst_case"])),
    ),
)
def test_designs_are_those_of_a_conic_solver(case, objective):
    """Over all rays, ``sum_A (r.v_A) t_A`` with ``|q_A|^2 <= theta_A t_A`` and ``sum_A q_A v_A =
    W``."""
    import cvxpy as cp

    privacy, workload = CASES[case]
    n = workload.shape[1]
    rays = rays_of(privacy, range(n))
    scale = float(privacy.epsilon) * float(rays.unit)
    v = np.where(rays.below == ZERO, 0.0, np.exp(-scale * rays.below))
    theta = cp.Variable(len(v))
    costs = cp.Variable(len(v))
    q = cp.Variable((workload.shape[0], len(v)))
    cones = cp.SOC(
        theta + costs, cp.vstack([2 * q, cp.reshape(theta - costs, (1, len(v)), order="F")]), axis=0
    )
    square = (workload.matrix**2).sum(axis=0)
    cost = (
        cp.sum(cp.multiply(v.mean(axis=1), costs)) - square.mean()
        if objective == "average"
        else cp.max(v.T @ costs - square)
    )
    program = cp.Problem(cp.Minimize(cost), [cones, q @ v == workload.matrix, v.T @ theta == 1])
    program.solve(solver="CLARABEL")
    made = design(workload, privacy, objective=objective, gap=1e-7)
    assert made.value == pytest.approx(program.value, rel=1e-5)
    assert made.relative_gap <= 2e-7
    assert made.certificate.recheck() == ()


@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_a_complete_graph_is_pure_privacy(objective):
    """Also as a metric, whose rays are listed one by one."""
    pure = design(Workload.prefix(5), PureLDP(1.0), objective=objective, gap=1e-9)
    for privacy in (GraphDP(1.0, nx.complete_graph(5)), MetricDP(0.5, 2 * (1 - np.eye(5)))):
        made = design(Workload.prefix(5), privacy, objective=objective, gap=1e-9)
        assert made.value == pytest.approx(pure.value, rel=2e-9)
        assert made.certificate.recheck() == ()
