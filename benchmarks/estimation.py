"""How much worse other mechanisms estimate a workload than the optimal design; writes benchmarks/estimation.md.

    python benchmarks/estimation.py [SIZE ...]

Every mechanism gets the best unbiased linear estimator for its channel, and where it has a parameter the best one. The
factorization mechanism gets the best of five starts. CPU seconds of one core.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design, mean
from ldpopt.designing import literature as lit
from ldpopt.designing.factorization import factorization

SIZES = (4, 6, 8, 10, 12, 14)
BUDGETS = (0.5, 1.0, 2.0, 4.0)
STARTS = 5
WORKLOADS = {
    "frequencies": Workload.frequencies,
    "prefix": Workload.prefix,
    "ranges": Workload.ranges,
    "mean": lambda n: Workload.mean(np.arange(n)),
}
PEERS = {
    "subset selection": lambda n, e: [lit.subset_selection(n, e, k).channel for k in range(1, n)],
    "randomized response": lambda n, e: [lit.randomized_response(n, e).channel],
    "unary encoding": lambda n, e: [
        lit.unary_encoding(n, e, truth).channel for truth in (0.5, 1 / (1 + math.exp(-e / 2)))
    ],
    "local hashing": lambda n, e: [lit.local_hashing(n, e, g).channel for g in range(2, round(math.exp(e)) + 2)],
    "Hadamard response": lambda n, e: [lit.hadamard_response(n, e, 2**k) for k in range(n.bit_length() + 1)],
    "hierarchy": lambda n, e: [lit.hierarchy(n, e)],
}
MEANS = {"Duchi": mean.Duchi, "piecewise": mean.Piecewise, "hybrid": mean.Hybrid, "Laplace": mean.Laplace}


def cases(sizes):
    """Every workload, size, budget and weighting."""
    for name, make in WORKLOADS.items():
        for n in sizes:
            for epsilon in BUDGETS:
                for weights in (np.ones(n), 1.0 / np.arange(1, n + 1)):
                    yield name, make(n), epsilon, weights / weights.sum()


def compare(sizes):
    """Ratios by workload and mechanism; ratios of mean protocols; gaps and CPU seconds of the designs."""
    ratios = {name: {peer: [] for peer in (*PEERS, "factorization")} for name in WORKLOADS}
    means = {name: [] for name in MEANS}
    gaps, seconds = [], []
    for name, workload, epsilon, r in cases(sizes):
        print(f"{name}, n = {len(r)}, epsilon = {epsilon}", file=sys.stderr)
        start = time.process_time()
        best = design(workload, PureLDP(epsilon), weights=r, gap=1e-9)
        seconds.append(time.process_time() - start)
        gaps.append(best.relative_gap)
        found = variances(workload, epsilon, r)
        assert min(found.values()) >= best.bound * (1 - 1e-9), (name, len(r), epsilon)
        for peer, variance in found.items():
            (means if peer in MEANS else ratios[name])[peer].append(variance / best.value)
    return ratios, means, gaps, seconds


def variances(workload, epsilon, r):
    """Least average variance of every other mechanism."""
    n = len(r)
    found = {peer: min(lit.variance_of(workload, c, r) for c in make(n, epsilon)) for peer, make in PEERS.items()}
    channel = factorization(workload, epsilon, starts=STARTS, weights=r)
    found["factorization"] = lit.variance_of(workload, channel, r)
    if workload.names == ("mean",):
        found |= {kind: variance_of_mean(protocol(epsilon), n, r) for kind, protocol in MEANS.items()}
    return found


def variance_of_mean(protocol, n, r):
    """Average variance of a protocol for the mean of 0, ..., n - 1."""
    low, high = protocol.domain
    unit = (n - 1) / (high - low)
    return float(r @ protocol.variance(np.linspace(low, high, n))) * unit**2


def table(title, rows):
    """Smallest, median and largest ratio of every column, in Markdown."""
    head = list(next(iter(rows.values())))
    lines = [f"| {title} | " + " | ".join(head) + " |", "|---" * (1 + len(head)) + "|"]
    for name, found in rows.items():
        cells = [f"{min(r):.2f} / {np.median(r):.2f} / {max(r):.2f}" for r in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def page(sizes, ratios, means, gaps, seconds):
    """The tables in Markdown."""
    lines = [
        "# Estimation: other mechanisms beside the optimal design",
        "",
        f"{len(gaps)} cases: n = {', '.join(map(str, sizes))}, epsilon = {', '.join(map(str, BUDGETS))}, weights equal",
        f"or falling as 1/x. Designs: relative gap at most {max(gaps):.1g}, proved in rationals; CPU seconds median",
        f"{np.median(seconds):.2f}, at most {max(seconds):.2f}. Made by `python benchmarks/estimation.py`.",
        "",
        "Average variance over the optimum: smallest / median / largest. Every mechanism gets the best unbiased linear",
        "estimator for its channel, which may be better than the one of its paper, and its best parameter: the size of",
        "the subsets, optimized or symmetric bits, the number of buckets (up to that of OLH), the number of Hadamard",
        "blocks. The hierarchy asks each of its levels by subset selection. The factorization mechanism (McKenna,",
        f"Maity, Mazumdar and Miklau 2020) has 4 n reports and takes the best of {STARTS} starts.",
        "",
        *table("workload", ratios),
        "",
        "Mechanisms for a mean, which report a number, on the same grids:",
        "",
        *table("workload", {"mean": means}),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    chosen = tuple(map(int, sys.argv[1:])) or SIZES
    Path(__file__).with_suffix(".md").write_text(page(chosen, *compare(chosen)))
