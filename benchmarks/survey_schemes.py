"""Measured and stated errors of the schemes for several questions; prints the tables of benchmarks/survey_schemes.md.

    python benchmarks/survey_schemes.py [ROUNDS]

Two questionnaires, 3000 people drawn at random in each round, fixed seeds. Measured: root of the mean squared error
over all labels and rounds; stated: the closed form of `compare_schemes`.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from ldpopt import PureLDP, Survey, Workload, compare_schemes, design

PEOPLE = 3000
CASES = {
    "2, 5, 4": {
        "a": [0.68, 0.32],
        "b": [0.02, 0.05, 0.16, 0.35, 0.42],
        "c": [0.16, 0.36, 0.38, 0.10],
    },
    "2 x 6": {f"q{place}": [1 - share, share] for place, share in enumerate((0.05, 0.1, 0.2, 0.3, 0.4, 0.5))},
}


def error(shares, epsilon, scheme, rounds, draws):
    each = epsilon / len(shares) if scheme == "split" else epsilon
    questions = {name: design(Workload.frequencies(len(one)), PureLDP(each)) for name, one in shares.items()}
    survey = Survey(questions, scheme=scheme, epsilon=epsilon)
    squares = []
    for _ in range(rounds):
        table = pd.DataFrame({name: draws.choice(len(one), PEOPLE, p=one) for name, one in shares.items()})
        told = survey.estimate(survey.privatize(table, rng=draws))
        squares.append([np.mean((told[name].values - one) ** 2) for name, one in shares.items()])
    return float(np.sqrt(np.mean(squares)))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for title, shares in CASES.items():
        print(f"\n| {title} | split | one question | fake data | best |\n|---|---|---|---|---|")
        for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
            draws = np.random.default_rng(1)
            stated = compare_schemes({name: len(one) for name, one in shares.items()}, epsilon, priors=shares)
            cells = []
            for scheme in ("split", "one_question", "fake_data"):
                measured = error(shares, epsilon, scheme, rounds, draws)
                cells.append(f"{measured:.4f} ({np.sqrt(stated.average[scheme] / PEOPLE):.4f})")
            print(f"| {epsilon:g} | {' | '.join(cells)} | {stated.best} |", flush=True)


if __name__ == "__main__":
    main()
