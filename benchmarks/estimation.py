"""How much worse other mechanisms estimate a workload than the optimal design; writes benchmarks/estimation.md.

    python benchmarks/estimation.py [SIZE ...]
    python benchmarks/estimation.py --large [WORKLOAD SIZE EPSILON GAP]

Every mechanism gets the best unbiased linear estimator for its channel, and where it has a parameter the best one. The
factorization mechanism gets the best of five starts. CPU seconds of one core. With ``--large``: what the method for
many answers reaches, each case in a process of its own; writes benchmarks/estimation_large.md after each.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design, mean
from ldpopt.designing import peers

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
    "subset selection": lambda n, e: [peers.subset_selection(n, e, k) for k in range(1, n)],
    "randomized response": lambda n, e: [peers.randomized_response(n, e)],
    "unary encoding": lambda n, e: [peers.unary_encoding(n, e, truth) for truth in (0.5, 1 / (1 + math.exp(-e / 2)))],
    "local hashing": lambda n, e: [peers.local_hashing(n, e, g) for g in range(2, round(math.exp(e)) + 2)],
    "Hadamard response": lambda n, e: [peers.hadamard_response(n, e, 2**k) for k in range(n.bit_length() + 1)],
    "hierarchy": lambda n, e: [peers.hierarchy(n, e)],
}
MEANS = {"Duchi": mean.Duchi, "piecewise": mean.Piecewise, "hybrid": mean.Hybrid, "Laplace": mean.Laplace}

LARGE = [
    *(("prefix", n, epsilon, gap) for n, gap in ((64, 1e-3), (128, 3e-4)) for epsilon in (0.5, 1.0, 2.0)),
    *(("ranges", n, epsilon, 1e-3) for n in (64, 128) for epsilon in (0.5, 1.0, 2.0)),
    *(("falling weights", 64, epsilon, 1e-3) for epsilon in (0.5, 1.0, 2.0)),
    *(("prefix", 256, epsilon, 1e-3) for epsilon in (1.0, 2.0, 0.5)),
]
"""Cases for many answers: workload, answers, epsilon, relative gap aimed at. Falling weights: prefixes, 1/x."""


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
    found = {peer: min(peers.variance_of(workload, c, r) for c in make(n, epsilon)) for peer, make in PEERS.items()}
    channel = peers.factorization(workload, epsilon, starts=STARTS, weights=r)
    found["factorization"] = peers.variance_of(workload, channel, r)
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


def large(name, n, epsilon, gap):
    """One case for many answers, as a line of JSON."""
    n, weights = int(n), 1.0 / np.arange(1, int(n) + 1) if name == "falling weights" else None
    workload = Workload.ranges(n) if name == "ranges" else Workload.prefix(n)
    start = time.process_time()
    best = design(workload, PureLDP(float(epsilon)), weights=weights, gap=float(gap))
    seconds, start = time.process_time() - start, time.process_time()
    wrong = best.certificate.recheck()
    if wrong:
        raise AssertionError(wrong)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = [name, n, epsilon, best.value, best.bound, best.relative_gap, seconds, time.process_time() - start, memory]
    print(json.dumps([*row, best.n_reports]))


def large_page(rows):
    """The table in Markdown."""
    lines = [
        "# Designs for many answers",
        "",
        "Average variance of one respondent, summed over the workload, with the bound for every private mechanism;",
        "both are proved in integers, and the proof was checked again. CPU seconds of one core: of the design with",
        "its proof, and of checking it again. Made by `python benchmarks/estimation.py --large`; each case in a",
        "process of its own.",
        "",
        "| workload | n | epsilon | value | bound | relative gap | CPU s | check, CPU s | memory, MB | reports |",
        "|---" * 10 + "|",
    ]
    for name, n, epsilon, value, bound, gap, seconds, check, memory, reports in rows:
        lines.append(
            f"| {name} | {n} | {epsilon} | {value:.7g} | {bound:.7g} | {gap:.1e} | {seconds:.1f} | {check:.1f} "
            f"| {memory:.0f} | {reports} |"
        )
    return "\n".join(lines) + "\n"


def measure_large():
    """All cases, one after the other."""
    rows = []
    for case in LARGE:
        command = [sys.executable, __file__, "--large", *map(str, case)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
        Path(__file__).with_name("estimation_large.md").write_text(large_page(rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--large"]:
        large(*sys.argv[2:6]) if len(sys.argv) > 2 else measure_large()
        sys.exit()
    chosen = tuple(map(int, sys.argv[1:])) or SIZES
    Path(__file__).with_suffix(".md").write_text(page(chosen, *compare(chosen)))
