"""Levels of a graph, and factors of the weighted Laplacians of all outputs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt.solving.interior.levels import LevelFactors, VertexLevels


def levels_of(graph):
    first, second = np.array([pair for edge in graph.edges for pair in (edge, edge[::-1])]).T
    return VertexLevels.of(len(graph), first, second), first, second


@given(st.integers(2, 30), st.floats(0.05, 1.0), st.integers(0, 10**6))
@cases(40)
def test_edges_join_vertices_of_one_level_or_of_consecutive_ones(n, share, seed):
    graph = nx.gnp_random_graph(n, share, seed=seed)
    graph.add_edge(0, 1)
    levels, first, second = levels_of(graph)
    assert sorted(levels.order) == list(range(n))
    level = np.repeat(np.arange(len(levels.sizes)), levels.sizes)
    assert np.isin(level[levels.high] - level[levels.low], [0, 1]).all()
    position = np.argsort(levels.order)
    ends = np.sort([position[first], position[second]], axis=0)
    assert np.array_equal(ends, [levels.low[levels.pair_edge], levels.high[levels.pair_edge]])
    for i in range(len(levels.sizes)):
        inside = slice(levels.inner[i], levels.cross[i])
        across = slice(levels.cross[i], levels.inner[i + 1])
        assert (level[levels.low[inside]] == i).all()
        assert (level[levels.high[inside]] == i).all()
        assert (level[levels.high[across]] - level[levels.low[across]] == 1).all()


@pytest.mark.parametrize(
    ("graph", "widest"), [(nx.path_graph(9), 1), (nx.cycle_graph(9), 2), (nx.grid_graph([4, 9]), 4)]
)
def test_levels_of_long_graphs_are_narrow(graph, widest):
    levels, *_ = levels_of(nx.convert_node_labels_to_integers(graph))
    assert levels.sizes.max() == widest


def laplacians(levels, outputs, rng):
    """Random matrices with given products with a positive vector."""
    n = len(levels.order)
    off = rng.random((outputs, len(levels.low))) * 10.0 ** rng.integers(
        -3, 3, (outputs, len(levels.low))
    )
    scale = rng.random((outputs, n)) + 0.01
    excess = rng.random((outputs, n))
    matrices = np.zeros((outputs, n, n))
    matrices[:, levels.low, levels.high] = matrices[:, levels.high, levels.low] = -off
    own = np.arange(n)
    matrices[:, own, own] = (excess / scale - np.einsum("jab,jb->ja", matrices, scale)) / scale
    return scale, excess, off, matrices


GRAPHS = {
    "path": nx.path_graph(12),
    "star": nx.star_graph(40),
    "grid": nx.grid_2d_graph(5, 6),
    "one panel": nx.complete_graph(32),
    "panel and one": nx.complete_graph(33),
    "panels": nx.complete_graph(100),
    "random": nx.gnp_random_graph(60, 0.3, seed=1),
    "parts": nx.disjoint_union(nx.grid_2d_graph(3, 4), nx.cycle_graph(5)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_factors_agree_with_dense_inverses(name):
    rng = np.random.default_rng(3)
    levels, *_ = levels_of(nx.convert_node_labels_to_integers(GRAPHS[name]))
    n = len(levels.order)
    scale, excess, off, matrices = laplacians(levels, 6, rng)
    inverses = np.linalg.inv(matrices)
    weights = rng.random((6, n))
    right = rng.normal(size=(6, n))
    factors = LevelFactors.of(levels, scale, excess, off, weights, np.empty((6, levels.numbers)))
    plain, one, both = factors.sums
    assert plain == pytest.approx(inverses.sum(axis=0), rel=1e-9)
    assert one == pytest.approx((inverses * weights[:, None]).sum(axis=0), rel=1e-9)
    assert both == pytest.approx(
        (weights[:, :, None] * inverses * weights[:, None]).sum(axis=0), rel=1e-9
    )
    exact = np.einsum("jab,jb->ja", inverses, right)
    assert np.abs(factors.solve(right) - exact).max() <= 1e-9 * np.abs(exact).max()


def test_a_tiny_row_sum_keeps_its_digits():
    levels, *_ = levels_of(nx.path_graph(5))
    tiny = 1e-30  # a diagonal of 2 + 1e-30 would be 2
    excess = np.zeros((1, 5))
    off = np.ones((1, 4))
    excess[0, 2] = tiny
    factors = LevelFactors.of(
        levels, np.ones((1, 5)), excess, off, None, np.empty((1, levels.numbers))
    )
    # A conserved flow leaves where the row sum is not zero.
    assert factors.sums[0] == pytest.approx(np.full((5, 5), 1 / tiny), rel=1e-12)
