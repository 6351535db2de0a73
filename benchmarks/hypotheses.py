"""Tests of two distributions: people beside other reports, proved gaps, CPU seconds with and
without the proof, and exact level and power by enumeration.

    python benchmarks/hypotheses.py

writes docs/measurements/hypotheses.md; about half a CPU minute.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import ldpopt as lo
from ldpopt.frequencies import RandomizedResponse
from ldpopt.hypotheses import BinaryTest, best
from ldpopt.polytope.likelihood import best as likelihood

OUTPUT = Path(__file__).parents[1] / "docs" / "measurements" / "hypotheses.md"
LEVEL, POWER = 0.05, 0.9


class SearchEnded(Exception):
    """Raised where the search ends and the proof would begin."""


def two(n: int, how: str) -> tuple[Any, Any]:
    """The uniform distribution, and one with tilted odds or one answer 1.5 times as common."""
    x = np.linspace(-1, 1, n)
    first = np.full(n, 1 / n)
    second = first * (np.exp(0.3 * x) if how == "tilt" else 1 + 0.5 * (x == 1))
    return first, second / second.sum()


def search_seconds(first: Any, second: Any, epsilon: float) -> float:
    """CPU seconds until the channel is known, and nothing is proved."""
    partition = likelihood.best_partition

    def ended(answers: Any) -> Any:
        partition(answers)
        raise SearchEnded

    began = time.process_time()
    with mock.patch.object(likelihood, "best_partition", ended):
        try:
            best(first, second, epsilon)
        except SearchEnded:
            return time.process_time() - began
    raise RuntimeError("the search was not called")


def speed_row(n: int, how: str, epsilon: float) -> str:
    """Gap, reports, people and seconds of one test."""
    first, second = two(n, how)
    searched = search_seconds(first, second, epsilon)
    began = time.process_time()
    test = best(first, second, epsilon)
    proved = time.process_time() - began
    began = time.process_time()
    people = test.people(LEVEL, POWER)
    counted = time.process_time() - began
    assert test.optimum is not None
    gap = test.optimum.gap / test.optimum.value
    reports = len(test.mechanism.outputs)
    return (
        f"| {n} | {how} | {epsilon:g} | {reports} | {gap:.1e} | {searched:.3f} | {proved:.3f} | "
        f"{counted:.3f} | {people:,} |"
    )


def people_row(n: int, how: str, epsilon: float) -> str:
    """People of the exact test by the best reports and by others."""
    first, second = two(n, how)
    test = best(first, second, epsilon)
    frequencies = lo.design(lo.Workload.frequencies(n), lo.PureLDP(epsilon)).mechanism
    others = [frequencies, RandomizedResponse(n, epsilon).mechanism]
    own = test.people(LEVEL, POWER)
    known = [BinaryTest.of(law, first, second).people(LEVEL, POWER) for law in others]
    mean = test.sequential(LEVEL, POWER).expected_people
    cells = " | ".join(f"{each:,} ({each / own:.2f})" for each in known)
    return f"| {n} | {how} | {epsilon:g} | {own:,} | {cells} | {mean[0]:,.0f} / {mean[1]:,.0f} |"


def tail(people: int, chance: Fraction, least: int) -> float:
    """The probability of at least so many ones, summed in rationals."""
    p, q = chance.numerator, chance.denominator - chance.numerator
    terms = (math.comb(people, k) * p**k * q ** (people - k) for k in range(least, people + 1))
    return float(Fraction(sum(terms), chance.denominator**people))


def exact_rows(count: int) -> list[str]:
    """Random tests of two reports: level and power by all numbers of ones."""
    rows: list[str] = []
    seed = 0
    while len(rows) < count:
        rng = np.random.default_rng(seed)
        seed += 1
        n = int(rng.integers(2, 12))
        first, second = rng.dirichlet(np.full(n, 2.0), 2)
        epsilon = round(float(rng.uniform(0.8, 2.0)), 2)
        level = float(rng.choice([0.01, 0.05, 0.2]))
        power = float(rng.choice([0.5, 0.8, 0.95]))
        test = best(first, second, epsilon)
        people = test.people(level, power)
        if len(test.mechanism.outputs) != 2 or people > 2000:
            continue
        law = test.scores.law(people)
        least = law.critical(level)
        reached = []
        for masses in (law.first, law.second):
            chance = Fraction(float(masses[1])).limit_denominator(2**60)
            reached.append(tail(people, chance, least))
        is_kept = reached[0] <= level and reached[1] >= power
        rows.append(
            f"| {n} | {epsilon:g} | {people} | {level:g} | {reached[0]:.5f} | {power:g} | "
            f"{reached[1]:.5f} | {'yes' if is_kept else 'NO'} |"
        )
    return rows


def page() -> str:
    """All results as a page."""
    cases = [
        (n, how, e)
        for n, how in ((10, "tilt"), (10, "one answer"), (4, "tilt"))
        for e in (1.0, 2.0, 4.0)
    ]
    sizes = [(n, "tilt", epsilon) for n in (10, 100, 1000) for epsilon in (1.0, 2.0, 4.0)]
    speed_row(10, "tilt", 1.0)  # what is loaded once is not counted
    speed = [speed_row(*case) for case in sizes]
    people = [people_row(*case) for case in cases]
    exact = exact_rows(20)
    kept = sum(row.endswith("| yes |") for row in exact)
    lines = [
        "(measurements-hypotheses)=",
        "# Tests of two distributions",
        "",
        f"Written by `benchmarks/hypotheses.py`, {date.today()}. The first distribution is",
        "uniform; the second has the odds $e^{0.3 x}$ for answers at $x$ from",
        "-1 to 1 (tilt), or one answer 1.5 times as common.",
        "",
        "## People",
        "",
        f"For level {LEVEL:g} and power {POWER:g}, by the exact test of each kind of reports; in",
        "brackets, how many times as many as with the best channel. The design for frequencies is",
        "the optimal one, sets of the best size. Last: the mean of the test that reads reports one",
        "by one, if the first or the second distribution holds (approximate).",
        "",
        "| answers | second | epsilon | best | design for frequencies | randomized response | "
        "one by one |",
        "|---|---|---|---|---|---|---|",
        *people,
        "",
        "## Gap and seconds",
        "",
        "The gap is proved in rationals, over the value. CPU seconds on one thread of a shared",
        "machine: the search of the channel alone; all with the repair and the proof; the number",
        "of people.",
        "",
        "| answers | second | epsilon | reports | gap | search, s | with the proof, s | "
        "people, s | people |",
        "|---|---|---|---|---|---|---|---|---|",
        *speed,
        "",
        "## Level and power by enumeration",
        "",
        f"Random pairs of distributions whose best channel has two reports: {kept} of",
        f"{len(exact)} keep level and power. The chance of each number of reports of the second",
        "kind is summed in rationals.",
        "",
        "| answers | epsilon | people | level | reached | power | reached | kept |",
        "|---|---|---|---|---|---|---|---|",
        *exact,
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default=str(OUTPUT))
    options = parser.parse_args()
    began = time.process_time()
    text = page()
    if options.output == "-":
        print(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
    print(f"{time.process_time() - began:.0f} CPU seconds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
