"""Closed forms on graphs and metrics: paths and kernels."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from builders import refused
from ldpopt import closed_forms
from ldpopt.errors import NotRepresentableError, StatementError


class TestGraphs:
    @pytest.mark.parametrize("n", [2, 3, 10])
    def test_uniform_path(self, n):
        alpha = 7 / 2
        expected = (2 * alpha + (n - 2) * (alpha - 1)) / (n * (alpha + 1))
        assert closed_forms.path_graph([1 / n] * n, "log(7/2)").value == pytest.approx(
            expected, rel=1e-14
        )

    def test_party_identification(self):
        counts = {"SD": 200, "WD": 180, "ID": 108, "II": 37, "IR": 94, "WR": 150, "SR": 175}
        assert closed_forms.path_graph(counts, 1.0).value == pytest.approx(
            closed_forms.path_graph(list(np.array(list(counts.values())) / 944), 1.0).value
        )

    def test_long_paths_and_extreme_budgets(self):
        for epsilon in (0.0, 1e-9, 1.0, 40.0, 1e4):
            prior = np.random.default_rng(0).dirichlet(np.ones(5000))
            form = closed_forms.path_graph(prior, epsilon)
            assert prior.max() - 1e-15 <= form.value <= 1 + 1e-12

    def test_kernel_agrees_with_the_path_and_the_complete_graph(self):
        assert closed_forms.kernel(nx.path_graph(6), [1 / 6] * 6, 0.8).value == pytest.approx(
            closed_forms.path_graph([1 / 6] * 6, 0.8).value
        )
        assert closed_forms.kernel(nx.complete_graph(5), [0.2] * 5, 0.8).value == pytest.approx(
            closed_forms.minimax(5, 0.8).value
        )

    def test_kernel_names_the_entry_that_refuses(self):
        with refused("kernel", NotRepresentableError) as caught:
            closed_forms.kernel(nx.path_graph(["a", "b", "c"]), {"a": 0.5, "b": 0.5, "c": 0.0}, 0.5)
        assert "(K^-1 prior)['c']" in caught.value.what

    def test_kernel_puts_the_prior_into_the_order_of_the_nodes(self):
        graph = nx.Graph([("b", "a"), ("a", "c")])
        form = closed_forms.kernel(graph, {"a": 2, "b": 1, "c": 1}, 2.0)
        assert form.inputs == ("b", "a", "c")
        assert form.distance[0].tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        "distance",
        [
            [[0, 1], [2, 0]],
            [[0, 0], [0, 0]],
            [[1, 1], [1, 0]],
            [[0, math.inf], [math.inf, 0]],
            [[0, 1, 1]] * 3,
            [[0]],
        ],
    )
    def test_kernel_refuses_what_is_no_metric(self, distance):
        with pytest.raises(StatementError):
            closed_forms.kernel(distance, [0.5, 0.5], 1.0)

    def test_kernel_takes_shortcuts(self):
        far = [[0, 1, 9], [1, 0, 1], [9, 1, 0]]
        assert closed_forms.kernel(far, [0.3, 0.4, 0.3], 1.0).distance[0, 2] == 2
