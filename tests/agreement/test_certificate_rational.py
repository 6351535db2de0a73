"""The exact optimum lies between value and bound of a certificate, which are computed
independently."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from builders import distances, random_problem, refused, thorough_or
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    Problem,
    PureLDP,
    Utility,
    certify,
    constraints,
    extreme_points,
    solve,
)
from ldpopt.errors import InfeasibleError, NotRepresentableError
from ldpopt.privacy import Notion
from ldpopt.solving.exact.optimum import exact_optimum

BUDGETS = [1e-3, 0.5, 1.0, 3.0, 20.0, "log(7/2)", "1/3"]
KINDS = ("pure", "event", "small event", "entry", "graph", "metric")


def problem_of_kind(rng, kind, n, m):
    epsilon = BUDGETS[rng.integers(len(BUDGETS))]
    points = np.cumsum(rng.choice([0.5, 1.0, 1.7], n))
    notion = {
        "pure": lambda: PureLDP(epsilon),
        "event": lambda: ApproximateLDP(epsilon, 0.1),
        "small event": lambda: ApproximateLDP(epsilon, 1e-3),
        "entry": lambda: ApproximateLDP(epsilon, 0.1, "entry"),
        "graph": lambda: GraphDP(epsilon, (nx.path_graph, nx.cycle_graph)[int(rng.integers(2))](n)),
        "metric": lambda: MetricDP(epsilon, distances(points)),
    }[kind]()
    utility = Utility(rng.random((n, m)), ("gain", "loss")[int(rng.integers(2))])
    blocks = [constraints.linear(rng.random((n, m)), upper=0.6 * n)] if rng.random() < 0.3 else []
    if rng.random() < 0.4:
        return Problem(None, utility, notion, objective="worst_case", constraints=blocks)
    return Problem(rng.dirichlet(np.ones(n)), utility, notion, constraints=blocks)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_optimum_lies_between_value_and_bound(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    checked = 0
    while checked < thorough_or(3, 8):
        problem = problem_of_kind(rng, kind, *rng.integers(2, 5, 2))
        try:
            proof = certify(solve(problem))
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                exact_optimum(problem)
            continue
        checked += 1
        low, high = exact_optimum(problem)
        assert low <= high
        assert high - low <= 1e-25
        sign = 1 if problem.utility.sense == "gain" else -1
        worst, best = (low, high) if sign == 1 else (high, low)
        # a constraint holds up to rounding, which may change the value as much
        if not problem.constraints:
            assert sign * (proof.achieved - best) <= 0
        assert sign * (worst - proof.bound) <= 0
        assert abs(proof.bound - best) <= 1e-12 * max(1, abs(best))
        assert abs(proof.achieved - worst) <= 1e-10 * max(1, abs(worst))


def test_the_exact_optimum_is_the_best_extreme_point():
    rng = np.random.default_rng(3)
    for notion in (PureLDP("log(3)"), ApproximateLDP("log(3)", 0.125)):
        corners = extreme_points(notion, 3)
        for _ in range(4):
            problem = random_problem(notion, 3, rng=rng)
            best = corners.best(problem).value
            assert exact_optimum(problem) == (best, best)


def test_eight_answers_are_solved_exactly_and_plug_ins_refused():
    rng = np.random.default_rng(4)
    for notion in (PureLDP("log(3)"), ApproximateLDP(1.0, 0.05)):
        problem = Problem(rng.dirichlet(np.ones(8)), np.eye(8) + rng.random((8, 8)) / 2, notion)
        low, high = exact_optimum(problem)
        proof = certify(solve(problem))
        assert proof.achieved <= high
        assert low <= proof.bound
        assert proof.bound - proof.achieved < 1e-12

    class Homemade(Notion):
        def rows(self, inputs, n_outputs):
            return PureLDP(1.0).rows(inputs, n_outputs)

        def audit(self, channel):
            return PureLDP(1.0).audit(channel)

    with refused("plug-in", NotRepresentableError):
        exact_optimum(Problem([0.5, 0.5], "identity", Homemade()))
