"""Leakage: its definitions, the data-processing inequality, capacities as bounds, refinement both
ways."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused
from ldpopt.errors import MechanismError, StatementError

seeds = st.integers(0, 10**6)
sizes = st.integers(1, 6)


def drawn(seed, n, m, k=3):
    """A channel with zeros, a prior, a rule for its reports and a gain."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(m, 0.5), n).round(3)
    channel = lo.Mechanism(rows / rows.sum(axis=1, keepdims=True))
    return (
        channel,
        rng.dirichlet(np.ones(n)),
        lo.Mechanism(rng.dirichlet(np.ones(k), m)),
        rng.random((n, 4)),
    )


@cases(20)
@given(seeds, sizes, sizes)
def test_leakage_is_its_definition(seed, n, m):
    channel, prior, _, gain = drawn(seed, n, m)
    found = channel.leakage(prior, lo.Utility(gain))
    after = sum(
        max(sum(prior[x] * channel.channel[x, y] * gain[x, z] for x in range(n)) for z in range(4))
        for y in range(m)
    )
    assert found.prior_vulnerability == pytest.approx((prior @ gain).max(), abs=1e-14)
    assert found.posterior_vulnerability == pytest.approx(after, abs=1e-14)
    assert found.additive == pytest.approx(after - (prior @ gain).max(), abs=1e-14)
    best = channel.remapped(prior, lo.Utility(gain))
    assert best.expected(prior, lo.Utility(gain)) == pytest.approx(after, abs=1e-14)
    largest = gain.max()
    error = channel.inference_error(prior, largest - gain)
    assert error == pytest.approx(largest - after, abs=1e-14)


@cases(20)
@given(seeds, sizes, sizes)
def test_what_is_computed_from_reports_leaks_no_more(seed, n, m):
    channel, prior, rule, gain = drawn(seed, n, m)
    after = channel.then(rule)
    more, less = (c.leakage(prior, lo.Utility(gain)) for c in (channel, after))
    assert less.posterior_vulnerability <= more.posterior_vulnerability + 1e-14
    assert after.inference_error(prior, gain) >= channel.inference_error(prior, gain) - 1e-14
    assert after.mutual_information(prior) <= channel.mutual_information(prior) + 1e-13
    assert after.bayes_capacity <= channel.bayes_capacity + 1e-14
    assert lo.find_refinement(channel, after).verdict == "refined"


@cases(20)
@given(seeds, sizes, sizes)
def test_capacities_bound_every_leakage(seed, n, m):
    channel, prior, _, gain = drawn(seed, n, m)
    assert (
        1 - 1e-14 <= channel.leakage(prior, gain).multiplicative <= channel.bayes_capacity + 1e-14
    )
    assert channel.leakage(np.full(n, 1 / n)).multiplicative == pytest.approx(
        channel.bayes_capacity, abs=1e-13
    )
    found = channel.shannon_capacity(1e-6)
    assert 0 <= found.gap <= 1e-6
    assert channel.mutual_information(prior) <= found.bound
    assert channel.mutual_information(found.prior) == pytest.approx(found.value, abs=1e-14)
    assert found.value <= math.log(min(n, m)) + 1e-12


@cases(8)
@given(seeds, st.integers(2, 4), st.sampled_from([0.1, 1.0, 3.0]))
def test_privacy_limits_what_leaks(seed, n, epsilon):
    prior = np.random.default_rng(seed).dirichlet(np.ones(n))
    found = lo.solve(lo.Problem(prior, "identity", lo.PureLDP(epsilon))).mechanism
    assert found.bayes_capacity <= math.exp(epsilon) * (1 + 1e-12)
    assert found.shannon_capacity().bound <= epsilon + 1e-9


def entropy(*shares):
    return -sum(p * math.log(p) for p in shares if p)


@pytest.mark.parametrize(
    "channel, capacity",
    [
        ([[0.75, 0.25], [0.25, 0.75]], math.log(2) - entropy(0.75, 0.25)),
        ([[0.75, 0.25, 0.0], [0.0, 0.25, 0.75]], 0.75 * math.log(2)),
        ([[1.0, 0.0], [0.5, 0.5]], math.log(1.25)),
        ([[0.5, 0.5], [0.5, 0.5]], 0.0),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], math.log(3)),
        (np.full((4, 4), 0.1) + 0.6 * np.eye(4), math.log(4) - entropy(0.7, 0.1, 0.1, 0.1)),
        ([[1.0]], 0.0),
    ],
    ids=["symmetric", "erasure", "Z", "constant", "truth", "randomized response", "one answer"],
)
def test_shannon_capacity_has_its_closed_forms(channel, capacity):
    found = lo.Mechanism(channel).shannon_capacity()
    assert found.value <= capacity + 1e-14
    assert found.bound >= capacity
    assert found.gap <= 1e-9


def test_labels_decide_and_gains_are_distinguished_from_losses():
    coin = lo.Mechanism([[0.75, 0.25], [0.5, 0.5]], ["no", "yes"])
    gain = pd.DataFrame([[0.0, 1.0], [1.0, 0.0]], index=["yes", "no"], columns=["no", "yes"])
    found = coin.leakage({"yes": 0.4, "no": 0.6}, gain)
    assert found.posterior_vulnerability == pytest.approx(0.65)
    assert (found.guess, found.guesses) == ("no", {"no": "no", "yes": "yes"})
    with refused("loss"):
        coin.leakage([0.5, 0.5], lo.Utility([[0, 1], [1, 0]], "loss"))
    with refused("gain"):
        coin.inference_error([0.5, 0.5], "identity")
    with pytest.raises(StatementError, match="gap"):
        coin.shannon_capacity(0)
    assert math.isnan(coin.leakage([0.5, 0.5], np.zeros((2, 2))).multiplicative)


# Refinement


@cases(20)
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_both_bounds_of_a_refinement_are_exact(seed, n, m, k):
    first, _, _, _ = drawn(seed, n, m)
    second, _, _, _ = drawn(seed + 1, n, k)
    found = lo.find_refinement(first, second)
    rule = [[Fraction(v) for v in row] for row in found.rule]
    assert all(sum(row) == 1 and min(row) >= 0 for row in rule)
    a, b = ([[Fraction(int(v), 2**53) for v in row] for row in c.masses] for c in (first, second))
    reached = [[sum(a[x][y] * rule[y][z] for y in range(m)) for z in range(k)] for x in range(n)]
    assert found.high == max(
        sum(max(Fraction(0), b[x][z] - reached[x][z]) for z in range(k)) for x in range(n)
    )
    assert found.low <= found.high <= found.low + Fraction(1, 10**9)
    if found.verdict == "not refined":
        gains = [
            c.leakage(found.prior, found.gain.matrix).posterior_vulnerability
            for c in (first, second)
        ]
        assert gains[1] - gains[0] >= float(found.low) - 1e-9
        assert found.gain.matrix.min() >= 0
        assert found.gain.matrix.max() <= 1


def test_refinement_of_merged_reports_is_exact():
    first = lo.Mechanism(np.random.default_rng(4).dirichlet(np.ones(5), 4))
    merged = first.remapped([0.25] * 4)
    assert lo.find_refinement(first, merged, tolerance=0).high == 0
    assert lo.find_refinement(first, first, tolerance=0).verdict == "refined"


def test_refinement_goes_by_label():
    first = lo.Mechanism([[0.9, 0.1], [0.2, 0.8]], ["no", "yes"])
    turned = lo.Mechanism([[0.2, 0.8], [0.9, 0.1]], ["yes", "no"], ["a", "b"])
    assert lo.find_refinement(first, turned, tolerance=0).verdict == "refined"
    with pytest.raises(StatementError, match="different inputs"):
        lo.find_refinement(first, np.eye(2))
    with pytest.raises(MechanismError):
        lo.find_refinement(first, [[0.5, 0.4], [0.5, 0.5]])
