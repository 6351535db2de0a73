"""The basics (Dwork and Roth 2014, chapters 2 and 3) by definition; `introduction.py` compares the
printed numbers."""

import math

import pytest

from builders import refused
from ldpopt import ApproximateLDP, PureLDP, audit, closed_forms, neighbors, noise

COIN = closed_forms.coin()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, math.log(3) + 0.01, 2.0])
def test_delta_curve_of_the_coin_over_all_events(epsilon):
    channel = COIN.mechanism.channel
    events = [(), (0,), (1,), (0, 1)]
    worst = max(
        channel[x, list(event)].sum() - math.exp(epsilon) * channel[1 - x, list(event)].sum()
        for x in (0, 1)
        for event in events
    )
    assert worst == pytest.approx(max(0.0, 3 / 4 - math.exp(epsilon) / 4), abs=1e-15)
    assert COIN.delta_at(epsilon) == pytest.approx(worst, abs=1e-12)
    assert COIN.mechanism.audit().delta_at(epsilon) == pytest.approx(worst, abs=1e-12)
    assert COIN.mechanism.audit(ApproximateLDP(epsilon, worst + 1e-12)).verdict == "certified"


def test_the_coin_is_private_at_ln_3_and_not_below():
    assert (COIN.mechanism.audit(PureLDP("log(3)")).verdict, COIN.epsilon.ratio) == ("certified", 3)
    assert COIN.mechanism.audit(PureLDP(math.log(3) - 1e-9)).verdict == "violated"
    for prior in (0.01, 0.1, 0.5):  # a report multiplies the odds of "yes" by three
        after = COIN.mechanism.posterior({"no": 1 - prior, "yes": prior})[1, 1]
        assert (after / (1 - after)) / (prior / (1 - prior)) == pytest.approx(3)


def test_sensitivity_depends_on_the_neighbors():
    """Add or remove one person: l1 distance 1. Replace one (Hamming distance 1): l1 distance 2."""
    people = neighbors.histograms(3, 4)
    assert noise.sensitivity(lambda counts: counts, people) == 1.0
    assert noise.sensitivity(sum, people) == 1.0  # a count
    assert noise.sensitivity(lambda counts: 5 * counts[0] - 2 * counts[1], people) == 5.0
    fixed = {node: node for node in people.nodes if sum(node) == 4}
    replaced = neighbors.within(
        fixed, lambda x, y: sum(abs(a - b) for a, b in zip(x, y, strict=True)), 2
    )
    found = [
        noise.sensitivity(lambda counts: counts, replaced, norm=norm) for norm in (1, 2, "inf")
    ]
    assert found == pytest.approx([2.0, math.sqrt(2), 1.0])
    assert noise.sensitivity(lambda counts: counts[0], replaced) == 1.0


@pytest.mark.parametrize(
    "query, options, code",
    [
        (lambda counts: math.inf if counts[0] else 0.0, {}, "change"),
        (lambda counts: [0.0] * (1 + counts[0]), {}, "lengths"),
        (sum, {"norm": 3}, "norm"),
    ],
)
def test_sensitivity_refuses_other_queries_and_norms(query, options, code):
    with refused(code):
        noise.sensitivity(query, neighbors.histograms(2, 2), **options)


def test_laplace_noise_on_a_grid_is_exactly_private():
    """Floats leak; the masses on a grid are rationals whose ratios are at most the real
    e^epsilon."""
    geometric = noise.Laplace(1.0, "log(3)").on_grid(1.0)
    assert all(geometric.mass(k) <= 3 * geometric.mass(k + 1) for k in range(40))
    rows = geometric.truncated(6)
    assert rows.audit(PureLDP("log(243)")).verdict == "certified"  # five steps at ln 3 each
    assert audit(rows.channel[:2], PureLDP("log(3)")).verdict == "certified"
