"""Run a task at many independent points: here, in worker processes, or by an executor."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import short_repr
from ldpopt.processes.board import Board, Task
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.executors import submit_all

Progress = Callable[[int, int], None]

CAN_FORK = hasattr(os, "fork") and hasattr(os, "register_at_fork")
"""Whether this system forks processes; elsewhere the work is done in this one, or by an executor."""

POLL_SECONDS = 0.2
"""Results are waited for in steps, so that Ctrl-C is heard on every system."""


@dataclass(frozen=True)
class Finished:
    """What is known at the end of a run.

    Attributes
    ----------
    results : dict key -> result
        Of the points that are finished; a `Lost` for one at which workers died.
    interrupted : bool
        Whether Ctrl-C or SIGTERM ended the run early.
    """

    results: dict[Any, Any]
    interrupted: bool


def run(
    task: Task,
    points: Mapping[Any, Any],
    *,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Finished:
    """Call a task with every point, and keep each result as soon as it is there."""
    size = count_of(jobs)
    with nullcontext() if checkpoint is None else checkpoint:
        known = {} if checkpoint is None else checkpoint.finished
        results = {key: known[key] for key in points if key in known}
        missing = {key: point for key, point in points.items() if key not in results}
        board = Board(missing, checkpoint)

        def gather(wait: float = 0.0) -> None:
            while (found := board.fetch(wait)) is not None:
                wait = 0.0
                results[found[0]] = found[1]
                if progress is not None:
                    progress(len(results), len(points))

        try:
            with sigterm_interrupts():
                if executor is not None:
                    submit_all(task, board, executor, gather)
                elif min(size, len(missing)) > 1 and CAN_FORK:
                    _with_crew(task, board, min(size, len(missing)), gather)
                else:
                    _here(task, board, gather)
        except KeyboardInterrupt:
            board.stopped = True
            return Finished(results | board.finished, True)
        return Finished(results, False)


def count_of(jobs: int) -> int:
    """Number of processes that are meant; -1 is one on each core that this process may use."""
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs == 0 or jobs < -1:
        what = f"jobs = {short_repr(jobs)} is not a number of processes"
        raise StatementError(what, do="state 1, 2, ..., or -1 for all cores")
    if jobs > 0:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _here(task: Task, board: Board, gather: Callable[[], None], enough: Callable[[], bool] = lambda: False) -> None:
    """Do points in this process while any wait, or until it is enough."""
    while not enough() and (work := board.take()) is not None:
        board.finish(work[0], task(work[1]))
        gather()


def _with_crew(task: Task, board: Board, size: int, gather: Callable[..., None]) -> None:
    """Do points in worker processes; in this one only until the first of them has imported what it needs."""
    from ldpopt.processes.crew import Crew

    with Crew(task, board, size) as crew:
        _here(task, board, gather, crew.is_ready.is_set)
        while board.left:
            gather(POLL_SECONDS)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Within this context SIGTERM is heard as Ctrl-C, unless the program hears it in its own way."""
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if mine:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
