"""Errors of estimates from samples in which people have one of several mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpopt import Counts, ReportModel, Sample, Survey, techniques
from ldpopt.estimation.sampled import ReportNoise, SampledPeople, SampledTable
from ldpopt.estimation.units import UnitSums

HALVES = {1: techniques.forced(0, "1/4"), 2: techniques.forced(0, "3/4")}
COINS = {"low": techniques.warner("7/10"), "high": techniques.warner("19/20")}
MODELS = {
    "assigned": ReportModel(COINS),
    "assigned, of which none alone shows the shares": ReportModel(
        HALVES, behaviors={"cheater": "no"}
    ),
    "chosen": ReportModel(COINS, assigned=False),
}


def census(model: ReportModel, reports: np.ndarray, population: int | None) -> Counts:
    """Counts of pairs, by position, of people who were drawn from a population."""
    nobody = np.zeros(len(reports), dtype=np.int64)
    size = len(model.mechanism.outputs)
    keys: list[Any] = [([""], nobody), ([""], nobody), ([None], nobody)]
    units = UnitSums.of(keys, reports, None, size)
    table = SampledTable.of(units, Sample(population=population))
    values, squares = (each.sum(axis=0) for each in (table.sums, table.squares))
    sums = float(values.sum()), float(squares.sum()), len(reports)
    sampled = SampledPeople(table, np.array([0]))
    return Counts(model.digest, model.mechanism.outputs, values, squares, *sums, sampled=sampled)


@pytest.mark.parametrize("name", MODELS)
def test_noise_of_several_channels_is_that_of_each_person(name: str) -> None:
    """By definition, at the counts that are expected of people with known answers."""
    model = MODELS[name]
    n = len(model.names)
    people = np.array([[30.0, 12.0], [9.0, 25.0], [7.0, 4.0]])[:n]  # by answer and channel
    if model.assigned:  # the channel says nothing of the answer
        people = people.sum(axis=1, keepdims=True) * [0.4, 0.6]
    channels = [part.channel for part in model.parts]
    seen = np.concatenate([people[:, j] @ each for j, each in enumerate(channels)])
    source = model.stacked(people.sum(axis=0))
    rng = np.random.default_rng(0)
    moved = source.left_inverse + np.concatenate(
        [np.tile(rng.normal(size=(n, 1)), each.shape[1]) for each in channels], axis=1
    )
    groups = np.repeat([0, 1], [each.shape[1] for each in channels])
    estimator = source.left_inverse if model.assigned else moved
    noise = ReportNoise.of(
        estimator,
        source.wanted,
        source.channel,
        source.left_inverse,
        None if model.assigned else groups,
    )
    expected = np.zeros((n, n))
    for x in range(n):
        law = [people[x, j] * each[x] for j, each in enumerate(channels)]
        parts = [np.concatenate(law)] if model.assigned else law
        starts = [slice(None)] if model.assigned else model.slices
        for part, place in zip(parts, starts, strict=True):
            number, values = part.sum(), estimator[:, place]
            mean = values @ part / number
            expected += (values * part) @ values.T - number * np.outer(mean, mean)
    assert noise is not None
    np.testing.assert_allclose(noise.covariance(seen), expected, atol=1e-9)


def by_school(seed: int) -> pd.DataFrame:
    """Reports of two halves with different dice, in schools that differ."""
    rng = np.random.default_rng(seed)
    n = 600
    table = pd.DataFrame({"half": rng.permutation(n) % 2 + 1, "school": np.arange(n) // 20})
    share = rng.beta(1, 3, 30)[table["school"]]
    answers = np.where(rng.random(n) < share, "yes", "no")
    drawn = [
        HALVES[half].sample([answer], rng=number)[0]
        for number, (half, answer) in enumerate(zip(table["half"], answers, strict=True))
    ]
    return table.assign(q=drawn)


def test_people_with_several_mechanisms_have_the_errors_of_their_clusters(tmp_path: Path) -> None:
    table = by_school(1)
    model = ReportModel(HALVES, column="half", behaviors={"cheater": "no"})
    survey = Survey({"q": model})
    sample = Sample(clusters="school")
    found = survey.estimate(table, sample=sample)["q"]
    plain = survey.estimate(table)["q"]
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-12)
    values = model.at(plain.bounds.counts).estimator
    place = {pair: k for k, pair in enumerate(model.mechanism.outputs)}
    of_person = values[:, [place[pair] for pair in zip(table["half"], table["q"], strict=True)]]
    sums = pd.DataFrame((of_person - found.values[:, None]).T).groupby(table["school"]).sum()
    variance = 30 / 29 * ((sums - sums.mean()) ** 2).sum().to_numpy() / len(table) ** 2
    np.testing.assert_allclose(found.std_error, np.sqrt(variance), rtol=1e-9)
    table.to_csv(tmp_path / "reports.csv", index=False)
    of_file = survey.estimate(tmp_path / "reports.csv", sample=sample)["q"]
    np.testing.assert_allclose(of_file.std_error, found.std_error, rtol=1e-12)
    everybody = Sample(clusters="school", population=30)
    census = survey.estimate(table, sample=everybody)["q"]
    assert (census.std_error[:2] < found.std_error[:2]).all(), "schools differ"
    groups = survey.estimate(table.assign(part=table["school"] % 2), by="part", sample=sample)
    assert np.isfinite(groups.differences(1)[0, 1]["q"].std_error).all()


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_census_with_several_channels_has_the_error_of_its_noise(name: str) -> None:
    model = MODELS[name]
    answers = np.repeat(np.arange(len(model.names)), [248, 110, 42][: len(model.names)])
    n = len(answers)
    starts = [place.start for place in model.slices]
    laws = [part.channel.cumsum(axis=1) for part in model.parts]
    rng = np.random.default_rng(1)
    own = rng.random(n) < np.where(answers == 1, 0.8, 0.3)  # carriers prefer one of the channels
    found, said, as_sample = [], [], []
    for _ in range(400):
        second = rng.permutation(n) % 2 == 1 if model.assigned else own
        draws = rng.random(n)
        reports = np.empty(n, dtype=np.int64)
        for j, law in enumerate(laws):
            here = second == (j == 1)
            reports[here] = starts[j] + (draws[here, None] > law[answers[here]]).sum(axis=1)
        estimate = model.estimate(census(model, reports, n), check_fit=False)
        found.append(estimate.values)
        said.append(estimate.std_error)
        as_sample.append(model.estimate(census(model, reports, None), check_fit=False).std_error)
    deviation = np.std(found, axis=0)
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(said), axis=0)), deviation, rtol=0.1)
    assert (np.mean(as_sample, axis=0) > np.mean(said, axis=0)).all()
