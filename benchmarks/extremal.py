"""Best channels for divergences and Fisher information: CPU seconds, proved gaps, and the program
over all columns beside them up to 10 answers.

python benchmarks/extremal.py                  # about two minutes of one core; rewrites extremal.md
python benchmarks/extremal.py --most 100 -o -  # small cases, to the terminal
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from ldpopt import convex
from ldpopt.polytope.convex import ConvexOptimum, ConvexUtility

SIZES = (10, 30, 100, 300, 1000)
EPSILONS = (0.5, 1.5, 3.0, 5.0, 6.0)
KINDS = ("kl", "chi_square", "squared_hellinger", "fisher")
CASES = tuple(product((5, 10, 20, 40, 80, 160, 300), (0.5, 1.5, 3.0, 5.0), KINDS[:3]))
CLOSED = 1e-12  # relative gap, in rationals


@dataclass(frozen=True)
class Row:
    """Result of one case."""

    n: int
    kind: str
    epsilon: float
    reports: int
    value: float
    gap: float
    seconds: float
    other_seconds: float | None = None  # of the program over all columns
    other_gap: float | None = None  # of its value to ours, relative

    def text(self) -> str:
        """A line of the table."""
        other = "" if self.other_seconds is None else f"{self.other_seconds:.3f}"
        difference = "" if self.other_gap is None else f"{self.other_gap:.1e}"
        return (
            f"| {self.n} | {self.kind} | {self.epsilon:g} | {self.reports} | {self.value:.9f} | "
            f"{self.gap:.1e} | {self.seconds:.3f} | {other} | {difference} |"
        )


def utility(rng: np.random.Generator, n: int, kind: str) -> ConvexUtility:
    """Two Dirichlet distributions, or the mean of a normal distribution in equally likely bins."""
    if kind != "fisher":
        return convex.f_divergence(*rng.dirichlet(np.ones(n), 2), kind)
    density = norm.pdf(norm.ppf(np.linspace(0, 1, n + 1)))
    return convex.fisher_information(n * (density[:-1] - density[1:]), np.full(n, 1 / n))


def timed(measure: ConvexUtility, epsilon: float) -> tuple[ConvexOptimum, float]:
    """Optimum and CPU seconds."""
    began = time.process_time()
    best = convex.best_channel(measure, epsilon)
    return best, time.process_time() - began


def measured(rng: np.random.Generator, n: int, kind: str, epsilon: float) -> Row:
    """Run a case, up to 10 answers also by the program over all columns."""
    measure = utility(rng, n, kind)
    best, seconds = timed(measure, epsilon)
    more: dict[str, Any] = {}
    if n <= 10:
        plain = ConvexUtility(measure.name, measure.n, measure.columns)
        other, more["other_seconds"] = timed(plain, epsilon)
        more["other_gap"] = float(other.bound) / best.value - 1
    reports = len(best.weights)
    return Row(n, kind, epsilon, reports, best.value, best.gap / best.value, seconds, **more)


def summary(name: str, rows: list[Row]) -> str:
    """How many are closed, and the worst."""
    closed = sum(row.gap <= CLOSED for row in rows)
    largest = max(row.gap for row in rows)
    slowest = max(row.seconds for row in rows)
    return (
        f"{name}: {closed} of {len(rows)} with a gap below {CLOSED:g} of the value, the largest "
        f"{largest:.1e}; at most {slowest:.2f} CPU seconds, "
        f"{sum(row.seconds for row in rows) / len(rows):.3f} on average.\n"
    )


def page(most: int) -> str:
    """All results as a page."""
    rng = np.random.default_rng(3)
    sizes = [n for n in SIZES if n <= most]
    table = [measured(rng, *case) for case in product(sizes, KINDS, EPSILONS)]
    cases = [measured(rng, n, kind, epsilon) for n, epsilon, kind in CASES if n <= most]
    drawn = []
    for _ in range(200 if most > 100 else 20):
        n = int(rng.integers(5, 201))
        epsilon = round(float(rng.uniform(0.2, 8)), 2)
        drawn.append(measured(rng, min(n, most), str(rng.choice(KINDS[:3])), epsilon))
    lines = [
        "# Extremal channels",
        "",
        "`python benchmarks/extremal.py`; one thread. The gap is that of the certificate, between",
        "two rationals, over the value. The last columns are the program over all columns of two",
        "values: its CPU seconds, and its bound over our value, less 1.",
        "",
        summary("The cases of the table", table),
        summary("5 to 300 answers, epsilon .5 to 5, three divergences", cases),
        summary("Drawn: 5 to 200 answers, epsilon .2 to 8", drawn),
        "| answers | f | epsilon | reports | value | gap | s | all columns, s | difference |",
        "|---|---|---|---|---|---|---|---|---|",
        *(row.text() for row in table),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=max(SIZES))
    parser.add_argument("-o", "--output", default=str(Path(__file__).with_suffix(".md")))
    options = parser.parse_args()
    text = page(options.most)
    if options.output == "-":
        print(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
