"""CPU time of graph, metric and event-wise notions: a grid with the Manhattan metric, and event-wise delta.

python benchmarks/notions.py            # some cases, 15 minutes; rewrites benchmarks/notions.md
python benchmarks/notions.py --all      # every case, an hour or more
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ldpopt import ApproximateLDP, MetricDP, Problem, Utility, certify, solve, solvers

FIND = solvers.find

HEAD = """# Graph, metric and event-wise notions

Written by `python benchmarks/notions.py`. CPU seconds of one run, solvers included, single-threaded BLAS, on a shared
machine that was busy with other work: other load can double a figure. "gap" is certified.
"""


def cpu() -> float:
    """CPU seconds of this process, where the solvers are kept by `within`."""
    return time.process_time()


def within(name: str) -> Any:
    """Find a solver, and take it out of the child process in which its seconds would not be counted."""
    found = FIND(name)
    return getattr(found, "solver", found)


def grid(side: int, epsilon: float, kind: str, prior: str, seed: int = 1) -> Problem:
    """A square grid with the Manhattan metric: identity gain, distance as loss, or a random gain."""
    rng, n = np.random.default_rng(seed), side * side
    places = np.array([(a, b) for a in range(side) for b in range(side)], float)
    distance = np.abs(places[:, None] - places[None]).sum(axis=2)
    weights = rng.dirichlet(np.ones(n)) if prior == "random" else np.full(n, 1 / n)
    gains = {
        "identity": Utility(np.eye(n)),
        "Manhattan": Utility(distance, "loss"),
        "random": Utility(rng.random((n, n))),
    }
    return Problem(weights, gains[kind], MetricDP(epsilon, distance))


def events(n: int, epsilon: float, delta: float, seed: int, objective: str) -> Problem:
    """A random gain under event-wise delta, for a random prior or the worst input."""
    rng = np.random.default_rng(seed)
    prior, notion = rng.dirichlet(np.ones(n)), ApproximateLDP(epsilon, delta)
    gain = Utility(rng.random((n, n)))
    if objective == "worst case":
        return Problem(None, gain, notion, objective="worst_case")
    return Problem(prior, gain, notion)


def cases(every: bool) -> Iterator[tuple[str, Problem]]:
    sides = (8, 15) if every else (15,)
    for side, kind in itertools.product(sides, ("identity", "Manhattan", "random")):
        for prior, epsilon in itertools.product(("uniform", "random"), (0.5, 1, 2)):
            if every or (prior, epsilon) == ("random", 1):
                yield (
                    f"grid {side} x {side}, {kind}, {prior} prior, epsilon {epsilon}",
                    grid(side, epsilon, kind, prior),
                )
    for n, objective in itertools.product((20, 30, 40), ("expected", "worst case")):
        for epsilon, delta, seed in itertools.product((0.5, 1, 2, 4), (0.01, 0.05, 0.2), (1, 2, 3)):
            chosen = seed == 1 and (epsilon, delta) in ((0.5, 0.01), (1, 0.05), (2, 0.2), (4, 0.05))
            if every or (chosen and (objective == "expected" or epsilon == 1)):
                name = f"event-wise, n = {n}, {objective}, epsilon {epsilon}, delta {delta}, seed {seed}"
                yield name, events(n, epsilon, delta, seed, objective)


def measured(name: str, problem: Problem) -> str:
    solvers.find = within
    began = cpu()
    solution = solve(problem)
    solved = cpu()
    gap = certify(solution).relative_gap
    times = f"{solved - began:.2f} | {cpu() - solved:.2f}"
    return f"| {name} | {solution.solver} | {times} | {gap:.1e} | {solution.value:.9g} |"


if __name__ == "__main__":
    lines = [HEAD, "| case | solver | solve, CPU s | certify, CPU s | gap | value |", "|---|---|---|---|---|---|"]
    target = Path(__file__).parent / "notions.md"
    for case in cases("--all" in sys.argv):
        lines.append(measured(*case))
        print(lines[-1], flush=True)
        target.write_text("\n".join(lines) + "\n")
