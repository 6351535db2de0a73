"""Errors from samples whose reports are sets: of many answers, or joint ones of yes and no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import refused
from ldpopt import PureLDP, Question, Sample, Survey, Workload, design

MANY = [f"job {k}" for k in range(23)]
SETS = Survey({"job": design(Workload.frequencies(MANY), PureLDP(3.0))})
JOINT = Survey(
    {name: ["no", "yes"] for name in ("smokes", "drinks", "votes")}, epsilon=4.0, scheme="joint"
)
SURVEYS = {"job": SETS, "smokes": JOINT}


def people(n: int = 600) -> pd.DataFrame:
    """People in classes, whose answers are alike in a class."""
    rng = np.random.default_rng(2)
    place = np.arange(n) // 12
    usual, rate = rng.integers(0, 23, n), rng.beta(1, 3, n)
    job = np.where(rng.random(n) < 0.5, usual[place], rng.integers(0, 23, n))
    return pd.DataFrame(
        {
            "job": [MANY[k] for k in job],
            "smokes": np.where(rng.random(n) < rate[place], "yes", "no"),
            "drinks": rng.choice(["no", "yes"], n),
            "votes": rng.choice(["no", "yes"], n),
            "class": place,
            "part": np.where(place % 2, "east", "west"),
            "w": rng.choice([1.0, 2.0, 4.0], n),
        }
    )


def reports_of(question: str, table: pd.DataFrame, seed: int) -> pd.DataFrame:
    drawn = SURVEYS[question].privatize(table, rng=seed)
    for name in ("class", "part", "w"):
        drawn[name] = table[name].to_numpy()
    return drawn


def values_of(question: str, reports: pd.DataFrame) -> tuple[Any, Any, float]:
    """By person: whether the report supports each number, whether it counts, and the scale that
    makes frequencies of shares."""
    if question == "job":
        protocol = SETS.questions["job"].source.protocol
        sets = [set(map(int, text.split(" "))) for text in reports["job"]]
        supports = np.array([[place in each for place in range(23)] for each in sets], dtype=float)
        return supports, np.ones(len(sets)), float(protocol.p - protocol.q)
    named = [set(map(int, text.split(" "))) for text in reports["joint report"]]
    supports = np.array([[0 in each, 1 in each] for each in named], dtype=float)
    return supports, supports.sum(axis=1), JOINT.joint.source.bias


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clusters", ["class", None])
@pytest.mark.parametrize("question", SURVEYS)
def test_errors_are_those_of_the_formula_person_by_person(
    question: str, clusters: str | None, weighted: bool
) -> None:
    reports = reports_of(question, people(), 1)
    sample = Sample("w" if weighted else None, "part", clusters)
    found = SURVEYS[question].estimate(reports, sample=sample, check_fit=False)[question]
    supports, counts, gap = values_of(question, reports)
    w = reports["w"].to_numpy() if weighted else np.ones(len(reports))
    total = w @ counts
    share = w @ supports / total
    moved = w[:, None] * (supports - counts[:, None] * share)
    unit = reports["class"].to_numpy() if clusters else np.arange(len(reports))
    variance = np.zeros(len(share))
    for part in ("east", "west"):
        here = (reports["part"] == part).to_numpy()
        sums = pd.DataFrame(moved[here]).groupby(unit[here]).sum().to_numpy()
        n = len(sums)
        variance += n / (n - 1) * ((sums - sums.mean(axis=0)) ** 2).sum(axis=0)
    inside = (found.values > 0) & (found.values < 1)  # else the error is that of the nearest share
    assert inside.sum() > len(share) - 4
    expected = np.sqrt(variance) / total / gap
    np.testing.assert_allclose(found.std_error[inside], expected[inside], rtol=1e-9)
    miss = (share - found.values * gap)[0]
    assert found.values == pytest.approx((share - miss) / gap, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("question", SURVEYS)
def test_a_census_has_the_error_of_its_noise(question: str) -> None:
    table = people()
    everybody, usual = Sample(population=len(table)), Sample(clusters="class")
    found, said, as_sample = [], [], []
    for seed in range(200):
        reports = reports_of(question, table, seed)
        of_all, of_classes = (
            SURVEYS[question].estimate(reports, sample=sample, check_fit=False)[question]
            for sample in (everybody, usual)
        )
        found.append(of_all.values)
        said.append(of_all.std_error**2)
        as_sample.append(of_classes.std_error**2)
    answers = MANY if question == "job" else ["no", "yes"]
    truth = table[question].value_counts(normalize=True).reindex(answers).to_numpy()
    deviation = np.std(found, axis=0)
    assert np.abs(np.mean(found, axis=0) - truth).max() < 5 * deviation.max() / np.sqrt(200)
    ratio = np.sqrt(np.mean(said, axis=0)) / deviation
    assert 0.93 < ratio.mean() < 1.12
    assert np.mean(as_sample) > 1.1 * np.mean(said), "classes are no census of the population"


@pytest.mark.parametrize("question", SURVEYS)
def test_files_groups_and_margins(question: str, tmp_path: Path) -> None:
    reports = reports_of(question, people(), 3)
    sample = Sample(clusters="class", margins={"part": {"east": 0.7, "west": 0.3}})
    asked = SURVEYS[question]
    found = asked.estimate(reports, sample=sample, check_fit=False)[question]
    reports.to_csv(tmp_path / "reports.csv", index=False)
    again = asked.estimate(tmp_path / "reports.csv", sample=sample, check_fit=False)[question]
    np.testing.assert_allclose(again.std_error, found.std_error, rtol=1e-12)
    np.testing.assert_allclose(again.interval, found.interval, rtol=1e-9)
    plain = asked.estimate(reports, sample=Sample(clusters="class"), by="part", check_fit=False)
    east, west = (plain.groups[part][question].values for part in ("east", "west"))
    total = asked.estimate(reports, sample=sample, check_fit=False)[question].values
    if question == "job":  # as the margins have them
        np.testing.assert_allclose(total, 0.7 * east + 0.3 * west, rtol=1e-9)
    differences = plain.differences("west")["east", "west"][question]
    assert np.isfinite(differences.std_error).all()
    assert (found.interval[:, 0] < found.values).all()
    assert (found.interval[:, 1] > found.values).all()


def test_clusters_have_wider_intervals_by_student() -> None:
    reports = reports_of("smokes", people(60), 1)
    found, plain = (
        JOINT.estimate(reports, sample=sample, check_fit=False)["smokes"]
        for sample in (Sample(clusters="class"), Sample())
    )
    widths = [np.diff(each.interval, axis=1) / each.std_error[:, None] for each in (found, plain)]
    assert (widths[0] > 1.2 * widths[1]).all()  # 4 degrees of freedom: 2.78 against 1.96


def test_tables_of_two_joint_questions_have_the_errors_of_the_sample() -> None:
    reports = reports_of("smokes", people(), 4)
    asked = Survey(JOINT.questions, epsilon=4.0, scheme="joint", sample=Sample(clusters="class"))
    found, plain = (
        each.estimate_pair(reports, "smokes", "votes", check_fit=False) for each in (asked, JOINT)
    )
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-9)
    assert found.std_error[-1] > 1.15 * plain.std_error[-1], "smokers are in the same classes"


def test_what_sets_do_not_show_is_refused() -> None:
    table = people()
    workload = Workload.frequencies(MANY).with_missing("no answer")
    asked = Survey({"job": Question(design(workload, PureLDP(3.0)), "refuse", "no answer")})
    drawn = asked.privatize(table, rng=1)
    drawn["class"] = table["class"]
    with refused("answered-of-sample"):
        asked.estimate(drawn, sample=Sample(clusters="class"))
