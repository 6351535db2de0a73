"""A child process that calls functions for this one, and can be killed at any moment.

When the parent ends, the system kills the child and all processes that it has started, even while
the child runs compiled code. Functions, arguments, results and errors are sent as bytes.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from ldpopt.errors import LdpoptError, StatementError

if TYPE_CHECKING:
    import subprocess

DO_IMPORTABLE = "define its functions and classes in a module that a worker can import"
POLL_SECONDS = 0.2  # longest wait without a look at signals, so that Ctrl-C works on every system


class LateError(Exception):
    """The deadline passed without a reply."""


class EndedError(Exception):
    """The child ended without a reply; the message says how."""


class Child:
    """A child process with the import path of this one; it prints to stderr. OSError if it cannot
    be started.
    """

    def __init__(self) -> None:
        import tempfile
        from multiprocessing.connection import Pipe

        # for temporary files of the child, which may be killed
        self._folder = tempfile.mkdtemp(prefix="ldpopt-")
        self._connection, theirs = Pipe()
        try:
            self._process = _start(theirs.fileno(), self._folder)
        except BaseException:
            self._connection.close()
            os.rmdir(self._folder)
            raise
        finally:
            theirs.close()
        self.is_dead = self.is_busy = False

    def is_alive(self) -> bool:
        """Whether the process is running; it may have been killed while idle."""
        return not self.is_dead and self._process.poll() is None

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline: float = math.inf
    ) -> Any:
        """Call a function of a module in the child, which is killed at the deadline, in
        ``time.perf_counter()``.
        """
        self.send(function, *arguments)
        try:
            return self.receive(deadline)
        except LateError:
            self.kill()
            raise

    def send(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call, whose result `receive` returns."""
        request = pickle.dumps((function, arguments))
        with self._killed_by_errors():
            self.is_busy = True
            self._connection.send_bytes(request)

    def receive(self, deadline: float = math.inf) -> Any:
        """Wait for the reply to `send`; after a missed deadline the child works on, and a later
        call can wait again.
        """
        with self._killed_by_errors():
            while not self._connection.poll(
                max(0.0, min(POLL_SECONDS, deadline - time.perf_counter()))
            ):
                if self._process.poll() is not None and not self._connection.poll(0):
                    raise EOFError
                if time.perf_counter() >= deadline:
                    raise LateError
            reply = self._connection.recv_bytes()
        self.is_busy = False
        return result_of(reply)

    @contextmanager
    def _killed_by_errors(self) -> Iterator[None]:
        """Kill the child on Ctrl-C and other errors of the exchange; a missed deadline is none."""
        try:
            yield
        except LateError:
            raise
        except (EOFError, OSError):
            raise EndedError(self.kill()) from None
        except BaseException:
            self.kill()
            raise

    def kill(self) -> str:
        """End the child and all processes that it started; return how it ended."""
        import shutil

        self.is_dead = True
        if self._process.returncode is None:
            with suppress(OSError):
                if sys.platform == "win32":  # pragma: no cover
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        return describe_exit(self._process.returncode)


def _start(handle: int, folder: str) -> subprocess.Popen[bytes]:
    """Start a process that inherits one end of a pipe, in a group of processes of its own."""
    import subprocess

    options: dict[str, Any] = {"pass_fds": [handle], "start_new_session": True}
    if sys.platform == "win32":  # pragma: no cover
        os.set_handle_inheritable(handle, True)
        options = {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})}
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    options |= dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
    # The same import path: a function may be defined in a folder that only this process has added.
    paths = [str(path) for path in sys.path]
    code = (
        f"import sys; sys.path[:] = {paths!r}; from ldpopt.processes.child import serve; "
        f"serve({handle})"
    )
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
    return subprocess.Popen([sys.executable, "-c", code], env=environment, **options)


def serve(handle: int) -> NoReturn:
    """Answer one call after another until the parent closes its end of the pipe; runs in the
    child.
    """
    if sys.platform == "win32":  # pragma: no cover
        from multiprocessing.connection import PipeConnection as Connection
    else:
        from multiprocessing.connection import Connection

    connection = Connection(handle)
    _print_to_stderr()
    with suppress(EOFError, OSError):
        while True:
            request = connection.recv_bytes()
            with _killed_with_parent(handle):
                reply = answer(_call, request)
            connection.send_bytes(reply)
    # Exit without the interpreter's cleanup: there is nothing to clean up, and the parent may be
    # waiting.
    os._exit(0)


def _call(request: bytes) -> Any:
    function, arguments = pickle.loads(request)
    return function(*arguments)


def _print_to_stderr() -> None:
    """Send printed lines to stderr at once: this process may be killed, and buffered text would be
    lost.
    """
    with suppress(OSError):  # the parent has no stderr
        os.dup2(2, 1)
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if sys.platform == "win32":  # pragma: no cover - C has no symbol stdout there
        return
    import ctypes

    with suppress(OSError, ValueError):  # a C library without that symbol
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(
            library, "__stdoutp" if sys.platform == "darwin" else "stdout"
        )
        library.setvbuf(stream, None, 1, ctypes.c_size_t(0))  # 1: by lines


@contextmanager
def _killed_with_parent(handle: int) -> Iterator[None]:
    """Let the system kill this process and those that it starts when the parent ends.

    It sends SIGIO when the pipe closes, which also ends compiled code that never returns to Python.
    """
    if sys.platform == "win32":  # pragma: no cover - an orphan ends there after its call
        yield
        return
    import fcntl
    import select

    plain = fcntl.fcntl(handle, fcntl.F_GETFL)
    fcntl.fcntl(handle, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(handle, fcntl.F_SETFL, plain | os.O_ASYNC)
    try:
        if select.select([handle], [], [], 0)[0]:  # the parent ended before
            raise EOFError
        yield
    finally:
        fcntl.fcntl(handle, fcntl.F_SETFL, plain)


def packed(value: Any) -> bytes:
    """Pickle a value, also one whose functions or classes are defined in a script or notebook."""
    import cloudpickle

    try:
        raw: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise StatementError(
            f"an argument cannot be sent to another process: {error}",
            code="argument",
            do=DO_IMPORTABLE,
        ) from None
    return raw


def answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Call a function, and return its result or error as bytes for `result_of`."""
    import cloudpickle

    try:
        raw: bytes = cloudpickle.dumps((True, function(*arguments)))
    except Exception as error:
        return _packed_error(error)
    return raw


def result_of(raw: bytes) -> Any:
    """Return the result in the bytes of `answer`, or raise its error."""
    is_result, reply = pickle.loads(raw)
    if not is_result:
        raise reply
    return reply


def _packed_error(error: Exception) -> bytes:
    """Pickle an error, with its traceback as a note; a RuntimeError replaces one that cannot be
    pickled.
    """
    replacement = RuntimeError(f"{type(error).__name__}: {error}")
    for candidate in (error, replacement):
        if not isinstance(candidate, LdpoptError):  # whose message explains itself
            candidate.add_note(f"In another process:\n{traceback.format_exc()}")
    try:
        pickle.loads(raw := pickle.dumps((False, error)))
    except Exception:
        return pickle.dumps((False, replacement))
    return raw


def describe_exit(code: int) -> str:
    """Describe how a process ended by its exit code, which is negative for a signal."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return "killed by SIGKILL, for example because memory ran out"
    return f"crashed with {name}"
