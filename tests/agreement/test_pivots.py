"""Trees of tight ties against their definition: rays, best costs, prices and multipliers, in tables
and in rows."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import ldpopt as lo
from builders import cases
from ldpopt.native import improve_trees
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.trees import Trees


def random_cone(n, seed, kind):
    """Points in the plane or on a grid, a graph, or a table with missing ties."""
    rng = np.random.default_rng(seed)
    if kind == "graph":
        graph = nx.path_graph(n)
        graph.add_edges_from(rng.integers(n, size=(n, 2)))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return Cone.of(lo.GraphDP(0.8, graph).ties(range(n)))
    points = (
        rng.permutation(100)[:n, None] // [1, 10] % 10.0
        if kind == "grid"
        else rng.normal(0, 3, (n, 2))
    )
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    if kind == "holes":
        is_far = rng.random((n, n)) < 0.3
        distance[(is_far | is_far.T) & (np.abs(np.subtract.outer(range(n), range(n))) > 1)] = 0.0
    return Cone.of_table(np.where(distance > 0, distance, np.inf))


def loss_table(cone):
    """Losses of all pairs, (n, n), infinite without a tie."""
    if len(cone.table):
        return cone.table
    loss = np.full((cone.n, cone.n), np.inf)
    loss[cone.first, cone.second] = cone.loss
    return loss


def least_cost(costs, root, cone):
    """Least cost of a column of the cone whose entry at the root is 1."""
    first, second = np.nonzero(np.isfinite(loss_table(cone)))
    rows = np.zeros((len(first), cone.n))
    rows[np.arange(len(rows)), first] = np.exp(-cone.losses(first, second))
    rows[np.arange(len(rows)), second] = -1.0
    bounds = [(1.0, 1.0) if x == root else (0.0, None) for x in range(cone.n)]
    return linprog(costs, A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds, method="highs").fun


@cases(40)
@given(
    st.integers(3, 40),
    st.integers(0, 10**6),
    st.sampled_from(["plane", "grid", "graph", "holes"]),
    st.sampled_from([1, 3, 10, None]),
)
def test_pivots_lead_to_the_best_ray_of_tight_ties(n, seed, kind, most):
    cone = random_cone(n, seed, kind)
    rng = np.random.default_rng(seed)
    roots = rng.integers(n, size=4)
    costs = rng.standard_normal((4, n)) + 0.3
    sums = 0.1 * rng.standard_normal(n)
    trees = Trees(cone, roots)
    outputs = np.arange(4)
    is_best = np.zeros(4, bool)
    if most is None:
        is_best |= trees.improve(costs, sums)
    else:
        pivots = improve_trees(outputs, *trees.forest, costs, sums, cone.lengths, most, is_best)
    assert is_best.all() or pivots >= most
    loss = loss_table(cone)
    rays = trees.rays(outputs)
    prices = trees.prices(costs, sums)
    assert prices.total == pytest.approx(rays.sum(axis=1))
    remaining = costs - sums
    size = (np.abs(remaining) * rays).sum(axis=1)
    for y, (root, ray, parent, side) in enumerate(
        zip(roots, rays, trees.parent, trees.side, strict=True)
    ):
        others = np.delete(np.arange(n), root)
        above = parent[others]
        assert ray[root] == 1.0
        assert (parent[root], side[root]) == (root, 0)
        assert ray[others] == pytest.approx(
            ray[above] * np.exp(side[others] * loss[others, above]), rel=1e-12
        )
        assert (ray[:, None] <= np.exp(loss) * ray * (1 + 1e-9)).all()
        least = least_cost(remaining[y], root, cone)
        cost = remaining[y] @ ray
        assert cost >= least - 1e-7 * size[y]
        rest = np.where(np.arange(n) == root, 0.0, prices.share)  # costs that the price leaves
        assert prices.least[y] <= least_cost(remaining[y] - rest, root, cone) + 1e-7 * size[y]
        if is_best[y]:
            assert [cost, prices.least[y]] == pytest.approx([least, least], abs=1e-7 * size[y])


def test_all_nodes_are_compared_if_ties_are_missing():
    rng = np.random.default_rng(0)
    distance = rng.uniform(1, 3, (12, 12))
    distance = np.minimum(distance, distance.T)
    distance[0, 1] = distance[1, 0] = np.inf
    np.fill_diagonal(distance, 0)
    first, second = np.nonzero((distance > 0) & np.isfinite(distance))
    cone = Cone.of_table(np.where(distance > 0, distance, np.inf))
    assert cone.pairs == len(first)
    assert not cone.is_metric
    trees = Trees(cone, np.arange(12))
    assert trees.improve(rng.standard_normal((12, 12)), np.zeros(12)).all()
    rays = trees.rays(np.arange(12))
    ratio = rays[:, first] / rays[:, second]
    assert (ratio >= np.exp(-distance[first, second]) * (1 - 1e-9)).all()


@pytest.mark.parametrize(("metric", "is_whole"), [("euclidean", True), ("manhattan", False)])
def test_implied_pairs_are_tied_if_losses_are_in_a_table(metric, is_whole):
    points = np.stack(np.unravel_index(np.random.default_rng(0).permutation(64), (8, 8)), axis=1)
    privacy = lo.MetricDP.of_points(0.5, points, metric)
    ties = privacy.ties(range(64))
    assert len(ties.first) < 64 * 63
    cone = Cone.of(ties, lambda: privacy.definition(range(64)))
    assert cone.is_metric == is_whole
    assert cone.pairs == (64 * 63 if is_whole else len(ties.first))
    first, second = np.nonzero(np.isfinite(loss_table(cone)))
    assert cone.losses(first, second) == pytest.approx(
        0.5 * privacy.matrix(range(64))[first, second]
    )
