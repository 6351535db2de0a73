"""Goodness of fit: a bound that holds for honest reports, and flags raw answers and those of other
mechanisms."""

from __future__ import annotations

import re

import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import Mechanism, PureLDP, Survey, Workload, design, estimate_frequencies
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.fit import goodness_of_fit
from ldpopt.frequencies import FrequencyProtocol, UnaryEncoding

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KINDS = FrequencyProtocol.PUBLISHED


@pytest.mark.parametrize("people", [5, 50, 3000])
@pytest.mark.parametrize("outputs", [2, 4, 9])
def test_honest_reports_are_hardly_ever_flagged(people, outputs):
    rng = np.random.default_rng(people + outputs)
    tries = thorough_or(200, 500)
    level = 0.05
    flagged = 0
    for _ in range(tries):
        mechanism = Mechanism(rng.dirichlet(np.ones(outputs), size=3))
        seen = rng.multinomial(people, rng.dirichlet(np.ones(3)) @ mechanism.channel)
        flagged += goodness_of_fit(mechanism, dict(enumerate(seen))) < level
    assert flagged <= level * tries


@pytest.mark.parametrize("kind", KINDS)
def test_protocols(kind):
    protocol = kind(["a", "b", "c", "d"], 1.0)
    rng = np.random.default_rng(1)
    values = [
        goodness_of_fit(
            protocol, protocol.privatize(rng.choice(["a", "b", "c", "d"], size=300), rng=rng)
        )
        for _ in range(40)
    ]
    assert sum(value < 0.05 for value in values) <= 2
    everyone = protocol.count(protocol.privatize(["a"] * 3000, rng=2))
    assert goodness_of_fit(protocol, everyone) > 1e-3
    foreign = Counts(
        *(
            everyone.source,
            everyone.labels,
            0 * everyone.values,
            0 * everyone.squares,
            3000,
            3000,
            3000,
        )
    )
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
    assert goodness_of_fit(COIN, {"no": 100}) == pytest.approx(
        np.exp(-excess) * np.e * excess, rel=1e-6
    )


def test_counts_without_a_p_value_are_refused():
    with refused("no-reports"):
        goodness_of_fit(COIN, [])
    with refused("weights"):
        goodness_of_fit(COIN, Counts.of(COIN, ["no"], weights=[2.0]))


class TestFitOfEstimates:
    """Estimates of reports that hardly come from their mechanism are refused, or come with a
    warning."""

    def test_raw_answers_are_refused_unless_the_check_is_off(self):
        reports = {"no": 990, "yes": 10}
        with refused("fit") as error:
            estimate_frequencies(COIN, reports)
        assert re.search(r"p-value \d+e-\d+", error.value.what)
        found = estimate_frequencies(COIN, reports, check_fit=False)
        assert found.fit == goodness_of_fit(COIN, reports) < 1e-100
        assert found.norm_sub().fit == found.fit

    def test_doubtful_reports_have_a_warning(self):
        reports = {"no": 815, "yes": 185}  # p-value between 1e-6 and 1e-3
        assert 1e-6 < goodness_of_fit(COIN, reports) < 1e-3
        with pytest.warns(UserWarning, match="p-value"):
            estimate_frequencies(COIN, reports)

    def test_a_design_and_a_protocol_and_a_survey_refuse_as_well(self):
        weak, strong = (
            design(Workload.frequencies(["a", "b", "c"]), PureLDP(e)) for e in (1.0, 3.0)
        )
        reports = strong.mechanism.privatize(["a"] * 900, rng=1)
        with refused("fit"):
            weak.estimate(reports)
        assert strong.estimate(reports).fit == 1.0
        bits = UnaryEncoding(["a", "b", "c"], 1.0)
        with refused("fit"):
            bits.estimate(np.tile([True, False, False], (900, 1)))
        survey = Survey({"q": COIN})
        counts = {"q": Counts.of(COIN, {"no": 990, "yes": 10})}
        with refused("fit"):
            survey.estimate(counts)
        assert survey.estimate(counts, check_fit=False)["q"].fit < 1e-100

    def test_weighted_reports_have_no_p_value(self):
        counts = Counts.of(COIN, ["no"] * 99 + ["yes"], weights=np.full(100, 10.0))
        assert estimate_frequencies(COIN, counts).fit is None
