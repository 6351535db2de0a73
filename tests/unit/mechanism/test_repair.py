"""Repair: any channel becomes an exactly private one nearby, moved no farther than needed, or the
notion is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import hops, refused
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Mechanism,
    MetricDP,
    OneSided,
    PureLDP,
    UtilityOptimizedLDP,
    audit,
)
from ldpopt.auditing.divergence import Audit
from ldpopt.errors import MechanismError, PrivacyViolationError
from ldpopt.foundation import numbers
from ldpopt.mechanism import rounding as module
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.rounding import ROW_TOTAL
from ldpopt.mechanism.sampling import round_rows
from ldpopt.privacy import Notion, Ties
from ldpopt.privacy.notion import KINDS

BUDGETS = [1e-9, 1e-6, 1e-3, 0.1, 1.0, "log(3)", 5.0, 20.0, 30.0, 36.0, 37.0, 100.0, 700.0, 1e4]


def response(n, epsilon):
    """Randomized response: the float formula, one ulp over the budget in about half the cases."""
    b = math.exp(-epsilon)
    return (np.full((n, n), b) + (1 - b) * np.eye(n)) / (1 + (n - 1) * b)


def total_variation(one, other):
    return np.maximum(one - other, 0).sum(axis=1).max()


def sound(fixed, notion):
    """Whether a repair is what it claims: certified twice, on the grid, rows whole."""
    mechanism = fixed.mechanism
    assert fixed.audit.verdict == "certified"
    assert audit(mechanism.channel, notion).verdict == "certified"
    assert mechanism.masses.sum(axis=1).tolist() == [2**53] * len(mechanism.masses)
    assert [
        [Fraction(v) * 2**53 for v in row] for row in mechanism.channel.tolist()
    ] == mechanism.masses.tolist()
    return True


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_the_float_formula_moves_by_rounding_only(epsilon):
    notion = PureLDP(epsilon)
    fixed = repair(response(4, float(notion.epsilon)), notion)
    assert sound(fixed, notion)
    # Privacy at a small epsilon requires a constant part of about 2**-53 / epsilon.
    assert fixed.moved <= 1e-12 + 1e-14 / min(1.0, float(notion.epsilon))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("seed", range(3))
def test_rounding_errors_of_a_solver_are_removed(epsilon, seed):
    rng = np.random.default_rng(seed)
    notion = PureLDP(epsilon)
    clean = np.hstack([response(4, float(notion.epsilon)), np.zeros((4, 2))])
    rough = clean + np.where(rng.random(clean.shape) < 0.4, rng.normal(0, 1e-13, clean.shape), 0)
    fixed = repair(rough, notion)
    assert sound(fixed, notion)
    assert total_variation(clean, fixed.mechanism.channel) <= 1e-11 + 1e-11 / min(
        1.0, float(notion.epsilon)
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 15.0])
def test_eight_digits_are_enough(epsilon):
    notion = PureLDP(epsilon)
    clean = response(5, epsilon)
    fixed = repair(np.char.mod("%.8g", clean).astype(float), notion)
    assert sound(fixed, notion)
    assert total_variation(clean, fixed.mechanism.channel) <= 1e-7 / min(1.0, epsilon)


@pytest.mark.parametrize("seed, epsilon", list(enumerate(BUDGETS)))
def test_any_channel_can_be_repaired(epsilon, seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, size=2)
    channel = rng.dirichlet(np.full(m, 0.3), size=n)
    notions = [
        PureLDP(epsilon),
        GraphDP(epsilon, nx.path_graph(n)),
        MetricDP(epsilon, 0.37 * hops(n)),
    ]
    notions += [
        ApproximateLDP(epsilon, delta, form)
        for delta in (1e-9, 0.2, 1.0)
        for form in ("event", "entry")
    ]
    for notion in notions:
        assert sound(repair(channel, notion), notion)


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.5, 3.0, 40.0])
def test_a_channel_that_spends_delta_hardly_moves(epsilon, delta, form):
    notion = ApproximateLDP(epsilon, delta, form)
    clean = delta * np.eye(4) + (1 - delta) * response(4, epsilon)
    fixed = repair(clean, notion)
    assert sound(fixed, notion)
    assert fixed.moved <= 1e-11 + 1e-14 / min(1.0, max(epsilon, delta))


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0, 100.0])
def test_a_kernel_along_a_graph_or_metric_hardly_moves(epsilon):
    n = 6
    w = np.full(n, math.tanh(epsilon / 2))
    w[[0, -1]] = 1 / (1 + math.exp(-epsilon))
    clean = np.exp(-epsilon * hops(n)) * w
    for notion in (
        GraphDP(epsilon, nx.path_graph(n)),
        MetricDP(epsilon, hops(n)),
        MetricDP(epsilon / 0.3, 0.3 * hops(n)),
    ):
        fixed = repair(clean / clean.sum(axis=1, keepdims=True), notion)
        assert sound(fixed, notion)
        assert fixed.moved <= 1e-12 + 1e-13 / min(1.0, epsilon)


def test_a_private_channel_does_not_move():
    grid = np.array([[0.75, 0.25], [0.25, 0.75]])
    fixed = repair(grid, PureLDP("log(3)"), inputs=["no", "yes"], outputs=[0, 1])
    assert fixed.moved == 0
    assert (fixed.mechanism.channel == grid).all()
    assert (fixed.mechanism.inputs, fixed.mechanism.outputs) == (("no", "yes"), (0, 1))


@pytest.mark.parametrize("form", ["event", "entry"])
@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0])
def test_a_repaired_channel_with_delta_does_not_move_again(delta, form):
    notion = ApproximateLDP(0.1, delta, form)
    once = repair([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], notion).mechanism.channel
    assert repair(once, notion).moved <= 2**-52


def test_budget_zero_requires_equal_rows():
    fixed = repair([[0.75, 0.25], [0.25, 0.75]], PureLDP(0))
    assert sound(fixed, PureLDP(0))
    assert (fixed.mechanism.channel[0] == fixed.mechanism.channel[1]).all()


def test_negative_entries_are_cut_and_rows_are_normalized():
    fixed = repair([[1.5, -1e-9], [0.5, 0.5]], ApproximateLDP(0, 1.0, "entry"))
    assert fixed.mechanism.channel.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    "channel, code",
    [
        ([[0.0, 0.0]], "empty-rows"),
        ([[math.nan, 1.0]], "nan"),
        ([[math.inf, 1.0]], "empty-rows"),
        ([0.5, 0.5], "shape"),
        ([[-1.0, 0.0]], "empty-rows"),
    ],
)
def test_other_arrays_are_refused(channel, code):
    with refused(code, MechanismError):
        repair(channel, PureLDP(1.0))


class Never(Notion):
    """A notion that no channel satisfies."""

    def rows(self, inputs, n_outputs):
        raise NotImplementedError

    def audit(self, channel):
        return Audit(math.inf, 1.0, ("a", "b", "c"), "violated")


def test_a_notion_that_nothing_satisfies_is_refused_with_the_witness():
    with refused("no-private-channel", PrivacyViolationError) as caught:
        repair([[0.5, 0.5], [0.5, 0.5]], Never())
    assert "epsilon inf, delta 1 " in str(caught.value)
    assert "'a', 'b', 'c'" in str(caught.value)
    assert "\n" not in caught.value.one_line


LABELS = [f"report {y}" for y in range(12)]


def padded(channel, places, m=12):
    """The same channel among outputs that are never reported, or hardly."""
    wide = np.zeros((len(channel), m))
    wide[:, places] = channel
    return wide


@pytest.mark.parametrize(
    "notion",
    [
        PureLDP(1.0),
        PureLDP(37.0),
        ApproximateLDP(0.5, 0.1),
        ApproximateLDP(0.5, 0.1, form="entry"),
        GraphDP(1.0, nx.path_graph(4)),
        MetricDP(0.7, hops(4)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dust", [0.0, 1e-40])
def test_outputs_that_are_never_reported_change_nothing(notion, dust):
    rng = np.random.default_rng(4)
    for _ in range(3):
        channel = rng.multinomial(2**20, rng.dirichlet(np.full(4, 0.7)), size=4) / 2**20
        places = np.sort(rng.permutation(12)[:4])
        names = [LABELS[y] for y in places]
        narrow = repair(channel, notion, outputs=names)
        wide = repair(padded(channel, places) + dust, notion, outputs=LABELS)
        assert sound(wide, notion)
        assert (wide.mechanism.channel == padded(narrow.mechanism.channel, places)).all()
        assert wide.mechanism.outputs == tuple(LABELS)
        assert wide.mechanism.inputs == narrow.mechanism.inputs
        assert wide.audit == narrow.audit
        assert wide.moved == pytest.approx(narrow.moved, abs=1e-15)


def test_a_padded_witness_has_the_labels_of_all_outputs():
    channel = padded(response(3, 1.0), [1, 5, 11])
    fixed = repair(channel, PureLDP(1.0), inputs=["a", "b", "c"], outputs=LABELS)
    x, k, y = fixed.audit.witness
    assert {x, k} <= {"a", "b", "c"}
    assert y in {LABELS[1], LABELS[5], LABELS[11]}
    entries = fixed.mechanism.channel
    ratio = entries["abc".index(x), LABELS.index(y)] / entries["abc".index(k), LABELS.index(y)]
    assert math.log(ratio) == pytest.approx(fixed.audit.epsilon, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_does_not_see_columns_of_zeros(seed):
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(4), size=3)
    places = [2, 3, 7, 10]
    graph = nx.path_graph(3)
    for notion in (
        PureLDP(0.3),
        ApproximateLDP(0.3, 0.01),
        ApproximateLDP(0.3, 0.01, "entry"),
        GraphDP(0.3, graph),
    ):
        narrow = audit(channel, notion)
        wide = audit(padded(channel, places), notion)
        assert (narrow.epsilon, narrow.delta, narrow.verdict) == (
            wide.epsilon,
            wide.delta,
            wide.verdict,
        )
        x, k, seen = narrow.witness
        moved = tuple(places[y] for y in seen) if isinstance(seen, tuple) else places[seen]
        assert wide.witness == (x, k, moved)
    labels = Mechanism(padded(channel, places), ["a", "b", "c"], LABELS)
    x, k, y = audit(labels, PureLDP(0.3)).witness
    assert audit(channel, PureLDP(0.3)).witness == (
        "abc".index(x),
        "abc".index(k),
        places.index(LABELS.index(y)),
    )


def test_a_channel_far_from_private_for_a_metric_is_repaired():
    """One of its candidates has whole numbers as integers, which raising once could not take."""
    tenths = [[4, 9], [3, 1], [0, 8], [3, 4], [7, 0], [5, 1]]
    percent = [
        [0, 0, 0, 0, 100, 0],
        [0, 0, 0, 100, 0, 0],
        [6, 94, 0, 0, 0, 0],
        [0, 100, 0, 0, 0, 0],
        [9, 2, 0, 42, 43, 4],
        [0, 0, 100, 0, 0, 0],
    ]
    privacy = MetricDP.of_points(1.0, np.array(tenths) / 10)
    fixed = repair(np.array(percent) / 100, privacy)
    assert sound(fixed, privacy)
    assert fixed.moved <= 0.8  # of a row: the channel is nearly deterministic


NOTIONS = {
    "pure": PureLDP,
    "graph": lambda epsilon: GraphDP(epsilon, nx.path_graph(4)),
    "metric": lambda epsilon: MetricDP(epsilon, 0.37 * hops(4)),
    "event": lambda epsilon: ApproximateLDP(epsilon, 0.2),
    "entry": lambda epsilon: ApproximateLDP(epsilon, 0.2, "entry"),
    "one-sided": lambda epsilon: OneSided(epsilon, [0, 2]),
    "owned": lambda epsilon: UtilityOptimizedLDP(epsilon, [0, 1]),
}


@pytest.fixture
def audits(monkeypatch):
    """The channels that a repair has audited."""
    seen = []
    for notion in KINDS.values():
        monkeypatch.setattr(
            notion,
            "audit",
            lambda self, made, audit=notion.audit: seen.append(made) or audit(self, made),
        )
    return seen


@pytest.mark.parametrize("epsilon", [1e-6, 0.001, 0.1, 1.0, "log(3)", 5.0, 30.0])
@pytest.mark.parametrize("notion", ["pure", "graph", "event", "entry", "one-sided"])
def test_randomized_response_moves_by_a_few_units_at_the_first_try(audits, notion, epsilon):
    claim = NOTIONS[notion](epsilon)
    fixed = repair(response(4, float(claim.epsilon)), claim)
    assert fixed.moved * ROW_TOTAL <= 19
    assert len(audits) <= 2


FAR = {
    ("pure", 0.1): (0.3027, 0.42),
    ("graph", 0.1): (0.2943, 0.4037),
    ("metric", 0.1): (0.305, 0.4255),
    ("event", 0.1): (0.2097, 0.3587),
    ("entry", 0.1): (0.1705, 0.2833),
    ("one-sided", 0.1): (0.2912, 0.4182),
    ("owned", 0.1): (0.3534, 0.4799),
    ("pure", 1.0): (0.1439, 0.2429),
    ("graph", 1.0): (0.0664, 0.2751),
    ("metric", 1.0): (0.2076, 0.3614),
    ("event", 1.0): (0.0711, 0.1683),
    ("entry", 1.0): (0.0704, 0.1232),
    ("one-sided", 1.0): (0.139, 0.2152),
    ("owned", 1.0): (0.276, 0.4799),
}
"""Reference values of this implementation: how far two channels that are not private are moved."""


@pytest.mark.parametrize("notion, epsilon", FAR)
def test_a_channel_that_is_not_private_moves_no_farther_than_it_did(notion, epsilon):
    for seed, before in zip((1, 2), FAR[notion, epsilon], strict=True):
        channel = np.random.default_rng(seed).dirichlet(np.full(4, 0.5), size=4)
        fixed = repair(channel, NOTIONS[notion](epsilon))
        assert fixed.moved == pytest.approx(before, abs=2e-3)
        assert fixed.moved == pytest.approx(
            np.maximum(fixed.mechanism.channel - channel, 0).sum(axis=1).max()
        )


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_channel_that_is_private_is_rounded_and_no_more(audits, notion):
    channel = np.random.default_rng(0).dirichlet(np.full(4, 9.0), size=4)
    channel[:, 0] = 0.0 if notion == "owned" else channel[:, 0]
    channel /= channel.sum(axis=1, keepdims=True)
    fixed = repair(channel, NOTIONS[notion](9.0))
    if notion != "owned":
        assert fixed.mechanism.counts.tolist() == round_rows(channel).tolist()
        assert len(audits) == 1
    assert fixed.audit.verdict == "certified"


def test_counts_that_are_one_unit_over_are_rejected_before_an_audit():
    ties = Ties("log(3)", 2)
    fits = np.array([[0.75, 0.25], [0.25, 0.75]])
    over = np.array([[1, -1], [0, 0]]) / ROW_TOTAL
    assert not module.is_rejected(fits, ties)
    assert module.is_rejected(fits + over, ties)
    assert not module.is_rejected(fits + over, Ties("log(3)", 2, delta=0.1))
    assert not module.is_rejected(
        fits[:, ::-1] * [[1, 4]], Ties("log(3)", 2, np.array([0]), np.array([1]))
    )


@pytest.mark.parametrize("total", [0.0, 2.0**53 - 1000])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("pairs", [False, True])
def test_raising_returns_the_least_array_of_the_cone_above(total, delta, pairs):
    first, second = np.nonzero(~np.eye(3, dtype=bool))
    ties = Ties(0.7, 3, first, second, delta=delta) if pairs else Ties(0.7, 3, delta=delta)
    values = np.random.default_rng(1).dirichlet(np.full(4, 0.4), size=3)
    values = np.floor(values * total) if total else values
    raised = module._Cone.of(ties, values).raised(values, total)
    unit = total or 1.0
    assert (raised >= values).all()
    if total:
        assert (raised == np.floor(raised)).all()
    allowed = np.exp(0.7) * raised[None] + delta * unit
    assert (raised[:, None] <= allowed * (1 + 1e-15) + (1 if total and delta else 0)).all()
    least = np.maximum(values, ((values - delta * unit) * np.exp(-0.7)).max(axis=0))
    assert raised == pytest.approx(least, rel=1e-12, abs=3)


def test_mixing_ends_with_the_mean_row():
    channel = np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]])
    mean = channel.mean(axis=0)
    family = list(module.by_mixing(channel, mean))
    assert len(family) == 54
    for counts in family:
        assert counts.sum(axis=1).tolist() == [ROW_TOTAL] * 2
        assert counts.min() >= 0
    assert np.abs(family[0] - channel * ROW_TOTAL).max() <= 6
    assert family[-2] / ROW_TOTAL == pytest.approx((channel + mean) / 2, abs=1e-14)
    assert (family[-1] == mean * ROW_TOTAL).all()
    distances = [np.abs(counts - channel * ROW_TOTAL).max() for counts in family]
    assert distances == sorted(distances)


@pytest.mark.parametrize("wide", [False, True])
def test_columns_below_the_threshold_become_zeros(wide):
    # Below 1e-12 an entry is a rounding error of the solver; in a small channel it may be meant,
    # down to 2**-50.
    for dust, kept in ((2.0**-51, False), (2.0**-49, not wide), (2e-12, True)):
        channel = np.full((150 if wide else 3, 70), 1 / 69)
        channel[:, 0] = dust
        fixed = repair(channel / channel.sum(axis=1, keepdims=True), PureLDP(1.0))
        assert fixed.mechanism.channel[:, 0].any() == kept
        assert fixed.moved < 1e-11


def test_slack_in_units_is_rounded_up_only_if_enough_of_delta_is_left():
    total = ROW_TOTAL - 1000
    m = 4
    for delta, is_enough in ((1e-9, False), (0.011, False), (0.013, True), (1.0, True)):
        cone = module._Cone.of_ties(Ties(1.0, 3, delta=delta))
        units = delta * total
        found = float(cone.integer_slack(total, m))
        assert (
            (units < found <= units + 2)
            if is_enough
            else (units * (1 - 2.0**-50) - 1 <= found <= units)
        )


def test_an_input_whose_reports_are_all_forbidden_reports_the_first_allowed_one():
    notion = UtilityOptimizedLDP(1.0, [0])
    channel = np.array([[0.0, 1.0, 0.0], [0.2, 0.4, 0.4], [0.2, 0.0, 0.8]])
    fixed = repair(channel, notion)
    assert fixed.audit.verdict == "certified"
    assert fixed.mechanism.channel[0].tolist() == [1.0, 0.0, 0.0]
    assert np.abs(fixed.mechanism.channel[1] - fixed.mechanism.channel[2]).max() > 0.1


@pytest.mark.parametrize("over", [0, 7, 69])
def test_counts_are_compared_in_parts_of_columns(monkeypatch, over):
    graph = nx.path_graph(40)
    ties = GraphDP(1.0, graph).ties(range(40), range(70))
    fits = np.exp(-0.99 * np.abs(np.arange(40)[:, None] - np.arange(70) / 2))
    wrong = fits.copy()
    wrong[3, over] *= 100
    for entries in (1, 200, 1 << 22):
        monkeypatch.setattr(module, "REJECTED_ENTRIES", entries)
        assert not module.is_rejected(fits, ties)
        assert module.is_rejected(wrong, ties)


def test_the_largest_move_is_the_same_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    one, other = rng.dirichlet(np.ones(7), size=(2, 30))
    expected = total_variation(one, other)
    for entries in (1, 20, 1000):
        monkeypatch.setattr(numbers, "BLOCK", entries)
        assert module.largest_move(one, other) == expected


@pytest.mark.parametrize("notion", NOTIONS)
def test_the_mechanism_of_a_repair_is_the_audited_one(audits, notion):
    fixed = repair(
        np.random.default_rng(1).dirichlet(np.full(4, 0.5), size=4), NOTIONS[notion](1.0)
    )
    assert any(np.array_equal(one.channel, fixed.mechanism.channel) for one in audits)


@pytest.mark.parametrize("units, is_filled", [(4, True), (5, False)])
def test_rows_are_filled_up_only_if_their_masses_are_at_most_the_total(units, is_filled):
    # four units are left for rows of two reports; a fifth one vanishes in a sum of floats
    values = np.array([[0.5, 0.5 + units * 2.0**-53]] * 2)
    cone = module._Cone.of_ties(PureLDP(1.0).ties((0, 1)))
    filled = module.filled_up(values, np.array([0.5, 0.5]), 1.0, 2.0, 0.0, cone)
    assert (filled is not None) == is_filled
    assert filled is None or filled.astype(np.int64).sum(axis=1).tolist() == [2**53, 2**53]
