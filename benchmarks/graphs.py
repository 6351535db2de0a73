"""Distance of the breadth-first mechanism from the optimum on cycles, and of its repairs on other graphs.

    python benchmarks/graphs.py         # a minute of CPU; rewrites benchmarks/graphs.md

In the first table the mechanism is that of the paper, which is private on cycles; in the others the best of all
repairs. The loss is the distance on the cycle, |x - r| mod N, under the uniform prior; elsewhere the number of steps.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np

from ldpopt.noise.layers import bfs_mechanism
from ldpopt.privacy.neighbors import cayley, grid, path
from ldpopt.problem.utility import Utility

EPSILONS = (0.1, 0.5, 1.0, 2.0)

CYCLES = [
    (24, [1]),
    (24, [1, 2]),
    (24, [1, 5]),
    (24, [1, 7, 8]),
    (25, [2, 3]),
    (30, [1, 6, 7]),
    (32, [1, 8]),
    (36, [1, 9, 10]),
    (40, [1, 2, 12, 13]),
    (40, [1, 19, 20]),
]

GRAPHS = {
    "star, 12 leaves": nx.star_graph(12),
    "path of 12": path(range(12)),
    "grid 5 x 5": grid(5, 5),
    "random tree of 15": nx.from_prufer_sequence(np.random.default_rng(0).integers(0, 15, 13).tolist()),
}


def around(n: int) -> Utility:
    """Loss: the shorter way round."""
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return Utility(np.minimum(apart, n - apart).astype(float), "loss")


def rows() -> list[str]:
    heads = " | ".join(f"epsilon {epsilon}" for epsilon in EPSILONS)
    lines = [f"| cycle, steps: loss / optimum | {heads} |", "|---|" + "---|" * len(EPSILONS)]
    for n, steps in CYCLES:
        found = [bfs_mechanism(cayley(n, steps), e, repair="none", utility=around(n)) for e in EPSILONS]
        lines.append(
            f"| Z_{n}, {{{', '.join(map(str, steps))}}} | " + " | ".join(f"{f.ratio:.4f}" for f in found) + " |"
        )
    lines += ["", f"| cycle, repaired for use: repair, loss / optimum | {heads} |", "|---|" + "---|" * len(EPSILONS)]
    for n, steps in CYCLES:
        found = [bfs_mechanism(cayley(n, steps), e, utility=around(n)) for e in EPSILONS]
        cells = (f"{f.repair}, {f.ratio:.4f}" for f in found)
        lines.append(f"| Z_{n}, {{{', '.join(map(str, steps))}}} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"| graph: repair, loss / optimum (true epsilon unrepaired) | {heads} |",
        "|---|" + "---|" * len(EPSILONS),
    ]
    for name, graph in GRAPHS.items():
        found = [bfs_mechanism(graph, e) for e in EPSILONS]
        cells = (f"{f.repair}, {f.ratio:.4f} ({f.unrepaired_epsilon:.3f})" for f in found)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    table = "\n".join(rows())
    print(table)
    about = __doc__.split("\n\n")[-1].strip()
    head = f"# Mechanisms from graphs\n\nWritten by `python benchmarks/graphs.py`. {about}\n\n"
    Path(__file__).with_name("graphs.md").write_text(head + table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
