"""Solvers that can be stopped: a large program is solved in a process of its own, which is killed where it must be.

A library written in C hears neither a time limit that it does not check nor Ctrl-C, and takes its process down when it
crashes. Programs so small that any solve of them ends in a fraction of a second stay in this process.
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
from ldpopt.solvers.processes.child import PROGRAM, rebuilt, unpacked
from ldpopt.solvers.processes.messages import receive, send
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import Arrays, Outcome, Solver, Status, checked

GRACE = 0.75
"""Seconds after its time limit at which a solver is killed; until then it may stop by itself, and say more."""

LEAST_TIME = 0.1
"""Seconds that a solver may take where starting it took the others; `GRACE` has room for them."""

SWITCH = "LDPOPT_SOLVER_PROCESS"
"""Environment variable that, set to 0, keeps every solver in this process: no limit is enforced, Ctrl-C may wait."""


class Guarded(Solver):
    """A solver whose time limits hold and that Ctrl-C ends, whatever it does.

    Parameters
    ----------
    solver : Solver
        Called in this process up to its `in_process_nonzeros`.
    address : str
        ``module:class`` of it, for the other process.
    detail : str
        What the class is called with, if not empty; default: ``""``.
    """

    def __init__(self, solver: Solver, address: str, detail: str = "") -> None:
        self.solver, self.name = solver, solver.name
        self.features = solver.features  # type: ignore[misc]
        self._address = {"address": address, "detail": detail}

    def solve(self, program: LinearProgram, *, time_limit: float | None = None, **options: Any) -> Outcome:
        """Solve here where the program is small, else in a child process, killed `GRACE` seconds after the time limit.

        Starting the process and importing the solver count, and the solver is told what is left. A kill at the limit is
        `Status.LIMIT`; a solver that was killed by others or crashed is `Status.FAILED`, and ``raw_status`` names the
        signal.

        Raises
        ------
        SolverOptionError
            If the solver refuses an option, or one is not a plain value and cannot be sent.
        LdpoptError
            If no process can be started.
        """
        if program.nnz <= self.solver.in_process_nonzeros or os.environ.get(SWITCH) == "0":
            return checked(self.solver.solve(program, time_limit=time_limit, **options), self.solver, program)
        arrays = {name: getattr(program, name) for name in PROGRAM}
        start = options.pop("warm_start", None)
        arrays |= {} if start is None else self.solver.pack_warm_start(start)
        facts = {"maximize": bool(program.maximize), "time_limit": time_limit, "options": options}
        try:
            reply, started = self._reply(facts, arrays, time_limit)
        except TypeError as error:
            what = f"an option cannot be handed to the process of {self.name}: {error}"
            raise SolverOptionError(what, do="pass numbers, text and lists") from None
        except _EndedError as error:
            return Outcome(Status.FAILED, str(error))
        if reply is None:
            outcome = Outcome(Status.LIMIT, f"stopped from outside: {time_limit:.3g} s were over")
        else:
            outcome = unpacked(self.solver, *reply)
        if outcome.status is Status.LIMIT and time_limit is not None and started > time_limit / 2:
            outcome = replace(outcome, raw_status=f"{outcome.raw_status}; {_slow_start(started)}")
        return outcome

    def _reply(self, facts: dict[str, Any], arrays: Arrays, time_limit: float | None) -> tuple[Any, float]:
        """Answer of the child, None if time is over before; and the seconds until it could solve."""
        began = time.perf_counter()
        deadline = None if time_limit is None else began + time_limit + GRACE
        started, child = math.inf, None
        try:
            child = _checked_out(self._address)
            child.load(self._address, deadline)
            started = time.perf_counter() - began
            if time_limit is not None:
                facts["time_limit"] = min(time_limit, max(time_limit - started, LEAST_TIME))
            return child.exchange(self._address | facts, arrays, deadline), started
        except _LateError:
            return None, started
        finally:
            if child is not None:
                child.check_in()


def _slow_start(seconds: float) -> str:
    """Say how long a solver took to start; infinite if it is still starting."""
    return f"starting the solver took {seconds:.1f} s" if seconds < math.inf else "the solver is still starting"


class _LateError(Exception):
    """The deadline is over."""


class _EndedError(Exception):
    """The child has ended without an answer."""


class _Child:
    """One process that solves, and the way to it."""

    def __init__(self) -> None:
        import subprocess
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="ldpopt-")
        # The paths as they are here: plug-ins may lie where only this process looks.
        paths = [str(p) for p in sys.path]
        code = f"import sys; sys.path[:] = {paths!r}; from ldpopt.solvers.processes.child import serve; serve()"
        group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":  # pragma: no cover
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        group |= dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        places = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen([sys.executable, "-c", code], env=places, **group)
        except (OSError, ValueError) as error:
            os.rmdir(self._folder)
            raise _no_process(str(error)) from None
        self.dead = False
        self.loading: dict[str, str] | None = None
        self._loaded: list[dict[str, str]] = []
        self._said: deque[str] = deque(maxlen=8)
        self._listener = threading.Thread(target=self._listen, name="ldpopt-log", daemon=True)
        self._listener.start()

    def load(self, address: dict[str, str], deadline: float | None) -> None:
        """Import a solver there, if that is still to be done.

        Raises
        ------
        LdpoptError
            If the process cannot work.
        _LateError
            If the deadline is over; the import goes on, for who calls next.
        """
        if address in self._loaded:
            return
        request = (address, {}) if self.loading is None else ()
        self.loading = address
        try:
            facts, _ = self._reply(deadline, *request)
        except _EndedError as error:
            raise _no_process(" ".join([str(error), *list(self._said)[-1:]])) from None
        self.loading = None
        if "error" in facts:
            raise rebuilt(facts)
        self._loaded.append(address)

    def knows(self, address: dict[str, str]) -> bool:
        """Whether the solver is imported there, or is being imported."""
        return address == self.loading or address in self._loaded

    def exchange(self, facts: dict[str, Any], arrays: Any, deadline: float | None) -> Any:
        """Send a request and return the reply.

        Raises
        ------
        TypeError
            If a fact has no form in JSON.
        _LateError, _EndedError
            If there is no reply; the child is dead then, as it is where Ctrl-C ends the wait.
        """
        try:
            return self._reply(deadline, facts, arrays)
        except _LateError:
            self.kill()
            self._talker.join(1.0)
            raise

    def _ask(self, facts: dict[str, Any], arrays: Any) -> None:
        self._replies = replies = list[Any]()

        def talk() -> None:
            # Either end may close at any time; a missing reply is reported below.
            with suppress(EOFError, OSError, ValueError):
                try:
                    send(self._process.stdin, facts, arrays)  # type: ignore[arg-type]
                    replies.append(receive(self._process.stdout))  # type: ignore[arg-type]
                except TypeError as error:
                    replies.append(error)

        self._talker = threading.Thread(target=talk, name="ldpopt-solver", daemon=True)
        self._talker.start()

    def _reply(self, deadline: float | None, *request: Any) -> Any:
        """Send a request, if there is one, and wait; Ctrl-C at any moment of it ends the child."""
        try:
            if request:
                self._ask(*request)
            self._wait(math.inf if deadline is None else deadline)
        except BaseException:
            self.kill()
            raise
        if self._talker.is_alive():
            raise _LateError
        if not self._replies:
            raise _EndedError(self.kill())
        if isinstance(self._replies[0], TypeError):
            raise self._replies[0]
        return self._replies[0]

    def _wait(self, end: float) -> None:
        """Wait for the talker, in short steps that let Ctrl-C through."""
        while self._talker.is_alive() and (left := end - time.perf_counter()) > 0:
            self._talker.join(min(0.2, left))

    def is_alive(self) -> bool:
        """Whether it is still there; it may have been killed while nobody needed it."""
        return not self.dead and self._process.poll() is None

    def check_in(self) -> None:
        """Keep it for the next program."""
        with _LOCK:
            if not self.dead:
                _idle().append(self)

    def kill(self) -> str:
        """End it and all that it has started, and say how it ended."""
        import shutil

        process, self.dead = self._process, True
        if process.returncode is None:
            with suppress(OSError):
                if sys.platform == "win32":  # pragma: no cover
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._listener.join(1.0)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]
        shutil.rmtree(self._folder, ignore_errors=True)
        with _LOCK:
            _living().discard(self)
        return _ending(process.returncode)

    def _listen(self) -> None:
        """Hand on what the solver prints, as it comes; what is said before it can solve goes into the error."""
        with suppress(OSError, ValueError):
            for line in self._process.stderr or ():
                text = line.decode(errors="replace")
                self._said.append(text.strip())
                if self._loaded and sys.stderr is not None:
                    sys.stderr.write(text)


def stop_all() -> None:
    """Kill every process that a solver runs in; those who need one start a new one."""
    with _LOCK:
        _idle().clear()
        children = list(_living())
    for child in children:
        child.kill()


_LOCK = threading.RLock()
_POOLS: dict[int, tuple[list[_Child], set[_Child]]] = {}


def _pool() -> tuple[list[_Child], set[_Child]]:
    """Return idle and living children of this process: a fork of it must not talk to those of its parent."""
    if os.getpid() not in _POOLS:
        import atexit

        _POOLS[os.getpid()] = [], set()
        atexit.register(stop_all)
    return _POOLS[os.getpid()]


def _idle() -> list[_Child]:
    return _pool()[0]


def _living() -> set[_Child]:
    return _pool()[1]


def _checked_out(address: dict[str, str]) -> _Child:
    """Return a child that is free, rather one that knows the solver, or a new one."""
    with _LOCK:
        while free := [child for child in _idle() if child.loading in (None, address)]:
            child = max(free, key=lambda child: child.knows(address))
            _idle().remove(child)
            if child.is_alive():
                return child
            child.kill()
        child = _Child()
        _living().add(child)
        return child


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return "killed by SIGKILL, as the system does where memory runs out"
    return f"crashed with {name}"


def _no_process(why: str) -> LdpoptError:
    do = f"set {SWITCH}=0 to solve in this process, where time limits and Ctrl-C may have to wait"
    return LdpoptError(f"no process could be started for the solver: {why}", do=do)
