"""Worker processes: one process imports what the task needs, and forks a worker whenever the run asks for one.

All of them end at once when the run's process ends, however that happens: it holds the other end of a pipe, and the
system signals the whole group when that closes.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any, NoReturn


def serve(control: int, lifeline: int) -> None:
    """Fork a worker for each socket that arrives, and say how one has ended that is asked for by its number."""
    _end_with(lifeline)
    requests = socket.socket(fileno=control)
    replies = Connection(os.dup(control))
    try:
        task, why = pickle.loads(replies.recv_bytes()), ""
    except EOFError:
        return
    except Exception as error:
        task, why = None, f"{type(error).__name__}: {error}"
    gc.freeze()  # what is imported stays shared with the workers
    replies.send(why)
    while True:
        try:
            message, sockets, *_ = socket.recv_fds(requests, 16, 1)
        except ConnectionResetError:  # the run was killed; the lifeline ends this process, perhaps a moment later
            return
        if not message:
            return
        if sockets:
            _fork(task, sockets[0], requests, replies)
        else:
            _, status = os.waitpid(int(message), 0)
            replies.send(os.waitstatus_to_exitcode(status))


def _fork(task: Any, channel: int, requests: socket.socket, replies: Connection) -> None:
    process = os.fork()
    if process == 0:
        requests.close()
        replies.close()
        _work(task, Connection(channel))
    os.close(channel)
    replies.send(process)


def _work(task: Any, channel: Connection) -> NoReturn:
    """Answer one point after another until the other end closes."""
    try:
        while True:
            point = pickle.loads(channel.recv_bytes())
            channel.send_bytes(_answer(task, point))
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)


def _answer(task: Any, point: Any) -> bytes:
    """The pickled result, or error, of one point."""
    try:
        return pickle.dumps((True, task(point)))
    except Exception as error:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        for one in (error, told):
            one.add_note(f"In a worker process:\n{traceback.format_exc()}")
            try:
                pickle.loads(found := pickle.dumps((False, one)))
            except Exception:  # an error of a class that cannot be sent is told in words
                continue
            return found
        raise


def _end_with(lifeline: int) -> None:
    """End this process and its workers when the other end of the pipe closes."""
    import fcntl
    import select

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    # Ctrl-C on the terminal is for the run, which ends its workers; SIGTERM ends a worker as it does by default.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # the run ended before
        sys.exit()
