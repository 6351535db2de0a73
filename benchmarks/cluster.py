"""Surveys on engines: seconds, CPU, page faults and memory of each, and kills under Spark.

python benchmarks/cluster.py speed --rows 1e7          # five minutes on an idle machine
python benchmarks/cluster.py kills --rows 1.2e6        # needs Java; five minutes
python benchmarks/cluster.py kills --rows 1.2e6 --master standalone   # executors as processes
python benchmarks/cluster.py studies                   # sweep, simulation, city on Dask; kills

The results are in docs/measurements/cluster.md. Linux only: figures come from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import ldpopt as lo
from ldpopt.errors import LdpoptError

FILES = 16
LABELS = ["never", "monthly", "weekly", "daily"]
RESPONSE = lo.Mechanism(np.full((4, 4), 1 / 6) + np.eye(4) / 3, LABELS)
KEY = lo.SecretKey(bytes(range(32)))
KEYED = {"key": KEY, "id": "id"}
Work = Callable[[Path, Path], Any]  # reads the first folder, writes the second


def write_answers(folder: Path, rows: int, files: int = FILES) -> None:
    """Write answers and ids in files of equal size."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    each = rows // files
    for number in range(files):
        codes = pa.array(rng.choice(4, each, p=[0.46, 0.27, 0.18, 0.09]).astype(np.int8))
        answers = pa.DictionaryArray.from_arrays(codes, LABELS).cast(pa.string())
        ids = pa.array(np.arange(each) + each * number)
        pq.write_table(pa.table({"id": ids, "drinks": answers}), folder / f"{number:03}.parquet")


# Ways to draw reports. Each is a context: what it starts is not measured.


@contextmanager
def by_folder(**options: Any) -> Iterator[Work]:
    yield lambda source, target: lo.privatize_folder(
        source, target, {"drinks": RESPONSE}, **options
    )


@contextmanager
def by_dask(workers: int) -> Iterator[Work]:
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    with (
        SubprocessCluster(n_workers=workers, worker_kwargs={"nthreads": 1}) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        with by_folder(executor=client) as work:
            yield work


@contextmanager
def by_spark(master: str = "local[2]") -> Iterator[Work]:
    spark = session(master)

    def work(source: Path, target: Path) -> None:
        answers = spark.read.parquet(str(source))
        reports = RESPONSE.privatize(answers, "drinks", **KEYED)
        reports.select("drinks").write.parquet(str(target))

    yield work
    spark.stop()


@contextmanager
def by_polars() -> Iterator[Work]:
    """What people write by hand: floats of a generator that is not made for secrets."""
    import polars as pl

    def work(source: Path, target: Path) -> None:
        target.mkdir()
        rng = np.random.default_rng()
        for path in sorted(source.glob("*.parquet")):
            answers = pl.read_parquet(path, columns=["drinks"])["drinks"]
            kept = pl.Series(rng.random(len(answers)) < 1 / 3)
            drawn = pl.Series(LABELS).gather(rng.integers(0, 4, len(answers)))
            reports = answers.zip_with(kept, drawn)
            reports.to_frame("drinks").write_parquet(target / path.name)

    yield work


@contextmanager
def by_duckdb() -> Iterator[Work]:
    """The same in SQL, in two threads."""
    import duckdb

    labels = ", ".join(f"'{label}'" for label in LABELS)
    other = f"[{labels}][1 + CAST(floor(random() * 4) AS INTEGER)]"
    drawn = f"CASE WHEN random() < 1 / 3.0 THEN drinks ELSE {other} END"

    def work(source: Path, target: Path) -> None:
        target.mkdir()
        with duckdb.connect(config={"threads": 2}) as connection:
            for path in sorted(source.glob("*.parquet")):
                query = f"SELECT {drawn} AS drinks FROM '{path}'"
                connection.execute(f"COPY ({query}) TO '{target / path.name}'")

    yield work


# Ways to count reports.


@contextmanager
def count_by_folder(**options: Any) -> Iterator[Work]:
    yield lambda source, _: lo.count_folder(source, {"drinks": RESPONSE}, **options)["drinks"]


@contextmanager
def count_by_spark() -> Iterator[Work]:
    spark = session("local[2]")
    yield lambda source, _: lo.Counts.of(RESPONSE, spark.read.parquet(str(source)), column="drinks")
    spark.stop()


@contextmanager
def count_by_duckdb() -> Iterator[Work]:
    import duckdb

    def work(source: Path, _: Path) -> Any:
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.execute(f"CREATE VIEW reports AS SELECT * FROM '{source}/*.parquet'")
            rows = connection.execute(lo.counts_query(RESPONSE, "reports", "drinks")).fetchall()
            return lo.Counts.of_rows(RESPONSE, rows)

    yield work


@contextmanager
def count_by_polars() -> Iterator[Work]:
    import polars as pl

    yield lambda source, _: lo.Counts.of(RESPONSE, pl.scan_parquet(source), column="drinks")


def session(master: str) -> Any:
    """A session of Spark without its page."""
    import warnings

    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


DRAW: dict[str, Callable[[], Any]] = {
    "one process": by_folder,
    "`jobs=2`": lambda: by_folder(jobs=2),
    "Dask, one worker": lambda: by_dask(1),
    "Dask, two workers": lambda: by_dask(2),
    "Polars by hand": by_polars,
    "DuckDB by hand": by_duckdb,
    "one process, key": lambda: by_folder(**KEYED),
    "`jobs=2`, key": lambda: by_folder(**KEYED, jobs=2),
    "Spark `local[2]`, key": by_spark,
}
COUNT: dict[str, Callable[[], Any]] = {
    "count: one process": count_by_folder,
    "count: `jobs=2`": lambda: count_by_folder(jobs=2),
    "count: Spark `local[2]`": count_by_spark,
    "count: a query in DuckDB": count_by_duckdb,
    "count: a lazy table of Polars": count_by_polars,
}
WAYS = DRAW | COUNT


def family() -> list[psutil.Process]:
    """This process and its descendants."""
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def used() -> tuple[float, int]:
    """CPU seconds and page faults of the family, with those of its processes that ended."""
    seconds = 0.0
    faults = 0
    for process in family():
        with suppress(psutil.Error, OSError):
            seconds += sum(process.cpu_times()[:4])
            numbers = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            faults += int(numbers[7]) + int(numbers[8])
    return seconds, faults


class Peak(threading.Thread):
    """The largest memory of the family that was seen, in MB; shared pages count once for each."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.megabytes = 0.0
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(0.1):
            total = 0
            for process in family():
                with suppress(psutil.Error):
                    total += process.memory_info().rss
            self.megabytes = max(self.megabytes, total / 1e6)


@contextmanager
def target_in(place: Path) -> Iterator[Path]:
    """A folder to write, which goes away with the inventory that is written beside it."""
    with tempfile.TemporaryDirectory(dir=place) as aside:
        yield Path(aside) / "reports"


def measure(way: str, place: Path, rows: int) -> None:
    """Run a way on a small folder, then three times on the folder; print the figures of each."""
    folder = "reports" if way in COUNT else "answers"
    with WAYS[way]() as work:
        with target_in(place) as target:
            work(place / f"small {folder}", target)
        for _ in range(3):
            with target_in(place) as target:
                before = used()
                peak = Peak()
                peak.start()
                began = time.perf_counter()
                work(place / folder, target)
                wall = time.perf_counter() - began
                after = used()
                peak.is_over.set()
            figures = wall, after[0] - before[0], after[1] - before[1], peak.megabytes
            print("FIGURES", json.dumps([rows, *figures]), flush=True)


def speed(rows: int, ways: list[str]) -> None:
    """Print a table of the ways, each in processes of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for prefix, size in (("", rows), ("small ", 16_000)):
            write_answers(place / f"{prefix}answers", size)
            with by_folder() as work:
                work(place / f"{prefix}answers", place / f"{prefix}reports")
        load = os.getloadavg()[0]
        print(f"{rows:,} rows in {FILES} files; {load:.1f} processes wanted the cores before.\n")
        print("| way | wall s | CPU s | page faults | memory MB | CPU: times one process |")
        print("|---|---|---|---|---|---|")
        first: dict[str, float] = {}
        for way in ways or WAYS:
            run = [sys.executable, __file__, "way", way, "--place", scratch, "--rows", str(rows)]
            said = subprocess.run(run, capture_output=True, text=True, check=False)
            lines = [line for line in said.stdout.splitlines() if line.startswith("FIGURES")]
            if not lines:
                print(f"| {way} | failed: {said.stderr.strip()[-200:]} |")
                continue
            figures = [json.loads(line.removeprefix("FIGURES")) for line in lines]
            wall, cpu, faults, memory = (min(each[k] for each in figures) for k in (1, 2, 3, 4))
            base = first.setdefault(
                "count" if way in COUNT else "key" if "key" in way else "draw", cpu
            )
            figure = f"{wall:.2f} | {cpu:.2f} | {faults:,} | {memory:.0f} | {cpu / base:.2f}"
            print(f"| {way} | {figure} |", flush=True)


# Kills under Spark.

JOBS = """
import sys
sys.path.insert(0, {here!r})
import cluster
spark = cluster.session(sys.argv[1])
for line in sys.stdin:
    answers = spark.read.parquet(sys.argv[2]).repartition(12)
    reports = cluster.RESPONSE.privatize(answers, "drinks", **cluster.KEYED)
    try:
        reports.write.mode("overwrite").parquet(line.strip())
        print("FINISHED", flush=True)
    except Exception:
        print("FAILED", flush=True)
"""
VICTIMS = {
    "a worker process of Python": "pyspark.daemon",
    "an executor": "CoarseGrainedExecutorBackend",
    "a worker with its executor": "deploy.worker.Worker",
    "the driver": "SparkSubmit",
}
LOCAL, STANDALONE = "local[2,4]", "standalone"
SHARES = {  # of the kills, by master
    LOCAL: {"a worker process of Python": 0.7, "the driver": 0.3},
    STANDALONE: {"an executor": 0.5, "a worker with its executor": 0.25, "the driver": 0.25},
}


def command_of(process: psutil.Process) -> str:
    """The command of a process; of one that ended, nothing."""
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


class Standalone:
    """A master of Spark and two workers of one core, each a process with executors of its own."""

    def __init__(self, place: Path) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        self.command = [str(home / "bin" / "spark-class")]
        self.environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.place = place
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.address = f"spark://127.0.0.1:{port}"
        words = ("--host", "127.0.0.1", "--port", port, "--webui-port", "0")
        self.master = self._start("master.Master", *words)
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, kind: str, *words: str) -> subprocess.Popen[bytes]:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [*self.command, f"org.apache.spark.deploy.{kind}", *words]
        return subprocess.Popen(command, env=self.environment, **quiet)

    def mend(self) -> None:
        """Start the workers that are missing."""
        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < 2:
            words = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
            words = (*words, "--work-dir", str(self.place / "work"), self.address)
            self.workers.append(self._start("worker.Worker", *words))

    def end(self) -> None:
        """End all of it."""
        for each in [*self.workers, self.master]:
            each.kill()
            each.wait()


class Driver:
    """A driver of Spark in a process of its own, which runs one job after the other."""

    def __init__(self, master: str, answers: Path, standalone: Standalone | None) -> None:
        code = JOBS.format(here=str(Path(__file__).parent))
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, master, str(answers)],
            stderr=subprocess.DEVNULL,
            text=True,
            **pipes,
        )
        self.standalone = standalone

    def job(self, target: Path, kind: str | None) -> tuple[bool, bool]:
        """Run a job and kill a process of a kind in it; whether it finished, and was struck."""
        stream = self.process.stdin
        assert stream is not None
        assert self.process.stdout is not None
        stream.write(f"{target}\n")
        stream.flush()
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.append(self.process.stdout.readline()))
        reader.start()
        struck = False
        delay = random.uniform(0.0, 1.0)
        began = 0.0
        while reader.is_alive():
            reader.join(0.05)
            if self.standalone:
                self.standalone.mend()
            with suppress(psutil.Error):
                # executors are children of the workers, not of the driver
                lines = [(each, command_of(each)) for each in family()[1:]]
                drawing = [
                    each for each, line in lines if VICTIMS["a worker process of Python"] in line
                ]
                began = began or (time.monotonic() if len(drawing) > 2 else 0.0)
                if kind and began and not struck and time.monotonic() - began > delay:
                    victims = [each for each, line in lines if VICTIMS[kind] in line]
                    # the first process of Python only starts the others: it is left alive
                    victims = [each for each in victims if each.parent() in victims] or victims
                    if victims:
                        random.choice(victims).kill()
                        struck = True
        return said == ["FINISHED\n"], struck

    def end(self) -> None:
        """End the driver and all that it started."""
        with suppress(psutil.Error):
            started = psutil.Process(self.process.pid).children(recursive=True)
            for each in [*started, self.process]:
                with suppress(psutil.Error):
                    each.kill()
        self.process.communicate()


def kills(number: int, rows: int, master: str) -> None:
    """Kill processes of Spark, repeat what did not finish, and compare each person's report."""
    random.seed(1)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(chdir(place))
        write_answers(place / "answers", rows, 6)
        answers = pq.read_table(place / "answers").to_pandas()
        plain = RESPONSE.privatize(answers, "drinks", **KEYED).set_index("id")["drinks"]
        standalone = None
        if master == STANDALONE:
            standalone = Standalone(place)
            stack.callback(standalone.end)
            standalone.mend()
        address = standalone.address if standalone else master

        def start() -> Driver:
            driver = Driver(address, place / "answers", standalone)
            stack.callback(driver.end)
            return driver

        print("| killed | kills | runs repeated | persons lost | twice | other reports |")
        print("|---|---|---|---|---|---|")
        driver = start()
        for kind, share in SHARES[master].items():
            total = Counter[str]()
            for _ in range(2 * number):
                if total["kills"] == round(share * number):
                    break
                finished, struck = driver.job(place / "reports", kind)
                total["kills"] += struck
                while not finished:
                    total["repeated"] += 1
                    if kind == "the driver":
                        driver.end()
                        driver = start()
                    finished, _ = driver.job(place / "reports", None)
                reports = pq.read_table(place / "reports").to_pandas()
                drawn = reports.drop_duplicates("id").set_index("id")["drinks"]
                total["lost"] += len(plain) - len(drawn)
                total["twice"] += len(reports) - len(drawn)
                total["other"] += int((drawn != plain.reindex(drawn.index)).sum())
                print(kind, dict(total), file=sys.stderr, flush=True)
            names = ("kills", "repeated", "lost", "twice", "other")
            figures = " | ".join(str(total[name]) for name in names)
            print(f"| {kind} | {figures} |", flush=True)


# Studies on Dask, whose workers are killed.


class Striker(threading.Thread):
    """Kills a worker of a cluster every few seconds, some times."""

    def __init__(self, client: Any, number: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.number = number
        self.pause = pause
        self.kills = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        while self.kills < self.number and not self.is_over.wait(self.pause):
            with suppress(Exception):
                pids = list(self.client.run(os.getpid).values())
                psutil.Process(random.choice(pids)).kill()
                self.kills += 1


def studies(number: int, names: list[str]) -> None:
    """A sweep, a simulation and a city of 625 places on two workers: here, there, with kills."""
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    problem = lo.Problem(rng.dirichlet(np.ones(60)), rng.random((60, 60)).round(3), lo.PureLDP(1))
    grid = np.linspace(0.1, 4.0, 60)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from cities import synthetic_city

    places = synthetic_city(625, rng=1).problem(1.0)
    tasks: dict[str, Callable[..., Any]] = {
        "sweep, 60 budgets": lambda **o: lo.sweep(problem, grid, **o).column("value").tolist(),
        "simulation, 200 surveys": lambda **o: lo.simulate(
            RESPONSE, [0.4, 0.3, 0.2, 0.1], population=100_000, repeats=200, rng=1, **o
        ).utilities.tolist(),
        "a city of 625 places": lambda **o: (
            lo.solve(places, gap=0.05, time_limit=600, **o).mechanism.digest
        ),
    }
    print("| study | here s | two workers s | kills | with kills s | same results |")
    print("|---|---|---|---|---|---|")
    for name in names or tasks:
        task = tasks[name]
        began = time.perf_counter()
        here = task()
        alone = time.perf_counter() - began
        settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1}
        with LocalCluster(**settings, dashboard_address=":0") as cluster, Client(cluster) as client:
            began = time.perf_counter()
            there = task(executor=client)
            spread = time.perf_counter() - began
            striker = Striker(client, number, max(0.3, spread / (number + 1)))
            striker.start()
            began = time.perf_counter()
            try:
                after = task(executor=client)
            except LdpoptError as error:
                after = str(error)
            shaken = time.perf_counter() - began
            striker.is_over.set()
            striker.join()
        same = "yes" if here == there == after else f"no: {str(after)[:200]}"
        print(
            f"| {name} | {alone:.1f} | {spread:.1f} | {striker.kills} | {shaken:.1f} | {same} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["speed", "kills", "studies", "way"])
    parser.add_argument("ways", nargs="*")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--place")
    parser.add_argument("--master", choices=list(SHARES), default=LOCAL, help="of Spark, for kills")
    chosen = parser.parse_intermixed_args()
    if chosen.part == "way":
        measure(chosen.ways[0], Path(chosen.place), int(chosen.rows))
    elif chosen.part == "speed":
        speed(int(chosen.rows), chosen.ways)
    elif chosen.part == "kills":
        kills(chosen.kills, int(min(chosen.rows, 2.4e6)), chosen.master)
    else:
        studies(chosen.kills, chosen.ways)
