"""Random designs whose influence has a cap: gap, seconds, and both checks of their certificates.

python benchmarks/capped.py                 # 300 designs; two minutes of CPU
python benchmarks/capped.py --designs 30 --first 100

Notions with listed or enumerated rays (pure, graphs, metrics, one-sided), 2 to 10 answers, 1 to as
many numbers, both objectives, random weights; caps from the least influence to none. A line for
each design that is not proved to 1e-6 or not accepted, and a table at the end. The results are in
docs/measurements/capped.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from datetime import date
from typing import Any

import networkx as nx
import numpy as np

import ldpopt as lo
import ldpopt_check as checker
from ldpopt.errors import LdpoptError

PLACES = {"least": 0.0, "near the least": 0.02, "a quarter": 0.25, "half": 0.5, "none": np.inf}
"""Where a cap is between the least influence and that of the design without a cap."""
GAP = 1e-6
SECONDS = 60.0  # limit of each search


def random_notion(rng: np.random.Generator, n: int) -> tuple[str, Any]:
    """A notion whose columns are known, with its kind."""
    epsilon = float(np.exp(rng.uniform(np.log(0.3), np.log(4))))
    kind = ("pure", "path", "cycle", "metric", "one-sided")[int(rng.integers(5))]
    if kind == "pure" or n < 3:
        return "pure", lo.PureLDP(epsilon)
    if kind in ("path", "cycle"):
        graph = nx.path_graph(n) if kind == "path" else nx.cycle_graph(n)
        return kind, lo.GraphDP(epsilon, graph)
    if kind == "metric":
        return kind, lo.MetricDP(epsilon / n, np.abs(np.subtract.outer(range(n), range(n))))
    return kind, lo.OneSided(epsilon, sensitive=list(range(int(rng.integers(1, n)))))


def random_statement(seed: int) -> tuple[str, str, dict[str, Any]]:
    """Kind of the notion, place of the cap, and the arguments of a design without it."""
    rng = np.random.default_rng([20261129, seed])
    n = int(rng.integers(2, 11))
    kind, privacy = random_notion(rng, n)
    form = int(rng.integers(3))
    if form == 0:
        workload = lo.Workload.frequencies(n)
    elif form == 1:
        workload = lo.Workload.prefix(n)
    else:
        workload = lo.Workload(rng.random((int(rng.integers(1, n + 1)), n)))
    arguments: dict[str, Any] = {"workload": workload, "privacy": privacy}
    if rng.random() < 0.3:
        arguments["objective"] = "worst_case"
    elif rng.random() < 0.5:
        arguments["weights"] = rng.dirichlet(np.ones(n))
    return kind, list(PLACES)[seed % len(PLACES)], arguments


def checks(best: Any) -> list[str]:
    """What the library's own recheck and the one-file checker refuse."""
    wrong = [f"recheck: {flaw}" for flaw in best.certificate.recheck()]
    try:
        checker.check_design(json.loads(json.dumps(best.certificate.to_dict())))
    except (ValueError, checker.ClaimError) as error:
        wrong.append(f"checker: {error}")
    return wrong


def designed(seed: int) -> tuple[str, str, float, float, list[str]]:
    """Kind, place, relative gap, CPU seconds, and what is wrong with one design."""
    kind, place, arguments = random_statement(seed)
    began = time.process_time()
    least = lo.least_influence(arguments["workload"], arguments["privacy"])
    free = lo.design(**arguments)
    share = PLACES[place]
    most = float(free.influence.largest)
    cap = max(least, most) if np.isinf(share) else least + share * max(most - least, 0.0)
    best = lo.design(**arguments, influence=cap, time_limit=SECONDS)
    seconds = time.process_time() - began
    wrong = checks(best)
    if float(best.influence.largest) > cap:
        wrong.append(f"influence {float(best.influence.largest):.17g} above {cap:.17g}")
    return kind, place, best.relative_gap, seconds, wrong


def main() -> int:
    """Print the lines and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    rows: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    refused = 0
    for seed in range(options.first, options.first + options.designs):
        try:
            kind, place, gap, seconds, wrong = designed(seed)
        except LdpoptError as error:
            refused += 1
            print(f"seed {seed}: {error.code}: {error.what}", flush=True)
            continue
        for name in (kind, f"cap: {place}", "all"):
            rows[name].append((gap, seconds, len(wrong)))
        if gap > GAP or wrong:
            print(f"seed {seed}: {kind}, {place}: gap {gap:.2g} {'; '.join(wrong)}", flush=True)
    print(f"\n{date.today()}, `benchmarks/capped.py`, {options.designs} designs, {refused} refused")
    print("\n| designs | number | gap at most 1e-6 | largest gap | median CPU s | not accepted |")
    print("|---|---|---|---|---|---|")
    for name, found in rows.items():
        gaps, seconds, wrong = map(np.array, zip(*found, strict=True))
        print(
            f"| {name} | {len(found)} | {int((gaps <= GAP).sum())} | {gaps.max():.2g} | "
            f"{np.median(seconds):.2f} | {int((wrong > 0).sum())} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
