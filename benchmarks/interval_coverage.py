"""Coverage of 95 % intervals over a grid of answers, people and epsilon; writes benchmarks/interval_coverage.md.

    python benchmarks/interval_coverage.py [RUNS]

Each run draws frequencies of the answers (Dirichlet, every distribution alike), a survey, and its intervals; a cell is
the share of intervals, over runs and answers, that contain the true frequency. The second table fixes frequencies that
fall as 1/x with a last answer that nobody gives, and shows the answer that is covered least, and the one never given.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import numpy as np

from ldpopt import Mechanism, PureLDP, Workload, design
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import covariance_of_mean, normal_quantile
from ldpopt.estimation.intervals import norm_sub, score_intervals
from ldpopt.estimation.linear import left_inverse

ANSWERS, PEOPLE, BUDGETS = (2, 5, 20), (20, 100, 1000, 100_000), (0.5, 1.0, 2.0, 4.0, 8.0)
RUNS = 4000
Z = normal_quantile(0.95)


def randomized_response(n, epsilon):
    channel = np.ones((n, n)) + np.expm1(epsilon) * np.eye(n)
    return Mechanism(channel / channel.sum(axis=1, keepdims=True))


def optimal(n, epsilon):
    return design(Workload.frequencies(n), PureLDP(epsilon)).mechanism if n <= 5 else None


MECHANISMS = {"randomized response": randomized_response, "optimal design": optimal}


def covered(mechanism, frequencies, people, rng):
    """Whether score and normal intervals contain each frequency, for one survey a row of frequencies."""
    inverse, channel = left_inverse(mechanism), mechanism.channel
    found = {"score": [], "normal": []}
    for p in frequencies:
        seen = rng.multinomial(people, p @ channel)
        values = inverse @ seen / people
        ends = score_intervals(values, np.eye(len(p)), inverse, channel, norm_sub(values), 1 / people, Z)
        found["score"].append((ends[:, 0] <= p) & (p <= ends[:, 1]))
        counts = Counts(mechanism.digest, mechanism.outputs, seen, seen, people, people, people)
        half = Z * np.sqrt(np.maximum(np.diag(covariance_of_mean(inverse, values, counts)), 0.0))
        found["normal"].append(np.abs(values - p) <= half)
    return {kind: np.mean(rows, axis=0) for kind, rows in found.items()}


def measure(runs):
    """Coverage by mechanism, number of answers, people and epsilon: averages, then fixed frequencies."""
    rng, table = np.random.default_rng(14), []
    for name, make in MECHANISMS.items():
        for n in ANSWERS:
            for epsilon in BUDGETS:
                mechanism = make(n, epsilon)
                if mechanism is None:
                    continue
                falling = np.append(1 / np.arange(1, n), 0.0)
                falling /= falling.sum()
                for people in PEOPLE:
                    average = covered(mechanism, rng.dirichlet(np.ones(n), size=runs), people, rng)
                    fixed = covered(mechanism, np.tile(falling, (runs, 1)), people, rng)
                    table.append((name, n, epsilon, people, average, fixed))
    return table


def page(runs, table):
    """The tables in Markdown."""
    cells = {kind: np.array([100 * row[4][kind].mean() for row in table]) for kind in ("score", "normal")}
    inside = {kind: int(((found >= 94) & (found <= 96.5)).sum()) for kind, found in cells.items()}
    lines = [
        "# Coverage of 95 % intervals",
        "",
        f"{runs} surveys a cell. Made by `python benchmarks/interval_coverage.py`, Python {platform.python_version()}.",
        "",
        "Averages over all distributions of the answers (Dirichlet): of "
        f"{len(table)} cells, {inside['score']} score and {inside['normal']} normal are within 94 to 96.5 %.",
        f"Score: {cells['score'].min():.1f} to {cells['score'].max():.1f} %; "
        f"normal: {cells['normal'].min():.1f} to {cells['normal'].max():.1f} %.",
        "",
        "Fixed: frequencies fall as 1/x, nobody gives the last answer. A share of a few expected reports jumps with",
        "every report, as that of any survey does: no interval of a count covers 95 % everywhere.",
        "",
        "| mechanism | answers | epsilon | people | score | normal | fixed, least: score | normal | never given: score "
        "| normal |",
        "|---" * 10 + "|",
    ]
    for name, n, epsilon, people, average, fixed in table:
        shares = [average["score"].mean(), average["normal"].mean(), fixed["score"].min(), fixed["normal"].min()]
        shares += [fixed["score"][-1], fixed["normal"][-1]]
        texts = " | ".join(f"{100 * share:.1f}" for share in shares)
        lines.append(f"| {name} | {n} | {epsilon:g} | {people:,} | {texts} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    Path(__file__).with_suffix(".md").write_text(page(size, measure(size)))
