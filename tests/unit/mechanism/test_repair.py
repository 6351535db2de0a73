"""Repair: any channel becomes an exactly private one nearby, or the notion is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import hops
from ldpopt import ApproximateLDP, GraphDP, Mechanism, MetricDP, PureLDP, audit
from ldpopt.auditing.divergence import Audit
from ldpopt.errors import MechanismError, PrivacyViolationError, StatementError
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import Notion

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
    assert [[Fraction(v) * 2**53 for v in row] for row in mechanism.channel.tolist()] == mechanism.masses.tolist()
    return True


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_the_float_formula_moves_by_rounding_only(epsilon):
    notion = PureLDP(epsilon)
    fixed = repair(response(4, float(notion.epsilon)), notion)
    assert sound(fixed, notion)
    # Privacy at epsilon asks for a constant part of about 2**-53 / epsilon where the budget is small.
    assert fixed.moved <= 1e-12 + 1e-14 / min(1.0, float(notion.epsilon))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("seed", range(3))
def test_a_solvers_dust_is_cleaned(epsilon, seed):
    rng = np.random.default_rng(seed)
    notion = PureLDP(epsilon)
    clean = np.hstack([response(4, float(notion.epsilon)), np.zeros((4, 2))])
    rough = clean + np.where(rng.random(clean.shape) < 0.4, rng.normal(0, 1e-13, clean.shape), 0)
    fixed = repair(rough, notion)
    assert sound(fixed, notion)
    assert total_variation(clean, fixed.mechanism.channel) <= 1e-11 + 1e-11 / min(1.0, float(notion.epsilon))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 15.0])
def test_eight_digits_are_enough(epsilon):
    notion = PureLDP(epsilon)
    clean = response(5, epsilon)
    fixed = repair(np.char.mod("%.8g", clean).astype(float), notion)
    assert sound(fixed, notion)
    assert total_variation(clean, fixed.mechanism.channel) <= 1e-7 / min(1.0, epsilon)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("seed", range(2))
def test_any_channel_can_be_repaired(epsilon, seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, size=2)
    channel = rng.dirichlet(np.full(m, 0.3), size=n)
    notions = [PureLDP(epsilon), GraphDP(epsilon, nx.path_graph(n)), MetricDP(epsilon, 0.37 * hops(n))]
    notions += [ApproximateLDP(epsilon, delta, form) for delta in (1e-9, 0.2, 1.0) for form in ("event", "entry")]
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


def test_what_is_private_already_does_not_move():
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


def test_no_budget_asks_for_equal_rows():
    fixed = repair([[0.75, 0.25], [0.25, 0.75]], PureLDP(0))
    assert sound(fixed, PureLDP(0))
    assert (fixed.mechanism.channel[0] == fixed.mechanism.channel[1]).all()


def test_negative_dust_is_cut_and_rows_are_normalised():
    fixed = repair([[1.5, -1e-9], [0.5, 0.5]], ApproximateLDP(0, 1.0, "entry"))
    assert fixed.mechanism.channel.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize("channel", [[[0.0, 0.0]], [[math.nan, 1.0]], [[math.inf, 1.0]], [0.5, 0.5], [[-1.0, 0.0]]])
def test_what_is_no_channel_is_refused(channel):
    with pytest.raises((MechanismError, StatementError), match="not a channel"):
        repair(channel, PureLDP(1.0))


class Never(Notion):
    """A notion that no channel satisfies."""

    def rows(self, inputs, n_outputs):
        raise NotImplementedError

    def audit(self, channel):
        return Audit(math.inf, 1.0, ("a", "b", "c"), "violated")


def test_a_notion_that_nothing_satisfies_is_refused_with_the_witness():
    with pytest.raises(PrivacyViolationError, match=r"epsilon inf, delta 1 found[\s\S]*'a', 'b', 'c'") as caught:
        repair([[0.5, 0.5], [0.5, 0.5]], Never())
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
    channel, places = rng.dirichlet(np.ones(4), size=3), [2, 3, 7, 10]
    graph = nx.path_graph(3)
    for notion in (PureLDP(0.3), ApproximateLDP(0.3, 0.01), ApproximateLDP(0.3, 0.01, "entry"), GraphDP(0.3, graph)):
        narrow, wide = audit(channel, notion), audit(padded(channel, places), notion)
        assert (narrow.epsilon, narrow.delta, narrow.verdict) == (wide.epsilon, wide.delta, wide.verdict)
        x, k, seen = narrow.witness
        moved = tuple(places[y] for y in seen) if isinstance(seen, tuple) else places[seen]
        assert wide.witness == (x, k, moved)
    labels = Mechanism(padded(channel, places), ["a", "b", "c"], LABELS)
    x, k, y = audit(labels, PureLDP(0.3)).witness
    assert audit(channel, PureLDP(0.3)).witness == ("abc".index(x), "abc".index(k), places.index(LABELS.index(y)))


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
