"""Folders that are privatized on a cluster of Dask while workers, clients and the scheduler are
killed: what is lost, drawn twice or counted too early.

python benchmarks/folder_kills.py 100 3600    # kills, and seconds after which no round begins
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import ldpopt as lo
from ldpopt.errors import ModelFileError
from ldpopt.tables.folder import parts_of
from ldpopt.tables.inventory import Inventory, facts_of

FILES, ROWS = 24, 60_000
COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
QUESTION = {"answer": COIN}
RUN = """
import sys
from distributed import Client
import ldpopt as lo
coin = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
with Client(sys.argv[1], timeout=30) as client:
    lo.privatize_folder(sys.argv[2], sys.argv[3], {"answer": coin}, keep=["id"], executor=client)
"""
VICTIMS = ("worker", "client", "scheduler")
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Cluster:
    """A scheduler and two workers, as processes that may be killed and started again."""

    def __init__(self) -> None:
        self.processes: dict[str, list[subprocess.Popen[bytes]]] = {"scheduler": [], "worker": []}
        self.address = ""

    def mend(self) -> None:
        """Start what is missing; without a scheduler, all of it."""
        for kind in self.processes:
            self.processes[kind] = [one for one in self.processes[kind] if one.poll() is None]
        if not self.processes["scheduler"]:
            self.end()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            self.address = f"tcp://127.0.0.1:{port}"
            words = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
            self._start("scheduler", *words)
        while len(self.processes["worker"]) < 2:
            words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60")
            self._start("worker", self.address, *words)

    def _start(self, kind: str, *words: str) -> None:
        command = [sys.executable, "-m", "dask", kind, *words]
        self.processes[kind].append(subprocess.Popen(command, **QUIET))

    def end(self) -> None:
        """Kill all of it."""
        for one in [*self.processes["scheduler"], *self.processes["worker"]]:
            one.kill()
            one.wait()
        self.processes = {"scheduler": [], "worker": []}


@contextmanager
def watching(target: Path) -> Iterator[dict[str, set[tuple[int, int]]]]:
    """Note which files are ever seen under each name, by their place on the disk and time."""
    seen: dict[str, set[tuple[int, int]]] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.003):
            with suppress(OSError):
                for entry in os.scandir(target):
                    facts = entry.stat()
                    seen.setdefault(entry.name, set()).add((facts.st_ino, facts.st_mtime_ns))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def drawn(target: Path) -> int:
    """Number of files of reports."""
    return len(list(target.glob("*.parquet")))


def counted_early(target: Path) -> bool:
    """Whether an unfinished folder is counted."""
    with suppress(ModelFileError):
        lo.count_folder(target, QUESTION)
        return True
    return False


def one_round(cluster: Cluster, source: Path, target: Path, total: Counter[str]) -> None:
    """Privatize a folder with three kills at random moments, and judge what is there."""
    moments = sorted(random.sample(range(FILES - 1), 3))
    with watching(target) as seen:
        for _ in range(20):
            cluster.mend()
            words = [sys.executable, "-c", RUN, cluster.address, str(source), str(target)]
            client = subprocess.Popen(words, **QUIET)
            while client.poll() is None:
                time.sleep(0.005)
                if moments and drawn(target) > moments[0]:
                    moments.pop(0)
                    victim = random.choice(VICTIMS)
                    living = [client] if victim == "client" else cluster.processes[victim]
                    living = [one for one in living if one.poll() is None]
                    if living:
                        random.choice(living).kill()
                        total[f"kills of a {victim}"] += 1
                    if victim == "worker":
                        cluster.mend()
                    if victim == "scheduler":  # its client waits for it
                        client.kill()
                        client.wait()
                    if drawn(target) < FILES:
                        total["looked at while unfinished"] += 1
                        total["counted while unfinished"] += counted_early(target)
            total["calls"] += 1
            if client.returncode == 0:
                break
        total["rounds that did not finish"] += client.returncode != 0
    judge(source, target, seen, total)


def judge(source: Path, target: Path, seen: dict[str, Any], total: Counter[str]) -> None:
    """Compare what is there with the answers and with the inventory."""
    ids = np.concatenate(
        [pq.read_table(path, columns=["id"])["id"].to_numpy() for path in target.glob("*")]
    )
    total["people"] += len(ids)
    total["people lost"] += FILES * ROWS - len(np.unique(ids))
    total["people there twice"] += len(ids) - len(np.unique(ids))
    total["files that were replaced"] += sum(len(files) > 1 for files in seen.values())
    stated = Inventory.load(str(target))
    facts = {part.name: facts_of(part) for part in parts_of(str(target)).parts}
    total["inventories that are wrong"] += (
        stated is None or not stated.finished or stated.parts != facts
    )
    counts = lo.count_folder(target, QUESTION)["answer"]
    total["counts that are wrong"] += counts.n_reports != FILES * ROWS
    total["folders of parts left"] += Path(f"{target}.parts").exists()
    total["rounds"] += 1


def main(kills: int, limit: float) -> None:
    """Rounds until there were enough kills, or the time is over."""
    total = Counter[str]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "answers"
        source.mkdir()
        rng = np.random.default_rng(1)
        for number in range(FILES):
            ids = np.arange(number * ROWS, (number + 1) * ROWS)
            frame = pd.DataFrame({"answer": rng.choice(["no", "yes"], ROWS), "id": ids})
            frame.to_parquet(source / f"{number:02}.parquet")
        cluster = Cluster()
        try:
            number = 0
            while sum(total[f"kills of a {victim}"] for victim in VICTIMS) < kills:
                if time.monotonic() - began > limit:
                    break
                random.seed(number)
                one_round(cluster, source, Path(place) / f"reports{number}", total)
                number += 1
                print(dict(total), file=sys.stderr, flush=True)
        finally:
            cluster.end()
    print("| | number |\n|---|---|")
    for name, count in total.items():
        print(f"| {name} | {count:,} |")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["100"])[0]), float((sys.argv[2:] or ["3600"])[0]))
