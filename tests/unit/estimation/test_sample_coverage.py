"""Coverage of intervals from samples, simulated: populations, strata, clusters, margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpopt import Mechanism, Sample, Survey

SURVEYS = 250  # many more are in benchmarks/populations.py
# coverage of the formula itself, .934 to .959 by simulation, and four standard errors
LEAST, MOST = 0.934 - 0.063, 0.997
Drawn = Callable[[Any], tuple[Any, dict[str, Any]]]  # answers, and columns of the sample


def of_population(people: int, share: float) -> tuple[Drawn, Sample, float]:
    everyone = np.arange(500) < 500 * share
    return (
        lambda rng: (rng.choice(everyone, people, replace=False), {}),
        Sample(population=500),
        float(everyone.mean()),
    )


def of_strata() -> tuple[Drawn, Sample, float]:
    asked = {"a": (300, 60, 0.1), "b": (200, 100, 0.4), "c": (100, 90, 0.8)}
    parts = {name: np.arange(size) < size * share for name, (size, _, share) in asked.items()}
    names = np.repeat(list(asked), [n for _, n, _ in asked.values()])
    columns = {"stratum": names, "w": [asked[name][0] / asked[name][1] for name in names]}

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        each = [rng.choice(parts[name], asked[name][1], replace=False) for name in asked]
        return np.concatenate(each), columns

    sample = Sample("w", "stratum", population={name: size for name, (size, _, _) in asked.items()})
    return drawn, sample, float(np.concatenate(list(parts.values())).mean())


def of_classes() -> tuple[Drawn, Sample, float]:
    rng = np.random.default_rng(3)
    everyone = rng.random((100, 25)) < rng.beta(1, 3, 100)[:, None]
    columns = {"class": np.repeat(np.arange(40), 25)}
    return (
        lambda rng: (rng.permutation(everyone)[:40].ravel(), columns),
        Sample(clusters="class", population=100),
        float(everyone.mean()),
    )


def of_margins() -> tuple[Drawn, Sample, float]:
    cells, rates = np.array([0.35, 0.15, 0.2, 0.3]), np.array([0.1, 0.3, 0.4, 0.8])
    reached = cells * [1.0, 0.6, 0.5, 0.3]

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        cell = rng.choice(4, 300, p=reached / reached.sum())
        return rng.random(300) < rates[cell], {"age": cell // 2, "sex": cell % 2}

    margins: Any = {"age": {0: 0.5, 1: 0.5}, "sex": {0: 0.55, 1: 0.45}}
    return drawn, Sample(margins=margins), float(cells @ rates)


def of_groups() -> tuple[Drawn, Sample, float]:
    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        level = 0.8 * rng.beta(1, 3, 60)[:, None] + np.array([0.0, 0.1])
        answers = rng.random((60, 2, 10)) < level[:, :, None]
        columns = {"class": np.repeat(np.arange(60), 20), "by": np.tile(np.repeat([0, 1], 10), 60)}
        return answers.ravel(), columns

    return drawn, Sample(clusters="class"), 0.1


CASES: dict[str, tuple[Drawn, Sample, float]] = {
    "200 of 500": of_population(200, 0.375),
    "census": of_population(500, 0.375),
    "strata": of_strata(),
    "classes": of_classes(),
    "margins": of_margins(),
    "difference of groups in the same classes": of_groups(),
}


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("case", CASES)
def test_intervals_of_samples_cover(case: str, epsilon: float) -> None:
    drawn, sample, truth = CASES[case]
    share = 1 / (1 + np.exp(-epsilon))
    survey = Survey({"q": Mechanism([[share, 1 - share], [1 - share, share]], inputs=[0, 1])})
    rng = np.random.default_rng(round(epsilon))
    hits, values, errors = [], [], []
    for _ in range(SURVEYS):
        answers, columns = drawn(rng)
        reports = np.where(rng.random(len(answers)) < share, answers, ~answers).astype(int)
        table = pd.DataFrame({"q": reports} | columns)
        by = "by" if "by" in columns else None
        found = survey.estimate(table, sample=sample, by=by, check_fit=False)
        one = found.groups[1]["q"] - found.groups[0]["q"] if by else found["q"]
        low, high = one.interval[1]
        hits.append(low <= truth <= high)
        values.append(one.values[1])
        errors.append(one.std_error[1])
    assert LEAST <= np.mean(hits) <= MOST
    root = np.sqrt(np.mean(np.square(errors)))
    assert root == pytest.approx(np.std(values), rel=0.2)  # 4 standard errors of a deviation
