"""How a run is made: the options that every long run has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class RunOptions:
    """Where the points of a run are computed, where finished ones are kept, and who is told.

    Public verbs take the four as keywords and make one record. Their ``checkpoint`` is the path of
    a file; for `pool.run` it is replaced by the `Checkpoint` that knows what the run is about.
    """

    jobs: int = 1  # worker processes; -1 for one on each core
    executor: Any = None  # of concurrent.futures, or a client of Dask, in place of worker processes
    checkpoint: Any = None  # path or `Checkpoint`; None if nothing is kept
    progress: Progress | None = None  # is called with the numbers of finished points and of all
