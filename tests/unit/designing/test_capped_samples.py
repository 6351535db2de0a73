"""Errors from samples whose reports are sets of a few sizes, each with two values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import PureLDP, Question, Sample, Survey, Workload, design, least_influence
from ldpopt.certificate.capped_certificate import CappedCertificate
from ldpopt.certificate.design_bound import NoBound
from ldpopt.designing.capped_frequency_design import CappedFrequencyDesign
from ldpopt.designing.methods.method import DesignLimits
from ldpopt.designing.record import ProvedDesign
from ldpopt.problem.workload import Workload as Numbers

FEW = DesignLimits(listed_answers=2)
"""With these limits designs of few answers are not listed either."""
JOBS = [f"job {k}" for k in range(23)]


def capped(names: Any, epsilon: float = 2.0, unit: float = 1.0) -> CappedFrequencyDesign:
    """A design of two sizes."""
    workload = unit * Workload.frequencies(names)
    privacy = PureLDP(epsilon)
    cap = 1.02 * least_influence(workload, privacy)
    best = design(workload, privacy, influence=cap, limits=FEW)
    assert isinstance(best, CappedFrequencyDesign)
    assert len(best.sets) > 1
    return best


def people(names: list[str], n: int = 600, seed: int = 2) -> pd.DataFrame:
    """People in classes, whose answers are alike in a class."""
    rng = np.random.default_rng(seed)
    place = np.arange(n) // 12
    many = len(names)
    usual = rng.integers(0, many, n)
    job = np.where(rng.random(n) < 0.5, usual[place], rng.integers(0, many, n))
    return pd.DataFrame(
        {
            "job": [names[k] for k in job],
            "class": place,
            "part": np.where(place % 2, "east", "west"),
            "w": rng.choice([1.0, 2.0, 4.0], n),
        }
    )


def reported(survey: Survey, table: pd.DataFrame, seed: int) -> pd.DataFrame:
    drawn = survey.privatize(table, rng=seed)
    return drawn.assign(**{name: table[name].to_numpy() for name in ("class", "part", "w")})


def values_of(best: CappedFrequencyDesign, texts: Any) -> Any:
    """The value of each report in each number, shape (N, n)."""
    pairs = {each.size: pair for _, each, pair in best.sets}
    sets = [list(map(int, text.split(" "))) for text in texts]
    places = np.arange(len(best.names))
    return np.array([np.where(np.isin(places, one), *pairs[len(one)]) for one in sets])


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("clusters", ["class", None])
@pytest.mark.parametrize("unit", [1.0, -100.0])
def test_errors_are_those_of_the_formula_person_by_person(
    clusters: str | None, weights: str | None, unit: float
) -> None:
    best = capped(JOBS, unit=unit)
    asked = Survey({"job": best})
    reports = reported(asked, people(JOBS), 1)
    sample = Sample(weights, "part", clusters)
    found = asked.estimate(reports, sample=sample, check_fit=False)["job"]
    values = values_of(best, reports["job"])
    w = np.ones(len(reports)) if weights is None else reports[weights].to_numpy()
    mean = w @ values / w.sum()
    np.testing.assert_allclose(found.values, mean, rtol=1e-9)
    moved = w[:, None] * (values - mean)
    cluster = reports["class"].to_numpy() if clusters else np.arange(len(reports))
    variance = np.zeros(len(mean))
    for part in ("east", "west"):
        here = (reports["part"] == part).to_numpy()
        sums = pd.DataFrame(moved[here]).groupby(cluster[here]).sum().to_numpy()
        n = len(sums)
        variance += n / (n - 1) * ((sums - sums.mean(axis=0)) ** 2).sum(axis=0)
    # as without a sample, the variance of a report is that at the nearest possible frequency
    share = np.clip(mean / unit, 0, 1)
    of_truth, others = best.mean_squares
    of_report = unit**2 * (others + share * (of_truth - others) - share**2)
    seen = w @ (values - mean) ** 2 / w.sum()
    expected = variance / w.sum() ** 2 * of_report / seen
    np.testing.assert_allclose(found.std_error**2, expected, rtol=1e-9)


def test_one_stratum_without_weights_is_no_sample() -> None:
    asked = Survey({"job": capped(JOBS)})
    reports = reported(asked, people(JOBS), 3).assign(everybody="all")
    plain = asked.estimate(reports, check_fit=False)["job"]
    found = asked.estimate(reports, sample=Sample(strata="everybody"), check_fit=False)["job"]
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-12)
    more = len(reports) / (len(reports) - 1)
    np.testing.assert_allclose(found.std_error**2, more * plain.std_error**2, rtol=1e-9)
    half = np.diff(plain.interval, axis=1)
    assert (np.abs(found.interval - plain.interval) < half / len(reports)).all()


def listed(best: CappedFrequencyDesign) -> tuple[Any, dict[str, str]]:
    """The design with the same channel and values, all of whose reports are listed, and the label
    of each set."""
    drawn = best.mechanism
    workload: Any = best.workload
    assert isinstance(workload, Numbers)
    caps = np.full(len(best.names), 1.01 * best.influence.largest)
    claim = CappedCertificate.of(
        workload,
        best.privacy,
        np.ones(len(best.names)),
        "average",
        caps,
        drawn,
        best.estimator,
        NoBound(),
    )
    places = {name: str(place) for place, name in enumerate(best.inputs)}
    names = {" ".join(places[name] for name in label): label for label in drawn.outputs}
    return ProvedDesign.of(claim), names


@pytest.mark.parametrize("seed", range(thorough_or(3, 12)))
def test_a_listed_design_of_the_same_reports_has_the_same_intervals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = JOBS[: int(rng.integers(4, 9))]
    best = capped(names, float(rng.uniform(0.5, 3)))
    of_list, labels = listed(best)
    table = people(names, 480, seed)
    reports = reported(Survey({"job": best}), table, seed)
    codec = of_list.randomizer.codec
    same = reports.assign(
        job=codec.labels(True).take(
            [of_list.mechanism.outputs.index(labels[t]) for t in reports["job"]]
        )
    )
    sample = Sample("w", "part", "class" if seed % 2 else None, {"east": 900, "west": 700})
    if seed % 2:
        sample = replace(sample, population={"east": 70, "west": 50})
    one, other = (
        Survey({"job": each}).estimate(rows, sample=sample, check_fit=False)["job"]
        for each, rows in ((best, reports), (of_list, same))
    )
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    # listed designs move all frequencies at once, and know the noise by another left inverse
    away = np.abs(one.interval - other.interval) / np.diff(other.interval, axis=1)
    assert np.median(away) < 2e-3
    assert away.max() < 0.03


@pytest.mark.parametrize("clusters", [None, "class"])
def test_intervals_cover_the_population(clusters: str | None) -> None:
    names = JOBS[:21]
    best = capped(names, 3.0)
    asked = Survey({"job": best})
    rng = np.random.default_rng(11)
    everybody = people(names, 3000, 5)
    # classes of the west are asked twice as often
    chances = {"east": 0.2, "west": 0.4}
    classes = everybody.groupby("class")["part"].first()
    sizes = (classes if clusters else everybody["part"]).value_counts().to_dict()
    sample = Sample("w", "part", clusters, sizes)
    truth = everybody["job"].value_counts(normalize=True).reindex(names).fillna(0).to_numpy()
    covered = []
    for seed in range(thorough_or(40, 300)):
        if clusters:
            chosen = np.concatenate(
                [
                    rng.choice(rows.index, round(len(rows) * chances[part]), replace=False)
                    for part, rows in classes.groupby(classes)
                ]
            )
            table = everybody[everybody["class"].isin(chosen)]
        else:
            table = pd.concat(
                [
                    rows.sample(round(len(rows) * chances[part]), random_state=seed)
                    for part, rows in everybody.groupby("part")
                ]
            )
        table = table.assign(w=[1 / chances[part] for part in table["part"]])
        found = asked.estimate(reported(asked, table, seed), sample=sample, check_fit=False)["job"]
        covered.append((found.interval[:, 0] <= truth) & (truth <= found.interval[:, 1]))
    rate = float(np.mean(covered))
    assert 0.93 < rate < 0.985, rate


def test_files_groups_margins_and_liars(tmp_path: Path) -> None:
    asked = Survey({"job": capped(JOBS)})
    reports = reported(asked, people(JOBS), 3)
    sample = Sample(clusters="class", margins={"part": {"east": 0.7, "west": 0.3}})
    found = asked.estimate(reports, sample=sample, check_fit=False)["job"]
    reports.to_csv(tmp_path / "reports.csv", index=False)
    again = asked.estimate(tmp_path / "reports.csv", sample=sample, check_fit=False)["job"]
    np.testing.assert_allclose(again.std_error, found.std_error, rtol=1e-12)
    np.testing.assert_allclose(again.interval, found.interval, rtol=1e-9)
    plain = asked.estimate(reports, sample=Sample(clusters="class"), by="part", check_fit=False)
    east, west = (plain.groups[part]["job"].values for part in ("east", "west"))
    np.testing.assert_allclose(found.values, 0.7 * east + 0.3 * west, rtol=1e-9)
    differences = plain.differences("west")["east", "west"]["job"]
    assert np.isfinite(differences.std_error).all()
    wide = asked.estimate(reports, sample=sample, check_fit=False, liars=0.01)["job"]
    reach = 0.01 * asked.questions["job"].source.influence.largest
    both = found.interval + reach * np.array([-1.0, 1.0])
    np.testing.assert_allclose(wide.interval, both, atol=1e-12)


def test_shares_among_those_who_answered_are_refused() -> None:
    workload = Workload.frequencies(JOBS).with_missing("no answer")
    best = capped(workload.inputs)
    asked = Survey({"job": Question(best, "refuse", "no answer")})
    reports = reported(asked, people(JOBS), 1)
    with refused("answered-of-sample"):
        asked.estimate(reports, sample=Sample(clusters="class"))
