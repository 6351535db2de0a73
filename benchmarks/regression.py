"""Regressions on reports: CPU seconds, and coverage of 95 % intervals.

    python benchmarks/regression.py               # 400 surveys a line, about 5 CPU minutes
    python benchmarks/regression.py --surveys 50

Rewrites regression.md. Answers are drawn from the model that is fitted, and reports from the
answers; the formula is read again in each survey. Exit code 1 if a coverage is more than 4 standard
errors below .95.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ldpopt import Mechanism, regress, techniques
from ldpopt.errors import LimitReachedError

PAGE = Path(__file__).with_suffix(".md")
LEVEL = 0.95
ROWS = (
    (10_000, 2, False),
    (100_000, 2, False),
    (1_000_000, 2, False),
    (100_000, 5, False),
    (1_000_000, 2, True),
)
WAVES = 3  # fits of which the fastest counts


HEAD = """# Regressions on reports

{made}

## Speed

CPU seconds of one thread, the fastest of {waves} fits, with the reading of the formula and of the
table. Rows are all different, or there are 16 different ones beside the reports.

| rows | answers | different rows | coefficients | CPU s |
|---|---|---|---|---|
{speed}
## Coverage

Share of {surveys} simulated surveys whose 95 % interval holds the coefficient, one for each
coefficient in the order of `params`; a coverage of .95 has a standard error of {error:.3f}. Surveys
whose likelihood has no maximum are counted beside.

| model | people | coverage | no maximum | CPU s a survey |
|---|---|---|---|---|
"""


def response(n: int, epsilon: float, labels: Any = None) -> Mechanism:
    """Randomized response of ``n`` answers."""
    rows = np.ones((n, n)) + np.expm1(epsilon) * np.eye(n)
    return Mechanism(rows / rows.sum(axis=1, keepdims=True), labels, labels)


def softmax(logits: Any) -> Any:
    """Probabilities of the answers against the first one, whose logit is 0."""
    terms = np.exp(np.column_stack([np.zeros(len(logits)), logits]))
    return terms / terms.sum(axis=1, keepdims=True)


def drawn(rng: Any, shares: Any) -> Any:
    """A position in each row of probabilities."""
    return (rng.random(len(shares))[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)


def reports(rng: Any, mechanism: Mechanism, answers: Any) -> Any:
    """Reports of answers that are positions."""
    return np.array(mechanism.outputs)[drawn(rng, np.asarray(mechanism.channel)[answers])]


@dataclass(frozen=True)
class Case:
    """A kind of survey: draws a table, and has the arguments of `regress` and the truth."""

    name: str
    people: int
    truth: tuple[float, ...]
    draw: Callable[[Any], pd.DataFrame]
    formula: str
    protected: dict[str, Any]
    options: dict[str, Any]


def outcome(epsilon: float, people: int) -> Case:
    """A protected outcome, two clear covariates."""
    truth = (-1.0, 0.7, 0.0)
    coin = response(2, epsilon)

    def draw(rng: Any) -> pd.DataFrame:
        z = np.column_stack([rng.normal(size=people), rng.random(people) < 0.5])
        y = drawn(rng, softmax(truth[0] + z @ truth[1:]))
        return pd.DataFrame({"a": z[:, 0], "b": z[:, 1], "y": reports(rng, coin, y)})

    return Case(f"outcome, epsilon {epsilon:g}", people, truth, draw, "y ~ a + b", {"y": coin}, {})


def both(epsilon: float, people: int, kind: str) -> Case:
    """Outcome and one covariate protected, one clear covariate."""
    truth = (-0.7, 1.0, 0.5) if kind == "logit" else (0.3, 0.2, 0.05)
    coin = response(2, epsilon, ["no", "yes"])

    def draw(rng: Any) -> pd.DataFrame:
        z = rng.normal(size=people)
        x = drawn(rng, softmax(-0.4 + 0.5 * z))
        mean = truth[0] + truth[1] * x + truth[2] * z
        shares = softmax(mean) if kind == "logit" else np.clip(np.stack([1 - mean, mean], 1), 0, 1)
        return pd.DataFrame(
            {"z": z, "x": reports(rng, coin, x), "o": reports(rng, coin, drawn(rng, shares))}
        )

    name = f"outcome and covariate, {kind}, epsilon {epsilon:g}"
    return Case(name, people, truth, draw, "o ~ x + z", {"x": coin, "o": coin}, {"kind": kind})


def covariate(epsilon: float, people: int, kind: str) -> Case:
    """A protected covariate of three answers, a clear outcome."""
    truth = (-0.5, 0.8, 1.2, 0.6)
    die = response(3, epsilon, ["a", "b", "c"])

    def draw(rng: Any) -> pd.DataFrame:
        z = rng.normal(size=people)
        x = drawn(rng, softmax(np.column_stack([0.2 + 0.5 * z, -0.5 - 0.3 * z])))
        mean = truth[0] + np.array([0.0, *truth[1:3]])[x] + truth[3] * z
        y = drawn(rng, softmax(mean)) if kind == "logit" else mean + rng.normal(size=people)
        return pd.DataFrame({"z": z, "x": reports(rng, die, x), "y": y})

    name = f"covariate of three answers, {kind}, epsilon {epsilon:g}"
    return Case(name, people, truth, draw, "y ~ x + z", {"x": die}, {"kind": kind})


def ordered(epsilon: float, people: int) -> Case:
    """Four ordered answers."""
    truth = (0.8, -0.4, -1.0, 0.5, 2.0)
    die = response(4, epsilon)

    def draw(rng: Any) -> pd.DataFrame:
        z = rng.normal(size=(people, 2))
        y = (z @ truth[:2] + rng.logistic(size=people) > np.array(truth[2:])[:, None]).sum(axis=0)
        return pd.DataFrame({"a": z[:, 0], "b": z[:, 1], "y": reports(rng, die, y)})

    name = f"four ordered answers, epsilon {epsilon:g}"
    return Case(name, people, truth, draw, "y ~ a + b", {"y": die}, {"kind": "ordered"})


def cheaters(people: int) -> Case:
    """Cheating detection with a covariate: one in ten always says no."""
    truth = (-0.8, 0.7)
    model = techniques.cheating_detection("1/4", "3/4", column="half")

    def draw(rng: Any) -> pd.DataFrame:
        z = rng.normal(size=people)
        half = rng.integers(1, 3, people)
        says_yes = drawn(rng, softmax(truth[0] + truth[1] * z)) == 1
        says_yes |= rng.random(people) < np.where(half == 1, 0.25, 0.75)
        says_yes &= rng.random(people) > 0.1
        return pd.DataFrame({"z": z, "half": half, "y": np.where(says_yes, "yes", "no")})

    return Case("cheating detection", people, truth, draw, "y ~ z", {"y": model}, {})


@dataclass(frozen=True)
class Clusters:
    """A sample of clusters, by the names of its columns."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = "cluster"


def clusters(epsilon: float) -> Case:
    """60 clusters of 20 with shares of their own; the truth is the logit of the mean share."""
    coin = response(2, epsilon)

    def draw(rng: Any) -> pd.DataFrame:
        share = np.repeat(rng.beta(2, 5, 60), 20)
        y = reports(rng, coin, (rng.random(1200) < share).astype(int))
        return pd.DataFrame({"cluster": np.repeat(np.arange(60), 20), "y": y})

    name = f"60 clusters of 20, epsilon {epsilon:g}"
    return Case(
        name, 1200, (float(np.log(2 / 5)),), draw, "y ~ 1", {"y": coin}, {"sample": Clusters()}
    )


CASES = (
    *(outcome(epsilon, people) for epsilon in (1.0, 2.0, 4.0) for people in (300, 1000)),
    *(both(epsilon, 1000, "logit") for epsilon in (2.0, 4.0)),
    *(both(epsilon, 1000, "mean") for epsilon in (1.0, 2.0, 4.0)),
    *(covariate(epsilon, 2000, kind) for epsilon in (1.0, 2.0) for kind in ("logit", "mean")),
    *(ordered(epsilon, 2000) for epsilon in (1.0, 2.0)),
    cheaters(2000),
    clusters(2.0),
)


def covered(case: Case, surveys: int) -> tuple[Any, int]:
    """Share of the surveys whose interval holds each coefficient, and the number without a
    maximum."""
    rng = np.random.default_rng(1)
    hits = np.zeros(len(case.truth))
    refused = 0
    for _ in range(surveys):
        table = case.draw(rng)
        try:
            ends = regress(case.formula, table, case.protected, **case.options).conf_int()
        except LimitReachedError:
            refused += 1
            continue
        hits += (ends[0].to_numpy() <= case.truth) & (case.truth <= ends[1].to_numpy())
    return hits / max(1, surveys - refused), refused


def seconds(rows: int, n: int, are_equal: bool) -> float:
    """CPU seconds of a fit of five coefficients for each answer but the first, formula included."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, (rows, 4)) if are_equal else rng.normal(size=(rows, 4))
    effects = 0.5 * rng.normal(size=(5, n - 1))
    die = response(n, 1.0)
    answers = drawn(rng, softmax(effects[0] + z @ effects[1:]))
    table = pd.DataFrame(z, columns=list("abcd")).assign(y=reports(rng, die, answers))
    times = []
    with threadpool_limits(1):
        for _ in range(WAVES):
            start = time.process_time()
            regress("y ~ a + b + c + d", table, {"y": die})
            times.append(time.process_time() - start)
    return min(times)


def page(surveys: int) -> tuple[str, bool]:
    """The page, and whether all coverages are as stated."""
    regress("y ~ a", outcome(2.0, 300).draw(np.random.default_rng(0)), {"y": response(2, 2.0)})
    fits = [(*each, seconds(*each)) for each in ROWS]
    speed = "".join(
        f"| {rows:,} | {n} | {'16' if equal else 'all'} | {5 * (n - 1)} | {cpu:.2f} |\n"
        for rows, n, equal, cpu in fits
    )
    lines = []
    is_right = True
    for case in CASES:
        start = time.process_time()
        shares, refused = covered(case, surveys)
        error = (LEVEL * (1 - LEVEL) / max(1, surveys - refused)) ** 0.5
        is_right &= bool((shares > LEVEL - 4 * error).all())
        cpu = (time.process_time() - start) / surveys
        coverage = ", ".join(f"{share:.3f}" for share in shares)
        lines.append(f"| {case.name} | {case.people} | {coverage} | {refused} | {cpu:.3f} |\n")
        print(lines[-1], end="", flush=True)
    made = f"Made by `python benchmarks/regression.py`, {date.today()}, Python "
    made += f"{platform.python_version()}, {os.cpu_count()} shared cores."
    error = (LEVEL * (1 - LEVEL) / surveys) ** 0.5
    text = HEAD.format(made=made, waves=WAVES, speed=speed, surveys=surveys, error=error)
    return text + "".join(lines), is_right


def main() -> int:
    """Measure, write the page, and say whether coverages are as stated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=400)
    text, is_right = page(parser.parse_args().surveys)
    PAGE.write_text(text, encoding="utf-8")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
