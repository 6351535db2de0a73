"""Loops in C against numpy: audits of pairs, columns raised into their cone, trees of kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

import ldpopt as lo
from builders import cases
from ldpopt.auditing import row_ratios, tied_pairs
from ldpopt.mechanism import rounding
from ldpopt.mechanism.repair import repair
from ldpopt.solving.methods.rays.cone import Cone


def random_channel(n, m, seed):
    """Near a private channel for a line, with some entries that break it, and zeros."""
    rng = np.random.default_rng(seed)
    channel = np.exp(
        -np.abs(np.subtract.outer(np.arange(n), np.linspace(0, n, m))) * rng.uniform(0.2, 0.6)
    )
    channel *= rng.choice([1.0, 1.1, 0.0], p=[0.8, 0.15, 0.05], size=(n, m)) if seed % 2 else 1.0
    channel[:, 0] += 0.01
    return channel / channel.sum(axis=1, keepdims=True)


@cases(20)
@given(st.integers(2, 12), st.integers(2, 9), st.integers(0, 10**6))
def test_audits_of_pairs_agree(n, m, seed):
    channel = random_channel(n, m, seed)
    privacy = lo.MetricDP.of_points(0.7, np.arange(n)[:, None])
    found = []
    for entries in (0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_ratios, "MIN_ENTRIES", entries)
            found.append(lo.audit(channel, privacy))
    assert (found[0].epsilon, found[0].verdict) == (found[1].epsilon, found[1].verdict)


@pytest.mark.parametrize(
    ("unit", "verdict"), [(-1, "certified"), (0, "certified"), (1, "violated")]
)
def test_one_unit_decides_if_all_rows_are_compared_at_once(unit, verdict, monkeypatch):
    monkeypatch.setattr(row_ratios, "MIN_ENTRIES", 0)
    rng = np.random.default_rng(unit + 1)
    masses = rng.integers(2**30, 2**40, 70) * np.array([[1], [2], [8]])
    masses[rng.integers(1, 3), rng.integers(70)] += unit
    channel = np.concatenate([masses, 2**53 - masses.sum(axis=1, keepdims=True)], axis=1) / 2.0**53
    distance = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    audit = lo.audit(channel, lo.MetricDP("log(2)", distance))
    assert audit.verdict == verdict
    assert (audit.epsilon > np.log(2) + 1e-15) == (verdict == "violated")


def test_with_many_worst_pairs_the_bound_is_an_upper_bound(monkeypatch):
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6))).astype(float)
    channel = 2.0**-distance
    channel /= channel.sum(axis=1, keepdims=True)
    slow = lo.audit(channel, lo.MetricDP(1.0, distance))
    monkeypatch.setattr(row_ratios, "MIN_ENTRIES", 0)
    monkeypatch.setattr(tied_pairs, "MIN_ENTRIES", 3 * 6)
    fast = lo.audit(channel, lo.MetricDP(1.0, distance))
    assert slow.epsilon <= fast.epsilon <= slow.epsilon + 1e-14
    assert (fast.witness, fast.verdict) == (slow.witness, "certified")
    assert lo.audit(np.full((6, 6), 1 / 6), lo.MetricDP(1.0, distance)).epsilon == 0.0


def raised_plainly(values, ties, ratio, slack, is_whole):
    """The rows raised in order and in reverse order, until nothing changes."""
    found = values.copy()
    order = list(range(len(values)))
    first, second = ties.pairs()
    while True:
        before = found.copy()
        for x in order:
            for pair in np.flatnonzero(second == x):
                floor = (found[first[pair]] - slack) * ratio[pair]
                found[x] = np.maximum(found[x], np.ceil(floor) if is_whole else floor)
        order.reverse()
        if np.array_equal(before, found):
            return found


@cases(30)
@given(
    st.integers(2, 12),
    st.integers(1, 9),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e-3]),
    st.booleans(),
)
def test_columns_are_raised_as_by_plain_loops(n, m, seed, slack, is_whole):
    channel = random_channel(n, m, seed) * (2.0**20 if is_whole else 1.0)
    values = np.floor(channel) if is_whole else channel
    ties = lo.MetricDP.of_points(0.7, np.arange(n)[:, None]).ties(range(n))
    ratio = np.exp(-0.7 * ties.distance)
    plain = raised_plainly(values, ties, ratio, slack, is_whole)
    assert np.array_equal(rounding.raised(values, ties, ratio, slack, is_whole=is_whole), plain)
    table = np.full((n, n, m), slack)
    assert np.array_equal(rounding.raised(values, ties, ratio, table, is_whole=is_whole), plain)


@cases(20)
@given(st.integers(2, 12), st.integers(2, 9), st.integers(0, 10**6))
def test_repairs_agree(n, m, seed):
    channel = random_channel(n, m, seed)
    privacy = lo.MetricDP.of_points(0.7, np.arange(n)[:, None])
    found = []
    for entries in (0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rounding, "PRODUCT_ENTRIES", entries)
            found.append(repair(channel, privacy).mechanism.channel)
    assert (found[0] == found[1]).all()


@cases(20)
@given(st.integers(2, 14), st.integers(0, 10**6), st.booleans())
def test_kernel_trees_are_shortest_chains(n, seed, is_metric):
    rng = np.random.default_rng(seed)
    if is_metric:
        places = rng.permutation(30)[:n]
        distance = np.abs(np.subtract.outer(places // 6, places // 6)) + np.abs(
            np.subtract.outer(places, places) % 6.0
        )
    else:
        distance = rng.random((n, n)) ** 3 + 0.001
    distance = np.triu(distance, 1) + np.triu(distance, 1).T
    distance[distance == 0] = 1.0
    np.fill_diagonal(distance, 0.0)
    ties = lo.MetricDP(1.0, distance).ties(range(n))
    cone = Cone.of(ties)
    graph = np.full((n, n), np.inf)
    graph[ties.first, ties.second] = ties.distance
    expected = shortest_path(graph)
    depth, parents = cone.kernels(np.arange(n))
    assert depth == pytest.approx(expected.max())
    for root, parent in enumerate(parents):
        for x in range(n):
            if x != root:
                assert expected[root, x] == pytest.approx(
                    expected[root, parent[x]] + graph[parent[x], x]
                )
