"""Designs for a stated share of liars: the error, its proof by intervals, files and forgeries."""

from __future__ import annotations

import functools
import json
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from both_checks import is_refused_by_both
from builders import refused, thorough_or
from ldpopt.certificate.liars_certificate import caps_within
from tampering import with_digest


@functools.cache
def for_liars(workload: lo.Workload, share: float, people: int) -> Any:
    """A design for a share of liars, made once for the tests of the same one."""
    return lo.design(workload, lo.PureLDP(1.0), liars=share, people=people)


FOUR = lo.Workload.frequencies(4)


def error(best: Any, share: float, people: int) -> float:
    """The mean squared error with liars of a design of numbers of span 1, by its definition."""
    k = len(best.names)
    largest = best.influence.largest
    return (1 - share) * best.value / (k * people) + share**2 * largest**2


@pytest.mark.parametrize(
    ("workload", "share", "people"),
    [
        (FOUR, 0.01, 10_000),
        *thorough_or([], [(FOUR, 0.05, 1000)]),
        (lo.Workload.mean([0.0, *thorough_or([], [0.25]), 0.5, 1.0]), 0.01, 1000),
    ],
)
def test_no_cap_has_less_error_with_liars(
    workload: lo.Workload, share: float, people: int, tmp_path: Path
) -> None:
    best = for_liars(workload, share, people)
    claim = best.certificate
    assert claim.recheck() == ()
    assert claim.excess <= 1e-3
    assert float(claim.criterion) == pytest.approx(error(best, share, people))
    assert best.root_mean_square == pytest.approx(float(claim.criterion) ** 0.5)
    free = lo.design(workload, lo.PureLDP(1.0))
    least = lo.least_influence(workload, lo.PureLDP(1.0))
    for cap in np.linspace(least, free.influence.largest, thorough_or(2, 7)):
        other = lo.design(workload, lo.PureLDP(1.0), influence=float(cap))
        assert error(other, share, people) >= float(claim.least)
    assert error(free, share, people) >= float(claim.criterion) * (1 - 1e-9)
    best.save(tmp_path / "design.json")
    assert checker.check(tmp_path / "design.json")
    again = lo.load_design(tmp_path / "design.json")
    assert again.certificate.recheck() == ()
    assert "liars" in str(again.facts())


def test_few_liars_take_the_free_design_and_many_the_least_influence() -> None:
    workload = lo.Workload.frequencies(4)
    free = lo.design(workload, lo.PureLDP(1.0))
    few = lo.design(workload, lo.PureLDP(1.0), liars=1e-6, people=100)
    assert few.value == pytest.approx(free.value, rel=1e-4)
    many = lo.design(workload, lo.PureLDP(1.0), liars=0.2, people=10**7)
    least = lo.least_influence(workload, lo.PureLDP(1.0))
    assert many.influence.largest == pytest.approx(least, rel=2e-3)
    # below the least influence the bound is above the error of ten million people, too
    assert many.certificate.excess <= 1e-3


def test_the_worst_case_is_refused() -> None:
    with refused("liars-objective"):
        lo.design(
            lo.Workload.frequencies(3),
            lo.PureLDP(1.0),
            objective="worst_case",
            liars=0.01,
            people=100,
        )


def test_forged_claims_about_liars_are_refused_by_both() -> None:
    best = for_liars(FOUR, 0.01, 10_000)
    data = json.loads(json.dumps(best.certificate.to_dict()))
    assert is_refused_by_both(data) == (False, False)
    criterion = F(data["criterion"])
    steps = data["steps"]
    changed = [{**step, "slope": (1.01 * np.array(step["slope"])).tolist()} for step in steps]
    forged = {
        "a smaller error": {"criterion": str(criterion * (1 - F(1, 10**6)))},
        "a larger bound": {"least": str(criterion)},
        "more liars": {"share": 0.02},
        "fewer people": {"people": 9999},
        "no last step": {"steps": steps[:-1]},
        "a step in the middle less": {"steps": [*steps[:2], *steps[-2:]]},
        "other multipliers": {"steps": changed},
        "no steps": {"steps": []},
        "a share of one": {"share": 1.0},
        "nobody": {"people": 0},
        "steps in another order": {"steps": [*steps[:-1][::-1], steps[-1]]},
    }
    for name, change in forged.items():
        assert is_refused_by_both(with_digest({**data, **change})) == (True, True), name
    weaker = {**data, "criterion": str(2 * criterion), "least": "0"}
    assert is_refused_by_both(with_digest(weaker)) == (False, False)


def test_caps_of_spans_are_never_below_them() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        matrix = rng.random((3, 4)) * 10.0 ** rng.integers(-3, 4)
        limit = float(rng.uniform(1, 3))
        caps = caps_within(limit, matrix)
        for row, cap in zip(matrix.tolist(), caps.tolist(), strict=True):
            exact = F(limit) * (F(max(row)) - F(min(row)))
            assert exact <= F(cap)
            assert F(float(np.nextafter(cap, 0))) < exact
    assert caps_within(2.0, np.ones((1, 3))).tolist() == [np.inf]
    assert caps_within(np.inf, np.eye(2)).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(
    "more",
    [{}, {"influence": 3.0}, {"liars": 0.05, "people": 1000}],
    ids=["free", "capped", "liars"],
)
@pytest.mark.parametrize(
    "workload", [lo.Workload.frequencies(3), lo.Workload.frequencies(30)], ids=["listed", "sets"]
)
def test_a_design_is_shown_in_a_line(workload: lo.Workload, more: dict[str, Any]) -> None:
    best = lo.design(workload, lo.PureLDP(1.0), **more)
    text = repr(best)
    assert text.startswith(f"{type(best).__name__}({workload.shape[0]} ")
    assert f"relative gap {best.relative_gap:.2g})" in text
    assert len(text) < 120


def test_a_tiny_budget_is_proved_without_a_warning() -> None:
    """The values are a million times the answers; multipliers beyond the floats are passed over."""
    best = lo.design(lo.Workload.frequencies(3), lo.PureLDP(1e-6), liars=0.05, people=1000)
    assert best.relative_gap < 1e-3
    assert best.certificate.recheck() == ()
