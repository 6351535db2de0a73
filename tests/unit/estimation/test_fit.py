"""Goodness of fit: a bound that holds for honest reports, and flags raw answers and those of other mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import Mechanism, PureLDP, Workload, design
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, goodness_of_fit
from ldpopt.frequencies import FrequencyProtocol

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KINDS = FrequencyProtocol.PUBLISHED


@pytest.mark.parametrize("people", [5, 50, 3000])
@pytest.mark.parametrize("outputs", [2, 4, 9])
def test_honest_reports_are_hardly_ever_flagged(people, outputs):
    rng = np.random.default_rng(people + outputs)
    tries, level = thorough_or(200, 1000), 0.05
    flagged = 0
    for _ in range(tries):
        mechanism = Mechanism(rng.dirichlet(np.ones(outputs), size=3))
        seen = rng.multinomial(people, rng.dirichlet(np.ones(3)) @ mechanism.channel)
        flagged += goodness_of_fit(mechanism, dict(enumerate(seen))) < level
    assert flagged <= level * tries


@pytest.mark.parametrize("kind", KINDS)
def test_protocols(kind):
    protocol, rng = kind(["a", "b", "c", "d"], 1.0), np.random.default_rng(1)
    values = [
        goodness_of_fit(protocol, protocol.privatize(rng.choice(["a", "b", "c", "d"], size=300), rng=rng))
        for _ in range(40)
    ]
    assert sum(value < 0.05 for value in values) <= 2
    everyone = protocol.count(protocol.privatize(["a"] * 3000, rng=2))
    assert goodness_of_fit(protocol, everyone) > 1e-3
    foreign = Counts(*(everyone.source, everyone.labels, 0 * everyone.values, 0 * everyone.squares, 3000, 3000, 3000))
    assert goodness_of_fit(protocol, foreign) < 1e-6


def test_raw_answers_and_foreign_reports_are_flagged():
    assert goodness_of_fit(COIN, {"no": 900, "yes": 100}) < 1e-6
    other = Mechanism([[0.95, 0.05], [0.05, 0.95]], ["no", "yes"])
    assert goodness_of_fit(COIN, other.sample(["no"] * 1000, rng=1)) < 1e-6
    best = design(Workload.prefix(5), PureLDP(1.0))
    assert goodness_of_fit(best, best.mechanism.sample([0, 1, 2, 3, 4] * 300, rng=1)) > 1e-3
    assert goodness_of_fit(best, {best.mechanism.outputs[0]: 1500}) < 1e-6
    never = Mechanism([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    assert goodness_of_fit(never, {2: 1, 0: 3}) == 0.0


def test_the_bound_by_hand():
    # All reports "no": the nearest distribution has 3/4 of them, so G = N log(4/3), and m - 1 = 1.
    excess = 100 * np.log(4 / 3)
    assert goodness_of_fit(COIN, {"no": 100}) == pytest.approx(np.exp(-excess) * np.e * excess, rel=1e-6)


def test_counts_without_a_p_value_are_refused():
    with pytest.raises(StatementError, match="no reports"):
        goodness_of_fit(COIN, [])
    with pytest.raises(StatementError, match="weighted"):
        goodness_of_fit(COIN, Counts.of(COIN, ["no"], weights=[2.0]))
