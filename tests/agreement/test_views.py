"""Views against exact prices: proved prices are never higher, and their rays are in the cone and
never cost less."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, thorough_or
from cities import synthetic_city
from ldpopt.solving.methods.rays import progress
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.trees import Trees
from ldpopt.solving.methods.rays.views import Views, farthest_first


def random_points(n, seed, epsilon):
    """Losses, cone and random costs of points in the plane."""
    rng = np.random.default_rng(seed)
    notion = lo.MetricDP.of_points(epsilon, rng.normal(0, 3, (n, 2)))
    cone = Cone.of(notion.ties(range(n)))
    return epsilon * np.asarray(notion.distance), cone, rng.standard_normal((n, n)) + 0.3


def left_by_multipliers(trees, costs, sums):
    """What the multipliers of trees leave of ``costs - sums``, (m, n), and the sum of the absolute
    terms."""
    found = trees.multipliers(costs, sums)
    left = costs - sums
    moved = np.abs(costs - sums)
    for end, sign, value in (
        (found.first, 1, np.exp(-found.loss) * found.value),
        (found.second, -1, found.value),
    ):
        np.add.at(left, (found.output, end), sign * value)
        np.add.at(moved, (found.output, end), value)
    return left, moved


@cases(25)
@given(
    st.integers(4, 40),
    st.integers(0, 10**6),
    st.sampled_from([0.1, 0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
)
def test_views_bound_the_exact_price_on_both_sides(n, seed, epsilon, gap, covers):
    loss, cone, costs = random_points(n, seed, epsilon)
    roots = np.arange(n)
    zero = np.zeros(n)
    everything = np.arange(n)
    exact = Trees(cone, roots)
    trees = Trees(cone, roots)
    assert exact.improve(costs, zero).all()
    least = exact.prices(costs, zero).least
    views = Views(trees, np.ones(n))
    begun = int(views.seen.sum())
    assert views.unproved == pytest.approx(0.1 / n)
    if covers:
        views.expect_covering(np.ones(n))
        assert views.unproved == pytest.approx(0.03 * np.exp(-loss).sum(axis=1) / n)
    for _ in range(2):  # the second time from the trees found first
        price = views.improve(costs, zero, gap)
        proved = trees.prices(costs, zero)
        rays = trees.rays(everything) if views.seen.all() else views.rays()
        slack = 1e-9 * (np.abs(costs) * rays).sum(axis=1)
        assert (proved.least <= least + slack).all()
        assert ((costs * rays).sum(axis=1) >= least - slack).all()
        assert (rays[:, :, None] >= np.exp(-loss) * rays[:, None, :] * (1 - 1e-9)).all()
        assert rays[everything, roots] == pytest.approx(1.0)
        if not views.seen.all():  # the smallest entries in the cone above those of the seen inputs
            over = np.where(views.seen[:, None, :], rays[:, None, :] * np.exp(-loss), 0.0).max(
                axis=2
            )
            assert rays == pytest.approx(over, rel=1e-9)
        # Each price is proved, or its ray's price is at most half of the proved one.
        is_proved = proved.least >= -gap * views.unproved - slack
        assert (is_proved | (price <= 0.5 * proved.least + slack)).all()
        assert (is_proved | (np.abs((costs * rays).sum(axis=1) - price) <= 1e3 * slack)).all()
    assert views.seen.sum() >= begun
    # The multipliers leave at least the shares of every output's costs.
    left, moved = left_by_multipliers(trees, costs, zero)
    assert (left >= proved.share - 1e-9 * moved).all()


def hung_plainly(root, parent, side, left, loss):
    """A tree whose subtrees hang from the root if their positive costs do not pass to their
    parents."""
    depth, (parent, side), cost = np.zeros(len(parent)), (parent.copy(), side.copy()), left.copy()
    for x in range(len(parent)):
        above = x
        while above != root:
            above, depth[x] = parent[above], depth[x] + 1
    for x in np.argsort(-depth, kind="stable")[:-1]:
        if cost[x] * side[x] <= 0:
            cost[parent[x]] += cost[x] * np.exp(side[x] * loss[x, parent[x]])
        elif cost[x] > 0:
            parent[x] = root
            side[x] = -1
    return parent, side


@cases(25)
@given(st.integers(2, 30), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 3.0]))
def test_costs_that_parents_do_not_take_any_more_raise_the_roots_price(n, seed, epsilon):
    loss, cone, costs = random_points(n, seed, epsilon)
    rng = np.random.default_rng(seed)
    roots = np.arange(n)
    # lower than those for which the trees are the best
    sums = -rng.random(n) * (rng.random(n) < 0.5)
    trees = Trees(cone, roots)
    exact = Trees(cone, roots)
    trees.improve(costs, np.zeros(n))
    exact.improve(costs, sums)
    before = trees.prices(costs, sums)
    some = np.flatnonzero(rng.random(n) < 0.7)
    tops = trees.parent.copy()
    sides = trees.side.copy()
    trees.hang_from_roots(costs, sums, some)
    for y in roots:
        plain = (
            hung_plainly(y, tops[y], sides[y], costs[y] - sums, loss)
            if y in some
            else (tops[y], sides[y])
        )
        assert (trees.parent[y] == plain[0]).all()
        assert (trees.side[y] == plain[1]).all()
    rays = np.maximum(trees.rays(roots), exact.rays(roots))
    after = trees.prices(costs, sums)
    slack = 1e-9 * (np.abs(costs - sums) * rays).sum(axis=1)
    assert (after.least >= before.least - slack).all()
    assert (after.least <= exact.prices(costs, sums).least + slack).all()
    left, moved = left_by_multipliers(trees, costs, sums)
    assert (left >= after.share - 1e-9 * moved).all()


@cases(20)
@given(st.integers(2, 30), st.integers(0, 10**6))
def test_each_input_is_the_farthest_from_the_earlier_ones(n, seed):
    loss, cone, _ = random_points(n, seed, 1.0)
    order, above, radius = farthest_first(cone.lengths.table, np.ones(n))
    assert sorted(order) == list(range(n))
    for k in range(1, n):
        before = order[:k]
        rest = order[k:]
        near = loss[np.ix_(rest, before)].min(axis=1)
        assert near[0] == pytest.approx(near.max())
        assert radius[order[k]] == pytest.approx(near[0])
        assert above[order[k]] in before
        assert loss[order[k], above[order[k]]] == pytest.approx(near[0])


def test_implied_pairs_of_points_on_a_line_are_proved(monkeypatch):
    monkeypatch.setattr(progress, "VIEW_INPUTS", 20)
    city = synthetic_city(64, rng=5)
    points = np.concatenate([city.points, [[0.0, 20.0], [1.0, 20.0], [2.0, 20.0]]])
    privacy = lo.MetricDP.of_points(1.0, points)
    ties = privacy.ties(range(67))
    assert len(ties.first) == 67 * 66 - 2
    assert not Cone.of(ties).is_metric
    cone = Cone.of(ties, lambda: privacy.definition(range(67)))
    assert cone.is_metric
    assert cone.lengths.table[64, 66] == pytest.approx(2.0)
    table = lo.utility.table(np.asarray(privacy.distance), sense="loss")
    answer = lo.solve(
        lo.Problem(np.append(city.prior, [0.3, 0.0, 0.3]) / 1.6, table, privacy), gap=1e-2
    )
    assert answer.solver.startswith("rays")
    assert lo.certify(answer).relative_gap <= 1e-2


def test_a_nearly_complete_graph_gets_no_further_ties():
    graph = nx.complete_graph(50)
    graph.remove_edge(0, 1)
    cone = Cone.of(lo.GraphDP(1.0, graph).ties(range(50)))
    assert np.isinf(cone.lengths.table[0, 1])
    assert not cone.is_metric


def test_a_city_is_solved_to_a_small_gap_by_views(monkeypatch):
    monkeypatch.setattr(progress, "VIEW_INPUTS", 20)
    answer = lo.solve(synthetic_city(thorough_or(40, 64), rng=3).problem(0.6), gap=1e-6)
    assert answer.status.value == "optimal"
    assert lo.certify(answer).relative_gap <= 1e-6
