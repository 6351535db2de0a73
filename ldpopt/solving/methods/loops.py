"""Compiled loops made ready in a thread: a deadline holds on a machine where they have never run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf

from ldpopt.foundation.deadline import NO_LIMIT, Deadline, OutOfTimeError
from ldpopt.solving.log import LOG

SILENT_SECONDS = 2.0
"""Seconds after which the log says what is waited for; loading takes less."""

SHARE = 0.5
"""Share of the time that is left which a method with another one after it waits for its loops."""


class NotCompiledError(OutOfTimeError):
    """The loops of a method are not compiled in time; another method may still answer."""


@dataclass(eq=False)
class Loops:
    """The compiled loops of a method.

    They are compiled once for each machine and version, which takes 5 to 20 seconds, and loaded in every process.
    Neither can be interrupted, so a thread does it, which goes on after a deadline: the next call finds them ready.

    Attributes
    ----------
    name : str
        Of the method, for the log.
    example : callable
        Runs all loops once, on arrays of the types that they are used with.

    Examples
    --------
    >>> Loops("an example", lambda: None).wait()
    """

    name: str
    example: Callable[[], object]
    _thread: threading.Thread | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _are_ready: bool = field(default=False, init=False)

    def wait(self, deadline: Deadline = NO_LIMIT) -> None:
        """Return when the loops are ready."""
        if self._are_ready:
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._prepare, name=f"ldpopt-{self.name}", daemon=True)
                self._thread.start()
        left = inf if deadline.left is None else deadline.left
        self._thread.join(min(left, SILENT_SECONDS))
        if self._thread.is_alive() and left > SILENT_SECONDS:
            LOG.info("%s: compiling loops, once for each machine, 5 to 20 seconds", self.name)
            self._thread.join(deadline.left)
        if self._thread.is_alive():
            raise NotCompiledError(f"compiling the loops of the {self.name}, once for each machine")

    def _prepare(self) -> None:
        with suppress(Exception):  # it is raised again, and told, where the loops are used
            self.example()
        self._are_ready = True
