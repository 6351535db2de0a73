"""Groups are relaxations, coverings make multipliers feasible, balancing makes channels; rounds end at the optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases
from cities import synthetic_city
from ldpopt.foundation.deadline import Deadline
from ldpopt.solving.methods.rays import coarse, generation
from ldpopt.solving.methods.rays.coarse import coarse_start
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.feasibility import balanced, cover
from ldpopt.solving.methods.rays.generation import Generation
from ldpopt.solving.methods.rays.grouped import GroupedGeneration
from ldpopt.solving.methods.rays.master import Groups, Master
from ldpopt.solving.methods.rays.method import _normalized
from ldpopt.solving.methods.rays.trees import Trees
from ldpopt.solving.methods.rays.views import Views


def grouped(n, count, rng):
    """Groups that are not empty, with random weights."""
    return Groups.of(
        rng.permutation(np.append(np.arange(count), rng.integers(0, count, n - count))), rng.random(n) + 0.01
    )


@cases(50)
@given(st.integers(2, 30), st.integers(1, 8), st.integers(0, 10**6))
def test_groups_average_rows_and_distribute_multipliers(n, count, seed):
    rng = np.random.default_rng(seed)
    groups = grouped(n, min(count, n), rng)
    rays, sums = rng.random((n, 7)), rng.standard_normal(min(count, n))
    assert groups.averages(np.ones((n, 1))) == pytest.approx(1.0)
    assert groups.summed(groups.distributed(sums)) == pytest.approx(sums)
    assert groups.distributed(sums) @ rays == pytest.approx(sums @ groups.averages(rays))
    assert groups.summed_rows(rays.T) == pytest.approx(np.array([groups.summed(ray) for ray in rays.T]))


@cases(50)
@given(st.integers(2, 30), st.integers(1, 20), st.booleans(), st.integers(0, 10**6))
def test_a_cover_raises_every_price_and_is_distributed_in_groups(n, m, has_groups, seed):
    rng = np.random.default_rng(seed)
    groups = grouped(n, (n + 1) // 2, rng) if has_groups else None
    share = (
        rng.random(n) + 1e-3 if groups is None else groups.weight * rng.random(n)[groups.number] + 1e-6 * groups.weight
    )
    rays, need = rng.random((m, n)) ** 4, np.maximum(rng.standard_normal(m), 0.0)
    rays[np.arange(m), rng.integers(0, n, m)] = 1.0
    taken = cover(need, rays, share, groups)
    assert (taken >= 0).all()
    assert (rays @ taken >= need * (1 - 1e-9)).all()
    if need.max() > 0:  # at most n times a cover in proportion to the weights
        assert taken.sum() <= 1.000001 * n * share.sum() * float((need / (rays @ share)).max())
        assert float((need - rays @ taken).max()) >= -1e-9 * need.max()  # at least one is just covered
    if groups is not None:
        assert taken == pytest.approx(groups.distributed(groups.summed(taken)), rel=1e-9, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_rounds_with_groups_prove_a_bound_and_end_at_the_optimum(monkeypatch, epsilon):
    monkeypatch.setattr(generation, "VIEW_INPUTS", 20)
    monkeypatch.setattr(coarse, "MANY", 20)
    problem = synthetic_city(90, rng=2).problem(epsilon)
    cone, (costs, _, scale) = Cone.of(problem.ties()), _normalized(problem)
    work = coarse_start(cone, costs, np.arange(90), scale, Deadline())
    assert work.groups is not None
    assert not work.prices_all
    plain = Generation(cone, costs, np.arange(90), scale)
    plain.run(1e-7)
    assert work.run(1e-4).ending == "gap"
    assert work.groups is None
    assert work.relaxed_value <= plain.value * (1 + 1e-3) + 1e-9  # a relaxation, solved to a share of its gap
    assert work.bound <= plain.value + 1e-9
    assert work.value >= plain.bound - 1e-9
    answer = lo.solve(problem, gap=1e-4)
    assert answer.status.value == "optimal"
    assert lo.certify(answer).relative_gap <= 1e-4


def test_levels_have_more_groups_and_better_channels(monkeypatch):
    monkeypatch.setattr(generation, "VIEW_INPUTS", 20)
    monkeypatch.setattr(coarse, "MANY", 20)
    problem = synthetic_city(90, rng=2).problem(1.0)
    cone, (costs, _, scale) = Cone.of(problem.ties()), _normalized(problem)
    work = coarse_start(cone, costs, np.arange(90), scale, Deadline())
    plain = Generation(cone, costs, np.arange(90), scale)
    plain.run(1e-6)
    levels, balanced = [], GroupedGeneration._balanced

    def noted(self, last, deadline):
        channel = balanced(self, last, deadline)
        levels.append((len(last.rows), last.value, channel.value))
        whole = channel.channel(90)
        assert whole.sum(axis=1) == pytest.approx(1.0)
        assert np.sum(whole.T * costs) <= channel.value + 1e-9  # columns of one output are summed
        return channel

    monkeypatch.setattr(GroupedGeneration, "_balanced", noted)
    assert work.run(1e-5).ending == "gap"
    assert [rows for rows, _, _ in levels] == [30, 45, 67]
    for _, relaxed, value in levels:
        assert plain.bound - 1e-9 <= value
        assert relaxed <= plain.value * (1 + 2e-2)
    assert levels[-1][2] < levels[0][2]
    assert work.value <= plain.value * (1 + 2e-5)


@pytest.mark.long
def test_a_bound_is_proved_without_time_for_all_outputs(monkeypatch):
    monkeypatch.setattr(generation, "VIEW_INPUTS", 20)
    monkeypatch.setattr(coarse, "MANY", 20)
    problem = synthetic_city(90, rng=2).problem(0.1)
    cone, (costs, _, scale) = Cone.of(problem.ties()), _normalized(problem)
    work = coarse_start(cone, costs, np.arange(90), scale, Deadline())
    plain = Generation(cone, costs, np.arange(90), scale)
    plain.run(1e-6)
    work._prove_less()
    assert 0.5 * plain.value <= work.bound <= plain.value
    found = work.run(1e-2, Deadline(0.0))
    assert found.ending == "time"
    assert found.channel.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(found.gap)


def test_a_level_starts_from_a_channel():
    rng = np.random.default_rng(3)
    columns = rng.random((12, 5)) + 0.1
    channel = Master.of_columns(columns / columns.sum(axis=1, keepdims=True), rng.random((4, 12)))
    groups = grouped(12, 4, rng)
    for some in (None, groups):
        master = channel.restarted(rng.standard_normal(12), some)
        assert master.is_feasible
        assert master.value == pytest.approx(channel.value)
        assert (master.at.reduced > 0).all()
        assert len(master.rows) == (12 if some is None else 4)


def test_prices_of_some_outputs_agree_with_prices_of_all():
    problem = synthetic_city(60, rng=4).problem(0.7)
    cone, (costs, _, _) = Cone.of(problem.ties()), _normalized(problem)
    some, roots, sums = np.arange(3, 60, 4), np.arange(60), costs.mean(axis=0) / 4
    all_views = Views(Trees(cone, roots), np.ones(60))
    views = Views(Trees(cone, roots), np.ones(60))
    expected, found = all_views.improve(costs, sums, 0.0), views.improve(costs, sums, 0.0, outputs=some)
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
    found = balanced(columns / columns.sum(axis=1).mean(), table, Deadline())
    assert found.shape == (n, count + 1)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert is_in_cone(found[:, :-1], table)
    kernel, filled = np.exp(-np.where(np.isinf(table), 0.0, table)), found[:, -1]
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
    assert balanced(channel, table, Deadline())[:, :-1] == pytest.approx(channel, abs=1e-9)


def test_without_time_one_column_fills_the_rows():
    rng = np.random.default_rng(5)
    table = losses_of_points(12, 2, rng)
    columns = elements(table, 9, rng)
    found = balanced(columns / columns.sum(axis=1).max(), table, Deadline(0.0))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert is_in_cone(found, table)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_rounds_with_groups_end_near_the_optimum(monkeypatch, seed):
    monkeypatch.setattr(generation, "VIEW_INPUTS", 40)
    monkeypatch.setattr(coarse, "MANY", 40)
    problem = synthetic_city(120, rng=seed).problem(0.8)
    plain = lo.solve(problem, gap=1e-3)
    values = []
    keep = Generation._keep

    def noted(work, master):
        keep(work, master)
        if master.groups is None and len(work.center) == 120:
            values.append(work.value)

    monkeypatch.setattr(Generation, "_keep", noted)
    answer = lo.solve(problem, gap=0.2)
    assert lo.certify(answer).relative_gap <= 0.2
    assert plain.value * 0.998 <= answer.value <= plain.value * 1.2
    constant = float((problem.prior @ problem.utility.gain).max())
    assert values[0] <= 0.4 * abs(constant)  # the balanced columns alone; the optimum is about a fifth


def test_columns_of_zeros_are_left_out_of_a_master():
    channel = np.column_stack([np.full((4, 2), 0.5), np.zeros(4)])
    master = Master.of_columns(channel, np.random.default_rng(1).random((3, 4)))
    assert master.rays.shape == (4, 2)
    assert master.is_feasible
