"""Workloads: matrices, labels, sums, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

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
def test_the_gram_matrix_is_that_of_the_rows(workload):
    assert workload.matrix.shape == workload.shape
    assert len(workload.names) == workload.shape[0]
    assert np.allclose(workload.gram, workload.matrix.T @ workload.matrix)


def test_ranges_and_marginals_by_hand():
    assert Workload.ranges(2).matrix.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert Workload.ranges(["x", "y"]).names == ("x .. x", "x .. y", "y .. y")
    table = Workload.marginals({"sex": ["f", "m"], "age": [0, 1]}, 1)
    assert table.inputs == (("f", 0), ("f", 1), ("m", 0), ("m", 1))
    assert table.matrix.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]


def test_tables_are_aligned_by_label():
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


def test_labels_of_numbers_are_the_answers():
    """A Series is one row about the labels of its index; lists without labels follow those that
    have them."""
    assert Workload(pd.Series([1.0, 2.0], ["x", "y"])).inputs == ("x", "y")
    assert Workload.mean(pd.Series([1.0, 2.0], ["x", "y"]), inputs=["y", "x"]).matrix.tolist() == [
        [2, 1]
    ]
    means = Workload.means({"a": [3, 4], "b": {"x": 1, "y": 2}, "c": {"y": 5, "x": 6}})
    assert means.inputs == ("x", "y")
    assert means.matrix.tolist() == [[3, 4], [1, 2], [6, 5]]


def test_truth_values_and_sparse_matrices_are_numbers():
    age = np.array([17, 40, 70])
    wanted = [[0, 1, 1], [0, 0, 1]]
    assert Workload([age >= 18, age >= 65]).matrix.tolist() == wanted
    assert (
        Workload(pd.DataFrame({"x": [False, False], "y": [True, False], "z": True})).matrix.tolist()
        == wanted
    )
    assert Workload(csr_array(wanted)).matrix.tolist() == wanted
    assert Workload(csr_matrix(wanted)).matrix.tolist() == wanted


def test_repeated_names_get_numbers():
    """So that a certificate of a sum can be read again, and a table of estimates has one line for
    each."""
    both = Workload.mean([1, 2]) + Workload.mean([3, 5]) + Workload([[1, 0]], names=["mean (2)"])
    assert both.names == ("mean", "mean (2)", "mean (2) (2)")
    assert (2 * Workload.frequencies(2) + Workload.frequencies(2)).names == (0, 1, "0 (2)", "1 (2)")


@pytest.mark.parametrize(
    "workload",
    [
        Workload([[1, 2]]),
        3 * Workload.prefix(3) + Workload.ranges(3) + Workload.frequencies(3),
        Workload.marginals([2, 3], 2),
        Workload.prefix(list("abc")).align(list("cab")),
    ],
)
def test_workloads_can_be_pickled(workload):
    there = pickle.loads(pickle.dumps(workload))
    assert (there.inputs, there.names) == (workload.inputs, workload.names)
    assert np.array_equal(there.matrix, workload.matrix)
    assert np.array_equal(there.gram, workload.gram)


def test_a_large_constant_costs_no_digits():
    times = Workload.mean([1.7e9 + 60 * step for step in range(5)])
    steps = Workload.mean([60 * step for step in range(5)])
    assert np.allclose(times.contrast_gram, steps.gram, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload([[1e-200, 0.0]]),
        lambda: (1e90 * (1e90 * Workload.prefix(3))).gram,
        lambda: (1e-90 * (1e-90 * Workload.prefix(3))).gram,
        lambda: Workload(pd.DataFrame([[1.0, 2.0]], columns=["a", "b"]), inputs=2),
        lambda: Workload(pd.DataFrame([[1.0, 2.0]], ["x"], ["a", "b"]), names=["y"]),
        lambda: Workload.ranges(10**4),
        lambda: Workload.mean(pd.Series([1, 2], ["a", "b"]), inputs=["a", "c"]),
        lambda: Workload.means({"a": [1, 2], "b": [1, 2, 3]}),
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
