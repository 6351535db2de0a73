"""Reports and bits of designs beside those of the literature's mechanisms; writes benchmarks/estimation_reports.md.

    python benchmarks/estimation_reports.py

Every mechanism gets the best unbiased estimator for its channel; ratios are to the proved bound for any number of
reports. Shared randomness, by which Hadamard response and local hashing send fewer bits, is not counted as free: the
reports of a mechanism are the columns of its channel that differ.
"""

from __future__ import annotations

import time
from math import ceil, comb, log2
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design
from ldpopt.certificate.frequency_certificate import best_size
from ldpopt.designing import literature
from ldpopt.designing.block_designs import block_design
from ldpopt.foundation.budget import Budget

CASES = [(7, 0.3), (7, 1.0), (11, 0.2), (12, 1.0), (13, 0.8), (16, 0.5), (21, 1.15), (31, 1.4), (57, 1.8)]
"""Answers and epsilon; the last are planes of order 4, 5 and 7."""

LISTED = 13
"""Most answers for which all subsets are listed to measure subset selection."""

OTHERS = [(Workload.prefix, 8, 1.0), (Workload.ranges, 8, 1.0), (lambda n: Workload.mean(range(n)), 8, 1.0)]


def projective(n, epsilon):
    """Points of the smallest projective space over 2 to 9 elements that has room for the answers: best of them."""
    found = None
    for q in (2, 3, 4, 5, 7, 8, 9):
        points, power = 1 + q, q
        while points < n or points == 1 + q:
            power *= q
            points += power
        if points > 200:
            continue
        sets = block_design(points, (points - 1) // q)
        channel = np.where(sets[:, :n].T > 0, np.exp(epsilon), 1.0)
        channel /= channel.sum(axis=1, keepdims=True)
        value = literature.variance_of(Workload.frequencies(n), channel)
        found = min(found or (np.inf, 0), (value, points))
    return found


def row(name, reports, value, bound):
    """A line of the table."""
    return f"| {name} | {reports} | {ceil(log2(reports))} | {value / bound:.4f} |"


def frequencies(n, epsilon):
    """Lines of one case."""
    workload = Workload.frequencies(n)
    start = time.process_time()
    least = design(workload, PureLDP(epsilon), outputs=max(n, n * (n - 1) // 2 + 1), gap=1e-9)
    seconds, bound = time.process_time() - start, least.bound
    size = best_size(n, Budget(epsilon))
    known = block_design(n, size)
    kind = "block design" if known is not None else "basic solution"
    lines = [
        f"\n## {n} answers, epsilon {epsilon:g}: best sets have {size}\n",
        "| mechanism | reports | bits | variance / bound |\n|---|---|---|---|",
        row(f"**design**, {kind} ({seconds:.2f} s)", least.n_reports, least.value, bound),
    ]
    if least.n_reports > n:
        few = design(workload, PureLDP(epsilon), outputs=n, gap=1e-9)
        lines.append(row(f"**design**, outputs={n}", few.n_reports, few.value, bound))
    lines.append(row("basic solution for any size (least known in general)", n * (n - 1) // 2 + 1, bound, bound))
    lines.append(row("subset selection, all sets", comb(n, size), bound, bound))
    value = literature.variance_of(workload, literature.randomized_response(n, epsilon).channel)
    lines.append(row("randomized response", n, value, bound))
    channel = literature.hadamard_response(n, epsilon)
    lines.append(row("Hadamard response", channel.shape[1], literature.variance_of(workload, channel), bound))
    value, points = projective(n, epsilon)
    lines.append(row("projective geometry response", points, value, bound))
    return lines


def others(make, n, epsilon):
    """Lines of a workload that has no block designs: fewer and fewer reports."""
    workload = make(n)
    free = design(workload, PureLDP(epsilon), gap=1e-9)
    name = {1: "mean", 8: "prefix"}.get(workload.shape[0], "ranges")
    lines = [f"\n## {name} of {n} answers, epsilon {epsilon:g}\n", "| reports | bits | variance / bound | CPU s |"]
    lines += ["|---|---|---|---|", f"| {free.n_reports} | {free.bits} | {free.value / free.bound:.6f} | |"]
    for most in (24, 16, 12, 10, 8):
        if most < free.n_reports:
            start = time.process_time()
            made = design(workload, PureLDP(epsilon), outputs=most, gap=1e-9)
            cost = time.process_time() - start
            lines.append(f"| {made.n_reports} | {made.bits} | {made.value / free.bound:.6f} | {cost:.1f} |")
    return lines


if __name__ == "__main__":
    page = ["# Reports and bits of designs", "", "Made by `python benchmarks/estimation_reports.py`; CPU seconds."]
    for case in CASES:
        page += frequencies(*case)
    for case in OTHERS:
        page += others(*case)
    Path(__file__).with_suffix(".md").write_text("\n".join(page) + "\n")
