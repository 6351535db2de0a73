"""Pairs of inputs are decided exactly where floats are too coarse."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import coin
from ldpopt.auditing import tied_pairs
from ldpopt.auditing.audits import Pairs
from ldpopt.auditing.exact_matrices import exact
from ldpopt.auditing.one_sided import one_sided_divergence
from ldpopt.foundation.budget import Budget, epsilon_above, log_enclosure


def test_large_ratios_of_two_entries_are_decided_exactly():
    # 2**k : 1 is allowed from k log(2) nats on; exp(epsilon) is computed for few of them.
    for k in (1, 2, 10, 52, 200):
        channel = coin(Fraction(2**k))
        graph = nx.path_graph(2)
        assert lo.audit(channel, lo.GraphDP(f"log({2**k})", graph)).verdict == "certified"
        assert (
            lo.audit(channel, lo.GraphDP(f"log({2**k - Fraction(1, 2**300)})", graph)).verdict
            == "violated"
        )
        assert (
            lo.audit(channel, lo.GraphDP(k * math.log(2) * (1 + 1e-15), graph)).verdict
            == "certified"
        )
        assert (
            lo.audit(channel, lo.GraphDP(k * math.log(2) * (1 - 1e-15), graph)).verdict
            == "violated"
        )


@pytest.mark.parametrize("distance", [1.0, 0.5])
def test_masses_too_small_for_floats_are_compared_exactly(distance):
    tiny = Fraction(1, 10**400)
    metric = [[0, distance], [distance, 0]]

    def channel(one, other):
        return np.array([[1 - one, one], [1 - other, other]], dtype=object)

    for notion in (
        lo.GraphDP("log(2)", nx.path_graph(2)),
        lo.MetricDP(f"log({2 ** int(1 / distance)})", metric),
    ):
        found = lo.audit(channel(tiny, Fraction(0)), notion)
        assert (found.epsilon, found.verdict, found.witness) == (math.inf, "violated", (0, 1, 1))
        for scale in (tiny, Fraction(3, 2**1075), Fraction(1, 2**1060)):
            found = lo.audit(channel(2 * scale, scale), notion)
            steps = Fraction(distance) if isinstance(notion, lo.MetricDP) else 1
            assert found.epsilon == epsilon_above(log_enclosure(Fraction(2))[1] / steps)
            # a root of 4 is not written as a rational
            decided = "undecided" if steps != 1 else "certified"
            assert (found.verdict, found.witness) == (decided, (0, 1, 1))
            more = 2 * scale * (1 + Fraction(1, 10**50))
            assert lo.audit(channel(more, scale), notion).verdict == "violated"
    assert lo.audit(channel(tiny, tiny), lo.GraphDP(0.0, nx.path_graph(2))).witness is None


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_are_equal_in_floats_are_compared_exactly(seed):
    rng = np.random.default_rng(seed)
    steps = rng.integers(-9, 10, (3, 4))
    part = Fraction(1, 10 ** int(rng.integers(15, 18)))
    rows = [[(1 + int(step) * part) / 4 for step in row] for row in steps]
    rows = [[entry / sum(row) for entry in row] for row in rows]
    worst = max(
        p / q
        for x, k in ((0, 1), (1, 0), (1, 2), (2, 1))
        for p, q in zip(rows[x], rows[k], strict=True)
    )
    found = lo.audit(np.array(rows, dtype=object), lo.GraphDP(1.0, nx.path_graph(3)))
    least = epsilon_above(log_enclosure(worst)[1])
    assert least <= found.epsilon <= least + 2.0**-46
    assert (
        lo.audit(
            np.array(rows, dtype=object), lo.GraphDP(f"log({worst})", nx.path_graph(3))
        ).verdict
        == "certified"
    )
    less = 1 + (worst - 1) * (1 - Fraction(1, 2**400))
    assert (
        lo.audit(np.array(rows, dtype=object), lo.GraphDP(f"log({less})", nx.path_graph(3))).verdict
        == "violated"
    )


def test_reports_of_probability_0_in_both_rows_do_not_count():
    matrix = exact([[0.5, 0.5, 0.0], [5e-324, 1.0, 0.0], [0.0, 0.5, 0.5]])
    pair = Pairs(np.array([0]), np.array([1]), np.array([1.0]))
    ratio = Fraction(0.5) / Fraction(5e-324)
    assert tied_pairs.least_epsilon_pairs(matrix, pair) == (
        epsilon_above(log_enclosure(ratio)[1]),
        (0, 1, 0),
    )
    assert tied_pairs.decide_pairs(matrix, Budget(745.0), pair) == "certified"
    assert tied_pairs.decide_pairs(matrix, Budget(743.0), pair) == "violated"
    near = exact([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    assert tied_pairs.decide_pairs(near, Budget("log(2)"), pair) == "certified"
    assert one_sided_divergence([[0.5, 0.5], [0.5, 0.5]], Budget(1.0), []).delta_at(0.5) == 0.0


def slow_ratio(channel, pairs=None):
    """Greatest ratio of two entries of a column, None where it is infinite."""
    rows = [[Fraction(v) for v in row] for row in np.asarray(channel).tolist()]
    worst = Fraction(1)
    for x, k in itertools.permutations(range(len(rows)), 2) if pairs is None else pairs:
        for one, other in zip(rows[x], rows[k], strict=True):
            if one and not other:
                return None
            worst = max(worst, one / other) if one else worst
    return worst


@pytest.mark.parametrize("most", [1, 2, 64])
@pytest.mark.parametrize("seed", range(20))
def test_epsilon_is_rounded_up_by_little_for_nearly_equal_entries(monkeypatch, seed, most):
    monkeypatch.setattr(tied_pairs, "MAX_CANDIDATES", most)
    rng = np.random.default_rng(seed)
    steps = rng.integers(-50, 51, (4, 6))
    part = Fraction(1, 7 * 10 ** int(rng.integers(3, 13)))
    rows = [[Fraction(1, 6) * (1 + int(step) * part) for step in row] for row in steps]
    rows = np.array([[entry / sum(row) for entry in row] for row in rows], dtype=object)
    worst = slow_ratio(
        rows, near := [(x, k) for x in range(4) for k in (x - 1, x + 1) if k in range(4)]
    )
    assert len(near) == 6
    found = lo.audit(rows, lo.GraphDP(1.0, nx.path_graph(4)))
    low, high = log_enclosure(worst)
    assert low <= Fraction(found.epsilon) <= low + Fraction(1, 2**46)
    assert found.epsilon == epsilon_above(high) or most < 64


def test_candidates_that_are_smaller_in_floats_only_are_kept():
    """Pair (0, 1) has a ratio just above e, pair (2, 3) one just below; floats order them the other
    way."""
    low, high = Budget(1.0).enclosure(Fraction(1))
    above = high * (1 + Fraction(1, 10**20))
    column = [above / 905, Fraction(1, 905), low / 900, Fraction(1, 900)]
    matrix = exact(np.array([[p, 1 - p] for p in column], dtype=object))
    first, second = (
        tied_pairs.losses(matrix.floats[x], matrix.floats[x + 1]).max() for x in (0, 2)
    )
    assert first < second
    pairs = Pairs(np.array([0, 2]), np.array([1, 3]), np.ones(2))
    assert tied_pairs.least_epsilon_pairs(matrix, pairs)[0] == math.nextafter(1, 2)
