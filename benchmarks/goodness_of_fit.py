"""Reports against their mechanism, on 1000 honest and 1000 foreign files; prints benchmarks/goodness_of_fit.md.

    python benchmarks/goodness_of_fit.py [FILES]

Each file is a CSV file of one column. Mechanism: randomized response on 2 to 12 answers at epsilon 0.5 to 4, 200 to
20 000 people, answers of a random distribution; fixed seed. Foreign files have raw answers, or reports of randomized
response at three times the budget.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from ldpopt import Counts, goodness_of_fit
from ldpopt.frequencies import RandomizedResponse

LEVELS = (1e-2, 1e-3, 1e-6)


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    draws = np.random.default_rng(14)
    chances = {"honest": [], "raw answers": [], "another budget": []}
    people = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.csv"
        for number in range(2 * files):
            size, epsilon = int(draws.integers(2, 13)), float(draws.uniform(0.5, 4))
            count = int(10 ** draws.uniform(2.3, 4.3))
            labels = [f"label {place}" for place in range(size)]
            mechanism = RandomizedResponse(labels, epsilon).mechanism
            answers = draws.choice(labels, count, p=draws.dirichlet(np.full(size, 0.5)))
            kind = "honest" if number % 2 else "raw answers" if number % 4 else "another budget"
            source = RandomizedResponse(labels, 3 * epsilon).mechanism if kind == "another budget" else mechanism
            reports = answers if kind == "raw answers" else source.sample(answers.tolist(), rng=draws)
            pd.DataFrame({"a": reports}).to_csv(path, index=False)
            chances[kind].append(goodness_of_fit(mechanism, Counts.of(mechanism, path, column="a")))
            people.append(count)
    print("| file | number | p < 0.01 | p < 0.001 | p < 1e-6 | smallest p |\n|---|---|---|---|---|---|")
    for kind, found in chances.items():
        values = np.array(found)
        flagged = " | ".join(f"{np.mean(values < level):.1%}" for level in LEVELS)
        print(f"| {kind} | {len(values)} | {flagged} | {values.min():.1g} |")


if __name__ == "__main__":
    main()
