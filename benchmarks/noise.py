"""CPU time of additive noise for linear queries: the sets of Wu, Xia and He, all budgets in one pass.

python benchmarks/noise.py          # under a minute; rewrites benchmarks/noise.md
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ldpopt.noise import NeighborPartition, optimal_widening

SETS = {
    "V1": [(0, 1), (1000, 1001)],
    "V2": [(0, 100), (1000, 1001)],
    "V3": [(0, 500), (1000, 1001)],
    "V4": [(0, 1001)],
    "V5": [(0, 1), (100, 101)],
    "V6": [(0, 1), (1000, 1001)],
    "V7": [(0, 1), (2000, 2001)],
}
WIDENINGS = np.geomspace(0.5, 500, 40)
EPSILONS = np.linspace(0.1, 5, 40)


def rates(intervals: list[tuple[int, int]], widening: float) -> list[float]:
    part = NeighborPartition(intervals, widening)
    return [part.noise(epsilon).rate for epsilon in EPSILONS]


def seconds(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return time.process_time() - began


def rows() -> list[tuple[str, float]]:
    part = NeighborPartition(SETS["V1"], 0.5)
    noise = part.noise(1.0)
    found = [("V1, widening 0.5: rates at 40 budgets", seconds(lambda: rates(SETS["V1"], 0.5)))]
    found.append(("V1, widening 0.5: certificate", seconds(part.certify)))
    found.append(("V1, widening 0.5: 10^6 values for simulation", seconds(lambda: noise.sample(10**6, rng=1))))
    found.append(("V1 on the integers: 10^4 exact values", seconds(lambda: noise.on_grid(1.0).sample(10**4, rng=1))))
    found.append(("V1: optimal widening at epsilon 1", seconds(lambda: optimal_widening(SETS["V1"], 1.0))))
    cells = [(intervals, float(d)) for intervals in SETS.values() for d in WIDENINGS]
    found.append(("Figures 1 and 2: 7 sets x 40 widenings x 40 budgets", seconds(lambda: [rates(*c) for c in cells])))
    return found


if __name__ == "__main__":
    lines = ["# Noise for linear queries", "", "Written by `python benchmarks/noise.py`: CPU seconds of one run.", ""]
    lines += ["| task | CPU s |", "|---|---|", *(f"| {name} | {cost:.3f} |" for name, cost in rows())]
    (Path(__file__).parent / "noise.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
