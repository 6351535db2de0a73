"""Runs whose processes are killed at random moments: their rows beside those of an undisturbed run.

python benchmarks/kills.py          # 20 runs of each kind: 80 minutes on a shared machine;
kills.md has results python benchmarks/kills.py 100 "sweep, workers" "solvers, resumed"
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

import ldpopt as lo
from ldpopt.problem.modelfile import save_model

SWEEP = "sweep pure.toml metric.toml event.toml --epsilon 0.1:4:20 -j 2 -o OUT/rows.csv"
CHILDREN = "sweep pure.toml --epsilon 0.1:4:30 -j 2 -o OUT/rows.csv --solver cbc"
COIN = (
    "import ldpopt as lo; coin = {'answer': lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], "
    "['no', 'yes'])}; "
)
PRIVATIZE = COIN + "lo.privatize_folder('answers', 'OUT/reports', coin, rng=1, jobs=2)"
COUNT = COIN + "print(lo.count_folder('reports', coin, jobs=2), file=open('OUT/counts', 'w'))"

# Each kind: its command, and part of the command line of what is killed (of the run itself if
# None).
KINDS = {
    "sweep, workers": (SWEEP, "popen_loky"),
    "sweep, resumed": (SWEEP + " --checkpoint OUT/points", None),
    "solvers": (CHILDREN, "processes.child"),
    "solvers, resumed": (CHILDREN + " --checkpoint OUT/points", "processes.child"),
    "privatize_folder, workers": (PRIVATIZE, "popen_loky"),
    "privatize_folder, resumed": (PRIVATIZE, None),
    "count_folder, workers": (COUNT, "popen_loky"),
    "count_folder, resumed": (COUNT, None),
}


def rows(out: Path) -> dict[Any, Any]:
    """Rows of a sweep by model and epsilon, without their seconds; reports by file; the counts."""
    found: dict[Any, Any] = {
        path.name: pd.read_parquet(path).to_csv() for path in out.glob("reports/*.parquet")
    }
    found |= {path.name: path.read_text() for path in out.glob("counts") if path.stat().st_size}
    for path in out.glob("rows.csv"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns="seconds")
        found |= {(row.get("model"), row["epsilon"]): row for row in table.to_dict("records")}
    return found


def run(command: str, out: Path, moments: list[float], victim: str | None) -> tuple[str, int]:
    """Run a command and kill a process at each moment, in seconds; return its messages and the
    number of orphans."""
    out.mkdir(exist_ok=True)
    family = set[psutil.Process]()
    waiting = sorted(moments)
    began = time.monotonic()
    parts = ["-c", command] if command.startswith("import") else ["-m", "ldpopt", *command.split()]
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(
        [sys.executable, *(part.replace("OUT", out.name) for part in parts)], **pipes
    ) as session:
        while session.poll() is None:
            time.sleep(0.02)
            with suppress(psutil.Error):  # a process may end at any time
                root = psutil.Process(session.pid)
                family |= set(root.children(recursive=True))
                if waiting and time.monotonic() - began > waiting[0]:
                    waiting.pop(0)
                    living = [
                        process
                        for process in (family if victim else {root})
                        if process.is_running()
                    ]
                    victims = [
                        process
                        for process in living
                        if (victim or "") in " ".join(process.cmdline())
                    ]
                    for process in random.sample(victims, min(1, len(victims))):
                        process.kill()
        said = session.communicate()[1]
    return said, len(psutil.wait_procs(family, timeout=5)[1])


def compare(kind: str, runs: int) -> str:
    """Count rows over all runs of a kind, and print those that differ from the undisturbed run."""
    command, victim = KINDS[kind]
    began = time.monotonic()
    undisturbed = Path(f"undisturbed{list(KINDS).index(kind)}")
    run(command, undisturbed, [], None)
    duration = time.monotonic() - began
    right = rows(undisturbed)
    total = Counter[str]()
    for seed in range(runs):
        random.seed(seed)
        out = Path(f"{undisturbed}-{seed}")
        moments = [random.uniform(0, duration) for _ in range(3)]
        tries = [moments] if victim else [[moment] for moment in moments]
        for some in [*tries, []] if "resumed" in kind else tries:
            said, left = run(command, out, some, victim)
            total += Counter({"left": left, "semlocks": "semlock" in said})
        found = rows(out)
        for key in right.keys() | found.keys():
            row = found.get(key)
            is_lost = key not in found
            given_up = (
                "died" in said if is_lost else isinstance(row, dict) and "SIGKILL" in row["status"]
            )
            judged = (
                "given up"
                if given_up
                else "lost"
                if is_lost
                else "right"
                if row == right.get(key)
                else "wrong"
            )
            total[judged] += 1
            if judged != "right":
                print(f"{kind}, run {seed}, {judged}: {key}: {row!s:.300}\n{said}", file=sys.stderr)
    numbers = [
        str(total[name]) for name in ("right", "given up", "lost", "wrong", "left", "semlocks")
    ]
    return f"| {kind} | {runs} | {' | '.join(numbers)} |"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        rng = np.random.default_rng(1)
        metric = lo.MetricDP.of_points(1.0, rng.random((30, 2)).round(2).tolist())
        event = lo.ApproximateLDP(1.0, 0.1)
        for name, n, notion in [
            ("pure", 30, lo.PureLDP(1.0)),
            ("metric", 30, metric),
            ("event", 6, event),
        ]:
            save_model(
                lo.Problem(rng.dirichlet(np.ones(n)), rng.random((n, n)).round(3), notion),
                f"{name}.toml",
            )
        Path("answers").mkdir()
        for number in range(20):
            pd.DataFrame({"answer": rng.choice(["no", "yes"], 200_000)}).to_parquet(
                f"answers/{number:02}.parquet"
            )
        run(PRIVATIZE.replace("OUT/", ""), Path(), [], None)
        print(
            "| kind | runs | right | given up | lost | wrong | processes left | semlocks |\n|"
            + "---|" * 8
        )
        for kind in sys.argv[2:] or KINDS:
            print(compare(kind, int((sys.argv[1:] or ["20"])[0])), flush=True)
        os.chdir("/")
