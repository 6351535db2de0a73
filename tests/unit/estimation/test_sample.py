"""Errors of estimates from samples with strata, clusters, a finite population and margins."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from builders import cases, pairs_or_turns, refused
from ldpopt import Mechanism, Sample, Survey, Workload, design
from ldpopt.errors import LimitReachedError
from ldpopt.estimation.intervals import student_quantile
from ldpopt.estimation.sampled import SampledTable
from ldpopt.estimation.units import units_of_frame
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP

DIE = Mechanism([[5 / 6, 1 / 6], [1 / 6, 5 / 6]], inputs=["no", "yes"])
THREE = Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), inputs=["low", "mid", "high"])
SIZES = {"a": 60, "b": 90, "c": 45}  # of the population
CLUSTERS = {"a": 8, "b": 9, "c": 6}


def people(n: int = 150, seed: int = 1) -> pd.DataFrame:
    """Reports of people in three strata, each with a few clusters, and two margins."""
    rng = np.random.default_rng(seed)
    stratum = np.append(rng.choice(["a", "b", "c"], n - 12, p=[0.3, 0.5, 0.2]), list("abc" * 4))
    return pd.DataFrame(
        {
            "q": rng.choice(["low", "mid", "high"], n, p=[0.5, 0.3, 0.2]),
            "stratum": stratum,
            "cluster": np.arange(n) % 4,
            "age": rng.choice(["young", "old"], n),
            "sex": rng.choice(["f", "m"], n, p=[0.6, 0.4]),
            "region": rng.choice(["north", "south"], n),
            "w": rng.choice([1.0, 2.0, 5.0], n),
        }
    )


def by_definition(
    table: pd.DataFrame, sample: Sample, weights: Any, member: Any = None
) -> tuple[Any, Any]:
    """The estimates and their covariance person by person, from the formula alone."""
    inverse = np.linalg.inv(THREE.channel).T
    values = inverse.T[[THREE.outputs.index(report) for report in table["q"]]]
    member = np.ones(len(table), dtype=bool) if member is None else member
    w = np.asarray(weights, dtype=float).copy()
    margins = dict(sample.margins or {})
    for _ in range(200):
        for column, shares in margins.items():
            for name, share in shares.items():
                is_in = (table[column] == name).to_numpy()
                w[is_in] *= share / sum(shares.values()) * w.sum() / w[is_in].sum()
    total = w[member].sum()
    estimate = w[member] @ values[member] / total
    away = (values - estimate) * member[:, None]
    if margins:
        indicators = np.column_stack(
            [table[column] == name for column, shares in margins.items() for name in shares]
        ).astype(float)
        root = np.sqrt(w)[:, None]
        slopes = np.linalg.lstsq(indicators * root, away * root, rcond=None)[0]
        away = away - indicators @ slopes
    # noise of the value of each report, in expectation over the answers that it stands for
    second = np.einsum("xy,iy,jy->xij", THREE.channel, inverse, inverse)
    by_answer = second - np.einsum("xi,xj->xij", np.eye(3), np.eye(3))
    of_report = np.einsum("xy,xij->yij", inverse, by_answer)
    noise = of_report[[THREE.outputs.index(report) for report in table["q"]]]
    covariance = np.zeros((3, 3))
    strata = table["stratum"] if sample.strata else pd.Series(0, index=table.index)
    for name in strata.unique():
        rows = (strata == name).to_numpy()
        units = table["cluster"][rows] if sample.clusters else pd.Series(np.arange(rows.sum()))
        moved = pd.DataFrame(w[rows, None] * away[rows]).groupby(units.to_numpy()).sum().to_numpy()
        n = len(moved)
        population: Any = sample.population
        size = population[name] if isinstance(population, dict) else population
        share = 0.0 if size is None else n / size
        centered = moved - moved.mean(axis=0)
        covariance += (1 - share) * n / (n - 1) * centered.T @ centered
        here = rows & member
        covariance += share * np.einsum("i,ijk->jk", w[here] ** 2, noise[here])
    return estimate, covariance / total**2


SAMPLES = {
    "strata": Sample(strata="stratum"),
    "strata of a population": Sample(strata="stratum", population=SIZES),
    "clusters": Sample(strata="stratum", clusters="cluster"),
    "clusters of a population": Sample(strata="stratum", clusters="cluster", population=CLUSTERS),
    "one stratum": Sample(clusters="cluster", population=7),
    "margins": Sample(
        strata="stratum", margins={"age": {"young": 3, "old": 2}, "sex": {"f": 0.5, "m": 0.5}}
    ),
    "margins of clusters": Sample(
        strata="stratum", clusters="cluster", margins={"age": {"young": 3, "old": 2}}
    ),
}


@pytest.mark.parametrize(("kind", "weighted"), pairs_or_turns(SAMPLES, (True, False)))
def test_covariance_is_that_of_the_formula_person_by_person(kind: str, weighted: bool) -> None:
    table, sample = people(), SAMPLES[kind]
    survey = Survey({"q": THREE})
    weights = "w" if weighted else None
    found = survey.estimate(table, weights=weights, by="region", sample=sample)
    numbers = table["w"] if weighted else np.ones(len(table))
    for group in (None, "north", "south"):
        member = None if group is None else (table["region"] == group).to_numpy()
        estimate = found["q"] if group is None else found.groups[group]["q"]
        values, covariance = by_definition(table, sample, numbers, member)
        np.testing.assert_allclose(estimate.values, values, atol=1e-12)
        np.testing.assert_allclose(estimate.covariance, covariance, atol=1e-12)
    total = survey.estimate(table, weights=weights, sample=sample)["q"]
    np.testing.assert_allclose(total.covariance, found["q"].covariance, atol=1e-14)


def test_the_variance_is_unbiased_over_all_samples_and_reports() -> None:
    # two of four classes of two pupils: all draws of classes and all reports, with their chances
    truth = np.array([[0, 0], [0, 1], [1, 1], [2, 1]])
    survey = Survey({"q": THREE})
    sample = Sample(clusters="class", population=4)
    values, variances, weight = [], [], []
    drawn = [truth[list(classes)].ravel() for classes in combinations(range(4), 2)]
    for reports in product(range(3), repeat=4):
        table = pd.DataFrame({"q": [THREE.outputs[y] for y in reports], "class": [0, 0, 1, 1]})
        found = survey.estimate(table, sample=sample, check_fit=False)["q"]
        values.append(found.values)
        variances.append(np.diag(found.covariance))
        chances = [THREE.channel[answers, list(reports)].prod() for answers in drawn]
        weight.append(np.mean(chances))
    weight = np.array(weight)
    assert weight.sum() == pytest.approx(1)
    mean = weight @ np.array(values)
    np.testing.assert_allclose(mean, np.bincount(truth.ravel()) / 8, atol=1e-12)
    spread = weight @ (np.array(values) - mean) ** 2
    np.testing.assert_allclose(weight @ np.array(variances), spread, rtol=1e-10)


def test_public_cases_have_their_right_values() -> None:
    # ten devices as clusters
    yes = [30, 30, 0, 0] + [6] * 6
    rows = [("yes" if i < k else "no", device) for device, k in enumerate(yes) for i in range(30)]
    devices = pd.DataFrame(rows, columns=["q", "device"])
    found = Survey({"q": DIE}).estimate(devices, sample=Sample(clusters="device"))["q"]
    assert round(found.values[1], 2) == 0.23
    assert round(found.std_error[1], 4) == 0.1744
    np.testing.assert_allclose(found.interval[1], [-0.0546, 0.6448], atol=5e-5)
    # a firm of 500 people, of whom 200 or all are asked
    coin = Survey({"q": Mechanism([[0.7, 0.3], [0.3, 0.7]], inputs=["no", "yes"])})
    for n, k, error, interval in (
        (200, 90, 0.085247, [0.211608, 0.542824]),
        (500, 225, 0.051235, [0.275714, 0.475905]),
    ):
        table = pd.DataFrame({"q": ["yes"] * k + ["no"] * (n - k)})
        found = coin.estimate(table, sample=Sample(population=500))["q"]
        assert round(found.std_error[1], 6) == error
        np.testing.assert_allclose(found.interval[1], interval, atol=5e-7)


def test_post_strata_weight_two_groups_as_the_population_has_them() -> None:
    # reports "yes" of a forced-response survey in two groups of people
    yes = {"0": (385, 1162), "1": (465, 1269)}
    rows = [("yes" if i < k else "no", group) for group, (k, n) in yes.items() for i in range(n)]
    table = pd.DataFrame(rows, columns=["q", "civic"])
    survey = Survey({"q": DIE})
    found = survey.estimate(table, sample=Sample(margins={"civic": {0: 70, 1: 30}}))["q"]
    shares = {group: 1.5 * (k / n - 1 / 6) for group, (k, n) in yes.items()}
    errors = {g: 1.5 * np.sqrt(k / n * (1 - k / n) / n) for g, (k, n) in yes.items()}
    assert found.values[1] == pytest.approx(0.7 * shares["0"] + 0.3 * shares["1"], abs=1e-12)
    right = np.hypot(0.7 * errors["0"], 0.3 * errors["1"])
    assert found.std_error[1] == pytest.approx(right, rel=1e-12)


def test_one_person_a_cluster_is_the_plain_error_times_a_known_factor() -> None:
    table = people().assign(person=np.arange(150))
    survey = Survey({"q": THREE})
    plain = survey.estimate(table, weights="w")["q"]
    single = survey.estimate(table, weights="w", sample=Sample(clusters="person"))["q"]
    np.testing.assert_allclose(single.std_error, plain.std_error * np.sqrt(150 / 149), rtol=1e-12)


def test_weights_alone_are_no_other_sample() -> None:
    table = people()
    survey = Survey({"q": THREE})
    plain = survey.estimate(table, weights="w")["q"]
    np.testing.assert_array_equal(
        survey.estimate(table, sample=Sample(weights="w"))["q"].interval, plain.interval
    )
    # the weights of a survey hold for a sample without any
    weighted = Survey({"q": THREE}, weights="w")
    strata = Sample(strata="stratum")
    np.testing.assert_array_equal(
        weighted.estimate(table, sample=strata)["q"].interval,
        survey.estimate(table, sample=Sample(weights="w", strata="stratum"))["q"].interval,
    )


def test_a_census_keeps_the_noise_and_strata_that_answer_alike_are_not_without_error() -> None:
    survey = Survey({"q": DIE})
    census = pd.DataFrame({"q": ["yes"] * 30 + ["no"] * 70})
    found = survey.estimate(census, sample=Sample(population=100))["q"]
    noise = np.sqrt(5 / 6 * 1 / 6 / (4 / 6) ** 2 / 100)  # of any answer
    assert found.std_error[1] == pytest.approx(noise, rel=1e-12)
    alike = census.assign(stratum=census["q"])  # all reports of a stratum are the same
    found = survey.estimate(alike, sample=Sample(strata="stratum"))["q"]
    assert np.isnan(found.std_error[1])  # the reports show none
    plain = survey.estimate(census)["q"].interval[1]
    assert np.ptp(found.interval[1]) > 0.6 * np.ptp(plain)


def test_clusters_have_quantiles_of_student() -> None:
    table = people()
    sample = Sample(strata="stratum", clusters="cluster")
    found = Survey({"q": THREE}).estimate(table, sample=sample)["q"]
    band = found.bounds
    assert band.freedom == 12 - 3
    ratio = found.function(lambda share: share[0] / share[1])
    half = np.ptp(ratio.interval[0]) / 2
    assert half == pytest.approx(student.ppf(0.975, 9) * ratio.std_error[0], rel=1e-9)
    for freedom in (1, 9, 400):
        for z in (0.0, 0.5, 1.96, 6.0):
            right = student.isf(norm.sf(z), freedom)
            assert student_quantile(z, freedom) == pytest.approx(right, rel=1e-6, abs=1e-9)
    rising = student_quantile(np.linspace(0, 38, 400), 9)
    assert (np.diff(rising) >= 0).all()
    assert (np.diff(rising[:350]) > 0).all()


def test_tests_and_intervals_of_clusters_agree() -> None:
    sample = Sample(strata="stratum", clusters="cluster")
    found = Survey({"q": THREE}).estimate(people(900), sample=sample)["q"].contrast({"low": 1})
    for end in found.interval[0]:
        assert found.test(float(end)).p_value == pytest.approx(0.05, abs=1e-9)


def test_groups_in_the_same_clusters_are_dependent() -> None:
    table = people(600)
    # people of a cluster answer alike in both groups
    shift = np.random.default_rng(4).random(4) < 0.5
    table["q"] = np.where(shift[table["cluster"]] & (table.index % 3 > 0), "high", table["q"])
    sample = Sample(clusters="cluster", population=8)
    found = Survey({"q": THREE}).estimate(table, by="region", sample=sample)
    north, south = (found.groups[name]["q"] for name in ("north", "south"))
    change = north - south
    # the covariance of the difference is that of a contrast of both groups, person by person
    one = by_definition(table, sample, np.ones(600), (table["region"] == "north").to_numpy())[1]
    two = by_definition(table, sample, np.ones(600), (table["region"] == "south").to_numpy())[1]
    weight = np.where(table["region"] == "north", 1 / (table["region"] == "north").sum(), 0)
    weight = weight - np.where(
        table["region"] == "south", 1 / (table["region"] == "south").sum(), 0
    )
    inverse = np.linalg.inv(THREE.channel).T
    values = inverse.T[[THREE.outputs.index(report) for report in table["q"]]]
    at = np.where((table["region"] == "north").to_numpy()[:, None], north.values, south.values)
    sums = pd.DataFrame((values - at) * weight[:, None]).groupby(table["cluster"]).sum().to_numpy()
    sampling = 0.5 * 4 / 3 * sums.T @ sums
    of_noise = (
        one
        + two
        - sum(
            0.5 * 4 / 3 * part.T @ part
            for part in (
                pd.DataFrame((values - at) * np.where(is_in, weight, 0)[:, None])
                .groupby(table["cluster"])
                .sum()
                .to_numpy()
                for is_in in (table["region"] == "north", table["region"] == "south")
            )
        )
    )
    np.testing.assert_allclose(change.covariance, sampling + of_noise, atol=1e-12)
    np.testing.assert_allclose(change.std_error**2, np.diag(change.covariance), atol=1e-12)
    assert (change.std_error < np.hypot(north.std_error, south.std_error)).all()
    back = south - north
    np.testing.assert_allclose(back.interval, -change.interval[:, ::-1], atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@cases(8)
def test_tables_of_shards_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(90, seed % 1000).sample(frac=1, random_state=seed % 1000)
    sample = SAMPLES["margins of clusters"]
    survey = Survey({"q": THREE})
    columns: Any = survey.columns
    ends = sorted(rng.integers(0, 91, 2))
    parts = [table[: ends[0]], table[ends[0] : ends[1]], table[ends[1] :]]
    whole = units_of_frame(columns, table, sample, "w", "region")["q"]
    added: Any = sum(
        units_of_frame(columns, part, sample, "w", "region")["q"] for part in parts if len(part)
    )
    values = np.random.default_rng(1).normal(size=(2, 3))
    found = []
    for each in (whole, added):
        made = SampledTable.of(each, sample)
        places = [made.groups.index(name) for name in ("north", "south")]
        influences = [(np.array([place]), values) for place in places]
        found.append(made.covariance(influences[:1], influences, False))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


def test_files_and_tables_give_the_same(tmp_path: Any) -> None:
    table = people()
    sample = Sample("w", "stratum", "cluster", CLUSTERS, {"age": {"young": 1, "old": 1}})
    survey = Survey({"q": THREE}, sample=sample)
    found = survey.estimate(table, by="region")
    path = tmp_path / "reports.csv"
    table.to_csv(path, index=False)
    of_file = survey.estimate(str(path), by="region")
    np.testing.assert_allclose(of_file["q"].interval, found["q"].interval, rtol=1e-12)
    south = of_file.groups["south"]["q"]
    np.testing.assert_allclose(south.interval, found.groups["south"]["q"].interval, rtol=1e-12)
    as_float = survey.estimate(table.assign(cluster=table["cluster"].astype(float)))
    np.testing.assert_allclose(as_float["q"].interval, found["q"].interval, rtol=1e-12)


def test_shares_among_those_who_answered_have_the_error_of_the_sample() -> None:
    law = Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), inputs=["no", "yes", "refused"])
    table = people().assign(q=lambda t: t["q"].map({"low": "no", "mid": "yes", "high": "refused"}))
    sample = Sample(strata="stratum", clusters="cluster")
    survey = Survey({"q": Question(law, missing_answer="refused")}, sample=sample)
    found = survey.estimate(table, weights="w")["q"]
    every = Survey({"q": law}, sample=sample).estimate(table, weights="w")["q"]
    ratio = every.function(lambda share: share[:2] / (1 - share[2]))
    np.testing.assert_allclose(found.values[:2], ratio.values, rtol=1e-12)
    np.testing.assert_allclose(found.std_error[:2], ratio.std_error, rtol=1e-6)
    np.testing.assert_allclose(found.std_error[2], every.std_error[2], rtol=1e-12)
    assert found.bounds.freedom == 9


def test_a_design_of_deficient_rank_ignores_the_population_and_says_so() -> None:
    workload = Workload([[1.0, 1.0, 0.0]], inputs=["low", "mid", "high"], names=["at most mid"])
    best = design(workload, PureLDP(1.0))
    survey = Survey({"q": best})
    reports = survey.privatize(people()[["q", "stratum"]], rng=1)
    sample = Sample(strata="stratum", population=SIZES)
    found = survey.estimate(reports, sample=sample)
    same = survey.estimate(reports, sample=Sample(strata="stratum"))
    if np.linalg.matrix_rank(best.mechanism.channel) < 3:
        np.testing.assert_array_equal(found["q"].interval, same["q"].interval)
        assert len(found.notes()) == len(same.notes()) + 1


def test_what_does_not_fit_is_refused_by_name() -> None:
    table = people()
    survey = Survey({"q": THREE})

    def estimate(**stated: Any) -> Any:
        return survey.estimate(table, sample=Sample(**stated))

    alone = table.assign(stratum=np.where(table.index == 3, "single", table["stratum"]))
    with refused("single-unit") as caught:
        survey.estimate(alone, sample=Sample(strata="stratum"))
    assert "single" in caught.value.where
    # of all people of a stratum no error is unknown
    survey.estimate(alone, sample=Sample(strata="stratum", population=SIZES | {"single": 1}))
    one = table.assign(cluster=np.where(table["region"] == "north", 0, table["cluster"]))
    with refused("single-unit"):
        survey.estimate(one, sample=Sample(clusters="cluster"), by="region")
    with refused("stratum"):
        estimate(strata="stratum", population={"a": 100, "b": 100})
    with refused("population-of-strata"):
        estimate(strata="stratum", population=1000)
    with refused("empty-stratum"):
        estimate(strata="stratum", population=SIZES | {"d": 10, "b": 200})
    with refused("population-size"):
        estimate(population=149)
    with refused("margin-category"):
        estimate(margins={"age": {"old": 1}})
    with refused("unseen-category"):
        estimate(margins={"age": {"old": 1, "young": 1, "middle": 1}})
    with refused("sample-column"):
        estimate(margins={"q": {"low": 1, "mid": 1, "high": 1}})
    with refused("column"):
        estimate(strata="nowhere")
    holes = table.assign(stratum=table["stratum"].where(table.index > 0))
    with refused("missing-unit"):
        survey.estimate(holes, sample=Sample(strata="stratum"))
    apart = table.assign(sex=table["age"].map({"young": "f", "old": "m"}))
    with refused("raking", LimitReachedError):
        margins = {"age": {"young": 1, "old": 1}, "sex": {"f": 0.4, "m": 0.6}}
        survey.estimate(apart, sample=Sample(margins=margins))
    with refused("counts-of-sample"):
        survey.estimate(survey.count(table), sample=Sample(population=500))
    with refused("sample"):
        survey.estimate(table, sample={"strata": "stratum"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "stated"),
    [
        ("population", {"population": {"a": 5}}),
        ("mapping", {"strata": "s", "population": {}}),
        ("whole-number", {"population": 2.5}),
        ("margin", {"margins": {"age": {"old": 0}}}),
        ("mapping", {"margins": {"age": 3}}),
        ("two-roles", {"strata": "s", "clusters": "s"}),
        ("weights-margin", {"weights": "s", "margins": {"s": {"a": 1}}}),
        ("name", {"strata": 3}),
        ("duplicate", {"margins": {"age": {1: 1, "1": 2}}}),
    ],
)
def test_a_sample_that_cannot_be_is_refused(code: str, stated: dict[str, Any]) -> None:
    with refused(code):
        Sample(**stated)


def test_counts_of_two_samples_do_not_add_up() -> None:
    survey = Survey({"q": THREE})
    sample = Sample(strata="stratum")
    one, two = (
        survey.estimate(people(seed=seed), sample=sample)["q"].bounds.counts for seed in (1, 2)
    )
    plain = survey.count(people())["q"]
    for left, right in ((one, two), (one, one), (one, plain), (plain, one)):
        with refused("sample"):
            left + right
