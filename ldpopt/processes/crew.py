"""A crew of worker processes: each is watched by a thread, and replaced when it dies."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.processes.board import ATTEMPTS, Board, Task
from ldpopt.processes.packing import DEFINE, packed

AHEAD_BYTES = 32_768
"""Points that a worker is sent ahead fit into a pipe, so that sending never waits for a worker that is sending."""


class Crew:
    """Worker processes for one task, from the first to the last line of a ``with`` block.

    Parameters
    ----------
    task : callable
        Called with a point in a worker; sent once.
    board : Board
        Where points are taken from and results go to.
    size : int
        Number of worker processes.

    Raises
    ------
    StatementError
        If the task cannot be sent to another process.
    """

    def __init__(self, task: Task, board: Board, size: int) -> None:
        self._board, self._size = board, size
        self._nursery = _Nursery(packed(task), size)
        self.is_ready = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, name=f"ldpopt-worker-{k}", daemon=True) for k in range(size)
        ]

    def __enter__(self) -> Crew:
        """Start; points are done as soon as workers have imported what they need, `is_ready` says when."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes; points that are not finished are lost."""
        self._board.stopped = True
        self._nursery.close()
        for thread in self._threads:
            thread.join(5.0)

    def _watch(self) -> None:
        """Keep one worker at work, whatever it dies of."""
        try:
            while self._employ():
                pass
        except BaseException as error:
            if not self._board.stopped:
                self._board.fail(error)

    def _employ(self) -> bool:
        """Let a new worker work until it dies or nothing waits; whether it died."""
        worker = self._nursery.fork()
        self.is_ready.set()
        given: deque[Hashable] = deque()
        with worker.channel:
            try:
                while self._hand_out(worker, given):
                    answer = pickle.loads(worker.channel.recv_bytes())
                    self._take_in(given.popleft(), *answer)
                return False
            except (EOFError, OSError):
                if self._board.stopped:
                    return False
        reason = self._nursery.ending(worker)
        if given:
            first = given.popleft()
            self._board.put_back(given)
            self._board.died(first, reason)
        return True

    def _hand_out(self, worker: _Worker, given: deque[Hashable]) -> bool:
        """Send points, several if they are short; whether the worker has any."""
        while not given or len(given) < min(self._board.ahead(self._size + 1), AHEAD_BYTES // worker.largest):
            point = self._board.take()
            if point is None:
                break
            given.append(point[0])
            raw = packed(point[1])
            worker.largest = max(worker.largest, len(raw))
            worker.channel.send_bytes(raw)
        return bool(given)

    def _take_in(self, key: Hashable, is_result: bool, found: Any) -> None:
        if not is_result:
            raise found
        self._board.finish(key, found)


class _Worker:
    """A worker process: its number, and the socket to it."""

    def __init__(self, process: int, channel: Connection) -> None:
        self.process, self.channel, self.largest = process, channel, 1


class _Nursery:
    """The process that forks workers; a new one is started where it was killed."""

    def __init__(self, task: bytes, size: int) -> None:
        self._task, self._size = task, size
        self._lock = threading.Lock()  # one conversation at a time
        self._opening = threading.Lock()  # no process is started after the end
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lifelines: list[int] = []
        self._control: Connection | None = None
        self._failures = 0
        self._closed = False

    def fork(self) -> _Worker:
        """A new worker."""
        while True:
            with self._lock:
                try:
                    return self._forked()
                except (EOFError, OSError) as error:
                    self._forget()
                    self._failures += 1
                    if self._closed or self._failures >= ATTEMPTS:
                        do = "state jobs=1 to work in this process"
                        raise LdpoptError(f"no worker process could be started: {error!r}", do=do) from None

    def ending(self, worker: _Worker) -> str:
        """How a worker ended."""
        with self._lock:
            try:
                assert self._control is not None
                os.write(self._control.fileno(), str(worker.process).encode())
                code = self._control.recv()
            except (AssertionError, EOFError, OSError):
                return "it was killed"
        return describe(code)

    def close(self) -> None:
        """Kill the processes with all their workers."""
        with self._opening:
            self._closed = True
        for lifeline in self._lifelines:
            os.close(lifeline)
        for process in self._processes:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _forked(self) -> _Worker:
        if self._control is None:
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        with ours, theirs, socket.socket(fileno=os.dup(self._control.fileno())) as control:
            socket.send_fds(control, [b"w"], [theirs.fileno()])
            process = self._control.recv()
            return _Worker(process, Connection(ours.detach()))

    def _start(self) -> None:
        """Start the process and wait until it has imported what the task needs."""
        with self._opening:
            if self._closed:
                raise EOFError
            ending, lifeline = os.pipe()
            ours, theirs = socket.socketpair()
            self._lifelines.append(lifeline)
            self._control = control = Connection(ours.detach())
            try:
                self._processes.append(self._popen(theirs.fileno(), ending))
            finally:
                theirs.close()
                os.close(ending)
        control.send_bytes(self._task)
        why = control.recv()
        if why:
            raise StatementError(f"a worker process cannot read the task: {why}", do=DEFINE)

    def _popen(self, *passed: int) -> subprocess.Popen[bytes]:
        code = f"import sys; sys.path[:] = {[str(path) for path in sys.path]!r}; "
        code += f"from ldpopt.processes.child import serve; serve{passed!r}"
        threads = str(max(1, (os.cpu_count() or 1) // self._size))
        environment = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")} | os.environ
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
            env=environment,
        )

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


def describe(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return "killed by SIGKILL, for example because memory ran out" if name == "SIGKILL" else f"ended by {name}"
