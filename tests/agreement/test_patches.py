"""Patches of a large graph: they cover it, and their channel and their bound enclose the
optimum."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import ldpopt as lo
from builders import cases, thorough_or
from cities import synthetic_city
from ldpopt.errors import StatementError
from ldpopt.foundation.deadline import NO_LIMIT
from ldpopt.solvers import Status
from ldpopt.solving.methods.rays import coarse, method, patches, progress
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.method import normalized
from ldpopt.solving.methods.rays.progress import Progress
from ldpopt.solving.problem_form import ProblemForm

RAYS = lo.Limits(rays_entries=0)


def grid(side, epsilon, seed, loss="distance"):
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    table = distance if loss == "distance" else 1 - np.eye(side * side)
    prior = np.random.default_rng(seed).dirichlet(np.ones(side * side))
    return lo.Problem(prior, lo.utility.table(table, sense="loss"), lo.GraphDP(epsilon, graph))


@cases(20)
@given(st.integers(2, 60), st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_cores_divide_the_inputs_and_margins_have_all_near_ones(n, seed, margin):
    graph = nx.random_labeled_tree(n, seed=seed)
    loss = np.random.default_rng(seed).random(n - 1) + 0.1
    ends = np.array(graph.edges)
    matrix = csr_array(
        (np.tile(loss, 2), (np.append(ends[:, 0], ends[:, 1]), np.append(ends[:, 1], ends[:, 0])))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patches, "CORE", 7)
        found = patches.patches_of(matrix, margin)
    assert sorted(np.concatenate([one.core for one in found]).tolist()) == list(range(n))
    for u, v, length in zip(*ends.T, loss, strict=True):
        graph.edges[u, v]["length"] = length
    for one in found:
        assert 1 <= len(one.core) <= 7
        far = nx.multi_source_dijkstra_path_length(graph, set(one.core.tolist()), weight="length")
        assert one.inputs.tolist() == sorted(x for x, length in far.items() if length <= margin)


def test_memory_is_estimated_for_the_sizes_that_patches_alone_solve(monkeypatch):
    assert method.WHOLE == patches.WHOLE == coarse.LARGE
    monkeypatch.setattr(method, "WHOLE", 99)
    assert method.memory_bytes(ProblemForm.of(grid(10, 1.0, 0))) == method.START_BYTES * 100**2
    monkeypatch.setattr(method, "WHOLE", 100)
    assert method.memory_bytes(ProblemForm.of(grid(10, 1.0, 0))) == method.ENTRY_BYTES * 100**2


def test_without_memory_for_rounds_the_channel_of_the_start_is_given(monkeypatch):
    problem = synthetic_city(90, rng=2).problem(1.0)
    there = 300 * 90**2
    for module, name, value in (
        (progress, "VIEW_INPUTS", 20),
        (method, "WHOLE", 80),
        (method, "memory", lambda: there),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("ldpopt.foundation.numbers.memory", lambda: there)
    monkeypatch.setattr("ldpopt.foundation.numbers.ALWAYS_FITS", 0)
    answer = lo.solve(problem, gap=0.05, limits=RAYS)
    assert answer.status is Status.LIMIT
    assert "memory" in answer.raw_status
    assert 0.05 < lo.certify(answer).relative_gap < 0.6
    with pytest.raises(StatementError, match="90 inputs"):
        lo.solve(problem, gap=1e-6, limits=RAYS)


@pytest.mark.parametrize(
    ("epsilon", "loss"),
    [*thorough_or([], [(2.0, "distance"), (1.5, "identity")]), (2.5, "distance")],
)
def test_patches_give_a_private_channel_and_a_bound(monkeypatch, epsilon, loss):
    monkeypatch.setattr(patches, "CORE", 20)
    problem = grid(9, epsilon, 1, loss)
    cone = Cone.of(problem.ties())
    costs, _, scale = normalized(problem)
    work = Progress(cone, costs, np.arange(81), scale)
    graph = csr_array((cone.loss, (cone.first, cone.second)), shape=(81, 81))
    patches.stitch(work, patches.patches_of(graph, 8.0), 0.01, NO_LIMIT)
    channel = work.stitched
    assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (
        channel[cone.first] <= np.exp(cone.loss)[:, None] * channel[cone.second] * (1 + 1e-12)
    ).all()
    best = lo.solve(problem, gap=1e-6, limits=RAYS).value
    low, high = (scale.offset + scale.unit * x for x in (work.bound, work.value))
    assert low <= best * (1 + 1e-6)
    assert high >= best * (1 - 1e-6)
    assert high - low <= 0.03 * best


@pytest.mark.parametrize("whole", [pytest.param(0, marks=pytest.mark.long), 1000])
def test_solve_ends_at_the_gap_with_and_without_rounds_of_all_inputs(monkeypatch, whole):
    for name, value in (("MIN_INPUTS", 50), ("CORE", 30), ("WHOLE", whole), ("MAX_SHARE", 1.0)):
        monkeypatch.setattr(patches, name, value)
    problem = grid(10, 2.0, 2)
    gap = 2e-2 if not whole else 1e-4
    answer = lo.solve(problem, gap=gap, limits=RAYS)
    assert answer.status is Status.OPTIMAL
    assert lo.certify(answer).relative_gap <= gap
    best = lo.solve(problem, gap=1e-6, solver="interior").value
    assert best * (1 - 1e-5) <= answer.value <= best * (1 + 1.1 * gap)


@pytest.mark.parametrize("sense", ["loss", "gain"])
@pytest.mark.parametrize("kind", ["graph", "metric"])
def test_an_answer_without_privacy_rows_has_the_same_certificate(monkeypatch, kind, sense):
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))
    places = np.stack(np.divmod(np.arange(25), 5), axis=1).astype(float)
    privacy = lo.GraphDP(1.0, graph) if kind == "graph" else lo.MetricDP.of_points(1.0, places)
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    worth = lo.utility.table(distance if sense == "loss" else 9 - distance, sense=sense)
    problem = lo.Problem(np.random.default_rng(3).dirichlet(np.ones(25)), worth, privacy)
    listed = lo.solve(problem, gap=1e-3, limits=RAYS)
    monkeypatch.setattr(method, "UNLISTED", 0)
    answer = lo.solve(problem, gap=1e-3, limits=RAYS)
    assert answer.multipliers is not None
    assert listed.multipliers is None
    assert len(answer.program.row_lower) == 25 < len(listed.program.row_lower)
    assert answer.mechanism == listed.mechanism
    assert answer.status is listed.status is Status.OPTIMAL
    assert answer.duals["row_sum"] == pytest.approx(listed.duals["row_sum"])
    proofs = [lo.certify(one) for one in (answer, listed)]
    assert proofs[0].achieved == proofs[1].achieved
    assert proofs[0].bound == proofs[1].bound
    assert proofs[0].relative_gap <= 1e-3


@pytest.mark.parametrize(("gap", "status"), [(5e-2, Status.OPTIMAL), (1e-6, Status.LIMIT)])
def test_a_channel_of_patches_is_kept_if_no_time_is_left(monkeypatch, gap, status):
    for name, value in (("MIN_INPUTS", 50), ("CORE", 30), ("WHOLE", 1000), ("MAX_SHARE", 1.0)):
        monkeypatch.setattr(patches, name, value)
    monkeypatch.setattr(method, "ENTRY_SECONDS", 1e6)
    answer = lo.solve(grid(10, 2.0, 2), gap=gap, limits=RAYS, time_limit=100.0)
    assert (answer.status, answer.solver) == (status, "rays (pairwise)")
    assert lo.certify(answer).relative_gap <= 5e-2
