"""The basics as introductions tell them (Dwork and Roth 2014, chapters 2 and 3), and what they gloss over."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from ldpopt import ApproximateLDP, PureLDP, audit, closed_forms, estimate_frequencies, neighbors, noise
from ldpopt.errors import StatementError
from ldpopt.frequencies import RandomizedResponse

COIN = closed_forms.coin()


def test_two_coins():
    """Heads: the truth; tails: a second coin answers."""
    channel = COIN.mechanism.channel
    outcomes = list(itertools.product("HT", repeat=2))
    for row, truth in enumerate(("no", "yes")):
        answers = [truth if first == "H" else ("yes" if second == "H" else "no") for first, second in outcomes]
        assert channel[row].tolist() == [answers.count("no") / 4, answers.count("yes") / 4]


def test_proposition_is_ln_3_two_sided():
    found = COIN.mechanism.audit(PureLDP("log(3)"))
    assert (found.verdict, str(COIN.epsilon.ratio)) == ("certified", "3")
    assert COIN.mechanism.audit().epsilon == pytest.approx(math.log(3), rel=1e-15)
    assert COIN.mechanism.audit(PureLDP(math.log(3) - 1e-9)).verdict == "violated"
    channel = COIN.mechanism.channel
    assert channel[1, 1] / channel[0, 1] == channel[0, 0] / channel[1, 0] == 3
    # It is randomized response at that budget, which nothing beats for the truth.
    assert np.array_equal(RandomizedResponse(["no", "yes"], "log(3)").mechanism.channel, channel)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, math.log(3) + 0.01, 2.0])
def test_delta_curve_of_the_coin(epsilon):
    """Over all events of the definition, by brute force: max(0, 3/4 - e^epsilon / 4)."""
    channel, events = COIN.mechanism.channel, [(), (0,), (1,), (0, 1)]
    worst = max(
        channel[x, list(event)].sum() - math.exp(epsilon) * channel[1 - x, list(event)].sum()
        for x in (0, 1)
        for event in events
    )
    assert worst == pytest.approx(max(0.0, 3 / 4 - math.exp(epsilon) / 4), abs=1e-15)
    assert COIN.delta_at(epsilon) == pytest.approx(worst, abs=1e-12)
    assert COIN.mechanism.audit().delta_at(epsilon) == pytest.approx(worst, abs=1e-12)
    assert COIN.mechanism.audit(ApproximateLDP(epsilon, worst + 1e-12)).verdict == "certified"


def test_deniability():
    """A "yes" from somebody innocent has probability 1/4; a report moves a belief by the factor 3 at most."""
    assert COIN.mechanism.channel[0, 1] == 0.25
    for prior in (0.01, 0.1, 0.5):
        after = COIN.mechanism.posterior({"no": 1 - prior, "yes": prior})[1, 1]
        assert (after / (1 - after)) / (prior / (1 - prior)) == pytest.approx(3)


def test_survey_of_100_people():
    """30 report "yes": (0.30 - 0.25) / 0.5 = 10 %, give or take 9."""
    estimate = estimate_frequencies(COIN.mechanism, {"yes": 30, "no": 70}, intervals="normal")
    assert estimate.values[1] == pytest.approx(0.10, abs=1e-12)
    assert estimate.std_error[1] == pytest.approx(0.0917, abs=5e-5)
    assert estimate.interval[1] == pytest.approx([-0.0796, 0.2796], abs=5e-5)
    # Clopper and Pearson's exact interval of the reports, turned back.
    exact = binomtest(30, 100).proportion_ci(0.95, method="exact")
    assert [(exact.low - 0.25) / 0.5, (exact.high - 0.25) / 0.5] == pytest.approx([-0.075, 0.300], abs=5e-4)
    # Were nobody guilty, so many "yes" or more would come in one survey of seven.
    assert binom.sf(29, 100, 0.25) == pytest.approx(0.150, abs=1e-3)
    assert RandomizedResponse(["no", "yes"], "log(3)").estimate({"yes": 30, "no": 70}).values[1] == pytest.approx(0.10)


def test_coverage_of_the_surveys_interval():
    """With 10 of 100 guilty, the interval holds the truth in about 95 of 100 surveys."""
    crowd, rng = ["yes"] * 10 + ["no"] * 90, np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        low, high = estimate_frequencies(COIN.mechanism, COIN.mechanism.sample(crowd, rng=rng)).interval[1]
        covered += low <= 0.10 <= high
    assert covered >= 358  # 380 less 5 standard errors


def test_sensitivity_depends_on_who_is_a_neighbor():
    """Add or remove one person: l1 distance 1. Replace one (Hamming distance 1): l1 distance 2."""
    people = neighbors.histograms(3, 4)
    assert noise.sensitivity(lambda counts: counts, people) == 1.0
    assert noise.sensitivity(sum, people) == 1.0  # a count
    assert noise.sensitivity(lambda counts: 5 * counts[0] - 2 * counts[1], people) == 5.0
    fixed = {node: node for node in people.nodes if sum(node) == 4}
    replaced = neighbors.within(fixed, lambda x, y: sum(abs(a - b) for a, b in zip(x, y, strict=True)), 2)
    assert noise.sensitivity(lambda counts: counts, replaced) == 2.0
    assert noise.sensitivity(lambda counts: counts, replaced, norm=2) == pytest.approx(math.sqrt(2))
    assert noise.sensitivity(lambda counts: counts, replaced, norm="inf") == 1.0
    assert noise.sensitivity(lambda counts: counts[0], replaced) == 1.0


@pytest.mark.parametrize(
    "query, options, words",
    [
        (lambda counts: math.inf if counts[0] else 0.0, {}, "not finite"),
        (lambda counts: [0.0] * (1 + counts[0]), {}, "different shapes"),
        (sum, {"norm": 3}, "norm = 3"),
    ],
)
def test_sensitivity_refuses(query, options, words):
    with pytest.raises(StatementError, match=words):
        noise.sensitivity(query, neighbors.histograms(2, 2), **options)


@pytest.mark.parametrize("sensitivity, epsilon", [(1.0, 1.0), (3.0, 0.5)])
def test_laplace_density_and_mechanism(sensitivity, epsilon):
    law, r = noise.Laplace(sensitivity, epsilon), np.linspace(-9, 9, 181)
    scale = sensitivity / epsilon
    assert np.allclose(law.pdf(r), np.exp(-np.abs(r) / scale) / (2 * scale), rtol=1e-14)
    assert (law.scale, law.expected_abs, law.variance) == (scale, scale, 2 * scale**2)
    # The densities of two neighbors differ by e^epsilon where the answers differ by all of the sensitivity, no further.
    ratio = law.pdf(r) / law.pdf(r - sensitivity)
    assert ratio.max() == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert ratio.min() == pytest.approx(math.exp(-epsilon), rel=1e-12)
    drawn = law.sample(100_000, rng=1)
    assert abs(np.abs(drawn).mean() - scale) < 5 * scale / math.sqrt(len(drawn))


def test_laplace_on_the_grid_is_drawn_exactly():
    """Floats leak; the grid version's masses are rationals whose ratio keeps the real e^epsilon."""
    geometric = noise.Laplace(1.0, "log(3)").on_grid(1.0)
    assert all(geometric.mass(k) <= 3 * geometric.mass(k + 1) for k in range(40))
    rows = geometric.truncated(6)
    assert rows.audit(PureLDP("log(243)")).verdict == "certified"  # five steps at ln 3 each
    step = audit(rows.channel[:2], PureLDP("log(3)"))
    assert step.verdict == "certified"
