"""Designs exactly at the least influence, where multipliers are as large as a hundred million, and
others that ended just above the required gap."""

from __future__ import annotations

import json
from fractions import Fraction as F
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import thorough_or


def proved(best: Any, cap: float) -> None:
    """The gap is reached within the cap, and both checks accept the proof."""
    assert best.relative_gap <= 1e-6
    assert max(best.certificate.influence) <= F(cap)
    assert best.certificate.recheck() == ()
    assert checker.check_design(json.loads(json.dumps(best.certificate.to_dict())))


@pytest.mark.parametrize(
    ("n", "epsilon", "objective"),
    [(6, 2.9, "average"), (7, 1.7, "average"), (7, 2.9, "average"), (8, 1.75, "worst_case")][
        : thorough_or(1, 4)
    ],
)
def test_a_cycle_has_its_best_design_at_the_least_influence(
    n: int, epsilon: float, objective: Any
) -> None:
    workload = lo.Workload.prefix(n)
    privacy = lo.GraphDP(epsilon, nx.cycle_graph(n))
    cap = lo.least_influence(workload, privacy)
    best = lo.design(workload, privacy, influence=cap, objective=objective)
    proved(best, cap)
    # next to it designs are better by as much as the multipliers say: a design at the cap has this
    near = lo.design(workload, privacy, influence=cap * (1 + 1e-6), objective=objective)
    assert near.certificate.bound <= best.certificate.achieved
    assert near.value > 0.5 * best.value


@pytest.mark.parametrize("epsilon", thorough_or([3.0], [3.0, 3.1]))
def test_the_worst_case_of_a_path_at_its_free_influence(epsilon: float) -> None:
    workload = lo.Workload.frequencies(8)
    privacy = lo.GraphDP(epsilon, nx.path_graph(8))
    free = lo.design(workload, privacy, objective="worst_case")
    cap = float(free.influence.largest)
    best = lo.design(workload, privacy, objective="worst_case", influence=cap)
    proved(best, cap)
    assert best.value == pytest.approx(free.value, rel=2e-6)


def test_the_least_influence_of_a_long_path_is_that_of_the_bit() -> None:
    n = thorough_or(8, 12)
    workload = lo.Workload.prefix(n)
    privacy = lo.GraphDP(2.0, nx.path_graph(n))
    least = lo.least_influence(workload, privacy)
    # each share up to an answer is a yes or no, told by an edge of the path
    assert least == pytest.approx((1 + 1 / np.tanh(1.0)) / 2, rel=3e-11)
    best = lo.design(workload, privacy, influence=1.01 * least)
    proved(best, 1.01 * least)
