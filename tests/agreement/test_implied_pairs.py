"""Graphs and metrics: dropped pairs change nothing, and the interior point by outputs agrees with
simplex."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, random_problem, refused, thorough_or
from ldpopt import solvers
from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.privacy import Ties, places
from ldpopt.solvers import Status
from ldpopt.solving.methods.graph_interior import GraphInteriorPoint
from ldpopt.solving.methods.method import Task
from ldpopt.solving.problem_form import ProblemForm


class AllPairs(lo.MetricDP):
    """The definition: a row for every ordered pair, implied or not."""

    def ties(self, inputs, outputs=None, deadline=None):
        distance = self.matrix(inputs)
        first, second = np.nonzero(distance > 0)
        return Ties(self.epsilon, len(inputs), first, second, distance[first, second])


SMALL_IS_LARGE = lo.Limits(graph_entries=1)


def shortest(n, rng):
    """Closure of random whole lengths: many triangles are equalities."""
    length = np.triu(rng.integers(1, 5, (n, n)), 1).astype(float)
    length += length.T
    for k in range(n):
        length = np.minimum(length, length[:, k : k + 1] + length[k])
    return length


def manhattan(side):
    places = np.array([(a, b) for a in range(side) for b in range(side)], float)
    return np.abs(places[:, None] - places[None]).sum(axis=2)


@pytest.mark.parametrize("seed", range(4))
def test_dropping_implied_pairs_keeps_the_optimum(seed):
    rng = np.random.default_rng(seed)
    distance = shortest(6, rng)
    few, all_pairs = (
        random_problem(kind(0.7, distance), 6, 7, rng=seed) for kind in (lo.MetricDP, AllPairs)
    )
    assert lo.formulate(few).shape[0] < lo.formulate(all_pairs).shape[0]
    assert lo.solve(few).value == pytest.approx(lo.solve(all_pairs).value, abs=1e-12)


def test_all_pairs_are_kept_where_a_sample_has_no_implied_ones(monkeypatch):
    monkeypatch.setattr(places, "SAMPLED_INPUTS", 20)
    points = np.random.default_rng(0).random((40, 2))
    points[1], points[2] = points[0] + [2.0, 0.0], points[0] + [4.0, 0.0]  # one pair is implied
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    assert np.count_nonzero(places.implied_pairs(distance)) == 40
    monkeypatch.setattr(places, "MAX_IMPLIED_SHARE", 0.0)
    assert np.count_nonzero(places.implied_pairs(distance)) == 40 + 2
    assert len(lo.MetricDP(1.0, manhattan(5)).ties(range(25)).first) == 2 * 2 * 5 * 4


@pytest.mark.parametrize("is_alike", [True, False])
def test_shortcuts_for_all_pairs_agree(monkeypatch, is_alike):
    distance = np.random.default_rng(0).uniform(1, 2, (6, 6))
    if is_alike:
        distance = np.minimum(distance, distance.T)
    first, second = np.nonzero(~np.eye(6, dtype=bool))
    ties = Ties(Budget(1.0), 6, first, second, distance[first, second])
    fast, plain = (ProblemForm(6, 6, True, False, ties, False) for _ in range(2))
    assert fast.ties_all_pairs
    monkeypatch.setitem(plain.__dict__, "ties_all_pairs", False)
    assert fast.is_mutual is plain.is_mutual is True
    assert fast.is_connected is plain.is_connected is is_alike
    assert fast.graph_numbers == plain.graph_numbers
    few = lo.Limits(graph_numbers=fast.tie_numbers - 1)
    assert not fast.fits_graph_interior(few)
    assert "graph_numbers" in fast.__dict__
    other = ProblemForm(6, 6, True, False, ties, False)
    assert not other.fits_graph_interior(few)
    assert "graph_numbers" not in other.__dict__  # the levels were not looked for


def test_a_grid_keeps_its_edges_only():
    ties = lo.MetricDP(1.0, manhattan(5)).ties(range(25))
    assert len(ties.first) == 2 * 2 * 5 * 4
    assert set(ties.distance) == {1.0}


@pytest.mark.parametrize(
    "lengths, left", [((0.25, 0.5, 0.75), 4), ((0.1, 0.2, 0.3), 6), ((1.0, 1.0, 3.0), 4)]
)
def test_float_sums_are_decided_exactly(lengths, left):
    near, next_, far = lengths
    distance = [[0, near, far], [near, 0, next_], [far, next_, 0]]
    # 0.1 + 0.2 is a little more than 0.3: that pair is not implied.
    assert len(lo.MetricDP(1.0, distance).ties(range(3)).first) == left


@pytest.mark.parametrize("unit", [1.0, 0.1, 1 / 3])
@pytest.mark.parametrize("n", thorough_or([2, 9, 40], [2, 9, 40, 110]))
def test_no_other_pairs_are_implied_as_exact_numbers(n, unit):
    distance = unit * shortest(n, np.random.default_rng(n))
    is_kept = ~places.implied_pairs(distance)
    exact = [list(map(Fraction, row)) for row in distance.tolist()]
    for x in range(n):
        for k in range(n):
            others = set(range(n)) - {x, k}
            assert is_kept[x, k] == (
                x != k and all(exact[x][z] + exact[z][k] > exact[x][k] for z in others)
            )
    assert n == 2 or 0 < np.count_nonzero(is_kept) < n * (n - 1)


@pytest.mark.parametrize("objective", ["expected", "worst_case"])
@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_interior_point_by_outputs_agrees_with_simplex(objective, sense, epsilon):
    rng = np.random.default_rng(5)
    notion = lo.MetricDP(epsilon, shortest(7, rng))
    case = random_problem(notion, 7, 8, rng=rng, sense=sense, objective=objective)
    program = lo.formulate(case)
    found = solved(case)
    simplex = solvers.find("highs").solve(program)
    point = found.outcome.point
    assert found.outcome.status is Status.OPTIMAL
    assert program.objective @ point == pytest.approx(program.objective @ simplex.point, rel=1e-9)
    assert program.residual(point) < 1e-9
    assert found.program.shape[0] < program.shape[0]


def parts():
    return nx.disjoint_union(nx.grid_2d_graph(3, 4), nx.cycle_graph(5))


GRAPHS = [nx.star_graph(40), nx.grid_2d_graph(6, 7), nx.gnp_random_graph(45, 0.3, seed=2), parts()]


@pytest.mark.parametrize("graph", GRAPHS, ids=["star", "grid", "random", "parts"])
@pytest.mark.parametrize("objective", ["expected", "worst_case"])
def test_interior_point_agrees_with_simplex_for_any_levels(graph, objective):
    n = len(graph)
    privacy = lo.GraphDP(1.0, nx.convert_node_labels_to_integers(graph), parts="separate")
    case = random_problem(privacy, n, 3, rng=n, objective=objective)
    raw = solved(case)
    assert raw.outcome.status is Status.OPTIMAL
    program = lo.formulate(case, "pairwise")
    simplex = solvers.find("highs").solve(program)
    assert program.objective @ raw.outcome.point == pytest.approx(
        program.objective @ simplex.point, rel=1e-9
    )


@pytest.mark.parametrize(
    "graph", [nx.path_graph(9), nx.star_graph(8), nx.hypercube_graph(3), nx.cycle_graph(7)]
)
def test_large_graphs_are_solved_by_the_interior_point_and_certified(graph):
    labels = list(graph.nodes)
    rng = np.random.default_rng(1)
    case = lo.Problem(
        rng.dirichlet(np.ones(len(labels))), "identity", lo.GraphDP("log(2)", graph), inputs=labels
    )
    answer = lo.solve(case, limits=SMALL_IS_LARGE)
    assert answer.solver == "graph interior (pairwise)"
    assert answer.value == pytest.approx(lo.solve(case, solver="highs").value, rel=1e-9)
    proof = lo.certify(answer)
    assert proof.relative_gap < 1e-9
    assert proof.audit.verdict == "certified"


def solved(case, **settings):
    return GraphInteriorPoint().solve(Task(case, ProblemForm.of(case), **settings))


def test_other_programs_are_solved_by_simplex():
    utility = lo.Utility(np.eye(4))
    compact = lo.Problem([0.25] * 4, utility, lo.PureLDP(1.0))
    assert lo.solve(compact, limits=SMALL_IS_LARGE).solver == "columns (compact)"
    with refused("graph-problem", NotRepresentableError):
        solved(compact)
    # At epsilon = 0 the private channels have no inside.
    with refused("graph-problem", NotRepresentableError):
        solved(lo.Problem([0.25] * 4, utility, lo.MetricDP(0.0, manhattan(2))))
    with refused("unknown-option", SolverOptionError):
        solved(
            lo.Problem([0.25] * 4, utility, lo.MetricDP(1.0, manhattan(2))),
            options={"presolve": "off"},
        )


def test_a_time_limit_ends_the_interior_point():
    case = random_problem(lo.MetricDP(1.0, manhattan(4)), 16, 17, rng=2)
    assert solved(case, deadline=Deadline(0.0)).outcome.status is Status.LIMIT


@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-12, 1.0, 1e11]),
    st.sampled_from([0.05, 2.0, 60.0]),
    st.sampled_from(["expected", "worst_case"]),
)
@cases(25)
def test_optimal_solutions_have_a_small_certified_gap(seed, scale, epsilon, objective):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 9, 2)
    places = rng.random((n, 2)) * 3
    gain = scale * rng.random((n, m)) * 10.0 ** rng.integers(-3, 3, (n, 1))
    prior = rng.dirichlet(np.ones(n)) if objective == "expected" else None
    case = lo.Problem(
        prior, lo.Utility(gain), lo.MetricDP.of_points(epsilon, places), objective=objective
    )
    answer = lo.solve(case, solver="interior")
    proof = lo.certify(answer)
    assert proof.relative_gap < (1e-8 if answer.status is Status.OPTIMAL else 1e-4)
    assert answer.status in (Status.OPTIMAL, Status.LIMIT)
