"""Long runs and surveys on a cluster: what two workers are worth, and a hundred kills.

python benchmarks/cluster.py                            # all parts, ten minutes on an idle machine; prints
python benchmarks/cluster.py sweep count --rounds 3     # only these parts
python benchmarks/cluster.py dask --kills 10 --write    # one part, and its section of benchmarks/cluster.md anew

The parts: sweep, allowed, privatize, count; runs, workers, dask are the kills.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import ldpopt as lo
from ldpopt import count_folder, privatize_folder, sweep
from ldpopt.problem.modelfile import save_model

KILLS = {"runs": 40, "workers": 40, "dask": 20}
ROUNDS = 5
FILES, ROWS = 8, 1_000_000
POINTS = 200
FOLDER = 60
"""Files of the folder whose workers are killed, of 100 000 rows each."""

FINISHED = 3
"""Files that are finished before each kill of a worker of a cluster, so that something could be lost."""

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])

OPTIONS = ("-j", "2", "--checkpoint", "points", "-o", "table.csv")
GRACE = 5.0
"""Seconds after which a process counts as left behind."""


def problem(n: int = 20) -> lo.Problem:
    rng = np.random.default_rng(0)
    return lo.Problem(rng.dirichlet(np.ones(n)), rng.random((n, n)).round(3), lo.PureLDP(1.0))


# Speed.


def speed_of_sweeps(rounds: int) -> Iterator[str]:
    grid, priors = _grid()
    ways = {"one process": _swept(grid, priors, 1), "two workers": _swept(grid, priors, 2)}
    yield from table("sweep of 400 problems, n = 20", "problems", 400, ways, rounds)


def speed_allowed(rounds: int) -> Iterator[str]:
    """What the machine gives to two processes that have nothing to do with each other, beside one."""
    run = _swept(*_grid(), 1)
    alone, both = [], []
    for _ in range(rounds):
        for seconds, copies in ((alone, 1), (both, 2)):
            began = time.perf_counter()
            children = [os.fork() for _ in range(copies - 1)]
            run()
            if 0 in children:
                os._exit(0)
            for child in children:
                os.waitpid(child, 0)
            seconds.append(time.perf_counter() - began)
    times = 2 * np.median(alone) / np.median(both)
    yield f"Two such sweeps at once, in processes that share nothing, were {times:.2f} times as fast as one after the"
    yield "other (medians): what this machine allowed then."


def speed_of_privatizing(rounds: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, _cluster() as client:
        place = Path(folder)
        _answers(place / "answers")
        privatize_folder(place / "answers", place / "reports", {"a": COIN}, executor=client)  # the workers import
        ways: dict[str, Callable[[], Any]] = {
            "one process": _privatized(place, {}),
            "two processes": _privatized(place, {"jobs": 2}),
            "two workers of Dask": _privatized(place, {"executor": client}),
        }
        people = FILES * ROWS
        yield from table(f"privatize {people:,} rows of Parquet", "rows", people, ways, rounds)


def speed_of_counting(rounds: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, _cluster() as client:
        place, people = Path(folder), FILES * ROWS
        _answers(place / "answers")
        privatize_folder(place / "answers", place / "reports", {"a": COIN}, executor=client)
        ways: dict[str, Callable[[], Any]] = {
            "one process": lambda: count_folder(place / "reports", {"a": COIN}),
            "two processes": lambda: count_folder(place / "reports", {"a": COIN}, jobs=2),
            "two workers of Dask": lambda: count_folder(place / "reports", {"a": COIN}, executor=client),
        }
        ways["two workers of Dask"]()
        yield from table(f"count {people:,} rows of Parquet", "rows", people, ways, rounds)


def _grid() -> tuple[Any, Any]:
    """Budgets and priors of the sweep; imports of this process are those of one worker and two alike."""
    sweep(problem(), [1.0])
    return np.linspace(0.1, 4.0, 40), np.random.default_rng(1).dirichlet(np.ones(20), size=10)


def _swept(grid: Any, priors: Any, jobs: int) -> Callable[[], Any]:
    return lambda: sweep(problem(), grid, priors, jobs=jobs)


def _privatized(folder: Path, options: dict[str, Any]) -> Callable[[], Any]:
    def run() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as target:
            privatize_folder(folder / "answers", Path(target) / "reports", {"a": COIN}, **options)

    return run


def table(what: str, unit: str, size: int, ways: dict[str, Callable[[], Any]], rounds: int) -> Iterator[str]:
    """Rounds of all ways one after the other; the least time of each, which others disturb least, and the median."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    yield f"| {what} | least s | median s | {unit} per s | times as fast: least | median by rounds |"
    yield "|---|---|---|---|---|---|"
    first = next(iter(seconds.values()))
    for name, took in seconds.items():
        least, middle = min(took), np.median(np.divide(first, took))
        rate = f"{size / least:,.0f} | {min(first) / least:.2f} | {middle:.2f}"
        yield f"| {name} | {least:.2f} | {np.median(took):.2f} | {rate} |"


def _answers(folder: Path, files: int = FILES, rows: int = ROWS) -> None:
    import pandas as pd

    folder.mkdir()
    draws = np.random.default_rng(0)
    for k in range(files):
        answers = pd.Categorical.from_codes(draws.integers(0, 2, rows), ["no", "yes"])
        pd.DataFrame({"a": answers.astype(str)}).to_parquet(folder / f"{k:02}.parquet")


def _cluster() -> Any:
    from distributed import Client

    return Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")


# Kills.


class Tally:
    """Kills, and what went wrong."""

    def __init__(self) -> None:
        self.kills = self.finished = self.lost = self.left = self.wrong = 0

    def line(self, what: str) -> str:
        return f"| {what} | {self.kills} | {self.finished} | {self.lost} | {self.left} | {self.wrong} |"


HEADINGS = "| killed | kills | finished before them | of these lost | processes left | wrong results |"


def kills(name: str, number: int) -> Iterator[str]:
    moment = random.Random(number)
    yield HEADINGS
    yield "|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        if name == "dask":
            what = "a worker of a Dask cluster, `privatize_folder`"
            yield kill_cluster(number, moment).line(what)
            return
        save_model(problem(), "model.toml")
        _start("-o", "table.csv").wait()
        what, kill = {
            "runs": ("the process of a sweep, `sweep -j 2`", kill_parents),
            "workers": ("a worker of a sweep", kill_workers),
        }[name]
        yield kill(number, moment, _values()).line(what)


def _start(*more: str) -> subprocess.Popen[bytes]:
    """The sweep, in two processes with a checkpoint unless something else is asked for."""
    command = ["sweep", "model.toml", "--epsilon", f"0.1:5:{POINTS}", *(more or OPTIONS)]
    return subprocess.Popen([sys.executable, "-m", "ldpopt", *command], stdout=subprocess.DEVNULL)


def kill_parents(number: int, moment: random.Random, whole: Any) -> Tally:
    """Kill sweeps that go on from one checkpoint; begin anew where one was done before its kill."""
    tally, points, kept = Tally(), Path("points"), b""
    while tally.kills < number:
        process = _start()
        family = set()
        if moment.random() < 0.75:  # others die while they start
            end = time.monotonic() + 60
            while process.poll() is None and _lines(points) <= kept.count(b"\n") and time.monotonic() < end:
                family |= _family_after(process, 0.02)
        family |= _family_after(process, moment.uniform(0.0, 1.0))
        process.kill()
        process.wait()
        tally.left += _left(family)
        found = points.read_bytes() if points.exists() else b""
        lines = set(found.splitlines())
        tally.lost += sum(line not in lines for line in kept.splitlines() if line.endswith(b"]]"))
        tally.finished += max(0, found.count(b"\n") - kept.count(b"\n"))
        tally.kills += 1
        kept = found
        if found.count(b"\n") > POINTS * 0.9 or tally.kills == number:
            _start().wait()
            tally.wrong += _wrong(whole)
            points.unlink()
            kept = b""
    return tally


def kill_workers(number: int, moment: random.Random, whole: Any) -> Tally:
    """Kill workers of running sweeps, each a few times."""
    tally, points = Tally(), Path("points")
    while tally.kills < number:
        process, known = _start(), 1
        family = set()
        while process.poll() is None and tally.kills < number:
            family |= _family_after(process, moment.uniform(0.2, 1.2))
            if _lines(points) <= known:  # new workers have to start after each kill
                continue
            workers = [child for child in _children(process.pid) if "popen_loky" in " ".join(_command(child))]
            if workers:
                before = set(points.read_bytes().splitlines())
                known = len(before)
                moment.choice(workers).kill()
                tally.kills += 1
                tally.finished += len(before) - 1
                tally.lost += len(before - set(points.read_bytes().splitlines()))
        process.wait()
        tally.left += _left(family)
        tally.wrong += _wrong(whole)
        points.unlink()
    return tally


def kill_cluster(number: int, moment: random.Random) -> Tally:
    """Kill workers of a cluster while they privatize a folder; what is written must stay as it is."""
    tally, here = Tally(), Path(".")
    _answers(here / "answers", FOLDER, 100_000)
    while tally.kills < number:  # a cluster each time: Dask may be one worker short after a kill
        target, ended = here / f"reports{tally.kills}", threading.Event()
        family: set[psutil.Process] = set()
        with _cluster() as client:
            family |= set(psutil.Process().children(recursive=True))
            killer = threading.Thread(target=_kill_some, args=(client, target, moment, tally, number, family, ended))
            killer.start()
            rows = privatize_folder(here / "answers", target, {"a": COIN}, executor=client)
            ended.set()
            killer.join()
            counted = count_folder(target, {"a": COIN}, executor=client)["a"].n_reports
            tally.wrong += (rows, counted, len(list(target.iterdir()))) != (FOLDER * 100_000, FOLDER * 100_000, FOLDER)
        tally.left += _left({one for one in family if "resource_tracker" not in " ".join(_command(one))})
    return tally


def _kill_some(
    client: Any, target: Path, moment: random.Random, tally: Tally, number: int, family: Any, end: threading.Event
) -> None:
    """Kill a worker whenever more files are finished and the cluster is whole again, until the folder is done."""
    written: dict[str, int] = {}
    while not end.wait(moment.uniform(0.0, 0.02)) and tally.kills < number:
        there = {path.name: path.stat().st_ino for path in target.glob("[!.]*")}
        # Only workers that have arrived: Dask does not replace one that dies while it starts.
        if len(there) < len(written) + FINISHED or len(client.scheduler_info()["workers"]) < 2:
            continue
        try:
            workers = [psutil.Process(process) for process in client.run(os.getpid).values()]
        except (OSError, psutil.NoSuchProcess):  # one that has just been killed is still in the list
            continue
        family |= set(workers)
        if end.is_set() or len(workers) < 2:
            continue
        written |= there
        moment.choice(workers).kill()
        tally.kills += 1
    end.wait()
    tally.finished += len(written)
    tally.lost += sum((target / name).stat().st_ino != inode for name, inode in written.items())


def _family_after(process: subprocess.Popen[bytes], seconds: float) -> set[psutil.Process]:
    """All processes of a run that were seen in so many seconds."""
    seen: set[psutil.Process] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        for child in _children(process.pid):
            seen |= {child, *_children(child.pid)}
        time.sleep(0.02)
    return seen


def _children(process: int) -> list[psutil.Process]:
    try:
        return psutil.Process(process).children()
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _left(family: set[psutil.Process]) -> int:
    """Processes that have not ended after a while."""
    _, alive = psutil.wait_procs(family, timeout=GRACE)
    return len(alive)


def _wrong(whole: Any) -> int:
    """Values of the table that differ from those of a run that nobody disturbed."""
    values = _values()
    return len(whole) - len(values) + int((values != whole[: len(values)]).sum())


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _values() -> Any:
    rows = csv.DictReader(Path("table.csv").read_text().splitlines())
    return np.array([float(row["value"] or "nan") for row in rows])


# The page.

SPEED: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
    "sweep": ("Sweep", speed_of_sweeps),
    "allowed": ("What the machine allows", speed_allowed),
    "privatize": ("Privatize", speed_of_privatizing),
    "count": ("Count", speed_of_counting),
}
KILLED = {"runs": "Sweeps that are killed", "workers": "Workers of a sweep that are killed"}
KILLED["dask"] = "Workers of a cluster that are killed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"{', '.join([*SPEED, *KILLED])}; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kills", type=int, help="default: 40, 40 and 20")
    parser.add_argument("--write", action="store_true", help="rewrite the sections of the page")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - {*SPEED, *KILLED}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    page = Path(__file__).parent.resolve() / "cluster.md"
    for name in asked.parts or [*SPEED, *KILLED]:
        title = SPEED[name][0] if name in SPEED else KILLED[name]
        load = f"{date.today()}, {os.getloadavg()[0]:.1f} processes wanted {os.cpu_count()} cores when it began."
        lines = SPEED[name][1](asked.rounds) if name in SPEED else kills(name, asked.kills or KILLS[name])
        text = [f"## {title}", "", load, ""]
        print("\n".join(text), flush=True)
        for line in lines:
            print(line, flush=True)
            text.append(line)
        print()
        if asked.write:
            page.write_text(_replaced(page.read_text(), title, "\n".join(text)))


def _replaced(page: str, title: str, section: str) -> str:
    """The page with another section of this title, at its place or at the end."""
    head, *sections = page.rstrip().split("\n## ")
    texts = {text.partition("\n")[0]: f"## {text.rstrip()}" for text in sections}
    texts[title] = section
    return "\n\n".join([head.rstrip(), *texts.values()]) + "\n"


if __name__ == "__main__":
    main()
