"""Profile twelve main jobs, each in processes of its own; rewrites profiles.md.

    python benchmarks/profiles.py                        # about 15 minutes on two cores
    python benchmarks/profiles.py graph  # only jobs whose names contain this; print their profiles
    python benchmarks/profiles.py --before FOLDER
        # also measure another checkout, in turn with this one

CPU seconds of all threads and children, imports included, with one BLAS thread: medians of three
runs after a first one. The shares are those of cProfile in a last run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import pstats
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
RUNS, TOP = 3, 6
LONG = 10.0  # seconds from which a job runs once, and once with the profile
ROWS = 10_000_000

GRID = """
import networkx, numpy as np
from ldpopt import GraphDP, MetricDP, Problem, Utility, certify, solve
graph = networkx.grid_2d_graph({k}, {k})
nodes = list(graph)
places = np.array(nodes, float)
prior = np.random.default_rng(1).dirichlet(np.ones(len(nodes)))
"""
CITY = "steps = np.abs(places[:, None] - places).sum(axis=2)\n"
PLANE = "steps = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))\n"
ANSWERS = """
import numpy as np
from ldpopt import Problem, PureLDP, Utility, certify, solve
rng = np.random.default_rng(0)
prior = rng.dirichlet(np.ones({n}))
problem = Problem(prior, Utility(rng.random(({n}, {n})), "gain"), PureLDP(1.0))
"""
DESIGN = (
    "from ldpopt import PureLDP, Workload, design\ndesign(Workload.prefix({n}), PureLDP(1.0), "
    "gap={gap})\n"
)
TABLE = """
from pathlib import Path
import numpy as np
from ldpopt import Counts, Mechanism, estimate_frequencies
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question
labels = ("never", "rarely", "sometimes", "often", "always")
channel = np.ones((5, 5)) + 2 * np.eye(5)
channel = Mechanism(channel / channel.sum(axis=1, keepdims=True), labels)
"""
WRITE_TABLE = f"""
import numpy as np, pyarrow as pa, pyarrow.csv
labels = np.array(["never", "rarely", "sometimes", "often", "always"])
table = pa.table({{"answer": labels[np.random.default_rng(0).integers(5, size={ROWS})]}})
pyarrow.csv.write_csv(table, "in.csv")
"""
GRAPH = (
    GRID
    + CITY
    + "problem = Problem(prior, Utility(steps, 'loss'), GraphDP(1.0, graph), inputs=nodes, "
    "outputs=nodes)\n"
)
EUCLID = GRID + PLANE + "problem = Problem(prior, Utility(steps, 'loss'), MetricDP(1.0, steps))\n"
SOLVE = "certify(solve(problem))\n"

JOBS: dict[str, str] = {
    "solve 7": "from ldpopt import certify, load_model, "
    "solve\ncertify(solve(load_model('anes96_party')))\n",
    "solve 100": ANSWERS.format(n=100) + SOLVE,
    "solve 1000": ANSWERS.format(n=1000) + SOLVE,
    **{
        f"design {n}": DESIGN.format(n=n, gap="1e-3" if n > 64 else "1e-6")
        for n in (7, 16, 64, 256)
    },
    **{f"graph {k * k}": GRAPH.format(k=k) + SOLVE for k in (7, 15, 30)},
    **{f"Euclid {k * k}": EUCLID.format(k=k) + SOLVE for k in (10, 15)},
    "vertices of 5": "from ldpopt import PureLDP, "
    "extreme_points\nlen(extreme_points(PureLDP('log(3)'), 5))\n",
    "sweep of 25": ANSWERS.format(n=20)
    + "from ldpopt import sweep\nsweep(problem, np.linspace(0.2, 5, 25).tolist())\n",
    "privatize 10^7 rows": TABLE
    + "privatize_file('in.csv', 'out.csv', {'answer': Question(channel)})\n",
    "estimate 10^7 rows": TABLE
    + "estimate_frequencies(channel, Counts.of(channel, Path('in.csv'), column='answer'))\n",
    "certify": ANSWERS.format(n=100)
    + "found = solve(problem)\nfor _ in range(20): certify(found)\n",
    "ldpopt --help": "import sys\nsys.argv[1:] = ['--help']\nfrom ldpopt.cli import main\nmain()\n",
}

# What no change of this library can save, as code; for the others the time of the method alone,
# without checks
LIMITS: dict[str, tuple[str, str]] = {
    "solve 7": ("import of numpy and HiGHS", "import numpy, highspy"),
    "privatize 10^7 rows": (
        "pyarrow reads and writes the file",
        "import pyarrow.csv as c\nc.write_csv(c.read_csv('in.csv'), 'out.csv')",
    ),
    "estimate 10^7 rows": (
        "pyarrow reads the file",
        "import pyarrow.csv as c\nc.read_csv('in.csv')",
    ),
    "vertices of 5": ("-", ""),
    "certify": ("one solve, without the proofs", ANSWERS.format(n=100) + "found = solve(problem)"),
    "ldpopt --help": ("an empty process", "pass"),
}

MENDED: dict[str, str] = {
    "solve 7": "HiGHS without presolve; its basis is read only if an answer is refined",
    "graph 49": "interior point from 3800 non-zeros on; a repair audits 3 roundings in place of 19",
    "graph 225": "a repair audits fewer roundings",
    "Euclid 100": "a repair audits fewer roundings",
    "sweep of 25": "HiGHS without presolve",
    "certify": "",
    "estimate 10^7 rows": "",
}
"""Job -> what was changed since the figures of the column "before"."""


def run(code: str, folder: str, package: Path, profile: str | None = None) -> dict[str, float]:
    """Run code in a new process, with the package in this folder: CPU seconds, seconds of imports,
    peak MB."""
    if profile is not None:
        code = f"import cProfile\ncProfile.run({code!r}, {profile!r})"
    environment = os.environ | {"PYTHONPATH": str(package), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # later runs do not compile
    order = [sys.executable, str(HERE / "profiles.py"), "--one", code]
    done = subprocess.run(
        order, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def one(code: str) -> None:
    """Run code in this process and print what it took; a job that leaves by `SystemExit` is
    finished."""
    with contextlib.suppress(SystemExit):
        exec(code, {"__name__": "__main__"})
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(part.ru_utime + part.ru_stime for part in usage)
    print(
        "\n" + json.dumps({"cpu": seconds, "memory": max(part.ru_maxrss for part in usage) / 1024})
    )


def shares(profile: str) -> tuple[float, float, list[str]]:
    """Shares of the method alone and of imports in a profile, and its functions with most time of
    their own."""
    stats: Any = pstats.Stats(profile)
    total = stats.total_tt
    rows = stats.stats.items()

    def under(words: tuple[str, ...], name: str) -> float:
        found = [
            row[3]
            for (file, _, called), row in rows
            if called == name and any(word in file for word in words)
        ]
        return max(found, default=0.0) / total

    ranked = sorted(rows, key=lambda item: -item[1][2])[:TOP]
    names = [f"{shown(*place)} {100 * row[2] / total:.0f} %" for place, row in ranked]
    alone = under(("solving/methods", "designing/methods"), "solve")
    return alone, under(("importlib",), "_find_and_load"), names


def shown(file: str, line: int, name: str) -> str:
    """A function as it is named in the page."""
    place = "" if file == "~" else Path(file).stem.replace("__init__", Path(file).parent.name) + "."
    return f"`{place}{name.removeprefix('<built-in method ').removeprefix('<method ').strip('<>')}`"


def measured(name: str, folder: str, before: Path | None, runs: int) -> list[str]:
    """Cells of a job's row: seconds before and now, memory, the limit, what was mended, and the
    profile."""
    states = [HERE.parent] if before is None else [HERE.parent, before]
    bare = LIMITS.get(name, ("the method alone", ""))
    found: dict[Any, list[dict[str, float]]] = {}
    first = {state: run(JOBS[name], folder, state) for state in states}
    for _ in range(runs):
        for state in states:
            is_long = runs == 1 or first[state]["cpu"] > LONG
            found.setdefault(state, []).append(
                first[state] if is_long else run(JOBS[name], folder, state)
            )
        if bare[1]:
            found.setdefault("bare", []).append(run(bare[1], folder, HERE.parent))
    run(JOBS[name], folder, HERE.parent, f"{folder}/profile")
    alone, imports, names = shares(f"{folder}/profile")
    seconds = {state: median(each["cpu"] for each in runs) for state, runs in found.items()}
    now = seconds[HERE.parent]
    least = seconds["bare"] if bare[1] else alone * now
    limit = f"{bare[0]}: {least:.2g} ({now / least:.2g} times)" if least else "-"
    return [
        name,
        "-" if before is None else f"{seconds[before]:.3g}",
        f"{now:.3g}",
        f"{100 * imports:.0f} %",
        f"{max(each['memory'] for each in found[HERE.parent]):.0f}",
        limit,
        ", ".join(names),
        MENDED.get(name, ""),
    ]


HEADINGS = (
    "job",
    "CPU s before",
    "CPU s",
    "imports",
    "peak MB",
    "limit, s",
    "own time of functions",
    "mended",
)


def main() -> None:
    """Measure all jobs, or print the profiles of some."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("only", nargs="?", default="")
    options.add_argument("--before", type=Path)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--one")
    given = options.parse_args()
    if given.one is not None:
        one(given.one)
        return
    page = HERE / "profiles.md"
    old = page.read_text().splitlines() if page.exists() else []
    rows = {line.split("|")[1].strip(): line for line in old if line.startswith("| ")}
    with tempfile.TemporaryDirectory() as folder:
        run(WRITE_TABLE, folder, HERE.parent)
        for name in (job for job in JOBS if given.only in job):
            rows[name] = f"| {' | '.join(measured(name, folder, given.before, given.runs))} |"
            print(rows[name], flush=True)
            write_page(page, rows)
            if given.only:
                pstats.Stats(f"{folder}/profile").sort_stats("cumtime").print_stats(40)


def write_page(page: Path, rows: dict[str, str]) -> None:
    """Write the rows measured so far, and those of an earlier page for the other jobs."""
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, one BLAS thread"
    text = f"# Profiles of the main jobs\n\n`python benchmarks/profiles.py`: {machine}.\n{NOTES}\n"
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        "|---" * len(HEADINGS) + "|",
        *(rows[job] for job in JOBS if job in rows),
    ]
    page.write_text(text + "\n".join(lines) + "\n")


NOTES = """
CPU seconds of the whole process with its imports, threads and children: medians of three runs in
turn, after a first one; jobs of more than 10 s run once. "Before" is another checkout, if one is
measured in turn. "Imports" is the share of the profile within imports. The limit is what would
remain if this library did nothing but call the method, or run the code that the cell names; the
number in brackets is the job's time over it. Functions are ranked by their own time, without
those that they call.
"""


if __name__ == "__main__":
    main()
