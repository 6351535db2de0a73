"""Coverage of 95 % intervals under weights that are related to the answer.

    python benchmarks/weights.py               # 1000 surveys a line, about 7 CPU minutes
    python benchmarks/weights.py --surveys 100

Rewrites weights.md. People who say yes (or tick the first answer) are reached so many times less
often than others, and their weight is so many times larger. All estimates are the library's; the
groups are those of a column of a table, the other reports are drawn as counts. Exit code 1 if a
coverage is not from .93 to .97 where at least ten people with the large weight are expected.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpopt import Mechanism, PureLDP, Survey, design
from ldpopt.estimation.counts import Counts, source_of
from ldpopt.estimation.options import Reading
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.estimates import estimate_question
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

PAGE = Path(__file__).with_suffix(".md")
BUDGETS, PEOPLE, RATIOS, SHARES = (0.5, 2.0, 8.0), (150, 1500), (2, 5, 10), (0.1, 0.3)
ENOUGH = 10  # expected people with the large weight from which the coverage is promised
PROMISED = (0.93, 0.97)
TICKS = {"first": None, "second": 0.3, "third": 0.5}  # shares; the first one has that of the line
REFUSALS = 0.2  # share of missing answers
READING = Reading(check_fit=False)
HEAD = (
    "| epsilon | people | ratio of weights | share | expected with the large weight | surveys "
    "without any, % | coverage | of 1.96 standard errors |\n|---|---|---|---|---|---|---|---|\n"
)


@dataclass(frozen=True)
class Line:
    """Coverage of one kind of survey."""

    epsilon: float
    people: int
    ratio: int
    share: float
    expected: float
    unreached: float
    coverage: Any  # of one number, or of several
    by_errors: float

    @property
    def is_promised(self) -> bool:
        return self.expected >= ENOUGH

    @property
    def is_missed(self) -> bool:
        low, high = PROMISED
        covers = np.atleast_1d(self.coverage)
        return self.is_promised and not ((covers >= low) & (covers <= high)).all()

    def row(self) -> str:
        covers = " ".join(f"{each:.3f}" for each in np.atleast_1d(self.coverage))
        return (
            f"| {self.epsilon:g} | {self.people} | {self.ratio} | {self.share} | "
            f"{self.expected:.1f} | {100 * self.unreached:.1f} | "
            f"{f'**{covers}**' if self.is_promised else covers} | {self.by_errors:.3f} |\n"
        )


def randomized_response(answers: tuple[str, ...], epsilon: float) -> Mechanism:
    """Randomized response of some answers."""
    channel = np.ones((len(answers), len(answers))) + np.expm1(epsilon) * np.eye(len(answers))
    return Mechanism(channel / channel.sum(axis=1, keepdims=True), list(answers))


def counts_of(source: Any, truth: Any, weights: Any, people: int, rng: Any) -> Counts:
    """Counts of the reports of one survey."""
    reached = truth / weights
    mechanism = source.mechanism
    cells = (reached / reached.sum())[:, None] * mechanism.channel
    seen = rng.multinomial(people, cells.ravel() / cells.sum()).reshape(cells.shape)
    values, squares = weights @ seen, weights**2 @ seen
    sums = float(values.sum()), float(squares.sum())
    return Counts(source.digest, mechanism.outputs, values, squares, *sums, people)


def expected_share(truth: Any, weights: Any) -> float:
    """Share of the people with the large weight among those who are reached."""
    reached = truth / weights
    return float(reached[weights == weights.max()].sum() / reached.sum())


Case = tuple[float, int, int, float]
Drawn = Iterator[tuple[Any, Any, Any]]  # estimates, intervals, standard errors


def frequencies(case: Case, surveys: int, rng: Any) -> tuple[Any, Any, Any, Drawn]:
    """One yes/no question."""
    epsilon, people, ratio, share = case
    truth, weights = np.array([1 - share, share]), np.array([1.0, ratio])
    mechanism = randomized_response(("no", "yes"), epsilon)
    survey = Survey({"q": mechanism})

    def drawn() -> Drawn:
        for _ in range(surveys):
            counts = counts_of(source_of(mechanism, ""), truth, weights, people, rng)
            found = estimate_question(survey, "q", counts, READING)
            yield found.values[1:], found.interval[1:], found.std_error[1:]

    return truth, weights, np.array([share]), drawn()


def groups(case: Case, surveys: int, rng: Any) -> tuple[Any, Any, Any, Drawn]:
    """A yes/no question in a table, by a column: one of four people is in the south, the number of
    people is that of the south.
    """
    epsilon, people, ratio, share = case
    truth, weights = np.array([1 - share, share]), np.array([1.0, ratio])
    mechanism = randomized_response(("no", "yes"), epsilon)
    survey = Survey({"q": mechanism}, weights="w")
    reached = truth / weights / (truth / weights).sum()
    number = people + people // 3
    region = np.repeat(["south", "north"], [people, number - people])

    def drawn() -> Drawn:
        for _ in range(surveys):
            is_yes = rng.random(number) < reached[1]
            reports = rng.random(number) < mechanism.channel[is_yes.astype(int), 1]
            columns = {"q": np.where(reports, "yes", "no"), "w": weights[is_yes.astype(int)]}
            table = pd.DataFrame(columns | {"region": region})
            found = survey.estimate(table, by="region", check_fit=False).groups["south"]["q"]
            yield found.values[1:], found.interval[1:], found.std_error[1:]

    return truth, weights, np.array([share]), drawn()


def answered(case: Case, surveys: int, rng: Any) -> tuple[Any, Any, Any, Drawn]:
    """A yes/no question that one of five people does not answer, among those who answer."""
    epsilon, people, ratio, share = case
    truth = np.array([(1 - REFUSALS) * (1 - share), (1 - REFUSALS) * share, REFUSALS])
    weights = np.array([1.0, ratio, 1.0])
    mechanism = randomized_response(("no", "yes", "no answer"), epsilon)
    survey = Survey({"q": Question(mechanism, missing_answer="no answer")})

    def drawn() -> Drawn:
        for _ in range(surveys):
            counts = counts_of(source_of(mechanism, ""), truth, weights, people, rng)
            found = estimate_question(survey, "q", counts, READING)
            yield found.values[1:2], found.interval[1:2], found.std_error[1:2]

    return truth, weights, np.array([share]), drawn()


def ticks(case: Case, surveys: int, rng: Any) -> tuple[Any, Any, Any, Drawn]:
    """Three ticks, of which the first decides the weight."""
    epsilon, people, ratio, share = case
    each = np.array([share if other is None else other for other in TICKS.values()])
    bits = np.array(list(product((0, 1), repeat=len(TICKS))))
    truth = np.where(bits, each, 1 - each).prod(axis=1)
    weights = np.where(bits[:, 0], float(ratio), 1.0)
    best = design(tick_workload(list(TICKS)), PureLDP(epsilon))
    source = TicksQuestion(best, ticks=tuple(TICKS)).numbers

    def drawn() -> Drawn:
        for _ in range(surveys):
            counts = counts_of(source, truth, weights, people, rng)
            found = source.estimate(counts, check_fit=False)
            yield found.values, found.interval, found.std_error

    return truth, weights, each, drawn()


KINDS: dict[str, Callable[..., tuple[Any, Any, Any, Drawn]]] = {
    "Frequencies": frequencies,
    "Groups of people (`--by`)": groups,
    "Among those who answered": answered,
    "Ticks (coverage of the three)": ticks,
}


def measured(title: str, case: Case, surveys: int) -> Line:
    """The coverage of one kind of survey."""
    warnings.simplefilter("ignore")
    seed = [round(10 * case[0]), case[1], case[2], round(10 * case[3])]
    truth, weights, numbers, drawn = KINDS[title](case, surveys, np.random.default_rng(seed))
    covers, by_errors = [], []
    for values, interval, errors in drawn:
        covers.append((interval[:, 0] <= numbers) & (numbers <= interval[:, 1]))
        by_errors.append(abs(values - numbers)[0] <= 1.959964 * errors[0])
    heavy = expected_share(truth, weights)
    unreached = (1 - heavy) ** case[1]
    return Line(
        *case, case[1] * heavy, unreached, np.mean(covers, axis=0), float(np.mean(by_errors))
    )


def page(surveys: int, parts: list[str], promised: list[float]) -> str:
    """The page of results."""
    error = float(np.sqrt(0.95 * 0.05 / surveys))
    low, high = PROMISED
    missed = sum(not low <= each <= high for each in promised)
    words = (
        f"Coverage of 95 % intervals in {surveys} simulated surveys a line: of a coverage of .95 "
        f"it has a standard error of {error:.3f}. People who say yes (or tick the first answer) "
        "are reached so many times less often as their weight is larger; their share in the "
        "population is that of the line. Bold: at least ten people with the large weight are "
        f"expected; there all coverages are from {min(promised):.3f} to {max(promised):.3f}, and "
        f"{missed} of {len(promised)} are outside of {low} to {high}.",
        'Elsewhere it happens that nobody with the large weight answers ("surveys without any", '
        "by the binomial law). The reports are then those of a population without them, whatever "
        "their share is, and at large epsilon no interval from the data covers it. The last column "
        "has, for comparison, the coverage of 1.96 standard errors of the first number; see "
        "`ldpopt.estimation.band`.",
        f"Made by `python benchmarks/weights.py`, {date.today()}, Python "
        f"{platform.python_version()}.",
    )
    title = "# Intervals under weights that are related to the answer"
    return "\n\n".join([title, *words, *parts])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--surveys", type=int, default=1000)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    parts, missed, promised = [], 0, []
    cases = list(product(BUDGETS, PEOPLE, RATIOS, SHARES))
    with Pool(options.jobs) as pool:
        jobs = [(title, case, options.surveys) for title in KINDS for case in cases]
        every = iter(pool.starmap(measured, jobs, chunksize=1))
    for title in KINDS:
        lines = [next(every) for _ in cases]
        missed += sum(line.is_missed for line in lines)
        promised += [
            each for line in lines if line.is_promised for each in np.atleast_1d(line.coverage)
        ]
        parts.append(f"## {title}\n\n{HEAD}{''.join(line.row() for line in lines)}")
    options.output.write_text(page(options.surveys, parts, promised), encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
