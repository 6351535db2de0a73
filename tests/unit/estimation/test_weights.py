"""Intervals and errors under weights that are related to the answer, and Norm-Sub of frequencies
alone."""

from __future__ import annotations

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import Mechanism, PureLDP, Workload, design, estimate_frequencies
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.frequencies import RandomizedResponse

Z = 1.959963984540054
SHARE, RATIO = 0.1, 5.0  # yes-sayers are reached five times less often


def coin(epsilon):
    truth = 1 / (1 + np.exp(-epsilon))
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], ["no", "yes"])


def drawn(source, channel, labels, people, rng):
    """Counts of a survey with weights that follow the answer."""
    weights = np.array([1.0, RATIO])
    reached = np.array([1 - SHARE, SHARE]) / weights
    cells = (reached / reached.sum())[:, None] * channel
    seen = rng.multinomial(people, cells.ravel()).reshape(cells.shape)
    values, squares = weights @ seen, weights**2 @ seen
    sums = float(values.sum()), float(squares.sum())
    return Counts(source.digest, labels, values, squares, *sums, people)


@pytest.mark.parametrize("kind", ["inversion", "maximum_likelihood", "protocol"])
@pytest.mark.parametrize("epsilon", [0.8, 2.0, 8.0])
def test_related_weights_are_covered(epsilon, kind):
    rng = np.random.default_rng([int(10 * epsilon), 46])
    mechanism = coin(epsilon)
    protocol = RandomizedResponse(["no", "yes"], epsilon)
    source = protocol if kind == "protocol" else source_of(mechanism, "")
    covered = []
    by_errors = []
    for _ in range(thorough_or(300, 2000)):
        counts = drawn(source, mechanism.channel, ("no", "yes"), 1500, rng)
        if kind == "protocol":
            found = protocol.estimate(counts)
        else:
            found = estimate_frequencies(mechanism, counts, method=kind)
        low, high = found.interval[1]
        covered.append(low <= SHARE <= high)
        by_errors.append(abs(found.values[1] - SHARE) <= Z * found.std_error[1])
    slack = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    assert abs(np.mean(covered) - 0.95) <= slack + 0.01
    assert abs(np.mean(by_errors) - 0.95) <= slack + 0.015


def test_equal_weights_change_nothing():
    mechanism = coin(1.0)
    reports = ["no"] * 60 + ["yes"] * 40
    plain, weighted = (
        estimate_frequencies(mechanism, reports, weights=weights)
        for weights in (None, np.full(100, 2.0))
    )
    assert weighted.interval == pytest.approx(plain.interval, rel=1e-12)
    assert weighted.std_error == pytest.approx(plain.std_error, rel=1e-12)


ANSWERS = ["a", "b", "c"]


@pytest.mark.parametrize(
    "work",
    [
        Workload.prefix(ANSWERS),
        Workload.ranges(ANSWERS),
        Workload([[0, 10, 20], [0, 100, 400]], ANSWERS, ["mean", "square"]),
    ],
)
def test_numbers_that_are_no_frequencies_are_not_projected(work):
    best = design(work, PureLDP(1.0))
    found = best.estimate(best.mechanism.privatize(ANSWERS * 100, rng=1))
    assert not found.is_distribution
    with refused("frequencies"):
        found.norm_sub()
    found.summary()


def test_frequencies_of_all_answers_are_projected():
    best = design(Workload.frequencies(ANSWERS), PureLDP(1.0))
    found = best.estimate(best.mechanism.privatize(ANSWERS * 100, rng=1))
    assert found.norm_sub().values.sum() == pytest.approx(1)
    protocol = RandomizedResponse(ANSWERS, 1.0)
    reports = protocol.privatize(ANSWERS * 100, rng=1)
    assert protocol.estimate(reports).norm_sub().values.sum() == pytest.approx(1)
    with refused("frequencies"):
        protocol.largest(reports, 2).norm_sub()
