"""Measure places: grids, points and networks of growing size, and write benchmarks/places.md.

Every case runs in a process of its own: ``python benchmarks/places.py`` runs all, ``... CASE`` one
of them, which prints a line of JSON.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.spatial.distance import cdist

import ldpopt as lo
from ldpopt.solving import gap_check

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from cities import synthetic_city  # noqa: E402

SECONDS, LARGE_SECONDS, LARGEST_SECONDS = 600.0, 1190.0, 1790.0

HEADINGS = (
    "pairs",
    "n",
    "epsilon",
    "prior",
    "loss",
    "gap asked",
    "wall s",
    "CPU s",
    "repair s",
    "proof s",
)
HEADINGS += ("gap", "by", "status", "MB")


def square(side):
    return np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)


def straight(places):
    return cdist(places, places)


def grid_graph(side, epsilon):
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    return straight(square(side)), lo.GraphDP(epsilon, graph)


def plane(side, epsilon):
    return straight(square(side)), lo.MetricDP.of_points(epsilon, square(side))


def city_blocks(side, epsilon):
    return straight(square(side)), lo.MetricDP.of_points(epsilon, square(side), "manhattan")


def roads(side, epsilon):
    rng = np.random.default_rng(1)
    places = square(side) + rng.normal(0, 0.2, (side * side, 2))
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    for u, v in graph.edges:
        graph.edges[u, v]["length"] = float(np.linalg.norm(places[u] - places[v]))
    return straight(places), lo.MetricDP.of_network(epsilon, graph)


def globe(n, epsilon):
    rng = np.random.default_rng(2)
    places = np.stack([rng.uniform(47, 55, n), rng.uniform(6, 15, n)], axis=1)
    privacy = lo.MetricDP.of_points(epsilon, places, "great_circle")
    return np.asarray(privacy.distance), privacy


def many_dimensions(n, epsilon):
    places = np.random.default_rng(3).random((n, 50))
    return straight(places), lo.MetricDP.of_points(epsilon, places)


def city(n, epsilon):
    places = synthetic_city(n, rng=1).points
    return straight(places), lo.MetricDP.of_points(epsilon, places)


KINDS = {
    "graph": grid_graph,
    "manhattan": city_blocks,
    "euclidean": plane,
    "roads": roads,
    "globe": globe,
    "R^50": many_dimensions,
    "city": city,
}

CASES = [
    *(
        ("graph", side, epsilon, "random", "distance", 1e-6)
        for side in (10, 15, 20)
        for epsilon in (0.3, 1.0, 2.0)
    ),
    ("graph", 30, 1.0, "random", "distance", 1e-6),
    *(
        ("euclidean", side, epsilon, "random", "distance", 1e-6)
        for side in (10, 12)
        for epsilon in (0.3, 1.0, 2.0)
    ),
    ("globe", 300, 0.01, "random", "distance", 1e-4),
    ("R^50", 200, 1.0, "random", "distance", 1e-4),
    ("roads", 20, 1.0, "random", "distance", 1e-4),
    ("graph", 12, 1.0, "random", "identity", 1e-6),
    ("manhattan", 15, 1.0, "random", "distance", 1e-6),
    ("euclidean", 15, 1.0, "random", "distance", 1e-6),
    *(
        ("euclidean", side, epsilon, "uniform", "distance", 1e-6)
        for side in (10, 12)
        for epsilon in (0.3, 1.0, 2.0)
    ),
    ("graph", 15, 0.3, "uniform", "distance", 1e-6),
    ("graph", 30, 2.0, "random", "distance", 1e-6),
    ("euclidean", 20, 1.0, "random", "distance", 1e-2),
    *(("euclidean", side, 1.0, "random", "distance", 1e-2) for side in (25, 32)),
    ("euclidean", 10, 0.05, "random", "distance", 1e-6),
    ("euclidean", 10, 20.0, "random", "distance", 1e-6),
    ("euclidean", 15, 0.3, "random", "distance", 1e-6),
    ("graph", 30, 0.3, "random", "distance", 1e-6),
    ("graph", 45, 1.0, "random", "distance", 1e-3),
    ("graph", 45, 1.0, "random", "distance", 1e-4),
    ("graph", 70, 1.0, "random", "distance", 1e-2),
    ("graph", 100, 1.0, "random", "distance", 1e-2),
    *(("city", 300, epsilon, "city", "distance", 1e-3) for epsilon in (0.3, 1.0, 2.0)),
    ("city", 500, 1.0, "city", "distance", 1e-2),
    ("city", 1000, 1.0, "city", "distance", 5e-2),
    ("city", 1000, 1.0, "city", "distance", 1e-2),
    ("city", 2000, 1.0, "city", "distance", 5e-2),
    *(("city", n, 1.0, "city", "distance", 5e-2) for n in (5000, 10_000)),
]


def timed_repair():
    """A list to which every later repair of `solve` appends its CPU seconds."""
    spent = []
    repair = gap_check.repair

    def timed(*given, **named):
        began = time.process_time()
        found = repair(*given, **named)
        spent.append(time.process_time() - began)
        return found

    gap_check.repair = timed
    return spent


def run(kind, size, epsilon, prior_kind, loss, gap):
    distance, privacy = KINDS[kind](size, epsilon)
    n = len(distance)
    prior = {
        "random": lambda: np.random.default_rng(0).dirichlet(np.ones(n)),
        "uniform": lambda: np.full(n, 1 / n),
        "city": lambda: synthetic_city(n, rng=1).prior,
    }[prior_kind]()
    worth = lo.utility.table(distance if loss == "distance" else 1 - np.eye(n), sense="loss")
    del distance
    limit = SECONDS if n < 4900 else LARGE_SECONDS if n < 10_000 else LARGEST_SECONDS
    spent = timed_repair()
    began = time.process_time()
    clock = time.perf_counter()
    answer = lo.solve(lo.Problem(prior, worth, privacy), gap=gap, time_limit=limit)
    solved = time.process_time()
    wall = time.perf_counter() - clock
    proof = lo.certify(answer)
    return {
        "kind": kind,
        "n": n,
        "epsilon": epsilon,
        "loss": loss,
        "asked": gap,
        "seconds": solved - began,
        "wall": wall,
        "prior": prior_kind,
        "repair": sum(spent),
        "certify": time.process_time() - solved,
        "gap": proof.relative_gap,
        "solver": answer.solver.split(" (")[0],
        "status": answer.status.value,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def growth(rows):
    """Exponent of CPU seconds in n, by least squares of logarithms, of the graphs at epsilon 1."""
    kind = "graph", 1.0, "distance", "random"
    chosen = [
        r
        for r in rows
        if (r["kind"], r["epsilon"], r["loss"], r["prior"]) == kind and r["asked"] < 1e-2
    ]
    if len(chosen) < 2:
        return []
    sizes = [r["n"] for r in chosen]
    slope = np.polyfit(np.log(sizes), np.log([r["seconds"] for r in chosen]), 1)[0]
    return [
        f"CPU seconds of graphs at epsilon 1 grow like n^{slope:.1f} from n = {min(sizes)} to "
        f"{max(sizes)}.",
        "",
    ]


def page(rows):
    lines = [
        "# Places",
        "",
        "Written by `python benchmarks/places.py`. Two cores, one run of each case. Random "
        "prior: Dirichlet;",
        "cities are those of tests/cities.py, epsilon is a kilometer's. Repair s, with its audit,",
        " are part of CPU s; those of the certificate are not. The gap is the",
        f"certificate's. A case may take {SECONDS:.0f} s of wall time, of 4900 places and more "
        f"{LARGE_SECONDS:.0f} s,",
        f"of 10 000 {LARGEST_SECONDS:.0f} s; then the status is `limit` and the gap is what was "
        "proved. Earlier",
        "figures, large graphs, and what repair and certificate take:",
        "[places_cities.md](places_cities.md).",
        "",
        *growth(rows),
        f"| {' | '.join(HEADINGS)} |",
        "|---" * len(HEADINGS) + "|",
    ]
    lines += [
        f"| {r['kind']} | {r['n']} | {r['epsilon']:g} | {r['prior']} | {r['loss']} | "
        f"{r['asked']:.0e} "
        f"| {r['wall']:.1f} | {r['seconds']:.1f} | {r['repair']:.1f} | {r['certify']:.1f} | "
        f"{r['gap']:.1e} "
        f"| {r['solver']} | {r['status']} | {r['megabytes']:.0f} |"
        for r in rows
    ]
    return "\n".join([*lines, ""])


def main():
    if len(sys.argv) > 1:
        print(json.dumps(run(*CASES[int(sys.argv[1])])))
        return
    rows = []
    for case in range(len(CASES)):
        done = subprocess.run(
            [sys.executable, __file__, str(case)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            continue
        rows.append(json.loads(done.stdout))
        (HERE / "places.md").write_text(page(rows))
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
