"""Measure composition: epsilon from both sides, seconds and memory, beside other versions.

    python benchmarks/accounting.py                          # this version, all rows
    python benchmarks/accounting.py --peer /path/to/python   # another version of ldpopt, as well

Each row runs in a process of its own, in turn for each version, three times; CPU seconds are
medians, memory is the largest of the process. ``dp-accounting`` is measured where it is installed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

ROWS: dict[str, tuple[list[tuple[int, float]], int, float | None]] = {
    "10 answers, 0.5, 10 reports": ([(10, 0.5)], 10, 4.864948886),
    "10 answers, 0.5, 1000 reports": ([(10, 0.5)], 1000, 76.905982455),
    "10 answers, 0.5, 10,000 reports": ([(10, 0.5)], 10_000, 452.365537835),
    "10 answers, 0.5, 20,000 reports": ([(10, 0.5)], 20_000, 818.413121365),
    "10 answers, 0.5, 100,000 reports": ([(10, 0.5)], 100_000, 3514.670706871),
    "10 answers, 0.5, 1,000,000 reports": ([(10, 0.5)], 1_000_000, 31943.724850),
    "20 questions on 0.05, 1000 times": (
        [(2 + i % 7, round(0.1 + 0.05 * i, 10)) for i in range(20)],
        1000,
        2586.546114722,
    ),
    "20 questions off a lattice, 1000 times": (
        [(2 + i % 7, (i + 1) ** 0.5 / 5) for i in range(20)],
        1000,
        2632.860082141,
    ),
}
SLOW = 60  # seconds after which a process is given up

LDPOPT = """
import json, resource, sys, warnings
import numpy as np
from ldpopt.accounting import compose
from ldpopt.closed_forms import top_k
warnings.simplefilter("ignore")
asked, times = json.loads(sys.argv[1])
channels = [(top_k(np.full(n, 1 / n), e).mechanism, times) for n, e in asked]
def seconds():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
start = seconds()
curve = compose(channels)
epsilon = curve.epsilon(1e-9)
middle = seconds()
lower = curve.epsilon_lower(1e-9) if hasattr(curve, "epsilon_lower") else None
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([epsilon, lower, middle - start, seconds() - start, memory]))
"""

DP_ACCOUNTING = """
import json, math, resource, sys
from dp_accounting.pld import privacy_loss_distribution as pld
asked, times = json.loads(sys.argv[1])
def seconds():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
start = seconds()
total = None
for n, e in asked:
    z = math.exp(e) + n - 1
    law = pld.from_two_probability_mass_functions(
        {i: math.log((math.exp(e) if i == 1 else n - 2 if i == 2 else 1) / z)
         for i in range(3 if n > 2 else 2)},
        {i: math.log((math.exp(e) if i == 0 else n - 2 if i == 2 else 1) / z)
         for i in range(3 if n > 2 else 2)},
        value_discretization_interval=1e-4,
    ).self_compose(times)
    total = law if total is None else total.compose(law)
epsilon = total.get_epsilon_for_delta(1e-9)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([epsilon, None, seconds() - start, seconds() - start, memory]))
"""


def measured(python: str, code: str, row: str) -> list[float] | None:
    """Epsilon, lower epsilon, seconds of the first, seconds of both, and megabytes."""
    asked, times, _ = ROWS[row]
    command = [python, "-c", code, json.dumps([asked, times])]
    try:
        done = subprocess.run(  # from a folder where no version lies
            command,
            capture_output=True,
            text=True,
            timeout=SLOW,
            check=True,
            cwd=tempfile.gettempdir(),
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return json.loads(done.stdout)


def line(row: str, name: str, runs: list[list[float] | None]) -> str:
    """A row of the table."""
    kept = [run for run in runs if run is not None]
    if not kept:
        return f"| {row} | {name} | not within {SLOW} s, or not at all | | | |"
    epsilon, lower, *_ = kept[0]
    _, _, first, both, memory = (
        statistics.median(part) for part in zip(*map(usable, kept), strict=True)
    )
    right = ROWS[row][2]
    excess = "" if right is None else f"{epsilon / right - 1:.1e}"
    at_least = "" if lower is None else f"{lower:.9f}"
    return (
        f"| {row} | {name} | {epsilon:.9f} ({excess}) | {at_least} "
        f"| {first:.2f}, {both:.2f} | {memory:.0f} |"
    )


def usable(run: list[float]) -> list[float]:
    """Numbers in place of what is missing."""
    return [0.0 if number is None else number for number in run]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="python of another version of ldpopt")
    parser.add_argument("--rows", type=int, default=len(ROWS), help="how many rows")
    arguments = parser.parse_args()
    programs = {"this version": (sys.executable, LDPOPT)}
    if arguments.peer:
        programs["before"] = (arguments.peer, LDPOPT)
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        print("dp-accounting is not installed: its rows are left out", file=sys.stderr)
    else:
        programs["dp-accounting"] = (sys.executable, DP_ACCOUNTING)
    print("| | | epsilon at 1e-9 (relative excess) | at least | CPU s: epsilon, both | MB |")
    print("|---|---|---|---|---|---|")
    for row in list(ROWS)[: arguments.rows]:
        runs: dict[str, list[list[float] | None]] = {name: [] for name in programs}
        for _ in range(3):
            for name, (python, code) in programs.items():
                if None not in runs[name]:
                    runs[name].append(measured(python, code, row))
        for name, found in runs.items():
            print(line(row, name, found), flush=True)


if __name__ == "__main__":
    main()
