"""Goodness of fit: a bound that holds for honest reports, and flags raw answers and those of other
mechanisms."""

from __future__ import annotations

import re
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.stats import binom

from builders import refused, thorough_or
from ldpopt import Mechanism, PureLDP, Survey, Workload, design, estimate_frequencies
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.exact_fit import two_outcome_p_value
from ldpopt.estimation.fit import goodness_of_fit
from ldpopt.estimation.likelihood import most_likely
from ldpopt.frequencies import FrequencyProtocol, RandomizedResponse, UnaryEncoding

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KINDS = FrequencyProtocol.PUBLISHED


@pytest.mark.parametrize("people", [5, 50, 3000])
@pytest.mark.parametrize("outputs", [2, 4, 9])
def test_honest_reports_are_hardly_ever_flagged(people, outputs):
    rng = np.random.default_rng(people + outputs)
    tries = thorough_or(60, 500)
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
    # All reports "a": the nearest distribution has 3/5 of them, so G = N log(5/3), and m - 1 = 2.
    three = Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), ["a", "b", "c"])
    excess = 100 * np.log(5 / 3)
    bound = np.exp(-excess) * (np.e * excess / 2) ** 2
    of_one = 3 * (0.6**100 + 0.2**100)
    assert of_one < bound
    assert goodness_of_fit(three, {"a": 100}) == pytest.approx(2 * of_one, rel=1e-6)


@pytest.mark.parametrize("hits", [0, 30])
def test_equal_reports_of_a_stuck_die(hits):
    die = Mechanism([[5 / 6, 1 / 6], [1 / 6, 5 / 6]], ["no", "yes"])
    exact = (5 / 6) ** 30 + (1 / 6) ** 30
    assert goodness_of_fit(die, {"yes": hits, "no": 30 - hits}) == pytest.approx(exact, rel=1e-8)
    assert goodness_of_fit(die, {"yes": 6, "no": 24}) == 1.0
    response = RandomizedResponse(["no", "yes"], "log(5)")
    assert goodness_of_fit(response, {"yes": hits, "no": 30 - hits}) == pytest.approx(exact)


def exact_p_value(channel, counts):
    """The largest probability, over all answers of each respondent, of a divergence as large, by
    all sequences of reports."""
    number, m = int(sum(counts)), channel.shape[1]

    def divergence(seen):
        share = np.array(seen) / number
        mix = most_likely(channel, share) @ channel
        value = number * float(share[share > 0] @ np.log(share[share > 0] / mix[share > 0]))
        return max(value, 0.0) if value > 1e-9 else 0.0

    values = {
        sequence: divergence([sequence.count(y) for y in range(m)])
        for sequence in product(range(m), repeat=number)
    }
    least = divergence(counts)
    tail = [sequence for sequence, value in values.items() if value >= least - 1e-7]
    return max(
        sum(np.prod([channel[x, y] for x, y in zip(answers, each, strict=True)]) for each in tail)
        for answers in combinations_with_replacement(range(len(channel)), number)
    )


@pytest.mark.parametrize(("n", "m", "number"), [(2, 2, 6), (2, 3, 5), (3, 3, 4), (3, 4, 3)])
def test_few_reports_have_exact_p_values(n, m, number):
    rng = np.random.default_rng([n, m, number])
    for _ in range(thorough_or(2, 8)):
        mechanism = Mechanism(rng.dirichlet(np.ones(m), size=n))
        counts = rng.multinomial(number, np.eye(m)[0] * 0.7 + 0.3 / m)
        found = goodness_of_fit(mechanism, dict(enumerate(counts.tolist())))
        exact = min(1.0, exact_p_value(mechanism.channel, counts))
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-6)


@pytest.mark.parametrize("number", [1, 7, 40, 900])
@pytest.mark.parametrize(("low", "high"), [(0.25, 0.75), (0.1, 0.15), (0.0, 0.5), (0.3, 0.3)])
def test_two_outcomes_are_never_below_the_exact_tail(number, low, high):
    every = np.arange(number + 1)
    shares = np.linspace(low, high, 21)
    for hits in {0, number, number // 2, number // 5}:
        found = two_outcome_p_value(hits, number, low, high)
        if low * number <= hits <= high * number:
            assert found == 1.0
            continue
        nearest = np.clip(every / number, low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergences = np.nan_to_num(every * np.log(every / number / nearest), posinf=np.inf)
            divergences += np.nan_to_num(
                (number - every) * np.log((1 - every / number) / (1 - nearest)), posinf=np.inf
            )
        tail = every[divergences >= divergences[hits] * (1 - 1e-9)]
        exact = min(1.0, max(binom.pmf(tail, number, share).sum() for share in shares))
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-6) + 1e-300


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
        reports = {"no": 805, "yes": 195}  # p-value between 1e-6 and 1e-3
        assert 1e-6 < goodness_of_fit(COIN, reports) < 1e-3
        with pytest.warns(UserWarning, match="p-value"):
            estimate_frequencies(COIN, reports)

    def test_a_design_and_a_protocol_and_a_survey_refuse_as_well(self):
        weak, strong = (
            design(Workload.frequencies(["a", "b", "c"]), PureLDP(e)) for e in (1.0, 3.0)
        )
        fits = []
        for seed in range(20):
            reports = strong.mechanism.privatize(["a"] * 900, rng=seed)
            with refused("fit"):
                weak.estimate(reports)
            fits.append(strong.estimate(reports, check_fit=False).fit)
        # p-values of reports of the right design: below .1 at most 5 of 20 times with chance .99
        assert sum(fit < 0.1 for fit in fits) <= 5
        assert all(fit > 1e-6 for fit in fits)  # where reports are refused
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
