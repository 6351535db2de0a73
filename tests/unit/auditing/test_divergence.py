"""Audits agree with a slow search in rationals over all pairs and events, one unit inside and
outside of a claim."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import all_events, cases, coin, hops, nearly_equal_pairs, refused, single_events, star
from ldpopt.auditing import divergence
from ldpopt.auditing.audits import Audit, Pairs, verdict_of_ratio
from ldpopt.auditing.divergence import hockey_stick
from ldpopt.auditing.exact_matrices import ULPS, exact
from ldpopt.foundation.budget import Budget, epsilon_above, log_enclosure, round_up

RATIOS = ("log(1)", "log(5/4)", "log(3)", "log(16)")

UNIT = Fraction(1, 2**400)

NOTIONS = {
    "pure": lo.PureLDP,
    "graph": lambda epsilon: lo.GraphDP(epsilon, nx.path_graph(2)),
    "metric": lambda epsilon: lo.MetricDP(epsilon, [[0, 1], [1, 0]]),
    "one-sided": lambda epsilon: lo.OneSided(epsilon, [0]),
    "owned": lambda epsilon: lo.UtilityOptimizedLDP(epsilon, [0, 1]),
    "event": lambda epsilon: lo.ApproximateLDP(epsilon, 0.0),
    "entry": lambda epsilon: lo.ApproximateLDP(epsilon, 0.0, "entry"),
}


def rationals(channel):
    return [[Fraction(v) for v in row] for row in np.asarray(channel).tolist()]


def excess(one, other, ratio, events):
    """Greatest ``P_x(S) - ratio P_x'(S)`` over the events listed, and 0."""
    return max(
        [Fraction(0), *(sum(one[y] for y in s) - ratio * sum(other[y] for y in s) for s in events)]
    )


def slow_delta(channel, ratio, single=False):
    rows = rationals(channel)
    events = list((single_events if single else all_events)(len(rows[0])))
    return max(
        [Fraction(0), *(excess(a, b, ratio, events) for a, b in itertools.permutations(rows, 2))]
    )


def slow_ratio(channel, pairs=None):
    """Greatest ratio of two entries of a column, None where it is infinite."""
    rows = rationals(channel)
    worst = Fraction(1)
    for x, k in itertools.permutations(range(len(rows)), 2) if pairs is None else pairs:
        for one, other in zip(rows[x], rows[k], strict=True):
            if one and not other:
                return None
            worst = max(worst, one / other) if one else worst
    return worst


@st.composite
def channels(draw):
    """Channels with zeros, equal rows and dust, whose rows sum to one exactly (dyadic) or nearly
    (float)."""
    n = draw(st.integers(1, 4))
    m = draw(st.integers(1, 4))
    weight = st.one_of(st.integers(0, 4), st.sampled_from([0, 1, 1 << 20]))
    rows = draw(
        st.lists(st.lists(weight, min_size=m, max_size=m).filter(any), min_size=n, max_size=n)
    )
    array = np.array(rows, float)
    return array / array.sum(axis=1, keepdims=True)


@given(
    channels(),
    st.sampled_from(RATIOS),
    st.sampled_from([0.0, 0.125, 0.3, 1]),
    st.sampled_from(["event", "entry"]),
)
@cases(200)
def test_approximate_audits_agree_with_the_definition(channel, epsilon, delta, form):
    found = lo.audit(channel, lo.ApproximateLDP(epsilon, delta, form))
    ratio = Budget(epsilon).ratio
    single = form == "entry"
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
def test_no_smaller_epsilon_has_the_same_delta(channel, delta):
    found = lo.audit(channel, lo.ApproximateLDP(0.0, delta)).epsilon
    if 1e-6 < found < math.inf:
        below = Budget(found * (1 - 1e-9)).enclosure()[0]
        assert slow_delta(channel, below) > Fraction(delta)


@given(channels(), st.sampled_from(RATIOS))
@cases(200)
def test_pure_audits_agree_with_the_definition(channel, epsilon):
    found = lo.audit(channel, lo.PureLDP(epsilon))
    worst = slow_ratio(channel)
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
def test_witnesses_attain_the_largest_ratio(channel):
    found = lo.audit(channel)
    worst = slow_ratio(channel)
    assert (found.witness is None) == (worst == 1)
    if found.witness is not None:
        x, k, y = found.witness
        one = Fraction(float(channel[x, y]))
        other = Fraction(float(channel[k, y]))
        assert (other == 0 and one > 0) if worst is None else one / other == worst


@given(channels(), st.sampled_from(RATIOS), st.integers(0, 99))
@cases(150)
def test_graph_and_metric_audits_agree_with_the_definition(channel, epsilon, seed):
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
    assert Fraction(found.delta) >= max(
        [0, *(excess(rows[x], rows[k], ratio, events) for x, k in near)]
    )


@given(channels(), st.floats(0, 5))
def test_the_delta_curve_encloses_from_above(channel, epsilon):
    low, high = Budget(epsilon).enclosure()
    exactly = slow_delta(channel, high), slow_delta(channel, low)
    assert (
        exactly[0]
        <= Fraction(lo.audit(channel).delta_at(epsilon))
        <= exactly[1] * (1 + Fraction(1, 2**50))
    )


def test_labels_and_events_of_a_mechanism():
    mechanism = lo.Mechanism([[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]], ["no", "yes"], ["a", "b", "c"])
    found = mechanism.audit(lo.ApproximateLDP("log(2)", 0.25))
    assert (found.verdict, found.delta, found.witness) == ("violated", 0.5, ("no", "yes", ("a",)))
    assert mechanism.audit().witness == ("no", "yes", "a")
    found = mechanism.audit(lo.ApproximateLDP("log(1)", 0.25))
    assert found.delta == 0.5
    assert mechanism.audit(lo.ApproximateLDP("log(1)", 0.5, "entry")).verdict == "certified"


def test_an_event_may_violate_a_claim_that_its_outputs_satisfy():
    channel = [[0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]
    event, entry = (
        lo.audit(channel, lo.ApproximateLDP("log(2)", 0.2, form)) for form in ("event", "entry")
    )
    assert (event.verdict, entry.verdict) == ("violated", "certified")
    assert event.witness == (0, 1, (0, 1))
    assert event.delta == 0.4


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 20.0, "log(3)", "log(7/2)"])
def test_one_unit_too_much_is_a_violation(epsilon):
    budget = Budget(epsilon)
    total = 1 << 53
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


@pytest.mark.parametrize("delta", [0.15, 0.1])  # floats below and above their decimals
def test_one_ulp_of_delta_too_little_is_a_violation(delta):
    channel = [[delta, 1 - delta], [0.0, 1.0]]
    assert lo.audit(channel, lo.ApproximateLDP(0.1, delta)).verdict == "certified"
    assert lo.audit(channel, lo.ApproximateLDP(0.1, math.nextafter(delta, 0))).verdict == "violated"


@pytest.mark.parametrize("dust", [1e-12, 1e-17, 5e-324])
def test_tiny_masses_beside_zeros_have_infinite_epsilon(dust):
    channel = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, dust]])
    for notion in (
        lo.PureLDP(700),
        lo.GraphDP(700, nx.path_graph(2)),
        lo.MetricDP(700, [[0, 1], [1, 0]]),
    ):
        found = lo.audit(channel, notion)
        assert (found.epsilon, found.verdict, found.witness) == (math.inf, "violated", (1, 0, 2))
    assert lo.audit(channel, lo.ApproximateLDP(1.0, dust)).verdict == "certified"
    assert lo.audit(channel, lo.ApproximateLDP(1.0, dust / 2)).verdict == "violated"


def test_swapped_rows_violate_graph_privacy_only():
    graph = lo.neighbors.path(range(4))
    b = 0.5
    kernel = b ** hops(4)
    channel = np.linalg.solve(kernel, np.ones(4)) * kernel
    swapped = channel[[0, 2, 1, 3]]
    notion = lo.GraphDP("log(2)", graph)
    assert lo.audit(channel, notion).verdict == "certified"
    assert lo.audit(swapped, notion).verdict == "violated"
    assert lo.audit(swapped).epsilon == lo.audit(channel).epsilon


@given(channels(), st.sampled_from(RATIOS), st.sampled_from([0.0, 0.25]))
def test_rational_ratios_are_always_decided(channel, epsilon, delta):
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


def test_audits_of_large_channels_are_exact():
    rng = np.random.default_rng(3)
    channel = lo.Mechanism(rng.dirichlet(np.full(150, 5.0), size=150)).channel
    found = lo.audit(channel, lo.ApproximateLDP("log(3)", 0.05))
    rows = rationals(channel)
    x, k, event = found.witness
    at = excess(rows[x], rows[k], Fraction(3), [event])
    over = np.maximum(channel[:, None, :] - 3 * channel[None, :, :], 0).sum(axis=2)
    assert float(at) == pytest.approx(over.max(), rel=1e-12)
    assert at <= Fraction(found.delta) <= at * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 40.0, "log(3)"])
def test_verdicts_change_at_the_ends_of_the_enclosure(notion, epsilon):
    low, high = Budget(epsilon).enclosure()
    claim = NOTIONS[notion](epsilon)
    between = "certified" if low == high else "undecided"
    found = [
        lo.audit(coin(r), claim).verdict
        for r in (low - UNIT, low, (low + high) / 2, high, high + UNIT)
    ]
    assert found == ["certified", "certified", between, between, "violated"]


@pytest.mark.parametrize("notion", NOTIONS)
def test_epsilon_0_requires_equal_rows(notion):
    claim = NOTIONS[notion](0.0)
    assert lo.audit(coin(Fraction(1)), claim).verdict == "certified"
    assert lo.audit(coin(1 + UNIT), claim).verdict == "violated"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, "0.3", "0.7", Fraction(1, 3), "log(3)", "log(7/2)"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_epsilon_is_rounded_up_and_is_at_most_a_certified_claim(notion, epsilon):
    ratio = Budget(epsilon).enclosure()[0]
    claimed = Budget(epsilon).above
    assert lo.audit(coin(ratio), NOTIONS[notion](epsilon)).epsilon == claimed
    less = lo.audit(coin((1 + ratio) / 2), NOTIONS[notion](epsilon)).epsilon
    assert less == epsilon_above(log_enclosure((1 + ratio) / 2)[1]) < claimed


def test_without_a_claim_delta_is_0_and_any_finite_epsilon_is_certified():
    found = lo.audit(coin(Fraction(3)))
    assert (found.epsilon, found.delta, found.verdict, found.claim) == (
        Budget("log(3)").rounded_up,
        0.0,
        "certified",
        "pure",
    )
    assert found.delta_at("log(3)") == 0.0
    assert found.delta_at("log(2)") == round_up(Fraction(1, 4))
    found = lo.audit([[1.0, 0.0], [0.0, 1.0]])
    assert (found.epsilon, found.delta, found.verdict) == (math.inf, 0.0, "violated")


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("epsilon", ["log(2)", 1.0])
def test_verdicts_change_at_the_exact_delta(form, epsilon):
    low, high = Budget(epsilon).enclosure()
    delta = Fraction(0.125)
    small = Fraction(1, 7)

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


def test_epsilon_is_0_if_delta_covers_the_difference():
    channel = np.array([[Fraction(1, 4), Fraction(3, 4)], [Fraction(0), Fraction(1)]], dtype=object)
    assert lo.audit(channel, lo.ApproximateLDP(1.0, 0.25)).epsilon == 0.0
    assert lo.audit(channel, lo.ApproximateLDP(1.0, np.nextafter(0.25, 0))).epsilon == math.inf


def test_losses_are_divided_by_distances():
    channel = np.array(
        [[Fraction(4, 8), Fraction(4, 8)], [Fraction(1, 8), Fraction(7, 8)]], dtype=object
    )
    for distance in (0.25, 0.5, 2.0, 4.0):
        metric = [[0, distance], [distance, 0]]
        found = lo.audit(channel, lo.MetricDP(50.0, metric))
        assert found.epsilon == round_up(log_enclosure(Fraction(4))[1] / Fraction(distance))
        assert lo.audit(channel, lo.MetricDP(found.epsilon, metric)).verdict == "certified"
        assert (
            lo.audit(channel, lo.MetricDP(np.nextafter(found.epsilon, 0), metric)).verdict
            == "violated"
        )


@pytest.mark.parametrize("seed", range(8))
def test_events_that_floats_cannot_order_are_compared_exactly(seed):
    """One row exceeds the third by delta, another by a hair more, in sums of other roundings."""
    rng = np.random.default_rng(seed)
    delta = 0.7
    masses = [Fraction(int(k), 2**66) for k in rng.integers(1, 2**60, 40)]
    masses.append(Fraction(delta) - sum(masses))
    more = [masses[k] for k in rng.permutation(41)]
    more[0] += Fraction(1, 2**68)
    rows = [[*values, 1 - sum(values)] for values in (masses, more, [Fraction(0)] * 41)]
    found = lo.audit(np.array(rows, dtype=object), lo.ApproximateLDP("log(2)", delta))
    assert found.verdict == "violated"
    assert found.witness[:2] == (1, 2)


@pytest.mark.parametrize("notion", NOTIONS)
def test_epsilon_is_rounded_up_near_a_float(notion):
    with mpmath.workdps(200):
        exponential = Fraction(int(mpmath.floor(mpmath.exp(0.5) * 2**600)), 2**600)
    for hair, least in (
        (1 + Fraction(1, 2**230), math.nextafter(0.5, 1)),
        (1 - Fraction(1, 2**185), 0.5),
    ):
        assert lo.audit(coin(exponential * hair), NOTIONS[notion](1.0)).epsilon == least
        assert verdict_of_ratio(exponential * hair, Budget(1.0)) == (least, "certified")


def test_claims_are_named():
    channel = coin(Fraction(2))
    assert lo.audit(channel, lo.PureLDP("log(3)")).claim == "epsilon = 'log(3)'"
    assert (
        lo.audit(channel, lo.GraphDP(1.0, nx.path_graph(2))).claim == "epsilon = 1.0 along 1 edges"
    )
    assert (
        lo.audit(channel, lo.ApproximateLDP(1.0, 0.5)).claim
        == "epsilon = 1.0, delta = 0.5, event-wise"
    )
    assert (
        lo.audit(channel, lo.ApproximateLDP(1.0, 0.5, "entry")).claim
        == "epsilon = 1.0, delta = 0.5, entry-wise"
    )


@pytest.mark.parametrize("form", ["event", "entry"])
def test_equal_rows_have_epsilon_and_delta_0(form):
    found = lo.audit([[0.5, 0.5], [0.5, 0.5]], lo.ApproximateLDP(0.0, 0.0, form))
    assert (found.epsilon, found.delta, found.witness, found.verdict) == (
        0.0,
        0.0,
        None,
        "certified",
    )
    assert found.delta_at(0.0) == 0.0
    assert (
        lo.audit([[0.75, 0.25], [0.25, 0.75]], lo.ApproximateLDP(1.0, 0.5, form)).delta_at("log(2)")
        == 0.25
    )
    assert hockey_stick(exact([[0.5, 0.5], [0.5, 0.5]]), Budget(0.0)) == (0.0, None)


def test_witnesses_are_the_worst_outputs_or_none():
    channel = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert lo.audit(channel, lo.ApproximateLDP("log(2)", 0.0, "entry")).witness is None
    assert hockey_stick(exact(channel[:1]), Budget(1.0)) == (0.0, None)
    wide_channel = [[0.5, 0.25, 0.25, 0.0], [0.25, 0.125, 0.125, 0.5]]
    wide = exact(wide_channel)
    pair = Pairs(np.array([0]), np.array([1]), np.array([1.0]))
    found = lo.audit(wide_channel, lo.ApproximateLDP(0.0, 0.0, "entry"))
    assert (found.delta, found.witness) == (0.5, (1, 0, 3))
    assert hockey_stick(wide, Budget(0.0), pair) == (0.5, (0, 1, (0, 1, 2)))


def worst_pair(rows, ratio, single):
    """Greatest excess over all pairs, number by number."""
    add = max if single else sum
    pairs = itertools.permutations(range(len(rows)), 2)
    return max(
        add(max(p - ratio * q, Fraction(0)) for p, q in zip(rows[x], rows[k], strict=True))
        for x, k in pairs
    )


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_are_equal_in_floats_are_compared_exactly(seed, form):
    rows = nearly_equal_pairs(seed)
    matrix = np.array(rows, dtype=object)
    exactly = worst_pair(rows, Fraction(1), form == "entry")
    found = lo.audit(matrix, lo.ApproximateLDP(0.0, 0.0, form))
    assert found.delta == round_up(exactly)
    pairs = Pairs(*np.array(list(itertools.permutations(range(len(rows)), 2))).T, np.ones(30))
    assert hockey_stick(exact(matrix), Budget(0.0), pairs)[0] == round_up(
        worst_pair(rows, Fraction(1), False)
    )


def test_pairs_within_the_margin_are_kept_and_no_others():
    def rows():
        yield 0, np.array([1, 2]), np.array([0.5, 0.25])
        yield 1, np.array([0, 2]), np.array([0.75, 1.0])
        yield 2, np.array([0, 1]), np.array([0.74, 0.75])

    assert divergence.near_worst_pairs(rows(), 0.25) == [(0.75, 1, 0), (1.0, 1, 2), (0.75, 2, 1)]
    assert divergence.near_worst_pairs(rows(), 0.0) == [(1.0, 1, 2)]


def test_large_channels_get_an_upper_bound_of_delta(monkeypatch):
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
def test_budgets_beyond_the_floats(epsilon):
    channel = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    found = lo.audit(channel, lo.ApproximateLDP(epsilon, 0.25))
    assert (found.verdict, found.delta, found.witness) == ("certified", 0.25, (1, 0, (2,)))
    assert lo.audit(channel, lo.ApproximateLDP(epsilon, 0.125)).verdict == "violated"
    least = np.array([[1 - 2.0**-1000, Fraction(1, 2**1000)], [1, 0]], dtype=object)
    assert lo.audit(least[:, ::-1], lo.PureLDP(epsilon)).verdict == "violated"


def test_the_witness_is_the_first_worst_column():
    half = Fraction(1, 2)
    quarter = Fraction(1, 4)
    channel = np.array([[half, quarter, quarter], [quarter, quarter, half]], dtype=object)
    for notion in (
        lo.PureLDP("log(2)"),
        lo.OneSided("log(2)", [0, 1]),
        lo.GraphDP("log(2)", nx.path_graph(2)),
    ):
        assert lo.audit(channel, notion).witness == (0, 1, 0)
    assert lo.audit(channel, lo.ApproximateLDP(0.0, 0.0, "entry")).witness == (0, 1, 0)
    assert lo.audit(channel, lo.ApproximateLDP(0.0, 0.0)).witness == (0, 1, (0,))


def test_wrong_results_of_a_plug_in_are_refused():
    class Homemade:
        def audit(self, channel):
            return "certified"

    with refused("returned-audit"):
        lo.audit([[0.5, 0.5]], Homemade())
    for epsilon, delta in ((math.nan, 0.0), (0.0, math.nan), (-1.0, 0.0), (1.0, -0.5)):
        with refused("audit"):
            Audit(epsilon, delta, None, "certified")
    for privacy in (Homemade, lo.PureLDP, 1.0, "pure"):
        with refused("notion"):
            lo.audit([[0.5, 0.5]], privacy)


def test_an_audit_is_shown_as_a_table():
    assert (
        "none: all rows that are compared are equal"
        in lo.audit([[0.5, 0.5], [0.5, 0.5]])._repr_html_()
    )
    shown = lo.audit(coin(Fraction(3)), lo.PureLDP("log(3)"))._repr_html_()
    assert "answers 0 and 1, report 0" in shown
    assert "log(3)" in shown
    assert "pure" in lo.audit(coin(Fraction(3)))._repr_html_()
