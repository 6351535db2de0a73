"""Coverings make multipliers feasible, balancing makes channels, and coarse channels are extended
to all inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, thorough_or
from cities import synthetic_city
from ldpopt.foundation.deadline import Deadline
from ldpopt.solving.methods.rays import coarse, feasibility, progress
from ldpopt.solving.methods.rays.coarse import start_from_coarse
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.feasibility import balanced, cover, cover_entries
from ldpopt.solving.methods.rays.generation import Generation
from ldpopt.solving.methods.rays.master import RayMaster
from ldpopt.solving.methods.rays.method import normalized
from ldpopt.solving.methods.rays.progress import Progress
from ldpopt.solving.methods.rays.proving import prove_less
from ldpopt.solving.methods.rays.trees import Trees
from ldpopt.solving.methods.rays.views import Views


def covered(need, rays, weights):
    """The plain version of a covering: reductions of multipliers that raise each ray's price by its
    need."""
    share = np.sqrt(rays)
    share /= share.max(axis=1, keepdims=True)
    lift = (share * (need / (rays @ weights))[:, None]).max(axis=0)
    best, least = lift, np.inf
    for _ in range(feasibility.COVERING_PASSES):
        met = need / (rays @ (weights * lift))
        lift = lift * met.max()
        if weights @ lift < least:
            best = lift
            least = weights @ lift
        lift = lift * (share * (met / met.max())[:, None]).max(axis=0)
    return weights * best


@cases(50)
@given(st.integers(1, 20), st.integers(1, 30), st.integers(0, 10**6))
def test_a_cover_raises_every_price(m, n, seed):
    rng = np.random.default_rng(seed)
    rays = np.where(rng.random((m, n)) < 0.4, 0.0, rng.random((m, n)) ** 4)
    rays[np.arange(m), rng.integers(0, n, m)] = 1.0
    need = rng.random(m) + 1e-3
    weights = rng.random(n) + 1e-3
    row, column = np.nonzero(rays)
    taken = cover_entries(need, (row, column, rays[row, column]), weights)
    assert taken == pytest.approx(covered(need, rays, weights))
    assert (taken >= 0).all()
    assert (rays @ taken >= need * (1 - 1e-9)).all()
    assert float((need - rays @ taken).max()) >= -1e-9 * need.max()  # at least one is just covered
    # at most n times a cover in proportion to the weights
    assert taken.sum() <= 1.000001 * n * weights.sum() * float((need / (rays @ weights)).max())


def test_trees_are_covered_by_their_near_entries():
    problem = synthetic_city(60, rng=4).problem(2.0)
    cone = Cone.of(problem.ties())
    costs, _, _ = normalized(problem)
    trees = Trees(cone, np.arange(60))
    weights = costs.mean(axis=0)
    need = np.maximum(np.random.default_rng(0).standard_normal(60), 0.0)
    rays = trees.rays(np.arange(60))[need > 0]
    near = np.where(rays >= feasibility.NEAR, rays, 0.0)
    assert (near != rays).any()
    assert cover(trees, need, weights) == pytest.approx(covered(need[need > 0], near, weights))
    assert not cover(trees, np.zeros(60), weights).any()


def city_of_views(monkeypatch, n, rng, epsilon=1.0):
    """Cone, costs and scale of a small city, whose outputs are priced by views as those of a large
    one."""
    monkeypatch.setattr(progress, "VIEW_INPUTS", 20)
    problem = synthetic_city(n, rng=rng).problem(epsilon)
    costs, _, scale = normalized(problem)
    return problem, Cone.of(problem.ties()), costs, scale


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.5, 2.0])
def test_chosen_inputs_are_near_to_all_on_average_or_a_third(monkeypatch, gap):
    _, cone, costs, _ = city_of_views(monkeypatch, 90, 2)
    weight = costs.mean(axis=0)
    chosen, far, is_near = coarse.spread_inputs(cone, weight, gap)
    assert is_near == (gap > 0.05)
    assert len(chosen) == len(set(chosen.tolist())) == len(far)
    assert sorted(chosen.tolist()) == chosen.tolist()
    mean = float(far.min(axis=0) @ weight / weight.sum())
    if is_near:
        assert mean <= gap
        assert len(chosen) <= coarse.MOST * 90 + 1
    else:
        assert len(chosen) == 90 // coarse.COARSENING
    losses = np.where(np.isinf(cone.table), 0.0, cone.table)
    assert far == pytest.approx(losses[chosen])


@pytest.mark.parametrize("epsilon", thorough_or([1.0], [0.3, 1.0]))
def test_an_extended_channel_and_its_bound_enclose_the_optimum(monkeypatch, epsilon):
    n = thorough_or(60, 90)
    problem, cone, costs, scale = city_of_views(monkeypatch, n, 2, epsilon)
    work = Progress(cone, costs, np.arange(n), scale)
    start_from_coarse(work, 0.3, Deadline())
    plain = Progress(cone, costs, np.arange(n), scale)
    Generation(plain).run(1e-7)
    assert work.has_channel
    assert work.rounds == 0
    assert plain.bound - 1e-9 <= work.value <= 1.3 * plain.value
    assert 0.7 * plain.value <= work.bound <= plain.value + 1e-9
    channel = work.incumbent.channel(n)
    assert channel.sum(axis=1) == pytest.approx(1.0)
    assert np.sum(channel.T * costs) <= work.value + 1e-9  # columns of one output are summed
    assert Generation(work).run(1e-4).ending == "gap"
    assert work.value <= plain.value * (1 + 2e-4)
    answer = lo.solve(problem, gap=0.3)
    assert answer.status.value == "optimal"
    assert lo.certify(answer).relative_gap <= 0.3


@pytest.mark.parametrize("gap", [0.1, None])
def test_one_output_costs_nothing_and_needs_one_chosen_input(monkeypatch, gap):
    monkeypatch.setattr(progress, "VIEW_INPUTS", 20)
    city = synthetic_city(90, rng=2)
    problem = lo.Problem(
        city.prior, lo.Utility(np.zeros((90, 1)), "loss"), city.problem(1.0).privacy
    )
    answer = lo.solve(problem, gap=gap, limits=lo.Limits(rays_entries=0))
    assert answer.solver.startswith("rays")
    assert lo.certify(answer).gap == 0


def test_large_problems_are_extended_again_if_the_gap_is_not_reached(monkeypatch):
    _, cone, costs, scale = city_of_views(monkeypatch, 120, 1)
    monkeypatch.setattr(coarse, "LARGE", 20)
    monkeypatch.setattr(coarse, "NEAR_LARGE", 8.0)  # far too coarse at first
    sizes = []
    spread = coarse.spread_inputs

    def noted(cone, weight, near_enough):
        found = spread(cone, weight, near_enough)
        if cone.n == 120:
            sizes.append(len(found[0]))
        return found

    monkeypatch.setattr(coarse, "spread_inputs", noted)
    work = Progress(cone, costs, np.arange(120), scale)
    start_from_coarse(work, 0.06, Deadline())
    assert len(sizes) > 1
    assert sizes[:-1] == sorted(set(sizes[:-1]))
    assert work.has_gap(0.06) or sizes[-1] == 120 // coarse.COARSENING


@pytest.mark.long
def test_a_bound_is_proved_without_time_for_all_outputs(monkeypatch):
    _, cone, costs, scale = city_of_views(monkeypatch, 90, 2, 0.1)
    plain = Progress(cone, costs, np.arange(90), scale)
    Generation(plain).run(1e-6)
    work = Progress(cone, costs, np.arange(90), scale)
    work.start_from(np.ones((1, 90)), plain.center)
    prove_less(work)
    assert 0.5 * plain.value <= work.bound <= plain.value
    found = Generation(work).run(1e-2, Deadline(0.0))
    assert found.ending == "time"
    assert found.channel.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(found.gap)


def test_a_master_starts_from_a_channel():
    rng = np.random.default_rng(3)
    columns = rng.random((12, 5)) + 0.1
    channel = RayMaster.of_columns(
        columns / columns.sum(axis=1, keepdims=True), rng.random((4, 12))
    )
    master = channel.restarted(rng.standard_normal(12))
    assert master.is_feasible
    assert master.value == pytest.approx(channel.value)
    assert (master.at.reduced > 0).all()
    total = (master.rays * master.at.weights).sum(axis=0)
    some = master.largest(0.5)
    assert (some.rays * some.at.weights).sum() >= 0.5 * total.sum()
    assert len(some.cost) == 1 + int((np.cumsum(np.sort(total)[::-1]) < 0.5 * total.sum()).sum())


def test_prices_of_some_outputs_agree_with_prices_of_all():
    problem = synthetic_city(60, rng=4).problem(0.7)
    cone = Cone.of(problem.ties())
    costs, _, _ = normalized(problem)
    some = np.arange(3, 60, 4)
    roots = np.arange(60)
    sums = costs.mean(axis=0) / 4
    all_views = Views(Trees(cone, roots), np.ones(60))
    views = Views(Trees(cone, roots), np.ones(60))
    expected = all_views.improve(costs, sums, 0.0)
    found = views.improve(costs, sums, 0.0, outputs=some)
    assert (found[some] == expected[some]).all()
    assert np.count_nonzero(found) <= len(some)


def losses_of_points(n, dimension, rng):
    points = rng.standard_normal((n, dimension))
    table = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(table, np.inf)
    return table


def is_in_cone(columns, table):
    ratio = np.log(columns)[:, None, :] - np.log(columns)[None, :, :]
    return bool((ratio <= np.where(np.isinf(table), 0.0, table)[:, :, None] + 1e-12).all())


def elements(table, count, rng):
    """Random elements of the cone: sums of kernel columns."""
    kernel = np.exp(-np.where(np.isinf(table), 0.0, table))
    return kernel @ (rng.random((len(table), count)) ** 6)


@cases(60)
@given(st.integers(2, 30), st.integers(1, 3), st.integers(1, 90), st.integers(0, 10**6))
def test_balanced_columns_are_a_channel_in_the_cone(n, dimension, count, seed):
    rng = np.random.default_rng(seed)
    table = losses_of_points(n, dimension, rng)
    columns = elements(table, count, rng) / count
    found = balanced(columns / columns.sum(axis=1).mean(), table, 1e-6, Deadline())
    assert found.shape == (n, count + 1)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert is_in_cone(found[:, :-1], table)
    kernel = np.exp(-np.where(np.isinf(table), 0.0, table))
    filled = found[:, -1]
    assert (kernel * filled <= filled[:, None] + 1e-12 * filled.max()).all()


@cases(30)
@given(st.integers(2, 20), st.integers(1, 40), st.integers(0, 10**6))
def test_a_channel_is_balanced_already(n, count, seed):
    rng = np.random.default_rng(seed)
    table = losses_of_points(n, 2, rng)
    columns = np.outer(np.ones(n), rng.dirichlet(np.ones(count))) * 0.5
    part = elements(table, 1, rng)[:, 0]
    wave = 0.4 * part / part.max()  # one column and its complement: small beside the constant ones
    channel = np.column_stack([columns * (1 - 0.2), 0.05 + 0.01 * wave, 0.55 - 0.01 * wave])
    assert channel.sum(axis=1) == pytest.approx(1.0)
    assert balanced(channel, table, 1e-6, Deadline())[:, :-1] == pytest.approx(channel, abs=1e-9)


def test_without_time_one_column_fills_the_rows():
    rng = np.random.default_rng(5)
    table = losses_of_points(12, 2, rng)
    columns = elements(table, 9, rng)
    found = balanced(columns / columns.sum(axis=1).max(), table, 1e-6, Deadline(0.0))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert is_in_cone(found, table)


def test_columns_of_zeros_are_left_out_of_a_master():
    channel = np.column_stack([np.full((4, 2), 0.5), np.zeros(4)])
    master = RayMaster.of_columns(channel, np.random.default_rng(1).random((3, 4)))
    assert master.rays.shape == (4, 2)
    assert master.is_feasible
