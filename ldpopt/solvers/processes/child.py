"""The process that a solver runs in: it reads programs from its parent, and ends when the parent does."""

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
from ldpopt.solvers.processes.messages import receive, send
from ldpopt.solvers.program import LinearProgram
from ldpopt.solvers.solver import Arrays, Outcome, Solver, Status, checked, read_solver

PROGRAM = ("objective", "start", "index", "value", "row_lower", "row_upper", "column_lower", "column_upper")
OUTCOME = ("point", "row_duals", "column_duals")


def serve() -> None:
    """Answer one program after another until the parent closes the pipe."""
    # A solver that prints, prints to stderr: stdout is the way of the answers.
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
    # Not by way of the interpreter's own end: there is nothing to clean up, and the parent may be waiting.
    os._exit(0)


def _print_at_once() -> None:
    """Write each line as it is printed: this process ends without notice, and what waits in a buffer would be lost."""
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if sys.platform == "win32":  # pragma: no cover - there, stdout of C is not a symbol
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
    """Return the outcome that was packed, or raise the error.

    Raises
    ------
    Exception
        What the solver raised: of the same class where it is one of ours or of Python.
    """
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
    """Return an error of the child as the same error here."""
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
    """End this process, and those that a solver has started, as soon as the parent is gone.

    The system itself sends SIGIO when the pipe closes: a solver deep in its own code needs not be asked.
    """
    if sys.platform == "win32":  # pragma: no cover - there, an orphan ends when it has solved its program
        yield
        return
    import fcntl
    import select

    pipe = requests.fileno()
    plain = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, fcntl.F_SETFL, plain | os.O_ASYNC)
    try:
        if select.select([pipe], [], [], 0)[0]:  # it was gone already
            raise EOFError
        yield
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, plain)
