"""Samples of surveys: in files, in TOML, with groups, tables of two questions and tests."""

from __future__ import annotations

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import Mechanism, ReportModel, Sample, Survey, regress
from ldpopt.errors import ModelFileError
from ldpopt.fieldwork import Store

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
THREE = Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), inputs=["low", "mid", "high"])
FULL = Sample(
    weights="w",
    strata="region",
    clusters="school",
    population={"north": 50, "south": 40},
    margins={"age": {"old": 0.4, "young": 0.6}},
)
TOML = """
epsilon = 2.0
{weights}
[question.smokes]
labels = ["no", "yes"]
[sample]
strata = "region"
clusters = "school"
population = {{ north = 50, south = 40 }}
margins = {{ age = {{ old = 0.4, young = 0.6 }} }}
{more}
"""


def answers(n: int = 400, seed: int = 1, schools: int = 10) -> pd.DataFrame:
    """Answers by school, which go together within schools."""
    rng = np.random.default_rng(seed)
    school = np.arange(n) % schools
    level, other = (rng.beta(1, 2, schools)[school] for _ in range(2))
    return pd.DataFrame(
        {
            "smokes": np.where(rng.random(n) < level, "yes", "no"),
            "stress": np.where(rng.random(n) < other, "high", "low"),
            "school": school,
            "region": np.where(school < schools // 2, "north", "south"),
            "age": rng.choice(["old", "young"], n),
            "w": rng.choice([1.0, 3.0], n),
        }
    )


def reports(n: int = 400) -> pd.DataFrame:
    """Reports on such answers."""
    drawn: pd.DataFrame = survey().privatize(answers(n), rng=2)
    return drawn


def survey(**options: Any) -> Survey:
    return Survey({"smokes": COIN, "stress": THREE}, **options)


def test_a_survey_keeps_its_sample_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    asked = survey(sample=FULL)
    asked.save(path)
    read = Survey.load(path)
    assert read.sample == FULL
    assert read.weights == "w"
    found, again = (each.estimate(reports(), by="age") for each in (asked, read))
    for name in asked.questions:
        np.testing.assert_array_equal(found[name].interval, again[name].interval)
    # the digest covers it, and a file without a sample has no trace of one
    text = path.read_text()
    path.write_text(text.replace('"strata": "region"', '"strata": "w2"'))
    with refused("changed-file", ModelFileError):
        Survey.load(path)
    survey(weights="w").save(path)
    assert '"sample"' not in path.read_text()
    assert Survey.load(path).sample == Sample(weights="w")


def test_a_sample_in_toml_is_that_of_the_survey(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    for weights, more in (('weights = "w"', ""), ("", 'weights = "w"')):
        path.write_text(TOML.format(weights=weights, more=more))
        assert Survey.from_toml(path).sample == FULL
    path.write_text(TOML.format(weights='weights = "v"', more='weights = "w"'))
    with refused("two-weights", ModelFileError):
        Survey.from_toml(path)
    path.write_text(TOML.format(weights="", more="stratum = 3"))
    with refused("unknown-key", ModelFileError):
        Survey.from_toml(path)
    path.write_text(TOML.format(weights="", more="").replace("north = 50", "north = 0"))
    with pytest.raises(ModelFileError):
        Survey.from_toml(path)


def test_columns_of_the_sample_are_kept_beside_the_reports(tmp_path: Path) -> None:
    asked = survey(sample=FULL)
    assert asked.kept(["id"]) == ("id", "w", "region", "school", "age")
    source, target = tmp_path / "answers.csv", tmp_path / "reports.csv"
    answers().to_csv(source, index=False)
    asked.privatize_file(source, target, rng=1)
    found = asked.estimate(str(target))
    assert found["smokes"].n_reports == 400
    with refused("sample-column"):
        survey(sample=Sample(strata="smokes"))
    with refused("sample-column"):
        survey(sample=Sample(strata="region")).form()
    with refused("two-weights"):
        survey(weights="v", sample=FULL)


def test_a_sample_of_the_call_is_in_place_of_that_of_the_survey() -> None:
    table = reports()
    asked = survey(sample=Sample(clusters="school"))
    plain = survey().estimate(table)["smokes"]
    np.testing.assert_array_equal(
        asked.estimate(table, sample=Sample())["smokes"].interval, plain.interval
    )
    own = asked.estimate(table)["smokes"]
    assert (own.std_error > 1.2 * plain.std_error).all()


def test_one_person_a_cluster_gives_the_tests_of_weights_times_a_known_factor() -> None:
    # equal weights other than 1: the linearized variances, of people drawn one by one
    table = reports().assign(person=range(400), two=2.0)
    drawn: list[dict[str, Any]] = [{"weights": "two"}, {"sample": Sample(clusters="person")}]
    tests = []
    for options in drawn:
        found = survey().estimate(table, by="region", **options)
        tests.append(
            [
                survey().independence(table, "smokes", "stress", **options),
                found.independence("stress"),
                found["stress"].test([0.4, 0.3, 0.3]),
            ]
        )
    for weighted, single in zip(*tests, strict=True):
        assert single.statistic == pytest.approx(weighted.statistic * 399 / 400, rel=1e-9)
        assert single.freedom == weighted.freedom


def test_tables_of_two_questions_have_the_errors_of_the_sample() -> None:
    table = reports()
    sample = Sample(strata="region", clusters="school")
    asked = survey(sample=sample)
    pair = asked.estimate_pair(table, "smokes", "stress")
    # the margin of the table is the question itself, with the same error
    one = asked.estimate(table)["smokes"]
    margin = pair.contrast([[0, 0, 0, 1, 1, 1]])
    assert margin.values[0] == pytest.approx(one.values[1], abs=1e-12)
    assert margin.std_error[0] == pytest.approx(one.std_error[1], rel=1e-9)
    assert pair.bounds.freedom == 8


@pytest.mark.parametrize("epsilon", thorough_or([4.0], [1.0, 4.0]))
def test_tests_of_clusters_have_their_size(epsilon: float) -> None:
    truth = 1 / (1 + np.exp(-epsilon))
    coin = Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])
    asked = Survey({"smokes": coin, "drinks": coin})
    number = thorough_or(30, 250)
    sample = Sample(clusters="school")
    rejected = np.zeros(3)
    for seed in range(number):
        table = answers(800, seed, 20).assign(region=lambda t: t["school"] % 3)
        table["drinks"] = table["stress"].map({"high": "yes", "low": "no"})
        drawn = asked.privatize(table[["smokes", "drinks", "school", "region"]], rng=seed)
        found = asked.estimate(drawn, by="region", sample=sample, check_fit=False)
        tests = [
            found.independence("smokes"),
            asked.independence(drawn, "smokes", "drinks", sample=sample),
            asked.independence(drawn, "smokes", "drinks"),
        ]
        rejected += [test.p_value < 0.05 for test in tests]
    error = np.sqrt(0.05 * 0.95 / number)
    assert (rejected[:2] / number < 0.05 + 4 * error).all()
    if epsilon == 4.0:  # without the clusters, it rejects several times too often
        assert rejected[2] / number > 0.05 + 4 * error


def test_a_regression_takes_the_sample_of_its_survey() -> None:
    table = reports()
    sample = Sample(weights="w", strata="region", clusters="school")
    of_survey = survey(sample=sample).regress("smokes ~ age", table)
    given = survey().regress("smokes ~ age", table, sample=sample)
    by_hand = regress("smokes ~ age", table, {"smokes": COIN}, sample=sample)
    for found in (given, by_hand):
        np.testing.assert_array_equal(of_survey.cov_params(), found.cov_params())
    weighted = survey(weights="w").regress("smokes ~ age", table)
    np.testing.assert_array_equal(weighted.params, given.params)
    plain = survey().regress("smokes ~ age", table)
    assert not np.allclose(plain.params, given.params)
    assert of_survey.bse.iloc[0] > 1.1 * plain.bse.iloc[0]  # schools differ
    another = survey(sample=sample).regress("smokes ~ age", table, sample=Sample(weights="w"))
    np.testing.assert_array_equal(another.bse, weighted.bse)


def test_a_mean_without_covariates_has_the_errors_of_the_sample() -> None:
    table = reports()
    sample = Sample(weights="w", strata="region", clusters="school")
    found = survey(sample=sample).regress("smokes ~ 1", table, kind="mean")
    share = survey(sample=sample).estimate(table)["smokes"]
    assert found.params.iloc[0] == pytest.approx(share.values[1], rel=1e-9)
    assert found.bse.iloc[0] == pytest.approx(share.std_error[1], rel=1e-9)


def test_regressions_without_covariates_know_the_margins() -> None:
    table = reports()
    large = replace(FULL, population=None)
    alone = Sample(margins=FULL.margins)  # its shares have errors without n / (n - 1)
    for sample in (large, alone, replace(large, clusters=None)):
        factor = np.sqrt(len(table) / (len(table) - 1)) if sample is alone else 1.0
        share = survey(sample=sample).estimate(table)["smokes"]
        mean = survey(sample=sample).regress("smokes ~ 1", table, kind="mean")
        assert mean.params.iloc[0] == pytest.approx(share.values[1], rel=1e-9)
        error = factor * share.std_error[1]
        assert mean.bse.iloc[0] == pytest.approx(error, rel=1e-9)
        logit = survey(sample=sample).regress("smokes ~ 1", table)
        p = share.values[1]
        assert logit.params.iloc[0] == pytest.approx(np.log(p / (1 - p)), rel=1e-6)
        assert logit.bse.iloc[0] == pytest.approx(error / (p * (1 - p)), rel=1e-5)


MARK = np.tile([0.0, 1.0, 3.0, 1.0], 100)


def test_a_regression_has_the_errors_of_residuals_on_the_margins() -> None:
    table = reports()
    sample = Sample(weights="w", margins=FULL.margins)
    found = survey(sample=sample).regress("smokes ~ mark", table.assign(mark=MARK), kind="mean")
    known = {"old": 0.4, "young": 0.6}
    weights = table["w"] / table.groupby("age")["w"].transform("sum") * table["age"].map(known)
    w = (weights / weights.mean()).to_numpy()
    x = np.column_stack([np.ones(len(table)), MARK])
    v = np.where(table["smokes"] == "yes", 1.5, -0.5)  # of the coin with 3/4
    bread = np.linalg.inv((x.T * w) @ x)
    b = bread @ (x.T * w) @ v
    scores = x * (v - x @ b)[:, None]
    for group in known:
        is_in = (table["age"] == group).to_numpy()
        scores[is_in] -= np.average(scores[is_in], axis=0, weights=w[is_in])
    u = w[:, None] * scores
    u -= u.mean(axis=0)
    right = bread @ (u.T @ u) @ bread * len(u) / (len(u) - 1)
    np.testing.assert_allclose(found.params, b, rtol=1e-9)
    np.testing.assert_allclose(found.bse, np.sqrt(np.diag(right)), rtol=1e-9)


def test_what_a_regression_does_not_know_of_a_sample() -> None:
    drawn = {"strata": "region", "clusters": "school"}
    sizes = Sample(**drawn, population={"north": 6, "south": 6})
    large, small = (
        survey(sample=each).regress("smokes ~ age", reports()) for each in (Sample(**drawn), sizes)
    )
    np.testing.assert_array_equal(large.bse, small.bse)  # never too small


def test_a_model_of_one_mechanism_has_the_errors_of_the_sample() -> None:
    everybody = Sample(strata="region", clusters="school", population={"north": 5, "south": 5})
    asked = survey().estimate(reports(), sample=everybody)["smokes"]
    found = ReportModel(COIN).estimate(asked.bounds.counts)
    np.testing.assert_allclose(found.std_error, asked.std_error, rtol=1e-12)
    np.testing.assert_allclose(found.interval, asked.interval, rtol=1e-9)


def test_a_database_shows_the_units_of_a_sample_without_arrow(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    asked, table = survey(), reports()
    url = f"sqlite:///{tmp_path}/reports.db"
    with Store(url, asked):
        pass
    with sqlite3.connect(tmp_path / "reports.db") as connection:
        for column in ("region", "school"):
            connection.execute(f"ALTER TABLE reports ADD COLUMN {column} TEXT")
        rows = zip(
            *(table[name].astype(str) for name in ("smokes", "stress", "region", "school")),
            strict=True,
        )
        entries = [(f"{place:032x}", *row) for place, row in enumerate(rows)]
        names = "(id, smokes, stress, region, school)"
        connection.executemany(f"INSERT INTO reports {names} VALUES (?, ?, ?, ?, ?)", entries)
    sample = Sample(clusters="school", population=100)
    expected = asked.estimate(table, sample=sample, by="region")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        found = asked.estimate(url, sample=sample, by="region")
    for group in ("north", "south"):
        np.testing.assert_allclose(
            found.groups[group]["stress"].interval, expected.groups[group]["stress"].interval
        )
