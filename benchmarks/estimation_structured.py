"""Designs that use structure; writes benchmarks/estimation_structured.md.

    python benchmarks/estimation_structured.py [part ...]

Parts: marginals, means, worst_case, budgets. Value, proved bound, gap, CPU seconds of one core, reports.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from ldpopt import PureLDP, Workload, design

PAGE = Path(__file__).with_suffix(".md")


def marginals():
    """Marginals of product alphabets."""
    shapes = [((2,) * 5, 2), ((2,) * 8, 1), ((2,) * 8, 2), ((2,) * 8, 3), ((3, 4, 5), 2), ((4,) * 4, 2), ((2,) * 10, 2)]
    for sizes, k in shapes:
        for epsilon in (0.5, 1.0, "log(3)", 2.0):
            name = f"{k}-way marginals of {' x '.join(map(str, sizes))}"
            yield name, Workload.marginals(sizes, k), epsilon, {}


def means():
    """Single means."""
    for n in (24, 64):
        for epsilon in (0.5, 1.0, 4.0):
            yield f"mean of 0..{n - 1}", Workload.mean(np.arange(n)), epsilon, {}
    skewed = {"weights": 1.0 / np.arange(1, 65)}
    yield "mean of 0..63, weights 1/x", Workload.mean(np.arange(64)), 1.0, skewed
    yield "mean of 0..23, worst case", Workload.mean(np.arange(24)), 1.0, {"objective": "worst_case"}
    yield "mean of 0..999", Workload.mean(np.arange(1000)), 1.0, {}


def worst_case():
    """The largest variance over many answers."""
    for n, gap in ((24, 1e-3), (32, 1e-3)):
        for epsilon in (0.5, 1.0, 2.0):
            yield f"prefix of {n}, worst case", Workload.prefix(n), epsilon, {"objective": "worst_case", "gap": gap}


def budgets():
    """Very small and very large budgets."""
    for epsilon in (1e-6, 1e-3, 10.0, 30.0, 100.0):
        for objective in ("average", "worst_case"):
            yield f"prefix of 9, {objective}", Workload.prefix(9), epsilon, {"objective": objective}
        yield "frequencies of 9", Workload.frequencies(9), epsilon, {}


PARTS = {part.__name__: part for part in (marginals, means, worst_case, budgets)}


def measured(part):
    """Rows of one part."""
    for name, workload, epsilon, options in PARTS[part]():
        start = time.process_time()
        made = design(workload, PureLDP(epsilon), **options)
        used = time.process_time() - start
        cells = [name, str(epsilon), f"{made.value:.8g}", f"{made.bound:.8g}", f"{made.relative_gap:.1e}"]
        yield [*cells, f"{used:.2f}", str(made.n_reports)]


def write(parts):
    """Measure parts and write the page; sections of other parts stay as they were."""
    old = PAGE.read_text().split("\n## ")[1:] if PAGE.exists() else []
    sections = {text.split("\n")[0]: text.rstrip() for text in old}
    for part in parts:
        title = PARTS[part].__doc__.rstrip(".")
        lines = [title, "", "| case | epsilon | value | bound | gap | CPU s | reports |", "|---" * 7 + "|"]
        for row in measured(part):
            print(*row, flush=True)
            lines.append("| " + " | ".join(row) + " |")
        sections[title] = "\n".join(lines)
    head = "# Estimation: designs that use structure\n\nMade by `python benchmarks/estimation_structured.py`.\n"
    ordered = (part.__doc__.rstrip(".") for part in PARTS.values())
    PAGE.write_text(head + "".join(f"\n## {sections[title]}\n" for title in ordered if title in sections))


if __name__ == "__main__":
    write(sys.argv[1:] or list(PARTS))
