"""The child process of a solver: it reads programs from its parent, and ends when the parent ends."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import IO, Any

import numpy as np

from ldpopt import errors
from ldpopt.errors import LdpoptError
from ldpopt.solvers.outcome import Arrays, Outcome, Status
from ldpopt.solvers.processes.messages import receive, send
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import Solver, checked, read_solver

PROGRAM = ("objective", "start", "index", "value", "row_lower", "row_upper", "column_lower", "column_upper")
OUTCOME = ("point", "row_duals", "column_duals")


def serve() -> None:
    """Answer one program after another until the parent closes the pipe."""
    # Text that a solver prints goes to stderr, because answers go through stdout.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _print_at_once()
    with suppress(EOFError, BrokenPipeError):
        while True:
            facts, arrays = receive(requests)
            with _ending_with(requests):
                answer = _answer(facts, arrays)
            send(replies, *answer)
    # Exit without the interpreter's cleanup: there is nothing to clean up, and the parent may be waiting.
    os._exit(0)


def _print_at_once() -> None:
    """Flush every printed line: this process may be killed, and buffered text would be lost."""
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if sys.platform == "win32":  # pragma: no cover - C has no symbol stdout there
        return
    import ctypes

    with suppress(OSError, ValueError):  # a C library without that symbol
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "__stdoutp" if sys.platform == "darwin" else "stdout")
        library.setvbuf(stream, None, 1, ctypes.c_size_t(0))  # 1: by lines


def packed(solver: Solver, outcome: Outcome) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of an outcome."""
    arrays = {name: np.asarray(given, float) for name in OUTCOME if (given := getattr(outcome, name)) is not None}
    arrays |= solver.pack_warm_start(outcome.warm_start)
    return {"status": outcome.status.value, "raw_status": outcome.raw_status}, arrays


def unpacked(solver: Solver, facts: Mapping[str, Any], arrays: Arrays) -> Outcome:
    """Return the outcome that was packed, or raise the error."""
    if "error" in facts:
        raise rebuilt(facts)
    found = {name: arrays.get(name) for name in OUTCOME}
    return Outcome(Status(facts["status"]), facts["raw_status"], **found, warm_start=solver.unpack_warm_start(arrays))


def _answer(facts: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    try:
        solver = _solver(facts["address"], facts["detail"])
        if "options" not in facts:
            solver.load()
            return {}, {}
        program = LinearProgram(
            **{name: arrays[name] for name in PROGRAM}, maximize=facts["maximize"], rows=(), columns=()
        )
        start = solver.unpack_warm_start(arrays)
        warm = {} if start is None else {"warm_start": start}
        outcome = solver.solve(program, time_limit=facts["time_limit"], **warm, **facts["options"])
        return packed(solver, checked(outcome, solver, program))
    except LdpoptError as error:
        return {"error": type(error).__name__, "what": error.what, "where": error.where, "do": error.do}, {}
    except Exception as error:
        return {"error": type(error).__name__, "what": str(error), "trace": traceback.format_exc()}, {}


@cache
def _solver(address: str, detail: str) -> Solver:
    module, _, attribute = address.partition(":")
    factory: Any = import_module(module)
    for part in attribute.split("."):
        factory = getattr(factory, part)
    return read_solver(factory(detail) if detail else factory())


def rebuilt(facts: Mapping[str, Any]) -> Exception:
    """Rebuild an error of the child in this process."""
    import builtins

    known = getattr(errors, facts["error"], None)
    if known is not None:
        ours: Exception = known(facts["what"], where=facts["where"], do=facts["do"])
        return ours
    kind = getattr(builtins, facts["error"], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, UnicodeError):
        kind, facts = RuntimeError, {**facts, "what": f"{facts['error']}: {facts['what']}"}
    error = kind(facts["what"])
    error.add_note(f"In the solver's own process:\n{facts['trace']}")
    return error


@contextmanager
def _ending_with(requests: IO[bytes]) -> Iterator[None]:
    """End this process, and those that a solver has started, when the parent ends.

    The system sends SIGIO when the pipe closes, which also ends a solver that runs compiled code.
    """
    if sys.platform == "win32":  # pragma: no cover - an orphan ends there after its program
        yield
        return
    import fcntl
    import select

    pipe = requests.fileno()
    plain = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETFL, plain | os.O_ASYNC)
    try:
        if select.select([pipe], [], [], 0)[0]:  # the parent ended before
            raise EOFError
        yield
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, plain)
