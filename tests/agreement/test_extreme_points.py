"""Best extreme point = linear program = closed form, and the two ways to list extreme points
agree."""

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import hops, listed_channels, random_problem, thorough_or
from ldpopt.polytope.halfspaces import halfspaces
from ldpopt.polytope.vertices import extreme_points

NOTIONS = {
    "pure": lambda n: lo.PureLDP("log(3)"),
    "entry": lambda n: lo.ApproximateLDP("log(2)", 0.25, "entry"),
    "event": lambda n: lo.ApproximateLDP("log(2)", 0.25),
    "path": lambda n: lo.GraphDP("log(3)", nx.path_graph(n)),
    "metric": lambda n: lo.MetricDP("log(2)", hops(n)),
}


@pytest.mark.parametrize("n, m", [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("epsilon", ["log(3)", "log(7/2)"])
def test_structure_and_double_description_list_the_same(n, m, epsilon):
    notion = lo.PureLDP(epsilon)
    plain = {tuple(np.array(vertex).flat) for vertex in listed_channels(halfspaces(notion, n, m))}
    assert {tuple(vertex.flat) for vertex in extreme_points(notion, n, m).vertices} == plain


@pytest.mark.parametrize("name", NOTIONS)
@pytest.mark.parametrize("n", [2, 3])
def test_best_point_is_the_programs_optimum(name, n):
    notion = NOTIONS[name](n)
    points = extreme_points(notion, n)
    rng = np.random.default_rng(n)
    for _ in range(thorough_or(2, 5)):
        problem = random_problem(notion, n, rng=rng)
        best = points.best(problem)
        solution = lo.solve(problem)
        assert float(best.value) == pytest.approx(solution.value, rel=1e-12)
        assert best.value <= lo.certify(solution).bound
        assert best.mechanism.audit(notion).verdict == "certified"


def test_pure_four_answers_and_their_closed_form():
    notion = lo.PureLDP("log(7/2)")
    rng = np.random.default_rng(4)
    points = extreme_points(notion, 4)
    for _ in range(10):
        prior = rng.multinomial(16, np.full(4, 0.25)) / 16  # exact in binary
        best = points.best(lo.Problem(prior, "identity", notion))
        low, high = lo.closed_forms.top_k(prior, "log(7/2)").exact_value()
        assert low == best.value == high


def test_the_closed_form_with_delta_is_the_best_point_exactly():
    for form in ("entry", "event"):
        notion = lo.ApproximateLDP("log(3)", 0.25, form)
        points = extreme_points(notion, 3)
        for prior in ([0.5, 0.25, 0.25], [0.625, 0.25, 0.125], [1.0, 0.0, 0.0]):
            best = points.best(lo.Problem(prior, "identity", notion))
            assert best.value == lo.closed_forms.top_k(prior, "log(3)", 0.25).exact_value()[0]
