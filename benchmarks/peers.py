"""Mechanisms of the literature for places, beside the optimum.

    python benchmarks/peers.py          # a minute of CPU; rewrites benchmarks/peers.md

Metric privacy with the Euclidean distance as the loss. Grids have steps of 1 and a uniform or a random prior
(Dirichlet, all parameters 1); cities are `ldpopt.testing.synthetic_city(n, rng=1)`, about 20 across with clusters of
width 1. Epsilon is per unit of distance. The optimum is solved to a certified relative gap of 1e-3, which stands beside
it; a ratio is too small by at most that gap. All mechanisms are exactly private and audited. A dash: the mechanism does
not exist at this epsilon, or remapping changes no report. Values repeat; CPU seconds are of one run on a busy machine.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import ldpopt as lo
from ldpopt.testing import synthetic_city

EPSILONS = (0.3, 1.0, 2.0)
NAMES = ("tight constraints", "planar Laplace", "sharpened exponential", "exponential")


def grid(side: int, prior: str) -> tuple[np.ndarray, np.ndarray]:
    points = np.array([(x, y) for x in range(side) for y in range(side)], float)
    n = len(points)
    return points, np.full(n, 1 / n) if prior == "uniform" else np.random.default_rng(1).dirichlet(np.ones(n))


def city(n: int) -> tuple[np.ndarray, np.ndarray]:
    found = synthetic_city(n, rng=1)
    return found.points, found.prior


CASES = {
    "grid 5 x 5, uniform": lambda: grid(5, "uniform"),
    "grid 10 x 10, uniform": lambda: grid(10, "uniform"),
    "grid 5 x 5, random": lambda: grid(5, "random"),
    "grid 10 x 10, random": lambda: grid(10, "random"),
    "city of 50": lambda: city(50),
    "city of 75": lambda: city(75),
}


def row(name: str, epsilon: float) -> str:
    points, prior = CASES[name]()
    privacy = lo.MetricDP.of_points(epsilon, points)
    problem = lo.Problem(prior, lo.Utility(privacy.distance, "loss"), privacy)
    began = time.process_time()
    solution = lo.solve(problem, gap=1e-3, time_limit=300.0)
    solved = time.process_time()
    gap = lo.certify(solution, exact=False).relative_gap
    began_peers = time.process_time()
    found = lo.compare(problem, best=solution)
    ended = time.process_time()
    ratio = {entry.name: f"{entry.ratio:.3f}" for entry in found.others}
    cells = [f"{ratio.get(peer, '-')} / {ratio.get(peer + ', remapped', '-')}" for peer in NAMES]
    seconds = f"{solved - began:.1f} / {ended - began_peers:.1f}"
    return f"| {name} | {epsilon:g} | {found.best.value:.4f} ({gap:.0e}) | {' | '.join(cells)} | {seconds} |"


def main() -> None:
    heads = " | ".join(NAMES)
    lines = [
        f"| case | epsilon | optimum (gap) | {heads} | CPU s: optimum / peers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in CASES:
        for epsilon in EPSILONS:
            lines.append(row(name, epsilon))
            print(lines[-1], flush=True)
    about = (__doc__ or "").split("\n\n")[-1].strip()
    head = f"# Peers of the optimum for places\n\nWritten by `python benchmarks/peers.py`. {about}\n\n"
    head += "Each cell has the expected loss over that of the optimum: as it is / remapped to the prior.\n\n"
    Path(__file__).with_name("peers.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
