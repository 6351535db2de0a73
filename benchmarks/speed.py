"""Compare the speed of ldpopt and all other methods for the same programs; rewrites speed.md and
speed.png.

    python benchmarks/speed.py  # about 25 minutes; --all: every combination, hours
    python benchmarks/speed.py --keep run.json      # continue a run, or only rewrite the page
    python benchmarks/speed.py --keep run.json --only ldpopt      # measure one method again

Other methods need `pip install --group bench`; the page names those that are not installed. Every
case runs in a separate process (speed_methods.py).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from speed_cases import OTHERS, Case, key, series
from speed_page import write

HERE = Path(__file__).parent
LONG_LIMITS = {("qif", 80, "random"): 1500.0}
"""Time limits of single cases, in seconds; this one, the comparison at 80 answers, takes 6
minutes."""


def run(one: Case, limit: float, memory: float, extra: dict[str, Any]) -> dict[str, Any]:
    """Measure one case in a fresh process, which is killed with its children at the limit."""
    order = one | {"memory": memory} | extra
    command = [sys.executable, str(HERE / "speed_methods.py"), json.dumps(order)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        until = so_far(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"over": limit} | until
    if process.returncode:
        last = (errors.strip() or "no message").splitlines()[-1]
        return {
            "failed": "out of memory"
            if "MemoryError" in last or process.returncode == -9
            else last[:100]
        }
    return json.loads(output.splitlines()[-1])


def so_far(process: int) -> dict[str, float]:
    """CPU seconds and peak MB of a process that still runs, on Linux."""
    try:
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        peak = next(
            x
            for x in Path(f"/proc/{process}/status").read_text().splitlines()
            if x.startswith("VmHWM")
        )
    except OSError:
        return {}
    return {
        "used": sum(map(int, times[11:15])) / os.sysconf("SC_CLK_TCK"),
        "memory": int(peak.split()[1]) / 1024,
    }


def follow(cases: list[Case], done: dict[str, Any], options: argparse.Namespace) -> None:
    """Measure a series up to the first size that is too slow, or will certainly be."""
    before: dict[str, Any] | None = None
    slow: list[str] = []
    for one in cases:
        name = key(one)
        method = one["method"]
        limit = LONG_LIMITS.get((method, one["n"], one["gain"]), options.limit)
        if method == "ldpopt":
            limit = max(limit, 300.0)
        if name not in done or (
            options.only and method == options.only and name not in options.fresh
        ):
            found = {"n": one["n"]}
            if before is not None and method in OTHERS:
                least = min(before["cpu"]) * (one["n"] / before["n"]) ** OTHERS[method][1]
                if least > limit:
                    found["certain"] = least
            if "certain" not in found:
                large = (
                    {"repeat": 3, "spare": 12.0}
                    if method == "ldpopt" and one["n"] in (1000, 2000)
                    else {}
                )
                found |= run(one, limit, options.memory, large | {"skip": slow})
            done[name] = one | found
            options.fresh.add(name)
            print(
                key(one),
                {k: v for k, v in found.items() if k != "solver"},
                file=sys.stderr,
                flush=True,
            )
            if options.keep:
                Path(options.keep).write_text(json.dumps(done))
        found = done[name]
        if method == "choices" and "cpu" in found:
            best = min(min(times) for times in found["cpu"].values())
            # A way ten times slower than the best at one size is skipped at larger ones.
            slow = sorted(
                {
                    *slow,
                    *(
                        w
                        for w, times in found["cpu"].items()
                        if w != "auto" and min(times) > 10 * best
                    ),
                }
            )
        elif "cpu" not in found:
            break
        before = found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds for a case of the others (ldpopt: 300)"
    )
    parser.add_argument(
        "--memory", type=float, default=12.0, help="GiB of address space for a case"
    )
    parser.add_argument(
        "--all", action="store_true", help="every epsilon, gain and prior for every method"
    )
    parser.add_argument(
        "--only", help="measure this method again, the rest where it is missing in --keep"
    )
    parser.add_argument("--keep", help="file of raw figures to go on from and to write")
    options = parser.parse_args()
    options.fresh = set()
    done: dict[str, Any] = {}
    if options.keep and Path(options.keep).exists():
        done = json.loads(Path(options.keep).read_text())
    run_facts = done.setdefault("", {"began": time.strftime("%Y-%m-%d"), "load": [], "missing": []})
    run_facts["missing"] = [
        m for m, (package, _) in OTHERS.items() if importlib.util.find_spec(package) is None
    ]
    for cases in series(options):
        if cases[0]["method"] not in run_facts["missing"]:
            count = len(options.fresh)
            follow(cases, done, options)
            if len(options.fresh) > count:
                run_facts["load"].append(os.getloadavg()[0])
    if options.keep:
        Path(options.keep).write_text(json.dumps(done))
    write(done, options, HERE)


if __name__ == "__main__":
    main()
