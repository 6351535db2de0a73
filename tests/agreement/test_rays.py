"""Rays against the program of all pairs: smallest prices, the bound of every round, and the
optimum."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import ldpopt as lo
from builders import cases, thorough_or
from cities import synthetic_city
from ldpopt.certificate import recheck
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.native import improve_trees
from ldpopt.privacy import Ties
from ldpopt.solvers import Status
from ldpopt.solving.methods.rays.coarse import start_from_coarse
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.generation import Generation
from ldpopt.solving.methods.rays.method import normalized
from ldpopt.solving.methods.rays.progress import UNPROVED_SHARE, Progress, Scale, is_closed
from ldpopt.solving.methods.rays.trees import Trees

RAYS = lo.Limits(rays_entries=0)


def all_pairs(distance, epsilon):
    """Rows ``exp(-epsilon d) p[x] - p[x'] <= 0`` of all pairs, shape (pairs, n)."""
    n = len(distance)
    rows = []
    for x in range(n):
        for k in range(n):
            if x != k:
                row = np.zeros(n)
                row[x], row[k] = np.exp(-epsilon * distance[x, k]), -1.0
                rows.append(row)
    return np.array(rows)


def least_price(costs, root, distance, epsilon):
    """Least cost of a column of the cone whose entry at the root is 1."""
    bounds = [(1.0, 1.0) if x == root else (0.0, None) for x in range(len(costs))]
    rows = all_pairs(distance, epsilon)
    return linprog(costs, A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds, method="highs").fun


def plain_optimum(prior, loss, distance, epsilon):
    """Least expected cost over all private channels, by the definition."""
    n, m = loss.shape
    pairs = all_pairs(distance, epsilon)
    rows = np.kron(pairs, np.eye(m))
    sums = np.kron(np.eye(n), np.ones(m))
    objective = (prior[:, None] * loss).reshape(-1)
    return linprog(
        objective, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n), method="highs"
    ).fun


def hop_distance(graph):
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    return np.array([[lengths[x][k] for k in graph] for x in graph], float)


@st.composite
def statements(draw):
    """Prior, costs, a notion and its distance: graphs, points of the plane, points of a grid."""
    n = draw(st.integers(2, 9))
    m = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    epsilon = draw(st.sampled_from([0.05, 0.3, 1.0, 2.0, 5.0]))
    if draw(st.booleans()):
        graph = nx.Graph(nx.random_labeled_tree(n, seed=int(rng.integers(10**6))))
        graph.add_edges_from(
            [
                sorted(map(int, rng.choice(n, 2, replace=False)))
                for _ in range(draw(st.integers(0, n)))
            ]
        )
        graph = nx.relabel_nodes(graph, {x: x for x in range(n)})
        ordered = nx.Graph()
        ordered.add_nodes_from(range(n))
        ordered.add_edges_from(graph.edges)
        distance = hop_distance(ordered)
        privacy = lo.GraphDP(epsilon, ordered)
    else:
        points = rng.permutation(16)[:n] if draw(st.booleans()) else rng.random(n) * 16
        places = np.stack([points % 4, points // 4 + 0.0], axis=1)
        distance = np.abs(places[:, None] - places).sum(axis=2)
        privacy = lo.MetricDP(epsilon, distance)
    prior = rng.dirichlet(np.full(n, draw(st.sampled_from([0.3, 1.0, 100.0]))))
    table = (
        rng.random((n, m))
        if draw(st.booleans())
        else np.abs(np.arange(n)[:, None] - np.arange(m)[None])
    )
    return prior, table.astype(float), privacy, distance, epsilon


def generation(prior, table, privacy, epsilon):
    ties = privacy.ties(range(len(prior)))
    if ties.first is None:
        first, second = ties.pairs()
        ties = Ties(Budget(epsilon), len(prior), first, second, np.ones(len(first)))
    costs = (prior[:, None] * table).T
    least = costs.min(axis=0)
    unit = float((costs - least).max()) or 1.0
    roots = (table - table.min(axis=1, keepdims=True)).argmin(axis=0)
    work = Progress(
        Cone.of(ties),
        np.ascontiguousarray(costs - least) / unit,
        roots,
        Scale(least.sum(), unit, 1e-3),
    )
    return work, float(least.sum()), unit


@cases(20)
@given(statements(), st.integers(0, 10**6))
def test_the_best_ray_has_the_smallest_price(statement, seed):
    prior, table, privacy, distance, epsilon = statement
    # with larger losses simplex violates rows by its tolerance
    assume(epsilon * distance.max() < 12)
    work, _, _ = generation(prior, table, privacy, epsilon)
    trees: Trees = work.trees
    for scale in (1.0, 0.1):
        costs = scale * np.random.default_rng(seed).standard_normal(work.costs.shape)
        zero = np.zeros(len(prior))
        assert trees.improve(costs, zero).all()
        rays = trees.rays(np.arange(len(costs)))
        assert rays[np.arange(len(costs)), trees.roots] == pytest.approx(1.0)
        for y, root in enumerate(trees.roots):
            expected = least_price(costs[y], root, distance, epsilon)
            assert costs[y] @ rays[y] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        # The multipliers leave costs that are not negative, except for the price at the root, less
        # the spare.
        price = (costs * rays).sum(axis=1)
        size = []
        for spare in (0.0, 0.1):
            found = trees.multipliers(costs, zero, spare)
            assert (found.value > 0).all()
            left = costs.copy()
            np.add.at(left, (found.output, found.first), np.exp(-found.loss) * found.value)
            np.subtract.at(left, (found.output, found.second), found.value)
            left[np.arange(len(costs)), trees.roots] -= np.minimum(price, 0.0) - spare
            assert left.min() > -1e-12 * max(1.0, float((np.abs(costs) * rays).sum(axis=1).max()))
            size.append(len(found.value))
        assert size[1] <= size[0]


@cases(15)
@given(statements())
def test_value_and_bound_of_every_round_enclose_the_optimum(statement):
    prior, table, privacy, distance, epsilon = statement
    work, offset, unit = generation(prior, table, privacy, epsilon)
    optimum = plain_optimum(prior, table, distance, epsilon)
    rounds = Generation(work)
    master = rounds.first_master()
    bounds = [work.bound]
    values = [work.value]
    for _ in range(8):
        master = rounds.next_master(master, 1e-9, Deadline())
        bounds.append(work.bound)
        values.append(work.value)
    slack = 1e-6  # the tolerance of simplex
    assert bounds == sorted(bounds)
    assert values == sorted(values, reverse=True)
    assert offset + unit * bounds[-1] <= optimum + slack
    assert offset + unit * values[-1] >= optimum - slack


@cases(30)
@given(statements(), st.sampled_from(["loss", "gain"]))
def test_rays_find_the_optimum_of_all_pairs(statement, sense):
    prior, table, privacy, distance, epsilon = statement
    if privacy.ties(range(len(prior))).first is None:
        return  # a complete graph has a compact program
    sign = 1.0 if sense == "loss" else -1.0
    problem = lo.Problem(prior, lo.utility.table(table, sense), privacy)
    answer = lo.solve(problem, limits=RAYS)
    assert answer.steps[0].startswith("rays: ")
    expected = sign * plain_optimum(prior, sign * table, distance, epsilon)
    assert answer.status is Status.OPTIMAL
    assert answer.value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert proof.relative_gap < 1e-7
    assert recheck(proof).holds


class CheckedDeadline(Deadline):
    """A deadline that is over after some checks."""

    def __init__(self, checks):
        super().__init__()
        self.__dict__["checks"] = checks

    def before(self, seconds):
        return self

    @property
    def is_over(self):
        self.__dict__["checks"] -= 1
        return self.checks < 0


@cases(25)
@given(statements(), st.integers(0, 60))
def test_a_deadline_at_any_moment_leaves_a_channel_and_a_bound(statement, checks):
    prior, table, privacy, distance, epsilon = statement
    work, offset, unit = generation(prior, table, privacy, epsilon)
    found = Generation(work).run(1e-9, CheckedDeadline(checks))
    optimum = plain_optimum(prior, table, distance, epsilon)
    value = float((prior[:, None] * table * found.channel).sum())
    assert offset + unit * work.bound <= optimum + 1e-6
    assert value >= optimum - 1e-6
    assert value == pytest.approx(offset + unit * work.value, abs=1e-7)
    assert (found.channel >= 0).all()
    assert found.channel.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("time_limit", thorough_or([1e-3, 0.1], [1e-3, 0.1, 0.5]))
def test_a_time_limit_gives_the_best_private_mechanism_with_its_gap(time_limit):
    rng = np.random.default_rng(1)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 9))
    privacy = lo.GraphDP(0.3, grid)
    privacy.ties(range(81))
    loss = np.abs(np.subtract.outer(np.arange(81), np.arange(81)) ** 1.0)
    problem = lo.Problem(rng.dirichlet(np.ones(81)), lo.utility.table(loss, "loss"), privacy)
    answer = lo.solve(problem, time_limit=time_limit, limits=RAYS)
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert answer.status is Status.OPTIMAL or proof.relative_gap > 0


def test_rays_with_a_tiny_entry_at_the_root_do_not_stop_the_master():
    rng = np.random.default_rng(1)
    points = np.stack(np.divmod(np.arange(144), 12), axis=1) * 3 + rng.normal(0, 0.6, (144, 2))
    network = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    for u, v in network.edges:
        network.edges[u, v]["length"] = float(np.linalg.norm(points[u] - points[v]))
    loss = np.linalg.norm(points[:, None] - points, axis=2)
    prior = rng.dirichlet(np.ones(144))
    problem = lo.Problem(
        prior, lo.utility.table(loss, "loss"), lo.MetricDP.of_network(0.6, network)
    )
    answer = lo.solve(problem, gap=1e-3)
    assert answer.steps[0].startswith("rays: ")
    assert answer.solver.startswith("rays")
    assert lo.certify(answer).relative_gap < 1e-3


@cases(50)
@given(st.floats(1e-3, 1.0), st.floats(1e-3, 1e3))
def test_a_gap_is_closed_if_the_lowered_bound_of_the_proof_has_it_too(found, bound):
    distance = found * bound
    proved = bound - UNPROVED_SHARE * distance
    after = (bound + distance - proved) / proved
    assert is_closed(found, after * (1 + 1e-6))
    assert not is_closed(found, after * (1 - 1e-6))


def test_graphs_are_solved_to_the_requested_gap():
    rng = np.random.default_rng(1)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 7))
    loss = hop_distance(grid) ** 0.5
    problem = lo.Problem(
        rng.dirichlet(np.ones(49)), lo.utility.table(loss, "loss"), lo.GraphDP(0.5, grid)
    )
    rough, fine = (lo.solve(problem, gap=gap, limits=RAYS) for gap in (1e-1, None))
    assert rough.status is fine.status is Status.OPTIMAL
    assert 1e-7 < lo.certify(rough).relative_gap < 1e-1
    assert lo.certify(fine).relative_gap < 1e-8
    assert rough.value >= fine.value


@cases(15)
@given(statements(), st.integers(0, 10**6), st.integers(0, 3))
def test_trees_that_are_not_optimal_prove_a_bound(statement, seed, most):
    prior, table, privacy, distance, epsilon = statement
    work, offset, unit = generation(prior, table, privacy, epsilon)
    sums = np.random.default_rng(seed).random(len(prior)) * work.costs.max()
    trees = work.trees
    is_best = np.zeros(len(work.roots), bool)
    if most:
        outputs = np.arange(len(is_best))
        improve_trees(outputs, *trees.forest, work.costs, sums, trees.cone.lengths, most, is_best)
    prices = work.trees.prices(work.costs, sums)
    proved = offset + unit * float((sums + prices.share).sum())
    assert proved <= plain_optimum(prior, table, distance, epsilon) + 1e-6
    # The multipliers leave at least the shares of every output's costs.
    found = work.trees.multipliers(work.costs, sums)
    left = work.costs - sums
    np.add.at(left, (found.output, found.first), np.exp(-found.loss) * found.value)
    np.subtract.at(left, (found.output, found.second), found.value)
    assert (left >= prices.share - 1e-12 * (1 + found.value.max(initial=0.0))).all()


@pytest.mark.parametrize("epsilon", thorough_or([1.0], [0.3, 1.0]))
def test_clustered_points_do_not_stall(epsilon):
    """A first master of constant reports alone does not lead to a feasible one here."""
    city = synthetic_city(50, rng=1)
    distance = np.asarray(lo.MetricDP.of_points(1.0, city.points).distance)
    table = lo.utility.table(distance, sense="loss")
    answer = lo.solve(
        lo.Problem(city.prior, table, lo.MetricDP.of_points(epsilon, city.points)),
        gap=1e-2,
        limits=RAYS,
    )
    assert answer.solver.startswith("rays")
    assert lo.certify(answer).relative_gap <= 1e-2


@pytest.mark.parametrize("epsilon", [pytest.param(0.3, marks=pytest.mark.long), 1.0])
def test_a_coarse_start_gives_private_rays_and_a_valid_bound(monkeypatch, epsilon):
    monkeypatch.setattr("ldpopt.solving.methods.rays.progress.VIEW_INPUTS", 20)
    n = thorough_or(60, 90)
    city = synthetic_city(n, rng=2)
    problem = city.problem(epsilon)
    cone = Cone.of(problem.ties())
    costs, _, scale = normalized(problem)
    roots = np.arange(n)
    work = Progress(cone, costs, roots, scale)
    start_from_coarse(work, 1e-3, Deadline())
    loss = epsilon * np.asarray(problem.privacy.distance)
    # kernel columns, and the rays of the coarse problem
    assert Generation(work).first_master().rays.shape[1] > 2 * n
    assert len(work.initial_rays) > 20
    assert (
        work.initial_rays[:, :, None] >= np.exp(-loss) * work.initial_rays[:, None, :] * (1 - 1e-9)
    ).all()
    rays = work.trees.rays(roots)
    assert rays[roots, roots] == pytest.approx(1.0)
    assert (rays[:, :, None] >= np.exp(-loss) * rays[:, None, :] * (1 - 1e-8)).all()
    plain = Progress(cone, costs, roots, scale)
    found = Generation(work).run(1e-3)
    usual = Generation(plain).run(1e-6)
    assert found.ending == usual.ending == "gap"
    assert work.bound <= plain.value + 1e-9
    assert work.value >= plain.bound - 1e-9


def test_utilities_that_do_not_depend_on_the_report():
    x = np.arange(70.0)
    for table in (np.zeros((70, 70)), np.repeat(x[:, None], 70, axis=1)):
        problem = lo.Problem(
            np.full(70, 1 / 70), lo.Utility(table, "loss"), lo.MetricDP(0.1, np.abs(x[:, None] - x))
        )
        found = lo.solve(problem)
        assert (found.solver, found.status, lo.certify(found).gap) == (
            "rays (pairwise)",
            Status.OPTIMAL,
            0,
        )


def test_equal_costs_of_all_outputs_leave_numbers_in_range():
    """With one output nothing is to be chosen: all normalized costs are 0."""
    prior = np.array([0.9999998, 0.0000002])
    distance = np.array([[0.0, 3.12], [3.12, 0.0]])
    work, _, _ = generation(prior, np.array([[0.0], [1.0]]), lo.MetricDP(0.05, distance), 0.05)
    rounds = Generation(work)
    master = rounds.first_master()
    for _ in range(8):
        master = rounds.next_master(master, 1e-9, Deadline())
    assert work.value == work.bound == 0.0
    assert master.at.reduced.min() > 1e-100
