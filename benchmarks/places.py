"""Measure places: grids, points and networks of growing size, and write benchmarks/places.md.

Every case runs in a process of its own: ``python benchmarks/places.py`` runs all, ``... CASE`` one of them, which
prints a line of JSON.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.spatial import Delaunay

import ldpopt as lo

HERE = Path(__file__).parent
SECONDS = 600.0


def square(side):
    return np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)


def straight(places):
    return np.asarray(lo.MetricDP.of_points(1.0, places).distance)


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


def city_places(n):
    """Nine quarters of different sizes; a square of 1 holds one place on average."""
    rng = np.random.default_rng(4)
    side = n**0.5
    quarter = rng.integers(9, size=n)
    centers, widths = rng.uniform(0.15, 0.85, (9, 2)) * side, rng.uniform(0.05, 0.15, (9, 1)) * side
    return centers[quarter] + widths[quarter] * rng.standard_normal((n, 2))


def city(n, epsilon):
    places = city_places(n)
    return straight(places), lo.MetricDP.of_points(epsilon, places)


def city_graph(n, epsilon):
    """Ties along the edges of a Delaunay triangulation."""
    places = city_places(n)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for a, b, c in Delaunay(places).simplices.tolist():
        graph.add_edges_from([(a, b), (b, c), (c, a)])
    return straight(places), lo.GraphDP(epsilon, graph)


KINDS = {
    "city": city,
    "city graph": city_graph,
    "graph": grid_graph,
    "manhattan": city_blocks,
    "euclidean": plane,
    "roads": roads,
    "globe": globe,
    "R^50": many_dimensions,
}

CASES = [
    *(("graph", side, epsilon, "distance", 1e-6) for side in (10, 15, 20) for epsilon in (0.3, 1.0, 2.0)),
    ("graph", 12, 1.0, "identity", 1e-6),
    ("graph", 30, 1.0, "distance", 1e-5),
    ("manhattan", 15, 1.0, "distance", 1e-6),
    *(("euclidean", side, epsilon, "distance", 1e-6) for side in (10, 12) for epsilon in (0.3, 1.0, 2.0)),
    ("euclidean", 15, 1.0, "distance", 1e-6),
    ("roads", 20, 1.0, "distance", 1e-4),
    ("globe", 300, 0.01, "distance", 1e-4),
    ("R^50", 200, 1.0, "distance", 1e-4),
]


def run(kind, size, epsilon, loss, gap):
    distance, privacy = KINDS[kind](size, epsilon)
    n = len(distance)
    prior = np.random.default_rng(0).dirichlet(np.ones(n))
    worth = lo.utility.table(distance if loss == "distance" else 1 - np.eye(n), sense="loss")
    began = time.process_time()
    answer = lo.solve(lo.Problem(prior, worth, privacy), gap=gap, time_limit=SECONDS)
    solved = time.process_time()
    proof = lo.certify(answer)
    return {
        "kind": kind,
        "n": n,
        "epsilon": epsilon,
        "loss": loss,
        "asked": gap,
        "seconds": solved - began,
        "certify": time.process_time() - solved,
        "gap": proof.relative_gap,
        "solver": answer.solver.split(" (")[0],
        "status": answer.status.value,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def page(rows):
    lines = [
        "# Places",
        "",
        "Written by `python benchmarks/places.py`. Random prior (Dirichlet), one thread, one run of each case on a",
        "busy machine: CPU seconds may be two to three times those of a quiet one. The gap is the exact certificate's.",
        f"A case may take {SECONDS:.0f} s of wall time; then the status is `limit` and the gap is what was proved.",
        "",
        "| pairs | n | epsilon | loss | gap asked | CPU s | certificate s | gap | by | status | MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['kind']} | {r['n']} | {r['epsilon']:g} | {r['loss']} | {r['asked']:.0e} | {r['seconds']:.1f} "
        f"| {r['certify']:.1f} | {r['gap']:.1e} | {r['solver']} | {r['status']} | {r['megabytes']:.0f} |"
        for r in rows
    ]
    return "\n".join([*lines, ""])


def main():
    if len(sys.argv) > 1:
        print(json.dumps(run(*CASES[int(sys.argv[1])])))
        return
    rows = []
    for case in range(len(CASES)):
        done = subprocess.run([sys.executable, __file__, str(case)], capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            continue
        rows.append(json.loads(done.stdout))
        (HERE / "places.md").write_text(page(rows))
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
