"""How much worse other mechanisms estimate a workload than the optimal design; writes benchmarks/estimation.md.

    python benchmarks/estimation.py [SIZE ...]

Every mechanism gets the best unbiased estimator for its channel. Subset selection takes its best size, the
factorization mechanism the best of five starts. CPU seconds of one core.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design
from ldpopt.estimation.designs import peers

SIZES = (4, 8, 12)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
WORKLOADS = {
    "frequencies": Workload.frequencies,
    "prefix": Workload.prefix,
    "ranges": Workload.ranges,
    "mean": lambda n: Workload.mean(np.arange(n)),
}
PEERS = {
    "best subset selection": lambda w, n, e: [peers.subset_selection(n, e, k) for k in range(1, n)],
    "randomized response": lambda w, n, e: [peers.randomized_response(n, e)],
    "unary encoding": lambda w, n, e: [peers.unary_encoding(n, e)],
    "local hashing": lambda w, n, e: [peers.local_hashing(n, e)],
    "Hadamard response": lambda w, n, e: [peers.hadamard_response(n, e)],
    "hierarchy": lambda w, n, e: [peers.hierarchy(n, e)],
}


def compare(sizes):
    """Ratios by workload and mechanism; gaps and CPU seconds of the designs."""
    ratios = {name: {peer: [] for peer in (*PEERS, "factorization")} for name in WORKLOADS}
    gaps, seconds = [], []
    for name, make in WORKLOADS.items():
        for n in sizes:
            for epsilon in BUDGETS:
                for weights in (np.ones(n), 1.0 / np.arange(1, n + 1)):
                    workload, r = make(n), weights / weights.sum()
                    start = time.process_time()
                    best = design(workload, PureLDP(epsilon), weights=r, gap=1e-9)
                    seconds.append(time.process_time() - start)
                    gaps.append(best.relative_gap)
                    for peer, channels in PEERS.items():
                        found = min(peers.variance_of(workload, c, r) for c in channels(workload, n, epsilon))
                        ratios[name][peer].append(found / best.value)
                    channel = peers.factorization(workload, epsilon, weights=r)
                    ratios[name]["factorization"].append(peers.variance_of(workload, channel, r) / best.value)
    return ratios, gaps, seconds


def page(sizes, ratios, gaps, seconds):
    """The table in Markdown."""
    lines = [
        "# Estimation: other mechanisms beside the optimal design",
        "",
        f"{len(gaps)} cases: n = {', '.join(map(str, sizes))}, epsilon = {', '.join(map(str, BUDGETS))}, weights equal",
        f"or falling as 1/x. Designs: relative gap at most {max(gaps):.1g}, proved in rationals; CPU seconds median",
        f"{np.median(seconds):.2f}, at most {max(seconds):.2f}.",
        "Average variance over the optimum: smallest / median / largest. Made by `python benchmarks/estimation.py`.",
        "",
        "| workload | " + " | ".join(next(iter(ratios.values()))) + " |",
        "|---" * (1 + len(next(iter(ratios.values())))) + "|",
    ]
    for name, found in ratios.items():
        cells = [f"{min(r):.2f} / {np.median(r):.2f} / {max(r):.2f}" for r in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    chosen = tuple(map(int, sys.argv[1:])) or SIZES
    Path(__file__).with_suffix(".md").write_text(page(chosen, *compare(chosen)))
