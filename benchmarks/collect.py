"""The collector under load: reports a second, waiting times, and kills -9 in the middle.

    python benchmarks/collect.py speed --reports 20000 --clients 32
    python benchmarks/collect.py kills --kills 200
    python benchmarks/collect.py speed --to postgresql+psycopg://postgres@localhost/reports

The tables of the database are deleted first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

import ldpopt as lo
from ldpopt.surveys.form import form_digest
from ldpopt.tables.database import is_database, open_database

# Starts a collector for each port on stdin; the packages are loaded once, so that a kill costs no
# second.
STARTER = """
import os, signal, sys
import sqlalchemy, starlette.applications, uvicorn
from ldpopt import Survey
from ldpopt.fieldwork import Store
from ldpopt.fieldwork.service import serve
survey, url = Survey.load(sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for port in sys.stdin:
    if os.fork() == 0:
        with Store(url, survey) as store:
            said = lambda address: print(os.getpid(), address, flush=True)
            serve(store, "", port=int(port), started=said)
        os._exit(0)
"""


def bodies_of(
    survey: lo.Survey, answers: pd.DataFrame, rng: int, columns: list[str] | None = None
) -> list[bytes]:
    """Messages of devices on which people gave these answers; columns of reports: the questions."""
    with tempfile.TemporaryDirectory() as folder:
        answers.to_csv(f"{folder}/answers.csv", index=False)
        survey.privatize_file(f"{folder}/answers.csv", f"{folder}/reports.csv", rng=rng)
        rows = pd.read_csv(f"{folder}/reports.csv", dtype=str, keep_default_na=False)
    digest = form_digest(survey.form())
    return [
        json.dumps(
            {
                "form": digest,
                "words": survey.words_digest,
                "id": secrets.token_hex(16),
                "reports": {k: v or None for k, v in row.items()},
            },
            ensure_ascii=False,
        ).encode()
        for row in rows[columns or list(survey.questions)].to_dict("records")
    ]


def example() -> tuple[lo.Survey, pd.DataFrame]:
    """A survey of three questions, one with sets as reports, and the answers of a thousand
    people."""
    branches = [f"sector {k}" for k in range(28)]
    questions = {
        "absence": lo.design(lo.Workload.frequencies(["never", "once", "often"]), lo.PureLDP(1.0)),
        "branch": lo.design(lo.Workload.frequencies(branches), lo.PureLDP(1.0)),
        "smokes": lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]),
    }
    rng = np.random.default_rng(1)
    shares = {"absence": [0.6, 0.3, 0.1], "branch": [1 / 28] * 28, "smokes": [0.7, 0.3]}
    answers = {
        name: rng.choice(np.array(question.inputs, object), 1000, p=shares[name])
        for name, question in lo.Survey(questions).questions.items()
    }
    return lo.Survey(questions, title="Absence"), pd.DataFrame(answers)


def clear(url: str) -> None:
    """Delete the tables of a database."""
    import sqlalchemy as sa

    engine = open_database(url, new=True)
    with engine.begin() as connection:
        for table in ("reports", "about", "invitations"):
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
    engine.dispose()


def rows_of(url: str) -> list[dict[str, str]]:
    """All rows of the reports."""
    import sqlalchemy as sa

    engine = open_database(url)
    with engine.connect() as connection:
        found = [
            dict(row) for row in connection.execute(sa.text("SELECT * FROM reports")).mappings()
        ]
    engine.dispose()
    return found


class Server:
    """A collector in a process of its own, which can be killed and started again on the same
    port."""

    def __init__(self, survey: Path, url: str) -> None:
        command = [sys.executable, "-c", STARTER, str(survey), url]
        pipes = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }
        self._starter = subprocess.Popen(command, **pipes)
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start the collector, and wait until it listens."""
        print(self.port, file=self._starter.stdin, flush=True)
        line = self._starter.stdout.readline()
        assert "http://" in line, line + self._starter.communicate()[0]
        self.pid = int(line.split()[0])
        self.port = int(line.rstrip("/\n").rpartition(":")[2])

    def end(self, number: int) -> None:
        """Send a signal to the collector, and wait until the process is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            while True:
                os.kill(self.pid, 0)
                time.sleep(0.001)

    def close(self) -> str:
        """End everything in order; return what was printed meanwhile."""
        self.end(signal.SIGTERM)
        return self._starter.communicate()[0]

    def seconds(self) -> float:
        """Processor time of the collector."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Largest memory of the collector."""
        line = next(
            line
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if "VmHWM" in line
        )
        return int(line.split()[1]) / 1024


async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> int:
    """Post a message on an open connection; return the status."""
    # Written by hand, so that the client is not what is measured.
    head = (
        b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-type: "
        b"text/plain\r\ncontent-length: %d\r\n\r\n"
    )
    writer.write(head % len(body) + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    line = next(
        line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    await reader.readexactly(int(line.partition(b":")[2]))
    return int(answer[9:12])


async def load(
    port: int, bodies: list[bytes], clients: int
) -> tuple[list[float], list[int], float]:
    """Send messages with some clients at once; return waiting times, statuses and seconds."""
    waiting = bodies[::-1]
    times = []
    statuses = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            start = time.perf_counter()
            statuses.append(await send(reader, writer, waiting.pop()))
            times.append(time.perf_counter() - start)
        writer.close()
        await writer.wait_closed()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return times, statuses, time.perf_counter() - start


def speed(
    survey: lo.Survey, bodies: list[bytes], url: str, clients: int, folder: Path
) -> dict[str, float]:
    """Reports a second and waiting times of one load."""
    clear(url)
    survey.save(folder / "survey.json")
    server = Server(folder / "survey.json", url)
    times, statuses, seconds = asyncio.run(load(server.port, bodies, clients))
    used = server.seconds()
    memory = server.megabytes()
    printed = server.close()
    assert printed == "", printed
    assert set(statuses) == {200}
    assert len(rows_of(url)) == len(bodies)
    return {
        "reports a second": len(bodies) / seconds,
        "median ms": 1e3 * float(np.median(times)),
        "99 % ms": 1e3 * float(np.quantile(times, 0.99)),
        "largest ms": 1e3 * max(times),
        "processor s": used,
        "MB": memory,
        "load average": os.getloadavg()[0],
    }


def kill_under_load(
    survey: lo.Survey, url: str, kills: int, folder: Path, clients: int = 32
) -> dict[str, int]:
    """Kill the collector again and again while clients send each message until it is
    acknowledged."""
    clear(url)
    survey.save(folder / "survey.json")
    answers = {name: [question.inputs[0]] * 500 for name, question in survey.questions.items()}
    return asyncio.run(
        _kill(survey, pd.DataFrame(answers), url, kills, folder / "survey.json", clients)
    )


async def _kill(
    survey: lo.Survey, answers: pd.DataFrame, url: str, kills: int, path: Path, clients: int
) -> dict[str, int]:
    waiting: list[bytes] = []
    acknowledged: dict[str, bytes] = {}
    ended = False
    again = 0
    rng = random.Random(3)
    server = Server(path, url)

    async def client() -> None:
        nonlocal again
        writer = None
        while not ended:
            if not waiting:
                waiting.extend(bodies_of(survey, answers, rng=rng.randrange(10**9)))
            body = waiting.pop()
            while body is not None:
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                    status = await send(reader, writer, body)
                    assert status == 200, status
                    acknowledged[json.loads(body)["id"]], body = body, None
                except (OSError, asyncio.IncompleteReadError):
                    if writer is not None:
                        writer.close()
                        again += 1
                    writer = None
                    await asyncio.sleep(0.02)
        if writer is not None:
            writer.close()

    tasks = [asyncio.create_task(client()) for _ in range(clients)]
    for done in range(kills):
        before = len(acknowledged)
        while len(acknowledged) < before + 20:
            await asyncio.sleep(0.01)
            for task in tasks:
                if task.done():
                    task.result()  # an error
        await asyncio.sleep(rng.uniform(0, 0.25))
        server.end(signal.SIGKILL)
        await asyncio.to_thread(server.start)
        if done % 20 == 19:
            print(
                f"{done + 1} kills, {len(acknowledged):,} acknowledged", file=sys.stderr, flush=True
            )
    ended = True
    await asyncio.gather(*tasks)
    printed = server.close()
    assert printed == "", printed
    rows = rows_of(url)
    found = {row.pop("id"): row for row in rows}
    return {
        "kills": kills,
        "acknowledged": len(acknowledged),
        "rows": len(rows),
        "lost": sum(one not in found for one in acknowledged),
        "changed": sum(
            found[k] != json.loads(body)["reports"]
            for k, body in acknowledged.items()
            if k in found
        ),
        "twice": len(rows) - len(found),
        "sent again": again,
    }


def main() -> None:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "kills"))
    parser.add_argument("--to", help="default: SQLite in a temporary folder")
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    survey, answers = example()
    with tempfile.TemporaryDirectory() as name:
        url = given.to or f"sqlite:///{name}/reports.db"
        assert is_database(url)
        for _ in range(given.repeat):
            if given.what == "kills":
                found = kill_under_load(survey, url, given.kills, Path(name), given.clients)
                print(", ".join(f"{key} {value:,}" for key, value in found.items()), flush=True)
                continue
            bodies = bodies_of(
                survey, answers.sample(given.reports, replace=True, random_state=1), rng=1
            )
            figures = speed(survey, bodies, url, given.clients, Path(name))
            print(", ".join(f"{key} {value:,.1f}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
