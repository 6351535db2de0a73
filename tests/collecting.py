"""A collector in a process of its own, for tests: the command `survey collect`, and what one sends
to it."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from builders import seconds
from ldpopt import Mechanism, Survey
from ldpopt.surveys.form import form_digest

SURVEY = Survey({"smokes": Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])})
DIGEST = form_digest(SURVEY.form())
COMMAND = "from ldpopt.cli import main; main()"


def message(**changes: Any) -> dict[str, Any]:
    """A message of the survey."""
    told = {"form": DIGEST, "words": SURVEY.words_digest, "id": secrets.token_hex(16)}
    return told | {"reports": {"smokes": "yes"}} | changes


class Collecting:
    """`ldpopt survey collect` with a database in a folder; ``first`` is a line of Python that runs
    before."""

    def __init__(self, folder: Path, *options: str, first: str = "pass", **popen: Any) -> None:
        SURVEY.save(folder / "survey.json")
        self.folder = folder
        self.path = folder / "reports.db"
        words = ["survey", "collect", str(folder / "survey.json"), "--to", f"sqlite:///{self.path}"]
        words += ["--port", "0", "--json", "-", *options]
        self.errors = (folder / "errors").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{first}\n{COMMAND}", *words],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            **popen,
        )
        line = self.process.stdout.readline()
        assert line, self.end(signal.SIGKILL)
        self.address = json.loads(line)["address"]
        self.host, _, port = self.address[len("http://") : -1].rpartition(":")
        self.port = int(port)

    def __enter__(self) -> Collecting:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.errors.close()
        self.process.stdout.close()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was written to stderr."""
        self.process.send_signal(number)
        code = self.process.wait(seconds(60))
        return code, self.said()

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
