"""Two stages for a parameter: information beside numbers computed apart, errors near the floor,
coverage of the interval, privacy whatever the pilot finds.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import THOROUGH, refused, thorough_or
from ldpopt.stages import GaussianMean, Rate, adapted, estimate, family_of, optimum

FAMILY = GaussianMean(1.0, (-3, 3))


@pytest.mark.parametrize(
    ("epsilon", "information"), [(1.0, 0.13595), (2.0, 0.36926), (4.0, 0.74996)]
)
def test_information_is_that_which_was_computed_apart(epsilon: float, information: float) -> None:
    best = optimum(FAMILY, 0.0, epsilon)
    assert best.value == pytest.approx(information, abs=5e-6)
    assert 0 <= best.gap <= 1e-12
    assert best.mechanism.audit().epsilon <= epsilon


def thresholds(border: float, epsilon: float) -> lo.Mechanism:
    """The report whether a number is above a border, by a coin."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    middle = (FAMILY.edges[:-1] + FAMILY.edges[1:]) / 2
    rows = np.where((middle > border)[:, None] == np.array([False, True]), right, 1 - right)
    return lo.Mechanism(rows, FAMILY.inputs)


second_stage = functools.cache(adapted)  # a few pilots find the same value


def two_stages(theta: float, people: int, epsilon: float, rng: Any) -> lo.Estimate:
    """A pilot of 20 % at two borders, and the second stage at what it finds."""
    shares = FAMILY.probabilities(theta)
    size = people // 10
    pilot = []
    for border in (-1.0, 1.0):
        mechanism = thresholds(border, epsilon)
        seen = rng.multinomial(size, shares @ mechanism.channel)
        pilot.append((mechanism, dict(enumerate(seen.tolist()))))
    first = estimate(FAMILY, *pilot[0], pilot=pilot[1:], check_fit=False)
    second = second_stage(FAMILY, round(float(first.values[0]), 1), epsilon)
    seen = rng.multinomial(people - 2 * size, shares @ second.channel)
    counts = dict(zip(second.outputs, seen.tolist(), strict=True))
    return estimate(FAMILY, second, counts, pilot=pilot, check_fit=False)


@pytest.mark.parametrize("theta", [pytest.param(0.0, marks=pytest.mark.long), 1.5])
def test_the_error_is_near_the_floor_and_intervals_cover(theta: float) -> None:
    repeats = 300 if THOROUGH else 15
    rng = np.random.default_rng(3)
    found = [two_stages(theta, 10_000, 1.0, rng) for _ in range(repeats)]
    error = math.sqrt(np.mean([(each.values[0] - theta) ** 2 for each in found]))
    floor = 1 / math.sqrt(10_000 * optimum(FAMILY, theta, 1.0).value)
    spread = 1 + 3 / math.sqrt(2 * repeats)
    assert error <= 1.2 * floor * spread
    covered = np.mean([each.interval[0, 0] <= theta <= each.interval[0, 1] for each in found])
    assert covered >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.parametrize("pilot", [-99.0, -3.0, 0.1, 2.0, 1e9])
def test_the_second_stage_is_private_whatever_the_pilot_found(pilot: float) -> None:
    for family in (FAMILY, Rate((0.5, 4.0))):
        assert adapted(family, pilot, 1.0).audit(lo.PureLDP(1.0)).verdict == "certified"


def test_the_most_likely_value_is_that_of_a_fine_grid() -> None:
    mechanism = adapted(FAMILY, 0.5, 2.0)
    counts = dict(zip(mechanism.outputs, (700, 300), strict=False))
    found = estimate(FAMILY, mechanism, counts, check_fit=False)
    seen = np.array([counts.get(y, 0) for y in mechanism.outputs])

    def heights(grid: Any) -> Any:
        shares = np.array([FAMILY.probabilities(theta) for theta in grid])
        return np.log(shares @ mechanism.channel) @ seen

    # all values of the domain in small steps, and finer ones where the right values are
    (best,), (ends,) = found.values, found.interval
    near = [np.arange(-0.002, 0.002, 1e-4) + each for each in (best, *ends)]
    grid = np.sort(np.concatenate([np.linspace(-3, 3, thorough_or(1201, 60_001)), *near]))
    found_heights = heights(grid)
    assert best == pytest.approx(grid[found_heights.argmax()], abs=2e-4)
    inside = grid[2 * (found_heights.max() - found_heights) <= 1.959964**2]
    assert ends == pytest.approx([inside.min(), inside.max()], abs=3e-4)
    wider = found.at(0.99).interval[0]
    assert wider[0] < found.interval[0, 0] < found.interval[0, 1] < wider[1]


def test_scores_are_the_derivatives_of_the_probabilities() -> None:
    own = family_of(lambda t: FAMILY.probabilities(t), (-3, 3), FAMILY.inputs)
    for theta in (-2.0, 0.3, 2.9):
        shares = FAMILY.probabilities(theta)
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        assert shares @ FAMILY.scores(theta) == pytest.approx(0, abs=1e-12)
        likely = shares > 1e-4
        assert own.scores(theta)[likely] == pytest.approx(
            FAMILY.scores(theta)[likely], rel=1e-5, abs=1e-9
        )
    rate = Rate((0.5, 4.0))
    assert rate.probabilities(4.0).sum() == pytest.approx(1, abs=1e-12)
    assert rate.probabilities(4.0)[-1] < 2e-3
    assert rate.code([0, 3, 500]).tolist() == [0, 3, rate.most]


def test_what_is_refused() -> None:
    with refused("domain"):
        GaussianMean(1.0, (3, -3))
    with refused("positive"):
        GaussianMean(0.0, (-3, 3))
    with refused("positive"):
        Rate((0.0, 3.0))
    with refused("function"):
        family_of(3, (0, 1))  # type: ignore[arg-type]
    with refused("sum"):
        family_of(lambda t: [t, t], (0.1, 0.9))
    with refused("missing-answer"):
        FAMILY.code([0.1, math.nan])
    with refused("number-of-events"):
        Rate((0.5, 4.0)).code([0.5])
    with refused("pilot"):
        adapted(FAMILY, lo.Estimate([0.1, 0.2], [1, 1], 3), 1.0)
    with refused("no-information"):
        optimum(family_of(lambda t: [0.5, 0.5], (0, 1)), 0.5, 1.0)
    mechanism = adapted(FAMILY, 0.0, 1.0)
    with refused("answers"):
        estimate(FAMILY, lo.Mechanism([[0.7, 0.3], [0.3, 0.7]]), {0: 5, 1: 5})
    with refused("weights"):
        estimate(FAMILY, mechanism, lo.Counts.of(mechanism, [0, 1], weights=[1.0, 2.0]))
    counts = lo.Counts.of(mechanism, [0, 1])
    with refused("stages"):
        estimate(FAMILY, mechanism, counts, pilot=[(mechanism, counts)])
    with refused("pilot"):
        estimate(FAMILY, mechanism, counts, pilot=[mechanism])  # type: ignore[list-item]


def test_scores_beyond_the_domain_are_those_of_its_end():
    for family in (Rate((0.5, 4.0), most=2), family_of(lambda t: [1 - t, t], (0.1, 0.9))):
        low, high = family.domain
        assert family.scores(high + 5).tolist() == family.scores(high).tolist()
        assert family.scores(low - 5).tolist() == family.scores(low).tolist()
        with refused("real-number"):
            family.scores([1.0, 2.0])
