"""Audits of channels one unit inside or outside a claim, and screening where floats disagree with rationals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from ldpopt.auditing import divergence, tied_pairs
from ldpopt.auditing.divergence import Pairs, hockey_stick
from ldpopt.auditing.exact_matrices import ULPS, exact
from ldpopt.foundation.budget import Budget, log_enclosure, round_up

UNIT = Fraction(1, 2**400)


def coin(ratio):
    """Randomized response whose two entries have exactly this ratio."""
    truth = ratio / (1 + ratio)
    return np.array([[truth, 1 - truth], [1 - truth, truth]], dtype=object)


def swapping(notion):
    return {
        "pure": lo.PureLDP,
        "graph": lambda epsilon: lo.GraphDP(epsilon, nx.path_graph(2)),
        "metric": lambda epsilon: lo.MetricDP(epsilon, [[0, 1], [1, 0]]),
        "one-sided": lambda epsilon: lo.OneSided(epsilon, [0]),
        "owned": lambda epsilon: lo.UtilityOptimizedLDP(epsilon, [0, 1]),
        "event": lambda epsilon: lo.ApproximateLDP(epsilon, 0.0),
        "entry": lambda epsilon: lo.ApproximateLDP(epsilon, 0.0, "entry"),
    }[notion]


NOTIONS = ["pure", "graph", "metric", "one-sided", "owned", "event", "entry"]


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 40.0, "log(3)"])
def test_the_verdict_turns_at_the_ends_of_the_enclosure(notion, epsilon):
    low, high = Budget(epsilon).enclosure()
    claim = swapping(notion)(epsilon)
    between = "certified" if low == high else "undecided"
    found = [lo.audit(coin(r), claim).verdict for r in (low - UNIT, low, (low + high) / 2, high, high + UNIT)]
    assert found == ["certified", "certified", between, between, "violated"]


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_claim_of_nothing_allows_nothing(notion):
    claim = swapping(notion)(0.0)
    assert lo.audit(coin(Fraction(1)), claim).verdict == "certified"
    assert lo.audit(coin(1 + UNIT), claim).verdict == "violated"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, "0.3", "0.7", Fraction(1, 3), "log(3)", "log(7/2)"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_epsilon_is_the_least_float_above_the_ratio_and_never_above_a_claim_that_holds(notion, epsilon):
    ratio = Budget(epsilon).enclosure()[0]
    known = Budget(epsilon).ratio
    claimed = round_up(log_enclosure(known)[1] if known else Fraction(epsilon))
    assert lo.audit(coin(ratio), swapping(notion)(epsilon)).epsilon == claimed
    less = lo.audit(coin((1 + ratio) / 2), swapping(notion)(epsilon)).epsilon
    assert less == round_up(log_enclosure((1 + ratio) / 2)[1]) < claimed


def test_without_a_claim_the_delta_is_0_and_any_finite_epsilon_will_do():
    found = lo.audit(coin(Fraction(3)))
    assert (found.epsilon, found.delta, found.verdict, found.claim) == (
        Budget("log(3)").rounded_up, 0.0, "certified", "pure"
    )  # fmt: skip
    assert found.delta_at("log(3)") == 0.0
    assert found.delta_at("log(2)") == round_up(Fraction(1, 4))
    found = lo.audit([[1.0, 0.0], [0.0, 1.0]])
    assert (found.epsilon, found.delta, found.verdict) == (math.inf, 0.0, "violated")


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("epsilon", ["log(2)", 1.0])
def test_the_verdict_turns_at_the_delta_that_is_spent(form, epsilon):
    low, high = Budget(epsilon).enclosure()
    delta, small = Fraction(0.125), Fraction(1, 7)

    def channel(first):
        return np.array([[first, 1 - first], [small, 1 - small]], dtype=object)

    claim = lo.ApproximateLDP(epsilon, 0.125, form)
    assert lo.audit(channel(low * small + delta), claim).verdict == "certified"
    assert lo.audit(channel(low * small + delta), claim).delta == 0.125
    assert lo.audit(channel(high * small + delta + UNIT), claim).verdict == "violated"
    if low < high:
        assert lo.audit(channel((low + high) / 2 * small + delta), claim).verdict == "undecided"
        assert lo.audit(channel(high * small + delta), claim).verdict == "undecided"
    least = lo.audit(channel(2 * small + delta), lo.ApproximateLDP(0.0, 0.125, form)).epsilon
    assert least == round_up(log_enclosure(Fraction(2))[1])


def test_all_of_delta_for_one_answer_needs_no_epsilon():
    channel = np.array([[Fraction(1, 4), Fraction(3, 4)], [Fraction(0), Fraction(1)]], dtype=object)
    assert lo.audit(channel, lo.ApproximateLDP(1.0, 0.25)).epsilon == 0.0
    assert lo.audit(channel, lo.ApproximateLDP(1.0, np.nextafter(0.25, 0))).epsilon == math.inf


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


def test_distances_scale_the_loss_of_a_pair():
    channel = np.array([[Fraction(4, 8), Fraction(4, 8)], [Fraction(1, 8), Fraction(7, 8)]], dtype=object)
    for distance in (0.25, 0.5, 2.0, 4.0):
        metric = [[0, distance], [distance, 0]]
        found = lo.audit(channel, lo.MetricDP(50.0, metric))
        assert found.epsilon == round_up(log_enclosure(Fraction(4))[1] / Fraction(distance))
        assert lo.audit(channel, lo.MetricDP(found.epsilon, metric)).verdict == "certified"
        assert lo.audit(channel, lo.MetricDP(np.nextafter(found.epsilon, 0), metric)).verdict == "violated"
