"""Audits against a slow search in rationals over every pair and every event."""

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
from builders import all_events, cases, hops, single_events, star
from ldpopt.auditing import tied_pairs
from ldpopt.auditing.divergence import Pairs, max_divergence
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.budget import Budget, log_enclosure

RATIOS = ("log(1)", "log(5/4)", "log(3)", "log(16)")


def rationals(channel):
    return [[Fraction(v) for v in row] for row in np.asarray(channel).tolist()]


def excess(one, other, ratio, events):
    """Greatest ``P_x(S) - ratio P_x'(S)`` over the events listed, and 0."""
    return max([Fraction(0), *(sum(one[y] for y in s) - ratio * sum(other[y] for y in s) for s in events)])


def slow_delta(channel, ratio, single=False):
    rows = rationals(channel)
    events = list((single_events if single else all_events)(len(rows[0])))
    return max([Fraction(0), *(excess(a, b, ratio, events) for a, b in itertools.permutations(rows, 2))])


def slow_ratio(channel, pairs=None):
    """Greatest ratio of two entries of a column, None where it is infinite."""
    rows, worst = rationals(channel), Fraction(1)
    for x, k in itertools.permutations(range(len(rows)), 2) if pairs is None else pairs:
        for one, other in zip(rows[x], rows[k], strict=True):
            if one and not other:
                return None
            worst = max(worst, one / other) if one else worst
    return worst


@st.composite
def channels(draw):
    """Channels with zeros, equal rows and dust, whose rows sum to one exactly (dyadic) or nearly (float)."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    weight = st.one_of(st.integers(0, 4), st.sampled_from([0, 1, 1 << 20]))
    rows = draw(st.lists(st.lists(weight, min_size=m, max_size=m).filter(any), min_size=n, max_size=n))
    array = np.array(rows, float)
    return array / array.sum(axis=1, keepdims=True)


@given(channels(), st.sampled_from(RATIOS), st.sampled_from([0.0, 0.125, 0.3, 1]), st.sampled_from(["event", "entry"]))
@cases(200)
def test_approximate_audit_is_the_definition(channel, epsilon, delta, form):
    found = lo.audit(channel, lo.ApproximateLDP(epsilon, delta, form))
    ratio, single = Budget(epsilon).ratio, form == "entry"
    worst = slow_delta(channel, ratio, single)
    assert found.verdict == ("certified" if worst <= Fraction(delta) else "violated")
    assert worst <= Fraction(found.delta) <= worst * (1 + Fraction(1, 2**50))
    if found.witness is not None:
        x, k, event = found.witness
        rows = rationals(channel)
        assert excess(rows[x], rows[k], ratio, [(event,) if single else event]) == worst
    if math.isfinite(found.epsilon):
        reached = Budget(found.epsilon).enclosure()[1]
        assert slow_delta(channel, reached, single) <= Fraction(delta)
    else:
        assert slow_delta(channel, Fraction(10**60), single) > Fraction(delta)


@given(channels(), st.sampled_from([0.0, 0.125, 0.3]))
def test_the_least_epsilon_of_an_approximate_audit_is_the_least(channel, delta):
    found = lo.audit(channel, lo.ApproximateLDP(0.0, delta)).epsilon
    if 1e-6 < found < math.inf:
        below = Budget(found * (1 - 1e-9)).enclosure()[0]
        assert slow_delta(channel, below) > Fraction(delta)


@given(channels(), st.sampled_from(RATIOS))
@cases(200)
def test_pure_audit_is_the_definition(channel, epsilon):
    found, worst = lo.audit(channel, lo.PureLDP(epsilon)), slow_ratio(channel)
    holds = worst is not None and worst <= Budget(epsilon).ratio
    assert found.verdict == ("certified" if holds else "violated")
    assert (found.delta == 0) == holds
    if not holds:
        assert Fraction(found.delta) >= slow_delta(channel, Budget(epsilon).ratio)
    if worst is None:
        assert found.epsilon == math.inf
    else:
        assert Budget(found.epsilon).enclosure()[1] >= worst
        assert found.epsilon <= math.log(worst) * (1 + 1e-14) + 1e-300


@given(channels())
def test_the_witness_of_a_pure_audit_attains_it(channel):
    found, worst = lo.audit(channel), slow_ratio(channel)
    assert (found.witness is None) == (worst == 1)
    if found.witness is not None:
        x, k, y = found.witness
        one, other = Fraction(float(channel[x, y])), Fraction(float(channel[k, y]))
        assert (other == 0 and one > 0) if worst is None else one / other == worst


@given(channels(), st.sampled_from(RATIOS), st.integers(0, 99))
@cases(150)
def test_graph_and_metric_audits_are_the_definition(channel, epsilon, seed):
    n = len(channel)
    graph = nx.path_graph(n) if seed % 2 else star(n)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    ratio = Budget(epsilon).ratio
    rows = rationals(channel)
    near = [(x, k) for x, k in itertools.permutations(range(n), 2) if hops[x][k] == 1]
    holds = all(a <= ratio * b for x, k in near for a, b in zip(rows[x], rows[k], strict=True))
    found = lo.audit(channel, lo.GraphDP(epsilon, graph))
    assert found.verdict == ("certified" if holds else "violated")
    distance = [[hops[x][k] for k in range(n)] for x in range(n)]
    assert lo.audit(channel, lo.MetricDP(epsilon, distance)).verdict == found.verdict
    worst = slow_ratio(channel, near)
    expected = math.inf if worst is None else math.log(worst)
    assert found.epsilon == pytest.approx(expected, rel=1e-12, abs=1e-300)
    events = all_events(len(rows[0]))
    assert Fraction(found.delta) >= max([0, *(excess(rows[x], rows[k], ratio, events) for x, k in near)])


@pytest.mark.parametrize("most", [1, 64])
@pytest.mark.parametrize("seed", range(20))
def test_epsilon_is_never_rounded_down_however_close_the_entries_are(monkeypatch, seed, most):
    monkeypatch.setattr(tied_pairs, "MAX_CANDIDATES", most)
    rng = np.random.default_rng(seed)
    steps, part = rng.integers(-50, 51, (4, 6)), Fraction(1, 7 * 10 ** int(rng.integers(3, 13)))
    rows = [[Fraction(1, 6) * (1 + int(step) * part) for step in row] for row in steps]
    rows = np.array([[entry / sum(row) for entry in row] for row in rows], dtype=object)
    worst = slow_ratio(rows, near := [(x, k) for x in range(4) for k in (x - 1, x + 1) if k in range(4)])
    assert len(near) == 6
    found = lo.audit(rows, lo.GraphDP(1.0, nx.path_graph(4)))
    low = log_enclosure(worst)[0]
    assert low <= Fraction(found.epsilon) <= low + Fraction(1, 2**46)


@given(channels(), st.floats(0, 5))
def test_the_delta_curve_encloses_from_above(channel, epsilon):
    low, high = Budget(epsilon).enclosure()
    exactly = slow_delta(channel, high), slow_delta(channel, low)
    assert exactly[0] <= Fraction(lo.audit(channel).delta_at(epsilon)) <= exactly[1] * (1 + Fraction(1, 2**50))


def test_labels_and_events_of_a_mechanism():
    mechanism = lo.Mechanism([[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]], ["no", "yes"], ["a", "b", "c"])
    found = mechanism.audit(lo.ApproximateLDP("log(2)", 0.25))
    assert (found.verdict, found.delta, found.witness) == ("violated", 0.5, ("no", "yes", ("a",)))
    assert mechanism.audit().witness == ("no", "yes", "a")
    found = mechanism.audit(lo.ApproximateLDP("log(1)", 0.25))
    assert found.delta == 0.5
    assert mechanism.audit(lo.ApproximateLDP("log(1)", 0.5, "entry")).verdict == "certified"


def test_the_event_is_larger_than_its_entries():
    channel = [[0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]
    event, entry = (lo.audit(channel, lo.ApproximateLDP("log(2)", 0.2, form)) for form in ("event", "entry"))
    assert (event.verdict, entry.verdict) == ("violated", "certified")
    assert event.witness == (0, 1, (0, 1))
    assert event.delta == 0.4


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 20.0, "log(3)", "log(7/2)"])
def test_one_unit_over_is_found(epsilon):
    budget, total = Budget(epsilon), 1 << 53
    low, high = budget.enclosure()
    small = int(total / (2 * low))
    large = math.floor(low * small)
    fits = np.array([[large, total - large], [small, total - small]]) / total
    assert lo.audit(fits, lo.PureLDP(epsilon)).verdict == "certified"
    over = fits.copy()
    over[0] += np.array([1, -1]) / total
    assert Fraction(over[0, 0]) / Fraction(over[1, 0]) > high
    assert lo.audit(over, lo.PureLDP(epsilon)).verdict == "violated"
    assert lo.audit(over, lo.GraphDP(epsilon, nx.path_graph(2))).verdict == "violated"
    assert lo.audit(over, lo.MetricDP(epsilon, [[0, 1], [1, 0]])).verdict == "violated"
    found = lo.audit(over, lo.ApproximateLDP(epsilon, 0.0))
    assert (found.verdict, found.witness) == ("violated", (0, 1, (0,)))


def test_one_ulp_over_delta_is_found():
    channel = [[0.15, 0.85], [0.0, 1.0]]
    assert lo.audit(channel, lo.ApproximateLDP(0.1, 0.15)).verdict == "certified"
    assert lo.audit(channel, lo.ApproximateLDP(0.1, math.nextafter(0.15, 0))).verdict == "violated"


@pytest.mark.parametrize("dust", [1e-12, 1e-17, 5e-324])
def test_dust_beside_zeros_is_infinite(dust):
    channel = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, dust]])
    for notion in (lo.PureLDP(700), lo.GraphDP(700, nx.path_graph(2)), lo.MetricDP(700, [[0, 1], [1, 0]])):
        found = lo.audit(channel, notion)
        assert (found.epsilon, found.verdict, found.witness) == (math.inf, "violated", (1, 0, 2))
    assert lo.audit(channel, lo.ApproximateLDP(1.0, dust)).verdict == "certified"
    assert lo.audit(channel, lo.ApproximateLDP(1.0, dust / 2)).verdict == "violated"


def test_swapped_rows_break_a_graph_but_not_the_complete_one():
    graph, b = lo.neighbors.path(range(4)), 0.5
    kernel = b ** hops(4)
    channel = np.linalg.solve(kernel, np.ones(4)) * kernel
    swapped = channel[[0, 2, 1, 3]]
    notion = lo.GraphDP("log(2)", graph)
    assert lo.audit(channel, notion).verdict == "certified"
    assert lo.audit(swapped, notion).verdict == "violated"
    assert lo.audit(swapped).epsilon == lo.audit(channel).epsilon


def test_a_graph_reads_the_labels_and_not_the_positions():
    channel = [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]
    notion = lo.GraphDP("log(2)", lo.neighbors.path(["a", "b", "c"]))
    assert lo.audit(channel, notion).verdict == "certified"
    assert lo.audit(lo.Mechanism(channel, ["a", "b", "c"], [0, 1]), notion).verdict == "certified"
    found = lo.audit(lo.Mechanism(channel, ["b", "a", "c"], [0, 1]), notion)
    assert found.verdict == "violated"
    with pytest.raises(StatementError, match="'c'"):
        lo.audit(lo.Mechanism(channel, ["a", "b", "d"], [0, 1]), notion)


def test_a_distance_that_is_no_integer():
    distance = [[0, 0.5], [0.5, 0]]
    at = math.exp(0.5)
    channel = np.array([[at, 1], [1, at]]) / (1 + at)
    found = lo.audit(channel, lo.MetricDP(1.0, distance))
    assert found.epsilon == pytest.approx(1.0, rel=1e-14)
    assert lo.audit(channel, lo.MetricDP(1.0 + 1e-12, distance)).verdict == "certified"
    assert lo.audit(channel, lo.MetricDP(1.0 - 1e-12, distance)).verdict == "violated"
    assert lo.audit([[0.8, 0.2], [0.4, 0.6]], lo.MetricDP("log(4)", distance)).verdict in ("violated", "undecided")


@given(channels(), st.sampled_from(RATIOS), st.sampled_from([0.0, 0.25]))
def test_no_rational_ratio_is_undecided(channel, epsilon, delta):
    graph = nx.path_graph(len(channel))
    notions = (
        lo.PureLDP(epsilon),
        lo.ApproximateLDP(epsilon, delta),
        lo.ApproximateLDP(epsilon, delta, "entry"),
        lo.GraphDP(epsilon, graph),
    )
    assert "undecided" not in {lo.audit(channel, notion).verdict for notion in notions}


def test_fractions_are_read_exactly():
    third = Fraction(1, 3)
    channel = [[third, 2 * third], [2 * third, third]]
    assert lo.audit(channel, lo.PureLDP("log(2)")).verdict == "certified"
    tiny = Fraction(1, 10**40)
    channel[0] = [third - tiny, 2 * third + tiny]
    assert lo.audit(channel, lo.PureLDP("log(2)")).verdict == "violated"
    assert lo.audit([[1, 0], [0, 1]]).epsilon == math.inf


def test_floats_are_read_exactly():
    floats = np.array([[0.1, 0.9 - 2**-60, 2.0**-60], [5e-324, 1.0, 0.0]])
    matrix = exact(floats)
    assert [[Fraction(int(v), matrix.denominator) for v in row] for row in matrix.entries] == rationals(floats)


@pytest.mark.parametrize(
    "channel",
    [
        [[0.5, 0.4], [0.5, 0.5]],
        [[1.5, -0.5]],
        [[math.nan, 1.0]],
        [[math.inf, 0.0]],
        [0.5, 0.5],
        [],
        [[]],
        [[[1.0]]],
        [[Fraction(1, 2), Fraction(1, 3)]],
        [[Fraction(3, 2), Fraction(-1, 2)]],
    ],
    ids=repr,
)
def test_no_channel(channel):
    with pytest.raises(MechanismError):
        max_divergence(channel)


@pytest.mark.parametrize("channel", [[["a", "b"]], [[0.5, 0.5], [1.0]]], ids=repr)
def test_no_numbers(channel):
    with pytest.raises((MechanismError, StatementError), match="not a rectangular array"):
        lo.audit(channel)


def test_a_large_channel_is_screened_and_still_exact():
    rng = np.random.default_rng(3)
    channel = lo.Mechanism(rng.dirichlet(np.full(150, 5.0), size=150)).channel
    found = lo.audit(channel, lo.ApproximateLDP("log(3)", 0.05))
    rows = rationals(channel)
    x, k, event = found.witness
    at = excess(rows[x], rows[k], Fraction(3), [event])
    over = np.maximum(channel[:, None, :] - 3 * channel[None, :, :], 0).sum(axis=2)
    assert float(at) == pytest.approx(over.max(), rel=1e-12)
    assert at <= Fraction(found.delta) <= at * (1 + Fraction(1, 2**50))


def test_a_candidate_that_floats_call_smaller_is_kept_while_it_may_be_the_largest():
    """Pair (0, 1) has a ratio just above e, pair (2, 3) one just below; floats order them the other way."""
    low, high = Budget(1.0).enclosure(Fraction(1))
    above = high * (1 + Fraction(1, 10**20))
    column = [above / 905, Fraction(1, 905), low / 900, Fraction(1, 900)]
    matrix = exact(np.array([[p, 1 - p] for p in column], dtype=object))
    first, second = (tied_pairs._losses(matrix.floats[x], matrix.floats[x + 1]).max() for x in (0, 2))
    assert first < second
    pairs = Pairs(np.array([0, 2]), np.array([1, 3]), np.ones(2))
    assert tied_pairs.least_epsilon_pairs(matrix, pairs)[0] == math.nextafter(1, 2)
