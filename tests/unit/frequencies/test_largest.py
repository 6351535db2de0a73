"""The largest frequencies: their intervals hold together, although the labels are chosen by the
same reports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from builders import thorough_or
from ldpopt import estimate_frequencies
from ldpopt.errors import StatementError
from ldpopt.estimation.intervals import binomial_intervals, interval_quantile, share_intervals
from ldpopt.frequencies import LinearHash, RandomizedResponse, best


def coverage(protocol, answers, k, confidence, surveys):
    """Share of surveys in which the joint intervals hold, and in which intervals for single labels
    would."""
    truth = np.bincount(answers, minlength=len(protocol.inputs)) / len(answers)
    joint = single = 0
    for seed in range(surveys):
        counts = protocol.count(protocol.privatize(answers, rng=seed))
        found = protocol.largest(counts, k, confidence, check_fit=False)
        chosen = np.array(found.labels)
        low, high = found.interval.T
        joint += ((low <= truth[chosen]) & (truth[chosen] <= high)).all()
        low, high = protocol.estimate(counts, confidence, check_fit=False).interval[chosen].T
        single += ((low <= truth[chosen]) & (truth[chosen] <= high)).all()
    return joint / surveys, single / surveys


@pytest.mark.parametrize(
    "kind, surveys",
    [
        ("uniform", thorough_or(10, 400)),
        ("powers", thorough_or(10, 400)),
        pytest.param("equal", 300, marks=pytest.mark.long),
    ],
)
def test_joint_intervals_hold_as_often_as_they_promise_and_single_ones_do_not(kind, surveys):
    n, people = 2000, 4000
    answers = {
        "uniform": np.arange(people) % n,
        "powers": np.minimum(n - 1, np.floor(1 / np.linspace(1, 1e-3, people)).astype(np.int64)),
        "equal": np.arange(people) % 5,
    }[kind]
    joint, single = coverage(LinearHash(n, 4.0), answers, 5, 0.8, surveys)
    allowed = 3 * np.sqrt(0.8 * 0.2 / surveys)
    assert joint >= 0.8 - allowed
    if kind == "uniform":  # the labels are those with the largest noise
        assert single < 0.1


def test_ends_are_binomial_limits_with_half_of_the_risk_on_each_side():
    protocol = LinearHash(300, 3.0)
    reports = protocol.privatize(np.arange(900) % 7, rng=0)
    found = protocol.largest(reports, 4, 0.9)
    support = protocol.count(reports).values
    assert list(found.labels) == sorted(range(300), key=lambda x: (-support[x], x))[:4]
    shares = float(protocol.q) + found.interval * float(protocol.p - protocol.q)
    hits = support[list(found.labels)]
    assert binom.sf(hits - 1, 900, shares[:, 0]) == pytest.approx(np.full(4, 0.05 / 300))
    assert binom.cdf(hits, 900, shares[:, 1]) == pytest.approx(np.full(4, 0.05 / 4))
    plain = protocol.estimate(reports)
    assert found.values.tolist() == plain.values[list(found.labels)].tolist()
    assert found.std_error == pytest.approx(plain.std_error[list(found.labels)])


def test_equal_weights_change_nothing_and_labels_keep_their_names():
    protocol = RandomizedResponse(["a", "b", "c"], 2.0)
    reports = protocol.privatize(["b"] * 50 + ["c"] * 30, rng=0)
    plain, weighted = (
        protocol.largest(reports, 2, weights=weights) for weights in (None, np.full(80, 2.0))
    )
    assert plain.labels == weighted.labels == ("b", "c")
    assert weighted.interval == pytest.approx(plain.interval)
    for k, words in ((0, "k = 0"), (4, "k = 4")):
        with pytest.raises(StatementError, match=words):
            protocol.largest(reports, k)
    with pytest.raises(StatementError, match="confidence"):
        protocol.largest(reports, 1, confidence=1.0)


@pytest.mark.parametrize("n, name", [(10**6, "LinearHash"), (2 * 10**7, "LocalHashing")])
def test_the_choice_for_many_labels(n, name):
    found = best(n, 3.0, 10**6)
    assert type(found.protocol).__name__ == name
    assert ("LinearHash" in found.variances) == (n <= 10**7)


@pytest.mark.parametrize("n, epsilon, people", [(300, 5.0, 400), (2000, 6.0, 1000), (40, 1.0, 50)])
@pytest.mark.parametrize("kind", [LinearHash, RandomizedResponse])
def test_simultaneous_intervals_miss_with_the_risk_of_one_label_at_most(kind, n, epsilon, people):
    """In exact binomial sums over the counts of a label, for several frequencies; score intervals
    fail by far."""
    protocol = kind(n, epsilon)
    p = float(protocol.p)
    q = float(protocol.q)
    z = interval_quantile(0.95, n, True)
    hits = np.arange(people + 1)
    missed = {}
    for make in (binomial_intervals, share_intervals):
        low, high = make(hits / people, 1 / people, z).T
        shares = q + np.array([0.0, 0.01, 0.3, 1.0]) * (p - q)
        missed[make] = [binom.pmf(hits, people, s)[(s < low) | (high < s)].sum() for s in shares]
    assert max(missed[binomial_intervals]) <= 0.05 / n * (1 + 1e-9)
    if epsilon > 4:
        assert max(missed[share_intervals]) > 2 * 0.05 / n
    counts = protocol.count(protocol.privatize(np.arange(people) % n, rng=0))
    found = protocol.estimate(counts, simultaneous=True, check_fit=False)
    ends = (binomial_intervals(counts.values / people, 1 / people, z) - q) / (p - q)
    np.testing.assert_allclose(found.interval, ends, rtol=1e-12)
    # the same reports read by the channel: each number is a count
    if kind is RandomizedResponse and n <= 300:
        linear = estimate_frequencies(
            protocol.mechanism, counts_of_channel(protocol, counts), simultaneous=True
        )
        np.testing.assert_allclose(linear.interval, ends, atol=1e-6)


def counts_of_channel(protocol, counts):
    return {
        label: int(count)
        for label, count in zip(protocol.mechanism.outputs, counts.values, strict=True)
    }
