"""Tables of two questions from joint reports: refused, or right; writes
benchmarks/tables_of_two.md.

    python benchmarks/tables_of_two.py [SURVEYS] [REPEATS]

Random surveys of 2 or 3 questions with 2 to 5 answers (at most 64 combinations), epsilon .2 to 8,
with a random table of all answers. 5000 people are drawn and report, again and again; the table of
each pair of questions is estimated or refused. About 4 CPU minutes for 200 surveys.
"""

from __future__ import annotations

import platform
import sys
from datetime import date
from itertools import combinations, pairwise
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd

from ldpopt import Survey
from ldpopt.errors import StatementError
from ldpopt.surveys import joint, pairs

PEOPLE = 5000
BINS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
FAR = 5  # standard errors
COLUMNS = (
    "epsilon",
    "pairs",
    "refused",
    "estimated",
    "cells",
    "largest error / std error",
    "cells beyond 5",
    "coverage of 95 %",
    "std error: median, largest",
)


def survey_of(number: int):
    """A random survey and a random table of all its answers."""
    rng = np.random.default_rng([number, 46])
    while True:
        sizes = rng.integers(2, 6, rng.integers(2, 4)).tolist()
        if prod(sizes) <= joint.MAX_COMBINATIONS:
            break
    epsilon = round(float(np.exp(rng.uniform(*np.log([BINS[0], BINS[-1]])))), 3)
    questions = {name: list(range(size)) for name, size in zip("abc", sizes, strict=False)}
    truth = rng.dirichlet(np.full(prod(sizes), rng.choice([0.3, 1.0, 3.0]))).reshape(sizes)
    return Survey(questions, epsilon=epsilon, scheme="joint"), epsilon, truth


def pairs_of(number: int, repeats: int) -> list[dict]:
    """One row for each pair of questions of a survey and each repetition."""
    survey, epsilon, truth = survey_of(number)
    rng = np.random.default_rng([number, 47])
    names = list(survey.questions)
    rows = []
    for _ in range(repeats):
        drawn = rng.choice(truth.size, PEOPLE, p=truth.ravel())
        codes = np.unravel_index(drawn, truth.shape)
        answers = pd.DataFrame(dict(zip(names, codes, strict=True)))
        reports = survey.privatize(answers, rng=rng)
        for one, two in combinations(range(len(names)), 2):
            others = tuple(axis for axis in range(len(names)) if axis not in (one, two))
            table = truth.sum(axis=others).ravel()
            row = {"number": number, "epsilon": epsilon, "pair": (one, two), "sizes": truth.shape}
            try:
                estimate = survey.estimate_pair(reports, names[one], names[two])
            except StatementError as error:
                if error.code != "dependence":
                    raise
                rows.append(row | {"refused": True})
                continue
            low, high = estimate.interval.T
            rows.append(
                row
                | {
                    "refused": False,
                    "far": np.abs(estimate.values - table) / estimate.std_error,
                    "covered": (low <= table) & (table <= high),
                    "std_error": estimate.std_error,
                }
            )
    return rows


def summary(rows: list[dict]) -> list[str]:
    """The table by epsilon."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for low, high in [*pairwise(BINS), (BINS[0], BINS[-1])]:
        inside = [row for row in rows if low <= row["epsilon"] <= high]
        shown = [row for row in inside if not row["refused"]]
        cells = [f"{low:g} to {high:g}", len(inside), len(inside) - len(shown), len(shown)]
        if shown:
            far, covered, error = (
                np.concatenate([row[key] for row in shown])
                for key in ("far", "covered", "std_error")
            )
            cells += [len(far), f"{far.max():.2f}", int((far > FAR).sum())]
            cells += [f"{covered.mean():.4f}", f"{np.median(error):.2g}, {error.max():.2g}"]
        else:
            cells += [0, "", "", "", ""]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def page(rows: list[dict], surveys: int, repeats: int) -> str:
    """The page of results."""
    command = f"python benchmarks/tables_of_two.py {surveys} {repeats}"
    words = (
        f"{surveys} random surveys of 2 or 3 questions with 2 to 5 answers, epsilon .2 to 8 "
        f"(evenly by its logarithm), {PEOPLE} people who are drawn and report {repeats} times. "
        "A table is refused if its numbers are not in the row space of the channel, decided in "
        "rationals, or if only reports that practically nobody gives show them "
        "(`ldpopt/estimation/identified.py`). Pairs are counted once for each time.",
        f"Made by `{command}`, {date.today()}, Python {platform.python_version()}.",
    )
    title = "# Tables of two questions from joint reports"
    return "\n".join([title, "", *words, "", *summary(rows), ""])


def main() -> None:
    """Run all surveys and write the page."""
    surveys, repeats = (int(word) for word in (sys.argv[1:] + ["200", "5"][len(sys.argv) - 1 :]))
    joint.DESIGN_SECONDS = 60.0  # which none reaches, so that designs are the same on any machine
    pairs.TRIAL_SECONDS = 0.0  # which epsilon would do is not asked here
    rows: list[dict] = []
    for number in range(surveys):
        found = pairs_of(number, repeats)
        rows += found
        for row in found[: len({row["pair"] for row in found})]:
            far = "refused" if row["refused"] else f"{row['far'].max():.2f}"
            print(number, row["epsilon"], row["sizes"], row["pair"], far, flush=True)
    Path(__file__).with_suffix(".md").write_text(page(rows, surveys, repeats), encoding="utf-8")
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
