"""Problems in plain values: nothing is lost, and errors name the key."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry
from ldpopt.problem.plain import from_plain, plain

CELLS = [(0, "a"), (0, "b"), (1, "a")]
PROBLEM = lo.Problem(
    [0.1, 0.2, 0.7],
    lo.utility.table(np.random.default_rng(0).random((3, 2)), "loss"),
    lo.OneSided("log(7/2)", CELLS[:1]),
    inputs=CELLS,
    outputs=["x", 2.5],
    constraints=[
        lo.constraints.linear(np.eye(3, 2), upper=1.5, name="few"),
        lo.constraints.unbiased([0, 0.5, 1], [0, 1]),
    ],
)


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_problems_read_back_from_json(objective):
    prior = PROBLEM.prior if objective == "expected" else None
    parts = {
        "inputs": PROBLEM.inputs,
        "outputs": PROBLEM.outputs,
        "constraints": PROBLEM.constraints,
    }
    case = lo.Problem(prior, PROBLEM.utility, PROBLEM.privacy, objective=objective, **parts)
    values = json.loads(json.dumps(plain(case)))
    again = from_plain(Entry(values, "file"))
    assert plain(again) == values
    assert (again.inputs, again.outputs, again.privacy) == (case.inputs, case.outputs, case.privacy)
    assert np.array_equal(again.utility.matrix, case.utility.matrix)
    for one, other in zip(again.constraints, case.constraints, strict=True):
        channel = np.full((3, 2), 0.5)
        assert np.array_equal(one.violation(channel), other.violation(channel))


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("objective", "best", "objective"),
        ("prior", [0.5, 0.5], "prior"),
        ("prior", [0.1, 0.2, 0.6], ""),
        ("utility", [[1, 0]] * 2, "utility"),
        ("privacy", {"kind": "one_sided", "epsilon": 1, "sensitiv": []}, "privacy.sensitiv"),
        ("privacy", 3, "privacy"),
        (
            "constraints",
            [{"name": "x", "rows": [[[5, 0, 1.0]]], "lower": [0], "upper": [1]}],
            "constraints[0].rows[0][0][0]",
        ),
        ("surplus", 1, ""),
    ],
)
def test_errors_name_the_key(key, value, where):
    with pytest.raises(ModelFileError) as caught:
        from_plain(Entry(plain(PROBLEM) | {key: value}, "file"))
    assert caught.value.where == (f"file: {where}" if where else "file")


def test_other_labels_are_refused():
    case = lo.Problem(
        [0.5, 0.5], "identity", lo.PureLDP(1.0), inputs=[frozenset("a"), frozenset("b")]
    )
    with refused("label-kinds"):
        plain(case)
