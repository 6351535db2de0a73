"""Workloads: matrices, labels, sums, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ldpopt import Workload
from ldpopt.errors import StatementError


@pytest.mark.parametrize(
    "workload",
    [
        Workload.frequencies(5),
        Workload.prefix(list("abcd")),
        Workload.ranges(6),
        Workload.mean([1.0, 2.0, 4.0]),
        Workload.marginals([2, 3, 2], 2),
        2 * Workload.prefix(4) + Workload.frequencies(4),
    ],
)
def test_gram_is_that_of_the_matrix(workload):
    assert workload.matrix.shape == workload.shape
    assert len(workload.names) == workload.shape[0]
    assert np.allclose(workload.gram, workload.matrix.T @ workload.matrix)


def test_ranges_and_marginals_by_hand():
    assert Workload.ranges(2).matrix.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert Workload.ranges(["x", "y"]).names == ("x .. x", "x .. y", "y .. y")
    table = Workload.marginals({"sex": ["f", "m"], "age": [0, 1]}, 1)
    assert table.inputs == (("f", 0), ("f", 1), ("m", 0), ("m", 1))
    assert table.matrix.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]


def test_labels_decide_not_positions():
    table = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["c", "a", "b"], index=["score"])
    workload = Workload(table, inputs=["a", "b", "c"])
    assert workload.matrix.tolist() == [[2, 3, 1]]
    assert workload.names == ("score",)
    both = Workload(table) + workload
    assert both.inputs == ("c", "a", "b")
    assert both.matrix.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_means_of_mappings_follow_the_inputs():
    workload = Workload.means({"age": {"x": 1, "y": 2}, "cost": {"y": 5, "x": 4}})
    assert workload.matrix.tolist() == [[1, 2], [4, 5]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload([[0.0, 0.0]]),
        lambda: Workload([[1.0, np.nan]]),
        lambda: Workload([[1.0]]),
        lambda: Workload([[1.0, 2.0]], inputs=["a"]),
        lambda: Workload([[1.0, 2.0]], inputs=["a", "a"]),
        lambda: Workload([[1.0, "b"]]),
        lambda: Workload(pd.DataFrame([[1.0, 2.0]], columns=["a", "b"]), inputs=["a", "c"]),
        lambda: Workload.frequencies(1),
        lambda: Workload.frequencies("abc"),
        lambda: 0 * Workload.prefix(3),
        lambda: Workload.prefix(3) + Workload.prefix(4),
        lambda: Workload.marginals([2, 2], 3),
        lambda: Workload.mean({"a": 1, "b": 2}, inputs=["a", "c"]),
        lambda: Workload.stack(),
    ],
)
def test_refused_in_words(make):
    with pytest.raises(StatementError):
        make()
