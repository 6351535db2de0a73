"""Designs whose influence has a cap: right values, proofs, files, and forgeries."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from both_checks import is_refused_by_both
from builders import refused, thorough_or
from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.design_statement import AnswerClasses, least_ratio
from ldpopt.errors import NotRepresentableError
from tampering import with_digest

THREE = lo.PureLDP("log(3)")
MEAN = lo.Workload.mean([0.0, 0.25, 0.5, 0.75, 1.0])


# Computed apart from the library, by a cone program over all sets
@pytest.mark.parametrize(
    ("workload", "cap", "value"),
    [
        (lo.Workload.frequencies(4), 2.25, 7.047959),
        (lo.Workload.frequencies(4), 2.1, 7.56),
        (lo.Workload.frequencies(4), 9.0, 6.0),
        (lo.Workload.prefix(5), 2.6, 8.074207),
        (lo.Workload.prefix(5), 2.4, 8.821085),
        (MEAN, 1.6, 0.839102),
        (MEAN, 1.52, 0.8644),
        (MEAN, 9.0, 0.806613),
    ],
)
def test_the_capped_variance_is_the_least(
    workload: lo.Workload, cap: float, value: float, tmp_path: Path
) -> None:
    best = lo.design(workload, THREE, influence=cap)
    assert best.value == pytest.approx(value, abs=2e-6)
    assert best.relative_gap <= 1e-6
    assert max(best.certificate.influence) <= F(cap)
    assert best.influence.largest <= cap
    assert best.certificate.recheck() == ()
    path = tmp_path / "design.json"
    best.save(path)
    again = lo.load_design(path)
    assert again.certificate.recheck() == ()
    np.testing.assert_array_equal(again.estimator, best.estimator)
    assert checker.check(path)


def test_the_worst_case_has_a_cap_too() -> None:
    free = lo.design(MEAN, THREE, objective="worst_case")
    capped = lo.design(MEAN, THREE, objective="worst_case", influence=1.6)
    assert capped.relative_gap <= 1e-6
    assert capped.value > 1.01 * free.value
    assert capped.value >= lo.design(MEAN, THREE, influence=1.6).value
    assert capped.certificate.recheck() == ()


def test_a_cap_of_one_number_leaves_the_others_free() -> None:
    workload = lo.Workload.prefix(["low", "middle", "high", "top"])
    free = lo.design(workload, THREE)
    name = workload.names[1]
    capped = lo.design(workload, THREE, influence={name: 2.0})
    assert capped.relative_gap <= 1e-6
    assert capped.influence.each[1] <= 2.0 < free.influence.each[1]
    assert capped.influence.each[0] > 2.0


@pytest.mark.parametrize(
    "privacy",
    [
        lo.OneSided(1.0, sensitive=[0, 1, 2]),
        lo.MetricDP(1.0, np.abs(np.subtract.outer(np.arange(4), np.arange(4)))),
        lo.InformationPrivacy(1.0),
    ],
)
def test_every_notion_whose_rays_are_listed(privacy: Any, tmp_path: Path) -> None:
    workload = lo.Workload.prefix(4)
    free = lo.design(workload, privacy)
    cap = 0.99 * free.influence.largest
    best = lo.design(workload, privacy, influence=cap)
    assert best.relative_gap <= 1e-6
    assert best.influence.largest <= cap
    assert best.value > free.value
    best.save(tmp_path / "design.json")
    assert checker.check(tmp_path / "design.json")


def plain_holds(statement: CappedStatement, bound: CappedBound, base: F) -> bool:
    """The condition for all sets, by its definition, in fractions."""
    rows, r = statement.centered, statement.weights
    slope = [[F(entry) for entry in row] for row in bound.slope.tolist()]
    line = [F(entry) for entry in bound.line.tolist()]
    for inside in itertools.product((0, 1), repeat=rows.whole.shape[1]):
        v = [F(1) if is_in else base for is_in in inside]
        mass = sum(F(int(w), r.denominator) * e for w, e in zip(r.whole, v, strict=True))
        cost = F(0)
        for k, limit in zip(slope, statement.reach, strict=True):
            z = abs(sum(a * e for a, e in zip(k, v, strict=True)))
            is_inside = limit is None or z <= limit * mass
            cost += z * z / mass if is_inside else 2 * limit * z - limit**2 * mass
        if cost > sum(a * e for a, e in zip(line, v, strict=True)):
            return False
    return True


@pytest.mark.parametrize("seed", range(thorough_or(8, 60)))
def test_the_condition_is_decided_as_by_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    matrix = rng.normal(size=(k, n)).round(2)
    half = np.ptp(matrix, axis=1) / 2
    caps = half + rng.uniform(0.1, 2, k)
    if seed % 4 == 0:
        caps[0] = np.inf
    weights = rng.dirichlet(np.ones(n))
    base = least_ratio(lo.PureLDP(float(rng.uniform(0.3, 3))).epsilon)
    everyone = np.arange(n)
    statement = CappedStatement.of(matrix, weights, caps, AnswerClasses(everyone, everyone))
    slope = rng.normal(size=(k, n))
    line = rng.uniform(0, 1, n)
    v = 1 - (1 - float(base)) * np.array(list(itertools.product((0, 1), repeat=n)))
    mass = v @ weights
    values = np.clip(slope @ v.T / mass, -(caps - half)[:, None], (caps - half)[:, None])
    cost = (values * (2 * (slope @ v.T) - mass * values)).sum(axis=0) - v @ line
    just = (cost / v.sum(axis=1)).max()
    for share in (-1e-4, -1e-9, -1e-15, 1e-15, 1e-9, 1e-4):
        bound = CappedBound(slope, line + just * (1 + share))
        assert bound.holds(statement, base) == plain_holds(statement, bound, base)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_multipliers_that_are_no_numbers_prove_nothing(wrong: float) -> None:
    """They were read as if they were whole numbers."""
    everyone = np.arange(3)
    statement = CappedStatement.of(
        np.eye(3), np.full(3, 1 / 3), np.full(3, 9.0), AnswerClasses(everyone, everyone)
    )
    base = least_ratio(lo.PureLDP(1.0).epsilon)
    assert CappedBound(np.zeros((3, 3)), np.zeros(3)).holds(statement, base)
    for row in range(3):
        slope, line = np.zeros((3, 3)), np.zeros(3)
        slope[row, 0] = wrong
        assert not CappedBound(slope, np.ones(3)).holds(statement, base)
        line[row] = wrong
        assert not CappedBound(np.zeros((3, 3)), line).holds(statement, base)


def test_more_answers_are_proved_for_single_numbers_only() -> None:
    best = lo.design(lo.Workload.mean(np.arange(22) / 21), lo.PureLDP(1.0), influence=1.7)
    assert best.relative_gap <= 1e-6
    assert best.certificate.recheck() == ()
    with refused("capped-answers", NotRepresentableError):
        lo.design(lo.Workload.prefix(21), lo.PureLDP(1.0), influence=5.0)


def test_a_cap_below_the_least_is_refused_with_the_least() -> None:
    with refused("least-influence") as caught:
        lo.design(lo.Workload.frequencies(4), THREE, influence=1.99)
    assert "2.0000" in str(caught.value)
    with refused("least-influence"):
        lo.design(lo.Workload.frequencies(4), THREE, influence=0.3)


def test_options_that_do_not_go_together() -> None:
    workload = lo.Workload.frequencies(4)
    with refused("cap-name"):
        lo.design(workload, THREE, influence={"nobody": 3.0})
    with refused("range"):
        lo.design(workload, THREE, influence=-1.0)
    with refused("liars-people"):
        lo.design(workload, THREE, liars=0.01)
    with refused("influence-and-liars"):
        lo.design(workload, THREE, influence=3.0, liars=0.01, people=1000)


Change = Callable[[dict[str, Any]], None]


def forgeries(data: dict[str, Any]) -> dict[str, Change]:
    """False claims about a capped design, by name."""
    most = max(max(row) for row in data["values"])
    low = min(min(row) for row in data["workload"])

    def caps(by: float) -> Change:
        return lambda d: d.update(caps=[most - low - by for _ in d["caps"]])

    def scaled(*path: Any, by: float) -> Change:
        def change(d: dict[str, Any]) -> None:
            *parents, last = path
            for key in parents:
                d = d[key]
            d[last] *= by

        return change

    bound = F(data["bound"]) + F(data["achieved"]) / 10**6
    return {
        "a smaller cap": caps(1e-6),
        "another value": scaled("values", 0, 0, by=1.001),
        "a larger value, all claims raised": lambda d: (
            scaled("values", 0, 0, by=1.01)(d),  # type: ignore[func-returns-value]
            d.update(achieved="100", bias="100", caps=[9.0] * len(d["caps"]), bound="0"),
        ),
        "multipliers": scaled("multipliers", "slope", 0, 0, by=1.01),
        "prices": scaled("multipliers", "line", 0, by=0.99),
        "bound": lambda d: d.update(bound=str(bound)),
        "a cap less": lambda d: d.update(caps=d["caps"][1:]),
        "a cap that is text": lambda d: d.update(caps=["2.25", *d["caps"][1:]]),
        "a row of values less": lambda d: d.update(values=d["values"][1:]),
        "a column of the multipliers less": lambda d: d["multipliers"].update(
            slope=[row[1:] for row in d["multipliers"]["slope"]]
        ),
    }


def test_forged_designs_are_refused_by_both() -> None:
    best = lo.design(lo.Workload.frequencies(4), THREE, influence=2.25)
    data = json.loads(json.dumps(best.certificate.to_dict()))
    assert is_refused_by_both(data) == (False, False)
    for name, change in forgeries(data).items():
        other = json.loads(json.dumps(data))
        change(other)
        assert is_refused_by_both(with_digest(other)) == (True, True), name
    weaker = {**data, "bound": "0", "achieved": "8"}
    assert is_refused_by_both(with_digest(weaker)) == (False, False)


def test_estimates_of_a_capped_design() -> None:
    best = lo.design(lo.Workload.frequencies(["a", "b", "c", "d"]), THREE, influence=2.25)
    assert not best.sums_to_one
    assert "sums" in str(best.facts())
    rng = np.random.default_rng(5)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    people = rng.choice(["a", "b", "c", "d"], size=40_000, p=shares)
    reports = best.mechanism.privatize(people, rng=1)
    estimate = best.estimate(reports)
    np.testing.assert_allclose(estimate.values, shares, atol=6 * estimate.std_error.max())
    assert estimate.values.sum() != pytest.approx(1, abs=1e-9)
    assert estimate.norm_sub().values.sum() == pytest.approx(1)
    means = best.values(reports).mean(axis=0)
    np.testing.assert_allclose(means, estimate.values, atol=1e-12)
    wide = best.estimate(reports, liars=0.01)
    moved = wide.interval - estimate.interval
    np.testing.assert_allclose(moved[:, 1], 0.01 * best.influence.each, atol=1e-9)
    exact = best.mechanism.channel @ (best.estimator**2).sum(axis=0) - 1
    np.testing.assert_allclose(best.variance(), exact, rtol=1e-9)
