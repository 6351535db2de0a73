"""Statements: what is refused, in which words; and what a good one becomes."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    Problem,
    PureLDP,
    Utility,
    constraints,
    utility,
)
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.rows import RowBlock
from ldpopt.problem.plain import from_plain, plain
from ldpopt.problem.problem import with_privacy

PURE = PureLDP(1.0)
HALF = [0.5, 0.5]
FREE = np.array([-np.inf]), np.array([np.inf])


def directed():
    return nx.DiGraph([(0, 1)])


def apart():
    return nx.Graph([(0, 1), (2, 3)])


def row(name, x=0, y=0):
    return RowBlock(name, np.array([0]), np.array([x]), np.array([y]), np.array([1.0]), *FREE)


REFUSED = {
    "prior inf": (lambda: Problem([0.5, math.inf], privacy=PURE), "probability", "prior[1] = inf"),
    "prior sum by a little": (
        lambda: Problem([0.5, 0.5 + 2e-9], privacy=PURE),
        "sum",
        "1.000000002",
    ),
    "prior number": (lambda: Problem(1.0, privacy=PURE), "shape", "()"),
    "prior none": (lambda: Problem(None, privacy=PURE, inputs="ab"), "missing-prior", ""),
    "outputs many": (
        lambda: Problem(HALF, np.eye(2), PURE, outputs="abc"),
        "utility-shape",
        "(2, 2)",
    ),
    "outputs strange": (lambda: Problem(HALF, "identity", PURE, outputs="xy"), "identity", ""),
    "utility shape": (lambda: Problem(HALF, np.eye(3), PURE), "utility-shape", "(3, 3)"),
    "utility nan": (
        lambda: Problem(HALF, [[1, math.nan], [0, 1]], PURE),
        "infinite-entry",
        "gain[0, 1] = nan",
    ),
    "utility inf": (
        lambda: Problem(HALF, Utility([[0, 1], [-math.inf, 1]], "loss"), PURE),
        "infinite-entry",
        "loss[1, 0] = -inf",
    ),
    "utility vector": (lambda: Problem(HALF, [1.0, 0.0], PURE), "shape", "(2,)"),
    "utility empty": (lambda: Problem(HALF, np.zeros((2, 0)), PURE), "shape", "(2, 0)"),
    "utility unknown": (lambda: Problem(HALF, "identiti", PURE), "utility-name", "'identiti'"),
    "utility sense": (lambda: Utility(np.eye(2), "cost"), "sense", "'cost'"),
    "utility of names": (
        lambda: Problem({"a": 1, "b": 1}, "squared_error", PURE, outputs="xy"),
        "numbers",
        "squared_error",
    ),
    "worst case with prior": (
        lambda: Problem(HALF, privacy=PURE, objective="worst_case"),
        "worst-case-prior",
        "",
    ),
    "worst case of nothing": (
        lambda: Problem(None, privacy=PURE, objective="worst_case"),
        "inputs",
        "",
    ),
    "constraint kind": (
        lambda: Problem(HALF, privacy=PURE, constraints=[[1, 2]]),
        "constraint",
        "[1, 2]",
    ),
    "constraint name": (
        lambda: Problem(HALF, privacy=PURE, constraints=row("privacy")),
        "reserved-name",
        "'privacy'",
    ),
    "constraint input": (
        lambda: Problem(HALF, privacy=PURE, constraints=row("a", x=2)),
        "positions",
        "input 2",
    ),
    "constraint output": (
        lambda: Problem(HALF, privacy=PURE, constraints=row("a", y=2)),
        "positions",
        "output 2",
    ),
    "constraints alike": (
        lambda: Problem(HALF, privacy=PURE, constraints=[row("a"), row("a")]),
        "duplicate-name",
        "'a'",
    ),
    "constraint bounds": (lambda: constraints.linear(np.eye(2), 2, 1), "bounds", ""),
    "constraint nan": (lambda: constraints.linear([[math.nan]]), "coefficients", ""),
    "unbiased empty": (lambda: constraints.unbiased([], [1.0]), "values", ""),
    "unbiased inf": (lambda: constraints.unbiased([0.0], [math.inf]), "values", ""),
    "unbiased size": (
        lambda: Problem(HALF, privacy=PURE, constraints=constraints.unbiased([0, 1, 2], [0, 1])),
        "shape",
        "3 inputs",
    ),
    "constraint of a stated shape": (
        lambda: Problem(HALF, privacy=PURE, constraints=replace(row("a"), shape=(2, 3))),
        "shape",
        "3 outputs",
    ),
    "constraint of no shape": (
        lambda: Problem(HALF, privacy=PURE, constraints=replace(row("a"), shape=2)),
        "shape",
        "pair",
    ),
    "constraint of texts": (
        lambda: Problem(
            HALF, privacy=PURE, constraints=replace(row("a"), coefficient=np.array(["1"]))
        ),
        "positions",
        "not a real number",
    ),
    "steps among numbers": (
        lambda: Problem([0.5, 0.3, 0.2], "absolute_error", PURE, inputs=["none", 1, 2]),
        "label-kinds",
        "utility.absolute_error(values)",
    ),
    "steps among numbers as text": (
        lambda: Problem([0.5, 0.5], "squared_error", PURE, inputs=["0", "1 or more"]),
        "label-kinds",
        "'1 or more'",
    ),
    "error of infinite values": (lambda: utility.absolute_error([0, math.inf]), "values", ""),
}

# by what reads numbers, labels, notions, graphs and distances
MISREAD = {
    "prior ragged": (lambda: Problem([[0.5], [0.25, 0.25]], privacy=PURE), "rectangular"),
    "prior text": (lambda: Problem(["0.5", "0.5"], privacy=PURE), "rectangular"),
    "prior bool": (lambda: Problem([True, False], privacy=PURE), "rectangular"),
    "prior complex": (lambda: Problem([0.5 + 0j, 0.5], privacy=PURE), "rectangular"),
    "inputs twice": (lambda: Problem(HALF, privacy=PURE, inputs="aa"), "label 'a'"),
    "outputs twice": (lambda: Problem(HALF, np.eye(2), PURE, outputs="bb"), "label 'b'"),
    "utility ragged": (lambda: Problem(HALF, [[1, 0], [1]], PURE), "gain matrix"),
    "privacy none": (lambda: Problem(HALF), "no privacy notion"),
    "privacy number": (lambda: Problem(HALF, "identity", 1.0), "1.0"),
    "objective unknown": (
        lambda: Problem(HALF, privacy=PURE, objective="mean"),
        "objective = 'mean'",
    ),
    "epsilon negative": (lambda: PureLDP(-0.1), "epsilon = -0.1"),
    "epsilon nan": (lambda: PureLDP(math.nan), "epsilon = nan"),
    "epsilon inf": (lambda: PureLDP(math.inf), "infinite"),
    "epsilon text": (lambda: PureLDP("one"), "epsilon = 'one'"),
    "epsilon none": (lambda: ApproximateLDP(None, 0.1), "epsilon = None"),
    "delta negative": (lambda: ApproximateLDP(1.0, -1e-9), "delta"),
    "delta large": (lambda: ApproximateLDP(1.0, 1.1), "delta"),
    "delta nan": (lambda: ApproximateLDP(1.0, math.nan), "delta"),
    "delta text": (lambda: ApproximateLDP(1.0, "small"), "delta"),
    "delta none": (lambda: ApproximateLDP(1.0, None), "delta"),
    "delta bool": (lambda: ApproximateLDP(1.0, True), "delta"),
    "form unknown": (lambda: ApproximateLDP(1.0, 0.1, "events"), "form = 'events'|'events'"),
    "graph directed": (lambda: GraphDP(1.0, directed()), "directed"),
    "graph disconnected": (lambda: GraphDP(1.0, apart()), "2 parts"),
    "graph empty": (lambda: GraphDP(1.0, nx.Graph()), "the graph is empty"),
    "graph list": (lambda: GraphDP(1.0, [(0, 1)]), "list"),
    "graph unknown label": (
        lambda: Problem(HALF, privacy=GraphDP(1.0, nx.path_graph(3))),
        "names 2",
    ),
    "graph missing label": (
        lambda: Problem([0.5, 0.25, 0.25], privacy=GraphDP(1, nx.path_graph(2))),
        "input 2",
    ),
    "distance shape": (lambda: MetricDP(1.0, [[0, 1, 2]]), r"shape \(1, 3\)"),
    "distance size": (lambda: Problem([1.0], privacy=MetricDP(1.0, [[0, 1], [1, 0]])), r"\(2, 2\)"),
    "distance nan": (lambda: MetricDP(1.0, [[0, math.nan], [math.nan, 0]]), "not finite"),
    "distance inf": (lambda: MetricDP(1.0, [[0, math.inf], [math.inf, 0]]), "not finite"),
    "distance lopsided": (lambda: MetricDP(1.0, [[0, 1], [2, 0]]), r"distance\[0, 1\] = 1 differs"),
    "distance negative": (lambda: MetricDP(1.0, [[0, -1], [-1, 0]]), "not positive"),
    "distance zero": (lambda: MetricDP(1.0, [[0, 0], [0, 0]]), "not positive: merge"),
    "distance diagonal": (lambda: MetricDP(1.0, [[1, 1], [1, 0]]), r"distance\[0, 0\] = 1"),
    "distance ragged": (lambda: MetricDP(1.0, [[0, 1], [1]]), "not a rectangular"),
    "distance empty": (lambda: MetricDP(1.0, np.zeros((0, 0))), r"shape \(0, 0\)"),
    "distance callable": (
        lambda: Problem(HALF, privacy=MetricDP(1.0, lambda x, k: x - k)),
        "differs|not positive",
    ),
    "constraint nan bound": (lambda: constraints.linear(np.eye(2), math.nan), "= nan"),
}


def require_readable(caught):
    assert "\n" not in caught.value.one_line
    assert caught.value.what in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LdpoptError)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    build, code, value = REFUSED[case]
    with refused(code) as caught:
        build()
    assert value in str(caught.value)
    require_readable(caught)


@pytest.mark.parametrize("case", MISREAD)
def test_numbers_labels_and_notions_are_refused(case):
    build, words = MISREAD[case]
    with pytest.raises(StatementError, match=words) as caught:
        build()
    require_readable(caught)


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5))


@given(shape=SIZES, other=SIZES, kind=st.sampled_from(["unbiased", "linear", "own"]))
@cases(60)
def test_a_constraint_fits_a_channel_of_its_shape_only(shape, other, kind):
    n, m = other
    block = {
        "unbiased": lambda: constraints.unbiased(np.zeros(n), np.zeros(m)),
        "linear": lambda: constraints.linear(np.ones((n, m)), upper=9.0),
        "own": lambda: replace(row("own"), shape=other),
    }[kind]()
    gain = np.ones(shape)

    def stated():
        return Problem(np.full(shape[0], 1 / shape[0]), gain, PURE, constraints=block)

    if shape == other:
        (found,) = stated().constraints
        assert found.shape == shape
        (read,) = from_plain(Entry(plain(stated()), "file")).constraints
        assert read.shape == shape
    else:
        with refused("shape"):
            stated()


def test_a_message_has_three_parts_and_one_line():
    error = ModelFileError("wrong\nthing", where="a file", do="mend it")
    assert str(error) == "wrong\nthing\n  where: a file\n  do: mend it"
    assert error.one_line == "wrong thing | where: a file | do: mend it"


def test_labels_come_from_any_part_that_has_them():
    problem = Problem({"no": 2, "yes": 8}, "identity", PURE)
    assert (problem.inputs, problem.outputs) == (("no", "yes"), ("no", "yes"))
    assert problem.prior.tolist() == [0.2, 0.8]
    assert Problem({"no": 2, "yes": 8}, "identity", PURE, inputs=["yes", "no"]).prior.tolist() == [
        0.8,
        0.2,
    ]
    series = pd.Series([3, 1], index=["x", "y"])
    assert Problem(series, "identity", PURE).inputs == ("x", "y")
    wide = Problem(HALF, np.ones((2, 3)), PURE, inputs="ab")
    assert (wide.inputs, wide.outputs) == (("a", "b"), (0, 1, 2))
    assert Problem(HALF, "identity", PURE, inputs=np.array([4, 5])).inputs == (4, 5)
    assert Problem(None, "identity", PURE, inputs="abc", objective="worst_case").utility.shape == (
        3,
        3,
    )


def test_arrays_are_copied_and_read_only():
    prior = np.array(HALF)
    gain = np.eye(2)
    problem = Problem(prior, gain, PURE)
    prior[0], gain[0, 0] = 0, 7
    assert problem.prior[0] == 0.5
    assert problem.utility.matrix[0, 0] == 1
    for array in (problem.prior, problem.utility.matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_problem_is_frozen_and_has_a_short_representation():
    problem = Problem(HALF, utility.absolute_error([0, 1]), PURE)
    with pytest.raises(AttributeError):
        problem.prior = None
    assert repr(problem) == "Problem(2 inputs, 2 outputs, expected loss, PureLDP(epsilon=1.0))"
    assert Problem([1.0], "identity", PURE).is_trivial
    assert not problem.is_trivial


def test_a_callable_distance_takes_the_labels():
    notion = MetricDP(1.0, lambda x, k: abs(ord(x) - ord(k)))
    assert notion.matrix("acd").tolist() == [[0, 2, 3], [2, 0, 1], [3, 1, 0]]


def test_utilities_use_numeric_labels_or_positions():
    by_number = Problem(HALF, "absolute_error", PURE, inputs=[10, 30], outputs=[10, 25]).utility
    assert by_number.matrix.tolist() == [[0, 15], [20, 5]]
    by_place = Problem([0.5, 0.25, 0.25], "squared_error", PURE, inputs="abc", outputs="ca").utility
    assert by_place.matrix.tolist() == [[4, 0], [1, 1], [0, 4]]
    assert by_place.sense == "loss"
    assert by_place.gain.tolist() == [[-4, 0], [-1, -1], [0, -4]]
    partial = Problem([0.5, 0.25, 0.25], "identity", PURE, inputs="abc", outputs="ca").utility
    assert partial.matrix.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_numeric_labels_have_their_own_value():
    assert utility.named("absolute_error", (0, np.int64(5), 0.5), (0, 5, 0.5)).matrix[
        0
    ].tolist() == [0, 5, 0.5]
    assert utility.named("absolute_error", (False, True), (0, 0.5, 1)).matrix[1].tolist() == [
        1,
        0.5,
        0,
    ]
    spans = tuple(np.array([1, 5], "timedelta64[D]"))
    assert utility.named("absolute_error", spans, spans).matrix[0].tolist() == [0, 1]


@pytest.mark.parametrize("loss", [utility.absolute_error, utility.squared_error])
def test_reports_are_called_by_the_values_that_they_stand_for(loss):
    def labels(prior, *values, privacy=PURE, **options):
        problem = Problem(prior, loss(*values), privacy, **options)
        return problem.inputs, problem.outputs

    assert labels(HALF, [0, 1], [0, 0.5, 1]) == ((0, 1), (0, 0.5, 1))
    assert labels(HALF, [10, 30]) == ((10, 30), (10, 30))
    assert labels(HALF, np.array([0.5, 2])) == ((0.5, 2), (0.5, 2))
    assert labels(HALF, [10, 30], [20, 40]) == ((10, 30), (20, 40))
    assert labels({"a": 1, "b": 1}, [10, 30]) == (("a", "b"), ("a", "b"))
    assert labels({"a": 1, "b": 1}, [10, 30], [20, 40]) == (("a", "b"), (20, 40))
    assert labels(HALF, [10, 30], inputs="ab", outputs="cd") == (("a", "b"), ("c", "d"))
    assert labels(HALF, {"a": 10, "b": 30}, [10, 20, 30]) == (("a", "b"), (10, 20, 30))
    assert labels(HALF, [10, 30], {"low": 10, "high": 30}) == ((10, 30), ("low", "high"))
    assert labels(HALF, [10, 10]) == ((0, 1), (0, 1))  # equal numbers are no labels
    path = GraphDP(1.0, nx.path_graph(2))
    assert labels(HALF, [10, 30], [20, 40], privacy=path) == ((0, 1), (20, 40))
    worst = {"objective": "worst_case"}
    assert labels(None, [10, 30], [20, 40], **worst) == ((10, 30), (20, 40))
    problem = Problem(HALF, loss([0, 1], [0, 0.5, 1]), PURE)
    assert all(type(name) is float for name in problem.outputs)
    assert all(type(name) is int for name in problem.inputs)
    assert replace(problem, prior=[0.25, 0.75]).outputs == problem.outputs
    with refused("utility-shape"):
        Problem([0.25, 0.25, 0.5], loss([0, 1], [0, 1, 2]), PURE)


LOSS = pd.DataFrame([[0, 1, 9], [1, 0, 8], [9, 8, 0]], list("ABC"), list("ABC"), float)


def test_inputs_come_from_the_first_part_with_labels():
    metric = MetricDP(1.0, LOSS)
    assert Problem({"C": 1, "A": 1, "B": 1}, Utility(LOSS, "loss"), metric).inputs == (
        "C",
        "A",
        "B",
    )
    assert Problem([0.2, 0.3, 0.5], Utility(LOSS, "loss"), PURE).inputs == ("A", "B", "C")
    assert Problem([0.2, 0.3, 0.5], "identity", metric).inputs == ("A", "B", "C")
    linear = constraints.linear(LOSS, upper=9)
    assert Problem([0.2, 0.3, 0.5], "identity", PURE, constraints=linear).outputs == ("A", "B", "C")
    stated = Problem(
        {"C": 1, "A": 1, "B": 1}, Utility(LOSS, "loss"), metric, inputs=["B", "C", "A"]
    )
    assert stated.inputs == stated.outputs == ("B", "C", "A")


def test_copies_keep_their_labels():
    turned = LOSS.loc[list("CAB"), list("BCA")]
    metric = replace(MetricDP(1.0, turned), epsilon=2.0)
    worth = replace(Utility(turned), sense="loss")
    problem = Problem({"A": 1, "B": 1, "C": 1}, worth, metric)
    assert np.array_equal(problem.utility.matrix, LOSS)
    assert np.array_equal(problem.privacy.matrix(problem.inputs), LOSS)


def test_a_matrix_looks_like_a_loss_by_its_labels_and_not_by_its_places():
    with pytest.warns(UserWarning, match="a loss"):
        Problem(None, LOSS[list("CAB")], PureLDP(1.0), objective="worst_case")
    # true reports gain 3, 5 and 7
    gain = pd.DataFrame([[0.0, 3, 1], [1, 0, 5], [7, 2, 0]], list("ABC"), list("CAB"))
    assert Problem(None, gain, PureLDP(1.0), objective="worst_case").utility.sense == "gain"


def test_a_plain_channel_is_audited_in_the_order_of_the_distance():
    uneven = pd.DataFrame([[0, 5.0, 1], [5, 0, 4], [1, 4, 0]], list("ABC"), list("ABC"))
    channel = [[0.6, 0.4], [0.4, 0.6], [0.55, 0.45]]
    assert MetricDP(1.0, uneven).audit(channel) == MetricDP(1.0, uneven.to_numpy()).audit(channel)
    with refused("unknown-label"):
        MetricDP(1.0, uneven).audit(pd.DataFrame(channel))
    with refused("labels"):
        MetricDP(1.0, [dict(row) for _, row in uneven.iterrows()])


def test_another_notion_is_checked_and_nothing_of_the_first_one_is_kept() -> None:
    """What a sweep changes from point to point is all that is read again."""
    first = Problem({"no": 0.3, "yes": 0.7}, "identity", PureLDP(1.0))
    assert first.ties() is first.definition()
    other = with_privacy(first, PureLDP("log(3)"))
    same = replace(first, privacy=PureLDP("log(3)"))
    for part in ("inputs", "outputs", "objective", "constraints", "privacy"):
        assert getattr(other, part) == getattr(same, part)
    assert np.array_equal(other.prior, first.prior)
    assert np.array_equal(other.utility.matrix, first.utility.matrix)
    ties = other.ties()
    assert ties is not None
    assert ties.budget == PureLDP("log(3)").epsilon
    with refused("unknown-label"):
        with_privacy(first, GraphDP(1.0, nx.path_graph(3)))
    assert first.privacy == PureLDP(1.0)
