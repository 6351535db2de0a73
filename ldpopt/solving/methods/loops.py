"""Compiled loops are loaded or compiled in a thread, so that a time limit also holds on their first use."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf

from ldpopt.foundation.deadline import NO_LIMIT, Deadline, OutOfTimeError
from ldpopt.solving.log import LOG

LOG_SECONDS = 2.0  # seconds after which the log explains the delay; loading compiled loops takes less
TIME_SHARE = 0.5  # share of the remaining time for which a method waits for its loops if another method follows


class NotCompiledError(OutOfTimeError):
    """The loops of a method are not compiled in time; another method may still answer."""


@dataclass(eq=False)
class Loops:
    """The compiled loops of a method.

    They are compiled once per machine and version, which takes 5 to 20 seconds, and loaded once per process. As this
    cannot be interrupted, it is done in a thread, which continues after a deadline: the next call finds them ready.
    """

    name: str  # of the method, for the log
    example: Callable[[], object]  # runs all loops once, with the types of arguments that are used
    _thread: threading.Thread | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _are_ready: bool = field(default=False, init=False)

    def wait(self, deadline: Deadline = NO_LIMIT) -> None:
        """Wait until the loops are ready; raise `NotCompiledError` at the deadline."""
        if self._are_ready:
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._prepare, name=f"ldpopt-{self.name}", daemon=True)
                self._thread.start()
        left = inf if deadline.left is None else deadline.left
        self._thread.join(min(left, LOG_SECONDS))
        if self._thread.is_alive() and left > LOG_SECONDS:
            LOG.info("%s: compiling loops, once per machine, 5 to 20 seconds", self.name)
            self._thread.join(deadline.left)
        if self._thread.is_alive():
            raise NotCompiledError(f"compiling the loops of the {self.name}, once per machine")

    def _prepare(self) -> None:
        """Compile or load all loops, in a thread of its own."""
        with suppress(Exception):  # the method raises it again when it uses the loops
            self.example()
        self._are_ready = True
