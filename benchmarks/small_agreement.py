"""Random problems solved by this checkout and by another one: statuses, values and gaps.

    python benchmarks/small_agreement.py FOLDER              # 300 problems, about three minutes
    python benchmarks/small_agreement.py FOLDER --count 1000

Every kind of notion with ties, worst cases, losses, side constraints, few and many reports, priors
with zeros, and every installed solver. Two values agree if they differ by 1e-12 of the larger one
or of the utility's range, or by less than both certified gaps; prints every problem that does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AGREED, LARGEST_GAP = 1e-12, 1e-9
SOLVERS = ("auto", "highs", "auto", "highs", "interior", "cbc", "cvxpy")


def problem_of(seed: int) -> tuple[Any, str]:
    """A random problem, and the name of a solver."""
    import networkx as nx
    import numpy as np

    import ldpopt as lo

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1 + (seed % 17 > 0), 13 if seed % 5 else 25))
    m = n if seed % 3 else int(rng.integers(1, n + 4))
    epsilon = float(rng.choice([0.0, 0.01, 0.3, 1.0, 2.0, 5.0, 12.0, 40.0]))
    delta = float(rng.choice([0.01, 0.1, 0.5]))
    graph = nx.path_graph(n) if n < 3 else nx.connected_watts_strogatz_graph(n, 2, 0.3, seed=seed)
    points = rng.random((n, 2))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    size = min(n, 5)
    notions = [
        lambda: lo.PureLDP(epsilon),
        lambda: lo.PureLDP("log(3)"),
        lambda: lo.ApproximateLDP(epsilon, delta, form="entry"),
        lambda: lo.GraphDP(max(epsilon, 0.01), graph),
        lambda: lo.MetricDP(max(min(epsilon, 5.0), 0.01), apart),
        lambda: lo.UtilityOptimizedLDP(max(epsilon, 0.01), list(range((n + 1) // 2))),
        lambda: lo.ApproximateLDP(min(epsilon, 5.0), delta) if n == size else lo.PureLDP(epsilon),
    ]
    prior = rng.dirichlet(np.full(n, 0.5 if seed % 4 else 5.0))
    if seed % 11 == 0:
        prior[0] = 0.0
        prior = prior / prior.sum() if prior.sum() else np.ones(n) / n
    utility = rng.random((n, m)) * 10.0 ** float(rng.choice([0, 0, 0, -6, 6]))
    utility = np.round(utility * 4) if seed % 6 == 0 else utility - (seed % 7 == 0) * 0.5
    worst = seed % 4 == 1
    blocks = []
    if seed % 9 in (4, 8) and m > 1:
        shares = np.zeros((n, m))
        shares[:, 0] = prior
        bounds = {"lower": 0.3, "upper": 0.3} if seed % 2 else {"upper": 0.2}
        blocks = [lo.constraints.linear(shares, **bounds, name="first report")]
    notion = notions[int(rng.integers(len(notions)))]()
    sense = "gain" if rng.random() < 0.5 else "loss"
    problem = lo.Problem(
        None if worst else prior,
        lo.Utility(utility, sense),
        notion,
        objective="worst_case" if worst else "expected",
        constraints=blocks,
    )
    return problem, SOLVERS[seed % len(SOLVERS)]


def work(begin: int, end: int) -> None:
    """Print status, value, range of the utility and gap of each problem."""
    from ldpopt import certify, solve
    from ldpopt.errors import LdpoptError

    for seed in range(begin, end):
        problem, solver = problem_of(seed)
        spread = float(problem.utility.matrix.max() - problem.utility.matrix.min())
        numbers: list[Any] = ["", None, spread, None]
        try:
            answer = solve(problem, solver=solver)
            numbers[0] = answer.status.value
            if answer.repaired is not None:
                numbers[1] = answer.value
                numbers[3] = certify(answer).relative_gap
        except LdpoptError as error:
            numbers[0] = f"{numbers[0]} {type(error).__name__} {error.code}"
        print(json.dumps([seed, repr(problem), solver, *numbers]), flush=True)


def answers(folder: Path, count: int) -> subprocess.Popen[str]:
    """A process with the package of a folder that solves all problems."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, __file__, ".", "--count", str(count), "--work"],
        stdout=subprocess.PIPE,
        env=os.environ | threads | {"PYTHONPATH": str(folder)},
        text=True,
    )


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--work", action="store_true")
    given = parser.parse_args()
    if given.work:
        work(0, given.count)
        return 0
    folders = HERE.parent, given.folder.resolve()
    runs = [answers(folder, given.count) for folder in folders]
    lists = [[json.loads(line) for line in run.communicate()[0].splitlines()] for run in runs]
    unlike = wide = 0
    largest = [0.0, 0.0]
    for here, there in zip(*lists, strict=True):
        seed, text, solver, status, value, spread, gap = here
        *_, other_status, other, _, other_gap = there
        largest = [max(old, new or 0.0) for old, new in zip(largest, (gap, other_gap), strict=True)]
        is_same = status == other_status and (value is None) == (other is None)
        if is_same and value is not None:
            scale = max(abs(value), abs(other), spread)
            allowed = max(AGREED, gap or 0.0, other_gap or 0.0)
            is_same = abs(value - other) <= allowed * scale
            unlike += abs(value - other) > AGREED * scale
        if (gap or 0.0) > max(LARGEST_GAP, 2 * (other_gap or 0.0)):
            wide += 1
            is_same = False
        if not is_same:
            print(seed, text, solver, here[3:], there[3:])
    print(
        f"{len(lists[0])} problems; values apart by more than {AGREED:g} of the scale: {unlike}; "
        f"gaps above {LARGEST_GAP:g} and twice the other one: {wide}; largest gaps "
        f"{largest[0]:.1e} here, {largest[1]:.1e} there"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
