"""Surveys in two stages: errors over the floor, people saved for a median, and coverage.

    python benchmarks/stages.py [--part parameter] [--part median] [--repeats 20]

writes docs/measurements/stages.md, or prints some parts; some CPU minutes each.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import ldpopt as lo
from ldpopt.stages import GaussianMean, adapted, estimate, estimate_quantile, optimum, quantile

OUTPUT = Path(__file__).parents[1] / "docs" / "measurements" / "stages.md"
FAMILY = GaussianMean(1.0, (-3, 3))
BINS = 64
MIDDLES = np.arange(BINS) + 0.5
LAWS: dict[str, Any] = {
    "smooth": np.exp(-0.5 * ((MIDDLES - 27.5) / 8) ** 2)
    + 0.15 * np.exp(-0.5 * ((MIDDLES - 51.2) / 3.2) ** 2),
    "uniform": np.ones(BINS),
    "exponential": np.exp(-MIDDLES / 8),
    "two humps": np.exp(-0.5 * ((MIDDLES - 12) / 4) ** 2)
    + np.exp(-0.5 * ((MIDDLES - 52) / 4) ** 2)
    + 0.02,
    "steps": 1.0 + 4 * (np.arange(BINS) % 8 == 0),
}


def drawn(mechanism: lo.Mechanism, law: Any, people: int, rng: Any) -> dict[Any, int]:
    """Counts of the reports of people with a law of the answers."""
    seen = rng.multinomial(people, law @ mechanism.channel)
    return dict(zip(mechanism.outputs, seen.tolist(), strict=True))


def thresholds(border: float, epsilon: float) -> lo.Mechanism:
    """The report whether a number is above a border, by a coin."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    middle = (FAMILY.edges[:-1] + FAMILY.edges[1:]) / 2
    rows = np.where((middle > border)[:, None] == np.array([False, True]), right, 1 - right)
    return lo.Mechanism.private(rows, lo.PureLDP(epsilon), inputs=FAMILY.inputs)


def parameter_row(epsilon: float, people: int, mean: float, repeats: int, known: Any) -> str:
    """Error and coverage of a mean, with 20 % of the people in the pilot."""
    rng = np.random.default_rng(1)
    law = FAMILY.probabilities(mean)
    size = people // 10
    borders = [thresholds(border, epsilon) for border in (-1.0, 1.0)]
    errors, covered = [], 0
    for _ in range(repeats):
        pilot = [(each, drawn(each, law, size, rng)) for each in borders]
        first = estimate(FAMILY, *pilot[0], pilot=pilot[1:], check_fit=False)
        at = round(float(first.values[0]), 1)  # so that few channels have to be found
        if (epsilon, at) not in known:
            known[epsilon, at] = adapted(FAMILY, at, epsilon)
        second = known[epsilon, at]
        reports = drawn(second, law, people - 2 * size, rng)
        found = estimate(FAMILY, second, reports, pilot=pilot, check_fit=False)
        errors.append(found.values[0] - mean)
        covered += found.interval[0, 0] <= mean <= found.interval[0, 1]
    floor = 1 / math.sqrt(people * optimum(FAMILY, mean, epsilon).value)
    error = math.sqrt(np.mean(np.square(errors)))
    bias = float(np.mean(errors)) / floor
    return (
        f"| {epsilon:g} | {people:,} | {mean:g} | {floor:.4f} | {error:.4f} | "
        f"{error / floor:.2f} | {bias:+.2f} | {covered / repeats:.3f} |"
    )


def parameter(repeats: int) -> list[str]:
    """Errors of a normal mean over the floor."""
    known: dict[Any, lo.Mechanism] = {}
    cases = [(e, n, m) for e in (1.0, 2.0, 4.0) for n in (1000, 10_000) for m in (0, 0.7, 1.5, 2.8)]
    rows = [parameter_row(*case, repeats, known) for case in cases]
    ratios: dict[int, list[float]] = {}
    for (_, people, _), row in zip(cases, rows, strict=True):
        ratios.setdefault(people, []).append(float(row.split("|")[6]))
    ends = ", ".join(
        f"{min(each):.2f} to {max(each):.2f} for {people:,} people"
        for people, each in ratios.items()
    )
    noise = 1 / math.sqrt(2 * repeats)
    return [
        "## The mean of a normal distribution",
        "",
        "Deviation 1, a mean anywhere in [-3, 3], 60 bins; a fifth of the people is asked first,",
        "whether they are above -1 or above 1. The value is that of both stages. The floor is",
        "$1 / \\sqrt{N I}$ for all $N$ people, with the largest information at the true mean.",
        f"{repeats} surveys each: the ratio has a relative error of {noise:.2f}. The bias is in",
        f"units of the floor. Error over floor: {ends}.",
        "",
        "| epsilon | people | mean | floor | error | error / floor | bias | coverage of 95 % |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]


def median_row(name: str, people: int, repeats: int, prefix: Any, known: Any) -> str:
    """Squared errors of the median at once and in two stages, and coverage."""
    rng = np.random.default_rng(7)
    law = LAWS[name] / LAWS[name].sum()
    true = float(np.interp(0.5, np.append(0.0, np.cumsum(law)), np.arange(BINS + 1)))
    errors: dict[str, list[float]] = {"once": [], "twice": []}
    covered = 0
    lengths = []
    for _ in range(repeats):
        once = prefix.estimate(drawn(prefix.mechanism, law, people, rng), check_fit=False)
        errors["once"].append(once.quantile(0.5, edges=range(BINS + 1)).values[0] - true)
        first = drawn(prefix.mechanism, law, people // 5, rng)
        stage = quantile(prefix.estimate(first, check_fit=False), 0.5, 1.0)
        stage = known.setdefault(stage.workload.names, stage)
        reports = drawn(stage.mechanism, law, people - people // 5, rng)
        found = estimate_quantile(stage, reports, 0.5, check_fit=False)
        errors["twice"].append(found.values[0] - true)
        low, high = found.interval[0]
        covered += low <= true <= high
        lengths.append(high - low)
    squares = {key: float(np.mean(np.square(each))) for key, each in errors.items()}
    saved = squares["once"] / squares["twice"]
    return (
        f"| {name} | {people:,} | {math.sqrt(squares['once']):.3f} | "
        f"{math.sqrt(squares['twice']):.3f} | {saved:.2f} | {np.median(lengths):.2f} | "
        f"{covered / repeats:.3f} |"
    )


def median(repeats: int) -> list[str]:
    """People saved for a median, and coverage."""
    prefix = lo.design(lo.Workload.prefix(range(BINS)), lo.PureLDP(1.0), gap=1e-2)
    known: dict[Any, Any] = {}
    rows = [
        median_row(name, people, repeats, prefix, known)
        for people in (4000, 40_000)
        for name in LAWS
    ]
    return [
        "## A median",
        "",
        f"Epsilon 1, {BINS} classes of length 1, a fifth of the people in the pilot, which is",
        "asked by the best design for all shares; the others by the design of `stages.quantile`.",
        "People saved: the squared error of that design for all people at once, over the squared",
        "error of the second stage alone.",
        f"{repeats} surveys each: the ratio has a relative error of {2 / math.sqrt(repeats):.2f}.",
        "",
        "| distribution | people | error, at once | error, two stages | people saved | length of "
        "the interval | coverage of 95 % |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]


PARTS = {"parameter": (parameter, 60), "median": (median, 200)}


def main() -> int:
    """Write the page, or print some of its parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=tuple(PARTS))
    parser.add_argument("--repeats", type=int, help="surveys of each row (default: 60, 200)")
    parser.add_argument("-o", "--output", default=str(OUTPUT))
    options = parser.parse_args()
    lines = [
        "(measurements-stages)=",
        "# Surveys in two stages",
        "",
        f"Written by `benchmarks/stages.py`, {date.today()}. Each person is asked once; the",
        "interval is by the second stage alone. Theory: [Two stages](#theory-stages).",
        "",
    ]
    began = time.process_time()
    for name in options.part or PARTS:
        part, repeats = PARTS[name]
        lines += part(repeats if options.repeats is None else options.repeats)
    text = "\n".join(lines).rstrip() + "\n"
    if options.part or options.output == "-":
        print(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
    print(f"{time.process_time() - began:.0f} CPU seconds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
