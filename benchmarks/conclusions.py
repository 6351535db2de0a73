"""Coverage of intervals and size of tests of everything that is concluded from reports.

    python benchmarks/conclusions.py           # about five CPU minutes
    python benchmarks/conclusions.py --quick   # less than one, without a page

Rewrites conclusions.md. Differences, finite populations and cheaters are exact sums over the
numbers of reports; others are simulated. Exit code 1 if a figure is more than 4 standard errors
outside of its range.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from conclusions_cases import (
    Row,
    behaviors,
    differences,
    quantiles,
    regressions,
    rejected,
    samples,
    weights,
)

PAGE = Path(__file__).with_suffix(".md")
SURVEYS = {"quantiles": 1000, "tests": 2500, "weights": 2000, "samples": 600, "regressions": 400}
SURVEYS |= {"behaviors": 1000}
QUICK = 10  # so many times fewer surveys
ABOUT = {
    "Differences of two groups": "Least and largest coverage of a difference of two shares at "
    "eight pairs of shares, and least and largest size of its test at the four pairs of equal "
    "shares; by randomized response, exact.",
    "Quantiles": "Coverage of the quantiles .1, .5 and .9 of ages in 12 classes, between edges, "
    "and then as classes.",
    "Tests": "How often the tests at .05 reject what is true, with 100 and with 1000 people: given "
    "shares, and independent answers.",
    "Weights": "Share .10, weights 1 and 5: of those who say yes, or of one in five people. The "
    "range is .015 around 20 000 surveys by a prototype of the formula alone.",
    "Samples": "Coverage of a share from a sample; finite populations exact. Of the values of the "
    "reports samplics 0.6.1 gives the same standard errors, to all digits: 0.17435596 of ten "
    "devices as clusters, 0.05874892 of 240 people in 24 clusters of three strata with weights.",
    "Regressions": "Coverage of each coefficient, and size of tests of one that is 0.",
    "People who do not follow the rule": "Cheating detection exact; a crosswise question with an "
    "anchor question, 2000 people.",
}


def parts(quick: bool) -> dict[str, Iterator[Row]]:
    """The parts in their order, not yet computed."""
    n = {name: surveys // (QUICK if quick else 1) for name, surveys in SURVEYS.items()}
    every = [
        differences(((30, 30), (30, 100))) if quick else differences(),
        quantiles(n["quantiles"]),
        rejected(n["tests"], (100, 1000)),
        weights(n["weights"]),
        samples(n["samples"]),
        regressions(n["regressions"]),
        behaviors(n["behaviors"]),
    ]
    return dict(zip(ABOUT, every, strict=True))


def line(row: Row) -> str:
    """A row of a table."""
    figures = " ".join(f"{each:.3f}" for each in row.figures)
    error = f"{row.error:.3f}" if row.surveys else "exact"
    beyond = f"{row.beyond:.3f}" if row.beyond else ""
    span = f"{row.least:.3f} to {row.most:.3f}"
    return f"| {row.kind} | {figures} | {span} | {error} | {beyond} |\n"


def page(tables: dict[str, list[Row]], seconds: float) -> str:
    """The page of results."""
    rows = [row for each in tables.values() for row in each]
    inside = sum(not row.beyond for row in rows)
    missed = [row.kind for row in rows if row.is_missed]
    words = (
        "# Conclusions from reports\n\n"
        f"Made by `python benchmarks/conclusions.py`, {date.today()}, Python "
        f"{platform.python_version()}, {seconds / 60:.1f} CPU minutes.\n\n"
        f"Of {len(rows)} lines, {inside} are in their range with all figures, and {len(missed)} "
        f"are more than 4 standard errors outside{': ' if missed else ''}{'; '.join(missed)}. "
        "The standard error is that at the nearer end of the range; several figures of a line, and "
        "many lines, make a distance of 2 or 3 of them ordinary.\n"
    )
    head = "| kind of survey | figures | range | standard error | beyond |\n|---|---|---|---|---|\n"
    for title, each in tables.items():
        words += f"\n## {title}\n\n{ABOUT[title]}\n\n{head}{''.join(map(line, each))}"
    return words


def main() -> int:
    """Measure, and write the page unless it is only a quick look."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    tables: dict[str, list[Row]] = {}
    began = time.process_time()
    for title, rows in parts(options.quick).items():
        start = time.process_time()
        tables[title] = []
        for row in rows:
            tables[title].append(row)
            print(line(row), end="", flush=True)
        print(f"{title}: {time.process_time() - start:.0f} CPU s", flush=True)
    output = options.output or (None if options.quick else PAGE)
    if output is not None:
        output.write_text(page(tables, time.process_time() - began), encoding="utf-8")
    return int(any(row.is_missed for each in tables.values() for row in each))


if __name__ == "__main__":
    sys.exit(main())
