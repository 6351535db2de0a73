"""Masters and column generation: every notion and budget, singular workloads, constants, and time
limits."""

import itertools
import math
import time

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import seconds, thorough_or
from ldpopt import GraphDP, MetricDP, OneSided, PureLDP, Workload, design
from ldpopt.designing.average import AverageMaster
from ldpopt.designing.column_generation import half_inverse
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Staircases
from ldpopt.designing.worst_case import MinimaxMaster

PREFIX = np.tril(np.ones((4, 4)))


def notions(epsilon):
    apart = nx.disjoint_union(nx.path_graph(3), nx.empty_graph(1))
    distance = np.abs(np.subtract.outer(range(4), range(4))).astype(float)
    return [
        OneSided(epsilon, sensitive=[0]),
        OneSided(epsilon, sensitive=[0, 1, 2]),
        GraphDP(epsilon, nx.path_graph(4)),
        GraphDP(epsilon, nx.star_graph(3)),
        GraphDP(epsilon, nx.Graph([(0, 1), (2, 3)]), parts="separate"),
        GraphDP(epsilon, apart, parts="separate"),
        MetricDP(epsilon, distance),
        PureLDP(epsilon),
    ]


BUDGETS = [1e-4, 1e-3, 1e-2, 1, 4, 8, 25, 40]
ROWS = [np.arange(4.0)[None], np.eye(4), PREFIX, np.eye(4)[:1]]


@pytest.mark.parametrize(
    "epsilon, rows, objective",
    [*itertools.product(BUDGETS, ROWS, ["average", "worst_case"])][:: thorough_or(17, 3)],
)
def test_every_budget_and_notion_ends_in_a_design(epsilon, rows, objective):
    for privacy in notions(epsilon):
        made = design(Workload(rows), privacy, objective=objective)
        assert made.certificate.bound <= made.certificate.achieved
        if 1e-3 <= epsilon <= 8:
            assert made.relative_gap <= 2e-6


def test_a_one_sided_mean_for_the_worst_case():
    made = design(Workload.mean([0, 1, 2]), OneSided(8.0, sensitive=[0]), objective="worst_case")
    assert made.relative_gap <= 1e-6


@pytest.mark.parametrize("objective", thorough_or(["average"], ["average", "worst_case"]))
def test_a_constant_in_the_numbers_of_a_mean_changes_nothing(objective):
    plain, moved = (
        design(
            Workload.mean([shift + i for i in range(thorough_or(8, 25))]),
            PureLDP(1.0),
            objective=objective,
            limits=lo.DesignLimits(listed_answers=5),
        )
        for shift in (0, 1.7e9)
    )
    assert (moved.value, moved.bound) == (plain.value, plain.bound)
    assert plain.relative_gap <= 1e-6


@pytest.mark.parametrize("numbers", [[0.1 * i for i in range(25)], [0.1 + i for i in range(25)]])
def test_numbers_whose_differences_are_no_floats_still_have_the_method_for_a_mean(numbers):
    assert design(Workload.mean(numbers), PureLDP(1.0), gap=1e-3).relative_gap <= 1e-3


def test_two_questions_of_five_answers_are_as_good_as_all_sets_allow():
    # All sets by their numbers of answers in each row and column: 47.31900561 is the optimum.
    made = design(Workload.marginals([5, 5], 1), PureLDP(1.0), gap=1e-3)
    assert made.value <= 47.31900561 * (1 + 2e-4)


def test_a_gap_of_1e_9_for_a_workload_that_leaves_directions_out():
    assert design(Workload.marginals([2, 3], 1), PureLDP("log(3)"), gap=1e-9).relative_gap <= 1e-9


@pytest.mark.long
def test_the_limit_of_time_holds_for_many_answers_without_a_structure():
    rows = np.asarray(Workload.marginals([2] * 8, 2).matrix)
    began = time.process_time()
    made = design(Workload(rows), PureLDP(1.0), time_limit=1.0)
    assert time.process_time() - began < seconds(8)  # 18 s before, of which 17 rounding and proof
    assert made.n_reports < 5000


def test_the_average_master_proves_its_gap():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((30, 4))
    gram = np.diag([1.0, 2.0, 3.0, 0.0])
    found = AverageMaster(atoms, gram, np.eye(4)[None]).solve(gap=1e-9)
    assert found.gap <= 1e-9
    assert np.allclose(found.q @ atoms, 0, atol=1e-8)
    costs = np.einsum("ad,de,ae->a", atoms, found.price, atoms) - atoms @ found.slope
    assert costs.max() <= found.value * (1 + 1e-8)


def test_the_minimax_master_is_a_saddle():
    sets = ((np.arange(1, 15)[:, None] >> np.arange(4)) & 1).astype(float)
    columns = np.exp(-1) + (1 - np.exp(-1)) * sets
    gram = PREFIX.T @ PREFIX
    master = MinimaxMaster(columns, gram / np.trace(gram), 1e-9)
    found = master.solve(np.full(14, 1 / columns.sum(axis=0).max()), np.full(4, 0.25), gap=1e-9)
    assert found.gap <= 1e-9
    assert np.allclose(columns.T @ found.theta, 1, atol=1e-9)
    assert found.r.min() >= 1e-9


def test_a_direction_without_information_costs_much_only_if_the_workload_needs_it():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]])
    half = half_inverse(rows, np.ones(3), np.eye(2))
    assert (half @ half.T)[1, 1] > 1e15
    half = half_inverse(rows, np.ones(3), np.diag([1.0, 0.0]))
    assert np.allclose(half @ half.T, [[1 / 6, 0], [0, 0]])


@pytest.mark.parametrize(
    "n, epsilon", thorough_or([(24, 3.0)], [(24, 3.0), (24, 3.5), (30, 4.0), (24, 6.0)])
)
def test_bounds_of_the_relaxation_do_not_depend_on_one_start(n, epsilon):
    # The multiplier of the sizes of sets was divided by n**2 in each round: gaps of 0.42, 0.09,
    # 0.32.
    made = design(Workload.prefix(n), PureLDP(epsilon), gap=1e-3)
    assert made.relative_gap <= 3e-3


@pytest.mark.parametrize(
    "seed, rows, weights, epsilon",
    [
        (1, 1, [0, 1, 2], 8.0),
        *thorough_or([], [(2, 2, [1, 0, 0], 12.0), (3, 2, [0, 0, 0, 1], 12.0)]),
        (16, 2, [0, 1, 0, 0], 12.0),
    ],
)
def test_answers_of_weight_0_under_a_large_budget_cost_no_gap(seed, rows, weights, epsilon):
    """Their prices change by orders of magnitude within a Newton step: gaps of 8e-4 to 1 before."""
    workload = np.random.default_rng(seed).standard_normal((rows, len(weights)))
    made = lo.design(workload, lo.PureLDP(epsilon), weights=weights, gap=1e-7)
    assert made.relative_gap <= 1e-7
    assert made.certificate.recheck() == ()


def test_several_answers_of_weight_0_under_a_large_budget_have_a_bound():
    """All starts failed: the bound was 0."""
    rows = [
        [-0.16, 0.83, 1.10, 1.47, -1.01, 0.41],
        [1.18, -0.93, 1.12, 0.75, 0.87, 0.05],
        [-0.64, -2.21, -0.47, 1.04, 0.21, 3.31],
        [0.12, -0.40, -0.46, -0.54, -0.59, -0.73],
    ]
    made = lo.design(rows, lo.PureLDP(9.0), weights=[2, 5, 0, 0, 1, 5], gap=1e-7)
    assert made.relative_gap <= 1e-7


def test_a_steady_master_reaches_a_gap_that_the_usual_one_misses():
    weights = np.array([0, 1, 2]) / 3
    rows = np.random.default_rng(1).standard_normal((1, 3))
    cone = Staircases(3, math.exp(-8.0), -math.expm1(-8.0))
    columns = cone.initial(rows.T @ rows)
    contrasts = Contrasts(rows.T @ rows, weights).scaled_to(columns)
    spread = contrasts.spread / contrasts.value(1.0)
    plain, steady = (
        AverageMaster(
            contrasts.scores(columns), contrasts.reduced, np.eye(2)[None], spread, is_steady=steady
        ).solve(gap=1e-8)
        for steady in (False, True)
    )
    assert plain.gap > 1e-3
    assert steady.gap <= 1e-8


@pytest.mark.parametrize("epsilon", [7.5, 8.0, 8.1, 9.0, 10.0])
def test_a_start_that_fails_is_followed_by_another(epsilon):
    """Weight on one answer only, and two answers that are nearly alike: some starts leave the
    equations unsolved."""
    made = lo.design(
        np.array([[0.57861331, -0.90109149, -0.87495826]]),
        lo.PureLDP(epsilon),
        weights=[0, 1, 0],
        gap=1e-7,
    )
    assert made.relative_gap <= 1e-6
