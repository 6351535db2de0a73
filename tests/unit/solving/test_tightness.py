"""Optimal mechanisms are private at epsilon but not at epsilon - 0.01; the same holds for delta."""

from __future__ import annotations

import math

import networkx as nx
import pytest

import ldpopt as lo
from builders import hops

HOPS = hops(4)
BUDGETS = [0.05, 0.5, 1.0, 2.5, 8.0, "log(3)"]
DELTAS = [0.02, 0.1, 0.5, 0.9]
UNIFORM = [0.25] * 4

NOTIONS = {
    "pure": lo.PureLDP,
    "graph": lambda epsilon: lo.GraphDP(epsilon, nx.path_graph(4)),
    "complete graph": lambda epsilon: lo.GraphDP(epsilon, nx.complete_graph(4)),
    "metric": lambda epsilon: lo.MetricDP(epsilon, HOPS),
    "half metric": lambda epsilon: lo.MetricDP(epsilon, HOPS / 2),
    "entry": lambda epsilon: lo.ApproximateLDP(epsilon, 0.05, "entry"),
    "event": lambda epsilon: lo.ApproximateLDP(epsilon, 0.05),
    "one-sided": lambda epsilon: lo.OneSided(epsilon, [0, 2]),
    "utility-optimized": lambda epsilon: lo.UtilityOptimizedLDP(epsilon, [0, 2]),
    "separate parts": lambda epsilon: lo.GraphDP(epsilon, nx.Graph([(0, 1), (2, 3)]), "separate"),
}


def best(notion):
    return lo.solve(lo.Problem(UNIFORM, "identity", notion)).mechanism


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("name", NOTIONS)
def test_the_optimum_uses_its_whole_epsilon(name, epsilon):
    notion = NOTIONS[name]
    mechanism = best(notion(epsilon))
    budget = float(notion(epsilon).epsilon)
    found = mechanism.audit(notion(epsilon))
    assert found.verdict == "certified"
    assert found.epsilon <= math.nextafter(budget, math.inf)
    assert found.epsilon == pytest.approx(budget, abs=1e-9)
    assert mechanism.audit(notion(budget - 0.01)).verdict == "violated"
    assert mechanism.audit(notion(budget - 1e-6)).verdict == "violated"


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, "log(3)"])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("form", ["event", "entry"])
def test_the_optimum_uses_its_whole_delta(form, delta, epsilon):
    mechanism = best(lo.ApproximateLDP(epsilon, delta, form))
    found = mechanism.audit(lo.ApproximateLDP(epsilon, delta, form))
    assert found.verdict == "certified"
    assert delta - 1e-9 <= found.delta <= delta
    assert mechanism.audit(lo.ApproximateLDP(epsilon, delta - 0.01, form)).verdict == "violated"
    assert mechanism.audit(lo.ApproximateLDP(epsilon, delta - 1e-6, form)).verdict == "violated"
    if form == "event":
        assert mechanism.audit().delta_at(epsilon) == found.delta


@pytest.mark.parametrize("form", ["event", "entry"])
def test_smaller_epsilons_hold_with_the_deltas_of_the_curve(form):
    mechanism = best(lo.ApproximateLDP(1.0, 0.1, form))
    for epsilon in (0.0, 0.3, 0.9, 1.0):
        delta = mechanism.audit(lo.ApproximateLDP(epsilon, 0.0, form)).delta
        assert mechanism.audit(lo.ApproximateLDP(epsilon, delta, form)).verdict == "certified"
        assert mechanism.audit(lo.ApproximateLDP(epsilon, delta - 1e-9, form)).verdict == "violated"
        least = mechanism.audit(lo.ApproximateLDP(epsilon, delta, form)).epsilon
        assert least == pytest.approx(epsilon, abs=1e-9)


def test_a_useless_budget_is_not_used():
    # With such a steep prior, the optimum always reports the likeliest answer.
    notion = lo.PureLDP(1.0)
    mechanism = lo.solve(lo.Problem([0.97, 0.01, 0.01, 0.01], "identity", notion)).mechanism
    assert mechanism.audit(notion).epsilon == 0.0
    assert mechanism.audit(lo.PureLDP(0)).verdict == "certified"


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_worst_case_loss_uses_its_whole_epsilon(epsilon):
    problem = lo.Problem(
        None, lo.utility.absolute_error(range(4)), lo.PureLDP(epsilon), objective="worst_case"
    )
    mechanism = lo.solve(problem).mechanism
    assert mechanism.audit(lo.PureLDP(epsilon)).verdict == "certified"
    assert mechanism.audit(lo.PureLDP(epsilon - 0.01)).verdict == "violated"
