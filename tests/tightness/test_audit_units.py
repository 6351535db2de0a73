"""Audits of channels one unit inside or outside a claim."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import coin
from ldpopt.auditing import tied_pairs
from ldpopt.auditing.divergence import Audit, Pairs, hockey_stick
from ldpopt.auditing.exact_matrices import exact
from ldpopt.auditing.one_sided import one_sided_divergence
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_up

UNIT = Fraction(1, 2**400)


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


def test_distances_scale_the_loss_of_a_pair():
    channel = np.array([[Fraction(4, 8), Fraction(4, 8)], [Fraction(1, 8), Fraction(7, 8)]], dtype=object)
    for distance in (0.25, 0.5, 2.0, 4.0):
        metric = [[0, distance], [distance, 0]]
        found = lo.audit(channel, lo.MetricDP(50.0, metric))
        assert found.epsilon == round_up(log_enclosure(Fraction(4))[1] / Fraction(distance))
        assert lo.audit(channel, lo.MetricDP(found.epsilon, metric)).verdict == "certified"
        assert lo.audit(channel, lo.MetricDP(np.nextafter(found.epsilon, 0), metric)).verdict == "violated"


def masses(counts, denominator):
    counts = np.array(counts)
    return SimpleNamespace(
        counts=counts, denominator=denominator, inputs=tuple("ab"), outputs=tuple(range(counts.shape[1]))
    )


@pytest.mark.parametrize(
    "denominator, rounded", [(2**53, False), (2**54, True), (2**52, False), (12, True), (1, False)]
)
def test_masses_are_rounded_where_floats_may_not_hold_them(denominator, rounded):
    counts = [[denominator - denominator // 3, 0, denominator // 3], [denominator, 0, 0]]
    found = exact(masses(counts, denominator))
    assert found.is_rounded == rounded
    assert (found.denominator, found.inputs) == (denominator, ("a", "b"))
    used = [0, 2] if denominator > 1 else [0]
    assert found.outputs == tuple(used)
    assert found.whole.tolist() == [[row[y] for y in used] for row in counts]
    assert found.floats.tolist() == [[row[y] / denominator for y in used] for row in counts]
    assert found.shape == (2, len(used))


@pytest.mark.parametrize("kind", [float, Fraction])
def test_a_row_sums_to_one_within_a_billionth(kind):
    for off, fits in ((9.9e-10, True), (-9.9e-10, True), (1.01e-9, False), (-1.01e-9, False)):
        channel = np.array([[kind(0.5), kind(0.5)], [kind(0.25), kind(0.75) + kind(off)]], dtype=object)
        channel = channel.astype(float) if kind is float else channel
        if fits:
            assert exact(channel).is_rounded == (kind is Fraction)
        else:
            with pytest.raises(MechanismError, match="row 1 of the channel sums to"):
                exact(channel)


def test_floats_of_all_sizes_are_read_exactly():
    for row in ([1.0, 0.0], [1.0, 5e-324], [1 - 2.0**-53, 2.0**-53], [0.1, 0.9], [0.5, 0.5]):
        found = exact(np.array([row, [1.0, 0.0]]))
        kept = [v for v, other in zip(row, [1.0, 0.0], strict=True) if v or other]
        assert [Fraction(int(v), found.denominator) for v in found.whole[0]] == list(map(Fraction, kept))
        assert not found.is_rounded
    third = exact([[Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 6), Fraction(5, 6)]])
    assert (third.whole.tolist(), third.denominator, third.is_rounded) == ([[2, 4], [1, 5]], 6, True)


def test_rationals_too_small_for_floats_are_used():
    tiny = Fraction(1, 10**400)
    found = exact(np.array([[1 - tiny, tiny, Fraction(0)], [Fraction(1), Fraction(0), Fraction(0)]], dtype=object))
    assert found.outputs == (0, 1)
    assert found.floats[:, 1].tolist() == [0.0, 0.0]


def test_owned_reports_of_others_count_with_their_largest_mass():
    channel = np.array([[0.5, 0.25, 0.25, 0.0], [0.5, 0.25, 0.125, 0.125], [0.5, 0.25, 0.0, 0.25]])
    found = one_sided_divergence(channel, Budget("log(2)"), None, {2: 0, 3: 2})
    assert (found.epsilon, found.delta, found.witness, found.verdict) == (math.inf, 0.25, (1, 2, 3), "violated")
    assert found.delta_at(5.0) == 0.25
    fits = one_sided_divergence(channel[[0, 2]], Budget("log(2)"), None, {2: 0, 3: 1})
    assert (fits.epsilon, fits.delta, fits.witness, fits.verdict) == (0.0, 0.0, None, "certified")
    worse = one_sided_divergence(np.roll(channel, 1, axis=1), Budget("log(2)"), [0, 1], {3: 0, 0: 2})
    assert (worse.delta, worse.verdict, worse.witness) == (0.25, "violated", (1, 0, 3))
    both = one_sided_divergence([[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]], Budget("log(2)"), None, {2: 0})
    assert (both.delta, both.epsilon) == (1.0, math.inf)


def test_only_the_rows_named_are_compared_with_all():
    channel = np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
    for over, least in (([0], 4), ([1], Fraction(3, 2)), ([2], Fraction(7, 4)), ([1, 2], Fraction(2)), (None, 4)):
        least = max(Fraction(least), *(Fraction(1),) * 2)
        found = one_sided_divergence(channel, Budget(f"log({least})"), over)
        rows = range(3) if over is None else over
        ratio = max(Fraction(channel[x, y]) / Fraction(channel[k, y]) for x in rows for k in range(3) for y in (0, 1))
        assert found.epsilon == round_up(log_enclosure(ratio)[1])
        assert found.verdict == ("certified" if ratio <= least else "violated")
        assert (found.delta > 0) == (ratio > least)
    assert one_sided_divergence(channel[::-1], Budget(1.0)).epsilon == round_up(log_enclosure(Fraction(4))[1])
    assert one_sided_divergence(channel, Budget(0.0), []).verdict == "certified"
    assert one_sided_divergence(channel, Budget(0.0), [1]).claim == "epsilon = 0.0 for 1 of 3 inputs"


@pytest.mark.parametrize("notion", NOTIONS)
def test_epsilon_is_above_a_logarithm_that_is_a_hair_above_a_float(notion):
    with mpmath.workdps(200):
        exponential = Fraction(int(mpmath.floor(mpmath.exp(0.5) * 2**600)), 2**600)
    for hair, least in ((1 + Fraction(1, 2**230), math.nextafter(0.5, 1)), (1 - Fraction(1, 2**185), 0.5)):
        assert lo.audit(coin(exponential * hair), swapping(notion)(1.0)).epsilon == least


def test_claims_are_named():
    channel = coin(Fraction(2))
    assert lo.audit(channel, lo.PureLDP("log(3)")).claim == "epsilon = 'log(3)'"
    assert lo.audit(channel, lo.GraphDP(1.0, nx.path_graph(2))).claim == "epsilon = 1.0 along 1 edges"
    assert lo.audit(channel, lo.ApproximateLDP(1.0, 0.5)).claim == "epsilon = 1.0, delta = 0.5, event-wise"
    assert lo.audit(channel, lo.ApproximateLDP(1.0, 0.5, "entry")).claim == "epsilon = 1.0, delta = 0.5, entry-wise"


@pytest.mark.parametrize("form", ["event", "entry"])
def test_equal_rows_spend_nothing_and_a_curve_says_what_others_spend(form):
    found = lo.audit([[0.5, 0.5], [0.5, 0.5]], lo.ApproximateLDP(0.0, 0.0, form))
    assert (found.epsilon, found.delta, found.witness, found.verdict) == (0.0, 0.0, None, "certified")
    assert found.delta_at(0.0) == 0.0
    assert lo.audit([[0.75, 0.25], [0.25, 0.75]], lo.ApproximateLDP(1.0, 0.5, form)).delta_at("log(2)") == 0.25
    assert hockey_stick(exact([[0.5, 0.5], [0.5, 0.5]]), Budget(0.0)) == (0.0, None)


def test_a_report_that_no_sensitive_input_gives_costs_nothing():
    found = one_sided_divergence([[1.0, 0.0], [0.5, 0.5]], Budget("log(2)"), [0])
    assert (found.epsilon, found.witness, found.verdict) == (Budget("log(2)").rounded_up, (0, 1, 0), "certified")
    assert one_sided_divergence([[1.0, 0.0], [0.5, 0.5]], Budget("log(2)"), [1]).epsilon == math.inf


def test_reports_that_neither_of_a_pair_gives_do_not_count():
    matrix = exact([[0.5, 0.5, 0.0], [5e-324, 1.0, 0.0], [0.0, 0.5, 0.5]])
    pair = Pairs(np.array([0]), np.array([1]), np.array([1.0]))
    ratio = Fraction(0.5) / Fraction(5e-324)
    assert tied_pairs.least_epsilon_pairs(matrix, pair) == (round_up(log_enclosure(ratio)[1]), (0, 1, 0))
    assert tied_pairs.decide_pairs(matrix, Budget(745.0), pair) == "certified"
    assert tied_pairs.decide_pairs(matrix, Budget(743.0), pair) == "violated"
    near = exact([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.0, 0.5, 0.5]])
    assert tied_pairs.decide_pairs(near, Budget("log(2)"), pair) == "certified"
    assert one_sided_divergence([[0.5, 0.5], [0.5, 0.5]], Budget(1.0), []).delta_at(0.5) == 0.0


def test_a_matrix_of_floats_and_rationals_is_read_as_floats():
    assert not exact(np.array([[Fraction(1, 3), 2 / 3]], dtype=object)).is_rounded


def test_no_witness_where_nothing_is_spent_and_the_worst_output_where_one_is():
    channel = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert lo.audit(channel, lo.ApproximateLDP("log(2)", 0.0, "entry")).witness is None
    assert hockey_stick(exact(channel[:1]), Budget(1.0)) == (0.0, None)
    wide = exact([[0.5, 0.25, 0.25, 0.0], [0.25, 0.125, 0.125, 0.5]])
    pair = Pairs(np.array([0]), np.array([1]), np.array([1.0]))
    assert hockey_stick(wide, Budget(0.0), pair, single=True) == (0.25, (0, 1, 0))
    assert hockey_stick(wide, Budget(0.0), pair) == (0.5, (0, 1, (0, 1, 2)))


@pytest.mark.parametrize("answer", [None, "certified", Audit(math.nan, 0.0, None, "certified"),
                                    Audit(0.0, math.nan, None, "certified"), Audit(-1.0, 0.0, None, "certified"),
                                    Audit(1.0, -0.5, None, "certified")], ids=repr)  # fmt: skip
def test_a_plug_in_whose_audit_says_nothing_is_refused(answer):
    class Homemade:
        def rows(self, inputs, n_outputs):
            raise NotImplementedError

        def audit(self, channel):
            return answer

    with pytest.raises(StatementError):
        lo.audit([[0.5, 0.5]], Homemade())
    for privacy in (Homemade, lo.PureLDP, 1.0, "pure"):
        with pytest.raises(StatementError):
            lo.audit([[0.5, 0.5]], privacy)


def test_an_audit_is_shown_as_a_table():
    assert "none: all rows are equal" in lo.audit([[0.5, 0.5], [0.5, 0.5]])._repr_html_()
    shown = lo.audit(coin(Fraction(3)), lo.PureLDP("log(3)"))._repr_html_()
    assert "answers 0 and 1, report 0" in shown
    assert "log(3)" in shown
    assert "pure" in lo.audit(coin(Fraction(3)))._repr_html_()
