"""The Pareto front of two groups of inputs, against sweeps over weights and side constraints."""

from __future__ import annotations

import numpy as np
import pytest

from builders import refused
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Problem,
    PureLDP,
    Utility,
    constraints,
    neighbors,
    pareto_front,
    solve,
)
from ldpopt.errors import StatementError

SCALE = Problem([0.1, 0.2, 0.3, 0.2, 0.2], "absolute_error", GraphDP(1.0, neighbors.path(range(5))))


def test_each_corner_is_private_and_has_the_values_of_its_mechanism():
    front = pareto_front(SCALE, [0, 1])
    assert front.is_complete
    for point, mechanism in zip(front.values, front.mechanisms, strict=True):
        assert mechanism.audit(SCALE.privacy).verdict == "certified"
        shares = ([1 / 3, 2 / 3, 0, 0, 0], [0, 0, 3 / 7, 2 / 7, 2 / 7])
        assert [mechanism.expected(prior, SCALE.utility) for prior in shares] == pytest.approx(
            point.tolist()
        )
    assert (np.diff(front.values[:, 0]) > 0).all()
    assert (np.diff(front.values[:, 1]) < 0).all()


@pytest.mark.parametrize(
    "problem",
    [
        SCALE,
        Problem([0.5, 0.3, 0.2], "identity", ApproximateLDP(0.7, 0.1)),
        Problem([0.25] * 4, "identity", PureLDP(1.0)),
    ],
)
def test_no_weights_find_a_mechanism_beyond_the_front(problem):
    group = [0, 2]
    front = pareto_front(problem, group)
    member = np.isin(np.arange(len(problem.inputs)), group)
    priors = [
        np.where(part, problem.prior, 0) / problem.prior[part].sum() for part in (member, ~member)
    ]
    sign = 1 if problem.utility.sense == "loss" else -1
    for weight in np.linspace(0.01, 0.99, 23):
        mixed = weight * priors[0] + (1 - weight) * priors[1]
        value = solve(Problem(mixed, problem.utility, problem.privacy)).value
        assert (sign * front.values @ [weight, 1 - weight]).min() == pytest.approx(
            sign * value, abs=1e-6
        )


def test_the_front_against_side_constraints():
    """The least loss of the others if the group's loss is bounded is on the edge between two
    corners."""
    front = pareto_front(SCALE, [0, 1])
    (a, b), (c, d) = front.values[1:3]
    bound = (a + c) / 2
    shares = np.array([1 / 3, 2 / 3, 0, 0, 0])
    rows = constraints.linear(shares[:, None] * SCALE.utility.matrix, upper=bound)
    others = Problem([0, 0, 3 / 7, 2 / 7, 2 / 7], SCALE.utility, SCALE.privacy, constraints=rows)
    assert solve(others).value == pytest.approx((b + d) / 2, abs=1e-6)


def test_few_points_and_equal_groups():
    few = pareto_front(SCALE, [0, 1], max_points=3)
    assert len(few.values) == 3
    assert not few.is_complete
    constant = Problem([0.5, 0.5], Utility([[1, 1], [1, 1]], "loss"), PureLDP(1.0))
    flat = pareto_front(constant, [0])
    assert flat.values.tolist() == [[1, 1]]
    assert flat.is_complete


def test_wrong_groups_are_rejected():
    for group, message in (
        ([7], "the group names 7"),
        (3, "not a list of labels"),
        ([], "prior 0"),
        (range(5), "prior 0"),
    ):
        with pytest.raises(StatementError, match=message):
            pareto_front(SCALE, group)
    worst = Problem(None, SCALE.utility, SCALE.privacy, objective="worst_case")
    with refused("worst-case"):
        pareto_front(worst, [0])
