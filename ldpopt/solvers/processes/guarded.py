"""Solvers with enforced time limits: a large program is solved in a child process, which can be killed.

A C library may ignore time limits and Ctrl-C, and a crash ends its whole process. Small programs, which take a fraction
of a second, are solved in this process.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ldpopt.errors import LdpoptError, SolverOptionError
from ldpopt.solvers.outcome import Arrays, Outcome, Status
from ldpopt.solvers.processes.child import PROGRAM, rebuilt, unpacked
from ldpopt.solvers.processes.messages import receive, send
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.scaling import in_costs, with_unit_costs
from ldpopt.solvers.solver import Solver, checked

KILL_DELAY = 0.75
"""Seconds after the time limit at which a solver is killed; it may stop by itself before, with a better answer."""

MIN_TIME = 0.1
"""Smallest time limit for a solver in seconds, also after a slow start; it is less than `KILL_DELAY`."""

PROCESS_VARIABLE = "LDPOPT_SOLVER_PROCESS"
"""Environment variable; 0 keeps every solver in this process: time limits are not enforced, Ctrl-C may wait."""


class Guarded(Solver):
    """A solver with enforced time limits, which Ctrl-C always ends.

    Parameters
    ----------
    solver : Solver
        Called in this process for programs of at most `in_process_nonzeros`.
    address : str
        ``module:class`` of the solver, for the child process.
    detail : str
        Argument of the class, if not empty; default: ``""``.
    """

    def __init__(self, solver: Solver, address: str, detail: str = "") -> None:
        self.solver, self.name = solver, solver.name
        self.features = solver.features  # type: ignore[misc]
        self._address = {"address": address, "detail": detail}

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve a small program here, a large one in a child process that is killed at the limit plus `KILL_DELAY`.

        The start of the process and the import of the solver count; the solver gets the time that is left. A kill at
        the limit is `Status.LIMIT`. If the solver crashed, or something else killed it, the status is `Status.FAILED`,
        and ``raw_status`` names the signal.
        """
        program, exponent = with_unit_costs(program)
        return in_costs(self._solve(program, time_limit, options), exponent)

    def _solve(self, program: LinearProgram, time_limit: float | None, options: dict[str, Any]) -> Outcome:
        """Solve here or in a child process."""
        if program.nnz <= self.solver.in_process_nonzeros or os.environ.get(PROCESS_VARIABLE) == "0":
            return checked(self.solver.solve(program, time_limit=time_limit, **options), self.solver, program)
        arrays = {name: getattr(program, name) for name in PROGRAM}
        start = options.pop("warm_start", None)
        arrays |= {} if start is None else self.solver.pack_warm_start(start)
        facts = {"maximize": bool(program.maximize), "time_limit": time_limit, "options": options}
        try:
            reply, started = self._reply(facts, arrays, time_limit)
        except TypeError as error:
            what = f"an option cannot be sent to the process of {self.name}: {error}"
            raise SolverOptionError(what, do="pass numbers, text and lists") from None
        except _EndedError as error:
            return Outcome(Status.FAILED, str(error))
        if reply is None:
            outcome = Outcome(Status.LIMIT, f"stopped from outside: {time_limit:.3g} s were over")
        else:
            outcome = unpacked(self.solver, *reply)
        if outcome.status is Status.LIMIT and time_limit is not None and started > time_limit / 2:
            outcome = replace(outcome, raw_status=f"{outcome.raw_status}; {_start_message(started)}")
        return outcome

    def _reply(self, facts: dict[str, Any], arrays: Arrays, time_limit: float | None) -> tuple[Any, float]:
        """Answer of the child (None at the deadline), and the seconds until the solver was imported."""
        began = time.perf_counter()
        deadline = None if time_limit is None else began + time_limit + KILL_DELAY
        started, child = math.inf, None
        try:
            child = _take_child(self._address)
            child.load(self._address, deadline)
            started = time.perf_counter() - began
            if time_limit is not None:
                facts["time_limit"] = min(time_limit, max(time_limit - started, MIN_TIME))
            return child.exchange(self._address | facts, arrays, deadline), started
        except _LateError:
            return None, started
        finally:
            if child is not None:
                child.release()


def _start_message(seconds: float) -> str:
    """Message about the seconds that a solver took to start; infinite if it has not started."""
    return f"starting the solver took {seconds:.1f} s" if seconds < math.inf else "the solver is still starting"


class _LateError(Exception):
    """The deadline is over."""


class _EndedError(Exception):
    """The child has ended without an answer."""


class _Child:
    """One child process, and the pipes to it."""

    def __init__(self) -> None:
        import subprocess
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="ldpopt-")
        # The child gets the same paths: plug-ins may be in a folder that only this process knows.
        paths = [str(p) for p in sys.path]
        code = f"import sys; sys.path[:] = {paths!r}; from ldpopt.solvers.processes.child import serve; serve()"
        group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":  # pragma: no cover
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        group |= dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-c", code], env=environment, **group
            )
        except (OSError, ValueError) as error:
            os.rmdir(self._folder)
            raise _process_error(str(error)) from None
        self.dead = False
        self.loading: dict[str, str] | None = None
        self._loaded: list[dict[str, str]] = []
        self._last_lines: deque[str] = deque(maxlen=8)
        self._output_thread = threading.Thread(target=self._forward_output, name="ldpopt-log", daemon=True)
        self._output_thread.start()

    def load(self, address: dict[str, str], deadline: float | None) -> None:
        """Import a solver in the child, if it is not imported yet."""
        if address in self._loaded:
            return
        request = (address, {}) if self.loading is None else ()
        self.loading = address
        try:
            facts, _ = self._reply(deadline, *request)
        except _EndedError as error:
            raise _process_error(" ".join([str(error), *list(self._last_lines)[-1:]])) from None
        self.loading = None
        if "error" in facts:
            raise rebuilt(facts)
        self._loaded.append(address)

    def has_solver(self, address: dict[str, str]) -> bool:
        """Whether the child has imported the solver, or is importing it."""
        return address == self.loading or address in self._loaded

    def exchange(self, facts: dict[str, Any], arrays: Any, deadline: float | None) -> Any:
        """Send a request and return the reply."""
        try:
            return self._reply(deadline, facts, arrays)
        except _LateError:
            self.kill()
            self._exchange_thread.join(1.0)
            raise

    def _send(self, facts: dict[str, Any], arrays: Any) -> None:
        self._replies = replies = list[Any]()

        def exchange_messages() -> None:
            # The pipe may close at any time; a missing reply is reported below.
            with suppress(EOFError, OSError, ValueError):
                try:
                    send(self._process.stdin, facts, arrays)  # type: ignore[arg-type]
                    replies.append(receive(self._process.stdout))  # type: ignore[arg-type]
                except TypeError as error:
                    replies.append(error)

        self._exchange_thread = threading.Thread(target=exchange_messages, name="ldpopt-solver", daemon=True)
        self._exchange_thread.start()

    def _reply(self, deadline: float | None, *request: Any) -> Any:
        """Send a request, if there is one, and wait for the reply; Ctrl-C ends the child."""
        try:
            if request:
                self._send(*request)
            self._wait(math.inf if deadline is None else deadline)
        except BaseException:
            self.kill()
            raise
        if self._exchange_thread.is_alive():
            raise _LateError
        if not self._replies:
            raise _EndedError(self.kill())
        if isinstance(self._replies[0], TypeError):
            raise self._replies[0]
        return self._replies[0]

    def _wait(self, end: float) -> None:
        """Wait for the reply in short steps, so that Ctrl-C works."""
        while self._exchange_thread.is_alive() and (left := end - time.perf_counter()) > 0:
            self._exchange_thread.join(min(0.2, left))

    def is_alive(self) -> bool:
        """Whether the process is running; it may have been killed while idle."""
        return not self.dead and self._process.poll() is None

    def release(self) -> None:
        """Keep the child for the next program."""
        with _LOCK:
            if not self.dead:
                _idle().append(self)

    def kill(self) -> str:
        """End the child and all processes that it started; return how it ended."""
        import shutil

        process, self.dead = self._process, True
        if process.returncode is None:
            with suppress(OSError):
                if sys.platform == "win32":  # pragma: no cover
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._output_thread.join(1.0)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]
        shutil.rmtree(self._folder, ignore_errors=True)
        with _LOCK:
            _living().discard(self)
        return _describe_exit(process.returncode)

    def _forward_output(self) -> None:
        """Forward what the solver prints; keep the last lines for an error at its start."""
        with suppress(OSError, ValueError):
            for line in self._process.stderr or ():
                text = line.decode(errors="replace")
                self._last_lines.append(text.strip())
                if self._loaded and sys.stderr is not None:
                    sys.stderr.write(text)


def stop_all() -> None:
    """Kill every child process; later solves start new ones."""
    with _LOCK:
        _idle().clear()
        children = list(_living())
    for child in children:
        child.kill()


_LOCK = threading.RLock()
_POOLS: dict[int, tuple[list[_Child], set[_Child]]] = {}


def _pool() -> tuple[list[_Child], set[_Child]]:
    """Return idle and living children of this process; a fork must not use the children of its parent."""
    if os.getpid() not in _POOLS:
        import atexit

        _POOLS[os.getpid()] = [], set()
        atexit.register(stop_all)
    return _POOLS[os.getpid()]


def _idle() -> list[_Child]:
    return _pool()[0]


def _living() -> set[_Child]:
    return _pool()[1]


def _take_child(address: dict[str, str]) -> _Child:
    """Return an idle child, preferably one that has imported the solver, or a new one."""
    with _LOCK:
        while free := [child for child in _idle() if child.loading in (None, address)]:
            child = max(free, key=lambda child: child.has_solver(address))
            _idle().remove(child)
            if child.is_alive():
                return child
            child.kill()
        child = _Child()
        _living().add(child)
        return child


def _describe_exit(code: int) -> str:
    """Describe how a process ended."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return "killed by SIGKILL, for example because memory ran out"
    return f"crashed with {name}"


def _process_error(why: str) -> LdpoptError:
    do = f"set {PROCESS_VARIABLE}=0 to solve in this process, where time limits and Ctrl-C may not work at once"
    return LdpoptError(f"no process could be started for the solver: {why}", do=do)
