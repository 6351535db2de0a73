"""Where floats cannot tell pairs apart, audits compare them exactly: screening, margins, and pair by pair."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, coin
from ldpopt.auditing import divergence, tied_pairs
from ldpopt.auditing.divergence import Pairs, hockey_stick
from ldpopt.auditing.exact_matrices import ULPS, exact
from ldpopt.auditing.row_ratios import factors_above
from ldpopt.foundation.budget import Budget, log_enclosure, round_up


def worst_pair(rows, ratio, single):
    """Greatest excess over all pairs, number by number."""
    add = max if single else sum
    pairs = itertools.permutations(range(len(rows)), 2)
    return max(add(max(p - ratio * q, Fraction(0)) for p, q in zip(rows[x], rows[k], strict=True)) for x, k in pairs)


def nearly_equal_pairs(seed, n=6, m=9):
    """Rational rows whose excesses differ by less than floats see."""
    rng = np.random.default_rng(seed)
    base = [Fraction(int(v), 10**6) for v in rng.multinomial(10**6 - 100 * m, np.full(m, 1 / m)) + 100]
    rows = []
    for _ in range(n):
        row = [v + Fraction(int(step), 3 * 10**17) for v, step in zip(base, rng.integers(-9, 10, m), strict=True)]
        rows.append([v / sum(row) for v in row])
    rows[0] = [*rows[0][:-2], rows[0][-2] + Fraction(1, 20), rows[0][-1] - Fraction(1, 20)]
    return rows


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_floats_cannot_tell_apart_are_compared_exactly(seed, form):
    rows = nearly_equal_pairs(seed)
    matrix = np.array(rows, dtype=object)
    exactly = worst_pair(rows, Fraction(1), form == "entry")
    found = lo.audit(matrix, lo.ApproximateLDP(0.0, 0.0, form))
    assert found.delta == round_up(exactly)
    pairs = Pairs(*np.array(list(itertools.permutations(range(len(rows)), 2))).T, np.ones(30))
    for single in (False, True):
        assert divergence._worst_excess(exact(matrix), Fraction(1), pairs, single)[0] == worst_pair(
            rows, Fraction(1), single
        )


def test_pairs_within_the_margin_are_kept_and_no_others():
    def rows():
        yield 0, np.array([1, 2]), np.array([0.5, 0.25])
        yield 1, np.array([0, 2]), np.array([0.75, 1.0])
        yield 2, np.array([0, 1]), np.array([0.74, 0.75])

    assert divergence._near_worst_pairs(rows(), 0.25) == [(0.75, 1, 0), (1.0, 1, 2), (0.75, 2, 1)]
    assert divergence._near_worst_pairs(rows(), 0.0) == [(1.0, 1, 2)]


def test_large_channels_get_a_bound_that_is_no_less(monkeypatch):
    rows = nearly_equal_pairs(3)
    matrix = exact(np.array(rows, dtype=object))
    work = 6 * 6 * 9
    exactly = worst_pair(rows, Fraction(1), False)
    monkeypatch.setattr(divergence, "MAX_EXACT_DELTA_WORK", work)
    assert hockey_stick(matrix, Budget(0.0))[0] == round_up(exactly)
    monkeypatch.setattr(divergence, "MAX_EXACT_DELTA_WORK", work - 1)
    found = Fraction(hockey_stick(matrix, Budget(0.0))[0])
    assert exactly + 9 * Fraction(ULPS) <= found <= exactly + 3 * 9 * Fraction(ULPS)


@pytest.mark.parametrize("epsilon", [800.0, 10_000.0])
def test_budgets_beyond_the_floats_are_screened_too(epsilon):
    channel = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    found = lo.audit(channel, lo.ApproximateLDP(epsilon, 0.25))
    assert (found.verdict, found.delta, found.witness) == ("certified", 0.25, (1, 0, (2,)))
    assert lo.audit(channel, lo.ApproximateLDP(epsilon, 0.125)).verdict == "violated"
    least = np.array([[1 - 2.0**-1000, Fraction(1, 2**1000)], [1, 0]], dtype=object)
    assert lo.audit(least[:, ::-1], lo.PureLDP(epsilon)).verdict == "violated"


def test_the_witness_is_the_first_column_that_attains_the_worst():
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    channel = np.array([[half, quarter, quarter], [quarter, quarter, half]], dtype=object)
    for notion in (lo.PureLDP("log(2)"), lo.OneSided("log(2)", [0, 1]), lo.GraphDP("log(2)", nx.path_graph(2))):
        assert lo.audit(channel, notion).witness == (0, 1, 0)
    assert lo.audit(channel, lo.ApproximateLDP(0.0, 0.0, "entry")).witness == (0, 1, 0)
    assert lo.audit(channel, lo.ApproximateLDP(0.0, 0.0)).witness == (0, 1, (0,))


@pytest.mark.parametrize("most", [1, 2, 64])
def test_an_epsilon_along_pairs_is_the_least_float_or_a_little_more(monkeypatch, most):
    monkeypatch.setattr(tied_pairs, "MAX_CANDIDATES", most)
    for seed in range(5):
        rows = nearly_equal_pairs(seed)
        near = [(x, k) for x in range(6) for k in (x - 1, x + 1) if k in range(6)]
        worst = max(p / q for x, k in near for p, q in zip(rows[x], rows[k], strict=True))
        least = round_up(log_enclosure(worst)[1])
        found = lo.audit(np.array(rows, dtype=object), lo.GraphDP(1.0, nx.path_graph(6))).epsilon
        assert least <= found <= least + 2.0**-46
        assert found == least or most < 64


def test_only_entries_within_the_bits_of_their_ratio_need_the_exponential():
    # 2**k : 1 is allowed from k log(2) nats on; exp(epsilon) is computed for few of them.
    for k in (1, 2, 10, 52, 200):
        channel = coin(Fraction(2**k))
        graph = nx.path_graph(2)
        assert lo.audit(channel, lo.GraphDP(f"log({2**k})", graph)).verdict == "certified"
        assert lo.audit(channel, lo.GraphDP(f"log({2**k - Fraction(1, 2**300)})", graph)).verdict == "violated"
        assert lo.audit(channel, lo.GraphDP(k * math.log(2) * (1 + 1e-15), graph)).verdict == "certified"
        assert lo.audit(channel, lo.GraphDP(k * math.log(2) * (1 - 1e-15), graph)).verdict == "violated"


@pytest.mark.parametrize("distance", [1.0, 0.5])
def test_masses_that_floats_cannot_hold_are_compared_along_ties(distance):
    tiny, metric = Fraction(1, 10**400), [[0, distance], [distance, 0]]

    def channel(one, other):
        return np.array([[1 - one, one], [1 - other, other]], dtype=object)

    for notion in (lo.GraphDP("log(2)", nx.path_graph(2)), lo.MetricDP(f"log({2 ** int(1 / distance)})", metric)):
        found = lo.audit(channel(tiny, Fraction(0)), notion)
        assert (found.epsilon, found.verdict, found.witness) == (math.inf, "violated", (0, 1, 1))
        for scale in (tiny, Fraction(3, 2**1075), Fraction(1, 2**1060)):
            found = lo.audit(channel(2 * scale, scale), notion)
            steps = Fraction(distance) if isinstance(notion, lo.MetricDP) else 1
            assert found.epsilon == round_up(log_enclosure(Fraction(2))[1] / steps)
            decided = "undecided" if steps != 1 else "certified"  # a root of 4 is not written as a rational
            assert (found.verdict, found.witness) == (decided, (0, 1, 1))
            more = 2 * scale * (1 + Fraction(1, 10**50))
            assert lo.audit(channel(more, scale), notion).verdict == "violated"
    assert lo.audit(channel(tiny, tiny), lo.GraphDP(0.0, nx.path_graph(2))).witness is None


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_floats_cannot_tell_apart_are_compared_along_ties(seed):
    rng = np.random.default_rng(seed)
    steps, part = rng.integers(-9, 10, (3, 4)), Fraction(1, 10 ** int(rng.integers(15, 18)))
    rows = [[(1 + int(step) * part) / 4 for step in row] for row in steps]
    rows = [[entry / sum(row) for entry in row] for row in rows]
    worst = max(p / q for x, k in ((0, 1), (1, 0), (1, 2), (2, 1)) for p, q in zip(rows[x], rows[k], strict=True))
    found = lo.audit(np.array(rows, dtype=object), lo.GraphDP(1.0, nx.path_graph(3)))
    least = round_up(log_enclosure(worst)[1])
    assert least <= found.epsilon <= least + 2.0**-46
    assert lo.audit(np.array(rows, dtype=object), lo.GraphDP(f"log({worst})", nx.path_graph(3))).verdict == "certified"
    less = 1 + (worst - 1) * (1 - Fraction(1, 2**400))
    assert lo.audit(np.array(rows, dtype=object), lo.GraphDP(f"log({less})", nx.path_graph(3))).verdict == "violated"


@cases(100)
@given(st.floats(0, 800) | st.sampled_from([0.0, 5e-324, 700.0, 745.2]), st.sampled_from([1.0, 0.1, 1e-300, 1e300]))
def test_factors_that_leave_out_entries_are_too_large_by_a_few_units(exponent, distance):
    budget = Budget(min(exponent / distance, 1e4))
    found = Fraction(float(factors_above(budget, np.array([distance]))[0]))
    exactly = Fraction(distance) * budget.nats
    capped = min(exactly, Fraction(700))
    low, high = Budget(1.0).enclosure(capped)
    assert (1 + Fraction(3) * Fraction(ULPS)) / low < found < (1 + (5 + 2 * capped) * Fraction(ULPS)) / high
