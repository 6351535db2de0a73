"""`frequencies` and `mean.designed` agree with the designs for their workloads."""

from __future__ import annotations

import numpy as np
import pytest

from ldpopt import PureLDP, Workload, design
from ldpopt.frequencies import RandomizedResponse, SubsetSelection
from ldpopt.mean import designed


@pytest.mark.parametrize("n", [2, 3, 5, 9, 40, 1000])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_frequencies_are_subset_selection_at_its_best_size(n: int, epsilon: float) -> None:
    best = min(
        SubsetSelection(n, epsilon, size=k).total_variance for k in range(1, n) if n < 50 or k % 10 == 0 or k == 1
    )
    best = min(best, SubsetSelection(n, epsilon).total_variance)
    found = design(Workload.frequencies(n), PureLDP(epsilon))
    assert found.value == pytest.approx(best, rel=1e-6)
    assert found.bound <= best * (1 + 1e-9)


def test_two_answers_are_the_coin() -> None:
    coin = RandomizedResponse(2, "log(3)").total_variance
    assert design(Workload.frequencies(2), PureLDP("log(3)")).value == pytest.approx(coin, rel=1e-9)


@pytest.mark.parametrize("objective", ["average", "worst_case"])
@pytest.mark.parametrize("values", [[-1.0, 0.0, 1.0], [0.0, 1.0, 2.0, 5.0]])
def test_a_designed_mean_is_never_better_and_converges(objective: str, values: list[float]) -> None:
    prior = np.arange(1.0, len(values) + 1)
    prior /= prior.sum()
    weights = prior if objective == "average" else None
    best = design(Workload.mean(values), PureLDP(1.0), weights=weights, objective=objective)
    own = np.unique(best.estimator.round(9))
    grids = [np.linspace(own[0] - 1e-6, own[-1] + 1e-6, m) for m in (7, 25, 97)]
    excess = []
    for grid in [*grids, np.concatenate([own, own + 1e-6, own - 1e-6])]:
        how = {"prior": prior, "objective": "expected"} if objective == "average" else {}
        found = designed(values, grid, 1.0, **how)
        channel, outputs = found.mechanism.channel, found.outputs
        variances = channel @ outputs**2 - (channel @ outputs) ** 2
        value = float(prior @ variances) if objective == "average" else float(variances.max())
        assert best.value <= value * (1 + 1e-6)
        assert best.bound <= value * (1 + 1e-9)
        excess.append(value / best.value - 1)
    assert excess[2] < 3e-3  # a fine grid
    assert excess[2] <= excess[0] + 1e-9
    assert excess[3] < 1e-5  # the design's own values, up to rounding
