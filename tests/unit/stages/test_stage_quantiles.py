"""A median in two stages: fewer people than at once, coverage, brackets, ends of the scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
from builders import THOROUGH, refused, thorough_or
from ldpopt.stages import estimate_quantile, quantile, quantiles

N = 64
MIDDLES = np.arange(N) + 0.5
HUMPS = ((12, 4), (52, 4))
LAWS = {
    "smooth": np.exp(-0.5 * ((MIDDLES - 27.5) / 8) ** 2)
    + 0.15 * np.exp(-0.5 * ((MIDDLES - 51.2) / 3.2) ** 2),
    "uniform": np.ones(N),
    "exponential": np.exp(-MIDDLES / 8),
    "humps": sum(np.exp(-0.5 * ((MIDDLES - m) / s) ** 2) for m, s in HUMPS) + 0.02,
    "steps": 1.0 + 4 * (np.arange(N) % 8 == 0),
}


@pytest.fixture(scope="module")
def prefix() -> lo.Design:
    """The design for all shares, to a gap of 1e-2, as that of the pilot."""
    return lo.design(lo.Workload.prefix(range(N)), lo.PureLDP(1.0), gap=1e-2)


def draw(design: Any, law: Any, people: int, rng: Any) -> dict[Any, int]:
    """Counts of the reports of people with a law of the answers."""
    seen = rng.multinomial(people, law @ design.mechanism.channel)
    return dict(zip(design.mechanism.outputs, seen.tolist(), strict=True))


def median_of(law: Any) -> float:
    """The median, linear within answers."""
    return float(np.interp(0.5, np.append(0.0, np.cumsum(law)), np.arange(N + 1)))


@pytest.fixture
def _each_design_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilots with the same bracket have the same second stage, and it takes most of the time."""
    made: dict[Any, lo.Design] = {}

    def design_once(workload: lo.Workload, notion: Any, **options: Any) -> lo.Design:
        if workload.names not in made:
            made[workload.names] = lo.design(workload, notion, **options)
        return made[workload.names]

    monkeypatch.setattr(quantiles, "design", design_once)


# The smooth law saves 2.8 (3600 surveys), the exponential one 3.0 (1400). The ratio of the errors
# of 600 surveys has a relative error of .1, and other draws on other processors, where designs
# differ in their last digits. Where brackets are wide nearly each pilot has one of its own:
# several surveys follow it; in the usual set all of them follow one, whose second stage takes most
# of the time.
@pytest.mark.usefixtures("_each_design_once")
@pytest.mark.parametrize(
    ("name", "gain", "surveys", "pilots"),
    [
        ("smooth", 2.1, 400, 400),
        ("exponential", 2.3, 400, 400),
        pytest.param("uniform", 0.8, 200, 25, marks=pytest.mark.long),
        ("humps", 0.8, 200, 25),
        pytest.param("steps", 1.2, 200, 200, marks=pytest.mark.long),
    ],
)
def test_fewer_people_and_coverage(
    name: str, gain: float, surveys: int, pilots: int, prefix: lo.Design
) -> None:
    repeats, pilots = thorough_or((20, 1), (surveys, pilots))
    law = LAWS[name] / LAWS[name].sum()
    true = median_of(law)
    rng = np.random.default_rng(7)
    people = 40_000
    once, twice, covered = [], [], 0
    for repeat in range(repeats):
        if THOROUGH:
            at_once = prefix.estimate(draw(prefix, law, people, rng), check_fit=False)
            once.append(at_once.quantile(0.5, edges=range(N + 1)).values[0])
        if repeat % (repeats // pilots) == 0:
            pilot = prefix.estimate(draw(prefix, law, people // 5, rng), check_fit=False)
            stage = quantile(pilot, 0.5, 1.0)
        reports = draw(stage, law, people - people // 5, rng)
        found = estimate_quantile(stage, reports, 0.5, check_fit=False)
        twice.append(found.values[0])
        covered += found.interval[0, 0] <= true <= found.interval[0, 1]
    if THOROUGH:
        errors = [np.mean((np.array(each) - true) ** 2) for each in (once, twice)]
        assert errors[0] / errors[1] >= gain
    assert covered / repeats >= 0.92 - 3 * math.sqrt(0.05 / repeats) * (not THOROUGH)


def test_a_bracket_has_few_thresholds_around_the_quantile(prefix: lo.Design) -> None:
    law = LAWS["smooth"] / LAWS["smooth"].sum()
    rng = np.random.default_rng(0)
    names = quantile(prefix.estimate(draw(prefix, law, 20_000, rng)), 0.5, 1.0).workload.names
    assert 2 <= len(names) <= 25
    assert names[0] <= median_of(law) <= names[-1] + 1
    few = prefix.estimate(draw(prefix, law, 200, rng), check_fit=False)  # practically nothing
    wide = quantile(few, 0.5, 1.0)
    assert len(wide.workload.names) <= 25
    assert np.diff(wide.workload.names).max() > 1


def test_beyond_the_bracket_the_interval_reaches_the_end_of_the_scale() -> None:
    stage = lo.design(lo.Workload([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], list("abcde")), lo.PureLDP(1))
    law = np.array([0.9, 0.025, 0.025, 0.025, 0.025])  # the median is below all thresholds
    seen = np.rint(1e5 * law @ stage.mechanism.channel).astype(int).tolist()
    reports = dict(zip(stage.mechanism.outputs, seen, strict=True))
    found = estimate_quantile(stage, reports, 0.5, edges=[0, 10, 20, 30, 40, 50])
    assert found.interval[0].tolist() == [0.0, 20.0]
    assert found.values[0] == 20.0
    unbounded = estimate_quantile(stage, reports, 0.5, edges=[-math.inf, 10, 20, 30, 40, 50])
    assert unbounded.interval[0, 0] == -math.inf


def test_what_is_refused(prefix: lo.Design) -> None:
    with refused("type"):
        quantile(3, 0.5, 1.0)  # type: ignore[arg-type]
    coin = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    with refused("answers"):
        quantile(lo.estimate_frequencies(coin, {0: 5, 1: 6}), 0.5, 1.0)
    means = lo.design(lo.Workload.frequencies(4), lo.PureLDP(1.0))
    with refused("thresholds"):
        estimate_quantile(means, {y: 5 for y in means.mechanism.outputs}, 0.5)
    with refused("share"):
        estimate_quantile(prefix, {}, 1.5)
