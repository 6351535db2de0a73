"""Curves of budgets, and approximate privacy along edges: rows, audits and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from ldpopt import ApproximateLDP, CurveLDP, neighbors
from ldpopt.auditing.exact_matrices import exact
from ldpopt.privacy.notion import from_table, with_epsilon

POINTS = [(0.2, 0.2), ("log(2)", 0.08), (2.0, 0.0)]


def is_private(channel, points, pairs=None):
    """The definition for all events and points, in rationals."""
    rows = exact(channel).entries.tolist()
    pairs = itertools.permutations(range(len(rows)), 2) if pairs is None else pairs
    total = sum(rows[0])
    for (x, k), (epsilon, delta) in itertools.product(pairs, points):
        a = lo.Budget(epsilon).enclosure()[0]
        worst = sum(max(Fraction(p) - a * q, 0) for p, q in zip(rows[x], rows[k], strict=True))
        if worst > Fraction(delta) * total:
            return False
    return True


@pytest.mark.parametrize("seed", range(10))
def test_the_audit_is_the_definition_at_every_point(seed):
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(1024, rng.dirichlet(np.ones(4)), 3) / 1024
    for share in (0.1, 0.3, 0.6, 1.0):
        channel = share * drawn + (1 - share) * drawn[0]
        channel = np.round(channel * 4096) / 4096
        channel[:, 0] += 1 - channel.sum(axis=1)
        found = lo.audit(channel, CurveLDP(POINTS)).verdict == "certified"
        assert found == is_private(channel, POINTS)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    problem = lo.Problem(rng.dirichlet(np.ones(3)), rng.random((3, 4)), CurveLDP(POINTS))
    listed = lo.solve(problem, form="pairwise")
    found = lo.solve(problem)
    assert found.value == pytest.approx(listed.value, abs=1e-9)
    assert lo.certify(found).relative_gap < 1e-9
    for point in POINTS:
        alone = lo.solve(lo.Problem(problem.prior, problem.utility, ApproximateLDP(*point)))
        assert found.value <= alone.value + 1e-9
        assert found.mechanism.audit(ApproximateLDP(*point)).verdict == "certified"


def test_one_point_of_a_curve_may_bind_for_each_pair():
    """Both points cost something: the curve is strictly below the better of them."""
    points = [(0.3, 0.12), (1.2, 0.005)]
    gain = [[1.0, 0.0, 0.6], [0.0, 1.0, 0.6], [0.1, 0.2, 0.8]]
    values = [
        lo.solve(lo.Problem([0.4, 0.4, 0.2], gain, notion)).value
        for notion in (CurveLDP(points), *(ApproximateLDP(*point) for point in points))
    ]
    assert values[0] < min(values[1:]) + 1e-12


def test_rows_hold_for_channels_at_the_border():
    notion = CurveLDP(POINTS)
    rng = np.random.default_rng(0)
    for _ in range(thorough_or(2, 10)):
        channel = lo.Mechanism.private(rng.dirichlet(np.ones(3), 3), notion).channel
        for ratio in (1.0, 0.8, 0.5, 0.1, 3.0):
            height = float(notion.excess(Fraction(ratio)))
            for x, k in itertools.permutations(range(3), 2):
                assert np.maximum(ratio * channel[x] - channel[k], 0).sum() <= height + 1e-12


def test_a_curve_of_one_point_is_approximate_privacy():
    assert ApproximateLDP.of_curve([(1.0, 0.1)]) == ApproximateLDP(1.0, 0.1)
    assert from_table({"kind": "approximate", "curve": POINTS}, "abc") == CurveLDP(POINTS)
    assert CurveLDP(POINTS[::-1]) == CurveLDP(POINTS)


@pytest.mark.parametrize(
    ("points", "code"),
    [
        ([], "curve-points"),
        ("abc", "curve-points"),
        ([(1.0,)], "curve-points"),
        ([(1.0, 0.1), (1.0, 0.2)], "duplicate-epsilon"),
        ([("log(1)", 0.1), (0, 0.2)], "duplicate-epsilon"),
        ([(-1.0, 0.1)], "negative-epsilon"),
    ],
)
def test_what_is_no_curve(points, code):
    with refused(code):
        ApproximateLDP.of_curve(points)


def test_a_curve_has_no_epsilon_of_its_own():
    with refused("no-epsilon"):
        with_epsilon(CurveLDP(POINTS), lo.Budget(1.0))
    with pytest.raises(lo.errors.LdpoptError):
        from_table({"kind": "approximate", "curve": POINTS, "epsilon": 1.0}, "abc")


# Along edges.


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("seed", range(3))
def test_only_neighbors_are_compared(form, seed):
    rng = np.random.default_rng(seed)
    graph = neighbors.path(range(4))
    notion = ApproximateLDP(0.6, 0.05, form, graph=graph)
    problem = lo.Problem(rng.dirichlet(np.ones(4)), rng.random((4, 3)), notion)
    found = lo.solve(problem)
    mechanism = found.mechanism
    assert lo.certify(found).relative_gap < 1e-9
    if form == "event":
        pairs = [(x, k) for x in range(4) for k in range(4) if abs(x - k) == 1]
        assert is_private(mechanism.channel, [(0.6, 0.05)], pairs)
    events = lo.formulate(problem).to_highs()
    events.run()
    assert found.value == pytest.approx(events.getObjectiveValue(), abs=1e-9)
    everyone = lo.Problem(problem.prior, problem.utility, ApproximateLDP(0.6, 0.05, form))
    assert found.value > lo.solve(everyone).value
    assert mechanism.audit(ApproximateLDP(0.6, 0.05, form)).verdict == "violated"


def test_labels_of_the_graph_decide(tmp_path):
    graph = neighbors.path(["b", "a", "c"])
    notion = ApproximateLDP(1.0, 0.1, graph=graph)
    problem = lo.Problem({"a": 0.5, "b": 0.3, "c": 0.2}, "identity", notion)
    lo.save_model(problem, tmp_path / "model.toml")
    again = lo.load_model(tmp_path / "model.toml")
    assert lo.solve(again).value == pytest.approx(lo.solve(problem).value, rel=1e-12)
    rows = [[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]]
    assert lo.audit(lo.Mechanism(rows, ["b", "a", "c"]), notion).verdict == "violated"
    assert lo.audit(lo.Mechanism(rows, ["a", "b", "c"]), notion).verdict == "violated"
    apart = [[0.5, 0.5], [0.3, 0.7], [0.2, 0.8]]  # neighbors differ by less, the ends by more
    narrow = ApproximateLDP(0.0, 0.25, graph=graph)
    assert lo.audit(lo.Mechanism(apart, ["b", "a", "c"]), narrow).verdict == "certified"
    assert lo.audit(lo.Mechanism(apart, ["a", "b", "c"]), narrow).verdict == "violated"


def test_a_graph_in_parts_is_refused():
    with refused("graph-parts"):
        ApproximateLDP(1.0, 0.1, graph=nx.Graph([(0, 1), (2, 3)]))
