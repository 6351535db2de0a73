"""Designs at exactly the least influence are proved as well as others."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import thorough_or

NOTIONS: dict[str, Any] = {
    "pure": lo.PureLDP(0.9),
    "path": lo.GraphDP(1.1, nx.path_graph(4)),
    "cycle": lo.GraphDP(0.7, nx.cycle_graph(4)),
    "metric": lo.MetricDP(0.4, np.abs(np.subtract.outer(range(4), range(4)))),
    "one-sided": lo.OneSided(0.8, sensitive=[0, 1]),
}


@pytest.mark.parametrize("objective", ["average", "worst_case"])
@pytest.mark.parametrize("name", NOTIONS)
def test_a_design_at_the_least_influence_is_proved(name: str, objective: str) -> None:
    workloads = (lo.Workload.prefix(4), lo.Workload.frequencies(4))
    for workload in workloads[: thorough_or(1, 2)]:
        least = lo.least_influence(workload, NOTIONS[name])
        best = lo.design(workload, NOTIONS[name], influence=least, objective=objective)
        assert best.relative_gap <= 1e-6
        assert best.influence.largest <= least
        assert best.certificate.recheck() == ()


def test_large_influences_of_near_reports_are_proved() -> None:
    """With a small budget values are hundreds of times the numbers: the search has to begin with an
    error of that size.
    """
    rng = np.random.default_rng(7)
    privacy = lo.MetricDP(0.04, np.abs(np.subtract.outer(range(7), range(7))))
    workload = lo.Workload(rng.random((3, 7)))
    least = lo.least_influence(workload, privacy)
    for factor in thorough_or((1.0, 1.1), (1.0, 1.001, 1.1)):
        best = lo.design(workload, privacy, influence=factor * least)
        assert best.relative_gap <= 1e-6
        assert best.certificate.recheck() == ()


@pytest.mark.parametrize("epsilon", thorough_or([0.001], [0.5, 0.01, 0.001]))
def test_numbers_without_a_cap_are_as_free_as_the_budget_asks(epsilon: float) -> None:
    """Values are about one over the budget: no cap of the search may hold them back."""
    workload = lo.Workload.prefix(4)
    privacy = lo.PureLDP(epsilon)
    free = lo.design(workload, privacy)
    for number, factor in ((0, 0.95), (2, 1.5)):
        cap = factor * float(free.influence.each[number])
        best = lo.design(workload, privacy, influence={workload.names[number]: cap})
        assert best.relative_gap <= 1e-6
        assert best.certificate.recheck() == ()
