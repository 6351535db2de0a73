"""One meaning of a prior: numbers as they are, weights by label normalised, everything else refused
in words."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

from builders import refused
from ldpopt.errors import StatementError
from ldpopt.problem.prior import exact_prior, prior_and_inputs, read_prior, read_priors


def test_probabilities_are_used_exactly():
    given = [0.1 + 0.2, 0.7]
    weights, labels = read_prior(given, ["no", "yes"])
    assert weights.tolist() == given
    assert labels is None
    assert not weights.flags.writeable


def test_weights_by_label_are_normalised_in_the_order_of_the_inputs():
    for given in ({"yes": 8, "no": 2}, pd.Series([8, 2], ["yes", "no"])):
        assert read_prior(given, ["no", "yes"])[0].tolist() == [0.2, 0.8]
        weights, labels = read_prior(given)
        assert dict(zip(labels, weights, strict=True)) == {"yes": 0.8, "no": 0.2}


REFUSED = {
    "sum": ([0.5, 0.47], None, "sum", "0.97"),
    "negative": ([1.5, -0.5], ["no", "yes"], "probability", "prior['yes'] = -0.5"),
    "nan": ({"no": float("nan")}, None, "probability", "prior['no'] = nan"),
    "empty": ({}, None, "shape", "(0,)"),
    "matrix": ([[1.0]], None, "shape", "(1, 1)"),
    "length": ([0.2, 0.3, 0.5], ["no", "yes"], "entries", "3 entries for 2"),
}

# by what reads labels and numbers
MISREAD = {
    "zero": ({"no": 0}, None, "sum to 0"),
    "missing": ({"no": 1}, ["no", "yes"], "input 'yes'"),
    "unknown": ({"no": 1, "yse": 2}, ["no", "yes"], r"'yse'[\s\S]*'yes'"),
    "duplicate": (pd.Series([1, 2], ["no", "no"]), None, "label 'no'"),
    "row numbers": (pd.Series([0.2, 0.8]), ["no", "yes"], r"\.to_numpy\(\)"),
    "text": ("uniform", None, "rectangular array"),
}


@pytest.mark.parametrize(("given", "inputs", "code", "value"), REFUSED.values(), ids=REFUSED)
def test_refused(given, inputs, code, value):
    with refused(code) as caught:
        read_prior(given, inputs)
    assert value in caught.value.what


@pytest.mark.parametrize(("given", "inputs", "value"), MISREAD.values(), ids=MISREAD)
def test_labels_and_numbers_are_refused(given, inputs, value):
    with pytest.raises(StatementError, match=value):
        read_prior(given, inputs)


def test_the_labels_of_a_prior_are_the_inputs():
    assert prior_and_inputs([0.2, 0.8])[1] == range(2)
    assert prior_and_inputs({"a": 1, "b": 1})[1] == ("a", "b")


def test_fractions_stay_exact():
    assert exact_prior([F(1, 3), F(2, 3)]) == [F(1, 3), F(2, 3)]
    assert exact_prior({"a": 1, "b": F(1, 2)}) == [F(2, 3), F(1, 3)]
    assert exact_prior({"a": 1, "b": F(1, 2)}, ["b", "a"]) == [F(1, 3), F(2, 3)]
    assert exact_prior([0.25, 0.75]) == [F(1, 4), F(3, 4)]
    with refused("sum") as caught:
        exact_prior([2, 8])
    assert "10" in caught.value.what


def test_tables_of_priors():
    frame = pd.DataFrame({"yes": [0.8, 1], "no": [0.2, 3]}, index=["now", "then"])
    for given in (
        frame,
        [{"yes": 8, "no": 2}, {"no": 3, "yes": 1}],
        {"now": frame.loc["now"], "then": frame.loc["then"]},
    ):
        assert read_priors(given, ["no", "yes"])[0].tolist() == [[0.2, 0.8], [0.75, 0.25]]
    assert read_priors(np.eye(2))[1] is None
    with refused("sum") as caught:
        read_priors([[1, 0], [0.5, 0.6]])
    assert "1.1" in caught.value.what
    assert caught.value.where == "prior 1"
    with pytest.raises(StatementError, match="table of priors"):
        read_priors([{"yes": 1, "no": 1}, [0.5, 0.5]])
