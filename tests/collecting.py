"""A collector in a process of its own, for tests: the command `survey collect`, and what one sends
to it."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import re
import secrets
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from builders import seconds
from ldpopt import Mechanism, Survey
from ldpopt.surveys.form import form_digest

SURVEY = Survey({"smokes": Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])})
DIGEST = form_digest(SURVEY.form())

FORKS = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
"""Processes that have imported what a collector needs, which takes a second each time."""

if sys.platform != "win32":
    FORKS.set_forkserver_preload(
        [
            *("ldpopt.cli.app", "ldpopt.fieldwork.service", "jinja2", "pydantic.root_model"),
            *("sqlalchemy.dialects.sqlite", "uvicorn.protocols.http.auto", "uvicorn.lifespan.on"),
            *("starlette.applications", "starlette.responses", "starlette.routing"),
        ]
    )

COMMAND = """
import os, sys

for number, name in ((1, "told"), (2, "errors")):
    os.dup2(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY), number)
sys.argv[1:] = words
exec(first, {})
from ldpopt.cli import main

code = 0
try:
    main()
except SystemExit as ended:
    code = ended.code or 0
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # a signal that comes now would meet the end of a test's process, not of the command
"""


def message(**changes: Any) -> dict[str, Any]:
    """A message of the survey."""
    told = {"form": DIGEST, "words": SURVEY.words_digest, "id": secrets.token_hex(16)}
    return told | {"reports": {"smokes": "yes"}} | changes


class Collecting:
    """`ldpopt survey collect` with a database in a folder; ``first`` is Python that runs before."""

    def __init__(self, folder: Path, *options: str, first: str = "") -> None:
        SURVEY.save(folder / "survey.json")
        self.folder = folder
        self.path = folder / "reports.db"
        words = ["survey", "collect", str(folder / "survey.json"), "--to", f"sqlite:///{self.path}"]
        words += ["--port", "0", "--json", "-", *options]
        names = {"folder": str(folder), "words": words, "first": first}
        for name in ("told", "errors"):
            (folder / name).write_text("")
        self.process = FORKS.Process(target=exec, args=(COMMAND, names), daemon=True)
        self.process.start()
        told = folder / "told"
        until(lambda: told.read_text().endswith("\n") or not self.process.is_alive())
        assert self.process.is_alive(), self.said()
        self.address = json.loads(told.read_text())["address"]
        self.host, _, port = self.address[len("http://") : -1].rpartition(":")
        self.port = int(port)

    def __enter__(self) -> Collecting:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()

    def send(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was written to stderr."""
        self.send(number)
        self.process.join(seconds(60))
        return self.process.exitcode, self.said()

    def said(self) -> str:
        """What was written to stderr so far."""
        return (self.folder / "errors").read_text()

    def connect(self) -> socket.socket:
        """Open a connection, and say nothing."""
        return socket.create_connection((self.host.strip("[]"), self.port), timeout=seconds(60))

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send one request on a connection of its own; return status and content."""
        connection = http.client.HTTPConnection(
            self.host.strip("[]"), self.port, timeout=seconds(60)
        )
        try:
            text = json.dumps(body) if isinstance(body, dict) else body
            connection.request(method, path, text)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, body: Any = None) -> int:
        """Send a message, by default a new one; return the status."""
        return self.ask("POST", "/reports", message() if body is None else body)[0]


def until(condition: Any, usual: float = 60) -> Any:
    """Wait until a condition holds, and return its value."""
    end = time.monotonic() + seconds(usual)
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection, after what it may have sent."""
    connection.settimeout(seconds(60))
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def stored_order(path: Path, ids: list[str]) -> list[int]:
    """Positions, in the order of arrival, of the ids as they are stored in a file of SQLite: from
    the end of each page to its start, a page after another."""
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    places = {}
    for position, one in enumerate(ids):
        found = [match.start() for match in re.finditer(one.encode(), data)]
        assert len(found) == 1, f"{len(found)} copies"
        places[position] = (found[0] // size, -(found[0] % size))
    return sorted(places, key=places.__getitem__)
