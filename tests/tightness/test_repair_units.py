"""Repairs move no farther than they need to, counted in units of ``2**-53``, and their first tries are private."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import hops
from ldpopt.mechanism import repair as module
from ldpopt.mechanism.repair import ROW_TOTAL, repair
from ldpopt.mechanism.sampling import round_rows
from ldpopt.privacy import Ties
from ldpopt.privacy.notion import KINDS

NOTIONS = {
    "pure": lo.PureLDP,
    "graph": lambda epsilon: lo.GraphDP(epsilon, nx.path_graph(4)),
    "metric": lambda epsilon: lo.MetricDP(epsilon, 0.37 * hops(4)),
    "event": lambda epsilon: lo.ApproximateLDP(epsilon, 0.2),
    "entry": lambda epsilon: lo.ApproximateLDP(epsilon, 0.2, "entry"),
    "one-sided": lambda epsilon: lo.OneSided(epsilon, [0, 2]),
    "owned": lambda epsilon: lo.UtilityOptimizedLDP(epsilon, [0, 1]),
}


@pytest.fixture
def audits(monkeypatch):
    """The channels that a repair has audited."""
    seen = []
    for notion in KINDS.values():
        monkeypatch.setattr(
            notion, "audit", lambda self, made, audit=notion.audit: seen.append(made) or audit(self, made)
        )
    return seen


def response(n, epsilon):
    b = math.exp(-epsilon)
    return (np.full((n, n), b) + (1 - b) * np.eye(n)) / (1 + (n - 1) * b)


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
    ("pure", 1.0): (0.1535, 0.2455),
    ("graph", 1.0): (0.0664, 0.2751),
    ("metric", 1.0): (0.2076, 0.3614),
    ("event", 1.0): (0.0711, 0.1683),
    ("entry", 1.0): (0.0704, 0.1232),
    ("one-sided", 1.0): (0.139, 0.2152),
    ("owned", 1.0): (0.276, 0.4799),
}
"""How far two channels that are not private were moved when this was written."""


@pytest.mark.parametrize("notion, epsilon", FAR)
def test_a_channel_that_is_not_private_moves_no_farther_than_it_did(notion, epsilon):
    for seed, before in zip((1, 2), FAR[notion, epsilon], strict=True):
        channel = np.random.default_rng(seed).dirichlet(np.full(4, 0.5), size=4)
        fixed = repair(channel, NOTIONS[notion](epsilon))
        assert fixed.moved == pytest.approx(before, abs=2e-3)
        assert fixed.moved == pytest.approx(np.maximum(fixed.mechanism.channel - channel, 0).sum(axis=1).max())


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
    fits = np.array([[3.0, 1.0], [1.0, 3.0]]) * 2**51
    assert not module._is_rejected(fits, ties)
    assert module._is_rejected(fits + np.array([[1, -1], [0, 0]]), ties)
    assert not module._is_rejected(fits + np.array([[1, -1], [0, 0]]), Ties("log(3)", 2, delta=0.1))
    assert not module._is_rejected(fits[:, ::-1] * [[1, 4]], Ties("log(3)", 2, np.array([0]), np.array([1])))


@pytest.mark.parametrize("total", [0.0, 2.0**53 - 1000])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("pairs", [False, True])
def test_what_is_raised_into_a_cone_is_above_in_it_and_the_least(total, delta, pairs):
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


@pytest.mark.parametrize("delta", [1e-9, 0.1, 1.0])
def test_a_little_of_delta_pays_for_the_rounding(delta):
    channel = response(4, 1.0)
    first = next(module._by_slack(channel, delta, channel.mean(axis=0)))
    assert first.sum(axis=1).tolist() == [ROW_TOTAL] * 4
    assert (first == np.floor(first)).all()
    moved = np.maximum(first - channel * ROW_TOTAL, 0).sum(axis=1).max()
    assert moved <= 4 * 4 / delta + 2 * 4
    assert lo.audit(first / ROW_TOTAL, lo.ApproximateLDP(1.0, delta)).verdict == "certified"


def test_mixing_ends_with_the_mean_row():
    channel = np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]])
    mean = channel.mean(axis=0)
    family = list(module._by_mixing(channel, mean))
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
def test_columns_of_dust_become_zeros_in_large_channels_and_small_ones(wide):
    # Below 1e-12 an entry is a solver's noise; in a small channel it may be meant, down to 2**-50.
    for dust, kept in ((2.0**-51, False), (2.0**-49, not wide), (2e-12, True)):
        channel = np.full((150 if wide else 3, 70), 1 / 69)
        channel[:, 0] = dust
        fixed = repair(channel / channel.sum(axis=1, keepdims=True), lo.PureLDP(1.0))
        assert fixed.mechanism.channel[:, 0].any() == kept
        assert fixed.moved < 1e-11


def test_slack_in_units_is_rounded_up_only_where_delta_pays_for_it():
    total, m = ROW_TOTAL - 1000, 4
    for delta, pays in ((1e-9, False), (0.011, False), (0.013, True), (1.0, True)):
        cone = module._Cone.of_ties(Ties(1.0, 3, delta=delta))
        units, found = delta * total, float(cone._integer_slack(total, m))
        assert (units < found <= units + 2) if pays else (units * (1 - 2.0**-50) - 1 <= found <= units)


def test_an_input_whose_reports_are_all_forbidden_gives_the_first_that_is_not():
    notion = lo.UtilityOptimizedLDP(1.0, [0])
    channel = np.array([[0.0, 1.0, 0.0], [0.2, 0.4, 0.4], [0.2, 0.0, 0.8]])
    fixed = repair(channel, notion)
    assert fixed.audit.verdict == "certified"
    assert fixed.mechanism.channel[0].tolist() == [1.0, 0.0, 0.0]
    assert np.abs(fixed.mechanism.channel[1] - fixed.mechanism.channel[2]).max() > 0.1
