"""The collector beside a plain endpoint of the same server, over many reports, and under attack.

    python benchmarks/attack.py                       # about 6 minutes; writes attack.md
    python benchmarks/attack.py --reports 2000

Needs Linux and 8,192 file descriptors. `httptools` and `uvloop` are used where they are installed,
as by `pip install "ldpopt[collect]"`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import platform
import resource
import secrets
import signal
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from collect import Server, bodies_of, example, load

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from collecting import Collecting, message, stored_order, until

# The same server without a database: it reads the body and parses its JSON. The line is that of a
# started collector.
PLAIN = """
import json, os, socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def receive(request):
    json.loads(await request.body())
    return JSONResponse({"kept": True})
app = Starlette(routes=[Route("/reports", receive, methods=["POST"])])
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(os.getpid(), f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
config = uvicorn.Config(app, access_log=False, log_config=None, log_level="warning")
uvicorn.Server(config).run(sockets=[listener])
"""
PAGE = (
    "import ldpopt.fieldwork.form_page as f; page = f.page; f.page = lambda *a, **k: page(*a, **k)"
)


class Plain(Server):
    """The endpoint without a database, in a process of its own."""

    def __init__(self) -> None:
        import subprocess

        self._starter = subprocess.Popen(
            [sys.executable, "-c", PLAIN], stdout=subprocess.PIPE, text=True
        )
        line = self._starter.stdout.readline()
        self.pid = int(line.split()[0])
        self.port = int(line.rstrip("/\n").rpartition(":")[2])

    def close(self) -> str:
        self._starter.terminate()
        return self._starter.communicate()[0]


def rates(reports: int, repeats: int, folder: Path) -> Iterator[list[Any]]:
    """Reports a second, waiting times and CPU s of both, in turn."""
    survey, answers = example()
    survey.save(folder / "survey.json")
    people = answers.sample(reports, replace=True, random_state=1)
    for clients in (1, 32, 200):
        size = max(200, reports // 10) if clients == 1 else reports
        seen: dict[str, list[list[float]]] = {}
        for _ in range(repeats):
            bodies = bodies_of(survey, people.iloc[:size], rng=secrets.randbits(30))
            for kind in ("collector", "plain endpoint"):
                url = f"sqlite:///{folder}/{secrets.token_hex(4)}.db"
                server = Server(folder / "survey.json", url) if kind == "collector" else Plain()
                before = server.seconds()
                times, statuses, seconds = asyncio.run(load(server.port, bodies, clients))
                assert set(statuses) == {200}
                used = server.seconds() - before
                server.close()
                row = [size / seconds, 1e3 * np.median(times), 1e3 * np.quantile(times, 0.99)]
                seen.setdefault(kind, []).append([*row, 1e3 * used / size])
        least = min(row[3] for row in seen["plain endpoint"])
        for kind, rows in seen.items():
            middle = [statistics.median(column) for column in zip(*rows, strict=True)]
            ratio = min(row[3] for row in rows) / least
            yield [clients, kind, *(f"{number:,.1f}" for number in middle), f"{ratio:.1f}"]


def memory(reports: int, folder: Path) -> Iterator[list[Any]]:
    """Largest memory after parts of many reports, and what the end costs."""
    survey, answers = example()
    survey.save(folder / "survey.json")
    path = folder / "many.db"
    server = Server(folder / "survey.json", f"sqlite:///{path}")
    parts = 5
    for part in range(parts):
        people = answers.sample(reports // parts, replace=True, random_state=part)
        bodies = bodies_of(survey, people, rng=part)
        _, statuses, _ = asyncio.run(load(server.port, bodies, 32))
        assert set(statuses) == {200}
        yield [f"{(part + 1) * (reports // parts):,}", f"{server.megabytes():.0f}"]
    before = time.perf_counter()
    assert server.close() == ""
    seconds = time.perf_counter() - before
    yield [f"the end: {seconds:.1f} s, {path.stat().st_size / 1e6:.1f} MB", ""]


@contextmanager
def collecting(**options: Any) -> Iterator[Collecting]:
    """A collector in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, Collecting(Path(folder), **options) as found:
        yield found


def opened(collector: Collecting, count: int, text: bytes = b"") -> list[socket.socket]:
    """Connections that say no more than a text."""
    found = []
    for _ in range(count):
        with suppress(OSError):
            found.append(collector.connect())
            found[-1].sendall(text)
    return found


def alive(connections: list[socket.socket]) -> int:
    """How many connections the other side has not closed."""
    count = 0
    for one in connections:
        one.setblocking(False)
        try:
            count += one.recv(1 << 16) != b""
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


def people(collector: Collecting, count: int = 50) -> str:
    """Statuses and waiting times of people who each open a connection and send a report."""
    times, statuses = [], []
    for _ in range(count):
        start = time.perf_counter()
        with suppress(OSError):
            statuses.append(collector.post())
        times.append(1e3 * (time.perf_counter() - start))
    kept = f"{statuses.count(200)} of {count}"
    return f"{kept} kept; median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms"


def close(connections: list[socket.socket]) -> None:
    """Close connections."""
    for one in connections:
        one.close()


def limit(descriptors: int) -> dict[str, Any]:
    """A hard limit of descriptors for a process that is started."""
    both = (descriptors, descriptors)
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, both)}


def silent(count: int, text: bytes = b"", **options: Any) -> str:
    """People beside silent connections, and whether these end."""
    with collecting(**options) as collector:
        held = opened(collector, count, text)
        said = people(collector)
        open_files = len(os.listdir(f"/proc/{collector.process.pid}/fd"))
        start = time.monotonic()
        with suppress(AssertionError):
            until(lambda: alive(held) == 0, 40)
        end = f"{alive(held)} alive after {time.monotonic() - start:.0f} s"
        close(held)
        code, errors = collector.end()
        lines = errors.count("\n") - 1
        return (
            f"{open_files} descriptors; people: {said}; {end}; rc {code}, {lines} lines on stderr"
        )


def slow_heads() -> str:
    """Heads of which a byte comes each second."""
    with collecting() as collector:
        held = opened(collector, 400, b"GET / HTTP/1.1\r\nx-")
        start = time.monotonic()
        while alive(held) and time.monotonic() < start + 30:
            for one in held:
                with suppress(OSError):
                    one.setblocking(True)
                    one.send(b"a")
            time.sleep(1)
        seconds = time.monotonic() - start
        close(held)
        return f"all ended after {seconds:.0f} s; people: {people(collector)}"


def cut_uploads() -> str:
    """Messages whose sender goes away in the middle."""
    with collecting() as collector:
        for _ in range(100):
            close(
                opened(
                    collector, 1, b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"
                )
            )
        said = people(collector, 5)
        return f"people: {said}; stderr: {collector.end()[1].strip().rpartition('; ')[2]}"


def slow_reader() -> str:
    """A page of 20 MB that is read at 480 kB/s."""
    size, got = 20_000_000, 0
    with collecting(first=PAGE + f' + " " * {size}') as collector:
        (one,) = opened(collector, 1, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        start = time.monotonic()
        while got < size and (part := one.recv(24_000)):
            got += len(part)
            time.sleep(0.05)
        seconds = time.monotonic() - start
        one.close()
        whole = "whole" if got >= size else f"cut at {got:,}"
        return f"{whole}; {got / seconds / 1e3:.0f} kB/s for {seconds:.0f} s"


def moved() -> str:
    """The file is moved, and put back; the log is deleted, and the collector killed."""
    with collecting() as collector:
        before = [collector.post() for _ in range(3)]
        away = collector.folder / "away"
        collector.path.rename(away)
        during = [*(collector.post() for _ in range(3)), collector.ask("GET", "/health")[0]]
        away.rename(collector.path)
        after = [collector.post() for _ in range(3)]
        os.unlink(f"{collector.path}-wal")
        deleted = [*(collector.post() for _ in range(3)), collector.ask("GET", "/health")[0]]
        collector.end()
        with closing(sqlite3.connect(collector.path)) as found:
            rows = found.execute("SELECT count(*) FROM reports").fetchone()[0]
    return (
        f"{before}, moved {during}, back {after}, log deleted {deleted}; end in order: {rows} rows"
    )


def ends() -> str:
    """Forty reports and each of three signals; pairs of reports whose rows are in their order."""
    found = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with collecting() as collector:
            ids = [secrets.token_hex(16) for _ in range(40)]
            assert {collector.post(message(id=one)) for one in ids} == {200}
            code, _ = collector.end(number)
            order = stored_order(collector.path, ids)
            files = len(list(collector.folder.glob("reports.db*")))
            pairs = [a < b for k, a in enumerate(order) for b in order[k + 1 :]]
            found.append(f"{number.name}: rc {code}, {files} file, {np.mean(pairs):.2f}")
    return "; ".join(found)


def end_under_load() -> str:
    """SIGTERM while 16 clients send; what was acknowledged and is not there."""
    kept: list[str] = []
    with collecting() as collector:

        def client() -> None:
            with suppress(OSError):
                while True:
                    body = message()
                    if collector.post(body) == 200:
                        kept.append(body["id"])

        threads = [threading.Thread(target=client) for _ in range(16)]
        for thread in threads:
            thread.start()
        until(lambda: len(kept) > 500)
        code, _ = collector.end()
        for thread in threads:
            thread.join()
        with closing(sqlite3.connect(collector.path)) as found:
            there = {row[0] for row in found.execute("SELECT id FROM reports")}
    return f"rc {code}; acknowledged {len(kept)}, lost {len(set(kept) - there)}, rows {len(there)}"


def full_disk() -> str:
    """A limit of 300 kB for each file."""
    both = (300_000, 300_000)
    bound = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, both)}
    statuses: dict[str, int] = {}
    with collecting(**bound) as collector:
        for _ in range(300):
            body = message()
            statuses[body["id"]] = collector.post(body)
        code, _ = collector.end()
        with closing(sqlite3.connect(collector.path)) as found:
            there = {row[0] for row in found.execute("SELECT id FROM reports")}
    kept = {one for one, status in statuses.items() if status == 200}
    refused = sum(status == 503 for status in statuses.values())
    return f"{len(kept)} kept, {refused} x 503, lost {len(kept - there)}; rc {code}"


def floods() -> str:
    """People with a slow connection beside new silent ones, as fast as they can be opened."""
    with collecting() as collector:
        stop = threading.Event()
        made = [0]

        def opener() -> None:
            held: list[socket.socket] = []
            while not stop.is_set():
                held += opened(collector, 1)
                made[0] += 1
                if len(held) > 300:
                    held.pop(0).close()

        threads = [threading.Thread(target=opener) for _ in range(4)]
        for thread in threads:
            thread.start()
        found = []
        for pause in (0.1, 0.3, 0.6):
            good, first, start = 0, made[0], time.monotonic()
            for _ in range(10):
                with suppress(OSError), collector.connect() as one:
                    time.sleep(pause)
                    one.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                    good += one.recv(12) == b"HTTP/1.1 200"
            rate = (made[0] - first) / (time.monotonic() - start)
            found.append(f"{rate:.0f} a second, round trip {pause} s: {good} of 10")
        stop.set()
        for thread in threads:
            thread.join()
        return "; ".join(found)


ATTACKS: dict[str, Callable[[], str]] = {
    "40 reports, then a signal; share of pairs in order": ends,
    "SIGTERM under 16 clients": end_under_load,
    "3,000 silent connections": lambda: silent(3000),
    "1,100 connections that do not read a page of 600 kB": lambda: silent(
        1100, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", first=PAGE + ' + " " * 600_000'
    ),
    "1,000 messages of which one byte comes": lambda: silent(
        1000, b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 150\r\n\r\n{"
    ),
    "600 silent, hard limit of 256 descriptors": lambda: silent(600, **limit(256)),
    "1,500 silent, hard limit of 1,024": lambda: silent(1500, **limit(1024)),
    "400 heads of a byte a second": slow_heads,
    "100 cut uploads": cut_uploads,
    "a page of 20 MB, read slowly": slow_reader,
    "the file is moved, the log deleted": moved,
    "a full disk": full_disk,
    "new silent connections all the time": floods,
}


def table(heads: list[str], rows: list[list[Any]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, hard))
    stack = "httptools" if importlib.util.find_spec("httptools") else "h11"
    start = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        speed = list(rates(given.reports, given.repeats, folder))
        used = list(memory(10 * given.reports, folder))
    found = []
    for what, attack in ATTACKS.items():
        print(what, file=sys.stderr, flush=True)
        found.append([what, attack()])
    heads = ["clients", "server", "reports/s", "median ms", "99 % ms", "CPU ms a report", "ratio"]
    loads = f"{start:.0f} to {os.getloadavg()[0]:.0f}"
    given.output.write_text(
        f"""# The collector beside a plain endpoint, and under attack

`python benchmarks/attack.py`, {date.today()}, Python {platform.python_version()}, {stack}, SQLite,
two shared cores, load average {loads}: CPU seconds say more than rates. The plain endpoint is the
same server without a database: it parses the JSON of a message and answers. Ratio: CPU seconds, the
least of {given.repeats} runs in turn.

{table(heads, speed)}
Largest memory of the collector over many reports:

{table(["reports", "MB"], used)}
{table(["attack", "what was seen"], found)}"""
    )


if __name__ == "__main__":
    main()
