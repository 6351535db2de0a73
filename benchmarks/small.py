"""Small solves beside HiGHS alone, and beside another checkout; rewrites small.md.

    python benchmarks/small.py                    # about two minutes
    python benchmarks/small.py --before FOLDER    # also another checkout, in turn with this one
    python benchmarks/small.py --rounds 3 random  # only cases whose names contain this

A process for each checkout, warm, with one BLAS thread. The cases are taken in turn: in every round
each process measures every case once, and within a case each problem is solved by ldpopt and then
by HiGHS alone. Figures are CPU seconds: medians over the rounds. "Solve + certify" begins with the
arrays of prior and utility, so that `Problem` counts; HiGHS alone begins with the arrays of the
program that ldpopt gives to it, and ends with point and multipliers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
ROUNDS = 5
REPEATS = 50  # calls of a single step
RANDOM = {5: 24, 10: 24, 20: 16, 40: 8, 80: 3}  # problems of each size
PAGE = HERE / "small.md"
TITLE = """# Small solves

`python benchmarks/small.py --before FOLDER`: {machine}

CPU milliseconds a problem: its construction, solve and certify, beside the state before ("before")
and HiGHS alone on the same arrays; medians of {rounds} rounds in turn. The largest certified gap of
each case is that of this checkout. HiGHS alone has no repair, no audit and no bound.

| {heads} |
|---|---|---|---|---|---|---|---|
"""
HEADS = (
    "case",
    "before, ms",
    "now, ms",
    "HiGHS alone, ms",
    "before / HiGHS",
    "now / HiGHS",
    "before / now",
    "largest gap",
)
PARTS = """
## Single steps

CPU milliseconds a call.

| step | before, ms | now, ms | before / now |
|---|---|---|---|
"""


def problems() -> dict[str, list[Callable[[], Any]]]:
    """Constructors of the problems of each case, the same in every process."""
    import networkx as nx
    import numpy as np

    from ldpopt import ApproximateLDP, GraphDP, MetricDP, Problem, PureLDP, Utility

    def steps(n: int) -> Any:
        return Utility(np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float), "loss")

    def random_gains(n: int, count: int, notion: Any) -> Iterator[Callable[[], Any]]:
        rng = np.random.default_rng(n)
        for _ in range(count):
            prior = rng.dirichlet(np.ones(n))
            gain = rng.random((n, n))
            yield lambda prior=prior, gain=gain: Problem(prior, Utility(gain, "gain"), notion)

    def places(graph: Any, loss: Any) -> list[Callable[[], Any]]:
        nodes = list(graph)
        prior = np.random.default_rng(1000 + len(nodes)).dirichlet(np.ones(len(nodes)))
        labels = {"inputs": nodes, "outputs": nodes}
        return [lambda: Problem(prior, Utility(loss, "loss"), GraphDP(1.0, graph), **labels)]

    def worst(n: int) -> list[Callable[[], Any]]:
        return [lambda: Problem(None, steps(n), PureLDP(1.0), objective="worst_case")]

    made: dict[str, list[Callable[[], Any]]] = {
        f"random gain, {n}": list(random_gains(n, count, PureLDP(1.0)))
        for n, count in RANDOM.items()
    }
    made |= {f"worst case, {n}": worst(n) for n in (20, 30, 40, 60)}
    made["entry-wise delta, 20"] = list(random_gains(20, 8, ApproximateLDP(1.0, 0.05, "entry")))
    made["path, 30"] = places(nx.path_graph(30), steps(30).matrix)
    near = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=30)
    made["small world, 30"] = places(near, np.asarray(nx.floyd_warshall_numpy(near), float))
    grid = nx.grid_2d_graph(5, 5)
    spots = np.array(list(grid), float)
    made["grid, 25"] = places(grid, np.sqrt(((spots[:, None] - spots) ** 2).sum(axis=2)))
    rng = np.random.default_rng(1016)
    prior = rng.dirichlet(np.ones(16))
    points = 4 * rng.random((16, 2))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    made["metric, 16"] = [lambda: Problem(prior, Utility(apart, "loss"), MetricDP(1.0, apart))]
    return made


def steps_of(cases: dict[str, list[Callable[[], Any]]]) -> dict[str, Callable[[], Any]]:
    """Single steps."""
    import numpy as np

    from ldpopt import Mechanism, PureLDP, certify, solve

    calls: dict[str, Callable[[], Any]] = {}
    for n in (10, 40):
        made = cases[f"random gain, {n}"]
        solution = solve(made[0]())
        channel = np.array(solution.mechanism.channel)
        calls[f"`certify`, {n}"] = lambda solution=solution: certify(solution)
        calls[f"`Problem`, {n}"] = made[0]
        calls[f"`Mechanism`, {n}"] = lambda channel=channel: Mechanism(channel)
    wide = np.random.default_rng(200).random((200, 200)) + 2.0
    masses = Mechanism.private(wide / wide.sum(axis=1, keepdims=True), PureLDP(0.1))
    _ = masses.counts
    calls["audit of 200 x 200"] = lambda: masses.audit(PureLDP(0.1))
    return calls


def bare(program: Any) -> Any:
    """HiGHS alone, with the settings that ldpopt gives it first."""
    import highspy
    import numpy as np

    highs = highspy.Highs.__base__()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
    rows, columns = program.shape
    sense = highspy.ObjSense.kMaximize if program.maximize else highspy.ObjSense.kMinimize
    highs.changeObjectiveSense(sense)
    nothing = 0, np.zeros(columns, np.int32), np.zeros(0, np.int32), np.zeros(0)
    bounds = program.column_lower, program.column_upper
    highs.addCols(columns, program.objective, *bounds, *nothing)
    sides = program.row_lower, program.row_upper
    matrix = program.nnz, program.start[:-1], program.index, program.value
    highs.addRows(rows, *sides, *matrix)
    highs.run()
    found = highs.getSolution()
    return np.fromiter(found.col_value, float), np.fromiter(found.row_dual, float)


def work() -> None:
    """Answer orders on standard input: CPU seconds of ldpopt and of HiGHS alone, and the gap."""
    from ldpopt import certify, solve
    from ldpopt.solving.formulation import formulate

    cases = problems()
    calls = steps_of(cases)
    programs = {name: [formulate(make()) for make in made] for name, made in cases.items()}
    for line in sys.stdin:
        who, name = json.loads(line)
        clock = time.process_time
        if who == "step":
            began = clock()
            for _ in range(REPEATS):
                calls[name]()
            answer = [(clock() - began) / REPEATS]
        else:
            answer = [0.0, 0.0, 0.0]
            for make, program in zip(cases[name], programs[name], strict=True):
                began = clock()
                gap = certify(solve(make())).relative_gap
                middle = clock()
                bare(program)
                answer[0] += (middle - began) / len(cases[name])
                answer[1] += (clock() - middle) / len(cases[name])
                answer[2] = max(answer[2], gap)
        print(json.dumps(answer), flush=True)


class Checkout:
    """A process with the package of one folder."""

    def __init__(self, folder: Path) -> None:
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = os.environ | threads | {"PYTHONPATH": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "small.py"), "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            cwd=folder,
        )

    def ask(self, who: str, name: str) -> list[float]:
        """What the process measured."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([who, name]) + "\n")
        self.process.stdin.flush()
        answer: list[float] = json.loads(self.process.stdout.readline())
        return answer


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--work", action="store_true")
    given = parser.parse_args()
    if given.work:
        work()
        return
    here = Checkout(HERE.parent)
    before = None if given.before is None else Checkout(given.before.resolve())
    cases = problems()
    wanted = [name for name in cases if all(part in name for part in given.names)]
    orders = [("case", name) for name in wanted]
    orders += [] if given.names else [("step", name) for name in steps_of(cases)]
    times: dict[tuple[str, str, str], list[float]] = {}
    gaps: dict[str, float] = {}
    for turn in range(given.rounds + 1):
        for who, name in orders:
            for label, checkout in (("now", here), ("before", before)):
                if checkout is None:
                    continue
                answer = checkout.ask(who, name)
                if not turn:  # the first round warms up
                    continue
                times.setdefault((label, who, name), []).append(answer[0])
                if who == "case" and label == "now":
                    times.setdefault((label, "HiGHS", name), []).append(answer[1])
                    gaps[name] = max(answer[2], gaps.get(name, 0.0))
    ms = {key: 1e3 * median(values) for key, values in times.items()}
    text = page(wanted, [name for who, name in orders if who == "step"], ms, gaps, given.rounds)
    print(text)
    if not given.names:
        PAGE.write_text(text, encoding="utf-8")


def page(
    names: list[str],
    steps: list[str],
    ms: dict[tuple[str, str, str], float],
    gaps: dict[str, float],
    rounds: int,
) -> str:
    """The page as Markdown; figures of a missing checkout are dashes."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    today = datetime.date.today().isoformat()
    python = platform.python_version()
    machine = f"{today}, Python {python}, {os.cpu_count()} cores, load {load} at the end."
    lines = [TITLE.format(machine=machine, rounds=rounds, heads=" | ".join(HEADS))]
    for name in names:
        old = ms.get(("before", "case", name))
        new = ms["now", "case", name]
        alone = ms["now", "HiGHS", name]
        cells = [name, _figure(old), _figure(new), _figure(alone), _ratio(old, alone)]
        cells += [_ratio(new, alone), _ratio(old, new), f"{gaps[name]:.0e}"]
        lines.append(f"| {' | '.join(cells)} |\n")
    lines += [PARTS] if steps else []
    for name in steps:
        old = ms.get(("before", "step", name))
        new = ms["now", "step", name]
        lines.append(f"| {name} | {_figure(old)} | {_figure(new)} | {_ratio(old, new)} |\n")
    return "".join(lines)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _ratio(over: float | None, under: float) -> str:
    return "-" if over is None else f"{over / under:.2f}"


if __name__ == "__main__":
    main()
