"""Capped designs for the frequencies of many answers: right values, the listed designs, draws,
estimates, files and forgeries."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction as F
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldpopt as lo
import ldpopt_check as checker
from both_checks import is_refused_by_both
from builders import refused, thorough_or
from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.design_bound_sizes import SizesBound, SizesStatement, least_line
from ldpopt.certificate.design_statement import AnswerClasses, least_ratio
from ldpopt.designing.capped_frequency_design import CappedFrequencyDesign
from ldpopt.designing.methods.capped_sizes.method import SizesTask
from ldpopt.designing.methods.method import DesignLimits
from ldpopt.errors import CertificateError, NotRepresentableError
from tampering import with_digest

THREE = lo.PureLDP("log(3)")
FEW = DesignLimits(listed_answers=2)
"""With these limits designs of few answers are not listed either."""


# Computed apart from the library, by a cone program over all sizes
@pytest.mark.parametrize(("cap", "value"), [(9.0, 69.9763), (1.931, 72.7411), (1.751, 77.8493)])
def test_the_capped_variance_of_a_hundred_frequencies(
    cap: float, value: float, tmp_path: Path
) -> None:
    best = lo.design(lo.Workload.frequencies(100), lo.PureLDP(2.0), influence=cap)
    assert isinstance(best, CappedFrequencyDesign)
    assert best.value == pytest.approx(value, rel=1e-5)
    assert best.relative_gap <= 1e-8
    assert best.certificate.influence <= F(cap)
    assert best.influence.largest <= cap
    assert best.certificate.recheck() == ()
    assert best.audit().verdict == "certified"
    path = tmp_path / "design.json"
    best.save(path)
    assert checker.check(path)
    again = lo.load_design(path)
    assert again.certificate.recheck() == ()
    np.testing.assert_array_equal(again.set_values, best.set_values)
    assert again.digest == best.digest


@pytest.mark.parametrize(
    ("n", "least"), [(2, F(3, 2)), (3, F(15, 8)), (4, 2), (5, 2), (10, F(57, 26))]
)
def test_the_least_influence_of_frequencies(n: int, least: Any) -> None:
    found = lo.least_influence(lo.Workload.frequencies(n), THREE)
    assert found == pytest.approx(float(least), rel=2e-11)
    assert found >= float(least)
    scaled = lo.least_influence(-2.5 * lo.Workload.frequencies(n), THREE)
    assert scaled == pytest.approx(2.5 * found, rel=1e-14)


@settings(max_examples=thorough_or(4, 30), deadline=None)
@given(
    n=st.integers(3, 8),
    epsilon=st.floats(0.2, 4.0),
    part=st.floats(1e-3, 1.5),
    unit=st.sampled_from([1.0, -2.5]),
)
def test_sets_of_sizes_are_as_good_as_listed_designs(
    n: int, epsilon: float, part: float, unit: float
) -> None:
    workload = unit * lo.Workload.frequencies(n)
    privacy = lo.PureLDP(epsilon)
    free = lo.design(workload, privacy).influence.largest
    least = lo.least_influence(workload, privacy)
    cap = least * (1 + 1e-4) + part * max(free - least, 0.0)
    listed = lo.design(workload, privacy, influence=cap)
    sizes = lo.design(workload, privacy, influence=cap, limits=FEW)
    assert isinstance(sizes, CappedFrequencyDesign)
    assert sizes.relative_gap <= 1e-8
    # both are proved: neither value is below the bound of the other
    assert sizes.certificate.achieved >= listed.certificate.bound
    assert listed.certificate.achieved >= sizes.certificate.bound
    assert sizes.value == pytest.approx(listed.value, rel=3e-6)


@pytest.mark.parametrize("seed", range(thorough_or(10, 200)))
def test_the_condition_is_that_of_all_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    unit = float(rng.choice([1.0, -0.7]))
    cap = None if seed % 5 == 0 else F(abs(unit) * float(rng.uniform(0.6, 3)))
    base = least_ratio(lo.PureLDP(float(rng.uniform(0.3, 3))).epsilon)
    truth, other = rng.normal(size=2).tolist()
    statement = SizesStatement(n, F(unit), cap)
    line = float(least_line(statement, base, truth, other))
    everyone = np.arange(n)
    caps = np.full(n, np.inf if cap is None else float(cap))
    every = CappedStatement.of(
        unit * np.eye(n), np.ones(n), caps, AnswerClasses(everyone, everyone)
    )
    slope = np.full((n, n), other) + (truth - other) * np.eye(n)
    np.fill_diagonal(slope, truth)
    for share in (-1e-6, -1e-12, 1e-12, 1e-6):
        near = line * (1 + share)
        sizes = SizesBound(truth, other, near)
        listed = CappedBound(slope, np.full(n, near))
        assert sizes.holds(statement, base) == listed.holds(every, base) == (share > 0)
        assert sizes.value(statement) == listed.value(every)


def test_value_and_bias_are_those_of_the_channel() -> None:
    best = lo.design(2 * lo.Workload.frequencies(5), THREE, influence=4.1, limits=FEW)
    rows = []
    chances = []
    for share, each, (a, b) in best.sets:
        for chosen in itertools.combinations(range(5), each.size):
            has = np.isin(np.arange(5), chosen)
            p = float(each.p)
            within, without = comb(4, each.size - 1), comb(4, each.size)
            chances.append(share * np.where(has, p / within, (1 - p) / without))
            rows.append(np.where(has, a, b))
    channel, values = np.array(chances).T, np.array(rows).T
    assert len(rows) == best.n_reports
    np.testing.assert_allclose(channel.sum(axis=1), 1)
    np.testing.assert_allclose(channel @ values.T, 2 * np.eye(5), atol=1e-13)
    variance = channel @ (values**2).sum(axis=0) - 4
    np.testing.assert_allclose(variance, best.variance(), rtol=1e-12)
    assert best.influence.largest == pytest.approx(max(values.max(), 2 - values.min()))
    ratio = (channel.max(axis=0) / channel.min(axis=0)).max()
    assert ratio == pytest.approx(float(best.odds))
    alone = (channel @ (values**2).T).T - (2 * np.eye(5)) ** 2
    np.testing.assert_allclose(best.variances(np.eye(5)[1])[:2], alone[:2, 1], rtol=1e-12)
    squares, products = best.second_moments(3)
    np.testing.assert_allclose(squares, values**2 @ channel.T, rtol=1e-12)
    np.testing.assert_allclose(products, (values * values[3]) @ channel.T, atol=1e-12)


def test_a_cap_below_the_least_is_refused_with_a_proof() -> None:
    workload = lo.Workload.frequencies(100)
    least = lo.least_influence(workload, lo.PureLDP(2.0))
    best = lo.design(workload, lo.PureLDP(2.0), influence=least)
    assert best.relative_gap <= 1e-8
    assert best.influence.largest <= least
    for cap in (least * (1 - 1e-6), 1.2, 0.5, 0.3):
        with refused("least-influence") as caught:
            lo.design(workload, lo.PureLDP(2.0), influence=cap)
        assert f"{least:.10f}"[:10] in str(caught.value)


@settings(max_examples=thorough_or(10, 100), deadline=None)
@given(n=st.integers(2, 400), epsilon=st.floats(0.01, 10.0), part=st.floats(1e-7, 0.9))
def test_only_caps_below_the_least_are_excluded(n: int, epsilon: float, part: float) -> None:
    task = SizesTask(lo.Workload.frequencies(n), lo.PureLDP(epsilon).epsilon)
    assert task.excludes(task.least * (1 - part))
    assert not task.excludes(task.least * (1 + 1e-11))
    assert not task.excludes(task.least * (1 + part))


def test_what_is_not_proved_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SizesTask, "excludes", lambda *_: False)
    with refused("unknown-influence", CertificateError):
        lo.design(lo.Workload.frequencies(30), THREE, influence=1.9)


def test_other_problems_of_many_answers_are_refused_by_name() -> None:
    workload = lo.Workload.frequencies(21)
    with refused("capped-answers", NotRepresentableError):
        lo.design(workload, THREE, influence={0: 3.0})
    with refused("capped-answers", NotRepresentableError):
        lo.design(workload, THREE, influence=3.0, weights=np.arange(1.0, 22))
    with refused("capped-outputs"):
        lo.design(workload, THREE, influence=3.0, outputs=21)
    same = lo.design(workload, THREE, influence=dict.fromkeys(range(21), 2.5))
    assert same.value == lo.design(workload, THREE, influence=2.5).value


LABELS = [f"answer {place}" for place in range(30)]
PEOPLE = np.random.default_rng(3).dirichlet(np.ones(30) / 2)


def people(size: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).choice(LABELS, size=size, p=PEOPLE)


def design(cap: float = 1.8, unit: float = 1.0) -> Any:
    return lo.design(unit * lo.Workload.frequencies(LABELS), lo.PureLDP(2.0), influence=cap)


def test_estimates_from_reports_and_counts() -> None:
    best = design()
    assert not best.sums_to_one
    assert "sums" in str(best.facts())
    reports = best.privatize(people(40_000), rng=1)
    estimate = best.estimate(reports)
    np.testing.assert_allclose(estimate.values, PEOPLE, atol=5 * estimate.std_error.max())
    inside = (estimate.interval[:, 0] <= PEOPLE) & (estimate.interval[:, 1] >= PEOPLE)
    assert inside.sum() >= 25
    assert estimate.norm_sub().values.sum() == pytest.approx(1)
    halves = best.count(reports[:15_000]) + best.count(reports[15_000:])
    np.testing.assert_array_equal(best.estimate(halves).values, estimate.values)
    # of each report the value in each number
    values = np.zeros((len(reports), 30))
    for _, each, (a, b) in best.sets:
        some = (reports >= 0).sum(axis=1) == each.size
        has = (reports[some][:, :, None] == np.arange(30)).any(axis=1)
        values[some] = np.where(has, a, b)
    np.testing.assert_allclose(values.mean(axis=0), estimate.values, atol=1e-12)
    np.testing.assert_allclose(values.std(axis=0) / 200, estimate.std_error, rtol=0.05)
    wide = best.estimate(reports, liars=0.01)
    np.testing.assert_allclose(
        wide.interval - estimate.interval,
        0.01 * np.outer(best.influence.each, [-1, 1]),
        atol=1e-12,
    )
    scaled = design(3.6, 2.0)
    np.testing.assert_allclose(scaled.estimate(reports).values, 2 * estimate.values, atol=1e-12)


def test_the_score_interval_covers() -> None:
    best = design()
    covered = []
    for seed in range(thorough_or(20, 400)):
        reports = best.privatize(people(400, seed), rng=seed)
        interval = best.estimate(reports).interval
        covered.append((interval[:, 0] <= PEOPLE) & (interval[:, 1] >= PEOPLE))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_reports_of_another_mechanism_do_not_fit() -> None:
    best = design()
    n, size = 30, best.size
    rng = np.random.default_rng(0)
    sets = np.array([np.sort(rng.permutation(n)[:size]) for _ in range(3000)])
    assert lo.goodness_of_fit(best, sets) < 1e-6
    with refused("fit"):
        best.estimate(sets)
    assert lo.goodness_of_fit(best, best.privatize(people(3000), rng=2)) > 1e-3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda reports: reports[:, :-1], "shape"),
        (lambda reports: reports.astype(float), "shape"),
        (lambda reports: np.where(reports == reports.max(), 30, reports), "set"),
        (lambda reports: np.where(reports < 0, -2, reports), "set"),
        (lambda reports: reports[:, [0, 0, *range(2, reports.shape[1])]], "set"),
        (lambda reports: np.full_like(reports, -1), "set"),
    ],
)
def test_what_is_no_set_is_refused(change: Callable[[Any], Any], code: str) -> None:
    best = design()
    with refused(code):
        best.count(change(best.privatize(people(200), rng=1)))


def test_a_key_repeats_the_report_of_a_person() -> None:
    best = design()
    key = lo.SecretKey(bytes(range(32)))
    answers = people(500)
    ids = [f"id {place}" for place in range(500)]
    first = best.privatize(answers, key=key, id=ids)
    np.testing.assert_array_equal(first, best.privatize(answers, key=key, id=ids))
    order = np.random.default_rng(5).permutation(500)
    mixed = best.privatize(answers[order], key=key, id=[ids[place] for place in order])
    np.testing.assert_array_equal(first[order], mixed)
    assert (first != best.privatize(answers, key=key, id=ids, question="other")).any()
    np.testing.assert_allclose(best.estimate(first).values, PEOPLE, atol=0.2)


def test_liars_among_many_answers(tmp_path: Path) -> None:
    workload = lo.Workload.frequencies(100)
    privacy = lo.PureLDP(2.0)
    free = lo.design(workload, privacy)
    for share, number in [*thorough_or([], [(0.01, 10_000)]), (0.2, 10**7), (1e-5, 100)]:
        best = lo.design(workload, privacy, liars=share, people=number)
        claim = best.certificate
        assert claim.recheck() == ()
        assert claim.excess <= 1e-3

        def error(other: Any, share: float = share, number: int = number) -> float:
            true = (1 - share) * other.value / (100 * number)
            return float(true + (share * other.influence.largest) ** 2)

        assert float(claim.criterion) == pytest.approx(error(best))
        assert best.root_mean_square == pytest.approx(error(best) ** 0.5)
        least = lo.least_influence(workload, privacy)
        for cap in np.linspace(least, free.influence.largest, thorough_or(3, 7)):
            other = lo.design(workload, privacy, influence=float(cap))
            assert error(other) >= float(claim.least)
        assert error(free) >= float(claim.criterion) * (1 - 1e-9)
        best.save(tmp_path / "design.json")
        assert checker.check(tmp_path / "design.json")
        again = lo.load_design(tmp_path / "design.json")
        assert again.certificate.recheck() == ()
        assert "liars" in str(again.facts())
    with refused("liars-objective"):
        lo.design(workload, privacy, objective="worst_case", liars=0.01, people=100)


def test_a_budget_so_small_that_masses_have_few_digits() -> None:
    best = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1e-8), liars=0.01, people=1000)
    assert best.certificate.recheck() == ()
    assert best.certificate.excess <= 1e-3
    assert repr(best).startswith("LiarsFrequencyDesign(30 answers, sets of")


def test_ratios_among_those_who_answered() -> None:
    workload = lo.Workload.frequencies([*LABELS, "no answer"])
    best = lo.design(workload, lo.PureLDP(2.0), influence=1.8)
    t = np.array([0.1, 0.3])
    values = best.ratio_influence([0, 4], [30], t)
    # by all kinds of sets: of each size, with or without the answer and the missing one
    every = [
        np.abs(has + t * absent - (own + t * other))
        for _, _, pair in best.sets
        for has, absent in itertools.product(pair, pair)
        for own, other in ((1, 0), (0, 1), (0, 0))
    ]
    np.testing.assert_allclose(values, np.max(every, axis=0), rtol=1e-12)


Change = Callable[[dict[str, Any]], None]


def changed(*path: Any, by: Callable[[Any], Any]) -> Change:
    """A change of one entry of a file."""

    def change(data: Any) -> None:
        *parents, last = path
        for key in parents:
            data = data[key]
        data[last] = by(data[last])

    return change


def forgeries(data: dict[str, Any]) -> dict[str, Change]:
    """False claims about sets of sizes, by name."""
    most = max(max(each["inside"], 1 - each["outside"]) for each in data["sizes"])
    bound = F(data["bound"]) + F(data["achieved"]) / 10**6
    value = F(data["achieved"]) * (1 - F(1, 10**6))

    def moved_mass(data: dict[str, Any]) -> None:
        data["sizes"][0]["mass"] += 2**30
        data["sizes"][1]["mass"] -= 2**30

    def another_size(data: dict[str, Any]) -> None:
        data["sizes"][1]["size"] += 1

    def raised(data: dict[str, Any]) -> None:
        data["sizes"][0]["inside"] *= 1.01
        data.update(achieved="100", bias="100", cap=9.0, bound="0")

    changes = {
        "a smaller cap": changed("cap", by=lambda _: most - 1e-6),
        "a smaller value": changed("achieved", by=lambda _: str(value)),
        "a larger bound": changed("bound", by=lambda _: str(bound)),
        "masses moved": moved_mass,
        "a mass more": changed("sizes", 0, "mass", by=lambda mass: mass + 1),
        "another size": another_size,
        "a biased value, all claims raised": raised,
        "no size": changed("sizes", by=lambda _: []),
        "a size less": changed("sizes", by=lambda sizes: sizes[:1]),
        "the same size twice": changed("sizes", by=lambda sizes: [sizes[0], *sizes]),
        "more truth": changed("sizes", 0, "held", by=lambda held: held + 2**20),
        "no information": changed("sizes", 0, "held", by=lambda _: 2**40),
        "the truth is certain": changed("sizes", 0, "held", by=lambda _: 2**53),
        "a mass that is no integer": changed("sizes", 0, "mass", by=float),
        "a unit of 0": changed("unit", by=lambda _: 0.0),
        "another unit": changed("unit", by=lambda _: 1.001),
        "an answer less": changed("inputs", by=lambda names: names[1:]),
        "the worst case": changed("objective", by=lambda _: "worst_case"),
        "another budget": changed("privacy", "epsilon", by=lambda _: 1.99),
        "no bias": changed("bias", by=lambda _: "0"),
    }
    names = ("same", "others", "line")
    changes |= {
        f"multiplier {name}": changed("multipliers", name, by=lambda number: number * 0.999)
        for name in names
    }
    return changes


def test_forged_designs_are_refused_by_both() -> None:
    data = json.loads(json.dumps(design().certificate.to_dict()))
    assert len(data["sizes"]) == 2
    assert F(data["bias"]) > 0
    assert is_refused_by_both(data) == (False, False)
    for name, change in forgeries(data).items():
        other = json.loads(json.dumps(data))
        change(other)
        assert is_refused_by_both(with_digest(other)) == (True, True), name
    weaker = {**data, "bound": "0", "achieved": "80", "cap": data["cap"] + 1}
    weaker["multipliers"] = {"kind": "none"}
    assert is_refused_by_both(with_digest(weaker)) == (False, False)


def test_forged_claims_about_liars_are_refused_by_both() -> None:
    best = lo.design(lo.Workload.frequencies(30), lo.PureLDP(2.0), liars=0.01, people=10_000)
    data = json.loads(json.dumps(best.certificate.to_dict()))
    assert is_refused_by_both(data) == (False, False)
    claim = data["liars"]
    criterion = F(claim["criterion"])
    steps = claim["steps"]
    forged = {
        "a smaller error": {"criterion": str(criterion * (1 - F(1, 10**6)))},
        "a larger bound": {"least": str(criterion)},
        "more liars": {"share": 0.02},
        "fewer people": {"people": 9999},
        "no last step": {"steps": steps[:-1]},
        "steps in the middle less": {"steps": [*steps[:2], *steps[-2:]]},
        "other multipliers": {"steps": [{**step, "line": 0.99 * step["line"]} for step in steps]},
        "no steps": {"steps": []},
        "a step that is a number": {"steps": [1.0, *steps[1:]]},
        "a share of one": {"share": 1.0},
        "nobody": {"people": 0},
        "steps in another order": {"steps": [*steps[:-1][::-1], steps[-1]]},
    }
    for name, change in forged.items():
        other = {**data, "liars": {**claim, **change}}
        assert is_refused_by_both(with_digest(other)) == (True, True), name
    for name, change in forgeries(data).items():
        other = json.loads(json.dumps(data))
        if name not in ("masses moved", "a size less", "another size") or len(data["sizes"]) > 1:
            change(other)
            assert is_refused_by_both(with_digest(other)) == (True, True), name
    weaker = {**data, "liars": {**claim, "criterion": str(2 * criterion), "least": "0"}}
    assert is_refused_by_both(with_digest(weaker)) == (False, False)


def test_few_sets_are_listed_with_their_values() -> None:
    best = lo.design(lo.Workload.frequencies(22), lo.PureLDP(3.0), influence=1.6)
    assert best.n_reports == sum(comb(22, size) for size in best.certificate.randomizer.sizes)
    channel = best.mechanism.channel
    assert channel.shape == (22, best.n_reports) == best.estimator.shape
    np.testing.assert_allclose(best.estimator @ channel.T, np.eye(22), atol=1e-9)
    variance = channel @ (best.estimator**2).sum(axis=0) - 1
    np.testing.assert_allclose(variance, best.variance(), rtol=1e-9)
    for verb in ("mechanism", "estimator"):
        with refused("unlisted", NotRepresentableError):
            getattr(design(), verb)
