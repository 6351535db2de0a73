"""Points done by an executor: a pool of the standard library, or a cluster of Dask."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from functools import lru_cache
from typing import Any

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.numbers import short_repr
from ldpopt.processes.board import Board, Task
from ldpopt.processes.packing import packed

CHUNKS = 64
"""Chunks of points that an executor has at a time; as many of its workers can be busy."""

Chunk = list[tuple[Hashable, Any]]


def submit_all(task: Task, board: Board, executor: Any, gather: Callable[..., None]) -> None:
    """Let an executor do every point, several at a time if they are short.

    A chunk that its executor loses, as when a worker of a cluster dies, is submitted again point by point.
    """
    pool = executor.get_executor(pure=False) if hasattr(executor, "get_executor") else executor
    if not hasattr(pool, "submit"):
        what = f"{short_repr(executor)} is neither an executor nor a client of Dask"
        raise StatementError(what, do="pass a concurrent.futures.Executor or a dask.distributed.Client")
    raw = packed(task)
    running: dict[Future[Any], Chunk] = {}
    alone: Chunk = []
    try:
        while board.left:
            while len(running) < CHUNKS and (chunk := [alone.pop()] if alone else _chunk(board)):
                running[pool.submit(_done, raw, packed([point for _, point in chunk]))] = chunk
            done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                alone += _take_in(board, running.pop(future), future)
            gather()
    except BrokenExecutor as error:
        do = "start again with a new executor; a checkpoint keeps what is finished"
        raise LdpoptError(f"the executor failed: {error}", do=do) from None
    finally:
        for future in running:
            future.cancel()


def _chunk(board: Board) -> Chunk:
    """Points to submit at once; empty if none waits."""
    points: Chunk = []
    for _ in range(board.ahead(1)):
        work = board.take()
        if work is None:
            break
        points.append(work)
    return points


def _take_in(board: Board, chunk: Chunk, future: Future[Any]) -> Chunk:
    """Record the results of a chunk; the points to submit again if the executor has lost it."""
    try:
        answers = pickle.loads(future.result())
    except BrokenExecutor:
        raise
    except Exception as error:
        if len(chunk) > 1:
            return chunk
        board.died(chunk[0][0], f"{type(error).__name__}: {error}")
        return []
    for (key, _), (is_result, found) in zip(chunk, answers, strict=False):
        if not is_result:
            raise found
        board.finish(key, found)
    return []


def _done(task: bytes, points: bytes) -> bytes:
    """Results of a chunk, up to the first error; runs in a worker of the executor."""
    answers: list[tuple[bool, Any]] = []
    for point in pickle.loads(points):
        try:
            answers.append((True, _unpacked(task)(point)))
        except Exception as error:
            answers.append((False, error))
            break
    return packed(answers)


@lru_cache(maxsize=4)
def _unpacked(task: bytes) -> Any:
    """The task, unpacked once in each worker."""
    return pickle.loads(task)
