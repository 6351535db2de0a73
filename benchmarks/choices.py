"""The sizes from which one method is faster than another, and what reuse saves, in CPU seconds.

python benchmarks/choices.py [columns] [places] [events] [designs] [few_answers] [priors]
    [sweeps] [piqp]

prints the tables of docs/measurements/choices.md; all parts take about ten minutes. Solvers run in
this process, so that their seconds are counted: above 30 000 non-zeros `solve` starts another one.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LDPOPT_SOLVER_PROCESS", "0")

import networkx as nx
import numpy as np

import ldpopt as lo
from ldpopt.solvers import find
from ldpopt.solvers.highs_ import SCALE, TOLERANCES
from ldpopt.solving.formulation import formulate
from ldpopt.studies import best_of

Job = Callable[[], float]


def place(kind: str, n: int, epsilon: float) -> lo.Problem:
    """Random places on a plane, or a graph; the loss is the distance."""
    rng = np.random.default_rng(1000 + n)
    prior = rng.dirichlet(np.ones(n))
    if kind == "metric":
        points = rng.random((n, 2)) * math.sqrt(n)
        distance = np.sqrt(((points[:, None] - points) ** 2).sum(2))
        return lo.Problem(prior, lo.Utility(distance, "loss"), lo.MetricDP(epsilon, distance))
    graph = {
        "path": lambda: nx.path_graph(n),
        "grid": lambda: nx.convert_node_labels_to_integers(
            nx.grid_2d_graph(math.isqrt(n), n // math.isqrt(n))
        ),
        "small world": lambda: nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=n),
    }[kind]()
    loss = np.asarray(nx.floyd_warshall_numpy(graph), float)
    return lo.Problem(prior, lo.Utility(loss, "loss"), lo.GraphDP(epsilon, graph))


def event(kind: str, n: int, seed: int) -> lo.Problem:
    """Event-wise problems: random and structured gains, and the worst case of steps."""
    rng = np.random.default_rng(1000 * n + seed)
    prior = rng.dirichlet(np.ones(n))
    privacy = lo.ApproximateLDP(1.0, 0.05)
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    if kind == "worst":
        return lo.Problem(None, lo.Utility(steps, "loss"), privacy, objective="worst_case")
    utility: Any = {"identity": "identity", "steps": lo.Utility(steps, "loss")}.get(kind)
    return lo.Problem(
        prior, lo.Utility(rng.random((n, n))) if utility is None else utility, privacy
    )


def proved(make: Callable[[], lo.Problem], **options: Any) -> Job:
    """Solve and certify; returns the certified gap."""
    return lambda: lo.certify(lo.solve(make(), **options)).relative_gap


def row(title: str, jobs: dict[str, Job], rounds: int = 3) -> None:
    """One row: median CPU seconds and the gap of each job, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    gaps = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            began = time.process_time()
            gaps[name] = job()
            seconds[name].append(time.process_time() - began)
    cells = [f"{statistics.median(seconds[name]):.3f} ({gaps[name]:.0e})" for name in jobs]
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def table(*headings: str) -> None:
    print(f"\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}")


def small(kind: str, n: int, epsilon: float, objective: str) -> lo.Problem:
    """A pure budget with random gains, distances, their squares, few gains, or equal ones."""
    rng = np.random.default_rng(n)
    prior = rng.dirichlet(np.ones(n))
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n
    matrix = {
        "random": lambda: rng.random((n, n)),
        "identity": lambda: np.eye(n),
        "distance": lambda: -steps,
        "square": lambda: -(steps**2),
        "sparse": lambda: rng.random((n, n)) * (rng.random((n, n)) < 0.1),
        "ties": lambda: rng.integers(0, 3, (n, n)).astype(float),
    }[kind]()
    stated = prior if objective == "expected" else None
    return lo.Problem(stated, lo.Utility(matrix), lo.PureLDP(epsilon), objective=objective)


def columns() -> None:
    """Ratios of extreme columns to the methods that `auto` would use without them."""
    kinds = ("random", "identity", "distance", "square", "sparse", "ties")
    limits = {
        "others": lo.Limits(columns_entries=0, columns_worst_entries=0),
        "columns": lo.Limits(columns_entries=10**6, columns_worst_entries=10**6),
    }
    for objective, sizes in {
        "expected": (5, 10, 20, 30, 40, 50, 60, 70),
        "worst_case": (5, 10, 20, 30, 40, 50, 60),
    }.items():
        table(f"{objective}, n", "others, s", "columns / others", "largest gaps", "failed")
        for n in sizes:
            ratios, others, gaps, failed = [], [], [0.0, 0.0], 0
            for kind in kinds:
                for epsilon in (0.05, 0.3, 1.0, 3.0, 6.0):
                    seconds = {}
                    for place, (name, limit) in enumerate(limits.items()):
                        rounds = []
                        for _ in range(3):
                            began = time.process_time()
                            answer = lo.solve(small(kind, n, epsilon, objective), limits=limit)
                            gap = lo.certify(answer).relative_gap
                            rounds.append(time.process_time() - began)
                        seconds[name] = statistics.median(rounds)
                        gaps[place] = max(gaps[place], gap)
                        failed += name == "columns" and not answer.solver.startswith("columns")
                    others.append(seconds["others"])
                    ratios.append(seconds["columns"] / seconds["others"])
            print(
                f"| {n} | {statistics.median(others):.4f} | {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f}) | "
                f"{gaps[0]:.0e}, {gaps[1]:.0e} | {failed} of {len(ratios)} |",
                flush=True,
            )


def places() -> None:
    table("places", "simplex", "graph interior point", "auto")
    interior = lo.Limits(graph_entries=0, graph_nonzeros=0)
    for kind, sizes in {
        "metric": (16, 20, 25, 30, 36),
        "grid": (16, 25, 36),
        "small world": (16, 20, 25, 30),
        "path": (16, 20, 25, 30, 36),
    }.items():
        for n in sizes:
            for epsilon in (0.3, 1.0, 3.0):
                make = partial(place, kind, n, epsilon)
                jobs = {
                    "simplex": proved(make, solver="highs"),
                    "interior": proved(make, limits=interior),
                }
                row(f"{kind} {n}, epsilon {epsilon}", jobs | {"auto": proved(make)})


def events() -> None:
    table("event-wise", "rows alone", "interior point after the relaxation", "auto")
    never = lo.Limits(event_nonzeros=10**9, event_worst_nonzeros=10**9, event_round=10**9)
    at_once = lo.Limits(event_nonzeros=0, event_worst_nonzeros=0, event_inputs=2)
    for kind, sizes in {
        "random": (18, 20, 22, 24, 26, 28, 30),
        "identity": (20, 24),
        "steps": (20, 24),
        "worst": (12, 16, 20, 24),
    }.items():
        for n in sizes:
            for seed in range(4 if kind == "random" else 1):
                make = partial(event, kind, n, seed)
                jobs = {
                    "rows": proved(make, limits=never, time_limit=10),
                    "interior": proved(make, limits=at_once),
                }
                row(f"{kind} {n}, seed {seed}", jobs | {"auto": proved(make)}, rounds=1)


def workload(kind: str, n: int) -> lo.Workload:
    """Prefix sums, ranges, bins with pairs of bins, and random rows."""
    rng = np.random.default_rng(n)
    if kind == "histogram":
        return lo.Workload(np.vstack([np.eye(n), np.kron(np.eye(n // 2), [[1, 1]])]))
    if kind == "random":
        return lo.Workload(rng.normal(size=(n, n)))
    return lo.Workload(rng.random((5, n))) if kind == "five rows" else getattr(lo.Workload, kind)(n)


def designs() -> None:
    """Designs with a loose gap by both plans, and those of 20 answers beside those of 22."""
    table("designs", "all sets priced", "relaxation first")
    listed = lo.DesignLimits(loose_gap=1.0)
    first = lo.DesignLimits(loose_gap=3e-4)
    for gap in (1e-3, 3e-4):
        for objective in ("average", "worst_case"):
            for kind in ("prefix", "ranges", "histogram", "random", "five rows"):
                for n in (16, 18, 20, 22):
                    done = {
                        name: designed(kind, n, objective, gap=gap, limits=limits)
                        for name, limits in {"listed": listed, "first": first}.items()
                    }
                    row(f"{kind} {n}, {objective}, gap {gap:g}", done, rounds=1)


def designed(kind: str, n: int, objective: Any, **options: Any) -> Job:
    """A design with its proof; returns the gap."""
    return lambda: (
        lo.design(workload(kind, n), lo.PureLDP(1.0), objective=objective, **options).relative_gap
    )


def few_answers() -> None:
    """20 answers, whose sets are all priced, take no longer than 22."""
    table("gap 1e-3", "20 answers", "22 answers")
    for objective in ("average", "worst_case"):
        for kind in ("prefix", "random"):
            jobs = {str(n): designed(kind, n, objective, gap=1e-3) for n in (20, 22)}
            row(f"{kind}, {objective}", jobs, rounds=5)


def priors() -> None:
    print("\n| 100 priors | cold, ms each | best_of, ms each | solver calls |\n|---|---|---|---|")
    for n in (10, 20, 36):
        for epsilon in (0.5, 1.0, 1.5, 2.6):
            rng = np.random.default_rng(n)
            prior = rng.dirichlet(np.ones(n))
            utility = lo.Utility(rng.random((n, n)), "gain")
            for spread in (0.01, 0.1, None):
                drawn = (
                    rng.dirichlet(np.ones(n), 100)
                    if spread is None
                    else prior * np.exp(spread * rng.normal(size=(100, n)))
                )
                problems = [lo.Problem(p / p.sum(), utility, lo.PureLDP(epsilon)) for p in drawn]
                began = time.process_time()
                for problem in problems:
                    lo.certify(lo.solve(problem))
                cold = time.process_time() - began
                result = best_of(problems)
                kept = time.process_time() - began - cold
                apart = "unrelated" if spread is None else f"{spread:.0%} apart"
                print(
                    f"| n = {n}, epsilon {epsilon}, {apart} | {10 * cold:.2f} | "
                    f"{10 * kept:.2f} | {result.calls} |",
                    flush=True,
                )


def chained(programs: list[Any], block: int) -> float:
    """Solve in turn, each from the basis before; the first of each block starts cold."""
    basis = None
    for k, program in enumerate(programs):
        start = {} if k % block == 0 else {"warm_start": basis}
        basis = find("highs").solve(program, refined=False, **start).warm_start
    return 0.0


def alone(programs: list[Any]) -> float:
    """HiGHS on the same arrays, each program in a new model without a basis."""
    for program in programs:
        highs = program.scaled_highs(SCALE)
        for option, value in {**TOLERANCES, "presolve": "off"}.items():
            highs.setOptionValue(option, value)
        highs.run()
    return 0.0


def swept(problem: lo.Problem, epsilons: list[float], solver: str = "auto") -> float:
    """The largest gap of a sweep; with a solver by name each point is solved by itself."""
    return float(lo.sweep(problem, epsilons, solver=solver).column("relative_gap").max())


def sweeps() -> None:
    titles = "HiGHS alone", "house, cold", "chain in blocks of 8", "each by itself", "sweep"
    table("25 budgets", *titles)
    for n in (10, 20, 36):
        rng = np.random.default_rng(n)
        prior, utility = rng.dirichlet(np.ones(n)), lo.Utility(rng.random((n, n)), "gain")
        problem = lo.Problem(prior, utility, lo.PureLDP(1.0))
        epsilons = np.linspace(0.2, 5, 25).tolist()
        programs = [formulate(replace(problem, privacy=lo.PureLDP(e))) for e in epsilons]
        jobs = {
            "alone": partial(alone, programs),
            "cold": partial(chained, programs, 1),
            "chain": partial(chained, programs, 8),
            "each": partial(swept, problem, epsilons, "highs"),
            "sweep": partial(swept, problem, epsilons),
        }
        row(f"n = {n}", jobs, rounds=9)


def piqp() -> None:
    table("PIQP", "auto", "highs", "piqp")
    cases = {
        f"{kind} {n}": lambda k=kind, n=n: place(k, n, 1.0)
        for kind in ("path", "small world", "grid", "metric")
        for n in (16, 25, 30)
    }
    for n in (5, 10, 20, 36):
        rng = np.random.default_rng(n)
        prior, gain = rng.dirichlet(np.ones(n)), rng.random((n, n))
        cases[f"random {n}"] = lambda p=prior, g=gain: lo.Problem(p, g, lo.PureLDP(1.0))
        steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
        cases[f"worst case {n}"] = lambda s=steps: lo.Problem(
            None, lo.Utility(s, "loss"), lo.PureLDP(1.0), objective="worst_case"
        )
    for title, make in cases.items():
        row(title, {name: proved(make, solver=name) for name in ("auto", "highs", "piqp")})


PARTS = {
    part.__name__: part
    for part in (columns, places, events, designs, few_answers, priors, sweeps, piqp)
}

if __name__ == "__main__":
    print(f"ldpopt {lo.__version__}, load {os.getloadavg()}")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
