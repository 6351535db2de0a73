"""Properties of breadth-first layers on random connected graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cases
from ldpopt.noise.layers import bfs_mechanism, level_matrix


@st.composite
def connected(draw, most=10):
    """A random tree with random further edges."""
    n = draw(st.integers(2, most))
    graph = nx.Graph([(k, draw(st.integers(0, k - 1))) for k in range(1, n)])
    graph.add_edges_from(
        draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=n))
    )
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


@settings(deadline=None)
@given(connected(), st.integers(1, 5), st.integers(0, 999))
def test_lemma_1_neighbors_layers_differ_by_at_most_one(graph, kinds, seed):
    values = dict(
        zip(graph, np.random.default_rng(seed).integers(0, kinds, len(graph)).tolist(), strict=True)
    )
    inputs, _, levels = level_matrix(graph, values)
    index = {node: k for k, node in enumerate(inputs)}
    for x, other in graph.edges:
        assert np.abs(levels[index[x]] - levels[index[other]]).max() <= 1


@cases(25)
@given(connected(), st.sampled_from([0.01, 0.3, 1.0, "log(3)", 5.0, 40.0]), st.integers(0, 999))
def test_the_best_repair_is_certified_and_no_better_than_the_optimum(graph, epsilon, seed):
    prior = np.random.default_rng(seed).dirichlet(np.ones(len(graph)))
    found = bfs_mechanism(graph, epsilon, prior=prior)
    assert found.mechanism.audit(found.problem.privacy).verdict == "certified"
    budget = float(found.problem.privacy.epsilon)
    assert budget * (1 - 1e-12) <= found.unrepaired_epsilon <= 2 * budget * (1 + 1e-12) + 1e-12
    assert found.ratio >= 1 - 1e-7
    assert isinstance(found.tried["budget"], float)
    assert isinstance(found.tried["balls"], float)
