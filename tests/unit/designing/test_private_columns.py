"""Designs for graphs, metrics and one-sided privacy: private, proved, saved; what is refused."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    OneSided,
    PureLDP,
    UtilityOptimizedLDP,
    Workload,
    design,
)
from ldpopt.designing.literature import variance_of
from ldpopt.designing.private_columns import (
    Price,
    Staircases,
    costs_of_all_sets,
    indicators,
    local_maxima,
    neighbors,
    search_by_pairs,
)
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.mechanism.repair import repair
from ldpopt.privacy.cones.rays import rays_of
from ldpopt.privacy.cones.vertices import lengths_of

PATH = nx.path_graph(["a", "b", "c", "d"])


@pytest.mark.parametrize("epsilon", [1e-4, "log(3)", 10.0])
@pytest.mark.parametrize("skewed", [False, True])
def test_designs_are_private_unbiased_and_have_their_value(epsilon, skewed):
    workload = Workload.prefix(list("abcd"))
    privacy = GraphDP(epsilon, PATH)
    weights = np.array([4.0, 3, 2, 1]) if skewed else np.ones(4)
    made = design(workload, privacy, weights=weights, gap=1e-8)
    assert made.mechanism.audit(privacy).verdict == "certified"
    # Masses of 2**-53 tell answers apart by epsilon only.
    assert np.allclose(
        made.estimator @ made.mechanism.channel.T,
        workload.matrix,
        atol=1e-9 / float(privacy.epsilon),
    )
    by_answer = made.mechanism.channel @ (made.estimator**2).sum(axis=0) - (workload.matrix**2).sum(
        axis=0
    )
    assert by_answer @ weights / weights.sum() == pytest.approx(made.value, rel=1e-6)
    assert made.relative_gap <= 1e-7
    assert made.certificate.recheck() == ()


def test_labels_decide_which_answers_are_neighbors():
    workload = Workload.frequencies(list("dbca"))
    made = design(workload, GraphDP(1.0, PATH), gap=1e-9)
    assert made.mechanism.inputs == ("d", "b", "c", "a")
    assert made.value == pytest.approx(
        design(Workload.frequencies(list("abcd")), GraphDP(1.0, PATH)).value, rel=1e-6
    )


def test_large_budgets_say_the_truth():
    made = design(Workload.frequencies(5), GraphDP(30.0, nx.path_graph(5)))
    assert made.value < 1e-9
    assert np.allclose(made.estimator @ made.mechanism.channel.T, np.eye(5), atol=1e-6)


def test_answers_are_not_joined_under_a_graph():
    """Joining the ends of a path would tie both to the middle more closely than the graph does."""
    workload = Workload([[1.0, 0.0, 0.0, 0.0, 1.0]])
    made = design(workload, GraphDP(1.0, nx.path_graph(5)), gap=1e-9)
    joined = design(workload, PureLDP(1.0), gap=1e-9)
    assert made.value < joined.value
    assert made.certificate.recheck() == ()


def random_channel(n, m, distance, rng):
    """Private columns between two random ones of the cone, whatever the rays are."""
    steep = np.exp(-distance[rng.integers(n, size=m)] * rng.random(m)[:, None]).T
    mixed = steep * rng.random(m) / m
    left = 1.2 * mixed.sum(axis=1).max() - mixed.sum(axis=1)
    # What is missing to a constant is itself in the cone where it is flat enough.
    return np.column_stack([mixed, left]) / (mixed.sum(axis=1) + left)[:, None]


@cases(12)
@given(st.integers(0, 10**6), st.sampled_from(["path", "cycle", "points"]))
def test_no_private_channel_is_below_the_bound(seed, kind):
    rng = np.random.default_rng(seed)
    n = 4
    places = rng.random((n, 2))
    privacy = {
        "path": GraphDP(1.0, nx.path_graph(n)),
        "cycle": GraphDP(1.0, nx.cycle_graph(n)),
        "points": MetricDP(2.0, np.sqrt(((places[:, None] - places) ** 2).sum(2))),
    }[kind]
    workload = Workload(rng.standard_normal((2, n)))
    made = design(workload, privacy, gap=1e-4)
    ties = privacy.definition(range(n))
    distance = np.full((n, n), np.inf)
    np.fill_diagonal(distance, 0.0)
    distance[ties.pairs()] = float(privacy.epsilon) * (
        1.0 if ties.distance is None else ties.distance
    )
    for k in range(n):
        distance = np.minimum(distance, distance[:, [k]] + distance[[k]])
    channel = repair(
        random_channel(n, 12, distance, rng), privacy, inputs=range(n), outputs=range(13)
    ).mechanism.channel
    assert variance_of(workload, channel, np.full(n, 1 / n)) >= made.bound * (1 - 1e-9)


def test_lengths_are_never_shorter_than_the_distances():
    rng = np.random.default_rng(0)
    for _ in range(20):
        places = rng.integers(0, 4, (5, 2)) * 0.1 + np.arange(5)[:, None] * 1e-3
        distance = np.sqrt(((places[:, None] - places) ** 2).sum(2))
        ties = lengths_of(MetricDP(1.0, distance).definition(range(5)))
        for x, z, size in zip(ties.first, ties.second, ties.length, strict=True):
            assert ties.unit * int(size) >= Fraction(float(distance[x, z]))


def test_too_many_rays_are_refused():
    square = np.triu(1 + np.random.default_rng(0).random((12, 12)), 1)
    with pytest.raises(NotRepresentableError, match=r"12 answers.* 2000"):
        rays_of(MetricDP(1.0, square + square.T), range(12), most=2000)


@pytest.mark.parametrize(
    "privacy, n, error, words",
    [
        (ApproximateLDP(1.0, 0.1), 4, NotRepresentableError, "no"),
        (UtilityOptimizedLDP(1.0, [0, 1], [0, 1]), 4, StatementError, "names those"),
        (GraphDP(1.0, nx.cycle_graph(40)), 40, NotRepresentableError, "40 answers"),
        (GraphDP(1.0, nx.path_graph(20)), 20, NotRepresentableError, "PureLDP"),
        (OneSided(1.0, range(18)), 20, NotRepresentableError, "18 sensitive"),
        (GraphDP(1.0, nx.path_graph(3)), 4, StatementError, "input 3"),
        (GraphDP(0.0, nx.path_graph(4)), 4, StatementError, "epsilon = 0"),
        ("pure", 4, StatementError, "not a privacy notion"),
    ],
)
def test_refused_in_words(privacy, n, error, words):
    with pytest.raises(error, match=words):
        design(Workload.prefix(n), privacy)


def test_parts_need_weight():
    """A report tells the part: what is known without cost has no finite information."""
    privacy = GraphDP(1.0, nx.Graph([("a", "b"), ("c", "d")]), parts="separate")
    workload = Workload.frequencies(list("abcd"))
    with pytest.raises(StatementError, match="weight"):
        design(workload, privacy, weights=[1, 1, 0, 0])
    made = design(workload, privacy, weights=[1, 0, 1, 0])
    assert made.mechanism.audit(privacy).verdict == "certified"
    assert made.certificate.recheck() == ()


def test_a_time_limit_is_kept_while_rays_are_listed():
    places = np.random.default_rng(1).random((10, 2))
    privacy = MetricDP(1.0, np.sqrt(((places[:, None] - places) ** 2).sum(2)))
    with pytest.raises(NotRepresentableError, match="time limit"):
        design(Workload.prefix(10), privacy, time_limit=0.05)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 9])
def test_costs_and_local_maxima_of_all_sets_are_those_of_each_set(n):
    """By the scores of each column; weights may be 0, slopes need not sum to 0."""
    rng = np.random.default_rng(n)
    rows = rng.standard_normal((3, n))
    weights = rng.dirichlet(np.full(n, 5.0))
    if n > 2:
        weights[0] = 0.0
        weights /= weights.sum()
    price = Price(rows.T @ rows, rng.standard_normal(n), weights)
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    columns = Staircases(n, 0.3, 0.7).columns(every)
    costs = costs_of_all_sets(price, 0.3, 0.7)
    assert costs == pytest.approx(price.costs(columns), rel=1e-10, abs=1e-10)
    for least in (-np.inf, float(np.median(costs)), float(costs.max())):
        expected = [
            number
            for number, cost in enumerate(costs)
            if cost > least and all(cost >= costs[number ^ (1 << place)] for place in range(n))
        ]
        assert local_maxima(costs, n, least).tolist() == expected


def test_the_costliest_set_of_21_answers_is_found_without_a_list():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 21))
    weights = rng.dirichlet(np.full(21, 5.0))
    price = Price(rows.T @ rows, rng.standard_normal(21), weights)
    cone = Staircases(21, 0.3, 0.7)
    costs = costs_of_all_sets(price, 0.3, 0.7)
    most = costs.max()
    assert not len(cone.costlier(price, most * (1 + 1e-9), 10))
    found = cone.costlier(price, most * (1 - 1e-9), 10)
    assert price.costs(cone.columns(found)) == pytest.approx([most], rel=1e-12)
    many = cone.costlier(price, float(np.quantile(costs, 1 - 1e-4)), 50)
    assert 1 < len(many) <= 50
    assert price.costs(cone.columns(many)).min() > np.quantile(costs, 1 - 1e-4) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_no_exchange_of_two_answers_raises_a_set_that_was_found(seed):
    """By all pairs of all sets, in plain sums; the costliest set of 12 answers is among them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4, 12))
    weights = rng.dirichlet(np.full(12, 5.0))
    price = Price(rows.T @ rows, rng.standard_normal(12), weights)
    cone = Staircases(12, 0.3, 0.7)
    costs = costs_of_all_sets(price, 0.3, 0.7)
    sets = search_by_pairs(
        price, costs.max(), indicators(rng.integers(1, 2**12 - 1, 40), 12), 0.3, 0.7
    )
    assert price.costs(cone.columns(sets)).max() == pytest.approx(costs.max(), rel=1e-12)

    def raised(one):  # v N v - (y.v)(r.v) at the largest cost
        v = 0.3 + 0.7 * one
        return (price.costs(cone.columns(one[None]))[0] - costs.max()) * (weights @ v) ** 2

    for one in sets:
        others = []
        for x in range(12):
            for z in range(x, 12):
                other = one.copy()
                other[[x, z]] = 1 - other[[x, z]]
                if 0 < other.sum() < 12:
                    others.append(raised(other))
        assert max(others) <= raised(one) + 1e-9


@pytest.mark.parametrize("paired", [True, False])
def test_a_neighbor_is_the_best_of_all_exchanges(paired):
    """Of two answers, or of one; a set that no exchange raises stays."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((4, 9))
    weights = rng.dirichlet(np.full(9, 5.0))
    price = Price(rows.T @ rows, rng.standard_normal(9), weights)
    start = indicators(np.arange(1, 511, 7), 9)
    most = costs_of_all_sets(price, 0.3, 0.7).max()

    def raised(one):  # v N v - (y.v)(r.v) at the largest cost, also of the empty and the full set
        v = 0.3 + 0.7 * one
        score = v / (weights @ v) - 1
        return (score @ price.form @ score - score @ price.slope - most) * (weights @ v) ** 2

    expected = set()
    for one in start:
        ways = (
            [(x, z) for x in range(9) for z in range(x + 1, 9)]
            if paired
            else [(x,) for x in range(9)]
        )
        others = [np.where(np.isin(np.arange(9), way), 1 - one, one) for way in ways]
        expected.add(tuple(max([one, *others], key=raised)))
    proper = {one for one in expected if 0 < sum(one) < 9}
    assert set(map(tuple, neighbors(price, most, start, 0.3, 0.7, pairs=paired))) == proper


def test_a_search_from_far_above_all_costs_finds_nothing():
    """Every exchange leads towards the empty set, which is no column."""
    known = Staircases(21, 6e-6, 1 - 6e-6).initial(np.eye(21))
    price = Price(np.eye(21), np.zeros(21), np.full(21, 1 / 21))
    found = Staircases(21, 6e-6, 1 - 6e-6).price(price, 1e12, known, 10)
    assert (len(found.shapes), found.largest) == (0, price.costs(known).max())
