"""Measure all cases in one run, and rewrite the table in benchmarks/README.md.

    python benchmarks/run.py            # about two minutes
    python benchmarks/run.py --repeat 9

Every case runs in a separate process. CPU time is user + system of that process after its imports
(of the whole process for start-up), memory its peak resident size; medians over the repeats, with
the range behind them.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent

PRELUDE = """
import json, resource, sys, time
import numpy as np
import ldpopt as lo
from ldpopt.solving.formulation import formulate
from ldpopt.solvers import find
def prior(n): return np.random.default_rng(0).dirichlet(np.ones(n))
def report(began, **facts):
    facts["cpu"] = time.process_time() - began
    facts["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(facts))
"""

COMPACT = """
import highspy
began = time.process_time()
program = formulate(lo.Problem(prior({n}), "identity", lo.PureLDP(1.0)), "{form}")
outcome = find("highs").solve(program)
report(began, value=float(program.objective @ outcome.point))
"""

CVXPY = """
import cvxpy as cp
n, weights, alpha = {n}, prior({n}), np.e
began = time.process_time()
P = cp.Variable((n, n), nonneg=True)
rows = [cp.sum(P, axis=1) == 1]
rows += [P[i] <= alpha * P[k] for i in range(n) for k in range(n) if i != k]
problem = cp.Problem(cp.Maximize(weights @ cp.diag(P)), rows)
problem.solve(solver=cp.HIGHS)
report(began, value=float(problem.value))
"""

SOLVE = """
import highspy
began = time.process_time()
problem = lo.Problem(prior({n}), "identity", lo.PureLDP(1.0))
solution = lo.solve(problem)
proof = lo.certify(solution)
report(began, value=solution.value, gap=proof.relative_gap)
"""

TOP_K = """
weights = np.random.default_rng(0).dirichlet(np.ones({n}))
began = time.process_time()
answer = lo.closed_forms.top_k(weights, 1.0, 0.01)
answer.sampler
report(began, value=answer.value)
"""

STARTUP = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import ldpopt": [sys.executable, "-c", "import ldpopt"],
    "ldpopt --help": [sys.executable, "-m", "ldpopt", "--help"],
}

CASES = [
    *(
        (f"compact program, HiGHS, n = {n}", COMPACT.format(n=n, form="compact"))
        for n in (20, 40, 80, 160)
    ),
    *(
        (f"pairwise program, HiGHS, n = {n}", COMPACT.format(n=n, form="pairwise"))
        for n in (20, 40)
    ),
    *((f"pairwise rows in cvxpy, HiGHS, n = {n}", CVXPY.format(n=n)) for n in (20, 40, 80)),
    ("solve + repair + audit + certify, n = 80", SOLVE.format(n=80)),
    ("closed_forms.top_k with sampler, n = 1 000 000", TOP_K.format(n=10**6)),
]


def measure(script: str, limit: float) -> dict[str, float] | None:
    """Run one case in a fresh interpreter; None where it does not end in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + script],
            capture_output=True,
            text=True,
            check=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def startup(command: list[str]) -> float:
    """CPU seconds of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spread(values: list[float], digits: int = 3) -> str:
    return (
        f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to "
        f"{max(values):.{digits}f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds for one run of one case"
    )
    options = parser.parse_args()
    lines = ["| case | CPU s: median (range) | peak MB | value |", "|---|---|---|---|"]
    for name, script in CASES:
        runs = []
        for _ in range(options.repeat):
            run = measure(script, options.limit)
            if run is None:
                break
            runs.append(run)
            if run["cpu"] > 10 and len(runs) >= 2:
                break
        cpu = spread([run["cpu"] for run in runs]) if runs else f"more than {options.limit:.0f}"
        memory = f"{max(run['memory'] for run in runs):.0f}" if runs else ""
        value = f"{runs[0]['value']:.12g}" if runs else ""
        lines.append(f"| {name} | {cpu} | {memory} | {value} |")
        print(lines[-1], file=sys.stderr)
    times = {name: [] for name in STARTUP}
    for _ in range(options.repeat):
        for name, command in STARTUP.items():
            times[name].append(startup(command))
    lines += [
        "",
        "| start-up | CPU s: median (range) | ratio to `import numpy`, pair by pair |",
        "|---|---|---|",
    ]
    for name in STARTUP:
        ratios = [a / b for a, b in zip(times[name], times["import numpy"], strict=True)]
        lines.append(f"| `{name}` | {spread(times[name])} | {spread(ratios, 2)} |")
        print(lines[-1], file=sys.stderr)
    stamp = (
        f"Measured {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, "
        f"{platform.machine()}, shared."
    )
    page = HERE / "README.md"
    head = page.read_text().split("<!-- table -->")[0]
    page.write_text(head + "<!-- table -->\n\n" + stamp + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
