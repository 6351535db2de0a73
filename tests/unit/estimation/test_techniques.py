"""Designs of practitioners by name: their epsilon, what their reports tell, and people beside the
best design of the same epsilon."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np
import pytest

from builders import refused
from ldpopt import Mechanism, plan_difference, techniques
from ldpopt.errors import StatementError
from ldpopt.estimation.linear import weighted_left_inverse

# e^epsilon, by hand
RATIOS: dict[str, tuple[Mechanism, float]] = {
    "warner": (techniques.warner("1/6"), 5),
    "crosswise": (techniques.crosswise("1/6"), 5),
    "triangular": (techniques.triangular("1/6"), inf),
    "mangat": (techniques.mangat(0.7), inf),
    "two stage": (techniques.two_stage(0.3, 0.7), 79 / 21),
    "forced by a die": (techniques.forced("1/6", "1/6"), 5),
    "forced by a coin": (techniques.forced(0, 0.5), inf),
    "unrelated, April": (techniques.unrelated(0.7, "1/12"), 29),
    "unrelated, house": (techniques.unrelated("2/3", "1/2"), 5),
    "kuk": (techniques.kuk(0.2, 0.8), 4),
    "kuk, 3 draws": (techniques.kuk(0.2, 0.8, draws=3), 64),
    "item count": (techniques.item_count([0.5] * 4), inf),
    "polytomous": (techniques.polytomous(["1/12"] * 3), 10),
}


@pytest.mark.parametrize("name", RATIOS)
def test_epsilon_of_designs_is_that_by_hand(name: str) -> None:
    mechanism, ratio = RATIOS[name]
    epsilon = mechanism.audit().epsilon
    assert epsilon == (inf if ratio == inf else pytest.approx(log(ratio), abs=1e-12))


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("triangular", {"neither": "no"}),
        ("mangat", {"no": "no"}),
        ("forced by a coin", {"no": "no"}),
        ("item count", {0: "no", 5: "yes"}),
    ],
)
def test_reports_that_tell(name: str, telling: dict[Any, str]) -> None:
    mechanism = RATIOS[name][0]
    only = {
        report: mechanism.inputs[int(np.flatnonzero(column)[0])]
        for report, column in zip(mechanism.outputs, mechanism.channel.T, strict=True)
        if np.count_nonzero(column) == 1
    }
    assert only == telling


def variance(channel: np.ndarray, share: float) -> float:
    """Of one person's value, for the best values at a share of yes."""
    expected = np.array([1 - share, share]) @ channel
    values = weighted_left_inverse(channel, expected)[1]
    return float(values**2 @ expected - share**2)


OF_TWO_ANSWERS = [name for name, (design, _) in RATIOS.items() if len(design.inputs) == 2]


@pytest.mark.parametrize("name", [name for name in OF_TWO_ANSWERS if RATIOS[name][1] < inf])
def test_people_beside_the_best_design_of_the_same_epsilon(name: str) -> None:
    mechanism, ratio = RATIOS[name]
    best = np.array([[ratio, 1], [1, ratio]]) / (1 + ratio)
    times = variance(mechanism.channel, 0.2) / variance(best, 0.2)
    right = {"unrelated, April": 1.427, "kuk, 3 draws": 1.515}.get(name, 1.0)
    assert times == pytest.approx(right, abs=5e-4)


def test_channels_are_those_of_the_papers() -> None:
    np.testing.assert_allclose(techniques.kuk(0.2, 0.8).channel, [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(
        techniques.unrelated(0.7, 0.25).channel, [[0.925, 0.075], [0.225, 0.775]]
    )
    binomial = np.array([1, 4, 6, 4, 1]) / 16
    np.testing.assert_allclose(
        techniques.item_count([0.5] * 4).channel, [[*binomial, 0], [0, *binomial]]
    )
    np.testing.assert_allclose(techniques.mangat(0.7).channel, [[0.7, 0.3], [0, 1]])


# what the paper writes: answer and report, and the probability of it
STATED: list[tuple[Mechanism, str, Any, float]] = [
    (techniques.warner(0.7), "yes", "yes", 0.7),
    (techniques.warner(0.7), "no", "yes", 0.3),
    (techniques.crosswise(0.2), "no", "same", 0.8),
    (techniques.crosswise(0.2), "yes", "different", 0.8),
    (techniques.two_stage(0.3, 0.6), "yes", "yes", 0.3 + 0.7 * 0.6),
    (techniques.two_stage(0.3, 0.6), "no", "yes", 0.7 * 0.4),
    (techniques.forced(0.1, 0.2), "no", "yes", 0.2),
    (techniques.forced(0.1, 0.2), "yes", "no", 0.1),
    (techniques.unrelated(0.7, 0.2), "no", "yes", 0.3 * 0.2),
    (techniques.unrelated(0.7, 0.2), "yes", "yes", 0.7 + 0.3 * 0.2),
    (techniques.mangat(0.7), "yes", "yes", 1.0),
    (techniques.mangat(0.7), "no", "yes", 0.3),
    (techniques.triangular(0.2), "yes", "at least one", 1.0),
    (techniques.triangular(0.2), "no", "at least one", 0.2),
    (techniques.kuk(0.2, 0.7, draws=3), "yes", 3, 0.7**3),
    (techniques.kuk(0.2, 0.7, draws=3), "no", 3, 0.2**3),
    (techniques.item_count([0.1, 0.3]), "no", 0, 0.9 * 0.7),
    (techniques.item_count([0.1, 0.3]), "yes", 3, 0.1 * 0.3),
    (techniques.polytomous([0.1, 0.2, 0.3], answers="abc"), "a", "a", 0.5),
    (techniques.polytomous([0.1, 0.2, 0.3], answers="abc"), "a", "c", 0.3),
]


@pytest.mark.parametrize("stated", STATED)
def test_each_row_is_that_of_its_answer(stated: tuple[Mechanism, str, Any, float]) -> None:
    mechanism, answer, report, probability = stated
    entry = mechanism.to_frame().loc[answer, report]
    assert entry == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: techniques.warner(1.2),
        lambda: techniques.warner("x"),
        lambda: techniques.warner(float("nan")),
        lambda: techniques.forced(0.6, 0.6),
        lambda: techniques.kuk(0.2, 0.8, draws=0),
        lambda: techniques.item_count(0.5),  # type: ignore[arg-type]
        lambda: techniques.item_count([]),
        lambda: techniques.polytomous("1/2"),
        lambda: techniques.unrelated(None, 0.2),
    ],
)
def test_what_is_no_probability_is_refused(call: Any) -> None:
    with pytest.raises(StatementError) as caught:
        call()
    assert caught.value.code in {"rational", "sum", "range", "sequence", "whole-number"}


# people in two groups: (technique, difference, share of the first group, ratio): by hand, as sums
PLANS = [
    (techniques.forced("1/6", "1/6"), 0.2, 1.0, (784, 784)),
    (techniques.warner(1 / (1 + exp(-2))), 0.05, 1.0, (425, 425)),
    (techniques.warner(1 / (1 + exp(-2))), 0.2, 1.0, (578, 578)),
    (techniques.warner(1 / (1 + exp(-2))), 0.5, 1.0, (672, 672)),
]


@pytest.mark.parametrize(("mechanism", "share", "ratio", "people"), PLANS)
def test_people_for_a_difference(
    mechanism: Mechanism, share: float, ratio: float, people: tuple[int, int]
) -> None:
    assert plan_difference(mechanism, 0.1, shares=share, ratio=ratio) == people
    prior = {"no": 1 - share, "yes": share}
    assert plan_difference(mechanism, {"yes": 0.1}, shares=prior, ratio=ratio) == people
    assert plan_difference(mechanism, "10%", shares=share, ratio=ratio) == people


def test_groups_of_unequal_size() -> None:
    coin = techniques.warner(1 / (1 + exp(-2)))
    assert plan_difference(coin, 0.2, shares=0.2, ratio=3) == (104, 310)


def test_without_shares_the_worst_pair_is_planned() -> None:
    coin = techniques.warner(1 / (1 + exp(-2)))
    worst = plan_difference(coin, 0.1)[0]
    grid = [plan_difference(coin, 0.1, shares=s)[0] for s in np.linspace(0, 0.9, 91)]
    assert worst == max(grid)
    assert plan_difference(coin, 0.1, effect=2.0)[0] == pytest.approx(2 * worst, abs=1)
    assert plan_difference(coin, -0.1) == plan_difference(coin, 0.1)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"difference": 0}, "range"),
        ({"difference": 1.5}, "range"),
        ({"difference": 0.1, "shares": 0.95}, "first-group"),
        ({"difference": 0.1, "power": 1.0}, "share"),
        ({"difference": 0.1, "level": 0}, "share"),
        ({"difference": 0.1, "ratio": 0}, "sign"),
        ({"difference": 0.1, "effect": 0.5}, "range"),
        ({"difference": "much"}, "real-number"),
        ({"difference": {"maybe": 0.1}}, "unknown-label"),
        ({"difference": 1e-9}, "people"),
    ],
)
def test_wrong_plans_are_refused(options: dict[str, Any], code: str) -> None:
    with refused(code):
        plan_difference(techniques.warner(0.75), **options)
