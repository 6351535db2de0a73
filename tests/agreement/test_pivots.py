"""Pivots with a table of losses, plain as in tests/plain, against the definition: which tie stops a subtree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.trees import Trees
from plain.pivots import _pivot, _stop
from plain.trees import Lengths, build, count_tie, list_subtree, load_tree, new_workspace, sum_costs


def counted(tree):
    """At how many ties of the tree each node is the lower one, and the higher one."""
    lower, higher = np.zeros(len(tree.parent), int), np.zeros(len(tree.parent), int)
    for x in range(len(tree.parent)):
        if x != tree.root:
            low, high = (x, tree.parent[x]) if tree.side[x] < 0 else (tree.parent[x], x)
            lower[low] += 1
            higher[high] += 1
    return lower, higher


@cases(30)
@given(st.integers(3, 40), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 3.0]), st.booleans())
def test_the_compared_nodes_stop_a_subtree_as_soon_as_all_nodes(n, seed, epsilon, is_grid):
    rng = np.random.default_rng(seed)
    points = rng.permutation(100)[:n, None] // [1, 10] % 10.0 if is_grid else rng.normal(0, 3, (n, 2))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    first, second = np.nonzero(distance > 0)
    cone = Cone(n, first, second, epsilon * distance[first, second], is_of_metric=True)
    assert cone.is_metric
    root = int(rng.integers(n))
    trees = Trees(cone, np.array([root]))
    trees.improve(rng.standard_normal((1, n)) + 0.3, np.zeros(n), most=int(rng.integers(3 * n)))
    tree = load_tree(root, trees.parent[0], trees.side[0], new_workspace(n))
    lengths = Lengths.of(cone.lengths)
    build(tree, lengths)
    tree.own[:] = rng.standard_normal(n)
    for at in range(n - 1, 0, -1):
        sum_costs(tree.order[at], tree.parent[tree.order[at]], tree)
    for top in rng.permutation(n):
        if top == root:
            continue
        assert (tree.lower, tree.higher) == tuple(pytest.approx(ones) for ones in counted(tree))
        sign, left = -int(tree.side[top]), int(tree.parent[top])
        moving = tree.order[: list_subtree(top, tree.first, tree.after, tree.order)].copy()
        staying = np.setdiff1d(np.arange(n), moving)
        room = cone.lengths.table[np.ix_(moving, staying)]
        room = room - sign * (tree.log[moving][:, None] - tree.log[staying])
        tree.inside[moving] = True
        count_tie(top, left, -sign, -1, tree.lower, tree.higher)
        step, node, outside = _stop(sign, len(moving), tree, lengths)
        count_tie(top, left, -sign, 1, tree.lower, tree.higher)
        tree.inside[moving] = False
        assert step == pytest.approx(max(room.min(), 0.0), abs=1e-9)
        assert node in moving
        assert outside in staying
        tied = cone.lengths.table[node, outside] - sign * (tree.log[node] - tree.log[outside])
        assert tied == pytest.approx(step, abs=1e-9)
        before = tree.log.copy()
        _pivot(top, tree, lengths)
        assert tree.log - before == pytest.approx(np.where(np.isin(np.arange(n), moving), sign * step, 0.0))
        assert np.abs(tree.log).max() <= tree.extent[0]
        assert not tree.inside.any()


def test_all_nodes_are_compared_if_ties_are_missing():
    rng = np.random.default_rng(0)
    distance = rng.uniform(1, 3, (12, 12))
    distance = np.minimum(distance, distance.T)
    distance[0, 1] = distance[1, 0] = np.inf
    np.fill_diagonal(distance, 0)
    first, second = np.nonzero((distance > 0) & np.isfinite(distance))
    cone = Cone(12, first, second, distance[first, second])
    assert len(cone.lengths.table)
    assert not cone.is_metric
    trees = Trees(cone, np.arange(12))
    assert trees.improve(rng.standard_normal((12, 12)), np.zeros(12)).all()
    rays = trees.rays(np.arange(12))
    ratio = rays[:, first] / rays[:, second]
    assert (ratio >= np.exp(-distance[first, second]) * (1 - 1e-9)).all()


def test_prices_of_some_outputs_are_those_of_all():
    rng = np.random.default_rng(1)
    privacy = lo.MetricDP.of_points(1.0, rng.normal(0, 2, (30, 2)))
    trees = Trees(Cone.of(privacy.ties(range(30))), np.arange(30))
    costs, some = rng.standard_normal((30, 30)), np.array([2, 3, 17])
    whole, part = trees.prices(costs, np.zeros(30)), trees.prices(costs, np.zeros(30), some)
    assert part.least[some] == pytest.approx(whole.least[some])
    assert part.total[some] == pytest.approx(whole.total[some])
    assert not np.delete(part.least, some).any()
    assert (part.share >= whole.share).all()
