"""Run a task at many independent points: here, in worker processes, or by an executor.

The results do not depend on the way. A point at which workers die is tried again, and given up
after the third death; the run goes on.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.numbers import require_function, short_repr
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.child import DO_IMPORTABLE, answer, describe_exit, packed, result_of
from ldpopt.processes.presence import Presence
from ldpopt.processes.run import Progress, RunOptions

Task = Callable[[Any], Any]

ATTEMPTS = 3  # workers that may die at a point before it is given up
# seconds that a chunk of short points should take; a long point is a chunk by itself
CHUNK_SECONDS = 0.1
MAX_CHUNK = 64  # largest number of points in a chunk
MAX_RUNNING = 64  # largest number of chunks that an executor of the caller has at a time
POLL_SECONDS = 0.2  # longest wait without a look at signals, so that Ctrl-C works on every system
WATCH_SECONDS = 0.1  # seconds between a worker's checks that its parent is alive
LOG_SECONDS = 10.0  # between two lines of the log on how far a run is
LOG = logging.getLogger("ldpopt")
DEFAULT = RunOptions()


@dataclass(frozen=True)
class Lost:
    """A point given up because every worker that tried it died."""

    reason: str  # how the last of them ended


@dataclass(frozen=True)
class Finished:
    """Results of a run."""

    results: dict[Any, Any]  # finished points; a `Lost` for one that was given up
    interrupted: bool  # whether Ctrl-C or SIGTERM ended the run early
    total: int  # number of points

    def complete(self, unit: str, describe: Callable[[Any], str]) -> dict[Any, Any]:
        """All results; raise an error if the run was interrupted or a point was given up.

        Messages count points in a ``unit`` such as "surveys", and ``describe`` their keys.
        """
        if self.interrupted:
            raise KeyboardInterrupt(f"{len(self.results)} of {self.total} {unit} are finished")
        for key, result in self.results.items():
            if isinstance(result, Lost):
                do = "start again; results that are written are kept"
                raise LdpoptError(result.reason, code="lost", where=describe(key), do=do)
        return self.results


def run(task: Task, points: Mapping[Any, Any], options: RunOptions = DEFAULT) -> Finished:
    """Call a task with every point, and keep each result as soon as it is there."""
    size = count_of(options.jobs)
    if options.progress is not None:
        require_function(options.progress, "progress")
    checkpoint = options.checkpoint
    with nullcontext() if checkpoint is None else checkpoint, sigterm_as_interrupt():
        this = _Run(task, points, checkpoint, options.progress)
        size = min(size, len(this.waiting))
        try:
            if options.executor is not None:
                presence = Presence(options.executor)
                this.submit_all(_submitter(options.executor), MAX_RUNNING, presence)
            elif size > 1:
                with _Workers(size) as workers:
                    this.submit_all(workers, size)
            else:
                this.compute_here()
        except KeyboardInterrupt:
            this.record_finished()
            return Finished(this.results, True, len(points))
        return Finished(this.results, False, len(points))


def count_of(jobs: int) -> int:
    """Number of processes for ``jobs``; -1 means one for each core that this process may use."""
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs == 0 or jobs < -1:
        raise StatementError(
            f"jobs = {short_repr(jobs)} is not a number of processes",
            code="jobs",
            do="pass 1, 2, ..., or -1 for all cores",
        )
    if jobs > 0:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Submitter(Protocol):
    """An executor: `submit` starts a call in another thread, process or machine."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...


class _Run:
    """The state of a run: waiting points, chunks of points that are being computed, and results."""

    def __init__(
        self,
        task: Task,
        points: Mapping[Any, Any],
        checkpoint: Checkpoint | None,
        progress: Progress | None,
    ) -> None:
        self._task = task
        self._points = points
        self._checkpoint = checkpoint
        self._progress = progress
        known = {} if checkpoint is None else checkpoint.finished
        self.results = {key: known[key] for key in points if key in known}
        self.waiting = deque(key for key in points if key not in self.results)
        self._suspects: deque[Hashable] = deque()
        """Points that were being computed when a worker died."""
        self._deaths = Counter[Hashable]()
        self._running: dict[Future[Any], list[Hashable]] = {}
        self._recording: tuple[Hashable, Any] | None = None
        self._seconds = self._measured = 0.0
        self._began = self._logged = time.monotonic()

    def compute_here(self) -> None:
        """Compute all points in this process."""
        while self.waiting:
            key = self.waiting.popleft()
            self._record(key, self._task(self._points[key]))

    def submit_all(
        self, pool: _Submitter, most_running: int, presence: Presence | None = None
    ) -> None:
        """Let a pool compute all points, a few chunks at a time, as long as it has workers."""
        task = packed(self._task)
        # The death of a worker of loky ends all of its workers, so a suspect is tried while no
        # other point is computed.
        is_own = isinstance(pool, _Workers)
        try:
            while self.waiting or self._suspects or self._running:
                most = 1 if is_own and self._suspects else most_running
                while len(self._running) < most and (keys := self._next_chunk(most_running)):
                    points = packed([self._points[key] for key in keys])
                    self._running[pool.submit(_answers, task, points)] = keys
                done, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    self._take_in(future, is_own)
                if presence is not None:
                    presence.look(bool(done), len(self.results), len(self._points))
        finally:
            for future in self._running:
                future.cancel()

    def record_finished(self) -> None:
        """Record results that were finished but not recorded at an interrupt; recording one twice
        does no harm.
        """
        self._progress = None
        if self._recording is not None:
            self._record(*self._recording)
        for future in list(self._running):
            if future.done() and not future.cancelled() and future.exception() is None:
                self._take_in(future)

    def _next_chunk(self, workers: int) -> list[Hashable]:
        """Take points for a chunk of about `CHUNK_SECONDS`, with fewer points near the end."""
        if self._suspects:
            return [self._suspects.popleft()]
        each = self._seconds / self._measured if self._measured else CHUNK_SECONDS
        fair_share = len(self.waiting) // (2 * workers)
        size = max(1, min(MAX_CHUNK, int(CHUNK_SECONDS / max(each, 1e-9)), fair_share))
        return [self.waiting.popleft() for _ in range(min(size, len(self.waiting)))]

    def _take_in(self, future: Future[Any], is_own: bool = False) -> None:
        """Record the results of a chunk, or try its points again if its worker died."""
        keys = self._running[future]
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, BrokenExecutor) and not is_own:
            do = "start again with a new executor; a checkpoint keeps the finished points"
            raise LdpoptError(
                f"the executor failed: {error}", code="executor-failed", do=do
            ) from None
        if error is None:
            seconds, answers = pickle.loads(future.result())
            self._seconds += seconds
            self._measured += len(answers)
            for key, reply in zip(keys, answers, strict=True):
                if key not in self.results:
                    self._record(key, result_of(reply))
        del self._running[future]
        if error is not None:
            self._suspect(keys, _reason(error))

    def _suspect(self, keys: list[Hashable], reason: str) -> None:
        """Try points again after a worker died; give a point up that was alone at `ATTEMPTS`
        deaths.
        """
        LOG.warning("a worker died (%s); points that are tried again: %d", reason, len(keys))
        if len(keys) == 1:
            key = keys[0]
            self._deaths[key] += 1
            if self._deaths[key] == ATTEMPTS:
                lost = Lost(f"{ATTEMPTS} workers died at this point; the last one: {reason}")
                self.results[key] = lost  # and not in the checkpoint: the next start tries it again
                self._report()
                return
        self._suspects.extend(keys)

    def _record(self, key: Hashable, result: Any) -> None:
        self._recording = key, result
        if self._checkpoint is not None:
            self._checkpoint.append(key, result)
        self.results[key] = result
        self._recording = None
        self._report()

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._logged >= LOG_SECONDS or len(self.results) == len(self._points):
            self._logged = now
            finished = len(self.results), len(self._points), now - self._began
            LOG.info("%d of %d points are finished after %.0f s", *finished)
        if self._progress is not None:
            self._progress(len(self.results), len(self._points))


def _answers(task: bytes, points: bytes) -> bytes:
    """Compute a chunk of points, and return the seconds and the answer of each point; runs in a
    worker.
    """
    began = time.perf_counter()
    answers = [answer(_call, task, point) for point in pickle.loads(points)]
    return pickle.dumps((time.perf_counter() - began, answers))


def _call(task: bytes, point: Any) -> Any:
    try:
        function = _unpacked(task)
    except Exception as error:
        raise StatementError(
            f"a worker process cannot read the task: {type(error).__name__}: {error}",
            code="task",
            do=DO_IMPORTABLE,
        ) from None
    return function(point)


@lru_cache(maxsize=4)
def _unpacked(task: bytes) -> Any:
    """The task, unpacked once in each worker."""
    return pickle.loads(task)


def _reason(error: BaseException) -> str:
    """How a worker ended, by the error of its future."""
    if isinstance(error, BrokenExecutor) and (code := re.search(r"\((-?\d+)\)", str(error))):
        return describe_exit(int(code[1]))
    return f"{type(error).__name__}: {error}"


def _submitter(executor: Any) -> _Submitter:
    """The executor itself, or that of a client of Dask."""
    pool: _Submitter = (
        executor.get_executor(pure=False) if hasattr(executor, "get_executor") else executor
    )
    if not hasattr(pool, "submit"):
        raise StatementError(
            f"{short_repr(executor)} is neither an executor nor a client of Dask",
            code="executor",
            do="pass a concurrent.futures.Executor or a dask.distributed.Client",
        )
    return pool


class _Workers:
    """Worker processes of loky. When one dies, loky ends them all, and the next call starts new
    ones.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._executor = _started(size)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        """End the workers; after an error at once."""
        self._executor.shutdown(wait=True, kill_workers=kind is not None)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Start a call in a worker."""
        while True:
            try:
                return self._submit(function, *arguments)
            except BrokenExecutor:
                self._restart()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        with _sigint_blocked():
            future: Future[Any] = self._executor.submit(function, *arguments)
        return future

    def _restart(self) -> None:
        """Start new workers and wait for one, so that a worker that cannot start is not blamed on a
        point.
        """
        reason = ""
        for _ in range(ATTEMPTS):
            self._executor = _started(self._size)
            try:
                self._submit(int).result()
                return
            except BrokenExecutor as error:
                reason = _reason(error)
        do = "pass jobs=1 to work in this process"
        raise LdpoptError(f"no worker process could be started: {reason}", code="workers", do=do)


def _started(size: int) -> Any:
    from loky import ProcessPoolExecutor

    threads = str(max(1, (os.cpu_count() or 1) // size))
    limits = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
    # Without this, loky replaces a worker that needs more memory than for its first point, with a
    # warning.
    limits["LOKY_MAX_MEMORY_LEAK_SIZE"] = "1e18"
    environment = {name: value for name, value in limits.items() if name not in os.environ}
    return ProcessPoolExecutor(
        size, initializer=_end_with, initargs=(os.getpid(),), env=environment
    )


def _end_with(parent: int) -> None:
    """End this worker soon after its parent, even if the parent is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="ldpopt-watch", daemon=True).start()


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C on the terminal: the run ends them itself."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # which unblocks SIGINT if it is the first call
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Within this context SIGTERM has the effect of Ctrl-C, unless the program handles it in its
    own way.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_ours = is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
