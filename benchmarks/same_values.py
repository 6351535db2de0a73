"""Random problems solved by this checkout and by another one: the same status and value, proved
gaps, and CPU seconds.

    python benchmarks/same_values.py --other OTHER/.venv/bin/python    # 500 problems, 10 minutes

Each checkout has one process, which solves and certifies the problems in turn with the other one.
Exit code 1 if a status differs, a value by more than 1e-12 relative, or a proved gap is above 1e-9
where that of the other checkout is not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx
import numpy as np

HERE = Path(__file__).parent
SAME, GAP = 1e-12, 1e-9
SIZES = ((2, 5), (6, 10), (11, 20), (21, 40))
REPEATED = 0.2  # seconds; a shorter job is timed by the least of three


def random_gain(n: int, rng: np.random.Generator) -> Any:
    """Utilities uniform on [0, 1], to be maximized."""
    from ldpopt import Problem, PureLDP, Utility

    return Problem(prior_of(n, rng), Utility(rng.random((n, n)), "gain"), PureLDP(budget(rng)))


def random_loss(n: int, rng: np.random.Generator) -> Any:
    """Losses, often with more or fewer outputs than inputs."""
    from ldpopt import Problem, PureLDP, Utility

    outputs = int(rng.integers(2, n + 3))
    utility = Utility(rng.random((n, outputs)).round(3), "loss")
    return Problem(prior_of(n, rng), utility, PureLDP(budget(rng)))


def worst_case(n: int, rng: np.random.Generator) -> Any:
    """The largest loss of an answer."""
    from ldpopt import Problem, PureLDP, Utility

    loss = steps(n) if rng.random() < 0.5 else rng.random((n, n))
    options = {"objective": "worst_case"}
    return Problem(None, Utility(loss, "loss"), PureLDP(budget(rng)), **options)


def side_constraints(n: int, rng: np.random.Generator) -> Any:
    """Unbiased reports, or a row of random coefficients."""
    from ldpopt import Problem, PureLDP, Utility
    from ldpopt.problem.constraints import linear, unbiased

    epsilon = budget(rng)
    if n <= 12 and rng.random() < 0.4:
        far = 2 * n / math.tanh(epsilon / 2)
        outputs = np.linspace(-far, n + far, max(n, 3))
        loss = np.subtract.outer(np.arange(n), outputs) ** 2
        side = unbiased(list(range(n)), outputs)
    else:
        loss = rng.random((n, n))
        weights = np.zeros(n * n)
        weights[rng.choice(n * n, min(n * n, 2 * n), replace=False)] = rng.random(min(n * n, 2 * n))
        side = linear(weights.reshape(n, n), upper=weights.sum() / n)  # holds for equal rows
    names = {"outputs": list(range(loss.shape[1]))}
    utility = Utility(loss, "loss")
    return Problem(prior_of(n, rng), utility, PureLDP(epsilon), **names, constraints=[side])


def graphs(n: int, rng: np.random.Generator) -> Any:
    """Paths, trees, rings with shortcuts."""
    from ldpopt import GraphDP, Problem, Utility

    kind = rng.choice(["path", "tree", "small world"])
    seed = int(rng.integers(1 << 30))
    if kind == "path" or n < 5:
        graph = nx.path_graph(n)
    elif kind == "tree":
        graph = nx.random_labeled_tree(n, seed=seed)
    else:
        graph = nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed)
    loss = np.asarray(nx.floyd_warshall_numpy(graph, nodelist=range(n)), float)
    return Problem(prior_of(n, rng), Utility(loss, "loss"), GraphDP(budget(rng), graph))


def metrics(n: int, rng: np.random.Generator) -> Any:
    """Places in the plane, or numbers on a line."""
    from ldpopt import MetricDP, Problem, Utility

    far = steps(n)
    if rng.random() < 0.6:
        points = rng.random((n, 2)) * math.sqrt(n)
        far = np.sqrt(((points[:, None] - points) ** 2).sum(2))
    return Problem(prior_of(n, rng), Utility(far, "loss"), MetricDP(budget(rng), far))


def entry_wise(n: int, rng: np.random.Generator) -> Any:
    """A delta for each report."""
    from ldpopt import ApproximateLDP

    return plain(n, rng, ApproximateLDP(budget(rng), delta(rng) / n, "entry"))


def event_wise(n: int, rng: np.random.Generator) -> Any:
    """A delta for each event."""
    from ldpopt import ApproximateLDP

    return plain(n, rng, ApproximateLDP(budget(rng), delta(rng)))


def cones(n: int, rng: np.random.Generator) -> Any:
    """Notions that compare with averages."""
    from ldpopt import PML, InformationPrivacy

    prior = rng.integers(1, 50, n)
    prior = dict(enumerate(prior.tolist()))
    notion = [PML, InformationPrivacy][int(rng.integers(2))]
    return plain(n, rng, notion(budget(rng), prior))


def utility_optimized(n: int, rng: np.random.Generator) -> Any:
    """Some answers are sensitive."""
    from ldpopt import UtilityOptimizedLDP

    sensitive = sorted(rng.choice(n, int(rng.integers(1, n)), replace=False).tolist())
    return plain(n, rng, UtilityOptimizedLDP(budget(rng), sensitive))


def intersections(n: int, rng: np.random.Generator) -> Any:
    """Two notions at once."""
    from ldpopt import PML, GraphDP, PureLDP

    epsilon = budget(rng)
    path = GraphDP(epsilon / 2, nx.path_graph(n))
    other = PureLDP(epsilon)
    if n <= 15 and rng.random() < 0.4:
        other = PML(epsilon, dict(enumerate(range(n, 0, -1))))
    return plain(n, rng, other & path)


def plain(n: int, rng: np.random.Generator, notion: Any) -> Any:
    """Random gains, or distances as losses, under a notion."""
    from ldpopt import Problem, Utility

    utility = Utility(rng.random((n, n)), "gain")
    if rng.random() < 0.4:
        utility = Utility(steps(n), "loss")
    return Problem(prior_of(n, rng), utility, notion)


def prior_of(n: int, rng: np.random.Generator) -> Any:
    """A prior, sometimes with rare answers."""
    return rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0])))


def budget(rng: np.random.Generator) -> float:
    """An epsilon between .1 and 4."""
    return float(np.exp(rng.uniform(np.log(0.1), np.log(4.0))).round(4))


def delta(rng: np.random.Generator) -> float:
    """A delta between .001 and .2."""
    return float(np.exp(rng.uniform(np.log(1e-3), np.log(0.2))).round(6))


def steps(n: int) -> Any:
    """Distances on a line."""
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


FAMILIES: dict[str, tuple[Callable[..., Any], int]] = {  # and the largest size
    "random gain": (random_gain, 40),
    "random loss": (random_loss, 40),
    "worst case": (worst_case, 40),
    "side constraints": (side_constraints, 40),
    "graphs": (graphs, 40),
    "metrics": (metrics, 36),
    "entry-wise delta": (entry_wise, 40),
    "event-wise delta": (event_wise, 22),
    "cones": (cones, 30),
    "utility-optimized": (utility_optimized, 40),
    "intersections": (intersections, 30),
}


def problem_of(family: str, number: int) -> tuple[int, Any]:
    """The size and the problem of a number, the same in every process."""
    make, most = FAMILIES[family]
    rng = np.random.default_rng([list(FAMILIES).index(family), number])
    low, high = SIZES[number % len(SIZES)]
    n = int(rng.integers(min(low, most), min(high, most) + 1))
    return n, make(n, rng)


def answer(family: str, number: int) -> dict[str, Any]:
    """Solve and certify a problem: status, value, proved gap and CPU seconds."""
    from peers_rows import seconds

    from ldpopt import certify, solve
    from ldpopt.errors import LdpoptError

    n, problem = problem_of(family, number)
    found: dict[str, Any] = {"n": n, "value": None, "gap": None}
    spent: list[float] = []
    while not spent or (spent[0] < REPEATED and len(spent) < 3):
        _, problem = problem_of(family, number)
        at = seconds()
        try:
            solution = solve(problem)
            certificate = certify(solution)
            found["status"] = solution.status.value
            found["value"] = float(certificate.achieved)
            found["gap"] = float(certificate.relative_gap)
        except LdpoptError as error:
            found["status"] = f"{type(error).__name__} {error.code}"
        spent.append(seconds() - at)
    return found | {"seconds": min(spent)}


def work() -> None:
    """Answer the questions on stdin, one a line, after one of each family."""
    import ldpopt

    for family in FAMILIES:
        answer(family, 4000)
    print(json.dumps(str(Path(ldpopt.__file__).parent)), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)


def started(python: str) -> subprocess.Popen[str]:
    """A process of a checkout."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "RAYON")}
    return subprocess.Popen(
        [python, __file__, "--work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | threads,
    )


def asked(process: subprocess.Popen[str], family: str, number: int) -> dict[str, Any]:
    """The answer of a process to one question."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([family, number]) + "\n")
    process.stdin.flush()
    return dict(json.loads(process.stdout.readline()))


def differences(here: dict[str, Any], there: dict[str, Any]) -> list[str]:
    """What differs between two answers."""
    found = []
    if here["status"] != there["status"]:
        found.append(f"status {here['status']}, there {there['status']}")
    if here["value"] is not None and there["value"] is not None:
        scale = max(abs(here["value"]), abs(there["value"])) or 1.0
        apart = abs(here["value"] - there["value"]) / scale
        if apart > SAME:
            found.append(
                f"values differ by {apart:.0e}; gaps {here['gap']:.0e}, there {there['gap']:.0e}"
            )
    if (here["gap"] or 0.0) > GAP >= (there["gap"] or 0.0):
        found.append(f"gap {here['gap']:.1e}, there {there['gap']:.1e}")
    return found


def cell(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Median of the ratios of CPU seconds of some problems, and their largest."""
    ratios = [here["seconds"] / there["seconds"] for here, there in pairs]
    return f"{median(ratios):.2f} (to {max(ratios):.2f}; {len(ratios)})" if ratios else ""


def table(results: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]) -> str:
    """The ratios by family and size, and the largest gap and difference of a family."""
    head = " | ".join(f"n = {low} to {high}" for low, high in SIZES)
    lines = [
        f"| CPU here / there | {head} | all | largest gap here | there | largest difference |",
        "|---" * (len(SIZES) + 5) + "|",
    ]
    for family, pairs in results.items():
        cells = [
            cell([pair for pair in pairs if low <= pair[0]["n"] <= high]) for low, high in SIZES
        ]
        gaps = [max((pair[k]["gap"] or 0.0 for pair in pairs), default=0.0) for k in (0, 1)]
        apart = max(
            (
                abs(here["value"] - there["value"]) / (abs(there["value"]) or 1.0)
                for here, there in pairs
                if here["value"] is not None and there["value"] is not None
            ),
            default=0.0,
        )
        texts = [*cells, cell(pairs), f"{gaps[0]:.0e}", f"{gaps[1]:.0e}", f"{apart:.0e}"]
        lines.append(f"| {family} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main() -> int:
    """Compare the checkouts; how many problems differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--other", help="Python of the other checkout")
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: all")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return 0
    if given.other is None:
        parser.error("--other names the Python of the other checkout")
    families = given.family or list(FAMILIES)
    load = os.getloadavg()[0]
    workers = [started(python) for python in (sys.executable, given.other)]
    places = [json.loads(each.stdout.readline()) for each in workers if each.stdout is not None]
    if places[0] == places[1]:
        parser.error(f"both are {places[0]}")
    results: dict[str, list[Any]] = defaultdict(list)
    differ = 0
    for place in range(given.problems):
        family = families[place % len(families)]
        number = place // len(families)
        order = (0, 1) if number % 2 else (1, 0)
        answers = {k: asked(workers[k], family, number) for k in order}
        results[family].append((answers[0], answers[1]))
        if found := differences(answers[0], answers[1]):
            differ += 1
            print(f"{family} {number}, n = {answers[0]['n']}: {'; '.join(found)}", flush=True)
    for each in workers:
        each.communicate()
    print(
        f"\n{given.problems} problems, {differ} differ; load {load:.1f} to {os.getloadavg()[0]:.1f}"
    )
    statuses = sorted({here["status"] for pairs in results.values() for here, _ in pairs})
    print(f"statuses here: {', '.join(statuses)}\n\n{table(results)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
