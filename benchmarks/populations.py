"""Coverage of 95 % intervals from samples: finite populations, strata, clusters, margins, and
groups that share clusters; size of tests.

    python benchmarks/populations.py               # 1000 surveys a line, some minutes of one core
    python benchmarks/populations.py --surveys 100

Rewrites populations.md. Each line has one population; samples of people and their reports are drawn
anew, and all estimates are the library's, from tables. Exit code 1 if a coverage is not from .93 to
.97, or the size of a test not from .03 to .075.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpopt import Mechanism, Sample, Survey

PAGE = Path(__file__).with_suffix(".md")
BUDGETS = (1.0, 4.0)
PROMISED, SIZE = (0.93, 0.97), (0.03, 0.075)
STRATA: Any = {
    "north": (300, 60, 0.1),
    "middle": (200, 100, 0.4),
    "south": (100, 90, 0.8),
}  # population, sample, share
CELLS = np.array([[0.35, 0.15], [0.2, 0.3]])  # of a population, by age and sex
RATES = np.array([[0.1, 0.3], [0.4, 0.8]])
RESPONSE = np.array([[1.0, 0.6], [0.5, 0.3]])


def coin(epsilon: float) -> Survey:
    """A survey of two yes/no questions by randomized response."""
    truth = 1 / (1 + np.exp(-epsilon))
    law = Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])
    return Survey({"q": law, "other": law})


def reported(answers: Any, epsilon: float, rng: Any) -> Any:
    """Reports of some answers, 0 or 1."""
    is_true = rng.random(len(answers)) < 1 / (1 + np.exp(-epsilon))
    return np.where(answers == is_true, "yes", "no")


@dataclass(frozen=True)
class Kind:
    """A population with a sample: draws people, their answers and the columns of the sample."""

    title: str
    drawn: Callable[[Any], tuple[Any, dict[str, Any]]]  # answers, columns
    sample: Sample
    truth: float


def simple(population: int, people: int, share: float) -> Kind:
    """People from one finite population."""
    everyone = np.arange(population) < round(share * population)
    words = "all" if people == population else f"{people}"
    return Kind(
        f"{words} of {population} people, share {share:g}",
        lambda rng: (rng.choice(everyone, people, replace=False), {}),
        Sample(population=population),
        float(everyone.mean()),
    )


def strata() -> Kind:
    """Three strata of which other shares are asked, with their weights."""
    parts = {
        name: np.arange(size) < round(share * size) for name, (size, _, share) in STRATA.items()
    }
    names = np.repeat(list(STRATA), [people for _, people, _ in STRATA.values()])
    weights = {name: size / people for name, (size, people, _) in STRATA.items()}
    columns = {"stratum": names, "w": np.vectorize(weights.get)(names)}

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        asked = [rng.choice(parts[name], STRATA[name][1], replace=False) for name in STRATA]
        return np.concatenate(asked), columns

    sizes = {name: size for name, (size, _, _) in STRATA.items()}
    share = np.concatenate(list(parts.values())).mean()
    sample = Sample("w", "stratum", population=sizes)
    return Kind("60, 100, 90 of strata of 300, 200, 100", drawn, sample, float(share))


def classes(asked: int, population: int, pupils: int, *, knows_population: bool) -> Kind:
    """Whole classes, whose pupils answer alike."""
    rng = np.random.default_rng(3)
    everyone = rng.random((population, pupils)) < rng.beta(1, 3, population)[:, None]
    columns = {"class": np.repeat(np.arange(asked), pupils)}
    of = f"{asked} of {population} classes of {pupils}"
    return Kind(
        of if knows_population else f"{of}, taken for many",
        lambda rng: (rng.permutation(everyone)[:asked].ravel(), columns),
        Sample(clusters="class", population=population if knows_population else None),
        float(everyone.mean()),
    )


def raking(people: int) -> Kind:
    """People who answer more or less often by age and sex, raked to both margins."""
    reached = (CELLS * RESPONSE / (CELLS * RESPONSE).sum()).ravel()

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        cell = rng.choice(4, people, p=reached)
        answers = rng.random(people) < RATES.ravel()[cell]
        return answers, {"age": cell // 2, "sex": cell % 2}

    margins: Any = {
        "age": dict(enumerate(CELLS.sum(axis=1))),
        "sex": dict(enumerate(CELLS.sum(axis=0))),
    }
    truth = float((CELLS * RATES).sum())
    return Kind(f"{people} people, raked to two margins", drawn, Sample(margins=margins), truth)


def crossing(clusters: int, people: int) -> Kind:
    """Clusters with people of two groups, whose difference is estimated."""

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        level = 0.8 * rng.beta(1, 3, clusters)[:, None] + np.array([0.0, 0.1])
        answers = rng.random((clusters, 2, people // 2)) < level[:, :, None]
        group = np.tile(np.repeat(["a", "b"], people // 2), clusters)
        return answers.ravel(), {"class": np.repeat(np.arange(clusters), people), "by": group}

    title = f"difference of two groups in {clusters} classes of {people}"
    return Kind(title, drawn, Sample(clusters="class"), 0.1)


def alike(clusters: int, people: int) -> Kind:
    """Clusters, each in one of three groups that are alike, with two answers that are
    independent.
    """

    def drawn(rng: Any) -> tuple[Any, dict[str, Any]]:
        level, other = np.repeat(rng.beta(2, 4, (2, clusters)), people, axis=1)
        group = np.repeat(np.arange(clusters) % 3, people)
        columns = {"class": np.repeat(np.arange(clusters), people), "by": group}
        return rng.random(len(level)) < level, columns | {"other": rng.random(len(level)) < other}

    return Kind(f"{clusters} classes of {people}", drawn, Sample(clusters="class"), 0.0)


KINDS = [
    simple(500, 200, 0.05),
    simple(500, 200, 0.375),
    simple(500, 500, 0.05),
    simple(500, 500, 0.375),
    strata(),
    classes(40, 100, 25, knows_population=True),
    classes(40, 4000, 25, knows_population=False),
    classes(8, 4000, 25, knows_population=False),
    raking(300),
    raking(600),
]
DIFFERENCES = [crossing(60, 20), crossing(20, 40)]
TESTS = [alike(60, 10), alike(20, 40)]


def tables(kind: Kind, epsilon: float, surveys: int) -> Any:
    """Tables of reports of samples."""
    rng = np.random.default_rng([round(10 * epsilon), *kind.title.encode()])
    for _ in range(surveys):
        answers, columns = kind.drawn(rng)
        other = columns.get("other", np.zeros(len(answers)))
        drawn = {"q": reported(answers, epsilon, rng), "other": reported(other, epsilon, rng)}
        yield pd.DataFrame(columns | drawn)


def covered(kind: Kind, epsilon: float, surveys: int, is_difference: bool) -> tuple[float, ...]:
    """True deviation, root of the mean square of the errors, and coverage by the sample, and as if
    people were drawn one by one with their weights.
    """
    warnings.simplefilter("ignore")
    survey = coin(epsilon)
    plain = Sample(kind.sample.weights, margins=kind.sample.margins)
    values, errors, hits = [], [], []
    for table in tables(kind, epsilon, surveys):
        row = []
        for sample in (kind.sample, plain):
            by = "by" if is_difference else None
            found = survey.estimate(table, sample=sample, by=by, check_fit=False)
            one = found.groups["b"]["q"] - found.groups["a"]["q"] if is_difference else found["q"]
            low, high = one.interval[1]
            row.append(low <= kind.truth <= high)
            if sample is kind.sample:
                values.append(one.values[1])
                errors.append(one.std_error[1])
        hits.append(row)
    spread = float(np.sqrt(np.mean(np.square(errors))))
    return (float(np.std(values)), spread, *np.mean(hits, axis=0).tolist())


def sizes(kind: Kind, epsilon: float, surveys: int) -> tuple[float, ...]:
    """How often the tests at .05 reject: the groups are alike, two answers are independent, by the
    sample and as if people were drawn one by one.
    """
    warnings.simplefilter("ignore")
    survey = coin(epsilon)
    rejected = []
    for table in tables(kind, epsilon, surveys):
        row = []
        for sample in (kind.sample, None):
            found = survey.estimate(table, sample=sample, by="by", check_fit=False)
            row.append(found.independence("q").p_value < 0.05)
            row.append(survey.independence(table, "q", "other", sample=sample).p_value < 0.05)
        rejected.append(row)
    return tuple(np.mean(rejected, axis=0).tolist())


def page(surveys: int, lines: list[str], tests: list[str]) -> str:
    """The page of results."""
    error = float(np.sqrt(0.95 * 0.05 / surveys))
    words = (
        f"Coverage of 95 % intervals of a share, or of the difference of two shares, in {surveys} "
        f"surveys a line: of a coverage of .95 it has a standard error of {error:.3f}. The errors "
        "are the root of their mean square, beside the deviation of the estimates. The last column "
        "has the coverage if only the weights and margins are used, as if people were drawn one by "
        "one from a very large population: of a census, and of strata, those intervals are too "
        "wide, and of clusters too short.",
    )
    head = (
        "| sample | epsilon | deviation | error | coverage | without the sample |\n"
        "|---|---|---|---|---|---|\n"
    )
    about = (
        "How often the tests at .05 reject what is true: that three groups are alike, and that "
        "two answers are independent; in brackets without the clusters.\n\n"
        "| sample | epsilon | groups | answers |\n|---|---|---|---|\n"
    )
    made = (
        f"Made by `python benchmarks/populations.py`, {date.today()}, Python "
        f"{platform.python_version()}."
    )
    parts = ["# Samples", *words, made, head + "".join(lines), "## Tests", about + "".join(tests)]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--surveys", type=int, default=1000)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    cases = [(kind, epsilon, False) for kind, epsilon in product(KINDS, BUDGETS)]
    cases += [(kind, epsilon, True) for kind, epsilon in product(DIFFERENCES, BUDGETS)]
    tested = list(product(TESTS, BUDGETS))
    lines, tests, missed = [], [], 0
    for kind, epsilon, is_difference in cases:
        deviation, error, cover, plain = covered(kind, epsilon, options.surveys, is_difference)
        missed += not PROMISED[0] <= cover <= PROMISED[1]
        lines.append(
            f"| {kind.title} | {epsilon:g} | {deviation:.4f} | {error:.4f} | {cover:.3f} | "
            f"{plain:.3f} |\n"
        )
        print(lines[-1], end="", flush=True)
    for kind, epsilon in tested:
        groups, answers, plain, alone = sizes(kind, epsilon, options.surveys)
        missed += sum(not SIZE[0] <= size <= SIZE[1] for size in (groups, answers))
        tests.append(
            f"| {kind.title} | {epsilon:g} | {groups:.3f} ({plain:.3f}) | {answers:.3f} "
            f"({alone:.3f}) |\n"
        )
        print(tests[-1], end="", flush=True)
    options.output.write_text(page(options.surveys, lines, tests), encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
