"""Designs measured: time limits, threads, the plan shown and the plan run, and gaps beside those of
an earlier state.

    python benchmarks/designs.py limits
        # hard cases with limits of 1, 5 and 20 s: overruns and gaps
    python benchmarks/designs.py threads
        # CPU and wall seconds of prefix 7 to 256, 1 and 2 BLAS threads
    python benchmarks/designs.py gaps [--only WORD]     # designs of many kinds: gaps and seconds
    python benchmarks/designs.py methods
        # every method's case: plan printed by `ldpopt check`, plan run

``--keep FILE`` stores figures as JSON lines, and a stopped run continues; ``--before FILE`` prints
the kept figures of another state beside them and ends with 1 where a gap is larger than both the
earlier one and the one requested; ``-o benchmarks/designs.md`` writes the part's section of that
page. Every case runs in a process of its own, with one BLAS thread if threads are not the question;
seconds are those of `design` after a first small design.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx
import numpy as np

import ldpopt as lo

Case = tuple[lo.Workload, Any, dict[str, Any]]
"""Workload, privacy notion and options of `design`."""

LIMITS = (1, 5, 20)
THREADS = (1, 2)
SIZES = (7, 16, 32, 64, 128, 256)
REPEATED = 64
"""Most answers for which three runs are measured."""

PATIENCE = 3600.0
"""Seconds after which a case is killed."""

EXAMINED = 2.0
"""Megabytes of masses above which a proof is not checked a second time here."""

SAME = 1e-6
"""Relative difference of gaps that is rounding."""


def random_rows(k: int, n: int) -> lo.Workload:
    """Normal numbers."""
    return lo.Workload(np.random.default_rng(28).normal(size=(k, n)))


def hard() -> dict[str, Callable[[], Case]]:
    """Cases that take long, for the time limits."""
    worst = {"objective": "worst_case"}
    one = lo.PureLDP(1.0)
    w = lo.Workload
    points = np.random.default_rng(28).random((10, 2))
    return {
        "mean of 30, worst case": lambda: (w.mean(np.arange(30)), one, worst),
        "mean of 40, worst case, epsilon 8": lambda: (
            w.mean(np.arange(40)),
            lo.PureLDP(8.0),
            worst,
        ),
        "prefix 64, worst case": lambda: (w.prefix(64), one, worst),
        "2-way marginals of 2^8, listed": lambda: (w(w.marginals((2,) * 8, 2).matrix), one, {}),
        "2-way marginals of 2^10": lambda: (w.marginals((2,) * 10, 2), one, {}),
        "marginals [5, 5], 1": lambda: (w.marginals([5, 5], 1), one, {}),
        "frequencies of 200, weights 1/x": lambda: (
            w.frequencies(200),
            one,
            {"weights": 1.0 / np.arange(1, 201)},
        ),
        "random 24 x 24": lambda: (random_rows(24, 24), one, {}),
        "random 40 x 128": lambda: (random_rows(40, 128), one, {}),
        "10 random places, prefix": lambda: (w.prefix(10), lo.MetricDP.of_points(1.0, points), {}),
        "path of 16, prefix, worst case": lambda: (
            w.prefix(16),
            lo.GraphDP(1.0, nx.path_graph(16)),
            worst,
        ),
        "prefix 20, outputs=20": lambda: (w.prefix(20), one, {"outputs": 20}),
    }


def limits() -> dict[str, Callable[[], Case]]:
    """Hard cases with every limit."""
    return {
        f"{name}; {seconds} s": functools.partial(_limited, make, seconds)
        for name, make in hard().items()
        for seconds in LIMITS
    }


def _limited(make: Callable[[], Case], seconds: float) -> Case:
    workload, privacy, options = make()
    return workload, privacy, options | {"time_limit": float(seconds)}


def threads() -> dict[str, Callable[[], Case]]:
    """Prefixes: every size with every number of threads."""
    return {
        f"prefix {n}; {count} threads": functools.partial(_prefix, n)
        for n in SIZES
        for count in THREADS
    }


def _prefix(n: int) -> Case:
    return (
        lo.Workload.prefix(n),
        lo.PureLDP(1.0),
        {"gap": 1e-3} | ({"time_limit": 600.0} if n > REPEATED else {}),
    )


def gaps() -> dict[str, Callable[[], Case]]:
    """The designs of few answers, of workloads with structure, of many answers, and with few
    reports."""
    found: dict[str, Callable[[], Case]] = {}
    for name, n, epsilon, kind in product(SMALL, FEW, (0.5, 1.0, 2.0, 4.0), WEIGHTS):
        weights = np.ones(n) if kind == "equal weights" else 1.0 / np.arange(1, n + 1)
        options = {"weights": weights / weights.sum(), "gap": 1e-9}
        found[f"{name} {n}, epsilon {epsilon}, {kind}"] = _known(
            SMALL[name](n), lo.PureLDP(epsilon), options
        )
    for name, workload, epsilon, options in structured():
        found[f"{name}, epsilon {epsilon}"] = _known(workload, lo.PureLDP(epsilon), options)
    for n, epsilon in WITH_FEW_REPORTS:
        for most in (max(n, n * (n - 1) // 2 + 1), n):
            options = {"outputs": most, "gap": 1e-9}
            name = f"frequencies {n}, epsilon {epsilon}, outputs {most}"
            found[name] = _known(lo.Workload.frequencies(n), lo.PureLDP(epsilon), options)
    for kind in ("prefix", "ranges", "mean"):
        for most in (24, 16, 12, 10, 8):
            options = {"outputs": most, "gap": 1e-9}
            found[f"{kind} 8, epsilon 1.0, outputs {most}"] = _known(
                SMALL[kind](8), lo.PureLDP(1.0), options
            )
    for name, n, epsilon, gap in LARGE:
        weights = {"weights": 1.0 / np.arange(1, n + 1)} if name == "falling weights" else {}
        workload = lo.Workload.ranges(n) if name == "ranges" else lo.Workload.prefix(n)
        found[f"large: {name} {n}, epsilon {epsilon}"] = _known(
            workload, lo.PureLDP(epsilon), weights | {"gap": gap}
        )
    for epsilon in (0.5, 1.0, 2.0):  # what the call takes if nobody names a gap
        name = f"large: prefix 64, epsilon {epsilon}, default gap"
        found[name] = _known(lo.Workload.prefix(64), lo.PureLDP(epsilon), {})
    return found


SMALL: dict[str, Callable[[int], lo.Workload]] = {
    "frequencies": lo.Workload.frequencies,
    "prefix": lo.Workload.prefix,
    "ranges": lo.Workload.ranges,
    "mean": lambda n: lo.Workload.mean(np.arange(n)),
}
FEW = (4, 6, 8, 10, 12, 14)
WEIGHTS = ("equal weights", "weights 1/x")
WITH_FEW_REPORTS = [
    *((7, 0.3), (7, 1.0), (11, 0.2), (12, 1.0), (13, 0.8), (16, 0.5)),
    *((21, 1.15), (31, 1.4), (57, 1.8)),  # planes of order 4, 5 and 7
]
LARGE = [
    *(
        ("prefix", n, epsilon, gap)
        for n, gap in ((64, 1e-3), (128, 3e-4))
        for epsilon in (0.5, 1.0, 2.0)
    ),
    *(("ranges", n, epsilon, 1e-3) for n in (64, 128) for epsilon in (0.5, 1.0, 2.0)),
    *(("falling weights", 64, epsilon, 1e-3) for epsilon in (0.5, 1.0, 2.0)),
    *(("prefix", 256, epsilon, 1e-3) for epsilon in (1.0, 2.0, 0.5)),
]
"""Cases for many answers: workload, answers, epsilon, relative gap aimed at. Falling weights:
prefixes, 1/x."""


def structured() -> Iterator[tuple[str, lo.Workload, float | str, dict[str, Any]]]:
    """Marginals, single means, worst cases of many answers, very small and very large budgets."""
    worst = {"objective": "worst_case"}
    shapes = [
        ((2,) * 5, 2),
        ((2,) * 8, 1),
        ((2,) * 8, 2),
        ((2,) * 8, 3),
        ((3, 4, 5), 2),
        ((4,) * 4, 2),
        ((2,) * 10, 2),
    ]
    for sizes, k in shapes:
        for epsilon in (0.5, 1.0, "log(3)", 2.0):
            name = f"marginals: {k}-way marginals of {' x '.join(map(str, sizes))}"
            yield name, lo.Workload.marginals(sizes, k), epsilon, {}
    for n in (24, 64):
        for epsilon in (0.5, 1.0, 4.0):
            yield f"means: mean of 0..{n - 1}", lo.Workload.mean(np.arange(n)), epsilon, {}
    skewed = {"weights": 1.0 / np.arange(1, 65)}
    yield "means: mean of 0..63, weights 1/x", lo.Workload.mean(np.arange(64)), 1.0, skewed
    yield "means: mean of 0..23, worst case", lo.Workload.mean(np.arange(24)), 1.0, worst
    yield "means: mean of 0..999", lo.Workload.mean(np.arange(1000)), 1.0, {}
    for n in (24, 32):
        for epsilon in (0.5, 1.0, 2.0):
            yield (
                f"worst_case: prefix of {n}, worst case",
                lo.Workload.prefix(n),
                epsilon,
                worst | {"gap": 1e-3},
            )
    for epsilon in (1e-6, 1e-3, 10.0, 30.0, 100.0):
        for objective in ("average", "worst_case"):
            yield (
                f"budgets: prefix of 9, {objective}",
                lo.Workload.prefix(9),
                epsilon,
                {"objective": objective},
            )
        yield "budgets: frequencies of 9", lo.Workload.frequencies(9), epsilon, {}


def _known(*case: Any) -> Callable[[], Case]:
    return lambda: case


PARTS: dict[str, Callable[[], dict[str, Callable[[], Case]]]] = {
    "limits": limits,
    "threads": threads,
    "gaps": gaps,
}


def measured(part: str, name: str) -> dict[str, Any]:
    """Figures of one case, in this process."""
    workload, privacy, options = PARTS[part]()[name]()
    lo.design(lo.Workload.prefix(3), lo.PureLDP(1.0))
    wall = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        made = lo.design(workload, privacy, **options)
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {str(error).splitlines()[0]}",
            "wall": time.perf_counter() - wall,
        }
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_SELF)
    row = {
        "value": made.value,
        "bound": made.bound,
        "gap": made.relative_gap,
        "requested": options.get("gap", 1e-6),
    }
    row |= {
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }
    row |= {
        "megabytes": after.ru_maxrss / 1024,
        "reports": made.n_reports,
        "notes": list(made.notes),
    }
    size = workload.shape[1] * made.n_reports * 8e-6
    return row | ({"failures": list(made.certificate.recheck())} if size < EXAMINED else {})


def run(part: str, name: str) -> dict[str, Any]:
    """Figures of one case, in a process of its own; the middle one of three where threads are
    measured."""
    count = name.split("; ")[1].split()[0] if part == "threads" else "1"
    many = {f"{library}_NUM_THREADS": count for library in ("OPENBLAS", "OMP", "MKL")}
    repeats = 3 if part == "threads" and int(name.split(";")[0].split()[1]) <= REPEATED else 1
    rows = []
    for _ in range(repeats):
        command = [sys.executable, __file__, part, "--one", name]
        wall = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                env=os.environ | many,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"killed after {PATIENCE:g} s", "wall": PATIENCE}
        if done.returncode:
            text = (done.stderr.strip().splitlines() or [""])[-1]
            return {
                "error": f"ended with {done.returncode}: {text}",
                "wall": time.perf_counter() - wall,
            }
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    row = min(rows, key=lambda one: abs(one["wall"] - median(other["wall"] for other in rows)))
    return (
        row
        if any("cpu" not in one for one in rows)
        else row | {"cpu": median(one["cpu"] for one in rows)}
    )


def read(path: Path | None) -> dict[tuple[str, str], dict[str, Any]]:
    """Kept figures by part and case."""
    if path is None or not path.exists():
        return {}
    rows = map(json.loads, path.read_text().splitlines())
    return {(row["part"], row["case"]): row for row in rows}


def table(
    part: str, rows: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """Lines of Markdown: a case a line; figures of an earlier state first."""
    now = ["wall s", "CPU s", "gap", "value", "reports"]
    head = [
        "case",
        *(f"{one}, before" for one in now[:4] if old),
        *now,
        *(["overrun s"] * (part == "limits")),
        "notes",
    ]
    yield from (f"| {' | '.join(head)} |", "|---" * len(head) + "|")
    for name, row in rows.items():
        cells = [name, *(cells_of(old.get(name, {}))[:4] if old else ()), *cells_of(row)]
        cells += [f"{overrun(name, row):.2f}"] if part == "limits" else []
        text = [
            *([row["error"]] if "error" in row else row.get("notes", ())),
            *row.get("failures", ()),
        ]
        yield f"| {' | '.join([*cells, '; '.join(text)])} |"


def cells_of(row: dict[str, Any]) -> list[str]:
    """Seconds, gap, value and number of reports."""
    forms = {"wall": ".2f", "cpu": ".2f", "gap": ".1e", "value": ".8g", "reports": "d"}
    return [format(row[key], form) if key in row else "" for key, form in forms.items()]


def overrun(name: str, row: dict[str, Any]) -> float:
    """Seconds beyond the limit."""
    return float(row["wall"]) - float(name.split("; ")[1].split()[0])


def is_larger(row: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a gap is larger than it was and than the one requested, or a case fails that did not
    before."""
    if "gap" not in row or "gap" not in old:
        return "error" in row and "gap" in old
    return bool(row["gap"] > max(old["gap"] * (1 + SAME), row["requested"]))


def summary(
    part: str, rows: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """What the figures come to."""
    failed = [name for name, row in rows.items() if "error" in row or row.get("failures")]
    yield f"{len(rows)} cases; failed: {', '.join(failed) or 'none'}."
    wide = [row for row in rows.values() if "gap" in row and row["gap"] > row["requested"]]
    yield f"Gap above the one requested: {len(wide)}."
    if part == "limits" and rows:
        name = max(rows, key=lambda one: overrun(one, rows[one]))
        yield f"Largest overrun: {overrun(name, rows[name]):.2f} s ({name})."
    both = {name: (old[name], row) for name, row in rows.items() if name in old}
    if both:
        larger = [name for name, (was, row) in both.items() if is_larger(row, was)]
        yield (
            f"Gaps larger than before and than the one requested: {len(larger)}. "
            f"{'; '.join(larger)}"
        ).rstrip()
        timed = [
            (was["cpu"], row["cpu"]) for was, row in both.values() if "cpu" in was and "cpu" in row
        ]
        first, second = map(sum, zip(*timed, strict=True)) if timed else (0.0, 0.0)
        ratios = [after / before for before, after in timed]
        yield (
            f"CPU seconds in all: {first:.1f} before, {second:.1f} now; median ratio "
            f"{median(ratios or [1.0]):.2f}."
        )


METHOD_CASES: dict[str, Case] = {
    "frequencies 30": (lo.Workload.frequencies(30), lo.PureLDP(1.0), {}),
    "frequencies 7": (lo.Workload.frequencies(7), lo.PureLDP(1.0), {}),
    "marginals 3 x 3 x 3, order 2": (lo.Workload.marginals([3, 3, 3], 2), lo.PureLDP(1.0), {}),
    "mean of 25": (lo.Workload.mean(range(25)), lo.PureLDP(1.0), {}),
    "mean of 25, worst case": (
        lo.Workload.mean(range(25)),
        lo.PureLDP(1.0),
        {"objective": "worst_case"},
    ),
    "prefix 8": (lo.Workload.prefix(8), lo.PureLDP(1.0), {}),
    "prefix 8, worst case": (lo.Workload.prefix(8), lo.PureLDP(1.0), {"objective": "worst_case"}),
    "prefix 24": (lo.Workload.prefix(24), lo.PureLDP(1.0), {}),
    "prefix 25, worst case": (lo.Workload.prefix(25), lo.PureLDP(1.0), {"objective": "worst_case"}),
    "prefix 6, path": (lo.Workload.prefix(6), lo.GraphDP(1.0, nx.path_graph(6)), {}),
    "prefix 5, path, worst case": (
        lo.Workload.prefix(5),
        lo.GraphDP(1.0, nx.path_graph(5)),
        {"objective": "worst_case"},
    ),
    "mean of 5, metric": (
        lo.Workload.mean(range(5)),
        lo.MetricDP.of_points(1.0, [0, 1, 3, 4, 6]),
        {},
    ),
    "prefix 5, one-sided": (lo.Workload.prefix(5), lo.OneSided(1.0, [0, 1]), {}),
}
"""At least one case for every method."""


def methods() -> Iterator[str]:
    """Lines of the table of plans; the last names methods without a case and plans that were not
    run."""
    from ldpopt.designing.plan import METHODS

    yield from ("| case | `ldpopt check` prints | `plan_design` | ran |", "|---" * 4 + "|")
    ran = set()
    other = []
    for name, (workload, privacy, options) in METHOD_CASES.items():
        problem = lo.DesignProblem(workload, privacy, **options)
        planned = [step.method.name for step in lo.plan_design(problem)]
        steps = [
            step.method.name for step in lo.design(workload, privacy, gap=1e-3, **options).steps
        ]
        shown = printed(problem)
        ran.update(steps)
        if shown != planned or steps[0] != planned[0]:
            other.append(name)
        yield f"| {name} | {', '.join(shown)} | {', '.join(planned)} | {', '.join(steps)} |"
    missing = sorted({method.name for method in METHODS} - ran)
    yield ""
    yield f"Methods that no case runs: {', '.join(missing) or 'none'}."
    yield f"Cases with another plan: {', '.join(other) or 'none'}."


def printed(problem: Any) -> list[str]:
    """Methods that ``ldpopt check`` prints for a problem, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.toml")
        lo.save_model(problem, path)
        command = [sys.executable, "-m", "ldpopt", "check", str(path)]
        lines = subprocess.run(
            command, check=True, capture_output=True, text=True
        ).stdout.splitlines()
    parts = [line.split(":", 2) for line in lines if line.startswith(("plan:", "then:"))]
    return [part[1].strip() for part in parts]


def write(path: Path, part: str, text: str) -> None:
    """Write one section of the page; the others stay as they were."""
    old = path.read_text().split("\n## ")[1:] if path.exists() else []
    sections = {section.split("\n")[0]: section.split("\n", 1)[1].strip() for section in old} | {
        part: text.strip()
    }
    text = "\n".join(
        f"\n## {one}\n\n{sections[one]}" for one in (*PARTS, "methods") if one in sections
    )
    path.write_text(f"# Designs measured\n\nMade by `python benchmarks/designs.py`.\n{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "methods"])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="cases whose names have this word")
    parser.add_argument("--largest", type=int, default=max(SIZES), help="threads: most answers")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.part, options.one)))
        return 0
    if options.part == "methods":
        lines = list(methods())
        missed = not all(line.endswith(": none.") for line in lines[-2:])
    else:
        part = options.part
        kept = read(options.keep)
        rows: dict[str, dict[str, Any]] = {}
        for name in PARTS[part]():
            too_large = part == "threads" and int(name.split(";")[0].split()[1]) > options.largest
            if options.only not in name or too_large:
                continue
            if (part, name) not in kept:
                kept[part, name] = {"part": part, "case": name} | run(part, name)
                print(json.dumps(kept[part, name]), file=sys.stderr, flush=True)
                if options.keep:
                    with options.keep.open("a") as file:
                        file.write(json.dumps(kept[part, name]) + "\n")
            rows[name] = kept[part, name]
        old = {case: row for (one, case), row in read(options.before).items() if one == part}
        lines = [*table(part, rows, old), "", *summary(part, rows, old)]
        missed = any(is_larger(row, old[name]) for name, row in rows.items() if name in old)
    text = "\n".join(lines) + "\n"
    if options.output:
        write(options.output, options.part, text)
    print(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
