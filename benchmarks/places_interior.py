"""Measure the interior point for graphs, and write benchmarks/places_interior.md.

Every case runs in a process of its own: ``python benchmarks/places_interior.py`` runs all, ``... CASE`` one of them,
which prints a line of JSON.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np

import ldpopt as lo

HERE = Path(__file__).parent
SECONDS = 900.0

CASES = [
    *((15, epsilon, "identity", "random prior") for epsilon in (0.3, 1.0, 2.0)),
    *((15, epsilon, "distance", "random prior") for epsilon in (0.3, 1.0, 2.0)),
    (15, 1.0, "identity", "uniform prior"),
    (12, 1.0, "identity", "worst case"),
    (12, 1.0, "distance", "worst case"),
    (15, 1.0, "identity", "worst case"),
    (15, 1.0, "distance", "worst case"),
    (20, 1.0, "identity", "random prior"),
    (20, 1.0, "distance", "random prior"),
    (30, 1.0, "identity", "random prior"),
]


def statement(side, epsilon, loss, about):
    n = side * side
    places = np.stack(np.divmod(np.arange(n), side), axis=1).astype(float)
    distance = np.asarray(lo.MetricDP.of_points(1.0, places).distance)
    worth = lo.utility.table(distance if loss == "distance" else 1 - np.eye(n), sense="loss")
    privacy = lo.GraphDP(epsilon, nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side)))
    if about == "worst case":
        return lo.Problem(None, worth, privacy, objective="worst_case")
    prior = np.random.default_rng(0).dirichlet(np.ones(n)) if about == "random prior" else np.full(n, 1 / n)
    return lo.Problem(prior, worth, privacy)


def run(side, epsilon, loss, about):
    problem = statement(side, epsilon, loss, about)
    lo.solve(statement(3, epsilon, loss, about), solver="interior")  # loads the compiled loops
    began = time.process_time()
    answer = lo.solve(problem, solver="interior", gap=1e-6, time_limit=SECONDS)
    solved = time.process_time()
    proof = lo.certify(answer)
    return {
        "n": side * side,
        "epsilon": epsilon,
        "loss": loss,
        "about": about,
        "seconds": solved - began,
        "certify": time.process_time() - solved,
        "gap": proof.relative_gap,
        "ended": answer.raw_status.split(",")[0],
        "status": answer.status.value,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def page(rows):
    lines = [
        "# Places: the interior point by outputs",
        "",
        "Written by `python benchmarks/places_interior.py`: square grid graphs, gap asked 1e-6, two threads, one",
        "run of each case, on a machine with four to nine busy processes for each core. CPU seconds of `solve`,",
        "without loading the compiled loops (a second; 20 when they are compiled for the first time). The gap is",
        "the exact certificate's.",
        "",
        "| n | epsilon | loss | objective | CPU s | certificate s | gap | ended | status | MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['n']} | {r['epsilon']:g} | {r['loss']} | {r['about']} | {r['seconds']:.1f} | {r['certify']:.1f} "
        f"| {r['gap']:.1e} | {r['ended']} | {r['status']} | {r['megabytes']:.0f} |"
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
        (HERE / "places_interior.md").write_text(page(rows))
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
