"""The board of a run: points that wait, results that are finished; shared by all who work on it."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from ldpopt.processes.checkpoint import Checkpoint

Task = Callable[[Any], Any]

ATTEMPTS = 3
"""Workers that may die at a point before it is given up."""

AHEAD_SECONDS = 0.1
"""Work that a worker is sent ahead, so that it need not wait for us between short points."""

MOST_AHEAD = 64
"""Points that a worker is sent ahead at most."""


@dataclass(frozen=True)
class Lost:
    """A point without a result: each of the workers that had it died.

    Attributes
    ----------
    reason : str
        How the last one ended.
    """

    reason: str


class Board:
    """Points that wait and results that are finished; every method may be called by every thread.

    Parameters
    ----------
    points : mapping key -> point
        What has to be done, in this order.
    checkpoint : Checkpoint, optional
        Where finished points are recorded before anyone hears of them.
    """

    def __init__(self, points: Mapping[Any, Any], checkpoint: Checkpoint | None = None) -> None:
        self._points, self._checkpoint = points, checkpoint
        self._waiting = deque(points)
        self._left, self._deaths = len(points), Counter[Hashable]()
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.finished: dict[Any, Any] = {}  # Ctrl-C may strike between a fetch and what is done with it
        self.stopped = False

    @property
    def left(self) -> int:
        """Points whose result has not been fetched."""
        return self._left

    def take(self) -> tuple[Hashable, Any] | None:
        """The next point with its key; None if none waits or the run is stopped."""
        with self._lock:
            if self.stopped or not self._waiting:
                return None
            key = self._waiting.popleft()
        return key, self._points[key]

    def put_back(self, keys: Any) -> None:
        """Let points wait again, before all others."""
        with self._lock:
            self._waiting.extendleft(reversed(list(keys)))

    def died(self, key: Hashable, reason: str) -> None:
        """Let a point wait again whose worker died, or give it up after too many deaths."""
        with self._lock:
            self._deaths[key] += 1
            deaths = self._deaths[key]
        if deaths < ATTEMPTS:
            self.put_back([key])
        else:
            self._results.put((key, Lost(f"{deaths} workers died at this point; the last one: {reason}")))

    def finish(self, key: Hashable, result: Any) -> None:
        """Record a result, then hand it out."""
        if self._checkpoint is not None:
            self._checkpoint.append(key, result)
        with self._lock:
            self.finished[key] = result
        self._results.put((key, result))

    def fail(self, error: BaseException) -> None:
        """Let the run end with an error."""
        self._results.put(error)

    def fetch(self, wait: float = 0.0) -> tuple[Hashable, Any] | None:
        """The next result; None if there is none within so many seconds. An error of the run is raised."""
        try:
            found = self._results.get(timeout=wait) if wait else self._results.get_nowait()
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        self._left -= 1
        result: tuple[Hashable, Any] = found
        return result

    def ahead(self, workers: int) -> int:
        """How many points a worker may have at a time: as many as it finishes in a moment, fewer near the end."""
        with self._lock:
            waiting, done = len(self._waiting), len(self.finished)
        if not done:
            return 1
        each = (time.monotonic() - self._began) * workers / done
        return max(1, min(MOST_AHEAD, int(AHEAD_SECONDS / max(each, 1e-9)), waiting // (2 * workers)))
