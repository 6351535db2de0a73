"""Wall time of ending solvers and commands on request, and the overhead of this ability.

python benchmarks/faults.py         # two to three minutes; rewrites benchmarks/faults.md

The kills of writers are counted by ``LDPOPT_KILLS=200 pytest -n 0 -s tests/project/test_kills.py``.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import ldpopt as lo
from ldpopt.problem.modelfile import save_model
from ldpopt.solvers import find, guarded
from ldpopt.solving.formulation import formulate

LIMIT, KILLS = 1.0, 20

LIMITED: list[tuple[str, int, str | None, dict[str, Any]]] = [
    ("highs", 320, None, {}),
    ("highs", 320, None, {"solver": "ipm"}),
    ("highs", 40, "pairwise", {}),
    ("highs", 40, "pairwise", {"solver": "pdlp"}),
    ("cbc", 100, None, {}),
    ("cvxpy", 320, None, {}),
    ("cvxpy:SCS", 160, None, {}),
    ("cvxpy:OSQP", 160, None, {}),
]

COMMANDS = {
    "solve, while it starts": (0.15, "solve n320.toml"),
    "solve, compact n = 320": (2, "solve n320.toml"),
    "solve, pairwise n = 40": (4, "solve n40.toml --form pairwise"),
    "solve by cbc, n = 100": (4, "solve n100.toml --solver cbc"),
    "solve by cvxpy:SCS, n = 320": (10, "solve n320.toml --solver cvxpy:SCS"),
    "compare, n = 60": (2, "compare n60.toml"),
    "vertices, n = 6": (4, "vertices n6.toml"),
    "sweep, n = 100": (10, "sweep n100.toml --epsilon 0.1:5:200 -o a.csv --plot a.png"),
    "sweep -j 2, n = 100": (14, "sweep n100.toml --epsilon 0.1:5:200 -j 2 -o b.csv --plot b.png"),
    "privatize, 4 000 000 answers": (4, "privatize m.json answers.csv -c a -o c.csv"),
    "estimate, 4 000 000 reports": (4, "estimate m.json answers.csv -c a"),
    "plot of a model, n = 320": (2, "plot n320.toml -o d.png"),
}


def problem(n: int) -> lo.Problem:
    rng = np.random.default_rng(n)
    return lo.Problem(rng.dirichlet(np.ones(n)), rng.random((n, n)).round(3), lo.PureLDP("log(3)"))


def limits() -> Iterator[str]:
    yield f"| solver, limit {LIMIT:g} s, first call and next | ends after, s | how |\n|---|---|---|"
    for name, n, form, options in LIMITED:
        # type: ignore[arg-type]
        solver = find(name)
        program = formulate(problem(n), form)
        guarded.stop_all()
        seconds = []
        ended = ""
        for _ in range(2):
            began = time.perf_counter()
            ended = solver.solve(program, time_limit=LIMIT, **options).raw_status
            seconds.append(f"{time.perf_counter() - began:.2f}")
        what = " ".join([name, *options.values(), form or "compact", f"n = {n}"])
        yield f"| {what} | {', '.join(seconds)} | {ended} |"


def costs() -> Iterator[str]:
    yield "| one solve by HiGHS | here, s | new process, s | warm process, s |\n|---|---|---|---|"
    for n in (20, 40, 80, 160):
        solver = find("highs")
        program = formulate(problem(n))
        here = best(lambda s=solver, p=program: s.solver.solve(p))
        solver.solver.in_process_nonzeros = 0
        new = best(lambda s=solver, p=program: (guarded.stop_all(), s.solve(p)))
        warm = best(lambda s=solver, p=program: s.solve(p))
        yield f"| compact, n = {n} | {here:.3f} | {new:.3f} | {warm:.3f} |"


def kills() -> Iterator[str]:
    """Kill the process of a solver, and a Python session while its solver works, at random
    moments."""
    yield (
        f"| {KILLS} kills | answers that do not name the signal | next solves that fail | "
        "processes left |"
    )
    yield "|---|---|---|---|"
    moment = random.Random(KILLS)
    solver = find("highs")
    program = formulate(problem(320))
    unnamed = failed = left = 0
    small = formulate(problem(20))
    right = solver.solve(small).point
    solver.solver.in_process_nonzeros = 0
    for _ in range(KILLS):
        solver.solve(small)  # its process has started
        threading.Timer(moment.uniform(0.0, 1.0), _kill_children).start()
        unnamed += "SIGKILL" not in solver.solve(program).raw_status
        failed += not np.allclose(solver.solve(small).point, right, rtol=0, atol=1e-12)
    guarded.stop_all()
    left = len(psutil.Process().children(recursive=True))
    yield f"| the process of a solver | {unnamed} | {failed} | {left} |"
    left = 0
    for _ in range(KILLS):
        command = [sys.executable, "-m", "ldpopt", "solve", "n320.toml", "--solver", "highs"]
        session = psutil.Popen(command, stdout=subprocess.DEVNULL)
        while not session.children() and session.poll() is None:
            time.sleep(0.01)
        time.sleep(moment.uniform(0.0, 1.0))
        family = session.children(recursive=True)
        session.kill()
        session.wait()
        left += len(psutil.wait_procs(family, timeout=5)[1])
    yield f"| the session of a solver | | | {left} |"


def _kill_children() -> None:
    for child in psutil.Process().children():
        child.kill()


def best(task: Any) -> float:
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def interrupts() -> Iterator[str]:
    lo.Mechanism(np.full((100, 100), 0.01)).save("m.json")
    Path("answers.csv").write_text("a\n" + "1\n2\n50\n99\n" * 1_000_000)
    yield "| command | ends after SIGINT, s | exit code | says |\n|---|---|---|---|"
    for what, (pause, command) in COMMANDS.items():
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(
            [sys.executable, "-m", "ldpopt", *command.split()], text=True, **pipes
        ) as process:
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            began = time.perf_counter()
            _, said = process.communicate()
        yield (
            f"| {what} | {time.perf_counter() - began:.2f} | {process.returncode} | "
            f"{said.strip()} |"
        )


if __name__ == "__main__":
    place = Path(__file__).parent.resolve() / "faults.md"
    note = (
        "Written by `python benchmarks/faults.py`: wall time; one minute before, {:.1f} "
        "processes wanted {} cores."
    )
    note = note.format(os.getloadavg()[0], os.cpu_count())
    lines = ["# Solvers and commands that have to end", "", note, ""]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for n in (6, 40, 60, 100, 320):
            save_model(problem(n), f"n{n}.toml")
        for part in (limits, costs, kills, interrupts):
            for line in part():
                print(line, flush=True)
                lines.append(line)
            lines.append("")
        os.chdir("/")
    place.write_text("\n".join(lines[:-1]) + "\n")
