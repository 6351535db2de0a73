"""Whether an executor still has workers: a cluster may have lost all of them, and then nothing ever
comes.
"""

from __future__ import annotations

import time
from collections.abc import Sized
from typing import Any

from ldpopt.errors import LdpoptError

WAIT_SECONDS = 600.0  # without any worker, after which a run ends: queues and restarts take less
ASK_SECONDS = 5.0  # between two questions to the scheduler, while no result comes


class Presence:
    """When an executor was last known to have a worker."""

    def __init__(self, executor: Any) -> None:
        # of a client of Dask; other executors start workers themselves
        self._threads_of_workers = getattr(executor, "nthreads", None)
        self._seen = self._asked = time.monotonic()

    def look(self, has_come: bool, finished: int, points: int) -> None:
        """Note that a result has come, and refuse to wait further if there has been no worker for
        long.
        """
        now = time.monotonic()
        if has_come:
            self._seen = now
        if (
            not callable(self._threads_of_workers)
            or now - max(self._seen, self._asked) < ASK_SECONDS
        ):
            return
        self._asked = now
        try:
            workers: Sized = self._threads_of_workers()
        except (OSError, TimeoutError):  # the scheduler does not answer
            workers = ()
        if workers:
            self._seen = now
        elif now - self._seen >= WAIT_SECONDS:
            problem = f"the cluster has had no worker for {now - self._seen:.0f} s"
            raise LdpoptError(
                f"{problem}; {finished} of {points} points are finished",
                code="no-workers",
                do="start workers, and then the same run: with a checkpoint (--checkpoint FILE) it "
                "goes on from the finished points",
            )
